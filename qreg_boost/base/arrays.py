"""Arrays to a design: the response and predictors as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_finite, check_offset, check_weights, listed, number_of
from qreg_boost.base.coding import refuse_infinite
from qreg_boost.base.encoder import Encoder, Term
from qreg_boost.base.frames import align, described, kind_of, plain_values
from qreg_boost.base.learning import Learned


def read_arrays(
    y: Any, X: Any, names: Sequence[Any] | None, weights: Any, offset: Any, missing: str, raw: bool = False
) -> tuple[Learned, pd.Index]:
    """Return the numbers of a response and predictors, and the labels of the caller's rows; `raw` keeps `y` labels."""
    values, found = _predictors(X)
    classes, label = _labels_of(y) if raw else (None, "")
    if classes is None:
        response, label = _response_of(y)
    else:
        response = np.where(pd.isna(classes), np.nan, 0.0)
    if len(response) != len(values):
        raise InputError(
            f"`y` has {len(response)} values and `X` has {len(values)} rows; there must be one row per value."
        )
    if not len(response):
        raise InputError("`y` and `X` are empty: 0 rows.")
    index = _index(y, X, len(response))
    column_names = _names(names, found, values.shape[1])
    wts = None if weights is None else check_weights(_by_row(weights, index, "weights"), len(response))
    off = None if offset is None else check_offset(_by_row(offset, index, "offset"), len(response))
    rows = np.arange(len(response), dtype=np.int32 if len(response) < 2**31 else np.int64)
    gone = _missing(response, values, column_names, missing)
    if gone is not None:
        rows = rows[~gone]
        response, values = response[rows], values[rows]
        off = None if off is None else off[rows]
        wts = None if wts is None else check_weights(wts[rows], len(rows))
    if classes is not None:
        response = classes[rows]
    terms = tuple(map(Term, column_names, zip(range(len(column_names)))))
    encoder = Encoder(None, column_names, terms, None if offset is None else "array", branch=missing == "branch")
    return Learned(response, values, wts, off, rows, len(index) - len(rows), label, encoder), index


def _predictors(X: Any) -> tuple[np.ndarray, list[str] | None]:
    if type(X) is np.ndarray and X.dtype == np.float64:
        values, found = X, None
    elif isinstance(X, pd.Series):
        values, found = _column(X, str(X.name))[:, None], None if X.name is None else [str(X.name)]
    elif isinstance(X, pd.DataFrame) or hasattr(X, "to_pandas"):
        frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
        found = [str(column) for column in frame.columns]
        if all(dtype == np.float64 for dtype in frame.dtypes):
            values = frame.to_numpy()  # no copy where pandas holds one block
        else:
            values = np.empty(frame.shape, order="F")
            for j, name in enumerate(found):
                values[:, j] = _column(frame.iloc[:, j], name)
    else:
        values, found = _floats(X, "X"), None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise InputError(f"`X` must have shape (n, p) or (n,); got {values.shape}.")
    return values if values.flags.f_contiguous else np.ascontiguousarray(values), found


def _column(series: pd.Series, name: str) -> np.ndarray:
    kind = kind_of(series)
    if kind not in ("number", "boolean"):
        raise InputError(
            f"Column {name!r} of `X` is not numeric (it is {described(series, kind)}). Arrays are taken as they are; "
            "use a formula, which codes categories, or code it first."
        )
    return np.array(plain_values(series, kind), dtype=np.float64)


