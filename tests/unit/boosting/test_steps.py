"""Step rules: what every row of the table owes the loops, and the unit of a step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qreg_boost as qb
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.signflip import boost_check
from qreg_boost.boosting.steps import STEPS, step_unit
from tests.unit.boosting.cases import BLOCKS, assert_same_path, draw, frame, paths


@pytest.mark.parametrize("learner", BLOCKS)
@pytest.mark.parametrize("name", STEPS)
def test_both_loops_follow_every_rule(name: str, learner: str) -> None:
    y, X = draw(700, 3, seed=4)
    assert_same_path(*paths(QBR(y, X, 0.3, step=name, learner=learner), 400))


@pytest.mark.parametrize("name", STEPS)
def test_a_rule_knows_its_name_and_first_step(name: str) -> None:
    y, X = draw(50, 2)
    rule = QBR(y, X, 0.3, step=name, nu=0.2, step_scale="range").task(np.ones(50)).step
    assert rule.first is None if name == "line" else rule.first == 0.2 * 0.5 * np.ptp(y)


def test_raw_fixed_steps_are_nu() -> None:
    y, X = draw(50, 1)
    path = QBR(y, X, 0.3, step="fixed", step_scale=None, nu=0.05, mstop=1).fit().path
    assert path.levels[0] == pytest.approx(0.05 * np.where(y >= path.start, 0.3, -0.7).mean(), rel=1e-12)


def test_fixed_steps_are_all_equal() -> None:
    """Without predictors that matter the level alone moves: each time by the step times the mean of u."""
    y, X = draw(60, 2, seed=1)
    fit = QBR(y, X, 0.3, step="fixed", nu=0.1, step_scale="range", mstop=80).fit()
    steps = []
    for m in range(80):
        u = np.where(y - fit.at(m).fittedvalues >= 0, 0.3, -0.7)
        steps.append(fit.path.levels[m] / u.mean() if abs(u.mean()) > 1e-6 else np.nan)
    np.testing.assert_allclose([s for s in steps if not np.isnan(s)], 0.1 * 0.5 * np.ptp(y), rtol=1e-9)


def test_adaptive_steps_by_hand() -> None:
    """The step of a learner: times chosen, at most 12, over the root of one plus its turns."""
    y, X = draw(60, 1, seed=2)
    fit = QBR(y, X, 0.3, mstop=60, nu=0.05, step_scale="range", step="adaptive").fit()
    x = X[:, 0] - X[:, 0].mean()
    turns, last, expected = 0.0, 0.0, []
    for m in range(60):
        u = np.where(y - fit.at(m).fittedvalues >= 0, 0.3, -0.7)
        slope = x @ u / (x @ x)
        turns += slope * last < 0
        last = slope
        expected.append(0.05 * 0.5 * np.ptp(y) * min(m + 1, 12) / np.sqrt(1 + turns) * slope)
        if fit.risk_path[m + 1] > 1.02 * fit.risk_path[m]:
            turns = 2 * turns + 1
    np.testing.assert_allclose(fit.path.slopes, expected, rtol=1e-9, atol=1e-12)


def test_the_guard_shortens_steps_that_raise_the_loss() -> None:
    """A first step far too long: with the guard the loss comes down all the same."""
    y, X = draw(200, 2, seed=3)
    model = QBR(y, X, 0.3, nu=50.0)
    task = model.task(model.weights)
    guarded, bare = boost_check(task, 300), boost_check(replace(task, step=replace(task.step, guard=np.inf)), 300)
    assert guarded.risks[-1] < 0.2 * guarded.risks.max()
    assert guarded.risks[-1] < 0.5 * bare.risks[-1]


# -- the unit


def test_raw_steps_have_unit_one() -> None:
    assert step_unit(None, np.array([0.0, 100.0]), None) == 1.0


def test_range_is_the_papers_half_range() -> None:
    """The paper maps y to [-1, 1], of range 2: a step of 1 there is half the range of y here."""
    assert step_unit("range", np.array([3.0, 11.0, 5.0]), None) == 4.0


def test_auto_is_the_range_of_the_middle() -> None:
    assert step_unit("auto", np.arange(101.0), None) == 80.0


def test_auto_looks_further_out_where_the_middle_is_one_value() -> None:
    y = np.zeros(100)
    y[:4] = [-3.0, -2.0, 2.0, 5.0]
    assert step_unit("auto", y, None) > 0
    y[:] = 0.0
    y[0] = 7.0
    assert step_unit("auto", y, None) == 7.0


@pytest.mark.parametrize("b", [1e-12, 0.37, 5.0, 1e12])
def test_auto_follows_the_units_of_y(b: float) -> None:
    y, _ = draw(201, 1)
    unit = step_unit("auto", y, None)
    assert unit > 0
    # 1e-9: moved by 1000 spreads y keeps 13 of its 16 digits
    assert step_unit("auto", b * y + 1000 * b * np.ptp(y), None) == pytest.approx(b * unit, rel=1e-9)


def test_auto_with_counts_as_weights_is_that_of_repeated_rows() -> None:
    y, _ = draw(60, 1)
    counts = np.random.default_rng(0).integers(1, 5, 60)
    repeated = step_unit("auto", np.repeat(y, counts), None)
    for scale in (1.0, 0.1, 1e6):
        assert step_unit("auto", y, scale * counts) == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("side", [-1, 1])
def test_auto_has_bounded_influence(side: int) -> None:
    """One row of 235 may change the unit by some per cent, however far out it lies."""
    y = qb.datasets.load("engel")["foodexp"].to_numpy()
    units = []
    for spreads in (10, 1e3, 1e6, 1e12):
        wild = y.copy()
        wild[100] += side * spreads * y.std()
        units.append(step_unit("auto", wild, None))
    assert step_unit("auto", y, None) == pytest.approx(units[0], rel=0.1)
    assert len(set(units)) == 1


@pytest.mark.parametrize("name", ["auto", "range"])
def test_unit_is_0_where_y_is_one_value(name: str) -> None:
    assert step_unit(name, np.full(9, 4.0), None) == 0.0


@pytest.mark.parametrize("name", [name for name in STEPS if name != "line"])
def test_a_unit_of_the_weighted_rows_only(name: str) -> None:
    data = frame(60)
    w = (np.arange(60) % 2).astype(float)
    wild = data.assign(y=np.where(w > 0, data["y"], 1e9))
    one, other = (qb.qbr("y ~ x1 + g", table, 0.3, weights=w, step=name) for table in (data, wild))
    assert one.params.equals(other.params)
