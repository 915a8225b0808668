"""Step rules: what every row of the table owes the loop, and the unit of a step."""

from __future__ import annotations

import numpy as np
import pytest

import qreg_boost as qb
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.steps import STEPS, step_unit
from tests.unit.boosting.cases import assert_same_path, draw, paths

KNOWN_BEFOREHAND = [name for name in STEPS if name != "line"]


def rule(name: str, step_scale: str | None = "auto"):
    y, X = draw(80, 3)
    return QBR(y, X, 0.3, step=name, step_scale=step_scale).task(np.ones(80)).step, y


@pytest.mark.parametrize("name", KNOWN_BEFOREHAND)
def test_schedule_is_the_step_of_each_iteration(name: str) -> None:
    step, y = rule(name)
    f, g, w = np.zeros(80), np.ones(80), np.ones(80)
    schedule = step.schedule(0, 300)
    assert len(schedule) == 300 and (schedule > 0).all()
    one_by_one = [step.at(m, CheckLoss(0.3), y, f, g, w) for m in range(300)]
    np.testing.assert_array_equal(schedule, [one.gamma for one in one_by_one])
    assert {one.row for one in one_by_one} == {-1}
    # a run that goes on where another stopped takes the same steps
    np.testing.assert_array_equal(step.schedule(120, 300), schedule[120:])
    assert len(step.schedule(7, 7)) == 0


@pytest.mark.parametrize("name", KNOWN_BEFOREHAND)
def test_steps_never_grow(name: str) -> None:
    schedule = rule(name)[0].schedule(0, 100_000)
    assert (np.diff(schedule) <= 0).all()


def test_fixed_steps_are_all_equal() -> None:
    assert np.ptp(rule("fixed")[0].schedule(0, 1000)) == 0.0


def test_the_line_search_has_no_schedule() -> None:
    assert rule("line")[0].schedule(0, 10) is None


@pytest.mark.parametrize("name", STEPS)
def test_both_loops_follow_every_rule(name: str) -> None:
    y, X = draw(700, 3, seed=4)
    assert_same_path(*paths(QBR(y, X, 0.3, step=name), 400))


def test_raw_steps_have_unit_one() -> None:
    y = np.array([0.0, 100.0])
    assert step_unit(None, y, np.ones(2), 0.3) == 1.0


def test_raw_fixed_steps_are_nu() -> None:
    y, X = draw(50, 1)
    path = QBR(y, X, 0.3, step="fixed", step_scale=None, nu=0.05, mstop=1).fit().path
    assert path.levels[0] == pytest.approx(0.05 * np.where(y >= path.start, 0.3, -0.7).mean(), rel=1e-12)


def test_range_is_the_papers_half_range() -> None:
    """y mapped to [-1, 1] has range 2: a step there is half the range here."""
    assert step_unit("range", np.array([3.0, 11.0, 5.0]), np.ones(3), 0.3) == 4.0


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("b", [1e-12, 0.37, -0.0 + 5.0, 1e12])
def test_auto_follows_the_units_of_y(tau: float, b: float) -> None:
    y, _ = draw(201, 1)
    w = np.ones(201)
    unit = step_unit("auto", y, w, tau)
    assert unit > 0
    # 1e-9: at |a| = 1000 spreads y keeps 13 of its 16 digits
    assert step_unit("auto", b * y + 1000 * b * np.ptp(y), w, tau) == pytest.approx(b * unit, rel=1e-9)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_auto_with_counts_as_weights_is_that_of_repeated_rows(tau: float) -> None:
    y, _ = draw(60, 1)
    counts = np.random.default_rng(0).integers(1, 5, 60)
    repeated = step_unit("auto", np.repeat(y, counts), np.ones(counts.sum()), tau)
    for scale in (1.0, 0.1, 1e6):
        assert step_unit("auto", y, scale * counts, tau) == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("side", [-1, 1])
def test_auto_has_bounded_influence(tau: float, side: int) -> None:
    """One row of 235 may change the unit by some per cent, however far out it lies."""
    y = qb.datasets.load("engel")["foodexp"].to_numpy()
    w, units = np.ones(len(y)), []
    for spreads in (10, 1e3, 1e6, 1e12):
        wild = y.copy()
        wild[100] += side * spreads * y.std()
        units.append(step_unit("auto", wild, w, tau))
    assert step_unit("auto", y, w, tau) == pytest.approx(units[0], rel=0.2)
    assert units[-1] == pytest.approx(units[1], rel=1e-3)


@pytest.mark.parametrize("name", ["auto", "range"])
def test_unit_is_0_where_y_is_one_value(name: str) -> None:
    assert step_unit(name, np.full(9, 4.0), np.ones(9), 0.3) == 0.0
