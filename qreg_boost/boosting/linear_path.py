"""The record of a run of linear learners: per iteration a level and the slopes of one block of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from qreg_boost.boosting.path import BoostPath


@dataclass(frozen=True, kw_only=True)
class LinearPath(BoostPath):
    """A run of linear learners; M iterations, p columns.

    The fit at iteration m is ``start + sum(levels[:m])`` plus, for each column, the sum of its slopes so far times the
    distance of the column from its centre. Stored per iteration, never as M x p.

    Attributes
    ----------
    blocks : ndarray (b + 1,)
        Block k owns columns ``blocks[k]:blocks[k + 1]``.
    centre : ndarray (p,)
    intercept_learner : bool
        Whether learner 0 is the intercept; then learner k + 1 is block k.
    levels : ndarray (M,)
        What each iteration added to every row, in units of y.
    slopes : ndarray
        What each iteration added to the slopes of its block, one iteration after the other.
    """

    kind: ClassVar[str] = "linear"

    blocks: np.ndarray
    centre: np.ndarray
    intercept_learner: bool
    levels: np.ndarray
    slopes: np.ndarray

    def _sizes(self) -> np.ndarray:
        sizes = np.diff(self.blocks)
        return np.concatenate(([0], sizes)) if self.intercept_learner else sizes

    def _entries(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return iteration, column and value of every slope added in the first m iterations."""
        selected = self.selected[:m]
        sizes = self._sizes()[selected]
        first = np.concatenate(([0], self.blocks[:-1])) if self.intercept_learner else self.blocks[:-1]
        iteration = np.repeat(np.arange(m), sizes)
        ends = np.cumsum(sizes)
        within = np.arange(int(ends[-1]) if m else 0) - np.repeat(ends - sizes, sizes)
        return iteration, np.repeat(first[selected], sizes) + within, self.slopes[: len(iteration)]

    def slopes_at(self, m: int) -> np.ndarray:
        """Return the slopes (p,) after m iterations."""
        _, column, value = self._entries(m)
        return np.bincount(column, weights=value, minlength=len(self.centre)).astype(float)

    def level_at(self, m: int) -> float:
        """Return the fit after m iterations at the centre of all columns."""
        return self.start + (float(np.cumsum(self.levels[:m])[-1]) if m else 0.0)

    def intercept_at(self, m: int) -> float:
        """Return the fit after m iterations where all columns are 0."""
        return self.level_at(m) - float(self.slopes_at(m) @ self.centre)

    def coefficients(self, m: int) -> np.ndarray:
        """Return intercept and slopes (m + 1, 1 + p) after 0..m iterations."""
        iteration, column, value = self._entries(m)
        table = np.zeros((m + 1, 1 + len(self.centre)))
        table[1:, 0] = self.levels[:m]
        np.add.at(table, (iteration + 1, column + 1), value)
        np.cumsum(table, axis=0, out=table)
        table[:, 0] += self.start - table[:, 1:] @ self.centre
        return table

    @property
    def additive(self) -> bool:
        """Whether the fit is a sum of functions of one term each."""
        return True

    def part_at(self, m: int, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return what predictors `columns` (k,), those of one term, add after m iterations at `values` (rows, k).

        It is measured from the term's centre.
        """
        return (values - self.centre[columns]) @ self.slopes_at(m)[columns]

    def columns_of(self, X: np.ndarray) -> np.ndarray:
        """Return the learners' columns at predictors X; for linear learners the predictors themselves."""
        return X

    def fit_at(self, m: int, X: np.ndarray) -> np.ndarray:
        """Return the fit (rows,) after m iterations at X (rows, p), in units of y, offset not included."""
        slopes = self.slopes_at(m)
        used = np.flatnonzero(slopes)
        return self.level_at(m) + (self.columns_of(X)[:, used] - self.centre[used]) @ slopes[used]

    def increments(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield what each iteration adds to the fit at X (rows, p), in units of y."""
        centred = np.asfortranarray(self.columns_of(X) - self.centre)
        sizes = self._sizes()[self.selected]
        ends = np.cumsum(sizes)
        for m, block in enumerate(self.selected - self.intercept_learner):
            if sizes[m]:
                slopes = self.slopes[ends[m] - sizes[m] : ends[m]]
                yield self.levels[m] + centred[:, self.blocks[block] : self.blocks[block + 1]] @ slopes
            else:
                yield np.full(len(X), self.levels[m])

    def handles_missing(self) -> bool:
        """Return False: a row in which a column is missing has no fit."""
        return False

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {name: getattr(self, name) for name in ("blocks", "centre", "levels", "slopes")}
        return {"intercept_learner": self.intercept_learner}, arrays

    @classmethod
    def _from_own_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], shared: dict[str, Any]
    ) -> LinearPath:
        own: dict[str, Any] = {name: arrays[name] for name in ("blocks", "centre", "levels", "slopes")}
        return cls(**shared, **own, intercept_learner=bool(meta["intercept_learner"]))

    def followed_by(self, tail: LinearPath) -> LinearPath:
        """Return this path continued by a run that started where it ends."""
        return replace(
            self,
            **self._joined(tail),
            levels=np.concatenate((self.levels, tail.levels)),
            slopes=np.concatenate((self.slopes, tail.slopes)),
        )
