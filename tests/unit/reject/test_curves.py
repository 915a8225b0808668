"""Risk against coverage: by hand, at the fitted threshold, and its ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreg_boost.api_reject import reject_classifier
from qreg_boost.base.checks import NotDefinedError
from qreg_boost.reject.curves import coverage
from qreg_boost.reject.prices import Prices
from tests.unit.reject.cases import overlapping

DATA = overlapping(100, 1)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 6), st.integers(1, 3)), min_size=1, max_size=30))
def test_each_row_of_the_table_by_hand(rows: list) -> None:
    y, side, far, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    prices = Prices(3.0, 1.0, 0.4, True)
    found = coverage(y, 2.0 * side - 1.0, far, 2.0, w, prices, "rows")
    assert found.table["coverage"].iloc[0] == 0.0 and found.table["coverage"].iloc[-1] == pytest.approx(1.0)
    for threshold, share, error, risk in found.table.to_numpy():
        taken = far > threshold
        wrong = side != y
        assert share == pytest.approx(w[taken].sum() / w.sum())
        if taken.any():
            assert error == pytest.approx((w * wrong)[taken].sum() / w[taken].sum())
        cost = np.where(taken, np.where(wrong, np.where(y == 1, 3.0, 1.0), 0.0), 0.4)
        assert risk == pytest.approx((w * cost).sum() / w.sum())
    taken = far > 2.0
    assert found.fitted["coverage"] == pytest.approx(w[taken].sum() / w.sum())


@pytest.mark.parametrize("options", [
    {"method": "double_ramp"}, {"method": "double_hinge"}, {"method": "chow"},
    {"method": "chow", "cost": {"fn": 4, "fp": 1, "reject": 0.3}}, {"kernel": "rbf"},
])  # fmt: skip
def test_the_fitted_row_is_what_evaluate_says(options: dict) -> None:
    fit = reject_classifier("y ~ a + b", DATA, **options)
    for found, figures in (
        (fit.risk_coverage(), fit.evaluate()),
        (fit.risk_coverage(DATA.iloc[:40]), fit.evaluate(DATA.iloc[:40])),
    ):
        assert found.fitted["coverage"] == pytest.approx(1.0 - figures["rejection_rate"])
        assert found.fitted["risk"] == pytest.approx(figures["risk"])
        assert found.fitted["error_accepted"] == pytest.approx(1.0 - figures["accuracy_accepted"])
        assert 0.0 <= found.aurc <= 1.0
        _, threshold = fit.certainty_at(DATA[["a", "b"]].to_numpy())
        assert found.fitted["threshold"] == threshold >= 0.0  # rho, and not the last row that it withholds


def test_a_perfect_order_has_the_least_area() -> None:
    y = np.array([1.0, 1.0, 0.0, 0.0])
    right, far = np.where(y > 0, 1.0, -1.0), np.array([4.0, 3.0, 2.0, 1.0])
    one = Prices(1.0, 1.0, 0.2)
    assert coverage(y, right, far, 0.0, np.ones(4), one, "rows").aurc == 0.0
    assert coverage(y, -right, far, 0.0, np.ones(4), one, "rows").aurc == 1.0


def test_thresholds_of_chows_rule_are_distances_from_one_half() -> None:
    fit = reject_classifier("y ~ a + b", DATA, method="chow", d=0.1)
    table = fit.risk_coverage().table
    far = np.sort((fit.probability() - 0.5).abs())[::-1]
    np.testing.assert_allclose(table["threshold"][:-1], far, atol=1e-12)
    assert fit.risk_coverage().fitted["threshold"] == pytest.approx(0.4)


def test_the_print_says_whose_rows_and_which_price() -> None:
    fit = reject_classifier("y ~ a + b", DATA)
    assert repr(fit.risk_coverage()).startswith("Risk against coverage, training rows, d = 0.2: 101 thresholds")
    assert "given rows" in repr(fit.risk_coverage(DATA[:30]))
    cost = reject_classifier("y ~ a + b", DATA, cost={"fn": 4, "fp": 1, "reject": 0.3})
    assert "cost: missed 4, false alarm 1, withheld 0.3" in repr(cost.risk_coverage())


def test_a_probability_at_the_threshold_is_withheld() -> None:
    """0.8 - 0.5 is more than 0.5 - 0.2 by a rounding."""
    y, p = np.array([1.0, 0.0, 1.0]), np.array([0.8, 0.1, 0.9])
    found = coverage(y, np.where(p > 0.5, 1.0, -1.0), np.abs(p - 0.5), 0.5 - 0.2, np.ones(3), Prices(1, 1, 0.2), "rows")
    assert found.fitted["coverage"] == pytest.approx(2.0 / 3.0)


def test_a_pair_has_no_threshold() -> None:
    with pytest.raises(NotDefinedError, match="no threshold to sweep"):
        reject_classifier("y ~ a + b", DATA, method="qbc_pair").risk_coverage()
