"""Difference-of-convex steps: each one optimal, R falling, duals where theory puts them, degenerate steps solved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from qreg_boost.kernel.quadratic import Dense, LowRank
from qreg_boost.reject.dca import (
    STARTS,
    Beyond,
    Minima,
    Minimum,
    Point,
    Task,
    convex_step,
    descend,
    from_starts,
    hinges_fit,
    symmetric,
    zero_start,
)
from qreg_boost.reject.losses import (
    Hinges,
    double_hinge,
    double_ramp,
    generalized_hinge,
    hinge,
    ramp_convex,
)

WELL = 1e-7
"""Of 1e-8 duality gap and 1e-6 complementarity, what is left in margins of order 1."""


def rows(n: int = 80, p: int = 3, seed: int = 0, noise: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X @ np.arange(1.0, p + 1.0) + noise * 2.0 * rng.standard_normal(n) > 0.3, 1.0, -1.0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def task(
    X: np.ndarray, y: np.ndarray, d: float = 0.2, C: float = 1.0, mu: float = 1.0, gamma: float | None = None
) -> Task:
    n = len(y)
    if gamma is None:
        K = X @ X.T
    else:
        squares = (X**2).sum(axis=1)
        K = np.exp(-gamma * np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0))
    return Task(Dense(K * np.outer(y, y)), y, np.full(n, C), np.full(n, d), mu, d < 0.5)


def deterministic(one: Task, random: int = 0, seed: int = 0) -> Minima:
    return from_starts(one, list(STARTS), random, np.random.default_rng(seed))


@pytest.mark.parametrize("d", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("mu", [0.3, 1.0])
@pytest.mark.parametrize("gamma", [None, 0.3])
def test_each_convex_step_is_optimal(d: float, mu: float, gamma: float | None) -> None:
    """Primal objective at (w, b, rho) = dual objective: both are optimal, and b and rho are the multipliers."""
    X, y = rows()
    one = task(X, y, d, 2.0, mu, gamma)
    rng = np.random.default_rng(1)
    upper = rng.random(len(y)) < 0.2
    beyond = Beyond(upper, upper & (rng.random(len(y)) < 0.5))
    point, found = convex_step(one, beyond)
    assert found.status.optimal
    beta = np.stack((one.C * d * beyond.upper, one.C * (1.0 - d) * beyond.lower)) / mu
    rho = float(np.copysign(point.rho, -found.multipliers[1]))  # before it was raised to its size
    primal = 0.5 * point.norm2 + float(one.C @ ramp_convex(point.t, rho, one.d, mu))
    primal += float(beta[0] @ (point.t - rho) + beta[1] @ (point.t + rho))
    dual = mu * float((found.u + beta).sum()) - 0.5 * point.norm2
    assert primal == pytest.approx(dual, rel=WELL)


FITS = [
    (d, C, mu, gamma, seed)
    for d in (0.05, 0.2, 0.35, 0.5)
    for C in (0.1, 2.0, 50.0)
    for mu, gamma in ((1.0, None), (0.4, None), (1.0, 0.5))
    for seed in (0, 1)
]


@pytest.mark.parametrize("d, C, mu, gamma, seed", FITS)
def test_R_never_rises_and_the_duals_sit_where_they_must(
    d: float, C: float, mu: float, gamma: float | None, seed: int
) -> None:
    X, y = rows(60, 3, seed)
    one = task(X, y, d, C, mu, gamma)
    found = deterministic(one, 3)
    for each in found.each:
        assert each.converged
        assert (np.diff(each.risks) <= 0.0).all()
        assert each.point.rho >= 0.0
        assert each.worst.residuals.kkt < 1e-6
        assert each.risk == pytest.approx(one.risk(each.point))
        if each.repeated and one.band:
            _check_duals(one, each)
    assert found.best.risk == min(each.risk for each in found.each)
    assert found.distinct <= len(found.each)
    if d == 0.5:
        assert found.best.point.rho == 0.0


def _check_duals(one: Task, each: Minimum) -> None:
    """papers/README: g' is 0 where t - rho > mu, C d / mu on (-mu^2, mu), 0 below; g'' likewise in t + rho."""
    near = 1e-4  # a residual of 1e-6 of the gradient's scale, here up to 50 rows' worth
    for g, s, width in (
        (each.u[0], each.point.t - each.point.rho, one.C * one.d / one.mu),
        (each.u[1], each.point.t + each.point.rho, one.C * (1.0 - one.d) / one.mu),
    ):
        share = g / width
        assert (share > -1e-4).all() and (share < 1.0 + 1e-4).all()
        np.testing.assert_allclose(share[s > one.mu + near], 0.0, atol=1e-4)
        np.testing.assert_allclose(share[(s < one.mu - near) & (s > -(one.mu**2) + near)], 1.0, atol=1e-4)
        np.testing.assert_allclose(share[s < -(one.mu**2) - near], 0.0, atol=1e-4)


