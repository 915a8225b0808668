"""Quadratic programs of kernel machines: with a start and without, the same solution.

Examples are drawn from fixed seeds: a failure is the same on every machine.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from qreg_boost.kernel import box_qp
from qreg_boost.kernel.box_qp import BoxQP, Dense, solve_box_qp

SEEDS = st.integers(0, 2**32 - 1)


def program(rng: np.random.Generator) -> BoxQP:
    """Return a program of some rows: of low rank, with rows twice, boxes of no width or of very different ones."""
    n, K = int(rng.integers(2, 40)), int(rng.integers(1, 3))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    if rng.random() < 0.5:
        X[n // 2 :] = X[: n - n // 2]
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K_ = X @ X.T if rng.random() < 0.4 else np.exp(-(10.0 ** rng.uniform(-2, 1)) * distance)
    width = 10.0 ** rng.uniform(-2, 2) * rng.random((K, n)) ** rng.choice([0.0, 1.0, 6.0])
    width[rng.random((K, n)) < rng.choice([0.0, 0.3])] = 0.0
    lower = -width * (rng.random((K, n)) < rng.choice([0.0, 0.2, 0.9]))
    c = -np.ones((K, n)) if rng.random() < 0.5 else rng.normal(size=(K, n))
    A = np.repeat(y[None, None], K, axis=1)
    if K == 2:
        A = np.concatenate((A, np.stack((np.ones(n), -np.ones(n)))[None]))
    return BoxQP(Dense(y[:, None] * K_ * y), c, lower, lower + width, A, np.zeros(len(A)))


@settings(max_examples=200, derandomize=True, deadline=None)
@given(seed=SEEDS)
def test_a_start_does_not_change_the_solution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = program(rng)
    factor = 10.0 ** rng.uniform(-1, 1)
    caps = (first.upper - first.lower) * factor * (rng.random(first.c.shape) < 0.1)
    second = replace(first, lower=first.lower * factor - caps, upper=first.upper * factor - caps)
    if ((second.lower > 0.0) | (second.upper < 0.0)).any():  # 0 must stay inside: it satisfies the equalities
        second = replace(second, lower=np.minimum(second.lower, 0.0), upper=np.maximum(second.upper, 0.0))
    start = solve_box_qp(first, quiet=True)
    wanted, found = box_qp._solution(second, None), solve_box_qp(second, start, quiet=True)
    assert not wanted.status.optimal or found.status.optimal
    if wanted.status.optimal:
        # where the boxes leave hardly a choice the objective is near 0; its digits are then those of its terms
        size = abs(wanted.primal) + 1e-2 * float(np.abs(second.c * (second.upper - second.lower)).sum())
        assert abs(found.primal - wanted.primal) <= 1e-9 * size + wanted.gap
