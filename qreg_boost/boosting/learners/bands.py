"""Penalised and linear blocks side by side, prepared with the rows: what splines and mixes of learners are made of.

A row of a spline's basis is other than 0 in a band of degree + 1 columns, so only the band is kept and worked on: an
iteration costs n times the bands, and the square of each block's size. Every block is measured from its centre; the
level carries the constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.boosting.basis_path import BasisPath
from qreg_boost.boosting.learners.base import Memory, Predictors
from qreg_boost.boosting.learners.blocks import BlockMemory, LinearUpdate, Reweighted
from qreg_boost.boosting.learners.bsplines import (
    Knots,
    Smoother,
    Spectrum,
    difference_penalty,
    gram,
    rising,
)
from qreg_boost.boosting.learners.gram import gram_factor
from qreg_boost.boosting.linear_path import LinearPath

if TYPE_CHECKING:
    from qreg_boost.boosting.loop import Task


@dataclass(frozen=True)
class Part:
    """How one term is fitted.

    Attributes
    ----------
    name : str
    first, last : int
        The term owns predictors ``first:last``.
    knots : Knots or None
        None for a linear block.
    df : float or None
        Degrees of freedom: of a spline its constant included, of a linear block beyond the level; None for least
        squares.
    differences : int
        Order of the differences that are penalised.
    monotone : int
        1 for a spline that rises, -1 for one that falls, else 0.
    """

    name: str
    first: int
    last: int
    knots: Knots | None = None
    df: float | None = None
    differences: int = 2
    monotone: int = 0

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.last - self.first if self.knots is None else self.knots.count

    @property
    def band(self) -> int:
        """Number of columns that are not 0 in a row."""
        return self.last - self.first if self.knots is None else self.knots.degree + 1


@dataclass(frozen=True)
class Bands:
    """The rows of b parts, P columns in all, of which a row holds W values.

    Attributes
    ----------
    parts : tuple of Part
    values : ndarray (n W,)
        Part after part, row by row: values of the basis of splines; columns of linear blocks, less `origin`.
    cells : ndarray (b, n) of int32
        The column of each block that its band begins at.
    at : ndarray (b + 1,)
        Part k owns ``values[n * at[k]:n * at[k + 1]]``.
    blocks : ndarray (b + 1,)
        Part k owns columns ``blocks[k]:blocks[k + 1]``.
    origin : ndarray (P,)
    intercept : bool
    """

    parts: tuple[Part, ...]
    values: np.ndarray
    cells: np.ndarray
    at: np.ndarray
    blocks: np.ndarray
    origin: np.ndarray
    intercept: bool

    @classmethod
    def of(cls, parts: tuple[Part, ...], data: Predictors, centre: np.ndarray, varies: np.ndarray) -> Bands:
        """Return the rows; linear columns less `centre` (p,), and 0 where they do not vary."""
        n = len(data.X)
        at, blocks = (np.array([0, *np.cumsum([getattr(part, what) for part in parts])]) for what in ("band", "size"))
        values, cells, origin = np.empty(n * at[-1]), np.zeros((len(parts), n), np.int32), np.zeros(blocks[-1])
        for k, part in enumerate(parts):
            if part.knots is not None:
                cells[k], own = part.knots.bands(data.X[:, part.first])
            else:
                columns = slice(part.first, part.last)
                own = np.where(varies[columns], data.X[:, columns] - centre[columns], 0.0)
                origin[blocks[k] : blocks[k + 1]] = centre[columns]
            values[n * at[k] : n * at[k + 1]] = own.ravel()
        return cls(parts, values, cells, at.astype(np.int64), blocks.astype(np.int64), origin, data.intercept)

    def weighted(self, weights: np.ndarray, strict: bool = False) -> BandedBlocks:
        """Return the learners for weights (n,), all above 0.

        Raises
        ------
        InputError
            If `strict` and a spline cannot have its degrees of freedom; else it gets as many as it can have.
        """
        columns, places = int(self.blocks[-1]), np.diff(self.blocks) ** 2
        factor_at = np.concatenate(([0], np.cumsum(places))).astype(np.int64)
        shift, spread = np.zeros(columns), np.zeros(columns)
        tables: dict[str, Any] = {name: np.zeros(int(factor_at[-1])) for name in ("slope", "score", "gram", "system")}
        allowed = np.zeros(len(self.parts), dtype=bool)
        for k, part in enumerate(self.parts):
            n = len(weights)
            cell, values = self.cells[k], self.values[n * self.at[k] : n * self.at[k + 1]].reshape(n, -1)
            own = slice(self.blocks[k], self.blocks[k + 1])
            if part.knots is None:
                fitted = _line(part, values, weights, self)
            else:
                fitted = _spline(part, cell, values, weights, strict)
            shift[own], spread[own], allowed[k] = fitted.shift, fitted.spread, fitted.allowed
            for name, table in tables.items():
                table[factor_at[k] : factor_at[k + 1]] = getattr(fitted, name).ravel()
        names = tuple(part.name for part in self.parts)
        return BandedBlocks(
            self, names, self.blocks, weights, shift, spread, allowed, factor_at, **tables, held=np.zeros(columns)
        )


@dataclass(frozen=True)
class Prepared:
    """One block of m columns: where its centre lies, its spread (m,), its smoother, and what monotone fits need."""

    shift: np.ndarray
    spread: np.ndarray
    allowed: bool
    slope: np.ndarray
    score: np.ndarray
    gram: np.ndarray
    system: np.ndarray


def _spline(part: Part, cell: np.ndarray, values: np.ndarray, weights: np.ndarray, strict: bool) -> Prepared:
    assert part.knots is not None
    assert part.df is not None
    size, total = part.size, float(weights.sum())
    sums = np.zeros(size)
    for q in range(values.shape[1]):
        sums[q : size - values.shape[1] + 1 + q] += np.bincount(
            cell, weights=weights * values[:, q], minlength=size - values.shape[1] + 1
        )
    shift = sums / total
    G = gram(cell, values, weights, size) - total * np.outer(shift, shift)
    K = difference_penalty(size, part.differences)
    spectrum = Spectrum.of(G, K)
    if strict and part.df >= spectrum.most:
        raise InputError(
            f"Term {part.name!r} cannot have df={part.df:g}: on {part.knots.inner} equidistant knots its values allow "
            f"for {spectrum.most:.3g} at most. A value far from all others leaves most knots without rows: transform "
            'the column, or keep it linear by naming the terms that are splines, as in learner={"x1": "spline"}.'
        )
    smoother = spectrum.smoother(part.df)
    system = np.zeros((size, size))
    if part.monotone:
        up = rising(size)
        system[:-1, :-1] = up.T @ (G + smoother.penalty * K) @ up
        system[np.diag_indices(size - 1)] *= 1.0 + 1e-13
    spread = np.sqrt(np.maximum(np.diag(G), 0.0) / total)
    return Prepared(shift, spread, True, smoother.slope_factor, smoother.score_factor, G, system)


def _line(part: Part, values: np.ndarray, weights: np.ndarray, bands: Bands) -> Prepared:
    total = float(weights.sum())
    shift = weights @ values / total if bands.intercept else np.zeros(values.shape[1])
    centred = values - shift
    spread = np.sqrt(weights @ centred**2 / total)
    if values.shape[1] == 1:
        factor = np.array([[1.0 / np.sqrt(total) / spread[0] if spread[0] > 0.0 else 0.0]])
    else:
        factor = gram_factor(values, shift, spread > 0.0, weights)
    rank = int((factor != 0.0).any(axis=0).sum())
    share = 1.0 if part.df is None or rank == 0 else min(1.0, part.df / rank)
    # all directions alike are shrunk by d, with 2d - d^2 = share: free of units and of the coding of levels
    shrunk = 1.0 - np.sqrt(1.0 - share)
    smoother = Smoother(factor * np.sqrt(shrunk), factor * np.sqrt(share), 0.0)
    none = np.zeros_like(factor)
    return Prepared(shift, spread, rank > 0, smoother.slope_factor, smoother.score_factor, none, none)


@dataclass(frozen=True)
class BandedBlocks(BlockMemory):
    """Penalised and linear learners prepared with the rows.

    Attributes
    ----------
    bands : Bands
    names : tuple of str
        Names of the terms.
    blocks : ndarray (b + 1,)
        Block k owns columns ``blocks[k]:blocks[k + 1]``.
    weights : ndarray (n,)
    shift : ndarray (P,)
        Weighted mean of each column, less its origin.
    spread : ndarray (P,)
        Weighted root mean square of each column about its centre.
    allowed : ndarray (b,) of bool
        False for blocks that are constant.
    factor_at : ndarray (b + 1,)
        Where the tables of each block begin: m x m numbers, row by row, for m columns.
    slope, score : ndarray
        Factors of `bsplines.Smoother`.
    gram, system : ndarray
        For splines the Gram matrix about the centre; for monotone ones the system of their increments.
    held : ndarray (P,)
        What a run has added so far to the slopes of each column, where splines are monotone.
    longest : float
        The longest step: an update times that, on top of `held`, is still monotone.
    """

    bands: Bands
    names: tuple[str, ...]
    blocks: np.ndarray
    weights: np.ndarray
    shift: np.ndarray
    spread: np.ndarray
    allowed: np.ndarray
    factor_at: np.ndarray
    slope: np.ndarray
    score: np.ndarray
    gram: np.ndarray
    system: np.ndarray
    held: np.ndarray
    longest: float = np.inf

    in_units_of_fit = False
    intercept_learner = False

    @property
    def centre(self) -> np.ndarray:
        """What each column is measured from (P,)."""
        return self.bands.origin + self.shift

    @property
    def moves_level(self) -> bool:
        """Whether each update also carries the mean of u."""
        return self.bands.intercept

    @property
    def usable(self) -> bool:
        """Whether any block can be chosen."""
        return bool(self.allowed.any())

    @cached_property
    def compiled(self) -> Any:
        """The learners as compiled loops take them."""
        from qreg_boost.boosting.banded_kernels import compiled_bands

        return compiled_bands(self)

    def update(self, u: np.ndarray) -> LinearUpdate:
        """Return the weighted, penalised least-squares fit to u (n,) of the learner that leaves the least error."""
        from qreg_boost.boosting.banded_kernels import best_fit

        chosen, level, slopes, gradient, fitted = best_fit(self.compiled, u)
        return LinearUpdate(chosen, fitted, level, slopes, gradient)

    @property
    def monotone(self) -> bool:
        """Whether any part is monotone."""
        return any(part.monotone for part in self.bands.parts)

    def memory(self) -> Memory:
        """Return the memory of a run that has not begun; where splines are monotone, `held` lies behind `last`."""
        columns = len(self.shift)
        blank = Memory.blank(len(self.names), columns)
        return replace(blank, last=np.zeros(2 * columns + 1)) if self.monotone else blank

    def within(self, memory: Memory, longest: float) -> BandedBlocks:
        """Return the learner that keeps the sum of all updates monotone rather than each."""
        return replace(self, held=self.held_in(memory), longest=longest) if self.monotone else self

    def held_in(self, memory: Memory) -> np.ndarray:
        """Return what a run has added so far to the slopes (P,), as it lies in its memory; none where none is kept."""
        return memory.last[len(self.shift) + 1 :]

    def added(self, update: LinearUpdate, gamma: float, memory: Memory) -> None:
        """Note what was added to the slopes, if splines are monotone."""
        if self.monotone:
            self.held_in(memory)[self._place(update)] += gamma * update.slopes

    def refit(self, update: LinearUpdate, task: Task, f: np.ndarray) -> LinearUpdate:
        """Return the update as it is."""
        return update

    def reweighted(self, weights: np.ndarray) -> Reweighted:
        """Return the learner for other weights (n,) of the same rows, its degrees of freedom the same under them."""
        other = replace(self.bands.weighted(weights), held=self.held, longest=self.longest)
        return Reweighted(other, self.centre)

    def fit_at(self, path: LinearPath, m: int) -> np.ndarray:
        """Return the fit (n,) of a path after m iterations on the training rows."""
        from qreg_boost.boosting.banded_kernels import combined

        return path.level_at(m) + combined(self.compiled, path.slopes_at(m))

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
        levels = [gamma * update.level for gamma, update in zip(gammas, updates, strict=True)]
        return self.record(
            start=start,
            selected=np.array([update.learner for update in updates], dtype=np.int32),
            levels=np.array(levels),
            slopes=np.concatenate(slopes) if slopes else np.empty(0),
            risks=np.array(risks),
            status=status,
            memory=memory,
        )

    def record(self, **run: Any) -> LinearPath:
        """Return the record of a run: linear if every part is, so that it has coefficients."""
        shared = {"names": self.names, "blocks": self.blocks, "centre": self.centre, "intercept_learner": False, **run}
        parts = self.bands.parts
        if all(part.knots is None for part in parts):
            return LinearPath(**shared)
        knots = tuple(part.knots for part in parts)
        sources = np.array([0, *(part.last for part in parts)], dtype=np.int64)
        return BasisPath(**shared, knots=knots, sources=sources)
