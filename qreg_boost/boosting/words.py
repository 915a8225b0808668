"""What the summary of a boosted fit says that depends on the family of the loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.tables import Fact
from qreg_boost.base.typeset import distance, fraction, level, number
from qreg_boost.boosting.base_words import Words
from qreg_boost.boosting.class_words import AdaBoostWords, L2ClassWords, L2Words, LogitBoostWords, QBCWords

if TYPE_CHECKING:
    from qreg_boost.boosting.qbr_results import QBRResults


class QBRWords(Words):
    """The words of Quantile Boost Regression."""

    loss = "Check loss"

    def loss_function(self, fit: QBRResults) -> str:
        """Return the loss in words."""
        return f"check loss, tau = {fit.tau:g}"

    def step(self, fit: QBRResults) -> str:
        """Return how steps are taken."""
        facts = fit.facts
        if facts.step == "line":
            return "exact line search"
        unit = {"auto": "unit-free", "range": "half-range", "none": "raw", "leaf": "share of each leaf"}
        rule = "" if facts.step == "fixed" else f" {facts.step}"
        return f"{facts.nu:g}{rule}, {unit[facts.own['step_scale']]}"

    def step_length(self, fit: QBRResults) -> str:
        """Return the length of the first step, unless steps are raw or searched for."""
        raw = fit.facts.gamma is None or fit.facts.own["step_scale"] in ("none", "leaf")
        return "" if raw else f" (first step {number(fit.facts.gamma or 0.0)} in units of y)"

    def start(self, fit: QBRResults) -> str:
        """Return where the fit starts."""
        of = ", y-offset" if fit.facts.has_offset else " of y"
        named = {"quantile": f"{level(fit.tau)}-quantile{of}", "median": f"median{of}"}
        return named.get(fit.facts.own["init"], f"{number(fit.start)} (given)")

    def what(self, fit: QBRResults) -> Iterator[Fact]:
        """Yield the quantile level."""
        yield Fact("Quantile (tau)", level(fit.tau))

    def quality(self, fit: QBRResults) -> Iterator[Fact]:
        """Yield the check loss, R1 and the distance to the exact optimum."""
        yield from super().quality(fit)
        r1 = "not defined" if np.isnan(fit.prsquared) else fraction(fit.prsquared)
        yield Fact("Pseudo R-squared (R1)", r1, r1, "R1")
        if fit.has_coefficients:
            gap, _ = self._gap(fit)
            yield Fact("Above the exact optimum", gap, gap, "Above optimum")

    def notes(self, fit: QBRResults) -> Iterator[str]:
        """Yield what the distance to the optimum means, and why R1 is missing."""
        if fit.has_coefficients and (about := self._gap(fit)[1]):
            yield about
        if np.isnan(fit.prsquared):
            yield "R1 is not defined: a constant fits every row exactly."

    def _gap(self, fit: QBRResults) -> tuple[str, str]:
        """Return the distance to the exact optimum, and what must be said of it."""
        try:
            gap = fit.optimality_gap
        except NotDefinedError:
            return "not known", "The distance to the exact optimum needs the rows, which the file does not hold."
        if np.isnan(gap):
            return (
                "not defined",
                "The least check loss is 0 (the columns can fit every row): no relative distance to it.",
            )
        far = gap >= 0.01 and fit.facts.how == "fixed"
        about = "The distance to the exact optimum measures optimisation, not how well the fit predicts."
        return distance(gap), about if far else ""


WORDS: dict[str, Words] = {
    "qbr": QBRWords(),
    "qbc": QBCWords(),
    "l2boost": L2Words(),
    "l2boost of classes": L2ClassWords(),
    "logitboost": LogitBoostWords(),
    "adaboost": AdaBoostWords(),
}
"""The words of each family."""
