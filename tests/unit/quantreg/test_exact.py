"""The fast exact solver: certificates from the definition, hostile rows, units, starts, sparse designs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.quantreg import dense_rows
from qreg_boost.quantreg import exact as module
from qreg_boost.quantreg.exact import exact, prepared, sparse_fit
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.smooth import smoothed
from qreg_boost.quantreg.solution import Solution, Status, check_loss
from qreg_boost.quantreg.sparse_rows import independent

TAUS = (0.01, 0.25, 0.5, 0.9, 0.99)


def design(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a design with a constant, and a response of heavy tails whose spread grows with the second column."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, p - 1))])
    return X, X.sum(axis=1) + (1 + 0.5 * np.abs(X[:, 1])) * rng.standard_t(2, n)


def assert_certified(X, y, tau: float, w: np.ndarray | None, fit: Solution) -> None:
    """Check optimality from the definition: dual values in bounds, feasible, and complementary to the residuals."""
    assert fit.status is Status.OPTIMAL and fit.duality_gap <= 1e-10
    w = np.ones(len(y)) if w is None else w
    kept = np.setdiff1d(np.arange(X.shape[1]), fit.dropped)
    X, b = X[:, kept], fit.coef[kept]
    assert np.isnan(fit.coef[fit.dropped]).all() and np.isfinite(b).all()
    assert ((fit.a >= 0) & (fit.a <= 1)).all()
    # Sums of n rounded terms; 1e-10 of their size leaves room for the clipping to [0, 1].
    assert (np.abs(X.T @ (w * (fit.a - (1 - tau)))) <= 1e-10 * (np.abs(X).T @ w)).all()
    r = y - X @ b
    loose = np.where(r > 0, 1 - fit.a, fit.a) * (w > 0) * np.abs(r)
    assert (loose <= 1e-12 * (np.abs(y) + np.abs(X) @ np.abs(b)).max()).all()
    assert len(fit.basis) == len(kept) and np.linalg.matrix_rank(X[fit.basis]) == len(kept)
    assert fit.objective == pytest.approx(check_loss(r, tau, w), rel=1e-10)


def assert_no_worse(fit: Solution, X: np.ndarray, y: np.ndarray, tau: float, w: np.ndarray | None = None) -> None:
    """Check that the loss is that of the interior point method, but for rounding of the residuals."""
    other = interior_point(X, y, tau, w)
    assert other.status.optimal and fit.dropped.tolist() == other.dropped.tolist()
    kept = np.setdiff1d(np.arange(X.shape[1]), fit.dropped)
    terms = np.abs(y) + np.abs(X[:, kept]) @ np.abs(fit.coef[kept])
    rounding = 1e-15 * float(np.sum(terms if w is None else terms * w))
    assert fit.objective <= other.objective * (1 + 1e-10) + rounding


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize(("n", "p"), [(2_000, 4), (5_000, 11), (70_000, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_certified_vertex(n, p, tau, weighted):
    X, y = design(n, p)
    w = np.random.default_rng(1).integers(0, 4, n).astype(float) if weighted else None
    fit = exact(X, y, tau, w)
    assert_certified(X, y, tau, w, fit)
    assert fit.unique
    if w is not None:
        assert (fit.a[w == 0] == 1 - tau).all() and (w[fit.basis] > 0).all()
    if n < 70_000:
        assert_no_worse(fit, X, y, tau, w)
        np.testing.assert_allclose(fit.coef, interior_point(X, y, tau, w).coef, rtol=1e-8, atol=1e-10)


HOSTILE = {
    "integer response": lambda X, y, rng: (X, np.round(y)),
    "integer design and response": lambda X, y, rng: (np.round(X), np.round(y)),
    "half zeros": lambda X, y, rng: (X, np.maximum(y, 0.0)),
    "three values": lambda X, y, rng: (X, rng.integers(0, 3, len(y)).astype(float)),
    "dummies": lambda X, y, rng: ((X > 0.3).astype(float), y),
    "a column of three ones": lambda X, y, rng: (np.column_stack([X, np.arange(len(y)) < 3]), y),
    "heavy design": lambda X, y, rng: (np.column_stack([X, rng.standard_t(1, len(y))]), y),
    "one far response": lambda X, y, rng: (X, y + 1e8 * (np.arange(len(y)) == 5)),
    "far location": lambda X, y, rng: (X + np.r_[0.0, 1e6 * np.ones(X.shape[1] - 1)], y + 1e6),
    "sorted": lambda X, y, rng: (np.sort(X, axis=0), np.sort(y)),
    "Cauchy": lambda X, y, rng: (X, rng.standard_cauchy(len(y))),
    "aliased": lambda X, y, rng: (np.column_stack([X, X[:, 1] - 2 * X[:, 2], X[:, 0] + X[:, 1]]), y),
    "nearly aliased": lambda X, y, rng: (np.column_stack([X, X[:, 1] + 1e-5 * rng.standard_normal(len(y))]), y),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("n", [1_500, 30_000])
def test_hostile_rows(kind, n, monkeypatch):
    # A small sample, so that 30,000 rows go through all stages.
    monkeypatch.setattr(dense_rows, "SECOND", 0.3)
    X, y = HOSTILE[kind](*design(n, 4, seed=3), np.random.default_rng(2))
    for tau in (0.05, 0.5, 0.99) if n < 10_000 else (0.3,):
        fit = exact(X, y, tau)
        assert fit.status.optimal
        assert_no_worse(fit, X, y, tau)


@pytest.mark.parametrize("kind", ["integer response", "integer design and response", "half zeros", "three values"])
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.75])
def test_ties_need_no_fallback(kind, tau):
    # Many rows lie on the fit to the last digit, and all others are far from it by comparison.
    X, y = HOSTILE[kind](*design(20_000, 4, seed=3), np.random.default_rng(2))
    for scale in (1.0, 1e-12):
        assert exact(X, y * scale, tau).status is Status.OPTIMAL


def test_a_column_that_few_rows_bound_needs_no_fallback():
    # Its three rows are far from the fit of the sample, which holds none of them.
    X, y = design(20_000, 4)
    rare = np.arange(len(y)) < 3
    X, y = np.column_stack([X, rare]), y + 50.0 * rare
    for tau in (0.1, 0.5):
        assert_certified(X, y, tau, None, exact(X, y, tau))


@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_weights_of_all_sizes(spread):
    X, y = design(3_000, 5)
    w = np.exp(spread * np.random.default_rng(0).standard_normal(len(y)))
    for tau in (0.1, 0.5):
        fit = exact(X, y, tau, w)
        assert fit.status.optimal
        assert_no_worse(fit, X, y, tau, w)
        np.testing.assert_allclose(exact(X, y, tau, w * 1e200).coef, fit.coef, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("column_unit", [1e-12, 1e12])
def test_units_change_nothing(unit, column_unit):
    X, y = design(2_000, 4)
    fit, scale = exact(X, y, 0.3), np.r_[1.0, column_unit, 1.0, 1.0]
    other = exact(X * scale, y * unit, 0.3)
    assert other.status is Status.OPTIMAL
    np.testing.assert_allclose(other.coef * scale / unit, fit.coef, rtol=1e-9)


def test_equivariance():
    X, y = design(4_000, 4)
    fit, gamma = exact(X, y, 0.2), np.array([5.0, -3.0, 100.0, 1.0])
    A = np.random.default_rng(0).standard_normal((4, 4)) + 3 * np.eye(4)
    np.testing.assert_allclose(exact(X, y + X @ gamma, 0.2).coef, fit.coef + gamma, rtol=1e-9)
    np.testing.assert_allclose(A @ exact(X @ A, y, 0.2).coef, fit.coef, rtol=1e-9)
    np.testing.assert_allclose(exact(X, -y, 0.8).coef, -fit.coef, rtol=1e-9)


def test_integer_weights_are_repeated_rows():
    X, y = design(1_500, 3)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    fit = exact(X, y, 0.3, times.astype(float))
    np.testing.assert_allclose(fit.coef, exact(np.repeat(X, times, axis=0), np.repeat(y, times), 0.3).coef, rtol=1e-9)


@pytest.mark.parametrize("start", ["optimum", "neighbour", "zero", "far"])
@pytest.mark.parametrize("n", [2_000, 80_000])
def test_a_start_changes_nothing_but_the_time(start, n):
    X, y = design(n, 4)
    plain = exact(X, y, 0.5)
    b = {"optimum": plain.coef, "neighbour": exact(X, y, 0.51).coef, "zero": np.zeros(4), "far": np.full(4, 1e6)}[start]
    fit = exact(X, y, 0.5, start=b)
    assert fit.status is Status.OPTIMAL
    np.testing.assert_allclose(fit.coef, plain.coef, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", [200, 2_000, 20_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_levels_fitted_one_after_the_other_leave_no_trace(n, weighted):
    X, y = design(n, 4)
    w = np.random.default_rng(1).integers(0, 4, n).astype(float) if weighted else None
    fit, start = prepared(X, y, w), None
    for tau in (0.5, 0.9, 0.1, 0.5):
        one, other = fit(tau, start), exact(X, y, tau, w, start=start)
        np.testing.assert_array_equal(one.coef, other.coef)
        np.testing.assert_array_equal(one.a, other.a)
        assert (one.iterations, one.objective, one.status) == (other.iterations, other.objective, other.status)
        start = one.coef


def test_small_problems_go_to_the_interior_point_method():
    X, y = design(200, 3)
    np.testing.assert_array_equal(exact(X, y, 0.5).coef, interior_point(X, y, 0.5).coef)
    assert exact(X[:2], y[:2], 0.5).dropped.tolist() == [2]
    assert exact(np.ones((1, 1)), np.array([3.0]), 0.5).coef.tolist() == [3.0]
    assert exact(np.empty((2_000, 0)), np.ones(2_000), 0.25).objective == 500.0


@pytest.mark.parametrize("heavy", [1e8, 1e12, 1e16])
@pytest.mark.parametrize("n", [2_000, 20_000])
def test_a_row_that_dominates_is_fitted_exactly(heavy, n):
    X, y = design(n, 4)
    w = np.where(np.arange(n) == 7, heavy, 1.0)
    fit = exact(X, y, 0.3, w)
    assert fit.status.optimal and 0.0 <= fit.duality_gap <= 1e-10 and 7 in fit.basis
    r = y - X @ fit.coef
    assert abs(r[7]) <= 8 * np.finfo(float).eps * (abs(y[7]) + np.abs(X[7]) @ np.abs(fit.coef))
    # Without the row, one equation in place of it: the loss of the others is least among the fits through it.
    free = np.linalg.svd(X[7:8])[2][1:].T
    through = y[7] * X[7] / (X[7] @ X[7])
    others = np.arange(n) != 7
    rest = interior_point((X @ free)[others], (y - X @ through)[others], 0.3)
    assert check_loss(r[others], 0.3) == pytest.approx(rest.objective, rel=1e-9)


def test_rows_of_weight_zero_have_no_say_in_the_scale():
    X, y = design(2_000, 3)
    X[:, 2] *= 1e-15
    w = np.ones(len(y))
    plain = exact(X[1:], y[1:], 0.5)
    X[0], w[0] = 1e150, 0.0
    fit = exact(X, y, 0.5, w)
    assert fit.dropped.size == 0
    np.testing.assert_allclose(fit.coef, plain.coef, rtol=1e-9)


def test_a_perfect_fit_has_loss_zero():
    X, _ = design(2_000, 4)
    fit = exact(X, X @ [1.0, 2.0, 3.0, 4.0], 0.3)
    assert (fit.objective, fit.duality_gap, fit.status) == (0.0, 0.0, Status.OPTIMAL)


def test_the_fallback_says_so(monkeypatch):
    monkeypatch.setattr(dense_rows, "_ROUNDS", 0)
    X, y = design(2_000, 4)
    fit = exact(X, y, 0.5)
    assert fit.status is Status.OPTIMAL_BY_FALLBACK and fit.status.optimal
    assert fit.objective == interior_point(X, y, 0.5).objective


def test_a_sample_may_not_settle_which_columns_are_kept(monkeypatch):
    # The third column differs from the first in rows of which the sample may hold none.
    monkeypatch.setattr(dense_rows, "LEAST", 200)
    monkeypatch.setattr(dense_rows, "SECOND", 0.1)
    X, y = design(20_000, 3)
    X[:, 2] = 1.0 + (np.arange(len(y)) == 7)
    fit = exact(X, y, 0.5)
    assert fit.dropped.size == 0 and fit.status.optimal
    assert_no_worse(fit, X, y, 0.5)


def test_the_arrays_passed_are_not_changed():
    X, y = design(2_000, 3)
    w, start = np.ones(len(y)), np.zeros(3)
    copies = X.copy(), y.copy(), w.copy(), start.copy()
    exact(X, y, 0.5, w, start=start)
    assert all(np.array_equal(a, b) for a, b in zip(copies, (X, y, w, start), strict=True))
    X.flags.writeable = y.flags.writeable = False
    exact(np.asfortranarray(X), y, 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 20}, "strictly between 0 and 1"),
        ({"y": np.ones(3)}, "Give one row of `X` per value of `y`"),
        ({"X": np.ones(2)}, r"must have shape \(n, p\)"),
        ({"y": np.array([1.0, np.nan])}, "`y` has .*missing"),
        ({"X": np.array([[1.0], [np.inf]])}, "`X` has .*infinite"),
        ({"X": np.array([[1.0], [np.nan]])}, "`X` has .*missing"),
        ({"y": np.array([1.0, -1e300])}, "`y` has values beyond 1e.150"),
        ({"weights": np.array([1.0, -1.0])}, "must not be negative"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, lambda X: sparse.csr_array(X) if np.ndim(X) == 2 else X])
def test_bad_input(change, message, form):
    arguments = {"X": np.ones((2, 1)), "y": np.ones(2), "tau": 0.5} | change
    arguments["X"] = form(arguments["X"])
    with pytest.raises(InputError, match=message):
        exact(**arguments)


def dummies(n: int, groups: int, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    """Return a design of a constant, a few numbers and all groups' dummies, one of them too many, and a response."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    G = sparse.csr_array((np.ones(n), (np.arange(n), group)), shape=(n, groups))
    X = sparse.hstack([np.ones((n, 1)), rng.standard_normal((n, 2)), G]).tocsr()
    return sparse.csr_array(X), rng.standard_normal(groups)[group] + rng.standard_t(3, n)


