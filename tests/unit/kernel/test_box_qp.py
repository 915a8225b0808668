"""The quadratic program of kernel machines: its optimality conditions, and cvxopt's own solver as referee."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.kernel import box_qp
from qreg_boost.kernel.box_qp import BoxQP, Dense, LowRank, solve_box_qp


def gram(X: np.ndarray, gamma: float) -> np.ndarray:
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def quantile_program(n: int = 80, C: float = 1.0, tau: float = 0.3, low_rank: bool = False) -> BoxQP:
    """One block, one equality: the dual of kernel quantile regression."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
    one = np.ones((1, n))
    Q = LowRank(X) if low_rank else Dense(gram(X, 0.3))
    return BoxQP(Q, -y[None], C * (tau - 1) * one, C * tau * one, one[None], np.zeros(1))


def reject_program(n: int = 60, C: float = 3.0, d: float = 0.2, low_rank: bool = False, drop: float = 0.2) -> BoxQP:
    """Two blocks, two equalities: a step of the double ramp's DC loop, some losses capped."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = np.sign(X[:, 0] + 0.4 * rng.normal(size=n))
    capped = C * d * (rng.random((2, n)) < drop)
    upper = C * np.array([[d], [1 - d]]) * np.ones((2, n))
    Z = y[:, None] * np.column_stack((X, X[:, 0] + X[:, 1]))
    Q = LowRank(Z) if low_rank else Dense(y[:, None] * gram(X, 0.3) * y)
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    return BoxQP(Q, -np.ones((2, n)), -capped, upper - capped, A, np.zeros(2))


def matrix_of(problem: BoxQP) -> np.ndarray:
    return problem.Q.times(np.eye(problem.Q.n))


def by_cvxopt(problem: BoxQP) -> float:
    """Return the least objective that `cvxopt.solvers.qp` finds with all matrices written out."""
    from cvxopt import matrix, solvers

    K = len(problem.c)
    Q = np.tile(matrix_of(problem), (K, K))
    G = np.vstack((-np.eye(len(Q)), np.eye(len(Q))))
    h = np.concatenate((-problem.lower.ravel(), problem.upper.ravel()))
    A = problem.A.reshape(len(problem.b), -1)
    found = solvers.qp(
        *(matrix(part) for part in (Q, problem.c.ravel(), G, h, A, problem.b)),
        options={"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11},
    )
    return float(found["primal objective"])


PROGRAMS = {
    "quantile": quantile_program(),
    "quantile, large C": quantile_program(C=1000.0),
    "quantile, small C": quantile_program(C=0.01, tau=0.88),
    "quantile, linear": quantile_program(low_rank=True),
    "reject": reject_program(),
    "reject, linear and rank-deficient": reject_program(low_rank=True),
    "reject, d = .05": reject_program(C=50.0, d=0.05),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_objective_is_that_of_cvxopts_own_solver(name: str) -> None:
    problem = PROGRAMS[name]
    found = solve_box_qp(problem)
    assert found.status.optimal
    # cvxopt's objective is exact to its tolerance, 1e-11 of itself, ours to a gap of 1e-8
    assert found.primal == pytest.approx(by_cvxopt(problem), rel=1e-8)
    assert found.dual <= found.primal + 1e-12 * abs(found.primal)
    assert found.gap <= 1e-8 * abs(found.primal)


@pytest.mark.parametrize("name", PROGRAMS)
def test_optimality_conditions(name: str) -> None:
    problem = PROGRAMS[name]
    found = solve_box_qp(problem)
    assert (found.u >= problem.lower).all() and (found.u <= problem.upper).all()
    np.testing.assert_allclose(np.tensordot(problem.A, found.u, axes=2), problem.b, atol=1e-9 * np.abs(found.u).sum())
    np.testing.assert_allclose(found.a, found.u.sum(axis=0))
    Q = matrix_of(problem)
    gradient = (Q @ found.a) + problem.c + np.tensordot(found.multipliers, problem.A, axes=1)
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-9 * np.abs(gradient).max())
    width = problem.upper - problem.lower
    inside = np.minimum(found.u - problem.lower, problem.upper - found.u) > 1e-4 * width
    scale = np.abs(problem.c).max()
    assert inside.any()
    assert np.abs(gradient[inside]).max() <= 1e-6 * max(scale, np.abs(Q @ found.a).max())
    assert found.residuals.kkt <= 1e-6 and found.residuals.gap <= 1e-8 and found.residuals.equality <= 1e-8


@pytest.mark.parametrize("name", ["quantile", "reject", "reject, linear and rank-deficient"])
def test_units_do_not_matter(name: str) -> None:
    problem = PROGRAMS[name]
    plain = solve_box_qp(problem)
    for size, force in ((1e-6, 1.0), (1e6, 1.0), (1.0, 1e6), (1.0, 1e-6)):
        # variables in units of `size`, the objective in units of size * force
        part = "Q" if isinstance(problem.Q, Dense) else "Z"
        factor = force / size if part == "Q" else np.sqrt(force / size)
        Q = type(problem.Q)(getattr(problem.Q, part) * factor)
        other = replace(problem, Q=Q, c=problem.c * force, lower=problem.lower * size, upper=problem.upper * size)
        found = solve_box_qp(other)
        assert found.status.optimal
        assert found.primal == pytest.approx(plain.primal * size * force, rel=1e-8)
        np.testing.assert_allclose(found.multipliers, plain.multipliers * force, rtol=1e-4, atol=1e-5 * force)


def test_low_rank_is_the_dense_problem() -> None:
    for make in (quantile_program, reject_program):
        thin = make(low_rank=True)
        full = replace(thin, Q=Dense(matrix_of(thin)))
        assert solve_box_qp(thin).primal == pytest.approx(solve_box_qp(full).primal, rel=1e-9)


def test_a_low_rank_system_that_loses_digits_gives_way_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = quantile_program(low_rank=True)
    wanted = solve_box_qp(problem).primal
    exact = LowRank.solver
    monkeypatch.setattr(LowRank, "solver", lambda self, e, scale: lambda r: -exact(self, e, scale)(r))
    found = solve_box_qp(problem)
    assert found.status.optimal and found.primal == pytest.approx(wanted, rel=1e-8)
    monkeypatch.setattr(box_qp, "FEW_ROWS", 10)
    assert solve_box_qp(problem, quiet=True).residuals.excess > found.residuals.excess


@pytest.mark.parametrize("seed", range(6))
def test_steps_on_a_rank_deficient_linear_kernel_are_all_optimal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, C, d = 150, 32.0, (0.05, 0.2, 0.4)[seed % 3]
    X = rng.normal(size=(n, 8)) @ rng.normal(size=(8, 22))  # 22 columns of rank 8
    y = np.sign(X[:, 0] + 3 * rng.normal(size=n))
    upper = C * np.array([[d], [1 - d]]) * np.ones((2, n))
    capped = upper * (rng.random((2, n)) < 0.1)
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    found = solve_box_qp(BoxQP(LowRank(X * y[:, None]), -np.ones((2, n)), -capped, upper - capped, A, np.zeros(2)))
    assert found.status.optimal and found.residuals.kkt <= 1e-6


def test_warm_start_comes_to_the_same_solution_in_fewer_iterations() -> None:
    first = reject_program()
    near = reject_program(C=3.1)
    cold, warm = solve_box_qp(near), solve_box_qp(near, solve_box_qp(first))
    assert warm.warm and not cold.warm
    assert warm.primal == pytest.approx(cold.primal, rel=1e-9)
    assert warm.iterations < cold.iterations


def test_fixed_variables_and_blocks() -> None:
    problem = reject_program(drop=0.0)
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[0, :5] = upper[0, :5] = 0.1
    lower[:, 5:8] = upper[:, 5:8] = np.array([[0.2], [0.1]])
    mixed = replace(problem, lower=lower, upper=upper)
    found = solve_box_qp(mixed)
    np.testing.assert_array_equal(found.u[:, 5:8], lower[:, 5:8])
    np.testing.assert_array_equal(found.u[0, :5], 0.1)
    np.testing.assert_allclose(np.tensordot(problem.A, found.u, axes=2), 0.0, atol=1e-9)
    # the same with the fixed variables a tenth of a thousandth wide: never worse by more than that allows
    open_ = solve_box_qp(replace(problem, lower=lower - 1e-9, upper=upper + 1e-9))
    assert found.primal == pytest.approx(open_.primal, rel=1e-6)


def test_a_block_of_zero_width_is_left_out() -> None:
    problem = reject_program(drop=0.0)
    upper = problem.upper.copy()
    upper[1] = 0.0
    alone = BoxQP(problem.Q, problem.c[:1], problem.lower[:1], upper[:1], problem.A[:, :1], problem.b)
    both = replace(problem, upper=upper)
    # the second equality, 1'u = 0, leaves nothing but u = 0
    assert np.abs(solve_box_qp(both).u).max() < 1e-7
    assert solve_box_qp(replace(both, A=both.A[:1], b=both.b[:1])).primal == pytest.approx(
        solve_box_qp(replace(alone, A=alone.A[:1], b=alone.b[:1])).primal, rel=1e-9
    )


def test_nothing_to_choose() -> None:
    problem = quantile_program()
    found = solve_box_qp(replace(problem, lower=0 * problem.lower, upper=0 * problem.upper))
    assert found.status.optimal and found.iterations == 0 and found.primal == 0.0


def test_an_end_before_the_optimum_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_qp, "MOST_ITERATIONS", 2)
    monkeypatch.setattr(box_qp, "MORE_ITERATIONS", 1)
    monkeypatch.setattr(box_qp, "solve_by_active_set", lambda problem, guess: None)
    with pytest.warns(ConvergenceWarning, match="not solved.*After . iterations: relative duality gap"):
        found = solve_box_qp(quantile_program())
    assert not found.status.optimal
    assert not solve_box_qp(quantile_program(), quiet=True).status.optimal


def test_equalities_that_cannot_hold_are_told() -> None:
    problem = reject_program(drop=0.0)
    with pytest.raises(InputError, match="No point of the boxes satisfies the equalities"):
        solve_box_qp(replace(problem, b=np.array([1e6, 0.0])))
    # each equality can hold, both together cannot: one wants all of g1 and none of g2, the other all of g2 where y is 1
    y = problem.A[0, 0]
    most = float(problem.upper[:, y > 0].sum())
    with pytest.warns(ConvergenceWarning, match="equalities"):
        found = solve_box_qp(replace(problem, b=np.array([most, float(problem.upper[0].sum())])))
    assert found.residuals.equality > 1e-3


def test_bad_programs() -> None:
    problem = quantile_program()
    with pytest.raises(InputError, match="do not fit"):
        solve_box_qp(replace(problem, c=problem.c[:, 1:]))
    with pytest.raises(InputError, match="infinite or missing"):
        solve_box_qp(replace(problem, c=problem.c * np.nan))
    with pytest.raises(InputError, match="above its upper"):
        solve_box_qp(replace(problem, lower=problem.upper + 1.0))
    with pytest.raises(InputError, match="not positive semidefinite"):
        solve_box_qp(replace(problem, Q=Dense(-1e6 * np.eye(80))))


def test_equalities_that_depend_on_each_other() -> None:
    problem = quantile_program()
    twice = replace(problem, A=np.concatenate((problem.A, -2.0 * problem.A)), b=np.zeros(2))
    found = solve_box_qp(twice)
    assert found.status.optimal and found.primal == pytest.approx(solve_box_qp(problem).primal, rel=1e-9)
    with pytest.warns(ConvergenceWarning, match="equalities"):
        solve_box_qp(replace(twice, b=np.array([0.0, 1.0])))
    # of two variables that are open, one per block: y'(g' + g'') = 0 and 1'(g' - g'') = 0 say the same
    y = np.array([1.0, 1.0])
    open_ = np.array([[1.0, 0.0], [0.0, 1.0]])
    A = np.array([[y, y], [np.ones(2), -np.ones(2)]])
    other = BoxQP(
        Dense(np.eye(2)), -np.ones((2, 2)), -0.5 * open_, 0.5 * open_, A * np.array([[[1.0], [-1.0]]]), y * 0.0
    )
    assert solve_box_qp(other).status.optimal


@pytest.mark.parametrize("kind", ["matrix", "no matrix"])
def test_boxes_much_wider_than_the_solution(kind: str) -> None:
    """Rows told apart at any C: from some C on the solution is that of no upper bounds, and has nothing of theirs."""
    problem = reject_program(C=1.0, drop=0.0)
    Q = problem.Q if kind == "matrix" else Dense(0.0 * matrix_of(problem))
    c = problem.c if kind == "matrix" else -problem.c  # without Q nothing is best
    wide = [solve_box_qp(replace(problem, Q=Q, c=c, upper=problem.upper * C)) for C in (1e4, 1e8, 1e10)]
    for one in wide[1:]:
        assert one.status.optimal
        assert one.primal == pytest.approx(wide[0].primal, rel=1e-9, abs=1e-9)


def test_nothing_pulls() -> None:
    for problem in (reject_program(), quantile_program()):
        for Q in (problem.Q, Dense(0.0 * matrix_of(problem))):
            found = solve_box_qp(replace(problem, Q=Q, c=0.0 * problem.c))
            assert found.status.optimal and abs(found.primal) < 1e-12


def test_starts_that_do_not_fit_are_left_aside() -> None:
    problem = reject_program()
    found = solve_box_qp(problem)
    free = replace(problem, A=problem.A[:0], b=problem.b[:0])
    without = solve_box_qp(free)
    assert solve_box_qp(free, without).warm and without.status.optimal
    for other in (replace(problem, A=problem.A[:1], b=problem.b[:1]), free):
        again = solve_box_qp(other, found)
        assert not again.warm and again.primal == pytest.approx(solve_box_qp(other).primal, rel=1e-9)
