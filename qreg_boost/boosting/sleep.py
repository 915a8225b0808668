"""Rows that sleep: those too far from the fit to change sign for a while are not looked at.

Since the anchor, the moment when all rows were last up to date, the fit of row i has moved by at most ``norm_i *
reach``, where norm_i is the length of (1, z_i), z the columns in units of their spread, and reach the length of the
coefficients' displacement since (Cauchy-Schwarz). Rows with |r_i| above norm_i times a band sleep until reach comes
near the band.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

SMALL = 512
"""Below this many rows none sleep: there is nothing to gain."""
WINDOW = 16
"""Iterations with all rows awake before rows may sleep, to see how fast the fit moves."""
CLOSE = 1.0 - 1e-6
"""Rows are woken when reach comes this near the band; covers the rounding of both."""
AWAKE_COST = 3.0
"""What moving one awake row costs, in units of one row of a pass over all."""


class Sleep(NamedTuple):
    """Who sleeps, and how far the coefficients moved since the anchor.

    `moved` (p + 1,) is their displacement, the level's last, over the `touched` columns; `norms` (n,) are computed once
    they may be of use; `now` holds the scalars numbered below.
    """

    norms: np.ndarray
    asleep: np.ndarray
    awake: np.ndarray
    moved: np.ndarray
    touched: np.ndarray
    is_touched: np.ndarray
    now: np.ndarray


# positions in `Sleep.now`: whether the norms are there, whether rows sleep, how many do not, their cost, the band; then
# iterations since the anchor, columns touched since, square of the reach and its largest value since
HAS_NORMS, SLEEPING, N_AWAKE, SHARE, BAND, SINCE, TOUCHES, REACH2, FARTHEST2 = range(9)


@njit(cache=True, nogil=True)
def all_awake(n, p):
    """Return the state before any row sleeps."""
    return Sleep(
        np.empty(n, np.float32), np.zeros(n, np.bool_), np.empty(n + 1, np.int64),
        np.zeros(p + 1), np.empty(p, np.int64),
        np.zeros(p, np.bool_), np.zeros(9),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _row_norms(X, centre, spread, norms):
    scale = np.where(spread > 0.0, 1.0 / np.where(spread > 0.0, spread, 1.0), 0.0)
    for i in range(X.shape[0]):
        square = 1.0
        for j in range(X.shape[1]):
            z = (X[i, j] - centre[j]) * scale[j]
            square += z * z
        norms[i] = np.sqrt(square) * (1.0 + 1e-6)  # single precision, rounded up


@njit(cache=True, nogil=True)
def note(sleep, spread, first, slopes, level):
    """Add a move to the displacement since the anchor."""
    now, moved, last = sleep.now, sleep.moved, len(sleep.moved) - 1
    before = moved[last]
    moved[last] += level
    change = moved[last] ** 2 - before**2
    for k in range(len(slopes)):
        j = first + k
        if not sleep.is_touched[j]:
            sleep.is_touched[j] = True
            sleep.touched[int(now[TOUCHES])] = j
            now[TOUCHES] += 1
        before = moved[j]
        moved[j] += slopes[k]
        change += (moved[j] ** 2 - before**2) * spread[j] ** 2
    now[REACH2] += change
    now[FARTHEST2] = max(now[FARTHEST2], now[REACH2])
    now[SINCE] += 1


@njit(cache=True, nogil=True)
def _waking_cost(now):
    # of bringing all rows up to date and choosing again who sleeps, in passes over all rows
    return 0.3 * now[TOUCHES] + 2.0


@njit(cache=True, nogil=True)
def is_over(now):
    """Return whether rows must wake, or a narrower band would pay."""
    if now[SLEEPING] == 0.0:
        return now[SINCE] >= WINDOW
    if now[REACH2] > (CLOSE * now[BAND]) ** 2:
        return True
    return now[SINCE] * now[SHARE] > 2.0 * _waking_cost(now) and now[FARTHEST2] < 0.1 * now[BAND] ** 2


@njit(cache=True, nogil=True)
def wake(f, columns, slots, centre, sleep):
    """Bring the sleeping rows up to date with the displacement since the anchor."""
    asleep, moved = sleep.asleep, sleep.moved
    for j in sleep.touched[: int(sleep.now[TOUCHES])]:
        shift, x, m = moved[j], columns[slots[j]], centre[j]
        for i in range(len(f)):
            f[i] += asleep[i] * (shift * (x[i] - m))
    for i in range(len(f)):
        f[i] += asleep[i] * moved[-1]


@njit(cache=True, nogil=True)
def _count_within(distance, y, f):
    near = 0
    for i in range(len(y)):
        near += abs(y[i] - f[i]) <= distance
    return near


@njit(cache=True, nogil=True)
def settle(y, rounding, f, X, centre, spread, sleep):
    """Set a new anchor, all rows being up to date, and send rows out of reach to sleep.

    The band is such that the awake rows cost per iteration what waking all costs per anchor, as far as the time since
    the last tells.
    """
    now, n = sleep.now, len(y)
    if now[SLEEPING] == 1.0 and now[REACH2] > (CLOSE * now[BAND]) ** 2:
        now[BAND] *= min(max(np.sqrt(_waking_cost(now) / (now[SINCE] * now[SHARE])), 0.5), 2.0)
    else:
        now[BAND] = 2.0 * np.sqrt(now[FARTHEST2])
    # the norms have mean square 1 + p: before they are computed, a look whether they will be of use
    usual = now[BAND] * np.sqrt(1.0 + X.shape[1])
    if now[HAS_NORMS] == 0.0 and AWAKE_COST * _count_within(usual, y, f) < 0.5 * n:
        now[HAS_NORMS] = 1.0
        _row_norms(X, centre, spread, sleep.norms)
    now[SLEEPING] = now[HAS_NORMS]
    if now[SLEEPING] == 1.0:
        count = 0
        for i in range(n):
            near = abs(y[i] + rounding - f[i]) <= now[BAND] * sleep.norms[i]
            sleep.asleep[i] = not near
            sleep.awake[count] = i
            count += near
        now[N_AWAKE] = count
        now[SHARE] = AWAKE_COST * (count + 1) / n
        now[SLEEPING] = 1.0 if now[SHARE] < 0.5 else 0.0
    for j in sleep.touched[: int(now[TOUCHES])]:
        sleep.moved[j] = 0.0
        sleep.is_touched[j] = False
    sleep.moved[-1] = 0.0
    now[SINCE:] = 0.0
