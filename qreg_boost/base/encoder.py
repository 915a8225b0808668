"""What encodes new data as the training data were encoded, and nothing of the training rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_finite, listed
from qreg_boost.base.coding import (
    Block,
    CodedFactor,
    Source,
    built,
    codes_of,
    complete_rows,
    refuse_infinite,
    settle,
    spread,
    taken,
)
from qreg_boost.base.frames import as_frame, find_column, row_values


class Term(NamedTuple):
    """A term of the formula: its name as the user reads it, and the positions of its columns in the design."""

    name: str
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NewData:
    """New data encoded: X (m, p), a row NaN where something is missing; offset (m,) or None; the rows' labels."""

    X: np.ndarray
    offset: np.ndarray | None
    index: pd.Index


@dataclass(frozen=True, eq=False)
class Encoder:
    """Encodes new data.

    `formula` is None for a model of arrays, whose predictors are then found by `column_names` in a frame. `offset` is
    None, ``"array"``, or ``"column"`` with the label of the column in `offset_column`. With `branch` only the columns
    of a term are NaN where it is missing, else the whole row.
    """

    formula: str | None
    column_names: tuple[str, ...]
    terms: tuple[Term, ...]
    offset: str | None = None
    offset_column: Hashable | None = None
    columns: Mapping[str, Hashable] | None = None
    kinds: Mapping[str, str] | None = None
    factors: tuple[CodedFactor, ...] = ()
    blocks: tuple[Block, ...] = ()
    branch: bool = False

    @property
    def levelled(self) -> tuple[bool, ...]:
        """Whether the columns of each term code levels: one product of categorical factors, 0 or 1, one 1 at most."""
        first, coded = 0, set()
        for block in self.blocks:
            if all(contrasts is not None and _is_treatment(contrasts) for contrasts in block.contrasts):
                coded.add(tuple(range(first, first + block.width)))
            first += block.width
        return tuple(term.columns in coded for term in self.terms)

    def encode(self, data: Any, offset: Any = None) -> NewData:
        """Return new data encoded as the training data were.

        Parameters
        ----------
        data : DataFrame, dict of columns or scalars, or for a model of arrays an (m, p) array
        offset : column name, (m,) array or Series, optional
            Required if the model was fitted with an offset given as an array; one that was a column is found in `data`.

        Raises
        ------
        InputError
            If a column is absent, a level was not seen in training, a number has become text, or the offset is missing.
        """
        if self.formula is None:
            X, frame = self._from_arrays(data)
        else:
            frame = as_frame(data)
            X = self._from_frame(frame)
        return NewData(X, self._offset(frame, offset), frame.index)

    def _offset(self, frame: pd.DataFrame, offset: Any) -> np.ndarray | None:
        if offset is None and self.offset == "column":
            find_column(frame, self.offset_column, "the offset of the fitted model", "the new data")
            offset = self.offset_column
        if offset is None and self.offset == "array":
            raise InputError(
                "The model was fitted with an offset given as an array, so predicting needs one too: pass offset=, "
                "one value per row of the new data (zeros for none)."
            )
        values = row_values(offset, frame, "offset").values
        if values is None:
            return None
        if values.ndim != 1 or len(values) != len(frame):
            raise InputError(f"`offset` must have one value per row: {len(frame)} rows, but shape {values.shape}.")
        check_finite(values, "`offset`", new_data=True)
        return values

    def _from_frame(self, frame: pd.DataFrame) -> np.ndarray:
        assert self.columns is not None
        assert self.formula is not None
        source = Source(frame, self.columns, self.formula, "the new data")
        self._check_kinds(source)
        n = len(frame)
        if self.branch:
            return self._where_known(source, np.arange(n))
        incomplete = np.zeros(n, dtype=bool)
        for safe in set().union(*(factor.expression.counted() for factor in self.factors)):
            incomplete |= source.missing(safe)
        rows = np.flatnonzero(~incomplete)
        X = np.full((n, len(self.column_names)), np.nan)
        if not len(rows):
            return X
        columns = source.values(rows)
        values = [evaluate(factor, columns, source, rows) for factor in self.factors]
        gaps = (
            np.logical_or.reduce([_missing(value) for value in values]) if values else np.zeros(len(rows), dtype=bool)
        )
        if gaps.any():
            rows, values = rows[~gaps], [value[~gaps] for value in values]
        X[rows] = built(values, self.factors, self.blocks, self.column_names, rows, n, new_data=True)
        return X

    def _where_known(self, source: Source, rows: np.ndarray) -> np.ndarray:
        """Return the design of new data, NaN only where what a term reads is missing."""
        values = []
        for factor in self.factors:
            known = complete_rows(factor.expression, source, rows)
            empty = np.empty((0, factor.width)) if factor.levels is None else np.empty(0, dtype=np.intp)
            value = evaluate(factor, source.values(rows[known]), source, rows[known]) if known.any() else empty
            whole = spread(value, known)
            assert isinstance(whole, np.ndarray)
            values.append(whole)
        return built(values, self.factors, self.blocks, self.column_names, rows, len(rows), new_data=True)

    def _check_kinds(self, source: Source) -> None:
        assert self.kinds is not None
        for safe, kind in self.kinds.items():
            now = source.kinds[safe]
            if kind == "number" and now in ("text", "category", "datetime", "mixed", "complex"):
                series = source.series[safe]
                if now == "category" and pd.api.types.is_numeric_dtype(series.cat.categories.dtype):
                    continue
                example = next(iter(series.dropna()), None)
                raise InputError(
                    f"Column {source.names[safe]!r} was numeric in training and is {now} now (dtype {series.dtype}, "
                    f"for example {example!r}); convert it, for example with pandas.to_numeric."
                )

    def _from_arrays(self, data: Any) -> tuple[np.ndarray, pd.DataFrame]:
        if isinstance(data, (Mapping, pd.DataFrame)) or hasattr(data, "to_pandas"):
            frame = as_frame(data)
            names = {str(column) for column in frame.columns}
            absent = [name for name in self.column_names if name not in names]
            if absent:
                raise InputError(
                    f"The new data lack {listed(absent)}; the model was fitted on {listed(self.column_names)}. "
                    "Name the columns so, or pass an array."
                )
            columns = {str(i): name for i, name in enumerate(self.column_names)}
            source = Source(frame, columns, "the model", "the new data")
            bad = [source.names[safe] for safe, kind in source.kinds.items() if kind not in ("number", "boolean")]
            if bad:
                raise InputError(f"Column {bad[0]!r} of the new data is not numeric.")
            values = source.values(None)
            X = np.empty((len(frame), len(columns)))
            for i, safe in enumerate(columns):
                X[:, i] = values[safe]
        else:
            X, index = self._from_ndarray(data)
            frame = pd.DataFrame(index=index)
        bad_rows = np.atleast_1d(np.isnan(X).any(axis=1))
        if bad_rows.any() and not self.branch:
            X = X.copy()
            X[bad_rows] = np.nan
        refuse_infinite(
            np.where(bad_rows[:, None], 0.0, X), self.column_names, np.arange(len(X)), len(X), new_data=True
        )
        return X, frame

    def _from_ndarray(self, data: Any) -> tuple[np.ndarray, pd.Index]:
        p = len(self.column_names)
        index = data.index if isinstance(data, pd.Series) else None
        try:
            X = np.asarray(data, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"The new data must be numbers, an (m, {p}) array; got {type(data).__name__}.") from None
        if X.ndim == 1 and p == 1:
            X = X[:, None]
        if X.ndim != 2 or X.shape[1] != p:
            hint = f" For one row pass shape (1, {p})." if X.shape == (p,) else ""
            raise InputError(
                f"The new data must have shape (m, {p}), the columns {listed(self.column_names)}; got {X.shape}.{hint}"
            )
        return np.ascontiguousarray(X), pd.RangeIndex(len(X)) if index is None else index

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `from_state` needs: a dict that JSON can hold, and arrays by name.

        Raises
        ------
        InputError
            If the formula holds what cannot be saved, such as a function of the user's.
        """
        from qreg_boost.base.encoder_state import write_state

        return write_state(self)

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Encoder:
        """Return the encoder that `state` described; no code of the file is executed.

        Raises
        ------
        FileFormatError
            If the state is damaged or holds an expression that is not on the list of what may be saved.
        """
        from qreg_boost.base.encoder_state import read_state

        return read_state(meta, arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder.from_state, self.state()

    def __copy__(self) -> Encoder:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Encoder:
        return self


def evaluate(factor: CodedFactor, columns: Mapping[str, Any], source: Source, rows: np.ndarray) -> np.ndarray:
    """Return a factor on rows of new data: (n, k) numbers, or (n,) positions among its levels, -1 where missing."""
    expression = factor.expression
    label = expression.label
    if expression.across:
        value = expression.compute(source.values(None), source.n, index=source.index)
        settled = taken(settle(value, source.n, label), rows)
    else:
        settled = settle(expression.compute(columns, len(rows)), len(rows), label)
    if factor.levels is not None:
        return codes_of(settled, factor)
    values = settled if isinstance(settled, np.ndarray) else _numbers(settled.data, label)
    if values.shape[1] != factor.width:
        raise InputError(f"'{label}' had {factor.width} columns in training and has {values.shape[1]} now.")
    return values


def _is_treatment(contrasts: np.ndarray) -> bool:
    """Return whether each level (row) has zeros and at most one 1."""
    return bool(np.isin(contrasts, (0.0, 1.0)).all() and (contrasts.sum(axis=1) <= 1.0).all())


def _numbers(data: Any, label: str) -> np.ndarray:
    """Return booleans and numeric categories as the numbers they were in training."""
    boolean = isinstance(data, np.ndarray) and data.dtype.kind == "b"
    if boolean or (isinstance(data, pd.Categorical) and pd.api.types.is_numeric_dtype(data.categories.dtype)):
        return np.asarray(data, dtype=np.float64)[:, None]
    raise InputError(f"'{label}' was numeric in training and has levels now; convert it to numbers.")


def _missing(value: np.ndarray) -> np.ndarray:
    return value < 0 if value.ndim == 1 else np.isnan(value).any(axis=1)
