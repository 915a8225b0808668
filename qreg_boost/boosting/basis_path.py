"""The record of a run of splines, linear blocks among them: slopes of basis functions rather than of predictors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qreg_boost.boosting.learners.bsplines import Knots
from qreg_boost.boosting.linear_path import LinearPath

KNOT_FIELDS = ("low", "high", "inner", "degree")


@dataclass(frozen=True, kw_only=True)
class BasisPath(LinearPath):
    """A run of learners some of which are splines in one predictor; `blocks`, `centre`, `slopes` belong to the basis.

    Attributes
    ----------
    knots : tuple of (Knots or None)
        One for each block; None where the block is linear in its predictors.
    sources : ndarray (b + 1,)
        Block k is made of predictors ``sources[k]:sources[k + 1]``.
    """

    kind: ClassVar[str] = "basis"

    knots: tuple[Knots | None, ...]
    sources: np.ndarray

    def block_columns(self, k: int, X: np.ndarray) -> np.ndarray:
        """Return the columns (rows, m) of block k at predictors X (rows, p)."""
        knots, own = self.knots[k], X[:, self.sources[k] : self.sources[k + 1]]
        return own if knots is None else knots.columns(own[:, 0])

    def columns_of(self, X: np.ndarray) -> np.ndarray:
        """Return the learners' columns (rows, P) at predictors X (rows, p)."""
        return np.column_stack([self.block_columns(k, X) for k in range(len(self.knots))])

    def contribution(self, k: int, slopes: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return what block k with slopes (P,) adds to the fit at X (rows, p), about its centre."""
        own = slice(self.blocks[k], self.blocks[k + 1])
        knots, b, centre = self.knots[k], slopes[own], self.centre[own]
        if knots is None:
            return (self.block_columns(k, X) - centre) @ b
        cell, values = knots.bands(X[:, self.sources[k]])
        out = np.full(len(X), -float(centre @ b))
        for q in range(values.shape[1]):
            out += values[:, q] * b[cell + q]
        return out

    def linear_slopes(self, m: int) -> np.ndarray:
        """Return the slopes of the predictors (p,) after m iterations, NaN for those that are splines."""
        slopes = self.slopes_at(m)
        out = np.full(int(self.sources[-1]), np.nan)
        for k, knots in enumerate(self.knots):
            if knots is None:
                out[self.sources[k] : self.sources[k + 1]] = slopes[self.blocks[k] : self.blocks[k + 1]]
        return out

    def part_at(self, m: int, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return what predictors `columns` (k,), those of one term, add after m iterations at `values` (rows, k).

        It is measured from the term's centre.
        """
        X = np.zeros((len(values), int(self.sources[-1])))
        X[:, columns] = values
        k = int(np.searchsorted(self.sources, columns[0], side="right")) - 1
        return self.contribution(k, self.slopes_at(m), X)

    def span(self, column: int) -> tuple[float, float] | None:
        """Return the range of a predictor in training, known of those that are splines."""
        knots = self.knots[int(np.searchsorted(self.sources, column, side="right")) - 1]
        return None if knots is None else (knots.low, knots.high)

    def fit_at(self, m: int, X: np.ndarray) -> np.ndarray:
        """Return the fit (rows,) after m iterations at X (rows, p), in units of the fit, offset not included."""
        slopes = self.slopes_at(m)
        f = np.full(len(X), self.level_at(m))
        for k in np.unique(self.selected[:m]).tolist():
            f += self.contribution(k, slopes, X)
        return f

    def increments(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield what each iteration adds to the fit at X (rows, p), in units of the fit."""
        columns: dict[int, np.ndarray] = {}
        sizes = np.diff(self.blocks)[self.selected]
        ends = np.cumsum(sizes)
        for m, k in enumerate(self.selected.tolist()):
            if k not in columns:
                own = slice(self.blocks[k], self.blocks[k + 1])
                columns[k] = np.asfortranarray(self.block_columns(k, X) - self.centre[own])
            yield self.levels[m] + columns[k] @ self.slopes[ends[m] - sizes[m] : ends[m]]

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        meta, arrays = super()._own_state()
        table = np.array(
            [[np.nan] * 4 if knots is None else [getattr(knots, name) for name in KNOT_FIELDS] for knots in self.knots]
        )
        return meta, {**arrays, "knots": table, "sources": self.sources}

    @classmethod
    def _from_own_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], shared: dict[str, Any]
    ) -> BasisPath:
        knots = tuple(
            None if np.isnan(low) else Knots(float(low), float(high), int(inner), int(degree))
            for low, high, inner, degree in arrays["knots"]
        )
        own: dict[str, Any] = {name: arrays[name] for name in ("blocks", "centre", "levels", "slopes", "sources")}
        return cls(**shared, **own, intercept_learner=bool(meta["intercept_learner"]), knots=knots)
