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


def row_of(form: Quadratic, i: int) -> np.ndarray:
    """Return row i (n,) of Q.

    >>> row_of(Dense(np.array([[2.0, 1.0], [1.0, 3.0]])), 1).tolist()
    [1.0, 3.0]
    """
    if isinstance(form, Dense):
        return form.Q[i]
    if isinstance(form, LowRank):
        return form.Z @ form.Z[i]
    unit = np.zeros(form.n)
    unit[i] = 1.0
    return form.times(unit)


def diagonal_of(form: Quadratic) -> np.ndarray:
    """Return the diagonal (n,) of Q.

    >>> diagonal_of(LowRank(np.array([[1.0], [2.0]]))).tolist()
    [1.0, 4.0]
    """
    if isinstance(form, Dense):
        return np.diagonal(form.Q).copy()
    if isinstance(form, LowRank):
        return np.einsum("ij,ij->i", form.Z, form.Z)
    return np.array([row_of(form, i)[i] for i in range(form.n)])


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
        self._factor = np.empty((0, 0))
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
        from scipy.linalg import solve_triangular

        kernel = row_of(self.form, row)
        column, size = np.empty(0), float(self.diagonal[row]) + self._constant
        pivot = size
        if self.rows:
            side = kernel[self.rows] + self._constant
            column = solve_triangular(self._factor, side, trans=1, check_finite=False)
            pivot -= float(column @ column)
        if pivot < -INDEFINITE * size:
            raise ArithmeticError("the kernel matrix is not positive semidefinite")
        dependent, share = pivot < DEPENDENT * size, 0.0
        if dependent:
            share = float(np.abs(solve_triangular(self._factor, column, check_finite=False)).sum())
        return Newcomer(row, kernel, column, pivot, dependent, share)

    def add(self, new: Newcomer) -> None:
        """Take a row in, as the last; if it depends on the others, with a ridge that makes the system definite."""
        k = len(self.rows)
        if k == len(self._kernel):
            self._kernel = np.concatenate([self._kernel, np.empty_like(self._kernel)])
        self._kernel[k] = new.kernel
        if new.dependent:
            self.ridge[new.row] = DEPENDENT * (self.diagonal[new.row] + self._constant)
        R = np.zeros((k + 1, k + 1), order="F")
        R[:k, :k] = self._factor
        R[:k, k] = new.column
        R[k, k] = np.sqrt(max(new.pivot, 0.0) + self.ridge[new.row])
        self._factor = R
        self.rows.append(new.row)
        self._changed()

    def remove(self, row: int) -> None:
        """Let a row go."""
        from scipy.linalg import qr_delete

        at, k = self.rows.index(row), len(self.rows)
        self.rows.pop(at)
        self.ridge[row] = 0.0
        self._kernel[at : k - 1] = self._kernel[at + 1 : k]
        if at == k - 1:
            self._factor = self._factor[:at, :at]
        else:
            turned = np.eye(k, order="F")
            R = qr_delete(turned, self._factor, at, which="col", overwrite_qr=True, check_finite=False)[1]
            self._factor = R[: k - 1]
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
            self._factor = R

    def solve(self, r: np.ndarray, total: float) -> tuple[np.ndarray, float]:
        """Return d (k,) and d0 with (K + ridge)[E, E] d + d0 = r and sum d = total."""
        from scipy.linalg import lapack

        mean = float(r.mean())
        right = np.ones((len(r), 2), order="F")
        right[:, 0] = r - mean + self._constant * total
        x = lapack.dpotrs(self._factor, right, lower=0, overwrite_b=True)[0]
        d0 = (x[:, 0].sum() - total) / x[:, 1].sum()
        return x[:, 0] - d0 * x[:, 1], float(d0) + mean
