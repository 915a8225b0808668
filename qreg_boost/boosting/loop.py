"""The boosting loop for any loss and any learner (Friedman 2001; Zheng 2012, Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qreg_boost.boosting.learners.base import Fitter, Memory, PreparedLearner, Update
from qreg_boost.boosting.losses import Loss
from qreg_boost.boosting.path import BoostPath, converged, perfect, stalled, vanished
from qreg_boost.boosting.steps import StepRule

Ticker = Callable[[int], None]
"""Told the number of iterations done since the last call, for a progress bar."""


@dataclass(frozen=True)
class Task:
    """What a loop works on; rows of weight 0 are not among them.

    Attributes
    ----------
    y : ndarray (n,)
        Responses less any offset.
    weights : ndarray (n,)
        All above 0.
    loss : Loss
    learner : PreparedLearner
    step : StepRule
        Its unit is that of y over that of the negative gradient.
    start : float
        Constant to start from, in units of y.
    rounding : float
        Residuals between -rounding and 0 are 0 but for rounding, and count as positive.
    """

    y: np.ndarray
    weights: np.ndarray
    loss: Loss
    learner: PreparedLearner
    step: StepRule
    start: float
    rounding: float = 0.0


def boost(
    task: Task, count: int, fit: np.ndarray | None = None, memory: Memory | None = None, tick: Ticker | None = None
) -> BoostPath:
    """Return the path of `count` iterations, begun from `fit` (n,) and `memory`, or else from the start.

    In each iteration u is the negative gradient at the fit, the learner is fitted to u by least squares (under weights
    of the iteration's own where the loss has a curvature), and the fit moves along it by the step; a row that an exact
    line search puts on the fit gets a residual of exactly 0.
    """
    y, weights, loss = task.y, task.weights, task.loss
    f = np.full(len(y), task.start) if fit is None else fit.copy()
    memory = task.learner.memory() if memory is None else memory.copy()
    prepared = task.learner.within(memory, task.step.longest_step)
    updates: list[Update] = []
    gammas: list[float] = []
    risks = [loss.risk(y, f, weights)]
    status = "complete"
    for m in range(count):
        u = loss.negative_gradient(y + task.rounding, f)
        if np.abs(u).max(initial=0.0) <= loss.vanishing:
            status = vanished(m)
            break
        curvature = loss.curvature(y, f)
        learner: Fitter = prepared if curvature is None else prepared.reweighted(weights * curvature)
        update = prepared.refit(learner.update(u), task, f)
        step = task.step.at(update, memory, task, f)
        if step.gamma == 0.0:
            status = converged(m) if step.optimum else stalled(m)
            break
        f += step.gamma * update.fitted
        prepared.added(update, step.gamma, memory)
        step.put_on_fit(y, f)
        updates.append(update.bare())
        gammas.append(step.gamma)
        risks.append(loss.risk(y, f, weights))
        task.step.after(update, risks[-2], risks[-1], memory)
        if tick is not None:
            tick(1)
        if step.last:
            status = perfect(m + 1)
            break
    return task.learner.path(task.start, updates, gammas, risks, status, memory)
