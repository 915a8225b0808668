"""Quantiles held apart: the Newton system, and cvxopt's own solver as referee of the whole problem."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.kernel.kernels import RBF
from qreg_boost.kernel.kqr import solve_kernel_quantile
from qreg_boost.kernel.noncrossing import Crossing, chain_solve, solve_noncrossing
from qreg_boost.kernel.quadratic import Dense

RNG = np.random.default_rng(1)


def test_newton_system() -> None:
    n, H = 6, 4
    Z = RNG.normal(size=(n, n))
    newton = Crossing(Z @ Z.T, H, 0.7)
    M = np.kron(np.hstack((np.eye(H), newton.B)), np.eye(n))
    P = 0.7 * M.T @ np.kron(np.eye(H), Z @ Z.T) @ M
    x = RNG.normal(size=(2 * H - 1) * n)
    np.testing.assert_allclose(newton.times(x), P @ x, atol=1e-12)
    D, r = np.exp(3 * RNG.normal(size=len(x))), RNG.normal(size=(len(x), 2))
    np.testing.assert_allclose(newton.solver(D)(r), np.linalg.solve(P + np.diag(D), r), rtol=1e-8, atol=1e-10)


def test_chains_keep_their_digits() -> None:
    # links 1e20 times the surplus: a chain moves as one, its mean r over the mean surplus
    surplus, links = np.full((3, 1), 1e-10), np.full((2, 1), 1e10)
    x = chain_solve(surplus, links, np.array([1.0, 2.0, 6.0]).reshape(3, 1, 1))
    np.testing.assert_allclose(x.ravel(), 3e10, rtol=1e-12)


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
