"""Kernels that the caller brings, and what is said of those that are none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.kernel.definite import indefinite
from qreg_boost.kernel.kernels import RBF, read_kernel

RNG = np.random.default_rng(9)
X = RNG.normal(size=(30, 2))
Y = X[:, 0] + RNG.normal(size=30)
K = RBF(0.5).matrix(X)


def square(x: np.ndarray, z: np.ndarray) -> float:
    return float(x @ z) ** 2


class Product:
    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        assert A.ndim == B.ndim == 2
        return A @ B.T


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (square, (X @ X.T) ** 2),
        (lambda x, z: x @ z, X @ X.T),  # of two rows; of matrices (30, 2), (2, 2) it would give the right shape
        (lambda x, z: np.array([[x @ z]]), X @ X.T),
        (Product(), X @ X.T),
        (functools.partial(square), (X @ X.T) ** 2),
    ],
)
def test_functions_of_rows_and_of_matrices(function: Callable[..., Any], wanted: np.ndarray) -> None:
    kernel = read_kernel(function)
    np.testing.assert_allclose(kernel.matrix(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel.matrix(X, X[:2]), wanted[:, :2], rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(wanted), rtol=1e-12)
    assert kernel.matrix(X[:0], X).shape == (0, 30)
    assert " at 0x" not in str(kernel)


def test_a_function_of_matrices_only_has_a_low_rank_fit() -> None:
    fit = qb.KQR(Y, X, kernel=Product(), low_rank=2).fit()
    np.testing.assert_allclose(fit.predict(X), qb.KQR(Y, X, kernel="linear").fit().predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: "a", "must return numbers"),
        (lambda A: 1.0, r"stopped \(TypeError: .*\)\. A kernel function takes two matrices"),
        (lambda x, z: x, r"returns shape \(30, 30, 2\) for 30 and 30 rows"),
        (lambda A, B: A @ B.T + np.arange(len(A))[:, None], r"not symmetric: k = .* for rows 0 and 29, and"),
    ],
)
def test_functions_that_are_no_kernels(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        qb.KQR(Y, X, kernel=function).fit()


@pytest.mark.filterwarnings("ignore:The best C")
def test_calls_show_functions_by_name_and_arrays_as_lists() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    taus, costs = np.array([0.25, 0.5]), np.array([1.0, 2.0])
    fits = [
        qb.kqr("y ~ a + b", frame, tau=taus, kernel=square),
        qb.kqr("y ~ a + b", frame, tau=taus, kernel=Product()),
        qb.kqr("y ~ a + b", frame, tau=taus, C=costs, folds=np.arange(30) % 3, rng=np.random.default_rng(1)),
    ]
    texts = [" ".join(str(fit).split()) for fit in fits]
    assert "tau=[0.25, 0.5], kernel=square)" in texts[0] and "kernel=Product)" in texts[1]
    assert "C=[1.0, 2.0], folds=[0, ..., 2], rng=Generator(PCG64))" in texts[2]
    assert not any("0x" in text for text in texts)
    assert "Kernel: function 'square'" in " ".join(fits[0].summary().as_text().split())


# -- precomputed -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "matrix", "options", "message"),
    [
        (Y, K[:5], {}, r"y has 30 values, so it must have shape \(30, 30\); got \(5, 30\)"),
        (Y, K[:, :5], {}, r"must have shape \(30, 30\); got \(30, 5\)"),
        (Y, X[:, 0], {}, r"got \(30,\)"),
        (Y, K + np.arange(30)[:, None], {}, "The precomputed kernel is not symmetric"),
        (Y, np.where(K > 0.99, np.nan, K), {}, r"has 30 values missing or infinite, the first in row 0, column 0"),
        (Y, [["a"]], {}, "must be a matrix"),
        (np.where(Y > 1, np.nan, Y), K, {}, r"no row may miss anything, and \d+ rows would be dropped"),
        (Y, K, {"low_rank": 5}, "leave out `low_rank`"),
        (Y, -K, {}, r"not positive semidefinite: its least eigenvalue is -\d"),
    ],
)
def test_matrices_that_are_refused(y: np.ndarray, matrix: Any, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        qb.KQR(y, matrix, kernel="precomputed", **options).fit()


def test_a_matrix_of_single_precision_is_taken() -> None:
    rounded = (K + 1e-7 * RNG.uniform(-1, 1, K.shape)).astype(np.float32)
    assert (rounded != rounded.T).any()
    fit, exact = (qb.KQR(Y, matrix, kernel="precomputed").fit() for matrix in (rounded + 1e-5 * np.eye(30), K))
    assert fit.duality_gap < 1e-8
    np.testing.assert_allclose(fit.fittedvalues, exact.fittedvalues, atol=1e-3)


def test_new_rows_for_a_precomputed_kernel() -> None:
    fit = qb.KQR(Y, K, kernel="precomputed").fit()
    for new in (K[:3, :4], K[0], pd.DataFrame(X)):
        with pytest.raises(InputError, match=r"between the new rows and the 30 rows of training: an array \(m, 30\)"):
            fit.predict(new)
    with pytest.raises(InputError, match=r"A formula has no place for a precomputed kernel matrix.*KQR\(y, K"):
        qb.kqr("y ~ x", pd.DataFrame({"x": X[:, 0], "y": Y}), kernel="precomputed")


# -- kernels that are none ---------------------------------------------------------------------------------------------


def test_a_certificate_is_not_claimed_for_a_matrix_that_is_not_positive_semidefinite() -> None:
    # tanh is concave above 0: the square of x'z has a coefficient below 0
    with pytest.warns(ConvergenceWarning, match=r"least eigenvalue is -.*stationary point.*certifies nothing"):
        fit = qb.KQR(Y, X, kernel="tanh", kpar={"scale": 0.01, "offset": 1.0}).fit()
    text = " ".join(fit.summary().as_text().split())
    assert "no certificate" in text and "not positive semidefinite" in text
    with pytest.raises(InputError, match=r"not positive semidefinite.*has no solution. Take other parameters"):
        qb.KQR(Y, X, kernel="tanh", kpar={"scale": 1.0, "offset": -2.0}).fit()


def test_definite_matrices() -> None:
    assert indefinite(X @ X.T) is None and indefinite(K) is None and indefinite(np.zeros((3, 3))) is None
    found = indefinite(K - 0.5 * np.eye(30))
    assert found is not None and found.least == pytest.approx(np.linalg.eigvalsh(K)[0] - 0.5)
    values = {"linear": True, "rbf": True, "laplace": True, "polynomial": True, "tanh": False}
    assert {name: read_kernel(name).definite(X) for name in values} == values
    # splines have their knots above 0, and are straight lines below
    spline = read_kernel("spline")
    assert spline.definite(X) and indefinite(spline.matrix(X)) is None
    x = np.linspace(-9, 0, 10)[:, None]
    np.testing.assert_allclose(np.diff(spline.matrix(x, np.array([[0.7], [2.0]])), 2, axis=0), 0.0, atol=1e-12)


def test_a_spline_goes_on_as_a_straight_line_on_both_sides() -> None:
    x = np.linspace(3.0, 8.0, 60)
    fit = qb.KQR(np.sin(x), x, kernel="spline", C=100.0).fit()
    for outside in (np.linspace(-20.0, 3.0, 9), np.linspace(8.0, 30.0, 9)):
        np.testing.assert_allclose(np.diff(fit.predict(outside[:, None]), 2), 0.0, atol=1e-9)


# -- what is said of a kernel ------------------------------------------------------------------------------------------


def test_kernlabs_automatic_parameters() -> None:
    assert read_kernel("rbfdot", kpar="automatic") == RBF("sigest")
    assert read_kernel("vanilladot", kpar="automatic").name == "linear"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("rbf", "sigest", "auto"), "`kpar` must be a mapping, .* or \"automatic\"; got 'auto'"),
        (("rbf", "sigest", [1]), "`kpar` must be a mapping"),
        (("rbf", 2.0, {"sigma": 1.0}), "gamma is given twice"),
        (("rbf", "sigest", {"sigma": 1.0, "gamma": 2.0}), "gamma is given twice"),
        (("besseldot",), "kernlab's besseldot is not among the kernels here .* as a function of two matrices"),
        (("anovadot",), "kernlab's anovadot is not among the kernels here"),
        ((None,), "or a function of two matrices of rows; got None"),
        (("rbfdo",), "Did you mean 'rbfdot'"),
    ],
)
def test_messages(given: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_kernel(*given)


def test_where_gamma_comes_from_is_said_right() -> None:
    for options in ({"gamma": 0.4}, {"kpar": {"sigma": 0.4}}, {"kernel": RBF(0.4)}):
        assert "sigest" not in qb.KQR(Y, X, **options).fit().summary().as_text()
    for options in ({}, {"kpar": "automatic"}, {"kernel": RBF()}):
        assert "(sigest)" in qb.KQR(Y, X, **options).fit().summary().as_text()
