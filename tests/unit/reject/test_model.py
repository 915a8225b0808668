"""The reject option classifier as a user meets it: what it predicts, costs, says, saves and refuses."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from qreg_boost.api_files import load
from qreg_boost.api_reject import reject_classifier
from qreg_boost.base.checks import InputError, NotDefinedError, OneClassWarning
from qreg_boost.kernel.kernels import RBF, read_kernel
from qreg_boost.reject.losses import double_ramp
from qreg_boost.reject.machine import LOSSES
from qreg_boost.reject.model import RejectClassifier
from tests.unit.reject.cases import overlapping

DATA = overlapping()
METHODS = tuple(LOSSES)


def fitted(data: pd.DataFrame = DATA, formula: str = "y ~ a + b", **options):
    return reject_classifier(formula, data, **options)


# -- predictions -------------------------------------------------------------------------------------------------------


def test_fit_tells_its_C_and_kernel() -> None:
    fit = fitted(kernel="rbf", C=2.0, gamma=0.25)
    assert (fit.C, fit.gamma, fit.kernel) == (2.0, 0.25, "rbf, gamma = 0.25")
    with pytest.raises(NotDefinedError, match="no gamma"):
        _ = fitted(C=2.0).gamma


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_predictions_follow_the_decision_function_and_the_band(method: str, kernel: str) -> None:
    fit = fitted(method=method, kernel=kernel, C=2.0)
    f, rho = fit.decision_function(DATA), fit.rho
    expected = np.where(f > rho, 1, np.where(f < -rho, -1, 0))
    codes = fit.predict(DATA, codes=True)
    assert codes.tolist() == expected.tolist()
    labels = fit.predict(DATA)
    assert labels.isna().tolist() == (expected == 0).tolist()
    assert (labels[expected == 1] == "yes").all() and (labels[expected == -1] == "no").all()
    assert isinstance(labels.dtype, pd.CategoricalDtype)
    np.testing.assert_allclose(fit.decision_function(), f, rtol=1e-12)
    np.testing.assert_allclose(fit.margins(), f * np.where(DATA["y"] == "yes", 1.0, -1.0))


def test_rows_with_something_missing_are_missing_and_not_withheld() -> None:
    fit = fitted()
    new = pd.DataFrame({"a": [3.0, np.nan], "b": [0.0, 1.0]}, index=["k", "l"])
    codes = fit.predict(new, codes=True)
    assert codes.index.tolist() == ["k", "l"] and codes.isna().tolist() == [False, True]
    assert fit.predict(new).isna().iloc[1]
    assert fit.decision_function(new).isna().tolist() == [False, True]


def test_params_of_a_linear_kernel_are_those_of_the_data() -> None:
    fit = fitted(C=3.0)
    p = fit.params
    by_hand = p["Intercept"] + p["a"] * DATA["a"] + p["b"] * DATA["b"]
    np.testing.assert_allclose(by_hand, fit.decision_function(DATA), atol=1e-10)
    with pytest.raises(NotDefinedError, match="no coefficients"):
        _ = fitted(kernel="rbf").params


def test_support_vectors_make_the_decision_function() -> None:
    fit = fitted(kernel=RBF(0.5), C=2.0)
    s = fit.support
    X = DATA[["a", "b"]].to_numpy()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    at = s.index.to_numpy()
    f = RBF(0.5).matrix(Z, Z[at]) @ s["coef"].to_numpy() + fit.b
    np.testing.assert_allclose(f, fit.decision_function(), atol=1e-4)  # rows below 1e-6 of their box are left out
    np.testing.assert_allclose(s["decision"], fit.decision_function().iloc[at])
    assert set(s["side"]) <= {"no", "yes", "both"} and (s["label"] == DATA["y"].iloc[at]).all()
    # a free support vector lies at a kink of the boundary it is said to be at
    free = s[(s["coef"].abs() > 0.01) & (s["coef"].abs() < 0.3)]
    yes = np.where(free["label"] == "yes", 1.0, -1.0)
    edge = np.where(free["side"] == "yes", fit.rho, -fit.rho) + yes
    clear = (free["side"] != "both").to_numpy()
    assert clear.sum() >= 1
    np.testing.assert_allclose(free["decision"][clear], edge[clear], atol=1e-3)


def test_at_one_half_nothing_is_withheld() -> None:
    for method in METHODS:
        fit = fitted(d=0.5, method=method)
        assert fit.rho == 0.0 and fit.evaluate()["rejection_rate"] == 0.0


def test_the_objective_is_the_regularised_risk() -> None:
    fit = fitted(C=2.0, d=0.15, mu=0.7)
    standard = DATA[["a", "b"]].std(ddof=0).to_numpy()
    slopes = fit.params[["a", "b"]].to_numpy() * standard
    t = fit.margins().to_numpy()
    risk = 0.5 * slopes @ slopes + 2.0 * double_ramp(t, fit.rho, 0.15, 0.7).sum()
    assert fit.objective == pytest.approx(risk, rel=1e-8)


# -- invariances: the 1e-8 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("d", [0.1, 0.3])
def test_same_R_for_permuted_rows_swapped_labels_and_rescaled_columns(kernel: str, d: float) -> None:
    R = fitted(kernel=kernel, d=d, C=2.0).objective
    permuted = DATA.sample(frac=1.0, random_state=1)
    assert fitted(permuted, kernel=kernel, d=d, C=2.0).objective == pytest.approx(R, rel=1e-8)
    assert fitted(kernel=kernel, d=d, C=2.0, event="no").objective == pytest.approx(R, rel=1e-8)
    rescaled = DATA.assign(a=DATA["a"] * 1e6 - 5.0, b=DATA["b"] * 1e-4)
    assert fitted(rescaled, kernel=kernel, d=d, C=2.0).objective == pytest.approx(R, rel=1e-8)


def test_same_rng_same_R_and_the_default_is_never_above_a_deterministic_start() -> None:
    one, two = (fitted(starts=4, rng=3, C=5.0) for _ in range(2))
    assert one.objective == two.objective
    default = fitted(C=5.0)
    for start in ("zero", "svm", "double_hinge"):
        assert default.objective <= fitted(C=5.0, starts=start).objective
    assert default.minima["start"].tolist() == ["zero", "svm", "double_hinge"]
    assert default.minima["objective"].min() == default.objective == default.minima.query("kept")["objective"].item()
    assert one.objective <= default.objective
    assert default.spread == pytest.approx(np.ptp(default.minima["objective"]))


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method: str) -> None:
    times = np.random.default_rng(0).integers(0, 3, len(DATA))
    repeated = DATA.loc[np.repeat(DATA.index, times)].reset_index(drop=True)
    weighted = fitted(DATA.assign(w=times), weights="w", method=method)
    assert weighted.objective == pytest.approx(fitted(repeated, method=method).objective, rel=1e-7)
    assert weighted.evaluate()["n"] == times.sum()
    assert f"of {(times > 0).sum()} rows withheld (weights counted)" in str(weighted)
    assert weighted.facts.nobs == (times > 0).sum()


@pytest.mark.parametrize("y", [[True, False], [0, 1], [1, 2], ["b", "a"], [0.5, 1.5]])
def test_any_two_labels(y: list) -> None:
    labels = np.where(DATA["y"] == "yes", y[1], y[0])
    fit = RejectClassifier(labels, DATA[["a", "b"]]).fit()
    assert set(fit.predict().dropna().unique()) <= set(labels.tolist())
    assert fit.event == sorted(y)[1]


def test_precomputed_kernels() -> None:
    X = DATA[["a", "b"]].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = read_kernel("rbf", 0.3)
    known = RejectClassifier(DATA["y"], X, kernel=kernel, standardize=False).fit()
    given = RejectClassifier(DATA["y"], kernel.matrix(X), kernel="precomputed").fit()
    assert given.objective == pytest.approx(known.objective, rel=1e-8)
    new = X[:5] + 0.1
    np.testing.assert_allclose(given.decision_function(kernel.matrix(new, X)), known.decision_function(new), atol=1e-4)
    with pytest.raises(InputError, match="precomputed kernel is a matrix"):
        RejectClassifier(DATA["y"], X, kernel="precomputed")
    K = kernel.matrix(X)
    K[3, 5] += 0.25
    with pytest.raises(InputError, match=r"is not symmetric: k = .* for rows 3 and 5"):
        RejectClassifier(DATA["y"], K, kernel="precomputed")


def test_a_function_as_kernel_and_a_constant_column() -> None:
    own = fitted(kernel=lambda X, Z: X @ Z.T)
    assert own.objective == pytest.approx(fitted().objective, rel=1e-8)
    flat = DATA.assign(c=1.0)
    assert fitted(flat, "y ~ a + b + c").objective == pytest.approx(fitted().objective, rel=1e-8)


# -- costs -------------------------------------------------------------------------------------------------------------


def test_even_costs_are_a_price() -> None:
    """cost fn = fp = 2, reject = 0.4 is d = 0.2 with C doubled, and its mean cost twice the risk."""
    for method in METHODS:
        by_cost = fitted(cost={"fn": 2, "fp": 2, "reject": 0.4}, method=method, C=1.5)
        by_d = fitted(d=0.2, method=method, C=3.0)
        assert by_cost.objective == pytest.approx(by_d.objective, rel=1e-8)
        assert by_cost.evaluate()["risk"] == pytest.approx(2.0 * by_d.evaluate()["risk"])


@pytest.mark.parametrize("method", [*METHODS, "chow", "qbc_pair"])
def test_dear_events_are_rarely_missed(method: str) -> None:
    fit = fitted(cost={"fn": 10, "fp": 1, "reject": 0.5}, method=method)
    counts = fit.confusion()
    assert counts.loc["yes", "no"] <= counts.loc["no", "yes"]
    n = counts.to_numpy().sum()
    cost = 10 * counts.loc["yes", "no"] + counts.loc["no", "yes"] + 0.5 * counts["withheld"].sum()
    assert fit.evaluate()["risk"] == pytest.approx(cost / n)
    with pytest.raises(NotDefinedError, match="prices of their own"):
        _ = fit.d


def test_the_price_of_withholding_moves_the_band() -> None:
    rates = [fitted(d=d, C=2.0).evaluate()["rejection_rate"] for d in (0.05, 0.2, 0.45)]
    assert rates[0] > rates[1] > rates[2]


# -- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*METHODS, "chow", "qbc_pair"])
def test_evaluate_by_hand_and_by_group(method: str) -> None:
    fit = fitted(method=method, d=0.2)
    codes, y = fit.predict(DATA, codes=True), np.where(DATA["y"] == "yes", 1, -1)
    wrong, withheld = ((codes != 0) & (codes != y)).sum(), (codes == 0).sum()
    n = len(DATA)
    figures = fit.evaluate()
    assert list(figures.index) == ["risk", "rejection_rate", "accuracy_accepted", "error_overall", "n"]
    assert figures["risk"] == pytest.approx((wrong + 0.2 * withheld) / n)
    assert figures["rejection_rate"] == pytest.approx(withheld / n)
    assert figures["accuracy_accepted"] == pytest.approx(1.0 - wrong / (n - withheld))
    assert figures["error_overall"] == pytest.approx(wrong / n)
    pd.testing.assert_series_equal(fit.evaluate(DATA), figures)
    groups = pd.Series(np.arange(n) % 3, name="third")
    for table in (fit.evaluate(groups=groups), fit.evaluate(DATA.assign(third=groups), groups="third")):
        assert table.index.name == "third" and table["n"].sum() == n
        assert (table["risk"] * table["n"]).sum() / n == pytest.approx(figures["risk"])
    arrays = fit.evaluate(DATA[["a", "b"]], y=DATA["y"])
    pd.testing.assert_series_equal(arrays, figures)


def test_tables() -> None:
    fit = fitted(d=0.2)
    assert fit.confusion().to_numpy().sum() == len(DATA)
    assert list(fit.confusion().columns) == ["no", "yes", "withheld"]
    table = fit.augment()
    assert {".decision", ".predicted", ".withheld", ".wrong"} <= set(table.columns)
    assert table[".withheld"].sum() == fit.confusion()["withheld"].sum()
    assert table[".wrong"].sum() == round(fit.error_rate * len(DATA))
    assert table.loc[table[".withheld"], ".wrong"].isna().all()
    assert {"method", "d", "rho", "objective", "risk", "n_support"} <= set(fit.glance().columns)
    assert fitted(kernel="rbf").tidy()["count"].sum() == len(DATA)


def test_a_fit_that_says_one_thing_only_warns() -> None:
    with pytest.warns(OneClassWarning, match="withheld"):
        fitted(d=0.05, C=1e-4)


# -- summaries ---------------------------------------------------------------------------------------------------------


def test_the_summary_has_every_fact() -> None:
    fit = fitted(d=0.15, C=2.0, kernel="rbf", starts=2)
    text = fit.summary().as_text()
    for fact in (
        "double ramp", "rbf, gamma = ", "C:", "0.15", "Starts:", "DC steps:", "Objective (R):", "0-d-1 risk (training)",
        "rejection rate", "accuracy on the accepted", "Support vectors:", "distinct", "spread", "Band:",
        "Standardised:", "kept: ",
    ):  # fmt: skip
        assert fact in text, fact
    assert max(map(len, text.split("\n"))) <= 78
    assert "withheld" in str(fit) and "reject_classifier(" in str(fit)
    for kind in (fit.summary().as_html(), fit.summary().as_latex()):
        assert "double ramp" in kind


@pytest.mark.parametrize("d, fails", [(0.3, False), (0.4, True), (0.45, True)])
def test_the_summary_says_when_the_bound_fails(d: float, fails: bool) -> None:
    assert ("does not bound" in fitted(d=d, method="double_hinge").summary().as_text()) == fails
    assert "does not bound" not in fitted(d=d, method="generalized_hinge").summary().as_text()


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {}, {"kernel": "rbf", "starts": 1}, {"method": "double_hinge", "kernel": "polynomial"}, {"starts": "zero,svm"},
    {"cost": {"fn": 3, "fp": 1, "reject": 0.3}, "kernel": "laplace"},
    {"method": "chow"}, {"method": "chow", "probability": "logitboost", "mstop": 20}, {"method": "qbc_pair"},
])  # fmt: skip
@pytest.mark.parametrize("rows", [False, True])
def test_saved_and_pickled_fits_are_the_same(tmp_path, options: dict, rows: bool) -> None:
    from qreg_boost import load

    fit = fitted(**options)
    again = load(fit.save(tmp_path / "fit.qb", data=rows))
    for other in (again, pickle.loads(pickle.dumps(fit))):
        pd.testing.assert_series_equal(other.decision_function(DATA), fit.decision_function(DATA))
        assert other.predict(DATA, codes=True).tolist() == fit.predict(DATA, codes=True).tolist()
        assert other.summary().as_text() == fit.summary().as_text()
    if rows:
        pd.testing.assert_series_equal(again.fittedvalues, fit.fittedvalues)
        assert again.model.fit().evaluate().to_dict() == fit.evaluate().to_dict()
    else:
        with pytest.raises(NotDefinedError, match="without the rows"):
            again.risk_coverage()


def test_a_function_cannot_be_saved(tmp_path) -> None:
    with pytest.raises(InputError, match="function of your own"):
        fitted(kernel=lambda X, Z: X @ Z.T).save(tmp_path / "fit.qb")


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change, message", [
    ({"d": 0.0}, "At 0 every prediction would be withheld"),
    ({"d": 0.6}, "a guess is cheaper"),
    ({"d": 20}, "write d=0.2"),
    ({"d": "a"}, "got 'a'"),
    ({"C": 0}, "`C` must be a number above 0"),
    ({"C": -1.0}, "`C` must be a number above 0"),
    ({"mu": 0.0}, "`mu` must be a number above 0 and at most 1"),
    ({"mu": 1.5}, "`mu` must be a number above 0 and at most 1"),
    ({"method": "ramp"}, "`method` must be one of"),
    ({"kernel": "gauss"}, "`kernel` must be one of"),
    ({"kernel": "linear", "gamma": 0.1}, "has no parameter"),
    ({"cost": {"fn": 5, "fp": 1}}, "as in"),
    ({"cost": {"fn": 5, "fp": 1, "reject": 0.9}}, "withholding never pays"),
    ({"cost": {"fn": 5, "fp": 1, "reject": 0.4}, "d": 0.1}, "Leave one of them out"),
    ({"cost": {"fn": 5, "fp": 0, "reject": 0.4}}, "above 0"),
    ({"starts": "ones"}, "`starts` must be one of"),
    ({"starts": -1}, "`starts` must be a whole number"),
    ({"starts": []}, "`starts` is empty"),
    ({"event": "maybe"}, "`event` must be one of the two"),
    ({"standardize": 1}, "True or False"),
    ({"method": "chow", "C": 2.0}, "no kernel machine"),
    ({"method": "chow", "probability": "probit"}, "`probability` must be one of"),
    ({"method": "chow", "mstop": 10}, "no option 'mstop'. Those of a booster go with probability"),
    ({"mstop": 10}, "Unknown option 'mstop'. It is one of method=\"chow\" or \"qbc_pair\"."),
    ({"method": "qbc_pair", "tau": 0.3}, "follows from d"),
    ({"method": "qbc_pair", "foo": 0.3}, r"Unknown option 'foo'. Options: learner, mstop, nu, step, h\."),
    ({"method": "chow", "progress": "a"}, "`progress` must be True or False"),
    ({"method": "qbc_pair", "progress": "a"}, "`progress` must be True or False"),
    ({"d": [0.1, 0.2]}, r"A fit has one price; fit.risk_against_d\(\[...\]\) compares several"),
    ({"kernel": "precomputed"}, r"A formula has no kernel matrix. For a matrix K \(rows, rows\)"),
    ({"rng": "a"}, "`rng` must be a seed"),
    ({"taus": 0.5}, "Unknown option 'taus'"),
    ({"rng": "seed", "starts": 1}, "`rng` must be a seed"),
])  # fmt: skip
def test_options_are_checked(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(**change)


def test_the_data_are_checked() -> None:
    with pytest.raises(InputError, match="one class only"):
        fitted(DATA.assign(y="yes"))
    with pytest.raises(InputError, match="3 distinct values"):
        fitted(DATA.assign(y=np.arange(len(DATA)) % 3))
    fit = fitted()
    with pytest.raises(InputError, match="no column 'y'"):
        fit.evaluate(DATA[["a", "b"]])
    with pytest.raises(InputError, match="one label per row"):
        fit.evaluate(DATA[["a", "b"]], y=["yes"])
    with pytest.raises(InputError, match="which the model was not fitted to"):
        fit.evaluate(DATA.assign(y="perhaps"))
    with pytest.raises(InputError, match="the data lack it"):
        fit.evaluate(DATA, groups="third")
    with pytest.raises(InputError, match="one value per row"):
        fit.evaluate(DATA, groups=[1, 2])
    groups = pd.Series(np.arange(len(DATA)) % 3, index=DATA.index, dtype=object)
    with pytest.raises(InputError, match="missing in 4 rows"):
        fit.evaluate(DATA, groups=groups.where(DATA.index > 3))
    shuffled = groups.sample(frac=1.0, random_state=0)  # a Series goes by its index
    pd.testing.assert_frame_equal(fit.evaluate(DATA, groups=shuffled), fit.evaluate(DATA, groups=groups))
    pd.testing.assert_frame_equal(fit.evaluate(groups=shuffled), fit.evaluate(groups=groups))
    with pytest.raises(InputError, match=r"groups=data\['third'\]"):
        fit.evaluate(groups="third")
    with pytest.raises(InputError, match=r"is the model Chow"):
        RejectClassifier(DATA["y"], DATA[["a"]], method="chow")
    with pytest.raises(NotDefinedError, match="one minimum"):
        _ = fitted(method="double_hinge").minima


def test_every_fit_of_many_is_silent() -> None:
    """No program ends short of its optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for d in (0.05, 0.25, 0.45):
            for C in (0.1, 1.0, 100.0):
                for kernel in ("linear", "rbf", "polynomial"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", OneClassWarning)
                        fitted(d=d, C=C, kernel=kernel, starts=1)


def test_generalized_hinge_at_one_half_is_the_support_vector_machine() -> None:
    from sklearn.svm import SVC

    fit = fitted(d=0.5, method="generalized_hinge", C=2.0)
    X = DATA[["a", "b"]].to_numpy()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    machine = SVC(kernel="linear", C=2.0, tol=1e-10).fit(Z, DATA["y"])
    np.testing.assert_allclose(fit.decision_function(), machine.decision_function(Z), atol=1e-5)  # SVC's own digits
    assert fit.predict().tolist() == machine.predict(Z).tolist()


def test_low_rank_at_full_rank_is_the_whole_kernel_matrix() -> None:
    whole = fitted(kernel="rbf", C=2.0)
    low = fitted(kernel="rbf", C=2.0, low_rank=120)
    assert low.facts.own["rank"] <= 120 and low.facts.own["rank_error"] < 1e-9
    assert low.objective == pytest.approx(whole.objective, rel=1e-7)
    np.testing.assert_allclose(low.decision_function(DATA), whole.decision_function(DATA), atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_low_rank_decides_as_it_was_fitted(kernel: str, tmp_path) -> None:
    data = overlapping(p=4)
    fit = fitted(data, "y ~ a + b + c + d", kernel=kernel, C=2.0, low_rank=3)
    K, support = fit.first_step().K, fit.support
    assert np.linalg.matrix_rank(K) == fit.facts.own["rank"] == 3
    f = K[:, support.index] @ support["coef"] + fit.b
    np.testing.assert_allclose(fit.decision_function(data), f, atol=1e-5)  # coefficients below 1e-6 are not shown
    assert "Rank:" in str(fit.summary()) and "low_rank=3" in str(fit)
    found = fit.cv(k=3, progress=False)
    assert found.refit().facts.own["rank"] == 3
    again = load(fit.save(tmp_path / "low.qb", data=True))
    np.testing.assert_array_equal(again.decision_function(data), fit.decision_function(data))
    assert again.cv(k=3, progress=False).best.equals(found.best)


def test_kernel_matrices_too_large_and_low_rank_of_what_has_no_kernel_are_refused() -> None:
    with pytest.raises(InputError, match=r"20000 rows make a kernel matrix.*low_rank=500"):
        RejectClassifier(np.arange(20_000) % 2, np.zeros((20_000, 1)), kernel="rbf").fit()
    with pytest.raises(InputError, match="leave out `low_rank`"):
        RejectClassifier([0, 1, 1], np.eye(3), kernel="precomputed", low_rank=2)
    with pytest.raises(InputError, match="no option 'low_rank'"):
        fitted(method="chow", low_rank=20)
    with pytest.raises(InputError, match="low_rank"):
        fitted(kernel="rbf", low_rank=0)


def test_costs_too_large_to_compute_with_are_told() -> None:
    X = DATA[["a", "b"]].to_numpy() * 1e8
    with pytest.raises(InputError, match=r"C \(over mu\) is too large .*: lower C, or standardize"):
        RejectClassifier(DATA["y"], X, C=1e3, standardize=False, progress=False).fit()
