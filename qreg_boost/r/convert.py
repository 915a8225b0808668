"""Columns of pandas as R stores them; arrays and names only, so that all of it is testable without R.

R has a missing value in every type: in doubles the NaN whose low word is 1954 (R's ``NA_real_``; any other NaN is R's
``NaN``), in integers, logicals and factors the least int32, in strings one of its own (here None). All preparing is
done, and every error raised, before the first R object is made.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from qreg_boost.base.checks import InputError, warn

NA_REAL_BITS = np.uint64(0x7FF00000000007A2)
NA_INTEGER = np.int32(-(2**31))
_LARGEST = 2**31 - 1
EPOCH = datetime.date(1970, 1, 1).toordinal()
_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


class RWarning(UserWarning):
    """A warning that R gave, or one about what R cannot hold."""


@dataclass(frozen=True)
class RVector:
    """A vector as R stores it.

    Attributes
    ----------
    storage : str
        ``"double"``, ``"integer"``, ``"logical"``, ``"character"`` or ``"complex"``.
    values : ndarray or list
        (n,) float64, int32 (integer and logical), complex128, or a list of str and None.
    attributes : dict
        R's attributes: strings as tuples of str, ``dim`` as a tuple of int, ``dimnames`` as a tuple of (tuple or None).
    """

    storage: str
    values: Any
    attributes: dict[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class RFrame:
    """A data frame as R stores it: named vectors of `n` values each."""

    names: tuple[str, ...]
    vectors: tuple[RVector, ...]
    n: int


def encode_frame(frame: pd.DataFrame) -> RFrame:
    """Return a data frame ready for R. Row labels stay behind: in R the rows are 1 to n.

    Raises
    ------
    InputError
        A column of a kind that R has not, or names that are not unique; the message names the column.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise InputError("R's data frames have one name per column; got a frame with several levels of column names.")
    names = tuple(str(name) for name in frame.columns)
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise InputError(f"Column names must be unique to pass to R; found more than once: {', '.join(sorted(twice))}.")
    vectors = tuple(encode(frame.iloc[:, i], name) for i, name in enumerate(names))
    return RFrame(names, vectors, len(frame))


def encode(series: pd.Series, name: str) -> RVector:
    """Return one column ready for R.

    >>> vector = encode(pd.Series([1, None, 3], dtype="Int64"), "x")
    >>> vector.storage, vector.values.tolist()
    ('integer', [1, -2147483648, 3])
    """
    if isinstance(series.dtype, pd.SparseDtype):
        series = pd.Series(np.asarray(series.array))
    encoder = _ENCODERS.get(_kind(series))
    if encoder is None:
        found = f"dtype {series.dtype}" if series.dtype != object else f"Python objects of kind {_kind(series)!r}"
        raise InputError(
            f"Column {name!r} cannot be passed to R: it is {found}. R takes numbers, booleans, strings, categories, "
            "dates, datetimes and durations; convert the column to one of them, or leave it out."
        )
    return encoder(series, name)


def _kind(series: pd.Series) -> str:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "categorical"
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        if pa.types.is_dictionary(dtype.pyarrow_dtype):
            return "dictionary"
        if pa.types.is_null(dtype.pyarrow_dtype):
            return "empty"
        if pa.types.is_date(dtype.pyarrow_dtype):
            return "date"
        if pa.types.is_decimal(dtype.pyarrow_dtype):
            return "decimal"
    kind = _KINDS.get(getattr(dtype, "kind", "O"))
    if kind is not None:
        return kind
    return "string" if isinstance(dtype, pd.StringDtype) else types.infer_dtype(series, skipna=True)


_KINDS = {
    "b": "boolean",
    "i": "integer",
    "u": "integer",
    "f": "floating",
    "c": "complex",
    "M": "datetime64",
    "m": "timedelta64",
    "U": "string",
}


def _mask(series: pd.Series) -> np.ndarray:
    return series.isna().to_numpy(dtype=bool)


def as_double(values: Any, missing: np.ndarray | None = None) -> np.ndarray:
    """Return a float64 copy with R's NA where values are NaN or `missing`."""
    array = np.array(values, dtype=np.float64)
    gone = np.isnan(array) if missing is None else np.isnan(array) | missing
    array.view(np.uint64)[gone] = NA_REAL_BITS
    return array


def _fill(series: pd.Series, missing: np.ndarray, fill: Any, dtype: Any) -> np.ndarray:
    array = np.full(len(series), fill, dtype=dtype)
    array[~missing] = series[~missing].to_numpy(dtype=dtype)
    return array


def _encode_floating(series: pd.Series, name: str) -> RVector:
    return RVector("double", as_double(_fill(series.reset_index(drop=True), _mask(series), np.nan, np.float64)))


def _encode_integer(series: pd.Series, name: str) -> RVector:
    series, missing = series.reset_index(drop=True), _mask(series)
    known = series[~missing]
    extent = max(abs(int(known.min())), abs(int(known.max()))) if len(known) else 0
    if extent <= _LARGEST:
        return RVector("integer", _fill(series, missing, NA_INTEGER, np.int64).astype(np.int32))
    if extent > 2**53:
        warn(f"Column {name!r} holds whole numbers beyond 2^53, which R's numbers hold only rounded.", RWarning)
    return RVector("double", as_double(_fill(series, missing, np.nan, np.float64), missing))


