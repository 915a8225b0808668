"""The least check loss that a constant reaches."""

from __future__ import annotations

import math

import numpy as np

from qreg_boost.quantreg.solution import check_loss

# Cumulative weights within this part of tau W have reached it: rounding must not decide.
_REACHED = 1e-12


def constant_loss(y: np.ndarray, tau: float, weights: np.ndarray | None = None) -> float:
    """Return the weighted sum of check losses of the best constant for y (n,), in units of y.

    Examples
    --------
    >>> constant_loss(np.array([1.0, 2.0, 3.0, 7.0]), 0.5)
    3.5
    """
    n = len(y)
    if not n:
        return 0.0
    if weights is None:
        at = min(max(math.ceil(tau * n * (1.0 - _REACHED)) - 1, 0), n - 1)
        best = np.partition(y, at)[at]
    else:
        order = np.argsort(y, kind="stable")
        reached = np.cumsum(weights[order])
        best = y[order][np.searchsorted(reached, tau * reached[-1] * (1.0 - _REACHED))]
    return check_loss(y - best, tau, weights)
