"""The options of the classifiers and of L2Boost, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar

from qreg_boost.base.checks import InputError, check_choice, check_positive, check_tau
from qreg_boost.boosting.learners import LEARNERS
from qreg_boost.boosting.settings import BoostSettings

NARROWEST = 1e-50
"""Squares of the slope of a narrower step overflow."""
FORMS = {"logitboost": ("newton", "gradient"), "adaboost": ("discrete", "gradient")}


def check_cost(cost: Any) -> dict[str, float]:
    """Return what a missed event (fn) and a false alarm (fp) cost, as plain numbers.

    >>> check_cost({"fn": 5, "fp": 1})
    {'fn': 5, 'fp': 1}
    """
    if not isinstance(cost, Mapping) or set(cost) != {"fn", "fp"}:
        raise InputError(
            '`cost` must say what both errors cost, as in {"fn": 5, "fp": 1}: fn an event that is missed, fp a false '
            f"alarm; got {cost!r}."
        )
    for name, value in cost.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            raise InputError(f"`cost[{name!r}]` must be a number above 0; got {value!r}.")
        check_positive(value, f"cost[{name!r}]")
    return {name: cost[name] if isinstance(cost[name], int) else float(cost[name]) for name in ("fn", "fp")}


def tau_of_cost(cost: Mapping[str, float]) -> float:
    """Return the tau at which errors are weighed as `cost` has them: fn / (fn + fp).

    >>> tau_of_cost({"fn": 4, "fp": 1})
    0.8
    """
    tau = float(cost["fn"]) / (float(cost["fn"]) + float(cost["fp"]))
    if not 0.0 < tau < 1.0:
        raise InputError(
            f"`cost` has prices too large or too far apart to compute with: {dict(cost)}. Only their ratio counts: it "
            "sets tau = fn / (fn + fp), which must lie strictly between 0 and 1."
        )
    return tau


def check_agreement(tau: Any, cost: Any) -> Any:
    """Return `tau`, 0.5 if neither it nor `cost` is given; refuse one tau that `cost` contradicts.

    >>> check_agreement(None, None)
    0.5
    """
    if cost is None:
        return 0.5 if tau is None else tau
    meant = tau_of_cost(check_cost(cost))
    if isinstance(tau, Real) and abs(check_tau(tau) - meant) > 1e-9:
        raise InputError(
            f"`tau` is {tau:g}, but cost={dict(cost)} means tau = fn / (fn + fp) = {meant:.6g}. Leave one of them out."
        )
    return tau


@dataclass(frozen=True)
class ClassSettings(BoostSettings):
    """The options of every classifier; `classes` is what was learned of the labels, not an option."""

    event: Any = None
    classes: Any = None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(field.name for field in fields(cls) if field.name != "classes")


@dataclass(frozen=True)
class QBCSettings(ClassSettings):
    """The options of Quantile Boost Classification; see `qreg_boost.qbc`."""

    tau: Any = None
    cost: Any = None
    h: float = 0.1

    def __post_init__(self) -> None:
        if self.cost is not None:
            self._put("cost", check_cost(self.cost))
        self._put("tau", check_tau(self._tau()))
        self._put("h", check_positive(self.h, "h", advice=" It is the width over which the step is smoothed."))
        if self.h < NARROWEST:
            raise InputError(f"`h` is {self.h:g}, too narrow to compute with; 0.1 is usual.")
        super().__post_init__()

    def _tau(self) -> Any:
        if self.tau is not None:
            return self.tau
        return 0.5 if self.cost is None else tau_of_cost(self.cost)

    @property
    def prices(self) -> dict[str, float]:
        """What errors cost: as told, or tau and 1 - tau."""
        return self.cost if self.cost is not None else {"fn": self.tau, "fp": 1.0 - self.tau}


@dataclass(frozen=True)
class L2Settings(ClassSettings):
    """The options of L2Boost; see `qreg_boost.l2boost`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu >= 2.0:
            raise InputError(
                f"`nu` must be below 2, from where on squared error grows with each step; got {self.nu:g}."
            )


@dataclass(frozen=True)
class LogitBoostSettings(ClassSettings):
    """The options of LogitBoost; see `qreg_boost.logitboost`."""

    learner: Any = "stump"
    nu: Any = None
    form: str = "newton"
    zmax: float | None = 4.0

    def __post_init__(self) -> None:
        check_choice(self.form, "form", FORMS["logitboost"])
        if self.nu is None:
            self._put("nu", 1.0 if self.form == "newton" else 0.1)
        if self.zmax is not None:
            advice = " It bounds the working response; None lifts the bound."
            self._put("zmax", check_positive(self.zmax, "zmax", advice=advice))
        super().__post_init__()


@dataclass(frozen=True)
class AdaBoostSettings(ClassSettings):
    """The options of AdaBoost; see `qreg_boost.adaboost`."""

    learner: Any = "stump"
    nu: Any = None
    step: str = "auto"
    form: str = "discrete"

    steps: ClassVar[tuple[str, ...]] = ("auto", "vote", "fixed", "line")

    def __post_init__(self) -> None:
        check_choice(self.form, "form", FORMS["adaboost"])
        if self.nu is None:
            self._put("nu", 1.0 if self.form == "discrete" else 0.1)
        check_choice(self.step, "step", self.steps)
        if self.step == "auto":
            self._put("step", "vote" if self.form == "discrete" else "fixed")
        if (self.step == "vote") != (self.form == "discrete"):
            raise InputError(
                f"step={self.step!r} does not go with form={self.form!r}: discrete AdaBoost steps by the vote of each "
                'learner, form="gradient" by "fixed" or "line" steps.'
            )
        super().__post_init__()
        if self.form == "discrete":
            self._put("learner", voter(self.learner))


def voter(learner: Any) -> Any:
    """Return the learner with leaves that vote: +1 or -1, the weighted majority."""
    if not hasattr(learner, "leaf"):
        voters = ", ".join(repr(name) for name, known in LEARNERS.items() if hasattr(known, "leaf"))
        raise InputError(
            f"Discrete AdaBoost needs a learner whose leaves vote ({voters}); got {learner.name!r}. "
            'form="gradient" takes any learner.'
        )
    return replace(learner, leaf="majority")
