"""Quantile regression by the simplex method, from vertex to vertex along edges on which the loss falls.

References
----------
Barrodale, I. and Roberts, F. D. K. (1973). An improved algorithm for discrete L1 linear approximation. SIAM J.
Numerical Analysis 10, 839-848.
Koenker, R. W. and d'Orey, V. (1987). Algorithm AS 229: Computing regression quantiles. Applied Statistics 36, 383-393.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.interior_point import Outcome, Problem, attempt, check_problem, vertex_outcome, warned
from qreg_boost.quantreg.parametric import Bounds, LostError, Tableau
from qreg_boost.quantreg.solution import Solution, Status

# Largest certified gap that counts as optimal.
_TOL = 1e-10
# Entries of the design up to which pivots are the last resort (some seconds).
_LAST_RESORT_MOST = 2_000_000
# Entries up to which a sparse design is filled in.
_DENSE_MOST = 20_000_000


def simplex(X: Any, y: Any, tau: float, weights: Any = None, *, start: Any = None) -> Solution:
    """Return a vertex that minimises the weighted check loss, with its certificate.

    Parameters
    ----------
    X : (n, p) array or sparse array
        The design as it is: bring a column of ones for an intercept. Columns that depend on columns to their left are
        dropped, as R's ``lm`` drops them. A sparse design is filled in.
    y : (n,) array
        Response.
    tau : float
        Quantile level, strictly between 0 and 1.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0. Rows of weight 0 take no part.
    start : Solution, (p,) float array or (k,) int array, optional
        Where to start: a solution for another tau or other weights, coefficients, or the rows to fit exactly. By
        default the rows nearest to the least squares fit, moved by the quantile of its residuals.

    Returns
    -------
    Solution
        Coefficients in the caller's units with objective and certificate; `iterations` counts pivots.

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
    Ties and degenerate vertices cannot make it cycle (see `pivots`). If rounding leaves it without a next vertex, or
    there is nothing to minimise, the interior point method answers in its place.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> fit = simplex(X, np.array([0.0, 1.0, 2.0, 9.0, 4.0]), tau=0.5)
    >>> fit.coef.round(12).tolist(), fit.objective
    ([0.0, 1.0], 3.0)
    """
    X, y, tau, w = check_problem(dense(X), y, tau, weights)
    found = _by_pivots(X, y, tau, w, start)
    return warned(attempt(X, y, tau, w) if found is None else found, tau)


def interior_point_or_simplex(X: Any, y: Any, tau: float, weights: Any = None) -> Solution:
    """Return the solution of `interior_point`, or that of `simplex` where the former certifies no vertex.

    Weights may differ so much that the interior point method, whose Newton equations mix all rows, loses the light ones
    in the rounding of the heavy ones; pivots change one row at a time. Designs of more than two million entries are
    left to the interior point method.

    Examples
    --------
    >>> interior_point_or_simplex(np.ones((3, 1)), np.array([1.0, 2.0, 4.0]), 0.5).coef.tolist()
    [2.0]
    """
    X, y, tau, w = check_problem(X, y, tau, weights)
    fit = attempt(X, y, tau, w)
    if fit.status is Status.OPTIMAL or X.size > _LAST_RESORT_MOST:
        return warned(fit, tau)
    other = _by_pivots(X, y, tau, w, None)
    if other is not None and (other.status is Status.OPTIMAL or (other.status.optimal and not fit.status.optimal)):
        return other
    return warned(fit, tau)


def _by_pivots(X: np.ndarray, y: np.ndarray, tau: float, w: np.ndarray | None, start: Any) -> Solution | None:
    """Return the solution that pivots lead to; None if there is nothing to minimise or rounding has left no vertex."""
    n, p = X.shape
    task = Task.of(X, y, w)
    problem = task.problem
    if task.trivial:
        return None
    try:
        tableau = task.tableau(_basis(task, tau, start))
        pivots = tableau.minimise(tau)
    except LostError:
        return None
    outcome = _certified(task, tableau, tau, pivots)
    if outcome is None:
        return None
    coef = np.full(p, np.nan)
    coef[problem.columns] = outcome.b
    dual = np.full(n, 1.0 - tau)
    dual[task.rows] = outcome.a
    loss = problem.loss(outcome.b, tau)
    dropped = np.setdiff1d(np.arange(p), problem.columns)
    basis = task.rows[outcome.basis]
    return Solution(
        coef,
        loss,
        outcome.gap if loss > 0 else 0.0,
        outcome.iterations,
        outcome.status,
        dropped,
        dual,
        basis,
        outcome.unique,
    )


def _certified(task: Task, tableau: Tableau, tau: float, pivots: int) -> Outcome | None:
    """Return the vertex with the certificate found; None if rounding has left no vertex.

    With weights of very different sizes, what is rounding for heavy rows may be all of the multiplier of a light one,
    and the strict certificate fails. Then the dual solution counts by what it lacks against the size of its sums.
    """
    Z = task.problem.Z
    a = np.where(task.c == 0, 1.0 - tau, task.c > 0)
    a[task.used] = np.clip(tableau.multipliers(tau) / task.size + 1.0 - tau, 0.0, 1.0)
    near = Outcome(task.coefficients(tableau.vertex()), a, 0.0, pivots, Status.OPTIMAL)
    outcome = vertex_outcome(task.problem, tau, np.inf, near)
    if outcome is None or outcome.gap <= _TOL:
        return outcome
    lack = np.abs((1.0 - tau - a) @ Z) / np.abs(Z).sum(axis=0)
    gap = float(np.max(lack)) / min(tau, 1.0 - tau)
    if gap > _TOL:
        return replace(outcome, status=Status.STOPPED)
    return replace(near, gap=gap, status=Status.WITHIN_TOLERANCE)


def dense(X: Any) -> np.ndarray:
    """Return the design as a dense array; sparse ones up to 20 million entries."""
    from scipy import sparse

    if not sparse.issparse(X):
        return np.asarray(X)
    n, p = X.shape
    if n * p > _DENSE_MOST:
        raise InputError(
            f"The simplex method fills a sparse design in, and this one has {n} rows and {p} columns; at most "
            f"{_DENSE_MOST:,} entries are allowed. Use another method, such as 'exact'."
        )
    return np.asarray(X.toarray())


@dataclass(frozen=True)
class Task:
    """Rows at a length of 1, in coordinates in which the columns are orthonormal.

    Attributes
    ----------
    problem : Problem
        The kept rows and columns.
    rows : (n1,) int array
        Positions of the rows with weight above 0.
    c : (n1,) array
        Their weighted residuals from the least squares fit.
    used : (n2,) int array
        Positions among them of the rows whose design is not 0.
    size : (n2,) array
        Lengths of the weighted rows: their weights once they have a length of 1.
    rounding : (n2,) array
        Rounding errors of `c` over `size`.
    trivial : bool
        Whether there is nothing to minimise: no column, or a perfect fit.
    """

    problem: Problem
    rows: np.ndarray
    c: np.ndarray
    used: np.ndarray
    size: np.ndarray
    rounding: np.ndarray
    trivial: bool

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Task:
        """Return the task of checked arrays."""
        rows = np.arange(len(y)) if w is None else np.flatnonzero(w)
        kept = slice(None) if len(rows) == len(y) else rows
        problem = Problem.of(X[kept], y[kept], None if w is None else w[kept])
        c, rounding = problem.residuals(problem.start), problem.rounding(problem.start)
        size = np.sqrt(np.einsum("ij,ij->i", problem.Z, problem.Z))
        used = np.flatnonzero(size)
        trivial = problem.Z.shape[1] == 0 or bool((np.abs(c) <= rounding).all())
        return cls(problem, rows, c, used, size[used], rounding[used] / size[used], trivial)

    def tableau(self, basis: np.ndarray) -> Tableau:
        """Return the tableau in tau at the vertex of rows `basis`, positions in `used`."""
        q, nil = self.size, np.zeros(len(self.size))
        U = self.problem.Z[self.used] / q[:, None]
        bounds = Bounds(-q, q, nil, q)
        return Tableau(U, self.c[self.used] / q, np.empty(0, dtype=np.intp), bounds, self.rounding, basis)

    def coefficients(self, g: np.ndarray) -> np.ndarray:
        """Return coefficients of the kept columns, (..., k), for coordinates g (..., k)."""
        return self.problem.start + self.problem.coefficients(g.T).T

    def nearest(self, c: np.ndarray) -> np.ndarray:
        """Return k independent rows, positions in `used`, preferring small residuals c (n2,) over `size`."""
        from scipy.linalg import qr

        U = self.problem.Z[self.used] / self.size[:, None]
        k = U.shape[1]
        distance = np.abs(c)
        typical = float(np.median(distance)) or float(distance.max()) or 1.0
        most = min(len(c), max(50 * k, 2000))
        for count in {most, len(c)}:
            near = np.argpartition(distance, count - 1)[:count]
            near.sort()
            preferred = U[near] / (1e-3 + np.minimum(distance[near] / typical, 1e3))[:, None]
            R, order = qr(preferred.T, mode="r", pivoting=True, check_finite=False)
            pivots = np.abs(np.diag(R))
            if len(pivots) == k and pivots[-1] > 1e-10 * pivots[0]:
                break
        return near[order[:k]]


def _basis(task: Task, tau: float, start: Any) -> np.ndarray:
    """Return the rows to start from, positions in `used`."""
    k = task.problem.Z.shape[1]
    c = task.c[task.used] / task.size
    if isinstance(start, Solution):
        start = start.basis if len(start.basis) == k else start.coef
    if start is not None:
        start = np.asarray(start)
        if start.dtype.kind in "iu":
            place = np.full(int(max(task.rows.max(), start.max(initial=0))) + 1, -1)
            place[task.rows[task.used]] = np.arange(len(task.used))
            at = place[start]
            chosen = task.problem.Z[task.used[at]] / task.size[at, None]
            if len(start) == k and (at >= 0).all() and np.linalg.cond(chosen) < 1e12:
                return at
            return task.nearest(c)
        columns = task.problem.columns
        if len(start) > columns.max() and np.isfinite(start[columns]).all():
            return task.nearest(task.problem.residuals(np.asarray(start[columns], dtype=float))[task.used] / task.size)
    return task.nearest(c - np.quantile(c, tau))
