"""Which rows take part: the subset asked for, and the names of the caller's that a formula may use."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError
from qreg_boost.base.coding import Source
from qreg_boost.base.formula import read_expression
from qreg_boost.base.frames import align, find_column, kind_of
from qreg_boost.base.reader import KNOWN, Expression


def caller_env(depth: int = 0) -> Mapping[str, Any]:
    """Return the names visible where the function that calls this was called from; `depth` goes further up.

    A function that takes a formula calls ``caller_env()`` and hands the result on as `env`.

    >>> def model():
    ...     return caller_env()
    >>> knots = [1, 2]
    >>> model()["knots"]
    [1, 2]
    """
    frame = sys._getframe(2 + depth)
    return ChainMap(dict(frame.f_locals), frame.f_globals)


def as_env(env: Any) -> Mapping[str, Any]:
    """Return `env` as a mapping of names: a mapping, a patsy EvalEnvironment, a depth up the stack, or None."""
    if env is None:
        return {}
    if isinstance(env, Mapping):
        return env
    if isinstance(env, (int, np.integer)) and not isinstance(env, bool):
        return caller_env(int(env) + 1)
    if hasattr(env, "namespace"):
        return _Namespace(env.namespace)
    raise InputError(f"`env` must be a mapping of names, an int or a patsy EvalEnvironment; got {type(env).__name__}.")


class _Namespace(dict):
    """patsy's namespace, which can only be asked for one name at a time."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner = inner

    def __contains__(self, name: object) -> bool:
        return name in self._inner

    def __missing__(self, name: str) -> Any:
        return self._inner[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._inner.get(name, default)


def subset_rows(subset: Any, frame: pd.DataFrame) -> np.ndarray:
    """Return the positions of the rows asked for by a mask, a Series of booleans, a column name, or an expression.

    >>> import pandas as pd
    >>> subset_rows("x > 1", pd.DataFrame({"x": [1, 2, 3]}))
    array([1, 2])
    """
    n = len(frame)
    if subset is None:
        return np.arange(n)
    if isinstance(subset, str):
        mask = _mask_by_text(subset, frame)
    elif isinstance(subset, pd.Series):
        mask = _booleans(align(subset, frame.index, "subset"), "`subset`")
    else:
        mask = _booleans(
            pd.Series(np.asarray(subset).ravel() if np.ndim(subset) == 1 else _not_a_mask(subset)), "`subset`"
        )
    if len(mask) != n:
        raise InputError(f"`subset` must have one value per row: {n} rows, but {len(mask)} values.")
    rows = np.flatnonzero(mask)
    if not len(rows):
        raise InputError(f"`subset` selects none of the {n} rows.")
    return rows


def _not_a_mask(subset: Any) -> Any:
    raise InputError(
        "`subset` must be a mask of booleans, a column name or an expression such as 'x > 3'; "
        f"got {type(subset).__name__}."
    )


def _mask_by_text(subset: str, frame: pd.DataFrame) -> np.ndarray:
    if subset in {str(column) for column in frame.columns}:
        return _booleans(find_column(frame, subset, "subset"), f"`subset`: column {subset!r}")
    factor, columns = read_expression(subset, frame.columns, KNOWN)
    source = Source(frame, columns, subset)
    expression = Expression.read(factor.code, factor.label, factor.columns, {})
    complete = ~np.logical_or.reduce(
        [source.missing(safe) for safe in expression.counted()] or [np.zeros(len(frame), bool)]
    )
    rows = np.flatnonzero(complete)
    value = expression.compute(source.values(rows), len(rows))
    if np.ndim(value) != 1:
        raise InputError(f"`subset`: {subset!r} does not give one boolean per row.")
    mask = np.zeros(len(frame), dtype=bool)
    mask[rows] = _booleans(pd.Series(np.asarray(value)), f"`subset`: {subset!r}")
    return mask


def _booleans(values: pd.Series, what: str) -> np.ndarray:
    if kind_of(values) != "boolean":
        raise InputError(f"{what} must be booleans, True for the rows to keep; got dtype {values.dtype}.")
    missing = values.isna().to_numpy(dtype=bool)
    mask = np.zeros(len(values), dtype=bool)
    mask[~missing] = values[~missing].to_numpy(dtype=bool)
    return mask
