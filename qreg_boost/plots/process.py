"""Figures of fits at several quantile levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, listed
from qreg_boost.plots.drawing import FONT, GREY, End, axes, colour, heading, label_ends, labels

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


def plot_coefficients(
    table: pd.DataFrame, ols: pd.DataFrame | None = None, level: float | None = 0.9, ax: Any = None
) -> Any:
    """Return the Axes with each coefficient against tau, one panel each: points, band, and the least squares line.

    Parameters
    ----------
    table : DataFrame
        Columns ``tau term estimate conf_low conf_high``, one row per tau and coefficient. Ends that are missing or
        infinite leave a gap in the band.
    ols : DataFrame, optional
        Least squares estimates: ``estimate conf_low conf_high`` by term.
    level : float or None
        Level of the band and of the interval, for the legend; None for estimates that have no intervals.
    ax : array of matplotlib Axes, optional
        One per coefficient; by default a new figure.

    Raises
    ------
    InputError
        If `ax` does not have one Axes per coefficient.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"tau": [0.25, 0.75], "term": "x", "estimate": [1.0, 2.0],
    ...                       "conf_low": [0.5, 1.5], "conf_high": [1.5, 2.5]})
    >>> plot_coefficients(table)[0].get_title(loc="left")
    'x'
    """
    if level is None:
        table = table.assign(conf_low=np.nan, conf_high=np.nan)
    terms = list(dict.fromkeys(table["term"]))
    panels = _panels(len(terms), ax)
    for one, term, name in zip(panels, terms, labels(terms), strict=True):
        rows = table[table["term"] == term].sort_values("tau")
        _draw_coefficient(one, rows, None if ols is None else ols.loc[term])
        one.set_title(name, loc="left", fontsize=11)
    for one in panels[-_in_a_row(len(terms)) :]:
        one.set_xlabel("tau")
    if ax is None and level is not None:
        band = f"{100 * level:.4g} %"
        said = f"points: quantile regression, band: {band}" + (
            "" if ols is None else f"; dashed: least squares, {band}"
        )
        if not np.isfinite(table[["conf_low", "conf_high"]].to_numpy(dtype=float)).all():
            said += "; no band: no interval"
        panels[0].figure.suptitle(said, fontsize=FONT, color="0.4", x=0.99, ha="right")
    return panels


def plot_steps(taus: np.ndarray, coef: pd.DataFrame, ax: Any = None) -> Any:
    """Return the Axes with each coefficient as a step function of tau, one panel each.

    Parameters
    ----------
    taus : (K + 1,) array
        Breakpoints.
    coef : DataFrame (K intervals by terms)
    ax : array of matplotlib Axes, optional
        One per coefficient; by default a new figure.

    Examples
    --------
    >>> import pandas as pd
    >>> plot_steps(np.array([0.0, 0.5, 1.0]), pd.DataFrame({"x": [1.0, 2.0]}))[0].get_xlabel()
    'tau'
    """
    panels = _panels(coef.shape[1], ax)
    cut = False
    for one, term, name in zip(panels, coef.columns, labels(coef.columns), strict=True):
        one.stairs(coef[term].to_numpy(), taus, baseline=None, color=colour(0)[0], linewidth=1.2)
        one.set_title(name, loc="left", fontsize=11)
        inner = coef[term].to_numpy()[(taus[1:] > 0.02) & (taus[:-1] < 0.98)]
        low, high = np.nanmin(inner, initial=np.inf), np.nanmax(inner, initial=-np.inf)
        if high > low:  # the ends, fitted by few rows, would flatten the rest
            least, most = low - 0.08 * (high - low), high + 0.08 * (high - low)
            one.set_ylim(least, most)
            cut = cut or bool(((coef[term] < least) | (coef[term] > most)).any())
    for one in panels[-_in_a_row(coef.shape[1]) :]:
        one.set_xlabel("tau")
    if cut and ax is None:
        said = "below tau = 0.02 and above 0.98 the steps may leave the panel"
        panels[0].figure.suptitle(said, fontsize=FONT, color="0.4", x=0.99, ha="right")
    return panels


def _in_a_row(count: int) -> int:
    return min(count, 2 if count <= 4 else 3)


def _panels(count: int, ax: Any) -> np.ndarray:
    """Return `count` Axes in a flat array: those given, or new ones."""
    if ax is not None:
        given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(given) < count:
            raise InputError(f"`axes` must hold one Axes per coefficient: {count}, got {len(given)}.")
        return np.array([axes(one) for one in given[:count]], dtype=object)
    axes()
    from matplotlib import pyplot

    pyplot.close()
    columns = _in_a_row(count)
    lines = -(-count // columns)
    figure, grid = pyplot.subplots(
        lines, columns, figsize=(3.8 * columns, 2.9 * lines), layout="constrained", squeeze=False
    )
    for spare in grid.ravel()[count:]:
        figure.delaxes(spare)
    return np.array([axes(one) for one in grid.ravel()[:count]], dtype=object)


def _draw_coefficient(ax: Any, rows: pd.DataFrame, ols: pd.Series | None) -> None:
    shade = colour(0)[0]
    tau = rows["tau"].to_numpy(dtype=float)
    low, high = (rows[name].to_numpy(dtype=float) for name in ("conf_low", "conf_high"))
    known = np.isfinite(low) & np.isfinite(high)
    ax.fill_between(
        tau, np.where(known, low, np.nan), np.where(known, high, np.nan), color=shade, alpha=0.18, linewidth=0
    )
    size = 4 if len(tau) <= 25 else 2.5
    ax.plot(tau, rows["estimate"].to_numpy(), "o-", color=shade, markersize=size, linewidth=1.2)
    if ols is not None:
        other = colour(1)[0]
        ax.axhline(ols["estimate"], color=other, linewidth=1.3, linestyle="--")
        for end in ("conf_low", "conf_high"):
            ax.axhline(ols[end], color=other, linewidth=0.9, linestyle=":")
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0) if ax.get_ylim()[0] < 0.0 < ax.get_ylim()[1] else None
