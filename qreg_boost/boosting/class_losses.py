"""Losses of classification and of means: smoothed score (QBC), binomial, exponential, squared.

Conventions as in `losses`; for two classes y (n,) is 1 for the event and 0 for the other class, and the event is
predicted where the fit f is at least 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, ndtr

from qreg_boost.boosting.losses import FLAT, LineStep

FARTHEST = 2.0**60
"""No line search goes beyond this many times its first trial step."""
LARGEST_EXPONENT = 230.0
"""Beyond it an exponential loss is cut off: its squares would overflow, and the steps have long been too long."""
LEVEL = 1e-7
"""A convex loss that no step lowers, and whose slope is below this share of it, is at its least but for rounding."""
HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


class SmoothLoss(ABC):
    """What losses with a derivative have in common: a line search by bracketing, and weights left alone."""

    of_residuals = False
    convex: ClassVar[bool] = True

    @property
    def vanishing(self) -> float:
        """Nil: the gradient of a convex loss is 0 at its minimum only."""
        return 0.0

    @abstractmethod
    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of losses."""

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray | None:
        """Return None: every row keeps its weight."""
        return None

    def line_search(self, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step of least risk along g (n,): a trial is doubled while the risk falls, then the slope made nil.

        The risk need not be convex in the step: the minimum found is the one that the doubling met first.
        """
        size = float(np.abs(g).max(initial=0.0))
        if size == 0.0:
            return LineStep(0.0, optimum=self.convex)

        def at(gamma: float) -> float:
            return self.risk(y, f + gamma * g, weights)

        first, here = 0.01 * self.reach / size, at(0.0)
        gamma, value = first, at(first)
        while value >= here and gamma > 1e-12 * first:
            gamma, value = 0.25 * gamma, at(0.25 * gamma)
        if value >= here:
            slope_here = abs(float(np.dot(weights * g, self.descent(y, f)))) / size
            return LineStep(0.0, optimum=self.convex and slope_here * self.reach <= LEVEL * here)
        while gamma < FARTHEST * first and (further := at(2.0 * gamma)) < value:
            gamma, value = 2.0 * gamma, further

        def slope(gamma: float) -> float:
            return -float(np.dot(weights * g, self.descent(y, f + gamma * g)))

        if slope(0.5 * gamma) < 0.0 < slope(2.0 * gamma):
            from scipy.optimize import brentq  # costly to import

            found = float(brentq(slope, 0.5 * gamma, 2.0 * gamma, xtol=1e-15 * gamma, rtol=1e-15))
            return LineStep(found if at(found) <= value + FLAT * abs(value) else gamma)
        return LineStep(gamma)

    def descent(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return minus the derivative (n,) of each row's loss, but for a factor that all rows share."""
        return self.negative_gradient(y, f)

    @abstractmethod
    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return what learners are fitted to (n,)."""

    @property
    def reach(self) -> float:
        """A distance that matters on the scale of the fit."""
        return 1.0


@dataclass(frozen=True)
class SmoothedScore(SmoothLoss):
    """The smoothed cost of Quantile Boost Classification: tau y (1 - K(f / h)) + (1 - tau) (1 - y) K(f / h).

    K is the standard normal distribution function. The sum over rows is tau times the number of events less the
    objective sum (y - (1 - tau)) K(f / h) that Zheng (2012, eq. 19) maximises; with K a step it is
    tau FN + (1 - tau) FP (eq. 15). Its gradient dies away from the boundary f = 0 like the normal density.

    >>> round(SmoothedScore(0.25, 0.1).risk(np.array([1.0, 0.0]), np.zeros(2), np.ones(2)), 3)
    0.5
    """

    tau: float
    h: float = 0.1

    convex: ClassVar[bool] = False

    @property
    def vanishing(self) -> float:
        """A millionth of a millionth of the largest gradient that a row can have."""
        return 1e-12 * float(np.exp(-HALF_LOG_2PI)) / self.h

    @property
    def reach(self) -> float:
        """The width over which the step function is smoothed."""
        return self.h

    def line_search(self, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step of least cost along g (n,) among those that move no row by more than h.

        K is flat far from the boundary, where the least is often at infinity: an unbounded step would put every row out
        of reach of the next gradient.
        """
        step = super().line_search(y, f, g, weights)
        size = float(np.abs(g).max(initial=0.0))
        return LineStep(self.h / size) if step.gamma * size > self.h else step

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of smoothed costs."""
        price = np.where(y > 0.5, self.tau, 1.0 - self.tau)
        return float(np.dot(weights, price * ndtr(np.where(y > 0.5, -f, f) / self.h)))

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return (y - (1 - tau)) phi(f / h) / h, Zheng (2012), Fig. 3."""
        return (y - (1.0 - self.tau)) * np.exp(-0.5 * (f / self.h) ** 2 - HALF_LOG_2PI) / self.h

    def constant(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return plus or minus infinity: all rows the event, or none, whichever costs less."""
        events, others = float(np.dot(weights, y)), float(np.dot(weights, 1.0 - y))
        return float(np.inf if self.tau * events >= (1.0 - self.tau) * others else -np.inf)


@dataclass(frozen=True)
class Squared(SmoothLoss):
    """Half the squared error of a mean (Buhlmann and Yu 2003); its risk is the weighted sum of squares, as mboost's.

    >>> Squared().risk(np.array([1.0, 3.0]), np.zeros(2), np.ones(2))
    10.0
    """

    of_residuals = True

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of squared residuals."""
        return float(np.dot(weights, (y - f) ** 2))

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the residuals."""
        return y - f

    def line_search(self, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step of least risk along g (n,), by its formula."""
        squares = float(np.dot(weights, g * g))
        gamma = max(float(np.dot(weights, g * (y - f))) / squares, 0.0) if squares > 0.0 else 0.0
        return LineStep(gamma, optimum=gamma == 0.0)

    def constant(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted mean."""
        return float(np.average(y, weights=weights))


class HalfLogOdds(SmoothLoss):
    """What losses have in common whose minimiser is half the log-odds of the event."""

    def constant(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return half the log-odds of the event."""
        share = float(np.average(y, weights=weights))
        return float(0.5 * (np.log(share) - np.log1p(-share)))


@dataclass(frozen=True)
class Binomial(HalfLogOdds):
    """The negative binomial likelihood log(1 + exp(-2 s f)), s = 2y - 1, f half the log-odds; in natural logarithms.

    >>> round(Binomial().risk(np.array([1.0]), np.zeros(1), np.ones(1)), 6)
    0.693147
    """

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of losses."""
        return float(np.dot(weights, np.logaddexp(0.0, -2.0 * (2.0 * y - 1.0) * f)))

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 2 s / (log 2 (1 + exp(2 s f))), the gradient of the likelihood in bits, as mboost has it."""
        s = 2.0 * y - 1.0
        return 2.0 / np.log(2.0) * s * expit(-2.0 * s * f)


@dataclass(frozen=True)
class NewtonBinomial(Binomial):
    """The same likelihood by Newton steps: LogitBoost, Friedman, Hastie and Tibshirani (2000), Algorithm 3.

    Learners are fitted to the working response z = (y - p) / (p (1 - p)) under weights p (1 - p), and half of the fit
    is added to f. p (1 - p) is not let below twice the machine's epsilon (their section 4.3).

    Attributes
    ----------
    zmax : float or None
        Largest absolute working response; None for no bound but that of the weights.
    """

    zmax: float | None = 4.0

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the working response: 1/p for events, -1/(1 - p) for others, within `zmax`."""
        s = 2.0 * y - 1.0
        z = s * expit(-2.0 * s * f) / self.curvature(y, f)
        return z if self.zmax is None else np.clip(z, -self.zmax, self.zmax)

    def descent(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return y - p."""
        s = 2.0 * y - 1.0
        return s * expit(-2.0 * s * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return p (1 - p), bounded from below."""
        return np.maximum(expit(2.0 * f) * expit(-2.0 * f), 2.0 * np.finfo(float).eps)


@dataclass(frozen=True)
class Exponential(HalfLogOdds):
    """The exponential loss exp(-s f), s = 2y - 1, by gradient steps.

    >>> Exponential().risk(np.array([1.0, 0.0]), np.zeros(2), np.ones(2))
    2.0
    """

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of losses."""
        return float(np.dot(weights, np.exp(np.minimum((1.0 - 2.0 * y) * f, LARGEST_EXPONENT))))

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return s exp(-s f)."""
        s = 2.0 * y - 1.0
        return s * np.exp(np.minimum(-s * f, LARGEST_EXPONENT))


@dataclass(frozen=True)
class Votes(HalfLogOdds):
    """The loss exp(-s f / 2) that discrete AdaBoost lowers (Freund and Schapire 1997): f is the sum of votes.

    Learners are fitted to the labels s = +-1 under weights exp(-s f / 2).
    """

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of losses."""
        return float(np.dot(weights, np.exp(np.minimum((0.5 - y) * f, LARGEST_EXPONENT))))

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the labels."""
        return 2.0 * y - 1.0

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return exp(-s f / 2), in proportion."""
        exponent = (0.5 - y) * f
        return np.maximum(np.exp(exponent - exponent.max()), np.finfo(float).tiny)

    def constant(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return the log-odds of the event."""
        return 2.0 * super().constant(y, weights)


@dataclass(frozen=True)
class Errors:
    """What errors cost, to judge a fit by: `missed` an event that is not predicted, `flagged` one that is none.

    >>> Errors(5.0, 1.0).risk(np.array([1.0, 0.0]), np.array([-1.0, 1.0]), np.ones(2))
    6.0
    """

    missed: float = 1.0
    flagged: float = 1.0
    threshold: float = 0.0

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of costs."""
        event = f >= self.threshold
        return float(np.dot(weights, np.where(y > 0.5, self.missed * ~event, self.flagged * event)))
