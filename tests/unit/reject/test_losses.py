"""Theorem 1 of Manwani et al. (2015), the convex parts of the double ramp, and the convex losses beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreg_boost.reject.losses import (
    GENERALIZED_HINGE_THRESHOLD,
    bounds_zero_d_one,
    double_hinge,
    double_hinge_threshold,
    double_ramp,
    entropy,
    generalized_hinge,
    hinge,
    ramp,
    ramp_concave,
    ramp_convex,
    slope_concave,
    slope_convex,
    zero_d_one,
)

T = np.linspace(-6.0, 6.0, 2401)
RHOS = (0.0, 0.3, 0.7, 1.0, 2.0)
PRICES = (0.05, 0.2, 0.35, 0.5)
MUS = (0.05, 0.3, 0.7, 1.0)
ROUNDING = 1e-12
margin = st.floats(-10.0, 10.0)
width = st.floats(0.01, 1.0)
price = st.floats(0.01, 0.5)
band = st.floats(0.0, 5.0)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("d", PRICES)
@pytest.mark.parametrize("mu", MUS)
def test_bounds_on_a_grid(rho: float, d: float, mu: float) -> None:
    """Theorem 1, (1) and (4): at least the 0-d-1 loss, at most 1 + mu."""
    loss = double_ramp(T, rho, d, mu)
    assert (loss >= zero_d_one(T, rho, d) - ROUNDING).all()
    assert (loss <= 1.0 + mu + ROUNDING).all()


@given(margin, band, price, width)
def test_bounds_anywhere(t: float, rho: float, d: float, mu: float) -> None:
    loss = double_ramp(np.array([t]), rho, d, mu)[0]
    assert zero_d_one(np.array([t]), rho, d)[0] - 1e-9 <= loss <= 1.0 + mu + 1e-9


@pytest.mark.parametrize("rho", [r for r in RHOS if r > 0.0])
@pytest.mark.parametrize("d", PRICES)
def test_tends_to_the_0_d_1_loss(rho: float, d: float) -> None:
    """Theorem 1, (2), at every margin but t = -rho, where the limit is 1 and the 0-d-1 loss is d."""
    away = np.abs(T + rho) > 1e-3  # the ramp about -rho must have passed: mu far below this
    gap = double_ramp(T, rho, d, 1e-7) - zero_d_one(T, rho, d)
    # 1 + mu tends to 1 and d (1 + mu) to d; at t = rho the loss is d exactly, and 1e-3 above it 0
    off = away & (np.abs(T - rho) > 1e-3)
    np.testing.assert_allclose(gap[off], 0.0, atol=2e-7)
    edges = np.array([rho, -rho])
    np.testing.assert_allclose(double_ramp(edges, rho, d, 1e-7), [d, 1.0], atol=2e-7)
    assert zero_d_one(edges, rho, d).tolist() == [d, d]


@given(st.floats(0.0, 1.0), band, price, width)
def test_constant_within_the_band(share: float, rho: float, d: float, mu: float) -> None:
    """Theorem 1, (3): d (1 + mu) from -rho + mu to rho - mu^2, which is an interval only if rho > (mu + mu^2) / 2."""
    low, high = -rho + mu, rho - mu**2
    assert (low < high) == (rho > (mu + mu**2) / 2.0) or abs(high - low) < 1e-9
    if low < high:
        t = low + share * (high - low)
        assert double_ramp(np.array([t]), rho, d, mu)[0] == pytest.approx(d * (1.0 + mu), abs=1e-9)


@given(margin, price, width)
def test_a_ramp_without_band(t: float, d: float, mu: float) -> None:
    """Theorem 1, (5)."""
    point = np.array([t])
    assert double_ramp(point, 0.0, d, mu)[0] == pytest.approx(ramp(point, mu)[0], abs=1e-12)
    definition = (max(mu - t, 0.0) - max(-(mu**2) - t, 0.0)) / mu
    assert ramp(point, mu)[0] == pytest.approx(definition, abs=1e-9)


@given(price, width)
def test_not_convex_by_a_witness(d: float, mu: float) -> None:
    """Theorem 1, (6): at t = -4 .. 0 the loss is 1 + mu, rises nowhere above it, and falls to 0: a chord lies below."""
    t, ends = np.array([-2.0]), np.array([-4.0, 2.0 * mu])
    middle_share = (t[0] - ends[0]) / (ends[1] - ends[0])
    low, high = double_ramp(ends, 0.0, d, mu)
    chord = (1.0 - middle_share) * low + middle_share * high
    assert double_ramp(t, 0.0, d, mu)[0] > chord + 0.1


def test_not_convex_in_the_band_either() -> None:
    points = np.array([(-6.0, 1.0), (3.0, 1.0)])
    middle = points.mean(axis=0)
    values = [double_ramp(np.array([t]), rho, 0.2, 0.5)[0] for t, rho in (*points, middle)]
    assert values[2] > 0.5 * (values[0] + values[1])


@given(margin, band, price, width)
def test_parts_add_up(t: float, rho: float, d: float, mu: float) -> None:
    point = np.array([t])
    difference = ramp_convex(point, rho, d, mu) - ramp_concave(point, rho, d, mu)
    # parts grow as (|t| + rho) / mu: their difference keeps digits relative to that
    assert difference[0] == pytest.approx(double_ramp(point, rho, d, mu)[0], abs=1e-12 * (abs(t) + rho + 1.0) / mu)


@settings(max_examples=300)
@given(margin, band, margin, band, price, width)
def test_subgradients_support_the_parts(t: float, rho: float, t2: float, rho2: float, d: float, mu: float) -> None:
    """A convex function lies above each of its tangents, everywhere."""
    one, two = np.array([t]), np.array([t2])
    for part, slope in ((ramp_convex, slope_convex), (ramp_concave, slope_concave)):
        here = slope(one, rho, d, mu)
        tangent = part(one, rho, d, mu) + here.t * (t2 - t) + here.rho * (rho2 - rho)
        assert part(two, rho2, d, mu)[0] >= tangent[0] - 1e-9 / mu


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("d", PRICES)
def test_subgradients_are_the_derivatives(mu: float, d: float) -> None:
    h, rho = 1e-6, 0.6421
    kinks = np.array([s + k for s in (rho, -rho) for k in (mu, -(mu**2))])
    t = T[np.abs(T[:, None] - kinks).min(axis=1) > 1e-4]
    for part, slope in ((ramp_convex, slope_convex), (ramp_concave, slope_concave)):
        by_t = (part(t + h, rho, d, mu) - part(t - h, rho, d, mu)) / (2.0 * h)
        by_rho = (part(t, rho + h, d, mu) - part(t, rho - h, d, mu)) / (2.0 * h)
        # central differences of linear pieces: rounding of values up to 12 / mu over 2e-6
        np.testing.assert_allclose(slope(t, rho, d, mu).t, by_t, atol=1e-8 / mu)
        np.testing.assert_allclose(slope(t, rho, d, mu).rho, by_rho, atol=1e-8 / mu)


@pytest.mark.parametrize("d", PRICES)
def test_convex_losses_as_the_papers_write_them(d: float) -> None:
    H = entropy(d)
    by_double = np.max([np.zeros_like(T), -(1.0 - d) * T + H, -d * T + H], axis=0)
    np.testing.assert_allclose(double_hinge(np.full(len(T), d)).value(T), by_double, atol=1e-12)
    by_general = np.where(T < 0.0, 1.0 - (1.0 - d) / d * T, np.where(T < 1.0, 1.0 - T, 0.0))
    np.testing.assert_allclose(generalized_hinge(np.full(len(T), d)).value(T), by_general, atol=1e-9)
    np.testing.assert_allclose(hinge(len(T)).value(T), np.maximum(1.0 - T, 0.0), atol=1e-15)


@pytest.mark.parametrize("d", np.round(np.arange(0.02, 0.5, 0.01), 2))
def test_when_convex_losses_bound_the_0_d_1_loss(d: float) -> None:
    t = np.concatenate((T, [-1e-9]))
    for make, rho in (
        (double_hinge, double_hinge_threshold(d)), (generalized_hinge, GENERALIZED_HINGE_THRESHOLD),
        (double_hinge, 0.3), (generalized_hinge, 0.3), (generalized_hinge, 0.9),
    ):  # fmt: skip
        points = np.concatenate((t, [-rho - 1e-9, rho]))
        below = (make(np.full(len(points), d)).value(points) < zero_d_one(points, rho, d) - 1e-8).any()
        assert bounds_zero_d_one(make(np.array([d])), rho, d) == (not below)
    H = float(entropy(d))
    inside = (1.0 - H) / (1.0 - d) < double_hinge_threshold(d) < (H - d) / d
    assert bounds_zero_d_one(double_hinge(np.array([d])), double_hinge_threshold(d), d) == inside
    if d < 1.0 / np.e:
        assert inside
    if d >= 0.44:  # the interval of thresholds is empty from d = 0.4395
        assert (1.0 - H) / (1.0 - d) >= (H - d) / d
