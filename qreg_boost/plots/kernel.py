"""Figures of kernel quantile regression: held-out loss by C and gamma, and the path in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.plots.drawing import FONT, GREY, axes, colour, heading

MOST_LINES = 12
MOST_MARKED = 60
"""Of more points along a line none is marked."""
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
CRITERIA = {"sic": "SIC", "gacv": "GACV"}


def plot_kernel_cv(table: pd.DataFrame, kind: str, ax: Any = None) -> Any:
    """Return the Axes with the mean held-out check loss against C, a line per gamma, the least ringed.

    Bars are a standard error over the folds, drawn for the gamma of the least. Of more than 12 gammas the 12 of least
    loss are coloured and named.

    Parameters
    ----------
    table : DataFrame
        Columns C, gamma (missing for kernels without), mean_loss, std_error.
    kind : str
        How rows were held out.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"C": [1.0, 2.0], "gamma": [0.1, 0.1], "mean_loss": [2.0, 1.5], "std_error": [0.2, 0.1]})
    >>> plot_kernel_cv(table, "2-fold").get_xscale()
    'log'
    """
    ax = axes(ax)
    best = table.iloc[int(np.argmin(table["mean_loss"].to_numpy()))]
    groups = [(gamma, rows.sort_values("C")) for gamma, rows in table.groupby("gamma", sort=True, dropna=False)]
    least = sorted(float(rows["mean_loss"].min()) for _, rows in groups)[:MOST_LINES][-1]
    position = 0
    for gamma, rows in groups:
        if float(rows["mean_loss"].min()) > least:
            ax.plot(rows["C"], rows["mean_loss"], color=GREY, linewidth=0.7, zorder=1)
            continue
        shade, style = colour(position)
        position += 1
        at_best = gamma == best["gamma"] or len(groups) == 1
        ax.errorbar(
            rows["C"], rows["mean_loss"], yerr=rows["std_error"] if at_best else None, color=shade, linestyle=style,
            marker="o", markersize=3.5, linewidth=1.6, elinewidth=0.9, capsize=2, label=f"gamma = {gamma:.3g}",
        )  # fmt: skip
    ax.plot([best["C"]], [best["mean_loss"]], marker="o", markersize=10, markerfacecolor="none", color="0.2")
    ax.set(xlabel="C", ylabel="mean check loss of held-out rows (units of y)", xscale="log")
    heading(ax, f"Held-out loss, {kind}; least at C = {best['C']:.4g}", None)
    if len(groups) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=FONT)
    return ax


def plot_kqr_path(table: pd.DataFrame, tau: float, criterion: str = "sic", ax: Any = None) -> Any:
    """Return the Axes with a criterion against C; its least is ringed, and the degrees of freedom are written along.

    Parameters
    ----------
    table : DataFrame indexed by C
        Columns edf, sic, gacv (missing or infinite ones are left out). Of many points at most 12 say their edf.
    tau : float
    criterion : {"sic", "gacv"}
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"edf": [2, 5], "sic": [0.4, 0.3]}, index=pd.Index([1.0, 2.0], name="C"))
    >>> plot_kqr_path(table, 0.5).get_ylabel()
    'SIC'
    """
    ax = axes(ax)
    values = table[criterion].to_numpy(dtype=float)
    C = table.index.to_numpy(dtype=float)
    shade, style = colour(0)
    known = np.isfinite(values) & (C > 0.0)  # the path begins at 0, where a scale of logarithms does not
    many = len(C) > MOST_MARKED
    marker = {"marker": None if many else "o", "markersize": 3.5}
    ax.plot(C[known], values[known], color=shade, linestyle=style, linewidth=1.6, **marker)
    best = int(np.nanargmin(values)) if not np.isnan(values).all() else -1  # -inf where a fit is without loss
    if best >= 0 and known[best]:
        ax.plot([C[best]], [values[best]], marker="o", markersize=10, markerfacecolor="none", color="0.2")
    for k in _along(C, known, best):
        ax.annotate(
            f"{table['edf'].iloc[k]:g}", (C[k], values[k]), xytext=(0, 9), textcoords="offset points", ha="center",
            fontsize=FONT, color="0.35", bbox=BEHIND,
        )  # fmt: skip
    ax.set(xlabel="C", ylabel=CRITERIA[criterion], xscale="log")
    ax.margins(y=0.12)
    least = f"; least at C = {C[best]:.4g}" if best >= 0 else ""
    heading(ax, f"{CRITERIA[criterion]} along C, rows on the fit written above{least}", tau)
    return ax


def _along(C: np.ndarray, known: np.ndarray, best: int) -> np.ndarray:
    """Return the positions that are written at: at most 12, evenly along a scale of logarithms, and the best."""
    which = np.flatnonzero(known)
    if len(which) > MOST_LINES:
        at = np.log(C[which])
        wanted = np.linspace(at[0], at[-1], MOST_LINES)
        which = which[np.unique(np.abs(at - wanted[:, None]).argmin(axis=1))]
    if best < 0 or not known[best]:
        return which
    step = np.log(C[which[-1]] / C[which[0]]) / MOST_LINES if len(which) > 1 else 0.0
    if len(C) > MOST_LINES:  # no other number on top of that of the best
        which = which[np.abs(np.log(C[which] / C[best])) > 0.5 * step]
    return np.union1d(which, best)
