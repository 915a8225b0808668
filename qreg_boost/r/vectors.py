"""Records of `convert` to R objects and back, through rpy2's lower layer; to be called with R's lock held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.r.convert import RFrame, RVector
from qreg_boost.r.decode import decode, decode_frame

_ATTRIBUTES = ("names", "dim", "dimnames", "levels", "class", "tzone", "units")


def make(rinterface: Any, value: Any) -> Any:
    """Return the R object of a record, of a dict (a named list), of a held object, or of None (NULL)."""
    if value is None:
        return rinterface.NULL
    if isinstance(value, RVector):
        return _attach(rinterface, _plain(rinterface, value), value.attributes)
    if isinstance(value, RFrame):
        return _frame(rinterface, value)
    if isinstance(value, dict):
        items = rinterface.ListSexpVector([make(rinterface, item) for item in value.values()])
        return _attach(rinterface, items, {"names": tuple(value)})
    return value.sexp


def _plain(rinterface: Any, vector: RVector) -> Any:
    if vector.storage == "character":
        return _strings(rinterface, vector.values)
    kinds = {
        "double": rinterface.FloatSexpVector,
        "integer": rinterface.IntSexpVector,
        "logical": rinterface.BoolSexpVector,
        "complex": rinterface.ComplexSexpVector,
    }
    if vector.storage == "complex":
        return kinds["complex"](list(vector.values))
    return kinds[vector.storage].from_memoryview(np.ascontiguousarray(vector.values).data)


def _strings(rinterface: Any, values: Any) -> Any:
    return rinterface.StrSexpVector([rinterface.NA_Character if value is None else value for value in values])


def _attach(rinterface: Any, sexp: Any, attributes: dict[str, tuple[Any, ...]]) -> Any:
    for name, value in attributes.items():
        part = rinterface.IntSexpVector(list(value)) if name == "dim" else _strings(rinterface, value)
        sexp = rinterface.baseenv["attr<-"](sexp, name, part)
    return sexp


def _frame(rinterface: Any, frame: RFrame) -> Any:
    columns = rinterface.ListSexpVector([make(rinterface, vector) for vector in frame.vectors])
    columns = _attach(rinterface, columns, {"names": frame.names})
    rows = rinterface.baseenv["seq_len"](frame.n)
    columns = rinterface.baseenv["attr<-"](columns, "row.names", rows)
    return _attach(rinterface, columns, {"class": ("data.frame",)})


def read(rinterface: Any, sexp: Any, hold_as: Callable[[Any], Any], hold: frozenset[str] = frozenset()) -> Any:
    """Return an R object as Python has it.

    Parameters
    ----------
    hold_as : callable
        Makes a holder for what has no form in pandas (functions, environments, models), or is named in `hold`.

    Returns
    -------
    object
        None for NULL; a Series for a vector, a DataFrame for a matrix or data frame; a dict for a list with names and a
        list for one without.
    """
    kind = rinterface.RTYPES(sexp.typeof)
    if kind == rinterface.RTYPES.NILSXP:
        return None
    if kind == rinterface.RTYPES.VECSXP:
        return _read_list(rinterface, sexp, hold_as, hold)
    if kind.name not in _STORAGE:
        return hold_as(sexp)
    return _shape(_record(rinterface, sexp, _STORAGE[kind.name]))


_STORAGE = {
    "REALSXP": "double",
    "INTSXP": "integer",
    "LGLSXP": "logical",
    "STRSXP": "character",
    "CPLXSXP": "complex",
}


def _record(rinterface: Any, sexp: Any, storage: str) -> RVector:
    if storage == "character":
        values: Any = [None if value is rinterface.NA_Character else str(value) for value in sexp]
    elif storage == "complex":
        values = np.array([complex(value) for value in sexp], dtype=np.complex128)
    elif not len(sexp):  # rpy2 has no view of nothing
        values = np.empty(0, dtype=np.float64 if storage == "double" else np.int32)
    else:
        values = np.array(sexp.memoryview()).ravel(order="F")
    return RVector(storage, values, _attributes(rinterface, sexp))


def _attributes(rinterface: Any, sexp: Any) -> dict[str, tuple[Any, ...]]:
    there = set(sexp.list_attrs())
    found: dict[str, tuple[Any, ...]] = {}
    for name in _ATTRIBUTES:
        if name not in there:
            continue
        part = rinterface.baseenv["attr"](sexp, name)
        if name == "dimnames":
            found[name] = tuple(None if p.typeof == rinterface.RTYPES.NILSXP else tuple(map(str, p)) for p in part)
        else:
            found[name] = tuple(int(p) if name == "dim" else str(p) for p in part)
    return found


def _shape(vector: RVector) -> Any:
    dim = vector.attributes.get("dim", ())
    if len(dim) != 2:
        return decode(vector)
    rows, columns = vector.attributes.get("dimnames", (None, None))
    flat = decode(RVector(vector.storage, vector.values)).to_numpy()
    return pd.DataFrame(
        flat.reshape(dim, order="F"),
        index=None if rows is None else pd.Index(rows),
        columns=None if columns is None else pd.Index(columns),
    )


def _read_list(rinterface: Any, sexp: Any, hold_as: Callable[[Any], Any], hold: frozenset[str]) -> Any:
    attributes = _attributes(rinterface, sexp)
    if "data.frame" in attributes.get("class", ()):
        n = int(rinterface.baseenv["nrow"](sexp)[0])
        vectors = tuple(_record(rinterface, item, _STORAGE[rinterface.RTYPES(item.typeof).name]) for item in sexp)
        return decode_frame(RFrame(attributes.get("names", ()), vectors, n))
    names = attributes.get("names")
    if names is None:
        return [read(rinterface, item, hold_as) for item in sexp]
    return {
        name: hold_as(item) if name in hold else read(rinterface, item, hold_as)
        for name, item in zip(names, sexp, strict=True)
    }
