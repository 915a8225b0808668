"""Rank inversion: invariance, duality with the test itself, infinite bounds, ties; the rank score test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit

from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.process import quantile_process
from qreg_boost.quantreg.rank import rank_intervals
from qreg_boost.quantreg.rank_test import rank_test
from qreg_boost.quantreg.tilted import tilted


def bounds(X, y, tau, w=None, **options):
    return rank_intervals(X, y, tau, interior_point(X, y, tau, w), w, **options).bounds


def statistic(X, y, tau, j, b):
    """Return the rank score statistic for b_j = b, from the fit of y - b x_j on the other columns."""
    others = np.delete(X, j, axis=1)
    fit = interior_point(others, y - b * X[:, j], tau)
    left = X[:, j] - others @ np.linalg.lstsq(others, X[:, j], rcond=None)[0]
    return -float(left @ (fit.a - (1 - tau))) / np.sqrt(tau * (1 - tau) * (left @ left))


@pytest.fixture
def sample():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(57), rng.normal(size=(57, 2))])
    return X, X @ [1.0, 2.0, -1.0] + (1 + 0.5 * np.abs(X[:, 1])) * rng.normal(size=57), rng.uniform(0.2, 3.0, 57)


@pytest.fixture
def tied():
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1, 2], 8)
    X = np.column_stack([np.ones(24), group == 1, group == 2]).astype(float)
    return X, rng.integers(0, 9, 24).astype(float) + 2 * group, np.full(24, 1.0)


@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("tau", [0.25, 0.5, 0.8])
@pytest.mark.parametrize("data", ["sample", "tied"])
@pytest.mark.filterwarnings("ignore::qreg_boost.quantreg.covariance.DensityWarning")
def test_order_of_rows_units_and_scale_of_weights(request, data, tau, iid):
    X, y, w = request.getfixturevalue(data)
    plain = bounds(X, y, tau, w, iid=iid)
    order = np.random.default_rng(0).permutation(len(y))
    # 1e-7: the critical slope is reached at a knot, exact to rounding, but linprog's 1e-10 enters where rows are tied
    options = {"rtol": 1e-7, "atol": 1e-9}
    np.testing.assert_allclose(bounds(X[order], y[order], tau, w[order], iid=iid), plain, **options)
    np.testing.assert_allclose(bounds(X, 1000 * y, tau, w, iid=iid) / 1000, plain, **options)
    np.testing.assert_allclose(bounds(X, y, tau, 10 * w, iid=iid), plain, **options)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.73])
@pytest.mark.parametrize("alpha", [0.05, 0.32])
def test_outer_bounds_are_where_the_test_begins_to_reject(sample, tau, alpha):
    X, y, _ = sample
    found = rank_intervals(X, y, tau, interior_point(X, y, tau), alpha=alpha)
    assert found.critical == pytest.approx(stdtrit(54, 1 - alpha / 2), rel=1e-12)
    for j in range(3):
        for side, sign in ((0, -1), (1, 1)):
            at = found.outer[j, side]
            step = sign * 1e-6 * abs(at - found.inner[j, side])
            assert sign * statistic(X, y, tau, j, at - step) < found.critical
            assert sign * statistic(X, y, tau, j, at + step) > found.critical
            # no step of the statistic between the inner and the outer bound
            near = statistic(X, y, tau, j, found.inner[j, side] + step)
            assert near == pytest.approx(statistic(X, y, tau, j, at - step), abs=1e-9)
            low, high = sorted((found.inner[j, side], at))
            assert low <= found.bounds[j, side] <= high


def test_options(sample):
    X, y, _ = sample
    fit = interior_point(X, y, 0.5)
    steps = rank_intervals(X, y, 0.5, fit, interp=False)
    np.testing.assert_array_equal(steps.bounds, steps.outer)
    normal = rank_intervals(X, y, 0.5, fit, tcrit=False)
    assert normal.critical == pytest.approx(1.6448536, rel=1e-7)
    student = rank_intervals(X, y, 0.5, fit)
    assert (np.diff(normal.bounds, axis=1) <= np.diff(student.bounds, axis=1)).all()


def test_bounds_that_the_data_do_not_give_are_infinite():
    """At tau = .05 the statistic of an intercept cannot fall below -(n tau / (1 - tau))^(1/2) > -1.1 for n = 20."""
    y = np.random.default_rng(1).normal(size=20)
    found = bounds(np.ones((20, 1)), y, 0.05)
    assert found[0, 0] == -np.inf and np.isfinite(found[0, 1])


def test_dropped_columns_and_rows_of_weight_zero(sample):
    X, y, w = sample
    plain = bounds(X, y, 0.4, w)
    found = bounds(np.column_stack([X[:, :2], X[:, 0] - X[:, 1], X[:, 2]]), y, 0.4, w)
    assert np.isnan(found[2]).all()
    np.testing.assert_allclose(found[[0, 1, 3]], plain, rtol=1e-9)
    more = np.vstack([X, X[:3]]), np.append(y, [1e5] * 3), np.append(w, [0.0] * 3)
    np.testing.assert_allclose(bounds(more[0], more[1], 0.4, more[2]), plain, rtol=1e-9)


def test_median_of_one_sample_by_order_statistics():
    """The interval of a median without interpolation ends at order statistics, symmetric in rank."""
    y = np.arange(51.0)
    found = bounds(np.ones((51, 1)), y, 0.5, interp=False)[0]
    assert found[0] + found[1] == pytest.approx(50.0)
    assert found[0] == round(found[0])


@pytest.mark.parametrize(("option", "said"), [({"alpha": 5}, "write alpha=0.1"), ({"iid": 1}, "True or False")])
def test_messages(sample, option, said):
    X, y, _ = sample
    with pytest.raises(InputError, match=said):
        bounds(X, y, 0.5, **option)


def test_added_term_is_in_the_optimality_condition(sample):
    X, y, _ = sample
    gradient = np.array([1.0, -2.0, 0.5])
    fit = tilted(X, y, 0.3, gradient, interior_point)
    np.testing.assert_allclose(X.T @ (fit.a[:-1] - 0.7), -gradient, atol=1e-9)
    assert tilted(np.ones((4, 1)), np.arange(4.0), 0.5, np.array([9.0]), interior_point, lambda: False) is None


@pytest.mark.parametrize("score", ["tau", "sign", "wilcoxon", "normal"])
def test_rank_test_does_not_depend_on_units_or_null_coefficients(sample, score):
    X, y, w = sample
    plain = rank_test(X[:, :2], X[:, 2:], y, 0.4, w, score=score, process=quantile_process)
    order = np.random.default_rng(0).permutation(len(y))
    same = [
        rank_test(X[:, :2], X[:, 2:], 1000 * y, 0.4, w, score=score, process=quantile_process),
        rank_test(X[:, :2], X[:, 2:], y, 0.4, 10 * w, score=score, process=quantile_process),
        rank_test(X[order, :2], X[order, 2:], y[order], 0.4, w[order], score=score, process=quantile_process),
        rank_test(X[:, :2], 1e6 * X[:, 2:] + X[:, :1], y + X[:, 1], 0.4, w, score=score, process=quantile_process),
    ]
    for test in same:
        assert test.statistic == pytest.approx(plain.statistic, rel=1e-8)
        assert (test.df, test.df_resid) == (1, 54)


def test_wilcoxon_scores_of_a_sample_are_its_ranks():
    """With an intercept only, the regression rank scores average to (rank - 1/2) / n - 1/2."""
    rng = np.random.default_rng(2)
    y, x = rng.normal(size=30), rng.normal(size=30)
    scores = (np.argsort(np.argsort(y)) + 0.5) / 30 - 0.5
    left = x - x.mean()
    expected = 12 * (left @ scores) ** 2 / (left @ left)
    found = rank_test(np.ones((30, 1)), x[:, None], y, score="wilcoxon", process=quantile_process)
    assert found.statistic == pytest.approx(expected, rel=1e-9)


def test_nothing_added(sample):
    X, y, _ = sample
    with pytest.raises(InputError, match="none of those added"):
        rank_test(X, X[:, :1] + X[:, 1:2], y, score="tau")
    with pytest.raises(InputError, match="give `process`"):
        rank_test(X[:, :2], X[:, 2:], y)
