"""The path of L1-norm quantile regression: optimality conditions, HiGHS, ties, changes of units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from qreg_boost.base.checks import InputError
from qreg_boost.datasets import simulate_zheng2012
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.l1_path import L1Path, l1_path
from qreg_boost.quantreg.solution import check_loss

TIGHT = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}


class Case:
    """A problem, its path, and what is to be compared with it."""

    def __init__(self, X, y, tau=0.5, w=None, *, intercept=True, **options) -> None:
        self.X, self.y, self.tau, self.intercept = (
            np.asarray(X, dtype=float),
            np.asarray(y, dtype=float),
            tau,
            intercept,
        )
        self.w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
        self.path = l1_path(self.X, self.y, tau, w, intercept=intercept, **options)
        self.design = np.column_stack([np.full(len(y), float(intercept)), self.X])
        self.price = np.append(0.0, np.where(self.path.penalised, self.path.scale, 0.0))

    def loss(self, coef) -> float:
        return check_loss(self.y - self.design @ np.nan_to_num(coef), self.tau, self.w)

    def bound(self, coef) -> float:
        return float(self.price @ np.abs(np.nan_to_num(coef)))

    def highs(self, s) -> float:
        """Return the least loss under the bound by HiGHS."""
        n, p = self.design.shape
        size = float(np.abs(self.y).max()) or 1.0
        columns = np.abs(self.design).max(axis=0)
        columns[columns == 0] = 1.0
        A, price = self.design / columns, self.price / columns
        equal = sparse.hstack([sparse.csr_matrix(A), sparse.csr_matrix(-A), sparse.eye(n), -sparse.eye(n)])
        costs = np.r_[np.zeros(2 * p), self.tau * self.w, (1 - self.tau) * self.w]
        sums = np.r_[price, price, np.zeros(2 * n)][None]
        found = linprog(
            costs, A_ub=sums, b_ub=[s / size], A_eq=equal, b_eq=self.y / size, bounds=(0, None), method="highs",
            options=TIGHT,
        )  # fmt: skip
        return float(found.fun) * size

    def violation(self, coef, lam) -> float:
        """Return by how much the optimality conditions fail, over the sizes of the columns: the least over the dual.

        Rows off the fit have the multiplier w tau or w (tau - 1), rows on it one in between; a penalised coefficient
        must balance lambda times its sign, one at 0 at most lambda, a free one nothing.
        """
        coef = np.nan_to_num(coef)
        r = self.y - self.design @ coef
        terms = np.abs(self.y) + np.abs(self.design) @ np.abs(coef)
        on = np.abs(r) <= 1e-11 * terms.max()
        known = np.where(on, 0.0, self.w * np.where(r > 0, self.tau, self.tau - 1)) @ self.design
        reach = lam * self.price
        low, high = np.where(coef > 0, reach, -reach), np.where(coef < 0, -reach, reach)
        size = np.maximum(self.w @ np.abs(self.design), 1e-300)
        Z, one = (self.design[on] * self.w[on, None]).T / size[:, None], np.ones((len(coef), 1))
        rows = np.vstack([np.hstack([Z, -one]), np.hstack([-Z, -one])])
        found = linprog(
            np.append(np.zeros(on.sum()), 1.0), A_ub=rows, b_ub=np.r_[(high - known) / size, (known - low) / size],
            bounds=[(self.tau - 1, self.tau)] * int(on.sum()) + [(0, None)], options=TIGHT,
        )  # fmt: skip
        return float(found.fun)

    def check(self, knots: int = 12, between: int = 6) -> None:
        path, rng = self.path, np.random.default_rng(0)
        assert path.s[0] == 0 and (np.diff(path.s) > 0).all() and (np.diff(path.lam) <= 0).all()
        start = path.objective[0]
        for k in np.unique(np.linspace(0, len(path.s) - 1, knots).astype(int)):
            coef = path.coef[k]
            assert self.bound(coef) == pytest.approx(path.s[k], rel=1e-12)
            assert self.loss(coef) == pytest.approx(path.objective[k], rel=1e-11, abs=1e-11 * start)
            for lam in path.lam[max(k - 1, 0) : k + 1]:
                assert self.violation(coef, lam) <= 1e-8
        for s in rng.uniform(0, 1.02 * path.s[-1], between):
            coef, k = path.at(s=s), np.searchsorted(path.s, s) - 1
            assert self.bound(coef) == pytest.approx(min(s, path.s[-1]), rel=1e-12, abs=1e-14)
            assert self.violation(coef, path.lam[k] if k < len(path.lam) else 0.0) <= 1e-8
            assert self.loss(coef) <= self.highs(s) + 1e-9 * start
            # Linear in s between two knots.
            assert self.loss(coef) == pytest.approx(np.interp(s, path.s, path.objective), rel=1e-11, abs=1e-11 * start)

    def check_end(self) -> None:
        """The path ends at quantile regression without a bound."""
        design = self.design if self.intercept else self.X
        free = interior_point(design, self.y, self.tau, self.w).objective
        assert self.path.objective[-1] == pytest.approx(free, rel=1e-10, abs=1e-12 * self.path.objective[0])


def zheng(tau=0.5, **options) -> Case:
    data = simulate_zheng2012(n=500, rng=3).data
    return Case(data.drop(columns="y"), data["y"], tau, **options)


def hostile(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers: ties, a column twice, its negative, constant columns, one that is 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 5)).astype(float)
    X = np.column_stack([X, X[:, 0], -X[:, 1], np.full(n, 3.0), np.zeros(n)])
    return X, np.round(X[:, :5] @ [1.0, -2.0, 0.0, 1.0, 0.0] + rng.normal(size=n))


@pytest.mark.parametrize("options", [{}, {"tau": 0.3, "standardize": True}], ids=["plain", "standardized"])
def test_many_rows(options):
    case = zheng(**options)
    case.check(knots=30, between=20)
    case.check_end()
    assert (case.path.df >= 1).all() and case.path.df[-1] == 9


def test_more_columns_than_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 200))
    case = Case(X, X[:, :5].sum(axis=1) + rng.laplace(size=100))
    case.check(knots=20, between=20)
    assert case.path.objective[-1] == pytest.approx(0, abs=1e-12 * case.path.objective[0])
    assert case.path.df[-1] == 100
    # Of all interpolating coefficients the least in absolute sum.
    equal = np.hstack([case.design, -case.design])
    least = linprog(np.r_[case.price, case.price], A_eq=equal, b_eq=case.y, bounds=(0, None), options=TIGHT)
    assert case.path.s[-1] == pytest.approx(least.fun, rel=1e-9)


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.9])
@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"intercept": False}], ids=str)
def test_ties_twins_and_constants(tau, options):
    X, y = hostile()
    for weights in (None, np.random.default_rng(2).integers(0, 4, len(y)).astype(float)):
        case = Case(X, y, tau, weights, **options)
        case.check(knots=6, between=3)
        case.check_end()
        # Of twins the first is used; with an intercept constant columns have nothing to add.
        assert (case.path.coef[:, 6:8] == 0).all() and (case.path.coef[:, 9] == 0).all()
        assert (case.path.coef[:, 8] == 0).all() or not options.get("intercept", True)


def test_columns_that_do_not_count():
    X, y = hostile()
    free = np.array([1, 0, 0, 1, 0, 1, 0, 1, 0], dtype=bool)
    case = Case(X, y, 0.4, penalised=~free)
    case.check()
    case.check_end()
    # Column 5 is column 0 again, column 7 constant: they depend on free columns to their left.
    assert np.isnan(case.path.coef).any(axis=0).tolist() == [*[False] * 6, True, False, True, False]
    kept = interior_point(np.column_stack([np.ones(len(y)), X[:, [0, 3]]]), y, 0.4)
    assert case.path.objective[0] == pytest.approx(kept.objective, rel=1e-12)
    assert Case(X, y, 0.4, penalised=np.zeros(9, dtype=bool)).path.s.tolist() == [0.0]


def test_dummies_and_coefficients_that_come_back_to_zero():
    rng = np.random.default_rng(1)
    X = (rng.random((60, 12)) > 0.6).astype(float)
    case = Case(X, np.round(X @ rng.normal(size=12) * 2 + rng.normal(size=60)))
    case.check(knots=50)
    case.check_end()


def test_the_start_is_the_lower_quantile():
    y = np.array([5.0, 1.0, 3.0, 2.0, 9.0, 4.0])
    X = np.random.default_rng(0).normal(size=(6, 2))
    for tau, w, expected in (
        (0.5, None, 3.0), (1 / 3, None, 2.0), (0.34, None, 3.0), (0.3, [0.1, 0.1, 0.1, 0.2, 0.3, 0.2], 2.0),
        (0.5, [0, 1, 1, 1, 1, 0], 2.0),
    ):  # fmt: skip
        path = l1_path(X, y, tau, w)
        np.testing.assert_allclose(path.coef[0], [expected, 0, 0], rtol=1e-14)


def test_weights_are_repeated_rows_and_relative():
    X, y = hostile(3)
    X = X[:, :5] + np.random.default_rng(0).normal(size=(60, 5))
    w = np.random.default_rng(1).integers(0, 4, 60)
    for options in ({}, {"standardize": True}):
        path = l1_path(X, y, 0.4, w, **options)
        repeated = l1_path(np.repeat(X, w, axis=0), np.repeat(y, w), 0.4, **options)
        tenfold = l1_path(X, y, 0.4, 10.0 * w, **options)
        for other, times in ((repeated, 1.0), (tenfold, 10.0)):
            np.testing.assert_allclose(other.s, path.s, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(other.coef, path.coef, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(other.lam, times * path.lam, rtol=1e-10)
            np.testing.assert_allclose(other.objective, times * path.objective, rtol=1e-11)
        assert path.select("sic") == tenfold.select("sic") and path.nobs == (w > 0).sum()


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_do_not_matter(unit):
    case = zheng()
    X, y = case.X, case.y
    path, scaled = case.path, l1_path(X, unit * y, 0.5)
    np.testing.assert_allclose(scaled.s, unit * path.s, rtol=1e-9, atol=0)
    np.testing.assert_allclose(scaled.coef, unit * path.coef, rtol=1e-9, atol=1e-12 * unit)
    np.testing.assert_allclose(scaled.lam, path.lam, rtol=1e-10)
    columns = np.array([1, unit, 1e6, 1, 1 / unit, 1, 1e-6, 1])
    path, scaled = l1_path(X, y, 0.5, standardize=True), l1_path(X * columns + 3 * columns, y, 0.5, standardize=True)
    np.testing.assert_allclose(scaled.s, path.s, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(scaled.coef[:, 1:] * columns, path.coef[:, 1:], rtol=1e-8, atol=1e-11)


def test_standardizing_reports_on_the_scale_of_the_data():
    case = zheng(standardize=True)
    np.testing.assert_allclose(case.path.scale, case.X.std(axis=0), rtol=1e-12)
    by_hand = l1_path((case.X - case.X.mean(axis=0)) / case.X.std(axis=0), case.y, 0.5)
    np.testing.assert_allclose(by_hand.s, case.path.s, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(by_hand.coef[:, 1:], case.path.coef[:, 1:] * case.path.scale, rtol=1e-9, atol=1e-12)


def test_in_lambda_the_path_is_a_step_function():
    case = zheng()
    path = case.path
    assert path.at(lam=path.lam[0] * 1.01).tolist() == path.coef[0].tolist()
    assert path.at(lam=0.0).tolist() == path.coef[-1].tolist()
    for lam in (0.9 * path.lam[0], 20.0, 3.0):
        coef = path.at(lam=lam)
        assert case.violation(coef, lam) <= 1e-8
        penalised = case.loss(coef) + lam * case.bound(coef)
        assert penalised <= (path.objective + lam * path.s).min() * (1 + 1e-12)
    # Where it steps, both ends of a segment are optimal: the one of least sum is meant.
    for k in np.flatnonzero(np.diff(path.lam) < 0)[:5] + 1:
        assert path.at(lam=path.lam[k]).tolist() == path.coef[k].tolist()
    assert path.at(lam=[20.0, 3.0]).shape == path.at(s=[0.5, 1.0]).shape == (2, 9)


def test_between_knots_and_beyond():
    path = zheng().path
    assert path.at(s=0).tolist() == path.coef[0].tolist()
    assert path.at(s=path.s[7]).tolist() == path.coef[7].tolist()
    np.testing.assert_allclose(path.at(s=2 * path.s[-1]), path.coef[-1], rtol=1e-15)
    np.testing.assert_allclose(path.at(s=path.s[3:5].mean()), path.coef[3:5].mean(axis=0), rtol=1e-12, atol=1e-15)


def test_criteria_are_those_of_the_paper():
    path = zheng().path
    k = path.select("sic")
    n = 500
    assert path.sic[k] == pytest.approx(np.log(path.objective[k] / n) + np.log(n) / (2 * n) * path.df[k], rel=1e-13)
    assert path.gacv[k] == pytest.approx(path.objective[k] / (n - path.df[k]), rel=1e-13)
    assert path.sic[k] == np.nanmin(path.sic) and path.gacv[path.select("gacv")] == np.nanmin(path.gacv)
    # Without ties the degrees of freedom are the rows fitted exactly.
    data = simulate_zheng2012(n=500, rng=3).data
    X, y = data.drop(columns="y").to_numpy(), data["y"].to_numpy()
    on = np.abs(y[:, None] - path.coef[:, :1].T - X @ path.coef[:, 1:].T) < 1e-11 * np.abs(y).max()
    assert on.sum(axis=0).tolist() == path.df.tolist()


def test_criteria_leave_out_knots_that_fit_half_of_the_rows():
    rng = np.random.default_rng(1)
    path = l1_path(rng.normal(size=(20, 40)), rng.normal(size=20), 0.5)
    assert np.isnan(path.sic[path.df > 10]).all() and np.isnan(path.gacv[path.df > 10]).all()
    assert np.isfinite(path.sic[path.df <= 10]).all()
    assert path.df[path.select("sic")] <= 10 and path.df[path.select("gacv")] <= 10
    short = l1_path(rng.normal(size=(3, 1)), np.arange(3.0), 0.5, penalised=np.array([False]))
    with pytest.raises(InputError, match="more than 1 degrees of freedom"):
        short.select("sic")


@pytest.mark.parametrize(
    ("X", "y"),
    [(np.zeros((9, 0)), np.arange(9.0)), (np.zeros((9, 2)), np.arange(9.0)), (np.ones((1, 2)), np.ones(1)),
     (np.random.default_rng(0).normal(size=(9, 2)), np.full(9, 7.0))],
    ids=["no column", "zeros", "one row", "constant response"],
)  # fmt: skip
def test_nothing_to_follow(X, y):
    path = l1_path(X, y, 0.5)
    assert path.s.tolist() == [0] and path.lam.shape == (0,) and path.coef[0, 0] == np.quantile(y, 0.5)
    assert path.at(s=1.0).tolist() == path.at(lam=1.0).tolist() == path.coef[0].tolist()
    assert path.at(s=[0.0, 1.0]).shape == (2, 1 + X.shape[1])


def test_bad_input_is_named():
    X, y = hostile()
    path = l1_path(X, y, 0.5)
    with pytest.raises(InputError, match="True or False for each of the 9 columns"):
        l1_path(X, y, 0.5, penalised=np.ones(9))
    with pytest.raises(InputError, match="`standardize` must be True or False"):
        l1_path(X, y, 0.5, standardize="yes")
    with pytest.raises(InputError, match="strictly between"):
        l1_path(X, y, 50)
    for arguments in ({}, {"s": 1.0, "lam": 1.0}):
        with pytest.raises(InputError, match="either `s`"):
            path.at(**arguments)
    for arguments in ({"s": -1.0}, {"lam": np.nan}):
        with pytest.raises(InputError, match="at least 0"):
            path.at(**arguments)
    with pytest.raises(InputError, match="Did you mean 'gacv'"):
        path.select("gcv")


def test_the_callers_arrays_stay_as_they_are():
    X, y = hostile()
    w = np.ones(len(y))
    for array in (X, y, w):
        array.flags.writeable = False
    assert isinstance(l1_path(X, y, 0.5, w), L1Path)
