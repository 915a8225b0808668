"""Quantile regression by the Frisch-Newton interior point method, finished at an exact vertex.

The problem is min over b of sum_i w_i rho_tau(y_i - x_i'b); in the weighted rows z_i, c_i it is the linear programme of
`vertex`. Barrier and Newton equations follow Portnoy & Koenker (1997), section 3, with Mehrotra's (1992) predictor and
corrector.

References
----------
Portnoy, S. and Koenker, R. (1997). The Gaussian hare and the Laplacian tortoise. Statistical Science 12, 279-300.
Mehrotra, S. (1992). On the implementation of a primal-dual interior point method. SIAM J. Optimization 2, 575-601.
Koenker, R. (2005). Quantile Regression. Cambridge University Press, section 6.4.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, check_count, check_finite, check_tau, check_weights
from qreg_boost.base.rank import column_basis
from qreg_boost.quantreg.solution import Solution, Status, check_loss
from qreg_boost.quantreg.vertex import Vertex, find_vertex

_EPS = float(np.finfo(float).eps)
# Values per block of rows in the Gram matrix: fits in a core's second-level cache.
_BLOCK = 1 << 15
# Entries of the design up to which HiGHS is tried when the method stops early (some seconds).
_HIGHS_MOST = 2_000_000


def interior_point(
    X: Any, y: Any, tau: float, weights: Any = None, *, tol: float = 1e-10, max_iter: int = 100
) -> Solution:
    """Return the coefficients that minimise the weighted check loss exactly.

    Parameters
    ----------
    X : (n, p) array
        The design as it is: bring a column of ones for an intercept. Columns that depend on columns to their left are
        dropped, as R's ``lm`` drops them.
    y : (n,) array
        Response.
    tau : float
        Quantile level, strictly between 0 and 1.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0. Rows of weight 0 take no part.
    tol : float
        Largest certified relative gap between the loss and its least value that counts as optimal.
    max_iter : int
        Most Newton steps.

    Returns
    -------
    Solution
        Coefficients in the caller's units with objective, certificate and status.

    Raises
    ------
    InputError
        If shapes do not fit, values are missing or infinite, or `tau` or `weights` are out of range.

    Warns
    -----
    ConvergenceWarning
        If the optimum was not certified; the message gives the gap reached.

    Notes
    -----
    The method runs on residuals from the least squares fit and on an orthonormal basis of the columns, so that neither
    units nor location nor collinearity (up to the dropping rule) affect it. Once the gap is small, the rows with
    residual 0 are read off and the fit through them is solved and certified; if the certificate fails, the method goes
    on.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> fit = interior_point(X, np.array([0.0, 1.0, 2.0, 9.0, 4.0]), tau=0.5)
    >>> fit.coef.round(12).tolist(), fit.objective
    ([0.0, 1.0], 3.0)
    """
    X, y, tau, w = _checked(X, y, tau, weights)
    check_count(max_iter, "max_iter", least=1)
    n, p = X.shape
    rows = np.arange(n) if w is None else np.flatnonzero(w)
    used = slice(None) if len(rows) == n else rows
    problem = _Problem.of(X[used], y[used], None if w is None else w[used])
    outcome = _solve(problem, tau, tol, max_iter)
    coef = np.full(p, np.nan)
    coef[problem.columns] = outcome.b
    a = np.full(n, 1.0 - tau)
    a[rows] = outcome.a
    loss = problem.loss(outcome.b, tau)
    gap = outcome.gap if loss > 0 else 0.0
    if not outcome.status.optimal:
        warnings.warn(f"Quantile regression at tau={tau:g}: {outcome.status.value} Gap reached: {gap:.3g}.",
                      ConvergenceWarning, stacklevel=2)
    dropped = np.setdiff1d(np.arange(p), problem.columns)
    return Solution(coef, loss, gap, outcome.iterations, outcome.status, dropped, a, rows[outcome.basis], outcome.unique)


def _checked(X: Any, y: Any, tau: float, weights: Any) -> tuple[np.ndarray, np.ndarray, float, np.ndarray | None]:
    """Return the arguments as float arrays that fit each other."""
    X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise InputError(
            f"`X` must have shape (n, p) and `y` shape (n,); got {X.shape} and {y.shape}. Give one row of `X` per value of `y`."
        )
    for values, name in ((X, "`X`"), (y, "`y`")):
        check_finite(values, name)
        if np.isnan(values).any():
            raise InputError(f"{name} has {int(np.isnan(values).sum())} missing values; drop those rows first.")
    return X, y, check_tau(tau), None if weights is None else check_weights(weights, len(y))


@dataclass(frozen=True)
class _Problem:
    """The kept rows and columns, and the design they become: Z = w X R^-1, g = R b."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None  # at most 1: the loss's own scale is left to the objective
    heaviest: float
    columns: np.ndarray
    R: np.ndarray
    Z: np.ndarray
    start: np.ndarray  # coefficients of the least squares fit
    spread: float  # its median absolute residual

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> _Problem:
        from scipy.linalg import solve_triangular

        heaviest = 1.0 if weights is None else float(weights.max(initial=0.0)) or 1.0
        w = None if weights is None else weights / heaviest
        kept = column_basis(X, weights=w)
        if len(kept.columns) < X.shape[1]:
            X = X[:, kept.columns]
        Z = X.T if w is None else X.T * w
        if len(kept.columns):
            Z = solve_triangular(kept.factor, Z, trans=1, check_finite=False)
        Z = np.ascontiguousarray(Z.T)
        b = np.zeros(len(kept.columns))
        for _ in range(2):  # normal equations, refined once
            if len(b):
                b += solve_triangular(kept.factor, Z.T @ (y - X @ b), check_finite=False)
        r = np.abs(y - X @ b)
        spread = float(np.median(r if w is None else r * w)) if len(r) else 0.0
        return cls(X, y, w, heaviest, kept.columns, kept.factor, Z, b, spread)

    def coefficients(self, g: np.ndarray) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return solve_triangular(self.R, g, check_finite=False) if len(g) else g

    def weighted(self, values: np.ndarray) -> np.ndarray:
        return values if self.w is None else values * self.w

    def residuals(self, b: np.ndarray) -> np.ndarray:
        """Return the weighted residuals (n,)."""
        return self.weighted(self.y - self.X @ b)

    def rounding(self, b: np.ndarray) -> np.ndarray:
        """Return the size (n,) below which a weighted residual near coefficients b is rounding error.

        The second part is the error of the coefficients themselves, which is relative to the largest of them.
        """
        terms = self.weighted(np.abs(self.y) + np.abs(self.X) @ np.abs(b))
        size = float(np.linalg.norm(self.R @ b)) + np.sqrt(len(self.y)) * self.spread
        return 8.0 * _EPS * (terms + np.sqrt(np.einsum("ij,ij->i", self.Z, self.Z)) * size)

    def loss(self, b: np.ndarray, tau: float) -> float:
        """Return the objective in the caller's units, residuals within rounding counted as 0 if all are."""
        r = self.residuals(b)
        return 0.0 if (np.abs(r) <= self.rounding(b)).all() else self.heaviest * check_loss(r, tau)


