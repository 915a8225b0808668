"""The classifiers of Tables 7 to 9 of Zheng (2012) by name, and aligned tables of what they reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import qreg_boost as qb

Model = Callable[[np.ndarray, np.ndarray], Any]
"""From labels (n,) and predictors (n, p) to a model to be fitted."""


def with_stumps(event: Any, mstop: int) -> dict[str, Model]:
    """Return the boosters with stumps, each of `mstop` iterations at most, and the median classifier.

    L2Boost and QBC take steps of 0.1, LogitBoost is the Newton form, AdaBoost the discrete form; QBC has tau = 0.5.
    """
    shared = {"event": event, "learner": "stump", "mstop": mstop, "progress": False}
    return {
        "L2Boost": lambda y, X: qb.L2Boost(y, X, **shared),
        "AdaBoost": lambda y, X: qb.AdaBoost(y, X, **shared),
        "LogitBoost": lambda y, X: qb.LogitBoost(y, X, **shared),
        "QBC": lambda y, X: qb.QBC(y, X, **shared),
        "median classifier": lambda y, X: qb.MedianClassifier(y, X, event=event),
    }


def print_aligned(lines: Sequence[Sequence[str]]) -> None:
    """Print rows of cells, the first column to the left, the others to the right, and an empty line."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        print("  ".join(cells).rstrip())
    print(flush=True)
