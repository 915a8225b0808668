"""The fast loop for stumps does what the general loop does, row for row."""

from __future__ import annotations

import numpy as np
import pytest

import qreg_boost as qb
from qreg_boost.boosting.learners import Stump, Tree
from qreg_boost.boosting.loop import boost
from qreg_boost.boosting.loops import loop_of
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.stump_loop import boost_stumps, runs_here

M = 300


def draw(n: int, p: int, seed: int, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return y (n,) and X (n, p); few digits make ties."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, p)), digits)
    y = 3 * X[:, 0] - 2 * X[:, 1] + 2 * np.sin(2 * X[:, 2]) + (1 + 0.5 * np.abs(X[:, 0])) * rng.standard_t(3, n)
    return np.round(y, digits), X


WEIGHTS = {
    "none": lambda n: None,
    "counts": lambda n: np.random.default_rng(0).integers(0, 4, n).astype(float),
    "uneven": lambda n: np.random.default_rng(0).random(n) + 0.1,
    "one row in all": lambda n: np.where(np.arange(n) == 7, 1.0, 1e-20),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("step", ["fixed", "adaptive"])
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("n", "p", "digits"), [(60, 4, 0), (300, 5, 1), (900, 3, 9)])
def test_both_loops_take_the_same_stumps(n: int, p: int, digits: int, tau: float, step: str, weights: str) -> None:
    y, X = draw(n, p, seed=n, digits=digits)
    model = QBR(y, X, tau, learner="stump", step=step, weights=WEIGHTS[weights](n))
    task = model.task(model.weights)
    assert runs_here(task)
    slow, fast = boost(task, M), boost_stumps(task, M)
    assert fast.selected.tolist() == slow.selected.tolist()
    np.testing.assert_array_equal(fast.nodes.cut, slow.nodes.cut)
    # sums over the rows are taken in another order: rounding, which M steps carry further
    np.testing.assert_allclose(fast.nodes.value, slow.nodes.value, rtol=0, atol=1e-11 * np.ptp(y))
    np.testing.assert_allclose(fast.risks, slow.risks, rtol=1e-11)
    np.testing.assert_allclose(fast.nodes.gain, slow.nodes.gain, rtol=1e-9, atol=1e-12 * task.weights.sum())
    np.testing.assert_allclose(fast.memory.turns, slow.memory.turns)


def test_the_risk_is_that_of_the_fit() -> None:
    y, X = draw(400, 4, seed=1, digits=9)
    fit = qb.QBR(y, X, 0.3, learner="stump", mstop=5000).fit()
    assert fit.risk == pytest.approx(CheckLoss(0.3).risk(y, fit.fittedvalues.to_numpy(), np.ones(400)), rel=1e-10)
    np.testing.assert_allclose(fit.fittedvalues, fit.predict(X), rtol=1e-12)


def test_a_run_continued_is_the_longer_run() -> None:
    y, X = draw(300, 4, seed=2, digits=9)
    short = qb.QBR(y, X, 0.7, learner="stump", mstop=50).fit()
    whole = qb.QBR(y, X, 0.7, learner="stump", mstop=200).fit()
    again = short.extend(200)
    assert again.selected.tolist() == whole.selected.tolist()
    np.testing.assert_allclose(again.risk_path, whole.risk_path, rtol=1e-11)


def test_where_nothing_is_left_to_split_the_general_loop_goes_on() -> None:
    """All rows above the fit: every split gains nothing, and the level alone moves."""
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.where(np.arange(20) < 10, 1.0, 1.0 + 1e-9)
    model = QBR(y, X, 0.5, learner="stump", step="fixed", init=-5.0, step_scale=None)
    task = model.task(model.weights)
    slow, fast = boost(task, 20), boost_stumps(task, 20)
    assert fast.length == slow.length == 20
    np.testing.assert_allclose(fast.risks, slow.risks, rtol=1e-12)


@pytest.mark.parametrize("learner", [Stump(leaf="quantile"), Stump(ties="upper"), Stump(monotone={"x1": 1}), Tree(2)])
def test_other_learners_are_left_to_the_general_loop(learner) -> None:
    y, X = draw(100, 3, seed=3, digits=9)
    model = QBR(y, X, 0.5, learner=learner)
    assert not runs_here(model.task(model.weights))


@pytest.mark.parametrize("learner", [Tree(depth=1), Tree(depth=None, leaves=2), Tree(depth=3, leaves=2)])
def test_trees_of_two_leaves_run_here(learner) -> None:
    y, X = draw(100, 3, seed=3, digits=9)
    model = QBR(y, X, 0.5, learner=learner)
    task = model.task(model.weights)
    assert runs_here(task) and loop_of(task) is boost_stumps
