"""Columns to mean 0 and standard deviation 1, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Scaling:
    """Centres and spreads of columns, (p,) each."""

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray | None = None) -> Scaling:
        """Return means and standard deviations (n - 1 below, as in R) of columns; a constant column has spread 1.

        Whole weights count as repeated rows; of others, n is the number of rows.

        >>> Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]])).spread.round(4).tolist()
        [1.4142, 1.0]
        """
        w = np.ones(len(X)) if weights is None else weights
        total = w.sum()
        n = total if np.array_equal(w, np.round(w)) else float((w > 0).sum())
        centre = w @ X / total
        variance = (w @ (X - centre) ** 2 / total) * n / max(n - 1.0, 1.0)
        spread = np.sqrt(variance)
        # of many equal values the mean is another number, and their spread not 0: only the range tells
        flat = (np.ptp(X, axis=0) <= 1e-14 * np.abs(X).max(axis=0, initial=0.0)) | (spread == 0.0)
        return cls(centre, np.where(flat, 1.0, spread))

    @classmethod
    def to_unit(cls, X: np.ndarray) -> Scaling:
        """Return the scaling of columns to [0, 1].

        >>> Scaling.to_unit(np.array([[1.0], [3.0]])).apply(np.array([[2.0]])).tolist()
        [[0.5]]
        """
        least, most = X.min(axis=0), X.max(axis=0)
        return cls(least, np.where(most > least, most - least, 1.0))

    @classmethod
    def none(cls, p: int) -> Scaling:
        """Return the scaling of p columns that changes nothing."""
        return cls(np.zeros(p), np.ones(p))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return columns less their centre, over their spread."""
        return (X - self.centre) / self.spread
