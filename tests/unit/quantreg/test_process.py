"""The whole solution in tau and the simplex method: certificates, HiGHS, hostile inputs, changes of units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.process import Process, quantile_process
from qreg_boost.quantreg.selection import weighted_select
from qreg_boost.quantreg.simplex import simplex
from qreg_boost.quantreg.solution import Status, check_loss

KINDS = ("continuous", "integer", "factor", "few values", "heavy", "collinear")


def problem(kind: str, seed: int = 0, n: int = 70) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return design, response and weights."""
    rng = np.random.default_rng([seed, *map(ord, kind[:3])])
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=n) * (1 + 0.5 * np.abs(X[:, 1]))
    w = (None, rng.uniform(0.2, 3.0, n), rng.integers(0, 4, n).astype(float))[seed % 3]
    if kind == "integer":
        X, y = np.round(X), np.round(y)
    elif kind == "factor":
        levels = np.arange(n) % 3
        X, y = np.column_stack([np.ones(n), levels == 1, levels == 2, X[:, 1] > 0]).astype(float), np.round(3 * y)
    elif kind == "few values":
        y = rng.integers(0, 3, n).astype(float)
    elif kind == "heavy":
        X[:, 1:], y = rng.standard_t(1, (n, 3)), y + rng.standard_t(1, n)
    elif kind == "collinear":
        X = np.column_stack([X, X[:, 1] - X[:, 2], np.zeros(n)])
    return X, y, w


def highs(X: np.ndarray, y: np.ndarray, tau: float, w: np.ndarray | None) -> float:
    """Return the least loss by HiGHS on the primal problem."""
    n, p = X.shape
    w = np.ones(n) if w is None else w
    size = float(np.abs(y).max()) or 1.0
    columns = np.maximum(np.abs(X).max(axis=0), 1e-300)
    A = sparse.hstack([sparse.csr_matrix(X / columns), sparse.eye(n), -sparse.eye(n)])
    bounds = [(None, None)] * p + [(0, None)] * (2 * n)
    tight = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    costs = np.r_[np.zeros(p), tau * w, (1 - tau) * w]
    found = linprog(costs, A_eq=A, b_eq=y / size, bounds=bounds, method="highs-ds", options=tight)
    return float(found.fun) * size


