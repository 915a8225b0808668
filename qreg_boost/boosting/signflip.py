"""The fast loop for the check loss and linear learners: only what changes is computed.

The negative gradient of the check loss takes two values, tau and tau - 1, so c = X'Wu changes from one iteration to the
next only by the rows whose residual changed sign. And a row far from the fit cannot change sign for a while: see
`sleep`. The selections are those of `loop.boost`, the sums equal to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from qreg_boost.base.views import read_only
from qreg_boost.boosting.choosing import choose, compiled_basis, fit_slopes
from qreg_boost.boosting.learners.base import Memory
from qreg_boost.boosting.learners.blocks import LinearBlocks
from qreg_boost.boosting.linear_path import LinearPath
from qreg_boost.boosting.loop import Task, Ticker
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.path import stalled
from qreg_boost.boosting.sleep import N_AWAKE, SLEEPING, SMALL, all_awake, is_over, note, settle, wake
from qreg_boost.boosting.stepping import adaptive_step, compiled_step, line_step, note_risk, put_on_fit
from qreg_boost.boosting.steps import ADAPTIVE, LINE

CHUNK = 4096
"""Iterations between two returns to Python."""
DRIFT = 4
"""Sums are taken anew after this many flips per row."""
BLOCK = 128
"""Rows worked on at a time."""


class Rows(NamedTuple):
    """The rows: y (n,), what is rounding in y, weights (n,) and their sum, X (n, p), tau.

    The columns that were needed so far lie along memory too: column j is ``columns[slots[j]]`` (n,) once slots[j] is
    not negative. They are written through `kept`, the same memory; where X itself lies by columns, they are all there.
    """

    y: np.ndarray
    rounding: float
    weights: np.ndarray
    total: float
    X: np.ndarray
    tau: float
    columns: np.ndarray
    slots: np.ndarray
    kept: np.ndarray


class Fit(NamedTuple):
    """What moves: f (n,), sign (n,) = -1 where f is above y, else 1, c (p,) = X'Wu, and the scalars `sums`."""

    f: np.ndarray
    sign: np.ndarray
    c: np.ndarray
    sums: np.ndarray


# positions in `Fit.sums`
WEIGHT_BELOW, N_BELOW, RISK, RISK_SUMMED, FLIPS = range(5)


class Record(NamedTuple):
    """What a chunk writes: per iteration the learner, level and risk; slopes one after the other."""

    selected: np.ndarray
    levels: np.ndarray
    slopes: np.ndarray
    risks: np.ndarray


def boost_check(
    task: Task, count: int, fit: np.ndarray | None = None, memory: Memory | None = None, tick: Ticker | None = None
) -> LinearPath:
    """Return the path of `count` iterations for a `CheckLoss` and `LinearBlocks`; see `loop.boost`."""
    blocks, loss = task.learner, task.loss
    assert isinstance(blocks, LinearBlocks) and isinstance(loss, CheckLoss)
    n, p = blocks.X.shape
    sizes = np.diff(blocks.blocks)
    memory = blocks.memory() if memory is None else memory.copy()
    rows = Rows(
        read_only(task.y), task.rounding, read_only(task.weights), float(task.weights.sum()),
        read_only(blocks.X), loss.tau, *_columns(blocks),
    )  # fmt: skip
    step = compiled_step(task.step, memory)
    basis = compiled_basis(blocks)
    f = np.full(n, task.start) if fit is None else fit.copy()
    moving = Fit(f, np.where(task.y + task.rounding < f, np.float32(-1.0), np.float32(1.0)), np.zeros(p), np.zeros(5))
    _sum_up(rows, basis, moving)
    parts = [Record(np.empty(0, np.int32), np.empty(0), np.empty(0), moving.sums[RISK : RISK + 1].copy())]
    done, status = 0, "complete"
    while done < count and status == "complete":
        chunk = min(CHUNK, count - done)
        record = Record(
            np.empty(chunk, np.int32), np.empty(chunk), np.empty(chunk * int(sizes.max(initial=1))), np.empty(chunk)
        )
        ran, used = _run(rows, basis, moving, step, record)
        parts.append(
            Record(record.selected[:ran], record.levels[:ran], record.slopes[:used].copy(), record.risks[:ran])
        )
        done += ran
        if ran < chunk:
            status = stalled(done)
        if tick is not None:
            tick(ran)
    selected, levels, slopes, risks = (np.concatenate(part) for part in zip(*parts, strict=True))
    return LinearPath(
        names=blocks.names,
        blocks=blocks.blocks,
        centre=blocks.centre,
        intercept_learner=blocks.intercept_learner,
        start=task.start,
        selected=selected,
        levels=levels,
        slopes=slopes,
        risks=risks,
        memory=memory,
        status=status,
    )


