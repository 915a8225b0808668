"""The one definition of a weighted quantile, and of the median that mboost starts from."""

from __future__ import annotations

import numpy as np

REACHED = 1e-12
"""Cumulative weights within this share of tau W have reached it: rounding must not decide."""


def quantile_row(y: np.ndarray, tau: float, weights: np.ndarray) -> int:
    """Return the row of the smallest y whose cumulative weight reaches tau times the total; of equals, the first.

    >>> quantile_row(np.array([3.0, 1.0, 2.0]), 0.5, np.array([1.0, 1.0, 4.0]))
    2
    """
    order = np.argsort(y, kind="stable")
    cumulative = np.cumsum(weights[order])
    return int(order[np.searchsorted(cumulative, tau * cumulative[-1] * (1.0 - REACHED))])


def weighted_quantile(y: np.ndarray, tau: float, weights: np.ndarray | None = None) -> float:
    """Return the smallest y whose cumulative weight reaches tau times the total, to a relative tolerance of `REACHED`.

    This value minimises the weighted check loss over constants.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 4.0]), 0.5)
    2.0
    """
    if weights is not None:
        return float(y[quantile_row(y, tau, weights)])
    rank = max(int(np.ceil(tau * len(y) * (1.0 - REACHED))), 1)
    return float(np.partition(y, rank - 1)[rank - 1])


def upper_quantile(y: np.ndarray, tau: float, weights: np.ndarray | None = None) -> float:
    """Return the smallest y whose cumulative weight exceeds tau times the total: the order statistic floor(tau n) + 1.

    It is the upper end where the quantile is an interval, and minimises the weighted check loss as the lower end does.

    >>> upper_quantile(np.array([3.0, 1.0, 2.0, 4.0]), 0.5)
    3.0
    """
    if weights is None:
        rank = min(int(np.floor(tau * len(y) * (1.0 + REACHED))), len(y) - 1)
        return float(np.partition(y, rank)[rank])
    order = np.argsort(y, kind="stable")
    cumulative = np.cumsum(weights[order])
    return float(y[order[np.argmax(cumulative > tau * cumulative[-1] * (1.0 + REACHED))]])


def weighted_median(y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean of the smallest y with cumulative weight >= W/2 and the smallest with > W/2.

    >>> weighted_median(np.array([3.0, 1.0, 2.0, 4.0]))
    2.5
    """
    if weights is None:
        return float(np.median(y))
    order = np.argsort(y, kind="stable")
    cumulative = np.cumsum(weights[order])
    half = 0.5 * cumulative[-1]
    lower = np.argmax(cumulative >= half * (1.0 - REACHED))
    upper = np.argmax(cumulative > half * (1.0 + REACHED))
    return float(0.5 * (y[order[lower]] + y[order[upper]]))
