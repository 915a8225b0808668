"""Blocks of columns as least-squares learners, prepared with the rows: what every linear learner is made of.

A block of columns, measured from its centre, has weighted Gram matrix G; with c = X'Wu the best fit of the block has
slopes G^-1 c and reduces the squared error by c' G^-1 c. For one column that is c^2 / G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.boosting.learners.base import NIL, TIE, Learner, Memory, Predictors, Update
from qreg_boost.boosting.linear_path import LinearPath

if TYPE_CHECKING:
    from qreg_boost.boosting.loop import Task


@dataclass(frozen=True)
class LinearUpdate(Update):
    """One least-squares fit of a block of columns.

    Attributes
    ----------
    level : float
        What is added to every row.
    slopes : ndarray (k,)
        Slopes on the learner's k columns, each measured from its centre.
    gradient : ndarray (k,)
        X'Wu of the learner's columns about their centres; its product with slopes tells whether they point the same
        way.
    """

    level: float
    slopes: np.ndarray
    gradient: np.ndarray


class BlockMemory:
    """What learners of blocks of columns tell step rules: where each points, by the slopes of its columns."""

    names: tuple[str, ...]
    blocks: np.ndarray
    spread: np.ndarray
    intercept_learner: bool

    def memory(self) -> Memory:
        """Return the memory of a run that has not begun."""
        return Memory.blank(len(self.names), int(self.blocks[-1]))

    def within(self, memory: Memory, longest: float) -> Any:
        """Return the learner itself."""
        return self

    def added(self, update: LinearUpdate, gamma: float, memory: Memory) -> None:
        """Take no note."""

    def _place(self, update: LinearUpdate) -> slice:
        block = update.learner - self.intercept_learner
        return slice(self.blocks[block], self.blocks[block + 1]) if block >= 0 else slice(-1, None)

    def turned(self, update: LinearUpdate, memory: Memory) -> bool:
        """Return whether the update points against the last one of its learner.

        c'b of the gradient now and the slopes then is the inner product of the two fits about their means.
        """
        place = self._place(update)
        last = memory.last[place]
        if not len(update.gradient):
            return bool(update.level * last[0] < 0.0)
        spread = self.spread[place]
        scale = np.where(spread > 0.0, spread, np.inf)
        size = np.linalg.norm(update.gradient / scale) * np.linalg.norm(last * spread)
        return bool(update.gradient @ last < -TIE * size)

    def remember(self, update: LinearUpdate, memory: Memory) -> None:
        """Note where the update points."""
        memory.last[self._place(update)] = update.slopes if len(update.slopes) else update.level


@dataclass(frozen=True)
class LinearBlocks(BlockMemory):
    """Linear learners prepared with the rows; serves the general loop and the sign-flip loop alike.

    Attributes
    ----------
    names : tuple of str
        Learner names, the intercept first where it is a learner of its own.
    X : ndarray (n, p)
        Predictors of the rows with weight above 0.
    by_column : ndarray (p, n) or None
        The same by columns, where it lies in memory anyway.
    weights : ndarray (n,)
    blocks : ndarray (b + 1,)
        Block k owns columns ``blocks[k]:blocks[k + 1]``.
    centre : ndarray (p,)
        What each column is measured from, in units of the column.
    spread : ndarray (p,)
        Weighted root mean square of each column about its centre.
    inverse : ndarray (p,)
        1 over the sum of squares of each column; 0 in blocks of several columns.
    factor : ndarray (sum of squared block sizes,)
        For blocks of several columns T, row by row, with T T' = G^-1 on the columns kept; unused entries are 0.
    factor_at : ndarray (b + 1,)
        Where each block's T begins.
    allowed : ndarray (b,) of bool
        False for blocks that are constant.
    imbalance : ndarray (p,)
        Weighted sum of each column about its centre; 0 where the centre is the weighted mean.
    moves_level : bool
        Whether each update also carries the mean of u.
    intercept_learner : bool
        Whether the mean of u is a learner of its own, number 0.
    source : (Learner, Predictors)
        What the blocks were prepared from, so that they can be prepared for other weights.
    """

    names: tuple[str, ...]
    X: np.ndarray
    by_column: np.ndarray | None
    weights: np.ndarray
    blocks: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    inverse: np.ndarray
    factor: np.ndarray
    factor_at: np.ndarray
    allowed: np.ndarray
    imbalance: np.ndarray
    moves_level: bool
    intercept_learner: bool
    source: tuple[Learner, Predictors]

    in_units_of_fit = False

    @property
    def usable(self) -> bool:
        """Whether any block can be chosen; without one the fit is the start alone."""
        return bool(self.allowed.any())

    def block_factor(self, k: int) -> np.ndarray:
        """Return T (m, m) of block k of m columns."""
        size = self.blocks[k + 1] - self.blocks[k]
        return self.factor[self.factor_at[k] : self.factor_at[k + 1]].reshape(size, size)

    def scores(self, total: float, c: np.ndarray) -> np.ndarray:
        """Return each learner's reduction of squared error, given total = sum w u and c = X'Wu (p,)."""
        values = np.full(len(self.allowed), -1.0)
        single = np.diff(self.blocks) == 1
        first = self.blocks[:-1][single]
        values[single] = c[first] ** 2 * self.inverse[first]
        for k in np.flatnonzero(~single):
            part = self.block_factor(int(k)).T @ c[self.blocks[k] : self.blocks[k + 1]]
            values[k] = part @ part
        values[~self.allowed] = -1.0
        if self.intercept_learner:
            return np.concatenate(([total * total / self.weights.sum()], values))
        return values

    def update(self, u: np.ndarray) -> LinearUpdate:
        """Return the weighted least-squares fit to u (n,) of the learner that reduces the squared error most."""
        wu = self.weights * u
        total = float(wu.sum())
        c = (self.X - self.centre).T @ wu
        scores = self.scores(total, c)
        best = scores.max()
        if best <= NIL * float(wu @ u):
            c = np.zeros_like(c)
            scores, best = np.minimum(scores, 0.0), 0.0
        chosen = int(np.argmax(scores >= best * (1.0 - TIE)))
        level = (
            total / float(self.weights.sum()) if self.moves_level or (self.intercept_learner and chosen == 0) else 0.0
        )
        block = chosen - self.intercept_learner
        if block < 0:
            return LinearUpdate(chosen, np.full(len(u), level), level, np.empty(0), np.empty(0))
        part = slice(self.blocks[block], self.blocks[block + 1])
        if part.stop - part.start == 1:
            slopes = c[part] * self.inverse[part]
            fitted = level + slopes[0] * (self.X[:, part.start] - self.centre[part.start])
        else:
            factor = self.block_factor(block)
            slopes = factor @ (factor.T @ c[part])
            fitted = level + (self.X[:, part] - self.centre[part]) @ slopes
        return LinearUpdate(chosen, fitted, level, slopes, c[part])

    def refit(self, update: LinearUpdate, task: Task, f: np.ndarray) -> LinearUpdate:
        """Return the update as it is."""
        return update

    def reweighted(self, weights: np.ndarray) -> Reweighted:
        """Return the learner for other weights (n,) of the same rows; levels stay those at this learner's centres."""
        learner, data = self.source
        blocks = learner.prepare(replace(data, weights=weights))
        assert isinstance(blocks, LinearBlocks)
        return Reweighted(blocks, self.centre)

    def fit_at(self, path: LinearPath, m: int) -> np.ndarray:
        """Return the fit (n,) of a path after m iterations on the training rows."""
        return path.fit_at(m, self.X)

    def path(
        self,
        start: float,
        updates: Sequence[LinearUpdate],
        gammas: Sequence[float],
        risks: Sequence[float],
        status: str,
        memory: Memory,
    ) -> LinearPath:
        """Return the record of a run of the general loop."""
        slopes = [gamma * update.slopes for gamma, update in zip(gammas, updates, strict=True)]
        return LinearPath(
            names=self.names,
            blocks=self.blocks,
            centre=self.centre,
            intercept_learner=self.intercept_learner,
            start=start,
            selected=np.array([update.learner for update in updates], dtype=np.int32),
            levels=np.array([gamma * update.level for gamma, update in zip(gammas, updates, strict=True)]),
            slopes=np.concatenate(slopes) if slopes else np.empty(0),
            risks=np.array(risks),
            memory=memory,
            status=status,
        )


@dataclass(frozen=True)
class Reweighted:
    """Linear learners under the weights of one iteration; what they add is told about fixed centres.

    Attributes
    ----------
    blocks : LinearBlocks or BandedBlocks
        Prepared with the weights of the iteration, which move its centres.
    centre : ndarray (p,)
        What the columns of the path are measured from.
    """

    blocks: Any
    centre: np.ndarray

    def update(self, u: np.ndarray) -> LinearUpdate:
        """Return the weighted least-squares fit to u (n,) of the best learner."""
        update: LinearUpdate = self.blocks.update(u)
        block = update.learner - self.blocks.intercept_learner
        if block < 0:
            return update
        part = slice(self.blocks.blocks[block], self.blocks.blocks[block + 1])
        moved = update.slopes @ (self.centre[part] - self.blocks.centre[part])
        return replace(update, level=update.level + float(moved))
