"""From a formula and a frame to numbers: rows kept, transforms and levels learned, the design built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, MissingRowsWarning, check_offset, check_weights, listed, number_of, warn
from qreg_boost.base.coding import (
    Block,
    CodedFactor,
    Source,
    built,
    codes_of,
    complete_rows,
    factorised,
    levels_of,
    refuse_infinite,
    settle,
    spread,
    taken,
)
from qreg_boost.base.encoder import Encoder, Term
from qreg_boost.base.formula import Factor, Formula
from qreg_boost.base.frames import RowValues, described
from qreg_boost.base.functions import Categories
from qreg_boost.base.patsy_door import Coded, FactorShape, code_terms
from qreg_boost.base.reader import Expression


@dataclass(frozen=True, eq=False)
class Learned:
    """What was made of the training data: y (or labels), weights, offset (n,), X (n, p), rows (n,) in the frame."""

    y: Any
    X: np.ndarray
    weights: np.ndarray | None
    offset: np.ndarray | None
    rows: np.ndarray
    n_dropped: int
    response: str
    encoder: Encoder


@dataclass(frozen=True, eq=False)
class _Pass:
    """One pass over the kept rows: the response and the factors' values, and what was found missing, by name."""

    response: np.ndarray | Categories
    values: list[np.ndarray | Categories]
    expressions: list[Expression]
    missing: Mapping[str, np.ndarray]


def learn(
    formula: Formula,
    frame: pd.DataFrame,
    rows: np.ndarray,
    weights: RowValues,
    offset: RowValues,
    missing: str,
    raw: bool,
) -> Learned:
    """Return the numbers of a formula on the given rows of a frame.

    Rows that miss something are dropped before transforms and levels are learned. A transform may make more rows
    missing (the logarithm of a negative number), so passes are repeated until no row is. With ``missing="branch"`` rows
    that miss predictors stay, and each factor is learned from the rows that have it.
    """
    refuse_missing, branch = missing == "raise", missing == "branch"
    source = Source(frame, formula.columns, formula.text)
    factors = list({factor.code: factor for term in formula.terms for factor in term}.values())
    by_row = {
        name: _checked(given, name, rows, len(frame))
        for name, given in (("weights", weights), ("offset", offset))
        if given.values is not None
    }
    needed = (formula.response,) if branch else (formula.response, *factors)
    kept, counts = _without_missing(rows, _missing_at_first(formula, needed, source, rows, by_row), {})
    lost: dict[str, int] = {}
    while True:
        _refuse(counts, refuse_missing, len(rows), len(kept))
        given = {name: values[np.searchsorted(rows, kept)] for name, values in by_row.items()}
        wts = check_weights(given["weights"], len(kept)) if "weights" in given else None
        one = _pass(formula, factors, source, kept, wts, raw, branch)
        if not any(mask.any() for mask in one.missing.values()):
            break
        lost = _lost(one, needed, source, kept, lost)
        if refuse_missing and lost:
            raise InputError(f"{_told(lost)}. Mend or leave out these rows, or pass missing='drop'.")
        kept, counts = _without_missing(kept, one.missing, counts)
    if lost:
        warn(f"{_told(lost)}; these rows are dropped.", MissingRowsWarning)
    off = check_offset(given["offset"], len(kept)) if "offset" in given else None
    y = _response(one.response, formula.response.label, kept, len(frame), raw)
    X, encoder = _coded(formula, factors, one, source, kept, offset, branch)
    return Learned(y, X, wts, off, kept, len(rows) - len(kept), formula.response.label, encoder)


def _checked(given: RowValues, name: str, rows: np.ndarray, n: int) -> np.ndarray:
    """Return weights or an offset on the rows, checked but for missing values of a column, which drop their rows."""
    values = given.values
    assert values is not None
    if values.shape != (n,):
        (check_weights if name == "weights" else check_offset)(values, n)
    values = values[rows]
    present = values if given.column is None else np.where(np.isnan(values), 1.0, values)
    label = name if given.column is None else f"{name}={str(given.column)!r}"
    (check_weights if name == "weights" else check_offset)(present, len(rows), label)
    return values


