"""A tree grown by least squares on binned columns, node by node; a stump is a tree of one split.

A node's histogram is that of its parent less its sibling's: only the smaller of two children is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from qreg_boost.boosting.learners.base import NIL, TIE
from qreg_boost.boosting.learners.bin_kernels import midway
from qreg_boost.boosting.learners.splits import best_split, clipped, fill, fill_sums

# columns of the tables of nodes: whole numbers, then real ones; the last six are what `best_split` gives
COLUMN, LEFT, RIGHT, BEGIN, END, LEVEL, HELD, OPEN = range(8)
GAIN, VALUE, CUT, SUM, WEIGHT, ROWS, LOW, HIGH, BIN, NEXT, MISSING_LEFT, LEFT_SUM, LEFT_WEIGHT, LEFT_ROWS = range(14)


class Columns(NamedTuple):
    """The fields of `Binned`, and for each column the order asked for: 1 rising, -1 falling, 0 any."""

    codes: np.ndarray
    offsets: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    missing: np.ndarray
    unordered: np.ndarray
    monotone: np.ndarray


class Room(NamedTuple):
    """Memory that trees of one run are grown in, one after the other: fetching it anew costs more than the rows do.

    `rows`, `spare` (n,) hold the rows of each node side by side, none for a stump; `store` (nodes, bins, 2 or 3)
    histograms.
    """

    rows: np.ndarray
    spare: np.ndarray
    store: np.ndarray


@njit(cache=True, nogil=True)
def room_for(columns, width, depth, leaves):
    """Return the memory that trees need; histograms have `width` columns.

    Without a limit on the leaves the order in which nodes are split changes nothing, and going down first holds the
    fewest histograms: one per level.
    """
    n = columns.codes.shape[1]
    rows = np.empty(n if _most_nodes(n, depth, leaves) > 3 else 0, np.int32)
    held = min(leaves, n) if leaves < (1 << depth) else depth
    return Room(rows, np.empty_like(rows), np.empty((max(held, 1), columns.offsets[-1], width)))


@njit(cache=True, nogil=True)
def root_histogram(columns, w):
    """Return the root's histogram without its sums of w u, the same in every iteration."""
    n = columns.codes.shape[1]
    hist = np.empty((columns.offsets[-1], 2 if len(w) == 0 else 3))
    fill(hist, columns.codes, columns.offsets, np.arange(n), np.zeros(n), w)
    return hist


@njit(cache=True, nogil=True)
def _most_nodes(n, depth, leaves):
    most = min(leaves, n)
    return 2 * max(min(most, 1 << depth), 1) - 1


@njit(cache=True, nogil=True)
def _most_bins(columns, factors_only):
    most = 0
    for j in range(len(columns.unordered)):
        if columns.unordered[j] or not factors_only:
            most = max(most, columns.offsets[j + 1] - columns.offsets[j])
    return most


@njit(cache=True, nogil=True)
def grow(columns, w, s, static, squares, depth, leaves, least, room):
    """Return the tree fitted to u by least squares, given s = w u (n,), sum of w u^2, and the root's histogram."""
    n = len(s)
    most = _most_nodes(n, depth, leaves)
    best_first = leaves < (1 << depth)
    whole, real = np.zeros((most, 8), np.int64), np.zeros((most, 14))
    whole[:, COLUMN] = -1
    sets = np.zeros((most, _most_bins(columns, True)), np.bool_)
    rows, spare, store = room.rows, room.spare, room.store
    for i in range(len(rows)):
        rows[i] = i
    free = np.arange(len(store))[::-1].copy()
    n_free = len(store) - 1
    leaf = np.zeros(n, np.int32)
    order, side = np.empty(_most_bins(columns, False), np.int64), np.empty(_most_bins(columns, False), np.bool_)

    store[0] = static
    fill_sums(store[0], columns.codes, columns.offsets, s)
    _root(whole[0], real[0], s, w)
    _search(0, whole, real, sets, store, columns, least, NIL * squares, order)
    count = 1
    while count + 2 <= most:
        k = _pick(whole, real, count, best_first)
        if k < 0:
            break
        a, b = count, count + 1
        count += 2
        _split(k, a, b, whole, real, columns)
        own = _sides(k, whole, real, sets, columns, side)
        code = columns.codes[whole[k, COLUMN]]
        if len(rows) == 0:
            for i in range(n):
                leaf[i] = a if own[code[i]] else b
        else:
            _divide(rows, spare, k, a, b, whole, code, own)
        if whole[a, LEVEL] >= depth or count + 2 > most:
            free[n_free] = whole[k, HELD]
            n_free += 1
            continue
        small, large = (a, b) if real[a, ROWS] <= real[b, ROWS] else (b, a)
        n_free -= 1
        whole[small, HELD], whole[large, HELD] = free[n_free], whole[k, HELD]
        fill(
            store[whole[small, HELD]],
            columns.codes,
            columns.offsets,
            rows[whole[small, BEGIN] : whole[small, END]],
            s,
            w,
        )
        _subtract(store[whole[large, HELD]], store[whole[small, HELD]])
        for child in (a, b):
            _search(child, whole, real, sets, store, columns, least, NIL * squares, order)
            if not whole[child, OPEN]:
                free[n_free] = whole[child, HELD]
                n_free += 1
    for k in range(count):
        if whole[k, LEFT] == 0:
            whole[k, COLUMN], real[k, GAIN] = -1, 0.0
            for i in range(whole[k, BEGIN], whole[k, END] if len(rows) else 0):
                leaf[rows[i]] = k
    return whole[:count], real[:count], sets[:count], leaf


