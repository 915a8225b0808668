"""The words of any boosted fit: what its summary says whatever the loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qreg_boost.base.tables import Fact
from qreg_boost.base.typeset import number


class Words:
    """The words of a family; every boosted fit has these, and a family adds its own."""

    loss = "Loss"
    coefficients = "Coefficients of a boosted fit depend on its stop and carry no standard errors."

    def loss_function(self, fit: Any) -> str:
        """Return the loss in words, for ``print(fit)``."""
        return fit.loss_name

    def step(self, fit: Any) -> str:
        """Return how steps are taken."""
        return "exact line search" if fit.facts.step == "line" else f"{fit.facts.nu:g} {fit.facts.step}"

    def step_length(self, fit: Any) -> str:
        """Return the length of the first step where it needs saying, for ``print(fit)``."""
        return ""

    def start(self, fit: Any) -> str:
        """Return where the fit starts."""
        return number(fit.start)

    def what(self, fit: Any) -> Iterator[Fact]:
        """Yield what is modelled: the facts at the top right of the header."""
        return iter(())

    def quality(self, fit: Any) -> Iterator[Fact]:
        """Yield how good the fit is: the facts at the bottom right of the header."""
        weighted = "weighted sum" if fit.facts.weighted else "sum"
        yield Fact(f"{self.loss} ({weighted})", number(fit.risk), fit.risk, self.loss)

    def notes(self, fit: Any) -> Iterator[str]:
        """Yield what must be said under the table."""
        return iter(())