def test_table_2_of_the_paper_where_the_band_is_wide() -> None:
    """Only one of the two duals of a row is above 0 if rho >= (mu + mu^2) / 2."""
    X, y = rows(150, 2, noise=0.5)
    seen = 0
    for d in (0.05, 0.1, 0.2):
        for mu in (0.2, 0.5):
            best = deterministic(task(X, y, d, 20.0, mu)).best
            if best.repeated and best.point.rho > (mu + mu**2) / 2.0:
                seen += 1
                assert (np.minimum(*np.abs(best.u)) < 1e-4 * 20.0).all()
    assert seen >= 2


@pytest.mark.parametrize("gamma", [None, 0.4])
@pytest.mark.parametrize("d", [0.1, 0.3, 0.5])
def test_same_R_for_permuted_rows_and_swapped_labels(gamma: float | None, d: float) -> None:
    X, y = rows(70, 3, 4)
    best = deterministic(task(X, y, d, 3.0, 1.0, gamma)).best.risk
    order = np.random.default_rng(0).permutation(len(y))
    assert deterministic(task(X[order], y[order], d, 3.0, 1.0, gamma)).best.risk == pytest.approx(best, rel=1e-8)
    assert deterministic(task(X, -y, d, 3.0, 1.0, gamma)).best.risk == pytest.approx(best, rel=1e-8)


def test_the_steps_leave_where_nothing_is_told_apart() -> None:
    """From zero, mu = 1: w = 0 and rho = 1 is optimal for the first step, and every row at the end of a ramp."""
    X, y = rows(200, 2, 1, noise=0.5)
    X = np.sign(X) * np.abs(X) ** 0.3
    one = task(X, y, 0.05, 2.0)
    first, _ = convex_step(one, zero_start(one).beyond)
    assert np.abs(first.t).max() < 1e-6 and first.rho == pytest.approx(1.0, abs=1e-6)
    none = np.zeros(len(y), dtype=bool)
    assert Beyond.of(first.t, first.rho, 1.0).same(Beyond(none, none))
    end = descend(one, zero_start(one).beyond, "zero")
    assert len(end.risks) > 2 and end.risk < 0.9 * one.risk(first)
    order = np.random.default_rng(0).permutation(len(y))
    again = task(X[order], y[order], 0.05, 2.0)
    assert descend(again, zero_start(again).beyond, "zero").risk == pytest.approx(end.risk, rel=1e-8)


@pytest.mark.parametrize("second, taken", [(10.0 * (1.0 - 1e-11), 1), (10.0 * (1.0 + 1e-11), 1), (9.99, 2)])
def test_a_step_that_rounding_alone_lowers_is_not_taken(second: float, taken: int, monkeypatch) -> None:
    """(b, rho) may be elsewhere at the same R: which of both is kept must not depend on the last digits."""
    X, y = rows(70, 3, 4)
    values = iter([10.0, second, *[9.99] * 9])
    monkeypatch.setattr(Task, "risk", lambda self, point: next(values))
    end = descend(task(X, y, 0.2, 50.0), Beyond(y * X[:, 0] < -1.0, y * X[:, 0] < -2.0), "given")
    assert len(end.risks) == taken and end.converged


