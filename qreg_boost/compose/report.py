"""Fits made of several parts in print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.class_report import (
    MOST_CLASSES,
    confusion,
    error_note,
    errors,
    event_fact,
    rows_used,
    weights_and_date,
)
from qreg_boost.base.class_report import what_was_fitted as formula
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import fraction, level, number, numbers, share

if TYPE_CHECKING:
    from qreg_boost.compose.jous_results import JousResults
    from qreg_boost.compose.multiclass_results import MultiClassResults
    from qreg_boost.compose.quanting_results import QuantingResults

MOST_SHOWN = 30
CODE_NAMES = {"ova": "one versus all", "ovo": "all pairs", "ecoc": "error-correcting", "given": "given"}
DECODED = {
    "largest": "largest decision function",
    "hamming": "least Hamming distance",
    "loss": "least loss of the booster",
}


def summarise_multiclass(fit: MultiClassResults) -> Summary:
    """Return the summary of a classifier of several classes."""
    own = fit.facts.own
    left = [
        formula(fit.facts),
        Fact("Booster", own["booster"]),
        Fact("Code", CODE_NAMES[own["code_name"]]),
        Fact("Decoding", DECODED.get(own["decoding"], own["decoding"])),
        *weights_and_date(fit.facts),
    ]
    right = [
        Fact("Classes", str(len(fit.classes))),
        Fact("Classifiers", str(len(fit.parts))),
        *rows_used(fit.facts),
        Fact("Least distance of the code", f"{own['least_distance']:g}"),
        *errors(fit),
    ]
    table = fit.tidy()
    shown = table.iloc[:MOST_SHOWN]
    rows = tuple(
        Row(f"{name}: {event} / {other}", (share(error),))
        for name, event, other, error in shown.itertuples(index=False, name=None)
    )
    more = (f"{len(table) - len(shown)} classifiers more: fit.tidy().",) if len(table) > len(shown) else ()
    tables = [Table(("error rate",), (rows,), corner="classifier: event / other", notes=more)]
    if len(fit.classes) <= MOST_CLASSES:
        tables.append(confusion(fit))
    return Summary(f"{fit.title} Results", tuple(left), tuple(right), tuple(tables), (error_note(fit),))


def summarise_quanting(fit: QuantingResults) -> Summary:
    """Return the summary of quantiles by classification."""
    own, facts = fit.facts.own, fit.facts
    r1 = "not defined" if np.isnan(fit.prsquared) else fraction(fit.prsquared)
    left = [
        formula(facts),
        Fact("Classifier", own["classifier"]),
        Fact("Classifiers", f"{len(fit.parts)}, cuts {own['spacing']}"),
        *weights_and_date(facts),
    ]
    right = [
        Fact("Quantile (tau)", level(fit.tau)),
        *rows_used(facts),
        Fact("Check loss (weighted sum)" if facts.weighted else "Check loss (sum)", number(fit.risk)),
        Fact("Pseudo R-squared (R1)", r1),
        Fact("Rows at or below the fit", share(own["coverage"])),
    ]
    table = fit.tidy()
    picked = np.unique(np.linspace(0, len(table) - 1, min(len(table), 10)).round().astype(int))
    shown = table.iloc[picked]
    cells = zip(numbers(shown["cut"]), map(share, shown["above"]), map(share, shown["predicted_above"]), strict=True)
    rows = tuple(Row(f"{k + 1}", tuple(cell)) for k, cell in zip(picked, cells, strict=True))
    heads = ("cut", "y at or above", "predicted above")
    notes = (
        "Each classifier says whether the quantile is at or above its cut; the prediction adds up the steps it is "
        "above.",
        f"Shown: {len(shown)} of {len(table)} classifiers, on the training rows.",
    )
    return Summary(
        f"{fit.title} Results", tuple(left), tuple(right), (Table(heads, (rows,), corner="classifier"),), notes
    )


def summarise_jous(fit: JousResults) -> Summary:
    """Return the summary of probabilities by quantiles of classes."""
    own = fit.facts.own
    sampling = "over, jittered" if own["sampling"] == "over" else "under"
    left = [
        formula(fit.facts),
        Fact("Booster", own["booster"]),
        Fact("Sampling", sampling),
        *([Fact("Jitter", f"{own['jitter']:g} x standard deviation")] if own["sampling"] == "over" else []),
        Fact("Grid", f"{len(own['levels_of_p'])} levels, 1/{own['grid']} apart"),
        *weights_and_date(fit.facts),
    ]
    right = [
        event_fact(fit),
        *rows_used(fit.facts),
        Fact("Brier score", fraction(own["brier"])),
        *errors(fit),
    ]
    table = fit.tidy()
    cells = [
        [str(v) for v in table["rows"]],
        [share(v) for v in table["flagged"]],
        [share(v) for v in table["error_rate"]],
    ]
    rows = tuple(Row(f"P > {q:.3g}", tuple(row)) for q, *row in zip(table["level"], *cells, strict=True))
    heads = ("rows sampled", "flagged", "error, sampled")
    return Summary(
        f"{fit.title} Results",
        tuple(left),
        tuple(right),
        (Table(heads, (rows,), corner="level"), confusion(fit)),
        tuple(_jous_notes(fit)),
    )


def _jous_notes(fit: JousResults) -> Iterator[str]:
    yield (
        f"Each level q has a classifier of rows sampled so that P({fit.event}) > q is even odds; flagged: the share "
        "of the training rows. The probability is read off from P = 1/2 outwards, in steps of the grid."
    )
    yield f"Errors at tau = 0.5: the event is predicted where P > 1/2. {error_note(fit)}"
