"""Codes of several classes by dichotomies, and how they are decoded."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

EXHAUSTIVE = 7
"""Up to so many classes, error-correcting codes hold every dichotomy."""
DRAWS = 500
"""So many random codes are compared, by the least distance between their rows."""


def one_versus_all(k: int) -> np.ndarray:
    """Return the code (k, k) of each class against all others.

    >>> one_versus_all(2).tolist()
    [[1, -1], [-1, 1]]
    """
    return 2 * np.eye(k, dtype=np.int64) - 1


def all_pairs(k: int) -> np.ndarray:
    """Return the code (k, k (k - 1) / 2) of each class against each other one; 0 leaves a class out.

    >>> all_pairs(3).tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    """
    code = np.zeros((k, k * (k - 1) // 2), dtype=np.int64)
    for column, (first, second) in enumerate(combinations(range(k), 2)):
        code[first, column], code[second, column] = 1, -1
    return code


def error_correcting(k: int, rng: np.random.Generator) -> np.ndarray:
    """Return an error-correcting code (k, L): every dichotomy for up to 7 classes, else the best of random ones.

    Dietterich and Bakiri (1995). The random codes have 10 log2(k) columns, as the dense ones of Allwein et al. (2000);
    the best has the largest least Hamming distance between rows, and of equals it is the first.

    >>> error_correcting(3, np.random.default_rng(0)).tolist()
    [[1, 1, 1], [-1, -1, 1], [-1, 1, -1]]
    """
    if k <= EXHAUSTIVE:
        numbers = np.arange(2 ** (k - 1) - 1)
        bits = (numbers[None, :] >> np.arange(k - 2, -1, -1)[:, None]) & 1  # the first class is 1 in every column
        return np.vstack((np.ones(len(numbers), dtype=np.int64), 2 * bits - 1))
    length = int(np.ceil(10.0 * np.log2(k)))
    best, most = np.empty((k, 0), dtype=np.int64), -1.0
    for _ in range(DRAWS):
        code = 2 * rng.integers(0, 2, size=(k, length)) - 1
        code = code[:, np.abs(code.sum(axis=0)) < k]
        apart = least_distance(code)
        if apart > most:
            best, most = code, apart
    return best


def least_distance(code: np.ndarray) -> float:
    """Return the least distance between two rows of a code: columns that differ, a 0 counting half.

    >>> least_distance(one_versus_all(4))
    2.0
    """
    products = code @ code.T
    apart = 0.5 * (code.shape[1] - products)
    return float(apart[~np.eye(len(code), dtype=bool)].min())


def by_hamming(F: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Return minus the Hamming distance (rows, k) of signs of F (rows, L) to the rows of a code; a 0 counts half.

    >>> by_hamming(np.array([[2.0, -1.0]]), one_versus_all(2)).tolist()
    [[-0.0, -2.0]]
    """
    signs = np.where(F >= 0.0, 1.0, -1.0)
    return -0.5 * (code.shape[1] - signs @ code.T)


def by_loss(F: np.ndarray, code: np.ndarray, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return minus the sum of losses (rows, k) of the margins of F (rows, L) under each row of a code.

    Allwein, Schapire and Singer (2000), eq. (5).

    >>> by_loss(np.array([[2.0, -1.0]]), one_versus_all(2), lambda z: -z).tolist()
    [[3.0, -3.0]]
    """
    return -np.column_stack([loss(F * row).sum(axis=1) for row in code])
