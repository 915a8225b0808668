"""Tests of linear hypotheses: nested models (Wald), and slopes that are equal at several quantile levels.

References
----------
Koenker, R. and Bassett, G. (1982). Tests of linear hypotheses and L1 estimation. Econometrica 50, 1577-1583.
Koenker, R. and Bassett, G. (1982). Robust tests for heteroscedasticity based on regression quantiles. Econometrica 50.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, check_choice
from qreg_boost.quantreg.covariance import Covariance, ker, nid
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.solution import Solution

Solver = Callable[..., Solution]

# Estimates that split into H^-1 and J at every level.
_SANDWICHES: dict[str, Callable[..., Covariance]] = {"nid": nid, "ker": ker}


@dataclass(frozen=True)
class FTest:
    """A test statistic, divided by its degrees of freedom.

    Attributes
    ----------
    statistic : float
        F value; NaN if it cannot be computed.
    df : int
        Numerator degrees of freedom: the number of restrictions.
    df_resid : int
        Denominator degrees of freedom.
    pvalue : float
        Upper tail of the F distribution.
    """

    statistic: float
    df: int
    df_resid: int
    pvalue: float

    @classmethod
    def of(cls, statistic: float, df: int, df_resid: int) -> FTest:
        """Return the test with its p-value.

        >>> FTest.of(4.0, 1, 10).pvalue.__round__(6)
        0.073388
        """
        from scipy.special import fdtrc

        p = float(fdtrc(df, df_resid, statistic)) if df > 0 and df_resid > 0 and statistic >= 0 else np.nan
        return cls(float(statistic), int(df), int(df_resid), p)


def wald(coef: np.ndarray, cov: np.ndarray, columns: Sequence[int], df_resid: int) -> FTest:
    """Return the Wald test that some coefficients are 0, as an F test: b'V^-1 b over their number.

    Parameters
    ----------
    coef : (p,) array
        Coefficients of the larger model.
    cov : (p, p) array
        Their covariance matrix.
    columns : sequence of int
        Positions of the coefficients that are 0 in the smaller model.
    df_resid : int
        Rows less coefficients of the larger model.

    Raises
    ------
    InputError
        If no coefficient is named, or one that was dropped.

    Examples
    --------
    >>> wald(np.array([1.0, 2.0]), np.diag([1.0, 4.0]), [1], 20).statistic
    1.0
    """
    columns = list(columns)
    b, V = np.asarray(coef, dtype=np.float64)[columns], np.asarray(cov, dtype=np.float64)[np.ix_(columns, columns)]
    if not columns or np.isnan(b).any():
        raise InputError(
            f"A Wald test needs at least one coefficient, none of them dropped; got {len(columns)} coefficients, "
            f"{int(np.isnan(b).sum())} of them dropped. Compare models one of which has more columns than the other."
        )
    return FTest.of(_quadratic(b, V) / len(b), len(b), df_resid)


def joint_covariance(taus: Sequence[float], parts: Sequence[Covariance]) -> np.ndarray:
    """Return the covariance (m p, m p) of the coefficients at m levels: (min(s, t) - s t) H_s^-1 J H_t^-1.

    It is NaN for dropped columns.

    Parameters
    ----------
    taus : sequence of float
        Levels.
    parts : sequence of Covariance
        One of `nid` or `ker` for each.

    Examples
    --------
    >>> from qreg_boost.quantreg.covariance import nid
    >>> X, y = np.ones((9, 1)), np.arange(9.0)
    >>> parts = [nid(X, y, t, interior_point(X, y, t)) for t in (0.4, 0.6)]
    >>> joint_covariance((0.4, 0.6), parts).shape
    (2, 2)
    """
    # Dropped columns are missing from all parts, and take no part in the products.
    kept = np.flatnonzero(~np.isnan(np.diag(parts[0].outer)))
    at = np.ix_(kept, kept)
    p, m = len(parts[0].outer), len(parts)
    V = np.full((m, p, m, p), np.nan)
    for i, left in enumerate(parts):
        for j, right in enumerate(parts):
            s, t = taus[i], taus[j]
            block = (min(s, t) - s * t) * left.hessian_inverse[at] @ left.outer[at] @ right.hessian_inverse[at]
            V[i, kept[:, None], j, kept] = block
    return V.reshape(m * p, m * p)


def equal_slopes(
    X: Any, y: Any, taus: Sequence[float], fits: Sequence[Solution], weights: Any = None, *,
    slopes: Sequence[int], se: str = "nid", joint: bool = True, bandwidth: Any = "hall-sheather",
    solver: Solver = interior_point,
) -> tuple[FTest, ...]:  # fmt: skip
    """Return tests that slopes are the same at all levels: one of all slopes, or one for each.

    Parameters
    ----------
    X : (n, p) array or scipy CSR
        Design of the fits.
    y : (n,) array
        Response, less the offset if there was one.
    taus : sequence of float
        At least two levels.
    fits : sequence of Solution
        The fits at these levels.
    weights : (n,) array, optional
        Weights of the fits.
    slopes : sequence of int
        Positions of the slopes, usually all columns but the intercept's. Dropped ones are left out.
    se : {"nid", "ker"}
        Kind of sandwich.
    joint : bool
        Whether to test all slopes at once.
    bandwidth : str or float
        As for the sandwich.
    solver : callable
        For the fits of `nid`.

    Notes
    -----
    With m levels and q slopes, Df is (m - 1) q, or m - 1 for each slope, and Resid Df is n m - Df, as in R.

    Raises
    ------
    InputError
        For fewer than two levels, or no slopes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.ones(60), rng.uniform(size=60)])
    >>> y = X[:, 1] + (1 + X[:, 1]) * rng.normal(size=60)
    >>> fits = [interior_point(X, y, tau) for tau in (0.25, 0.75)]
    >>> [(test.df, test.df_resid) for test in equal_slopes(X, y, (0.25, 0.75), fits, slopes=[1])]
    [(1, 119)]
    """
    function = _SANDWICHES[check_choice(se, "se", _SANDWICHES)]
    joint, m = check_bool(joint, "joint"), len(taus)
    tested = [j for j in slopes if not np.isnan(fits[0].coef[j])] if len(fits) else []
    if m < 2 or len(fits) != m or len(set(taus)) < m or not tested:
        raise InputError(
            f"Equality of slopes needs fits at two or more different levels, and slopes; got levels {list(taus)}, "
            f"{len(fits)} fits and {len(tested)} slopes."
        )
    parts = [
        function(X, y, tau, fit, weights, bandwidth=bandwidth, solver=solver)
        for tau, fit in zip(taus, fits, strict=True)
    ]
    n = len(fits[0].a) if weights is None else int(np.sum(np.asarray(weights) > 0))
    p = len(fits[0].coef)
    V, b = joint_covariance(taus, parts), np.concatenate([fit.coef for fit in fits])
    groups = [tested] if joint else [[j] for j in tested]
    return tuple(_differences(b, V, p, m, group, n) for group in groups)


def _differences(b: np.ndarray, V: np.ndarray, p: int, m: int, group: Sequence[int], n: int) -> FTest:
    """Return the test that the coefficients of a group do not change from one level to the next."""
    at = np.array([level * p + j for level in range(m) for j in group])
    q = len(group)
    D = np.kron(np.diff(np.eye(m), axis=0), np.eye(q))
    df = (m - 1) * q
    return FTest.of(_quadratic(D @ b[at], D @ V[np.ix_(at, at)] @ D.T) / df, df, n * m - df)


def _quadratic(d: np.ndarray, V: np.ndarray) -> float:
    """Return d'V^-1 d, the scales of d taken out first; NaN if V is not positive definite."""
    scale = np.sqrt(np.abs(np.diag(V)))
    if not (np.isfinite(V).all() and (scale > 0).all()):
        return np.nan
    try:
        half = np.linalg.solve(np.linalg.cholesky(V / np.outer(scale, scale)), d / scale)
    except np.linalg.LinAlgError:
        return np.nan
    return float(half @ half)
