"""Classifiers simple enough to know what they must answer."""

from __future__ import annotations

import numpy as np
import pandas as pd


class GroupMajority:
    """Predicts the weighted majority of the rows with the same values."""

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.votes = {}
        for row, label, weight in zip(map(tuple, X), y, weights, strict=True):
            self.votes[row] = self.votes.get(row, 0.0) + (weight if label else -weight)
        return self

    def predict(self, X):
        return np.array([int(self.votes[tuple(row)] >= 0.0) for row in X])


class Unweighted:
    """Takes no weights."""

    def fit(self, X, y):
        self.majority = int(np.mean(y) >= 0.5)
        return self

    def predict(self, X):
        return np.full(len(X), self.majority)


def three_classes(n: int = 150, seed: int = 0) -> pd.DataFrame:
    """Return two numeric columns, a factor, and a label of three classes, two of which overlap."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    data = pd.DataFrame(centres[label] + 0.7 * rng.normal(size=(n, 2)), columns=["a", "b"])
    data["g"] = rng.choice(["u", "v"], n)
    data["y"] = np.array(["red", "green", "blue"])[label]
    return data


def two_classes(n: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return two numeric columns, a column of zeros and ones, a label, and the probability of "yes" in ``p``."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    data["flag"] = rng.integers(0, 2, n).astype(float)
    data["p"] = 1.0 / (1.0 + np.exp(-1.5 * data["a"] + data["b"]))
    data["y"] = np.where(rng.random(n) < data["p"], "yes", "no")
    return data
