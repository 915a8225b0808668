"""Losses of the reject option, as functions of the margin t = y f, y in {-1, +1}, and the half-width rho of the band.

A prediction is withheld where |f| <= rho, at the price d. The double ramp loss is a difference of two convex functions;
the convex losses are sums of hinges slope [kink - t]_+.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Slope:
    """A subgradient with respect to t (n,) and to rho (n,), by row."""

    t: np.ndarray
    rho: np.ndarray


@dataclass(frozen=True)
class Hinges:
    """A convex loss as a sum of hinges.

    Attributes
    ----------
    slopes, kinks : (K, n) array
        The loss of row i is sum_k slopes[k, i] [kinks[k, i] - t_i]_+.
    """

    slopes: np.ndarray
    kinks: np.ndarray

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return the loss (n,) at margins t (n,)."""
        return (self.slopes * positive(self.kinks - t)).sum(axis=0)


def positive(x: np.ndarray) -> np.ndarray:
    """Return [x]_+ = max(0, x)."""
    return np.maximum(x, 0.0)


def zero_d_one(t: np.ndarray, rho: float, d: float | np.ndarray) -> np.ndarray:
    """Return the 0-d-1 loss: 1 where t < -rho, d where |t| <= rho, 0 elsewhere.

    References
    ----------
    Manwani, N., Desai, K., Sasidharan, S. and Sundararajan, R. (2015). Double ramp loss based reject option classifier.
    PAKDD 2015, arXiv:1311.6556, eq. (2).

    Examples
    --------
    >>> zero_d_one(np.array([-2.0, 0.0, 2.0]), 1.0, 0.2).tolist()
    [1.0, 0.2, 0.0]
    """
    t = np.asarray(t, dtype=float)
    return np.where(t < -rho, 1.0, np.where(t <= rho, d, 0.0))


# -- the double ramp ---------------------------------------------------------------------------------------------------


def double_ramp(t: np.ndarray, rho: float, d: float | np.ndarray, mu: float = 1.0) -> np.ndarray:
    """Return the double ramp loss, d times a ramp about t = rho and 1 - d times one about t = -rho.

    References
    ----------
    Manwani et al. (2015), eq. (4); each ramp is that of Ong, C. S. and Le Thi, H. A. (2012).

    Examples
    --------
    >>> double_ramp(np.array([-9.0, 0.0, 9.0]), 2.0, 0.2, 0.5).round(6).tolist()
    [1.5, 0.3, 0.0]
    """
    return d * ramp(t - rho, mu) + (1.0 - d) * ramp(t + rho, mu)


def ramp(t: np.ndarray, mu: float) -> np.ndarray:
    """Return ([mu - t]_+ - [-mu^2 - t]_+) / mu: 0 above mu, 1 + mu below -mu^2, linear between."""
    return np.clip((mu - t) / mu, 0.0, 1.0 + mu)


def ramp_convex(t: np.ndarray, rho: float, d: float | np.ndarray, mu: float = 1.0) -> np.ndarray:
    """Return the first convex part of the double ramp loss, (d [mu - t + rho]_+ + (1 - d) [mu - t - rho]_+) / mu."""
    return (d * positive(mu - t + rho) + (1.0 - d) * positive(mu - t - rho)) / mu


def ramp_concave(t: np.ndarray, rho: float, d: float | np.ndarray, mu: float = 1.0) -> np.ndarray:
    """Return the convex part that is subtracted, (d [-mu^2 - t + rho]_+ + (1 - d) [-mu^2 - t - rho]_+) / mu."""
    return (d * positive(-(mu**2) - t + rho) + (1.0 - d) * positive(-(mu**2) - t - rho)) / mu


def slope_convex(t: np.ndarray, rho: float, d: float | np.ndarray, mu: float = 1.0) -> Slope:
    """Return a subgradient of `ramp_convex`; at a kink, that of the flat side."""
    return _slope(d / mu * (t - rho < mu), (1.0 - d) / mu * (t + rho < mu))


def slope_concave(t: np.ndarray, rho: float, d: float | np.ndarray, mu: float = 1.0) -> Slope:
    """Return a subgradient of `ramp_concave`; at a kink, that of the flat side."""
    return _slope(d / mu * (t - rho < -(mu**2)), (1.0 - d) / mu * (t + rho < -(mu**2)))


def _slope(upper: np.ndarray, lower: np.ndarray) -> Slope:
    return Slope(-(upper + lower), upper - lower)


# -- convex losses -----------------------------------------------------------------------------------------------------


def hinge(n: int, kink: float = 1.0) -> Hinges:
    """Return the hinge loss [kink - t]_+ / kink of n rows: that of the support vector machine at kink = 1."""
    return Hinges(np.full((1, n), 1.0 / kink), np.full((1, n), kink))


def double_hinge(d: np.ndarray) -> Hinges:
    """Return the double hinge loss max(0, H(d) - (1 - d) t, H(d) - d t) of rows with prices d (n,), at most 0.5.

    References
    ----------
    Grandvalet, Y., Rakotomamonjy, A., Keshet, J. and Canu, S. (2008). Support vector machines with a reject option.
    Advances in Neural Information Processing Systems 21, 537-544.

    Examples
    --------
    >>> loss = double_hinge(np.array([0.2]))
    >>> float(loss.value(np.array([0.0]))[0].round(6)), float(entropy(0.2).round(6))
    (0.500402, 0.500402)
    """
    return Hinges(np.stack((d, 1.0 - 2.0 * d)), np.stack((entropy(d) / d, np.zeros_like(d))))


def generalized_hinge(d: np.ndarray) -> Hinges:
    """Return the generalized hinge loss, 1 - (1 - d) t / d below 0, [1 - t]_+ above, of rows with prices d (n,).

    References
    ----------
    Bartlett, P. L. and Wegkamp, M. H. (2008). Classification with a reject option using a hinge loss. Journal of
    Machine Learning Research 9, 1823-1840.

    Examples
    --------
    >>> generalized_hinge(np.full(3, 0.25)).value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.5, 0.0]
    """
    return Hinges(np.stack((np.ones_like(d), (1.0 - 2.0 * d) / d)), np.stack((np.ones_like(d), np.zeros_like(d))))


def entropy(d: float | np.ndarray) -> np.ndarray:
    """Return H(d) = -d log d - (1 - d) log(1 - d)."""
    return -d * np.log(d) - (1.0 - d) * np.log1p(-np.asarray(d))


def double_hinge_threshold(d: float) -> float:
    """Return log((1 - d) / d), the value of the logit at which Bayes' rule stops to withhold.

    >>> round(double_hinge_threshold(0.2), 6)
    1.386294
    """
    return float(np.log1p(-d) - np.log(d))


GENERALIZED_HINGE_THRESHOLD = 0.5
"""Usual threshold of the generalized hinge; any from d to 1 - d bounds the 0-d-1 loss."""


def bounds_zero_d_one(loss: Hinges, rho: float, d: float) -> bool:
    """Return whether a convex loss that falls in t is nowhere below the 0-d-1 loss: it is not at t = -rho and t = rho.

    >>> bounds_zero_d_one(double_hinge(np.array([0.2])), double_hinge_threshold(0.2), 0.2)
    True
    >>> bounds_zero_d_one(double_hinge(np.array([0.45])), double_hinge_threshold(0.45), 0.45)
    False
    """
    ends = [float(loss.value(np.array([t]))[0]) for t in (-rho, rho)]
    slack = 1e-12
    return ends[0] >= 1.0 - slack and ends[1] >= d - slack
