"""Figures of classifiers that may withhold: risk against coverage, risk against the price, the band in two columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.plots.drawing import COLOURS, FONT, GREY, LEADER, End, axes, colour, heading, label_ends, labels, spread

GRID = 200
MOST_TICKS = 10
ONLY = "setting"
OF_RISK, ACCEPTED, WITHHELD = COLOURS[0], COLOURS[2], COLOURS[1]
"""Colours that stay with what they stand for in every figure."""


def plot_coverage(found: Any, ax: Any = None) -> Any:
    """Return the Axes with the error on the rows predicted, and the risk, against coverage.

    Parameters
    ----------
    found : Coverage
        ``table`` (columns coverage, error_accepted, risk), ``fitted``, the row that is marked, ``aurc``, ``where`` and
        ``prices``.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from qreg_boost.reject.curves import coverage
    >>> from qreg_boost.reject.prices import Prices
    >>> y, far = np.array([1.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    >>> found = coverage(y, np.ones(3), far, 2.0, np.ones(3), Prices(1.0, 1.0, 0.2), "training rows")
    >>> plot_coverage(found).get_xlabel()
    'coverage (share of rows predicted)'
    """
    ax = axes(ax)
    table, at = found.table, float(found.fitted["coverage"])
    x = table["coverage"].to_numpy(dtype=float)
    risk = "cost" if found.prices.stated else "risk"
    ends = []
    for name, text, shade in (("error_accepted", "error on the accepted", ACCEPTED), ("risk", risk, OF_RISK)):
        values = table[name].to_numpy(dtype=float)
        ax.plot(x, values, color=shade, linewidth=1.6)
        if np.isfinite(float(found.fitted[name])):
            ax.plot([at], [float(found.fitted[name])], marker="o", markersize=6, color=shade, clip_on=False)
        ends.append(End(float(values[-1]), text, shade))
    ax.axvline(at, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    stated = f" ({found.prices})" if found.prices.stated else ""
    ax.set(xlabel="coverage (share of rows predicted)", ylabel=f"mean per row{stated}")
    ax.set_ylim(bottom=0.0)
    ax.set_xticks(np.linspace(0.0, 1.0, 6))
    at_price = "" if found.prices.stated else f" at {found.prices.in_words}"
    heading(ax, f"{risk.capitalize()} against coverage{at_price}, {found.where}; AURC {found.aurc:.4f}", None)
    label_ends(ax, 1.0, ends, 0.0)
    ax.annotate(
        "fitted", (at, ax.get_ylim()[1]), xytext=(-4, -10), textcoords="offset points",
        ha="right", fontsize=FONT, color="0.3",
    )  # fmt: skip
    return ax


def plot_against_d(table: pd.DataFrame, settings: int = 1, ax: Any = None) -> Any:
    """Return the Axes with out-of-fold risk and rejection rate against the price d; to ask always costs d.

    Parameters
    ----------
    table : DataFrame
        Columns d, risk, rejection_rate; se, bars about the risk, if it is there.
    settings : int
        Of how many settings that of least risk is shown at each price.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> plot_against_d(pd.DataFrame({"d": [0.1, 0.2], "risk": [0.05, 0.1], "rejection_rate": [0.3, 0.2]})).get_xlabel()
    'price of withholding, d'
    """
    ax = axes(ax)
    d = table["d"].to_numpy(dtype=float)
    ends = []
    for name, text, shade in (("risk", "risk", OF_RISK), ("rejection_rate", "withheld", WITHHELD)):
        values = table[name].to_numpy(dtype=float)
        bars = table["se"].to_numpy(dtype=float) if name == "risk" and "se" in table else None
        ax.errorbar(
            d, values, yerr=bars, color=shade, marker="o", markersize=3.5, linewidth=1.6, elinewidth=0.9, capsize=2,
            clip_on=False,
        )  # fmt: skip
        ends.append(End(float(values[-1]), text, shade))
    ax.plot(d, d, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    ends.append(End(float(d[-1]), "asking always", GREY))
    ax.set(xlabel="price of withholding, d", ylabel="mean per row, out of fold (bars: one s.e.)")
    ax.set_ylim(bottom=0.0)
    ax.set_xticks(d if len(d) <= MOST_TICKS else d[:: -(-len(d) // MOST_TICKS)])
    least = f", the least of {settings} settings at each" if settings > 1 else ""
    heading(ax, f"Risk and rejection against d{least}", None)
    if len(d) > 1:
        label_ends(ax, float(d[-1]), ends, float(d[0]))
    return ax


def plot_settings(table: pd.DataFrame, price: str, ax: Any = None) -> Any:
    """Return the Axes with the out-of-fold risk of each setting at one price; the least is marked.

    Parameters
    ----------
    table : DataFrame
        Columns risk, and C with gamma or kernel, or mstop; se, bars about the risk, if it is there.
    price : str
        In words.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"gamma": [0.1, 0.1], "C": [1.0, 2.0], "risk": [0.2, 0.1]})
    >>> plot_settings(table, "d = 0.2").get_xscale()
    'log'
    """
    ax = axes(ax)
    along = next((name for name in ("C", "mstop") if name in table), None)
    table = table.assign(**{ONLY: 0.0}) if along is None else table
    x = along or ONLY
    by = next((name for name in ("gamma", "kernel") if name in table), None)
    ends = []
    lines = [("", table)] if by is None else list(table.groupby(by, sort=True))
    for position, (name, rows) in enumerate(lines):
        shade, style = colour(position)
        bars = rows.get("se")
        ax.errorbar(
            rows[x], rows["risk"], yerr=bars, color=shade, linestyle=style, marker="o", markersize=3.5, linewidth=1.6,
            elinewidth=0.7, capsize=2, alpha=0.9,
        )  # fmt: skip
        text = f"gamma = {float(rows[by].iloc[0]):.3g}" if by == "gamma" else str(name)
        ends.append(End(float(rows["risk"].iloc[-1]), text, shade))
    best = table.iloc[int(table["risk"].to_numpy(dtype=float).argmin())]
    ax.plot([best[x]], [best["risk"]], marker="o", markersize=9, markerfacecolor="none", color="0.2")
    ax.set(ylabel="risk, out of fold" + (" (bars: one s.e.)" if "se" in table else ""))
    heading(ax, f"Risk by {along or 'setting'} at {price}, the least marked", None)
    if along is None:
        ax.set(xticks=[], xlabel="the one that was fitted")
        return ax
    ax.set(xlabel=along, xscale="log" if along == "C" else "linear")
    if by is not None:
        _label_right(ax, float(table[x].max()), ends)
    return ax


def _label_right(ax: Any, x: float, ends: Sequence[End]) -> None:
    """Write labels right of the Axes, at the heights of lines that end at `x`, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    ax.set_ylim(low, high)
    ax.figure.canvas.figure.draw_without_rendering()  # the layout settles how large the Axes are
    height = ax.get_window_extent().height
    wanted = np.array([(end.y - low) / (high - low) * height for end in ends])
    placed = spread(wanted, 1.25 * FONT * ax.figure.dpi / 72.0, height)
    for end, at in zip(ends, placed, strict=True):
        ax.annotate(
            end.text, (x, end.y), xytext=(1.02, at / height), textcoords="axes fraction", color=end.colour,
            fontsize=FONT, va="center", annotation_clip=False, arrowprops={**LEADER, "color": end.colour},
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Band:
    """What is drawn of a fit in two columns.

    Attributes
    ----------
    edges : callable
        Two functions (rows, 2) of rows (rows, 2): the event is predicted where the first is above 0, the other class
        where the second is below 0.
    boundary : callable or None
        A function (rows,) that is 0 between both classes.
    support : (n,) array of bool
        Rows to be ringed.
    title : str
    """

    edges: Callable[[np.ndarray], np.ndarray]
    boundary: Callable[[np.ndarray], np.ndarray] | None
    support: np.ndarray
    title: str


def plot_band(
    X: np.ndarray, event: np.ndarray, band: Band, names: Sequence[str], classes: Sequence[str], ax: Any = None
) -> Any:
    """Return the Axes with rows of two columns, the region where a prediction is withheld, and its edges.

    As Figs 3 and 4 of Manwani et al. (2015).

    Parameters
    ----------
    X : (n, 2) array
    event : (n,) array of bool
    band : Band
    names, classes : sequence of str
        Of the two columns; the other class and the event.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> X, event = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([False, True])
    >>> def edges(Z):
    ...     return Z.sum(axis=1)[:, None] - np.array([1.2, 0.8])
    >>> plot_band(X, event, Band(edges, None, event, "band"), ["a", "b"], ["no", "yes"]).get_xlabel()
    'a'
    """
    ax = axes(ax)
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.05 * np.where(high > low, high - low, 1.0)
    sides = [np.linspace(low[j] - room[j], high[j] + room[j], GRID) for j in range(2)]
    A, B = np.meshgrid(*sides)
    at = np.column_stack((A.ravel(), B.ravel()))
    first, second = (column.reshape(A.shape) for column in band.edges(at).T)
    for claims in (np.maximum(first, -second), -np.minimum(first, -second)):  # neither edge claims a point, or both do
        if claims.min() < 0.0:
            ax.contourf(A, B, claims, levels=[claims.min(), 0.0], colors=["0.88"], zorder=0)
    withheld = not np.array_equal(first, second)
    for edge in (first, second) if withheld else ():
        _line(ax, A, B, edge, "0.45", "--", 1.0)
    if band.boundary is not None or not withheld:
        between = first if band.boundary is None else band.boundary(at).reshape(A.shape)
        _line(ax, A, B, between, "0.1", "-", 1.4)
    for position, (rows, marker) in enumerate(((~event, "o"), (event, "^"))):
        shade, _ = colour(position)
        ax.scatter(
            X[rows, 0], X[rows, 1], s=16, marker=marker, color=shade, alpha=0.8, linewidths=0,
            label=labels([classes[position]])[0],
        )  # fmt: skip
    if band.support.any():
        ax.scatter(
            X[band.support, 0], X[band.support, 1], s=46, facecolors="none", edgecolors="0.25", linewidths=0.7,
            label="support vectors",
        )  # fmt: skip
    first_name, second_name = labels(names)
    ax.set(xlabel=first_name, ylabel=second_name)
    ax.set(xlim=(sides[0][0], sides[0][-1]), ylim=(sides[1][0], sides[1][-1]))
    heading(ax, band.title, None)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=FONT)
    return ax


def _line(ax: Any, A: np.ndarray, B: np.ndarray, f: np.ndarray, shade: str, style: str, width: float) -> None:
    """Draw where f is 0, if it is anywhere."""
    if f.min() < 0.0 < f.max():
        ax.contour(A, B, f, levels=[0.0], colors=[shade], linestyles=[style], linewidths=[width])
