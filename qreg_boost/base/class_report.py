"""What summaries of classifiers have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.tables import Fact, Row, Table
from qreg_boost.base.typeset import WIDTH, number, share, wrap

if TYPE_CHECKING:
    from qreg_boost.base.class_results import ClassResults
    from qreg_boost.base.facts import Facts

MOST_CLASSES = 12
"""A confusion table of more classes is left to `confusion()`."""


def describe(title: str, call: str, lines: Iterable[str]) -> str:
    """Return the short lines that ``print(fit)`` shows: the title, the call, and what else there is to say.

    >>> print(describe("Title", 'f("y ~ x", data)', ["One line."]))
    Title
    <BLANKLINE>
    Call:
    f("y ~ x", data)
    <BLANKLINE>
    One line.
    """
    return "\n".join([title, "", "Call:", *wrap(call, WIDTH, 4), "", *lines])


def error_line(fit: ClassResults) -> str:
    """Return the error on the training rows in a line."""
    return f"Error rate: {share(fit.error_rate)} of {fit.nobs} rows"


def what_was_fitted(facts: Facts) -> Fact:
    """Return the formula, or the response of a fit to arrays."""
    return Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")


def weights_and_date(facts: Facts) -> Iterator[Fact]:
    """Yield the sum of the weights, if there are any, and the date."""
    if facts.weighted:
        yield Fact("Weights", f"sum {number(facts.total_weight)}")
    yield Fact("Date", facts.when)


def rows_used(facts: Facts) -> Iterator[Fact]:
    """Yield how many rows were fitted, dropped, and of weight 0."""
    yield Fact("No. observations", str(facts.nobs))
    yield Fact("Rows dropped (missing)", str(facts.n_dropped))
    if facts.weighted:
        yield Fact("Rows of weight 0", str(facts.n_zero_weight))


def event_fact(fit: ClassResults) -> Fact:
    """Return which label of two is the event."""
    return Fact("Event", f"{fit.event} (not {fit.classes[0]})", str(fit.event), "Event")


def errors(fit: ClassResults) -> Iterator[Fact]:
    """Yield the errors on the training rows."""
    names = {"error_rate": "Error rate", "fn_rate": "Events missed (FN)", "fp_rate": "Others flagged (FP)"}
    for name, value in fit.evaluate().drop("n").items():
        shown = "not defined" if np.isnan(value) else share(value)
        yield Fact(names[str(name)], shown, shown, names[str(name)])


def confusion(fit: ClassResults) -> Table:
    """Return the confusion table of the training rows."""
    table = fit.confusion()
    rows = tuple(Row(str(label), tuple(number(v) for v in table.loc[label])) for label in table.index)
    return Table(tuple(str(label) for label in table.columns), (rows,), corner="actual \\ predicted")


def error_note(fit: ClassResults) -> str:
    """Return what the errors are measured on."""
    weights = ", weights counted" if fit.facts.weighted else ""
    return f"Errors are those of the training rows{weights}; fit.evaluate(data) has those of other rows."
