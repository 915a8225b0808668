"""An encoder as a JSON-able dict and plain arrays, and back; what is read is checked, and never executed."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import FileFormatError, FormulaError, InputError
from qreg_boost.base.coding import Block, CodedFactor
from qreg_boost.base.encoder import Encoder, Term
from qreg_boost.base.patsy_door import TRANSFORMS
from qreg_boost.base.reader import Expression
from qreg_boost.base.saveable import evaluated_names, not_saveable, stateful_calls

VERSION = 1

_WRITERS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (pd.Timestamp, "timestamp", lambda v: v.isoformat()),
    (pd.Interval, "interval", lambda v: [_scalar(v.left), _scalar(v.right), v.closed]),
    (Decimal, "decimal", str),
    (datetime.date, "date", lambda v: v.isoformat()),
)
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "timestamp": pd.Timestamp,
    "interval": lambda v: pd.Interval(_unscalar(v[0]), _unscalar(v[1]), closed=v[2]),
    "decimal": Decimal,
    "date": datetime.date.fromisoformat,
    "float": float,
    "list": lambda v: [_unscalar(item) for item in v],
    "tuple": lambda v: tuple(_unscalar(item) for item in v),
}


def _scalar(value: Any) -> Any:
    """Return one value as JSON can hold it, tagged where JSON has no such type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [_scalar(item) for item in value]}
    for kind, tag, write in _WRITERS:
        if isinstance(value, kind) and value is not pd.NaT:
            return {tag: write(value)}
    raise InputError(f"The value {value!r} of type {type(value).__name__} cannot be saved.")


