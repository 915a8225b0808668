"""The median classifier of Hall, Titterington and Xue (2009): component-wise medians, and distances to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.base.quantile import weighted_median

BLOCK = 1 << 18
"""Values per block of rows, so that distances need no second copy of the rows."""


@dataclass(frozen=True)
class Medians:
    """The centres of two classes.

    Attributes
    ----------
    other, event : (p,) arrays
        Component-wise medians of the rows of each class, in units of the columns.
    scale : (p,) array
        What differences in each column are divided by.
    by_deviation : (k,) int array
        Columns whose pooled median absolute deviation is 0, scaled by their mean absolute deviation instead.
    """

    other: np.ndarray
    event: np.ndarray
    scale: np.ndarray
    by_deviation: np.ndarray


def class_medians(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, scale: bool) -> Medians:
    """Return the component-wise medians of two classes.

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array
        1 for the event, 0 for the other class.
    weights : (n,) array of positive weights, optional
        Integer weights count as repeated rows.
    scale : bool
        Whether to divide by the pooled median absolute deviation: the median of |x - own class's median| over the rows
        of both classes. Where that is 0, by the mean of the same; it is 0, and useless, where the column is constant
        within both classes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [7.0], [9.0]])
    >>> found = class_medians(X, np.array([0.0, 0.0, 1.0, 1.0]), None, scale=True)
    >>> found.other.tolist(), found.event.tolist(), found.scale.tolist()
    ([1.0], [8.0], [1.0])
    """
    event = y > 0.5
    centres = [_medians(X[rows], None if weights is None else weights[rows]) for rows in (~event, event)]
    units, by_deviation = np.ones(X.shape[1]), np.empty(0, dtype=np.intp)
    if scale:
        away = np.abs(X - np.where(event[:, None], centres[1], centres[0]))
        units = _medians(away, weights)
        by_deviation = np.flatnonzero(units == 0.0)
        if len(by_deviation):
            units[by_deviation] = np.average(away[:, by_deviation], axis=0, weights=weights)
    return Medians(centres[0], centres[1], units, by_deviation)


def _medians(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    if weights is None:
        return np.median(X, axis=0)
    return np.array([weighted_median(X[:, j], weights) for j in range(X.shape[1])])


def nearer(X: np.ndarray, centres: Medians) -> np.ndarray:
    """Return by how much each row (rows, p) is nearer to the event's medians than to the other's (rows,).

    The distance is the L1 distance, each column divided by its scale.

    >>> import numpy as np
    >>> centres = Medians(np.zeros(1), np.array([8.0]), np.ones(1), np.empty(0, dtype=np.intp))
    >>> nearer(np.array([[6.0]]), centres).tolist()
    [4.0]
    """
    rows = max(BLOCK // max(X.shape[1], 1), 1)
    decision = np.empty(len(X))
    for first in range(0, len(X), rows):
        block = X[first : first + rows]
        gain = np.abs(block - centres.other) - np.abs(block - centres.event)
        decision[first : first + rows] = (gain / centres.scale).sum(axis=1)
    return decision