@njit(cache=True, nogil=True)
def _root(whole, real, s, w):
    """Give the root its sums and values."""
    whole[END] = len(s)
    for i in range(len(s)):
        real[SUM] += s[i]
        real[WEIGHT] += 1.0 if len(w) == 0 else w[i]
    real[ROWS] = len(s)
    real[LOW], real[HIGH] = -np.inf, np.inf
    real[VALUE] = real[SUM] / real[WEIGHT]
    real[CUT] = np.nan


@njit(cache=True, nogil=True)
def _search(k, whole, real, sets, store, columns, least, floor, order):
    """Find the best split of node k; a node without one is not open."""
    hist = store[whole[k, HELD]]
    gain, j = best_split(
        hist, columns, real[k, SUM : ROWS + 1], real[k, LOW : HIGH + 1], least, floor, real[k, BIN:], order
    )
    real[k, GAIN], whole[k, COLUMN], whole[k, OPEN] = gain, j, j >= 0
    if j >= 0 and columns.unordered[j]:
        start = columns.offsets[j]
        for b in range(columns.offsets[j + 1] - start - columns.missing[j]):
            level = order[b]
            if hist[start + level, -1] > 0.0:
                sets[k, level] = b <= real[k, BIN]
            else:  # levels without rows go with the heavier side
                sets[k, level] = 2.0 * real[k, LEFT_WEIGHT] > real[k, WEIGHT]


@njit(cache=True, nogil=True)
def _pick(whole, real, count, best_first):
    """Return the open node to split next: of equal gains the first, or else the last made; -1 if there is none."""
    chosen = -1
    for k in range(count):
        if whole[k, OPEN] and (not best_first or chosen < 0 or real[k, GAIN] * (1.0 - TIE) > real[chosen, GAIN]):
            chosen = k
    return chosen


@njit(cache=True, nogil=True)
def _split(k, a, b, whole, real, columns):
    """Make a and b the children of k; the midpoint of an ordered split bounds all values below it from then on."""
    j = whole[k, COLUMN]
    whole[k, OPEN] = 0
    whole[k, LEFT], whole[k, RIGHT] = a, b
    if not columns.unordered[j]:
        start = columns.offsets[j]
        real[k, CUT] = midway(columns.upper[start + int(real[k, BIN])], columns.lower[start + int(real[k, NEXT])])
    real[a, SUM : ROWS + 1] = real[k, LEFT_SUM:]
    real[b, SUM : ROWS + 1] = real[k, SUM : ROWS + 1] - real[a, SUM : ROWS + 1]
    for child in (a, b):
        whole[child, LEVEL] = whole[k, LEVEL] + 1
        real[child, LOW], real[child, HIGH], real[child, CUT] = real[k, LOW], real[k, HIGH], np.nan
        real[child, VALUE] = clipped(real[child, SUM] / real[child, WEIGHT], real[k, LOW], real[k, HIGH])
    if columns.monotone[j] != 0:
        middle = 0.5 * (real[a, VALUE] + real[b, VALUE])
        low, high = (a, b) if columns.monotone[j] > 0 else (b, a)
        real[low, HIGH], real[high, LOW] = min(real[low, HIGH], middle), max(real[high, LOW], middle)


@njit(cache=True, nogil=True)
def _sides(k, whole, real, sets, columns, side):
    """Return which bins of the column that node k splits go left."""
    j = whole[k, COLUMN]
    bins = columns.offsets[j + 1] - columns.offsets[j]
    for b in range(bins):
        side[b] = sets[k, b] if columns.unordered[j] else b <= real[k, BIN]
    if columns.missing[j]:
        side[bins - 1] = real[k, MISSING_LEFT] > 0.0
    return side[:bins]


@njit(cache=True, nogil=True)
def _divide(rows, spare, k, a, b, whole, code, side):
    """Put the rows of a node that go left before those that go right, each in their order."""
    middle, right = whole[k, BEGIN], 0
    for i in range(whole[k, BEGIN], whole[k, END]):
        row = rows[i]
        if side[code[row]]:
            rows[middle] = row
            middle += 1
        else:
            spare[right] = row
            right += 1
    for i in range(right):
        rows[middle + i] = spare[i]
    whole[a, BEGIN], whole[a, END], whole[b, BEGIN], whole[b, END] = whole[k, BEGIN], middle, middle, whole[k, END]


@njit(cache=True, nogil=True)
def _subtract(hist, other):
    for b in range(len(hist)):
        for c in range(hist.shape[1]):
            hist[b, c] -= other[b, c]


@njit(cache=True, nogil=True)
def can_split(columns, static, least):
    """Return whether any column has two bins, or groups of bins, of at least so many rows."""
    last = static.shape[1] - 1
    n = columns.codes.shape[1]
    for j in range(len(columns.missing)):
        bins = columns.offsets[j + 1] - columns.missing[j] - columns.offsets[j]
        part = static[columns.offsets[j] : columns.offsets[j] + bins, last]
        missing = n - part.sum()
        if columns.unordered[j]:
            part = np.sort(part[part > 0.0])[::-1]
        seen = 0.0
        for b in range(len(part)):
            if 0.0 < seen < n - missing:
                for left in (seen, seen + missing):
                    if left >= least and n - left >= least:
                        return True
            seen += part[b]
    return False
