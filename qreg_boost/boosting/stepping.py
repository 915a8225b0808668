"""The step rules of `steps`, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from qreg_boost.boosting.learners.base import TIE, Memory
from qreg_boost.boosting.losses import FLAT
from qreg_boost.boosting.steps import Adaptive, StepRule


class Step(NamedTuple):
    """The step rule: its kind and numbers, and the arrays of `Memory`."""

    kind: int
    first: float
    longest: float
    guard: float
    chosen: np.ndarray
    turns: np.ndarray
    last: np.ndarray


def compiled_step(rule: StepRule, memory: Memory) -> Step:
    """Return the rule as compiled loops take it; they write to the arrays of `memory`."""
    longest, guard = (rule.longest, rule.guard) if isinstance(rule, Adaptive) else (1.0, np.inf)
    first = 0.0 if rule.first is None else rule.first
    return Step(rule.kind, first, longest, guard, memory.chosen, memory.turns, memory.last)


@njit(cache=True, nogil=True)
def line_step(y, f, g, weights, tau):
    """Return step, row and rounding: `CheckLoss.line_search`, compiled."""
    slope, size, farthest = 0.0, 0.0, 0.0
    ahead = np.empty(len(y), np.int64)
    count = 0
    for i in range(len(y)):
        r = y[i] - f[i]
        below = r < 0.0 or (r == 0.0 and g[i] > 0.0)
        slope -= weights[i] * g[i] * (tau - below)
        size += weights[i] * abs(g[i])
        farthest = max(farthest, abs(r))
        ahead[count] = i
        count += r * g[i] > 0.0
    if slope >= -FLAT * size or count == 0:
        return 0.0, -1, 0.0
    kinks = np.empty(count)
    for k in range(count):
        kinks[k] = (y[ahead[k]] - f[ahead[k]]) / g[ahead[k]]
    order = np.argsort(kinks, kind="mergesort")
    for k in order:
        slope += weights[ahead[k]] * abs(g[ahead[k]])
        if slope >= -FLAT * size:
            return kinks[k], ahead[k], FLAT * farthest
    return kinks[order[-1]], ahead[order[-1]], FLAT * farthest


@njit(cache=True, nogil=True)
def adaptive_step(step, learner, first, slopes, level, c, spread):
    """Return the step: `steps.Adaptive.at`, compiled."""
    along = level * step.last[-1] if len(slopes) == 0 else 0.0
    now, then = 0.0, 0.0
    for k in range(len(slopes)):
        j = first + k
        along += c[j] * step.last[j]
        if spread[j] > 0.0:
            now += (c[j] / spread[j]) ** 2
            then += (step.last[j] * spread[j]) ** 2
        step.last[first + k] = slopes[k]
    if len(slopes) == 0:
        step.last[-1] = level
    step.chosen[learner] += 1.0
    step.turns[learner] += along < -TIE * np.sqrt(now * then)
    return step.first * min(step.chosen[learner], step.longest) / np.sqrt(1.0 + step.turns[learner])


@njit(cache=True, nogil=True)
def note_risk(step, learner, before, after):
    """Take note of the risk before and after a step: `steps.Adaptive.after`, compiled."""
    if after > (1.0 + step.guard) * before:
        step.turns[learner] = 2.0 * step.turns[learner] + 1.0


@njit(cache=True, nogil=True)
def put_on_fit(row, rounding, y, f):
    """Give the rows that the step put on the fit a residual of exactly 0: `LineStep.put_on_fit`, compiled."""
    f[row] = y[row]
    for i in range(len(y)):
        if abs(y[i] - f[i]) <= rounding:
            f[i] = y[i]
