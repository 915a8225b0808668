"""What predicts is what was fitted, however large the costs; supports and sides in boxes that no dual fills."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.kernel.kernels import Spline
from qreg_boost.reject.machine import LOSSES, Scale
from qreg_boost.reject.model import RejectClassifier

METHODS = tuple(LOSSES)


def apart(seed: int = 0, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, 2) and labels that a line tells apart."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0.0).astype(int)


def fitted(y: np.ndarray, X: np.ndarray, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # programs that are told not to be solved to the last digit
        return RejectClassifier(y, X, progress=False, **options).fit()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_costs_that_no_dual_fills(method: str, kernel: str) -> None:
    """From C = 1e4 on nothing changes, as no dual reaches its bound; at 1e8 all are below 1e-6 of it."""
    X, y = apart()
    large, huge = (fitted(y, X, method=method, kernel=kernel, C=C) for C in (1e4, 1e8))
    assert huge.objective == pytest.approx(large.objective, rel=1e-4)
    np.testing.assert_allclose(huge.decision_function(), large.decision_function(), atol=1e-3)
    assert huge.evaluate()["risk"] == 0.0
    assert abs(len(huge.support) - len(large.support)) <= 2
    s = huge.support
    assert len(s) and ((s["side"] == s["label"]) | (s["side"] == "both")).all()  # both: rho is 0


@pytest.mark.parametrize(
    "options",
    [
        {"C": 1e3, "mu": 1e-3},
        {"C": 1e-3, "mu": 1e-6},
        {"C": 1e8},
        {"d": 1e-7, "C": 2.0},
        {"C": 50.0, "weights": np.where(np.arange(40) < 20, 1e8, 1.0)},
        {"C": 50.0, "weights": np.where(np.arange(40) < 20, 1e-8, 1.0)},
    ],
    ids=["narrow ramps", "narrower ramps", "large C", "small d", "heavy rows", "light rows"],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_machine_is_the_fit(options: dict, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions of the rows fitted are the margins that the programs ended with."""
    from qreg_boost.reject import model

    X, y = apart()
    y[:5] = 1 - y[:5]
    found, solve = [], LOSSES["double_ramp"]
    monkeypatch.setitem(model.LOSSES, "double_ramp", lambda *a: found.append(solve(*a)) or found[-1])
    fit = fitted(y, X, kernel=kernel, **options)
    t = found[0].point.t
    np.testing.assert_allclose(fit.margins(), t, atol=1e-8 * np.abs(t).max())


@pytest.mark.parametrize("n", [100, 100_000])
def test_a_constant_column_has_no_spread_however_many_rows(n: int) -> None:
    """The mean of 100,000 times 0.1 is not 0.1: slopes over a spread of 1e-13 were 1e13 times too large."""
    X = np.column_stack((np.full(n, 0.1), np.arange(n, dtype=float)))
    for weights in (None, np.linspace(1.0, 2.0, n)):
        assert Scale.of(X, weights, True).spread[0] == 1.0 and Scale.of(X, weights, True).spread[1] > 1.0


@pytest.mark.parametrize("method", METHODS)
def test_the_spline_kernel_is_given_values_from_0_on(method: str) -> None:
    """Of values below 0 it is no kernel: standardised columns made an indefinite matrix, and a fit that was none."""
    X, y = apart()
    scaled = Scale.of(X, None, True, Spline()).apply(X)
    assert scaled.min() == 0.0 and scaled.max() == 1.0
    fit = fitted(y, np.column_stack((X, np.ones(40))), method=method, kernel="spline", C=100.0)
    unit = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    given = fitted(y, np.column_stack((unit, np.zeros(40))), method=method, kernel="spline", C=100.0, standardize=False)
    assert fit.objective == pytest.approx(given.objective, rel=1e-9)
    np.testing.assert_allclose(fit.decision_function(), given.decision_function(), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_an_indefinite_kernel_is_told(method: str) -> None:
    """An eigenvalue below 0 that a box hides from the programs: they end as optimal, and are not."""
    X, y = apart()
    v = np.random.default_rng(1).normal(size=40)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    bad = K - 0.002 * np.outer(v, v)
    with pytest.warns(ConvergenceWarning, match=r"not positive semidefinite: its least eigenvalue is -0\.\d+"):
        fit = RejectClassifier(y, bad, kernel="precomputed", method=method, C=3.0, progress=False).fit()
    assert "not positive semidefinite" in str(fit.summary())
    with pytest.raises(InputError, match=r"not positive semidefinite: its least eigenvalue is -.*has no solution"):
        fitted(y, K - 5.0 * np.outer(v, v), kernel="precomputed", method=method, C=1e4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        RejectClassifier(y, K, kernel="precomputed", method=method, C=3.0, progress=False).fit()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gamma", ["sigest", "median"])
def test_weights_are_repetitions_where_gamma_is_by_rule(method: str, gamma: str) -> None:
    X, y = apart()
    y[:5] = 1 - y[:5]
    times = np.random.default_rng(2).integers(1, 4, 40)
    weighted = fitted(y, X, method=method, kernel="rbf", gamma=gamma, C=2.0, weights=times)
    repeated = fitted(np.repeat(y, times), np.repeat(X, times, axis=0), method=method, kernel="rbf", gamma=gamma, C=2.0)
    assert weighted.gamma == pytest.approx(repeated.gamma, rel=1e-12)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    np.testing.assert_allclose(weighted.predict(X, codes=True), repeated.predict(X, codes=True))
    assert weighted.cv(C=[1.0], k=2, progress=False).found.kernels[0].gamma == pytest.approx(weighted.gamma, rel=1e-12)


def test_a_function_that_is_not_symmetric_is_refused() -> None:
    X, y = apart()
    with pytest.raises(InputError, match="not symmetric"):
        fitted(y, X, kernel=lambda A, B: A @ B.T + A[:, :1])
