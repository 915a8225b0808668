"""The rows of a sparse design. Only the few near the fit are ever written out, and Gram matrices (k, k)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_tau, check_weights
from qreg_boost.base.rank import power_of_two
from qreg_boost.quantreg.dense_rows import DenseRows, sampled
from qreg_boost.quantreg.frisch_newton import Iterate
from qreg_boost.quantreg.solution import Solution, Status, check_loss

_EPS = float(np.finfo(float).eps)
_LARGEST = 1e150
# Columns up to which a sample of rows is written out for the smoothed fit.
_SAMPLED_MOST = 100
# Rows near the fit, for each coefficient and at the least, once the interior point method is near the optimum.
_CLOSEST, _CLOSEST_LEAST = 20, 2000
_STEPS = 100
# Gap of the interior point method at which the rows near the fit are known.
_KNOWN = 1e-8


def checked(X: Any, y: Any, tau: float, weights: Any) -> tuple[Any, np.ndarray, float, np.ndarray | None]:
    """Return a sparse design as a CSR array and the other arguments as arrays that fit it."""
    from scipy import sparse

    X = sparse.csr_array(X, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.ndim != 1 or X.shape[0] != len(y):
        raise InputError(
            f"`X` must have shape (n, p) and `y` shape (n,); got {X.shape} and {y.shape}. "
            "Give one row of `X` per value of `y`."
        )
    for values, name in ((X.data, "`X`"), (y, "`y`")):
        if not np.isfinite(values).all():
            raise InputError(f"{name} has missing or infinite values; drop those rows first.")
        if values.size and np.abs(values).max() > _LARGEST:
            raise InputError(f"{name} has values beyond {_LARGEST:g}, whose squares overflow; give it in larger units.")
    return X, y, check_tau(tau), None if weights is None else check_weights(weights, len(y))


class SparseRows(DenseRows):
    """`DenseRows` of a CSR design."""

    def __init__(self, X: Any, y: np.ndarray, w: np.ndarray | None, smooth: bool = True) -> None:
        n, self.p = X.shape
        self.smooth = smooth and self.p <= _SAMPLED_MOST
        self.y, self.unit = y, 1.0 if w is None else float(np.mean(w))
        self.w = None if w is None else w / self.unit
        self.sample = sampled(n, self.p)
        sizes = power_of_two(abs(X).max(axis=0).toarray().ravel()) if n else np.ones(self.p)
        scaled = X * (1.0 / sizes)[None, :]
        weighted = scaled if self.w is None else scaled * self.w[:, None]
        gram = (scaled.T @ weighted).toarray() / max(n, 1)
        self.columns, factor = independent(gram)
        self.R = factor * sizes[self.columns]
        self.X = X.tocsr() if len(self.columns) == self.p else X[:, self.columns].tocsr()
        self.steps = 0
        self._kept = {}

    def taken(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (m, k) of the design."""
        return self.X[rows].toarray()

    def sorted(self, b: np.ndarray, half: float, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return residuals (n,) at b, the rows near zero, and the pull (k,) of all others."""
        r = self.y - self.X @ b
        close = np.abs(r) <= half
        share = np.where(r > 0, tau, tau - 1.0) * ~close
        return r, np.flatnonzero(close), (share if self.w is None else share * self.w) @ self.X

    def checked(self, b: np.ndarray, before: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (n,) at b, and the rows far from zero whose sign is not the one they had."""
        r = self.y - self.X @ b
        turned = (r > 0) != (before > 0)
        turned |= np.abs(r) <= 1e-14 * (np.abs(self.y) + abs(self.X) @ np.abs(b))
        turned[near] = False
        return r, np.flatnonzero(turned)

    def begin(self, tau: float, start: Any) -> tuple[np.ndarray, float]:
        """Return coefficients near the optimum with the half-width of the band in which rows may change sign."""
        n, k = self.X.shape
        if start is None and self.smooth:
            return super().begin(tau, None)
        given = None if start is None else np.nan_to_num(np.asarray(start, dtype=np.float64)[self.columns])
        b = self.interior(tau)[0] if given is None else given
        closest = max(_CLOSEST * k, _CLOSEST_LEAST)
        half = np.inf if closest >= n else float(np.partition(np.abs(self.y - self.X @ b), closest)[closest])
        return b, half

    def interior(self, tau: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return coefficients (k,), dual values (n,) and the relative gap that the interior point method reaches."""
        n = len(self.y)
        lengths = np.linalg.norm(self.R, axis=0)
        w = np.ones(n) if self.w is None else self.w
        Z = ((self.X * (1.0 / lengths)[None, :]) * w[:, None]).tocsr()
        b = self.least_squares()
        point = Iterate(Z, w * (self.y - self.X @ b), tau)
        if not point.c.any():
            return b, point.a, 0.0
        while point.steps < _STEPS and point.gap() > _KNOWN and point.step():
            pass
        b = b + point.g / lengths
        self.steps += point.steps
        point.recentre(w * (self.y - self.X @ b))
        return b, point.a, point.gap() + point.infeasibility() / min(tau, 1.0 - tau)

    def least_squares(self) -> np.ndarray:
        """Return the least squares fit (k,)."""
        from scipy.linalg import solve_triangular

        b = np.zeros(len(self.columns))
        for _ in range(2):
            r = self.y - self.X @ b
            moments = (r if self.w is None else r * self.w) @ self.X / max(len(r), 1)
            b = b + self.coefficients(solve_triangular(self.R, moments, trans=1, check_finite=False))
        return b

    def within_tolerance(self, tau: float, tol: float) -> Solution:
        """Return where the interior point method ends if no vertex could be certified."""
        b, a, gap = self.interior(tau)
        r = self.y - self.X @ b
        coef = np.full(self.p, np.nan)
        coef[self.columns] = b
        dropped = np.flatnonzero(np.isnan(coef))
        status = Status.WITHIN_TOLERANCE if gap <= tol else Status.STOPPED
        loss = self.unit * check_loss(r, tau, self.w)
        return Solution(coef, loss, gap, self.steps, status, dropped, a, np.empty(0, dtype=np.intp), False)


def independent(gram: np.ndarray, tol: float = 1e-7) -> tuple[np.ndarray, np.ndarray]:
    """Return which columns R's ``lm`` would keep, by a Gram matrix (p, p), and their triangular factor (k, k).

    A column is dropped if what the kept columns to its left leave of its squared length is at most tol squared, or no
    more than rounding: the Gram matrix does not hold more digits.

    Examples
    --------
    >>> independent(np.array([[1.0, 1.0], [1.0, 1.0]]))[0].tolist()
    [0]
    """
    from scipy.linalg import solve_triangular

    p = len(gram)
    lengths = np.sqrt(np.diag(gram))
    unit = np.where(lengths > 0, lengths, 1.0)
    gram = gram / np.outer(unit, unit)
    least = max(tol**2, 50.0 * _EPS * p)
    kept: list[int] = []
    lower = np.zeros((p, p))
    try:
        whole = np.linalg.cholesky(gram)
        if (np.diag(whole) ** 2 > max(1e-6, least)).all():
            return np.arange(p), whole.T * unit
    except np.linalg.LinAlgError:
        pass
    for j in np.flatnonzero(lengths):
        k = len(kept)
        row = solve_triangular(lower[:k, :k], gram[kept, j], lower=True, check_finite=False) if k else np.empty(0)
        left = gram[j, j] - row @ row
        if left > least:
            lower[k, :k], lower[k, k] = row, np.sqrt(left)
            kept.append(int(j))
    k = len(kept)
    return np.array(kept, dtype=np.intp), lower[:k, :k].T * unit[kept]
