"""Stumps and trees as base learners: one least-squares split, or several inside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any

from qreg_boost.base.checks import InputError, check_choice, check_count
from qreg_boost.boosting.learners.base import Predictors

if TYPE_CHECKING:
    from qreg_boost.boosting.learners.tree_learner import PreparedTrees

LEAVES = ("mean", "quantile", "majority")
"""What a leaf can hold."""
EXACT, FEW = 4096, 1_000_000
"""Up to so many rows and so many values in all, the search for a split is exact by default."""
BINS = 255
"""Bins of a column of more rows by default."""
DEEPEST = 30
"""Trees are no deeper."""


@dataclass(frozen=True, repr=False)
class Stump:
    """One split in two, the best by least squares: the base learner of the paper's Tables 7 to 9.

    Of equal splits the lowest column wins, then the lowest cut; cuts lie midway between neighbouring values of the
    rows. The columns of a categorical variable in treatment coding, or of a product of such variables, are one factor:
    its levels are ordered by the mean of the negative gradient and cut along that order, which finds the best of all
    divisions in two (Fisher 1958; Breiman et al. 1984). The columns of any other term, and those of arrays, are split
    one by one.

    Parameters
    ----------
    leaf : {"mean", "quantile", "majority"}
        What a leaf adds: the mean of the negative gradient, times the step; the constant of least loss for its
        residuals (for the check loss their tau-quantile: Kriegler and Berk 2007; R's gbm), of which a step takes the
        share `nu` under step="fixed", a growing share of at most 1 under "adaptive"; or +1 and -1 by the sign of the
        mean, the vote of discrete AdaBoost.
    bins : {"auto"}, None or int
        None compares all cuts between distinct values; a number, 2 to 65535, puts columns of more values into so many
        bins of even weight first. "auto" is None for up to 4096 rows and a million values, 255 for more.
    monotone : mapping of str to {1, -1}, optional
        Numeric columns in which the fit must not fall (1) or not rise (-1).
    ties : {"lower", "upper"}
        Which end is taken where the quantile is an interval. "upper" repeats gbm, all through the fit: the start and
        the leaves are the order statistic floor(tau n) + 1, and a residual of exactly 0 counts as negative.
    min_rows : int
        Rows that each side must have; gbm's default is 10.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees. Fisher (1958), On grouping for
    maximum homogeneity, JASA 53, 789-798. Kriegler and Berk (2007), Boosting the quantile distribution.

    >>> Stump(leaf="quantile").name
    'stump'
    """

    leaf: str = "mean"
    bins: Any = "auto"
    monotone: Mapping[str, int] | None = None
    ties: str = "lower"
    min_rows: int = 1

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return _as_call(self)

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""
        return "stump"

    @property
    def handles_missing(self) -> bool:
        """Whether rows may miss predictors."""
        return True

    def prepare(self, data: Predictors) -> PreparedTrees:
        """Return stumps ready for these rows."""
        return _prepared(self, data, 1, None)


@dataclass(frozen=True, repr=False)
class Tree:
    """A regression tree: splits inside splits, so that terms act together.

    Splits, factors, ties and the parameters `leaf`, `bins`, `monotone`, `ties` and `min_rows` are those of `Stump`;
    under `monotone` the midpoint of the two values of an ordered split bounds all leaves below it. A tree of two leaves
    is a stump.

    A split must lower the squared error by itself: what only two splits together explain, such as the sign of x1 x2
    over rows in balance (XOR), is not found, for the first of them gains nothing.

    Parameters
    ----------
    depth : int or None
        Splits between the root and a leaf, at most; None where `leaves` says when to stop.
    leaves : int, optional
        Leaves of a tree, at most; the leaf whose split gains most is split first. By default all that `depth` allows.

    >>> Tree(depth=2).name
    'tree'
    """

    depth: int | None = 3
    leaves: int | None = None
    leaf: str = "mean"
    bins: Any = "auto"
    monotone: Mapping[str, int] | None = None
    ties: str = "lower"
    min_rows: int = 1

    def __post_init__(self) -> None:
        _check(self)
        if self.depth is None and self.leaves is None:
            raise InputError(
                "A tree needs `depth` or `leaves`, or it would grow until every row has a leaf of its own."
            )
        if self.leaves is not None:
            check_count(self.leaves, "leaves", 2)
        if self.depth is not None and check_count(self.depth, "depth", 1) > DEEPEST:
            raise InputError(f"`depth` must be at most {DEEPEST}; got {self.depth}. Limit `leaves` instead.")

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return _as_call(self)

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""
        return "tree"

    @property
    def handles_missing(self) -> bool:
        """Whether rows may miss predictors."""
        return True

    def prepare(self, data: Predictors) -> PreparedTrees:
        """Return trees ready for these rows."""
        return _prepared(self, data, DEEPEST if self.depth is None else self.depth, self.leaves)


def _as_call(learner: Stump | Tree) -> str:
    """Return a description as it is written, options at their defaults left out."""
    given = {field.name: getattr(learner, field.name) for field in fields(learner)}
    named = (f"{field.name}={given[field.name]!r}" for field in fields(learner) if given[field.name] != field.default)
    return f"{type(learner).__name__}({', '.join(named)})"


def _check(learner: Stump | Tree) -> None:
    check_choice(learner.leaf, "leaf", LEAVES)
    check_choice(learner.ties, "ties", ("lower", "upper"))
    check_count(learner.min_rows, "min_rows", 1)
    bins = learner.bins
    whole = isinstance(bins, Integral) and not isinstance(bins, bool) and 2 <= int(bins) <= 65535
    if not (bins is None or whole or (isinstance(bins, str) and bins == "auto")):
        raise InputError(
            f"`bins` must be 'auto', None for all cuts between distinct values, or a number from 2 to 65535; "
            f"got {bins!r}."
        )
    if learner.monotone is None:
        return
    if not isinstance(learner.monotone, Mapping):
        raise InputError(f"`monotone` must map names to 1 or -1, as in {{'x1': 1}}; got {learner.monotone!r}.")
    for name, direction in learner.monotone.items():
        if isinstance(direction, bool) or direction not in (1, -1):
            raise InputError(
                f"`monotone` must say 1 (must not fall) or -1 (must not rise) for {name!r}; got {direction!r}."
            )


def _prepared(learner: Stump | Tree, data: Predictors, depth: int, leaves: int | None) -> PreparedTrees:
    from qreg_boost.boosting.learners.tree_columns import split_columns  # compiled: only once a fit needs it
    from qreg_boost.boosting.learners.tree_learner import PreparedTrees

    if leaves == 2:
        depth, leaves = 1, None
    small = len(data.X) <= EXACT and data.X.size <= FEW
    bins = (None if small else BINS) if learner.bins == "auto" else learner.bins
    return PreparedTrees.of(
        names=data.terms,
        X=data.X,
        split=split_columns(data, bins, learner.monotone or {}),
        weights=data.weights,
        depth=depth,
        leaves=1 << 31 if leaves is None else leaves,
        min_rows=learner.min_rows,
        leaf=learner.leaf,
        branches=data.branches,
    )
