"""The simplex method as the last resort of the interior point method, and weights that differ by many decades."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from qreg_boost.base.checks import ConvergenceWarning
from qreg_boost.quantreg import interior_point as newton
from qreg_boost.quantreg import simplex as module
from qreg_boost.quantreg.exact import exact
from qreg_boost.quantreg.interior_point import attempt, interior_point
from qreg_boost.quantreg.simplex import interior_point_or_simplex, simplex
from qreg_boost.quantreg.solution import Status, check_loss
from qreg_boost.quantreg.solvers import SOLVERS
from tests.unit.quantreg.test_interior_point import problem


def design(n: int = 80, p: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, p - 1))])
    return X, X.sum(axis=1) + rng.standard_normal(n)


@pytest.fixture
def stopping(monkeypatch):
    """The interior point method stops after two steps, and HiGHS is of no help."""
    monkeypatch.setattr(newton, "_HIGHS_MOST", 0)
    monkeypatch.setattr(module, "attempt", lambda *problem: attempt(*problem, max_iter=2))


@pytest.mark.parametrize("name", ["exact", "interior_point"])
def test_pivots_are_the_last_resort(name, stopping, recwarn):
    X, y = design()
    fit = SOLVERS[name](X, y, 0.3)
    assert fit.status is Status.OPTIMAL and fit.duality_gap <= 1e-10 and len(fit.basis) == 4
    assert fit.objective == pytest.approx(interior_point(X, y, 0.3).objective, rel=1e-12)
    assert not recwarn.list


def test_large_designs_are_left_to_the_interior_point_method(stopping, monkeypatch):
    monkeypatch.setattr(module, "_LAST_RESORT_MOST", 0)
    X, y = design()
    with pytest.warns(ConvergenceWarning, match=r"tau=0\.3: Stopped .* Gap reached: \d"):
        assert interior_point_or_simplex(X, y, 0.3).status is Status.STOPPED


def test_a_vertex_that_the_interior_point_method_certifies_stands():
    X, y = design()
    one, other = interior_point_or_simplex(X, y, 0.3), interior_point(X, y, 0.3)
    np.testing.assert_array_equal(one.coef, other.coef)
    assert one.iterations == other.iterations


@pytest.mark.parametrize("decades", [8, 16, 30])
@pytest.mark.parametrize("response", ["normal", "integer", "half zeros"])
def test_weights_that_span_many_decades(decades, response):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for seed in range(40):
            X, y = design(30 + seed, 1 + seed % 5, seed)
            y = {"normal": y, "integer": np.round(y), "half zeros": np.maximum(y, 0.0)}[response]
            w = 10.0 ** np.random.default_rng(seed).uniform(-decades / 2, decades / 2, len(y))
            fits = [solver(X, y, 0.25, w) for solver in (exact, interior_point_or_simplex, simplex)]
            for fit in fits:
                assert fit.status.optimal and 0.0 <= fit.duality_gap <= 1e-10
                assert fit.objective == pytest.approx(check_loss(y - X @ fit.coef, 0.25, w), rel=1e-6)
            # Rounding of the heavy rows' residuals may be more than the light rows' share of the loss.
            rounding = 1e-15 * float(w @ (np.abs(y) + np.abs(X) @ np.abs(fits[0].coef)))
            assert fits[0].objective == pytest.approx(fits[2].objective, rel=1e-10, abs=rounding)


def test_where_newton_steps_lose_the_light_rows_pivots_do_not():
    case = problem(4657, "integer", "integer", "wild")
    weights = case.weights**4  # 1e25 between the heaviest and the lightest row
    with pytest.warns(ConvergenceWarning):
        stopped = interior_point(case.X, case.y, case.tau, weights)
    assert stopped.status is Status.STOPPED
    fit = SOLVERS["interior_point"](case.X, case.y, case.tau, weights)
    assert fit.status.optimal and fit.duality_gap <= 1e-10 < stopped.duality_gap
    assert fit.objective <= stopped.objective * (1 + 1e-9)  # the digits that such weights leave


@pytest.mark.parametrize("kind", ["continuous", "integer", "dummies", "collinear", "heavy"])
def test_one_row_that_dominates(kind):
    for seed in range(3):
        case = problem(seed, kind, "normal", "moderate")
        row = seed % len(case.y)
        for heavy in 10.0 ** np.arange(8, 17):
            w = np.where(np.arange(len(case.y)) == row, heavy, case.weights)
            for name, solver in SOLVERS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    fit = solver(case.X, case.y, case.tau, w)
                assert fit.duality_gap >= -1e-15, name
                assert np.isfinite(fit.objective) and fit.objective >= 0.0
                if name in ("exact", "interior_point", "simplex"):
                    assert fit.status.optimal and fit.duality_gap <= 1e-10, (name, heavy)
