"""Vectors of R as pandas has them: the way back of `convert`."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from qreg_boost.r.convert import EPOCH, NA_INTEGER, RFrame, RVector

_DIFFTIME = {"secs": 1.0, "mins": 60.0, "hours": 3600.0, "days": 86400.0, "weeks": 604800.0}


def decode_frame(frame: RFrame) -> pd.DataFrame:
    """Return a data frame of R's as pandas has it, with rows labelled 0 to n - 1."""
    columns = {i: decode(vector) for i, vector in enumerate(frame.vectors)}
    table = pd.DataFrame(columns, index=pd.RangeIndex(frame.n))
    table.columns = pd.Index(frame.names, dtype=table.columns.dtype if not frame.names else None)
    return table


def decode(vector: RVector) -> pd.Series:
    """Return one vector of R's as a Series; its names, if any, become the index.

    Integers and booleans come back as plain ones where nothing is missing and as pandas' nullable ones where something
    is; a ``Date`` as Python dates; a ``POSIXct`` in its time zone, without one if R's says GMT.
    """
    classes = vector.attributes.get("class", ())
    decoder = next((_DECODERS[c] for c in classes if c in _DECODERS), _DECODERS[vector.storage])
    series = decoder(vector)
    if "names" in vector.attributes:
        series.index = pd.Index(vector.attributes["names"])
    return series


def _decode_double(vector: RVector) -> pd.Series:
    values = np.array(vector.values, dtype=np.float64)
    values[np.isnan(values)] = np.nan
    return pd.Series(values)


def _decode_integer(vector: RVector) -> pd.Series:
    values, missing = np.asarray(vector.values, dtype=np.int64), np.asarray(vector.values) == NA_INTEGER
    if missing.any():
        return pd.Series(pd.arrays.IntegerArray(values, missing))
    return pd.Series(values)


def _decode_logical(vector: RVector) -> pd.Series:
    values, missing = np.asarray(vector.values) == 1, np.asarray(vector.values) == NA_INTEGER
    if missing.any():
        return pd.Series(pd.arrays.BooleanArray(values, missing))
    return pd.Series(values)


def _decode_complex(vector: RVector) -> pd.Series:
    values = np.array(vector.values, dtype=np.complex128)
    values[np.isnan(values)] = complex(np.nan, np.nan)
    return pd.Series(values)


def _decode_character(vector: RVector) -> pd.Series:
    return pd.Series(list(vector.values), dtype=pd.Series(["text"]).dtype)


def _decode_factor(vector: RVector) -> pd.Series:
    codes = np.asarray(vector.values, dtype=np.int64)
    codes = np.where(codes == NA_INTEGER, -1, codes - 1)
    levels = _decode_character(RVector("character", vector.attributes.get("levels", ())))
    ordered = "ordered" in vector.attributes["class"]
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(levels), ordered=ordered))


def _decode_date(vector: RVector) -> pd.Series:
    days = _numbers(vector)
    dates = [None if math.isnan(d) else datetime.date.fromordinal(EPOCH + math.floor(d)) for d in days]
    return pd.Series(dates, dtype=object)


def _decode_datetime(vector: RVector) -> pd.Series:
    series = pd.Series(_microseconds(_numbers(vector)).view("datetime64[us]"))
    zone = (vector.attributes.get("tzone") or ("UTC",))[0] or "UTC"
    return series if zone == "GMT" else series.dt.tz_localize("UTC").dt.tz_convert(zone)


def _decode_duration(vector: RVector) -> pd.Series:
    unit = _DIFFTIME[(vector.attributes.get("units") or ("secs",))[0]]
    return pd.Series(_microseconds(_numbers(vector) * unit).view("timedelta64[us]"))


def _numbers(vector: RVector) -> np.ndarray:
    series = _decode_integer(vector) if vector.storage == "integer" else _decode_double(vector)
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _microseconds(seconds: np.ndarray) -> np.ndarray:
    missing = np.isnan(seconds)
    ticks = np.round(np.where(missing, 0.0, seconds) * 1e6).astype(np.int64)
    ticks[missing] = np.iinfo(np.int64).min  # NumPy's NaT
    return ticks


_DECODERS: dict[str, Callable[[RVector], pd.Series]] = {
    "double": _decode_double,
    "integer": _decode_integer,
    "logical": _decode_logical,
    "complex": _decode_complex,
    "character": _decode_character,
    "factor": _decode_factor,
    "Date": _decode_date,
    "POSIXct": _decode_datetime,
    "difftime": _decode_duration,
}
