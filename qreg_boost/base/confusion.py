"""How often which class was taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd


def confusion_counts(
    actual: np.ndarray, predicted: np.ndarray, k: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the counts (k, k), or sums of weights, of actual codes (rows) by predicted codes (columns).

    Rows in which either is missing do not count.

    >>> confusion_counts(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]), 2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    known = ~(np.isnan(actual) | np.isnan(predicted))
    cells = (actual[known] * k + predicted[known]).astype(np.intp)
    each = None if weights is None else weights[known]
    return np.bincount(cells, weights=each, minlength=k * k).reshape(k, k).astype(float)


def error_rate(counts: np.ndarray) -> float:
    """Return the share off the diagonal; missing where nothing was counted.

    >>> error_rate(np.array([[1.0, 0.0], [1.0, 2.0]]))
    0.25
    """
    total = float(counts.sum())
    return (total - float(np.trace(counts))) / total if total > 0.0 else np.nan


def missed(counts: np.ndarray, k: int) -> float:
    """Return the share of class k that was taken for another; missing where there is none of it."""
    total = float(counts[k].sum())
    return (total - float(counts[k, k])) / total if total > 0.0 else np.nan


def confusion_table(counts: np.ndarray, labels: Sequence[Any]) -> pd.DataFrame:
    """Return the counts as a table: actual classes in rows, predicted ones in columns; whole where all are."""
    whole = bool((counts == np.round(counts)).all())
    values = counts.astype(np.int64) if whole else counts
    return pd.DataFrame(values, index=pd.Index(labels, name="actual"), columns=pd.Index(labels, name="predicted"))
