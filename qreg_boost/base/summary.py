"""Summaries: the record that prints itself, and the fits of several quantile levels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pandas as pd

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.tables import Fact, Row, Summary, Table, fits_a_line
from qreg_boost.base.typeset import WIDTH, columns_of, level, matrix, numbers, settled, shortened, wrap

if TYPE_CHECKING:
    from qreg_boost.base.process import QuantileProcess

__all__ = ["Fact", "Row", "Summary", "Table", "describe_process", "summarise_process"]

SHOWN_IN_FULL = 30
"""So many terms are shown in full; of more, those with a coefficient other than 0."""
MOST_ROWS = 24
NUMBER_WIDTH = 10
MANY = 12
"""More quantile levels than this stand below each other, if the coefficients then fit a line."""


def summarise_process(process: QuantileProcess) -> Summary:
    r"""Return coefficients by tau, and below them the facts of each fit; facts that all fits share are in the header.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75])
    >>> print(summarise_process(fits).as_text().split("\n")[0].strip())
    Quantile Boost Regression Results, 2 Quantiles
    """
    each = [fit.summary() for fit in process.fits]
    params, hidden = _coefficients(process)
    taus = [level(tau) for tau in process.taus]
    facts = _facts_by_tau(each)
    table = _by_tau(params, facts, taus)
    return Summary(
        title=f"{each[0].title}, {len(taus)} Quantile{'s' if len(taus) > 1 else ''}",
        left=tuple(_shared([one.left for one in each])),
        right=(*_shared([one.right for one in each]), *_crossing(process)),
        tables=(table,),
        notes=(*_hidden_note(hidden), *_shared_notes(each), "The summary of one fit, fits[tau].summary(), has more."),
    )


def _coefficients(process: QuantileProcess) -> tuple[pd.DataFrame | None, int]:
    """Return the coefficients, terms by tau, None if the fits have none; and how many rows of zeros are left out."""
    try:
        params = process.params
    except NotDefinedError:
        return None, 0
    if len(params) <= SHOWN_IN_FULL:
        return params, 0
    used = (params != 0).any(axis=1)
    used.iloc[0] = True
    return params[used.to_numpy()], int((~used).sum())


def _hidden_note(hidden: int) -> list[str]:
    return [f"{hidden} terms with coefficient 0 at every quantile are not shown."] if hidden else []


@dataclass(frozen=True)
class FactByTau:
    """One fact of every fit: its label and a cell per fit."""

    label: str
    cells: list[str]


def _facts_by_tau(each: Sequence[Summary]) -> list[FactByTau]:
    """Return the facts that have a short form; where a fit lacks one, its cell is empty."""
    columns: dict[str, list[str | float | None]] = {}
    for position, one in enumerate(each):
        for fact in (*one.left, *one.right, *one.aside):
            if fact.short is not None:
                columns.setdefault(fact.head or fact.label, [None] * len(each))[position] = fact.short
    return [FactByTau(label, _cells(values)) for label, values in columns.items()]


def _cells(values: list[str | float | None]) -> list[str]:
    if all(isinstance(value, float) for value in values):
        return numbers(cast("list[float]", values), NUMBER_WIDTH)
    return ["" if value is None else str(value) for value in values]


def _shared(columns: Sequence[Sequence[Fact]]) -> list[Fact]:
    """Return the facts that are the same in all fits and say more than their short form, which stands in the table."""
    values = [{fact.label: fact.value for fact in column} for column in columns]
    said = {"Quantile (tau)", *(fact.label for column in columns for fact in column if isinstance(fact.short, float))}
    same = [fact for fact in columns[0] if all(one.get(fact.label) == fact.value for one in values)]
    return [fact for fact in same if fact.value != fact.short and fact.label not in said]


def _shared_notes(each: Sequence[Summary]) -> list[str]:
    return [note for note in each[0].notes if all(note in one.notes for one in each)]


def _crossing(process: QuantileProcess) -> list[Fact]:
    try:
        return [Fact("Rows that cross", "{} of {}".format(*process.crossed))]
    except NotDefinedError:
        return []


def _by_tau(params: pd.DataFrame | None, facts: list[FactByTau], taus: list[str]) -> Table:
    """Return the table, taus in columns; in rows if there are many and the coefficients fit a line."""
    names = [] if params is None else [str(name) for name in params.index]
    text = [] if params is None else [numbers(settled(row), NUMBER_WIDTH, 5) for row in params.to_numpy()]
    if len(taus) > MANY:
        told = {
            fact.label for fact in facts if fact.label == "Iterations" and len(set(fact.cells)) == 1
        }  # in the header
        for left_out in (set(), told, {*told, "Start"}):
            kept = [fact for fact in facts if fact.label not in left_out]
            columns = [*text, *(fact.cells for fact in kept)]
            rows = tuple(Row(tau, tuple(column[k] for column in columns)) for k, tau in enumerate(taus))
            table = Table((*names, *(fact.label for fact in kept)), (rows,), corner="tau", even=False)
            if fits_a_line(table):
                return table
    coefficients = tuple(Row(name, tuple(cells)) for name, cells in zip(names, text, strict=True))
    below = tuple(Row(fact.label, tuple(fact.cells)) for fact in facts)
    return Table(tuple(taus), tuple(section for section in (coefficients, below) if section), corner="tau")


def describe_process(process: QuantileProcess) -> str:
    r"""Return the short lines that ``print(process)`` shows: the call, and coefficients by tau.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75])
    >>> print(describe_process(fits).split("\n")[0])
    Quantile Boost Regression, 2 quantiles
    """
    first = process.fits[0]
    call = getattr(getattr(first, "facts", None), "call", None)
    lines = [f"{first.title}, {len(process)} quantile{'s' if len(process) > 1 else ''}", ""]
    if call:
        lines += ["Call:", *wrap(call, WIDTH, 4), ""]
    try:
        params = process.params
    except NotDefinedError:
        facts = _facts_by_tau([fit.summary() for fit in process.fits])
        shown = _beside(process, [fact.label for fact in facts], [fact.cells for fact in facts])
        return "\n".join([*lines, "Fits:", *shown, "summary() has all."])
    names = shortened(params.index[:MOST_ROWS], 30)
    rows = _beside(process, names, [numbers(settled(row), NUMBER_WIDTH, 5) for row in params.to_numpy()[:MOST_ROWS]])
    lines += ["Coefficients:", *rows]
    if (len(names), rows[0].count("tau=")) != params.shape:
        lines.append(f"... of {params.shape[0]} terms at {params.shape[1]} taus in all: .params")
    return "\n".join(lines)


def _beside(process: QuantileProcess, names: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of named cells, a column for each tau, as many as fit a line."""
    for columns in range(len(process), 0, -1):
        rows = matrix(names, [f"tau={tau}" for tau in process.taus[:columns]], [row[:columns] for row in cells])
        if max(map(columns_of, rows)) <= WIDTH:
            break
    return rows
