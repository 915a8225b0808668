"""Figures of what a term adds to a boosted fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.plots.drawing import GREY, axes, colour, heading, labels

MOST_IN_RUG = 1000


def plot_effect(
    table: pd.DataFrame,
    tau: float | None = None,
    rows: np.ndarray | None = None,
    unit: str = "units of the fit",
    ax: Any = None,
) -> Any:
    """Return the Axes with the effect of a term: a line over a number, a point for each level of a factor.

    A missing value is a point of its own, on the right of a number's line.

    Parameters
    ----------
    table : DataFrame
        Columns term; x, level or one variable; effect.
    tau : float, optional
        Quantile level, for the title.
    rows : ndarray (n,), optional
        Values of the term in the data: short lines at the foot; of more than 1000, evenly spaced in order.
    unit : str
        What the effect is measured in.
    ax : matplotlib Axes, optional

    Raises
    ------
    NotDefinedError
        If the term is made of several variables.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"term": "x", "x": [0.0, 1.0], "effect": [-0.5, 0.5]})
    >>> plot_effect(table).get_xlabel()
    'x'
    """
    term = str(table["term"].iloc[0])
    where = [name for name in table.columns if name not in ("term", "effect")]
    if len(where) != 1:
        raise NotDefinedError(
            f"Term {term!r} is made of {len(where)} variables, which is more than one axis; effect() has the numbers."
        )
    at, values = table[where[0]], table["effect"].to_numpy()
    ax = axes(ax)
    shade = colour(0)[0]
    name = labels([term])[0]
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
    if where[0] == "level" or at.dtype.kind not in "iuf":
        ax.plot(np.arange(len(at)), values, "o", color=shade, markersize=7)
        crowded = sum(len(str(level)) for level in at) > 60
        ax.set_xticks(
            np.arange(len(at)),
            labels(["missing" if pd.isna(v) else v for v in at]),
            rotation=30 if crowded else 0,
            ha="right" if crowded else "center",
        )
        ax.set_xlim(-0.5, len(at) - 0.5)
        ax.set_xlabel(name)
    else:
        x = at.to_numpy(dtype=float)
        if np.isnan(x).any():
            _point_of_missing(ax, x, float(values[np.isnan(x)][0]), shade)
        order = np.argsort(x, kind="stable")[: np.count_nonzero(~np.isnan(x))]
        ax.plot(x[order], values[order], color=shade, linewidth=1.8)
        ax.margins(x=0.02)
        ax.set_xlabel(name if where[0] == "x" else labels([where[0]])[0])
        if rows is not None and len(rows):
            _rug(ax, rows)
    ax.set_ylabel(f"effect ({unit}), mean 0")
    heading(ax, f"Effect of {name}", tau)
    return ax


def _point_of_missing(ax: Any, x: np.ndarray, value: float, shade: Any) -> None:
    """Mark the effect of a missing value on the right of all values."""
    known = x[~np.isnan(x)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    at = high + 0.08 * (high - low or 1.0)
    ax.plot([at], [value], "D", color=shade, markersize=6)
    ax.annotate("missing", (at, value), xytext=(0, 8), textcoords="offset points", ha="center", fontsize="small")


def _rug(ax: Any, rows: np.ndarray) -> None:
    """Draw a short line at the foot of the figure for each value, within the figure's limits."""
    low, high = ax.get_xlim()
    shown = np.sort(rows[(rows >= low) & (rows <= high)])
    if len(shown) > MOST_IN_RUG:
        shown = shown[np.linspace(0, len(shown) - 1, MOST_IN_RUG).round().astype(int)]
    ax.vlines(shown, 0.0, 0.03, transform=ax.get_xaxis_transform(), color="0.35", linewidth=0.6, alpha=0.6)
    ax.set_xlim(low, high)
