"""Linear base learners: one per term with an intercept of its own (the paper), one per column (glmboost), one of all.

All are the same arithmetic. A block of columns, measured from its centre, has weighted Gram matrix G; with c = X'Wu
the best fit of the block has slopes G^-1 c and reduces the squared error by c' G^-1 c. For one column that is c^2 / G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import LARGEST, InputError, check_choice
from qreg_boost.base.rank import independent_columns
from qreg_boost.boosting.learners.base import NIL, TIE, Memory, Predictors, Update
from qreg_boost.boosting.path import BoostPath

if TYPE_CHECKING:
    from qreg_boost.boosting.moments import Moments

FAINT = 1e-8
"""A direction of a block this short, relative to its longest, is dependent on the others but for rounding."""


@dataclass(frozen=True)
class LinearBlocks:
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

    def update(self, u: np.ndarray) -> Update:
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
            return Update(chosen, level, np.empty(0), np.empty(0), np.full(len(u), level))
        part = slice(self.blocks[block], self.blocks[block + 1])
        if part.stop - part.start == 1:
            slopes = c[part] * self.inverse[part]
            fitted = level + slopes[0] * (self.X[:, part.start] - self.centre[part.start])
        else:
            factor = self.block_factor(block)
            slopes = factor @ (factor.T @ c[part])
            fitted = level + (self.X[:, part] - self.centre[part]) @ slopes
        return Update(chosen, level, slopes, c[part], fitted)

    def memory(self) -> Memory:
        """Return the memory of a run that has not begun."""
        return Memory.blank(len(self.names), self.X.shape[1])

    def _place(self, update: Update) -> slice:
        block = update.learner - self.intercept_learner
        return slice(self.blocks[block], self.blocks[block + 1]) if block >= 0 else slice(-1, None)

    def turned(self, update: Update, memory: Memory) -> bool:
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

    def remember(self, update: Update, memory: Memory) -> None:
        """Note where the update points."""
        memory.last[self._place(update)] = update.slopes if len(update.slopes) else update.level

    def path(
        self,
        start: float,
        updates: Sequence[Update],
        gammas: Sequence[float],
        risks: Sequence[float],
        status: str,
        memory: Memory,
    ) -> BoostPath:
        """Return the record of a run of the general loop."""
        slopes = [gamma * update.slopes for gamma, update in zip(gammas, updates, strict=True)]
        return BoostPath(
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
class Linear:
    """One linear learner per term, all its columns and an intercept together: the QBR of Zheng (2012).

    >>> Linear().name
    'linear'
    """

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""
        return "linear"

    def prepare(self, data: Predictors) -> LinearBlocks:
        """Return one learner per term."""
        moments = _moments(data)
        if not data.intercept:
            moments = moments.about(np.zeros(data.X.shape[1]))
        return _blocks(data, data.blocks, data.terms, moments, moves_level=data.intercept, intercept_learner=False)


@dataclass(frozen=True)
class Joint:
    """All columns and an intercept as one linear learner: no selection, and nearer the optimum.

    The check loss has kinks at which no move along one predictor helps though a move along several does; steps along
    the least-squares fit of all columns get past them.

    >>> Joint().name
    'joint'
    """

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""
        return "joint"

    def prepare(self, data: Predictors) -> LinearBlocks:
        """Return one learner of all terms together."""
        p = data.X.shape[1]
        together = replace(data, blocks=np.array([0, p] if p else [0]), terms=("all terms",) if p else ())
        return Linear().prepare(together)


@dataclass(frozen=True)
class Componentwise:
    """One linear learner per design column, centred and without intercept, and the intercept as a learner of its own.

    Parameters
    ----------
    center : {"weighted", "rows"}
        Columns are measured from their weighted mean, so that integer weights equal repeated rows; or from the plain
        mean of all rows, those of weight 0 included, as mboost's glmboost does.

    >>> Componentwise().name
    'componentwise'
    """

    center: str = "weighted"

    def __post_init__(self) -> None:
        check_choice(self.center, "center", ("weighted", "rows"))

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""
        return "componentwise"

    def prepare(self, data: Predictors) -> LinearBlocks:
        """Return one learner per column, after the intercept's if the model has one."""
        moments = _moments(data)
        names = data.columns
        if not data.intercept:
            moments = moments.about(np.zeros(data.X.shape[1]))
        else:
            names = ("Intercept", *names)
            if self.center == "rows" and data.all_rows is not None:
                moments = moments.about(data.all_rows.mean(axis=0))
        single = np.arange(data.X.shape[1] + 1)
        return _blocks(data, single, names, moments, moves_level=False, intercept_learner=data.intercept)


