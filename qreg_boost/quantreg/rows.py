"""The rows that inference works on: those of positive weight, multiplied by it, in well-conditioned coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_weights
from qreg_boost.base.rank import column_basis
from qreg_boost.quantreg.solution import Solution

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Rows:
    """Weighted rows of a fit: the check loss is homogeneous, so a weighted fit is a fit to w y on w x.

    Attributes
    ----------
    X : (n, k) array or scipy CSR
        Design as given, of the rows of positive weight and the columns that were not dropped.
    y : (n,) array
        Response of those rows.
    w : (n,) array or None
        Their weights.
    b : (k,) array
        Coefficients.
    r : (n,) array
        Residuals times weights; exactly 0 where `zero`.
    zero : (n,) bool array
        Residuals that are 0 but for rounding.
    rounding : (n,) array
        Size below which a residual times weight is 0 but for rounding.
    Z : (n, k) array or scipy CSR
        w X = Z T.
    T : (k, k) array
        Upper triangular; Z is orthonormal, or for a sparse design has columns of length 1.
    used : (N,) bool array
        Which rows of the fit have positive weight.
    columns : (k,) int array
        Positions of the columns among those of the fit.
    p : int
        Number of columns of the fit.
    """

    X: Any
    y: np.ndarray
    w: np.ndarray | None
    b: np.ndarray
    r: np.ndarray
    zero: np.ndarray
    rounding: np.ndarray
    Z: Any
    T: np.ndarray
    used: np.ndarray
    columns: np.ndarray
    p: int

    @classmethod
    def of(cls, X: Any, y: Any, fit: Solution, weights: Any = None) -> Rows:
        """Return the rows of a fit.

        Raises
        ------
        InputError
            If shapes do not fit.
        """
        X, y, w, used, columns = _selected(X, y, fit, weights)
        b = fit.coef[columns]
        r = y - X @ b
        rounding = _rounding(X, y, b, r)
        zero = np.abs(r) <= rounding
        basis = np.zeros(len(used), dtype=bool)
        basis[fit.basis] = True
        zero |= basis[used]
        r = np.where(zero, 0.0, r if w is None else r * w)
        rounding = rounding if w is None else rounding * w
        Z, T = _coordinates(X, w)
        return cls(X, y, w, b, r, zero, rounding, Z, T, used, columns, len(fit.coef))

    @property
    def n(self) -> int:
        """Number of rows of positive weight."""
        return len(self.y)

    @property
    def k(self) -> int:
        """Number of coefficients."""
        return len(self.b)

    def coefficients(self, tau: float, solver: Callable[..., Solution]) -> np.ndarray:
        """Return the coefficients (k,) of a fit of the same rows at another level."""
        return solver(self.X, self.y, tau, self.w).coef

    def fitted(self, b: np.ndarray) -> np.ndarray:
        """Return w x'b (n,)."""
        fitted = self.X @ b
        return fitted if self.w is None else fitted * self.w

    def gram(self, f: np.ndarray | None = None) -> np.ndarray:
        """Return Z'Z (k, k), or Z' diag(f) Z."""
        if isinstance(self.Z, np.ndarray):
            return self.Z.T @ (self.Z if f is None else f[:, None] * self.Z)
        return (self.Z.T @ (self.Z if f is None else self.Z.multiply(f[:, None]).tocsr())).toarray()

    def group_sums(self, values: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return for each label 0..G-1 the sum of value times row of Z, (G, k)."""
        from scipy.sparse import csr_matrix

        shape = (int(labels.max(initial=-1)) + 1, self.n)
        sums = csr_matrix((values, (labels, np.arange(self.n))), shape=shape) @ self.Z
        return sums if isinstance(sums, np.ndarray) else sums.toarray()

    def of_coefficients(self, C: np.ndarray) -> np.ndarray:
        """Return a matrix of the kind of (Z'Z)^-1 as one (p, p) of the kind of (X'X)^-1; NaN for dropped columns."""
        from scipy.linalg import solve_triangular

        half = solve_triangular(self.T, C, check_finite=False) if self.k else C
        return self._full(solve_triangular(self.T, half.T, check_finite=False) if self.k else C)

    def of_columns(self, G: np.ndarray) -> np.ndarray:
        """Return a matrix of the kind of Z'Z as one (p, p) of the kind of X'X; NaN for dropped columns."""
        return self._full(self.T.T @ G @ self.T)

    def _full(self, M: np.ndarray) -> np.ndarray:
        full = np.full((self.p, self.p), np.nan)
        full[np.ix_(self.columns, self.columns)] = (M + M.T) / 2.0
        return full


def inverse(G: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix, or NaN if it is singular to rounding.

    >>> inverse(np.array([[4.0]])).tolist()
    [[0.25]]
    """
    scale = np.sqrt(np.diag(G))
    if not (scale > 0).all() or not np.isfinite(scale).all():
        return np.full_like(G, np.nan)
    values, vectors = np.linalg.eigh(G / np.outer(scale, scale))
    if len(values) and not values[0] > len(values) * _EPS * values[-1]:
        return np.full_like(G, np.nan)
    return (vectors / values) @ vectors.T / np.outer(scale, scale)


def _selected(
    X: Any, y: Any, fit: Solution, weights: Any
) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]:
    """Return rows of positive weight and columns that were not dropped: X, y, w, used, columns."""
    if not hasattr(X, "tocsr"):
        X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or y.ndim != 1 or X.shape[0] != len(y) or X.shape[1] != len(fit.coef) or len(fit.a) != len(y):
        raise InputError(
            f"`X`, `y` and `fit` do not fit: shapes {X.shape} and {y.shape}, {len(fit.coef)} coefficients of "
            f"{len(fit.a)} rows. Give the design and response that were fitted."
        )
    w = None if weights is None else check_weights(weights, len(y))
    used = np.ones(len(y), dtype=bool) if w is None else w > 0
    columns = np.setdiff1d(np.arange(X.shape[1]), fit.dropped)
    if not used.all():
        assert w is not None
        X, y, w = X[used], y[used], w[used]
    if len(columns) < X.shape[1]:
        X = X[:, columns]
    return X, y, w, used, columns


def _rounding(X: Any, y: np.ndarray, b: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the size (n,) below which residuals are 0 but for rounding."""
    terms = np.abs(y) + abs(X) @ np.abs(b)
    return 256.0 * _EPS * terms + 1e-11 * float(np.median(np.abs(r)) if len(r) else 0.0)


def _coordinates(X: Any, w: np.ndarray | None) -> tuple[Any, np.ndarray]:
    """Return Z and T with w X = Z T."""
    if isinstance(X, np.ndarray):
        from scipy.linalg import solve_triangular

        T = column_basis(X, 0.0, None if w is None else (w / w.max()) ** 2).factor
        T = T if w is None else T * w.max()
        if len(T) < X.shape[1]:  # no rows
            T = np.eye(X.shape[1])
        Z = X.T if w is None else X.T * w
        return np.ascontiguousarray(solve_triangular(T, Z, trans=1, check_finite=False).T) if len(T) else X, T
    Z = X.tocsr() if w is None else X.multiply(w[:, None]).tocsr()
    lengths = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=0)).ravel())
    lengths[lengths == 0] = 1.0
    return Z.multiply(1.0 / lengths).tocsr(), np.diag(lengths)
