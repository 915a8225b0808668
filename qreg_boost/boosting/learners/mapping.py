"""A learner for each term: some splines, the others linear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qreg_boost.base.checks import InputError, listed, nearest
from qreg_boost.boosting.learners.base import Learner, Predictors
from qreg_boost.boosting.learners.linear import Linear, check_sizes, column_moments_of
from qreg_boost.boosting.learners.spline import Spline

if TYPE_CHECKING:
    from qreg_boost.boosting.learners.bands import BandedBlocks, Part
    from qreg_boost.boosting.learners.blocks import LinearBlocks


@dataclass(frozen=True)
class ByTerm:
    """A learner for each term named, a linear one for every other term: the option ``learner={"x1": "spline"}``.

    In each iteration the learner that leaves the least squared error is chosen, whatever its kind. Those of more
    degrees of freedom are chosen more often by chance alone (Hofner, Hothorn, Kneib and Schmid 2011); to avoid that,
    give all of them as many: ``Linear(df=1)`` and ``Spline(df=2, differences=1)`` both have one beyond the level.

    Parameters
    ----------
    learners : dict of term to Spline or Linear

    >>> ByTerm({"x1": Spline(), "g": Linear(df=1)}).name
    'by term'
    """

    learners: Mapping[str, Learner]

    @property
    def name(self) -> str:
        """What the learner is called."""
        return "by term"

    def prepare(self, data: Predictors) -> LinearBlocks | BandedBlocks:
        """Return one learner per term."""
        for term in self.learners:
            if term not in data.terms:
                raise InputError(
                    f"`learner` names {term!r}, which is no term of the model.{nearest(term, data.terms)} Terms: "
                    f"{listed(data.terms)}."
                )
        learners = {term: self.learners.get(term, Linear()) for term in data.terms}
        for k, (term, learner) in enumerate(learners.items()):
            if isinstance(learner, Spline):
                learner.check_terms([t for t, other in learners.items() if other is learner], data.terms)
                if why := learner.refuses(data, k):
                    raise InputError(f'Term {term!r} cannot be a spline: {why}. Use "linear" for it.')
        if all(learner == Linear() for learner in learners.values()):
            return Linear().blocks(data)
        return prepared_terms(learners, data)


def prepared_terms(learners: Mapping[str, Learner], data: Predictors) -> BandedBlocks:
    """Return the learners of all terms, in their order, prepared with the rows."""
    from qreg_boost.boosting.learners.bands import Bands

    moments = column_moments_of(data)
    check_sizes(data, moments)
    centred = moments if data.intercept else moments.about(0.0 * moments.centre)
    parts = tuple(_part(learners[term], data, k) for k, term in enumerate(data.terms))
    return Bands.of(parts, data, centred.centre, moments.varies).weighted(data.weights, strict=True)


def _part(learner: Learner, data: Predictors, k: int) -> Part:
    from qreg_boost.boosting.learners.bands import Part

    if isinstance(learner, Spline):
        return learner.part(data, k)
    assert isinstance(learner, Linear)
    return Part(data.terms[k], int(data.blocks[k]), int(data.blocks[k + 1]), df=learner.df)
