"""pandas to R's storage and back, without R: both directions are inverse but for what the docstrings say."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from qreg_boost.base.checks import InputError
from qreg_boost.r.convert import NA_INTEGER, NA_REAL_BITS, RWarning, encode, encode_frame
from qreg_boost.r.decode import decode, decode_frame


def bits(values):
    return np.asarray(values).view(np.uint64)


def test_nan_becomes_na_and_not_nan():
    values = np.array([1.5, np.nan, -np.inf])
    vector = encode(pd.Series(values), "x")
    assert vector.storage == "double"
    assert bits(vector.values)[1] == NA_REAL_BITS
    assert np.isnan(values[1]) and bits(values)[1] != NA_REAL_BITS  # the caller's array is untouched
    back = decode(vector)
    assert bits(back)[1] == bits(np.array([np.nan]))[0]
    assert back[2] == -np.inf


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "UInt32", "int64[pyarrow]"])
def test_nullable_integers(dtype):
    vector = encode(pd.Series([1, None, 3], dtype=dtype), "x")
    assert (vector.storage, vector.values.tolist()) == ("integer", [1, NA_INTEGER, 3])
    pd.testing.assert_series_equal(decode(vector), pd.Series([1, None, 3], dtype="Int64"))


def test_integers_that_r_has_not():
    limit = 2**31 - 1
    assert encode(pd.Series([limit, -limit]), "x").storage == "integer"
    for beyond in (limit + 1, -limit - 1):  # the least int32 is R's NA
        vector = encode(pd.Series([0, beyond]), "x")
        assert (vector.storage, vector.values.tolist()) == ("double", [0.0, float(beyond)])
    with pytest.warns(RWarning, match="Column 'id' .*beyond 2\\^53"):
        assert encode(pd.Series([2**63 + 5], dtype="uint64"), "id").values[0] == float(2**63)


def test_empty_columns_and_frames():
    for dtype, storage in [("int64", "integer"), ("float64", "double"), ("string", "character"), ("object", "logical")]:
        vector = encode(pd.Series([], dtype=dtype), "x")
        assert (vector.storage, len(vector.values)) == (storage, 0)
    back = decode_frame(encode_frame(pd.DataFrame({"a": pd.Series([], dtype=float)})))
    assert back.shape == (0, 1)
    assert decode_frame(encode_frame(pd.DataFrame(index=range(3)))).shape == (3, 0)


def test_missing_strings():
    for dtype in ("str", "object", "string", "string[pyarrow]"):
        vector = encode(pd.Series(["a", None, "NA"], dtype=dtype), "x")
        assert vector.values == ["a", None, "NA"]
    assert decode(vector).isna().tolist() == [False, True, False]


def test_categories_keep_order_and_lose_nothing_but_their_type():
    series = pd.Series(pd.Categorical(["lo", None, "hi"], categories=["lo", "mid", "hi"], ordered=True))
    vector = encode(series, "x")
    assert vector.values.tolist() == [1, NA_INTEGER, 3]
    assert vector.attributes == {"levels": ("lo", "mid", "hi"), "class": ("ordered", "factor")}
    pd.testing.assert_series_equal(decode(vector), series)
    assert encode(pd.Series([2.0, 1.5]).astype("category"), "x").attributes["levels"] == ("1.5", "2")
    assert encode(pd.Series([True, False]).astype("category"), "x").attributes["levels"] == ("FALSE", "TRUE")


def test_arrow_dictionary():
    pa = pytest.importorskip("pyarrow")
    chunks = pa.chunked_array([pa.array(["b", None, "a"]).dictionary_encode(), pa.array(["c"]).dictionary_encode()])
    vector = encode(pd.Series(pd.arrays.ArrowExtensionArray(chunks)), "x")
    assert vector.attributes["levels"] == ("b", "a", "c")
    assert vector.values.tolist() == [1, NA_INTEGER, 2, 3]


def test_times_without_and_with_zone():
    clock = pd.Series(pd.to_datetime(["2021-07-01 12:30:00.000001", None]))
    vector = encode(clock, "t")
    assert vector.attributes["tzone"] == ("GMT",)
    pd.testing.assert_series_equal(decode(vector), clock.astype("datetime64[us]"))
    for zone in ("UTC", "Europe/Berlin"):
        aware = clock.dt.tz_localize(zone)
        vector = encode(aware, "t")
        assert vector.attributes["tzone"] == (zone,)
        back = decode(vector)
        assert str(back.dt.tz) == zone
        assert (back.dropna() == aware.dropna()).all() and back.isna().tolist() == [False, True]
    fixed = clock.dt.tz_localize(dt.timezone(dt.timedelta(hours=2)))
    vector = encode(fixed, "t")
    assert vector.attributes["tzone"] == ("UTC",)
    assert (decode(vector).dropna() == fixed.dropna()).all()


def test_dates_of_arrow_and_of_python():
    pytest.importorskip("pyarrow")
    days = [dt.date(1969, 12, 31), None, dt.date(2024, 2, 29)]
    for series in (pd.Series(days), pd.Series(days, dtype="date32[day][pyarrow]")):
        vector = encode(series, "d")
        assert vector.attributes == {"class": ("Date",)}
        assert vector.values[[0, 2]].tolist() == [-1.0, 19782.0]
        assert decode(vector).tolist() == days


def test_durations():
    series = pd.Series(pd.to_timedelta(["1D 00:00:01", None, "-5us"]))
    vector = encode(series, "d")
    assert vector.attributes == {"class": ("difftime",), "units": ("secs",)}
    pd.testing.assert_series_equal(decode(vector), series.astype("timedelta64[us]"))


def test_sparse_and_decimal_columns():
    from decimal import Decimal

    assert encode(pd.Series(pd.arrays.SparseArray([0.0, 2.0])), "x").values.tolist() == [0.0, 2.0]
    assert encode(pd.Series([Decimal("1.5"), Decimal(2)]), "x").values.tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (pd.Series(pd.period_range("2020", periods=2, freq="M")), r"dtype period\[M\]"),
        (pd.Series(pd.interval_range(0, 2)), "dtype interval"),
        (pd.Series([[1], [2]]), "Python objects of kind 'mixed'"),
        (pd.Series([1, "a"]), "Python objects of kind 'mixed-integer'"),
        (pd.Series([dt.time(1)]), "Python objects of kind 'time'"),
    ],
)
def test_columns_that_r_has_not(values, found):
    with pytest.raises(InputError, match=rf"Column 'odd one' cannot be passed to R: it is {found}"):
        encode_frame(pd.DataFrame({"x": range(len(values)), "odd one": values}))


def test_arrow_lists_are_refused():
    pa = pytest.importorskip("pyarrow")
    series = pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    with pytest.raises(InputError, match="Column 'l' cannot be passed to R: it is dtype list"):
        encode(series, "l")


def test_messages_on_names_and_text():
    with pytest.raises(InputError, match=r"must be unique to pass to R; found more than once: 1$|1\."):
        encode_frame(pd.DataFrame([[1, 2]], columns=["1", 1]))
    with pytest.raises(InputError, match="several levels of column names"):
        encode_frame(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))
    with pytest.raises(InputError, match="Column 's' has a string with a null character"):
        encode(pd.Series(["a\0b"]), "s")
    with pytest.raises(InputError, match="Column 's' has a string that is not Unicode"):
        encode(pd.Series(["\ud800"], dtype=object), "s")
    with pytest.raises(InputError, match="categories that read alike"):
        encode(pd.Series(pd.Categorical([1, "1"], categories=[1, "1"])), "g")
    mixed = pd.Series([pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020", tz="Asia/Tokyo")], dtype=object)
    with pytest.raises(InputError, match="Column 't' mixes datetimes"):
        encode(mixed, "t")
