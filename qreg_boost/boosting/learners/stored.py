"""Learners as values that JSON holds, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from qreg_boost.base.checks import FileFormatError
from qreg_boost.boosting.learners.linear import Componentwise, Joint, Linear
from qreg_boost.boosting.learners.mapping import ByTerm
from qreg_boost.boosting.learners.spline import Spline
from qreg_boost.boosting.learners.tree import Stump, Tree

KINDS: dict[str, type] = {kind.__name__: kind for kind in (Linear, Componentwise, Joint, Spline, Stump, Tree, ByTerm)}
"""Learners that a saved file may name."""
KIND = "kind of learner"


def stored(learner: Any) -> Any:
    """Return the option `learner` as values that JSON holds; what is no learner of this package stays as it is.

    >>> stored({"x1": Spline(df=6), "g": "linear"})["x1"]["df"]
    6
    """
    if isinstance(learner, Mapping):
        return {term: stored(own) for term, own in learner.items()}
    if type(learner) not in KINDS.values():
        return learner
    return {KIND: type(learner).__name__, **{one.name: stored(getattr(learner, one.name)) for one in fields(learner)}}


def restored(value: Any) -> Any:
    """Return the option `learner` that `stored` wrote.

    >>> restored(stored(Spline(df=6))) == Spline(df=6)
    True
    """
    if not isinstance(value, Mapping):
        return value
    inner = {name: restored(own) for name, own in value.items() if name != KIND}
    if KIND not in value:
        return inner
    if value[KIND] not in KINDS:
        raise FileFormatError(
            f"The file names a learner {value[KIND]!r}, which this version of qreg_boost does not know. Upgrade it."
        )
    return KINDS[value[KIND]](**inner)
