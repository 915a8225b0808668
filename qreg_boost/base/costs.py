"""What the errors of a classifier of two classes cost, as a caller states it."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from qreg_boost.base.checks import InputError, check_positive, check_tau


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