def loss(X: np.ndarray, y: np.ndarray, coef: np.ndarray, tau: float, w: np.ndarray | None) -> float:
    return check_loss(y - X @ np.nan_to_num(coef), tau, w)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_every_interval_is_optimal(kind, seed):
    X, y, w = problem(kind, seed)
    process = quantile_process(X, y, w)
    assert process.taus[0] == 0 and process.taus[-1] == 1 and (np.diff(process.taus) > 0).all()
    middle = (process.taus[1:] + process.taus[:-1]) / 2
    for tau, coef in zip(middle, process.coef, strict=True):
        fit = interior_point(X, y, tau, w)
        assert fit.status.optimal
        # Both are exact vertices; what differs is the rounding of sums of 70 losses.
        assert loss(X, y, coef, tau, w) == pytest.approx(fit.objective, rel=1e-11)
        assert np.interp(tau, process.taus, process.objective) == pytest.approx(fit.objective, rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_that_of_highs(kind):
    X, y, w = problem(kind, 4)
    process = quantile_process(X, y, w)
    for tau in np.random.default_rng(0).uniform(0.01, 0.99, 12):
        expected = highs(X, y, tau, w)
        # HiGHS is asked for 1e-10.
        assert loss(X, y, process.at(tau), tau, w) == pytest.approx(expected, rel=1e-9)


def test_neighbours_differ_and_share_the_loss_where_they_meet():
    for kind in KINDS:
        X, y, w = problem(kind, 1)
        process = quantile_process(X, y, w)
        coef = np.nan_to_num(process.coef)
        assert (np.abs(np.diff(coef, axis=0)).max(axis=1) > 1e-12 * np.abs(y).max()).all()
        for k, tau in enumerate(process.taus[1:-1]):
            values = [loss(X, y, coef[k + i], tau, w) for i in (0, 1)]
            # A breakpoint is known to about 1e-14, and the loss moves by as much of itself.
            assert values[0] == pytest.approx(values[1], rel=1e-11, abs=1e-11 * process.objective.max())
            assert values[0] == pytest.approx(process.objective[k + 1], rel=1e-11, abs=1e-11 * process.objective.max())


def test_the_basis_determines_the_coefficients():
    X, y, w = problem("continuous", 1)
    process = quantile_process(X, y, w)
    assert process.unique.all()
    for coef, basis in zip(process.coef, process.basis, strict=True):
        np.testing.assert_allclose(np.linalg.solve(X[basis], y[basis]), coef, rtol=1e-9, atol=1e-11)
        assert (np.abs(y - X @ coef) < 1e-12).sum() == X.shape[1]


def test_one_column_of_ones_gives_the_sample_quantiles():
    y = np.array([3.0, 1.0, 2.0, 7.0, 2.0])
    process = quantile_process(np.ones((5, 1)), y)
    np.testing.assert_allclose(process.taus, [0, 0.2, 0.6, 0.8, 1], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(process.coef[:, 0].round(12), [1, 2, 3, 7])
    # At a breakpoint the smallest y whose share reaches tau.
    np.testing.assert_allclose(process.at([0.2, 0.2 + 1e-9, 0.6, 1.0])[:, 0], [1, 2, 2, 7], rtol=1e-14)
    assert process.at(0.5).shape == (1,) and process.interval(0.5).item() == 1


def test_a_part_of_the_range_is_the_same_process():
    X, y, w = problem("continuous", 1)
    whole, part = quantile_process(X, y, w), quantile_process(X, y, w, low=0.3, high=0.6)
    assert part.taus[0] == 0.3 and part.taus[-1] == 0.6
    inside = whole.taus[(whole.taus > 0.3) & (whole.taus < 0.6)]
    np.testing.assert_allclose(part.taus[1:-1], inside, rtol=0, atol=1e-13)
    np.testing.assert_allclose(part.at(part.taus[1:]), whole.at(part.taus[1:]), rtol=1e-9, atol=1e-11)
    with pytest.raises(InputError, match=r"between 0\.3 and 0\.6"):
        part.at(0.2)


def same(one: Process, other: Process, y_unit: float = 1.0, x_unit: np.ndarray | float = 1.0) -> None:
    np.testing.assert_allclose(one.taus, other.taus, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.coef, other.coef * x_unit / y_unit, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("unit", [1e-12, 1e3, 1e12])
def test_units_weights_and_order_do_not_matter(unit):
    X, y, w = problem("continuous", 1)
    process = quantile_process(X, y, w)
    same(process, quantile_process(X, y * unit, w * 10), unit)
    same(process, quantile_process(X * [1, unit, 1 / unit, 1], y, w), x_unit=np.array([1, unit, 1 / unit, 1]))
    order = np.random.default_rng(0).permutation(len(y))
    same(process, quantile_process(X[order], y[order], w[order]))


def test_a_regression_added_is_a_coefficient_added():
    X, y, w = problem("continuous", 1)
    moved = quantile_process(X, y + X @ [100.0, -3.0, 2.0, 5.0], w)
    process = quantile_process(X, y, w)
    np.testing.assert_allclose(process.taus, moved.taus, rtol=0, atol=1e-11)
    np.testing.assert_allclose(process.coef + np.array([100, -3, 2, 5]), moved.coef, rtol=0, atol=1e-10)


def test_weights_are_repeated_rows():
    X, y, w = problem("continuous", 2)
    times = w.astype(int)
    same(quantile_process(X, y, w), quantile_process(np.repeat(X, times, axis=0), np.repeat(y, times)))


def test_columns_that_depend_on_others_are_missing():
    X, y, w = problem("collinear", 0)
    process = quantile_process(X, y, w)
    assert process.dropped.tolist() == [4, 5]
    assert np.isnan(process.coef[:, 4:]).all() and np.isfinite(process.coef[:, :4]).all()
    same(quantile_process(X[:, :4], y, w), Process(**{**vars(process), "coef": process.coef[:, :4]}))


def test_an_interval_with_several_optima_is_said():
    X, y = np.repeat(np.eye(2), 2, axis=0), np.array([0.0, 1.0, 0.0, 1.0])
    assert quantile_process(X, y).unique.all()
    # Residuals 5 - b and 3 + b: for b in [-3, 5] their losses sum to 8 tau, whatever tau.
    X, y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.array([0.0, 1.0, 5.0, 3.0])
    process = quantile_process(X, y)
    assert not process.unique.any()
    np.testing.assert_allclose(process.taus, [0, 0.5, 1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(process.coef[:, 0], [0, 1], rtol=0, atol=1e-14)
    assert ((process.coef[:, 1] >= -3) & (process.coef[:, 1] <= 5)).all()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[1.0, 2.0]]), np.array([3.0])),
        (np.random.default_rng(0).normal(size=(3, 5)), np.arange(3.0)),
        (np.column_stack([np.ones(20), np.arange(20.0)]), 2 + 3 * np.arange(20.0)),
        (np.column_stack([np.ones(20), np.arange(20.0)]), np.full(20, 7.0)),
    ],
    ids=["one row", "fewer rows than columns", "perfect fit", "constant"],
)
def test_a_perfect_fit_is_one_interval(X, y):
    process = quantile_process(X, y)
    assert process.taus.tolist() == [0, 1] and process.objective.tolist() == [0, 0]
    np.testing.assert_allclose(X @ np.nan_to_num(process.coef[0]), y, rtol=1e-12, atol=1e-12)
    assert simplex(X, y, 0.3).objective == 0


