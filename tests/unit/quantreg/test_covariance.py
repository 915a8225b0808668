"""Covariances: equivariance, dropped columns, weights of zero, sparse designs, known limits."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.quantreg.covariance import COVARIANCES, DensityWarning, cluster, iid, ker, nid
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.solvers import SOLVERS
from qreg_boost.quantreg.sparsity import median_line, sparsity

KINDS = [*COVARIANCES, "cluster"]


def errors(kind, X, y, tau, w=None, groups=None):
    fit = interior_point(X, y, tau, w)
    if kind == "cluster":
        return cluster(X, y, tau, fit, np.arange(len(y)) // 4 if groups is None else groups, w).standard_errors
    return COVARIANCES[kind](X, y, tau, fit, w).standard_errors


@pytest.fixture
def sample():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(120), rng.normal(size=(120, 2))])
    return X, X @ [1.0, 2.0, -1.0] + (1 + 0.5 * np.abs(X[:, 1])) * rng.normal(size=120), rng.uniform(0.2, 3.0, 120)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tau", [0.05, 0.5, 0.9])
def test_units_order_and_scale_of_weights(sample, kind, tau):
    X, y, w = sample
    order = np.random.default_rng(0).permutation(len(y))
    groups = np.arange(len(y)) // 4
    plain = errors(kind, X, y, tau, w, groups)
    # 1e-8: fits at another level are exact to rounding, which differs of 1e-12 and is divided by differences of fits
    for scale in (1e-9, 1e3, 1e9):
        np.testing.assert_allclose(errors(kind, X, scale * y, tau, w, groups), scale * plain, rtol=1e-8)
    np.testing.assert_allclose(errors(kind, X, y, tau, 10 * w, groups), plain, rtol=1e-8)
    np.testing.assert_allclose(errors(kind, X[order], y[order], tau, w[order], groups[order]), plain, rtol=1e-8)
    np.testing.assert_allclose(errors(kind, X * [1, 1e6, 1e-6], y, tau, w, groups), plain / [1, 1e6, 1e-6], rtol=1e-8)
    # regression equivariance: adding a linear function of x changes nothing
    np.testing.assert_allclose(errors(kind, X, y + X @ [3, 1, 1], tau, w, groups), plain, rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_reparametrised_design(sample, kind):
    X, y, _ = sample
    A = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0], [0.0, 0.0, 4.0]])
    fit, changed = interior_point(X, y, 0.4), interior_point(X @ A, y, 0.4)
    groups = {"groups": np.arange(len(y)) // 4} if kind == "cluster" else {}
    function = cluster if kind == "cluster" else COVARIANCES[kind]
    V, W = function(X, y, 0.4, fit, **groups).matrix, function(X @ A, y, 0.4, changed, **groups).matrix
    np.testing.assert_allclose(A @ W @ A.T, V, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_dropped_columns_and_rows_of_weight_zero(sample, kind):
    X, y, w = sample
    plain = errors(kind, X, y, 0.3, w)
    wide = np.column_stack([X[:, :2], X[:, 0] + X[:, 1], X[:, 2]])
    found = errors(kind, wide, y, 0.3, w)
    assert np.isnan(found[2])
    np.testing.assert_allclose(found[[0, 1, 3]], plain, rtol=1e-8)
    more = np.vstack([X, 100 * X[:5]]), np.append(y, np.full(5, 1e6)), np.append(w, np.zeros(5))
    groups = np.append(np.arange(len(y)) // 4, np.full(5, 99))
    np.testing.assert_allclose(errors(kind, more[0], more[1], 0.3, more[2], groups), plain, rtol=1e-8)


@pytest.mark.parametrize("kind", [iid, ker])
def test_sparse_design(sample, kind):
    X, y, w = sample
    fit = interior_point(X, y, 0.3, w)
    sparse, dense = kind(csr_matrix(X), y, 0.3, fit, w), kind(X, y, 0.3, fit, w)
    np.testing.assert_allclose(sparse.matrix, dense.matrix, rtol=1e-9)


def test_parts_make_the_sandwich(sample):
    X, y, w = sample
    fit = interior_point(X, y, 0.3, w)
    for function in (nid, ker):
        found = function(X, y, 0.3, fit, w)
        Xw = X * w[:, None]
        np.testing.assert_allclose(found.outer, Xw.T @ Xw, rtol=1e-10)
        H = Xw.T @ (found.density[:, None] * Xw)
        np.testing.assert_allclose(found.hessian_inverse @ H, np.eye(3), atol=1e-9)
        sandwich = 0.21 * found.hessian_inverse @ found.outer @ found.hessian_inverse
        np.testing.assert_allclose(found.matrix, sandwich, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_known_limit_for_the_median_of_normals(kind):
    """The error of the median is (pi / 2 / n)^(1/2); 25 % is five times the spread of these estimates at n = 4000."""
    y = np.random.default_rng(5).normal(size=4000)
    assert errors(kind, np.ones((4000, 1)), y, 0.5)[0] == pytest.approx(np.sqrt(np.pi / 2 / 4000), rel=0.25)


def test_clusters_of_copies_count_once():
    """Each row four times, as a cluster: the score's part of the variance is that of the single rows."""
    rng = np.random.default_rng(6)
    y = rng.normal(size=300)
    single = cluster(np.ones((300, 1)), y, 0.5, interior_point(np.ones((300, 1)), y, 0.5), np.arange(300))
    X, y4 = np.ones((1200, 1)), np.repeat(y, 4)
    fit = replace(interior_point(X, y4, 0.5), basis=np.array([], dtype=int))
    copies = cluster(X, y4, 0.5, fit, np.repeat(np.arange(300), 4), bandwidth=single.bandwidth)
    np.testing.assert_allclose(copies.outer, 16 * single.outer, rtol=0.02)


