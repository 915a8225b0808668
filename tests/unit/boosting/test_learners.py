"""Linear learners against least squares written out, and what they never choose."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.boosting.learners import Componentwise, Joint, Linear, LinearBlocks, Predictors
from qreg_boost.boosting.losses import CheckLoss
from tests.unit.boosting.cases import draw


def predictors(X: np.ndarray, weights=None, sizes=None, intercept: bool = True, all_rows=None) -> Predictors:
    n, p = X.shape
    sizes = [1] * p if sizes is None else sizes
    return Predictors(
        X=np.ascontiguousarray(X, dtype=float),
        weights=np.ones(n) if weights is None else weights,
        blocks=np.array([0, *np.cumsum(sizes)], dtype=np.int64),
        terms=tuple(f"t{k + 1}" for k in range(len(sizes))),
        columns=tuple(f"x{j + 1}" for j in range(p)),
        intercept=intercept,
        all_rows=all_rows,
    )


def least_squares(design: np.ndarray, u: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Return fitted values and the reduction of the squared error, by numpy's solver."""
    root = np.sqrt(w)[:, None]
    fitted = design @ np.linalg.lstsq(root * design, np.sqrt(w) * u, rcond=None)[0]
    return fitted, float(w @ u**2 - w @ (u - fitted) ** 2)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sizes", [[1, 1, 1, 1], [2, 1, 1], [4], [1, 3]])
@pytest.mark.parametrize("seed", range(3))
def test_linear_is_the_best_least_squares_fit_of_a_term(seed: int, sizes: list[int], intercept: bool) -> None:
    _, X = draw(30, 4, seed)
    rng = np.random.default_rng(seed)
    X, w, u = X + 5.0, rng.uniform(0.5, 3, 30), rng.normal(size=30)
    prepared = Linear().prepare(predictors(X, w, sizes, intercept))
    update = prepared.update(u)
    fits, first = [], 0
    for size in sizes:
        part = X[:, first : first + size]
        fits.append(least_squares(np.column_stack((np.ones(30), part)) if intercept else part, u, w))
        first += size
    # the level is common to all terms: what is compared is the gain beyond it
    best = int(np.argmax([gain for _, gain in fits]))
    assert update.learner == best and len(update.slopes) == sizes[best]
    np.testing.assert_allclose(update.fitted, fits[best][0], atol=1e-12)
    if not intercept:
        assert update.level == 0.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_componentwise_is_the_best_of_columns_and_intercept(seed: int, intercept: bool) -> None:
    _, X = draw(30, 3, seed)
    rng = np.random.default_rng(seed)
    w, u = rng.uniform(0.5, 3, 30), rng.normal(size=30) + 0.3 * (seed % 2)
    prepared = Componentwise().prepare(predictors(X, w, intercept=intercept))
    centre = np.average(X, axis=0, weights=w) if intercept else np.zeros(3)
    designs = [(X[:, [j]] - centre[j]) for j in range(3)]
    if intercept:
        designs.insert(0, np.ones((30, 1)))
    assert prepared.names == (("Intercept",) if intercept else ()) + ("x1", "x2", "x3")
    fits = [least_squares(design, u, w) for design in designs]
    update = prepared.update(u)
    assert update.learner == int(np.argmax([gain for _, gain in fits]))
    np.testing.assert_allclose(update.fitted, fits[update.learner][0], atol=1e-12)


def test_componentwise_takes_a_term_apart() -> None:
    _, X = draw(10, 3)
    assert len(Componentwise().prepare(predictors(X, sizes=[3])).names) == 4
    assert len(Linear().prepare(predictors(X, sizes=[3])).names) == 1


def test_centre_at_the_plain_mean_of_all_rows() -> None:
    """As mboost's glmboost has it, whose centring knows no weights."""
    _, X = draw(10, 2)
    w, everyone = np.arange(1.0, 11.0), np.vstack((X, X[:4] + 50.0))
    prepared = Componentwise(center="rows").prepare(predictors(X, w, all_rows=everyone))
    np.testing.assert_allclose(prepared.centre, everyone.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(prepared.imbalance, w @ (X - everyone.mean(axis=0)), rtol=1e-12)


def test_centre_has_two_choices() -> None:
    with pytest.raises(
        InputError, match=r"`center` must be one of 'weighted', 'rows'; got 'row'\. Did you mean 'rows'"
    ):
        Componentwise(center="row")


@pytest.mark.parametrize("learner", [Linear(), Componentwise()])
def test_equal_columns_the_first_wins(learner) -> None:
    _, X = draw(40, 1)
    u = np.sign(X[:, 0])
    # the same column in other units: the scores differ by rounding alone
    copies = np.column_stack((X[:, 0], X[:, 0], X[:, 0] / 3.0 + 1.0, -7e5 * X[:, 0]))
    prepared = learner.prepare(predictors(copies))
    assert prepared.names[prepared.update(u).learner] in ("t1", "x1")
    backwards = learner.prepare(predictors(np.ascontiguousarray(copies[:, ::-1])))
    assert backwards.names[backwards.update(u).learner] in ("t1", "x1")


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e9 + 0.1, -1e-9])
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_columns_are_not_learners(value: float, weighted: bool) -> None:
    """Constant up to rounding: the mean of 0.1 and of 1e9 + 0.1 is no exact sum."""
    n = 101
    rng = np.random.default_rng(0)
    X = np.column_stack((np.full(n, value), rng.normal(size=n)))
    weights = rng.uniform(0.1, 2, n) if weighted else None
    for learner in (Linear(), Componentwise()):
        prepared = learner.prepare(predictors(X, weights))
        assert prepared.allowed.tolist() == [False, True]
        alone = learner.prepare(predictors(X[:, :1], weights))
        assert not alone.usable