@dataclass(frozen=True)
class _Outcome:
    """Where the iteration ended: coefficients b (k,), dual a (n,), relative gap, status."""

    b: np.ndarray
    a: np.ndarray
    gap: float
    iterations: int
    status: Status
    basis: np.ndarray
    unique: bool

    @classmethod
    def of_vertex(cls, problem: _Problem, b: np.ndarray, vertex: Vertex, iterations: int, status: Status) -> _Outcome:
        b = b + problem.coefficients(vertex.g)
        return cls(b, vertex.a, vertex.gap, iterations, status, vertex.basis, vertex.unique)


def _solve(problem: _Problem, tau: float, tol: float, max_iter: int) -> _Outcome:
    """Return the outcome for one tau: least squares, Newton steps, vertex; HiGHS if they fail."""
    n, k = problem.Z.shape
    nothing = np.empty(0, dtype=np.intp)
    b = problem.start
    c = problem.residuals(b)
    rounding = problem.rounding(b)
    if (np.abs(c) <= rounding).all():
        return _Outcome(b, np.full(n, 1.0 - tau), 0.0, 0, Status.OPTIMAL, nothing, True)
    if k == 0:
        return _Outcome(b, np.where(c == 0, 1.0 - tau, c > 0), 0.0, 0, Status.OPTIMAL, nothing, True)
    point = _Point.start(problem.Z, c, tau)
    tried = min(1e-5, max(1e-9, 10.0 / n**2)) * 10.0
    while point.iterations < max_iter:
        point.step()
        gap = point.gap()
        if not np.isfinite(gap):
            break
        if gap > 0.1 * tried:
            continue
        tried = gap
        b = b + problem.coefficients(point.g)
        point.recentre(problem.residuals(b))
        vertex = find_vertex(problem.Z, point.c, tau, point.a, problem.rounding(b))
        if vertex is not None and vertex.gap <= tol:
            return _Outcome.of_vertex(problem, b, vertex, point.iterations, Status.OPTIMAL)
        if gap < _EPS:
            break
    b = b + problem.coefficients(point.g)
    a, gap = point.a, gap if gap >= 0 else np.inf
    status = Status.OPTIMAL if gap <= tol else Status.STOPPED
    return _Outcome(b, a, gap, point.iterations, status, nothing, False)