def _floats(values: Any, name: str) -> np.ndarray:
    if np.iscomplexobj(values):
        raise InputError(f"`{name}` is complex; it must be real.")
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` must be numbers; got {type(values).__name__} of other values.") from None


def _response_of(y: Any) -> tuple[np.ndarray, str]:
    if isinstance(y, pd.DataFrame):
        if y.shape[1] != 1:
            raise InputError(f"`y` has {y.shape[1]} columns; fit one model for each.")
        y = y.iloc[:, 0]
    if isinstance(y, pd.Series):
        label = "y" if y.name is None else str(y.name)
        kind = kind_of(y)
        if kind != "number":
            raise InputError(
                f"Response {label!r} is not numeric (it is {described(y, kind)}). Make it numbers first, "
                "for example with pandas.to_numeric, or with astype(float) for True and False."
            )
        return np.array(plain_values(y, kind), dtype=np.float64), label
    array = np.asarray(y)
    if array.dtype.kind in "bUSmM":
        raise InputError(
            f"Response `y` is not numeric (dtype {array.dtype}); make it numbers first, for example with astype(float)."
        )
    array = _floats(array, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"`y` must be one value per row; got shape {array.shape}.")
    return (array if array.flags.writeable and array.flags.c_contiguous else array.copy()), "y"


def _labels_of(y: Any) -> tuple[Any, str]:
    """Return the labels of a response, a categorical or an array, and its name."""
    if isinstance(y, pd.DataFrame):
        if y.shape[1] != 1:
            raise InputError(f"`y` has {y.shape[1]} columns; fit one model for each.")
        y = y.iloc[:, 0]
    label = str(y.name) if isinstance(y, pd.Series) and y.name is not None else "y"
    if isinstance(getattr(y, "dtype", None), pd.CategoricalDtype):
        return pd.Categorical(y), label
    array = y.to_numpy() if isinstance(y, pd.Series) else np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"`y` must be one label per row; got shape {array.shape}.")
    return array, label


def check_one_index(y: Any, data: Any) -> None:
    """Raise InputError if labels and the rows they belong to have indexes, and different ones."""
    labelled = (pd.Series, pd.DataFrame)
    if isinstance(y, labelled) and isinstance(data, labelled) and not y.index.equals(data.index):
        raise InputError("`y` and the data have different indexes; align them first, or pass `y` as an array.")


def _index(y: Any, X: Any, n: int) -> pd.Index:
    labelled = [given.index for given in (y, X) if isinstance(given, (pd.Series, pd.DataFrame))]
    if len(labelled) == 2 and not labelled[0].equals(labelled[1]):
        raise InputError("`y` and `X` have different indexes; align them first, or pass arrays to go by row.")
    return labelled[0] if labelled else pd.RangeIndex(n)


def _names(names: Sequence[Any] | None, found: list[str] | None, p: int) -> tuple[str, ...]:
    if names is None:
        given = found if found is not None else [f"x{j + 1}" for j in range(p)]
    else:
        given = [str(name) for name in ([names] if isinstance(names, str) else names)]
    if len(given) != p:
        raise InputError(f"`names` must have one name per column of `X`: {p} columns, but {len(given)} names.")
    if len(set(given)) < p:
        twice = next(name for name in given if given.count(name) > 1)
        raise InputError(f"The name {twice!r} stands for more than one column of `X`; names must differ.")
    return tuple(given)


def _by_row(given: Any, index: pd.Index, name: str) -> Any:
    if isinstance(given, str):
        raise InputError(f"`{name}` given by column name needs a formula and data; pass one value per row.")
    if isinstance(given, pd.Series):
        series = align(given, index, name)
        return plain_values(series, kind_of(series))
    return given


def _missing(y: np.ndarray, X: np.ndarray, names: Sequence[str], rule: str) -> np.ndarray | None:
    """Return the mask of rows to drop, or None; one pass over X if all is finite."""
    with np.errstate(all="ignore"):
        if np.isfinite(y.sum()) and np.isfinite(X.sum()):
            return None
    missing = np.isnan(y) if rule == "branch" else np.isnan(y) | np.isnan(X).any(axis=1)
    rows = np.flatnonzero(~missing)
    check_finite(np.where(missing, 0.0, y), "Response `y`")
    refuse_infinite(X[rows], names, rows, len(y))
    if not missing.any():
        return None
    counts = {"y": int(np.isnan(y).sum())} | {name: int(np.isnan(X[:, j]).sum()) for j, name in enumerate(names)}
    shown = listed(f"{name} ({number_of(count, 'row')})" for name, count in counts.items() if count)
    if rule == "raise":
        raise InputError(f"Values are missing: {shown}. Fill or drop them, or pass missing='drop'.")
    if missing.all():
        raise InputError(f"No row is complete: each of the {len(y)} rows misses something. Missing values: {shown}.")
    return missing
