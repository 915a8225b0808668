"""The Newton system of quantiles held apart at some rows only: one factor of order n per quantile, not of all of them.

Fits cross at few rows. With a multiplier c_j >= 0 for each pair j = (gap h, row i) in a set that holds these, the dual
of `noncrossing` has a_h = u_h + (B c)_h, where B adds c_j to quantile h + 1 at row i and takes it from quantile h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Pairs:
    """The quadratic term of x = (u, c): scale * sum_h a_h'K a_h, a = u + B c, with its Newton system.

    With M_h = scale K + D_h the system is u = M^-1 (r_u - scale K B c) and (D_c + B'G B) c = r_c - B' scale K M^-1 r_u,
    where G_h = scale K M_h^-1 D_h. An element of G is computed from the side on which D is smaller, so that it is a
    product and no difference.

    Attributes
    ----------
    K : (n, n) array
    H : int
    scale : float
    gap, row : (m,) int array
        The pairs: quantiles gap and gap + 1 at a row.
    """

    K: np.ndarray
    H: int
    scale: float
    gap: np.ndarray
    row: np.ndarray

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return u (H, n, ...) and c (m, ...) of x."""
        n, at = len(self.K), self.H * len(self.K)
        return x[:at].reshape(self.H, n, *x.shape[1:]), x[at:]

    def spread(self, c: np.ndarray) -> np.ndarray:
        """Return B c (H, n, ...)."""
        out = np.zeros((self.H, len(self.K), *c.shape[1:]))
        np.add.at(out, (self.gap + 1, self.row), c)
        np.subtract.at(out, (self.gap, self.row), c)
        return out

    def gathered(self, a: np.ndarray) -> np.ndarray:
        """Return B'a (m, ...)."""
        return a[self.gap + 1, self.row] - a[self.gap, self.row]

    @property
    def sums(self) -> np.ndarray:
        """What each c adds to the sum of each a_h: (H, m)."""
        out = np.zeros((self.H, len(self.gap)))
        at = np.arange(len(self.gap))
        out[self.gap + 1, at], out[self.gap, at] = 1.0, -1.0
        return out

    def _joined(self, u: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.concatenate((u.reshape(-1, *u.shape[2:]), c))

    def _K(self, a: np.ndarray) -> np.ndarray:
        """Return scale K a_h, for a (H, n) or (H, n, k)."""
        return self.scale * (a @ self.K if a.ndim == 2 else self.K @ a)

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the term at x."""
        u, c = self.parts(x)
        Ka = self._K(u + self.spread(c))
        return self._joined(Ka, self.gathered(Ka))

    def solver(self, D: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that solves the Newton system.

        Raises
        ------
        ArithmeticError
            If a matrix has no Cholesky factor.
        """
        from scipy.linalg import lapack

        Du, Dc = self.parts(D)
        factors = []
        S = np.diag(Dc)
        for h in range(self.H):
            M = self.K * self.scale
            M[np.diag_indices_from(M)] += Du[h]
            factor, info = lapack.dpotrf(M.T, lower=1, overwrite_a=1, clean=0)
            if info != 0:
                raise ArithmeticError("no Cholesky factor")
            factors.append(factor)
            self._add(S, h, Du[h], factor)
        outer, info = lapack.dpotrf(S, lower=1, overwrite_a=1, clean=0) if len(S) else (S, 0)
        if info != 0:
            raise ArithmeticError("no Cholesky factor")

        def inner(r: np.ndarray) -> np.ndarray:
            each = zip(factors, r, strict=True)
            return np.stack([lapack.dpotrs(factor, np.asfortranarray(one), lower=1)[0] for factor, one in each])

        def solve(r: np.ndarray) -> np.ndarray:
            ru, rc = self.parts(r)
            left = rc - self.gathered(self._K(inner(ru)))
            c = lapack.dpotrs(outer, np.asfortranarray(left), lower=1)[0] if len(S) else left
            return self._joined(inner(ru - self._K(self.spread(c))), c)

        return solve

    def _add(self, S: np.ndarray, h: int, D: np.ndarray, factor: np.ndarray) -> None:
        """Add to S (m, m) what quantile h has of B'G B."""
        from scipy.linalg import lapack

        above, below = np.flatnonzero(self.gap + 1 == h), np.flatnonzero(self.gap == h)
        own = np.concatenate((above, below))
        if not len(own):
            return
        rows, place = np.unique(self.row[own], return_inverse=True)
        E = np.zeros((len(D), len(rows)), order="F")
        E[rows, np.arange(len(rows))] = 1.0
        W = self.scale * (self.K[rows] @ lapack.dpotrs(factor, E, lower=1)[0])  # (scale K M^-1) at these rows
        d = D[rows]
        G = np.where(d[None, :] <= d[:, None], W * d[None, :], W.T * d[:, None])
        sign = np.where(np.arange(len(own)) < len(above), 1.0, -1.0)
        S[np.ix_(own, own)] += sign[:, None] * G[np.ix_(place, place)] * sign