def _encode_boolean(series: pd.Series, name: str) -> RVector:
    values = _fill(series.reset_index(drop=True), _mask(series), False, bool).astype(np.int32)
    values[_mask(series)] = NA_INTEGER
    return RVector("logical", values)


def _encode_complex(series: pd.Series, name: str) -> RVector:
    values = np.array(series.to_numpy(dtype=np.complex128))
    parts = values.view(np.float64)
    parts.view(np.uint64)[np.repeat(np.isnan(values), 2)] = NA_REAL_BITS
    return RVector("complex", values)


def _encode_string(series: pd.Series, name: str) -> RVector:
    missing = _mask(series)
    values = [None if gone else str(value) for value, gone in zip(series.tolist(), missing, strict=True)]
    return RVector("character", _check_text(values, name))


def _check_text(values: list[str | None], name: str) -> list[str | None]:
    joined = "".join(value for value in values if value)
    if "\0" in joined:
        raise InputError(f"Column {name!r} has a string with a null character, which R cannot hold; remove it.")
    try:
        joined.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"Column {name!r} has a string that is not Unicode ({error.reason}); repair it.") from None
    return values


def _encode_factor(series: pd.Series, name: str) -> RVector:
    codes = series.cat.codes.to_numpy().astype(np.int32)
    levels = tuple(_level(value) for value in series.cat.categories)
    if len(set(levels)) < len(levels):
        raise InputError(f"Column {name!r} has categories that read alike as text, as R stores them; rename them.")
    _check_text(list(levels), name)
    values = np.where(codes < 0, NA_INTEGER, codes + 1).astype(np.int32)
    classes = ("ordered", "factor") if series.cat.ordered else ("factor",)
    return RVector("integer", values, {"levels": levels, "class": classes})


def _level(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(float(value)) < 1e15:
        return str(int(value))
    return str(value.item() if isinstance(value, np.generic) else value)


def _encode_dictionary(series: pd.Series, name: str) -> RVector:
    array = series.array.__arrow_array__()
    plain = array.unify_dictionaries().to_pandas()
    return encode(plain, name)


def _encode_date(series: pd.Series, name: str) -> RVector:
    missing = _mask(series)
    days = [np.nan if gone else d.toordinal() - EPOCH for d, gone in zip(series.tolist(), missing, strict=True)]
    return RVector("double", as_double(days), {"class": ("Date",)})


def _encode_datetime(series: pd.Series, name: str) -> RVector:
    """Return a POSIXct. Times without a zone are marked GMT, R's neutral zone, and keep their clock there.

    Aware times keep instant and zone; a zone R has no name for becomes UTC, the instants kept. R's doubles resolve
    microseconds.
    """
    plain = _plain(series)
    if plain.dtype == object:
        try:
            plain = pd.to_datetime(plain)
        except (ValueError, TypeError):
            raise InputError(
                f"Column {name!r} mixes datetimes with different time zones; convert it: "
                f"pd.to_datetime(frame[{name!r}], utc=True)."
            ) from None
    zone = "GMT"
    if isinstance(plain.dtype, pd.DatetimeTZDtype):
        zone = str(plain.dtype.tz)
        zone = zone if zone in zoneinfo.available_timezones() else "UTC"
        plain = plain.dt.tz_convert("UTC").dt.tz_localize(None)
    return RVector("double", _seconds(plain), {"class": ("POSIXct", "POSIXt"), "tzone": (zone,)})


def _encode_duration(series: pd.Series, name: str) -> RVector:
    plain = _plain(series)
    plain = pd.to_timedelta(plain) if plain.dtype == object else plain
    return RVector("double", _seconds(plain), {"class": ("difftime",), "units": ("secs",)})


def _plain(series: pd.Series) -> pd.Series:
    """Return a column of Arrow times as one of pandas' own."""
    if isinstance(series.dtype, pd.ArrowDtype):
        return pd.Series(series.array.__arrow_array__().to_pandas())
    return series


def _seconds(series: pd.Series) -> np.ndarray:
    array = series.to_numpy()
    unit = np.datetime_data(array.dtype)[0]
    return as_double(array.astype(np.int64) / _UNITS[unit], np.isnat(array))


def _encode_empty(series: pd.Series, name: str) -> RVector:
    return RVector("logical", np.full(len(series), NA_INTEGER, dtype=np.int32))


_ENCODERS: dict[str, Callable[[pd.Series, str], RVector]] = {
    "boolean": _encode_boolean,
    "integer": _encode_integer,
    "floating": _encode_floating,
    "mixed-integer-float": _encode_floating,
    "decimal": _encode_floating,
    "complex": _encode_complex,
    "string": _encode_string,
    "categorical": _encode_factor,
    "dictionary": _encode_dictionary,
    "date": _encode_date,
    "datetime": _encode_datetime,
    "datetime64": _encode_datetime,
    "timedelta": _encode_duration,
    "timedelta64": _encode_duration,
    "empty": _encode_empty,
}
