"""A binary quantile regression in print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from qreg_boost.base.class_report import confusion, error_note, errors, event_fact, rows_used, weights_and_date
from qreg_boost.base.class_report import what_was_fitted as formula
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import level as tau_level
from qreg_boost.base.typeset import named_vector, number, numbers

if TYPE_CHECKING:
    from qreg_boost.classify.binary_results import BinaryQRegResults

MOST_SHOWN = 100
MOST_PRINTED = 24


def summarise(fit: BinaryQRegResults, bounds: pd.DataFrame | None = None, alpha: float = 0.05) -> Summary:
    r"""Return the summary of a binary quantile regression.

    Examples
    --------
    >>> from qreg_boost.classify.binary_model import BinaryQReg
    >>> fit = BinaryQReg([0, 0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).fit()
    >>> print(summarise(fit).as_text().split("\n")[0].strip())
    Binary Quantile Regression Results
    """
    return Summary(
        f"{fit.title} Results",
        tuple(_left(fit)),
        tuple(_right(fit)),
        (_coefficients(fit, bounds, alpha), confusion(fit)),
        tuple(_notes(fit, bounds)),
    )


def coefficient_lines(fit: BinaryQRegResults) -> list[str]:
    """Return the coefficients and the score as ``print(fit)`` shows them."""
    values = fit.params.iloc[:MOST_PRINTED]
    lines = [
        f"Coefficients (tau = {fit.tau:g}, {_scaled_to(fit)}):",
        *named_vector(list(values.index), numbers(values)),
    ]
    if len(fit.params) > MOST_PRINTED:
        lines.append(f"... and {len(fit.params) - MOST_PRINTED} more: fit.params")
    return [
        *lines,
        "",
        f"Score: {number(fit.score)} of at most {number(fit.bound)}; {fit.n_optima} distinct maxima reached",
    ]


def _scaled_to(fit: BinaryQRegResults) -> str:
    name = fit.facts.own["normalize"]
    return "slopes of norm 1" if name == "slopes" else f"|{name}| = 1"


def _left(fit: BinaryQRegResults) -> Iterator[Fact]:
    own = fit.facts.own
    yield formula(fit.facts)
    yield Fact("Method", own["method"])
    yield Fact("Smoothing", f"h = {own['h']:g}" if own["h"] else "none (h = 0)")
    yield Fact("Scaled to", _scaled_to(fit))
    if own["starts"]:
        yield Fact("Starts", f"{own['starts']}; {fit.found.reached[0]} to the best")
        yield Fact("Optima", f"{fit.n_optima}, spread {number(fit.spread)}")
    yield from weights_and_date(fit.facts)


def _right(fit: BinaryQRegResults) -> Iterator[Fact]:
    yield event_fact(fit)
    yield Fact("Quantile (tau)", tau_level(fit.tau))
    yield from rows_used(fit.facts)
    yield Fact("Score (at most)", f"{number(fit.score)} ({number(fit.bound)})", fit.score, "Score")
    yield from errors(fit)


def _coefficients(fit: BinaryQRegResults, bounds: pd.DataFrame | None, alpha: float) -> Table:
    names = list(fit.params.index[:MOST_SHOWN])
    cells = [numbers(fit.params.iloc[:MOST_SHOWN]), numbers(fit.params_standardized.iloc[:MOST_SHOWN])]
    heads = ["coef", "standardized"]
    if bounds is not None:
        tail = 0.5 * alpha
        heads += [f"[{tail:.4g}", f"{1.0 - tail:.4g}]"]
        cells += [numbers(bounds[side].iloc[:MOST_SHOWN]) for side in ("lower", "upper")]
    rows = tuple(Row(name, tuple(row)) for name, *row in zip(names, *cells, strict=True))
    hidden = len(fit.params) - len(names)
    return Table(tuple(heads), (rows,), notes=(f"{hidden} coefficients more: fit.params.",) if hidden else ())


def _notes(fit: BinaryQRegResults, bounds: pd.DataFrame | None) -> Iterator[str]:
    own = fit.facts.own
    yield f"Flags the event where P({fit.event}) > 1 - tau = {1.0 - fit.tau:.6g}: where the index is at least 0."
    if own["normalize"] == "slopes":
        yield (
            "Coefficients count up to a positive factor: the slopes of the standardised predictors have norm 1. coef: "
            "per unit of the data; standardized: per standard deviation."
        )
    else:
        yield (
            f"Coefficients count up to a positive factor: that of {own['normalize']} is 1 or -1 in units of the data. "
            f"standardized: per standard deviation, those of {own['normalize']} being 1."
        )
    if own["h"]:
        yield "h is in units of the standardised index."
    if bounds is not None:
        yield "Intervals: bootstrap of the rows, percentiles."
    yield error_note(fit)
