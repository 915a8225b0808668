"""HiGHS as referee: its solutions from its own marginals, checked from the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from qreg_boost.quantreg.highs import highs
from qreg_boost.quantreg.solution import Status, check_loss


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_solutions_that_bound_each_other(tau, weighted):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(150), rng.standard_normal((150, 3))])
    y = X.sum(axis=1) + rng.standard_cauchy(150)
    w = rng.integers(0, 4, 150).astype(float) if weighted else np.ones(150)
    fit = highs(X, y, tau, w if weighted else None)
    assert fit.status is Status.WITHIN_TOLERANCE and fit.basis.size == 0 and fit.iterations > 0
    d = w * (fit.a - (1 - tau))
    assert np.abs(X.T @ d).max() <= 1e-8 * np.abs(X).sum()
    assert fit.objective == pytest.approx(check_loss(y - X @ fit.coef, tau, w), rel=1e-12)
    # The dual value is a lower bound of the least loss.
    assert d @ y == pytest.approx(fit.objective, rel=1e-8)


def test_units_and_location():
    rng = np.random.default_rng(1)
    X, y = np.column_stack([np.ones(60), rng.standard_normal(60)]), rng.standard_normal(60)
    fit = highs(X, y, 0.3)
    other = highs(X * [1.0, 1e9], 1e-9 * (y + 50.0), 0.3)
    np.testing.assert_allclose(other.coef * [1e9, 1e18], fit.coef + np.array([50.0, 0.0]), rtol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_nothing_to_minimise(form):
    X = form(np.column_stack([np.ones(5), np.arange(5.0)]))
    fit = highs(X, np.array([1.0, 3.0, 5.0, 7.0, 9.0]), 0.3)
    assert fit.objective == fit.duality_gap == 0.0
    np.testing.assert_allclose(fit.coef, [1.0, 2.0], rtol=1e-12)
    none = highs(form(np.zeros((3, 2))), np.array([1.0, -2.0, 0.0]), 0.25)
    assert none.objective == 1.75 and none.dropped.tolist() == [0, 1]
