"""What models have in common that make a classifier with a reject option out of others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import check_bool
from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design, Encoder
from qreg_boost.base.facts import Facts
from qreg_boost.compose.out_of_fold import cross_validate, several_stops
from qreg_boost.reject.choosing import RejectCV, Setting, prices_of
from qreg_boost.reject.folds import Resampling
from qreg_boost.reject.prices import USUAL_PRICE, Prices, read_prices, warn_of_one_prediction
from qreg_boost.reject.tally import Tally


class WithholdingModel(ClassModel):
    """A model of two classes with a price of withholding.

    It is made of parts, each a fit of its own to the rows; which ones are needed follows from the price.
    """

    function: ClassVar[str] = "reject_classifier"
    method: ClassVar[str]
    defaults: ClassVar[dict[str, Any]] = {"d": USUAL_PRICE, "cost": None, "event": None, "progress": True}

    prices: Prices
    booster: Any
    """What is fitted inside: a Booster, or None for a model of the method's own."""

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        options = {**self.defaults, **given}
        check_bool(options["progress"], "progress")
        self.prices = read_prices(options["d"], options["cost"])
        self._inner(given)
        self._read(design, options["event"])
        options["event"] = self.levels.labels[1]
        self.options, self.given = options, dict(given)
        self.call = self._described(design.formula, {"method": self.method, **given}, self.defaults)

    @abstractmethod
    def _inner(self, given: Mapping[str, Any]) -> None:
        """Read the options of what is fitted inside."""

    # -- parts

    @abstractmethod
    def keys(self, prices: Prices) -> tuple[Any, ...]:
        """Return what tells the parts apart that are needed at these prices."""

    @abstractmethod
    def part(self, key: Any, design: Design, booster: Any) -> Any:
        """Return a part fitted to the rows of a design, its response 1 for the event and 0 for the other."""

    @abstractmethod
    def values(self, part: Any, X: np.ndarray, stops: tuple[int | None, ...]) -> np.ndarray:
        """Return what a part says of rows (rows, stops), after each number of iterations; None is where it stands."""

    @abstractmethod
    def decide(self, values: np.ndarray, prices: Prices) -> np.ndarray:
        """Return -1, 0 (withheld) or +1 (rows,) of what the parts of `keys` say (rows, parts)."""

    def certainty(self, values: np.ndarray, prices: Prices) -> tuple[np.ndarray, np.ndarray] | None:
        """Return how far rows are beyond being withheld and what is predicted if anything is, of what `decide` takes.

        Both (rows,); None for a method without a threshold.
        """
        return None

    @abstractmethod
    def _made(self, parts: tuple[Any, ...], known: Mapping[str, Any]) -> Any:
        """Return the results of fitted parts."""

    # -- the fit

    def fit(self) -> Any:
        """Return the fit."""
        return self._fitted({})

    def _fitted(self, known: Mapping[str, Any]) -> Any:
        design = replace(self.design, y=np.nan_to_num(self.design.y))
        parts = {key: self.part(key, design, self.booster) for key in self.keys(self.prices)}
        fit = self._made(tuple(parts[key] for key in self.keys(self.prices)), known)
        advice = "Another price may tell more apart; fit.risk_against_d() compares them."
        warn_of_one_prediction(fit.tally.counts, fit.classes, self.prices, "", advice)
        return fit

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

    # -- what results may ask of their model

    def cv(self, d: Any, mstop: Any, how: Resampling) -> RejectCV:
        """Return out-of-fold risk over prices and numbers of iterations; arguments as in `ChowResults.cv`."""
        prices = prices_of(d, self.prices)
        stops = several_stops(mstop, self.booster, self.method)
        folds = how.draw(self)
        out = cross_validate(self, prices, stops, folds, how.n_jobs, how.progress)
        settings = tuple(
            Setting({} if stop is None else {"mstop": stop}, {} if stop is None else {"mstop": stop}, (stop or 0,))
            for stop in stops
        )
        return RejectCV(out, settings, prices, folds, self)

    def at(self, options: Mapping[str, Any], prices: Prices, known: Mapping[str, Any]) -> Any:
        """Return a fit of these rows with other iterations and price, of which it is known how it does out of fold."""
        changed = dict(options)
        if not prices.stated and prices != self.prices:
            changed["d"] = prices.reject
        model = type(self).__new__(type(self))
        model.__dict__.update(self.__dict__)
        model.prices = prices
        model.options, model.given = {**self.options, **changed}, {**self.given, **changed}
        model._inner(model.given)
        model.call = model._described(self.design.formula, {"method": self.method, **model.given}, self.defaults)
        return model._fitted({"out_of_fold": dict(known)})

    # -- files

    def plain_options(self) -> dict[str, Any]:
        """Return the options as values that JSON holds."""
        kept = {name: value for name, value in self.options.items() if name != "cost"}
        rows = ClassModel.__new__(type(self))
        rows.options = {**kept, "given": ",".join(name for name, value in self.given.items() if value is not None)}
        return {**ClassModel.plain_options(rows), "prices": self.prices.state()}


def restore_withholding(
    kind: type[WithholdingModel], meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[Facts, Encoder, Any, dict[str, np.ndarray]]:
    """Return facts, encoder, model or None, and the fit's own arrays of a saved file."""
    opened = kind.opened(meta, arrays)
    model = opened.model
    if model is not None:
        options = model.options
        model.prices = Prices(**options.pop("prices"))
        names = options.pop("given").split(",")
        model.options = {**kind.defaults, **options}
        own = {**options, "cost": model.prices.cost}
        model.given = {name: own[name] for name in names if name}
        model._inner(model.given)
    return opened.facts, opened.encoder, model, dict(opened.parts["fit"])
