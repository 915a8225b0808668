"""Large linear problems: sifted, they have the solution of the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qreg_boost.kernel import box_qp, sifting
from qreg_boost.kernel.box_qp import BoxQP, LowRank, solve_box_qp


def program(n: int, seed: int = 0, C: float = 1.0, d: float = 0.2) -> BoxQP:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.sign(X[:, 0] + 0.7 * rng.normal(size=n))
    lower = -C * d * (rng.random((2, n)) < 0.1)
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    upper = lower + C * np.array([[d], [1 - d]])
    return BoxQP(LowRank(X * y[:, None]), -np.ones((2, n)), lower, upper, A, np.zeros(2))


@pytest.mark.parametrize("C", [0.001, 1.0])
@pytest.mark.parametrize("order", ["as drawn", "sorted"])
def test_sifted_and_whole_solutions_are_the_same(monkeypatch: pytest.MonkeyPatch, C: float, order: str) -> None:
    problem = program(3000, C=C)
    if order == "sorted":
        rows = np.argsort(problem.Q.Z[:, 0])
        problem = replace(
            problem, Q=problem.Q.at(rows), A=problem.A[:, :, rows], lower=problem.lower[:, rows],
            upper=problem.upper[:, rows],
        )  # fmt: skip
    whole = solve_box_qp(problem)
    monkeypatch.setattr(box_qp, "MANY_ROWS", 100)
    monkeypatch.setattr(sifting, "SAMPLE", 300)
    sizes = []
    plain = box_qp._solution
    monkeypatch.setattr(
        box_qp, "_solution", lambda p, s: (sizes.append(int((p.upper > p.lower).sum())), plain(p, s))[1]
    )
    sifted = solve_box_qp(problem)
    assert sifted.status.optimal and sifted.residuals.kkt <= 1e-6
    assert sifted.primal == pytest.approx(whole.primal, rel=1e-8)
    assert max(sizes) < 6000  # the whole was never solved
    warm = solve_box_qp(replace(problem, c=1.01 * problem.c), sifted)
    assert warm.status.optimal and warm.warm


def test_rounds_that_do_not_settle_leave_it_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_qp, "MANY_ROWS", 100)
    monkeypatch.setattr(sifting, "MOST_ROUNDS", 0)
    assert solve_box_qp(program(500)).status.optimal