def test_too_few_positive_densities_are_missing_and_said():
    X = np.column_stack([np.ones(12), np.repeat([0.0, 1.0], 6)])
    y = np.repeat([1.0, 2.0, 2.0, 2.0, 2.0, 3.0], 2)
    with pytest.warns(DensityWarning, match="cannot be computed"):
        found = nid(X, y, 0.5, interior_point(X, y, 0.5), bandwidth=0.01)
    assert np.isnan(found.matrix).all() and found.nonpositive == 12


def test_perfect_fit_has_no_sparsity():
    X = np.column_stack([np.ones(9), np.arange(9.0)])
    y = X @ [1.0, 2.0]
    with pytest.warns(DensityWarning, match="9 of 9 rows have residual 0"):
        assert np.isnan(iid(X, y, 0.5, interior_point(X, y, 0.5)).matrix).all()


@pytest.mark.parametrize(
    ("groups", "said"),
    [(np.zeros(3), "shape"), (np.zeros(120), "two clusters"), (np.append(np.arange(119.0), np.nan), "1 missing")],
)
def test_bad_groups(sample, groups, said):
    X, y, _ = sample
    with pytest.raises(InputError, match=said):
        cluster(X, y, 0.5, interior_point(X, y, 0.5), groups)


def test_fit_of_other_data(sample):
    X, y, _ = sample
    with pytest.raises(InputError, match="do not fit"):
        iid(X[:50], y[:50], 0.5, interior_point(X, y, 0.5))


def test_median_line_is_least(sample):
    rng = np.random.default_rng(8)
    for m in (3, 8, 31):
        for y in (np.sort(rng.normal(size=m)), np.sort(rng.integers(-3, 4, m)).astype(float)):
            x = np.arange(1.0, m + 1) / m
            line = median_line(x, y)
            loss = np.abs(y - line.intercept - line.slope * x).sum() / 2
            best = interior_point(np.column_stack([np.ones(m), x]), y, 0.5).objective
            assert loss == pytest.approx(best, rel=1e-9, abs=1e-12)


def test_sparsity_does_not_depend_on_order_or_sign():
    r = np.array([0.0, 0.0, 1.0, -1.0, 2.0, -2.0, 2.0, 3.0, -4.0, 5.0, 7.0])
    order = np.random.default_rng(1).permutation(len(r))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sparsity(r, 2, 0.3, r == 0) == sparsity(r[order], 2, 0.3, r[order] == 0)


@pytest.mark.parametrize("name", SOLVERS)
def test_levels_beyond_the_outermost_row_are_one_fit(sample, name):
    """At tau .999 of 120 rows the fits at tau +- bandwidth are the same: no errors of the size of rounding."""
    X, y, _ = sample
    solver = SOLVERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of "mm", which stops short at such levels
        fit = solver(X, y, 0.999)
        with pytest.warns(DensityWarning, match="120 of 120 rows"), pytest.warns(DensityWarning, match="cannot be"):
            found = nid(X, y, 0.999, fit, solver=solver)
    assert np.isnan(found.matrix).all() and found.nonpositive == 120
