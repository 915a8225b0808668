"""Figures of a boosting path: coefficients, loss, importance, and the loss out of sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.typeset import number, share
from qreg_boost.plots.drawing import FONT, GREY, End, axes, colour, heading, label_ends, labels, thinned

MOST_LABELS = 12
MOST_BARS = 25
BOUND = "s: sum of the sizes of the coefficients"
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.8}


def plot_path(coef_table: pd.DataFrame, tau: float | None = None, ax: Any = None, unit: str = "units of y") -> Any:
    """Return the Axes with each coefficient that is ever other than 0 against the iteration.

    The intercept is left out: it is where all columns are 0, often far from the data, and would flatten the rest. Of
    more than 12 coefficients the 12 largest at the end are coloured and named.

    Parameters
    ----------
    coef_table : DataFrame (iterations 0..mstop by terms)
    tau : float, optional
        Quantile level, for the title.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    unit : str
        Unit of the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> path = pd.DataFrame({"Intercept": [1.0, 1.0], "x": [0.0, 0.5]})
    >>> plot_path(path, tau=0.5).get_xlabel()
    'iteration'
    """
    ax = axes(ax)
    table = coef_table.drop(columns="Intercept", errors="ignore") if coef_table.shape[1] > 1 else coef_table
    values = table.to_numpy()
    moved = np.flatnonzero((values != 0).any(axis=0))
    ranked = moved[np.argsort(-np.abs(values[-1, moved]), kind="stable")]
    named = np.sort(ranked[:MOST_LABELS])
    stop = len(table) - 1
    drawn = thinned(len(table))
    for k in ranked[MOST_LABELS:]:
        ax.plot(drawn, values[drawn, k], color=GREY, linewidth=0.7)
    ends = []
    names = labels(table.columns[named])
    for position, k in enumerate(named):
        shade, style = colour(position)
        ax.plot(drawn, values[drawn, k], color=shade, linestyle=style, linewidth=1.6)
        ends.append(End(float(values[-1, k]), names[position], shade))
    ax.plot([0, stop], [0.0, 0.0], color=GREY, linewidth=0.8, zorder=0)
    ax.set(xlabel="iteration", ylabel=f"coefficient ({unit} per unit of the predictor)")
    heading(ax, _chosen_of("Coefficient path", len(moved), table.shape[1]), tau)
    if len(ranked) > MOST_LABELS:
        text = f"grey: the other {len(ranked) - MOST_LABELS}"
        ax.annotate(text, (0.01, 0.98), xycoords="axes fraction", va="top", color="0.4", fontsize=FONT)
    if stop:
        _mark_stop(ax, stop)
        label_ends(ax, stop, ends, 0)
    return ax


def _chosen_of(what: str, chosen: int, total: int) -> str:
    return what if chosen == total else f"{what}, {chosen} of {total} coefficients other than 0"


def _mark_stop(ax: Any, stop: int) -> None:
    """Draw a line at the stop, its name above the figure and below the heading."""
    ax.axvline(stop, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    above = {"xycoords": ("data", "axes fraction"), "xytext": (0, 3), "textcoords": "offset points"}
    ax.annotate(f"mstop = {stop}", (stop, 1.0), **above, ha="center", va="bottom", fontsize=FONT, color="0.4")
    ax.set_title(ax.get_title(loc="left"), loc="left", fontsize=11, pad=18)


def plot_l1_path(coef_table: pd.DataFrame, tau: float | None = None, ax: Any = None) -> Any:
    """Return the Axes with each coefficient that is ever other than 0 against the bound s; the intercept is left out.

    Parameters
    ----------
    coef_table : DataFrame (knots s by terms)
    tau : float, optional
        Quantile level, for the title.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import pandas as pd
    >>> path = pd.DataFrame({"Intercept": [1.0, 0.0], "x": [0.0, 0.5]}, index=[0.0, 0.5])
    >>> plot_l1_path(path, tau=0.5).get_xlabel()
    's: sum of the sizes of the coefficients'
    """
    ax = axes(ax)
    table = coef_table.drop(columns="Intercept", errors="ignore").fillna(0.0)
    values, s = table.to_numpy(), coef_table.index.to_numpy(dtype=float)
    moved = np.flatnonzero((values != 0).any(axis=0))
    ranked = moved[np.argsort(-np.abs(values[-1, moved]), kind="stable")]
    for k in ranked[MOST_LABELS:]:
        ax.plot(s, values[:, k], color=GREY, linewidth=0.7)
    named = np.sort(ranked[:MOST_LABELS])
    ends = []
    for position, (k, name) in enumerate(zip(named, labels(table.columns[named]), strict=True)):
        shade, style = colour(position)
        ax.plot(s, values[:, k], color=shade, linestyle=style, linewidth=1.6)
        ends.append(End(float(values[-1, k]), name, shade))
    ax.plot([0.0, s[-1]], [0.0, 0.0], color=GREY, linewidth=0.8, zorder=0)
    ax.set(xlabel=BOUND, ylabel="coefficient (units of y per unit of the predictor)")
    heading(ax, _chosen_of("L1 path", len(moved), table.shape[1]), tau)
    if s[-1] > 0:
        label_ends(ax, float(s[-1]), ends, 0.0)
    return ax


def plot_risk(
    risk_path: pd.Series, tau: float | None = None, ax: Any = None, loss: str = "check loss", unit: str = "units of y"
) -> Any:
    """Return the Axes with the training loss against the iteration, its last value written.

    Parameters
    ----------
    risk_path : Series (iterations 0..mstop)
        Weighted sum of losses.
    tau : float, optional
    ax : matplotlib Axes, optional
    loss, unit : str
        Name of the loss, and its unit; an empty unit for losses without.

    Examples
    --------
    >>> import pandas as pd
    >>> plot_risk(pd.Series([3.0, 2.0, 1.5]), tau=0.5).get_ylabel()
    'check loss in training (sum, units of y)'
    """
    ax = axes(ax)
    values, stop = risk_path.to_numpy(), len(risk_path) - 1
    drawn = thinned(len(values))
    ax.plot(drawn, values[drawn], color=colour(0)[0], linewidth=1.8)
    ax.plot([stop], [values[-1]], "o", color=colour(0)[0], markersize=4)
    ax.set(xlabel="iteration", ylabel=f"{loss} in training (sum{unit and f', {unit}'})")
    heading(ax, loss[:1].upper() + loss[1:], tau)
    if stop:
        _mark_stop(ax, stop)
        label_ends(ax, stop, [End(float(values[-1]), number(values[-1]), colour(0)[0])], 0)
    return ax


def plot_importance(importance: pd.Series, tau: float | None = None, ax: Any = None, loss: str = "check loss") -> Any:
    """Return the Axes with a bar for each learner's share in the fall of the loss, the largest at the top.

    Learners without a share are counted, not drawn; of more than 25, the rest is one bar.

    Parameters
    ----------
    importance : Series (learners)
        Shares, summing to 1.
    tau : float, optional
    ax : matplotlib Axes, optional
    loss : str
        Name of the loss.

    Raises
    ------
    NotDefinedError
        If the loss did not fall, so that there are no shares.

    Examples
    --------
    >>> import pandas as pd
    >>> len(plot_importance(pd.Series({"x1": 0.8, "x2": 0.2, "x3": 0.0})).patches)
    2
    """
    shares = importance.fillna(0.0)
    shares = shares[shares != 0].sort_values(ascending=False, kind="stable")
    if not len(shares):
        raise NotDefinedError("No iteration has lowered the loss, so there are no shares to draw; extend(m) goes on.")
    none = len(importance) - len(shares)
    names = labels(shares.index)
    values = 100.0 * shares.to_numpy()
    if len(shares) > MOST_BARS:
        rest = len(shares) - MOST_BARS + 1
        names = [*names[: MOST_BARS - 1], f"{rest} others together"]
        values = np.append(values[: MOST_BARS - 1], values[MOST_BARS - 1 :].sum())
    if ax is None:
        ax = axes()
        ax.figure.set_size_inches(7.5, 1.3 + 0.27 * len(values))
    else:
        ax = axes(ax)
    bars = ax.barh(np.arange(len(values)), values, color=colour(0)[0], height=0.7)
    ax.bar_label(bars, [share(value / 100.0) for value in values], padding=3, fontsize=FONT)
    ax.set_yticks(np.arange(len(values)), names)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set_xlabel(f"share of the fall in {loss} since the start (%)")
    heading(ax, "Importance", tau)
    if none:
        ax.annotate(
            f"not drawn: {none} of {len(importance)} with share 0", (1.0, 0.02), xycoords="axes fraction",
            ha="right", va="bottom", color="0.4", fontsize=FONT,
        )  # fmt: skip
    return ax


def plot_cv(cv_result: Any, ax: Any = None) -> Any:
    """Return the Axes with the loss out of sample by iteration: folds thin, mean thick, the two stops marked.

    Parameters
    ----------
    cv_result : CVResult
        With ``risk`` (folds by iterations), ``mean``, ``mstop_min``, ``mstop_1se``, ``kind``.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from qreg_boost import CVResult
    >>> result = CVResult(pd.DataFrame([[3.0, 2.0, 2.5], [3.5, 2.5, 2.2]]), "min", "2-fold cross-validation")
    >>> len(plot_cv(result).lines)
    4
    """
    ax = axes(ax)
    unit = ", units of y" if cv_result.loss == "check loss" else ""
    ax.set(xlabel="iteration", ylabel=f"{cv_result.loss} out of sample (mean per row{unit})")
    best, early = cv_result.mstop_min, cv_result.mstop_1se
    _draw_folds(ax, cv_result, np.arange(cv_result.risk.shape[1]), best, early)
    return ax


def plot_l1_cv(cv_result: Any, ax: Any = None) -> Any:
    """Return the Axes with the loss out of sample by the bound s: folds thin, mean thick, the two choices marked.

    Parameters
    ----------
    cv_result : L1CV
        With ``risk`` (folds by bounds s), ``mean``, ``knot_min``, ``knot_1se``, ``kind``.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from qreg_boost.quantreg.l1_cv import L1CV
    >>> risk = pd.DataFrame([[3.0, 2.0, 2.5], [3.5, 2.5, 2.2]], columns=[0.0, 0.5, 1.5])
    >>> plot_l1_cv(L1CV(risk, "min", "2-fold cross-validation")).get_xlabel()
    's: sum of the sizes of the coefficients'
    """
    ax = axes(ax)
    ax.set(xlabel=BOUND, ylabel="check loss out of sample (mean per row, units of y)")
    s = cv_result.risk.columns.to_numpy(dtype=float)
    _draw_folds(ax, cv_result, s, float(s[cv_result.knot_min]), float(s[cv_result.knot_1se]))
    return ax


def _draw_folds(ax: Any, cv_result: Any, at: np.ndarray, best: float, early: float) -> None:
    """Draw the loss of each fold and their mean at `at` (k,), and mark the best place and the early one."""
    risk, drawn = cv_result.risk.to_numpy(), thinned(len(at))
    for fold in risk:
        ax.plot(at[drawn], fold[drawn], color=GREY, linewidth=0.6, alpha=0.8)
    ax.plot(at[drawn], cv_result.mean.to_numpy()[drawn], color=colour(0)[0], linewidth=2.2)
    ax.margins(x=0.01)
    heading(ax, cv_result.kind[:1].upper() + cv_result.kind[1:], None)
    _mark_stops(ax, cv_result, best, early, float(at[-1]))
    ends = "thick: mean of the folds, thin: each fold" if len(risk) > 1 else "one fold"
    ax.annotate(
        ends, (1.0, 1.0), xycoords="axes fraction", xytext=(0, 6), textcoords="offset points",
        ha="right", va="bottom", color="0.4", fontsize=FONT,
    )  # fmt: skip


def _mark_stops(ax: Any, cv_result: Any, best: float, early: float, last: float) -> None:
    """Draw a line at each stop, the chosen one solid, its name on the side away from the other."""
    one = len(cv_result.risk) < 2 or best == early
    marks = [(best, f"least mean: {best:.6g}", "min")]
    if not one:
        marks.insert(0, (early, f"one standard error: {early:.6g}", "1se"))
    for height, (at, text, rule) in zip((0.97, 0.90), marks, strict=False):
        chosen = rule == cv_result.rule or one
        ax.axvline(at, color=colour(1)[0], linewidth=1.2, linestyle="-" if chosen else (0, (4, 3)))
        left = at > 0.6 * last
        ax.annotate(
            text, (at, height), xycoords=("data", "axes fraction"), xytext=(-5 if left else 5, 0),
            textcoords="offset points", ha="right" if left else "left", va="top", color=colour(1)[0], fontsize=FONT,
            fontweight="bold" if chosen else "normal", bbox=BEHIND,
        )  # fmt: skip
