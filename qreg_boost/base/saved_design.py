"""The rows of a fit in a saved file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.design import Design, Encoder, Term
from qreg_boost.base.facts import RowFacts


def design_state(design: Design) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the rows of a design, as values that JSON holds and arrays."""
    arrays = {"y": design.y, "X": design.X, "rows": design.rows, "index": plain_index(design.index)}
    arrays |= {name: getattr(design, name) for name in ("weights", "offset") if getattr(design, name) is not None}
    return {"index_name": None if design.index.name is None else str(design.index.name)}, arrays


def restore_design(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], facts: RowFacts, encoder: Encoder
) -> Design:
    """Return the design that `design_state` wrote."""
    return Design(
        y=arrays["y"],
        X=arrays["X"],
        column_names=facts.design_columns,
        terms=tuple(Term(name, columns) for name, columns in facts.terms),
        intercept=facts.intercept,
        weights=arrays.get("weights"),
        offset=arrays.get("offset"),
        index=pd.Index(arrays["index"], name=meta["index_name"]),
        rows=arrays["rows"],
        n_dropped=facts.n_dropped,
        response=facts.response,
        formula=facts.formula,
        encoder=encoder,
    )


def parts_of(arrays: Mapping[str, np.ndarray], *names: str) -> dict[str, dict[str, np.ndarray]]:
    """Return the arrays by their part, the word before the first dot of their names; `names` are there in any case.

    >>> sorted(parts_of({"fit.a": np.zeros(1)}, "model"))
    ['fit', 'model']
    """
    parts: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
    for name, array in arrays.items():
        part, _, own = name.partition(".")
        parts.setdefault(part, {})[own] = array
    return parts


def plain_index(index: pd.Index) -> np.ndarray:
    """Return row labels as an array that a file can hold: numbers and dates as they are, all else as text."""
    values = index.to_numpy()
    return values if values.dtype.kind in "biufmM" else np.array([str(label) for label in index], dtype=str)
