"""Kernel matrices of low rank: the pivoted incomplete Cholesky factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.kernel.kernels import Kernel


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
