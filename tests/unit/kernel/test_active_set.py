"""Programs solved from a guess: the solution of the interior point method, or none; never another one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qreg_boost.kernel import active_set, box_qp
from qreg_boost.kernel.active_set import Guess, solve_by_active_set
from qreg_boost.kernel.balancing import balanced
from qreg_boost.kernel.box_qp import BoxQP, BoxSolution, Dense, LowRank, solve_box_qp
from tests.unit.kernel.test_box_qp import gram, quantile_program, reject_program


def guess_of(found: BoxSolution) -> Guess:
    return Guess(found.u, found.gradient, found.multipliers)


def interior(problem: BoxQP) -> BoxSolution:
    """Return the solution of the interior point method alone."""
    return box_qp._solution(problem, None)


def steps(n: int, C: float = 3.0, d: float = 0.2, seed: int = 0, gamma: float = 0.3) -> tuple[BoxQP, BoxQP]:
    """Return two steps of a double ramp fit: no loss capped, and some of the worst capped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sign(X[:, 0] + 0.6 * rng.normal(size=n))
    width = C * np.array([[d], [1 - d]]) * np.ones((2, n))
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    first = BoxQP(Dense(y[:, None] * gram(X, gamma) * y), -np.ones((2, n)), 0.0 * width, width, A, np.zeros(2))
    found = interior(first)
    t = first.Q.times(found.a) + found.multipliers[0] * y
    beta = width * np.stack((t + found.multipliers[1] < -1.0, t - found.multipliers[1] < -1.0))
    return first, replace(first, lower=-beta, upper=width - beta)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
def test_the_next_step_from_the_last_is_what_the_interior_point_finds(C: float, seed: int) -> None:
    first, second = steps(150, C=C, seed=seed)
    found, wanted = solve_by_active_set(second, guess_of(interior(first))), interior(second)
    assert found is not None and found.status.optimal and found.residuals.kkt <= 1e-9
    assert found.primal == pytest.approx(wanted.primal, rel=1e-9)
    np.testing.assert_allclose(found.multipliers, wanted.multipliers, atol=1e-5 * max(1.0, C))
    np.testing.assert_allclose(found.gradient, wanted.gradient, atol=1e-5 * max(1.0, C))


def test_from_its_own_solution_it_takes_one_round() -> None:
    problem = quantile_program()
    whole = solve_box_qp(problem)
    found = solve_by_active_set(problem, guess_of(whole))
    assert found is not None and found.iterations == 1
    np.testing.assert_allclose(found.u, whole.u, atol=1e-6)


def test_a_start_is_used_and_no_newton_step_of_all_rows_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = steps(150)
    start = solve_box_qp(first)
    monkeypatch.setattr(Dense, "solver", None)
    assert solve_box_qp(second, start).warm


def test_many_rows_begin_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = steps(600)[1]
    wanted = interior(problem).primal
    orders = []
    whole = box_qp._solution
    monkeypatch.setattr(box_qp, "SAMPLED", 100)
    monkeypatch.setattr(active_set, "MANY_ROWS", 100)
    monkeypatch.setattr(box_qp, "_solution", lambda p, s: (orders.append(p.Q.n), whole(p, s))[1])
    found = solve_box_qp(problem)
    assert max(orders) < 100 and not found.warm
    assert found.status.optimal and found.primal == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("few", [0.2, 0.01])
