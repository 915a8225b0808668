"""Offsets: the interval of optimal ones beside a linear program, midpoints known by hand, equivariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from qreg_boost.kernel.kqr import best_offset, check_losses, dual_program, solve_kernel_quantile
from qreg_boost.kernel.offset import Interval, lowest, optimal_offsets
from qreg_boost.kernel.quadratic import Dense


def least_by_program(gradient: np.ndarray, signs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> list[float]:
    """Return least and largest optimal x of min sum_i max over u in the box of -(gradient + signs x) u, by HiGHS.

    Unknowns x and v_i >= -(g_i + s_i x) u at both ends of the box; the ends of x with the sum held at its least.
    """
    m = len(signs)
    rows = np.vstack([
        np.hstack((-(signs * end)[:, None], -np.eye(m))) for end in (lower, upper)
    ])  # fmt: skip
    right = np.concatenate((gradient * lower, gradient * upper))
    cost = np.concatenate(([0.0], np.ones(m)))
    free = [(None, None)] * (m + 1)
    least = linprog(cost, rows, right, bounds=free, method="highs").fun
    held, at = np.vstack((rows, cost)), np.append(right, least + 1e-9 * (1.0 + abs(least)))
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(np.eye(m + 1)[0] * sign, held, at, bounds=free, method="highs")
        ends.append(sign * np.inf * -1.0 if found.status == 3 else found.x[0])
    return ends


@pytest.mark.parametrize("seed", range(40))
def test_all_optimal_offsets_beside_a_linear_program(seed: int) -> None:
    """Whole boxes, so that slopes of 0 are common; boxes that hold 0 at one end, so that half-lines are."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    gradient = rng.normal(size=m) if seed % 2 else rng.integers(-3, 4, m).astype(float)
    signs = rng.choice([-1.0, 1.0], m)
    ends = -rng.integers(0, 3, m).astype(float), rng.integers(1, 3, m).astype(float)
    lower, upper = ends if rng.random() < 0.5 else (-ends[1], -ends[0])
    found = optimal_offsets(gradient, signs, lower, upper)
    least, most = least_by_program(gradient, signs, lower, upper)
    assert found.low == pytest.approx(least, abs=1e-6) and found.high == pytest.approx(most, abs=1e-6)


def test_equal_kinks_and_slopes_that_cancel() -> None:
    """0.2 four times less 0.8 is not 0 in floating point, and 0.1 ten times is not 1: both are slopes of 0."""
    assert lowest(np.array([0.0, 0.0, 0.0, 0.0, 3.0]), np.array([0.2, 0.2, 0.2, 0.2, 0.5]), -0.8) == Interval(0.0, 3.0)
    n = 100_000
    kinks = np.concatenate((np.zeros(n), np.full(n, 7.0)))
    assert lowest(kinks, np.full(2 * n, 0.1), -0.1 * n) == Interval(0.0, 7.0)
    light = np.array([1e-8, 1.0, 1.0])  # one row of 1e-8 decides
    assert lowest(np.array([1.0, 2.0, 3.0]), light, -1.0 - 1e-8).high == 3.0
    assert lowest(np.array([1.0, 2.0, 3.0]), light, -1.0) == Interval(2.0, 2.0)


def test_which_offset_is_taken() -> None:
    assert Interval(0.0, 4.0).settled(0.1, 1.0) == 2.0
    narrow = Interval(1.0, 1.0 + 1e-8)
    assert narrow.settled(1.0 - 1e-8, 1.0) == 1.0 - 1e-8  # averages rows on a margin
    assert narrow.settled(5.0, 1.0) == 1.0 + 1e-8  # a multiplier that is none
    assert narrow.settled(5.0, 1e8) == 5.0  # within the digits of gradients of that size
    assert Interval(0.0, np.inf).settled(9.0, 1.0) == 9.0
    assert Interval(0.0, np.inf).settled(-9.0, 1.0) == 0.0
    assert Interval(-np.inf, 0.0).middle == 0.0 and Interval(1.0, np.inf).middle == 1.0


# -- kernel quantile regression ----------------------------------------------------------------------------------------


def test_quantile_offset_by_hand() -> None:
    """C so small that h is 0 but for 1e-9: b is the middle of the two quartiles' neighbours, 2 and 5, at tau n = 2."""
    y = np.array([9.0, 1.0, 2.0, 5.0, 6.0, 7.0, 30.0, 8.0])
    found = solve_kernel_quantile(Dense(np.eye(8)), y, 0.25, 1e-9, np.ones(8))
    assert found.optimal and found.b == pytest.approx(3.5, abs=1e-8)


def test_two_far_blocks() -> None:
    """Two blocks of points, far apart, tau n whole: h moves each by C times its count, b the middle of what is left."""
    y = np.repeat([0.0, 100.0], 4)
    K = np.kron(np.eye(2), np.ones((4, 4)))
    C = 0.5
    found = solve_kernel_quantile(Dense(K), y, 0.5, C, np.ones(8))
    # each dual is at its end, C/2 with the sign of its side: h = -+ 4 C / 2, so y - h is 1 and 99
    np.testing.assert_allclose(found.a, np.repeat([-C / 2, C / 2], 4), atol=1e-8)
    assert found.b == pytest.approx(50.0, abs=1e-6)


@pytest.mark.parametrize("tau", [0.1, 0.25, 0.5, 0.8])
def test_quantile_offset_is_equivariant_and_the_least(tau: float) -> None:
    """Moved, stretched, turned upside down, in another order; whole weights as repetitions; no offset nearby better."""
    rng = np.random.default_rng(3)
    r, w = rng.normal(size=40), rng.integers(1, 4, 40).astype(float)
    b = best_offset(r, tau, w)
    order = rng.permutation(40)
    assert best_offset(r[order], tau, w[order]) == b
    assert best_offset(3.0 * r + 2.0, tau, w) == pytest.approx(3.0 * b + 2.0, abs=1e-12)
    assert best_offset(-r, 1.0 - tau, w) == pytest.approx(-b, abs=1e-12)
    assert best_offset(np.repeat(r, w.astype(int)), tau, np.ones(int(w.sum()))) == pytest.approx(b, abs=1e-12)
    loss = [w @ check_losses(r - one, tau) for one in (b, *np.linspace(-3.0, 3.0, 2001))]
    assert loss[0] <= min(loss) + 1e-12


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.75])
def test_quantile_offsets_are_those_of_the_dual(tau: float) -> None:
    rng = np.random.default_rng(8)
    y, X = rng.normal(size=20), rng.normal(size=(20, 2))
    form = Dense(np.exp(-((X[:, None] - X) ** 2).sum(axis=2)))
    for C in (0.01, 0.3, 10.0):
        found = solve_kernel_quantile(form, y, tau, C, np.ones(20))
        problem = dual_program(form, y, tau, C, np.ones(20))
        gradient = form.times(found.a) + problem.c[0]
        least, most = least_by_program(gradient, np.ones(20), problem.lower[0], problem.upper[0])
        assert found.b == pytest.approx(0.5 * (least + most), abs=1e-5)
