"""Which columns of a design are independent, by the rule of R's ``lm``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# Values per block of rows: two blocks fit in a core's second-level cache.
_BLOCK = 1 << 16


@dataclass(frozen=True)
class ColumnBasis:
    """The independent columns of a design and their triangular factor.

    Attributes
    ----------
    columns : (k,) int array
        Positions of the kept columns, increasing.
    factor : (k, k) array
        Upper triangular R with R'R = X_k' W X_k, where X_k holds the kept columns.
    """

    columns: np.ndarray
    factor: np.ndarray


def independent_columns(X: np.ndarray, tol: float = 1e-7, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the positions of the columns of `X` that R's ``lm`` would keep.

    From left to right, a column is dropped if what the kept columns to its left leave of it is at most `tol` times its
    own length. Columns of zeros are dropped. The units of a column do not matter.

    Parameters
    ----------
    X : (n, p) array
        The design, finite.
    tol : float
        Relative length below which a column counts as dependent.
    weights : (n,) array, optional
        Lengths and angles are those of the rows multiplied by the roots of the weights; rows of weight 0 do not count.

    Returns
    -------
    (k,) int array
        Positions of the kept columns, increasing.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0], [1.0, 2.0, 2.0]])
    >>> independent_columns(X).tolist()
    [0, 2]
    """
    return column_basis(X, tol, weights).columns


def column_basis(
    X: np.ndarray, tol: float = 1e-7, weights: np.ndarray | None = None, sizes: np.ndarray | None = None
) -> ColumnBasis:
    """Return the columns kept by `independent_columns` together with their triangular factor.

    Arguments are those of `independent_columns`, and `sizes` (p,), no less than the largest size in each column, where
    they are known. The factor is accurate enough to precondition with, X_k R^-1 being orthonormal to about 1e-9 or
    better.

    Examples
    --------
    >>> import numpy as np
    >>> column_basis(np.array([[3.0], [4.0]])).factor.tolist()
    [[5.0]]
    """
    X = np.asarray(X, dtype=np.float64)
    n, p = X.shape
    if n == 0 or p == 0:
        return ColumnBasis(np.empty(0, dtype=np.intp), np.empty((0, 0)))
    heaviest = 1.0 if weights is None else float(np.max(weights)) or 1.0
    roots = None if weights is None else np.sqrt(np.asarray(weights, dtype=np.float64) / heaviest)
    scale = power_of_two(np.maximum(X.max(axis=0), -X.min(axis=0)) if sizes is None else sizes)
    factor = _cholesky(X, scale, roots, max(1e-3, 10.0 * tol)) if n >= p else None
    columns = np.arange(p)
    if factor is None:
        columns, factor = _drop_left_to_right(_triangle(X, scale, roots), tol)
    return ColumnBasis(columns, factor * scale[columns] * np.sqrt(heaviest))


def power_of_two(size: np.ndarray) -> np.ndarray:
    """Return the power of two just above each positive size, and 1 for 0: dividing by it loses no digit.

    >>> power_of_two(np.array([0.0, 0.3, 5.0])).tolist()
    [1.0, 0.5, 8.0]
    """
    size = np.asarray(size, dtype=np.float64)
    return np.where(size > 0, np.ldexp(1.0, np.frexp(size)[1]), 1.0)


def _blocks(X: np.ndarray, scale: np.ndarray, roots: np.ndarray | None, rows: int) -> Iterator[np.ndarray]:
    """Yield scaled, weighted blocks of rows."""
    for start in range(0, len(X), rows):
        block = X[start : start + rows] / scale
        if roots is not None:
            block *= roots[start : start + rows, None]
        yield block


def _cholesky(X: np.ndarray, scale: np.ndarray, roots: np.ndarray | None, clear: float) -> np.ndarray | None:
    """Return the factor from the Gram matrix if every column is clearly independent, otherwise None.

    Forming the Gram matrix squares the condition, so it decides only where nothing is close to being dropped.
    """
    p = X.shape[1]
    gram = np.zeros((p, p))
    for block in _blocks(X, scale, roots, max(_BLOCK // p, p)):
        gram += block.T @ block
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    # With entries of at most 1, a column shorter than 1e-100 has lost digits to underflow.
    lengths = np.sqrt(np.diag(gram))
    return lower.T if (lengths > 1e-100).all() and (np.diag(lower) > clear * lengths).all() else None


def _triangle(X: np.ndarray, scale: np.ndarray, roots: np.ndarray | None) -> np.ndarray:
    """Return R (min(n, p), p) of the design by Householder QR, block after block of rows."""
    p = X.shape[1]
    triangle = np.empty((0, p))
    for block in _blocks(X, scale, roots, max(_BLOCK // p, 4 * p)):
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    return triangle


def _drop_left_to_right(R: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Return kept columns and their factor; R has the lengths and angles of the design, and is overwritten."""
    lengths = np.linalg.norm(R, axis=0)
    kept: list[int] = []
    for j in range(R.shape[1]):
        k = len(kept)
        reflector = R[k:, j].copy()
        left = float(np.linalg.norm(reflector))
        if left <= tol * lengths[j]:
            continue
        reflector[0] += np.copysign(left, reflector[0])
        reflector /= np.linalg.norm(reflector)
        R[k:, j:] -= np.outer(2.0 * reflector, reflector @ R[k:, j:])
        kept.append(j)
    return np.array(kept, dtype=np.intp), np.triu(R[: len(kept), kept])
