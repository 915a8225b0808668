"""Figures of classifiers: the objective and the error by iteration, errors against tau, the curve of both rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.typeset import number, share
from qreg_boost.plots.drawing import FONT, GREY, End, axes, colour, heading, label_ends, thinned

MOST_NAMED = 11


def plot_objective(objective: pd.Series, errors: pd.Series, what: str, tau: float | None = None, ax: Any = None) -> Any:
    """Return two Axes, the objective by iteration above the training error (Zheng 2012, Fig. 5).

    Parameters
    ----------
    objective : Series (iterations 0..mstop)
    errors : Series (iterations 0..mstop)
        Share of rows predicted wrongly.
    what : str
        Name of the objective.
    tau : float, optional
    ax : pair of matplotlib Axes, optional
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import pandas as pd
    >>> above, below = plot_objective(pd.Series([3.0, 2.0]), pd.Series([0.5, 0.2]), "smoothed cost")
    >>> below.get_ylabel()
    'training error (%)'
    """
    first = axes(None if ax is None else ax[0])
    if ax is None:
        figure = first.figure
        figure.clear()
        figure.set_size_inches(7.5, 6.0)
        first, second = (axes(one) for one in figure.subplots(2, 1, sharex=True))
    else:
        second = axes(ax[1])
    stop = len(objective) - 1
    drawn = thinned(stop + 1)
    for one, values, text in (
        (first, objective.to_numpy(), number(float(objective.iloc[-1]))),
        (second, 100.0 * errors.to_numpy(), share(float(errors.iloc[-1]))),
    ):
        one.plot(drawn, values[drawn], color=colour(0)[0], linewidth=1.6)
        one.annotate(
            text, (stop, values[-1]), xytext=(4, 0), textcoords="offset points", va="center", color=colour(0)[0],
            fontsize=FONT, annotation_clip=False,
        )  # fmt: skip
    first.set_ylabel(what)
    second.set(xlabel="iteration", ylabel="training error (%)")
    heading(first, f"{what[:1].upper()}{what[1:]} and training error", tau)
    return first, second


def plot_errors(
    table: pd.DataFrame, where: str = "training rows", ax: Any = None, cost: Mapping[str, float] | None = None
) -> Any:
    """Return the Axes with error rate, FN rate and FP rate against tau; with `cost`, the mean cost in Axes below.

    Parameters
    ----------
    table : DataFrame
        Columns tau, error_rate, fn_rate, fp_rate, cost.
    where : str
        Whose errors they are.
    ax : matplotlib Axes, optional
        Where to draw the shares, and then nothing else; by default a new figure.
    cost : mapping, optional
        What errors cost at every tau, "fn" and "fp"; without, costs are priced by tau and cannot be compared.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"tau": 0.5, "error_rate": 0.2, "fn_rate": 0.3, "fp_rate": 0.1, "cost": 0.1}
    >>> plot_errors(pd.DataFrame([row, {**row, "tau": 0.7}])).get_xlabel()
    'tau'
    """
    priced = cost is not None and ax is None
    ax = axes(ax)
    if priced:
        figure = ax.figure
        figure.clear()
        figure.set_size_inches(7.5, 6.5)
        ax, below = (axes(one) for one in figure.subplots(2, 1, sharex=True, height_ratios=(3, 2)))
    table = table.sort_values("tau", kind="stable")
    tau = table["tau"].to_numpy(dtype=float)
    shown = {"error_rate": "error rate", "fn_rate": "events missed (FN)", "fp_rate": "others flagged (FP)"}
    ends = []
    for position, (name, text) in enumerate(shown.items()):
        values = table[name].to_numpy(dtype=float)
        shade, style = colour(position)
        ax.plot(tau, values, color=shade, linestyle=style, marker="o", markersize=3.5, linewidth=1.6)
        if np.isfinite(values[-1]):
            ends.append(End(float(values[-1]), text, shade))
    ax.set(xlabel="" if priced else "tau", ylabel="share of rows")
    heading(ax, f"Errors against tau, {where}", None)
    if len(tau) > 1:
        label_ends(ax, float(tau[-1]), ends, float(tau[0]))
    if priced and cost is not None:
        _draw_cost(below, tau, table["cost"].to_numpy(dtype=float), cost)
    return ax


def _draw_cost(ax: Any, tau: np.ndarray, values: np.ndarray, cost: Mapping[str, float]) -> None:
    """Draw the mean cost of a row (k,) against tau (k,), the least marked."""
    shade = colour(3)[0]
    ax.plot(tau, values, color=shade, marker="o", markersize=3.5, linewidth=1.6)
    ax.set(xlabel="tau", ylabel=f"mean cost of a row\n(FN {cost['fn']:g}, FP {cost['fp']:g})")
    if len(tau) > 1:
        ax.spines["bottom"].set_bounds(float(tau[0]), float(tau[-1]))
    if np.isfinite(values).any():
        least = int(np.nanargmin(values))
        ax.plot(tau[least], values[least], marker="o", markersize=8, markerfacecolor="none", color=shade)
        ax.annotate(
            f"least, {float(values[least]):.4g}, at tau = {tau[least]:g}", (tau[least], values[least]),
            xytext=(0, -8), textcoords="offset points", ha="center", va="top", fontsize=FONT, color=shade,
        )  # fmt: skip
        ax.margins(y=0.3)


def plot_roc(table: pd.DataFrame, where: str = "training rows", ax: Any = None) -> Any:
    """Return the Axes with the share of events flagged against the share of others flagged, a point for each tau.

    Each point is a fit of its own, so the points need not lie on a rising curve.

    Parameters
    ----------
    table : DataFrame
        Columns tau, fn_rate, fp_rate.
    where : str
        Whose rates they are.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> plot_roc(pd.DataFrame([{"tau": 0.5, "fn_rate": 0.3, "fp_rate": 0.1}])).get_ylabel()
    'share of events flagged'
    """
    ax = axes(ax)
    table = table.sort_values("tau", kind="stable")
    false, true = table["fp_rate"].to_numpy(dtype=float), 1.0 - table["fn_rate"].to_numpy(dtype=float)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.plot(false, true, color=colour(0)[0], marker="o", markersize=4, linewidth=1.6)
    named = np.linspace(0, len(table) - 1, min(len(table), MOST_NAMED)).round().astype(int)
    at_point: dict[tuple[float, float], list[str]] = {}
    for k in sorted(set(named.tolist())):
        point = (round(float(false[k]), 3), round(float(true[k]), 3))
        at_point.setdefault(point, []).append(f"{float(table['tau'].iloc[k]):g}")
    for point, taus in at_point.items():
        ax.annotate(
            ", ".join(taus), point, xytext=(6, -8), textcoords="offset points",
            fontsize=FONT, color="0.3",
        )  # fmt: skip
    ax.set(xlabel="share of others flagged", ylabel="share of events flagged", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal")
    heading(ax, f"Both rates over tau, {where}", None)
    return ax
