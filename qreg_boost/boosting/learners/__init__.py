"""Base learners: described, prepared once with the rows and weights, then one least-squares update per iteration."""

from qreg_boost.boosting.learners.base import Learner, Memory, Predictors, PreparedLearner, Update
from qreg_boost.boosting.learners.blocks import LinearBlocks
from qreg_boost.boosting.learners.linear import Componentwise, Joint, Linear

LEARNERS: dict[str, Learner] = {"linear": Linear(), "componentwise": Componentwise(), "joint": Joint()}
"""Learners that have a name of their own; an option takes the name or an instance."""

__all__ = [
    "LEARNERS",
    "Componentwise",
    "Joint",
    "Learner",
    "Linear",
    "LinearBlocks",
    "Memory",
    "Predictors",
    "PreparedLearner",
    "Update",
]
