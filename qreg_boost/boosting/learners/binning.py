"""Columns to bins: each value becomes the small number of its bin, so that sums over rows become histograms.

A column with at most as many distinct values as bins are allowed gets one bin per value, and a search over its bins is
exact. Any other is cut where the weight of its rows divides evenly; from `SAMPLE` rows on the cuts come from a sample.
Cuts lie midway between neighbouring values; a value not above the cut is on its left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.base.views import read_only

SAMPLE = 16_384
"""Cuts of columns of more rows (and equal weights) come from this many of them, drawn with a fixed seed."""


@dataclass(frozen=True)
class Binned:
    """The bins of p columns and the bin of every row.

    Attributes
    ----------
    codes : ndarray (p, n) of uint8, uint16 or uint32
        Bin of each row by column, C-contiguous. Missing values have the column's last bin.
    offsets : ndarray (p + 1,) of int64
        Column j owns bins ``offsets[j]:offsets[j + 1]`` of the arrays below and of histograms.
    lower, upper : ndarray (bins,)
        Smallest and largest value of each bin (of the rows that the cuts were made from); NaN for the missing.
    cuts : ndarray (bins,)
        Cut between a bin and the next; infinite for the last bin of values, NaN for the missing.
    missing : ndarray (p,) of bool
        Whether the column has a bin of missing values.
    unordered : ndarray (p,) of bool
        Whether the bins are levels of a factor, which have no order and no values.
    """

    codes: np.ndarray
    offsets: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    cuts: np.ndarray
    missing: np.ndarray
    unordered: np.ndarray

    @property
    def bins(self) -> np.ndarray:
        """Number of bins of each column (p,), that of missing values included."""
        return np.diff(self.offsets)


def bin_columns(X: np.ndarray, weights: np.ndarray | None = None, bins: int | None = 255) -> Binned:
    """Return the bins of X (n, p): at most `bins` a column besides that of the missing; None for all distinct values.

    Parameters
    ----------
    X : ndarray (n, p)
        Finite values, or NaN where missing.
    weights : ndarray (n,), optional
        What the cuts divide evenly; by default rows count alike.
    bins : int or None

    >>> binned = bin_columns(np.array([[1.0], [3.0], [2.0], [1.0]]))
    >>> binned.codes, binned.cuts
    (array([[0, 2, 1, 0]], dtype=uint8), array([1.5, 2.5, inf]))
    """
    from qreg_boost.boosting.learners import bin_kernels as kernels  # compiled: only once a fit needs it

    n, p = X.shape
    most = n if bins is None else bins
    X = read_only(X)
    even = weights is None or np.ptp(weights) == 0.0
    sampled = bins is not None and even and n > SAMPLE
    capacity = min(most, SAMPLE if sampled else n) if n else 0
    counts = np.zeros(p, dtype=np.int64)
    gaps = np.zeros(p, dtype=np.bool_)
    lower, upper = np.empty((2, p * capacity))
    if sampled:
        whole = kernels.few_values(X, most, lower, upper, counts, gaps)
        left = np.flatnonzero(~whole)
        rows = np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
        ordered = np.sort(kernels.columns_at(X, rows, left), axis=1)
        kernels.cut_columns(ordered, np.ones((1, len(rows))), left, most, capacity, lower, upper, counts, gaps)
        gaps[left] |= kernels.any_missing(X, left)
    elif even:
        ordered = np.sort(X.T, axis=1)
        kernels.cut_columns(ordered, np.ones((1, n)), np.arange(p), most, capacity, lower, upper, counts, gaps)
    else:
        order = np.argsort(X.T, axis=1, kind="stable")
        ordered = np.take_along_axis(X.T, order, axis=1)
        assert weights is not None
        kernels.cut_columns(ordered, weights[order], np.arange(p), most, capacity, lower, upper, counts, gaps)
    offsets = np.concatenate(([0], np.cumsum(counts + gaps)))
    codes = np.empty((p, n), dtype=code_type(int((counts + gaps).max(initial=1))))
    lower, upper, cuts = kernels.settled(lower, upper, counts, gaps, offsets, capacity)
    kernels.code(X, cuts, offsets, counts, codes)
    return Binned(codes, offsets, lower, upper, cuts, gaps, np.zeros(p, dtype=np.bool_))


def code_type(bins: int) -> type[np.unsignedinteger]:
    """Return the smallest type that numbers so many bins."""
    return np.uint8 if bins <= 256 else np.uint16 if bins <= 65536 else np.uint32