def test_the_first_of_equal_minima_is_kept_in_any_order() -> None:
    """Everything withheld, by two starts and with two rho: sums of losses that differ by 1e-16 chose between them."""
    rng = np.random.default_rng(364)
    for _ in range(4):
        X = rng.normal(size=(40, 2))
        y = np.where(X[:, 0] + 3.0 * rng.normal(size=40) > 0.0, 1.0, -1.0)
        found = []
        for _ in range(6):
            order = rng.permutation(40)
            found.append(deterministic(task(X[order], y[order], 0.2, 3.7513979839654623)))
        assert len({one.best.start for one in found}) == 1
        assert len({one.best.risk for one in found}) == 1


@pytest.mark.parametrize("C, d, gamma", [(10.0, 0.5, 0.3), (100.0, 0.3, None), (100.0, 0.5, 0.3)])
def test_rows_that_contradict_each_other(C: float, d: float, gamma: float | None) -> None:
    """At mu = 1 the contradiction of a row on a margin is at the end of a ramp: rounding must not say on which side."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    X = np.vstack((X, X[:14]))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=44) > 0.0, 1.0, -1.0)
    y[30:] = -y[:14]
    risks = []
    for _ in range(8):
        order = rng.permutation(44)
        risks.append([one.risk for one in deterministic(task(X[order], y[order], d, C, 1.0, gamma)).each])
    np.testing.assert_allclose(risks, np.broadcast_to(risks[0], (8, 3)), rtol=1e-8)


def test_same_rng_same_R_and_the_best_is_kept() -> None:
    X, y = rows(70, 3, 4)
    one = task(X, y, 0.2, 10.0)
    first, again = deterministic(one, 4, 7), deterministic(one, 4, 7)
    assert [m.risk for m in first.each] == [m.risk for m in again.each]
    assert first.best.risk <= deterministic(one).best.risk
    assert [m.start for m in first.each] == ["zero", "svm", "double_hinge", *(f"random {k}" for k in range(1, 5))]
    assert first.spread == max(m.risk for m in first.each) - first.best.risk


def test_low_rank_and_dense_agree() -> None:
    X, y = rows(100, 3, 2)
    dense = task(X, y, 0.2, 2.0)
    low = replace(dense, Q=LowRank(y[:, None] * X))
    assert deterministic(low).best.risk == pytest.approx(deterministic(dense).best.risk, rel=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "double", "generalized"])
@pytest.mark.parametrize("gamma", [None, 0.5])
def test_convex_losses_at_their_optimum(loss: str, gamma: float | None) -> None:
    """Primal objective = dual objective."""
    X, y = rows(90, 3, 5)
    one = task(X, y, 0.2, 2.0, 1.0, gamma)
    d = np.full(len(y), 0.2)
    hinges = {"hinge": hinge(len(y)), "double": double_hinge(d), "generalized": generalized_hinge(d)}[loss]
    point, found = hinges_fit(one, hinges, 0.5)
    primal = 0.5 * point.norm2 + float(one.C @ hinges.value(point.t))
    dual = float((hinges.kinks[: len(found.u)] * found.u).sum()) - 0.5 * point.norm2
    assert primal == pytest.approx(dual, rel=WELL)


def test_the_first_step_without_band_is_the_support_vector_machine() -> None:
    svm = pytest.importorskip("sklearn.svm")
    X, y = rows(90, 3, 5)
    point, _ = convex_step(task(X, y, 0.5, 2.0), zero_start(task(X, y, 0.5)).beyond)
    peer = svm.SVC(C=2.0, kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(point.t * y, peer.decision_function(X), atol=1e-5)  # libsvm's tol


def test_a_hinge_at_one_half_has_one_block() -> None:
    X, y = rows()
    one = task(X, y, 0.5)
    _, found = hinges_fit(one, generalized_hinge(one.d), 0.5)
    assert found.u.shape == (1, len(y))


# -- offsets that are intervals ----------------------------------------------------------------------------------------


def least_by_program(one: Task, point: Point, beyond: Beyond) -> list[tuple[float, float]]:
    """Return least and largest b - rho and b + rho among the optimal (b, rho) of a convex step given w, by HiGHS."""
    n, t0 = len(one.y), point.t - point.b * one.y
    widths = np.stack((one.C * one.d, one.C * (1.0 - one.d))) / one.mu
    beta = widths * np.stack((beyond.upper, beyond.lower))
    cost = np.concatenate((
        [float(((beta[0] + beta[1]) * one.y).sum()), float((beta[1] - beta[0]).sum())], widths.ravel()
    ))  # fmt: skip
    # slacks of both hinges: s >= mu - t0 - y b +- rho, s >= 0
    rows = np.hstack((
        np.vstack((np.stack((-one.y, np.ones(n)), 1), np.stack((-one.y, -np.ones(n)), 1))), -np.eye(2 * n)
    ))  # fmt: skip
    right = np.tile(t0 - one.mu, 2)
    bounds = [(None, None)] * 2 + [(0.0, None)] * (2 * n)
    least = linprog(cost, rows, right, bounds=bounds, method="highs").fun
    held, at = np.vstack((rows, cost)), np.append(right, least + 1e-10 * (1.0 + abs(least)))
    ends = []
    for direction in ([1.0, -1.0], [1.0, 1.0]):
        c = np.concatenate((direction, np.zeros(2 * n)))
        low, high = (linprog(s * c, held, at, bounds=bounds, method="highs") for s in (1.0, -1.0))
        ends.append((low.fun, -high.fun))
    return ends


@pytest.mark.parametrize("seed", range(12))
def test_the_band_is_the_middle_of_all_optimal_ones(seed: int) -> None:
    """Whole shares of prices, so that slopes of 0 are common: with d = 1/4 three events weigh as one other."""
    rng = np.random.default_rng(seed)
    X, y = rows(16, 2, seed)
    one = task(X, y, float(rng.choice([0.2, 0.25, 1.0 / 3.0])), float(rng.choice([0.01, 0.05])), 1.0)
    upper = rng.random(len(y)) < 0.2
    beyond = Beyond(upper, upper & (rng.random(len(y)) < 0.5))
    point, _ = convex_step(one, beyond)
    (low, high), (low2, high2) = least_by_program(one, point, beyond)
    b, rho = 0.25 * (low + high + low2 + high2), 0.25 * (low2 + high2 - low - high)
    assert point.b == pytest.approx(b, abs=1e-5) and point.rho == pytest.approx(abs(rho), abs=1e-5)


def test_the_seeds_above_hold_intervals() -> None:
    wide = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rows(16, 2, seed)
        one = task(X, y, float(rng.choice([0.2, 0.25, 1.0 / 3.0])), float(rng.choice([0.01, 0.05])), 1.0)
        upper = rng.random(len(y)) < 0.2
        beyond = Beyond(upper, upper & (rng.random(len(y)) < 0.5))
        wide += sum(high - low > 0.01 for low, high in least_by_program(one, convex_step(one, beyond)[0], beyond))
    assert wide >= 3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_band_by_hand(sign: float) -> None:
    """Four events, one other, d = 0.2, w almost 0: b - rho is free from -1 to 1, b + rho is 1; labels swapped, -b."""
    y = sign * np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    one = Task(Dense(np.eye(5)), y, np.full(5, 1e-7), np.full(5, 0.2), 1.0, True)
    point, _ = convex_step(one, zero_start(one).beyond)
    assert point.b == pytest.approx(sign * 0.5, abs=1e-5) and point.rho == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("d", [0.2, 0.5])
def test_offsets_by_hand(d: float) -> None:
    """An event at 2, another row at 0, w = 2 C = 0.2: any b from -1 to 0.6 is optimal for the hinge and the step."""
    x, y = np.array([2.0, 0.0]), np.array([1.0, -1.0])
    one = Task(Dense(np.outer(x * y, x * y)), y, np.full(2, 0.1), np.full(2, d), 1.0, False)
    points = [hinges_fit(one, hinge(2), 0.0)[0], convex_step(one, zero_start(one).beyond)[0]]
    for point in points:
        assert point.b == pytest.approx(-0.2, abs=1e-6)


@pytest.mark.parametrize("d", [0.25, 0.5])
def test_offsets_do_not_depend_on_the_order_of_rows_or_on_the_start(d: float) -> None:
    """Small costs, where the band is an interval: the same b and rho, not only the same R; swapped labels, -b."""
    X, y = rows(40, 2, 6)
    y[:20], y[20:] = 1.0, -1.0
    beyond = np.zeros(40, dtype=bool)
    one = task(X, y, d, 0.005)
    point, found = convex_step(one, Beyond(beyond, beyond))
    order = np.random.default_rng(0).permutation(40)
    moved, _ = convex_step(task(X[order], y[order], d, 0.005), Beyond(beyond, beyond))
    again, _ = convex_step(one, Beyond(beyond, beyond), found)
    swapped, _ = convex_step(task(X, -y, d, 0.005), Beyond(beyond, beyond))
    for other, sign in ((moved, 1.0), (again, 1.0), (swapped, -1.0)):
        assert sign * other.b == pytest.approx(point.b, abs=1e-6) and other.rho == pytest.approx(point.rho, abs=1e-6)


# -- steps without a minimum -------------------------------------------------------------------------------------------


def test_a_class_that_is_never_predicted() -> None:
    """All events beyond both ramps: w = 0, and b where every row is predicted to be the other class."""
    X, y = rows(40)
    one = task(X, y, 0.2, 1.0)
    beyond = Beyond(y > 0, y > 0)
    point, found = convex_step(one, beyond)
    assert found.status.optimal and point.norm2 == 0.0
    assert (point.t[y < 0] > point.rho + 1.0).all() and (point.t[y > 0] < -1.0 - point.rho).all()
    assert one.risk(point) == pytest.approx(2.0 * (y > 0).sum())
    assert descend(one, beyond, "given").repeated


def test_everything_withheld() -> None:
    X, y = rows(40)
    one = task(X, y, 0.2, 1.0)
    every = np.ones(len(y), dtype=bool)
    point, found = convex_step(one, Beyond(every, ~every))
    assert found.status.optimal and (np.abs(point.t) <= point.rho).all()
    assert one.risk(point) == pytest.approx(0.2 * 2.0 * len(y))


def test_one_class_predicted_or_withheld() -> None:
    """The other class never predicted: its rows lie beyond the upper ramp, the events none beyond the lower one."""
    X, y = rows(60, 2, 3)
    one = task(X, y, 0.2, 1.0)
    rng = np.random.default_rng(2)
    upper = (y < 0) | (rng.random(len(y)) < 0.1)
    lower = (y < 0) & (rng.random(len(y)) < 0.3)
    point, found = convex_step(one, Beyond(upper, lower))
    assert found.status.optimal
    assert (point.t[y > 0] + point.rho > 1.0 - WELL).all()
    assert abs(point.norm2) < 1e-12  # nothing is left to tell apart: w = 0


@pytest.mark.parametrize("seed", range(6))
def test_from_states_drawn_at_random(seed: int) -> None:
    """Whatever the start, every program is solved and R falls; many of these have boxes without an interior."""
    rng = np.random.default_rng(seed)
    X, y = rows(30, 2, seed)
    one = task(X, y, float(rng.choice([0.05, 0.2, 0.4])), float(rng.choice([0.05, 1.0, 30.0])))
    for share in (0.0, 0.5, 1.0):
        for other in (0.0, 0.5, 1.0):
            upper = rng.random(len(y)) < np.where(y > 0, share, other)
            lower = upper & (rng.random(len(y)) < rng.choice([0.0, 0.5, 1.0]))
            each = descend(one, Beyond(upper, lower), "drawn")
            assert each.worst.residuals.kkt < 1e-6 and (np.diff(each.risks) <= 0.0).all()


# -- costs by class ----------------------------------------------------------------------------------------------------


def test_weights_that_make_the_band_symmetric() -> None:
    """Bayes' rule with prices by class, in odds of the event, moved by the weights of the classes."""
    _, y = rows(30)
    fn, fp, reject = 5.0, 1.0, 0.4
    cost = np.where(y > 0, fn, fp)
    even, d = symmetric(Task(Dense(np.eye(30)), y, cost, reject / cost, 1.0, True))
    ratio = even.C[y > 0][0] / even.C[y < 0][0]
    highest = (fp - reject) / reject  # odds above which the event is predicted: fp (1 - p) < reject
    lowest = reject / (fn - reject)
    assert ratio * highest == pytest.approx((1.0 - d) / d)
    assert ratio * lowest == pytest.approx(d / (1.0 - d))
    same, price = symmetric(Task(Dense(np.eye(30)), y, np.full(30, 2.0), np.full(30, 0.2), 1.0, True))
    assert price == 0.2 and (same.C == 2.0).all()


