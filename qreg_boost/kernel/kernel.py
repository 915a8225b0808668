"""What a kernel is: a function of two rows, as a matrix and as sums, made in blocks so that memory is bounded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic

BLOCK = 4_000_000
"""Elements of a kernel matrix that are made at a time."""


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive semidefinite function k(x, z) of two rows; a subclass is one function and one row in `KERNELS`."""

    name: ClassVar[str]
    kernlab: ClassVar[str]

    @abstractmethod
    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return k (n, m) of the rows of X (n, p) and Z (m, p), all at once."""

    def settled(self, X: np.ndarray, weights: np.ndarray | None = None) -> Kernel:
        """Return the kernel with its parameters as numbers, those that follow a rule from rows X (n, p) and weights."""
        return self

    def matrix(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """Return k (n, m) of the rows of X (n, p) and Z (m, p); without Z, of the rows of X among themselves."""
        Z = X if Z is None else Z
        out = np.empty((len(X), len(Z)))
        for rows in blocks(len(X), len(Z)):
            out[rows] = self.block(X[rows], Z)
        return out

    def apply(self, X: np.ndarray, Z: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return sum_j k(x_i, z_j) a_j, for a (m,) or (m, k), without the matrix in memory."""
        out = np.empty((len(X), *a.shape[1:]))
        for rows in blocks(len(X), len(Z)):
            out[rows] = self.block(X[rows], Z) @ a
        return out

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Return k(x_i, x_i) (n,)."""
        return np.array([self.block(row[None], row[None])[0, 0] for row in X])

    def factor(self, X: np.ndarray) -> np.ndarray | None:
        """Return Z (n, r) with k = Z Z', for kernels that have one of few columns; else None."""
        return None

    def definite(self, X: np.ndarray) -> bool:
        """Return whether the matrix of the rows X (n, p) is known to be positive semidefinite."""
        return True

    def form(self, X: np.ndarray) -> Quadratic:
        """Return the quadratic form a'Ka of the rows X (n, p)."""
        Z = self.factor(X)
        return Dense(self.matrix(X)) if Z is None or Z.shape[1] >= len(X) else LowRank(Z)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by name."""
        return asdict(self)

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value:.6g}" for name, value in self.parameters.items())
        return f"{self.name}, {given}" if given else self.name

    def state(self) -> dict[str, Any]:
        """Return the kernel as values that JSON holds."""
        return {"name": self.name, **self.parameters}


def blocks(n: int, m: int) -> list[slice]:
    """Return the rows of a matrix (n, m) in pieces of at most `BLOCK` elements."""
    step = max(BLOCK // max(m, 1), 1)
    return [slice(i, i + step) for i in range(0, n, step)]
