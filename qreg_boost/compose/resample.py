"""Rows sampled over or under so that a probability becomes even odds, with jitter (Mease, Wyner and Buja 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Rows sampled.

    Attributes
    ----------
    X : (m, p) array
        Predictors, repeated rows jittered.
    rows : (m,) int array
        Which rows they are.
    """

    X: np.ndarray
    rows: np.ndarray


def spread_to_jitter(X: np.ndarray) -> np.ndarray:
    """Return the standard deviations (p,) of the columns that are jittered, 0 for those of two values or fewer.

    Values that are missing do not count.

    >>> spread_to_jitter(np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]])).round(3).tolist()
    [0.0, 0.816]
    """
    known = [X[~np.isnan(X[:, j]), j] for j in range(X.shape[1])]
    return np.array([x.std() if len(np.unique(x)) > 2 else 0.0 for x in known])


def oversampled(
    X: np.ndarray, y: np.ndarray, copies: tuple[int, int], jitter: np.ndarray, rng: np.random.Generator
) -> Sample:
    """Return each row of class 0 and 1 as often as `copies` says; all but the first of each with jitter.

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array of 0 and 1
    copies : (int, int)
        Of a row of class 0, of a row of class 1.
    jitter : (p,) array
        Noise is uniform between minus this and this.

    Examples
    --------
    >>> drawn = oversampled(np.zeros((2, 1)), np.array([0.0, 1.0]), (1, 2), np.zeros(1), np.random.default_rng(0))
    >>> drawn.rows.tolist()
    [0, 1, 1]
    """
    times = np.where(y > 0.5, copies[1], copies[0])
    rows = np.repeat(np.arange(len(y)), times)
    values = X[rows].copy()
    again = np.flatnonzero(np.append(False, rows[1:] == rows[:-1])) if len(rows) else rows
    values[again] += rng.uniform(-1.0, 1.0, size=(len(again), X.shape[1])) * jitter
    return Sample(values, rows)


def undersampled(X: np.ndarray, y: np.ndarray, copies: tuple[int, int], rng: np.random.Generator) -> Sample:
    """Return the rows, those of the class with fewer `copies` thinned out so that classes keep that ratio.

    >>> X, y = np.zeros((4, 1)), np.array([0.0, 0.0, 1.0, 1.0])
    >>> undersampled(X, y, (1, 2), np.random.default_rng(0)).rows.tolist()
    [1, 2, 3]
    """
    thinned = int(copies[1] < copies[0])
    members = np.flatnonzero((y > 0.5) == bool(thinned))
    keep = max(round(len(members) * copies[thinned] / copies[1 - thinned]), 1)
    chosen = rng.choice(members, size=keep, replace=False)
    rows = np.sort(np.concatenate((np.flatnonzero((y > 0.5) != bool(thinned)), chosen)))
    return Sample(X[rows], rows)
