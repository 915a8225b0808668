"""The columns that trees split: numbers as they are, the columns of a factor as the levels they code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from qreg_boost.base.checks import InputError, listed, nearest
from qreg_boost.boosting.learners.base import Predictors
from qreg_boost.boosting.learners.binning import Binned, bin_columns, code_type


@dataclass(frozen=True)
class SplitColumns:
    """What trees split, K of them: a numeric column of the design, or all columns of a factor as its levels.

    Attributes
    ----------
    binned : Binned
        Bins of the K; of a factor bin 0 is the reference level, whose columns are all 0, and bin k its k-th column.
    first, width : ndarray (K,) of int32
        First column of the design, and the number of columns of a factor (0 for a number).
    term : ndarray (K,) of int32
        The term that each belongs to.
    monotone : ndarray (K,) of int8
        1 for a fit that rises in it, -1 for one that falls, 0 for any.
    """

    binned: Binned
    first: np.ndarray
    width: np.ndarray
    term: np.ndarray
    monotone: np.ndarray


def split_columns(data: Predictors, bins: int | None, monotone: Mapping[str, int]) -> SplitColumns:
    """Return what trees split of the predictors."""
    first: list[int] = []
    width: list[int] = []
    term: list[int] = []
    for k in range(len(data.terms)):
        start, stop = int(data.blocks[k]), int(data.blocks[k + 1])
        if data.factors is not None and data.factors[k] and stop - start > 1:
            first.append(start)
            width.append(stop - start)
            term.append(k)
        else:
            first.extend(range(start, stop))
            width.extend([0] * (stop - start))
            term.extend([k] * (stop - start))
    own = np.array(first, dtype=np.int32), np.array(width, dtype=np.int32), np.array(term, dtype=np.int32)
    return SplitColumns(_binned(data, own[0], own[1], bins), *own, _directions(data, own, monotone))


def _binned(data: Predictors, first: np.ndarray, width: np.ndarray, bins: int | None) -> Binned:
    if not width.any():
        return bin_columns(data.X, data.weights, bins)
    numeric = width == 0
    numbers = bin_columns(np.ascontiguousarray(data.X[:, first[numeric]]), data.weights, bins)
    factors = [_levels(data.X[:, a : a + k]) for a, k in zip(first[~numeric], width[~numeric], strict=True)]
    missing = np.zeros(len(first), dtype=np.bool_)
    missing[numeric] = numbers.missing
    missing[~numeric] = [(codes > k).any() for codes, k in zip(factors, width[~numeric], strict=True)]
    counts = width + 1 + missing
    counts[numeric] = numbers.bins
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    codes = np.empty((len(first), len(data.X)), dtype=code_type(int(counts.max())))
    codes[numeric] = numbers.codes
    for j, own in zip(np.flatnonzero(~numeric), factors, strict=True):
        codes[j] = own
    lower, upper, cuts = np.full((3, offsets[-1]), np.nan)
    of_numbers = np.repeat(numeric, counts)
    lower[of_numbers], upper[of_numbers], cuts[of_numbers] = numbers.lower, numbers.upper, numbers.cuts
    return Binned(codes, offsets, lower, upper, cuts, missing, ~numeric)


def _levels(X: np.ndarray) -> np.ndarray:
    """Return the level (n,) that columns (n, k) code, k + 1 where missing."""
    levels = X @ np.arange(1.0, X.shape[1] + 1.0)
    return np.where(np.isnan(levels), X.shape[1] + 1.0, levels).astype(np.int64)


def _directions(
    data: Predictors, own: tuple[np.ndarray, np.ndarray, np.ndarray], monotone: Mapping[str, int]
) -> np.ndarray:
    first, width, term = own
    directions = np.zeros(len(first), dtype=np.int8)
    for name, direction in monotone.items():
        if name in data.terms:
            mine = np.flatnonzero(term == data.terms.index(name))
        elif name in data.columns:
            mine = np.flatnonzero((first == data.columns.index(name)) & (width == 0))
        else:
            known = list(dict.fromkeys((*data.terms, *data.columns)))
            raise InputError(
                f"`monotone` names {name!r}, which is no term of the model.{nearest(name, known)} "
                f"Terms: {listed(data.terms)}."
            )
        if len(mine) != 1 or width[mine[0]] > 0:
            raise InputError(
                f"`monotone` names {name!r}, which is no single number: only a numeric column has an order that a fit "
                "can rise or fall in."
            )
        directions[mine[0]] = direction
    return directions
