"""The contract of every solver in the table, and several quantile levels at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.solution import Solution, check_loss
from qreg_boost.quantreg.solvers import SOLVERS, solve_several

# What a solver promises of its objective, relative to the least.
PROMISED = {"exact": 1e-10, "interior_point": 1e-10, "simplex": 1e-10, "mm": 1e-6, "highs": 1e-8}


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray | None]:
    """Return a problem of up to 150 rows, some with fewer rows than columns, ties, aliased columns or weights of 0."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 150)), int(rng.integers(1, 7))
    X = rng.standard_normal((n, p)) if seed % 2 else np.round(rng.standard_normal((n, p)))
    X[:, 0] = 1.0
    if seed % 5 == 0 and p > 1:
        X[:, -1] = 2.0 * X[:, 0]
    y = X.sum(axis=1) + rng.standard_t(3, n)
    y = np.round(y) if seed % 3 == 0 else y
    w = [None, rng.random(n) + 0.1, np.r_[1.0, rng.integers(0, 3, n - 1)].astype(float)][seed % 3]
    return X, y, float(rng.choice([0.1, 0.25, 0.5, 0.8])), w


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_contract(name, form):
    for seed in range(12):
        X, y, tau, w = problem(seed)
        fit, reference = SOLVERS[name](form(X), y, tau, w), interior_point(X, y, tau, w)
        assert isinstance(fit, Solution) and fit.status.optimal
        assert fit.coef.shape == (X.shape[1],) and fit.a.shape == y.shape
        assert fit.dropped.tolist() == reference.dropped.tolist()
        assert np.isnan(fit.coef).tolist() == np.isin(np.arange(X.shape[1]), fit.dropped).tolist()
        # 1e-13 of the loss of 0: where the least loss is 0, what is left is rounding.
        slack = 1e-13 * check_loss(y, tau, w)
        assert fit.objective == pytest.approx(reference.objective, rel=PROMISED[name], abs=slack)
        if reference.unique and reference.objective > slack and name != "mm":
            np.testing.assert_allclose(fit.coef, reference.coef, rtol=1e-6, atol=1e-8)
        assert ((fit.a >= 0) & (fit.a <= 1)).all()


@pytest.mark.parametrize("name", SOLVERS)
def test_scales(name):
    X, y, tau, _ = problem(1)
    scale = np.r_[1e-6, np.full(X.shape[1] - 1, 1e6)]
    fit, other = SOLVERS[name](X, y, tau), SOLVERS[name](X * scale, 1e9 * y, tau)
    assert other.objective / 1e9 == pytest.approx(fit.objective, rel=10 * PROMISED[name])


@pytest.mark.parametrize("name", SOLVERS)
def test_a_start_may_be_given(name):
    X, y, tau, w = problem(4)
    plain = SOLVERS[name](X, y, tau, w)
    started = SOLVERS[name](X, y, tau, w, start=plain.coef)
    assert started.objective == pytest.approx(plain.objective, rel=10 * PROMISED[name])


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(("tau", "y"), [(1.5, np.ones(2)), (0.5, np.ones(3)), (0.5, np.array([1.0, np.nan]))])
def test_bad_input(name, tau, y):
    for X in (np.ones((2, 1)), sparse.csr_array(np.ones((2, 1)))):
        with pytest.raises(InputError):
            SOLVERS[name](X, y, tau)


@pytest.mark.parametrize("name", SOLVERS)
def test_several_levels_are_those_of_single_fits(name):
    X, y, _, w = problem(7)
    taus = [0.5, 0.1, 0.9, 0.5]
    fits = solve_several(X, y, taus, w, name)
    for tau, fit in zip(taus, fits, strict=True):
        single = SOLVERS[name](X, y, tau, w)
        assert fit.objective == pytest.approx(single.objective, rel=10 * PROMISED[name])


def test_many_levels_of_many_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(3_000), rng.standard_normal((3_000, 2))])
    y = X.sum(axis=1) + (1 + np.abs(X[:, 1])) * rng.standard_t(3, 3_000)
    taus = np.arange(1, 20) / 20
    for tau, fit in zip(taus, solve_several(X, y, taus), strict=True):
        np.testing.assert_allclose(fit.coef, interior_point(X, y, tau).coef, rtol=1e-9, atol=1e-12)


def test_an_unknown_solver():
    with pytest.raises(InputError, match="method"):
        solve_several(np.ones((2, 1)), np.ones(2), [0.5], method="exakt")
