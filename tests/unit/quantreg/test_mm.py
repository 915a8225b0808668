"""Majorisation and minimisation: within the tolerance it states, monotone, and honest when it is not done."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.base.checks import ConvergenceWarning
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.mm import mm
from qreg_boost.quantreg.solution import Status
from tests.unit.quantreg.test_interior_point import problem


def rows(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 3))])
    return X, X.sum(axis=1) + rng.standard_t(3, n)


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_within_the_tolerance_stated(tau, tol):
    X, y = rows()
    fit, least = mm(X, y, tau, tol=tol), interior_point(X, y, tau).objective
    assert fit.status is Status.WITHIN_TOLERANCE and fit.basis.size == 0 and not fit.unique
    assert fit.duality_gap <= tol
    # The gap bounds how far above the least loss the fit is.
    assert least * (1 - 1e-12) <= fit.objective <= least / (1 - fit.duality_gap)


EXTREME = [
    (0, "continuous", "cauchy", "none"),
    (0, "integer", "half zeros", "moderate"),
    (0, "dummies", "integer", "none"),
    (0, "heavy", "ties", "none"),
    (1, "continuous", "integer", "wild"),
    (1, "collinear", "half zeros", "moderate"),
]


@pytest.mark.parametrize(("seed", "design", "response", "weights"), EXTREME)
def test_extreme_levels_are_reached(seed, design, response, weights):
    # Steps of the length that the quadratic gives need more than 5000 here.
    case = problem(seed, design, response, weights)
    assert case.tau in (0.001, 0.999)
    fit = mm(case.X, case.y, case.tau, case.weights)
    assert fit.status is Status.WITHIN_TOLERANCE and fit.iterations < 1000
    least = interior_point(case.X, case.y, case.tau, case.weights).objective
    assert fit.objective == pytest.approx(least, rel=1e-6)


def test_the_gap_is_a_bound_however_early_it_ends():
    X, y = rows()
    least = interior_point(X, y, 0.3).objective
    losses = []
    for steps in (1, 3, 10, 30):
        with pytest.warns(ConvergenceWarning, match=r"Stopped .* Raise `max_iter`.* Gap reached"):
            fit = mm(X, y, 0.3, tol=0.0, max_iter=steps)
        assert fit.status is Status.STOPPED and fit.iterations == steps
        assert fit.objective <= least / max(1 - fit.duality_gap, 1e-9)
        losses.append(fit.objective)
    assert losses == sorted(losses, reverse=True)


def test_a_start_near_the_optimum_saves_steps():
    X, y = rows()
    best = interior_point(X, y, 0.3)
    fit = mm(X, y, 0.3, start=best.coef)
    assert fit.objective == pytest.approx(best.objective, rel=1e-6)
    np.testing.assert_allclose(fit.coef, best.coef, atol=1e-3)


def test_nothing_to_minimise():
    X, _ = rows()
    fit = mm(X, X @ [1.0, 2.0, 3.0, 4.0], 0.3)
    assert fit.objective == fit.duality_gap == 0.0 and fit.iterations == 0
    assert mm(np.zeros((2, 1)), np.array([1.0, -1.0]), 0.25).objective == 1.0
