"""A design whose predictors are a sparse matrix, which is never made dense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.base.design import Design, Encoder, Term


def is_sparse(X: Any) -> bool:
    """Return whether `X` is a sparse matrix of scipy's, without importing scipy.

    >>> is_sparse(np.eye(2))
    False
    """
    return hasattr(X, "tocsr")


def sparse_design(y: Any, X: Any, *, names: Sequence[str] | None, weights: Any, offset: Any, missing: str) -> Design:
    """Return the design of a response and a sparse matrix (n, p), nothing added; rows in which y is missing go.

    Raises
    ------
    InputError
        If shapes do not fit, or values are not finite numbers.
    """
    X = X.tocsr().astype(np.float64)
    n, p = X.shape
    if np.ndim(y) == 1 and len(y) != n:
        raise InputError(f"`y` has {len(y)} values and `X` has {n} rows; there must be one row per value.")
    if not np.isfinite(X.data).all():
        raise InputError("`X` has missing or infinite values; a sparse design must be complete. Leave out those rows.")
    columns = tuple(f"x{j + 1}" for j in range(p)) if names is None else tuple(str(name) for name in names)
    if len(columns) != p or len(set(columns)) < p:
        raise InputError(f"`names` must name each of the {p} columns of `X` once; got {len(columns)} names.")
    plain = Design.from_arrays(y, np.ones((n, 1)), weights=weights, offset=offset, missing=missing, intercept=False)
    terms = tuple(Term(name, (j,)) for j, name in enumerate(columns))
    encoder = Encoder(None, columns, terms, None if offset is None else "array")
    rows = X if len(plain.rows) == n else X[plain.rows]
    return replace(plain, X=rows, column_names=columns, terms=terms, encoder=encoder)


def spans_constant(X: Any, weights: np.ndarray | None) -> bool:
    """Return whether some combination of the columns of a sparse matrix (n, p) is 1 in all rows of positive weight."""
    w = np.ones(X.shape[0]) if weights is None else weights / weights.max()
    lengths = np.sqrt(np.asarray(X.multiply(X).T @ w).ravel())
    scale = np.where(lengths > 0, lengths, 1.0)
    gram = np.asarray((X.multiply(w[:, None]).T @ X).todense()) / np.outer(scale, scale)
    target = np.asarray(X.T @ w).ravel() / scale
    b = np.linalg.lstsq(gram, target, rcond=None)[0]
    left = 1.0 - np.asarray(X @ (b / scale)).ravel()
    return bool(w @ left**2 <= 1e-14 * w.sum())
