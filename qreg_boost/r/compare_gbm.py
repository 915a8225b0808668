"""Boosted stumps beside those of R's gbm: equal until two splits gain the same, and step by step after that."""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.r.compare import Comparison, as_row, frame
from qreg_boost.r.gbm import GBMStumps, Replay, gbm_stumps, replay

_COUNTERPART = 'learner=Stump(leaf="quantile", ties="upper", min_rows=10, bins=None), step="fixed", init="quantile"'
_CHECKS = "gbm's path, as far as no two splits gain the same, and each of its steps replayed from where gbm stood:"
_SAME = 1e-10


def compare_gbm(fit: Any) -> Comparison:
    """Return a fit of boosted stumps beside gbm's (``distribution = "quantile"``, all rows in every iteration).

    Raises
    ------
    InputError
        gbm has no counterpart: a learner other than stumps, weights, factors, or missing predictors.
    """
    design, settings = fit.model.design, fit.model.settings[0]
    learner = settings.learner
    _refuse(fit, design)
    y = design.y if design.offset is None else design.y - design.offset
    X = np.ascontiguousarray(design.X)
    stumps = gbm_stumps(y, X, fit.tau, max(fit.mstop, 1), settings.nu, learner.min_rows)
    judged = replay(stumps, y, X, fit.tau, settings.nu, learner.min_rows)
    same = (
        learner.leaf == "quantile"
        and learner.ties == "upper"
        and learner.monotone is None
        and settings.step == "fixed"
        and settings.init == "quantile"
    )
    r_risk = float(stumps.error[fit.mstop - 1]) * len(y) if fit.mstop else fit.risk
    checks = _checks(fit, stumps, judged, y, X) if same else []
    spread = max(float(np.ptp(y)), 1e-300)
    agrees = all(abs(row[3]) <= _SAME * max(abs(row[2]), spread if "gain" not in row[0] else 0.0) for row in checks)
    apart = f"may differ from iteration {judged.tied} on: two splits gain the same" if same else "expected to differ"
    note = apart if judged.tied <= fit.mstop or not same else "must agree"
    return Comparison(
        title=f"Boosted stumps beside R's gbm: tau {fit.tau:g}, {len(y)} rows, {fit.mstop} iterations",
        table=frame([as_row("check loss (sum)", fit.risk, r_risk, note)]),
        checks=frame(checks),
        gap=(fit.risk - r_risk) / r_risk if r_risk > 0 else float("nan"),
        unique=judged.tied > fit.mstop,
        agrees=agrees,
        notes=_notes(same, agrees, judged, fit.mstop, design.offset is not None),
        about_checks=_CHECKS,
    )


def _refuse(fit: Any, design: Any) -> None:
    reason = ""
    if fit.model.learner != "stump":
        reason = f"the learner is {fit.model.learner!r}"
    elif design.weights is not None:
        reason = "the fit has weights"
    elif any(len(term.columns) > 1 for term in design.terms):
        reason = "a term has several columns"
    elif np.isnan(design.X).any():
        reason = "predictors are missing"
    if reason:
        raise InputError(
            f"There is no comparison with R for this fit: {reason}. Stumps of unweighted numbers are set beside gbm, "
            "linear learners with quantreg."
        )


def _checks(fit: Any, stumps: GBMStumps, judged: Replay, y: np.ndarray, X: np.ndarray) -> list[Any]:
    """Return what must agree, for a fit with gbm's conventions."""
    until = min(judged.tied - 1, fit.mstop)
    theirs = np.full(len(y), stumps.start)
    for m in range(until):
        theirs += stumps.added(m, X)
    ours = fit.path.fit_at(until, X)
    row = int(np.argmax(np.abs(ours - theirs)))
    rows = [as_row("start", fit.start, stumps.start, "must agree")]
    if until:
        mean = float(fit.path.risks[until]) / len(y)
        rows.append(as_row(f"mean check loss, iteration {until}", mean, stumps.error[until - 1], "must agree"))
    rows.append(as_row(f"fit, iteration {until}, most apart", ours[row], theirs[row], "must agree"))
    rows.append(as_row("replayed: leaf, most apart", judged.statistic, judged.leaf, "must agree"))
    rows.append(as_row("replayed: best gain, most apart", judged.best, judged.gain, "must agree"))
    return rows


def _notes(same: bool, agrees: bool, judged: Replay, mstop: int, offset: bool) -> tuple[str, ...]:
    notes = {
        f"Not compared step by step; gbm's counterpart here is a fit with {_COUNTERPART}.": not same,
        "Start, leaves and splits of gbm are those of this package.": same and agrees,
        "gbm's path is NOT that of this package; please report it with the data.": same and not agrees,
        f"In iteration {judged.tied} two splits gain the same: this package takes the lowest column and cut, gbm may "
        "take the other, and both go their own way from there.": same and judged.tied <= mstop,
        "gbm's quantile loss knows no offset here, so it was given y - offset.": offset,
    }
    return tuple(note for note, applies in notes.items() if applies)
