"""Data of any kind to a frame, and its columns to plain numpy: numbers, booleans, objects, or a Categorical.

What reads formulas sees only these plain kinds, so that nullable, Arrow-backed and object columns behave like numpy's.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, listed, nearest, number_of

LARGEST = 2**63


@dataclass(frozen=True)
class RowValues:
    """Weights or an offset: `values` (n,) or None, and the `column` they came from, if they came by name."""

    values: np.ndarray | None
    column: Hashable | None = None


def as_frame(data: Any, what: str = "`data`") -> pd.DataFrame:
    """Return `data` as a frame: a frame itself, a dict of columns or of scalars, or what offers ``to_pandas()``.

    A Series is taken as one row. Nothing of the caller's is changed.
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        return data.to_frame().T
    if isinstance(data, Mapping):
        return _from_mapping(data, what)
    if hasattr(data, "to_pandas"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = data.to_pandas()
        if isinstance(frame, pd.DataFrame):
            return frame
    if isinstance(data, np.ndarray) and data.dtype.names:
        return pd.DataFrame(data)
    raise InputError(f"{what} must be a pandas DataFrame or a dict of columns; got {type(data).__name__}.")


def _from_mapping(data: Mapping[Any, Any], what: str) -> pd.DataFrame:
    plain = dict(data.items())
    scalars = [key for key, value in plain.items() if np.ndim(value) == 0 or isinstance(value, (str, bytes))]
    if plain and len(scalars) == len(plain):
        plain = {key: [value] for key, value in plain.items()}
    wrong = [key for key, value in plain.items() if np.ndim(value) > 1]
    if wrong:
        raise InputError(f"{what}: column {wrong[0]!r} is not one-dimensional; give each column by itself.")
    lengths = {key: len(value) for key, value in plain.items() if np.ndim(value) == 1}
    if len(set(lengths.values())) > 1:
        shown = listed(f"{key} {length}" for key, length in lengths.items())
        raise InputError(f"{what}: the columns differ in length ({shown}).")
    return pd.DataFrame(plain)


def find_column(frame: pd.DataFrame, column: Hashable, what: str, where: str = "`data`") -> pd.Series:
    """Return one column by its label, or by its label written as text; `what` says what it is needed for."""
    found = column if column in frame.columns else next((c for c in frame.columns if str(c) == str(column)), None)
    if found is None:
        names = [str(c) for c in frame.columns]
        hint = nearest(str(column), names)
        raise InputError(f"Column {str(column)!r} ({what}) is not in {where}.{hint} Columns: {listed(names)}.")
    series = frame[found]
    if isinstance(series, pd.DataFrame):
        raise InputError(f"Column {str(column)!r} ({what}) occurs more than once in {where}; rename the columns.")
    return series


def kind_of(series: pd.Series) -> str:
    """Return what a column holds: number, boolean, text, category, datetime, complex or mixed."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_complex_dtype(dtype):
        return "complex"
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return "datetime"
    if pd.api.types.is_timedelta64_dtype(dtype):
        return "datetime"
    if isinstance(dtype, pd.StringDtype):
        return "text"
    return _kind_of_objects(_objects(series))


def _kind_of_objects(values: np.ndarray) -> str:
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    simple = {
        "integer": "number", "floating": "number", "mixed-integer-float": "number", "decimal": "number",
        "empty": "number",
        "boolean": "boolean", "string": "text", "bytes": "text", "complex": "complex",
        "datetime": "datetime", "datetime64": "datetime", "date": "datetime", "timedelta": "datetime",
        "timedelta64": "datetime", "period": "datetime", "time": "datetime",
    }  # fmt: skip
    if inferred in simple:
        return simple[inferred]
    present = values[~pd.isna(values)]
    if all(isinstance(v, (Real, Decimal)) and not isinstance(v, (bool, np.bool_)) for v in present):
        return "number"
    if any(isinstance(v, Number) and not isinstance(v, (Real, Decimal)) for v in present):
        return "complex"
    return "mixed"


def _objects(series: pd.Series) -> np.ndarray:
    """Return a column as objects, None where missing."""
    values = np.array(series.array, dtype=object)
    values[series.isna().to_numpy(dtype=bool)] = None
    return values


def missing_rows(series: pd.Series, kind: str) -> np.ndarray:
    """Return an (n,) mask of the rows where a column is missing; NaN counts as missing whatever the dtype."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        return np.zeros(len(series), dtype=bool)
    if kind == "number":
        return np.isnan(_floats(series))
    return series.isna().to_numpy(dtype=bool)


def plain_values(series: pd.Series, kind: str) -> Any:
    """Return a column as a read-only numpy array of int64, float64, bool or objects, or as a Categorical."""
    if kind == "category":
        return series.array
    if kind == "boolean":
        values = _booleans(series)
    elif kind == "number":
        values = _numbers(series)
    elif kind == "complex":
        values = np.asarray(series.to_numpy())
    else:
        values = _objects(series)
    values = values.view()
    values.flags.writeable = False  # so that no function of a formula changes the caller's data
    return values


def _booleans(series: pd.Series) -> np.ndarray:
    missing = series.isna().to_numpy(dtype=bool)
    if not missing.any():
        return series.to_numpy(dtype=bool)
    return _floats(series)


def _numbers(series: pd.Series) -> np.ndarray:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return series.to_numpy(dtype=np.float64)
    floats = _floats(series)
    if pd.api.types.is_integer_dtype(dtype) or dtype == np.dtype(object):
        whole = pd.api.types.is_integer_dtype(dtype) or all(isinstance(v, Integral) for v in series)
        if whole and not np.isnan(floats).any() and (np.abs(floats) < LARGEST).all():
            return series.to_numpy(dtype=np.int64)
    return floats


def _floats(series: pd.Series) -> np.ndarray:
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiub":
        return series.to_numpy(dtype=np.float64)
    if series.dtype == np.dtype(object):
        missing = series.isna().to_numpy(dtype=bool)
        values = np.full(len(series), np.nan)
        values[~missing] = [_float(v) for v in series.to_numpy()[~missing]]
        return values
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond 1.8e308
        return math.inf if value > 0 else -math.inf


def row_values(given: Any, frame: pd.DataFrame, name: str) -> RowValues:
    """Return weights or an offset given as a column name, an array by row, or a Series by index.

    Raises
    ------
    InputError
        If the column is not there, the length is wrong, or the index of a Series does not cover the frame's.
    """
    if given is None:
        return RowValues(None)
    if isinstance(given, (str, bytes)) or (
        np.ndim(given) == 0 and isinstance(given, Hashable) and given in frame.columns
    ):
        series = find_column(frame, given, name)
        kind = kind_of(series)
        if kind not in ("number", "boolean"):
            raise InputError(f"`{name}`: column {str(given)!r} is not numeric (it is {described(series, kind)}).")
        return RowValues(_floats(series), given)
    if np.ndim(given) == 0:
        raise InputError(f"`{name}` must be a column name or one value per row; got {given!r}.")
    if isinstance(given, pd.Series):
        given = align(given, frame.index, name)
        if kind_of(given) not in ("number", "boolean"):
            raise InputError(f"`{name}` must be numbers; got {described(given, kind_of(given))}.")
        return RowValues(_floats(given))
    if np.iscomplexobj(given):
        raise InputError(f"`{name}` must be real numbers; got complex ones.")
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` must be numbers; got {type(given).__name__} of other values.") from None
    return RowValues(values)


def align(given: pd.Series, index: pd.Index, name: str) -> pd.Series:
    """Return a Series in the order of `index`; one with the same index is taken as it is, duplicates included."""
    if given.index.equals(index):
        return given
    if not given.index.is_unique or not index.is_unique:
        raise InputError(
            f"`{name}` is a Series whose index differs from that of `data`, and labels occur more than once, so it "
            f"cannot be aligned. Pass `{name}.to_numpy()` to go by row."
        )
    absent = ~index.isin(given.index)
    if absent.any():
        raise InputError(
            f"`{name}` is a Series without a value for {number_of(int(absent.sum()), 'row')} of `data`, "
            f"the first with label {index[int(np.flatnonzero(absent)[0])]!r}. Pass `{name}.to_numpy()` to go by row."
        )
    return given.reindex(index)


def described(series: pd.Series, kind: str) -> str:
    """Return a column's kind and dtype in words."""
    words = {
        "text": "text",
        "category": "categorical",
        "boolean": "boolean",
        "datetime": "a date or time",
        "mixed": "of mixed types",
    }
    return f"{words.get(kind, kind)}, dtype {series.dtype}"
