"""Means and sums of squares of all columns in one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from qreg_boost.base.views import read_only

CONSTANT = 1e-13
"""A column whose standard deviation is this small, relative to its mean, is constant to rounding."""
REMOTE = 1e2
"""A mean this many standard deviations from 0 is rounded so much that the sum about it is no longer nil."""


@dataclass(frozen=True)
class Moments:
    """Weighted first and second moments of the columns of X (n, p).

    Attributes
    ----------
    centre : ndarray (p,)
        What the columns are measured from: the weighted mean, or what `about` was given.
    squares : ndarray (p,)
        Weighted sum of squares about the centre.
    imbalance : ndarray (p,)
        Weighted sum about the centre: 0 at the mean, but for the rounding of a mean far from 0.
    varies : ndarray (p,) of bool
        False for columns that are constant to rounding.
    total : float
        Sum of the weights.
    """

    centre: np.ndarray
    squares: np.ndarray
    imbalance: np.ndarray
    varies: np.ndarray
    total: float

    @property
    def spread(self) -> np.ndarray:
        """Weighted root mean square of each column about its centre (p,)."""
        return np.sqrt(self.squares / self.total)

    def about(self, centre: np.ndarray) -> Moments:
        """Return the moments about another centre."""
        shift = self.centre - centre
        return Moments(
            centre=centre,
            squares=self.squares + self.total * shift**2,
            imbalance=self.imbalance + self.total * shift,
            varies=self.varies,
            total=self.total,
        )


def column_moments(X: np.ndarray, weights: np.ndarray) -> Moments:
    """Return the weighted moments of X (n, p), C-contiguous, about the weighted means.

    >>> column_moments(np.array([[1.0], [3.0]]), np.ones(2)).squares
    array([2.])
    """
    if X.shape[0] == 0 or X.shape[1] == 0:
        empty = np.zeros(X.shape[1])
        return Moments(empty, empty, empty, empty > 0, float(weights.sum()))
    mean, squares, total = _moments(read_only(X), read_only(weights), max(8, 8192 // X.shape[1]))
    spread = np.sqrt(squares / total)
    varies = spread > CONSTANT * np.abs(mean)
    remote = np.flatnonzero(varies & (np.abs(mean) > REMOTE * spread))
    imbalance = np.zeros(X.shape[1])
    if len(remote):
        imbalance[remote] = _sums_about(X, weights, mean, remote)
    return Moments(mean, squares, imbalance, varies, total)


@njit(cache=True, nogil=True)
def _moments(X, weights, rows):
    # Blocks of rows that stay in cache, each centred on its own mean, merged as in Chan, Golub & LeVeque (1983).
    n, p = X.shape
    mean = np.zeros(p)
    squares = np.zeros(p)
    block_mean = np.empty(p)
    block_squares = np.empty(p)
    total = 0.0
    for first in range(0, n, rows):
        last = min(first + rows, n)
        weight = 0.0
        block_mean[:] = 0.0
        block_squares[:] = 0.0
        for i in range(first, last):
            weight += weights[i]
            for j in range(p):
                block_mean[j] += weights[i] * X[i, j]
        for j in range(p):
            block_mean[j] /= weight
        for i in range(first, last):
            for j in range(p):
                block_squares[j] += weights[i] * (X[i, j] - block_mean[j]) ** 2
        merged = total + weight
        for j in range(p):
            gap = block_mean[j] - mean[j]
            mean[j] += gap * (weight / merged)
            squares[j] += block_squares[j] + gap * gap * (total * weight / merged)
        total = merged
    return mean, squares, total


@njit(cache=True, nogil=True)
def _sums_about(X, weights, centre, columns):
    sums = np.zeros(len(columns))
    for i in range(X.shape[0]):
        for k in range(len(columns)):
            sums[k] += weights[i] * (X[i, columns[k]] - centre[columns[k]])
    return sums
