"""Quantile regression by the Frisch-Newton interior point method, finished at an exact vertex.

The problem is min over b of sum_i w_i rho_tau(y_i - x_i'b) (Koenker 2005, section 6.4). `frisch_newton` holds the
Newton steps, `vertex` the way from a nearly optimal point to an exact one with its certificate.

References
----------
Koenker, R. (2005). Quantile Regression. Cambridge University Press.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from qreg_boost.base.checks import (
    ConvergenceWarning,
    InputError,
    check_count,
    check_finite,
    check_tau,
    check_weights,
    warn,
)
from qreg_boost.base.rank import column_basis
from qreg_boost.quantreg.frisch_newton import Iterate
from qreg_boost.quantreg.solution import Solution, Status, check_loss
from qreg_boost.quantreg.vertex import find_vertex

_EPS = float(np.finfo(float).eps)
# Gap at which there is no use in going on. Far below rounding: one row may own the loss, and the rest be unresolved.
_SPENT = 1e-30
_LARGEST = 1e150
# Values per block of rows where a whole copy of the design would be too much.
_BLOCK = 1 << 16
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
    X, y, tau, w = check_problem(X, y, tau, weights)
    check_count(max_iter, "max_iter", least=1)
    return warned(attempt(X, y, tau, w, tol, max_iter), tau)


def attempt(
    X: np.ndarray, y: np.ndarray, tau: float, w: np.ndarray | None, tol: float = 1e-10, max_iter: int = 100
) -> Solution:
    """Return what `interior_point` does for checked arrays, without a warning."""
    n, p = X.shape
    rows = np.arange(n) if w is None else np.flatnonzero(w)
    used = slice(None) if len(rows) == n else rows
    problem = Problem.of(X[used], y[used], None if w is None else w[used])
    outcome = _solve(problem, tau, tol, max_iter)
    coef = np.full(p, np.nan)
    coef[problem.columns] = outcome.b
    a = np.full(n, 1.0 - tau)
    a[rows] = outcome.a
    loss = problem.loss(outcome.b, tau)
    gap = outcome.gap if loss > 0 else 0.0
    dropped = np.setdiff1d(np.arange(p), problem.columns)
    basis = rows[outcome.basis]
    return Solution(coef, loss, gap, outcome.iterations, outcome.status, dropped, a, basis, outcome.unique)


def warned(fit: Solution, tau: float) -> Solution:
    """Return the solution, with a warning if its optimum was not certified."""
    if not fit.status.optimal:
        message = f"Quantile regression at tau={tau:g}: {fit.status.value} Gap reached: {fit.duality_gap:.3g}."
        warn(message, ConvergenceWarning)
    return fit


def check_problem(X: Any, y: Any, tau: float, weights: Any) -> tuple[np.ndarray, np.ndarray, float, np.ndarray | None]:
    """Return the arguments as float arrays that fit each other."""
    X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise InputError(
            f"`X` must have shape (n, p) and `y` shape (n,); got {X.shape} and {y.shape}. "
            "Give one row of `X` per value of `y`."
        )
    for values, name in ((X, "`X`"), (y, "`y`")):
        check_finite(values, name)
        if np.isnan(values).any():
            raise InputError(f"{name} has {int(np.isnan(values).sum())} missing values; drop those rows first.")
        if values.size and max(values.max(), -values.min()) > _LARGEST:
            raise InputError(f"{name} has values beyond {_LARGEST:g}, whose squares overflow; give it in larger units.")
    return X, y, check_tau(tau), None if weights is None else check_weights(weights, len(y))


@dataclass(frozen=True)
class Problem:
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
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Problem:
        """Return the problem of rows whose weights are above 0."""
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
        """Return b (k,) with R b = g."""
        from scipy.linalg import solve_triangular

        return solve_triangular(self.R, g, check_finite=False) if len(g) else g

    def weighted(self, values: np.ndarray) -> np.ndarray:
        """Return values of the rows (n,) times their weights."""
        return values if self.w is None else values * self.w

    def residuals(self, b: np.ndarray) -> np.ndarray:
        """Return the weighted residuals (n,)."""
        return self.weighted(self.y - self.X @ b)

    def rounding(self, b: np.ndarray) -> np.ndarray:
        """Return the size (n,) below which a weighted residual near coefficients b is rounding error.

        The second part is the error of the coefficients themselves, which is relative to the largest of them.
        """
        rows = max(_BLOCK // max(len(b), 1), 1)
        sizes = [np.abs(self.X[i : i + rows]) @ np.abs(b) for i in range(0, len(self.y), rows)]
        terms = self.weighted(np.abs(self.y) + np.concatenate([np.empty(0), *sizes]))
        size = float(np.linalg.norm(self.R @ b)) + np.sqrt(len(self.y)) * self.spread
        return 8.0 * _EPS * (terms + np.sqrt(np.einsum("ij,ij->i", self.Z, self.Z)) * size)

    def loss(self, b: np.ndarray, tau: float) -> float:
        """Return the objective in the caller's units, residuals within rounding counted as 0 if all are."""
        r = self.residuals(b)
        return 0.0 if (np.abs(r) <= self.rounding(b)).all() else self.heaviest * check_loss(r, tau)


