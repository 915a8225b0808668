"""The record of a run: everything at iteration m follows from start, selections and additions."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.boosting.learners import LEARNERS
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.path import BoostPath
from tests.unit.boosting.cases import frame, paths

M = 60


@pytest.fixture(params=[(learner, formula) for learner in LEARNERS for formula in ("y ~ x1 + g + x2", "y ~ 0 + g + x1")])
def model(request) -> QBR:
    learner, formula = request.param
    return QBR.from_formula(formula, frame(90), 0.3, learner=learner)


@pytest.fixture
def path(model: QBR) -> BoostPath:
    return paths(model, M)[1]


def test_coefficients_are_those_at_each_iteration(path: BoostPath) -> None:
    table = path.coefficients(M)
    assert table.shape == (M + 1, 1 + len(path.centre))
    assert table[0].tolist() == [path.start] + [0.0] * len(path.centre)
    for m in range(M + 1):
        np.testing.assert_allclose(table[m], [path.intercept_at(m), *path.slopes_at(m)], rtol=1e-12, atol=1e-14)


def test_fit_is_coefficients_times_columns(model: QBR, path: BoostPath) -> None:
    X = model.design.X
    for m in (0, 1, 17, M):
        fit = path.intercept_at(m) + X @ path.slopes_at(m)
        np.testing.assert_allclose(path.fit_at(m, X), fit, rtol=1e-12, atol=1e-12)
        assert path.risks[m] == pytest.approx(CheckLoss(0.3).risk(model.target, fit, model.weights), rel=1e-12)


def test_only_the_selected_block_moves(path: BoostPath) -> None:
    steps = np.diff(path.coefficients(M), axis=0)[:, 1:]
    for m, learner in enumerate(path.selected):
        block = learner - path.intercept_learner
        mine = np.zeros(len(path.centre), dtype=bool)
        if block >= 0:
            mine[path.blocks[block] : path.blocks[block + 1]] = True
        assert (steps[m, ~mine] == 0).all()


def test_loss_along_other_rows_is_that_of_each_fit(model: QBR, path: BoostPath) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 90, 40)
    X, y, w = model.design.X[rows], rng.normal(size=40), rng.uniform(0.5, 2, 40)
    along = path.risk_along(X, y, w, CheckLoss(0.3))
    direct = [CheckLoss(0.3).risk(y, path.fit_at(m, X), w) / w.sum() for m in range(M + 1)]
    np.testing.assert_allclose(along, direct, rtol=1e-12)


def test_cut_and_joined_is_the_same(path: BoostPath) -> None:
    head = path.up_to(25)
    assert head.length == 25 and len(head.risks) == 26 and head.status == "complete"
    assert path.up_to(M) is path and path.up_to(M + 5) is path
    sizes = path._sizes()[path.selected]
    tail = BoostPath(
        path.names, path.blocks, path.centre, path.intercept_learner, path.start,
        path.selected[25:], path.levels[25:], path.slopes[sizes[:25].sum() :], path.risks[25:], "stalled at iteration 60",
    )  # fmt: skip
    whole = head.followed_by(tail)
    assert whole.status == "stalled at iteration 60"
    for name in ("selected", "levels", "slopes", "risks"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(path, name))


def test_state_holds_everything_and_little(path: BoostPath) -> None:
    meta, arrays = path.state()
    again = BoostPath.from_state(meta, arrays)
    assert arrays["selected"].dtype == np.uint8
    for name in ("names", "intercept_learner", "start", "status"):
        assert getattr(again, name) == getattr(path, name)
    for name in ("blocks", "centre", "selected", "levels", "slopes", "risks"):
        np.testing.assert_array_equal(getattr(again, name), getattr(path, name))


def test_an_empty_path(path: BoostPath) -> None:
    head = path.up_to(0)
    assert head.coefficients(0).shape == (1, 1 + len(path.centre))
    assert head.intercept_at(0) == path.start and (head.slopes_at(0) == 0).all()
    assert (head.fit_at(0, np.ones((3, len(path.centre)))) == path.start).all()
