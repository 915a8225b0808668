"""Linear base learners: one per term with its own intercept (the paper), one per column (glmboost), one of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import LARGEST, InputError, check_choice
from qreg_boost.base.rank import independent_columns
from qreg_boost.boosting.learners.base import Learner, Predictors
from qreg_boost.boosting.learners.blocks import LinearBlocks

if TYPE_CHECKING:
    from qreg_boost.boosting.moments import Moments

FAINT = 1e-8
"""A direction of a block this short, relative to its longest, is dependent on the others but for rounding."""


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
        return _blocks(
            (self, data), data.blocks, data.terms, moments, moves_level=data.intercept, intercept_learner=False
        )


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
        return _blocks((self, data), single, names, moments, moves_level=False, intercept_learner=data.intercept)


def _moments(data: Predictors) -> Moments:
    from qreg_boost.boosting.moments import column_moments  # compiled: only once a fit needs it

    return column_moments(data.X, data.weights)


def _blocks(
    source: tuple[Learner, Predictors],
    blocks: np.ndarray,
    names: tuple[str, ...],
    moments: Moments,
    moves_level: bool,
    intercept_learner: bool,
) -> LinearBlocks:
    data = source[1]
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
        source=source,
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
