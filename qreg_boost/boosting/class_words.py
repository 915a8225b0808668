"""What the summaries of boosted classifiers and of L2Boost say that depends on the family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.tables import Fact
from qreg_boost.base.typeset import fraction, level, number, share
from qreg_boost.boosting.base_words import Words
from qreg_boost.boosting.class_rest import FEW, at_rest

if TYPE_CHECKING:
    from qreg_boost.boosting.classifier_results import ClassBoostResults
    from qreg_boost.boosting.l2_results import L2Results


class ClassWords(Words):
    """The words of a boosted classifier."""

    def what(self, fit: ClassBoostResults) -> Iterator[Fact]:
        """Yield which label is the event."""
        yield Fact("Event", f"{fit.event} (not {fit.classes[0]})")

    def quality(self, fit: ClassBoostResults) -> Iterator[Fact]:
        """Yield the loss and the errors."""
        yield from super().quality(fit)
        for label, value in self._errors(fit):
            yield Fact(label, share(value) or "not defined", share(value), label)

    def _errors(self, fit: ClassBoostResults) -> Iterator[tuple[str, float]]:
        tally = fit.tally
        yield "Error rate", tally.error_rate
        yield "Events missed (FN)", tally.fn_rate
        yield "Others flagged (FP)", tally.fp_rate

    def no_probability(self, fit: ClassBoostResults) -> str:
        """Return why there is no probability of the event, and what has one."""
        return (
            f"{fit.title} estimates no probability: its fit may lie below 0 and above 1. Use logitboost(...) for "
            f"P({fit.event})."
        )

    def notes(self, fit: ClassBoostResults) -> Iterator[str]:
        """Yield what the errors are measured on."""
        events, others = fit.facts.own["events"], fit.facts.own["others"]
        weights = ", weights counted" if fit.facts.weighted else ""
        yield (
            f"Errors are those of the training rows{weights}: {number(events)} events, {number(others)} others. "
            "fit.evaluate(data) has those of other rows."
        )


class QBCWords(ClassWords):
    """The words of Quantile Boost Classification."""

    loss = "Smoothed cost"

    def loss_function(self, fit: ClassBoostResults) -> str:
        """Return the loss in words."""
        return f"smoothed cost of errors, tau = {fit.tau:.6g}, h = {fit.facts.own['h']:g}"

    def start(self, fit: ClassBoostResults) -> str:
        """Return where the fit starts."""
        return "0"

    def what(self, fit: ClassBoostResults) -> Iterator[Fact]:
        """Yield the event, tau, and the costs where they set it."""
        yield from super().what(fit)
        cost = fit.facts.own["cost"]
        if cost is not None:
            yield Fact("Costs (FN, FP)", f"{cost['fn']:g}, {cost['fp']:g}")
        yield Fact("Quantile (tau)", level(fit.tau))

    def quality(self, fit: ClassBoostResults) -> Iterator[Fact]:
        """Yield the loss, the errors and what they cost."""
        yield from super().quality(fit)
        cost = fit.tally.cost(**fit.prices)
        yield Fact("Mean cost of a row", fraction(cost) if abs(cost) < 1 else number(cost), cost, "Mean cost")

    def no_probability(self, fit: ClassBoostResults) -> str:
        """Return why there is no probability of the event, and what has one."""
        return (
            f"{fit.title} estimates no probability at one fit: it says where P({fit.event}) is above a limit. Use "
            "logitboost(...) for a probability, or qbc(..., tau=[...]).prob_cell(new) for a cell of it."
        )

    def notes(self, fit: ClassBoostResults) -> Iterator[str]:
        """Yield what tau means."""
        limit = f"{1.0 - fit.tau:.6g}"
        yield f"Flags the event where P({fit.event}) > 1 - tau = {limit}: where the fit is at least 0."
        if fit.facts.own["cost"] is None:
            yield (
                f"Errors are priced {fit.tau:.6g} for an event missed and {limit} for another flagged; "
                "`cost` states other prices."
            )
        yield from super().notes(fit)
        if fit.mstop and (near := fit.near_boundary) < FEW:
            yield (
                f"{share(near)} of the rows have a fit within 2 h of 0, where the score's gradient counts: further "
                "iterations change little."
            )
            if fit.resting_since is not None:
                yield at_rest(fit)
            elif fit.facts.learner != "stump":
                yield "A larger `h` keeps more rows in play."


class LogitBoostWords(ClassWords):
    """The words of LogitBoost."""

    loss = "-log-likelihood"

    def loss_function(self, fit: ClassBoostResults) -> str:
        """Return the loss in words."""
        return "negative binomial log-likelihood; the fit is half the log-odds"

    def step(self, fit: ClassBoostResults) -> str:
        """Return how steps are taken."""
        own = fit.facts.own
        if own["form"] == "gradient":
            return super().step(fit)
        bound = "" if own["zmax"] is None else f", |z| <= {own['zmax']:g}"
        return f"Newton, {'line search' if fit.facts.step == 'line' else f'nu {fit.facts.nu:g}'}{bound}"

    def start(self, fit: ClassBoostResults) -> str:
        """Return where the fit starts."""
        return "0 (P = 1/2)" if fit.facts.own["form"] == "newton" else "half the log-odds"


class AdaBoostWords(ClassWords):
    """The words of AdaBoost."""

    loss = "Exponential loss"

    def no_probability(self, fit: ClassBoostResults) -> str:
        """Return why there is no probability of the event, and what has one."""
        return (
            f"AdaBoost estimates no probability: its fit says on which side of 1/2 P({fit.event}) lies. Use "
            'logitboost(...), or jous(..., booster="adaboost"), which boosts at several levels and reads it off.'
        )

    def loss_function(self, fit: ClassBoostResults) -> str:
        """Return the loss in words."""
        discrete = fit.facts.own["form"] == "discrete"
        return "exponential loss, lowered by votes" if discrete else "exponential loss, by gradient steps"

    def step(self, fit: ClassBoostResults) -> str:
        """Return how steps are taken."""
        if fit.facts.step != "vote":
            return super().step(fit)
        return "vote log((1-e)/e)" + ("" if fit.facts.nu == 1.0 else f" x {fit.facts.nu:g}")

    def start(self, fit: ClassBoostResults) -> str:
        """Return where the fit starts."""
        return "0" if fit.facts.own["form"] == "discrete" else "half the log-odds"


class L2Words(Words):
    """The words of L2Boost of a number."""

    loss = "Squared error"

    def loss_function(self, fit: L2Results) -> str:
        """Return the loss in words."""
        return "squared error"

    def start(self, fit: L2Results) -> str:
        """Return where the fit starts."""
        return "mean of y" + (", y-offset" if fit.facts.has_offset else "")

    def quality(self, fit: L2Results) -> Iterator[Fact]:
        """Yield the loss and R-squared."""
        yield from super().quality(fit)
        known = "not defined" if np.isnan(fit.rsquared) else fraction(fit.rsquared)
        yield Fact("R-squared", known, known, "R-squared")


class L2ClassWords(ClassWords):
    """The words of L2Boost of two classes."""

    loss = "Squared error"

    def loss_function(self, fit: ClassBoostResults) -> str:
        """Return the loss in words."""
        return "squared error of the classes coded 0 and 1; the event from 0.5 on"

    def start(self, fit: ClassBoostResults) -> str:
        """Return where the fit starts."""
        return "share of the event"
