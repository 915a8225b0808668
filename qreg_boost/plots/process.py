"""Figures of fits at several quantile levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.checks import NotDefinedError, listed
from qreg_boost.plots.drawing import End, axes, heading, label_ends, labels

if TYPE_CHECKING:
    from qreg_boost.base.process import QuantileProcess

MOST_LABELS = 11


def plot_lines(process: QuantileProcess, ax: Any = None) -> Any:
    """Return the Axes with the rows and the fitted quantiles, for a fit to one numeric predictor.

    The horizontal axis is the predictor as the formula has it: ``np.log(x)`` is drawn as that. An offset is taken off
    the response.

    Parameters
    ----------
    process : QuantileProcess
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Raises
    ------
    NotDefinedError
        If there are several predictors, or a factor.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75])
    >>> plot_lines(fits).get_xlabel()
    'income'
    """
    design = process.model.design
    name = _one_numeric(design)
    ax = axes(ax)
    offset = 0.0 if design.offset is None else design.offset
    used = np.ones(len(design.y), dtype=bool) if design.weights is None else design.weights > 0
    x, y = design.X[used, 0], (design.y - offset)[used]
    ax.plot(x, y, "o", color="0.45", markersize=3.5, alpha=float(np.clip(60.0 / np.sqrt(len(x)), 0.05, 0.5)), mew=0)
    order = np.argsort(x, kind="stable")
    taus = np.argsort(np.asarray(process.taus, dtype=float), kind="stable")
    shades = _shades(len(taus))
    named = set(np.linspace(0, len(taus) - 1, min(len(taus), MOST_LABELS)).round().astype(int))
    ends = []
    for rank, position in enumerate(taus):
        fit = (process.fits[position].fittedvalues.to_numpy() - offset)[used][order]
        ax.plot(x[order], fit, color=shades[rank], linewidth=1.8 if len(taus) <= MOST_LABELS else 0.9)
        if rank in named:
            ends.append(End(float(fit[-1]), f"tau = {process.taus[position]:g}", shades[rank]))
    response = design.response if design.offset is None else f"{design.response} - offset"
    xlabel, ylabel = labels([name, response])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    heading(ax, "Fitted quantiles", None)
    if x.max() > x.min():
        label_ends(ax, float(x.max()), ends, float(x.min()))
    return ax


def _one_numeric(design: Any) -> str:
    """Return the name of the only predictor."""
    names = design.column_names
    if len(names) == 1 and not names[0].endswith("]"):
        return str(names[0])
    found = "none" if not names else f"{len(names)} columns ({listed(names, 6)})"
    if len(names) == 1:
        found = f"a factor ({names[0]})"
    raise NotDefinedError(
        f"plot_lines draws the rows and the fit against one numeric predictor; this fit has {found}. "
        "See params for the coefficients by tau, fits[tau].plot_path() for one fit, or predict(new)."
    )


def _shades(count: int) -> list[Any]:
    """Return one colour per level, from dark to light in a map that the colour-blind can read."""
    from matplotlib import colormaps

    return [colormaps["viridis"](value) for value in (np.linspace(0.0, 0.8, count) if count > 1 else [0.35])]
