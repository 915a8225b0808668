"""The scale of coefficients that only count up to a positive factor: two normalisations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

FARTHEST = 1e3
"""Largest coefficient of another predictor where that of one is 1, on the standard scale."""


class Scale(ABC):
    """A normalisation: coefficients theta (k,) of free numbers u, and what a gradient becomes.

    Attributes
    ----------
    first : int
        1 if theta starts with an intercept, else 0.
    reach : float
        Length of the longest row of predictors: an intercept beyond it decides every row alone.
    h : float
    """

    first: int
    reach: float
    h: float

    @abstractmethod
    def theta(self, u: np.ndarray) -> np.ndarray:
        """Return the coefficients (k,) of free numbers u."""

    @abstractmethod
    def free(self, theta: np.ndarray) -> np.ndarray:
        """Return free numbers whose coefficients are theta (k,), which is normalised."""

    @abstractmethod
    def pull(self, u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the derivative in u of a function with derivative `gradient` (k,) in theta."""

    @abstractmethod
    def fitted(self, theta: np.ndarray) -> np.ndarray:
        """Return theta (k,) multiplied, or cut, so that it is normalised."""

    @abstractmethod
    def tangent(self, theta: np.ndarray) -> np.ndarray:
        """Return directions (k, m) that leave theta (k,) normalised, orthonormal."""

    def bend(self, theta: np.ndarray, gradient: np.ndarray) -> float:
        """Return what curves the slopes of theta (k,) away from the tangent adds to minus the second derivative."""
        return 0.0

    @property
    @abstractmethod
    def bounds(self) -> list[tuple[float | None, float | None]]:
        """Bounds of the free numbers in climbs."""

    @property
    @abstractmethod
    def box(self) -> list[tuple[float, float]]:
        """The box that annealing searches."""

    @property
    def _intercepts(self) -> list[tuple[float, float]]:
        most = self.reach + 8.0 * self.h
        return [(-most, most)] * self.first


@dataclass(frozen=True)
class UnitSlopes(Scale):
    """Slopes of norm 1, the intercept free.

    >>> UnitSlopes(1, 5.0, 0.1, k=3).theta(np.array([2.0, 3.0, 4.0])).tolist()
    [2.0, 0.6, 0.8]
    """

    first: int
    reach: float
    h: float
    k: int

    def theta(self, u: np.ndarray) -> np.ndarray:
        """Return u (k,) with its slopes divided by their norm."""
        v = u[self.first :]
        norm = float(np.linalg.norm(v))
        slopes = v / norm if norm > 0.0 else np.eye(1, len(v))[0]
        return np.concatenate((u[: self.first], slopes))

    def free(self, theta: np.ndarray) -> np.ndarray:
        """Return theta itself."""
        return theta.copy()

    def pull(self, u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the part of the gradient along the sphere, over the norm of the slopes."""
        v = u[self.first :]
        norm = max(float(np.linalg.norm(v)), 1e-300)
        b, g = v / norm, gradient[self.first :]
        return np.concatenate((gradient[: self.first], (g - b * (b @ g)) / norm))

    def fitted(self, theta: np.ndarray) -> np.ndarray:
        """Return theta over the norm of its slopes, the intercept within bounds."""
        norm = float(np.linalg.norm(theta[self.first :]))
        out = theta / norm if norm > 0.0 else self.theta(theta)
        if self.first:
            low, high = self._intercepts[0]
            out[0] = min(max(out[0], low), high)
        return out

    def tangent(self, theta: np.ndarray) -> np.ndarray:
        """Return the intercept's direction and those at right angles to the slopes."""
        slopes = np.linalg.svd(theta[None, self.first :])[2][1:].T
        directions = np.zeros((self.k, self.first + slopes.shape[1]))
        directions[: self.first, : self.first] = 1.0
        directions[self.first :, self.first :] = slopes
        return directions

    def bend(self, theta: np.ndarray, gradient: np.ndarray) -> float:
        """Return the part of the gradient along the slopes, which are on a sphere."""
        return float(theta[self.first :] @ gradient[self.first :])

    @property
    def bounds(self) -> list[tuple[float | None, float | None]]:
        """Bounds of the intercept; slopes have none."""
        return [*self._intercepts, *[(None, None)] * (self.k - self.first)]

    @property
    def box(self) -> list[tuple[float, float]]:
        """Slopes between -1 and 1."""
        return [*self._intercepts, *[(-1.0, 1.0)] * (self.k - self.first)]


@dataclass(frozen=True)
class OneColumn(Scale):
    """The coefficient of one predictor is +1 or -1, all others are free.

    >>> OneColumn(1, 5.0, 0.1, k=3, at=2, sign=-1.0).theta(np.array([2.0, 3.0])).tolist()
    [2.0, 3.0, -1.0]
    """

    first: int
    reach: float
    h: float
    k: int
    at: int
    sign: float

    def theta(self, u: np.ndarray) -> np.ndarray:
        """Return u (k - 1,) with the fixed coefficient put in."""
        return np.insert(u, self.at, self.sign)

    def free(self, theta: np.ndarray) -> np.ndarray:
        """Return theta without the fixed coefficient."""
        return np.delete(theta, self.at)

    def pull(self, u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient without its fixed component."""
        return np.delete(gradient, self.at)

    def fitted(self, theta: np.ndarray) -> np.ndarray:
        """Return theta over the size of the fixed coefficient, which gets its sign; within bounds."""
        size = max(abs(float(theta[self.at])), 0.05 * float(np.linalg.norm(theta[self.first :])), 1e-300)
        out = theta / size
        out[self.at] = self.sign
        for j, (low, high) in zip(np.delete(np.arange(self.k), self.at), self.bounds, strict=True):
            out[j] = min(max(out[j], low), high)
        return out

    def tangent(self, theta: np.ndarray) -> np.ndarray:
        """Return the directions of all coefficients but the fixed one."""
        return np.delete(np.eye(self.k), self.at, axis=1)

    @property
    def bounds(self) -> list[tuple[float, float]]:  # type: ignore[override]
        """Bounds far out."""
        most = FARTHEST * max(self.reach, 1.0)
        return [*[(-most, most)] * self.first, *[(-FARTHEST, FARTHEST)] * (self.k - 1 - self.first)]

    @property
    def box(self) -> list[tuple[float, float]]:
        """Other slopes between -10 and 10."""
        most = 10.0 * self.reach
        return [*[(-most, most)] * self.first, *[(-10.0, 10.0)] * (self.k - 1 - self.first)]
