"""The record of a run of stumps or trees: the nodes of all of them, one tree after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from qreg_boost.boosting.path import BoostPath


@dataclass(frozen=True)
class Nodes:
    """The nodes of M trees, N in all, one tree after the other; in each the root first, children after their parents.

    Attributes
    ----------
    trees : ndarray (M + 1,) of int64
        Tree m owns nodes ``trees[m]:trees[m + 1]``.
    column : ndarray (N,) of int32
        First column of the design that the split looks at; -1 in leaves.
    width : ndarray (N,) of int32
        Number of columns of a factor; 0 where a number is split.
    cut : ndarray (N,)
        Values not above it go left; NaN where no number is split.
    levels_at : ndarray (N,) of int64
        Where in `levels` the factor's begin; -1 where no factor is split.
    levels : ndarray of bool
        Of each factor split whether a level goes left: the reference level, then its columns.
    left, right : ndarray (N,) of int32
        Children, counted from the tree's root; 0 in leaves.
    missing_left : ndarray (N,) of bool
        Whether missing values go left.
    gain : ndarray (N,)
        Fall of the squared error of the negative gradient by the split.
    value : ndarray (N,)
        What a leaf adds to the fit, the step included, in units of the fit.
    """

    trees: np.ndarray
    column: np.ndarray
    width: np.ndarray
    cut: np.ndarray
    levels_at: np.ndarray
    levels: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    gain: np.ndarray
    value: np.ndarray

    def followed_by(self, tail: Nodes) -> Nodes:
        """Return these trees and those after them."""
        own = {name: np.concatenate((getattr(self, name), getattr(tail, name))) for name in NODE_FIELDS}
        own["trees"] = np.concatenate((self.trees, self.trees[-1] + tail.trees[1:]))
        moved = np.where(tail.levels_at >= 0, tail.levels_at + len(self.levels), -1)
        own["levels_at"] = np.concatenate((self.levels_at, moved))
        return Nodes(**own)


NODE_FIELDS = tuple(field.name for field in fields(Nodes))


@dataclass(frozen=True, kw_only=True)
class TreePath(BoostPath):
    """A run of stumps or trees, M iterations.

    Attributes
    ----------
    nodes : Nodes
    term : ndarray (p,) of int32
        The term that each column of the design belongs to.
    branches : bool
        Whether rows in which something is missing have a fit.
    """

    kind: ClassVar[str] = "tree"

    nodes: Nodes
    term: np.ndarray
    branches: bool

    @classmethod
    def of(cls, grown: Sequence[tuple[Any, np.ndarray]], split: Any, **shared: Any) -> TreePath:
        """Return the path of trees as grown, with the values of their nodes."""

        def joined(parts: list[np.ndarray], kind: type) -> np.ndarray:
            return np.concatenate([np.empty(0), *parts]).astype(kind)

        column = joined([nodes.column for nodes, _ in grown], np.int32)
        inner = column >= 0
        width = np.where(inner, split.width[column], 0).astype(np.int32)
        factor = np.flatnonzero(width)
        ends = np.cumsum(width[factor] + 1)
        levels_at = np.full(len(column), -1, dtype=np.int64)
        levels_at[factor] = ends - width[factor] - 1
        sets = [s[: split.width[c] + 1] for g, _ in grown for c, s in zip(g.column, g.sets, strict=True) if c >= 0]
        nodes = Nodes(
            trees=np.concatenate(([0], np.cumsum([len(nodes.column) for nodes, _ in grown], dtype=np.int64))),
            column=np.where(inner, split.first[column], -1).astype(np.int32),
            width=width,
            cut=joined([nodes.cut for nodes, _ in grown], np.float64),
            levels_at=levels_at,
            levels=joined([s for s in sets if len(s) > 1], np.bool_),
            left=joined([nodes.left for nodes, _ in grown], np.int32),
            right=joined([nodes.right for nodes, _ in grown], np.int32),
            missing_left=joined([nodes.missing_left for nodes, _ in grown], np.bool_),
            gain=joined([nodes.gain for nodes, _ in grown], np.float64),
            value=joined([values for _, values in grown], np.float64),
        )
        term = np.repeat(split.term, np.maximum(split.width, 1)).astype(np.int32)
        return cls(nodes=nodes, term=term, **shared)

    def shares(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return iteration (0-based), term and share of every split in the first m, the gains of a tree making 1.

        A tree that found nothing to split counts as one of its `selected` term.
        """
        count = int(self.nodes.trees[m])
        inner = np.flatnonzero(self.nodes.column[:count] >= 0)
        iteration = np.repeat(np.arange(m), np.diff(self.nodes.trees[: m + 1]))[inner]
        gain = self.nodes.gain[inner]
        total = np.bincount(iteration, weights=gain, minlength=m)
        bare = np.setdiff1d(np.arange(m), iteration)
        return (
            np.concatenate((iteration, bare)),
            np.concatenate((self.term[self.nodes.column[inner]], self.selected[bare])),
            np.concatenate((gain / total[iteration], np.ones(len(bare)))),
        )

    def _compiled(self) -> Any:
        from qreg_boost.boosting.tree_fits import CompiledNodes  # compiled: only once a fit is asked for

        return CompiledNodes(*(getattr(self.nodes, name) for name in CompiledNodes._fields))

    def increments(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield what each iteration adds to the fit at X (rows, p), in units of the fit."""
        from qreg_boost.boosting.tree_fits import added_by

        nodes = self._compiled()
        for m in range(self.length):
            yield added_by(nodes, m, X)

    def fit_at(self, m: int, X: np.ndarray) -> np.ndarray:
        """Return the fit (rows,) after m iterations at X (rows, p), offset not included."""
        from qreg_boost.boosting.tree_fits import sum_of

        return sum_of(self._compiled(), m, self.start, X)

    @property
    def additive(self) -> bool:
        """Whether no tree has more than one split."""
        return int(np.diff(self.nodes.trees).max(initial=0)) <= 3

    def cuts(self, m: int, column: int) -> np.ndarray:
        """Return where the first m trees cut a predictor, each cut once, in order."""
        count = int(self.nodes.trees[m])
        numeric = (self.nodes.column[:count] == column) & (self.nodes.width[:count] == 0)
        return np.unique(self.nodes.cut[:count][numeric])

    def handles_missing(self) -> bool:
        """Return whether the model was fitted with missing="branch"."""
        return self.branches

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {f"nodes_{name}": getattr(self.nodes, name) for name in NODE_FIELDS}
        return {"branches": self.branches}, arrays | {"term": self.term}

    @classmethod
    def _from_own_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], shared: dict[str, Any]
    ) -> TreePath:
        nodes = Nodes(**{name: arrays[f"nodes_{name}"] for name in NODE_FIELDS})
        return cls(**shared, nodes=nodes, term=arrays["term"], branches=bool(meta["branches"]))

    def followed_by(self, tail: TreePath) -> TreePath:
        """Return this path continued by a run that started where it ends."""
        return replace(self, **self._joined(tail), nodes=self.nodes.followed_by(tail.nodes))
