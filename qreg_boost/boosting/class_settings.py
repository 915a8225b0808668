"""The options of the classifiers and of L2Boost, and their checks."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from qreg_boost.base.checks import InputError, check_choice, check_positive, check_tau
from qreg_boost.base.costs import check_cost, tau_of_cost
from qreg_boost.boosting.learners import LEARNERS
from qreg_boost.boosting.settings import BoostSettings

NARROWEST = 1e-50
"""Squares of the slope of a narrower step overflow."""
FORMS = {"logitboost": ("newton", "gradient"), "adaboost": ("discrete", "gradient")}


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
