from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.base.rank import column_basis, independent_columns, power_of_two


def left_to_right(X: np.ndarray, tol: float = 1e-7) -> list[int]:
    """Return the kept columns by the definition, one least squares fit per column."""
    kept: list[int] = []
    for j in range(X.shape[1]):
        column = X[:, j] / (np.linalg.norm(X[:, j]) or 1.0)
        if kept:
            basis = X[:, kept] / np.linalg.norm(X[:, kept], axis=0)
            column = column - basis @ np.linalg.lstsq(basis, column, rcond=None)[0]
        if np.linalg.norm(column) > tol:
            kept.append(j)
    return kept


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 30)), int(rng.integers(1, 15))
    X = rng.standard_normal((n, p)) @ np.triu(rng.integers(-1, 2, (p, p)).astype(float))
    X *= 10.0 ** rng.uniform(-12, 12, p)
    assert independent_columns(X).tolist() == left_to_right(X)


@pytest.mark.parametrize(("size", "kept"), [(1e-5, True), (1.01e-7, True), (0.99e-7, False), (0, False)])
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_the_tolerance_is_relative_to_the_column(size, kept, unit):
    # n orthogonal directions: what is left of the second column is exactly `size` of its length, to 1e-14.
    X = unit * np.array([[1.0, 1.0], [0.0, size], [0.0, 0.0]])
    assert (1 in independent_columns(X)) is kept


def test_the_left_column_wins():
    x = np.arange(5.0)
    X = np.column_stack([np.zeros(5), np.ones(5), x, 3 * x - 2, x**2, np.ones(5)])
    assert independent_columns(X).tolist() == [1, 2, 4]


@pytest.mark.parametrize("shape", [(20_000, 4), (100, 200), (3, 3)])
def test_many_rows_or_many_columns(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    X[:, 2] = X[:, 0] - X[:, 1]
    expected = [j for j in range(shape[1]) if j != 2][: shape[0]]
    assert independent_columns(X).tolist() == expected


def test_rows_of_weight_zero_do_not_count():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert independent_columns(X).tolist() == [0, 1]
    assert independent_columns(X, weights=np.array([1.0, 2.0, 0.0])).tolist() == [0]
    assert independent_columns(X, weights=np.array([1e-30, 2e-30, 1e-30])).tolist() == [0, 1]


@pytest.mark.parametrize("collinear", [False, True])
def test_the_factor_has_the_lengths_and_angles_of_the_columns(collinear):
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((50, 4)), rng.random(50)
    if collinear:
        X[:, 3] = X[:, 0] + 1e-5 * X[:, 3]  # near enough to refuse the Gram matrix
    basis = column_basis(X, weights=w)
    np.testing.assert_allclose(basis.factor.T @ basis.factor, X.T @ (w[:, None] * X), rtol=1e-12, atol=1e-12)
    assert np.array_equal(basis.factor, np.triu(basis.factor))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_to_keep(shape):
    assert independent_columns(np.ones(shape)).tolist() == []


def test_the_design_is_not_changed():
    X = np.asfortranarray(np.random.default_rng(2).standard_normal((9, 4)))
    X[:, 3] = X[:, 0]
    before = X.copy()
    assert independent_columns(X).tolist() == [0, 1, 2]
    assert np.array_equal(X, before)


def test_power_of_two_is_above_by_at_most_two():
    sizes = np.array([1e-300, 3e-7, 1.0, 1e12, 1e300])
    assert ((power_of_two(sizes) / sizes > 1 - 1e-15) & (power_of_two(sizes) / sizes <= 2)).all()
