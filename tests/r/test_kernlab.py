"""Kernel quantile regression, first steps of reject classifiers and the quadratic program against kernlab, live."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost import r
from qreg_boost.base.checks import InputError
from qreg_boost.kernel.box_qp import BoxQP, Dense, LowRank, solve_box_qp
from qreg_boost.kernel.kernels import read_kernel
from qreg_boost.r.kernlab import fit_svm, ipop
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
    X = np.abs(X) if kernel == "spline" else X  # below 0 kernlab's is no kernel
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


def test_a_spline_below_nil_is_compared_by_its_matrix() -> None:
    assert qb.kqr("y ~ x + z", noisy(), C=0.5, kernel="spline", standardize=False).compare_r().agrees


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


def test_whole_weights_are_repeated_rows_of_kernlabs() -> None:
    data = noisy(60).assign(w=np.arange(60) % 3)
    found = qb.kqr("y ~ x + z", data, tau=0.3, C=2.0, weights="w").compare_r()
    assert found.agrees and "60 rows" in found.title, found
    assert "rows as often as their weights say" in str(found)


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.OneClassWarning")
def test_what_the_comparison_says() -> None:
    fit = qb.kqr("y ~ x + z", noisy(), tau=0.3, C=2.0)
    assert "Our objective is the lower, by " in str(fit.compare_r()) and "standardised columns" in str(fit.compare_r())
    raw = qb.kqr("y ~ x + z", noisy(), tau=0.3, C=2.0, standardize=False, low_rank=20)
    assert "standardised" not in str(raw.compare_r()) and "low-rank matrix" in str(raw.compare_r())
    flat = qb.kqr("y ~ x", noisy(40).assign(y=3.0), tau=0.5).compare_r()
    assert flat.agrees and flat.checks["python"].iloc[0] == 0.0, flat
    labels = np.where(noisy()["z"] > 0, "a", "b")
    for standardize in (True, False):
        reject = qb.RejectClassifier(labels, noisy()[["x"]], standardize=standardize, kernel="rbf", gamma=0.1)
        assert ("standardised" in str(reject.fit().compare_r())) == standardize


def test_r_kqr_understands_this_packages_names() -> None:
    fit = r.kqr("y ~ x + z", noisy(60), kernel="rbf", kpar={"sigma": 0.5})
    assert "rbfdot(sigma = 0.5)" in repr(fit) and "vanilladot, 60 rows" in repr(
        r.kqr("y ~ x", noisy(60), kernel="linear")
    )
    assert "sigma" in r.kqr("y ~ x", noisy(60), kpar="automatic").kpar
    with pytest.raises(InputError, match=r"`kernel` must be one of 'rbfdot'.*Did you mean 'polydot'"):
        r.kqr("y ~ x", noisy(60), kernel="polydo")
    with pytest.raises(InputError, match="`kpar` must be a mapping"):
        r.kqr("y ~ x", noisy(60), kpar=3)


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
    with pytest.raises(InputError, match=r"takes no weights\. Whole weights are compared as repeated rows"):
        qb.kqr("y ~ x", data, weights=data["w"] / 2).compare_r()
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
def test_first_steps_on_public_data_are_not_above_ipop(name: str, public_table) -> None:
    data = public_table(name)
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


def rows_of(name: str, public_table) -> tuple[np.ndarray, np.ndarray]:
    if name == "simulated":
        rng = np.random.default_rng(8)
        X = rng.normal(size=(150, 4))
        return np.where(X[:, 0] + X[:, 1] ** 2 - 1 + rng.normal(size=150) > 0, "yes", "no"), X
    data = public_table(name)
    response = qb.datasets.info(name).response[0]
    X = data.drop(columns=response).select_dtypes("number")
    return data[response].to_numpy(), X.loc[:, X.nunique() > 1].to_numpy(dtype=float)


@pytest.mark.parametrize("C", [0.5, 10.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ["sonar", "ionosphere", "simulated"])
def test_first_step_without_band_is_ksvm(name: str, kernel: str, C: float, public_table) -> None:
    y, X = rows_of(name, public_table)
    found = qb.RejectClassifier(y, X, d=0.2, C=C, kernel=kernel, starts="zero").fit().compare_r()
    assert found.agrees and found.gap <= 1e-7, found
    checks = found.checks.set_index("term")
    # ksvm meets its conditions to 1e-6; what is left in f is far below what the band or a label turns on
    assert checks["python"]["ksvm: difference of f / max(sd, 1)"] <= 1e-4, found
    # linear and C = 0.5 on the simulated set: ipop itself stops, "computationally singular", and is left out
    assert "ipop: objective of the program" in checks.index or "singular" in found.notes[-2], found
    # the objective that ksvm prints has the sign of the dual, to be minimised; it is summed up step by step
    printed = found.table.set_index("term").loc["ksvm: objective as it prints it"]
    assert printed["python"] == pytest.approx(printed["r"], rel=1e-6) and printed["r"] < 0


@pytest.mark.parametrize("d", [0.05, 0.5])
def test_hinge_of_the_first_step_does_not_depend_on_d(d: float, public_table) -> None:
    y, X = rows_of("simulated", public_table)
    found = qb.RejectClassifier(y, X, d=d, C=2.0, kernel="rbf", gamma=0.3).fit().compare_r()
    svm = qb.RejectClassifier(y, X, d=0.2, C=2.0, kernel="rbf", gamma=0.3).fit().compare_r()
    assert found.agrees and svm.agrees, found
    assert found.checks["r"].iloc[0] == pytest.approx(svm.checks["r"].iloc[0], rel=1e-12)
    assert found.checks["r"].iloc[2] != pytest.approx(svm.checks["r"].iloc[2], rel=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "double_hinge", "d": 0.2},
        {"method": "generalized_hinge", "d": 0.2},
        {"mu": 0.5},
        {"cost": {"fn": 5, "fp": 1, "reject": 0.4}},
        {"kernel": "laplace", "gamma": 0.4, "method": "double_hinge"},
        {"kernel": "polynomial", "event": "no"},
    ],
)
def test_other_reject_fits_are_beside_kernlab(options: dict, public_table) -> None:
    y, X = rows_of("simulated", public_table)
    found = qb.RejectClassifier(y, X, C=2.0, **options).fit().compare_r()
    assert found.agrees, found
    assert "ipop: objective" in str(found) and "ksvm" in found._repr_html_()


def test_precomputed_kernel_and_weights_of_a_reject_fit(public_table) -> None:
    y, X = rows_of("simulated", public_table)
    K = read_kernel("rbf", 0.5).matrix(X)
    assert qb.RejectClassifier(y, K, kernel="precomputed", C=2.0).fit().compare_r().agrees
    with pytest.raises(InputError, match="no weights of rows"):
        qb.RejectClassifier(y, X, weights=np.arange(len(y)) % 3 + 1.0).fit().compare_r()


def test_ksvm_is_told_apart_from_another_cost(public_table) -> None:
    """A machine of twice the cost, as a wrong factor in the derivation would give, does not agree."""
    y, X = rows_of("simulated", public_table)
    fit = qb.RejectClassifier(y, X, C=2.0, kernel="rbf", gamma=0.3).fit()
    step = fit.first_step()
    theirs = fit_svm(step.X, step.y, (4.0, 4.0), "rbfdot", {"sigma": 0.3})
    assert np.abs(theirs.decision - step.point.t * step.y).max() > 0.01
    assert abs(theirs.objective) > 1.2 * step.point.a.sum() - 0.5 * step.point.norm2


def test_many_rows_are_not_given_to_ipop(public_table, monkeypatch) -> None:
    y, X = rows_of("simulated", public_table)
    monkeypatch.setattr("qreg_boost.r.compare_reject._MOST_ROWS", 149)
    found = qb.RejectClassifier(y, X, C=2.0).fit().compare_r()
    assert found.agrees and len(found.checks) == 2 and "150 rows are more than 149" in str(found)
