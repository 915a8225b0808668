"""Errors of two classes, counted and priced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tally:
    """How many rows of each class were predicted rightly; weights are counted.

    Attributes
    ----------
    missed : float
        Events that were not predicted (false negatives).
    flagged : float
        Others predicted to be events (false positives).
    events, others : float
        Rows of each class.
    """

    missed: float
    flagged: float
    events: float
    others: float

    @classmethod
    def of(cls, y: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> Tally:
        """Return the count of y (n,) and predictions (n,), 1 for the event; rows where either is missing do not count.

        >>> Tally.of(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.ones(3)).error_rate
        0.3333333333333333
        """
        known = ~(np.isnan(y) | np.isnan(predicted))
        event, flag, w = y[known] > 0.5, predicted[known] > 0.5, weights[known]
        return cls(
            missed=float(w[event & ~flag].sum()),
            flagged=float(w[~event & flag].sum()),
            events=float(w[event].sum()),
            others=float(w[~event].sum()),
        )

    @property
    def counts(self) -> np.ndarray:
        """Counts (2, 2) of the other class and the event (rows) by what they were predicted to be (columns)."""
        return np.array([[self.others - self.flagged, self.flagged], [self.missed, self.events - self.missed]])

    @property
    def total(self) -> float:
        """Rows in all."""
        return self.events + self.others

    @property
    def error_rate(self) -> float:
        """Share of rows predicted wrongly."""
        return _ratio(self.missed + self.flagged, self.total)

    @property
    def fn_rate(self) -> float:
        """Share of the events that were not predicted; missing without events."""
        return _ratio(self.missed, self.events)

    @property
    def fp_rate(self) -> float:
        """Share of the others predicted to be events; missing without others."""
        return _ratio(self.flagged, self.others)

    @property
    def rates(self) -> dict[str, float]:
        """The three shares, by name."""
        return {"error_rate": self.error_rate, "fn_rate": self.fn_rate, "fp_rate": self.fp_rate}

    def cost(self, fn: float, fp: float) -> float:
        """Return the mean cost of a row, `fn` for an event missed and `fp` for another flagged."""
        return _ratio(fn * self.missed + fp * self.flagged, self.total)

    @property
    def one_sided(self) -> bool:
        """Whether one class was predicted for every row."""
        positive = self.events - self.missed + self.flagged
        return self.total > 0.0 and (positive == 0.0 or self.others - self.flagged + self.missed == 0.0)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("nan")
