"""Why R's rank bounds differ on tied rows, on the smallest sample that shows it; and that the verdict can be no."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.rank import rank_intervals
from qreg_boost.r.session import evaluate
from tests.r.rank_statistic import RankStatistic, verdict

pytestmark = [pytest.mark.r("quantreg")]

# Two cells; the median of the first is the intercept, and the statistic counts its nine rows below the value held:
# (count - 4.5) / 1.5.
X = np.column_stack([np.ones(16), np.repeat([0.0, 1.0], [9, 7])])
SECOND = [1.3, 4.1, 2.2, 7.7, 3.6, 5.5, 6.1]
STOPS = """suppressWarnings({
  found <- quantreg::rq.fit.br(X, y, tau = .5, ci = TRUE, interp = FALSE, alpha = .05, tcrit = FALSE)
  c(found$coefficients[1, 2:3], found$c.values[1, 1:2]) })"""


def stops(second_value: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the response, R's first rejected and last accepted intercept from below, and its statistic beyond each."""
    y = np.array([1.0, 2.0, second_value, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, *SECOND])
    r = np.asarray(evaluate(STOPS, X=X, y=y), dtype=float)
    return y, r[:2], r[2:]


def test_without_ties_both_are_the_counts() -> None:
    y, at, said = stops(2.5)
    np.testing.assert_allclose(at, [2.0, 2.5])
    np.testing.assert_allclose(said, [-(4.5 - 1) / 1.5, -(4.5 - 2) / 1.5])
    ours = rank_intervals(X, y, 0.5, interior_point(X, y, 0.5), alpha=0.05, tcrit=False)
    np.testing.assert_allclose([ours.outer[0, 0], ours.inner[0, 0]], at)


def test_r_counts_one_of_two_tied_rows() -> None:
    y, at, said = stops(2.0)
    np.testing.assert_allclose(at, [1.0, 2.0])
    np.testing.assert_allclose(said, [-(4.5 - 1) / 1.5, -(4.5 - 2) / 1.5])
    statistic = RankStatistic(X[:, 0], y, X[:, 1:], 0.5)
    # between 1 and 2 a single row lies below, below 1 none: R is one row behind, and 1.5 is rejected in truth
    assert statistic.size(1.5) == pytest.approx((4.5 - 1) / 1.5)
    assert statistic.size(0.5) == pytest.approx(4.5 / 1.5)
    ours = rank_intervals(X, y, 0.5, interior_point(X, y, 0.5), alpha=0.05, tcrit=False)
    inner, outer = float(ours.inner[0, 0]), float(ours.outer[0, 0])
    assert (inner, outer) == pytest.approx((3.0, 2.0))
    assert verdict(statistic, at, said, inner, outer, ours.critical) == "R's statistic"
    # bounds that are not where the test begins to reject are not excused, nor are R's where its statistic is right
    assert verdict(statistic, at, said, 2.0, 1.0, ours.critical) == "unexplained"
    assert verdict(statistic, np.array([0.0, 1.0]), np.array([-3.0, -3.0]), inner, outer, 1.96) == "unexplained"
