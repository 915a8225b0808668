"""A reject option classifier in print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from qreg_boost.base.class_report import event_fact, rows_used, weights_and_date
from qreg_boost.base.class_report import what_was_fitted as formula
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import number, numbers, share

if TYPE_CHECKING:
    from qreg_boost.reject.base_results import WithholdingResults
    from qreg_boost.reject.results import RejectResults

NAMES = {
    "double_ramp": "double ramp (DC programming)",
    "double_hinge": "double hinge",
    "generalized_hinge": "generalized hinge",
    "chow": "Chow's rule",
    "qbc_pair": "pair of QBC fits",
}
MOST_SHOWN = 30


def summarise(fit: RejectResults) -> Summary:
    """Return the summary of a kernel machine with a reject band."""
    tables = [*_coefficients(fit), counts(fit), _support(fit)]
    return Summary(f"{fit.title} Results", tuple(_left(fit)), tuple(_right(fit)), tuple(tables), tuple(_notes(fit)))


def _left(fit: RejectResults) -> Iterator[Fact]:
    own = fit.facts.own
    yield formula(fit.facts)
    yield Fact("Method", NAMES[own["method"]])
    yield Fact("Kernel", own["kernel_shown"])
    if own["rank"] is not None:
        yield Fact("Rank", f"{own['rank']} (lost: {own['rank_error']:.2g})")
    yield Fact("C", f"{own['C']:g}" + (f", mu = {own['mu']:g}" if own["method"] == "double_ramp" else ""))
    yield Fact("Standardised", "yes" if own["standardize"] else "no")
    yield Fact("Objective (R)", number(fit.objective), fit.objective, "Objective (R)")
    if own["minima"]:
        kept = next(row for row in own["minima"] if row["kept"])
        yield Fact("Starts", f"{len(own['minima'])}; kept: {kept['start'].replace('_', ' ')}")
        yield Fact("Minima", f"{fit.n_minima} distinct, spread {number(fit.spread)}")
        yield Fact("DC steps", f"{kept['steps']} (all starts: {sum(row['steps'] for row in own['minima'])})")
    yield Fact("Band", f"|f| <= {number(fit.rho)}")
    yield from weights_and_date(fit.facts)


def _right(fit: RejectResults) -> Iterator[Fact]:
    yield event_fact(fit)
    yield from prices(fit)
    yield from rows_used(fit.facts)
    yield from figures(fit)
    n = len(fit.support)
    yield Fact("Support vectors", str(n), n, "Support vectors")


def prices(fit: WithholdingResults) -> Iterator[Fact]:
    """Yield what withholding costs."""
    if fit.prices.stated:
        yield Fact("Costs", str(fit.prices))
    else:
        yield Fact("Price of withholding (d)", str(fit.prices), fit.prices.reject, "d")


def figures(fit: WithholdingResults) -> Iterator[Fact]:
    """Yield the risk and what it is made of, on the training rows and out of fold if that is known."""
    for where, values in (("training", fit.evaluate()), ("out of fold", fit.facts.own.get("out_of_fold"))):
        if values is None:
            continue
        name = "Mean cost" if fit.prices.stated else "0-d-1 risk"
        yield Fact(f"{name} ({where})", f"{values['risk']:.4f}", float(values["risk"]), f"{name} ({where})")
        yield Fact("  rejection rate", share(values["rejection_rate"]))
        accuracy = values["accuracy_accepted"]
        yield Fact("  accuracy on the accepted", "none accepted" if np.isnan(accuracy) else share(accuracy))


def counts(fit: WithholdingResults) -> Table:
    """Return actual classes by predicted ones and withheld."""
    table = fit.confusion()
    rows = tuple(Row(str(label), tuple(number(v) for v in table.loc[label])) for label in table.index)
    return Table(tuple(str(label) for label in table.columns), (rows,), corner="actual \\ predicted")


def _support(fit: RejectResults) -> Table:
    """Return support vectors by actual class and by the class at whose boundary of the band they are."""
    support = fit.support
    heads = [*fit.classes, *(["both"] if (support["side"] == "both").any() else [])]
    rows = tuple(
        Row(
            str(label),
            tuple(str(int(((support["label"] == label) & (support["side"] == side)).sum())) for side in heads),
        )
        for label in fit.classes
    )
    return Table(tuple(str(side) for side in heads), (rows,), corner="support \\ at the edge of")


def _coefficients(fit: RejectResults) -> Iterator[Table]:
    if fit.facts.own["kernel"] != "linear":
        return
    table = fit.tidy()
    columns = {"coef": table["estimate"], "standardized": table["standardized"]}
    if not fit.facts.own["standardize"]:
        columns.pop("standardized")
    yield coefficients(table["term"], columns)


def coefficients(terms: pd.Series, columns: Mapping[str, pd.Series]) -> Table:
    """Return coefficients in columns, the first thirty besides the intercept."""
    shown = [numbers(values.iloc[: MOST_SHOWN + 1]) for values in columns.values()]
    rows = tuple(Row(str(name), cells) for name, cells in zip(terms, zip(*shown, strict=True), strict=False))
    more = len(terms) - len(rows)
    return Table(tuple(columns), (rows,), notes=(f"{more} coefficients more: fit.params.",) if more else ())


def _notes(fit: RejectResults) -> Iterator[str]:
    own = fit.facts.own
    if own.get("flaw"):
        yield f"{own['flaw']} The fit is a stationary point at best."
    if own["method"] == "double_ramp":
        if not fit.prices.withholds:
            yield "At d = 0.5 a guess costs no more than withholding: rho is 0 and nothing is withheld."
        if fit.n_minima > 1:
            yield "The objective is not convex: nothing certifies that the best minimum found is the least of all."
    elif not own["bounded"]:
        more = "; that of the double hinge does for d < 1/e, and no threshold does from d = 0.4395 on."
        yield (
            f"At this price the loss with its threshold {number(fit.rho)} does not bound the 0-d-1 loss"
            + (more if own["method"] == "double_hinge" else ".")
        )
    if own["unsolved"]:
        yield f"A convex program from one of the starts did not end as optimal (residual {own['kkt']:.1e})."
    yield error_note(fit)


def error_note(fit: WithholdingResults) -> str:
    """Return what the figures are measured on."""
    weights = ", weights counted" if fit.facts.weighted else ""
    known = fit.facts.own.get("out_of_fold")
    if known is None:
        return f"Risk and counts are those of the training rows{weights}; fit.cv() and fit.evaluate(data) have others."
    several = known["settings"]
    chosen = f", the least risk of {several} settings and so a little too good" if several > 1 else ""
    return f"Counts are those of the training rows{weights}. Out of fold: {known['folds']}{chosen}."
