"""Columns to design columns: factors settled as numbers or levels, and the design built from them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_finite, listed, nearest
from qreg_boost.base.frames import find_column, kind_of, missing_rows, plain_values
from qreg_boost.base.functions import Categories
from qreg_boost.base.reader import Expression


@dataclass(frozen=True, eq=False)
class CodedFactor:
    """One factor as learned: `width` columns if numeric, else its `levels`, with which of them had rows in training."""

    expression: Expression
    width: int
    levels: tuple[Any, ...] | None = None
    seen: tuple[bool, ...] | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive design columns: the product of factors (positions), with (levels, k) contrasts where categorical."""

    factors: tuple[int, ...]
    contrasts: tuple[np.ndarray | None, ...]
    width: int


class Source:
    """The columns of a frame that a formula uses, by safe name."""

    def __init__(self, frame: pd.DataFrame, columns: Mapping[str, Hashable], text: str, where: str = "`data`") -> None:
        by_name = {str(column): column for column in reversed(frame.columns)}
        self.series = {
            safe: find_column(frame, by_name.get(str(column), column), f'in "{text}"', where)
            for safe, column in columns.items()
        }
        self.kinds = {safe: kind_of(series) for safe, series in self.series.items()}
        self.names = {safe: str(column) for safe, column in columns.items()}
        self.n = len(frame)
        self.index = frame.index

    def missing(self, safe: str) -> np.ndarray:
        """Return an (n,) mask of the rows where a column is missing."""
        return missing_rows(self.series[safe], self.kinds[safe])

    def values(self, rows: np.ndarray | None) -> dict[str, Any]:
        """Return the plain values of all columns on some rows (positions), or on all."""
        out = {}
        for safe, series in self.series.items():
            part = series if rows is None or len(rows) == self.n else series.iloc[rows]
            out[safe] = plain_values(part, self.kinds[safe])
        return out


def taken(value: np.ndarray | Categories, rows: np.ndarray) -> np.ndarray | Categories:
    """Return a settled value on some rows (positions)."""
    if isinstance(value, Categories):
        return Categories(value.data[rows], value.contrast, value.levels)
    return value[rows]


def complete_rows(expression: Expression, source: Source, rows: np.ndarray) -> np.ndarray:
    """Return the mask of the rows (positions) where all columns are there whose gaps make an expression missing."""
    known = np.ones(len(rows), dtype=bool)
    for safe in expression.counted():
        known &= ~source.missing(safe)[rows]
    return known


def spread(value: np.ndarray | Categories, known: np.ndarray) -> np.ndarray | Categories:
    """Return a settled value of the rows in a mask as one of all rows (n,), missing in the others."""
    if known.all():
        return value
    if isinstance(value, np.ndarray):
        whole = np.full((len(known), *value.shape[1:]), np.nan if value.ndim > 1 else -1, dtype=value.dtype)
        whole[known] = value
        return whole
    if isinstance(value.data, pd.Categorical):
        at = np.where(known, np.cumsum(known) - 1, -1)
        return Categories(value.data.take(at, allow_fill=True), value.contrast, value.levels)
    objects = np.full(len(known), None, dtype=object)
    objects[known] = value.data
    return Categories(objects, value.contrast, value.levels)


def settle(value: Any, n: int, label: str) -> np.ndarray | Categories:
    """Return the value of a factor on n rows as an (n, k) float array, or as categories.

    Raises
    ------
    InputError
        If it does not have one value per row, or is neither numbers nor categories.
    """
    if isinstance(value, Categories):
        return Categories(_category_data(value.data, n, label), value.contrast, value.levels)
    if isinstance(value, pd.DataFrame):
        value = np.column_stack([_number_series(value.iloc[:, j], label) for j in range(value.shape[1])])
    if isinstance(value, pd.Series):
        value = plain_values(value, kind_of(value))
    if isinstance(value, pd.Categorical):
        _check_rows(len(value), n, label)
        return Categories(value)
    array = np.asarray(value)
    if array.ndim == 0:
        raise InputError(f"'{label}' gives one value ({array}), not one for each of {n} rows.")
    _check_rows(len(array), n, label)
    if array.dtype == object or array.dtype.kind in "mMUSV":
        return _settle_objects(array, label)
    if array.dtype.kind == "b":
        if array.ndim != 1:
            raise InputError(f"'{label}' gives booleans of shape {array.shape}; one column is needed.")
        return Categories(array)
    if array.dtype.kind == "c":
        raise InputError(f"'{label}' is complex; a predictor must be real.")
    if array.ndim > 2:
        raise InputError(f"'{label}' gives an array of shape {array.shape}; one or two dimensions are needed.")
    return np.asarray(array, dtype=np.float64).reshape(n, -1)


