"""The record of a run: everything at iteration m follows from start, selections and additions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qreg_boost.boosting.linear_path import LinearPath
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.path import stalled
from qreg_boost.boosting.signflip import boost_check
from tests.unit.boosting.cases import LINEAR, frame, paths

M = 60


@pytest.fixture(params=[(learner, formula) for learner in LINEAR for formula in ("y ~ x1 + g + x2", "y ~ 0 + g + x1")])
def model(request) -> QBR:
    learner, formula = request.param
    return QBR.from_formula(formula, frame(90), 0.3, learner=learner)


@pytest.fixture
def path(model: QBR) -> LinearPath:
    return paths(model, M)[1]


def test_coefficients_are_those_at_each_iteration(path: LinearPath) -> None:
    table = path.coefficients(M)
    assert table.shape == (M + 1, 1 + len(path.centre))
    assert table[0].tolist() == [path.start] + [0.0] * len(path.centre)
    for m in range(M + 1):
        np.testing.assert_allclose(table[m], [path.intercept_at(m), *path.slopes_at(m)], rtol=1e-12, atol=1e-14)


def test_fit_is_coefficients_times_columns(model: QBR, path: LinearPath) -> None:
    X = model.design.X
    for m in (0, 1, 17, M):
        fit = path.intercept_at(m) + X @ path.slopes_at(m)
        np.testing.assert_allclose(path.fit_at(m, X), fit, rtol=1e-12, atol=1e-12)
        assert path.risks[m] == pytest.approx(CheckLoss(0.3).risk(model.target, fit, model.weights), rel=1e-12)


def test_only_the_selected_block_moves(path: LinearPath) -> None:
    steps = np.diff(path.coefficients(M), axis=0)[:, 1:]
    for m, learner in enumerate(path.selected):
        block = learner - path.intercept_learner
        mine = np.zeros(len(path.centre), dtype=bool)
        if block >= 0:
            mine[path.blocks[block] : path.blocks[block + 1]] = True
        assert (steps[m, ~mine] == 0).all()


def test_loss_along_other_rows_is_that_of_each_fit(model: QBR, path: LinearPath) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 90, 40)
    X, y, w = model.design.X[rows], rng.normal(size=40), rng.uniform(0.5, 2, 40)
    along = path.risk_along(X, y, w, CheckLoss(0.3))
    direct = [CheckLoss(0.3).risk(y, path.fit_at(m, X), w) / w.sum() for m in range(M + 1)]
    np.testing.assert_allclose(along, direct, rtol=1e-12)


@pytest.mark.parametrize("first", [0, 1, 25])
def test_a_path_continued_is_the_longer_path(model: QBR, path: LinearPath, first: int) -> None:
    task = model.task(model.weights)
    head = boost_check(task, first)
    before = [array.copy() for array in (head.memory.chosen, head.memory.turns, head.memory.last)]
    tail = boost_check(task, M - first, fit=head.fit_at(first, model.design.X), memory=head.memory)
    whole = head.followed_by(tail)
    assert (whole.length, head.length) == (M, first)
    np.testing.assert_array_equal(whole.selected, path.selected)
    for name in ("levels", "slopes", "risks"):
        np.testing.assert_allclose(getattr(whole, name), getattr(path, name), rtol=1e-10, atol=1e-12)
    for name, kept in zip(("chosen", "turns", "last"), before, strict=True):
        np.testing.assert_array_equal(getattr(head.memory, name), kept)
        np.testing.assert_allclose(getattr(whole.memory, name), getattr(path.memory, name), rtol=1e-10, atol=1e-12)


def test_a_tail_that_stalls_is_counted_from_the_start(path: LinearPath) -> None:
    tail = replace(path, status=stalled(M))
    assert path.followed_by(tail).status == stalled(2 * M)
    assert path.followed_by(replace(path, status="complete")).status == "complete"


def test_state_holds_everything_and_little(path: LinearPath) -> None:
    meta, arrays = path.state()
    again = LinearPath.from_state(meta, arrays)
    assert arrays["selected"].dtype == np.uint8
    for name in ("names", "intercept_learner", "start", "status"):
        assert getattr(again, name) == getattr(path, name)
    for name in ("blocks", "centre", "selected", "levels", "slopes", "risks"):
        np.testing.assert_array_equal(getattr(again, name), getattr(path, name))
    for name in ("chosen", "turns", "last"):
        np.testing.assert_array_equal(getattr(again.memory, name), getattr(path.memory, name))


def test_an_empty_path(model: QBR) -> None:
    path = paths(model, 0)[1]
    assert path.coefficients(0).shape == (1, 1 + len(path.centre))
    assert path.intercept_at(0) == path.start and (path.slopes_at(0) == 0).all()
    assert (path.fit_at(0, np.ones((3, len(path.centre)))) == path.start).all()
