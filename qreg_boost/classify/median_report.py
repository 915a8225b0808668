"""The median classifier in print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import listed
from qreg_boost.base.class_report import confusion, error_note, errors, event_fact, rows_used, weights_and_date
from qreg_boost.base.class_report import what_was_fitted as formula
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import number, numbers, share

if TYPE_CHECKING:
    from qreg_boost.classify.median_results import MedianResults

MOST_SHOWN = 30


def summarise(fit: MedianResults) -> Summary:
    r"""Return the summary of a median classifier.

    Examples
    --------
    >>> from qreg_boost.classify.median_model import MedianClassifier
    >>> fit = MedianClassifier(["a", "a", "b", "b"], [0.0, 1.0, 5.0, 6.0]).fit()
    >>> print(summarise(fit).as_text().split("\n")[0].strip())
    Median Classifier Results
    """
    scaled = fit.facts.own["scale"]
    left = [
        formula(fit.facts),
        Fact("Distance", "L1, each column over its MAD" if scaled else "L1"),
        Fact("Apart", number(fit.distance), fit.distance, "Medians apart"),
        *weights_and_date(fit.facts),
    ]
    right = [event_fact(fit), *rows_used(fit.facts), *errors(fit)]
    return Summary(
        f"{fit.title} Results", tuple(left), tuple(right), (_medians(fit), confusion(fit)), tuple(_notes(fit))
    )


def _medians(fit: MedianResults) -> Table:
    """Return the medians of the columns that matter most for the distance."""
    table = fit.tidy()
    order = np.argsort(-table["share"].to_numpy(), kind="stable")
    shown = table.iloc[np.sort(order[:MOST_SHOWN])]
    columns = ["other", "event", *(["scale"] if fit.facts.own["scale"] else [])]
    cells = [*(numbers(shown[name]) for name in columns), [share(value) for value in shown["share"]]]
    rows = tuple(Row(name, tuple(row)) for name, *row in zip(shown["term"], *cells, strict=True))
    heads = (*(f"median, {label}" for label in fit.classes), *(["MAD"] if fit.facts.own["scale"] else []), "share")
    hidden = len(table) - len(shown)
    notes = (f"{hidden} columns more, of smaller share: fit.tidy().",) if hidden else ()
    return Table(heads, (rows,), notes=notes)


def _notes(fit: MedianResults) -> Iterator[str]:
    yield (
        f"Predicts {fit.event} where a row is at most as far from its component-wise median as from that of "
        f"{fit.classes[0]}; share: the column's part in the distance between the two."
    )
    if fit.facts.own["by_deviation"]:
        yield f"Over the mean absolute deviation, the median one being 0: {listed(fit.facts.own['by_deviation'])}."
    yield error_note(fit)
