"""Weighted quantiles without sorting, compiled: Hoare's (1961) selection on cumulative weights.

References
----------
Hoare, C. A. R. (1961). Algorithm 65: Find. Communications of the ACM 4, 321-322.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def weighted_select(values, weights, need):
    """Return the smallest value at which the weights of the values up to it reach `need`; the largest if none does.

    Takes a few passes over `values` (n,) and `weights` (n,), and leaves both in another order.

    >>> import numpy as np
    >>> weighted_select(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]), 2.5)
    3.0
    """
    lo, hi = 0, len(values) - 1
    while lo < hi:
        a, b, c = values[lo], values[(lo + hi) // 2], values[hi]
        pivot = max(min(a, b), min(max(a, b), c))
        below, i, end, total = lo, lo, hi, 0.0  # [lo, below) < pivot, [below, i) == pivot, (end, hi] > pivot
        while i <= end:
            if values[i] < pivot:
                total += weights[i]
                values[i], values[below] = values[below], values[i]
                weights[i], weights[below] = weights[below], weights[i]
                below += 1
                i += 1
            elif values[i] > pivot:
                values[i], values[end] = values[end], values[i]
                weights[i], weights[end] = weights[end], weights[i]
                end -= 1
            else:
                i += 1
        if total >= need and below > lo:
            hi = below - 1
            continue
        need -= total
        for m in range(below, end + 1):
            need -= weights[m]
        if need <= 0.0 or end == hi:
            return pivot
        lo = end + 1
    return values[lo]
