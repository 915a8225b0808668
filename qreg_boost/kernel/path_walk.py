"""A walk along lambda = 1 / C through kernel quantile regressions, from event to event.

::

    g = lambda y - K theta - theta0 = lambda (y - f),    w (tau - 1) <= theta <= w tau,    1'theta = 0

theta is at its upper end where g > 0 and at its lower end where g < 0. The other rows, with g = 0, are the elbow E.
As lambda falls by s, (K d + d0)[E] = -y[E] and 1'd = 0 keep them there, theta[E] + s d, until another row has g = 0 or
one of theta[E] is at an end.

Several events at one lambda (ties) are taken one by one, rows in their order: for a definite system that is Murty's
principal pivoting, which ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.kernel.elbow import Elbow, Newcomer
from qreg_boost.kernel.quadratic import Quadratic

_EPS = float(np.finfo(float).eps)
FALL = 0.9
"""A longer step, a share of lambda, is made in parts, rounding taken out in between: g and lambda are differences."""
STANDSTILL = 1e-13
"""A step by a smaller share of lambda is none."""
PATIENCE = 3
"""After this many steps per row without progress the rows that tie are moved apart."""
MOST_TIMES = 20
"""So often in all."""
APART = 1e-12
"""By how much, a share of lambda y."""
INEXACT = 1e-10
"""If the elbow does not stay on the fit up to this share of the largest response, its factor is computed anew."""
OFTEN = 24
"""Rounding errors are taken out after this many events."""
CORRECTIONS = 3
EXACT = 1e-12
"""Residuals below this share of the largest response are none."""


class StalledError(Exception):
    """The walk does not get on."""


@dataclass(frozen=True, eq=False)
class Motion:
    """How everything moves as lambda falls by 1.

    Attributes
    ----------
    rows : (k,) int array
        The elbow.
    d : (k,) array
        Change of its theta.
    fall : (n,) array
        How fast g falls: 0 in the elbow.
    noise : (n,) array
        Size of the rounding errors in `fall`.
    """

    rows: np.ndarray
    d: np.ndarray
    fall: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True, eq=False)
class Event:
    """What ends a step: the row that goes (above, below the fit: 1, -1), the row that comes, or neither.

    Attributes
    ----------
    size : float
        By how much lambda falls until then.
    row : int
        -1 if nothing happens before the end.
    side : int
        Where a row goes; 0 for one that comes.
    new : Newcomer or None
        The row that comes.
    """

    size: float
    row: int = -1
    side: int = 0
    new: Newcomer | None = None


class Walk:
    """Where a walk is.

    Parameters
    ----------
    form : Quadratic
        K, of order n.
    theta : (n,) array
        Sums to 0. Changed.
    side : (n,) int array
        1 above the fit, -1 below, 0 in the elbow. Changed.
    low, high : (n,) arrays
        The box of theta.
    row : int
        The first row of the elbow.

    Attributes
    ----------
    y : (n,) array
    free : (n,) bool array
        Rows that take part.
    lam : float
        Infinite before the first event.
    g : (n,) array
        Exactly 0 in the elbow.
    """

    def __init__(
        self, form: Quadratic, theta: np.ndarray, side: np.ndarray, low: np.ndarray, high: np.ndarray, row: int
    ) -> None:
        self.form, self.theta, self.side, self.low, self.high = form, theta, side, low, high
        self.y = np.zeros(len(theta))
        self.free = np.zeros(len(theta), dtype=bool)
        self.elbow = Elbow(form, row)
        self.lam = np.inf
        self.g = np.zeros(len(theta))
        self._came = theta.copy()
        self._size = np.sqrt(np.maximum(self.elbow.diagonal, 0.0))
        self._placed = np.inf
        self._events = 0
        self._still = 0
        self._times = 0
        self._shut = np.zeros(len(theta), dtype=bool)
        self._draw = np.random.default_rng(0)
        self._shift = np.zeros(len(theta))

    # -- from C = 0 to the first event

    def begin(self, y: np.ndarray, free: np.ndarray) -> float:
        """Go to the largest lambda at which a row meets the fit, and return it; 0 if none does.

        Parameters
        ----------
        y : (n,) array
            0 in the elbow. From lambda = infinity on, theta does not move before the first event.
        free : (n,) bool array
        """
        self.y, self.free = y, free
        z = self._heights(0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.where(free & (self.side != 0) & (y != 0.0), z / y, 0.0)
        self.lam = max(float(meets.max(initial=0.0)), 0.0)
        self._place()
        return self.lam

    def _heights(self, lam: float) -> np.ndarray:
        """Return K theta + theta0 (n,), theta0 such that g is 0 in the elbow."""
        rows = self.elbow.rows
        z = self.form.times(self.theta) + self.elbow.ridge * (self.theta - self._came)
        z -= self._shift
        return z + self._level(lam * self.y[rows] - z[rows])

    def _level(self, short: np.ndarray) -> float:
        """Return what `short` (k,) has in common: its value in the row of the elbow with the least rounding errors."""
        return float(short[np.argmin(self.elbow.diagonal[self.elbow.rows])])

    def _place(self) -> None:
        """Compute g anew; in the elbow it is 0 up to rounding."""
        self.g, self._placed = self.lam * self.y - self._heights(self.lam), self.lam
        self.g[self.elbow.rows] = 0.0

    # -- one event

    def step(self, end: float) -> Event:
        """Go to the next event, or to lambda = `end`, and return which it was; `turn` makes it happen.

        Raises
        ------
        StalledError
            If a great many steps in a row did not get on.
        ArithmeticError
            If K is not positive semidefinite.
        """
        motion = self._motion()
        event = self._next(motion, end)
        while event.size > FALL * self.lam and (1.0 - FALL) * self.lam > end > 0.0:
            self._go(motion, FALL * self.lam)
            self.refine()
            motion = self._motion()
            event = self._next(motion, end)
        self._still = self._still + 1 if event.size <= STANDSTILL * self.lam else 0
        if self._still == 0:
            self._shut[:] = False
        self._go(motion, event.size)
        if event.row < 0:
            self.lam = end
            self.refine()
        if self._still > PATIENCE * len(self.y):
            self._move_apart()
        return event

    def _go(self, motion: Motion, size: float) -> None:
        rows = motion.rows
        self.theta[rows] = np.clip(self.theta[rows] + size * motion.d, self.low[rows], self.high[rows])
        self.g -= size * motion.fall
        self.lam -= size

    def turn(self, event: Event) -> None:
        """Let a row come to the elbow, or go."""
        row = event.row
        self.side[row] = event.side
        self._shut[:] = False
        if event.new is None:
            self.theta[row] = self.high[row] if event.side > 0 else self.low[row]
            # a row that depends on the elbow's and goes as it has come was called by rounding: not again by these rows
            self._shut[row] = self._still > 0 and self.elbow.ridge[row] > 0.0
            self.elbow.remove(row)
        else:
            self.g[row], self._came[row] = 0.0, self.theta[row]
            self.elbow.add(event.new)
        self._events += 1
        if self._events % OFTEN == 0 or self.lam < 0.5 * self._placed:
            self.refine()

    def _motion(self) -> Motion:
        rows = np.array(self.elbow.rows)
        fall, d, d0 = self._fall(rows)
        if np.abs(fall[rows]).max() > INEXACT * np.abs(self.y).max():
            self.elbow.refactor()
            fall, d, d0 = self._fall(rows)
        fall[rows] = 0.0
        noise = 8.0 * _EPS * (np.abs(self.y) + self._size * (np.abs(d) @ self._size[rows]) + abs(d0))
        return Motion(rows, d, fall, noise)

    def _fall(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        d, d0 = self.elbow.solve(-self.y[rows], 0.0)
        fall = self.y + d @ self.elbow.kernel + d0
        fall[rows] += self.elbow.ridge[rows] * d
        return fall, d, d0

    def _next(self, motion: Motion, end: float) -> Event:
        """Return the next event: of several at once that of the first row."""
        rows, d = motion.rows, motion.d
        steps = np.full(len(self.y), np.inf)
        falls = self.side * motion.fall
        come = self.free & (falls > motion.noise) & ~self._shut
        steps[come] = np.maximum(self.side[come] * self.g[come], 0.0) / falls[come]
        if len(rows) > 1:  # a row alone does not move
            steps[rows] = self._room(d)
        while True:
            row = self._first(steps)
            size = float(steps[row])
            if size >= self.lam - end:
                return Event(self.lam - end)
            if self.side[row] == 0:
                return Event(size, row, 1 if d[rows == row][0] > 0.0 else -1)
            new = self.elbow.newcomer(row)
            if not new.dependent or abs(motion.fall[row]) > (1.0 + new.share) * motion.noise[row]:
                return Event(size, row, 0, new)
            # The elbow's rows determine this one, and keep it where it is: on the fit up to rounding.
            steps[row] = np.inf

    def _first(self, steps: np.ndarray) -> int:
        now = np.flatnonzero(steps <= 0.0)
        if not len(now):
            return int(np.argmin(steps))
        return int(now[0])

    def _move_apart(self) -> None:
        """Move g of the rows that tie away from 0, a little, to sizes that differ: a system of rows that depend cycles.

        Raises
        ------
        StalledError
            If that was done too often already.
        """
        self._times += 1
        if self._times > MOST_TIMES:
            raise StalledError
        self._still = 0
        least = APART * max(self.lam * float(np.abs(self.y).max()), float(np.abs(self._heights(self.lam)).max()))
        ties = self.free & (self.side != 0) & (self.side * self.g < least)
        self._shift[ties] += (self.side * least * (1.0 + self._draw.random(len(self.y))))[ties]
        self._place()

    @property
    def exact(self) -> bool:
        """Whether the fit goes through all rows: then the dual variables stay where they are."""
        nil = EXACT * self.lam * float(np.abs(self.y).max())
        for _ in range(2):
            largest = float(np.abs(self.g[self.free]).max())
            if largest > 1e3 * nil:
                return False
            if largest <= nil:
                return True
            self.refine()
        return False

    def refine(self) -> None:
        """Take out of theta and g the rounding errors of the steps so far, as far as theta stays within its box."""
        rows = self.elbow.rows
        if self._still == 0:  # rows that were moved apart and are by now stay so without help
            self._shift[(self.side == 0) | (self.side * self.g > 100.0 * np.abs(self._shift))] = 0.0
        off = self._off()
        for _ in range(CORRECTIONS):
            before, error = self.theta[rows], float(np.abs(off).max())
            d, _ = self.elbow.solve(off, -float(self.theta.sum()))
            share = min(1.0, float(self._room(d).min()))
            self.theta[rows] = before + share * d
            off = self._off()
            if np.abs(off).max() >= error:
                self.theta[rows] = before
                break
        self._place()

    def _room(self, d: np.ndarray) -> np.ndarray:
        """Return the steps (k,) along d (k,) after which theta of the elbow's rows is at an end of the box."""
        rows = self.elbow.rows
        room = np.where(d > 0.0, self.high[rows], self.low[rows]) - self.theta[rows]
        steps = np.full(len(d), np.inf)
        steps[d != 0.0] = np.maximum(room[d != 0.0] / d[d != 0.0], 0.0)
        return steps

    def _off(self) -> np.ndarray:
        """Return g of the elbow's rows, which should be 0, computed anew."""
        rows = self.elbow.rows
        z = self.theta @ self.elbow.kernel.T + self.elbow.ridge[rows] * (self.theta - self._came)[rows]
        g = self.lam * self.y[rows] - z + self._shift[rows]
        return g - self._level(g)
