"""Classifiers with a reject option that are made of others, in print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qreg_boost.base.checks import listed
from qreg_boost.base.class_report import event_fact, rows_used, weights_and_date
from qreg_boost.base.class_report import what_was_fitted as formula
from qreg_boost.base.tables import Fact, Summary, Table
from qreg_boost.base.typeset import number
from qreg_boost.compose.logit import TOLD_APART
from qreg_boost.reject.report import NAMES, coefficients, counts, error_note, figures, prices

if TYPE_CHECKING:
    from qreg_boost.compose.chow import ChowResults
    from qreg_boost.compose.qbc_pair import QBCPairResults
    from qreg_boost.reject.base_results import WithholdingResults

SHOWN = {"logit": "logistic regression", "logitboost": "LogitBoost"}


def summarise_chow(fit: ChowResults) -> Summary:
    """Return the summary of Chow's rule."""
    low, high = fit.prices.rule
    left = [
        formula(fit.facts),
        Fact("Method", NAMES["chow"]),
        Fact("Probabilities", SHOWN.get(fit.facts.own["probability"], fit.facts.own["probability"])),
        Fact("Withheld", f"{low:.4g} <= P <= {high:.4g}"),
        *weights_and_date(fit.facts),
    ]
    tables = [*_coefficients(fit), counts(fit)]
    return _summary(fit, left, tables, tuple(_notes(fit)))


def _notes(fit: ChowResults) -> Iterator[str]:
    if fit.facts.own["probability"] != "logit":
        return
    params = fit.params
    dropped = params.index[params.isna()]
    if len(dropped):
        yield f"Dropped, as combinations of the columns to their left: {listed(dropped)}."
    if fit.facts.own["separated"]:
        yield f"In the logistic regression {TOLD_APART}"


def _coefficients(fit: ChowResults) -> Iterator[Table]:
    if fit.facts.own["probability"] == "logit":
        table = fit.tidy()
        yield coefficients(table["term"], {"coef": table["estimate"]})


def summarise_pair(fit: QBCPairResults) -> Summary:
    """Return the summary of a pair of QBC fits."""
    event, other = fit.taus
    left = [
        formula(fit.facts),
        Fact("Method", NAMES["qbc_pair"]),
        Fact("tau", f"{event:.4g} and {other:.4g}"),
        Fact("Learner", str(fit.parts[0].facts.learner)),
        Fact("Iterations", f"{fit.parts[0].mstop} and {fit.parts[1].mstop}"),
        Fact("Claimed by both", number(fit.n_both)),
        *weights_and_date(fit.facts),
    ]
    note = (
        f"{fit.event} where the fit at tau = {event:.4g} is above 0, {fit.classes[0]} where that at tau = {other:.4g} "
        "is below 0; withheld where neither or both."
    )
    return _summary(fit, left, [counts(fit)], (note,))


def _summary(fit: WithholdingResults, left: list[Fact], tables: list[Table], notes: tuple[str, ...]) -> Summary:
    right = [event_fact(fit), *prices(fit), *rows_used(fit.facts), *figures(fit)]
    return Summary(f"{fit.title} Results", tuple(left), tuple(right), tuple(tables), (*notes, error_note(fit)))
