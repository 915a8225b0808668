"""The loop for the check loss and `BandedBlocks`: from one iteration to the next only flipped rows change the sums.

As in `signflip`, c = X'Wu changes by the rows whose residual changed sign alone; here a row has a band of values per
block. The selections are those of `loop.boost`, the sums equal to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from qreg_boost.base.views import read_only
from qreg_boost.boosting.banded_kernels import add_all, add_row, choose, direction
from qreg_boost.boosting.learners.bands import BandedBlocks
from qreg_boost.boosting.learners.base import Memory
from qreg_boost.boosting.linear_path import LinearPath
from qreg_boost.boosting.loop import Task, Ticker
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.path import stalled
from qreg_boost.boosting.stepping import adaptive_step, compiled_step, line_step, note_risk, put_on_fit
from qreg_boost.boosting.steps import ADAPTIVE, LINE

CHUNK = 512
"""Iterations between two returns to Python."""
DRIFT = 4
"""Sums are taken anew after this many flips per row."""


class State(NamedTuple):
    """What moves: f (n,), below (n,) = whether f is above y, sums (P,) = X'Wu, and flips since the sums were anew."""

    f: np.ndarray
    below: np.ndarray
    sums: np.ndarray
    flips: np.ndarray


class Record(NamedTuple):
    """What a chunk writes: per iteration the learner, level and risk; slopes one after the other."""

    selected: np.ndarray
    levels: np.ndarray
    slopes: np.ndarray
    risks: np.ndarray


def boost_check_banded(
    task: Task, count: int, fit: np.ndarray | None = None, memory: Memory | None = None, tick: Ticker | None = None
) -> LinearPath:
    """Return the path of `count` iterations for a `CheckLoss` and `BandedBlocks`; see `loop.boost`."""
    learner, loss = task.learner, task.loss
    assert isinstance(learner, BandedBlocks)
    assert isinstance(loss, CheckLoss)
    memory = learner.memory() if memory is None else memory.copy()
    basis, step = learner.within(memory, task.step.longest_step).compiled, compiled_step(task.step, memory)
    y, held = read_only(task.y), learner.held_in(memory)
    f = np.full(len(y), task.start) if fit is None else fit.copy()
    state = State(f, np.empty(len(y), np.bool_), np.empty(len(basis.shift)), np.zeros(1, np.int64))
    risk = _begin(basis, y, task.rounding, loss.tau, state)
    parts = [Record(np.empty(0, np.int32), np.empty(0), np.empty(0), np.array([risk]))]
    done, status = 0, "complete"
    while done < count and status == "complete":
        chunk = min(CHUNK, count - done)
        record = Record(np.empty(chunk, np.int32), np.empty(chunk), np.empty(chunk * basis.largest), np.empty(chunk))
        ran, used = _run(basis, y, task.rounding, loss.tau, state, step, held, float(parts[-1].risks[-1]), record)
        parts.append(
            Record(record.selected[:ran], record.levels[:ran], record.slopes[:used].copy(), record.risks[:ran])
        )
        done += ran
        if ran < chunk:
            status = stalled(done)
            break
        if tick is not None:
            tick(ran)
    selected, levels, slopes, risks = (np.concatenate(part) for part in zip(*parts, strict=True))
    return learner.record(
        start=task.start, selected=selected, levels=levels, slopes=slopes, risks=risks, memory=memory, status=status
    )


@njit(cache=True, nogil=True)
def _begin(basis, y, rounding, tau, state):
    # signs, sums and risk from scratch
    risk, signed = 0.0, np.empty(len(y))
    state.sums[:] = 0.0
    state.flips[0] = 0
    for i in range(len(y)):
        r = y[i] - state.f[i]
        state.below[i] = y[i] + rounding < state.f[i]
        risk += basis.weights[i] * r * (tau - (r < 0.0))
        signed[i] = basis.weights[i] * (tau - state.below[i])
    add_all(basis, signed, state.sums)
    return risk


@njit(cache=True, nogil=True)
def _run(basis, y, rounding, tau, state, step, held, risk, record):
    n = len(y)
    f, below, sums, weights = state.f, state.below, state.sums, basis.weights
    c, b, g = np.empty(len(sums)), np.empty(basis.largest), np.empty(n)
    weight_below, n_below = 0.0, 0
    for i in range(n):
        weight_below += weights[i] * below[i]
        n_below += below[i]
    used = 0
    for m in range(len(record.selected)):
        total_u = tau * basis.total - weight_below
        square = tau**2 * basis.total + (1.0 - 2.0 * tau) * weight_below
        block = choose(basis, sums, total_u, square, c, b)
        level = total_u / basis.total if basis.moves_level else 0.0
        first, size = basis.blocks[block], basis.blocks[block + 1] - basis.blocks[block]
        direction(basis, block, level, b, g)
        row, tiny = -1, 0.0
        if step.kind == LINE:
            gamma, row, tiny = line_step(y, f, g, weights, tau)
        elif step.kind == ADAPTIVE:
            gamma = adaptive_step(step, block, first, b[:size], level, c, basis.spread)
        else:
            gamma = step.first
        if gamma == 0.0:
            return m, used

        record.selected[m], record.levels[m] = block, gamma * level
        record.slopes[used : used + size] = gamma * b[:size]
        if len(held):
            held[first : first + size] += record.slopes[used : used + size]
        used += size
        for i in range(n):
            f[i] += gamma * g[i]
        if row >= 0:
            put_on_fit(row, tiny, y, f)
        before, risk = risk, 0.0
        for i in range(n):
            r = y[i] - f[i]
            risk += weights[i] * r * (tau - (r < 0.0))
            if (y[i] + rounding < f[i]) != below[i]:
                below[i] = not below[i]
                change = weights[i] if below[i] else -weights[i]
                weight_below += change
                n_below += 1 if below[i] else -1
                state.flips[0] += 1
                add_row(basis, i, -change, sums)
        if n_below == 0:
            weight_below = 0.0
        if state.flips[0] > DRIFT * n or n_below == 0 or n_below == n:
            # rows of one sign leave sums that are nearly nil about the centres: rounding must not decide
            _begin(basis, y, rounding, tau, state)
        record.risks[m] = risk
        if step.kind == ADAPTIVE:
            note_risk(step, block, before, risk)
    return len(record.selected), used
