"""Wald tests: values by hand, invariance to units, levels and dropped columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.anova import FTest, equal_slopes, joint_covariance, wald
from qreg_boost.quantreg.covariance import nid
from qreg_boost.quantreg.interior_point import interior_point

TAUS = (0.25, 0.5, 0.75)


@pytest.fixture
def sample():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(90), rng.uniform(size=(90, 2))])
    return X, X @ [1.0, 2.0, -1.0] + (1 + X[:, 1]) * rng.normal(size=90), rng.uniform(0.2, 3.0, 90)


def slopes(X, y, w=None, taus=TAUS, **options):
    fits = [interior_point(X, y, tau, w) for tau in taus]
    return equal_slopes(X, y, taus, fits, w, **{"slopes": range(1, X.shape[1]), **options})


def test_one_coefficient_is_t_squared():
    found = wald(np.array([3.0, 4.0]), np.diag([4.0, 1.0]), [0], 30)
    assert found.statistic == pytest.approx(2.25)
    assert found.pvalue == pytest.approx(2 * stats.t.sf(1.5, 30), rel=1e-10)


def test_wald_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    b, V, D = rng.normal(size=4), A @ A.T, np.diag([1e-8, 1.0, 1e8, 1.0])
    plain, scaled = wald(b, V, [0, 2], 30), wald(D @ b, D @ V @ D, [0, 2], 30)
    assert scaled.statistic == pytest.approx(plain.statistic, rel=1e-10)
    assert plain.statistic == pytest.approx(b[[0, 2]] @ np.linalg.inv(V[np.ix_([0, 2], [0, 2])]) @ b[[0, 2]] / 2)


def test_blocks_of_one_level_are_its_covariance(sample):
    X, y, _ = sample
    parts = [nid(X, y, tau, interior_point(X, y, tau)) for tau in TAUS]
    V = joint_covariance(TAUS, parts)
    np.testing.assert_allclose(V, V.T, rtol=1e-9)
    for k in range(3):
        np.testing.assert_allclose(V[3 * k : 3 * k + 3, 3 * k : 3 * k + 3], parts[k].matrix, rtol=1e-9)
    assert np.linalg.eigvalsh(V / np.sqrt(np.outer(np.diag(V), np.diag(V)))).min() > 0


@pytest.mark.parametrize("se", ["nid", "ker"])
def test_invariance_of_equal_slopes(sample, se):
    X, y, w = sample
    plain = [test.statistic for joint in (True, False) for test in slopes(X, y, w, joint=joint, se=se)]
    assert len(plain) == 3
    order = np.random.default_rng(0).permutation(len(y))
    for other in (
        (X[order], y[order], w[order]),
        (X, 1000 * y, w),
        (X, y, 10 * w),
        (X * [1, 1e6, 1e-6], y + X @ [1, 2, 3], w),
    ):
        found = [test.statistic for joint in (True, False) for test in slopes(*other, joint=joint, se=se)]
        np.testing.assert_allclose(found, plain, rtol=1e-7)
    backwards = slopes(X, y, w, taus=TAUS[::-1], se=se)[0]
    assert backwards.statistic == pytest.approx(plain[0], rel=1e-8)


def test_degrees_of_freedom_and_dropped_columns(sample):
    X, y, _ = sample
    found = slopes(np.column_stack([X, X[:, 1]]), y)
    assert (found[0].df, found[0].df_resid) == (4, 3 * 90 - 4)
    assert found[0].statistic == pytest.approx(slopes(X, y)[0].statistic, rel=1e-8)
    assert [(test.df, test.df_resid) for test in slopes(X, y, joint=False)] == [(2, 268)] * 2


def test_what_cannot_be_computed_is_missing():
    test = wald(np.array([1.0]), np.array([[np.nan]]), [0], 10)
    assert np.isnan(test.statistic) and np.isnan(test.pvalue)
    assert np.isnan(FTest.of(1.0, 1, 0).pvalue)


def test_messages(sample):
    X, y, _ = sample
    with pytest.raises(InputError, match="at least one coefficient"):
        wald(np.array([1.0]), np.eye(1), [], 10)
    with pytest.raises(InputError, match="two or more different levels"):
        slopes(X, y, taus=(0.5,))