@pytest.mark.parametrize("tau", [0.1, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sparse_design_is_fitted_as_its_dense_form(tau, weighted):
    X, y = dummies(3_000, 20)
    w = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    fit, dense = exact(X, y, tau, w), exact(X.toarray(), y, tau, w)
    assert fit.dropped.tolist() == dense.dropped.tolist() == [22]
    assert fit.objective == pytest.approx(dense.objective, rel=1e-10)
    assert_certified(X.toarray(), y, tau, w, fit)
    for other in (sparse_fit(X, y, tau, w, sampled=False), exact(X, y, tau, w, start=dense.coef)):
        assert other.status is Status.OPTIMAL and other.objective == pytest.approx(dense.objective, rel=1e-10)


def test_a_wide_sparse_design_is_never_filled_in(monkeypatch):
    X, y = dummies(20_000, 150)
    filled = []
    usual = sparse.csr_array.toarray
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda self: filled.append(self.shape) or usual(self))
    fit = exact(X, y, 0.5)
    assert fit.status is Status.OPTIMAL and fit.dropped.tolist() == [152]
    assert max(rows for rows, _ in filled) < 0.4 * len(y)


def test_a_sparse_design_without_a_vertex_says_what_was_reached(monkeypatch):
    monkeypatch.setattr(dense_rows, "_ROUNDS", 0)
    monkeypatch.setattr(module, "_FILLED_MOST", 0)
    X, y = dummies(2_000, 10)
    fit = exact(X, y, 0.5)
    assert fit.status is Status.WITHIN_TOLERANCE and fit.duality_gap <= 1e-7 and fit.basis.size == 0
    assert fit.objective == pytest.approx(interior_point(X.toarray(), y, 0.5).objective, rel=1e-7)
    monkeypatch.setattr(module, "_SPARSE_TOL", 0.0)
    with pytest.warns(ConvergenceWarning, match="Gap reached"):
        assert not exact(X, y, 0.5).status.optimal


def test_the_rank_of_a_gram_matrix():
    x = np.random.default_rng(0).standard_normal((50, 3))
    X = np.column_stack([x[:, 0], np.zeros(50), 1e9 * x[:, 0], x[:, 1], x[:, 0] - 2e-6 * x[:, 1], x[:, 2]])
    columns, factor = independent(X.T @ X)
    assert columns.tolist() == [0, 3, 5]
    np.testing.assert_allclose(factor.T @ factor, X[:, columns].T @ X[:, columns], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tau", [0.1, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_smoothed_loss_is_least_where_its_slope_is_nil(tau, weighted):
    X, y = design(3_000, 4)
    w = np.random.default_rng(1).random(len(y)) + 0.5 if weighted else None
    pull = np.array([20.0, -10.0, 0.0, 5.0])
    at = smoothed(X, y, w, tau, pull, half=2.0, enough=300)
    # From the definition: the loss is convolved with a uniform density of that half-width.
    share = np.clip(0.5 + at.r / (2 * at.half), 0, 1) - (1 - tau)
    slope = (share if w is None else share * w) @ X + pull
    start = (np.where(y > 0, tau, tau - 1)) @ X
    # The last step moved the rows by less than a twentieth of the half-width.
    assert np.linalg.norm(slope) <= 0.05 * np.linalg.norm(start)
    assert 200 <= at.near <= 400 and np.count_nonzero(np.abs(at.r) < at.half) == at.near
