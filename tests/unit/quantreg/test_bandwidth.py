"""Bandwidths: their orders, their values in Koenker's tables by R, and the rule that keeps levels inside (0, 1)."""

from __future__ import annotations

import pytest

from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.bandwidth import bandwidth, bofinger, hall_sheather, inside

# (n, tau): Hall-Sheather, Bofinger; printed by quantreg 5.94's bandwidth.rq with 12 digits.
VALUES = {
    (20, 0.05): (0.078189380718, 0.0573311764292),
    (235, 0.5): (0.15743933142, 0.217348667977),
    (1000, 0.9): (0.0345994625474, 0.0471292739803),
}


@pytest.mark.parametrize("case", VALUES)
def test_values_of_r(case):
    n, tau = case
    assert bandwidth(tau, n) == pytest.approx(VALUES[case][0], rel=1e-11)
    assert bandwidth(tau, n, "bofinger") == pytest.approx(VALUES[case][1], rel=1e-11)


@pytest.mark.parametrize(("rule", "order"), [(hall_sheather, 1 / 3), (bofinger, 1 / 5)])
def test_orders_and_symmetry(rule, order):
    assert rule(0.3, 100) / rule(0.3, 100 * 2**15) == pytest.approx(2 ** (15 * order), rel=1e-12)
    assert rule(0.3, 100) == pytest.approx(rule(0.7, 100), rel=1e-12)


@pytest.mark.parametrize(("tau", "h"), [(0.05, 0.4), (0.95, 0.4), (0.5, 0.5), (0.25, 0.25), (0.001, 3.0)])
def test_halved_until_both_levels_are_inside(tau, h):
    kept = inside(tau, h)
    assert tau - kept > 0 and tau + kept < 1
    assert kept == h or tau - 2 * kept <= 0 or tau + 2 * kept >= 1


@pytest.mark.parametrize(
    ("rule", "alpha", "said"),
    [("hall", 0.05, "hall-sheather"), (-1.0, 0.05, "above 0"), ("bofinger", 5, "For 95 % intervals write 0.05")],
)
def test_messages(rule, alpha, said):
    with pytest.raises(InputError, match=said):
        bandwidth(0.5, 100, rule, alpha)
