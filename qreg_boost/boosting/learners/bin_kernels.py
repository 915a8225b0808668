"""The loops of `binning`, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 512
"""Rows coded at a time, all columns of them, so that they stay in cache."""


@njit(cache=True, nogil=True)
def columns_at(X, rows, columns):
    """Return some columns of some rows of X, by column."""
    out = np.empty((len(columns), len(rows)))
    for i in range(len(rows)):
        for k in range(len(columns)):
            out[k, i] = X[rows[i], columns[k]]
    return out


@njit(cache=True, nogil=True)
def any_missing(X, columns):
    """Return whether a value is missing in each of the columns."""
    found = np.zeros(len(columns), np.bool_)
    for i in range(X.shape[0]):
        for k in range(len(columns)):
            found[k] |= np.isnan(X[i, columns[k]])
    return found


@njit(cache=True, nogil=True)
def few_values(X, most, lower, upper, counts, gaps):
    """Find the columns (p,) of at most `most` distinct values, and their values, by a table of those met so far."""
    n, p = X.shape
    slots = 16
    while slots < 4 * (most + 1):
        slots *= 2
    capacity = len(lower) // p
    whole = np.zeros(p, np.bool_)
    table = np.empty(slots)
    used = np.empty(slots, np.bool_)
    for j in range(p):
        used[:] = False
        met = 0
        missing = False
        for i in range(n):
            x = X[i, j] + 0.0  # -0.0 and 0.0 are one value
            if np.isnan(x):
                missing = True
                continue
            at = hash(x) * 0x9E3779B1 >> 7 & slots - 1
            while used[at] and table[at] != x:
                at = at + 1 & slots - 1
            if not used[at]:
                if met == most:
                    met = most + 1
                    break
                used[at] = True
                table[at] = x
                met += 1
        if met <= most:
            whole[j] = True
            lower[j * capacity : j * capacity + met] = np.sort(table[used])
            upper[j * capacity : j * capacity + met] = lower[j * capacity : j * capacity + met]
            counts[j] = met
            gaps[j] = missing
    return whole


@njit(cache=True, nogil=True)
def cut_columns(ordered, weights, columns, most, capacity, lower, upper, counts, gaps):
    """Divide sorted columns (k, m), NaN last, into bins: one per value, or of even weight where there are too many."""
    for k in range(len(columns)):
        x = ordered[k]
        w = weights[k if len(weights) > 1 else 0]
        start = columns[k] * capacity
        end = len(x)
        while end > 0 and np.isnan(x[end - 1]):
            end -= 1
        gaps[columns[k]] = end < len(x)
        distinct = 0
        rest = 0.0
        for i in range(end):
            distinct += i == 0 or x[i] != x[i - 1]
            rest += w[i]
        single = distinct <= most
        here, count = 0.0, 0
        for i in range(end):
            if here == 0.0:
                lower[start + count] = x[i]
            here += w[i]
            last = i == end - 1
            if not last and x[i + 1] == x[i]:
                continue
            if last or single or (here * (most - count) >= rest * (1.0 - 1e-12) and count < most - 1):
                upper[start + count] = x[i]
                rest -= here
                here = 0.0
                count += 1
        counts[columns[k]] = count


@njit(cache=True, nogil=True)
def settled(lower, upper, counts, gaps, offsets, capacity):
    """Return the bounds of all bins side by side, and the cuts between them."""
    bins = offsets[-1]
    low, high, cuts = np.full(bins, np.nan), np.full(bins, np.nan), np.full(bins, np.nan)
    for j in range(len(counts)):
        for b in range(counts[j]):
            low[offsets[j] + b] = lower[j * capacity + b]
            high[offsets[j] + b] = upper[j * capacity + b]
            if b < counts[j] - 1:
                cuts[offsets[j] + b] = midway(upper[j * capacity + b], lower[j * capacity + b + 1])
            else:
                cuts[offsets[j] + b] = np.inf
    return low, high, cuts


@njit(cache=True, nogil=True)
def midway(below, above):
    """Return the cut between two values, never the upper of them."""
    cut = 0.5 * below + 0.5 * above
    return below if cut >= above else cut


@njit(cache=True, nogil=True)
def code(X, cuts, offsets, counts, codes):
    """Find each value's bin: a cell of an even grid first, then a search among the few cuts inside the cell."""
    n, p = X.shape
    cells_at = np.zeros(p + 1, np.int64)
    for j in range(p):
        cells_at[j + 1] = cells_at[j] + 4 * counts[j] + 2
    begin = np.zeros(cells_at[-1], np.int32)
    scale = np.zeros(p)
    for j in range(p):
        _grid(cuts[offsets[j] : offsets[j] + max(counts[j] - 1, 0)], begin[cells_at[j] : cells_at[j + 1]], scale, j)
    for top in range(0, n, BLOCK):
        bottom = min(top + BLOCK, n)
        for j in range(p):
            inner = max(counts[j] - 1, 0)
            own = cuts[offsets[j] : offsets[j] + inner]
            grid = begin[cells_at[j] : cells_at[j + 1]]
            farthest = len(grid) - 2
            origin = own[0] if inner else 0.0
            for i in range(top, bottom):
                x = X[i, j]
                if np.isnan(x):
                    codes[j, i] = counts[j]
                    continue
                cell = int(min(max((x - origin) * scale[j], 0.0), float(farthest)))
                first, last = grid[cell], grid[cell + 1]
                while first < last:
                    middle = (first + last) >> 1
                    if x > own[middle]:
                        first = middle + 1
                    else:
                        last = middle
                codes[j, i] = first


@njit(cache=True, nogil=True)
def _grid(own, grid, scale, j):
    """Let the cuts (k,) of cell c be ``own[grid[c]:grid[c + 1]]``."""
    if len(own) == 0:
        return
    farthest = len(grid) - 2
    spread = own[-1] - own[0]
    if 0.0 < spread < np.inf and farthest / spread < np.inf:
        scale[j] = farthest / spread
    for k in range(len(own)):
        cell = int(min(max((own[k] - own[0]) * scale[j], 0.0), float(farthest)))
        grid[cell + 1] = k + 1
    for c in range(1, len(grid)):
        grid[c] = max(grid[c], grid[c - 1])
