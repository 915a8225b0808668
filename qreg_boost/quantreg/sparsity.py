"""The sparsity of identically distributed errors, from the order statistics of the residuals around 0.

References
----------
Siddiqui, M. (1960). Distribution of quantiles in samples from a bivariate population. J. Res. Nat. Bur. Standards 64B.
Koenker, R. (1994). Confidence intervals for regression quantiles. In Asymptotic Statistics, eds. Mandl and Huskova.
Barrodale, I. and Roberts, F. (1973). An improved algorithm for discrete L1 linear approximation. SIAM J. Numer.
Anal. 10, 839-848.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Residuals closer than this part of the largest one in the window count as equal.
_GRID = 2.0**-40
# A marginal cost within this of 0 is 0: costs are sums of ratios of small whole numbers.
_COST = 1e-9


@dataclass(frozen=True)
class Line:
    """A least absolute deviations line through points in the plane.

    Attributes
    ----------
    intercept, slope : float
    rows : (2,) int array
        Points on the line that determine it.
    """

    intercept: float
    slope: float
    rows: np.ndarray


def sparsity(r: np.ndarray, p: int, h: float, zero: np.ndarray) -> float:
    """Return the estimated derivative of the quantile function of the errors, in units of `r`.

    Parameters
    ----------
    r : (n,) array
        Residuals.
    p : int
        Number of coefficients they come from.
    h : float
        Bandwidth in tau.
    zero : (n,) bool array
        Residuals that are 0 but for rounding; they are left out.

    Notes
    -----
    Of the residuals other than 0, the max(p + 1, ceil(n h)) + 1 nearest to 0 (fewer if there are no more) are put in
    order, and a median regression line of them on their ranks over n - p is drawn; its slope is the estimate. Such a
    line need not be unique: the one reached by the method of Barrodale and Roberts is taken, as in R.

    Examples
    --------
    >>> r = np.array([0.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    >>> round(sparsity(r, p=1, h=0.5, zero=r == 0), 6)
    6.666667
    """
    n = len(r)
    away = r[~zero]
    count = min(max(p + 1, math.ceil(n * h)) + 1, len(away))
    if count < 2 or n <= p:
        return math.nan
    # Equal sizes at the edge of the window: the negative residual is the nearer one, whatever the order of the rows.
    grid = float(np.max(np.abs(away))) * _GRID
    size = np.rint(np.abs(away) / grid)
    near = np.sort(away[np.lexsort((away, size))[:count]])
    grid = float(np.max(np.abs(near))) * _GRID
    ranks = int(zero.sum()) + 1.0 + np.arange(count)
    return median_line(ranks / (n - p), np.rint(near / grid) * grid).slope


def median_line(x: np.ndarray, y: np.ndarray) -> Line:
    """Return the least absolute deviations line that the method of Barrodale and Roberts ends at.

    Parameters
    ----------
    x, y : (m,) array
        Coordinates of at least two points, the x not all equal.

    Notes
    -----
    First the coefficients enter, the one with the larger marginal cost first; then points of the line are exchanged,
    the one with the largest marginal cost first. Each move goes on through points as long as the loss falls.

    Examples
    --------
    >>> line = median_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 9.0]))
    >>> line.intercept, line.slope
    (1.0, 4.0)
    """
    path = _Path(np.column_stack([np.ones(len(x)), x]), np.asarray(y, dtype=np.float64))
    path.enter()
    path.enter()
    exchanges = 0
    while path.exchange(steepest=exchanges < 10 * len(x)):
        exchanges += 1
    return Line(float(path.b[0]), float(path.b[1]), np.array(path.rows, dtype=np.intp))


class _Path:
    """Where the method is: the line, residuals, and the sign that each has, or last had before it became 0."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y = X, y
        self.b, self.r = np.zeros(2), y.copy()
        self.sign = np.where(y < 0, -1.0, 1.0)
        self.off = np.ones(len(y))  # 0 for the points that determine the line
        self.rows = [-1, -1]  # the point that took the place of each coefficient

    def enter(self) -> None:
        """Let the free coefficient with the larger marginal cost enter."""
        entering = [j for j in range(2) if self.rows[j] < 0]
        moves = [self._rise(j) for j in entering]
        costs = [self._cost(d) for d in moves]
        best = int(np.argmax(np.abs(costs)))
        d = moves[best] if costs[best] >= 0 else -moves[best]
        self._go(d, abs(costs[best]), entering[best])

    def exchange(self, steepest: bool) -> bool:
        """Exchange a point of the line for another one; return False if no exchange lessens the loss.

        Without `steepest` the first exchange that does is made: then ties cannot make the method go round in circles.
        """
        inverse = np.linalg.inv(self.X[self.rows])
        # The residual of one point rises or falls by 1 while that of the other stays at 0.
        moves = [(k, sign, -sign * inverse[:, k]) for k in range(2) for sign in (1.0, -1.0)]
        costs = np.array([self._cost(d) - 1.0 for _, _, d in moves])
        if not (costs > _COST).any():
            return False
        best = int(np.argmax(costs > (costs.max() - _COST if steepest else _COST)))
        k, sign, d = moves[best]
        self.sign[self.rows[k]] = sign
        self._go(d, float(costs[best]), k)
        return True

    def _rise(self, j: int) -> np.ndarray:
        """Return the direction (2,) in which coefficient j rises and points of the line stay on it."""
        d = np.zeros(2)
        d[j] = 1.0
        row = self.rows[1 - j]
        if row >= 0:
            d[1 - j] = -self.X[row, j] / self.X[row, 1 - j]
        return d

    def _cost(self, d: np.ndarray) -> float:
        """Return by how much the loss of the points off the line falls per unit of a move."""
        return float((self.sign * self.off) @ (self.X @ d))

    def _go(self, d: np.ndarray, cost: float, place: int) -> None:
        """Move as long as the loss falls; the point where it stops to fall takes the place."""
        move = (self.X @ d) * self.sign
        ahead = np.flatnonzero((move > 1e-10) & (self.off > 0))
        t = np.maximum(self.r[ahead] * self.sign[ahead], 0.0) / move[ahead]
        grid = max(float(t.max()), 1e-300) * _GRID
        order = np.argsort(np.rint(t / grid), kind="stable")
        left = cost - np.cumsum(2.0 * move[ahead[order]])
        end = min(int(np.sum(left > _COST)), len(order) - 1)
        self.sign[ahead[order[:end]]] *= -1.0
        self.off[[row for row in self.rows[place : place + 1] if row >= 0]] = 1.0
        self.rows[place] = int(ahead[order[end]])
        self.off[self.rows[place]] = 0.0
        self.b = self.b + t[order[end]] * d
        self.r = self.off * (self.y - self.X @ self.b)
