"""Stumps and trees prepared with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.boosting.learners.base import Memory, Update
from qreg_boost.boosting.learners.stump_memory import StumpMemory
from qreg_boost.boosting.learners.tree_columns import SplitColumns
from qreg_boost.boosting.tree_path import TreePath

if TYPE_CHECKING:
    from qreg_boost.boosting.learners.tree_growth import Columns, Room
    from qreg_boost.boosting.loop import Task

EMPTY = np.empty(0)


@dataclass(frozen=True)
class Grown:
    """The nodes of a tree, k in all, the root first, children after their parents.

    Attributes
    ----------
    column : ndarray (k,)
        Which of the `SplitColumns` is split; -1 in leaves.
    left, right : ndarray (k,)
        Positions of the children; 0 in leaves.
    cut : ndarray (k,)
        Values not above it go left; NaN where no number is split.
    missing_left : ndarray (k,) of bool
    gain, value : ndarray (k,)
        Fall of the squared error; mean of the negative gradient within bounds.
    sets : ndarray (k, levels) of bool
        Levels of a factor that go left.
    leaf : ndarray (n,)
        The leaf of each row.
    """

    column: np.ndarray
    left: np.ndarray
    right: np.ndarray
    cut: np.ndarray
    missing_left: np.ndarray
    gain: np.ndarray
    value: np.ndarray
    sets: np.ndarray
    leaf: np.ndarray


@dataclass(frozen=True)
class TreeUpdate(Update):
    """One tree fitted to the negative gradient.

    Attributes
    ----------
    nodes : Grown
        Its nodes, and the leaf of every row.
    values : ndarray (k,)
        What each leaf adds; of other nodes what it would add.
    """

    nodes: Grown
    values: np.ndarray

    def bare(self) -> TreeUpdate:
        """Return the update without what it says of each row."""
        return replace(self, fitted=EMPTY, nodes=replace(self.nodes, leaf=EMPTY))

    def with_values(self, values: np.ndarray) -> TreeUpdate:
        """Return the update with other values (k,)."""
        return replace(self, fitted=values[self.nodes.leaf], values=values)


@dataclass(frozen=True)
class PreparedTrees:
    """Stumps or trees prepared with the rows.

    Attributes
    ----------
    names : tuple of str
        The terms.
    X : ndarray (n, p)
    split : SplitColumns
        What is split.
    weights : ndarray (n,)
    depth, leaves, min_rows : int
        Limits of a tree.
    leaf : {"mean", "quantile", "majority"}
    branches : bool
        Whether rows in which something is missing have a fit.
    """

    names: tuple[str, ...]
    X: np.ndarray
    split: SplitColumns
    weights: np.ndarray
    depth: int
    leaves: int
    min_rows: int
    leaf: str
    branches: bool

    @classmethod
    def of(cls, **attributes: object) -> PreparedTrees:
        """Return the learner of these attributes."""
        return cls(**attributes)  # type: ignore[arg-type]

    @property
    def in_units_of_fit(self) -> bool:
        """Whether leaves hold constants of least loss."""
        return self.leaf == "quantile"

    @cached_property
    def columns(self) -> Columns:
        """What is split, as compiled functions take it."""
        from qreg_boost.boosting.learners.tree_growth import Columns

        b = self.split.binned
        return Columns(b.codes, b.offsets, b.lower, b.upper, b.missing, b.unordered, self.split.monotone)

    @cached_property
    def uneven(self) -> np.ndarray:
        """The weights (n,), empty where all are equal and so say nothing."""
        return EMPTY if np.ptp(self.weights) == 0.0 else self.weights

    @cached_property
    def root(self) -> np.ndarray:
        """The root's histogram without its sums of w u."""
        from qreg_boost.boosting.learners.tree_growth import root_histogram

        return root_histogram(self.columns, self.uneven)

    @cached_property
    def _room(self) -> Room:
        return self._room_for(len(self.uneven) > 0)

    @cached_property
    def _room_of_weighted(self) -> Room:
        return self._room if len(self.uneven) else self._room_for(True)

    def _room_for(self, weighted: bool) -> Room:
        from qreg_boost.boosting.learners.tree_growth import room_for

        return room_for(self.columns, 3 if weighted else 2, self.depth, self.leaves)

    @property
    def usable(self) -> bool:
        """Whether any column can be split."""
        from qreg_boost.boosting.learners.tree_growth import can_split

        return bool(can_split(self.columns, self.root, self.min_rows))

    def update(self, u: np.ndarray) -> TreeUpdate:
        """Return the tree fitted to u (n,) by weighted least squares."""
        from qreg_boost.boosting.learners import tree_growth as growth

        w = self.uneven
        s = w * u if len(w) else np.ascontiguousarray(u)
        squares = float(s @ u)
        whole, real, sets, leaf = growth.grow(
            self.columns, w, s, self.root, squares, self.depth, self.leaves, self.min_rows, self._room
        )
        nodes = Grown(
            column=whole[:, growth.COLUMN],
            left=whole[:, growth.LEFT],
            right=whole[:, growth.RIGHT],
            cut=real[:, growth.CUT],
            missing_left=real[:, growth.MISSING_LEFT] > 0.0,
            gain=real[:, growth.GAIN],
            value=real[:, growth.VALUE],
            sets=sets,
            leaf=leaf,
        )
        values = nodes.value
        if self.leaf == "majority":
            values = np.where(values >= 0.0, 1.0, -1.0)
        inner = nodes.column >= 0
        gains = np.bincount(self.split.term[nodes.column[inner]], nodes.gain[inner], minlength=max(len(self.names), 1))
        return TreeUpdate(int(np.argmax(gains)), values[nodes.leaf], nodes, values)

    def refit(self, update: TreeUpdate, task: Task, f: np.ndarray) -> TreeUpdate:
        """Return the update with the constant of least loss for the residuals in each leaf, where that is asked for."""
        if self.leaf != "quantile":
            return update
        if not task.loss.of_residuals:
            raise InputError(
                'leaf="quantile" gives each leaf the best constant for its residuals, and '
                f'{type(task.loss).__name__}, a loss of classes, has none. Use leaf="mean".'
            )
        return update.with_values(self._constants(update.nodes, task, task.y - f))

    def _constants(self, nodes: Grown, task: Task, r: np.ndarray) -> np.ndarray:
        """Return the constant (k,) of each leaf; under a split in order the midpoint between its sides bounds both."""
        order = np.argsort(nodes.leaf, kind="stable")
        begin = np.searchsorted(nodes.leaf[order], np.arange(len(nodes.column) + 1))
        below = _leaves_below(nodes)

        values = np.zeros(len(nodes.column))
        bounds = np.tile([-np.inf, np.inf], (len(nodes.column), 1))

        def constant(k: int, inside: np.ndarray) -> float:
            rows = np.concatenate([order[begin[leaf] : begin[leaf + 1]] for leaf in below[k]])
            best = task.loss.constant(r[rows], self.weights[rows] if len(self.uneven) else None)  # type: ignore[arg-type]
            return min(max(best, inside[0]), inside[1])

        for k in range(len(nodes.column)):
            a, b = nodes.left[k], nodes.right[k]
            if nodes.column[k] < 0:
                values[k] = constant(k, bounds[k])
                continue
            bounds[a], bounds[b] = bounds[k], bounds[k]
            direction = self.split.monotone[nodes.column[k]]
            if direction:
                low, high = (a, b) if direction > 0 else (b, a)
                under, over = constant(low, bounds[k]), constant(high, bounds[k])
                middle = 0.5 * (under + over) if under <= over else constant(k, bounds[k])
                bounds[low, 1], bounds[high, 0] = min(bounds[low, 1], middle), max(bounds[high, 0], middle)
        return values

    def reweighted(self, weights: np.ndarray) -> PreparedTrees:
        """Return the learner for other weights (n,) of the same rows; bins and memory are shared."""
        other = replace(self, weights=weights)
        other.__dict__["columns"] = self.columns
        if len(other.uneven):
            other.__dict__["_room"] = self._room_of_weighted
        return other

    def fit_at(self, path: TreePath, m: int) -> np.ndarray:
        """Return the fit (n,) of a path after m iterations on the training rows."""
        return path.fit_at(m, self.X)

    @cached_property
    def _stumps(self) -> StumpMemory:
        return StumpMemory(self.split.binned, self.weights)

    def memory(self) -> Memory:
        """Return the memory of a run that has not begun; `last` is that of `StumpMemory`."""
        learners = len(self.names)
        return Memory(np.zeros(learners), np.zeros(learners), np.zeros(int(self._stumps.at[-1])))

    def within(self, memory: Memory, longest: float) -> PreparedTrees:
        """Return the learner itself."""
        return self

    def added(self, update: TreeUpdate, gamma: float, memory: Memory) -> None:
        """Take no note."""

    def turned(self, update: TreeUpdate, memory: Memory) -> bool:
        """Return whether the root's split points against the last one of the same column."""
        return self._stumps.turned(update.nodes, memory.last)

    def remember(self, update: TreeUpdate, memory: Memory) -> None:
        """Note where the root's split points; steps of trees deeper than a stump do not grow, which would overfit."""
        self._stumps.remember(update.nodes, memory.last)
        if self.depth > 1:
            memory.chosen[update.learner] = 1.0

    def path(
        self,
        start: float,
        updates: Sequence[TreeUpdate],
        gammas: Sequence[float],
        risks: Sequence[float],
        status: str,
        memory: Memory,
    ) -> TreePath:
        """Return the record of a run of the general loop."""
        return TreePath.of(
            [(update.nodes, gamma * update.values) for update, gamma in zip(updates, gammas, strict=True)],
            self.split,
            names=self.names,
            branches=self.branches,
            start=start,
            selected=np.array([update.learner for update in updates], dtype=np.int32),
            risks=np.array(risks),
            memory=memory,
            status=status,
        )


def _leaves_below(nodes: Grown) -> list[list[int]]:
    """Return the leaves under each node."""
    below: list[list[int]] = [[k] for k in range(len(nodes.column))]
    for k in reversed(range(len(nodes.column))):
        if nodes.column[k] >= 0:
            below[k] = sorted(below[nodes.left[k]] + below[nodes.right[k]])
    return below
