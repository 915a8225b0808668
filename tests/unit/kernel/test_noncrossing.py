"""Quantiles held apart: the Newton system, and cvxopt's own solver as referee of the whole problem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from qreg_boost.kernel import noncrossing
from qreg_boost.kernel.crossing_pairs import Pairs
from qreg_boost.kernel.kernels import RBF
from qreg_boost.kernel.kqr import solve_kernel_quantile
from qreg_boost.kernel.noncrossing import solve_noncrossing
from qreg_boost.kernel.quadratic import Dense

RNG = np.random.default_rng(1)


def matrices(n: int, H: int, pairs: int) -> tuple[Pairs, np.ndarray]:
    """Return a quadratic term with constraints at some pairs, and its matrix written out."""
    Z = RNG.normal(size=(n, n))
    gap, row = np.divmod(np.sort(RNG.choice((H - 1) * n, pairs, replace=False)), n)
    newton = Pairs(Z @ Z.T, H, 0.7, gap, row)
    chain = np.kron(np.eye(H, H - 1, -1) - np.eye(H, H - 1), np.eye(n))
    M = np.hstack((np.eye(H * n), chain[:, gap * n + row]))
    return newton, 0.7 * M.T @ np.kron(np.eye(H), Z @ Z.T) @ M


@pytest.mark.parametrize("pairs", [0, 1, 7, 18])
def test_newton_system(pairs: int) -> None:
    newton, P = matrices(6, 4, pairs)
    x = RNG.normal(size=24 + pairs)
    np.testing.assert_allclose(newton.times(x), P @ x, atol=1e-12)
    np.testing.assert_allclose(newton.times(x[:, None])[:, 0], P @ x, atol=1e-12)
    np.testing.assert_allclose(newton.sums @ x[24:], newton.spread(x[24:]).sum(axis=1), atol=1e-14)
    D, r = np.exp(3 * RNG.normal(size=len(x))), RNG.normal(size=(len(x), 2))
    np.testing.assert_allclose(newton.solver(D)(r), np.linalg.solve(P + np.diag(D), r), rtol=1e-8, atol=1e-10)


def test_the_system_keeps_its_digits_where_variables_part() -> None:
    """Barriers of 1e-9 at the elbow and 1e9 at the bounds, as at the end of a run, where differences lose all digits.

    The reference is elimination in exact fractions; each variable is compared by its own size.
    """
    newton, _ = matrices(4, 3, 8)
    exactly = np.vectorize(Fraction, otypes=[object])
    M = np.hstack((np.eye(12), newton.spread(np.eye(8)).reshape(12, 8))).astype(int).astype(object)
    K = np.full((12, 12), Fraction(0), dtype=object)
    for h in range(3):
        K[4 * h : 4 * h + 4, 4 * h : 4 * h + 4] = exactly(newton.K) * Fraction(newton.scale)
    D, r = np.where(RNG.random(20) < 0.4, 1e-9, 1e9), RNG.normal(size=20)
    system = np.column_stack((M.T @ K @ M, exactly(r)))
    system[np.arange(20), np.arange(20)] += exactly(D)
    for p in range(20):
        system[p] = system[p] / system[p, p]
        for q in set(range(20)) - {p}:
            system[q] = system[q] - system[q, p] * system[p]
    np.testing.assert_allclose(newton.solver(D)(r[:, None])[:, 0], system[:, 20].astype(float), rtol=1e-5)


def test_constraints_enter_where_fits_cross(monkeypatch: pytest.MonkeyPatch) -> None:
    n, taus = 60, [0.2, 0.4, 0.5, 0.6]
    X = RNG.normal(size=(n, 1))
    y = np.sin(2 * X[:, 0]) + RNG.normal(size=n)
    form, w = Dense(RBF(3.0).matrix(X)), 1.0 + np.arange(n) % 2
    counts: list[int] = []
    held_at = noncrossing._held_at

    def counted(held: np.ndarray, *rest: object) -> object:
        counts.append(int(held.sum()))
        return held_at(held, *rest)

    monkeypatch.setattr(noncrossing, "_held_at", counted)
    monkeypatch.setattr(noncrossing, "NEAR", 0.0)  # none but those that cross, so that more enter later
    few = solve_noncrossing(form, y, taus, 50.0, w)
    assert len(counts) > 1 and counts == sorted(counts) and counts[-1] < 3 * n
    monkeypatch.setattr(noncrossing, "ROUNDS", 0)  # all of them at once
    every = solve_noncrossing(form, y, taus, 50.0, w)
    assert counts[-1] == 3 * n
    assert sum(one.objective for one in few) == pytest.approx(sum(one.objective for one in every), rel=1e-8)
    np.testing.assert_allclose([one.fit for one in few], [one.fit for one in every], atol=1e-5)
    assert (np.diff([one.fit for one in few], axis=0) >= -1e-12).all()


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_objective_is_that_of_cvxopts_own_solver(C: float) -> None:
    from cvxopt import matrix, solvers

    n, taus = 25, [0.2, 0.5, 0.7]
    H = len(taus)
    X = RNG.normal(size=(n, 1))
    y = np.sin(2 * X[:, 0]) + RNG.normal(size=n)
    K = RBF(3.0).matrix(X)
    w = 1.0 + np.arange(n) % 2
    found = solve_noncrossing(Dense(K), y, taus, C, w)
    fits = np.array([one.fit for one in found])
    assert (np.diff(fits, axis=0) >= -1e-12).all()
    assert all(one.optimal for one in found)
    # The dual with everything written out: boxed u (H n), multipliers c >= 0 of the constraints.
    M = np.kron(np.hstack((np.eye(H), np.eye(H, H - 1, -1) - np.eye(H, H - 1))), np.eye(n))
    P = M.T @ np.kron(np.eye(H), K) @ M
    q = np.concatenate((np.tile(-y, H), np.zeros((H - 1) * n)))
    G = np.vstack((-np.eye(len(q)), np.eye(len(q))[: H * n]))
    low = np.concatenate([C * w * (1 - tau) for tau in taus])
    h = np.concatenate((low, np.zeros((H - 1) * n), *(C * w * tau for tau in taus)))
    A = np.kron(np.eye(H), np.ones(n)) @ M
    options = {"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11}
    dual = solvers.qp(*(matrix(part) for part in (P, q, G, h, A, np.zeros(H))), options=options)
    assert sum(one.objective for one in found) == pytest.approx(-dual["primal objective"], rel=1e-6)
    apart = [solve_kernel_quantile(Dense(K), y, tau, C, w) for tau in taus]
    assert sum(one.objective for one in apart) <= sum(one.objective for one in found) * (1 + 1e-9)
