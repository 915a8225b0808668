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
MOST_ROWS = 5000
"""Of so many repeated rows kernlab's solver takes minutes."""
_CHECKS = "What must agree with kernlab, on the scale of the fit:"


def compare_kqr(fit: Any) -> Comparison:
    """Return a kernel quantile regression beside kernlab's; see `qreg_boost.r.compare`.

    kernlab gets the standardised columns and the kernel's parameters as numbers, so both solve the same problem.

    Raises
    ------
    InputError
        For a fit with weights that are not whole, or one held apart from other quantiles.
    """
    ready = fit.model.ready
    if fit.facts.own["noncrossing"]:
        raise InputError("kernlab's kqr fits each quantile alone; compare fits without noncrossing=True.")
    rows = _repeated(ready.weights)
    kernel = ready.kernel
    given = {("sigma" if name == "gamma" else name): value for name, value in kernel.parameters.items()}
    precomputed = not kernel.kernlab or kernel.name == "precomputed" or ready.low_rank is not None
    if kernel.name == "spline" and (ready.X < 0.0).any():  # kernlab's is no kernel there
        precomputed = True
    K = ready.form.times(np.eye(len(ready.y)))[np.ix_(rows, rows)]
    y = ready.y[rows]
    X, name = (K, "kernelMatrix") if precomputed else (ready.X[rows], kernel.kernlab)
    theirs = fit_kqr(X, y, fit.tau, fit.C, name, {} if precomputed else given, False)
    ours = (fit.fittedvalues.to_numpy()[ready.columns][rows] - ready.centre) / ready.spread
    f = theirs.fittedvalues.to_numpy()
    r = y - f
    objective = 0.5 * theirs.alpha @ K @ theirs.alpha + fit.C * float(np.sum(r * (fit.tau - (r < 0))))
    low, high = fit.C * (fit.tau - 1.0), fit.C * fit.tau
    violation = max(abs(theirs.alpha.sum()), (low - theirs.alpha).max(), (theirs.alpha - high).max(), 0.0)
    apart = float(np.abs(ours - f).max()) / (float(np.std(y)) or 1.0)
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
        title=f"Kernel quantile regression beside R's kernlab: tau {fit.tau:g}, {len(y)} rows, {kernel}",
        table=frame(table),
        checks=frame(checks),
        gap=excess,
        unique=True,
        agrees=agrees,
        notes=(
            f"This package and kernlab {verdict}. {_where(excess)}",
            *_given(fit, ready, len(rows), precomputed),
        ),
        about_checks=_CHECKS,
    )


def _repeated(weights: np.ndarray) -> np.ndarray:
    """Return the rows as kernlab gets them, which takes no weights: a row of weight 3 three times."""
    if (weights == 1.0).all():
        return np.arange(len(weights))
    if not np.array_equal(weights, np.round(weights)) or weights.sum() > MOST_ROWS:
        raise InputError(
            "kernlab's kqr takes no weights. Whole weights are compared as repeated rows, at most "
            f"{MOST_ROWS} of them; a fit with other weights cannot be compared with it."
        )
    return np.repeat(np.arange(len(weights)), weights.astype(np.intp))


def _where(excess: float) -> str:
    """Return in words where our objective lies, `excess` its distance from kernlab's as a share of that."""
    if excess == 0.0:
        return "The objectives are equal."
    if excess < 0.0:
        return f"Our objective is the lower, by {-excess:.1e} of kernlab's."
    return f"Our objective is the higher, by {excess:.1e} of kernlab's; {_NOT_ABOVE:g} is rounding."


def _given(fit: Any, ready: Any, rows: int, precomputed: bool) -> list[str]:
    """Return what kernlab was given, if it was not the rows as they are."""
    notes = {
        "kernlab was given the standardised columns; its own fitted values would be on that scale too.": (
            fit.facts.own["standardized"]
        ),
        "kernlab was given the low-rank matrix that takes the place of the kernel's.": ready.low_rank is not None,
        "kernlab was given the kernel matrix.": precomputed and ready.low_rank is None,
        "kernlab takes no weights; it was given rows as often as their weights say.": rows != len(ready.y),
    }
    return [note for note, applies in notes.items() if applies]
