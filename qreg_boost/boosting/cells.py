"""Cells of a probability from the signs of classifiers at several taus (Zheng 2012, eq. 9).

At tau the event is more probable than 1 - tau exactly where the fit is above 0. Fits at taus t_1 < ... < t_k so say,
for each row, between which of the limits 1 - t_k < ... < 1 - t_1 the probability lies, if their signs rise with tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cells:
    """Cells of the probability of the event.

    Attributes
    ----------
    lower, upper : ndarray (n,)
        Ends of each row's cell, between 0 and 1; missing where a fit is.
    corrected : ndarray (n,) of bool
        Whether the signs did not rise with tau.
    """

    lower: np.ndarray
    upper: np.ndarray
    corrected: np.ndarray


def cells(taus: np.ndarray, fits: np.ndarray) -> Cells:
    """Return the cell of each row, given the fits (n, k) at taus (k,), in any order.

    Where signs fall somewhere as tau rises, they are replaced by the rising sequence that differs from them at the
    fewest taus (an isotonic regression of the signs); if several sequences are as near, the cell spans all of theirs. A
    fit of exactly 0 agrees with either sign.

    >>> cells(np.array([0.25, 0.5, 0.75]), np.array([[-1.0, -0.2, 0.4], [1.0, -1.0, 1.0]])).upper.tolist()
    [0.5, 1.0]
    """
    order = np.argsort(taus, kind="stable")
    limits = 1.0 - np.asarray(taus, dtype=float)[order]
    ordered = fits[:, order]
    missing = np.isnan(ordered).any(axis=1)
    above, below = ordered > 0.0, ordered < 0.0
    n, k = ordered.shape
    # disagreements if the sign turns at position j: those above 0 before j, and those below 0 from j on
    wrong = np.zeros((n, k + 1), dtype=np.int64)
    wrong[:, 1:] = np.cumsum(above, axis=1)
    wrong[:, :-1] += below[:, ::-1].cumsum(axis=1)[:, ::-1]
    best = wrong == wrong.min(axis=1, keepdims=True)
    first = np.argmax(best, axis=1)
    last = k - np.argmax(best[:, ::-1], axis=1)
    upper = np.concatenate(([1.0], limits))[first]
    lower = np.concatenate((limits, [0.0]))[last]
    lower[missing] = upper[missing] = np.nan
    return Cells(lower, upper, (wrong.min(axis=1) > 0) & ~missing)


def interval(replicates: np.ndarray, level: float) -> np.ndarray:
    """Return the percentile interval (n, 2) of cells replicated, `replicates` (reps, n, 2) their lower and upper ends.

    The low end is the lower quantile of lower ends, the high end the upper quantile of upper ends.

    >>> interval(np.array([[[0.1, 0.2]], [[0.2, 0.3]], [[0.2, 0.3]]]), 0.9).tolist()
    [[0.1, 0.3]]
    """
    tail = 0.5 * (1.0 - level)
    low = np.quantile(replicates[:, :, 0], tail, axis=0, method="lower")
    high = np.quantile(replicates[:, :, 1], 1.0 - tail, axis=0, method="higher")
    return np.column_stack((low, high))