def _unscalar(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items()
    return _READERS[tag](inner)


def _store(value: Any, key: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, (pd.Series, pd.Index)):
        value = value.to_numpy()
    if isinstance(value, np.ndarray) and value.ndim:
        if value.dtype.kind not in "biufU":
            raise InputError(f"An array of dtype {value.dtype} in the formula cannot be saved; pass numbers.")
        arrays[key] = value
        return {"array": key}
    return _scalar(value.item() if isinstance(value, np.ndarray) else value)


def _fetch(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, dict) and set(value) == {"array"}:
        array = np.asarray(arrays[value["array"]])
        if array.dtype.kind not in "biufU":
            raise ValueError(f"array {value['array']!r} has dtype {array.dtype}")
        return array
    return _unscalar(value)


def write_state(encoder: Encoder) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the encoder as a dict and arrays; raises `InputError` naming what cannot be saved."""
    arrays: dict[str, np.ndarray] = {}
    meta: dict[str, Any] = {
        "version": VERSION,
        "formula": encoder.formula,
        "column_names": list(encoder.column_names),
        "terms": [[term.name, list(term.columns)] for term in encoder.terms],
        "offset": encoder.offset,
        "offset_column": _scalar(encoder.offset_column),
        "branch": encoder.branch,
    }
    if encoder.formula is not None:
        assert encoder.columns is not None
        assert encoder.kinds is not None
        meta["columns"] = {safe: _scalar(column) for safe, column in encoder.columns.items()}
        meta["kinds"] = dict(encoder.kinds)
        meta["factors"] = [_write_factor(f, f"factor{i}", encoder, arrays) for i, f in enumerate(encoder.factors)]
        meta["blocks"] = [_write_block(b, f"block{i}", arrays) for i, b in enumerate(encoder.blocks)]
    return meta, arrays


def _write_factor(factor: CodedFactor, key: str, encoder: Encoder, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    expression = factor.expression
    fault = not_saveable(expression)
    if fault is not None:
        for safe, column in (encoder.columns or {}).items():
            fault = fault.replace(safe, str(column))
        raise InputError(
            f"'{expression.label}' cannot be saved, because of {fault}: a saved formula may hold columns, numbers, "
            "arithmetic, comparisons, patsy's functions and numpy's elementwise ones. Compute the column in `data` "
            "first, and use it by name."
        )
    wanted = evaluated_names(expression)
    try:
        constants = {
            name: _store(value, f"{key}.{name}", arrays)
            for name, value in expression.constants.items()
            if name in wanted
        }
        levels = None if factor.levels is None else [_scalar(level) for level in factor.levels]
    except InputError as error:
        raise InputError(f"'{expression.label}' cannot be saved: {error}") from None
    transforms = {
        str(position): {
            "name": transform.name,
            "fields": {f: _store(v, f"{key}.{position}.{f}", arrays) for f, v in transform.remembered().items()},
        }
        for position, transform in expression.transforms.items()
    }
    return {
        "code": expression.code, "label": expression.label, "columns": list(expression.columns), "constants": constants,
        "transforms": transforms, "width": factor.width, "levels": levels,
        "seen": None if factor.seen is None else list(factor.seen),
    }  # fmt: skip


def _write_block(block: Block, key: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    contrasts = [None if c is None else _store(c, f"{key}.{i}", arrays) for i, c in enumerate(block.contrasts)]
    return {"factors": list(block.factors), "contrasts": contrasts, "width": block.width}


def read_state(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Encoder:
    """Return the encoder that `write_state` described; raises `FileFormatError` if it is damaged or not allowed."""
    try:
        version = meta["version"]
        if isinstance(version, int) and version > VERSION:
            raise FileFormatError(
                f"The saved encoder has version {version}; this one reads up to {VERSION}. Update the package."
            )
        encoder = _read(meta, arrays)
        _verify(encoder)
    except FileFormatError:
        raise
    except FormulaError as error:
        raise FileFormatError(f"The saved formula cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, AssertionError) as error:
        raise FileFormatError(f"The saved encoder is damaged ({type(error).__name__}: {error}).") from None
    return encoder


def _read(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Encoder:
    formula = meta["formula"]
    offset_column: Hashable = _unscalar(meta["offset_column"])
    names = tuple(str(name) for name in meta["column_names"])
    terms = tuple(Term(str(name), tuple(int(j) for j in columns)) for name, columns in meta["terms"])
    branch = bool(meta.get("branch", False))
    if formula is None:
        return Encoder(None, names, terms, meta["offset"], offset_column, branch=branch)
    columns = {_safe(name): _unscalar(column) for name, column in meta["columns"].items()}
    return Encoder(
        formula=str(formula),
        column_names=names,
        terms=terms,
        offset=meta["offset"],
        offset_column=offset_column,
        columns=columns,
        kinds={str(safe): str(kind) for safe, kind in meta["kinds"].items()},
        factors=tuple(_read_factor(factor, columns, arrays) for factor in meta["factors"]),
        blocks=tuple(_read_block(block, arrays) for block in meta["blocks"]),
        branch=branch,
    )


def _safe(name: Any) -> str:
    """Return a safe name; any other could stand for a function."""
    if not isinstance(name, str) or not re.fullmatch(r"_qb\d+_", name):
        raise ValueError(f"{name!r} is not a name that formulas are saved with")
    return name


def _read_factor(saved: Mapping[str, Any], columns: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> CodedFactor:
    used = tuple(str(safe) for safe in saved["columns"])
    if not set(used) <= set(columns):
        raise ValueError(f"factor {saved['label']!r} uses a column that is not listed")
    constants = {_safe(name): _fetch(value, arrays) for name, value in saved["constants"].items()}
    expression = Expression.read(str(saved["code"]), str(saved["label"]), used, constants)
    fault = not_saveable(expression)
    if fault is not None:
        raise FileFormatError(
            f"The saved formula holds {fault}, which is not on the list of what may be loaded; nothing was executed."
        )
    for position, name in stateful_calls(expression).items():
        found = saved["transforms"][str(position)]
        transform = TRANSFORMS[name]()
        if found["name"] != transform.name:
            raise ValueError(f"{name}() has the state of {found['name']!r}")
        transform.recall({field: _fetch(value, arrays) for field, value in found["fields"].items()})
        expression.transforms[position] = transform
    levels = None if saved["levels"] is None else tuple(_unscalar(level) for level in saved["levels"])
    seen = None if saved["seen"] is None else tuple(bool(there) for there in saved["seen"])
    return CodedFactor(expression, int(saved["width"]), levels, seen)


def _read_block(saved: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Block:
    contrasts = tuple(
        None if c is None else np.asarray(_fetch(c, arrays), dtype=np.float64) for c in saved["contrasts"]
    )
    return Block(tuple(int(i) for i in saved["factors"]), contrasts, int(saved["width"]))


def _verify(encoder: Encoder) -> None:
    """Check that terms, blocks and contrasts fit together, so that encoding cannot go wrong later."""
    if encoder.offset not in (None, "array", "column"):
        raise ValueError(f"offset is {encoder.offset!r}")
    positions = [j for term in encoder.terms for j in term.columns]
    if positions != list(range(len(encoder.column_names))):
        raise ValueError("the terms do not make up the columns")
    if encoder.formula is None:
        return
    for factor in encoder.factors:
        if (factor.levels is None) != (factor.seen is None) or len(factor.levels or ()) != len(factor.seen or ()):
            raise ValueError(f"the levels of {factor.expression.label!r} are incomplete")
    if sum(block.width for block in encoder.blocks) != len(encoder.column_names):
        raise ValueError("the blocks do not make up the columns")
    if set(encoder.kinds or {}) != set(encoder.columns or {}):
        raise ValueError("the kinds of the columns are incomplete")
    for block in encoder.blocks:
        width = 1
        for position, contrasts in zip(block.factors, block.contrasts, strict=True):
            if position < 0:
                raise ValueError("a block has a negative factor")
            factor = encoder.factors[position]
            if (contrasts is None) != (factor.levels is None):
                raise ValueError(f"{factor.expression.label!r} lacks its contrasts")
            if contrasts is not None and (contrasts.ndim != 2 or len(contrasts) != len(factor.levels or ())):
                raise ValueError(f"the contrasts of {factor.expression.label!r} do not fit its levels")
            width *= factor.width if contrasts is None else contrasts.shape[1]
        if width != block.width or not block.factors:
            raise ValueError("a block has the wrong width")