def _missing_at_first(
    formula: Formula, needed: Sequence[Factor], source: Source, rows: np.ndarray, by_row: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    counted: set[str] = set()
    for factor in needed:
        counted |= Expression.read(factor.code, factor.label, factor.columns, {}).counted()
    missing = {source.names[safe]: source.missing(safe)[rows] for safe in formula.columns if safe in counted}
    return {**missing, **{name: np.isnan(values) for name, values in by_row.items()}}


def _without_missing(
    rows: np.ndarray, missing: Mapping[str, np.ndarray], counts: Mapping[str, int]
) -> tuple[np.ndarray, dict[str, int]]:
    """Return the rows without any missing value, and how many rows miss what."""
    found = dict(counts)
    drop = np.zeros(len(rows), dtype=bool)
    for name, mask in missing.items():
        if mask.any():
            found[name] = found.get(name, 0) + int(mask.sum())
            drop |= mask
    return (rows[~drop] if drop.any() else rows), found


def _lost(
    one: _Pass, factors: Sequence[Factor], source: Source, kept: np.ndarray, before: Mapping[str, int]
) -> dict[str, int]:
    """Return how many of the kept rows each factor lost though the columns it reads are there, added to `before`."""
    lost = dict(before)
    for factor in factors:
        mask = one.missing[factor.label]
        if not mask.any():
            continue
        there = np.logical_and.reduce([mask, *(~source.missing(safe)[kept] for safe in factor.columns)])
        if there.any():
            lost[factor.label] = lost.get(factor.label, 0) + int(there.sum())
    return lost


def _told(lost: Mapping[str, int]) -> str:
    whose = "its" if len(lost) == 1 else "their"
    shown = listed(f"{label} is missing in {number_of(count, 'row')}" for label, count in lost.items())
    return f"{shown} where {whose} columns are not"


def _refuse(counts: Mapping[str, int], refuse_missing: bool, n: int, kept: int) -> None:
    shown = listed(f"{name} ({number_of(count, 'row')})" for name, count in counts.items())
    if refuse_missing and counts:
        raise InputError(f"Values are missing: {shown}. Fill or drop them, or pass missing='drop'.")
    if not kept:
        raise InputError(f"No row is complete: each of the {n} rows misses something. Missing values: {shown}.")


def _pass(
    formula: Formula,
    factors: Sequence[Factor],
    source: Source,
    kept: np.ndarray,
    weights: np.ndarray | None,
    raw: bool,
    branch: bool,
) -> _Pass:
    columns = source.values(kept)
    learn = np.ones(len(kept), dtype=bool) if weights is None else weights > 0
    missing: dict[str, np.ndarray] = {}
    expressions: list[Expression] = []
    values: list[np.ndarray | Categories] = []
    for factor in (formula.response, *factors):
        expression = Expression.read(factor.code, factor.label, factor.columns, formula.constants)
        if raw and not expressions:
            settled: np.ndarray | Categories = _raw_response(expression, source, kept)
        else:
            if not expressions:
                _refuse_kind(factor.label, source)
            if branch and expressions:
                settled = _value_where_known(expression, source, kept, learn)
            else:
                settled = _value(expression, columns, source, kept, learn)
        if not (branch and expressions):
            missing[factor.label] = _missing_in(settled, factor.label)
        expressions.append(expression)
        values.append(settled)
    return _Pass(values[0], values[1:], expressions[1:], missing)


def _value(
    expression: Expression, columns: Mapping[str, Any], source: Source, kept: np.ndarray, learn: np.ndarray
) -> np.ndarray | Categories:
    """Return a factor on the kept rows; one that reads across rows is computed on all rows of the data first."""
    if not expression.across:
        value = expression.compute(columns, len(kept), learn=learn, coding=True)
        return settle(value, len(kept), expression.label)
    wanted, learn_all = np.zeros((2, source.n), dtype=bool)
    wanted[kept], learn_all[kept] = True, learn
    value = expression.compute(
        source.values(None), source.n, learn=learn_all, wanted=wanted, coding=True, index=source.index
    )
    return taken(settle(value, source.n, expression.label), kept)


def _value_where_known(
    expression: Expression, source: Source, kept: np.ndarray, learn: np.ndarray
) -> np.ndarray | Categories:
    """Return a factor on the kept rows, computed and learned from those where the columns it reads are there."""
    known = complete_rows(expression, source, kept)
    if not known.any():
        raise InputError(f"'{expression.label}' is missing in every row; leave it out of the formula.")
    own = kept[known]
    return spread(_value(expression, source.values(own), source, own, learn[known]), known)


def _raw_response(expression: Expression, source: Source, kept: np.ndarray) -> Categories:
    value = expression.compute(source.values(kept), len(kept), coding=True, learn=np.ones(len(kept), dtype=bool))
    return Categories(value.data if isinstance(value, Categories) else value)


def _refuse_kind(label: str, source: Source) -> None:
    """Refuse a response column that is not numeric by what the column is."""
    for safe, name in source.names.items():
        if name == label and source.kinds[safe] != "number":
            raise _not_numeric(label, described(source.series[safe], source.kinds[safe]))


def _not_numeric(label: str, what: str) -> InputError:
    return InputError(
        f"Response {label!r} is not numeric (it is {what}). Make it numbers in `data`, "
        "for example with pandas.to_numeric, or with astype(float) for True and False."
    )


def _missing_in(value: np.ndarray | Categories, label: str) -> np.ndarray:
    if isinstance(value, Categories):
        data = value.data if isinstance(value.data, pd.Categorical) else np.asarray(value.data)
        return factorised(data, label)[0] < 0
    return np.isnan(value).any(axis=1)


def _response(value: np.ndarray | Categories, label: str, rows: np.ndarray, n: int, raw: bool) -> Any:
    if raw and isinstance(value, Categories):
        return value.data if isinstance(value.data, pd.Categorical) else np.asarray(value.data)
    if isinstance(value, Categories):
        raise _not_numeric(label, "made of categories or booleans")
    if value.shape[1] != 1:
        raise InputError(f"Response {label!r} has {value.shape[1]} columns; fit one model for each.")
    refuse_infinite(value, [label], rows, n)
    return value[:, 0].copy()  # writable, and not the caller's


def _coded(
    formula: Formula,
    factors: Sequence[Factor],
    one: _Pass,
    source: Source,
    rows: np.ndarray,
    offset: RowValues,
    branch: bool,
) -> tuple[np.ndarray, Encoder]:
    coded, shapes = (
        zip(*(_coded_factor(e, v) for e, v in zip(one.expressions, one.values, strict=True)), strict=True)
        if factors
        else ((), ())
    )
    position = {factor.code: i for i, factor in enumerate(factors)}
    parts = code_terms([tuple(position[f.code] for f in term) for term in formula.terms], formula.intercept, shapes)
    names, terms, blocks = _layout(formula, factors, coded, parts)
    used = {safe for factor in factors for safe in factor.columns}
    encoder = Encoder(
        formula=formula.text,
        column_names=names,
        terms=terms,
        offset=None if offset.values is None else "array" if offset.column is None else "column",
        offset_column=offset.column,
        columns={safe: column for safe, column in formula.columns.items() if safe in used},
        kinds={safe: kind for safe, kind in source.kinds.items() if safe in used},
        factors=coded,
        blocks=blocks,
        branch=branch,
    )
    values = [v if isinstance(v, np.ndarray) else codes_of(v, f) for v, f in zip(one.values, coded, strict=True)]
    return built(values, coded, blocks, names, rows, source.n), encoder


def _coded_factor(expression: Expression, value: np.ndarray | Categories) -> tuple[CodedFactor, FactorShape]:
    if isinstance(value, np.ndarray):
        return CodedFactor(expression, value.shape[1]), FactorShape(expression.label, value.shape[1])
    levels, seen = levels_of(value, expression.label)
    return CodedFactor(expression, 1, levels, seen), FactorShape(expression.label, 1, levels, value.contrast)


def _layout(
    formula: Formula, factors: Sequence[Factor], coded: Sequence[CodedFactor], parts: Sequence[Sequence[Coded]]
) -> tuple[tuple[str, ...], tuple[Term, ...], tuple[Block, ...]]:
    """Return the names of the columns, the terms and the blocks, in the formula's order."""
    names: list[str] = []
    terms: list[Term] = []
    blocks: list[Block] = []
    for term, codings in zip(formula.terms, parts, strict=True):
        start = len(names)
        for part in codings:
            made = _part_names(part, factors, coded)
            names.extend(made)
            blocks.append(Block(part.factors, part.contrasts, len(made)))
        label = ":".join(factor.label for factor in term)
        if len(names) == start:
            raise InputError(
                f"'{label}' has only one level in the rows used, so it cannot be a predictor; leave it out."
            )
        terms.append(Term(label, tuple(range(start, len(names)))))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"Two columns of the design would both be named {twice!r}; rename a column or a level.")
    return tuple(names), tuple(terms), tuple(blocks)


def _part_names(part: Coded, factors: Sequence[Factor], coded: Sequence[CodedFactor]) -> list[str]:
    names = [""]
    for position, suffixes in zip(part.factors, part.suffixes, strict=True):
        label, width = factors[position].label, coded[position].width
        if suffixes is None:
            own = [label] if width == 1 else [f"{label}[{i}]" for i in range(width)]
        else:
            own = [label + suffix for suffix in suffixes]
        names = [f"{before}:{name}" if before else name for name in own for before in names]
    return names