def _moments(data: Predictors) -> Moments:
    from qreg_boost.boosting.moments import column_moments  # compiled: only once a fit needs it

    return column_moments(data.X, data.weights)


def _blocks(
    data: Predictors,
    blocks: np.ndarray,
    names: tuple[str, ...],
    moments: Moments,
    moves_level: bool,
    intercept_learner: bool,
) -> LinearBlocks:
    _check_sizes(data, moments)
    sizes = np.diff(blocks)
    varies = moments.varies
    allowed = np.array([], dtype=bool) if not len(sizes) else np.logical_or.reduceat(varies, blocks[:-1])
    single = np.zeros(data.X.shape[1], dtype=bool)
    single[blocks[:-1][sizes == 1]] = True
    inverse = np.where(varies & single, 1.0 / np.where(varies, moments.squares, 1.0), 0.0)
    factor_sizes = np.where(sizes > 1, sizes**2, 0)
    factor_at = np.concatenate(([0], np.cumsum(factor_sizes))).astype(np.int64)
    factor = np.zeros(int(factor_at[-1]))
    for k in np.flatnonzero((sizes > 1) & allowed):
        part = slice(blocks[k], blocks[k + 1])
        own = _gram_factor(data.X[:, part], moments.centre[part], varies[part], data.weights)
        factor[factor_at[k] : factor_at[k + 1]] = own.ravel()
    return LinearBlocks(
        names=names,
        X=data.X,
        by_column=data.by_column,
        weights=data.weights,
        blocks=np.asarray(blocks, dtype=np.int64),
        centre=moments.centre,
        spread=moments.spread,
        inverse=inverse,
        factor=factor,
        factor_at=factor_at,
        allowed=allowed,
        imbalance=moments.imbalance,
        moves_level=moves_level,
        intercept_learner=intercept_learner,
    )


def _check_sizes(data: Predictors, moments: Moments) -> None:
    """Refuse columns whose squares are beyond floating point."""
    spread = moments.spread
    extreme = moments.varies & ~((spread > 1.0 / LARGEST) & (spread < LARGEST))
    for j in np.flatnonzero(~moments.varies).tolist():
        extreme[j] = 0.0 < np.ptp(data.X[:, j]) < 1.0 / LARGEST or not np.isfinite(spread[j])
    if extreme.any():
        worst = int(np.argmax(extreme))
        raise InputError(
            f"Column {data.columns[worst]!r} varies by {np.ptp(data.X[:, worst]):.3g}, too far from 1 to compute with; "
            "rescale it."
        )


def _gram_factor(X: np.ndarray, centre: np.ndarray, varies: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return T (k, k) with T T' = G^-1 on the columns that vary and are independent, left to right; else rows are 0.

    Each column kept may stand clear of those before it while all together are dependent but for rounding: directions
    whose length is below `FAINT` of the longest are left out too.
    """
    centred = np.sqrt(weights)[:, None] * np.where(varies, X - centre, 0.0)
    kept = independent_columns(centred)
    scale = np.sqrt((centred[:, kept] ** 2).sum(axis=0))
    _, lengths, directions = np.linalg.svd(np.linalg.qr(centred[:, kept] / scale, mode="r"), full_matrices=False)
    clear = lengths > FAINT * lengths.max(initial=0.0)
    factor = np.zeros((X.shape[1], X.shape[1]))
    own = directions[clear].T / lengths[clear] / scale[:, None]
    factor[np.ix_(kept, np.arange(own.shape[1]))] = own
    return factor