def test_a_guess_from_afar_is_first_moved_along_gradients(few: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that it leaves between their bounds only some are free in the first round, and none is forgotten."""
    problem = steps(400)[0]
    monkeypatch.setattr(active_set, "MANY_ROWS", 100)
    monkeypatch.setattr(active_set, "FEW_FREE", few)
    # all the wrong way round: what is at its lower bound is guessed at the upper one
    wanted = interior(problem)
    found = solve_by_active_set(problem, Guess(wanted.u, -wanted.gradient, wanted.multipliers))
    assert found is not None and found.primal == pytest.approx(wanted.primal, rel=1e-9)


def test_what_leads_nowhere_is_left_to_the_interior_point(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = steps(150)
    start = solve_box_qp(first)
    monkeypatch.setattr(active_set, "MOST_ROUNDS", 0)
    assert solve_by_active_set(second, guess_of(start)) is None
    assert solve_box_qp(second, start).status.optimal


def test_a_wrong_answer_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = steps(150)
    start, wanted = solve_box_qp(first), solve_box_qp(second)
    monkeypatch.setattr(box_qp, "solve_by_active_set", lambda problem, guess: replace(start, warm=True))
    bad = replace(start, residuals=replace(start.residuals, kkt=1e-3))
    monkeypatch.setattr(box_qp, "solve_by_active_set", lambda problem, guess: bad)
    assert solve_box_qp(second, start).primal == pytest.approx(wanted.primal, rel=1e-9)


@pytest.mark.parametrize("fill", [np.nan, 0.0, 1e300])
def test_a_guess_that_says_nothing_does_no_harm(fill: float) -> None:
    problem = quantile_program()
    wanted = solve_box_qp(problem)
    none = replace(
        wanted, u=np.full_like(wanted.u, fill), gradient=np.full_like(wanted.u, fill), multipliers=np.full(1, fill)
    )
    with np.errstate(all="ignore"):
        found = solve_box_qp(problem, none)
    assert found.status.optimal and found.primal == pytest.approx(wanted.primal, rel=1e-9)


def test_both_blocks_of_rows_free() -> None:
    """Where rho is 0 only the sum of a row's blocks is told by Q; the other equality shares it out."""
    rng = np.random.default_rng(1)
    n = 80
    X = rng.normal(size=(n, 2))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    Q, one = Dense(y[:, None] * gram(X, 0.5) * y), np.ones((2, n))
    problem = BoxQP(Q, -one, 0.0 * one, 1.0 * one, A, np.zeros(2))
    start = solve_box_qp(problem)
    assert abs(start.multipliers[1]) < 1e-6
    near = replace(problem, upper=1.1 * one)
    found, wanted = solve_by_active_set(near, guess_of(start)), interior(near)
    assert found is not None and found.primal == pytest.approx(wanted.primal, rel=1e-9)


def test_no_variable_free_at_the_solution() -> None:
    """The multiplier is then any of an interval: gradients have the right signs all the same."""
    y = np.array([1.0, 1.0, -1.0, -1.0])
    one = np.ones((1, 4))
    problem = BoxQP(Dense(0.01 * np.eye(4)), -one, 0.0 * one, one, y[None, None], np.zeros(1))
    for gradient in (-one, one, 0.0 * one, np.array([[1.0, -1.0, 1.0, -1.0]])):
        found = solve_box_qp(problem, replace(interior(problem), gradient=gradient))
        np.testing.assert_allclose(found.u, one, atol=1e-9)
        assert (found.gradient <= 1e-9).all()


def test_singular_blocks_keep_the_equalities() -> None:
    """Rows twice with opposite labels: the sum of their duals moves at no cost, but in the second equality."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(60, 3)), 2, axis=0)
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=120))
    y[1:40:2] = -y[0:40:2]
    width = np.array([[0.4], [1.6]]) * np.ones((2, 120))
    A = np.array([[y, y], [np.ones(120), -np.ones(120)]])
    problem = BoxQP(Dense(y[:, None] * gram(X, 0.3) * y), -np.ones((2, 120)), 0.0 * width, width, A, np.zeros(2))
    near = replace(problem, upper=1.3 * width)
    found = solve_by_active_set(near, guess_of(solve_box_qp(problem)))
    assert found is not None and found.residuals.equality < 1e-12
    assert found.primal == pytest.approx(interior(near).primal, rel=1e-9)


def test_forms_by_block_and_product() -> None:
    Z = np.random.default_rng(0).normal(size=(12, 3))
    rows, d = np.array([3, 7, 3]), np.array([1.0, 2.0, -0.5])
    whole = Z @ Z.T
    x = np.bincount(rows, d, 12)
    for Q in (LowRank(Z), Dense(whole)):
        np.testing.assert_allclose(Q.block(rows), whole[np.ix_(rows, rows)], atol=1e-12)
        np.testing.assert_allclose(Q.product(rows, d), whole @ x, atol=1e-12)
        np.testing.assert_allclose(Q.product(rows[:2], d[:2]), whole[:, rows[:2]] @ d[:2], atol=1e-12)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_balanced_minimises_with_the_equalities(m: int) -> None:
    rng = np.random.default_rng(m)
    n = 30
    A, inside = rng.normal(size=(m, n)), rng.random(n)
    g, curvature = rng.normal(size=n), 0.1
    met = balanced(g, inside, np.zeros(n), np.ones(n), A, A @ (0.2 + 0.6 * inside), curvature)
    assert met is not None
    nu, x = met
    np.testing.assert_allclose(A @ x, A @ (0.2 + 0.6 * inside), atol=1e-10)
    slope = g + nu @ A + curvature * (x - inside)
    assert (np.abs(slope[(x > 0) & (x < 1)]) < 1e-9).all()
    assert (slope[x == 0] >= -1e-12).all() and (slope[x == 1] <= 1e-12).all()
    assert m == 0 or balanced(g, inside, np.zeros(n), np.ones(n), A, A @ np.full(n, 9.0), curvature) is None


def test_reject_program_along_C() -> None:
    found = None
    for C in np.geomspace(0.01, 1000.0, 12):
        problem = reject_program(C=float(C))
        start = None if found is None else replace(found, u=found.u * 10.0 ** (5 / 11))
        found = solve_box_qp(problem, start)
        assert found.primal == pytest.approx(interior(problem).primal, rel=1e-9)
