"""Which loop runs a task: a compiled one where loss and learner have one, else the general loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qreg_boost.boosting.learners import BandedBlocks, LinearBlocks
from qreg_boost.boosting.loop import Task, boost
from qreg_boost.boosting.losses import CheckLoss


def loop_of(task: Task) -> Callable[..., Any]:
    """Return the loop for a task; compiled modules are imported only once a fit needs them."""
    if isinstance(task.loss, CheckLoss) and isinstance(task.learner, LinearBlocks):
        from qreg_boost.boosting.signflip import boost_check

        return boost_check
    if isinstance(task.loss, CheckLoss) and isinstance(task.learner, BandedBlocks):
        from qreg_boost.boosting.banded_loop import boost_check_banded

        return boost_check_banded
    if isinstance(task.loss, CheckLoss) and getattr(task.learner, "depth", None) == 1:
        from qreg_boost.boosting.stump_loop import boost_stumps, runs_here

        return boost_stumps if runs_here(task) else boost
    return boost
