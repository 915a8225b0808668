"""The sign-flip loop is the general loop: the same selections, risks and coefficients to 1e-10 relative.

Both add the same numbers in another order. The sign-flip loop carries its sums along for many iterations, so its
rounding grows with the square root of their number: 1e-12 is seen after 20,000; 1e-10 is what is promised.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from qreg_boost.boosting import signflip
from qreg_boost.boosting.model import QBR
from tests.unit.boosting.cases import BLOCKS, DRAWS, assert_same_path, draw, frame, paths

TAUS = (0.1, 0.5, 0.95)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("noise", DRAWS)
@pytest.mark.parametrize("columns", DRAWS)
def test_rows_that_sleep(columns: str, noise: str, tau: float) -> None:
    y, X = draw(2500, 5, seed=1, columns=columns, noise=noise)
    assert_same_path(*paths(QBR(y, X, tau, step="fixed"), 1500))


@pytest.mark.parametrize("tau", TAUS)
def test_thousands_of_iterations(tau: float) -> None:
    """Beyond one return to Python (4096 iterations), into the part where the fit hovers and sums are taken anew."""
    y, X = draw(2000, 4, seed=2, columns="heavy")
    stop = signflip.CHUNK + 2500
    assert_same_path(*paths(QBR(y, X, tau, step="fixed"), stop))


@pytest.mark.parametrize("n", [signflip.SMALL - 1, signflip.SMALL, signflip.SMALL + 1])
@pytest.mark.parametrize("nu", [0.001, 0.1, 3.0])
def test_around_the_size_where_rows_may_sleep(n: int, nu: float) -> None:
    y, X = draw(n, 3, seed=3, noise="heavy")
    assert_same_path(*paths(QBR(y, X, 0.3, step="fixed", nu=nu), 800))


FORMULAS = ("y ~ x1 + x2 + g", "y ~ 0 + x1 + x2", "y ~ 0 + x1 + C(g)", "y ~ x1 * g")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    n = 2200
    rng = np.random.default_rng(4)
    table = frame(n, seed=4)
    return table.assign(counts=rng.integers(0, 4, n), real=rng.uniform(0.01, 5, n), off=5 * rng.normal(size=n))


@pytest.mark.parametrize("weights", [None, "counts", "real"])
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("learner", BLOCKS)
def test_factors_weights_no_intercept(rows: pd.DataFrame, learner: str, formula: str, weights: str | None) -> None:
    model = QBR.from_formula(formula, rows, 0.3, learner=learner, weights=weights, step="fixed")
    assert_same_path(*paths(model, 800))


@pytest.mark.parametrize("learner", BLOCKS)
def test_offset(rows: pd.DataFrame, learner: str) -> None:
    model = QBR.from_formula("y ~ x1 + g", rows, 0.7, learner=learner, offset="off", weights="real", step="fixed")
    assert_same_path(*paths(model, 800))


@pytest.mark.parametrize("step_scale", ["auto", "range", None])
@pytest.mark.parametrize("init", ["quantile", "median", -40.0])
def test_starts_and_scales(rows: pd.DataFrame, init, step_scale) -> None:
    model = QBR.from_formula("y ~ x1 + x2", rows, 0.2, init=init, step_scale=step_scale)
    assert_same_path(*paths(model, 600))


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("learner", BLOCKS)
def test_line_search_on_numbers(learner: str, tau: float) -> None:
    y, X = draw(300, 5, seed=6)
    # along all columns each search carries the rounding of the last further
    stop = 25 if learner == "joint" else 600
    assert_same_path(*paths(QBR(y, X, tau, step="line", learner=learner), stop))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("formula", ["y ~ a + b", "y ~ a + b + x", "y ~ x * a"])
def test_line_search_on_factors(formula: str, seed: int) -> None:
    """On rows of some levels the chosen fit is 0 but for rounding: they must not move, nor fix the step."""
    rng, n = np.random.default_rng(seed), 40
    a, b = (rng.permutation(np.arange(n) % k).astype(str) for k in (4, 5))
    data = pd.DataFrame({"y": rng.normal(size=n), "a": a, "b": b, "x": rng.normal(size=n)})
    # where a term has several numeric columns each search carries the rounding of the last further
    stop = 30 if formula == "y ~ x * a" else 300
    assert_same_path(*paths(QBR.from_formula(formula, data, 0.5, step="line"), stop))


@pytest.mark.parametrize("step", ["fixed", "adaptive"])
@pytest.mark.parametrize("tau", [0.1, 0.37, 0.5])
@pytest.mark.parametrize("formula", ["y ~ a + b", "y ~ a + x"])
@pytest.mark.parametrize("learner", BLOCKS)
def test_balanced_factors(learner: str, formula: str, tau: float, step: str) -> None:
    """Means of u over equally large levels are often 0, and steps often cancel: there rounding must not decide.

    It would decide whether a row that is on the fit is below it, and whether a learner has turned round.
    """
    for seed in range(12):
        rng, n = np.random.default_rng(seed), (12, 40, 60)[seed % 3]
        a, b = (rng.permutation(np.arange(n) % k).astype(str) for k in (4, 5))
        data = pd.DataFrame({"y": rng.normal(size=n), "a": a, "b": b, "x": rng.normal(size=n)})
        assert_same_path(*paths(QBR.from_formula(formula, data, tau, step=step, learner=learner), 200))


@pytest.mark.parametrize("seed", range(4))
def test_wide_data(seed: int) -> None:
    y, X = draw(60, 400, seed=seed)
    assert_same_path(*paths(QBR(y, X, 0.4), 500))


def test_columns_of_all_units() -> None:
    y, X = draw(800, 4, seed=7)
    X = X * np.array([1e-12, 1.0, 1e12, 1.0]) + np.array([0.0, 1e9, 0.0, -1e6])
    one, other = paths(QBR(y, X, 0.5), 800)
    np.testing.assert_array_equal(one.selected, other.selected)
    np.testing.assert_allclose(one.risks, other.risks, rtol=1e-10)
    spread = X.std(axis=0)
    np.testing.assert_allclose(one.slopes_at(800) * spread, other.slopes_at(800) * spread, rtol=1e-9, atol=1e-10)


def test_duplicated_rows() -> None:
    """Rows that flip together, four at a time and the rest one by one."""
    y, X = draw(150, 3, seed=8)
    model = QBR(np.repeat(y, 7), np.repeat(X, 7, axis=0), 0.25)
    assert_same_path(*paths(model, 600))


def test_one_row_and_two() -> None:
    for n in (1, 2, 3):
        y, X = draw(n, 3, seed=9)
        model = QBR(y, X, 0.5)
        if model.task(model.weights).learner.usable:
            assert_same_path(*paths(model, 50))


def test_all_of_one_sign_after_many_flips() -> None:
    """Where all residuals have one sign c is nil, and what earlier flips left in it must not decide the choice."""
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [3000, 4, 1, 1])
    y = np.repeat([0.0, 1.0, -2.0, 5.0], [3000, 4, 1, 1])
    X = np.column_stack((x, x**2))
    for step in ("fixed", "adaptive"):
        assert_same_path(*paths(QBR(y, X, 0.9, step=step), 200))


def test_negative_zeros_are_zeros() -> None:
    X = np.array([-1, 0, 1, -1, 0, 1, 0, 0, 2, -2.0])
    y = np.array([-3, -0.0, 2, -1, -0.0, 3, -0.0, 1, 5, -4])
    assert_same_path(*paths(QBR(y, X, 0.5, learner="componentwise", step="fixed"), 100))
