"""Stateful transforms: orthogonal polynomials against R, standardising against patsy."""

from __future__ import annotations

import numpy as np
import patsy
import pytest

from qreg_boost.base.checks import InputError
from qreg_boost.base.transforms import Center, OrthogonalPolynomials, Standardize

X = np.array([1, 2, 4, 7, 11, 12.5])
# R 4.2.2: p <- poly(c(1, 2, 4, 7, 11, 12.5), 3); predict(p, c(0, 5, 20))
R_POLY = np.array(
    [
        [-0.494151845601762341, 0.476450698950867779, -0.404103710351704060],
        [-0.400027684534760064, 0.124322815000790635, 0.214963200484470929],
        [-0.211779362400755289, -0.379730541939552579, 0.527204659605392867],
        [0.070593120800251749, -0.635304549950540531, -0.236853318266246754],
        [0.447089765068261147, -0.041791976152740135, -0.525644861482555070],
        [0.588276006668764673, 0.456053554091175040, 0.424434030010641894],
    ]
)
R_PREDICT = np.array(
    [
        [-0.58827600666876467, 0.89531271988754835, -1.42800680780062428],
        [-0.11765520133375294, -0.53165601492981895, 0.36468730653354692],
        [1.29420721467128241, 5.19755832860862466, 24.38679591149733028],
    ]
)


def fitted(degree: int, x: np.ndarray = X) -> OrthogonalPolynomials:
    poly = OrthogonalPolynomials()
    poly.fit(x, degree)
    return poly


def test_poly_is_rs_poly_and_its_predict() -> None:
    poly = fitted(3)
    # Both are exact but for rounding: about 1e-15 times the size of the values.
    np.testing.assert_allclose(poly.transform(X, 3), R_POLY, rtol=0, atol=5e-15)
    np.testing.assert_allclose(poly.transform(np.array([0, 5, 20.0]), 3), R_PREDICT, rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_poly_is_orthonormal_whatever_the_units(scale: float) -> None:
    x = np.random.default_rng(1).normal(size=200) * scale + 5 * scale
    columns = fitted(6, x).transform(x, 6)
    np.testing.assert_allclose(
        columns.T @ columns, np.eye(6), atol=1e-10
    )  # the recurrence loses a few digits by degree
    np.testing.assert_allclose(columns.sum(axis=0), 0, atol=1e-10)


def test_poly_gives_back_single_training_rows_to_the_last_bit() -> None:
    poly = fitted(3)
    assert np.array_equal(poly.transform(X[2:3], 3), poly.transform(X, 3)[2:3])


def test_poly_raw_gives_powers() -> None:
    assert np.array_equal(fitted(3).transform(X, 3, raw=True), np.column_stack([X, X**2, X**3]))


@pytest.mark.parametrize(
    ("degree", "said"),
    [(6, "must be below the number of distinct values of x"), (0, "whole number of at least 1"), (1.5, "whole number")],
)
def test_poly_refuses_a_degree(degree: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fitted(degree)  # type: ignore[arg-type]


def test_poly_refuses_what_is_not_one_variable() -> None:
    with pytest.raises(InputError, match="must be one variable"):
        fitted(1, np.ones((3, 2)))
    with pytest.raises(InputError, match="needs numbers"):
        fitted(1, np.array(["a", "b"]))


@pytest.mark.parametrize("options", [{}, {"center": False}, {"rescale": False}, {"ddof": 1}])
def test_standardize_is_patsys(options: dict) -> None:
    ours = Standardize()
    ours.fit(X, **options)
    # patsy sums by a running formula, ours in two passes: they differ by rounding.
    np.testing.assert_allclose(ours.transform(X, **options), patsy.standardize(X, **options), rtol=1e-12)


def test_center_is_patsys_by_column() -> None:
    x = np.column_stack([X, X**2])
    ours = Center()
    ours.fit(x)
    np.testing.assert_allclose(ours.transform(x), patsy.center(x), rtol=1e-12, atol=1e-12)


def test_standardize_refuses_a_constant() -> None:
    with pytest.raises(InputError, match="no spread"):
        Standardize().fit(np.ones(4))
