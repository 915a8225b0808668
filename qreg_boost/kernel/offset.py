"""The offset of a kernel machine, given its other part: all that are optimal, and the one that is taken.

With Qa known, what is left of the primal is convex and piecewise linear in the offset: for each box variable u of the
dual, the largest of -g u over its box, g = g0 + s x the gradient at the offset x. Its minimisers are an interval.

The multiplier that a solver returns lies in it, somewhere: where an interior point method was led, or at an end. The
midpoint depends on the data alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEVEL = 4.0 * float(np.finfo(np.float64).eps)
"""A slope of this share of all slopes together, times their number, is 0: sums of costs that cancel leave rounding."""
WIDE = 1e-6
"""An interval wider than this share of the gradients' scale is one. Rows on a margin share their kink, and a solver's
Qa puts them as far apart as its residuals allow."""


@dataclass(frozen=True)
class Interval:
    """All offsets of least loss: from `low` to `high`, one of which may be infinite, or both."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The midpoint; of a half-line its end."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return 0.5 * (self.low + self.high)
        return self.low if np.isfinite(self.low) else self.high

    def settled(self, multiplier: float, scale: float) -> float:
        """Return the one offset that is taken.

        Parameters
        ----------
        multiplier : float
            What the solver of the dual says.
        scale : float
            Size of the gradients.

        Notes
        -----
        The midpoint, of an interval that rounding does not explain. Of a narrow one the multiplier, which averages over
        the rows on the margin, or the nearer end if it is farther off than rounding explains. Of a half-line (a class
        that is never predicted) the multiplier too, which `reject.flat` puts where the rows concerned lie clear of the
        kinks, or the end if it is outside.

        Examples
        --------
        >>> Interval(-1.0, 3.0).settled(2.9, 1.0)
        1.0
        >>> Interval(0.5, 0.5 + 1e-9).settled(0.5 + 2e-9, 1.0)
        0.500000002
        >>> Interval(2.0, np.inf).settled(7.0, 1.0)
        7.0
        """
        near = min(max(multiplier, self.low), self.high)
        if np.inf > self.high - self.low > WIDE * scale:
            return self.middle
        return multiplier if abs(multiplier - near) <= WIDE * scale else near


def lowest(kinks: np.ndarray, rises: np.ndarray, slope: float) -> Interval:
    """Return where a convex piecewise linear function is least.

    Parameters
    ----------
    kinks : (m,) array
        In any order.
    rises : (m,) array
        By how much the slope rises at each, at least 0.
    slope : float
        To the left of all kinks.

    Examples
    --------
    >>> lowest(np.array([2.0, 0.0, 1.0]), np.ones(3), -1.0)
    Interval(low=0.0, high=1.0)
    >>> lowest(np.array([0.0, 5.0]), np.ones(2), -2.0)
    Interval(low=5.0, high=inf)
    """
    order = np.argsort(kinks, kind="stable")
    kinks = np.concatenate(([-np.inf], kinks[order], [np.inf]))
    slopes = slope + np.concatenate(([0.0], np.cumsum(rises[order])))  # to the right of each kink
    level = LEVEL * (len(rises) + 4) * (abs(slope) + float(rises.sum()))
    return Interval(
        float(kinks[np.searchsorted(slopes, -level)]), float(kinks[np.searchsorted(slopes, level, side="right")])
    )


def optimal_offsets(gradient: np.ndarray, signs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Interval:
    """Return all offsets x of least loss, for variables in boxes with the gradients gradient + signs x.

    Parameters
    ----------
    gradient : (m,) array
        At the offset 0.
    signs : (m,) array
        -1 or +1: coefficients of the variables in the equality whose multiplier x is.
    lower, upper : (m,) array

    Examples
    --------
    The median of four numbers: gradients x - y_i, boxes from -1/2 to 1/2.

    >>> optimal_offsets(-np.array([1.0, 5.0, 2.0, 9.0]), np.ones(4), np.full(4, -0.5), np.full(4, 0.5))
    Interval(low=2.0, high=5.0)
    """
    left = np.where(signs > 0.0, upper, lower)  # where a variable is while x lies to the left of its kink
    return lowest(-gradient * signs, upper - lower, -float(signs @ left))
