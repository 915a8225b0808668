"""The options of a boosted fit, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

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
from qreg_boost.base.quantile import weighted_median, weighted_quantile
from qreg_boost.boosting.learners import LEARNERS, Componentwise, Learner
from qreg_boost.boosting.steps import STEPS
from qreg_boost.boosting.stopping import CV

INITS = ("quantile", "median")
MOST = 100_000_000
"""Iterations beyond this would fill a machine's memory."""


@dataclass(frozen=True)
class Settings:
    """The options of a boosted fit, checked; see `qreg_boost.qbr`."""

    tau: float = 0.5
    learner: Any = "linear"
    mstop: int | CV = 100
    nu: float = 0.1
    step: str = "auto"
    init: str | float = "quantile"
    step_scale: str | None = "auto"
    progress: bool = True

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "tau", check_tau(self.tau))
        put(self, "mstop", _check_mstop(self.mstop))
        put(self, "nu", check_positive(self.nu, "nu", advice=" It is the length of a step; 0.1 is usual."))
        check_choice(self.step, "step", ("auto", *STEPS))
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
            put(self, "step", "adaptive" if self.step_scale == "auto" else "fixed")
        put(self, "learner", _check_learner(self.learner, self.step_scale))
        check_bool(self.progress, "progress")

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """Return the constant that a fit to y (n,) starts from, in units of y."""
        if self.init == "quantile":
            return weighted_quantile(y, self.tau, weights)
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


def _check_learner(learner: Any, step_scale: str | None) -> Learner:
    if isinstance(learner, str):
        if learner not in LEARNERS:
            allowed = ", ".join(map(repr, LEARNERS))
            raise InputError(f"`learner` must be one of {allowed}; got {learner!r}.{nearest(learner, LEARNERS)}")
        # raw steps are there to repeat mboost, whose columns are centred at the plain mean
        return Componentwise(center="rows") if learner == "componentwise" and step_scale is None else LEARNERS[learner]
    if not hasattr(learner, "prepare") or isinstance(learner, type):
        allowed = ", ".join(map(repr, LEARNERS))
        raise InputError(f"`learner` must be one of {allowed}, or an instance of a learner; got {learner!r}.")
    return learner


def describe_call(head: str, tau: Any, options: Mapping[str, Any]) -> str:
    """Return the call as a user would write it, options at their defaults left out."""
    level = list(tau) if isinstance(tau, (list, tuple, np.ndarray)) else tau
    given = [f"tau={level!r}"]
    for name, default in (
        (field.name, field.default) for field in fields(Settings) if field.name not in ("tau", "progress")
    ):
        value = options.get(name, default)
        if not (isinstance(value, type(default)) and value == default):
            given.append(f"{name}={value!r}")
    return head + ", ".join(given) + ")"
