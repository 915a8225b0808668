"""Losses of two classes: gradients by differences, best constants, line searches, votes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from qreg_boost.base.tally import Tally
from qreg_boost.boosting.class_losses import (
    Binomial,
    Errors,
    Exponential,
    NewtonBinomial,
    SmoothedScore,
    Squared,
    Votes,
)

N = 40
RNG = np.random.default_rng(3)
Y = (RNG.random(N) < 0.4).astype(float)
F = RNG.normal(size=N)
W = RNG.integers(1, 4, N).astype(float)
ROW = np.ones(1)


def slope(loss, y: float, f: float) -> float:
    """Return the derivative of one row's loss by central differences: error about 1e-9 of the third derivative."""
    step = 1e-5 * getattr(loss, "h", 1.0)
    up, down = (loss.risk(np.array([y]), np.array([f + s * step]), ROW) for s in (1.0, -1.0))
    return (up - down) / (2.0 * step)


# loss, what its gradient is a multiple of (mboost's binomial is in bits, the sum of squares has twice its gradient)
SLOPES = [
    (SmoothedScore(0.25, 0.1), 1.0),
    (SmoothedScore(0.8, 0.7), 1.0),
    (Squared(), 0.5),
    (Binomial(), 1.0 / np.log(2.0)),
    (Exponential(), 1.0),
]


@pytest.mark.parametrize(("loss", "scale"), SLOPES, ids=lambda value: repr(value))
@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize("f", [-0.3, -0.05, 0.0, 0.02, 0.2, 1.1])
def test_the_negative_gradient_is_minus_the_derivative(loss, scale: float, y: float, f: float) -> None:
    found = loss.negative_gradient(np.array([y]), np.array([f]))[0]
    assert found == pytest.approx(-scale * slope(loss, y, f), rel=1e-6, abs=1e-7)


def test_the_newton_step_is_gradient_over_curvature() -> None:
    """In 2f, the log-odds: gradient y - p, curvature p (1 - p)."""
    loss = NewtonBinomial(None)
    p = 1.0 / (1.0 + np.exp(-2.0 * F))
    np.testing.assert_allclose(loss.curvature(Y, F), p * (1.0 - p), rtol=1e-13)
    np.testing.assert_allclose(loss.negative_gradient(Y, F), (Y - p) / (p * (1.0 - p)), rtol=1e-12)


