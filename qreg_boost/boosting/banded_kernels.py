"""Which block of `BandedBlocks` an iteration takes, and its slopes, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from qreg_boost.base.views import read_only
from qreg_boost.boosting.learners.bands import BandedBlocks
from qreg_boost.boosting.learners.base import NIL, TIE


class Compiled(NamedTuple):
    """The arrays of `BandedBlocks` and its bands; `total` is the sum of the weights, `largest` the largest block."""

    values: np.ndarray
    cells: np.ndarray
    at: np.ndarray
    blocks: np.ndarray
    weights: np.ndarray
    total: float
    shift: np.ndarray
    spread: np.ndarray
    allowed: np.ndarray
    factor_at: np.ndarray
    slope: np.ndarray
    score: np.ndarray
    gram: np.ndarray
    system: np.ndarray
    held: np.ndarray
    longest: float
    monotone: np.ndarray
    moves_level: bool
    largest: int


BANDS = ("values", "cells", "at", "blocks")
TABLES = ("weights", "shift", "spread", "allowed", "factor_at", "slope", "score", "gram", "system", "held")


def compiled_bands(learner: BandedBlocks) -> Compiled:
    """Return the learners as compiled loops take them."""
    bands = learner.bands
    arrays: dict[str, Any] = {}
    for owner, names in ((bands, BANDS), (learner, TABLES)):
        arrays |= {name: read_only(getattr(owner, name)) for name in names}
    return Compiled(
        **arrays,
        total=float(learner.weights.sum()),
        longest=float(learner.longest),
        monotone=read_only(np.array([part.monotone for part in bands.parts], dtype=np.int64)),
        moves_level=bool(learner.moves_level),
        largest=int(np.diff(bands.blocks).max(initial=0)),
    )


def best_fit(basis: Compiled, u: np.ndarray) -> tuple[int, float, np.ndarray, np.ndarray, np.ndarray]:
    """Return block, level, slopes (m,), gradient (m,) and fitted values (n,) of the best fit to u (n,)."""
    block, level, slopes, c, fitted = _best_fit(basis, read_only(u))
    first, last = basis.blocks[block], basis.blocks[block + 1]
    return int(block), float(level), slopes[: last - first], c[first:last].copy(), fitted


@njit(cache=True, nogil=True)
def _best_fit(basis, u):
    wu = basis.weights * u
    sums, c, fitted = np.zeros(len(basis.shift)), np.empty(len(basis.shift)), np.empty(len(u))
    add_all(basis, wu, sums)
    total_u, square = 0.0, 0.0
    for i in range(len(u)):
        total_u += wu[i]
        square += wu[i] * u[i]
    slopes = np.empty(basis.largest)
    block = choose(basis, sums, total_u, square, c, slopes)
    level = total_u / basis.total if basis.moves_level else 0.0
    direction(basis, block, level, slopes, fitted)
    return block, level, slopes, c, fitted


@njit(cache=True, nogil=True)
def add_all(basis, signed, sums):
    """Add sum_i signed_i x_i over all rows to the sums (P,) of all columns."""
    n = len(signed)
    for k in range(len(basis.cells)):
        cells, band, place = basis.cells[k], basis.at[k + 1] - basis.at[k], basis.blocks[k]
        values = basis.values[n * basis.at[k] : n * basis.at[k + 1]].reshape(n, band)
        for i in range(n):
            for q in range(band):
                sums[place + cells[i] + q] += signed[i] * values[i, q]


@njit(cache=True, nogil=True)
def add_row(basis, i, signed, sums):
    """Add a multiple of row i to the sums (P,) of all columns."""
    n = len(basis.weights)
    for k in range(len(basis.cells)):
        band, place = basis.at[k + 1] - basis.at[k], basis.blocks[k] + basis.cells[k, i]
        first = n * basis.at[k] + i * band
        for q in range(band):
            sums[place + q] += signed * basis.values[first + q]


@njit(cache=True, nogil=True)
def choose(basis, sums, total_u, square, c, slopes):
    """Return the block that leaves the least squared error, the first of equals; writes c (P,) and its slopes."""
    for j in range(len(c)):
        c[j] = sums[j] - total_u * basis.shift[j]
    count = len(basis.allowed)
    scores, best = np.full(count, -1.0), -1.0
    own = np.empty(basis.largest)
    for k in range(count):
        if basis.allowed[k]:
            scores[k] = _score(basis, k, c, own)
            best = max(best, scores[k])
    if best <= NIL * square:
        c[:] = 0.0
        best = 0.0
        for k in range(count):
            scores[k] = min(scores[k], 0.0)
    block = 0
    while not (basis.allowed[block] and scores[block] >= best * (1.0 - TIE)):
        block += 1
    _fit(basis, block, c, slopes)
    return block


@njit(cache=True, nogil=True)
def _score(basis, k, c, own):
    first, size = basis.blocks[k], basis.blocks[k + 1] - basis.blocks[k]
    start, total = basis.factor_at[k], 0.0
    if basis.monotone[k]:
        _fit(basis, k, c, own)
        for a in range(size):
            part = 0.0
            for b in range(size):
                part += basis.gram[start + a * size + b] * own[b]
            total += own[a] * (2.0 * c[first + a] - part)
        return total
    own[:size] = 0.0
    for b in range(size):
        for a in range(size):
            own[a] += basis.score[start + b * size + a] * c[first + b]
    for a in range(size):
        total += own[a] * own[a]
    return total


@njit(cache=True, nogil=True)
def _fit(basis, k, c, slopes):
    # the slopes of block k
    first, size = basis.blocks[k], basis.blocks[k + 1] - basis.blocks[k]
    start = basis.factor_at[k]
    if basis.monotone[k]:
        _monotone_fit(basis, k, c, slopes)
        return
    factor = basis.slope[start : start + size * size].reshape(size, size)
    slopes[:size] = 0.0
    for a in range(size):
        part = 0.0
        for b in range(size):
            part += factor[b, a] * c[first + b]
        for b in range(size):
            slopes[b] += factor[b, a] * part


@njit(cache=True, nogil=True)
def _monotone_fit(basis, k, c, slopes):
    # least (b - b*)'(G + penalty)(b - b*) over increments d, b_j = sign (d_1 + ... + d_j), that leave those of the run
    # so far at 0 or above after the longest step: d = e - floor with e >= 0
    first, size, sign = basis.blocks[k], basis.blocks[k + 1] - basis.blocks[k], float(basis.monotone[k])
    start = basis.factor_at[k]
    system = basis.system[start : start + size * size].reshape(size, size)
    target = np.empty(size - 1)
    above = 0.0
    for j in range(size - 1, 0, -1):
        above += sign * c[first + j]
        target[j - 1] = above
    floor = np.empty(size - 1)
    for j in range(size - 1):
        floor[j] = max(sign * (basis.held[first + j + 1] - basis.held[first + j]), 0.0) / basis.longest
    for i in range(size - 1):
        for j in range(size - 1):
            target[i] += system[i, j] * floor[j]
    above_floor = non_negative(system, target)
    slopes[0] = 0.0
    for j in range(1, size):
        slopes[j] = slopes[j - 1] + sign * (above_floor[j - 1] - floor[j - 1])


@njit(cache=True, nogil=True)
def non_negative(system, target):
    """Return d >= 0 (m,) of least d'Ad/2 - t'd, A the leading m x m of `system`: Lawson and Hanson (1974), ch. 23."""
    m = len(target)
    d, free, pull = np.zeros(m), np.zeros(m, np.bool_), target.copy()
    tiny = 1e-13 * np.abs(target).max()
    for _ in range(10 * m):
        best, enter = tiny, -1
        for j in range(m):
            if not free[j] and pull[j] > best:
                best, enter = pull[j], j
        if enter < 0:
            break
        free[enter] = True
        while True:
            held = np.flatnonzero(free)
            inner = np.empty((len(held), len(held)))
            for a in range(len(held)):
                for b in range(len(held)):
                    inner[a, b] = system[held[a], held[b]]
            trial = np.linalg.solve(inner, target[held])
            share, leave = 1.0, -1
            for a in range(len(held)):
                if trial[a] <= 0.0:
                    step = d[held[a]] / (d[held[a]] - trial[a]) if d[held[a]] > 0.0 else 0.0
                    if step < share:
                        share, leave = step, held[a]
            for a in range(len(held)):
                d[held[a]] += share * (trial[a] - d[held[a]])
            if leave < 0:
                break
            d[leave], free[leave] = 0.0, False
        for j in range(m):
            pull[j] = target[j]
            for i in range(m):
                pull[j] -= system[j, i] * d[i]
    return np.maximum(d, 0.0)


@njit(cache=True, nogil=True)
def direction(basis, k, level, slopes, g):
    """Write g (n,): level + slopes of block k times its columns about their centre."""
    n, band, start = len(g), basis.at[k + 1] - basis.at[k], basis.blocks[k]
    values, cells = basis.values[n * basis.at[k] : n * basis.at[k + 1]].reshape(n, band), basis.cells[k]
    constant = level
    for j in range(basis.blocks[k + 1] - start):
        constant -= basis.shift[start + j] * slopes[j]
    for i in range(n):
        moved = constant
        for q in range(band):
            moved += values[i, q] * slopes[cells[i] + q]
        g[i] = moved


@njit(cache=True, nogil=True)
def combined(basis, slopes):
    """Return the sum (n,) of all columns, about their centres, times slopes (P,)."""
    n = len(basis.weights)
    out, g = np.zeros(n), np.empty(n)
    for k in range(len(basis.allowed)):
        own = slopes[basis.blocks[k] : basis.blocks[k + 1]]
        if own.any():
            direction(basis, k, 0.0, own, g)
            for i in range(n):
                out[i] += g[i]
    return out
