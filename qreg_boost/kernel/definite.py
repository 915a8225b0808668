"""Whether a kernel matrix is positive semidefinite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from qreg_boost.base.checks import InputError

REMEDY = (
    "Take other parameters, a kernel that always is (rbf, laplace, linear, polynomial, spline), or a precomputed "
    "matrix with enough added to its diagonal."
)
ROUNDING = 1e-8
"""An eigenvalue may be below 0 by this share of the largest element."""
MOST_EXACT = 2000
"""Up to so many rows the eigenvalues are computed where the matrix fails."""


@dataclass(frozen=True)
class Indefinite:
    """A kernel matrix with eigenvalues below 0: the least and the largest, missing where there are too many rows."""

    least: float
    largest: float

    def __str__(self) -> str:
        known = f": its least eigenvalue is {self.least:.3g}, its largest {self.largest:.3g}"
        return f"The kernel matrix is not positive semidefinite{'' if np.isnan(self.least) else known}."


@contextmanager
def blaming_the_kernel(wrong: Indefinite | None) -> Iterator[None]:
    """Say of a quadratic program without solution what is wrong with the kernel matrix, if anything is."""
    try:
        yield
    except InputError as error:
        if wrong is None:
            told = (
                f"{error} If the kernel is positive semidefinite, C (over mu) is too large beside its values to "
                "compute with: lower C, or standardize the predictors."
            )
            raise InputError(told) from error
        raise InputError(f"{wrong} The quadratic program has no solution. {REMEDY}") from error


def indefinite(K: np.ndarray) -> Indefinite | None:
    """Return what is wrong with a symmetric matrix K (n, n), None if it is positive semidefinite but for rounding.

    A Cholesky factor of K with a little on the diagonal tells; it costs what one Newton step does.

    Examples
    --------
    >>> indefinite(np.ones((3, 3))) is None
    True
    >>> print(indefinite(np.array([[1.0, 2.0], [2.0, 1.0]])))
    The kernel matrix is not positive semidefinite: its least eigenvalue is -1, its largest 3.
    """
    from scipy.linalg import lapack

    H = np.array(K)
    H[np.diag_indices_from(H)] += ROUNDING * (float(np.abs(K).max(initial=0.0)) or 1.0)
    _, info = lapack.dpotrf(H.T, lower=1, overwrite_a=1, clean=0)
    if info == 0:
        return None
    if len(K) > MOST_EXACT:
        return Indefinite(np.nan, np.nan)
    values = np.linalg.eigvalsh(K)
    return Indefinite(float(values[0]), float(values[-1]))
