"""A kernel quantile regression beside kernlab's on the same columns: objective, fitted values, dual variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.r.compare import Comparison, as_row, frame
from qreg_boost.r.kernlab import fit_kqr

_NOT_ABOVE = 1e-8
"""Our objective may exceed kernlab's by this share: both are optimal to about that."""
_SAME_FIT = 1e-3
"""kernlab's fits are as exact as its optimiser's seven digits make them: to this share of the spread of y."""
_CHECKS = "What must agree with kernlab, on the scale of the fit:"


def compare_kqr(fit: Any) -> Comparison:
    """Return a kernel quantile regression beside kernlab's; see `qreg_boost.r.compare`.

    kernlab gets the standardised columns and the kernel's parameters as numbers, so both solve the same problem.

    Raises
    ------
    InputError
        For a weighted fit, one held apart from other quantiles, or a kernel that kernlab does not have.
    """
    ready = fit.model.ready
    _refuse(fit, ready)
    kernel = ready.kernel
    given = {("sigma" if name == "gamma" else name): value for name, value in kernel.parameters.items()}
    precomputed = not kernel.kernlab or kernel.name == "precomputed" or ready.low_rank is not None
    K = ready.form.times(np.eye(len(ready.y)))
    X, name = (K, "kernelMatrix") if precomputed else (ready.X, kernel.kernlab)
    theirs = fit_kqr(X, ready.y, fit.tau, fit.C, name, {} if precomputed else given, False)
    ours = (fit.fittedvalues.to_numpy()[ready.columns] - ready.centre) / ready.spread
    f = theirs.fittedvalues.to_numpy()
    r = ready.y - f
    objective = 0.5 * theirs.alpha @ K @ theirs.alpha + fit.C * float(np.sum(r * (fit.tau - (r < 0))))
    low, high = fit.C * (fit.tau - 1.0), fit.C * fit.tau
    violation = max(abs(theirs.alpha.sum()), (low - theirs.alpha).max(), (theirs.alpha - high).max(), 0.0)
    apart = float(np.abs(ours - f).max()) / float(np.std(ready.y))
    excess = (fit.objective - objective) / abs(objective) if objective else 0.0
    agrees = excess <= _NOT_ABOVE and apart <= _SAME_FIT
    loss = float(np.sum(r * (fit.tau - (r < 0)))) * ready.spread
    checks = [
        as_row("objective (penalised)", fit.objective, objective, "must not be above R's"),
        as_row("largest difference of fits / sd(y)", apart, 0.0, f"must be at most {_SAME_FIT:g}"),
    ]
    table = [
        as_row("check loss (sum)", fit.risk, loss, "in units of y"),
        as_row("offset b", fit.b, theirs.b, "R prints -b; an interval of values may be optimal"),
        as_row("duality gap", fit.duality_gap, np.nan, "R has none"),
        as_row("violation of constraints", float(abs(fit.alpha.sum())), violation, "of the dual variables"),
    ]
    verdict = "agree" if agrees else "do NOT agree; please report it with the data"
    return Comparison(
        title=f"Kernel quantile regression beside R's kernlab: tau {fit.tau:g}, {len(ready.y)} rows, {kernel}",
        table=frame(table),
        checks=frame(checks),
        gap=excess,
        unique=True,
        agrees=agrees,
        notes=(
            f"This package and kernlab {verdict}. Our objective is {excess:+.1e} of kernlab's above it.",
            "kernlab was given the standardised columns; its own fitted values would be on that scale too.",
        ),
        about_checks=_CHECKS,
    )


def _refuse(fit: Any, ready: Any) -> None:
    if not np.all(ready.weights == 1.0):
        raise InputError("kernlab's kqr takes no weights, so a weighted fit cannot be compared with it.")
    if fit.facts.own["noncrossing"]:
        raise InputError("kernlab's kqr fits each quantile alone; compare fits without noncrossing=True.")
