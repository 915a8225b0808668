"""The check loss, its start values and its exact line search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreg_boost.base.quantile import weighted_median, weighted_quantile
from qreg_boost.boosting.losses import CheckLoss

TAUS = (0.1, 0.25, 0.5, 0.9)


def test_risk_is_the_weighted_sum() -> None:
    risk = CheckLoss(0.25).risk(np.array([2.0, 0.0, 5.0]), np.array([0.0, 4.0, 5.0]), np.array([1.0, 2.0, 7.0]))
    assert risk == 1 * 0.25 * 2 + 2 * 0.75 * 4


def test_a_residual_of_zero_counts_as_positive() -> None:
    u = CheckLoss(0.25).negative_gradient(np.array([1.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0]))
    assert u.tolist() == [0.25, 0.25, -0.75]


@pytest.mark.parametrize("tau", TAUS)
def test_negative_gradient_is_the_slope_of_the_risk(tau: float) -> None:
    y, f, h = np.array([1.0, -2.0, 0.3]), np.array([0.5, 1.0, 0.0]), 1e-6
    loss = CheckLoss(tau)
    for i, u in enumerate(loss.negative_gradient(y, f)):
        step = np.eye(3)[i] * h
        slope = (loss.risk(y, f + step, np.ones(3)) - loss.risk(y, f - step, np.ones(3))) / (2 * h)
        assert u == pytest.approx(-slope, abs=1e-8)  # rounding of a difference over 1e-6


def test_quantile_on_a_boundary_takes_the_lower_value() -> None:
    y = np.array([4.0, 1.0, 3.0, 2.0])
    assert [weighted_quantile(y, tau) for tau in (0.24, 0.25, 0.26, 0.5, 0.75, 0.99)] == [1, 1, 2, 2, 3, 4]


def test_quantile_forgives_rounding_of_tau() -> None:
    """0.1 * 3 is 0.30000000000000004: the third of ten values reaches it all the same."""
    assert weighted_quantile(np.arange(1.0, 11.0), 0.1 * 3) == 3.0
    assert weighted_quantile(np.arange(1.0, 11.0), 0.1 * 3, np.full(10, 0.1)) == 3.0


def test_median_is_the_middle_of_two() -> None:
    y = np.array([1.0, 9.0, 2.0, 4.0])
    assert weighted_median(y) == 3.0
    assert weighted_median(y, np.array([1.0, 1.0, 1.0, 2.0])) == 4.0
    assert weighted_median(y, np.array([0.3, 0.1, 0.1, 0.1])) == 1.5  # 0.3 is half of the whole, but for rounding


counts = st.lists(st.integers(0, 4), min_size=1, max_size=12).filter(any)


@given(counts, st.sampled_from(TAUS), st.sampled_from([1.0, 0.1, 1e-7, 3e5]), st.integers(0, 99))
def test_starts_with_counts_as_weights_are_those_of_repeated_rows(
    counts: list[int], tau: float, scale: float, seed: int
) -> None:
    y = np.random.default_rng(seed).normal(size=len(counts))
    w = np.array(counts)
    repeated, used = np.repeat(y, w), w > 0
    assert weighted_quantile(y[used], tau, scale * w[used]) == weighted_quantile(repeated, tau)
    assert weighted_median(y[used], scale * w[used]) == pytest.approx(np.median(repeated), rel=1e-15)


@given(counts, st.sampled_from(TAUS), st.integers(0, 99))
def test_the_quantile_minimises_the_risk_of_constants(counts: list[int], tau: float, seed: int) -> None:
    y = np.random.default_rng(seed).normal(size=len(counts))
    w = np.array(counts) + 0.5
    loss = CheckLoss(tau)
    best = loss.risk(y, np.full(len(y), weighted_quantile(y, tau, w)), w)
    # a convex piecewise linear function has its least value at one of its kinks, the y
    assert best <= min(loss.risk(y, np.full(len(y), kink), w) for kink in y) * (1 + 1e-12)


def direction(n: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(size=n), rng.normal(size=n), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("seed", range(5))
def test_line_search_finds_the_least_of_all_kinks(tau: float, seed: int) -> None:
    y, f, g, w = direction(15, seed)
    loss = CheckLoss(tau)
    step = loss.line_search(y, f, g, w)
    kinks = np.concatenate(([0.0], ((y - f) / g)[(y - f) / g > 0]))
    risks = [loss.risk(y, f + kink * g, w) for kink in kinks]
    assert loss.risk(y, f + step.gamma * g, w) == pytest.approx(min(risks), rel=1e-12)
    if step.gamma > 0:
        assert y[step.row] - f[step.row] - step.gamma * g[step.row] == pytest.approx(0.0, abs=1e-12)
    else:
        assert step.row == -1


def test_line_search_stays_where_all_residuals_are_zero() -> None:
    """At tied y the fit stands in a kink of every row; moving along g gains on no row."""
    g = np.array([1.0, -1.0, 0.5])
    assert CheckLoss(0.5).line_search(np.ones(3), np.ones(3), g, np.ones(3)).gamma == 0.0


def test_line_search_takes_no_step_uphill() -> None:
    assert CheckLoss(0.5).line_search(np.array([1.0, 2.0]), np.zeros(2), -np.ones(2), np.ones(2)).gamma == 0.0


def test_line_search_stops_at_the_first_of_a_flat_stretch() -> None:
    """Two rows, tau 1/2, moving both up: between the residuals the risk is flat; the nearer one is taken."""
    step = CheckLoss(0.5).line_search(np.array([1.0, 3.0]), np.zeros(2), np.ones(2), np.ones(2))
    assert (step.gamma, step.row) == (1.0, 0)
