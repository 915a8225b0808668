"""The caller's problem in the coordinates in which solvers work, dense or sparse, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, warn
from qreg_boost.quantreg import sparse_rows
from qreg_boost.quantreg.interior_point import Problem, check_problem
from qreg_boost.quantreg.solution import Solution, Status, check_loss

# Rounding of a residual over the size of its terms.
_ROUNDING = 2e-15


@dataclass(frozen=True)
class StandardForm:
    """min over g of sum_i rho_tau(c_i - z_i'g), c being residuals from the least squares fit.

    Attributes
    ----------
    Z : (m, k) array or CSR array
        Weighted design of the rows of positive weight: near orthonormal if dense, of unit columns if sparse.
    c : (m,) array
        Weighted residuals from least squares, 0 if all are rounding error.
    tau : float
        Quantile level.
    X, y, w : arrays
        The caller's, checked; w is None without weights.
    rows : (m,) int array
        Rows of positive weight.
    columns : (k,) int array
        Columns that were kept.
    origin : (k,) array
        Coefficients of the least squares fit.
    to_g : (k, k) or (k,) array
        Triangular R with g = R b, or for a sparse design its diagonal.
    """

    Z: Any
    c: np.ndarray
    tau: float
    X: Any
    y: np.ndarray
    w: np.ndarray | None
    rows: np.ndarray
    columns: np.ndarray
    origin: np.ndarray
    to_g: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, tau: float, weights: Any) -> StandardForm:
        """Return the standard form of a design (n, p), dense or scipy sparse, and response (n,)."""
        sparse = hasattr(X, "tocsr")
        X, y, tau, w = (sparse_rows.checked if sparse else check_problem)(X, y, tau, weights)
        rows = np.arange(len(y)) if w is None else np.flatnonzero(w)
        used = X[rows], y[rows], None if w is None else w[rows]
        if not sparse:
            dense = Problem.of(*used)
            c = dense.residuals(dense.start)
            c = np.where((np.abs(c) <= dense.rounding(dense.start)).all(), 0.0, c)
            return cls(dense.Z, c, tau, X, y, w, rows, dense.columns, dense.start, dense.R)
        design = sparse_rows.SparseRows(*used)
        lengths = np.linalg.norm(design.R, axis=0) * np.sqrt(max(len(rows), 1))
        relative = np.ones(len(rows)) if used[2] is None else used[2] / used[2].max()
        Z = ((design.X * (1.0 / lengths)[None, :]) * relative[:, None]).tocsr()
        origin = design.least_squares()
        c = used[1] - design.X @ origin
        rounding = _ROUNDING * (np.abs(used[1]) + abs(design.X) @ np.abs(origin))
        c = np.where((np.abs(c) <= rounding).all(), 0.0, relative * c)
        return cls(Z, c, tau, X, y, w, rows, design.columns, origin, lengths)

    def coefficients(self, g: np.ndarray) -> np.ndarray:
        """Return the caller's coefficients (p,) at g, NaN for dropped columns."""
        from scipy.linalg import solve_triangular

        coef = np.full(self.X.shape[1], np.nan)
        if len(g):
            by = g / self.to_g if self.to_g.ndim == 1 else solve_triangular(self.to_g, g, check_finite=False)
            coef[self.columns] = self.origin + by
        return coef

    def solution(self, g: np.ndarray, a: np.ndarray, gap: float, iterations: int, tol: float) -> Solution:
        """Return the solution at g with dual values a (m,), within tolerance or stopped: no vertex is certified."""
        coef = self.coefficients(g)
        r = self.y - self.X[:, self.columns] @ coef[self.columns]
        w = None if self.w is None else self.w[self.rows]
        loss = check_loss(r[self.rows], self.tau, w) if self.c.any() else 0.0
        gap = gap if loss > 0 else 0.0
        dual = np.full(len(self.y), 1.0 - self.tau)
        dual[self.rows] = a
        dropped = np.setdiff1d(np.arange(len(coef)), self.columns)
        status = Status.WITHIN_TOLERANCE if gap <= tol else Status.STOPPED
        if not status.optimal:
            warn(f"Quantile regression at tau={self.tau:g}: {status.value} Gap reached: {gap:.3g}.", ConvergenceWarning)
        return Solution(coef, loss, gap, iterations, status, dropped, dual, np.empty(0, dtype=np.intp), False)

    def lack(self, a: np.ndarray) -> float:
        """Return by how much of the loss, relatively, dual values a miss Z'a = (1 - tau) Z'1."""
        if self.Z.shape[1] == 0:
            return 0.0
        sizes = np.maximum(np.asarray(abs(self.Z).sum(axis=0)).ravel(), 1e-300)
        worst = float(np.max(np.abs((1.0 - self.tau - a) @ self.Z) / sizes))
        return worst / min(self.tau, 1.0 - self.tau)