def decided(event: Hinges, other: Hinges, weights: tuple[float, float], p: float) -> float:
    """Return the sign of the f that minimises the mean loss where the event has probability p; 0 withholds."""
    f = np.unique(np.concatenate((event.kinks.ravel(), -other.kinks.ravel())))  # piecewise linear: least at a kink
    loss = [p * weights[0] * event.value(one) + (1.0 - p) * weights[1] * other.value(-one) for one in f[:, None]]
    return float(np.sign(f[int(np.argmin(np.ravel(loss)))]))


@pytest.mark.parametrize("loss", [double_hinge, generalized_hinge])
@pytest.mark.parametrize("fn, fp, reject", [(5.0, 1.0, 0.4), (5.0, 1.0, 0.7), (1.0, 3.0, 0.1), (2.0, 2.0, 0.5)])
def test_hinges_at_unequal_costs_have_the_band_of_bayes(loss, fn: float, fp: float, reject: float) -> None:
    """In the population, and d above 1/2 for one class among them; the generalized hinge times the costs has not."""
    y = np.array([1.0, -1.0])
    cost = np.array([fn, fp])
    even, d = symmetric(Task(Dense(np.eye(2)), y, cost, reject / cost, 1.0, True))
    one = loss(np.array([d]))
    by_class = [loss(np.array([reject / c])) for c in cost]
    wrong = 0
    for p in np.linspace(0.005, 0.995, 100):
        bayes = np.argmin([p * fn, reject, (1.0 - p) * fp]) - 1.0
        assert decided(one, one, (even.C[0], even.C[1]), p) == bayes
        wrong += decided(by_class[0], by_class[1], (fn, fp), p) != bayes
    assert wrong == 0 or fn != fp
    if loss is generalized_hinge and fn != fp:
        assert wrong > 5


