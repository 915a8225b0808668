"""The vote of a learner in discrete AdaBoost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.boosting.learners.base import Memory, Update
from qreg_boost.boosting.losses import FLAT, LineStep
from qreg_boost.boosting.steps import StepRule

if TYPE_CHECKING:
    from qreg_boost.boosting.loop import Task

VOTE = 3
"""Number of this rule, for compiled loops."""


@dataclass(frozen=True)
class Vote(StepRule):
    """The vote log((1 - e) / e) of Freund and Schapire (1997), e the learner's weighted share of errors, times `nu`.

    A learner no better than chance gets none, which ends the run. A perfect one would get infinitely many; it gets what
    an error on half of the lightest row would earn, and ends the run too.
    """

    nu: float = 1.0
    first: None = None
    kind: int = VOTE

    def at(self, update: Update, memory: Memory, task: Task, f: np.ndarray) -> LineStep:
        """Return the vote of the update, whose values are +1 and -1."""
        curvature = task.loss.curvature(task.y, f)
        weights = task.weights if curvature is None else task.weights * curvature
        total = float(weights.sum())
        error = float(weights[update.fitted * (task.y - 0.5) < 0.0].sum()) / total
        if error >= 0.5 - FLAT:
            return LineStep(0.0)
        if error == 0.0:
            lightest = 0.5 * float(weights.min()) / total
            return LineStep(self.nu * float(np.log((1.0 - lightest) / lightest)), last=True)
        return LineStep(self.nu * float(np.log((1.0 - error) / error)))