def test_a_column_of_small_spread_about_a_large_mean_varies() -> None:
    X = 1e9 + np.random.default_rng(0).normal(size=(50, 1))
    assert Linear().prepare(predictors(X)).usable


def test_aliased_columns_of_a_term_get_no_slope() -> None:
    _, X = draw(40, 2)
    term = np.column_stack((X[:, 0], X[:, 0] * 2.0, X[:, 1], np.ones(40)))
    u = np.random.default_rng(1).normal(size=40)
    update = Linear().prepare(predictors(term, sizes=[4])).update(u)
    assert update.slopes[1] == 0.0 and update.slopes[3] == 0.0
    expected, _ = least_squares(np.column_stack((np.ones(40), X)), u, np.ones(40))
    np.testing.assert_allclose(update.fitted, expected, atol=1e-12)


def test_more_columns_in_a_term_than_rows() -> None:
    _, X = draw(5, 9)
    u = np.random.default_rng(1).normal(size=5)
    update = Linear().prepare(predictors(X, sizes=[9])).update(u)
    np.testing.assert_allclose(update.fitted, u, atol=1e-9)  # four independent columns and the level fit five rows


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_of_a_column_change_nothing_but_its_slope(scale: float) -> None:
    _, X = draw(40, 3)
    u = np.random.default_rng(1).normal(size=40)
    for sizes in ([1, 1, 1], [3]):
        one = Linear().prepare(predictors(X, sizes=sizes)).update(u)
        other = Linear().prepare(predictors(X * scale, sizes=sizes)).update(u)
        assert one.learner == other.learner
        np.testing.assert_allclose(other.slopes * scale, one.slopes, rtol=1e-10)
        np.testing.assert_allclose(other.fitted, one.fitted, rtol=1e-10, atol=1e-12)


def test_prepared_is_a_record_of_arrays() -> None:
    _, X = draw(12, 3)
    prepared = Linear().prepare(predictors(X, sizes=[2, 1]))
    assert isinstance(prepared, LinearBlocks)
    np.testing.assert_allclose(prepared.centre, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(prepared.spread, X.std(axis=0), rtol=1e-13)
    centred = X[:, :2] - X[:, :2].mean(axis=0)
    factor = prepared.block_factor(0)
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(centred.T @ centred), rtol=1e-10)


def test_a_constant_column_inside_a_term_stays_at_zero() -> None:
    """Centred under weights it is rounding, which must not be taken for a column of its own."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"y": rng.normal(size=100), "x": rng.normal(size=100), "w": rng.uniform(0.1, 3.0, 100)})

    def pair(x: pd.Series) -> np.ndarray:
        return np.column_stack((x, np.full(len(x), 0.1)))

    fit = qb.qbr("y ~ pair(x)", data, weights="w", mstop=200)
    assert fit.params["pair(x)[1]"] == 0.0
    alone = qb.qbr("y ~ x", data, weights="w", mstop=200)
    np.testing.assert_allclose(fit.fittedvalues, alone.fittedvalues, rtol=1e-9)


def test_joint_is_least_squares_on_all_columns() -> None:
    rng = np.random.default_rng(1)
    X, w, u = rng.normal(size=(60, 3)) + 5.0, rng.uniform(0.5, 2.0, 60), rng.normal(size=60)
    names = ("x1", "x2", "x3")
    update = Joint().prepare(Predictors(X, w, np.arange(4), names, names, True)).update(u)
    root = np.sqrt(w)
    full = np.column_stack((np.ones(60), X))
    coef = np.linalg.lstsq(root[:, None] * full, root * u, rcond=None)[0]
    np.testing.assert_allclose(update.fitted, full @ coef, atol=1e-12)
    np.testing.assert_allclose(update.slopes, coef[1:], atol=1e-12)


def test_a_term_of_more_columns_than_rows_stays_within_bounds() -> None:
    """Columns may each stand clear of those before and yet be dependent together: the block must not blow up."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=60)})
    data["y"] = 1 + 2 * data["x"] + rng.normal(size=60)
    for df in (60, 100):
        fit = qb.qbr(f"y ~ bs(x, df={df})", data)
        anew = CheckLoss(0.5).risk(data["y"].to_numpy(), fit.fittedvalues.to_numpy(), np.ones(60))
        assert fit.risk == pytest.approx(anew, rel=1e-6)
        assert fit.risk < fit.risk_path.iloc[0]
