"""What the boosting loop asks of a base learner.

A learner lives three lives: a description (`Learner`), the description prepared with predictors and weights
(`PreparedLearner`), and one fitted `Update`. Ties follow one rule in every learner and every loop: scores within `TIE`
of the best, relative, are equal and the first learner wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from qreg_boost.boosting.loop import Task
    from qreg_boost.boosting.path import BoostPath

TIE = 1e-10
"""Scores (reductions of squared error) this close, relative to the best, count as equal."""
NIL = 1e-22
"""A best score this small, relative to the sum of squares of the negative gradient, is rounding: none explains any."""


@dataclass(frozen=True)
class Update:
    """One fit to the negative gradient; each kind of learner adds what its path keeps.

    Attributes
    ----------
    learner : int
        Position of the learner chosen.
    fitted : ndarray (n,)
        Values on the training rows, in units of the negative gradient, or of the fit for learners that refit theirs.
    """

    learner: int
    fitted: np.ndarray

    def bare(self) -> Any:
        """Return the update without what it says of each row: what a path needs of it."""
        return replace(self, fitted=np.empty(0))


@dataclass(frozen=True)
class Memory:
    """What step rules remember of each of L learners; the arrays change as a run goes on.

    Attributes
    ----------
    chosen, turns : ndarray (L,)
        How often the learner was chosen, and how often it turned round.
    last : ndarray (p + 1,)
        Slopes of each column when its learner was last chosen, and at the end the level when the intercept's was.
    """

    chosen: np.ndarray
    turns: np.ndarray
    last: np.ndarray

    @classmethod
    def blank(cls, learners: int, columns: int) -> Memory:
        """Return the memory of a run that has not begun."""
        return cls(np.zeros(learners), np.zeros(learners), np.zeros(columns + 1))

    def copy(self) -> Memory:
        """Return a memory that further iterations do not change."""
        return Memory(self.chosen.copy(), self.turns.copy(), self.last.copy())


@dataclass(frozen=True)
class Predictors:
    """What a learner is prepared with.

    Attributes
    ----------
    X : ndarray (n, p)
        Rows with weight above 0, C-contiguous.
    weights : ndarray (n,)
        All above 0.
    blocks : ndarray (b + 1,)
        Term k owns columns ``blocks[k]:blocks[k + 1]``.
    terms, columns : tuple of str
        b and p names.
    intercept : bool
        Whether the model has an intercept.
    by_column : ndarray (p, n) or None
        The same, C-contiguous, where it lies in memory anyway.
    all_rows : ndarray (m, p) or None
        All rows, those of weight 0 included.
    branches : bool
        Whether rows stay that miss predictors, which are NaN then.
    factors : ndarray (b,) of bool or None
        Terms whose columns code the levels of a factor: 0 or 1, with at most one 1 in any row there can be.
    """

    X: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray
    terms: tuple[str, ...]
    columns: tuple[str, ...]
    intercept: bool
    by_column: np.ndarray | None = None
    all_rows: np.ndarray | None = None
    branches: bool = False
    factors: np.ndarray | None = None


class Fitter(Protocol):
    """What fits learners to a negative gradient."""

    def update(self, u: np.ndarray) -> Any:
        """Return the weighted least-squares fit to u (n,) of the best learner."""


class PreparedLearner(Protocol):
    """A learner that knows the training rows and weights."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each learner to choose from."""

    @property
    def usable(self) -> bool:
        """Whether any learner can move the fit."""

    @property
    def in_units_of_fit(self) -> bool:
        """Whether updates are in units of the fit (those that refit their values) or of the negative gradient."""

    def update(self, u: np.ndarray) -> Any:
        """Return the weighted least-squares fit to u (n,) of the best learner."""

    def refit(self, update: Any, task: Task, f: np.ndarray) -> Any:
        """Return the update with values of its own for the residuals at fit f (n,); most learners have none."""

    def reweighted(self, weights: np.ndarray) -> Fitter:
        """Return the learner for other weights (n,), all above 0, of the same rows."""

    def memory(self) -> Memory:
        """Return the memory of a run that has not begun."""

    def within(self, memory: Memory, longest: float) -> PreparedLearner:
        """Return the learner for a run with this memory and steps up to `longest`; for most learners themselves.

        It may bound its updates by what the run has added so far, which it learns of by `added`.
        """

    def added(self, update: Any, gamma: float, memory: Memory) -> None:
        """Note that the update was added, times gamma."""

    def turned(self, update: Any, memory: Memory) -> bool:
        """Return whether the update points against the last one of its learner."""

    def remember(self, update: Any, memory: Memory) -> None:
        """Note where the update points."""

    def fit_at(self, path: Any, m: int) -> np.ndarray:
        """Return the fit (n,) of a path after m iterations on the training rows."""

    def path(
        self,
        start: float,
        updates: Sequence[Any],
        gammas: Sequence[float],
        risks: Sequence[float],
        status: str,
        memory: Memory,
    ) -> BoostPath:
        """Return the record of a run: `updates` times `gammas`."""


class Learner(Protocol):
    """A description of base learners, free of data."""

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""

    def prepare(self, data: Predictors) -> PreparedLearner:
        """Return the learner ready for these rows."""
