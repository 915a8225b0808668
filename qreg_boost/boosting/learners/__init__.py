"""Base learners: described, prepared once with the rows and weights, then one least-squares update per iteration."""

from qreg_boost.boosting.learners.bands import BandedBlocks
from qreg_boost.boosting.learners.base import Learner, Memory, Predictors, PreparedLearner, Update
from qreg_boost.boosting.learners.blocks import LinearBlocks
from qreg_boost.boosting.learners.linear import Componentwise, Joint, Linear
from qreg_boost.boosting.learners.mapping import ByTerm
from qreg_boost.boosting.learners.spline import Spline
from qreg_boost.boosting.learners.tree import Stump, Tree

LEARNERS: dict[str, Learner] = {
    "linear": Linear(),
    "componentwise": Componentwise(),
    "joint": Joint(),
    "spline": Spline(),
    "stump": Stump(),
    "tree": Tree(),
}
"""Learners that have a name of their own; an option takes the name or an instance."""

__all__ = [
    "LEARNERS",
    "BandedBlocks",
    "ByTerm",
    "Componentwise",
    "Joint",
    "Learner",
    "Linear",
    "LinearBlocks",
    "Memory",
    "Predictors",
    "PreparedLearner",
    "Spline",
    "Stump",
    "Tree",
    "Update",
]
