"""Rows at the end of a ramp: the ends of the band along a direction, and the rows beyond along a steep one."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.kernel.quadratic import LowRank
from qreg_boost.reject.ties import Direction, Rows, leaving, steepest


@pytest.mark.parametrize("seed", range(20))
def test_the_steepest_end_by_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = np.round(rng.normal(size=15), 1)
    rates = rng.choice([0.2, 0.4], 15) - rng.choice([0.0, 0.8], 15)

    def fall(x: float) -> float:
        return float(rates @ np.maximum(f - x, 0.0))

    values = np.array([fall(x) for x in f])  # piecewise linear: largest at a kink, or nowhere above 0
    x, most = steepest(f, rates)
    assert most == pytest.approx(max(values.max(), 0.0), abs=1e-12)
    if np.isfinite(x):
        assert x == f[values >= values.max() - 1e-12].max()
    order = rng.permutation(15)
    assert steepest(f[order], rates[order])[0] == x


@pytest.mark.parametrize("band", [True, False])
def test_the_fall_along_a_direction_is_that_of_the_ramps(band: bool) -> None:
    """From w = 0, rho = mu = 1, a little along it: R, of the ramps alone, falls by what the direction says."""
    from qreg_boost.reject.losses import double_ramp

    rng = np.random.default_rng(2)
    y = rng.choice([-1.0, 1.0], 60)
    f = y + 1.5 * rng.normal(size=60)
    d = 0.2 if band else 0.5
    found = Direction.of(f, Rows(y, np.full(60, d), np.full(60, 1.0 - d), band))
    b, r = -0.5 * (found.high + found.low), 0.5 * (found.high - found.low)
    step = 1e-3
    if band:
        fall = (double_ramp(np.zeros(60), 1.0, d) - double_ramp(step * y * (f + b), 1.0 + step * r, d)).sum()
        assert r > 0.0 and fall == pytest.approx(step * found.fall, rel=1e-9)
    else:
        assert b == r == 0.0


def test_what_a_step_takes_as_beyond() -> None:
    """One column, d = 0.1: wrong rows near 0 are withheld, right ones beyond them leave, and the reverse with -x."""
    x = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    y = np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    rows = Rows(y, np.full(6, 0.1), np.full(6, 0.9), True)
    for sign, first in ((1.0, np.ones(6)), (-1.0, np.ones(6)), (1.0, np.zeros(6))):
        Q = LowRank((sign * y * x)[:, None])
        upper, lower = leaving(Q, rows, first)
        assert upper.tolist() == [False, False, True, True, False, False] and not lower.any()


def test_nothing_falls_where_nothing_is_told() -> None:
    """Each row stands with both labels: no direction gains, so all are withheld."""
    x = np.repeat([-2.0, -1.0, 1.0, 2.0], 2)
    y = np.tile([1.0, -1.0], 4)
    upper, lower = leaving(LowRank((y * x)[:, None]), Rows(y, np.full(8, 0.2), np.full(8, 0.8), True), y * x)
    assert upper.all() and not lower.any()
