"""The fit of trees at given predictors, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class CompiledNodes(NamedTuple):
    """The fields of `tree_path.Nodes` that a fit needs."""

    trees: np.ndarray
    column: np.ndarray
    width: np.ndarray
    cut: np.ndarray
    levels_at: np.ndarray
    levels: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray


@njit(cache=True, nogil=True)
def _value(nodes, m, x):
    """Return what tree m adds at x (p,)."""
    root = nodes.trees[m]
    k = root
    while nodes.column[k] >= 0:
        j = nodes.column[k]
        if np.isnan(x[j]):
            goes_left = nodes.missing_left[k]
        elif nodes.levels_at[k] < 0:
            goes_left = x[j] <= nodes.cut[k]
        else:
            level = 0
            for c in range(nodes.width[k]):
                if x[j + c] != 0.0:
                    level = c + 1
            goes_left = nodes.levels[nodes.levels_at[k] + level]
        k = root + (nodes.left[k] if goes_left else nodes.right[k])
    return nodes.value[k]


@njit(cache=True, nogil=True)
def added_by(nodes, m, X):
    """Return what tree m adds at X (rows, p)."""
    added = np.empty(len(X))
    for i in range(len(X)):
        added[i] = _value(nodes, m, X[i])
    return added


@njit(cache=True, nogil=True)
def sum_of(nodes, m, start, X):
    """Return the start and what the first m trees add at X (rows, p), added up in their order."""
    f = np.full(len(X), start)
    for i in range(len(X)):
        for t in range(m):
            f[i] += _value(nodes, t, X[i])
    return f
