"""The rank score test that added columns have coefficients 0 (Gutenbrunner, Jureckova, Koenker and Portnoy 1993).

References
----------
Gutenbrunner, C., Jureckova, J., Koenker, R. and Portnoy, S. (1993). Tests of linear hypotheses based on regression
    rank scores. J. of Nonparametric Statistics 2, 307-331.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, check_choice, check_tau
from qreg_boost.base.rank import independent_columns
from qreg_boost.quantreg.anova import FTest
from qreg_boost.quantreg.bandwidth import bandwidth as bandwidth_of
from qreg_boost.quantreg.bandwidth import inside
from qreg_boost.quantreg.covariance import local_density
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.rows import Rows
from qreg_boost.quantreg.solution import Solution

Solver = Callable[..., Solution]

SCORES = ("tau", "sign", "wilcoxon", "normal")
_NORMAL = NormalDist()


@dataclass(frozen=True)
class RankScores:
    """Rank scores of the rows of a fit.

    Attributes
    ----------
    values : (n,) array
        Scores, which sum to 0 against every column of the fit (each row times its weight).
    variance : float
        Integral of the squared score function.
    """

    values: np.ndarray
    variance: float


def rank_test(
    X0: Any, X1: Any, y: Any, tau: float = 0.5, weights: Any = None, *, score: str = "wilcoxon",
    iid: bool = True, bandwidth: Any = "hall-sheather", solver: Solver = interior_point,
    process: Callable[..., Any] | None = None,
) -> FTest:  # fmt: skip
    """Return the rank score test that the coefficients of added columns are 0, as an F test.

    Parameters
    ----------
    X0 : (n, p) array
        Design of the smaller model.
    X1 : (n, q) array
        Columns that the larger model adds. Those that depend on the others are left out.
    y : (n,) array
        Response, less the offset if there was one.
    tau : float
        Level, for ``score="tau"`` and the densities of ``iid=False``.
    weights : (n,) array, optional
        Weights of the fits.
    score : {"wilcoxon", "normal", "sign", "tau"}
        "tau": of the smaller model at `tau` alone; "sign": at the median alone; "wilcoxon" and "normal" combine all
        levels, for which the whole process of the smaller model is computed.
    iid : bool
        Whether errors count as identically distributed; if not, rows are weighted by their densities, for
        ``score="tau"``.
    bandwidth : str or float
        For the densities.
    solver : callable
        For the fits at one level.
    process : callable, optional
        ``process(X, y)`` gives the whole solution in tau, with `taus`, `coef` and `basis`: `quantile_process`. Needed
        for "wilcoxon" and "normal".

    Notes
    -----
    With x~ what the smaller model leaves of the added columns and b the scores, the statistic is
    (x~'b)'(x~'x~)^-1 (x~'b) / (A^2 q), A^2 the score function's variance. Resid Df is n - p - q.

    Raises
    ------
    InputError
        For an unknown score, if nothing is added, or if `process` is needed and not given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.ones(50), rng.normal(size=(50, 2))])
    >>> y = X @ [1.0, 1.0, 0.0] + rng.normal(size=50)
    >>> test = rank_test(X[:, :2], X[:, 2:], y, 0.5, score="tau")
    >>> test.df, test.df_resid
    (1, 47)
    """
    check_choice(score, "score", SCORES)
    tau, iid = 0.5 if score == "sign" else check_tau(tau), check_bool(iid, "iid")
    X0, X1 = (np.asarray(X, dtype=np.float64) for X in (X0, X1))
    fit = solver(X0, y, tau, weights)
    rows = Rows.of(X0, y, fit, weights)
    added = X1[rows.used] if rows.w is None else X1[rows.used] * rows.w[:, None]
    p = rows.k
    kept = independent_columns(np.column_stack([rows.Z, added]))
    added = added[:, kept[kept >= p] - p]
    q = added.shape[1]
    if q == 0:
        raise InputError("A rank test needs columns that the smaller model does not span; none of those added is one.")
    if score in ("tau", "sign"):
        scores = RankScores(fit.a[rows.used] - (1.0 - tau), tau * (1.0 - tau))
    else:
        if process is None:
            raise InputError(f"score={score!r} combines all levels: give `process`, such as quantile_process.")
        scores = process_scores(rows, score, process)
    density = None
    if not iid and score == "tau":
        density = local_density(rows, tau, inside(tau, bandwidth_of(tau, rows.n, bandwidth)), solver)
    left = _left(rows.Z, added, density)
    basis = np.linalg.qr(left / np.linalg.norm(left, axis=0))[0]
    projected = basis.T @ scores.values
    return FTest.of(float(projected @ projected) / (scores.variance * q), q, rows.n - p - q)


def _left(Z: np.ndarray, added: np.ndarray, density: np.ndarray | None) -> np.ndarray:
    """Return what a least squares fit on Z, each row with its density as weight, leaves of the added columns."""
    roots = np.ones(len(Z)) if density is None else np.sqrt(density)
    return added - Z @ np.linalg.lstsq(roots[:, None] * Z, roots[:, None] * added, rcond=None)[0]


def process_scores(rows: Rows, score: str, process: Callable[..., Any]) -> RankScores:
    """Return scores that combine the dual solutions a(t) of all levels: b = -int phi(t) da(t).

    Between breakpoints of the process, a(t) is linear in t, so the integrals are exact. phi is t - 1/2 for "wilcoxon"
    and the normal quantile for "normal".
    """
    c = rows.y if rows.w is None else rows.y * rows.w
    whole = process(rows.Z, c)
    values = np.full(rows.n, -0.5 if score == "wilcoxon" else 0.0)
    # Positive residuals have a = 1, negative ones 0; rows of the basis take up what the constraints lack.
    total = rows.Z.sum(axis=0)
    for k, basis in enumerate(whole.basis):
        low, high = whole.taus[k], whole.taus[k + 1]
        r = c - rows.Z @ whole.coef[k]
        a = (r > 0).astype(np.float64)
        a[basis] = 0.0
        fixed = a @ rows.Z
        ends = np.linalg.solve(
            rows.Z[basis].T, np.column_stack([(1 - low) * total, (1 - high) * total]) - fixed[:, None]
        )
        if score == "wilcoxon":
            a[basis] = ends.mean(axis=1)
            values += (high - low) * a
        else:
            values[basis] += (ends[:, 1] - ends[:, 0]) / (high - low) * (_normal_mass(high) - _normal_mass(low))
    return RankScores(values, 1.0 / 12.0 if score == "wilcoxon" else 1.0)


def _normal_mass(t: float) -> float:
    """Return the normal density at its t-quantile, minus the integral of the quantile function up to t."""
    return _NORMAL.pdf(_NORMAL.inv_cdf(t)) if 0.0 < t < 1.0 else 0.0