@dataclass(frozen=True)
class Outcome:
    """Where the iteration ended: coefficients b (k,), dual a (n,), relative gap, steps, status, basic rows."""

    b: np.ndarray
    a: np.ndarray
    gap: float
    iterations: int
    status: Status
    basis: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    unique: bool = False


def _solve(problem: Problem, tau: float, tol: float, max_iter: int) -> Outcome:
    """Return the outcome for one tau: Newton steps from least squares, then a vertex; HiGHS if they fail."""
    n, k = problem.Z.shape
    b = problem.start
    c = problem.residuals(b)
    rounding = problem.rounding(b)
    neutral = np.full(n, 1.0 - tau)
    if (np.abs(c) <= rounding).all():
        perfect = Outcome(b, neutral, 0.0, 0, Status.OPTIMAL, unique=True)
        vertex = find_vertex(problem.Z, c, tau, neutral, rounding) if k else None
        return perfect if vertex is None else replace(perfect, basis=vertex.basis)
    if k == 0:
        return Outcome(b, np.where(c == 0, neutral, c > 0), 0.0, 0, Status.OPTIMAL, unique=True)
    point = Iterate(problem.Z, c, tau)
    # A vertex can be read off once the barrier is below the squared spacing of the residuals, about (spread / n)^2.
    worth_trying = min(1e-5, max(1e-9, 10.0 / n**2))
    gap = point.gap()
    while point.steps < max_iter and gap > _SPENT and point.step():
        gap = point.gap()
        if gap <= worth_trying:
            worth_trying = 0.1 * gap
            b = b + problem.coefficients(point.g)
            point.recentre(problem.residuals(b))
            found = vertex_outcome(problem, tau, tol, Outcome(b, point.a, gap, point.steps, Status.OPTIMAL))
            if found is not None:
                return found
    b = b + problem.coefficients(point.g)
    gap += point.infeasibility() / min(tau, 1.0 - tau)
    reached = Outcome(b, point.a, gap, point.steps, Status.WITHIN_TOLERANCE if gap <= tol else Status.STOPPED)
    rescued = _by_highs(problem, tau, tol, reached) if problem.Z.size <= _HIGHS_MOST else None
    return reached if rescued is None else rescued


def vertex_outcome(problem: Problem, tau: float, tol: float, near: Outcome) -> Outcome | None:
    """Return the vertex near an outcome if its certificate holds."""
    vertex = find_vertex(problem.Z, problem.residuals(near.b), tau, near.a, problem.rounding(near.b))
    if vertex is None or not vertex.gap <= tol:
        return None
    b = near.b + problem.coefficients(vertex.g)
    return replace(near, b=b, a=vertex.a, gap=vertex.gap, basis=vertex.basis, unique=vertex.unique)


def _by_highs(problem: Problem, tau: float, tol: float, reached: Outcome) -> Outcome | None:
    """Return the certified vertex that HiGHS leads to from where the method stopped, or None."""
    from scipy.optimize import linprog

    c = problem.residuals(reached.b)
    size = float(np.mean(np.abs(c)))
    lengths = np.linalg.norm(problem.Z, axis=0)
    Z = problem.Z / lengths
    need = (1.0 - tau) * Z.sum(axis=0)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(-c / size, A_eq=Z.T, b_eq=need, bounds=(0, 1), method="highs-ds", options=tight)
    if found.x is None or found.status != 0:
        return None
    b = reached.b - problem.coefficients(found.eqlin.marginals * size / lengths)
    near = replace(reached, b=b, a=np.clip(found.x, 0.0, 1.0), status=Status.OPTIMAL_BY_HIGHS)
    return vertex_outcome(problem, tau, tol, near)
