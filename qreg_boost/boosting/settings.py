"""The options of a boosted fit, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import (
    LARGEST,
    InputError,
    check_bool,
    check_choice,
    check_count,
    check_positive,
    check_tau,
    nearest,
)
from qreg_boost.base.quantile import upper_quantile, weighted_median, weighted_quantile
from qreg_boost.base.typeset import in_call
from qreg_boost.boosting.learners import LEARNERS, ByTerm, Componentwise, Learner, Linear, Spline
from qreg_boost.boosting.steps import STEPS
from qreg_boost.boosting.stopping import CV

INITS = ("quantile", "median")
MOST = 100_000_000
"""Iterations beyond this would fill a machine's memory."""


@dataclass(frozen=True)
class BoostSettings:
    """The options that every boosted fit has, checked; a family adds its own."""

    learner: Any = "linear"
    mstop: int | CV = 100
    nu: float = 0.1
    step: str = "fixed"
    progress: bool = True

    steps: ClassVar[tuple[str, ...]] = ("fixed", "line")
    """The step rules of the family."""

    def __post_init__(self) -> None:
        self._put("mstop", _check_mstop(self.mstop))
        self._put("nu", check_positive(self.nu, "nu", advice=" It is the length of a step; 0.1 is usual."))
        check_choice(self.step, "step", self.steps)
        self._put("learner", check_learner(self.learner))
        check_bool(self.progress, "progress")

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(field.name for field in fields(cls))


@dataclass(frozen=True)
class QBRSettings(BoostSettings):
    """The options of Quantile Boost Regression; see `qreg_boost.qbr`."""

    tau: float = 0.5
    step: str = "auto"
    init: str | float = "quantile"
    step_scale: str | None = "auto"

    steps: ClassVar[tuple[str, ...]] = ("auto", *STEPS)

    def __post_init__(self) -> None:
        self._put("tau", check_tau(self.tau))
        super().__post_init__()
        if self.step_scale not in (None, "auto", "range"):
            hint = nearest(str(self.step_scale), ("auto", "range"))
            raise InputError(f"`step_scale` must be 'auto', 'range' or None; got {self.step_scale!r}.{hint}")
        if isinstance(self.init, str):
            check_choice(self.init, "init", INITS)
        elif isinstance(self.init, bool) or not isinstance(self.init, Real) or not abs(float(self.init)) < LARGEST:
            raise InputError(
                f"`init` must be 'quantile', 'median' or a finite number in units of y; got {self.init!r}."
            )
        if self.step == "auto":
            # raw steps and those of the paper are there to repeat others, who keep them fixed
            # monotone trees cannot be taken back by later ones (splines can), so their steps are kept short
            one_way = getattr(self.learner, "monotone", None) and not isinstance(self.learner, Spline)
            self._put("step", "adaptive" if self.step_scale == "auto" and not one_way else "fixed")
        if self.learner == LEARNERS["componentwise"] and self.step_scale is None:
            # raw steps are there to repeat mboost, whose columns are centred at the plain mean
            self._put("learner", Componentwise(center="rows"))

    @property
    def ties(self) -> str:
        """Which end is taken where the quantile is an interval: a learner may repeat gbm's, the upper one."""
        return getattr(self.learner, "ties", "lower")

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """Return the constant that a fit to y (n,) starts from, in units of y."""
        if self.init == "quantile":
            return (upper_quantile if self.ties == "upper" else weighted_quantile)(y, self.tau, weights)
        if self.init == "median":
            return weighted_median(y, weights)
        return float(self.init)


def _check_mstop(mstop: Any) -> int | CV:
    if isinstance(mstop, CV):
        return mstop
    if isinstance(mstop, str):
        if mstop != "cv":
            raise InputError(f"`mstop` must be a whole number of at least 0, 'cv', or a CV(...); got {mstop!r}.")
        return CV()
    count = check_count(mstop, "mstop", 0, " It is the number of iterations; 'cv' chooses it by cross-validation.")
    if count > MOST:
        raise InputError(f"`mstop` must be at most {MOST:,}; got {count:,}. Each iteration keeps some 30 bytes.")
    return count


def check_learner(learner: Any) -> Learner:
    """Return the learner of a name, the instance given, or the learners of a mapping from terms."""
    if isinstance(learner, Mapping):
        return _check_mapping(learner)
    allowed = ", ".join(map(repr, LEARNERS))
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(f"`learner` must be one of {allowed}; got {learner!r}.{nearest(learner, LEARNERS)}")
        return LEARNERS[learner]
    if not hasattr(learner, "prepare") or isinstance(learner, type):
        raise InputError(f"`learner` must be one of {allowed}, or an instance of a learner; got {learner!r}.")
    return learner


def _check_mapping(learners: Mapping[Any, Any]) -> Learner:
    if not learners:
        raise InputError('`learner` is an empty mapping; name a term, as in {"x1": "spline"}. The others are linear.')
    of_terms = {term: check_learner(learner) for term, learner in learners.items()}
    for term, learner in of_terms.items():
        if not isinstance(learner, (Linear, Spline)):
            raise InputError(
                f'`learner` gives {term!r} the learner {learner.name!r}; terms can be "linear" or "spline", side by '
                "side. Other learners take all terms: give the name alone."
            )
    return ByTerm(of_terms)


def describe_call(head: str, options: Mapping[str, Any], kind: type[BoostSettings]) -> str:
    """Return the call as a user would write it, options at their defaults left out."""
    defaults = {field.name: field.default for field in fields(kind) if field.name != "progress"}
    given = []
    if "tau" in defaults:
        tau = options.get("tau", defaults.pop("tau"))
        if tau is not None:
            given.append(f"tau={in_call(list(tau) if np.ndim(tau) else tau)}")
    for name, default in defaults.items():
        value = options.get(name, default)
        if not (isinstance(value, type(default)) and value == default):
            given.append(f"{name}={in_call(value)}")
    return (head + ", ".join(given)).removesuffix(", ") + ")"
