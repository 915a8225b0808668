"""The smoothed maximum score (Manski 1975, Horowitz 1992, Kordas 2006), and predictors on one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from qreg_boost.base.rank import power_of_two

PEAK = 1.0 / np.sqrt(2.0 * np.pi)


@dataclass(frozen=True)
class Standard:
    """Predictors less their means, divided by their standard deviations.

    Attributes
    ----------
    centre, spread : (p,) arrays
        In units of the predictors; `centre` is 0 for a model without intercept.
    """

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray | None, intercept: bool) -> Standard:
        """Return the weighted means and standard deviations (divisor: the sum of the weights) of X (n, p)."""
        size = power_of_two(np.abs(X).max(axis=0))  # squares of very large or small units would leave the range
        X = X / size
        mean = np.average(X, axis=0, weights=weights)
        spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        return cls(mean * size if intercept else np.zeros(X.shape[1]), spread * size)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return X (n, p) on the standard scale."""
        return (X - self.centre) / self.spread

    def back(self, theta: np.ndarray, intercept: bool) -> np.ndarray:
        """Return coefficients for predictors as they are, of coefficients for standard ones, the intercept first."""
        slopes = theta[int(intercept) :] / self.spread
        return np.concatenate(([theta[0] - slopes @ self.centre], slopes)) if intercept else slopes


@dataclass(frozen=True)
class Score:
    """The smoothed score sum_i d_i K(x_i'b / h), d_i = w_i (y_i - (1 - tau)), K the standard normal distribution.

    With h = 0, K is the step 1[x_i'b >= 0], and the score is Manski's.

    Attributes
    ----------
    D : (n, k) array
        Predictors, a column of ones first if there is an intercept.
    d : (n,) array
    h : float
    intercept : bool

    Examples
    --------
    >>> score = Score(np.array([[1.0], [-1.0]]), np.array([0.5, -0.5]), 0.1, False)
    >>> round(score.value(np.ones(1)), 6)
    0.5
    """

    D: np.ndarray
    d: np.ndarray
    h: float
    intercept: bool

    @classmethod
    def of(
        cls, Z: np.ndarray, y: np.ndarray, tau: float, h: float, weights: np.ndarray | None, intercept: bool
    ) -> Score:
        """Return the score of predictors Z (n, p) and events y (n,)."""
        d = y - (1.0 - tau)
        D = np.column_stack((np.ones(len(y)), Z)) if intercept else np.ascontiguousarray(Z)
        return cls(D, d if weights is None else weights * d, h, intercept)

    @property
    def bound(self) -> float:
        """What no coefficients exceed: every event found, nothing else flagged."""
        return float(self.d[self.d > 0.0].sum())

    def at(self, h: float) -> Score:
        """Return the score with another width."""
        return Score(self.D, self.d, h, self.intercept)

    def value(self, theta: np.ndarray) -> float:
        """Return the score at coefficients theta (k,)."""
        index = self.D @ theta
        return float(self.d @ (ndtr(index / self.h) if self.h > 0.0 else index >= 0.0))

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the score and its derivative (k,) at theta (k,); h above 0."""
        t = (self.D @ theta) / self.h
        density = self.d * np.exp(-0.5 * t * t)
        return float(self.d @ ndtr(t)), (density @ self.D) * (PEAK / self.h)

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """Return the second derivative (k, k) of the score at theta (k,); h above 0."""
        t = (self.D @ theta) / self.h
        return -(self.D.T * (self.d * t * np.exp(-0.5 * t * t))) @ self.D * (PEAK / self.h**2)

    def with_best_intercept(self, theta: np.ndarray) -> np.ndarray:
        """Return theta (k,) with the intercept of greatest unsmoothed score, halfway between two rows."""
        if not self.intercept:
            return theta
        index = self.D[:, 1:] @ theta[1:]
        order = np.argsort(-index, kind="stable")
        gains, sorted_index = np.cumsum(self.d[order]), index[order]
        ends = np.flatnonzero(np.append(sorted_index[1:] < sorted_index[:-1], True))  # rows that tie go together
        best = ends[np.argmax(gains[ends])]
        below = sorted_index[best + 1] if best + 1 < len(index) else sorted_index[best] - 2.0 * max(self.h, 0.1)
        return np.concatenate(([-0.5 * (sorted_index[best] + below)], theta[1:]))
