"""Kernels: their formulas, blocks, names, and rules for gamma."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.base.checks import InputError
from qreg_boost.kernel import kernel as one_kernel
from qreg_boost.kernel import widths
from qreg_boost.kernel.incomplete_cholesky import incomplete_cholesky
from qreg_boost.kernel.kernels import KERNELS, RBF, Function, Kernel, Linear, read_kernel, restore_kernel
from qreg_boost.kernel.quadratic import Dense, LowRank
from qreg_boost.kernel.widths import width_by_rule

RNG = np.random.default_rng(3)
X = RNG.normal(size=(23, 4))
Z = RNG.normal(size=(17, 4))


def spline(x: np.ndarray, z: np.ndarray) -> float:
    m = np.maximum(np.minimum(x, z), 0.0)
    return float(np.prod(1 + x * z + x * z * m - (x + z) / 2 * m**2 + m**3 / 3))


FORMULAS = {
    "linear": (read_kernel("linear"), lambda x, z: x @ z),
    "rbf": (read_kernel("rbf", 0.3), lambda x, z: np.exp(-0.3 * ((x - z) ** 2).sum())),
    "laplace": (read_kernel("laplace", 0.3), lambda x, z: np.exp(-0.3 * np.linalg.norm(x - z))),
    "polynomial": (
        read_kernel("poly", kpar={"degree": 3, "scale": 0.5, "offset": 2}),
        lambda x, z: (x @ z / 2 + 2) ** 3,
    ),
    "tanh": (read_kernel("tanh", kpar={"scale": 0.2, "offset": 0.1}), lambda x, z: np.tanh(0.2 * (x @ z) + 0.1)),
    "spline": (read_kernel("spline"), spline),
    "by rows": (read_kernel(lambda x, z: float(np.dot(x, z)) ** 2), lambda x, z: (x @ z) ** 2),
    "by matrices": (read_kernel(lambda A, B: A @ B.T), lambda x, z: x @ z),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, formula = FORMULAS[name]
    wanted = np.array([[formula(x, z) for z in Z] for x in X])
    np.testing.assert_allclose(kernel.matrix(X, Z), wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(X), [formula(x, x) for x in X], rtol=1e-12)
    monkeypatch.setattr(one_kernel, "BLOCK", 40)  # two or three rows at a time
    np.testing.assert_allclose(kernel.matrix(X, Z), wanted, rtol=1e-12, atol=1e-14)
    a = RNG.normal(size=(17, 2))
    np.testing.assert_allclose(kernel.apply(X, Z, a), wanted @ a, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.apply(X, Z, a[:, 0]), wanted @ a[:, 0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "precomputed"])
def test_every_kernel_is_in_the_test_of_formulas_and_comes_back_from_its_state(name: str) -> None:
    kernel = FORMULAS[name][0]
    assert isinstance(kernel, Kernel) and kernel.name == name
    assert restore_kernel(kernel.state()) == kernel
    assert read_kernel(kernel.kernlab).name == name


def test_squared_distances_of_many_columns() -> None:
    wide, other = RNG.normal(size=(9, 60)) + 100.0, RNG.normal(size=(8, 60)) + 100.0
    wanted = ((wide[:, None] - other[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(widths.squared_distances(wide, other), wanted, rtol=1e-10)


def test_kernlabs_names_of_parameters() -> None:
    assert read_kernel("rbfdot", kpar={"sigma": 0.2}) == RBF(0.2) == read_kernel("rbf", 0.2)
    assert read_kernel("laplacedot", "median").parameters == {"gamma": "median"}


def test_rules_for_gamma_take_all_pairs() -> None:
    d = np.array([((X[i] - X[j]) ** 2).sum() for i in range(23) for j in range(i)])
    q = np.quantile(d, [0.1, 0.5, 0.9])
    assert width_by_rule(X, "sigest") == pytest.approx((1 / q[0] + 1 / q[2]) / 2, rel=1e-12)
    assert width_by_rule(X, "median") == pytest.approx(1 / q[1], rel=1e-12)
    assert width_by_rule(X[::-1], "sigest") == pytest.approx(width_by_rule(X, "sigest"), rel=1e-12)
    # equal rows say nothing of the scale
    twice = width_by_rule(np.repeat(X, 2, axis=0), "median")
    assert twice == pytest.approx(width_by_rule(X, "median"), rel=0.05)
    assert RBF("median").settled(X) == RBF(1 / q[1])


def test_gamma_of_many_rows_is_not_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widths, "ALL_PAIRS", 12)
    some = width_by_rule(X, "sigest")
    assert some == width_by_rule(X[RNG.permutation(23)], "sigest")  # nor does the order of rows count
    assert some != width_by_rule(X[:12], "sigest") and some == pytest.approx(width_by_rule(X[:12], "sigest"), rel=0.5)


def test_whole_weights_are_repeated_rows_for_gamma_too() -> None:
    times = RNG.integers(1, 5, 23)
    for rule in ("sigest", "median"):
        wanted = width_by_rule(np.repeat(X, times, axis=0), rule)
        assert width_by_rule(X, rule, times.astype(float)) == pytest.approx(wanted, rel=1e-12)
        assert width_by_rule(X, rule, np.ones(23)) == width_by_rule(X, rule)
    # of others only their ratios count
    parts = RNG.random(23)
    assert width_by_rule(X, "sigest", parts) == pytest.approx(width_by_rule(X, "sigest", 7.0 * parts), rel=1e-12)


def test_forms() -> None:
    assert isinstance(Linear().form(X), LowRank)
    assert isinstance(Linear().form(X[:3]), Dense)
    assert isinstance(RBF(1.0).form(X), Dense)


@pytest.mark.parametrize("kernel", [RBF(0.02), Linear(), read_kernel("poly", kpar={"degree": 2})])
def test_incomplete_cholesky(kernel: Kernel) -> None:
    K = kernel.matrix(X)
    found = incomplete_cholesky(kernel, X, 1e-6, 23)
    left = K - found.Z @ found.Z.T
    assert len(found.pivots) <= 23
    assert np.abs(left).max() <= 1.01 * found.error * np.diagonal(K).max() + 1e-12
    assert found.error <= 1e-6
    a = RNG.normal(size=23)
    np.testing.assert_allclose(
        K[:, found.pivots] @ found.coefficients(a), found.Z @ (found.Z.T @ a), rtol=1e-5, atol=1e-6
    )
    assert incomplete_cholesky(kernel, X, 0.0, 3).Z.shape == (23, 3)


def test_messages() -> None:
    with pytest.raises(InputError, match=r"`kernel` must be one of .*got 'rbff'. Did you mean 'rbf'"):
        read_kernel("rbff")
    with pytest.raises(InputError, match="The kernel 'linear' has no parameter 'gamma'; it has none"):
        read_kernel("linear", 0.5)
    with pytest.raises(
        InputError, match="The kernel 'polynomial' has no parameter 'sigma'; it has degree, offset, scale"
    ):
        read_kernel("polydot", kpar={"sigma": 1})
    with pytest.raises(InputError, match="`gamma` must be a number above 0"):
        read_kernel("rbf", -1.0)
    with pytest.raises(InputError, match="`gamma` must be one of 'sigest', 'median'"):
        read_kernel("rbf", "auto")
    with pytest.raises(InputError, match="all are equal"):
        width_by_rule(np.ones((4, 2)), "sigest")
    with pytest.raises(InputError, match="brings its own parameters"):
        read_kernel(RBF(1.0), 2.0)
    with pytest.raises(InputError, match="A file cannot hold the kernel function 'one'"):

        def one(x: np.ndarray, z: np.ndarray) -> float:
            return 1.0

        Function(one).state()
    with pytest.raises(InputError, match="one column per row of training, 17; got 4"):
        read_kernel("precomputed").matrix(X, Z)
    with pytest.raises(InputError, match="missing or infinite"):
        read_kernel(lambda x, z: np.nan).matrix(X)
