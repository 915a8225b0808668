"""Covariance matrices of quantile regression coefficients, under R's names: iid, nid, ker; and by clusters.

All are sandwiches tau (1 - tau) H^-1 J H^-1 (Koenker 2005, section 3.2.3), of rows multiplied by their weights.

References
----------
Koenker, R. and Bassett, G. (1978). Regression quantiles. Econometrica 46, 33-50. (iid)
Hendricks, W. and Koenker, R. (1992). Hierarchical spline models for conditional quantiles and the demand for
    electricity. JASA 87, 58-68. (nid)
Powell, J. (1991). Estimation of monotonic regression models under quantile restrictions. In Nonparametric and
    Semiparametric Methods in Econometrics, eds. Barnett, Powell and Tauchen. (ker)
Parente, P. and Santos Silva, J. (2016). Quantile regression with clustered data. J. of Econometric Methods 5, 1-15.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_tau, warn
from qreg_boost.quantreg.bandwidth import bandwidth as bandwidth_of
from qreg_boost.quantreg.bandwidth import inside
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.rows import Rows, inverse
from qreg_boost.quantreg.solution import Solution
from qreg_boost.quantreg.sparsity import sparsity as sparsity_of

Solver = Callable[..., Solution]

_NORMAL = NormalDist()
# A difference of fitted quantiles within this part of the largest one counts as none.
_NO_DIFFERENCE = float(np.finfo(float).eps) ** 0.5
# Fits at two levels that differ by no more than this part of the median residual are one fit, but for the precision of
# the solver.
_ONE_FIT = 1e-6


class DensityWarning(UserWarning):
    """An estimate of the density of the response at its quantile that cannot be right."""


@dataclass(frozen=True)
class Covariance:
    """An estimated covariance matrix of coefficients and what it is made of.

    Attributes
    ----------
    kind : str
        Name of the estimate: "iid", "nid", "ker", "cluster".
    matrix : (p, p) array
        Covariance matrix; NaN in rows and columns of dropped coefficients, everywhere if it cannot be computed.
    bandwidth : float
        Bandwidth in tau, halved if need be.
    sparsity : float
        Estimated sparsity in units of y (times weight); NaN but for "iid".
    density : (n,) array or None
        Estimated density of each response at its quantile, per unit of y times weight; NaN in rows of weight 0. None
        for "iid".
    hessian_inverse : (p, p) array
        H^-1, the inverse of the sum of density times x x'.
    outer : (p, p) array
        J: the sum of x x'; for "cluster" that of the clusters' scores, over tau (1 - tau).
    nonpositive : int
        Rows whose estimated density was not positive and was put to 0.
    """

    kind: str
    matrix: np.ndarray
    bandwidth: float
    hessian_inverse: np.ndarray
    outer: np.ndarray
    sparsity: float = np.nan
    density: np.ndarray | None = field(default=None, repr=False)
    nonpositive: int = 0

    @property
    def standard_errors(self) -> np.ndarray:
        """Return the roots (p,) of the diagonal."""
        return np.sqrt(np.diag(self.matrix))


def iid(
    X: Any, y: Any, tau: float, fit: Solution, weights: Any = None, *,
    bandwidth: Any = "hall-sheather", solver: Solver = interior_point,
) -> Covariance:  # fmt: skip
    """Return the covariance for identically distributed errors: tau (1 - tau) s^2 (X'X)^-1, s the sparsity.

    Parameters
    ----------
    X : (n, p) array or scipy CSR
        Design of the fit.
    y : (n,) array
        Response, less the offset if there was one.
    tau : float
        Quantile level of the fit.
    fit : Solution
        The fit.
    weights : (n,) array, optional
        Weights of the fit. Rows count if their weight is above 0.
    bandwidth : str or float
        "hall-sheather", "bofinger", or the bandwidth in tau itself.
    solver : callable
        Not used: nothing is fitted.

    Examples
    --------
    >>> X, y = np.ones((9, 1)), np.arange(9.0)
    >>> float(iid(X, y, 0.5, interior_point(X, y, 0.5)).standard_errors[0].round(4))
    1.6
    """
    tau, rows = check_tau(tau), Rows.of(X, y, fit, weights)
    h = bandwidth_of(tau, rows.n, bandwidth)
    s = sparsity_of(rows.r, rows.k, h, rows.zero)
    if np.isnan(s):
        warn(
            f"se='iid' at tau={tau:g} cannot be computed: {int(rows.zero.sum())} of {rows.n} rows have residual 0, and "
            "the rest do not tell the sparsity. More rows than coefficients are needed, and a fit that is not perfect.",
            DensityWarning,
        )
    J = rows.gram()
    H = inverse(J)
    C = rows.of_coefficients(tau * (1.0 - tau) * s**2 * H)
    return Covariance("iid", C, h, rows.of_coefficients(s * H), rows.of_columns(J), sparsity=s)


def nid(
    X: Any, y: Any, tau: float, fit: Solution, weights: Any = None, *,
    bandwidth: Any = "hall-sheather", solver: Solver = interior_point,
) -> Covariance:  # fmt: skip
    """Return the sandwich of Hendricks and Koenker, whose densities come from fits at tau - h and tau + h.

    Parameters
    ----------
    X, y, tau, fit, weights, bandwidth
        As for `iid`.
    solver : callable
        ``solver(X, y, tau, weights) -> Solution`` for the two fits.

    Warns
    -----
    DensityWarning
        If fitted quantiles cross, so that densities are not positive; their number is given. Those rows count as
        density 0.

    Examples
    --------
    >>> X, y = np.ones((9, 1)), np.arange(9.0)
    >>> float(nid(X, y, 0.5, interior_point(X, y, 0.5)).standard_errors[0].round(4))
    1.4273
    """
    tau, rows = check_tau(tau), Rows.of(X, y, fit, weights)
    h = inside(tau, bandwidth_of(tau, rows.n, bandwidth))
    density = local_density(rows, tau, h, solver)
    return _sandwich("nid", rows, tau, h, density)


def local_density(rows: Rows, tau: float, h: float, solver: Solver) -> np.ndarray:
    """Return the density (n,) of each row's response at its quantile: 2 h over the difference of fits at tau +- h.

    It is 0 where the fits cross or touch, and everywhere if both are the same fit, as for tau close to 0 or 1.
    """
    upper, lower = (rows.coefficients(level, solver) for level in (tau + h, tau - h))
    difference = rows.fitted(upper - lower)
    if np.max(np.abs(difference), initial=0.0) <= _ONE_FIT * (np.median(np.abs(rows.r)) if rows.n else 0.0):
        return np.zeros(rows.n)
    least = np.maximum(rows.rounding, _NO_DIFFERENCE * np.max(np.abs(difference), initial=0.0))
    positive = difference > least
    return np.divide(2.0 * h, difference, out=np.zeros(rows.n), where=positive)


def ker(
    X: Any, y: Any, tau: float, fit: Solution, weights: Any = None, *,
    bandwidth: Any = "hall-sheather", solver: Solver = interior_point,
) -> Covariance:  # fmt: skip
    """Return Powell's sandwich, whose densities are a normal kernel at the residuals.

    Parameters
    ----------
    X, y, tau, fit, weights, bandwidth
        As for `iid`.
    solver : callable
        Not used: nothing is fitted.

    Notes
    -----
    The kernel's standard deviation is (qnorm(tau + h) - qnorm(tau - h)) min(sd, IQR / 1.34) of the residuals (Koenker
    2005, section 3.4.2).

    Examples
    --------
    >>> X, y = np.ones((9, 1)), np.arange(9.0)
    >>> float(ker(X, y, 0.5, interior_point(X, y, 0.5)).standard_errors[0].round(4))
    4.3478
    """
    tau, rows = check_tau(tau), Rows.of(X, y, fit, weights)
    h = inside(tau, bandwidth_of(tau, rows.n, bandwidth))
    quartiles = np.quantile(rows.r, [0.25, 0.75]) if rows.n else np.zeros(2)
    spread = min(float(np.std(rows.r, ddof=1)) if rows.n > 1 else 0.0, float(quartiles[1] - quartiles[0]) / 1.34)
    width = _normal_width(tau, h) * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.exp(-0.5 * (rows.r / width) ** 2) / (width * np.sqrt(2.0 * np.pi))
    return _sandwich("ker", rows, tau, h, np.where(np.isfinite(density), density, 0.0))


def cluster(
    X: Any, y: Any, tau: float, fit: Solution, groups: Any, weights: Any = None, *,
    bandwidth: Any = "hall-sheather", solver: Solver = interior_point,
) -> Covariance:  # fmt: skip
    """Return the covariance of Parente and Santos Silva, for errors that depend on each other within clusters.

    Parameters
    ----------
    X, y, tau, fit
        As for `iid`.
    groups : (n,) array
        Label of each row's cluster.
    weights, bandwidth
        As for `iid`.
    solver : callable
        Not used: nothing is fitted.

    Notes
    -----
    J is the sum over clusters of s s' with s the cluster's sum of x (tau - 1[r < 0]). The density is that of a uniform
    kernel of half-width (qnorm(tau + h) - qnorm(tau - h)) times the median absolute deviation of the residuals. There
    is no correction for few clusters.

    Raises
    ------
    InputError
        If `groups` does not have one label per row, has missing ones, or names a single cluster.

    Examples
    --------
    >>> X, y = np.ones((9, 1)), np.arange(9.0)
    >>> fit = interior_point(X, y, 0.5)
    >>> float(cluster(X, y, 0.5, fit, groups=np.arange(9) // 3).standard_errors[0].round(4))
    3.5636
    """
    tau, rows = check_tau(tau), Rows.of(X, y, fit, weights)
    labels = check_groups(groups, len(rows.used))[rows.used]
    h = inside(tau, bandwidth_of(tau, rows.n, bandwidth))
    deviation = float(np.median(np.abs(rows.r - np.median(rows.r))))
    width = _normal_width(tau, h) * deviation
    near = np.abs(rows.r) <= width
    density = np.where(near, 0.5 / width, 0.0) if width > 0 else np.zeros(rows.n)
    sign = np.where(rows.zero | (rows.r > 0), tau, tau - 1.0)
    scores = rows.group_sums(sign, labels)
    return _sandwich("cluster", rows, tau, h, density, scores.T @ scores / (tau * (1.0 - tau)))


COVARIANCES: dict[str, Callable[..., Covariance]] = {"iid": iid, "nid": nid, "ker": ker}


def check_groups(groups: Any, n: int) -> np.ndarray:
    """Return clusters as whole numbers (n,) from 0 on.

    >>> check_groups(["b", "a", "b"], 3).tolist()
    [1, 0, 1]
    """
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise InputError(f"`groups` must have one label per row (shape ({n},)); got shape {labels.shape}.")
    missing = np.array([label is None or label != label for label in labels.tolist()], dtype=bool)
    if missing.any():
        raise InputError(f"`groups` has {int(missing.sum())} missing labels; drop those rows or give them a cluster.")
    try:
        found, code = np.unique(labels, return_inverse=True)
    except TypeError:
        found, code = np.unique(labels.astype(str), return_inverse=True)
    if len(found) < 2:
        raise InputError("`groups` has one label only; cluster standard errors need at least two clusters.")
    return code


def _normal_width(tau: float, h: float) -> float:
    return _NORMAL.inv_cdf(tau + h) - _NORMAL.inv_cdf(tau - h)


def _sandwich(
    kind: str, rows: Rows, tau: float, h: float, density: np.ndarray, outer: np.ndarray | None = None
) -> Covariance:
    """Return tau (1 - tau) H^-1 J H^-1; NaN with a warning if too few densities are positive."""
    nonpositive = int(np.sum(density <= 0.0)) if kind == "nid" else 0
    if nonpositive:
        warn(
            f"se={kind!r} at tau={tau:g}: the estimated density is not positive in {nonpositive} of {rows.n} rows, "
            f"where the fits at tau = {tau - h:.4g} and {tau + h:.4g} cross or touch; it is put to 0 there. If there "
            "are many, prefer 'boot' or 'rank', or add terms (squares, say) to the formula.",
            DensityWarning,
        )
    J = rows.gram() if outer is None else outer
    H = inverse(rows.gram(density))
    if np.isnan(H).any():
        warn(
            f"se={kind!r} at tau={tau:g} cannot be computed: the estimated densities are 0 in too many of the "
            f"{rows.n} rows. Use 'iid', 'boot' or 'rank', or give a larger bandwidth.",
            DensityWarning,
        )
    C = rows.of_coefficients(tau * (1.0 - tau) * H @ J @ H)
    whole = np.full(len(rows.used), np.nan)
    whole[rows.used] = density
    return Covariance(kind, C, h, rows.of_coefficients(H), rows.of_columns(J), density=whole, nonpositive=nonpositive)