def test_rows_and_designs_of_zeros():
    rng = np.random.default_rng(1)
    y = rng.normal(size=30)
    process = quantile_process(np.zeros((30, 2)), y)
    assert process.coef.shape == (1, 2) and np.isnan(process.coef).all() and process.basis.shape == (1, 0)
    assert np.interp(0.3, process.taus, process.objective) == pytest.approx(check_loss(y, 0.3), rel=1e-14)
    X = np.column_stack([np.ones(30), rng.normal(size=30)]) * (np.arange(30) % 3 > 0)[:, None]
    process = quantile_process(X, y)
    for tau in (0.05, 0.4, 0.9):
        least = interior_point(X, y, tau).objective
        assert np.interp(tau, process.taus, process.objective) == pytest.approx(least, rel=1e-12)
        assert simplex(X, y, tau).objective == pytest.approx(least, rel=1e-12)


def test_light_rows_beside_heavy_ones():
    X, y, _ = problem("continuous", 0)
    w = np.exp(4 * np.random.default_rng(3).normal(size=len(y)))
    process = quantile_process(X, y, w)
    for tau in (0.1, 0.5, 0.8):
        assert loss(X, y, process.at(tau), tau, w) == pytest.approx(highs(X, y, tau, w), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tau", [0.02, 0.5, 0.9])
def test_simplex_is_certified(kind, tau):
    X, y, w = problem(kind, 1)
    fit = simplex(X, y, tau, w)
    assert fit.status is Status.OPTIMAL and fit.duality_gap <= 1e-10
    assert fit.objective == pytest.approx(interior_point(X, y, tau, w).objective, rel=1e-12)
    kept = np.setdiff1d(np.arange(X.shape[1]), fit.dropped)
    r, v = y - X[:, kept] @ fit.coef[kept], np.ones(len(y)) if w is None else w
    assert ((fit.a >= 0) & (fit.a <= 1)).all()
    # Complementary, and a solution of the dual's equations to the rounding of sums of 70 terms.
    assert (np.where(r > 0, 1 - fit.a, fit.a) * np.abs(r) <= 1e-12 * np.abs(y).max()).all()
    lack = X[:, kept].T @ (v * (fit.a - (1 - tau)))
    assert (np.abs(lack) <= 1e-12 * (np.abs(X[:, kept]).T @ v)).all()


def test_simplex_from_a_start():
    X, y, w = problem("continuous", 1)
    cold, near = simplex(X, y, 0.5, w), simplex(X, y, 0.48, w)
    for start in (near, near.coef, near.basis, cold.coef):
        fit = simplex(X, y, 0.5, w, start=start)
        np.testing.assert_allclose(fit.coef, cold.coef, rtol=1e-12)
        assert fit.iterations < cold.iterations
    assert simplex(X, y, 0.5, w, start=cold).iterations == 0
    # What is no start is no error: dependent rows, too few, coefficients with missing values.
    for start in (np.zeros(4, dtype=int), np.array([1]), np.full(4, np.nan)):
        np.testing.assert_allclose(simplex(X, y, 0.5, w, start=start).coef, cold.coef, rtol=1e-12)


def test_simplex_fills_sparse_designs_in():
    X, y, w = problem("factor", 1)
    fit = simplex(sparse.csr_matrix(X), y, 0.3, w)
    assert fit.objective == pytest.approx(simplex(X, y, 0.3, w).objective, rel=1e-14)
    assert quantile_process(sparse.csr_matrix(X), y, w).taus.tolist() == quantile_process(X, y, w).taus.tolist()
    with pytest.raises(InputError, match="'exact'"):
        simplex(sparse.csr_matrix((30_000, 1000)), np.zeros(30_000), 0.5)


def test_bad_input_is_named():
    X, y, _ = problem("continuous")
    for low, high in ((0.5, 0.5), (-0.1, 1.0), (0.2, 1.2), (0.8, 0.2)):
        with pytest.raises(InputError, match="0 <= low < high <= 1"):
            quantile_process(X, y, low=low, high=high)
    with pytest.raises(InputError, match="one row of `X`"):
        quantile_process(X[1:], y)
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        simplex(X, y, 1.0)
    with pytest.raises(InputError, match="negative"):
        simplex(X, y, 0.5, -np.ones(len(y)))


def test_the_callers_arrays_stay_as_they_are():
    X, y, w = problem("integer", 1)
    for array in (X, y, w):
        array.flags.writeable = False
    quantile_process(X, y, w)
    simplex(X, y, 0.5, w)


def test_weighted_selection_is_that_of_sorting():
    rng = np.random.default_rng(0)
    for trial in range(300):
        n = int(rng.integers(1, 40))
        values = rng.integers(0, 8, n).astype(float) if trial % 2 else rng.normal(size=n)
        weights = rng.integers(0, 5, n).astype(float)
        order = np.argsort(values)
        for need in (0.5, weights.sum() / 3, weights.sum(), weights.sum() + 1):
            reached = np.cumsum(weights[order]) >= need
            expected = values[order][np.argmax(reached)] if reached.any() else values.max()
            assert weighted_select(values.copy(), weights.copy(), need) == expected
