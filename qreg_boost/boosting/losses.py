"""Loss functions: what boosting minimises.

Conventions, for n rows: y (n,) responses and f (n,) fits in units of y; weights (n,), finite and above 0. A loss gives
its summed value, the negative gradient at a fit, the constant to start from, and the exact step along a direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from qreg_boost.base.quantile import upper_quantile, weighted_quantile


class Judge(Protocol):
    """What can judge a fit."""

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of losses."""


class Loss(Protocol):
    """What the boosting loop asks of a loss."""

    @property
    def vanishing(self) -> float:
        """Below this absolute value in every row, the negative gradient has vanished: no iteration is left to make."""

    @property
    def of_residuals(self) -> bool:
        """Whether the loss depends on y - f alone, so that `constant` of residuals is the best shift of a fit."""

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of losses."""

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return u (n,), minus the derivative of each row's loss in f, or what else learners are fitted to."""

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray | None:
        """Return what the weights (n,) are multiplied by in this iteration; None for losses that leave them alone."""

    def line_search(self, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step along g (n,) of least risk."""

    def constant(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return the constant fit of least risk."""


FLAT = 1e-12
"""A slope this small, relative to the sum of the absolute slopes of all rows, is rounding; so is a residual this small,
relative to the largest."""


@dataclass(frozen=True)
class LineStep:
    """The step `gamma`; in an exact line search also the `row` that fixes it, and a distance that is rounding.

    The row's residual becomes 0, and so do residuals not above `rounding`: else rounding decides the next gradient.
    A step that is `last` leaves nothing to do: the learner was perfect. A step of 0 at the `optimum` of a smooth convex
    loss says that nothing is left to lower.
    """

    gamma: float
    row: int = -1
    rounding: float = 0.0
    last: bool = False
    optimum: bool = False

    def put_on_fit(self, y: np.ndarray, f: np.ndarray) -> None:
        """Give the rows that the step put on the fit f (n,) a residual of exactly 0."""
        if self.row >= 0:
            f[self.row] = y[self.row]
            near = np.abs(y - f) <= self.rounding
            f[near] = y[near]


@dataclass(frozen=True)
class CheckLoss:
    """The check loss rho_tau(r) = r (tau - I(r < 0)) of Koenker and Bassett (1978), r = y - f.

    `ties` says which end is taken where the quantile is an interval, "lower" or, as R's gbm does, "upper"; a residual
    of exactly 0 counts as positive under the first, as negative under the second.

    >>> CheckLoss(0.25).risk(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.ones(2))
    1.0
    """

    tau: float
    ties: str = "lower"

    vanishing = 0.0
    of_residuals = True

    def risk(self, y: np.ndarray, f: np.ndarray | float, weights: np.ndarray) -> float:
        """Return the weighted sum of check losses, in units of y."""
        r = y - f
        below = np.minimum(r, 0.0)
        r *= self.tau
        r -= below
        return float(np.dot(weights, r))

    def negative_gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return u_i = I(y_i - f_i >= 0) - (1 - tau) (Zheng 2012, Fig. 2): a residual of 0 counts as positive."""
        above = y > f if self.ties == "upper" else y >= f
        return np.where(above, self.tau, self.tau - 1.0)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> None:
        """Return None: every row keeps its weight."""
        return None

    def constant(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """Return the smallest y whose cumulative weight reaches tau of the total; exceeds it for the upper end."""
        return (upper_quantile if self.ties == "upper" else weighted_quantile)(y, self.tau, weights)

    def line_search(self, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return argmin over gamma >= 0 of sum w_i rho_tau(y_i - f_i - gamma g_i).

        The objective is convex and piecewise linear in gamma with kinks at r_i / g_i: the least is at the first kink
        where the slope is no longer negative; slopes below `FLAT` of the total are rounding and count as 0.
        """
        r = y - f
        # slope at gamma = 0+: a row with r = 0 is already negative if g moves the fit above it
        negative = (r < 0.0) | ((r == 0.0) & (g > 0.0))
        slope = -float(np.dot(weights * g, self.tau - negative))
        ahead = np.flatnonzero(r * g > 0.0)
        flat = -FLAT * float(np.dot(weights, np.abs(g)))
        if slope >= flat or not len(ahead):
            return LineStep(0.0)
        kinks = r[ahead] / g[ahead]
        order = np.argsort(kinks, kind="stable")
        slopes = slope + np.cumsum((weights[ahead] * np.abs(g[ahead]))[order])
        at = order[min(int(np.searchsorted(slopes, flat)), len(order) - 1)]
        return LineStep(float(kinks[at]), int(ahead[at]), FLAT * float(np.abs(r).max()))
