"""Linear base learners: one per term with its own intercept (the paper), one per column (glmboost), one of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import LARGEST, InputError, check_choice, check_positive
from qreg_boost.boosting.learners.base import Learner, Predictors
from qreg_boost.boosting.learners.blocks import LinearBlocks
from qreg_boost.boosting.learners.gram import gram_factor

if TYPE_CHECKING:
    from qreg_boost.boosting.learners.bands import BandedBlocks
    from qreg_boost.boosting.moments import Moments


@dataclass(frozen=True)
class Linear:
    """One linear learner per term, all its columns and an intercept together: the QBR of Zheng (2012).

    Parameters
    ----------
    df : float, optional
        Degrees of freedom, the level not counted, that no term shall exceed. Without it a term of several columns, such
        as a factor of many levels, is chosen too often: it lowers the squared error more by chance alone. With ``df=1``
        each lowers it by chance as much as one column does.

    Notes
    -----
    A term of rank m is fitted by ridge regression in the metric of its own fits: all its directions are shrunk by d, so
    that neither units nor the coding of levels matter, with trace(2S - S'S) = m (2d - d^2) = df.

    References
    ----------
    Hofner, Hothorn, Kneib and Schmid (2011), A Framework for Unbiased Model Selection Based on Boosting, Journal of
    Computational and Graphical Statistics 20, 956-971.

    >>> Linear().name
    'linear'
    """

    df: float | None = None

    def __post_init__(self) -> None:
        if self.df is not None:
            check_positive(self.df, "df", advice=" It bounds the degrees of freedom of a term; None sets no bound.")

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""
        return "linear"

    def prepare(self, data: Predictors) -> LinearBlocks | BandedBlocks:
        """Return one learner per term."""
        if self.df is not None:
            from qreg_boost.boosting.learners.mapping import prepared_terms

            return prepared_terms(dict.fromkeys(data.terms, self), data)
        return self.blocks(data)

    def blocks(self, data: Predictors) -> LinearBlocks:
        """Return one least-squares learner per term."""
        moments = column_moments_of(data)
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
        return Linear().blocks(together)


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
        moments = column_moments_of(data)
        names = data.columns
        if not data.intercept:
            moments = moments.about(np.zeros(data.X.shape[1]))
        else:
            names = ("Intercept", *names)
            if self.center == "rows" and data.all_rows is not None:
                moments = moments.about(data.all_rows.mean(axis=0))
        single = np.arange(data.X.shape[1] + 1)
        return _blocks((self, data), single, names, moments, moves_level=False, intercept_learner=data.intercept)


def column_moments_of(data: Predictors) -> Moments:
    """Return the moments of the predictors."""
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
    check_sizes(data, moments)
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
        own = gram_factor(data.X[:, part], moments.centre[part], varies[part], data.weights)
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


def check_sizes(data: Predictors, moments: Moments) -> None:
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
