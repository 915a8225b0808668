"""Kernel quantile regression and the quadratic program against kernlab, live."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost import r
from qreg_boost.base.checks import InputError
from qreg_boost.kernel.box_qp import BoxQP, Dense, LowRank, solve_box_qp
from qreg_boost.kernel.kernels import read_kernel
from qreg_boost.r.kernlab import ipop
from qreg_boost.r.session import evaluate

pytestmark = pytest.mark.r("kernlab")

KERNELS = {
    "rbf": {},
    "laplace": {"gamma": 0.5},
    "linear": {},
    "polynomial": {"kpar": {"degree": 2}},
    "spline": {},
}


def noisy(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    x, z = rng.uniform(0, 10, n), rng.normal(size=n)
    g = rng.choice(["a", "b", "c"], n)
    y = 100 + 20 * np.sin(x) + 5 * z + 8 * (g == "b") + rng.normal(size=n) * (2 + x / 2)
    return pd.DataFrame({"y": y, "x": x, "z": z, "g": g})


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_functions_are_kernlabs(kernel: str) -> None:
    made = read_kernel(
        kernel, KERNELS[kernel].get("gamma", 0.3 if kernel == "rbf" else "sigest"), KERNELS[kernel].get("kpar")
    )
    X = np.random.default_rng(0).normal(size=(7, 3))
    given = {("sigma" if name == "gamma" else name): value for name, value in made.parameters.items()}
    K = evaluate(
        "unclass(kernlab::kernelMatrix(do.call(getExportedValue('kernlab', name), kpar), X))",
        X=X, name=made.kernlab, kpar=given,
    )  # fmt: skip
    np.testing.assert_allclose(np.asarray(K, dtype=float), made.matrix(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kernel", KERNELS)
def test_kqr_is_kernlabs_optimum(kernel: str, tau: float) -> None:
    fit = qb.kqr("y ~ x + z + C(g)", noisy(), tau=tau, C=2.0, kernel=kernel, **KERNELS[kernel])
    found = fit.compare_r()
    assert found.gap <= 1e-8, found
    assert found.agrees, found
    assert fit.duality_gap <= 1e-8


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_engel_over_costs(C: float) -> None:
    fit = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5, C=C, gamma=1.0)
    found = fit.compare_r()
    assert found.gap <= 1e-8 and fit.duality_gap <= 1e-8, found
    assert found.checks["python"].iloc[1] <= 1e-3, found
    assert "agree" in str(found) and "kernlab" in found._repr_html_()


def test_several_taus_below_each_other() -> None:
    found = qb.kqr("y ~ x + z", noisy(), tau=[0.25, 0.75], C=2.0).compare_r()
    assert found.agrees and set(found.table["tau"]) == {0.25, 0.75}


def test_low_rank_and_precomputed_fits_are_compared_by_their_matrix() -> None:
    data = noisy(100)
    assert qb.kqr("y ~ x + z", data, C=2.0, low_rank=30).compare_r().agrees
    K = read_kernel("rbf", 0.5).matrix(data[["x", "z"]].to_numpy())
    assert qb.KQR(data["y"], K, kernel="precomputed", C=2.0).fit().compare_r().agrees


def test_r_kqr_gives_fits_in_units_of_y() -> None:
    data = noisy()
    data.index = data.index + 1000
    fit = r.kqr("y ~ x + z + g", data, tau=0.3, C=2.0, kpar={"sigma": 0.5})
    ours = qb.kqr("y ~ x + z + C(g)", data, tau=0.3, C=2.0, gamma=0.5)
    pd.testing.assert_index_equal(fit.fittedvalues.index, data.index)
    # the same standardising, kernel and optimum; kernlab's is exact to about 1e-4 of the spread
    np.testing.assert_allclose(fit.fittedvalues, ours.fittedvalues, atol=1e-3 * data["y"].std())
    assert "rbfdot(sigma = 0.5)" in repr(fit)


def test_sigest_is_what_kernlabs_tends_to() -> None:
    data = noisy(400)
    ours = qb.kqr("y ~ x + z", data).gamma
    X = ((data[["x", "z"]] - data[["x", "z"]].mean()) / data[["x", "z"]].std()).to_numpy()
    # kernlab draws pairs at random: the mean of many draws, within Monte-Carlo error of a few per cent
    draws = evaluate("set.seed(1); replicate(200, mean(kernlab::sigest(X, frac = 1, scaled = FALSE)[c(1, 3)]))", X=X)
    draws = np.asarray(draws, dtype=float)
    assert ours == pytest.approx(draws.mean(), rel=0.1)


def test_what_kernlab_does_not_have() -> None:
    data = noisy(60).assign(w=np.arange(60) % 3 + 1.0)
    with pytest.raises(InputError, match="takes no weights"):
        qb.kqr("y ~ x", data, weights="w").compare_r()
    with pytest.raises(InputError, match="each quantile alone"):
        qb.kqr("y ~ x", data, tau=[0.2, 0.8], noncrossing=True).compare_r()


@pytest.mark.parametrize("d", [0.1, 0.3, 0.5])
def test_double_ramp_step_is_not_above_ipop(d: float) -> None:
    rng = np.random.default_rng(5)
    n, C = 80, 2.0
    X = rng.normal(size=(n, 4))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    Q = y[:, None] * read_kernel("rbf", 0.2).matrix(X) * y
    upper = np.stack([np.full(n, C * d), np.full(n, C * (1 - d))])
    capped = np.where(rng.random((2, n)) < 0.1, upper, 0.0)
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    problem = BoxQP(Dense(Q), -np.ones((2, n)), -capped, upper - capped, A, np.zeros(2))
    ours = solve_box_qp(problem)
    theirs = ipop(
        np.tile(Q, (2, 2)), problem.c.ravel(), A.reshape(2, -1), problem.b, problem.lower.ravel(), problem.upper.ravel()
    )
    assert ours.status.optimal
    # ipop may be below by what its violation of the constraints gains it
    assert ours.primal <= theirs.objective + 1e-7 * abs(theirs.objective) + 10 * theirs.violation
    assert ours.primal == pytest.approx(theirs.objective, rel=1e-5)


SETS = {"sonar": "rbf", "ionosphere": "rbf", "parkinsons": "linear", "spambase": "rbf"}


@pytest.mark.parametrize("name", SETS)
def test_first_steps_on_public_data_are_not_above_ipop(name: str) -> None:
    try:
        data = qb.datasets.load(name)
    except InputError as error:
        pytest.skip(str(error))
    data = data.iloc[:: len(data) // 500][:500] if len(data) > 1000 else data
    response = qb.datasets.info(name).response[0]
    X = data.drop(columns=response).select_dtypes("number").dropna(axis=1)
    X = X.loc[:, X.nunique() > 1].to_numpy(dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(data[response] == data[response].iloc[0], 1.0, -1.0)
    n, C, d = len(y), 2.0, 0.2
    Q = y[:, None] * read_kernel(SETS[name]).settled(X).matrix(X) * y
    upper = C * np.array([[d], [1 - d]]) * np.ones((2, n))
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    form = LowRank(X * y[:, None]) if SETS[name] == "linear" else Dense(Q)
    ours = solve_box_qp(BoxQP(form, -np.ones((2, n)), 0 * upper, upper, A, np.zeros(2)))
    parts = (-np.ones(2 * n), A.reshape(2, -1), np.zeros(2), np.zeros(2 * n), upper.ravel())
    theirs = ipop(np.tile(Q, (2, 2)), *parts)
    assert ours.status.optimal and ours.residuals.kkt <= 1e-6
    assert ours.primal <= theirs.objective + 1e-7 * abs(theirs.objective), (ours.primal, theirs)
