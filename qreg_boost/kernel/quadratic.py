"""Quadratic forms a'Qa of a kernel machine: dense, or of low rank, each with its Newton system (Q + diag e) a = r."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

REFINEMENTS = 2
"""Steps of refinement of the low-rank Newton system."""

FEW = 4
"""A product with fewer than one in so many columns of a matrix is one with these columns alone."""

Solve = Callable[[np.ndarray], np.ndarray]


class Quadratic(Protocol):
    """A positive semidefinite matrix Q (n, n), known by what an interior point method asks of it."""

    @property
    def n(self) -> int:
        """Order of Q."""

    @property
    def size(self) -> float:
        """Largest element of the diagonal."""

    def times(self, a: np.ndarray) -> np.ndarray:
        """Return Q a, for a (n,) or (n, k)."""

    def solver(self, e: np.ndarray, scale: float) -> Solve:
        """Return the function r -> (scale Q + diag e)^-1 r, for r (n, k) and e (n,) above 0."""

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows and columns of Q at the positions `rows`, which may hold one twice, as an array."""

    def product(self, rows: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return Q (n,) times a vector that is d at the positions `rows`, summed where a position comes twice."""

    def at(self, rows: np.ndarray) -> Quadratic:
        """Return the rows and columns of Q at the positions `rows`."""


@dataclass(frozen=True, eq=False)
class Dense:
    """A matrix Q (n, n) as it is; one Newton system is one Cholesky factor of order n.

    Examples
    --------
    >>> form = Dense(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> form.solver(np.array([1.0, 1.0]), 1.0)(np.array([[4.0], [4.0]])).round(12).tolist()
    [[1.0], [1.0]]
    """

    Q: np.ndarray

    @property
    def n(self) -> int:
        """Order of Q."""
        return len(self.Q)

    @cached_property
    def size(self) -> float:
        """Largest element of the diagonal."""
        return float(np.diagonal(self.Q).max(initial=0.0))

    def times(self, a: np.ndarray) -> np.ndarray:
        """Return Q a."""
        return self.Q @ a

    def solver(self, e: np.ndarray, scale: float) -> Solve:
        """Return the function r -> (scale Q + diag e)^-1 r.

        Raises
        ------
        ArithmeticError
            If the matrix has no Cholesky factor: Q is not positive semidefinite.
        """
        from scipy.linalg import lapack

        H = self.Q * scale
        H[np.diag_indices_from(H)] += e
        # H is symmetric: its transpose is the same matrix in the order of memory that LAPACK overwrites.
        factor, info = lapack.dpotrf(H.T, lower=1, overwrite_a=1, clean=0)
        if info != 0:
            raise ArithmeticError("no Cholesky factor")

        def solve(r: np.ndarray) -> np.ndarray:
            return lapack.dpotrs(factor, r, lower=1)[0]

        return solve

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows and columns at the positions `rows`."""
        return self.Q[rows][:, rows]

    def product(self, rows: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return Q times a vector that is d at the positions `rows`."""
        few = FEW * len(rows) < self.n  # rows of Q are its columns, and copied
        return d @ self.Q[rows] if few else self.Q @ np.bincount(rows, d, self.n)

    def at(self, rows: np.ndarray) -> Dense:
        """Return the rows and columns at the positions `rows`."""
        return Dense(self.Q[np.ix_(rows, rows)])


@dataclass(frozen=True, eq=False)
class LowRank:
    """Q = Z Z' with Z (n, p), p below n; one Newton system is one Cholesky factor of order p (Woodbury).

    Examples
    --------
    >>> form = LowRank(np.array([[1.0], [2.0]]))
    >>> form.solver(np.array([1.0, 1.0]), 1.0)(np.array([[4.0], [7.0]])).round(12).tolist()
    [[1.0], [1.0]]
    """

    Z: np.ndarray

    @property
    def n(self) -> int:
        """Order of Q."""
        return len(self.Z)

    @cached_property
    def size(self) -> float:
        """Largest element of the diagonal."""
        return float(np.einsum("ij,ij->i", self.Z, self.Z).max(initial=0.0))

    def times(self, a: np.ndarray) -> np.ndarray:
        """Return Z (Z'a)."""
        return self.Z @ (self.Z.T @ a)

    def solver(self, e: np.ndarray, scale: float) -> Solve:
        """Return the function r -> (scale Z Z' + diag e)^-1 r, with steps of refinement."""
        from scipy.linalg import lapack

        Z, over_e = self.Z, 1.0 / e[:, None]
        inner = scale * (Z.T @ (Z * over_e))
        inner[np.diag_indices_from(inner)] += 1.0
        factor, info = lapack.dpotrf(inner, lower=1, overwrite_a=1, clean=0)
        if info != 0:
            raise ArithmeticError("no Cholesky factor")

        def once(r: np.ndarray) -> np.ndarray:
            inside = lapack.dpotrs(factor, scale * (Z.T @ (r * over_e)), lower=1)[0]
            return (r - Z @ inside) * over_e

        def solve(r: np.ndarray) -> np.ndarray:
            a = once(r)
            for _ in range(REFINEMENTS):
                a += once(r - scale * (Z @ (Z.T @ a)) - e[:, None] * a)
            return a

        return solve

    def dense(self) -> Dense:
        """Return the matrix Z Z'."""
        return Dense(self.Z @ self.Z.T)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows and columns of Z Z' at the positions `rows`."""
        return self.Z[rows] @ self.Z[rows].T

    def product(self, rows: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return Z Z' times a vector that is d at the positions `rows`."""
        return self.Z @ (d @ self.Z[rows])

    def at(self, rows: np.ndarray) -> LowRank:
        """Return the rows and columns at the positions `rows`."""
        return LowRank(self.Z[rows])
