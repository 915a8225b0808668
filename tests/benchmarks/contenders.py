"""The contenders of `boosting.py`: each fits a quantile boosting of stumps or lines to the same arrays.

To be imported once the number of threads is set.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.boosting.learners.base import TIE
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.steps import ADAPTIVE, STEPS, step_unit

NU = 0.1


@dataclass(frozen=True)
class Problem:
    """Data of one size, and how to boost them; `step` is this package's rule, "adaptive" or "fixed"."""

    y: np.ndarray
    X: np.ndarray
    tau: float
    iterations: int
    step: str
    threads: int


def simulate(n: int, p: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return y (n,) and X (n, p): five columns matter, and the heavy-tailed noise grows with the first."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    mean = 1.0 + X[:, :5] @ np.array([2.0, -1.5, 1.0, 0.5, -0.25])
    return mean + (1.0 + 0.5 * np.abs(X[:, 0])) * rng.standard_t(3, n), X


def ours(problem: Problem) -> np.ndarray:
    """Fit from arrays to results; return the selections."""
    options = {"tau": problem.tau, "mstop": problem.iterations, "step": problem.step, "nu": NU}
    return QBR(problem.y, problem.X, **options).fit().path.selected


def numpy_loop(problem: Problem) -> np.ndarray:
    """Do in NumPy what `ours` does, X'u from scratch in every iteration; return the selections.

    Written as tightly as NumPy allows: columns centred once and stored one after the other, residuals instead of the
    fit, and the loss of an iteration is the dot product of residual and u.
    """
    y, tau, iterations = problem.y, problem.tau, problem.iterations
    columns = np.ascontiguousarray(problem.X.T)
    columns -= columns.mean(axis=1)[:, None]
    inverse = 1.0 / np.einsum("ji,ji->j", columns, columns)
    rule = STEPS[problem.step](NU * step_unit("auto", y, None))
    r = y - weighted_quantile(y, tau)
    u = np.where(r >= 0.0, tau, tau - 1.0)
    selected = np.empty(iterations, np.int32)
    slopes, levels, risks = np.empty(iterations), np.empty(iterations), np.empty(iterations + 1)
    chosen, turns, last = ([0.0] * len(columns) for _ in range(3))
    risks[0] = r @ u
    for m in range(iterations):
        c = columns @ u
        scores = c * c * inverse
        k = int(np.argmax(scores >= scores.max() * (1.0 - TIE)))
        slope, gamma = c[k] * inverse[k], rule.first
        if rule.kind == ADAPTIVE:
            chosen[k] += 1.0
            turns[k] += c[k] * last[k] < 0.0
            last[k] = slope
            gamma *= min(chosen[k], rule.longest) / sqrt(1.0 + turns[k])
        selected[m], slopes[m], levels[m] = k, gamma * slope, gamma * u.mean()
        r -= slopes[m] * columns[k] + levels[m]
        u = np.where(r >= 0.0, tau, tau - 1.0)
        risks[m + 1] = r @ u
        if rule.kind == ADAPTIVE and risks[m + 1] > (1.0 + rule.guard) * risks[m]:
            turns[k] = 2.0 * turns[k] + 1.0
    return selected


def light_gbm(problem: Problem) -> object:
    """Fit LightGBM's quantile boosting of stumps."""
    import lightgbm

    options = {
        "objective": "quantile", "alpha": problem.tau, "num_leaves": 2, "learning_rate": NU,
        "num_threads": problem.threads, "verbosity": -1,
    }  # fmt: skip
    return lightgbm.train(options, lightgbm.Dataset(problem.X, problem.y), problem.iterations)


def hist_gradient_boosting(problem: Problem) -> object:
    """Fit scikit-learn's histogram quantile boosting of stumps."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingRegressor(
        loss="quantile", quantile=problem.tau, max_leaf_nodes=2, learning_rate=NU, max_iter=problem.iterations,
        early_stopping=False,
    )  # fmt: skip
    with threadpool_limits(problem.threads):
        return model.fit(problem.X, problem.y)


def gradient_boosting(problem: Problem, iterations: int) -> object:
    """Fit scikit-learn's exact quantile boosting of stumps."""
    from sklearn.ensemble import GradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    model = GradientBoostingRegressor(
        loss="quantile", alpha=problem.tau, max_depth=1, learning_rate=NU, n_estimators=iterations
    )
    with threadpool_limits(problem.threads):
        return model.fit(problem.X, problem.y)


@functools.cache
def all_awake() -> Callable[[Problem], np.ndarray]:
    """Return `ours` with the sign-flip loop compiled anew so that no row ever sleeps."""
    import numba

    name = "qreg_boost.boosting.signflip"
    usual = importlib.import_module(name)
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    copy: Any = importlib.util.module_from_spec(spec)
    cache, numba.config.CACHE_DIR = numba.config.CACHE_DIR, tempfile.mkdtemp()
    spec.loader.exec_module(copy)
    numba.config.CACHE_DIR = cache
    copy.SMALL = sys.maxsize

    def fit(problem: Problem) -> np.ndarray:
        sys.modules[name] = copy
        try:
            return ours(problem)
        finally:
            sys.modules[name] = usual

    return fit