@pytest.mark.parametrize("reject", [0.2, 0.4, 0.8])
def test_prices_by_class(reject: float) -> None:
    """A price above 1/2 for one class: rho is held at 0 rather than raised to |rho|, and R falls."""
    X, y = rows(60, 2, 1)
    cost = np.where(y > 0, 5.0, 1.0)
    K = X @ X.T
    one = Task(Dense(K * np.outer(y, y)), y, cost, reject / cost, 1.0, True)
    for each in deterministic(one, 3).each:
        assert (np.diff(each.risks) <= 0.0).all() and each.point.rho >= 0.0


def test_raising_rho_to_its_size_cannot_raise_R() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        t, rho, d, mu = rng.normal(size=20) * 2.0, -abs(rng.normal()), rng.uniform(0.01, 0.5), rng.uniform(0.05, 1.0)
        assert double_ramp(t, -rho, d, mu).sum() <= double_ramp(t, rho, d, mu).sum() + 1e-12


def test_minima_are_told_apart_by_R() -> None:
    X, y = rows(40)
    one = deterministic(task(X, y)).each[0]
    assert isinstance(one.point, Point)
    shifted = replace(one, risks=(one.risk * 1.1,))
    assert Minima((one, one, shifted)).distinct == 2
    assert Minima((shifted, one)).best is one


@pytest.mark.slow
@pytest.mark.parametrize("d", [0.1, 0.3])
def test_many_rows_give_the_R_of_whole_programs(d: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps on the variables that the step before leaves open end where steps on all of them do."""
    from qreg_boost.reject import flat

    X, y = rows(1200, 6, 3)
    one = task(X, y, d, 2.0, 1.0, 0.1)
    narrow = deterministic(one)
    monkeypatch.setattr(flat, "MANY_ROWS", 10**9)
    whole = deterministic(one)
    assert [m.risk for m in narrow.each] == pytest.approx([m.risk for m in whole.each], rel=1e-7)
    assert max(m.worst.residuals.kkt for m in narrow.each) < 1e-6