def _settle_objects(array: np.ndarray, label: str) -> np.ndarray | Categories:
    if array.ndim != 1:
        raise InputError(f"'{label}' gives objects of shape {array.shape}; one column is needed.")
    series = pd.Series(array)
    kind = kind_of(series)
    if kind == "datetime":
        raise InputError(
            f"'{label}' is a date or time; make it a number in `data` first, for example days since a start "
            f"((x - x.min()).dt.days), or take C({label}) for one level per date."
        )
    if kind == "number":
        return np.asarray(plain_values(series, kind), dtype=np.float64)[:, None]
    if kind == "complex":
        raise InputError(f"'{label}' is complex; a predictor must be real.")
    return Categories(plain_values(series, kind) if kind == "boolean" else array)


def _number_series(series: pd.Series, label: str) -> np.ndarray:
    kind = kind_of(series)
    if kind not in ("number", "boolean"):
        raise InputError(f"'{label}' gives a table with a column that is not numeric.")
    return np.asarray(plain_values(series, kind), dtype=np.float64)


def _category_data(data: Any, n: int, label: str) -> Any:
    if isinstance(data, pd.Series):
        data = data.array if isinstance(data.dtype, pd.CategoricalDtype) else plain_values(data, kind_of(data))
    if not isinstance(data, pd.Categorical):
        data = np.asarray(data)
        if data.ndim == 2 and data.shape[1] == 1:
            data = data[:, 0]
        if data.ndim != 1:
            raise InputError(f"'{label}' takes one column of categories; got shape {data.shape}.")
    _check_rows(len(data), n, label)
    return data


def _check_rows(found: int, n: int, label: str) -> None:
    if found != n:
        raise InputError(f"'{label}' gives {found} values for {n} rows; it must give one per row.")


def factorised(data: Any, label: str) -> tuple[np.ndarray, list[Any]]:
    """Return (n,) codes, -1 where missing, and the distinct values they stand for, as Python's own objects."""
    if isinstance(data, pd.Categorical):
        return np.asarray(data.codes, dtype=np.intp), data.categories.tolist()
    if data.dtype.kind == "b":
        return data.astype(np.intp), [False, True]
    try:
        codes, uniques = pd.factorize(data if data.dtype.kind not in "US" else data.astype(object))
    except TypeError:
        kinds = sorted({type(value).__name__ for value in data})
        raise InputError(f"'{label}' holds {listed(kinds)}, which cannot be levels; make it text or numbers.") from None
    return np.asarray(codes, dtype=np.intp), _python(uniques)


def _python(values: Any) -> list[Any]:
    return [v.item() if isinstance(v, np.generic) else v for v in pd.Index(values).tolist()]


