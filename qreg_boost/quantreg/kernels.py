"""Compiled passes over the rows of a design, each row read once."""

from __future__ import annotations

import numpy as np
from numba import njit

# Rows whose sums are added up before they join the total: rounding grows with the number of blocks, not of rows.
_BLOCK = 2048
# Sums may be added in any order, which is what lets them run several at a time; NaN and infinity keep their meaning.
_ANY_ORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def largest(X):
    """Return the largest size (p,) in each column of X (n, p); NaN where a value is missing."""
    n, p = X.shape
    sizes, missing = np.zeros(p), np.zeros(p)
    for i in range(n):
        for j in range(p):
            size = abs(X[i, j])
            sizes[j] = size if size > sizes[j] else sizes[j]
            missing[j] = missing[j] if size == size else np.nan
    return sizes + missing


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def sort_rows(X, y, w, b, half, remote, tau):
    """Sort the rows by their residual: near zero, or of certain sign.

    Parameters
    ----------
    X : (n, p) array
        The design.
    y : (n,) array
        Response.
    w : (n,) array
        Weights; an empty array stands for ones.
    b : (p,) array
        Coefficients.
    half : float
        Rows whose residual is at most so far from zero are near; for remote rows it is more, in proportion.
    remote : (p,) array
        Rows are remote whose entries times these have a sum of squares above 1.
    tau : float
        Quantile level.

    Returns
    -------
    r : (n,) array
        Residuals.
    near : (m,) int array
        The rows near zero, increasing.
    pull : (p,) array
        Sum over the other rows of w x (tau - 1[r < 0]).
    """
    n, p = X.shape
    weighted = len(w) > 0
    r = np.empty(n)
    near = np.empty(n, np.int64)
    count = 0
    pull, part = np.zeros(p), np.zeros(p)
    for first in range(0, n, _BLOCK):
        part[:] = 0.0
        for i in range(first, min(first + _BLOCK, n)):
            fit, out = 0.0, 0.0
            for j in range(p):
                fit += X[i, j] * b[j]
                out += (X[i, j] * remote[j]) ** 2
            r[i] = y[i] - fit
            if abs(r[i]) <= (half if out <= 1.0 else half * np.sqrt(out)):
                near[count] = i
                count += 1
            else:
                share = tau if r[i] > 0.0 else tau - 1.0
                if weighted:
                    share *= w[i]
                for j in range(p):
                    part[j] += share * X[i, j]
        for j in range(p):
            pull[j] += part[j]
    return r, near[:count].copy(), pull


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def wrong_rows(X, y, b, before, near, r):
    """Return the rows far from zero whose sign is not the one they had.

    Parameters
    ----------
    X, y, b
        As in `sort_rows`.
    before : (n,) array
        Residuals when the rows were sorted.
    near : (m,) int array
        Rows that are not checked, increasing.
    r : (n,) array
        Filled with the residuals at b.

    Returns
    -------
    (m,) int array
        Rows whose residual now has another sign, or is nothing but rounding error.
    """
    n, p = X.shape
    wrong = []
    place = 0
    for i in range(n):
        fit, size = 0.0, 0.0
        for j in range(p):
            term = X[i, j] * b[j]
            fit += term
            size += abs(term)
        left = y[i] - fit
        r[i] = left
        if place < len(near) and near[place] == i:
            place += 1
        elif abs(left) <= 1e-14 * (size + abs(y[i])) or (left > 0.0) != (before[i] > 0.0):
            wrong.append(i)
    return np.array(wrong, dtype=np.int64)