def _columns(blocks: LinearBlocks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # where the columns lie along memory, or will: see Rows
    n, p = blocks.X.shape
    if blocks.by_column is not None:
        return read_only(blocks.by_column), np.arange(p), np.empty((0, 0))
    kept = np.empty((p, n))
    return read_only(kept), np.full(p, -1), kept


@njit(cache=True, nogil=True)
def _sum_up(rows, basis, fit):
    # c = sum_i w_i u_i (x_i - centre) with u = tau - I(sign < 0), and the risk, from scratch
    c, f, sign = fit.c, fit.f, fit.sign
    y, weights, X, centre = rows.y, rows.weights, rows.X, basis.centre
    below, count, risk = 0.0, 0, 0.0
    for j in range(len(c)):
        c[j] = rows.tau * basis.imbalance[j]
    for i in range(len(y)):
        w = weights[i]
        if sign[i] < 0.0:
            below += w
            count += 1
            risk += w * (rows.tau - 1.0) * (y[i] - f[i])
            x = X[i]
            for j in range(len(c)):
                c[j] -= w * (x[j] - centre[j])
        else:
            risk += w * rows.tau * (y[i] - f[i])
    fit.sums[WEIGHT_BELOW] = below
    fit.sums[N_BELOW] = count
    fit.sums[RISK] = risk
    fit.sums[RISK_SUMMED] = risk
    fit.sums[FLIPS] = 0.0


@njit(cache=True, nogil=True)
def _direction(level, slopes, columns, centre, g):
    # g_i = level + slopes' (x_i - centre) on the rows of columns (k, n)
    if len(slopes) == 1:
        x, slope, m = columns[0], slopes[0], centre[0]
        for i in range(len(g)):
            g[i] = level + slope * (x[i] - m)
        return
    g[:] = level
    for k in range(len(slopes)):
        x, slope, m = columns[k], slopes[k], centre[k]
        for i in range(len(g)):
            g[i] += slope * (x[i] - m)


@njit(cache=True, nogil=True)
def _advance(y, rounding, f, sign, gamma, level, slopes, columns, centre, which):
    # moves every row, and writes the rows whose sign no longer is that of their residual; returns how many. Blocks that
    # stay in cache; the product of residual and sign has its sign bit set just where they disagree (0 counts as
    # positive), so bits are or-ed, not compared
    count, n = 0, len(y)
    g = np.empty(BLOCK)
    agreement = np.empty(BLOCK)
    bits = agreement.view(np.int64)
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        block = slice(first, first + size)
        y_block, f_block, sign_block = y[block], f[block], sign[block]
        _direction(level, slopes, columns[:, block], centre, g[:size])
        for i in range(size):
            moved = f_block[i] + gamma * g[i]
            f_block[i] = moved
            agreement[i] = (y_block[i] + rounding - moved) * sign_block[i]
        any_bits = np.int64(0)
        for i in range(size):
            any_bits |= bits[i]
        if any_bits < 0:
            for i in range(size):
                which[count] = first + i
                count += bits[i] < 0
    return count


@njit(cache=True, nogil=True)
def _advance_awake(awake, y, rounding, f, sign, gamma, level, slopes, columns, centre, which):
    # the same for the awake rows alone
    count = 0
    for i in awake:
        g = level
        for k in range(len(slopes)):
            g += slopes[k] * (columns[k, i] - centre[k])
        f[i] += gamma * g
        which[count] = i
        count += (y[i] + rounding < f[i]) == (sign[i] > 0.0)
    return count


@njit(cache=True, nogil=True)
def _flip(which, count, rows, basis, fit, signed):
    # turn the signs of `count` rows, and update what depends on them
    for k in range(count):
        i = which[k]
        w = rows.weights[i]
        fit.sums[RISK] += w * abs(rows.y[i] - fit.f[i])
        signed[k] = -w * fit.sign[i]
        fit.sums[WEIGHT_BELOW] -= signed[k]
        fit.sums[N_BELOW] += fit.sign[i]
        fit.sign[i] = -fit.sign[i]
    fit.sums[FLIPS] += count
    _add_rows(which, count, signed, rows.X, basis.centre, fit.c)
    below = fit.sums[N_BELOW]
    if below == 0.0 or below == len(rows.y):
        # all of one sign: c is known exactly, and nearly nil, so that what rounding left would decide the choice
        fit.sums[WEIGHT_BELOW] = rows.total if below else 0.0
        fit.c[:] = (rows.tau - 1.0 if below else rows.tau) * basis.imbalance


@njit(cache=True, nogil=True)
def _add_rows(which, count, signed, X, centre, c):
    # c += sum_k signed_k (x_k - centre): four rows at a time, along memory
    for k in range(0, count - 3, 4):
        x0, x1, x2, x3 = X[which[k]], X[which[k + 1]], X[which[k + 2]], X[which[k + 3]]
        s0, s1, s2, s3 = signed[k], signed[k + 1], signed[k + 2], signed[k + 3]
        for j in range(len(c)):
            m = centre[j]
            c[j] += (s0 * (x0[j] - m) + s1 * (x1[j] - m)) + (s2 * (x2[j] - m) + s3 * (x3[j] - m))
    for k in range(count - count % 4, count):
        x, s = X[which[k]], signed[k]
        for j in range(len(c)):
            c[j] += s * (x[j] - centre[j])


@njit(cache=True, nogil=True)
def _keep_columns(first, last, rows, used):
    # lay a block's columns along memory, behind the `used` ones that lie there; returns how many do then
    if first == last or rows.slots[first] >= 0:
        return used
    for j in range(first, last):
        rows.slots[j] = used + j - first
        for i in range(len(rows.y)):
            rows.kept[rows.slots[j], i] = rows.X[i, j]
    return used + last - first


@njit(cache=True, nogil=True)
def _run(rows, basis, fit, step, record):
    n, p = rows.X.shape
    y, tiny, f, sign, sums = rows.y, rows.rounding, fit.f, fit.sign, fit.sums
    scores, b = np.empty(len(basis.allowed)), np.empty(len(record.slopes) // len(record.selected))
    which, signed, g = np.empty(n + 1, np.int64), np.empty(n), np.empty(n if step.kind == LINE else 0)
    sleep = all_awake(n, p)
    may_sleep = n >= SMALL and step.kind != LINE
    used, n_kept = 0, int(rows.slots.max()) + 1
    for m in range(len(record.selected)):
        sum_u = rows.tau * rows.total - sums[WEIGHT_BELOW]
        sum_u2 = rows.tau**2 * rows.total + (1.0 - 2.0 * rows.tau) * sums[WEIGHT_BELOW]
        block = choose(fit.c, sum_u, sum_u2, rows.total, basis, scores)
        level = sum_u / rows.total if basis.moves_level or block < 0 else 0.0
        first, last = 0, 0
        if block >= 0:
            first, last = basis.blocks[block], basis.blocks[block + 1]
            fit_slopes(fit.c, block, basis, b)
            n_kept = _keep_columns(first, last, rows, n_kept)
        at = rows.slots[first] if last > first else 0
        columns, centre, slopes = rows.columns[at : at + last - first], basis.centre[first:last], b[: last - first]

        learner, row, rounding = block + basis.intercept_learner, -1, 0.0
        if step.kind == LINE:
            _direction(level, slopes, columns, centre, g)
            gamma, row, rounding = line_step(y, f, g, rows.weights, rows.tau)
        elif step.kind == ADAPTIVE:
            gamma = adaptive_step(step, learner, first, slopes, level, fit.c, basis.spread)
        else:
            gamma = step.first
        if gamma == 0.0:
            return m, used

        steepness = level * sum_u
        for k in range(len(slopes)):
            steepness += slopes[k] * fit.c[first + k]
            record.slopes[used + k] = gamma * slopes[k]
        record.selected[m] = learner
        record.levels[m] = gamma * level
        before = sums[RISK]
        sums[RISK] -= gamma * steepness  # as long as no row changes sign; those that do are put right by _flip

        stale = sums[FLIPS] > DRIFT * n or sums[RISK] < 0.01 * sums[RISK_SUMMED]
        note(sleep, basis.spread, first, record.slopes[used : used + len(slopes)], record.levels[m])
        used += len(slopes)
        asleep = sleep.now[SLEEPING] == 1.0
        over = is_over(sleep.now) or (asleep and (stale or m + 1 == len(record.selected)))
        if asleep:
            awake = sleep.awake[: int(sleep.now[N_AWAKE])]
            flips = _advance_awake(awake, y, tiny, f, sign, gamma, level, slopes, columns, centre, which)
            if over:
                wake(f, rows.columns, rows.slots, basis.centre, sleep)
        else:
            flips = _advance(y, tiny, f, sign, gamma, level, slopes, columns, centre, which)
            if row >= 0:
                put_on_fit(row, rounding, y, f)
        if row >= 0 or (asleep and over):
            flips = _advance(y, tiny, f, sign, 0.0, 0.0, slopes[:0], columns[:0], centre[:0], which)
        _flip(which, flips, rows, basis, fit, signed)
        if stale and (over or not asleep):
            _sum_up(rows, basis, fit)
        record.risks[m] = sums[RISK]
        if step.kind == ADAPTIVE:
            note_risk(step, learner, before, sums[RISK])
        if may_sleep and over:
            settle(y, tiny, f, rows.X, basis.centre, basis.spread, sleep)
    return len(record.selected), used
