"""The general loop, step by step as in Fig. 2 of Zheng (2012)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from qreg_boost.boosting.loop import Task, boost
from qreg_boost.boosting.losses import CheckLoss, LineStep
from qreg_boost.boosting.model import QBR
from tests.unit.boosting.cases import LOOPS, draw


def written_out(y, X, tau: float, nu: float, start: float, stop: int):
    """Return selections and fits of QBR, one simple regression per column, as a reader of the paper would write it."""
    f, selected, fits = np.full(len(y), start), [], []
    for _ in range(stop):
        u = np.where(y - f >= 0, tau, tau - 1)
        candidates = [np.column_stack((np.ones(len(y)), x)) for x in X.T]
        fitted = [A @ np.linalg.lstsq(A, u, rcond=None)[0] for A in candidates]
        best = int(np.argmin([((u - g) ** 2).sum() for g in fitted]))
        f = f + nu * fitted[best]
        selected.append(best)
        fits.append(f)
    return selected, fits


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.75])
def test_the_paper_written_out(loop: str, tau: float) -> None:
    y, X = draw(60, 4, seed=5)
    model = QBR(y, X, tau, step="fixed", step_scale=None, init="median", nu=0.2)
    path = LOOPS[loop](model.task(model.weights), 60)
    selected, fits = written_out(y, X, tau, 0.2, float(np.median(y)), 60)
    assert path.selected.tolist() == selected
    for m in (1, 2, 30, 60):
        np.testing.assert_allclose(path.fit_at(m, X), fits[m - 1], atol=1e-11)
        assert path.risks[m] == pytest.approx(CheckLoss(tau).risk(y, fits[m - 1], np.ones(60)), rel=1e-11)


@pytest.mark.parametrize("loop", LOOPS)
def test_no_iterations(loop: str) -> None:
    y, X = draw(30, 2)
    model = QBR(y, X, 0.3)
    path = LOOPS[loop](model.task(model.weights), 0)
    assert path.length == 0 and path.status == "complete" and len(path.risks) == 1
    assert path.level_at(0) == path.start


@pytest.mark.parametrize("loop", LOOPS)
def test_the_caller_keeps_the_fit_it_hands_in(loop: str) -> None:
    y, X = draw(30, 2)
    model = QBR(y, X, 0.3)
    fit = np.full(30, 1.0)
    LOOPS[loop](model.task(model.weights), 10, fit=fit)
    assert (fit == 1.0).all()


@pytest.mark.parametrize("loop", LOOPS)
def test_ticks_add_up_to_the_iterations(loop: str) -> None:
    y, X = draw(30, 2)
    model = QBR(y, X, 0.3)
    ticks: list[int] = []
    LOOPS[loop](model.task(model.weights), 5000, tick=ticks.append)
    assert sum(ticks) == 5000


@dataclass(frozen=True)
class Squared:
    """A loss that the package does not ship."""

    def risk(self, y, f, weights) -> float:
        return float(0.5 * weights @ (y - f) ** 2)

    vanishing = 0.0

    def curvature(self, y, f) -> None:
        return None

    def constant(self, y, weights) -> float:
        return float(np.average(y, weights=weights))

    def negative_gradient(self, y, f):
        return y - f

    def line_search(self, y, f, g, weights) -> LineStep:
        return LineStep(float((weights * g) @ (y - f) / (weights * g @ g)), -1)


@pytest.mark.parametrize("step", ["fixed", "line"])
def test_the_loop_takes_any_loss(step: str) -> None:
    """Boosting of squared error by one-column regressions tends to the least-squares fit."""
    y, X = draw(50, 3)
    model = QBR(y, X, 0.5, step=step, step_scale=None, nu=0.5)
    task = model.task(model.weights)
    path = boost(Task(task.y, task.weights, Squared(), task.learner, task.step, task.start), 400)
    exact = np.linalg.lstsq(np.column_stack((np.ones(50), X)), y, rcond=None)[0]
    np.testing.assert_allclose([path.intercept_at(400), *path.slopes_at(400)], exact, rtol=1e-6)


@pytest.mark.parametrize("loop", LOOPS)
def test_line_search_puts_a_row_on_the_fit_and_stalls_in_a_kink(loop: str) -> None:
    y, X = draw(80, 3, seed=2)
    model = QBR(y, X, 0.5, step="line")
    path = LOOPS[loop](model.task(model.weights), 5000)
    assert path.length < 5000 and path.status == f"stalled at iteration {path.length}"
    assert (np.diff(path.risks) <= 1e-12 * path.risks[0]).all()
    assert len(path.risks) == path.length + 1
    assert np.abs(y - path.fit_at(path.length, X)).min() < 1e-12 * np.ptp(y)


@pytest.mark.parametrize("loop", LOOPS)
def test_line_search_never_moves_where_all_residuals_are_zero(loop: str) -> None:
    """Two values of y, most rows at the lower one, the quantile: Zheng's step is 0 at once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 36, 5.0, 6.0)
    model = QBR(y, X, 0.5, step="line")
    path = LOOPS[loop](model.task(model.weights), 10)
    assert path.status == "stalled at iteration 0" and path.length == 0
