"""The cuts of a response and the steps between them, and probabilities read off a grid of classifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.base.quantile import weighted_median, weighted_quantile


@dataclass(frozen=True)
class Cuts:
    """Cuts of a response, and what each adds.

    Attributes
    ----------
    at : (L,) array
        Cuts, increasing, each above the least response and at most the greatest.
    steps : (L,) array
        What a quantile at or above a cut adds to the prediction.
    start : float
        The prediction where the quantile is below every cut.
    """

    at: np.ndarray
    steps: np.ndarray
    start: float

    def sum_up(self, above: np.ndarray) -> np.ndarray:
        """Return predictions (rows,) of which cuts the quantile is at or above (rows, L)."""
        return self.start + above @ self.steps


def cuts_by_quantiles(y: np.ndarray, count: int, weights: np.ndarray | None = None) -> Cuts:
    """Return at most `count` cuts at quantiles of y (n,); what lies between two cuts is worth its median.

    >>> cuts_by_quantiles(np.array([1.0, 2.0, 3.0, 4.0]), 3).at.tolist()
    [2.0, 3.0, 4.0]
    """
    levels = np.arange(1, count + 1) / (count + 1)
    found = np.array([weighted_quantile(y, float(level), weights) for level in levels])
    distinct = np.unique(y)
    if len(distinct) - 1 <= count:
        found = distinct[1:]
    at = np.unique(found[found > distinct[0]])
    if not len(at):
        at = distinct[1:2]
    cell = np.searchsorted(at, y, side="right")
    worth = np.array([_middle(y, weights, cell == k) for k in range(len(at) + 1)])
    return Cuts(at, np.diff(worth), float(worth[0]))


def cuts_evenly(y: np.ndarray, count: int) -> Cuts:
    """Return `count` cuts evenly over the range of y: the average over cuts of Langford and others, discretised.

    >>> cuts_evenly(np.array([0.0, 1.0]), 2).at.tolist()
    [0.25, 0.75]
    """
    low, high = float(y.min()), float(y.max())
    step = (high - low) / count
    return Cuts(low + step * (np.arange(count) + 0.5), np.full(count, step), low)


def cuts_given(y: np.ndarray, at: np.ndarray, weights: np.ndarray | None = None) -> Cuts:
    """Return given cuts; what lies between two of them is worth the median of y (n,) there, or else the lower cut."""
    cell = np.searchsorted(at, y, side="right")
    low = np.concatenate(([at[0]], at))
    worth = np.array([_middle(y, weights, cell == k, float(low[k])) for k in range(len(at) + 1)])
    return Cuts(at, np.diff(worth), float(worth[0]))


def _middle(y: np.ndarray, weights: np.ndarray | None, rows: np.ndarray, otherwise: float = np.nan) -> float:
    if not rows.any():
        return otherwise
    return weighted_median(y[rows], None if weights is None else weights[rows])


def read_off(above: np.ndarray) -> np.ndarray:
    """Return probabilities (rows,) from which of the levels 1/d, ..., (d - 1)/d they are above (rows, d - 1).

    Mease, Wyner and Buja (2007): from the median outwards, up to the first level that is not exceeded if 1/2 is, down
    to the first that is exceeded if not; the middle between that level and the one before.

    Parameters
    ----------
    above : (rows, d - 1) array of bool
        d even, so that 1/2 is among the levels.

    Examples
    --------
    >>> read_off(np.array([[True, True, False], [True, False, True]])).tolist()
    [0.625, 0.375]
    """
    d = above.shape[1] + 1
    middle = d // 2 - 1
    upper = np.where(above[:, middle:].all(axis=1), d, middle + 1 + np.argmin(above[:, middle:], axis=1))
    under = above[:, : middle + 1][:, ::-1]
    lower = np.where(under.any(axis=1), middle + 1 - np.argmax(under, axis=1), 0)
    return np.where(above[:, middle], (upper - 0.5) / d, (lower + 0.5) / d)
