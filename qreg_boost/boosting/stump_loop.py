"""The fast loop for the check loss and stumps: histograms of the rows below the fit, kept up by sign flips alone.

The negative gradient of the check loss is tau, less 1 for the rows below the fit. So all that a split needs is, for
each column and bin, the weight of the rows below the fit, and from one iteration to the next it changes by the rows
whose residual changed sign. With integer weights these sums are exact. The selections are those of `loop.boost`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from qreg_boost.base.views import read_only
from qreg_boost.boosting.learners.base import NIL, TIE, Memory
from qreg_boost.boosting.learners.splits import LIGHT
from qreg_boost.boosting.learners.tree_learner import PreparedTrees
from qreg_boost.boosting.loop import Task, Ticker, boost
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.stepping import compiled_step, note_risk
from qreg_boost.boosting.steps import ADAPTIVE, LINE
from qreg_boost.boosting.tree_path import Nodes, TreePath

CHUNK = 4096
"""Iterations between two returns to Python."""
DRIFT = 4
"""Sums are taken anew after this many flips per row."""


def runs_here(task: Task) -> bool:
    """Return whether `boost_stumps` runs a task: stumps of numbers, nothing missing, leaves with means, fixed steps."""
    learner = task.learner
    if not (isinstance(learner, PreparedTrees) and type(task.loss) is CheckLoss and task.loss.ties == "lower"):
        return False
    binned = learner.split.binned
    plain = not (binned.missing.any() or binned.unordered.any() or learner.split.monotone.any())
    return plain and learner.depth == 1 and learner.leaf == "mean" and task.step.kind != LINE


def boost_stumps(
    task: Task, count: int, fit: np.ndarray | None = None, memory: Memory | None = None, tick: Ticker | None = None
) -> TreePath:
    """Return the path of `count` iterations of stumps for a `CheckLoss`; see `loop.boost`."""
    learner, loss = task.learner, task.loss
    assert isinstance(learner, PreparedTrees) and isinstance(loss, CheckLoss)
    binned = learner.split.binned
    offsets, n = binned.offsets, len(task.y)
    memory = learner.memory() if memory is None else memory.copy()
    cuts = Cuts(offsets, np.zeros(offsets[-1]), np.zeros(offsets[-1]), learner.split.term)
    weigh_cuts(binned.codes, task.weights, learner.min_rows, cuts)
    rows = Rows(
        read_only(task.y), task.rounding, read_only(task.weights), float(task.weights.sum()), loss.tau, binned.codes,
        np.ascontiguousarray(binned.codes.T),
    )  # fmt: skip
    step = compiled_step(task.step, memory)
    f = np.full(n, task.start) if fit is None else fit.copy()
    moving = Fit(f, np.where(task.y + task.rounding < f, -1.0, 1.0), np.zeros(offsets[-1]), np.zeros(3))
    sum_up(rows, offsets, moving)
    parts = [_record(0)]
    risks = [moving.sums[RISK : RISK + 1].copy()]
    done = 0
    while done < count:
        record = _record(min(CHUNK, count - done))
        ran = run(rows, cuts, moving, step, record)
        parts.append(Record(*(array[:ran] for array in record)))
        risks.append(record.risks[:ran])
        done += ran
        if tick is not None:
            tick(ran)
        if ran < len(record.column):
            break
    whole = Record(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    split = learner.split
    path = TreePath(
        names=learner.names,
        start=task.start,
        selected=split.term[whole.column].astype(np.int32),
        risks=np.concatenate(risks),
        memory=memory,
        nodes=_nodes(whole, split.first, binned.offsets, binned.cuts),
        term=np.repeat(split.term, np.maximum(split.width, 1)).astype(np.int32),
        branches=learner.branches,
    )
    # nothing left to split: the general loop knows what to do then
    if done == count:
        return path
    tail = boost(task, count - done, f, memory, tick)
    assert isinstance(tail, TreePath)
    return path.followed_by(tail)


def _record(m: int) -> Record:
    return Record(np.empty(m, np.int32), np.empty(m, np.int32), np.empty((m, 3)), np.empty(m), np.empty(m))


def _nodes(record: Record, first: np.ndarray, offsets: np.ndarray, cuts: np.ndarray) -> Nodes:
    """Return the nodes of the stumps of a run: of each the root, then its two leaves."""
    m = len(record.column)

    def threes(root: np.ndarray | float, leaves: float, kind: type) -> np.ndarray:
        table: np.ndarray = np.full((m, 3), leaves, dtype=kind)
        table[:, 0] = root
        return table.ravel()

    return Nodes(
        trees=np.arange(0, 3 * m + 1, 3, dtype=np.int64),
        column=threes(first[record.column], -1, np.int32),
        width=np.zeros(3 * m, np.int32),
        cut=threes(cuts[offsets[record.column] + record.cut], np.nan, np.float64),
        levels_at=np.full(3 * m, -1, dtype=np.int64),
        levels=np.empty(0, np.bool_),
        left=threes(1, 0, np.int32),
        right=threes(2, 0, np.int32),
        missing_left=np.zeros(3 * m, np.bool_),
        gain=threes(record.gain, 0.0, np.float64),
        value=record.values.ravel(),
    )


class Rows(NamedTuple):
    """The rows: y (n,), what is rounding in y, weights (n,), their sum, tau; codes by column (p, n), by row (n, p)."""

    y: np.ndarray
    rounding: float
    weights: np.ndarray
    total: float
    tau: float
    by_column: np.ndarray
    by_row: np.ndarray


class Cuts(NamedTuple):
    """What is known beforehand: the cut after bin b of column j stands at ``offsets[j] + b``; j belongs to ``term[j]``.

    weight : (bins,) weight of the rows on its left
    scale : (bins,) total weight over the product of the weights on both sides; 0 where the cut is not allowed
    """

    offsets: np.ndarray
    weight: np.ndarray
    scale: np.ndarray
    term: np.ndarray


class Fit(NamedTuple):
    """What moves: f (n,), sign (n,) = -1 where y is below f, else 1, weight below by bin (bins,), scalars `sums`."""

    f: np.ndarray
    sign: np.ndarray
    below: np.ndarray
    sums: np.ndarray


# positions in `Fit.sums`
WEIGHT_BELOW, RISK, FLIPS = range(3)


class Record(NamedTuple):
    """What a run writes per iteration: column, bin of the cut, values of root, left, right (m, 3), gain, risk."""

    column: np.ndarray
    cut: np.ndarray
    values: np.ndarray
    gain: np.ndarray
    risks: np.ndarray


@njit(cache=True, nogil=True)
def weigh_cuts(codes, weights, least, cuts):
    """Fill `cuts`: weights left of every cut, and which leave `least` rows and some weight on either side."""
    p, n = codes.shape
    total = weights.sum()
    for j in range(p):
        first, last = cuts.offsets[j], cuts.offsets[j + 1]
        weight = np.zeros(last - first)
        count = np.zeros(last - first, np.int64)
        own = codes[j]
        for i in range(n):
            weight[own[i]] += weights[i]
            count[own[i]] += 1
        w, k = 0.0, 0
        for b in range(last - first):
            w += weight[b]
            k += count[b]
            cuts.weight[first + b] = w
            heavy = min(w, total - w) > LIGHT * total
            if heavy and k >= least and n - k >= least and b < last - first - 1:
                cuts.scale[first + b] = total / (w * (total - w))


@njit(cache=True, nogil=True)
def sum_up(rows, offsets, fit):
    """Take all sums anew."""
    fit.below[:] = 0.0
    below, risk = 0.0, 0.0
    p = rows.by_row.shape[1]
    for i in range(len(rows.y)):
        r = rows.y[i] - fit.f[i]
        if fit.sign[i] < 0.0:
            w = rows.weights[i]
            below += w
            risk += w * (rows.tau - 1.0) * r
            codes = rows.by_row[i]
            for j in range(p):
                fit.below[offsets[j] + codes[j]] += w
        else:
            risk += rows.weights[i] * rows.tau * r
    fit.sums[WEIGHT_BELOW] = below
    fit.sums[RISK] = risk
    fit.sums[FLIPS] = 0.0


@njit(cache=True, nogil=True)
def best_cut(rows, cuts, fit, best_of):
    """Return the column and cut that reduce the squared error most, the first of equals; column -1 if none does.

    Also the gain, and the weight of the rows below the fit on its left.
    """
    # sum of w (u - mean u) on the left: tau cancels, so only the weight below matters
    share = fit.sums[WEIGHT_BELOW] / rows.total
    best = 0.0
    for j in range(len(best_of)):
        below, top = 0.0, 0.0
        for b in range(cuts.offsets[j], cuts.offsets[j + 1]):
            below += fit.below[b]
            d = share * cuts.weight[b] - below
            top = max(top, d * d * cuts.scale[b])
        best_of[j] = top
        best = max(best, top)
    squares = rows.tau**2 * rows.total + (1.0 - 2.0 * rows.tau) * fit.sums[WEIGHT_BELOW]
    if best <= NIL * squares:
        return -1, 0, 0.0, 0.0
    floor = best * (1.0 - TIE)
    j = 0
    while best_of[j] < floor:
        j += 1
    below = 0.0
    for b in range(cuts.offsets[j], cuts.offsets[j + 1]):
        below += fit.below[b]
        d = share * cuts.weight[b] - below
        if d * d * cuts.scale[b] >= floor:
            return j, b - cuts.offsets[j], d * d * cuts.scale[b], below
    return -1, 0, 0.0, 0.0


@njit(cache=True, nogil=True)
def move(rows, fit, column, cut, left, right, which):
    """Move every row, write the rows whose sign no longer is that of their residual, and return how many they are."""
    y, f, sign, weights, own = rows.y, fit.f, fit.sign, rows.weights, rows.by_column[column]
    tau, tiny = rows.tau, rows.rounding
    count, risk = 0, 0.0
    for i in range(len(y)):
        moved = f[i] + (left if own[i] <= cut else right)
        f[i] = moved
        r = y[i] - moved
        risk += weights[i] * (tau * r - min(r, 0.0))
        which[count] = i
        count += (r + tiny < 0.0) == (sign[i] > 0.0)
    fit.sums[RISK] = risk
    return count


@njit(cache=True, nogil=True)
def flip(rows, offsets, fit, which, count):
    """Turn the signs of `count` rows, and put right the sums that depend on them."""
    p = rows.by_row.shape[1]
    for k in range(count):
        i = which[k]
        w = rows.weights[i] * fit.sign[i]
        fit.sign[i] = -fit.sign[i]
        fit.sums[WEIGHT_BELOW] += w
        codes = rows.by_row[i]
        for j in range(p):
            fit.below[offsets[j] + codes[j]] += w
    fit.sums[FLIPS] += count


@njit(cache=True, nogil=True)
def adapted(step, learner, column, cut, left, right, weight, cuts, total):
    """Return the step: `steps.Adaptive.at` and `PreparedTrees.turned`, compiled.

    The last stump on the column is remembered by its bin and the values on both sides.
    """
    last = step.last[3 * column : 3 * column + 3]
    if last[1] != 0.0 or last[2] != 0.0:
        before = int(last[0])
        other = cuts.weight[cuts.offsets[column] + before]
        between = left * last[2] * (weight - other) if cut > before else right * last[1] * (other - weight)
        along = min(weight, other) * left * last[1] + between + (total - max(weight, other)) * right * last[2]
        now = weight * left**2 + (total - weight) * right**2
        then = other * last[1] ** 2 + (total - other) * last[2] ** 2
        step.turns[learner] += along < -TIE * np.sqrt(now * then)
    last[0], last[1], last[2] = cut, left, right
    step.chosen[learner] += 1.0
    return step.first * min(step.chosen[learner], step.longest) / np.sqrt(1.0 + step.turns[learner])


@njit(cache=True, nogil=True)
def run(rows, cuts, fit, step, record):
    """Run the iterations of `record`; return how many were made: fewer if no split is left."""
    n, p = rows.by_row.shape
    total = rows.total
    best_of, which = np.empty(p), np.empty(n + 1, np.int64)
    for m in range(len(record.column)):
        column, cut, gain, below = best_cut(rows, cuts, fit, best_of)
        if column < 0:
            return m
        below_all = fit.sums[WEIGHT_BELOW]
        mean = rows.tau - below_all / total
        weight = cuts.weight[cuts.offsets[column] + cut]
        left = rows.tau - below / weight
        right = rows.tau - (below_all - below) / (total - weight)
        gamma = step.first
        if step.kind == ADAPTIVE:
            gamma = adapted(step, cuts.term[column], column, cut, left, right, weight, cuts, total)
        before = fit.sums[RISK]
        record.column[m], record.cut[m], record.gain[m] = column, cut, gain
        record.values[m, 0], record.values[m, 1], record.values[m, 2] = gamma * mean, gamma * left, gamma * right
        count = move(rows, fit, column, cut, gamma * left, gamma * right, which)
        flip(rows, cuts.offsets, fit, which, count)
        if fit.sums[FLIPS] > DRIFT * n:
            sum_up(rows, cuts.offsets, fit)
        record.risks[m] = fit.sums[RISK]
        if step.kind == ADAPTIVE:
            note_risk(step, cuts.term[column], before, fit.sums[RISK])
    return len(record.column)
