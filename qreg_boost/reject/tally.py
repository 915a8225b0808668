"""How many rows of each class were predicted rightly, wrongly, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.reject.prices import Prices

FIGURES = ("risk", "rejection_rate", "accuracy_accepted", "error_overall", "n")


@dataclass(frozen=True, eq=False)
class Tally:
    """Rows by actual class and prediction; weights are counted.

    Attributes
    ----------
    counts : (2, 3) array
        Actual other and event by predicted other, event, withheld.
    """

    counts: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, signs: np.ndarray, weights: np.ndarray | None = None) -> Tally:
        """Return the count of y (n,), 1 for the event and 0 for the other, and predictions -1, 0 (withheld), +1 (n,).

        Rows in which either is missing do not count.

        >>> Tally.of(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])).counts.tolist()
        [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
        """
        known = ~(np.isnan(y) | np.isnan(signs))
        column = np.where(signs[known] < 0, 0, np.where(signs[known] > 0, 1, 2))
        cells = (y[known] > 0.5) * 3 + column
        each = None if weights is None else weights[known]
        return cls(np.bincount(cells, weights=each, minlength=6).reshape(2, 3).astype(float))

    def figures(self, prices: Prices) -> dict[str, float]:
        """Return mean cost of a row, share withheld, share right of those predicted, share wrong of all, rows."""
        n = float(self.counts.sum())
        missed, flagged = float(self.counts[1, 0]), float(self.counts[0, 1])
        withheld = float(self.counts[:, 2].sum())
        accepted = n - withheld
        if n <= 0.0:
            return dict.fromkeys(FIGURES[:-1], np.nan) | {"n": 0.0}
        return {
            "risk": (prices.fn * missed + prices.fp * flagged + prices.reject * withheld) / n,
            "rejection_rate": withheld / n,
            "accuracy_accepted": (accepted - missed - flagged) / accepted if accepted > 0.0 else np.nan,
            "error_overall": (missed + flagged) / n,
            "n": n,
        }
