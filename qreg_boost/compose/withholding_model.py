"""What models have in common that make a classifier with a reject option out of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design
from qreg_boost.base.facts import Facts
from qreg_boost.reject.prices import USUAL_PRICE, Prices, read_prices
from qreg_boost.reject.tally import Tally


class WithholdingModel(ClassModel):
    """A model of two classes with a price of withholding."""

    function: ClassVar[str] = "reject_classifier"
    method: ClassVar[str]
    defaults: ClassVar[dict[str, Any]] = {"d": USUAL_PRICE, "cost": None, "event": None, "progress": True}

    prices: Prices

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        options = {**self.defaults, **given}
        self.prices = read_prices(options["d"], options["cost"])
        self._inner(given)
        self._read(design, options["event"])
        options["event"] = self.levels.labels[1]
        self.options = options
        self.call = self._described(design.formula, {"method": self.method, **given}, self.defaults)

    def _inner(self, given: Mapping[str, Any]) -> None:
        """Read the options of what is fitted inside."""

    def known(self, signs: np.ndarray, **own: Any) -> Facts:
        """Return the facts of a fit that predicts these signs (n,) for the rows."""
        state = {
            "levels": self.levels.state(),
            "method": self.method,
            "prices": self.prices.state(),
            "tally": Tally.of(self.design.y, signs, self.design.weights).counts.tolist(),
            **own,
        }
        return Facts.of(self.design, function=self.function, call=self.call, own=state)

    def plain_options(self) -> dict[str, Any]:
        """Return the options as values that JSON holds."""
        kept = {name: value for name, value in self.options.items() if name != "cost"}
        rows = ClassModel.__new__(type(self))
        rows.options = kept
        return {**ClassModel.plain_options(rows), "prices": self.prices.state()}