class _Point:
    """The iterate: g (k,), dual a and s = 1 - a (n,), multipliers u and v (n,) with c - Z g = u - v.

    Optimal where u s = 0 and v a = 0 in every row.
    """

    def __init__(self, Z: np.ndarray, c: np.ndarray, tau: float) -> None:
        self.Z, self.c, self.tau, self.iterations = Z, c, tau, 0

    @classmethod
    def start(cls, Z: np.ndarray, c: np.ndarray, tau: float) -> _Point:
        """Return a feasible point: g = 0, all a = 1 - tau."""
        self = cls(Z, c, tau)
        n, k = Z.shape
        self.g = np.zeros(k)
        self.a, self.s = np.full(n, 1.0 - tau), np.full(n, tau)
        slack = 0.1 * np.mean(np.abs(c))
        self.u, self.v = np.maximum(c, 0.0) + slack, np.maximum(-c, 0.0) + slack
        return self

    def recentre(self, c: np.ndarray) -> None:
        """Go on from residuals computed afresh at the present coefficients."""
        self.c, self.g = c, np.zeros(len(self.g))

    def complementarity(self) -> float:
        return float(self.u @ self.s + self.v @ self.a)

    def gap(self) -> float:
        """Return the duality gap over the loss."""
        return self.complementarity() / max(check_loss(self.c - self.Z @ self.g, self.tau), 1e-300)

    def step(self) -> None:
        """Take one step of Mehrotra's predictor and corrector."""
        from scipy.linalg import cho_solve

        Z, a, s, u, v = self.Z, self.a, self.s, self.u, self.v
        us, va = u / s, v / a
        q = 1.0 / (us + va)
        r = self.c - Z @ self.g
        lack = (1.0 - self.tau - a) @ Z
        factor = _factor(_gram(Z, np.sqrt(q)))
        # Predictor: aim at a barrier of 0.
        dg = cho_solve(factor, (q * r) @ Z - lack, check_finite=False)
        da = q * (r - Z @ dg)
        du, dv = us * da - u, -va * da - v
        along, back = _reach(a, s, da), _reach_down(u, du, v, dv)
        mu = self.complementarity()
        ahead = float((a + along * da) @ (v + back * dv) + (s - along * da) @ (u + back * du))
        barrier = (ahead / mu) ** 3 * mu / (2 * len(a))
        # Corrector: second-order terms of the predictor, barrier above 0.
        to_u, to_v = (barrier + da * du) / s, (barrier - da * dv) / a
        target = r - to_u + to_v
        dg = cho_solve(factor, (q * target) @ Z - lack, check_finite=False)
        da = q * (target - Z @ dg)
        du, dv = to_u - u + us * da, to_v - v - va * da
        along, back = _reach(a, s, da), _reach_down(u, du, v, dv)
        self.a, self.s = a + along * da, s - along * da
        self.g, self.u, self.v = self.g + back * dg, u + back * du, v + back * dv
        self.iterations += 1


def _gram(Z: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return Z' diag(roots^2) Z, block after block of rows."""
    k = Z.shape[1]
    gram = np.zeros((k, k))
    rows = max(_BLOCK // k, k)
    for start in range(0, len(Z), rows):
        block = Z[start : start + rows] * roots[start : start + rows, None]
        gram += block.T @ block
    return gram


def _factor(gram: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the Cholesky factor; a matrix singular to rounding (a flat optimum, late) gets the least ridge that helps."""
    from scipy.linalg import cho_factor

    ridge = 0.0
    while ridge < 1.0:
        try:
            return cho_factor(gram + ridge * np.max(np.diag(gram)) * np.eye(len(gram)), check_finite=False)
        except np.linalg.LinAlgError:
            ridge = max(1e-14, 100.0 * ridge)
    raise FloatingPointError("The Newton equations lost all digits.")


def _reach(a: np.ndarray, s: np.ndarray, da: np.ndarray) -> float:
    """Return the step, at most 1, that keeps a and s = 1 - a above 0."""
    return min(1.0, 0.99995 / max(float(np.max(-da / a)), float(np.max(da / s)), 1e-300))


def _reach_down(u: np.ndarray, du: np.ndarray, v: np.ndarray, dv: np.ndarray) -> float:
    """Return the step, at most 1, that keeps u and v above 0."""
    return min(1.0, 0.99995 / max(float(np.max(-du / u)), float(np.max(-dv / v)), 1e-300))
