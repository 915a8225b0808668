"""Fitted quantiles of a kernel fit along one predictor, with the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.plots.drawing import End, axes, label_ends, labels

if TYPE_CHECKING:
    from qreg_boost.kernel.curves import Curves

MOST_LABELS = 11
"""Of more taus, so many are named."""
MOST_HELD = 50
"""Characters for where the other terms are held."""


def plot_curves(found: Curves, ax: Any = None) -> Any:
    """Return the Axes with the rows and the fitted quantiles along one predictor; above, where others are held.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> from qreg_boost.kernel.curves import curves
    >>> fits = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.1, 0.9], gamma=0.1)
    >>> plot_curves(curves(fits.fits)).get_xlabel()
    'income'
    """
    ax = axes(ax)
    shown = float(np.clip(60.0 / np.sqrt(max(len(found.rows_x), 1)), 0.05, 0.5))
    ax.plot(found.rows_x, found.rows_y, "o", color="0.45", markersize=3.5, alpha=shown, mew=0)
    shades = _shades(len(found.taus))
    named = set(np.linspace(0, len(found.taus) - 1, min(len(found.taus), MOST_LABELS)).round().astype(int))
    ends = []
    for k, (tau, values) in enumerate(zip(found.taus, found.fits, strict=True)):
        ax.plot(found.x, values, color=shades[k], linewidth=1.8 if len(found.taus) <= MOST_LABELS else 0.9)
        if k in named:
            ends.append(End(float(values[-1]), f"tau = {tau:g}", shades[k]))
    xlabel, ylabel = labels([found.name, found.response])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_title("Fitted quantiles" if len(found.taus) > 1 else "Fitted quantile", loc="left", fontsize=11)
    if found.held:
        ax.set_title(_held(found.held), loc="right", fontsize=9, color="0.35")
    if found.x[-1] > found.x[0]:
        label_ends(ax, float(found.x[-1]), ends, float(found.x[0]))
    return ax


def _held(held: tuple[tuple[str, str], ...]) -> str:
    """Return where the other terms are held, as many of them as there is room for."""
    names = labels([name for name, _ in held])
    told = [f"{name} = {where}" for name, (_, where) in zip(names, held, strict=True)]
    room = max(int(np.searchsorted(np.cumsum([len(one) + 2 for one in told]), MOST_HELD, side="right")), 1)
    more = f", {len(told) - room} more" if len(told) > room else ""
    return "at " + ", ".join(told[:room]) + more


def _shades(count: int) -> list[Any]:
    """Return one colour per level, from dark to light in a map that the colour-blind can read."""
    from matplotlib import colormaps

    return [colormaps["viridis"](value) for value in (np.linspace(0.0, 0.8, count) if count > 1 else [0.35])]
