"""Figures of classifiers that may withhold: risk against coverage, risk against the price, the band in two columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.plots.drawing import FONT, GREY, End, axes, colour, heading, label_ends, labels

GRID = 200


def plot_coverage(table: pd.DataFrame, fitted: pd.Series, aurc: float, where: str, ax: Any = None) -> Any:
    """Return the Axes with the error on the rows predicted, and the risk, against coverage.

    Parameters
    ----------
    table : DataFrame
        Columns coverage, error_accepted, risk.
    fitted : Series
        The row of the fitted threshold, which is marked.
    aurc : float
    where : str
        Whose rows they are.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"coverage": [0.0, 0.5, 1.0], "error_accepted": [None, 0.0, 0.1], "risk": [0.2, 0.1, 0.1]})
    >>> plot_coverage(table, table.iloc[1], 0.05, "training rows").get_xlabel()
    'coverage (share of rows predicted)'
    """
    ax = axes(ax)
    x = table["coverage"].to_numpy(dtype=float)
    ends = []
    for position, (name, text) in enumerate((("error_accepted", "error on the accepted"), ("risk", "risk"))):
        values = table[name].to_numpy(dtype=float)
        shade, style = colour(position)
        ax.plot(x, values, color=shade, linestyle=style, linewidth=1.6)
        at = float(fitted[name])
        if np.isfinite(at):
            ax.plot([float(fitted["coverage"])], [at], marker="o", markersize=6, color=shade)
        ends.append(End(float(values[-1]), text, shade))
    ax.axvline(float(fitted["coverage"]), color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set(xlabel="coverage (share of rows predicted)", ylabel="share of rows")
    ax.set_ylim(bottom=0.0)
    heading(ax, f"Risk against coverage, {where}; AURC {aurc:.4f}", None)
    label_ends(ax, 1.0, ends, 0.0)
    ax.annotate(
        "fitted", (float(fitted["coverage"]), ax.get_ylim()[1]), xytext=(-4, -10), textcoords="offset points",
        ha="right", fontsize=FONT, color="0.3",
    )  # fmt: skip
    return ax


def plot_against_d(table: pd.DataFrame, ax: Any = None) -> Any:
    """Return the Axes with risk and rejection rate against the price d, a refit at each.

    Parameters
    ----------
    table : DataFrame
        Columns d, risk, rejection_rate; se, bars about the risk, if it is there.
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
    for position, (name, text) in enumerate((("risk", "risk"), ("rejection_rate", "withheld"))):
        values = table[name].to_numpy(dtype=float)
        shade, style = colour(position)
        bars = table["se"].to_numpy(dtype=float) if name == "risk" and "se" in table else None
        ax.errorbar(
            d, values, yerr=bars, color=shade, linestyle=style, marker="o", markersize=3.5, linewidth=1.6,
            elinewidth=0.9, capsize=2,
        )  # fmt: skip
        ends.append(End(float(values[-1]), text, shade))
    ax.set(xlabel="price of withholding, d", ylabel="share of rows, out of fold")
    ax.set_ylim(bottom=0.0)
    heading(ax, "Risk and rejection against d, a refit at each", None)
    if len(d) > 1:
        label_ends(ax, float(d[-1]), ends, float(d[0]))
    return ax


def plot_grid(table: pd.DataFrame, ax: Any = None) -> Any:
    """Return the Axes with the out-of-fold risk against C, a line for each kernel; the least is marked.

    Parameters
    ----------
    table : DataFrame
        Columns C, risk, and gamma or kernel.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> plot_grid(pd.DataFrame({"gamma": [0.1, 0.1], "C": [1.0, 2.0], "risk": [0.2, 0.1]})).get_xscale()
    'log'
    """
    ax = axes(ax)
    by = "gamma" if "gamma" in table else "kernel"
    ends = []
    for position, (name, rows) in enumerate(table.groupby(by, sort=True)):
        shade, style = colour(position)
        ax.plot(rows["C"], rows["risk"], color=shade, linestyle=style, marker="o", markersize=3.5, linewidth=1.6)
        text = f"gamma = {name:.3g}" if by == "gamma" else str(name)
        ends.append(End(float(rows["risk"].iloc[-1]), text, shade))
    best = table.iloc[int(table["risk"].to_numpy(dtype=float).argmin())]
    ax.plot([best["C"]], [best["risk"]], marker="o", markersize=9, markerfacecolor="none", color="0.2")
    ax.set(xlabel="C", ylabel="risk, out of fold", xscale="log")
    for end in ends:
        ax.annotate(
            end.text, (float(table["C"].max()), end.y), xytext=(6, 0), textcoords="offset points", color=end.colour,
            fontsize=FONT, va="center", annotation_clip=False,
        )  # fmt: skip
    heading(ax, "Risk by C, the least marked", None)
    return ax


def plot_band(
    X: np.ndarray,
    event: np.ndarray,
    decision: Callable[[np.ndarray], np.ndarray],
    rho: float,
    support: np.ndarray,
    names: Sequence[str],
    classes: Sequence[str],
    ax: Any = None,
) -> Any:
    """Return the Axes with rows of two columns, the boundary f = 0, the band |f| <= rho and the support vectors.

    As Figs 3 and 4 of Manwani et al. (2015).

    Parameters
    ----------
    X : (n, 2) array
    event : (n,) array of bool
    decision : callable
        f (rows,) at rows (rows, 2).
    rho : float
    support : (n,) array of bool
        Rows to be ringed.
    names, classes : sequence of str
        Of the two columns; the other class and the event.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> X, event = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([False, True])
    >>> plot_band(X, event, lambda Z: Z.sum(axis=1) - 1.0, 0.2, event, ["a", "b"], ["no", "yes"]).get_xlabel()
    'a'
    """
    ax = axes(ax)
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.05 * np.where(high > low, high - low, 1.0)
    sides = [np.linspace(low[j] - room[j], high[j] + room[j], GRID) for j in range(2)]
    A, B = np.meshgrid(*sides)
    f = decision(np.column_stack((A.ravel(), B.ravel()))).reshape(A.shape)
    if rho > 0.0:
        ax.contourf(A, B, f, levels=[-rho, rho], colors=["0.88"], zorder=0)
        if f.min() < rho < f.max() or f.min() < -rho < f.max():
            ax.contour(A, B, f, levels=[-rho, rho], colors=["0.45"], linestyles="--", linewidths=1.0)
    if f.min() < 0.0 < f.max():
        ax.contour(A, B, f, levels=[0.0], colors=["0.1"], linewidths=1.4)
    for position, (rows, marker) in enumerate(((~event, "o"), (event, "^"))):
        shade, _ = colour(position)
        ax.scatter(
            X[rows, 0], X[rows, 1], s=16, marker=marker, color=shade, alpha=0.8, linewidths=0,
            label=labels([classes[position]])[0],
        )  # fmt: skip
    if support.any():
        ax.scatter(
            X[support, 0], X[support, 1], s=46, facecolors="none", edgecolors="0.25", linewidths=0.7,
            label="support vectors",
        )  # fmt: skip
    first, second = labels(names)
    ax.set(xlabel=first, ylabel=second)
    ax.set(xlim=(sides[0][0], sides[0][-1]), ylim=(sides[1][0], sides[1][-1]))
    heading(ax, f"Boundary and band, |f| <= {rho:.3g}", None)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=FONT)
    return ax
