"""The exact path of kernel quantile regression in C: by hand, beside the quadratic programs, ties and rank, limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from qreg_boost.kernel import exact_path as module
from qreg_boost.kernel import path_walk
from qreg_boost.kernel.elbow import Elbow
from qreg_boost.kernel.exact_path import ExactPath, PathStatus, exact_path
from qreg_boost.kernel.kernels import RBF, Kernel, Laplace, Linear, Polynomial, Spline
from qreg_boost.kernel.kqr import best_offset, solve_kernel_quantile
from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic

KERNELS: dict[str, Kernel] = {
    "rbf": RBF(0.5),
    "smooth": RBF(0.01),
    "laplace": Laplace(0.5),
    "linear": Linear(),
    "polynomial": Polynomial(degree=3),
}
TAUS = [0.05, 0.5, 0.95]


def simulated(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + rng.normal(size=n) * (0.3 + 0.1 * X[:, 2] ** 2)


def at_random(path: ExactPath, count: int, seed: int = 0) -> np.ndarray:
    """Return C between the first knot and the last, and some below the first."""
    rng = np.random.default_rng(seed)
    return np.exp(rng.uniform(np.log(0.5 * path.C[1]), np.log(path.largest), count))


def violations(form: Quadratic, y: np.ndarray, tau: float, w: np.ndarray, C: float, path: ExactPath) -> float:
    """Return the largest violation of an optimality condition, over the range of y (the box: over its width)."""
    a, side = path.dual(C), path.side(C)
    left = y - form.times(a)
    r = left - best_offset(left, tau, w)
    on = (side == 0) & (w > 0)
    off = np.where(side == 0, np.where(on, np.abs(r), 0.0), np.maximum(-side * r, 0.0))
    box = np.maximum(np.maximum(C * w * (tau - 1) - a, a - C * w * tau), 0.0)
    ends = np.where(side > 0, C * w * tau, C * w * (tau - 1))
    at_end = np.where((side != 0) & (w > 0), np.abs(a - ends), 0.0)
    scale = max(C * w.max(), 1e-300)
    return max(off.max() / np.ptp(y), box.max() / scale, at_end.max() / scale, abs(a.sum()) / scale)


# -- by hand


def test_three_rows_of_which_each_has_a_dimension_of_its_own() -> None:
    # K = 1: f_i = a_i + b. From the median, 1, on: f = 1 - C/2, 1, 1 + C/2. At C = 2 the first row is met, the second
    # goes along with it, a_2 - a_1 = 1, and at 10/3 the third is met too.
    path = exact_path(Dense(np.eye(3)), np.array([0.0, 1.0, 3.0]), 0.5, 8.0)
    np.testing.assert_allclose(path.C, [0.0, 2.0, 10 / 3, 8.0], rtol=1e-12)
    np.testing.assert_allclose(path.loss, [1.5, 0.5, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(path.dual(1.0), [-0.5, 0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(path.dual(2.5), [-(0.5 * 2.5 + 1) / 2, (1 - 0.5 * 2.5) / 2, 1.25], atol=1e-12)
    np.testing.assert_allclose(path.dual(5.0), [-4 / 3, -1 / 3, 5 / 3], atol=1e-12)
    # at a knot the row that comes is not between its ends yet
    assert path.edf.tolist() == [1, 1, 2, 3]
    assert path.status is PathStatus.COMPLETE


def test_an_interval_of_quantiles_at_the_start() -> None:
    # Two rows, 0 and 1: every b between is a median. They part by C until both are met at C = 1.
    path = exact_path(Dense(np.eye(2)), np.array([0.0, 1.0]), 0.5, 3.0)
    np.testing.assert_allclose(path.C, [0.0, 1.0, 3.0], rtol=1e-12)
    np.testing.assert_allclose(path.dual(0.5), [-0.25, 0.25], atol=1e-12)
    np.testing.assert_allclose(path.dual(2.0), [-0.5, 0.5], atol=1e-12)
    assert path.edf[0] == 0 and path.at(0.5, Dense(np.eye(2)), np.array([0.0, 1.0]), np.ones(2)).b == pytest.approx(0.5)


def test_ties_at_the_start_have_the_theta_of_least_penalty() -> None:
    # The rows that tie with the median share their dual variable such that the penalty is least: equally, for K = 1.
    y = np.array([0.0, 0.0, 0.0, 5.0])
    path = exact_path(Dense(np.eye(4)), y, 0.5, 1.0)
    np.testing.assert_allclose(path.dual(1.0), [-1 / 6, -1 / 6, -1 / 6, 0.5], atol=1e-10)
    assert path.edf[0] == 3


# -- beside the quadratic programs


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("name", KERNELS)
def test_beside_the_programs(name: str, tau: float) -> None:
    X, y = simulated()
    form, w = KERNELS[name].form(X), np.ones(len(y))
    path = exact_path(form, y, tau, 100.0)
    assert path.status.complete and path.largest == 100.0 and (np.diff(path.C) > 0).all()
    assert (path.gap < 1e-8).all() and (np.diff(path.penalty) > -1e-8 * path.penalty[-1]).all()
    assert (np.diff(path.loss) < 1e-9 * path.loss[0]).all()
    for C in at_random(path, 6):
        found = path.at(C, form, y, w)
        program = solve_kernel_quantile(form, y, tau, C, w)
        assert found.optimal and found.duality_gap < 1e-8
        assert found.objective == pytest.approx(program.objective, rel=1e-8)
        np.testing.assert_allclose(found.fit, program.fit, atol=1e-6 * np.ptp(y))
        assert (found.side == 1).mean() <= 1 - tau + 1e-12 and (found.side == -1).mean() <= tau + 1e-12


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("name", KERNELS)
def test_optimal_at_and_between_all_knots(name: str, tau: float) -> None:
    X, y = simulated(60)
    form, w = KERNELS[name].form(X), np.ones(len(y))
    path = exact_path(form, y, tau, 1000.0)
    between = np.sqrt(path.C[1:-1] * path.C[2:])
    worst = max(violations(form, y, tau, w, C, path) for C in [*path.C[1:], *between])
    assert worst < 1e-8


def test_piecewise_linear_in_lambda_and_the_loss_in_C() -> None:
    X, y = simulated()
    form, w = KERNELS["rbf"].form(X), np.ones(len(y))
    path = exact_path(form, y, 0.3, 50.0)
    for k in np.linspace(1, len(path.C) - 2, 9).astype(int):
        lam = 1.0 / path.C[[k, k + 1]]
        C = 1.0 / (0.3 * lam[0] + 0.7 * lam[1])
        theta = [path.dual(one) / one for one in (path.C[k], C, path.C[k + 1])]
        np.testing.assert_allclose(theta[1], 0.3 * theta[0] + 0.7 * theta[2], atol=1e-10)
        loss = np.interp(C, path.C[[k, k + 1]], path.loss[[k, k + 1]])
        assert path.at(C, form, y, w).loss == pytest.approx(loss, rel=1e-9)


def test_the_end_of_a_linear_path_is_quantile_regression() -> None:
    X, y = simulated()
    from qreg_boost.quantreg.interior_point import interior_point

    path = exact_path(LowRank(X), y, 0.3, 1e5)
    least = interior_point(np.column_stack([np.ones(len(y)), X]), y, 0.3)
    assert path.loss[-1] == pytest.approx(least.objective, rel=1e-9)
    assert path.edf[-1] == 4


# -- weights, order, units


def test_weights_are_repetitions() -> None:
    X, y = simulated(50)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), times)
    few, many = KERNELS["rbf"].form(X), KERNELS["rbf"].form(X[again])
    weighted = exact_path(few, y, 0.3, 20.0, times.astype(float))
    repeated = exact_path(many, y[again], 0.3, 20.0)
    for C in at_random(weighted, 8):
        one = weighted.at(C, few, y, times.astype(float))
        other = repeated.at(C, many, y[again], np.ones(len(again)))
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
        np.testing.assert_allclose(one.fit[again], other.fit, atol=1e-6 * y.std())
        assert (one.a[times == 0] == 0).all() and (one.side[times == 0] == 0).all()


def test_rows_in_another_order_and_other_units() -> None:
    X, y = simulated(80)
    order = np.random.default_rng(2).permutation(len(y))
    form, moved = KERNELS["laplace"].form(X), KERNELS["laplace"].form(X[order])
    path, other = exact_path(form, y, 0.7, 30.0), exact_path(moved, y[order], 0.7, 30.0)
    np.testing.assert_allclose(path.C, other.C, rtol=1e-7)
    np.testing.assert_allclose(path.dual(7.0)[order], other.dual(7.0), atol=1e-8)
    # y in other units, far from 0, weights in others: C changes with them
    units = exact_path(form, 1e4 + 100.0 * y, 0.7, 30.0 * 100 / 8, np.full(len(y), 8.0))
    np.testing.assert_allclose(units.C * 8 / 100, path.C, rtol=1e-6)
    np.testing.assert_allclose(units.loss, 800.0 * path.loss, rtol=1e-6, atol=1e-6)


# -- ties, duplicates, rank


def awkward() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray | None]]:
    rng = np.random.default_rng(4)
    n = 48
    few = rng.normal(size=(n // 3, 1))
    i = rng.integers(0, len(few), n)
    yield "duplicates", few[i], (few[:, 0] ** 2)[i], None
    yield "weighted duplicates", few[i], few[i, 0] ** 2 + (i % 3), rng.integers(0, 4, n).astype(float)
    yield "duplicates that tie at the start", few[i], np.minimum(few[:, 0] ** 2, 0.3)[i], None
    yield "equal rows, other responses", few[i], rng.normal(size=n), None
    yield "integers", rng.integers(0, 4, (n, 2)).astype(float), rng.integers(0, 3, n).astype(float), None
    yield "rounded response", rng.normal(size=(n, 3)), np.round(rng.normal(size=n)), None
    half = np.arange(1.0, n // 2 + 1)
    yield "mirrored", np.r_[-half, half][:, None] / n, np.r_[half % 3, half % 3], None
    yield "a kink", np.arange(n, dtype=float)[:, None] / n, np.abs(np.arange(n) - n // 2).astype(float), None
    yield "no noise", np.c_[np.arange(n), np.arange(n) ** 2] / n**2, 2.0 * np.arange(n) / n, None
    yield "heavy tails", rng.normal(size=(n, 2)), np.exp(2 * rng.normal(size=n)), np.exp(2 * rng.normal(size=n))
    yield "a constant predictor", np.zeros((n, 1)), rng.normal(size=n), None
    yield "constant", rng.normal(size=(n, 2)), np.full(n, 3.0), None
    yield "two rows", np.array([[0.0], [1.0]]), np.array([2.0, 5.0]), None
    yield "one row", np.array([[0.5]]), np.array([2.0]), None


@pytest.mark.parametrize("tau", [0.25, *TAUS])
@pytest.mark.parametrize("name", KERNELS)
def test_awkward_rows(name: str, tau: float) -> None:
    for what, X, y, weights in awkward():
        form, w = KERNELS[name].form(X), np.ones(len(y)) if weights is None else weights
        path = exact_path(form, y, tau, 50.0, weights)
        assert path.status.complete and (path.gap <= 1e-8).all(), what
        assert (np.diff(path.C) > 0).all() and path.largest == 50.0, what
        for C in at_random(path, 3):
            found = path.at(C, form, y, w)
            assert found.duality_gap <= 1e-8 and abs(found.a.sum()) <= 1e-10 * C * w.max(), (what, C)
            program = solve_kernel_quantile(form, y, tau, C, w)
            assert found.objective <= program.objective * (1 + 1e-8) + 1e-12, (what, C)


def test_rows_that_depend_are_on_the_fit_but_not_in_the_elbow() -> None:
    # on a straight line, in a space of lines: two rows hold the line, the others lie on it
    x = np.linspace(-1, 1, 30)
    path = exact_path(LowRank(x[:, None]), 2 * x, 0.5, 1000.0)
    assert path.loss[-1] < 1e-10 and len(path.C) < 100
    assert path.penalty[-1] == pytest.approx(2.0, rel=1e-9)


def test_the_elbow_refuses_what_is_not_definite_and_ridges_duplicates() -> None:
    elbow = Elbow(Dense(np.ones((2, 2))), 0)
    new = elbow.newcomer(1)
    assert new.dependent and new.share == pytest.approx(1.0)
    elbow.add(new)
    d, d0 = elbow.solve(np.array([1.0, 1.0]), 0.0)
    np.testing.assert_allclose([*d, d0], [0.0, 0.0, 1.0], atol=1e-6)
    with pytest.raises(ArithmeticError, match="not positive semidefinite"):
        Elbow(Dense(np.array([[1.0, 4.0], [4.0, 1.0]])), 0).newcomer(1)


@pytest.mark.parametrize("count", [5, 40, 150])
def test_the_elbow_is_that_of_its_rows(count: int) -> None:
    # rows come and go: the factor brought along is that of the rows there are
    X, _ = simulated(60)
    form = KERNELS["rbf"].form(X)
    rng, elbow = np.random.default_rng(count), Elbow(form, 7)
    for _ in range(count):
        row = int(rng.integers(60))
        if row in elbow.rows and len(elbow) > 1:
            elbow.remove(row)
        elif row not in elbow.rows:
            elbow.add(elbow.newcomer(row))
    r = rng.normal(size=len(elbow))
    d, d0 = elbow.solve(r, 0.5)
    inside = form.Q[np.ix_(elbow.rows, elbow.rows)]
    np.testing.assert_allclose(inside @ d + d0, r, atol=1e-8)
    assert d.sum() == pytest.approx(0.5)


# -- where it cannot go on


def test_a_path_with_too_many_knots_ends_early_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = simulated(60)
    form = KERNELS["rbf"].form(X)
    monkeypatch.setattr(module, "MOST_KNOTS", 1)
    path = exact_path(form, y, 0.5, 100.0)
    assert path.status is PathStatus.LONG and 0 < path.largest < 100.0 and (path.gap <= 1e-8).all()
    assert path.at(path.largest, form, y, np.ones(60)).optimal


def test_a_walk_that_stalls_ends_early_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = simulated(60)
    monkeypatch.setattr(path_walk, "PATIENCE", -1)
    monkeypatch.setattr(path_walk, "MOST_TIMES", 0)
    path = exact_path(KERNELS["rbf"].form(X), y, 0.5, 100.0)
    assert path.status is PathStatus.STALLED and path.largest < 100.0 and (path.gap <= 1e-8).all()


def test_a_matrix_that_is_no_kernel_ends_early_and_says_so() -> None:
    X, y = simulated(40)
    wrong = RBF(0.5).matrix(X) - 0.6 * np.eye(40)
    path = exact_path(Dense(wrong), y, 0.5, 100.0)
    assert path.status in (PathStatus.INDEFINITE, PathStatus.INEXACT) and path.largest < 100.0


def test_where_rounding_shows_the_path_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = simulated(60)
    form, w = KERNELS["polynomial"].form(X), np.ones(60)
    exact = exact_path(form, y, 0.5, 1e4)
    allowed = float(np.sort(exact.gap)[-2])
    monkeypatch.setitem(module.ALLOWED, "gap", allowed)
    path = exact_path(form, y, 0.5, 1e4)
    assert path.status is PathStatus.INEXACT and 0 < path.largest < 1e4
    assert (path.gap[:-1] <= allowed).all()
    assert path.at(path.largest, form, y, w).optimal


def test_spline_kernel() -> None:
    x = np.random.default_rng(5).uniform(size=(80, 1))
    y = np.sin(6 * x[:, 0]) + 0.2 * np.random.default_rng(6).normal(size=80)
    path = exact_path(Spline().form(x), y, 0.8, 1000.0)
    assert path.status.complete and (path.gap <= 1e-8).all() and len(path.C) > 80


def test_responses_that_differ_by_rounding_are_ties() -> None:
    # one ulp apart, rows would meet the fit at C of 1e-16, and lambda would lose all its digits from there on
    X, _ = simulated(40)
    y = np.round(np.random.default_rng(8).normal(size=40))
    y[::2] = np.nextafter(y[::2], np.inf)
    path = exact_path(KERNELS["rbf"].form(X), y, 0.5, 100.0)
    assert path.status.complete and path.C[1] > 1e-6 and (path.gap < 1e-10).all()


def test_responses_that_nearly_tie_start_at_a_tiny_C() -> None:
    X, _ = simulated(40)
    y = np.round(np.random.default_rng(8).normal(size=40)) + 1e-11 * np.arange(40)
    form, w = KERNELS["rbf"].form(X), np.ones(40)
    path = exact_path(form, y, 0.5, 100.0)
    assert path.status.complete and 0 < path.C[1] < 1e-9 and (path.gap < 1e-10).all()
    assert max(violations(form, y, 0.5, w, C, path) for C in path.C[path.C > 1e-3]) < 1e-8


def problem(rng: np.random.Generator) -> tuple[Quadratic, np.ndarray, np.ndarray, float, float]:
    """Return a small problem of any kind: form, y, weights, tau, largest C."""
    n, p = int(rng.integers(1, 60)), int(rng.integers(1, 4))
    kinds = (rng.normal(size=(n, p)), rng.integers(0, 3, (n, p)).astype(float), np.round(rng.normal(size=(n, p)), 1))
    X = kinds[rng.integers(3)]
    noise = rng.normal(size=n)
    responses = (noise, np.round(noise), X.sum(axis=1), np.round(X.sum(axis=1) + noise), rng.standard_t(2, n))
    kernels = (RBF(10 ** rng.uniform(-2, 1)), Laplace(10 ** rng.uniform(-2, 1)), Linear(), Polynomial(2), Spline())
    kernel = kernels[rng.integers(5)]
    weights = (np.ones(n), rng.integers(0, 4, n).astype(float), np.exp(rng.normal(size=n)))[rng.integers(3)]
    weights[0] = 1.0
    unit = 10 ** rng.uniform(-6, 6)
    y = unit * (responses[rng.integers(5)] + 10 * (rng.random() < 0.3))
    tau = float(rng.choice([0.05, 0.25, 0.5, 0.9, rng.uniform(0.02, 0.98)]))
    form = kernel.form(np.abs(X) if isinstance(kernel, Spline) else X)
    return form, y, weights, tau, 10 ** rng.uniform(-2, 2.5) * unit / weights.max()


@pytest.mark.parametrize("seed", range(8))
def test_any_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for case in range(20):
        form, y, w, tau, largest = problem(rng)
        path = exact_path(form, y, tau, largest, w)
        assert path.status.complete and (path.gap <= 1e-8).all(), case
        for C in largest * 10 ** rng.uniform(-3, 0, 2):
            found, program = path.at(C, form, y, w), solve_kernel_quantile(form, y, tau, C, w)
            rounding = 1e-13 * C * float(w @ np.abs(y))
            assert found.duality_gap <= 1e-8 and found.objective <= program.objective * (1 + 1e-8) + rounding, case
