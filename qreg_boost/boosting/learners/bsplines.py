"""B-splines on equidistant knots, and the difference penalty of P-splines (Eilers and Marx 1996).

A cubic spline on k inner knots has k + 4 basis functions, four of them other than 0 at any x: a row of the basis is a
cell (where those begin) and their values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CLEAR = 1e-10
"""An eigenvalue this near the end of its scale is at the end, but for rounding."""
STRENGTHS = (-50.0, 50.0)
"""Logarithms of the penalties searched for a number of degrees of freedom."""


@dataclass(frozen=True)
class Knots:
    """Equidistant knots from `low` to `high`, `inner` of them strictly between, continued beyond on both sides.

    >>> Knots(0.0, 1.0, 1, 1).bands(np.array([0.25, 1.0]))[1].tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    low: float
    high: float
    inner: int
    degree: int

    @property
    def count(self) -> int:
        """Number of basis functions."""
        return self.inner + self.degree + 1

    def bands(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each x (n,) the first basis function other than 0 (n,), and the values (n, degree + 1) from there.

        Beyond the knots the basis is continued by its tangents, so that splines are straight lines there.
        """
        inside = np.clip(x, self.low, self.high)
        width = (self.high - self.low) / (self.inner + 1)
        position = (inside - self.low) / width
        known = np.where(np.isnan(position), 0.0, position)
        cell = np.minimum(known.astype(np.int32), self.inner)
        lower = _raised(position - cell, self.degree - 1)
        values = _raise(position - cell, lower)
        beyond = x - inside
        if np.any(beyond != 0.0):
            slopes = (_padded(lower, 1) - _padded(lower, 0)) / width
            values = values + beyond[:, None] * slopes
        return cell, values

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Return the basis (n, count) at x (n,)."""
        cell, values = self.bands(x)
        out = np.zeros((len(x), self.count))
        rows = np.arange(len(x))
        for q in range(self.degree + 1):
            out[rows, cell + q] = values[:, q]
        return out


def _raised(t: np.ndarray, degree: int) -> np.ndarray:
    """Return the values (n, degree + 1) of the basis functions that are not 0 at t (n,), the place within a cell."""
    values = np.ones((len(t), 1))
    while values.shape[1] <= degree:
        values = _raise(t, values)
    return values


def _raise(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values (n, r + 1) of degree r given those (n, r) of degree r - 1: Cox and de Boor on equal knots."""
    r = values.shape[1]
    out = np.zeros((len(t), r + 1))
    for j in range(r):
        out[:, j] += (1.0 - t + j) * values[:, j]
        out[:, j + 1] += (t + (r - j - 1)) * values[:, j]
    out /= r
    return out


def _padded(values: np.ndarray, before: int) -> np.ndarray:
    return np.pad(values, ((0, 0), (before, 1 - before)))


def gram(cell: np.ndarray, values: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """Return B'WB (count, count) of a basis given as cells (n,) and values (n, k)."""
    out = np.zeros((count, count))
    k = values.shape[1]
    places = count - k + 1
    at = np.arange(places)
    for a in range(k):
        weighted = weights * values[:, a]
        for b in range(a, k):
            sums = np.bincount(cell, weights=weighted * values[:, b], minlength=places)
            out[at + a, at + b] += sums
            if a != b:
                out[at + b, at + a] += sums
    return out


def rising(count: int) -> np.ndarray:
    """Return L (count, count - 1), which adds increments up: L d starts at 0 and rises by d."""
    return np.tril(np.ones((count, count - 1)), -1)


@dataclass(frozen=True)
class Smoother:
    """A penalised block of m columns about their centres: with c = X'Wu its slopes are F F'c, its gain |S'c|^2.

    The gain is the reduction of the squared error, 2 c'b - b'Gb.

    Attributes
    ----------
    slope_factor, score_factor : ndarray (m, m)
        F and S; unused columns are 0.
    penalty : float
        What the sum of squared differences of coefficients is multiplied by.
    """

    slope_factor: np.ndarray
    score_factor: np.ndarray
    penalty: float


@dataclass(frozen=True)
class Spectrum:
    """The Gram matrix G of a block about its centre and the penalty K, both diagonal in one basis V.

    V'GV = diag(g) and V'(scale K)V = diag(1 - g): where g is 1 nothing is penalised, where it is 0 there are no data.
    """

    vectors: np.ndarray
    data: np.ndarray
    scale: float

    @classmethod
    def of(cls, G: np.ndarray, K: np.ndarray) -> Spectrum:
        """Return the spectrum of G and K (m, m), for which constant coefficients are nil."""
        from scipy.linalg import eigh

        up = rising(len(G))
        own, penalty = up.T @ G @ up, up.T @ K @ up
        scale = float(np.trace(own) / np.trace(penalty))
        data, vectors = eigh(own, own + scale * penalty)
        return cls(up @ vectors, np.clip(data, 0.0, 1.0), scale)

    def free(self, strength: float) -> float:
        """Return trace(2S - S'S) of the smoother and a constant, for a penalty of strength (relative to `scale`)."""
        seen = self.data[self.data > CLEAR]
        shrunk = seen / (seen + strength * (1.0 - seen))
        return 1.0 + float((2.0 * shrunk - shrunk**2).sum())

    @property
    def most(self) -> float:
        """Degrees of freedom under the least penalty tried."""
        return self.free(np.exp(STRENGTHS[0]))

    def smoother(self, df: float) -> Smoother:
        """Return the smoother of `df` degrees of freedom, or as many as can be."""
        from scipy.optimize import brentq

        if df >= self.most:
            strength = float(np.exp(STRENGTHS[0]))
        elif df <= self.free(np.exp(STRENGTHS[1])):
            strength = float(np.exp(STRENGTHS[1]))
        else:
            found = brentq(lambda log: self.free(np.exp(log)) - df, *STRENGTHS, xtol=1e-14, rtol=1e-14)
            strength = float(np.exp(found))
        seen = self.data > CLEAR
        damped = self.data + strength * (1.0 - self.data)
        size = len(self.vectors)
        slope, score = np.zeros((size, size)), np.zeros((size, size))
        slope[:, :-1] = np.where(seen, self.vectors / np.sqrt(damped), 0.0)
        score[:, :-1] = np.where(seen, self.vectors * np.sqrt(2.0 * damped - self.data) / damped, 0.0)
        return Smoother(slope, score, strength * self.scale)


def difference_penalty(count: int, differences: int) -> np.ndarray:
    """Return D'D (count, count) of differences of that order.

    >>> difference_penalty(3, 1).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
    """
    D = np.diff(np.eye(count), differences, axis=0)
    return D.T @ D
