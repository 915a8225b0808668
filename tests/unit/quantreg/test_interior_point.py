"""The interior point method against HiGHS, against its own certificate, and under changes of units."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.quantreg import interior_point as module
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.solution import Solution, Status, check_loss

TAUS = (0.001, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.999)
DESIGNS = ("continuous", "integer", "dummies", "collinear", "heavy")
RESPONSES = ("normal", "integer", "ties", "cauchy", "half zeros", "outlier")
WEIGHTS = ("none", "counts", "moderate", "wild")
KINDS = list(itertools.product(DESIGNS, RESPONSES, WEIGHTS))


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    y: np.ndarray
    tau: float
    weights: np.ndarray | None

    def solve(self, **options) -> Solution:
        return interior_point(self.X, self.y, self.tau, self.weights, **options)


def problem(seed: int, design: str = "continuous", response: str = "normal", weights: str = "none") -> Problem:
    """Return one problem of up to 120 rows and 8 columns; some have fewer rows than columns."""
    rng = np.random.default_rng([seed, *map(ord, design[:2] + response[:2] + weights[:2])])
    n, p = int(rng.integers(1, 120)), int(rng.integers(1, 9))
    X = {
        "continuous": lambda: rng.standard_normal((n, p)),
        "integer": lambda: np.round(1.5 * rng.standard_normal((n, p))),
        "dummies": lambda: (rng.standard_normal((n, p)) > 0.3).astype(float),
        "collinear": lambda: rng.standard_normal((n, p)) @ np.triu(rng.integers(-1, 2, (p, p)).astype(float)),
        "heavy": lambda: rng.standard_t(1, (n, p)),
    }[design]()
    if rng.random() < 0.7:
        X[:, 0] = 1.0
    line, noise = X @ rng.standard_normal(p), rng.standard_normal(n)
    y = {
        "normal": lambda: line + noise,
        "integer": lambda: np.round(line + 2 * noise),
        "ties": lambda: rng.integers(0, 3, n).astype(float),
        "cauchy": lambda: line + rng.standard_t(1, n),
        "half zeros": lambda: np.maximum(line + noise, 0.0),
        "outlier": lambda: line + noise + 1e6 * (np.arange(n) == 0),
    }[response]()
    w = {
        "none": lambda: None,
        "counts": lambda: np.r_[1.0, rng.integers(0, 4, n - 1)],
        "moderate": lambda: rng.random(n) + 0.1,
        "wild": lambda: np.exp(4 * rng.standard_normal(n)),
    }[weights]()
    return Problem(X, y, float(rng.choice(TAUS)), w)


def plain(tau: float = 0.3) -> Problem:
    """Return a problem with one optimum: 80 rows, 4 columns, unequal weights."""
    rng = np.random.default_rng(12)
    X = np.column_stack([np.ones(80), rng.standard_normal((80, 3))])
    return Problem(X, X @ [1.0, 2.0, 0.0, -1.0] + rng.standard_normal(80), tau, rng.random(80) + 0.1)


def least_loss(case: Problem) -> float:
    """Return the least check loss by HiGHS on the primal problem, evaluated at its coefficients."""
    n, p = case.X.shape
    w = np.ones(n) if case.weights is None else case.weights
    columns = np.abs(case.X).max(axis=0)
    columns[columns == 0] = 1.0
    size = np.abs(case.y).max() or 1.0
    A = sparse.hstack([sparse.csr_matrix(case.X / columns), sparse.eye(n), -sparse.eye(n)])
    costs = np.r_[np.zeros(p), case.tau * w, (1 - case.tau) * w] / w.max()
    bounds = [(None, None)] * p + [(0, None)] * (2 * n)
    tight = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    found = linprog(costs, A_eq=A, b_eq=case.y / size, bounds=bounds, method="highs-ds", options=tight)
    return check_loss(case.y - case.X @ (found.x[:p] / columns * size), case.tau, w)


def assert_certified(case: Problem, fit: Solution) -> None:
    """Check optimality from the definition: dual feasible, and complementary to the residuals."""
    w = np.ones(len(case.y)) if case.weights is None else case.weights
    kept = np.setdiff1d(np.arange(case.X.shape[1]), fit.dropped)
    assert np.isnan(fit.coef[fit.dropped]).all() and np.isfinite(fit.coef[kept]).all()
    r = case.y - case.X[:, kept] @ fit.coef[kept]
    assert ((fit.a >= 0) & (fit.a <= 1)).all()
    d = w * (fit.a - (1 - case.tau))
    terms = np.abs(case.X[:, kept]) * np.abs(w)[:, None]
    # Both sums are of n rounded terms; 1e-10 of their size leaves room for the clipping to [0, 1].
    assert (np.abs(case.X[:, kept].T @ d) <= 1e-10 * terms.sum(axis=0)).all()
    scale = np.abs(case.y) + np.abs(case.X[:, kept]) @ np.abs(fit.coef[kept])
    loose = np.where(r > 0, 1 - fit.a, fit.a) * (w > 0) * np.abs(r)
    assert (loose <= 1e-12 * scale.max()).all()


@pytest.mark.parametrize(("design", "response", "weights"), KINDS)
def test_the_loss_is_that_of_highs(design, response, weights):
    for seed in range(3):
        case = problem(seed, design, response, weights)
        fit = case.solve()
        assert fit.status is Status.OPTIMAL
        # 1e-9 relative; and 1e-13 of the loss of 0, for where the least loss is 0 and HiGHS gives rounding error.
        slack = 1e-13 * check_loss(case.y, case.tau, case.weights)
        assert fit.objective == pytest.approx(least_loss(case), rel=1e-9, abs=slack)
        assert fit.duality_gap <= 1e-10
        assert_certified(case, fit)


@pytest.mark.parametrize("column_unit", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_units_change_nothing(unit, column_unit):
    case = plain()
    scale = np.r_[column_unit, np.ones(case.X.shape[1] - 1)]
    fit, other = case.solve(), replace(case, X=case.X * scale, y=case.y * unit).solve()
    assert other.status is Status.OPTIMAL
    np.testing.assert_allclose(other.coef * scale / unit, fit.coef, rtol=1e-9)
    assert other.objective / unit == pytest.approx(fit.objective, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e12, 1e300])
def test_the_scale_of_the_weights_changes_no_coefficient(unit):
    case = plain()
    fit, other = case.solve(), replace(case, weights=case.weights * unit).solve()
    np.testing.assert_allclose(other.coef, fit.coef, rtol=1e-10)
    assert other.objective / unit == pytest.approx(fit.objective, rel=1e-12)


def test_regression_and_reparametrisation_and_reflection():
    case = plain(0.2)
    fit, p = case.solve(), case.X.shape[1]
    rng = np.random.default_rng(0)
    gamma, A = rng.standard_normal(p), rng.standard_normal((p, p)) + 3 * np.eye(p)
    moved = replace(case, y=case.y + 1000 * case.X @ gamma).solve()
    np.testing.assert_allclose(moved.coef, fit.coef + 1000 * gamma, rtol=1e-9)
    np.testing.assert_allclose(A @ replace(case, X=case.X @ A).solve().coef, fit.coef, rtol=1e-9)
    np.testing.assert_allclose(replace(case, y=-case.y, tau=0.8).solve().coef, -fit.coef, rtol=1e-9)


@pytest.mark.parametrize("response", ["normal", "integer"])
def test_integer_weights_are_repeated_rows(response):
    for seed in range(10):
        case = problem(seed, response=response, weights="counts")
        times = case.weights.astype(int)
        repeated = Problem(np.repeat(case.X, times, axis=0), np.repeat(case.y, times), case.tau, None)
        fit, other = case.solve(), repeated.solve()
        assert fit.objective == pytest.approx(other.objective, rel=1e-10, abs=1e-12)
        assert fit.unique == other.unique
        if fit.unique:
            np.testing.assert_allclose(fit.coef, other.coef, rtol=1e-8, atol=1e-10)


def test_rows_of_weight_zero_take_no_part():
    case = replace(plain(0.4), weights=None)
    X, y = np.vstack([case.X, 1e9 * np.ones((1, case.X.shape[1]))]), np.r_[case.y, -1e12]
    fit = interior_point(X, y, 0.4, np.r_[np.ones(len(case.y)), 0.0])
    np.testing.assert_allclose(fit.coef, case.solve().coef, rtol=1e-10)
    assert fit.a[-1] == 0.6 and len(case.y) not in fit.basis


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 11])
def test_the_constant_is_a_quantile(n, tau):
    y = np.random.default_rng(n).standard_normal(n)
    fit = interior_point(np.ones((n, 1)), y, tau)
    at = int(fit.basis[0])
    assert fit.coef[0] == pytest.approx(y[at], rel=1e-14)
    assert np.sum(y < y[at]) <= n * tau + 1e-9 and n * tau - 1e-9 <= np.sum(y <= y[at])
    assert fit.unique == (abs(n * tau - round(n * tau)) > 1e-9)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (1, 4), (3, 8), (5, 5), (50, 3)])
def test_a_perfect_fit_has_loss_zero(n, p):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p))
    fit = interior_point(X, X @ rng.standard_normal(p), 0.3)
    assert (fit.objective, fit.duality_gap, fit.status, fit.unique) == (0.0, 0.0, Status.OPTIMAL, True)
    assert len(fit.dropped) == max(p - n, 0) and len(fit.basis) == min(n, p)


def test_no_columns():
    y = np.array([1.0, -2.0, 0.0])
    for X in (np.empty((3, 0)), np.zeros((3, 2))):
        fit = interior_point(X, y, 0.25)
        assert fit.objective == 0.25 * 1 + 0.75 * 2 and np.isnan(fit.coef).all() and len(fit.dropped) == X.shape[1]
        assert fit.a.tolist() == [1.0, 0.0, 0.75]
    assert interior_point(np.ones((3, 1)), np.zeros(3), 0.5).objective == 0.0


def test_aliased_columns_are_dropped_left_to_right():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(30)
    X, y = np.column_stack([np.ones(30), x, 2 - x, x**2]), rng.standard_normal(30)
    fit = interior_point(X, y, 0.5)
    assert fit.dropped.tolist() == [2] and np.isnan(fit.coef[2])
    np.testing.assert_allclose(fit.coef[[0, 1, 3]], interior_point(X[:, [0, 1, 3]], y, 0.5).coef, rtol=1e-12)


def test_one_far_outlier_does_not_move_the_other_rows():
    case = plain(0.5)
    fit = case.solve()
    up = int(np.argmax(case.y - case.X @ fit.coef))
    for far in (1e6, 1e10):
        y = case.y + far * (np.arange(len(case.y)) == up)
        # A residual's size does not count, only its sign; the far row costs digits of nothing but itself.
        np.testing.assert_allclose(replace(case, y=y).solve().coef, fit.coef, rtol=1e-9)


def test_a_far_location_costs_only_its_own_digits():
    rng = np.random.default_rng(4)
    X, y = np.column_stack([np.ones(200), 1e6 + rng.standard_normal((200, 3))]), rng.standard_normal(200)
    fit, near = interior_point(X, 1e9 + y, 0.5), interior_point(X - np.r_[0, [1e6] * 3], y, 0.5)
    assert fit.objective == pytest.approx(near.objective, rel=1e-6)  # y itself was rounded to 1e-7
    np.testing.assert_allclose(fit.coef[1:], near.coef[1:], rtol=1e-5)


@pytest.mark.parametrize("tau", [0.001, 0.01, 0.5, 0.99, 0.999])
def test_extreme_taus_and_heavy_tails_do_not_stall(tau):
    rng = np.random.default_rng(5)
    n = 10_000
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 5))])
    for y in (rng.standard_cauchy(n), np.round(3 * rng.standard_normal(n)), rng.lognormal(0, 1.5, n)):
        fit = interior_point(X, y, tau)
        assert fit.status is Status.OPTIMAL and fit.iterations <= 60
        assert_certified(Problem(X, y, tau, None), fit)


def test_highs_takes_over_and_says_so(monkeypatch):
    case = plain(0.5)
    fit = case.solve()
    rescued = case.solve(max_iter=1)
    assert rescued.status is Status.OPTIMAL_BY_HIGHS and rescued.iterations == 1
    assert rescued.objective == pytest.approx(fit.objective, rel=1e-12)
    monkeypatch.setattr(module, "_HIGHS_MOST", 0)
    with pytest.warns(ConvergenceWarning, match=r"tau=0\.5: Stopped .* Raise `max_iter`.* Gap reached: \d"):
        stopped = case.solve(max_iter=2)
    assert stopped.status is Status.STOPPED and not stopped.status.optimal
    assert stopped.objective <= fit.objective / (1 - min(stopped.duality_gap, 0.999))
    assert stopped.objective >= fit.objective


def test_the_arrays_passed_are_not_changed():
    case = problem(11, "collinear", "outlier", "counts")
    copies = case.X.copy(), case.y.copy(), case.weights.copy()
    case.solve()
    assert all(np.array_equal(a, b) for a, b in zip(copies, (case.X, case.y, case.weights), strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 1.0}, "strictly between 0 and 1"),
        ({"y": np.ones(3)}, r"got \(2, 1\) and \(3,\)"),
        ({"X": np.ones(2)}, r"must have shape \(n, p\)"),
        ({"y": np.array([1.0, np.nan])}, "`y` has 1 missing values"),
        ({"X": np.array([[1.0], [np.inf]])}, "`X` has 1 infinite value,"),
        ({"y": np.array([1.0, -1e300])}, "`y` has values beyond 1e.150"),
        ({"weights": np.array([1.0, -1.0])}, "must not be negative"),
        ({"max_iter": 0}, "`max_iter` must be a whole number"),
    ],
)
def test_bad_input(change, message):
    arguments = {"X": np.ones((2, 1)), "y": np.ones(2), "tau": 0.5} | change
    with pytest.raises(InputError, match=message):
        interior_point(**arguments)
