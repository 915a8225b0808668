"""The first convex programs of a reject option classifier beside kernlab's `ksvm` and `ipop`.

The double ramp's later steps, and so the fit itself, have no counterpart in R; each of them is a program of the same
form as the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.r import session
from qreg_boost.r.compare import Comparison, as_row, frame
from qreg_boost.r.kernlab import fit_svm, ipop

_NOT_ABOVE = 1e-7
"""Our objectives may exceed kernlab's by this share."""
_SAME_DECISION = 1e-4
"""What may part decision values, as a share of the larger of their spread and the margin 1.

`ksvm` ends up to 4e-5 away on sonar and ionosphere, at an objective above ours, whatever its `tol` is below 1e-6.
"""
_FREE = 1e-6
"""A dual this share of its box away from both ends is inside, and settles the offset."""
_MOST_ROWS = 800
"""Beyond this many rows `ipop`, which factorises a dense matrix of twice the order, takes minutes."""
_CHECKS = "What must agree with kernlab, on the scale of the fit:"


def compare_reject(fit: Any) -> Comparison:
    """Return the first programs of a reject option classifier beside kernlab's; see `qreg_boost.r.compare`.

    kernlab gets the standardised columns and the kernel's parameters as numbers, so both solve the same problems.

    Raises
    ------
    InputError
        For a fit with weights, which `ksvm` does not take.
    """
    step = fit.first_step()
    C = _costs(step)
    kernel = step.kernel
    given = {("sigma" if name == "gamma" else name): value for name, value in kernel.parameters.items()}
    precomputed = not kernel.kernlab or kernel.name == "precomputed" or fit.facts.own["rank"] is not None
    X, name, kpar = (step.K, "kernelMatrix", {}) if precomputed else (step.X, kernel.kernlab, given)
    theirs = fit_svm(X, step.y, C, name, kpar)
    ours = step.point.t * step.y
    inside = bool(((step.point.a > _FREE * step.C) & (step.point.a < (1.0 - _FREE) * step.C)).any())
    difference = ours - theirs.decision
    if not inside:  # then an interval of offsets is optimal
        difference = difference - difference.mean()
    apart = float(np.abs(difference).max()) / max(float(np.std(theirs.decision)), 1.0)
    objective, reached = _dual(step.point.a, step), _dual(theirs.a, step)
    excess = [_above(objective, reached)]
    checks = [
        as_row("ksvm: objective of the dual", objective, reached, "rho = 0, at R's duals: must not be above R's"),
        as_row("ksvm: difference of f / max(sd, 1)", apart, 0.0, f"must be at most {_SAME_DECISION:g}"),
    ]
    table = [
        as_row("ksvm: objective as it prints it", objective, theirs.objective, "R updates it step by step: rounding"),
        as_row("ksvm: offset b", step.point.b, theirs.b, "" if inside else "an interval of values is optimal"),
        as_row(
            "ksvm: violation of constraints", _violation(step.point.a, step), _violation(theirs.a, step), "of the duals"
        ),
    ]
    more, rows, allowed, absent = _beside_ipop(step)
    agrees = excess[0] <= _NOT_ABOVE and apart <= _SAME_DECISION
    if more:
        excess.append(_above(more[0][1], more[0][2]))
        agrees = agrees and more[0][1] <= more[0][2] + allowed
    method = str(fit.facts.own["method"])
    return Comparison(
        title=f"First convex programs of {method} beside R's kernlab: {len(step.y)} rows, {kernel}",
        table=frame([*table, *rows]),
        checks=frame([*checks, *more]),
        gap=max(excess),
        unique=inside,
        agrees=agrees,
        notes=_notes(method, absent, agrees, bool(fit.facts.own["standardize"])),
        about_checks=_CHECKS,
    )


def _costs(step: Any) -> tuple[float, float]:
    """Return the cost of the hinge of the other class and of the event."""
    found = [step.C[step.y == sign] for sign in (-1.0, 1.0)]
    if any(np.ptp(one) > 1e-12 * one.max() for one in found):
        raise InputError("kernlab's ksvm takes no weights of rows, so a weighted fit cannot be compared with it.")
    return float(found[0][0]), float(found[1][0])


def _dual(a: np.ndarray, step: Any) -> float:
    """Return 1/2 a'Qa - 1'a, to be minimised."""
    u = a * step.y
    return float(0.5 * u @ (step.K @ u) - a.sum())


def _violation(a: np.ndarray, step: Any) -> float:
    return max(abs(float(a @ step.y)), float(np.maximum(-a, a - step.C).max()), 0.0)


def _above(ours: float, theirs: float) -> float:
    """Return by what share of kernlab's our objective is above it."""
    return (ours - theirs) / abs(theirs) if theirs else 0.0


def _beside_ipop(step: Any) -> tuple[list[Any], list[Any], float, str]:
    """Return the row that must agree, how each keeps the constraints, what ours may be above; or why there is none."""
    if len(step.y) > _MOST_ROWS:
        return [], [], 0.0, f"ipop is left out: {len(step.y)} rows are more than {_MOST_ROWS}."
    one = step.program
    try:
        theirs = ipop(one.H, one.c, one.A, np.zeros(len(one.A)), one.lower, one.upper)
    except session.RError as error:
        return [], [], 0.0, f"ipop is left out, it has no solution: {error}"
    # leaving the constraints by v gains at most v times the sum of the multipliers, of the order of the objective's c
    allowed = _NOT_ABOVE * abs(theirs.objective) + 10.0 * theirs.violation
    check = as_row("ipop: objective of the program", one.objective, theirs.objective, "rho free: must not be above R's")
    rows = [as_row("ipop: violation of constraints", one.violation, theirs.violation, f"ipop ended: {theirs.how}")]
    return [check], rows, allowed, ""


def _notes(method: str, absent: str, agrees: bool, standardized: bool) -> tuple[str, ...]:
    verdict = "agree" if agrees else "do NOT agree; please report it with the data"
    ramp = method == "double_ramp"
    notes = {
        f"This package and kernlab {verdict}.": True,
        "ksvm: the first step with rho held at 0 is a support vector machine of cost C / mu^2, whatever d is.": ramp,
        "ksvm: the support vector machine of the same rows, kernel and C; ipop: the program of this hinge.": not ramp,
        "ipop: the first step's quadratic program with rho free. The later steps have no counterpart in R.": ramp,
        absent: bool(absent),
        "kernlab was given the standardised columns.": standardized,
    }
    return tuple(note for note, applies in notes.items() if applies)
