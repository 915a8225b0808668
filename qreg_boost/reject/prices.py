"""What errors and withheld predictions cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, OneClassWarning, check_positive, warn

USUAL_PRICE = 0.2


@dataclass(frozen=True)
class Prices:
    """What an error and a withheld prediction cost.

    Attributes
    ----------
    fn, fp : float
        An event that is missed, a false alarm.
    reject : float
        A prediction that is withheld.
    stated : bool
        Whether they are the caller's costs; if not, errors cost 1 and `reject` is the price d.
    """

    fn: float
    fp: float
    reject: float
    stated: bool = False

    @property
    def even(self) -> bool:
        """Whether both errors cost the same."""
        return self.fn == self.fp

    @property
    def d(self) -> tuple[float, float]:
        """Price of withholding over that of the error, of the other class and of the event."""
        return self.reject / self.fp, self.reject / self.fn

    @property
    def withholds(self) -> bool:
        """Whether withholding can ever pay: not at d = 0.5."""
        return self.reject < self.worst * (1.0 - 1e-12)

    @property
    def rule(self) -> tuple[float, float]:
        """Probabilities of the event below which the other class is predicted, and above which the event is."""
        if not self.withholds:
            middle = self.fp / (self.fn + self.fp)
            return middle, middle
        return self.reject / self.fn, 1.0 - self.reject / self.fp

    def by_row(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return cost of an error and d (n,) of rows y (n,), above 0 for the event."""
        event = y > 0.0
        return np.where(event, self.fn, self.fp), np.where(event, self.d[1], self.d[0])

    @property
    def worst(self) -> float:
        """Expected cost of the better guess where it is largest: at this price and beyond, withholding never pays."""
        return self.fn * self.fp / (self.fn + self.fp)

    @property
    def cost(self) -> dict[str, float] | None:
        """The costs as a caller states them; None for a price d."""
        if not self.stated:
            return None
        values = {"fn": self.fn, "fp": self.fp, "reject": self.reject}
        return {name: int(value) if value.is_integer() else value for name, value in values.items()}

    @property
    def in_words(self) -> str:
        """The price d, or the costs."""
        return f"cost: {self}" if self.stated else f"d = {self}"

    def state(self) -> dict[str, Any]:
        """Return the prices as values that JSON holds."""
        return asdict(self)

    def __str__(self) -> str:
        if self.stated:
            return f"missed {self.fn:g}, false alarm {self.fp:g}, withheld {self.reject:g}"
        return f"{self.reject:g}"


def read_prices(d: Any, cost: Any = None) -> Prices:
    """Return the prices that `d` or `cost` states.

    Raises
    ------
    InputError
        If d is not in (0, 0.5]; if `cost` lacks one of fn, fp, reject, or withholding could never pay; if both are
        given and contradict each other.

    Examples
    --------
    >>> read_prices(0.1).rule
    (0.1, 0.9)
    >>> read_prices(0.2, {"fn": 5, "fp": 1, "reject": 0.4}).rule
    (0.08, 0.6)
    """
    if cost is None:
        return Prices(1.0, 1.0, check_price(d))
    prices = _read_cost(cost)
    if d != USUAL_PRICE and not (prices.even and abs(check_price(d) - prices.d[0]) < 1e-9):
        raise InputError(f"`d` is {d!r}, but cost={dict(cost)} says what withholding costs. Leave one of them out.")
    return prices


def check_price(d: Any) -> float:
    """Return `d` as a float above 0 and at most 0.5."""
    if isinstance(d, bool) or not isinstance(d, Real) or not 0.0 < float(d) <= 0.5:
        hint = ""
        if isinstance(d, Real) and not isinstance(d, bool):
            value = float(d)
            if 0.5 < value < 1.0:
                hint = " Above 0.5 a guess is cheaper than a withheld prediction."
            elif 1.0 <= value <= 50.0:
                hint = f" For {value:g} % of an error's cost write d={value / 100:g}."
            elif value == 0.0:
                hint = " At 0 every prediction would be withheld."
        elif isinstance(d, (list, tuple, np.ndarray)):
            hint = " A fit has one price; fit.risk_against_d([...]) compares several."
        raise InputError(
            "`d`, the price of a withheld prediction where an error costs 1, must lie above 0 and at most at 0.5; "
            f"got {d!r}.{hint}"
        )
    return float(d)


def _read_cost(cost: Any) -> Prices:
    if not isinstance(cost, Mapping) or set(cost) != {"fn", "fp", "reject"}:
        raise InputError(
            '`cost` must say what errors and withheld predictions cost, as in {"fn": 5, "fp": 1, "reject": 0.4}: fn an '
            f"event that is missed, fp a false alarm; got {cost!r}."
        )
    fn, fp, reject = (check_positive(cost[name], f"cost[{name!r}]") for name in ("fn", "fp", "reject"))
    most = fn * fp / (fn + fp)
    if reject >= most:
        raise InputError(
            f"At cost={dict(cost)} withholding never pays: it would have to cost less than fn fp / (fn + fp) = "
            f"{most:.6g}, and costs {reject:g}. Lower `reject`, or use a classifier that always predicts, such as "
            "qbc(cost={...})."
        )
    return Prices(fn, fp, reject, True)


def warn_of_one_prediction(counts: np.ndarray, classes: tuple[Any, ...], prices: Prices, at: str, advice: str) -> None:
    """Warn if the rows of counts (2, 3) are all predicted alike, or all withheld.

    Parameters
    ----------
    counts : (2, 3) array
        Actual classes by predicted ones and withheld.
    classes : tuple
    prices : Prices
    at : str
        What else the fit was made with, after its price.
    advice : str
    """
    predicted = counts.sum(axis=0)
    if (predicted > 0.0).sum() != 1:
        return
    what = f"{classes[int(predicted[1] > 0)]!r} is predicted for every row"
    if predicted[2]:
        what = "Every prediction is withheld"
    price = f"cost={prices.cost}" if prices.stated else f"d={prices}"
    warn(f"{what}, at {price}{at}. {advice}", OneClassWarning)
