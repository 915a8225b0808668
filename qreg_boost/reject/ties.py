"""Rows at the end of a ramp, where the concave part has a kink: which of them a step takes as beyond it.

Any of the slopes at a kink will do for a difference-of-convex step, and rounding must not choose. Where nothing is told
apart (w = 0, rho = mu = 1) every row is at an end; with all of them beyond, or none, nothing would move, though R falls
along many directions. So the rows are taken as beyond that leave the ramp along one such direction, a steep one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qreg_boost.kernel.quadratic import Quadratic

ASCENTS = 4
"""Directions tried from each start."""
EQUAL = 1e-9
"""Falls that agree to this share are equal, and the first is taken."""
NEAR = 1e-7
"""Rows within this share of the largest |f| of an end are at it."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rates (n,) at which R falls as a row leaves its ramps, `gains`, on the right side, and rises on the wrong one."""

    y: np.ndarray
    gains: np.ndarray
    losses: np.ndarray
    band: bool

    @property
    def up(self) -> np.ndarray:
        """Fall of R for each unit (n,) of f above the upper end of the band."""
        return np.where(self.y > 0.0, self.gains, -self.losses)

    @property
    def down(self) -> np.ndarray:
        """Fall of R for each unit (n,) of f below the lower end of the band."""
        return np.where(self.y > 0.0, -self.losses, self.gains)


@dataclass(frozen=True, eq=False)
class Direction:
    """A direction f (n,), |w| = 1, with the ends of the band along which R falls fastest, and how fast it falls."""

    f: np.ndarray
    low: float
    high: float
    fall: float

    @classmethod
    def of(cls, f: np.ndarray, rows: Rows) -> Direction:
        """Return the best ends for f; infinite where predicting a class gains nothing."""
        high, up = steepest(f, rows.up) if rows.band else (0.0, float(rows.up @ np.maximum(f, 0.0)))
        low, down = steepest(-f, rows.down) if rows.band else (0.0, float(rows.down @ np.maximum(-f, 0.0)))
        return cls(f, -low, high, up + down)

    @property
    def near(self) -> float:
        """How far rounding puts f from an end."""
        return NEAR * float(np.abs(self.f).max())

    def gradient(self, rows: Rows) -> np.ndarray:
        """Return the coefficients a (n,) of the gradient of the fall with respect to w = sum a_i y_i phi(x_i)."""
        above, below = self.f > self.high + self.near, self.f < self.low - self.near
        return rows.y * (rows.up * above - rows.down * below)

    def beyond(self, rows: Rows) -> np.ndarray:
        """Return which rows (2, n) are on the lower side of the ramps about t = rho and t = -rho.

        One at an end of the band is withheld: beyond the first ramp, not beyond the second.
        """
        over, under = self.f - self.high, self.low - self.f
        event = rows.y > 0.0
        return np.stack((np.where(event, over, under) < self.near, np.where(event, -under, -over) < -self.near))


def leaving(Q: Quadratic, rows: Rows, a: np.ndarray) -> np.ndarray:
    """Return which rows (2, n) at the end of a ramp are beyond it.

    Parameters
    ----------
    Q : Quadratic
        With the elements y_i y_j k(x_i, x_j).
    rows : Rows
    a : (n,) array
        Coefficients of a first direction; the difference of the classes is tried besides, as w may be 0 there.
    """
    best = Direction(np.zeros_like(a), -np.inf, np.inf, 0.0)
    for first in (a, rows.gains + rows.losses):
        for found in ascent(Q, rows, first):
            if found.fall > best.fall * (1.0 + EQUAL):
                best = found
    return best.beyond(rows)


def ascent(Q: Quadratic, rows: Rows, a: np.ndarray) -> Iterator[Direction]:
    """Yield the direction of coefficients a (n,), and those of the gradients of what R falls by along each before."""
    for _ in range(ASCENTS):
        Qa = Q.times(a)
        norm2 = float(a @ Qa)
        if norm2 <= NEAR**2 * Q.size * float(np.abs(a).sum()) ** 2:  # w is 0 but for rounding
            return
        found = Direction.of(Qa * rows.y / np.sqrt(norm2), rows)
        yield found
        a = found.gradient(rows)


def steepest(f: np.ndarray, rates: np.ndarray) -> tuple[float, float]:
    """Return the x at which sum rates [f - x]_+ is largest, and that sum; of several x the largest.

    Infinite if the sum is nowhere above 0.

    >>> steepest(np.array([4.0, 2.0, 1.0]), np.array([0.25, 0.25, -1.0]))
    (1.0, 1.0)
    """
    order = np.argsort(f)
    rates, x = rates[order], f[order]
    above, moments = (np.cumsum(one[::-1])[::-1] for one in (rates, rates * x))
    value = moments - x * above
    most = float(value.max())
    if most <= EQUAL * float(np.abs(rates) @ np.abs(x)):
        return np.inf, 0.0
    at = int(np.flatnonzero(value >= most * (1.0 - EQUAL))[-1])
    return float(x[at]), float(value[at])