def test_the_working_response_is_bounded() -> None:
    far = np.array([-5.0, 5.0, 400.0, -400.0])
    y = np.array([1.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(NewtonBinomial(4.0).negative_gradient(y, far), [4.0, -4.0, -4.0, 4.0])
    free = NewtonBinomial(None)
    assert np.isfinite(free.negative_gradient(y, far)).all()
    assert (free.curvature(y, far) > 0).all()


@pytest.mark.parametrize("loss", [Squared(), Binomial(), Exponential(), Votes()], ids=repr)
def test_the_constant_is_the_best(loss) -> None:
    best = minimize_scalar(lambda c: loss.risk(Y, np.full(N, c), W), bounds=(-3.0, 3.0), method="bounded")
    # a minimum is found to the root of rounding
    assert loss.constant(Y, W) == pytest.approx(best.x, abs=1e-4)
    assert loss.risk(Y, np.full(N, loss.constant(Y, W)), W) <= best.fun * (1.0 + 1e-12)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_best_constant_of_the_score_is_all_or_none(tau: float) -> None:
    loss = SmoothedScore(tau)
    best = loss.risk(Y, np.full(N, loss.constant(Y, W)), W)
    assert best == pytest.approx(min(tau * (W @ Y), (1.0 - tau) * (W @ (1.0 - Y))))
    assert all(best <= loss.risk(Y, np.full(N, c), W) for c in np.linspace(-1.0, 1.0, 41))


def test_the_smoothed_cost_tends_to_the_price_of_errors() -> None:
    tau = 0.7
    tally = Tally.of(Y, (F >= 0).astype(float), W)
    assert SmoothedScore(tau, 1e-6).risk(Y, F, W) == pytest.approx(tau * tally.missed + (1.0 - tau) * tally.flagged)
    assert Errors(tau, 1.0 - tau).risk(Y, F, W) == pytest.approx(tally.cost(tau, 1.0 - tau) * tally.total)


def test_the_smoothed_cost_is_the_events_less_the_score() -> None:
    from scipy.stats import norm

    tau, h = 0.3, 0.2
    score = float(W @ ((Y - (1.0 - tau)) * norm.cdf(F / h)))
    assert SmoothedScore(tau, h).risk(Y, F, W) == pytest.approx(tau * float(W @ Y) - score, rel=1e-12)


@pytest.mark.parametrize("loss", [Squared(), Binomial(), Exponential(), NewtonBinomial()], ids=repr)
def test_a_line_search_ends_where_the_loss_is_flat(loss) -> None:
    f = 0.05 * F
    g = loss.negative_gradient(Y, f) * RNG.random(N)
    gamma = loss.line_search(Y, f, g, W).gamma
    here = loss.risk(Y, f + gamma * g, W)
    assert gamma > 0.0
    assert here < loss.risk(Y, f, W)
    assert all(here <= loss.risk(Y, f + gamma * near * g, W) for near in (0.99, 0.999, 1.001, 1.01))


def test_a_line_search_of_the_score_ends_where_it_is_flat() -> None:
    """Two rows go up the score, one wanted there and one not: the slope is nil between no step and one of h."""
    loss = SmoothedScore(0.4, 0.1)
    y, f, g, ones = np.array([1.0, 0.0]), np.array([-0.05, -0.22]), np.array([0.5, 1.0]), np.ones(2)
    gamma = loss.line_search(y, f, g, ones).gamma
    assert 0.0 < gamma < 0.1
    assert float(g @ loss.negative_gradient(y, f + gamma * g)) == pytest.approx(0.0, abs=1e-10)


def test_a_line_search_of_the_score_moves_no_row_by_more_than_h() -> None:
    loss = SmoothedScore(0.4, 0.1)
    g = loss.negative_gradient(Y, np.zeros(N)) + 0.5
    gamma = loss.line_search(Y, np.zeros(N), g, W).gamma
    assert gamma * np.abs(g).max() == pytest.approx(0.1)
    trials = [loss.risk(Y, near * gamma * g, W) for near in (0.25, 0.5, 0.75, 1.0)]
    assert trials == sorted(trials, reverse=True)


def test_an_exponential_loss_is_cut_off_where_it_would_overflow() -> None:
    far = np.array([1e6])
    assert np.isfinite(Exponential().risk(np.zeros(1), far, ROW)) and np.isfinite(
        Exponential().negative_gradient(np.zeros(1), far)
    )


def test_a_line_search_uphill_does_not_move() -> None:
    g = -Binomial().negative_gradient(Y, F)
    assert Binomial().line_search(Y, F, g, W).gamma == 0.0
    assert Squared().line_search(Y, F, -(Y - F), W).gamma == 0.0
    assert Binomial().line_search(Y, F, np.zeros(N), W).gamma == 0.0


def test_weights_of_votes_are_in_proportion_and_never_nil() -> None:
    f = np.array([0.0, 2.0, -2.0, 4000.0])
    y = np.array([1.0, 1.0, 1.0, 1.0])
    weights = Votes().curvature(y, f)
    np.testing.assert_allclose(weights[:3] / weights[0], np.exp([0.0, -1.0, 1.0]))
    assert weights[3] > 0.0


def test_errors_of_two_classes() -> None:
    y = np.array([1.0, 1.0, 0.0, 0.0, 0.0, np.nan, 1.0])
    predicted = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, np.nan])
    tally = Tally.of(y, predicted, np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))
    assert (tally.missed, tally.flagged, tally.events, tally.others) == (2.0, 3.0, 3.0, 12.0)
    assert tally.error_rate == pytest.approx(5.0 / 15.0)
    assert (tally.fn_rate, tally.fp_rate) == (pytest.approx(2.0 / 3.0), pytest.approx(0.25))
    assert tally.cost(5.0, 1.0) == pytest.approx(13.0 / 15.0)
    assert not tally.one_sided
    assert Tally.of(y, np.zeros(7), np.ones(7)).one_sided and Tally.of(y, np.ones(7), np.ones(7)).one_sided
    assert np.isnan(Tally.of(np.zeros(2), np.zeros(2), np.ones(2)).fn_rate)
