"""Compiled pivots of the parametric simplex method; `parametric` says what problem they solve and holds their state.

A row is above the fit (side 1), below it (-1) or basic (0). Ties are broken as if every row had been moved by an
infinitely small amount of its own: next to each residual r the second level s of that move is kept, and rows compare by
(r, s) (the lexicographic rule of Dantzig, Orden & Wolfe 1955). Steps are then positive on one level or the other, so
that no basis comes back.

References
----------
Dantzig, G. B., Orden, A. and Wolfe, P. (1955). The generalized simplex method for minimizing a linear form under linear
inequality restraints. Pacific Journal of Mathematics 5, 183-195.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from qreg_boost.quantreg.selection import weighted_select

DONE, MORE, STUCK = 0, 1, 2
"""How a walk ended: at its end, for a fresh start of the sums, or on an edge without a next vertex."""
_EPS = 2.220446049250313e-16


class Rows(NamedTuple):
    """What does not change: N = n + m rows, the last m being single coefficients, and bounds linear in theta.

    columns (k, n): the design transposed; single (m,) int: positions of coefficients; low0, low1, high0, high1 (N,):
    a row's multiplier lies in [low0 + theta low1, high0 + theta high1]; c (N,): responses, 0 for single coefficients.
    """

    columns: np.ndarray
    single: np.ndarray
    low0: np.ndarray
    low1: np.ndarray
    high0: np.ndarray
    high1: np.ndarray
    c: np.ndarray


class State(NamedTuple):
    """What changes.

    basis (k,); inverse (k, k), whose ROW j is column j of the inverse of the basic rows; side (N,); r, s (N,) residuals
    on both levels; shift (N,) the second level of c; tol (N,) rounding of r; sum0, sum1 (k,) the sums of multipliers
    times rows over the non-basic rows, parts at theta^0 and theta^1; size0, size1 (k,) the sizes of their terms;
    move (N,) and work (N,) for use within a pivot.
    """

    basis: np.ndarray
    inverse: np.ndarray
    side: np.ndarray
    r: np.ndarray
    s: np.ndarray
    shift: np.ndarray
    tol: np.ndarray
    sum0: np.ndarray
    sum1: np.ndarray
    size0: np.ndarray
    size1: np.ndarray
    move: np.ndarray
    work: np.ndarray


class Log(NamedTuple):
    """One entry per pivot of a walk.

    theta; whether the fit moved; whether the vertex left was one of several optima; and of the new vertex coefficients,
    basis, and objective value0 + theta value1.
    """

    theta: np.ndarray
    moved: np.ndarray
    open: np.ndarray
    g: np.ndarray
    basis: np.ndarray
    value0: np.ndarray
    value1: np.ndarray


@njit(cache=True, nogil=True)
def _dot(rows, i, v):
    n = rows.columns.shape[1]
    if i >= n:
        return v[rows.single[i - n]]
    total = 0.0
    for q in range(len(v)):
        if v[q] != 0.0:
            total += rows.columns[q, i] * v[q]
    return total


@njit(cache=True, nogil=True)
def _count(rows, state, i, side, times):
    """Add `times` the multiplier bound of row i on a side to the sums."""
    b0, b1 = (rows.high0[i], rows.high1[i]) if side > 0 else (rows.low0[i], rows.low1[i])
    n = rows.columns.shape[1]
    if i >= n:
        state.sum0[rows.single[i - n]] += times * b0
        state.sum1[rows.single[i - n]] += times * b1
        return
    for q in range(len(state.sum0)):
        state.sum0[q] += times * b0 * rows.columns[q, i]
        state.sum1[q] += times * b1 * rows.columns[q, i]


@njit(cache=True, nogil=True)
def _multiplier(state, j):
    """Return the multiplier p0 + theta p1 of basic row j and the size of the rounding of p0 and of p1."""
    p0, p1, e0, e1 = 0.0, 0.0, 0.0, 0.0
    for q in range(len(state.sum0)):
        v = state.inverse[j, q]
        if v != 0.0:
            p0 -= v * state.sum0[q]
            p1 -= v * state.sum1[q]
            e0 += abs(v) * state.size0[q]
            e1 += abs(v) * state.size1[q]
    return p0, p1, _EPS * e0, _EPS * e1


@njit(cache=True, nogil=True)
def _edge(rows, state, j, up):
    """Set `move` to the change of each residual per unit of basic residual j; return the length of the direction."""
    n = rows.columns.shape[1]
    state.move[:] = 0.0
    square = 0.0
    for q in range(len(state.basis)):
        v = up * state.inverse[j, q]
        if v != 0.0:
            square += v * v
            column = rows.columns[q]
            for i in range(n):
                state.move[i] += v * column[i]
    for m in range(len(rows.single)):
        state.move[n + m] = up * state.inverse[j, rows.single[m]]
    return np.sqrt(square)


@njit(cache=True, nogil=True)
def _ratio(state, i, toward):
    return max(state.side[i] * state.r[i] / toward, 0.0)


@njit(cache=True, nogil=True)
def _ties(state, i, toward, step, blur):
    """Return whether row i reaches 0 at `step` but for rounding, its own and that of the step."""
    off = state.side[i] * state.r[i] - step * toward
    return abs(off) <= state.tol[i] and abs(off) <= blur * toward


@njit(cache=True, nogil=True)
def _first_hit(state, least):
    """Return the row that reaches 0 first along the edge and the step on both levels; -1 if none does."""
    # The rarer condition first: a processor guesses it right.
    first, blur = np.inf, 0.0
    for i in range(len(state.r)):
        toward = -state.side[i] * state.move[i]
        if state.side[i] * state.r[i] < first * toward and toward > least:
            first, blur = _ratio(state, i, toward), state.tol[i] / toward
    row, step, second = -1, 0.0, np.inf
    if first == np.inf:
        return row, step, second
    for i in range(len(state.r)):
        toward = -state.side[i] * state.move[i]
        if _ties(state, i, toward, first, blur) and toward > least:
            t = state.side[i] * state.s[i] / toward
            if t < second:
                row, second, step = i, t, _ratio(state, i, toward)
    return row, (0.0 if first == 0.0 else step), second


@njit(cache=True, nogil=True)
def _best_hit(rows, state, theta, gain, least):
    """Return the row at which the loss stops falling along the edge, and the step; rows passed change side.

    The loss falls at the rate `gain`; a row that changes sides takes its width of bounds times its move from it
    (Barrodale & Roberts 1973). -1 if no row is hit.
    """
    rate, count = state.work, 0
    ratios, weights = np.empty(len(rate)), np.empty(len(rate))
    for i in range(len(state.r)):
        toward = -state.side[i] * state.move[i]
        if toward > least:
            width = rows.high0[i] - rows.low0[i] + theta * (rows.high1[i] - rows.low1[i])
            rate[i] = max(width, 0.0) * toward
            ratios[count], weights[count] = _ratio(state, i, toward), rate[i]
            count += 1
    if count == 0:
        return -1, 0.0, 0.0
    step, blur = weighted_select(ratios[:count], weights[:count], gain), np.inf
    for i in range(len(state.r)):
        toward = -state.side[i] * state.move[i]
        if toward > least and _ratio(state, i, toward) == step:
            blur = min(blur, state.tol[i] / toward)
    for i in range(len(state.r)):
        toward = -state.side[i] * state.move[i]
        if toward > least and _ratio(state, i, toward) < step and not _ties(state, i, toward, step, blur):
            _flip(rows, state, i)
            gain -= rate[i]
    while True:
        row, second, count = -1, np.inf, 0
        for i in range(len(state.r)):
            toward = -state.side[i] * state.move[i]
            if toward > least and _ties(state, i, toward, step, blur):
                count += 1
                if state.side[i] * state.s[i] / toward < second:
                    row, second = i, state.side[i] * state.s[i] / toward
        if count <= 1 or rate[row] >= gain:
            return row, step, second
        gain -= rate[row]
        _flip(rows, state, row)


@njit(cache=True, nogil=True)
def _flip(rows, state, i):
    """Let a row change sides."""
    _count(rows, state, i, state.side[i], -1.0)
    state.side[i] = -state.side[i]
    _count(rows, state, i, state.side[i], 1.0)


@njit(cache=True, nogil=True)
def settle(state):
    """Set residuals within rounding to 0 on the first level, and their second level to their side of 0."""
    for i in range(len(state.r)):
        if abs(state.r[i]) <= state.tol[i]:
            state.r[i] = 0.0
            if state.side[i] * state.s[i] < 0.0:
                # The shift of a row is as good with one sign as with the other.
                state.shift[i] -= 2.0 * state.s[i]
                state.s[i] = -state.s[i]
    for i in state.basis:
        state.r[i] = state.s[i] = 0.0


@njit(cache=True, nogil=True)
def _pivot(rows, state, j, up, row, step, second):
    """Let basic row j leave upwards or downwards, and `row` take its place after a step along the edge."""
    k = len(state.basis)
    leaving = state.basis[j]
    if step != 0.0:
        state.r[:] += step * state.move
    state.s[:] += second * state.move
    _count(rows, state, row, state.side[row], -1.0)
    state.basis[j] = row
    state.side[row] = 0
    state.side[leaving] = up
    state.r[leaving], state.s[leaving] = up * step, up * second
    _count(rows, state, leaving, up, 1.0)
    factors = state.work[:k] if k <= len(state.work) else np.empty(k)
    for q in range(k):
        factors[q] = _dot(rows, row, state.inverse[q])
    new = state.inverse[j]
    head = factors[j]
    for q in range(k):
        new[q] /= head
    for q in range(k):
        if q != j and factors[q] != 0.0:
            for p in range(k):
                state.inverse[q, p] -= factors[q] * new[p]
    settle(state)


@njit(cache=True, nogil=True)
def descend(rows, state, theta, most):
    """Take up to `most` simplex steps at a fixed theta; return their number and how it ended."""
    k = len(state.basis)
    for count in range(most):
        leave, up, gain, best = -1, 0, 0.0, 0.0
        for j in range(k):
            p0, p1, e0, e1 = _multiplier(state, j)
            i = state.basis[j]
            value, error = p0 + theta * p1, 16.0 * (e0 + abs(theta) * e1)
            over = value - rows.high0[i] - theta * rows.high1[i]
            under = rows.low0[i] + theta * rows.low1[i] - value
            beyond = max(over, under)
            if beyond > error:
                length = 0.0
                for q in range(k):
                    length += state.inverse[j, q] * state.inverse[j, q]
                if beyond * beyond > best * length:
                    leave, up, gain, best = j, 1 if over > under else -1, beyond, beyond * beyond / length
        if leave < 0:
            return count, DONE
        length = _edge(rows, state, leave, up)
        row, step, second = _best_hit(rows, state, theta, gain, 1e-11 * length)
        if row < 0:
            return count, STUCK
        _pivot(rows, state, leave, up, row, step, second)
    return most, MORE


@njit(cache=True, nogil=True)
def _first_out(rows, state, theta, sign):
    """Return which basic row's multiplier leaves its bounds first as theta moves, on which side, after how much.

    Last, whether one stays at a bound for a while: then the optimum is not unique.
    """
    leave, up, first, fastest, is_open = -1, 0, np.inf, 0.0, False
    for j in range(len(state.basis)):
        p0, p1, e0, e1 = _multiplier(state, j)
        i = state.basis[j]
        error = 16.0 * e0 + 64.0 * abs(theta) * e1
        for to in (1, -1):
            b0, b1 = (rows.high0[i], rows.high1[i]) if to > 0 else (rows.low0[i], rows.low1[i])
            room = to * (b0 - p0 + theta * (b1 - p1))
            rate = to * sign * (p1 - b1)
            if abs(rate) <= 64.0 * e1 + 8.0 * _EPS * abs(b1):
                is_open = is_open or room <= error
                continue
            if rate < 0.0:
                continue
            after, blur = max(room, 0.0) / rate, error / rate
            # Of several at once the fastest, of equally fast ones the first row.
            if after < first - blur or (
                after <= first + blur
                and (rate > fastest * (1.0 + 1e-8) or (rate > fastest * (1.0 - 1e-8) and i < state.basis[leave]))
            ):
                leave, up, first, fastest = j, to, min(after, first), rate
    return leave, up, first, is_open


@njit(cache=True, nogil=True)
def coefficients(rows, state):
    """Return the coefficients (k,) of the vertex, refined once."""
    k = len(state.basis)
    g, lack = np.zeros(k), np.empty(k)
    for _ in range(2):
        for j in range(k):
            i = state.basis[j]
            lack[j] = rows.c[i] - _dot(rows, i, g)
        for j in range(k):
            if lack[j] != 0.0:
                for q in range(k):
                    g[q] += lack[j] * state.inverse[j, q]
    n = rows.columns.shape[1]
    for m in range(len(rows.single)):
        if state.r[n + m] == 0.0:
            g[rows.single[m]] = 0.0
    return g


@njit(cache=True, nogil=True)
def walk(rows, state, log, theta, end, nil):
    """Follow the optimum as theta moves to `end`, until the log is full; return pivots made, theta and how it ended."""
    sign = 1.0 if end > theta else -1.0
    most = len(log.theta)
    for count in range(most):
        leave, up, after, log.open[count] = _first_out(rows, state, theta, sign)
        if leave < 0 or sign * (end - theta) - after <= nil:
            return count, theta, DONE
        theta += sign * after
        length = _edge(rows, state, leave, up)
        row, step, second = _first_hit(state, 1e-11 * length)
        if row < 0:
            return count, theta, STUCK
        _pivot(rows, state, leave, up, row, step, second)
        log.theta[count] = theta
        log.moved[count] = step > 0.0
        log.g[count] = coefficients(rows, state)
        log.basis[count] = state.basis
        value0, value1 = 0.0, 0.0
        for i in range(len(state.r)):
            up = state.side[i] > 0
            value0 += state.r[i] * (rows.high0[i] if up else rows.low0[i])
            value1 += state.r[i] * (rows.high1[i] if up else rows.low1[i])
        log.value0[count], log.value1[count] = value0, value1
    return most, theta, MORE
