"""Runs of Quantile Boost Classification that have come to rest: no label changes any more, and hardly a row counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qreg_boost.boosting.classifier_results import ClassBoostResults

FEW = 0.05
"""Below this share of rows near the boundary the run has come to rest, wherever it is."""
QUIET = 20
"""Fewer iterations without a change of label say nothing."""


def last_change(fit: ClassBoostResults) -> int:
    """Return the iteration at which the label of a training row changed last, 0 if none ever did."""
    model = fit.model
    X = model.design.X[model.weights > 0]
    f = np.full(len(X), fit.path.start)
    above, last = f >= fit.threshold, 0
    for m, added in zip(range(1, fit.mstop + 1), fit.path.increments(X), strict=False):
        f += added
        now = f >= fit.threshold
        if (now != above).any():
            above, last = now, m
    return last


def resting_since(fit: ClassBoostResults) -> int | None:
    """Return the iteration since which no label has changed, or None if the run goes on or makes no error.

    A run rests if that was in the first half of at least 40 iterations and few rows are near the boundary.
    """
    if fit.mstop < 2 * QUIET or not fit.near_boundary < FEW or fit.tally.error_rate == 0.0:
        return None
    last = last_change(fit)
    return last if fit.mstop - last >= 0.5 * fit.mstop else None


def at_rest(fit: ClassBoostResults) -> str:
    """Return what to say of a run that rests."""
    since, used = fit.resting_since, fit.selected.nunique()
    learners = len(fit.path.names)
    said = f"The run has come to rest: no label of a training row has changed since iteration {since} of {fit.mstop}"
    if used < learners:
        said += f", and that {used} of {learners} terms were chosen says little about the others"
    return f"{said}. {_remedy(fit)}"


def _remedy(fit: ClassBoostResults) -> str:
    if fit.facts.learner != "stump":
        return "A larger `h` keeps more rows in play."
    searched = "" if fit.facts.step == "line" else ', or step="line"'
    return f'A larger `h` or smaller `nu` does not move stumps; learner="tree" or "linear"{searched}, may.'
