"""Kernel matrices of low rank: the pivoted incomplete Cholesky factor, the Nystrom approximation at its pivots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_count
from qreg_boost.kernel.kernels import Kernel, Precomputed

MOST_ROWS = 15_000
"""Of more rows, a kernel matrix takes more than two gigabytes, and its factor as much again."""


@dataclass(frozen=True, eq=False)
class LowRankKernel:
    """K ~ Z Z' from the columns of some rows, the pivots.

    Attributes
    ----------
    Z : (n, r) array
    pivots : (r,) int array
    error : float
        Largest diagonal element of K - Z Z', over the largest of K; as K - Z Z' is positive semidefinite, no element
        of it is larger.
    """

    Z: np.ndarray
    pivots: np.ndarray
    error: float

    @property
    def rank(self) -> int:
        """Number of pivots."""
        return len(self.pivots)

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        """Return b (r,) with Z Z'a = K[:, pivots] b: a function of all rows as one of the pivots."""
        from scipy.linalg import solve_triangular

        return solve_triangular(self.Z[self.pivots], self.Z.T @ a, lower=True, trans="T")


def incomplete_cholesky(kernel: Kernel, X: np.ndarray, tolerance: float, most: int) -> LowRankKernel:
    """Return the pivoted incomplete Cholesky factor of the kernel matrix of rows X (n, p).

    Parameters
    ----------
    tolerance : float
        It ends when what is left of the diagonal is below this share of its largest element ...
    most : int
        ... or at this rank.

    References
    ----------
    Fine, S. and Scheinberg, K. (2001). Efficient SVM training using low-rank kernel representations. Journal of
    Machine Learning Research 2, 243-264.

    Examples
    --------
    >>> from qreg_boost.kernel.kernels import Linear
    >>> found = incomplete_cholesky(Linear(), np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), 1e-10, 3)
    >>> found.Z.round(4).tolist(), found.pivots.tolist()
    ([[1.4142], [2.8284], [4.2426]], [2])
    """
    n = len(X)
    most = min(most, n)
    left = kernel.diagonal(X).astype(float)
    size = float(left.max(initial=0.0))
    Z = np.zeros((n, most), order="F")
    pivots: list[int] = []
    for r in range(most):
        pivot = int(np.argmax(left))
        if left[pivot] <= tolerance * size:
            break
        root = np.sqrt(left[pivot])
        column = kernel.matrix(X, X[pivot][None])[:, 0] - Z[:, :r] @ Z[pivot, :r]
        column /= root
        column[pivots] = 0.0
        column[pivot] = root
        Z[:, r] = column
        left -= column**2
        pivots.append(pivot)
        left[pivots] = 0.0
    error = float(left.max(initial=0.0)) / size if size > 0.0 else 0.0
    return LowRankKernel(np.ascontiguousarray(Z[:, : len(pivots)]), np.array(pivots, dtype=np.intp), max(error, 0.0))


def read_low_rank(low_rank: Any) -> tuple[float, int] | None:
    """Return tolerance and largest rank of a low-rank kernel matrix; None if the whole is to be used."""
    if low_rank is None:
        return None
    if isinstance(low_rank, float) and 0.0 < low_rank < 1.0:
        return low_rank, MOST_ROWS
    advice = " A number below 1 is the part of the kernel matrix that may be lost."
    return 1e-12, check_count(low_rank, "low_rank", 1, advice)


def low_rank_of(kernel: Kernel, X: np.ndarray, wanted: tuple[float, int] | None) -> LowRankKernel | None:
    """Return the factor of the tolerance and largest rank that are wanted; None if the whole matrix is."""
    return None if wanted is None else incomplete_cholesky(kernel, X, *wanted)


def check_kernel_matrix(n: int, kernel: Kernel, low_rank: tuple[float, int] | None) -> None:
    """Refuse a kernel matrix of n rows that is too large, and a low rank where there is nothing to save.

    Raises
    ------
    InputError
    """
    if low_rank is not None and isinstance(kernel, Precomputed):
        raise InputError(
            "low_rank saves making the kernel matrix, and a precomputed one is there already; leave out `low_rank`."
        )
    if low_rank is None and kernel.name != "linear" and n > MOST_ROWS:
        raise InputError(
            f"{n} rows make a kernel matrix of {8e-9 * n**2:.0f} GB; at most {MOST_ROWS} rows are taken. Pass "
            'low_rank=500 for an approximation of that rank, kernel="linear", or a subset.'
        )