def levels_of(value: Categories, label: str) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    """Return the levels of a factor, and which of them have rows.

    Levels are those asked for by ``levels=``; else the categories of a categorical column that have rows, in their
    order (ordered or not; R's lm and rq too leave out the others); else False and True; else the distinct values,
    sorted.
    """
    codes, distinct = factorised(value.data, label)
    present = np.bincount(codes[codes >= 0], minlength=len(distinct)) > 0
    found = [level for level, there in zip(distinct, present, strict=True) if there]
    if value.levels is not None:
        levels = tuple(value.levels)
        if len(set(levels)) < len(levels):
            raise InputError(f"'{label}': a level is named twice in levels=.")
        foreign = [level for level in found if level not in set(levels)]
        if foreign:
            raise InputError(f"'{label}': level {foreign[0]!r} occurs in the data but not in levels={list(levels)!r}.")
        return levels, tuple(level in set(found) for level in levels)
    if not isinstance(value.data, pd.Categorical) and value.data.dtype.kind != "b":
        if all(isinstance(level, (bool, np.bool_)) for level in found) and found:
            return (False, True), (False in found, True in found)
        found = _sorted(found)
    elif not isinstance(value.data, pd.Categorical):
        return (False, True), (bool(present[0]), bool(present[1]))
    return tuple(found), (True,) * len(found)


def _sorted(values: list[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def codes_of(value: np.ndarray | Categories, factor: CodedFactor) -> np.ndarray:
    """Return (n,) positions among a factor's levels, -1 where missing; a level not seen in training is refused."""
    assert factor.levels is not None
    assert factor.seen is not None
    label = factor.expression.label
    data = value.data if isinstance(value, Categories) else value
    if isinstance(data, np.ndarray) and data.ndim == 2:
        data = data[:, 0]
    codes, distinct = factorised(data, label)
    known = {level: position for position, level in enumerate(factor.levels)}
    table = np.full(len(distinct) + 1, -1, dtype=np.intp)
    present = set(np.unique(codes).tolist())
    for position, level in enumerate(distinct):
        if position not in present:
            continue
        at = known.get(level)
        if at is None or not factor.seen[at]:
            training = [level for level, there in zip(factor.levels, factor.seen, strict=True) if there]
            raise InputError(
                f"'{label}' has the level {level!r}, which had no rows in training."
                f"{nearest(str(level), map(str, training))} Levels of {label}: {listed(map(repr, training))}."
            )
        table[position] = at
    return table[codes]


def build(values: Sequence[np.ndarray], blocks: Sequence[Block], n: int) -> np.ndarray:
    """Return the (n, p) design: per block the products of its factors' columns, the leftmost factor varying fastest."""
    out = np.empty((n, sum(block.width for block in blocks)))
    start = 0
    for block in blocks:
        product: np.ndarray | None = None
        with np.errstate(all="ignore"):  # what is infinite is refused afterwards, by name
            for position, contrasts in zip(block.factors, block.contrasts, strict=True):
                columns = values[position] if contrasts is None else _contrasted(contrasts, values[position])
                product = columns if product is None else (columns[:, :, None] * product[:, None, :]).reshape(n, -1)
        assert product is not None
        out[:, start : start + block.width] = product
        start += block.width
    return out


def _contrasted(contrasts: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the rows of contrasts that codes (n,) stand for, NaN where one is -1."""
    columns = contrasts[codes]
    if (codes < 0).any():
        columns = np.where((codes < 0)[:, None], np.nan, columns)
    return columns


def built(
    values: Sequence[np.ndarray],
    factors: Sequence[CodedFactor],
    blocks: Sequence[Block],
    names: Sequence[str],
    rows: np.ndarray,
    n: int,
    new_data: bool = False,
) -> np.ndarray:
    """Return the design on `rows` of `n`, all of it finite; infinite factors are named before their products."""
    X = build(values, blocks, len(rows))
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum()):
            return X
    for value, factor in zip(values, factors, strict=True):
        if factor.levels is None:
            refuse_infinite(value, [factor.expression.label] * factor.width, rows, n, new_data)
    refuse_infinite(X, names, rows, n, new_data)
    return X


def refuse_infinite(X: np.ndarray, names: Sequence[str], rows: np.ndarray, n: int, new_data: bool = False) -> None:
    """Refuse infinite values, naming the column and the row in the caller's data; one pass over X if all is finite."""
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum()):
            return
    for j, name in enumerate(names):
        if np.isinf(X[:, j]).any():
            full = np.zeros(n)
            full[rows] = X[:, j]
            check_finite(full, f"Column {name!r}", new_data)
