"""The bootstrap: the same numbers for any number of workers, equivariance, and the spread it should have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import ndtri

from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.quantreg import bootstrap as module
from qreg_boost.quantreg.bootstrap import METHODS, bootstrap
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.rows import Rows


def boot(X, y, tau, method, w=None, reps=30, **options):
    groups = {"groups": np.arange(len(y)) // 3} if method == "cluster" else {}
    settings = {"rng": 7, "progress": False, **groups, **options}
    return bootstrap(X, y, tau, interior_point(X, y, tau, w), w, method=method, reps=reps, **settings)


@pytest.fixture
def sample():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(90), rng.normal(size=90)])
    return X, X @ [1.0, 2.0] + rng.normal(size=90), rng.uniform(0.5, 2.0, 90)


@pytest.mark.parametrize("method", METHODS)
def test_workers_and_seeds(sample, method):
    X, y, _ = sample
    one = boot(X, y, 0.3, method)
    np.testing.assert_array_equal(boot(X, y, 0.3, method, n_jobs=2).B, one.B)
    np.testing.assert_array_equal(boot(X, y, 0.3, method, rng=np.random.default_rng(7)).B, one.B)
    assert (boot(X, y, 0.3, method, rng=8).B != one.B).any()
    np.testing.assert_allclose(one.matrix, np.cov(one.B.T), rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_units_and_scale_of_weights(sample, method):
    X, y, w = sample
    plain = boot(X, y, 0.3, method, w).B
    np.testing.assert_allclose(boot(X, 1000 * y, 0.3, method, w).B, 1000 * plain, rtol=1e-7)
    np.testing.assert_allclose(boot(X, y, 0.3, method, 10 * w).B, plain, rtol=1e-7)
    np.testing.assert_allclose(boot(X, y + X @ [5, 6], 0.3, method, w).B, plain + np.array([5, 6]), rtol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_spread_for_normal_errors(method):
    """Standard errors on 400 rows are those of the normal density: (tau (1 - tau) / n)^(1/2) / f.

    The responses of each of two cells are the normal quantiles themselves, so that the sample says what the density is.
    Of 400 replicates the standard error has a Monte-Carlo error of 3.5 %; 12 % is 3.4 times that.
    """
    cell = ndtri((np.arange(200) + 0.5) / 200)
    X = np.column_stack([np.ones(400), np.repeat([-1.0, 1.0], 200)])
    groups = {"groups": np.random.default_rng(5).permutation(400) // 2} if method == "cluster" else {}
    found = boot(X, np.tile(cell, 2), 0.25, method, reps=400, **groups)
    density = np.exp(-(ndtri(0.25) ** 2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(0.25 * 0.75 / 400) / density, rtol=0.12)


def test_cells_whose_rows_all_fall_on_one_side():
    """Among four rows none lies below the drawn quantile in 32 % of replicates: it is then the least one."""
    y = np.array([1.0, 2.0, 3.0, 4.0])
    found = boot(np.ones((4, 1)), y, 0.25, "pwy", reps=200)
    assert found.failed == 0 and np.isin(found.B.round(9), y).all()


def test_leverages():
    rng = np.random.default_rng(6)
    X = np.column_stack([np.ones(40), np.append(rng.normal(size=39), 30.0)])
    y = rng.normal(size=40)
    fit = interior_point(X, y, 0.5)
    rows = Rows.of(X, y, fit)
    hat = X @ np.linalg.solve(X.T @ X, X.T)
    np.testing.assert_allclose(module._leverages(rows), np.diag(hat), rtol=1e-10)
    np.testing.assert_allclose(module._leverages(Rows.of(csr_matrix(X), y, fit)), np.diag(hat), rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_dropped_columns(sample, method):
    X, y, _ = sample
    found = boot(np.column_stack([X, X[:, 0]]), y, 0.5, method)
    assert np.isnan(found.B[:, 2]).all() and np.isfinite(found.standard_errors[:2]).all() and found.failed == 0


def test_replicates_that_fail_are_counted(sample):
    X, y, _ = sample

    def solver(X, y, tau, weights=None):
        fit = interior_point(X, y, tau, weights)
        return replace(fit, coef=np.full_like(fit.coef, np.nan))

    fit = interior_point(X, y, 0.5)
    with pytest.warns(ConvergenceWarning, match="4 of 4 bootstrap replicates could not be computed"):
        found = bootstrap(X, y, 0.5, fit, method="wild", reps=4, rng=1, progress=False, solver=solver)
    assert found.failed == 4 and np.isnan(found.matrix).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "pairs"}, "'xy', 'wxy'"),
        ({"reps": 1}, "at least 2"),
        ({"groups": np.arange(90)}, "only with it"),
        ({"method": "cluster"}, "got none"),
    ],
)
def test_messages(sample, options, said):
    X, y, _ = sample
    with pytest.raises(InputError, match=said):
        bootstrap(X, y, 0.5, interior_point(X, y, 0.5), **options)
