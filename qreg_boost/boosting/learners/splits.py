"""The best least-squares split of a node, found in histograms.

A histogram has one row per bin: the sum of w u, the sum of w, and the number of rows; the last two are one column where
all weights are 1. A split into left and right lowers the squared error by ``d^2 W / (W_L W_R)``, where d is the sum of
w (u - mean) on the left.

Splits within `TIE` of the best, relative, are equal: the lowest column wins, then the lowest cut. Missing values go to
the side that lowers the error more; where both are equal to the right, and to the heavier side where the node has none.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from qreg_boost.boosting.learners.base import TIE

LIGHT = 1e-14
"""A side whose weight is this share of the node's or less is rounding, and not split off."""


@njit(cache=True, nogil=True)
def fill(hist, codes, offsets, rows, s, w):
    """Add up the rows of a node: all columns of the histogram; all weights are 1 if `w` is empty."""
    m = len(rows)
    even = len(w) == 0
    hist[:] = 0.0
    mine = np.empty(m)
    own = np.empty(0 if even else m)
    for i in range(m):
        mine[i] = s[rows[i]]
        if not even:
            own[i] = w[rows[i]]
    for j in range(len(codes)):
        part = hist[offsets[j] : offsets[j + 1]]
        code = codes[j]
        if even:
            for i in range(m):
                b = code[rows[i]]
                part[b, 0] += mine[i]
                part[b, 1] += 1.0
        else:
            for i in range(m):
                b = code[rows[i]]
                part[b, 0] += mine[i]
                part[b, 1] += own[i]
                part[b, 2] += 1.0


@njit(cache=True, nogil=True)
def fill_sums(hist, codes, offsets, s):
    """Add up w u over all rows; the other columns of the root's histogram do not change between iterations."""
    hist[:, 0] = 0.0
    for j in range(len(codes)):
        part = hist[offsets[j] : offsets[j + 1]]
        code = codes[j]
        for i in range(len(s)):
            part[code[i], 0] += s[i]


@njit(cache=True, nogil=True)
def clipped(value, low, high):
    """Return the value, no less than low and no more than high."""
    return min(max(value, low), high)


@njit(cache=True, nogil=True)
def _scan(part, gap, direction, total, bounds, least, target, out):
    """Return the best gain among the cuts of one column; with a target, the first gain that reaches it.

    `total` holds sum of w u, of w and the number of rows of the node; `out` is given bin, next bin with rows, whether
    missing values go left, then left sum, weight and rows.
    """
    last = part.shape[1] - 1
    bins = len(part) - gap
    S, W, N = total[0], total[1], total[2]
    mean = S / W
    bounded = bounds[0] > -np.inf or bounds[1] < np.inf
    holes = gap and part[bins, last] > 0.0
    rows_seen = N - (part[bins, last] if holes else 0.0)
    best = -1.0
    sl, wl, nl = 0.0, 0.0, 0.0
    here = -1
    for b in range(bins):
        n = part[b, last]
        if n == 0.0:
            continue
        if here >= 0:
            for side in range(2 if holes else 1):
                left, weight, rows = sl, wl, nl
                if side == 1:
                    left, weight, rows = left + part[bins, 0], weight + part[bins, 1], rows + part[bins, last]
                if rows < least or N - rows < least or min(weight, W - weight) <= LIGHT * W:
                    continue
                d = left - weight * mean
                if direction * d > 0.0:
                    continue
                if bounded:
                    gain = _bounded_gain(left, weight, S, W, bounds, direction)
                else:
                    gain = d * d * W / (weight * (W - weight))
                best = max(best, gain)
                if gain >= target:
                    out[0], out[1], out[3], out[4], out[5] = here, b, left, weight, rows
                    out[2] = side if holes else 2.0 * weight > W
                    return gain
        sl += part[b, 0]
        wl += part[b, 1]
        nl += n
        here = b
        if nl == rows_seen:
            break
    return best


@njit(cache=True, nogil=True)
def _bounded_gain(left, weight, S, W, bounds, direction):
    """Return the fall of the squared error where values are kept within bounds; -1 if that breaks the order."""
    low, high = bounds
    a, b, v = (
        clipped(left / weight, low, high),
        clipped((S - left) / (W - weight), low, high),
        clipped(S / W, low, high),
    )
    if direction * (b - a) < 0.0:
        return -1.0
    return (2.0 * a * left - a * a * weight) + (2.0 * b * (S - left) - b * b * (W - weight)) - v * (2.0 * S - v * W)


@njit(cache=True, nogil=True)
def _by_mean(part, gap, order):
    """Return the histogram of a factor with its levels ordered by their mean, those without rows last."""
    last = part.shape[1] - 1
    bins = len(part) - gap
    means = np.empty(bins)
    for b in range(bins):
        means[b] = part[b, 0] / part[b, 1] if part[b, last] > 0.0 else np.inf
        order[b] = b
    _sort(order[:bins], means)
    ordered = np.empty_like(part)
    for b in range(bins):
        ordered[b] = part[order[b]]
    if gap:
        ordered[bins] = part[bins]
    return ordered


@njit(cache=True, nogil=True)
def _sort(order, key):
    """Sort positions by their key, equal ones as they come, merging runs of 1, 2, 4, ... (numpy's compiles slowly)."""
    n, run = len(order), 1
    spare = np.empty(n, order.dtype)
    while run < n:
        for start in range(0, n, 2 * run):
            middle, stop = min(start + run, n), min(start + 2 * run, n)
            a, b = start, middle
            for k in range(start, stop):
                if a < middle and (b == stop or key[order[a]] <= key[order[b]]):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
        order[:] = spare
        run *= 2


@njit(cache=True, nogil=True)
def best_split(hist, columns, total, bounds, least, floor, out, order):
    """Return gain and column of a node's best split, column -1 if none gains more than `floor`.

    `out` (6,) is given what `_scan` says of it; of a factor `order` is given the levels by their mean.
    """
    offsets, missing, unordered, monotone = columns.offsets, columns.missing, columns.unordered, columns.monotone
    p = len(offsets) - 1
    gains = np.empty(p)
    for j in range(p):
        part = hist[offsets[j] : offsets[j + 1]]
        if unordered[j]:
            part = _by_mean(part, missing[j], order)
        gains[j] = _scan(part, missing[j], monotone[j], total, bounds, least, np.inf, out)
    best = gains.max() if p else -1.0
    if not best > floor:
        return 0.0, -1
    j = int(np.argmax(gains >= best * (1.0 - TIE)))
    part = hist[offsets[j] : offsets[j + 1]]
    if unordered[j]:
        part = _by_mean(part, missing[j], order)
    gain = _scan(part, missing[j], monotone[j], total, bounds, least, best * (1.0 - TIE), out)
    return gain, j
