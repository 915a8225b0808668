"""The elbow of a kernel quantile regression: the rows on the fit, and the linear system that keeps them there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic

DEPENDENT = 2.0**-40
"""A row depends on the elbow's if these determine its element of K's diagonal up to this share."""
INDEFINITE = 2.0**-20
"""A pivot below 0 by more than this share is no rounding: K is not positive semidefinite."""
REFRESH = 64
"""Rows come and go this often between two factorisations from scratch."""


def diagonal_of(form: Quadratic) -> np.ndarray:
    """Return the diagonal (n,) of Q.

    >>> diagonal_of(LowRank(np.array([[1.0], [2.0]]))).tolist()
    [1.0, 4.0]
    """
    if isinstance(form, LowRank):
        return np.einsum("ij,ij->i", form.Z, form.Z)
    if isinstance(form, Dense):
        return np.diagonal(form.Q).copy()
    return np.array([form.block(np.array([i]))[0, 0] for i in range(form.n)])


@dataclass(frozen=True, eq=False)
class Newcomer:
    """A row that may join the elbow.

    Attributes
    ----------
    row : int
    kernel : (n,) array
        Its row of K.
    column : (k,) array
        Its column of the factor.
    pivot : float
        The square of its diagonal element there.
    dependent : bool
        Whether the pivot is nil up to rounding: the elbow's rows then determine the fit in this row.
    share : float
        Sum of the absolute weights by which they determine it; 0 if they do not.
    """

    row: int
    kernel: np.ndarray
    column: np.ndarray
    pivot: float
    dependent: bool
    share: float


class Elbow:
    """Rows E and the triangular factor R of K[E, E] + c + ridge, R'R.

    The constant c makes definite a matrix that need be so only on vectors that sum to 0, and changes nothing for these.

    Parameters
    ----------
    form : Quadratic
        K, of order n.
    row : int
        The first row.

    Attributes
    ----------
    rows : list of int
        E, in the order of the factor.
    diagonal : (n,) array
        Of K.
    ridge : (n,) array
        What is added to it: 0 but for rows of E that depend on others.
    """

    def __init__(self, form: Quadratic, row: int) -> None:
        self.form = form
        self.diagonal = diagonal_of(form)
        self._constant = float(self.diagonal.mean()) or 1.0
        self.rows: list[int] = []
        self.ridge = np.zeros(form.n)
        self._kernel = np.empty((8, form.n))
        self._factor = np.zeros((8, 8), order="F")
        self._changes = 0
        self.add(self.newcomer(row))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def kernel(self) -> np.ndarray:
        """Rows E of K, (k, n)."""
        return self._kernel[: len(self.rows)]

    def newcomer(self, row: int) -> Newcomer:
        """Return what a row would bring.

        Raises
        ------
        ArithmeticError
            If K is not positive semidefinite.
        """
        kernel = self.form.product(np.array([row]), np.ones(1))
        size = float(self.diagonal[row]) + self._constant
        column = self._triangular(kernel[self.rows] + self._constant, 1)
        pivot = size - float(column @ column)
        if pivot < -INDEFINITE * size:
            raise ArithmeticError("the kernel matrix is not positive semidefinite")
        dependent, share = pivot < DEPENDENT * size, 0.0
        if dependent:
            share = float(np.abs(self._triangular(column, 0)).sum())
        return Newcomer(row, kernel, column, pivot, dependent, share)

    def add(self, new: Newcomer) -> None:
        """Take a row in, as the last; if it depends on the others, with a ridge that makes the system definite."""
        k = len(self.rows)
        if k == len(self._kernel):
            self._kernel = np.concatenate([self._kernel, np.empty_like(self._kernel)])
            larger = np.zeros((2 * k, 2 * k), order="F")
            larger[:k, :k] = self._factor
            self._factor = larger
        self._kernel[k] = new.kernel
        if new.dependent:
            self.ridge[new.row] = DEPENDENT * (self.diagonal[new.row] + self._constant)
        self._factor[:k, k] = new.column
        self._factor[k, k] = np.sqrt(max(new.pivot, 0.0) + self.ridge[new.row])
        self.rows.append(new.row)
        self._changed()

    def remove(self, row: int) -> None:
        """Let a row go; rows that depended on it lose their ridge."""
        self._drop(row)
        dependent = [one for one in self.rows if self.ridge[one] > 0.0]
        for other in dependent:
            self._drop(other)
        for other in dependent:
            self.add(self.newcomer(other))

    def _drop(self, row: int) -> None:
        from scipy.linalg import qr_delete

        at, k, R = self.rows.index(row), len(self.rows), self._factor
        self.rows.pop(at)
        self.ridge[row] = 0.0
        self._kernel[at : k - 1] = self._kernel[at + 1 : k]
        R[:at, at : k - 1] = R[:at, at + 1 : k]
        if at < k - 1:
            below = np.asfortranarray(R[at:k, at:k])
            turned = np.eye(k - at, order="F")
            below = qr_delete(turned, below, 0, which="col", overwrite_qr=True, check_finite=False)[1]
            R[at : k - 1, at : k - 1] = np.triu(below[:-1])
        R[:k, k - 1] = 0.0
        self._changed()

    def _changed(self) -> None:
        self._changes = (self._changes + 1) % REFRESH
        if self._changes == 0:
            self.refactor()

    def refactor(self) -> None:
        """Compute the factor from scratch."""
        from scipy.linalg import lapack

        inside = self.kernel[:, self.rows] + self._constant
        inside[np.diag_indices_from(inside)] += self.ridge[self.rows]
        R, info = lapack.dpotrf(inside, lower=0)
        if info == 0:  # else the factor that was brought here is the better one
            self._factor[: len(R), : len(R)] = R

    def solve(self, r: np.ndarray, total: float) -> tuple[np.ndarray, float]:
        """Return d (k,) and d0 with (K + ridge)[E, E] d + d0 = r and sum d = total."""
        mean = float(r.mean())
        right = np.ones((len(r), 2), order="F")
        right[:, 0] = r - mean + self._constant * total
        x = self._triangular(self._triangular(right, 1), 0)
        d0 = (x[:, 0].sum() - total) / x[:, 1].sum()
        return x[:, 0] - d0 * x[:, 1], float(d0) + mean

    def _triangular(self, r: np.ndarray, trans: int) -> np.ndarray:
        """Return R^-1 r, or R'^-1 r with `trans` 1; the factor is read where it lies, in a larger array."""
        from scipy.linalg import lapack

        k = len(self.rows)
        if k == 0:
            return r
        return lapack.dtrtrs(self._factor[:, :k], r, lower=0, trans=trans)[0]
