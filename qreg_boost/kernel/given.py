"""Kernels that the caller brings: a function of rows, or a matrix that is there already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.base.typeset import name_of
from qreg_boost.kernel.kernel import Kernel, blocks
from qreg_boost.kernel.quadratic import Dense, Quadratic

_ROUNDING = 1e-6
"""What a matrix may be off its transpose, as a share of its largest element: some are made in single precision."""
_WANTED = (
    "A kernel function takes two matrices of rows (n, p), (m, p) and returns (n, m), or two rows and returns a number."
)


@dataclass(frozen=True)
class Function(Kernel):
    """A function of the caller's own: of two matrices (n, p) and (m, p), or of two rows (p,)."""

    function: Callable[[np.ndarray, np.ndarray], Any]
    name: ClassVar[str] = "function"
    kernlab: ClassVar[str] = ""

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return what the function says of matrices, or of each pair of rows."""
        if not (len(X) and len(Z)):
            return np.zeros((len(X), len(Z)))
        whole = self.function(X, Z) if self._takes_matrices(X[:1], Z[:1]) else self._by_rows(X, Z)
        try:
            whole = np.asarray(whole, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"The kernel {self} must return numbers. {_WANTED}") from None
        if whole.size == len(X) * len(Z) and whole.shape[:2] == (len(X), len(Z)):
            whole = whole.reshape(len(X), len(Z))  # of pairs of rows, each an array of one number
        if whole.shape != (len(X), len(Z)):
            raise InputError(f"The kernel {self} returns shape {whole.shape} for {len(X)} and {len(Z)} rows. {_WANTED}")
        if not np.isfinite(whole).all():
            raise InputError(f"The kernel {self} returns missing or infinite values.")
        return whole

    def _takes_matrices(self, x: np.ndarray, z: np.ndarray) -> bool:
        """Return whether the function makes a matrix (n, m) of n and m rows, seen at two pairs of n and m."""
        try:
            shapes = [np.shape(self.function(np.repeat(x, n, 0), np.repeat(z, m, 0))) for n, m in ((3, 2), (2, 3))]
        except Exception:  # whatever a function of two rows says of matrices
            return False
        return shapes == [(3, 2), (2, 3)]

    def _by_rows(self, X: np.ndarray, Z: np.ndarray) -> list[list[Any]]:
        try:
            found = [[self.function(x, z) for z in Z] for x in X]
        except Exception as error:
            raise InputError(f"The kernel {self} stopped ({type(error).__name__}: {error}). {_WANTED}") from error
        return found

    def definite(self, X: np.ndarray) -> bool:
        """Return False: nothing is known of it."""
        return False

    def form(self, X: np.ndarray) -> Quadratic:
        """Return the quadratic form; a matrix that is not symmetric has none."""
        return Dense(symmetric(self.matrix(X), f"kernel {self}"))

    @property
    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def __str__(self) -> str:
        return f"function {name_of(self.function)!r}"

    def state(self) -> dict[str, Any]:
        """Raise: a file holds no functions."""
        raise InputError(
            f"A file cannot hold the kernel {self}: it is a function of your own. Use a kernel of the package by name, "
            "or keep the fit with pickle, which takes functions of a module and no lambda."
        )


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The rows are rows of a kernel matrix already: k(x_i, z_j) is column j of row i."""

    name: ClassVar[str] = "precomputed"
    kernlab: ClassVar[str] = "as.kernelMatrix"

    def block(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the rows themselves, which must have one column per row of training."""
        if X.shape[1] != len(Z):
            raise InputError(
                f"A precomputed kernel needs one column per row of training, {len(Z)}; got {X.shape[1]} columns."
            )
        return X

    def definite(self, X: np.ndarray) -> bool:
        """Return False: nothing is known of it."""
        return False

    def form(self, X: np.ndarray) -> Quadratic:
        """Return the quadratic form; a matrix that is not symmetric has none."""
        return Dense(symmetric(self.matrix(X), "precomputed kernel"))


def symmetric(K: np.ndarray, what: str) -> np.ndarray:
    """Return K (n, n), which must be symmetric but for rounding, with its rounding evened out.

    Raises
    ------
    InputError
        If it is not; the pair of rows is named where it is farthest from it.
    """
    allowed = _ROUNDING * float(np.abs(K).max(initial=0.0))
    uneven = False
    for rows in blocks(len(K), len(K)):
        off = np.abs(K[rows] - K[:, rows].T)
        if off.max(initial=0.0) > allowed:
            i, j = (int(at) for at in np.unravel_index(int(off.argmax()), off.shape))
            i += rows.start
            raise InputError(
                f"The {what} is not symmetric: k = {K[i, j]:.6g} for rows {i} and {j}, and {K[j, i]:.6g} for rows {j} "
                f"and {i} (counted from 0). A kernel is; pass (K + K.T) / 2 if you mean that."
            )
        uneven |= bool(off.any())
    return 0.5 * (K + K.T) if uneven else K
