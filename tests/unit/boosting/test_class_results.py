"""What classifiers hand back: labels, errors, costs, tables, files; and what any response of two values may be."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import ConvergenceWarning, InputError, NotDefinedError, OneClassWarning

N = 160
FORMULA = "y ~ x1 + x2 + g"
FAMILIES = {
    "qbc": lambda formula, data, **options: qb.qbc(formula, data, 0.6, **options),
    "qbc line": lambda formula, data, **options: qb.qbc(formula, data, 0.6, step="line", **options),
    "logitboost": lambda formula, data, **options: qb.logitboost(formula, data, learner="linear", **options),
    "logitboost stump": qb.logitboost,
    "logitboost gradient": lambda formula, data, **options: qb.logitboost(formula, data, form="gradient", **options),
    "adaboost": qb.adaboost,
    "adaboost tree": lambda formula, data, **options: qb.adaboost(formula, data, learner="tree", **options),
    "adaboost gradient": lambda formula, data, **options: qb.adaboost(
        formula, data, form="gradient", learner="linear", **options
    ),
    "l2boost": qb.l2boost,
}
families = pytest.mark.parametrize("family", FAMILIES)


def drawn(seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x1, x2, g = rng.normal(size=N), rng.normal(size=N), rng.integers(0, 3, N)
    p = 1.0 / (1.0 + np.exp(-(1.5 * x1 - x2 + 0.7 * (g == 1))))
    return pd.DataFrame({"y": np.where(rng.random(N) < p, "yes", "no"), "x1": x1, "x2": x2, "g": np.array([*"abc"])[g]})


DATA = drawn()


def fitted(family: str, data: pd.DataFrame = DATA, formula: str = FORMULA, **options):
    return FAMILIES[family](formula, data, **{"mstop": 30, "progress": False, **options})


def test_votes_that_leave_most_rows_without_weight() -> None:
    # Rows fitted many times over weigh next to nothing: splits that part only such rows from the others say nothing.
    for seed in (0, 2, 3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20, 40)), (rng.random(20) < 0.5).astype(int)
        fit = qb.AdaBoost(y, X, mstop=400, progress=False).fit()
        assert fit.error_rate == 0.0 and fit.mstop == 400


def test_every_family_has_its_words() -> None:
    from qreg_boost.boosting.saved_model import FAMILIES as saved
    from qreg_boost.boosting.words import WORDS

    assert set(saved) == set(WORDS)
    assert {model.function for model, _ in saved.values()} <= set(qb.__all__)


# -- labels


@families
def test_labels_follow_the_sign_of_the_decision_function(family: str) -> None:
    fit = fitted(family)
    assert fit.classes == ("no", "yes") and fit.event == "yes"
    decision, labels = fit.decision_function(), fit.predict()
    assert labels.dtype == pd.CategoricalDtype(["no", "yes"])
    assert ((labels == "yes") == (decision >= 0)).all()
    assert labels.index.equals(DATA.index)
    assert fit.error_rate == pytest.approx((labels.astype(object) != DATA["y"]).mean())
    assert fit.error_rate < 0.35


@families
def test_new_rows(family: str) -> None:
    fit = fitted(family)
    new = DATA.iloc[:20].reset_index(drop=True)
    new.loc[3, "x1"] = np.nan
    labels = fit.predict(new)
    assert labels.isna().tolist() == [row == 3 for row in range(20)]
    known = [row for row in range(20) if row != 3]
    assert labels[known].tolist() == fit.predict().iloc[known].tolist()
    np.testing.assert_allclose(fit.decision_function(new)[known], fit.decision_function().iloc[known], atol=1e-12)


RESPONSES = {
    "numbers": (lambda y: np.where(y == "yes", 2, 1), 1, 2),
    "floats": (lambda y: np.where(y == "yes", 0.5, -1.5), -1.5, 0.5),
    "booleans": (lambda y: (y == "yes").to_numpy(), False, True),
    "categories": (lambda y: pd.Categorical(y, ["yes", "no", "never"]), "yes", "no"),
    "ordered": (lambda y: pd.Categorical(y, ["no", "yes"], ordered=True), "no", "yes"),
    "strings": (lambda y: y.astype("string"), "no", "yes"),
    "nullable booleans": (lambda y: (y == "yes").astype("boolean"), False, True),
}


@pytest.mark.parametrize("kind", RESPONSES)
def test_any_response_of_two_values(kind: str) -> None:
    make, other, event = RESPONSES[kind]
    data = DATA.assign(y=make(DATA["y"]))
    fit, plain = qb.qbc(FORMULA, data, progress=False), qb.qbc(FORMULA, DATA, progress=False)
    assert fit.classes == (other, event)
    assert f"{event} (not {other})" in str(fit.summary())
    sign = -1.0 if event == "no" else 1.0
    np.testing.assert_allclose(fit.decision_function(), sign * plain.decision_function(), atol=1e-12)
    assert fit.evaluate(data)["error_rate"] == pytest.approx(fit.error_rate)
    by_arrays = qb.QBC(data["y"], DATA[["x1", "x2"]], progress=False).fit()
    assert by_arrays.classes == (other, event)
    assert by_arrays.model.design.response == "y"


def test_the_event_is_the_one_asked_for() -> None:
    fit, flipped = qb.qbc(FORMULA, DATA, 0.3, event="no"), qb.qbc(FORMULA, DATA, 0.7)
    assert fit.classes == ("yes", "no")
    np.testing.assert_allclose(fit.decision_function(), -flipped.decision_function(), atol=1e-12)
    assert (fit.predict().astype(object) == flipped.predict().astype(object)).all()


def test_l2boost_regresses_numbers_unless_told_otherwise() -> None:
    coded = DATA.assign(y=np.where(DATA["y"] == "yes", 1, 0))
    numbers, classes = qb.l2boost(FORMULA, coded), qb.l2boost(FORMULA, coded, event=1)
    np.testing.assert_allclose(numbers.fittedvalues, classes.fittedvalues, atol=1e-12)
    np.testing.assert_allclose(classes.decision_function(), numbers.fittedvalues - 0.5, atol=1e-12)
    assert numbers.predict(coded.head(3)).dtype == float
    assert 0.0 < numbers.rsquared < 1.0
    about_mean = ((coded["y"] - coded["y"].mean()) ** 2).sum()
    assert numbers.rsquared == pytest.approx(1.0 - (numbers.resid**2).sum() / about_mean)
    assert "R-squared" in str(numbers.summary()) and "Event" not in str(numbers.summary())
    with_offset = qb.l2boost("x1 ~ x2", DATA, offset="x2", mstop=3)
    alone = with_offset.path.fit_at(3, DATA[["x2"]].to_numpy())
    np.testing.assert_allclose(with_offset.fittedvalues - DATA["x2"], alone)


def test_rows_of_weight_0_are_no_class() -> None:
    third = DATA.copy()
    third.loc[:9, "y"] = "perhaps"
    w = np.r_[np.zeros(10), np.ones(N - 10)]
    fit = qb.qbc(FORMULA, third, weights=w)
    assert fit.classes == ("no", "yes")
    without = qb.qbc(FORMULA, DATA.iloc[10:])
    np.testing.assert_allclose(fit.decision_function().iloc[10:], without.decision_function(), atol=1e-12)
    assert fit.error_rate == pytest.approx(without.error_rate)
    assert fit.predict().notna().all() and fit.confusion().to_numpy().sum() == N - 10
    assert fit.augment()[".wrong"].isna().sum() == 10
    pd.testing.assert_series_equal(fit.error_path, without.error_path)


@families
def test_integer_weights_are_repeated_rows(family: str) -> None:
    w = np.arange(N) % 3
    options = {"formula": "y ~ x1 + x2"}
    weighted = fitted(family, weights=w, **options)
    repeated = fitted(family, DATA.loc[np.repeat(DATA.index, w)], **options)
    used = w > 0
    np.testing.assert_allclose(
        weighted.decision_function()[used], repeated.decision_function().groupby(level=0).first(), atol=1e-9
    )
    assert weighted.error_rate == pytest.approx(repeated.error_rate)
    assert weighted.risk == pytest.approx(repeated.risk)
    np.testing.assert_allclose(weighted.confusion(), repeated.confusion())


@pytest.mark.parametrize("family", ["qbc stump", "logitboost stump", "adaboost"])
def test_rows_that_miss_predictors_may_branch(family: str, tmp_path) -> None:
    data = DATA.assign(x1=DATA["x1"].where(np.arange(N) % 5 != 0))
    options = {"learner": "stump", "missing": "branch", "mstop": 20, "progress": False}
    fit = qb.qbc(FORMULA, data, **options) if family == "qbc stump" else FAMILIES[family](FORMULA, data, **options)
    assert fit.nobs == N and fit.predict().notna().all() and fit.predict(data).equals(fit.predict())
    assert fit.confusion(data).to_numpy().sum() == N and len(fit.evaluate_path(data)) == fit.mstop + 1
    again = qb.load(fit.save(tmp_path / "fit.qb", data=True))
    assert again.predict(data).equals(fit.predict()) and again.extend(25).risk == pytest.approx(fit.extend(25).risk)


# -- errors


@families
def test_error_path_is_the_error_of_each_iteration(family: str) -> None:
    fit = fitted(family)
    assert len(fit.error_path) == fit.mstop + 1
    for m in (0, 1, fit.mstop // 2, fit.mstop):
        assert fit.at(m).error_rate == pytest.approx(fit.error_path[m])
    longer = fit.extend(fit.mstop + 5)
    assert len(longer.error_path) == longer.mstop + 1
    np.testing.assert_allclose(longer.error_path[: fit.mstop + 1], fit.error_path)


def test_confusion_and_rates() -> None:
    fit = qb.qbc(FORMULA, DATA, cost={"fn": 3, "fp": 1})
    actual, predicted = DATA["y"] == "yes", fit.predict() == "yes"
    table = fit.confusion()
    assert table.loc["yes", "no"] == (actual & ~predicted).sum()
    assert table.loc["no", "yes"] == (~actual & predicted).sum()
    assert table.to_numpy().sum() == N and table.index.name == "actual" and table.columns.name == "predicted"
    figures = fit.evaluate()
    assert figures["fn_rate"] == pytest.approx((actual & ~predicted).sum() / actual.sum())
    assert figures["fp_rate"] == pytest.approx((~actual & predicted).sum() / (~actual).sum())
    assert figures["cost"] == pytest.approx((3 * (actual & ~predicted) + (~actual & predicted)).mean())
    pd.testing.assert_series_equal(fit.evaluate(DATA), figures)
    pd.testing.assert_frame_equal(fit.confusion(DATA), table)
    pd.testing.assert_series_equal(fit.evaluate(DATA.drop(columns="y"), y=DATA["y"]), figures)
    glanced = fit.glance().iloc[0]
    assert glanced["cost"] == pytest.approx(figures["cost"]) and glanced["error_rate"] == pytest.approx(fit.error_rate)


@families
def test_figures_by_iteration_are_those_of_the_fit_at_it(family: str) -> None:
    fit = fitted(family, mstop=12)
    held = drawn(seed=6)
    held.loc[3, "x1"], held.loc[5, "y"] = np.nan, None
    for data in (None, held):
        along = fit.evaluate_path(data)
        assert len(along) == fit.mstop + 1
        for m in (0, 1, fit.mstop):
            pd.testing.assert_series_equal(along.loc[m], fit.at(m).evaluate(data), check_names=False)
    pd.testing.assert_frame_equal(fit.at(1).evaluate_path(held), along.iloc[:2])
    pd.testing.assert_series_equal(fit.evaluate_path()["error_rate"], fit.error_path, check_names=False)


def test_cost_sets_tau() -> None:
    fit = qb.qbc(FORMULA, DATA, cost={"fn": 5, "fp": 1})
    assert fit.tau == pytest.approx(5 / 6) and fit.prices == {"fn": 5, "fp": 1}
    same = qb.qbc(FORMULA, DATA, 5 / 6, cost={"fn": 5, "fp": 1})
    assert same.params.equals(fit.params)
    assert qb.qbc(FORMULA, DATA, 0.2).prices == {"fn": 0.2, "fp": 0.8}
    text = str(fit.summary())
    assert "5, 1" in text and "Flags the event where P(yes) > 1 - tau = 0.166667" in text


def test_objective_and_smoothed_cost() -> None:
    fit = qb.qbc(FORMULA, DATA, 0.4)
    assert fit.objective_path[0] == pytest.approx(0.5 * ((DATA["y"] == "yes") - 0.6).sum())
    np.testing.assert_allclose(fit.objective_path + fit.risk_path, 0.4 * (DATA["y"] == "yes").sum())


def test_augment() -> None:
    fit = fitted("logitboost")
    rows = fit.augment()
    assert rows["y"].astype(object).tolist() == DATA["y"].tolist()
    assert rows[".wrong"].mean() == pytest.approx(fit.error_rate)
    new = fit.augment(DATA.assign(x1=DATA["x1"].where(DATA.index != 4)))
    assert new[".wrong"].isna().sum() == 1 and new[".predicted"].isna().sum() == 1
    assert ".wrong" not in fit.augment(DATA.drop(columns="y"))


@families
def test_summaries_say_what_is_the_event(family: str) -> None:
    fit = fitted(family)
    text = str(fit.summary())
    assert "yes (not no)" in text and "Error rate" in text and "Events missed (FN)" in text
    assert str(fit).startswith(fit.title) and "Loss function" in str(fit)
    assert fit.summary().as_html() and fit.summary().as_latex()


def test_what_has_no_meaning_says_what_has() -> None:
    fit = qb.qbc(FORMULA, DATA)
    with pytest.raises(NotDefinedError, match="augment"):
        fit.resid  # noqa: B018
    with pytest.raises(NotDefinedError, match="logitboost"):
        fit.predict_proba()
    with pytest.raises(InputError, match="comparison with R"):
        fit.compare_r()


# -- out of sample


def test_cross_validation_by_loss_error_and_cost() -> None:
    fit = qb.qbc("y ~ x1 + x2", DATA, cost={"fn": 4, "fp": 1}, mstop=25)
    folds = np.arange(N) % 4
    results = {loss: fit.cv(folds=folds, loss=loss, progress=False) for loss in ("loss", "error", "cost")}
    for fold in range(4):
        train, held = DATA[folds != fold], DATA[folds == fold]
        other = qb.qbc("y ~ x1 + x2", train, cost={"fn": 4, "fp": 1}, mstop=25)
        for m in (0, 7, 25):
            figures = other.at(m).evaluate(held)
            assert results["error"].risk.loc[fold + 1, m] == pytest.approx(figures["error_rate"])
            assert results["cost"].risk.loc[fold + 1, m] == pytest.approx(figures["cost"])
        smoothed = qb.boosting.class_losses.SmoothedScore(0.8, 0.1)
        y, f = (held["y"] == "yes").to_numpy(float), other.decision_function(held).to_numpy()
        assert results["loss"].risk.loc[fold + 1, 25] == pytest.approx(smoothed.risk(y, f, np.ones(len(y))) / len(y))
    assert "smoothed cost" in str(results["loss"]) and "error rate" in str(results["error"])
    assert results["cost"].plot().get_ylabel() == "cost out of sample (mean per row)"


@families
def test_the_stop_by_cross_validation(family: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fitted(family, mstop=qb.CV(k=3, max=12, progress=False))
    assert fit.mstop == fit.chosen.mstop
    assert fit.chosen.loss == fit.loss_name


# -- files


@families
@pytest.mark.parametrize("data", [False, True])
def test_saved_and_loaded(family: str, data: bool, tmp_path) -> None:
    fit = fitted(family)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=data))
    assert type(again) is type(fit)
    assert str(again.summary()) == str(fit.summary())
    assert again.predict(DATA).equals(fit.predict(DATA))
    pd.testing.assert_series_equal(again.error_path, fit.error_path)
    assert again.at(5).error_rate == pytest.approx(fit.at(5).error_rate)
    if data:
        assert again.extend(33).risk == pytest.approx(fit.extend(33).risk)
        assert again.confusion().equals(fit.confusion())
    else:
        with pytest.raises(NotDefinedError, match="without the rows"):
            again.predict()
    copy = pickle.loads(pickle.dumps(fit))
    assert copy.predict().equals(fit.predict())


def test_costs_and_labels_survive_a_file(tmp_path) -> None:
    data = DATA.assign(y=(DATA["y"] == "yes"))
    fit = qb.qbc(FORMULA, data, cost={"fn": 2, "fp": 1}, event=False)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=True))
    assert again.classes == (True, False) and again.prices == fit.prices and again.tau == fit.tau
    assert again.model.fit().params.equals(fit.params)


# -- runs that end early


def test_a_vanished_gradient_is_reported() -> None:
    """One step of a hundred puts every row far from the boundary, where the smoothed score is flat."""
    data = pd.DataFrame({"y": ["a"] * 10 + ["b"] * 10, "x": np.r_[-np.ones(10), np.ones(10)]})
    with pytest.warns(ConvergenceWarning, match="gradient vanished in every row"):
        fit = qb.qbc("y ~ x", data, nu=100.0)
    assert fit.status == "the gradient vanished at iteration 1" and fit.mstop == 1 and fit.error_rate == 0.0
    assert "the gradient vanished at iteration 1" in str(fit.summary())


def test_steps_that_are_too_long_are_warned_of() -> None:
    with pytest.warns(
        ConvergenceWarning, match=r"exponential loss ended at .*the steps are too long.*Lower `nu`, which is 50"
    ):
        fit = qb.adaboost(FORMULA, DATA, form="gradient", learner="linear", nu=50.0)
    assert np.isfinite(fit.decision_function()).all()


def test_a_perfect_stump_ends_the_run() -> None:
    data = pd.DataFrame({"y": ["a"] * 10 + ["b"] * 10, "x": np.arange(20.0)})
    fit = qb.adaboost("y ~ x", data)
    assert (fit.mstop, fit.status, fit.error_rate) == (1, "a perfect learner at iteration 1", 0.0)
    assert np.isfinite(fit.decision_function()).all()
    assert "a perfect learner" in str(fit.summary())
    assert fit.extend(10).mstop == 1


def test_a_stump_no_better_than_chance_ends_the_run() -> None:
    data = pd.DataFrame({"y": [*"abba"], "x1": [0.0, 0.0, 1.0, 1.0], "x2": [0.0, 1.0, 0.0, 1.0]})
    with pytest.warns(ConvergenceWarning, match="no learner does better than chance"):
        fit = qb.adaboost("y ~ x1 + x2", data)
    assert fit.mstop == 0


def test_one_class_for_every_row_is_warned_of() -> None:
    rare = DATA.assign(y=np.where(np.arange(N) % 8 == 0, "yes", "no"))
    with pytest.warns(OneClassWarning, match=r"'no' is predicted for every row: no row's P.* above 1 - tau = 0.9"):
        qb.qbc(FORMULA, rare, 0.1)
    with pytest.warns(OneClassWarning, match=r"'yes' is predicted for every row: no row's P\(yes\) .* below"):
        qb.qbc(FORMULA, rare, 0.99)
    with pytest.warns(OneClassWarning, match=r"At tau = 0.1, 0.99 one class is predicted"):
        qb.qbc(FORMULA, rare, [0.1, 0.88, 0.99])
    with pytest.warns(OneClassWarning, match=r"'no' is predicted for every row: the fit crosses"):
        qb.l2boost(FORMULA, rare)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qb.qbc(FORMULA, rare, 0.1, mstop=0)


# -- a bounded Newton step


@pytest.mark.parametrize("learner", ["linear", "joint", "spline"])
def test_a_bounded_newton_step_that_goes_past_the_least_is_warned_of(learner: str) -> None:
    with pytest.warns(ConvergenceWarning, match=r"least at iteration \d+, .*zmax=None lifts the bound.*fit\.at\("):
        fit = qb.logitboost(FORMULA, DATA, learner=learner, mstop=300, progress=False)
    best = int(fit.risk_path.idxmin())
    assert fit.risk > 1.01 * fit.risk_path[best]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # both remedies hold
        free = qb.logitboost(FORMULA, DATA, learner=learner, mstop=300, zmax=None, progress=False)
        assert free.risk < fit.risk_path.min()
        assert fit.at(best).risk == fit.risk_path.min()


def test_a_bounded_newton_step_is_not_warned_of_where_it_goes_down() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qb.logitboost(FORMULA, DATA, learner="linear", mstop=5, progress=False)
        qb.logitboost("y ~ x", {"y": np.repeat(["a", "b"], 10), "x": np.arange(20.0)}, mstop=200, progress=False)


@pytest.mark.parametrize("function", [qb.qbc, qb.l2boost, qb.logitboost, qb.adaboost])
def test_folds_may_look_at_the_classes(function) -> None:
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(4)
    fit = function(FORMULA, DATA, mstop=qb.CV(folds=folds, max=10, progress=False), progress=False)
    assert len(fit.chosen.risk) == 4
    pairs = list(folds.split(np.zeros((N, 1)), DATA["y"] == "yes"))
    pd.testing.assert_frame_equal(
        function(FORMULA, DATA, mstop=10, progress=False).cv(folds=folds, progress=False).risk,
        function(FORMULA, DATA, mstop=10, progress=False).cv(folds=pairs, progress=False).risk,
    )


# -- a run at rest


def noisy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 10))
    return np.where(X @ np.r_[1.0, 0.7, -0.5, np.zeros(7)] + rng.normal(size=300) > 0, 1, 0), X


@pytest.mark.parametrize("seed", [0, 1])
def test_stumps_that_never_leave_their_first_stump_are_warned_of(seed: int) -> None:
    y, X = noisy(seed)
    with pytest.warns(
        ConvergenceWarning, match=r"no label of a training row has changed since iteration 1 of 200.*1 of 10 terms"
    ):
        fit = qb.QBC(y, X, 0.45, learner="stump", mstop=200, progress=False).fit()
    assert fit.resting_since == 1
    summary = " ".join(str(fit.summary()).split())
    assert "has changed since iteration 1 of 200" in summary and "keeps more rows in play" not in summary
    # what the message advises moves on; what it says does not help does not
    for remedy in ({"learner": "tree"}, {"learner": "linear"}, {"learner": "stump", "step": "line"}):
        other = qb.QBC(y, X, 0.45, mstop=200, progress=False, **remedy).fit()
        assert other.resting_since is None and other.selected.nunique() > 1 and other.error_rate < fit.error_rate
    for vain in ({"h": 0.5}, {"h": 2.0}, {"nu": 0.01}, {"h": 1.0, "nu": 0.02}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert qb.QBC(y, X, 0.45, learner="stump", mstop=200, progress=False, **vain).fit().selected.nunique() == 1


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.ConvergenceWarning")
def test_a_run_at_rest_says_so_when_it_comes_from_a_file(tmp_path) -> None:
    fit = qb.qbc("y ~ g", DATA, 0.5, learner="stump", mstop=60, h=0.01, progress=False)
    assert fit.resting_since is not None and fit.near_boundary < 0.05
    again = qb.load(fit.save(tmp_path / "fit.qb"))
    assert (again.resting_since, again.near_boundary) == (fit.resting_since, fit.near_boundary)
    assert str(again.summary()) == str(fit.summary())
    twice = qb.load(again.save(tmp_path / "fit.qb"))
    assert str(twice.summary()) == str(fit.summary())
    assert again.at(50).resting_since is None  # known of the iteration that was saved alone


def test_what_has_a_probability_is_named_by_each_family() -> None:
    named = {
        "qbc": r"prob_cell\(new\)",
        "adaboost": r"which side of 1/2 P\(yes\).*jous\(",
        "l2boost": "below 0 and above 1",
    }
    for family, said in named.items():
        with pytest.raises(NotDefinedError, match=said):
            fitted(family).predict_proba()


def test_the_start_is_told_once() -> None:
    lines = str(fitted("logitboost")).splitlines()
    assert "Start: 0 (P = 1/2)" in lines
    assert any(
        line.startswith("Start: 0.") and line.endswith("(half the log-odds)")
        for line in str(fitted("logitboost gradient")).splitlines()
    )


def test_several_runs_at_rest_are_one_warning() -> None:
    y, X = noisy(0)
    with pytest.warns(ConvergenceWarning) as caught:
        qb.QBC(y, X, [0.4, 0.45, 0.5], learner="stump", mstop=100, progress=False).fit()
    assert [str(one.message)[:27] for one in caught] == ["At tau = 0.4, 0.45: The run"]


def test_a_run_without_errors_or_of_few_iterations_is_not_at_rest() -> None:
    y, X = noisy(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qb.QBC(y, X, 0.45, learner="stump", mstop=39, progress=False).fit()
        qb.QBC(X[:, 0] > 0, X, 0.45, learner="stump", mstop=200, progress=False).fit()


# -- losses that rose, and what is said of stops


def test_votes_of_any_size_have_a_finite_loss_and_the_blank_shares_are_explained() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", OneClassWarning)
        fit = qb.adaboost("y ~ x1 + x2", DATA, nu=50.0, progress=False)
    assert np.isfinite(fit.risk) and fit.risk > fit.risk_path[0] and fit.importance.isna().all()
    summary, printed = (" ".join(str(text).split()) for text in (fit.summary(), fit))
    assert f"loss share: not defined, as the exponential loss did not fall: {N} at the start" in summary
    assert "No learner has a share" in printed and "did not fall" in printed


def test_the_gap_to_the_optimum_is_of_quantile_regression_only() -> None:
    stop = qb.CV(k=3, max=10, progress=False)
    for fit in (qb.qbc(FORMULA, DATA, mstop=stop), qb.logitboost(FORMULA, DATA, mstop=stop)):
        assert "exact optimum" not in str(fit.summary())
    assert "A gap to the exact" in " ".join(str(qb.qbr("x1 ~ x2", DATA, mstop=stop).summary()).split())


def test_labels_of_the_same_rows_may_be_a_series() -> None:
    fit = fitted("qbc")
    assert fit.evaluate(DATA.drop(columns="y"), y=DATA["y"]).equals(fit.evaluate(DATA))
    assert fit.evaluate(DATA, y=DATA["y"].to_numpy()).equals(fit.evaluate(DATA))


def test_a_stalled_run_is_told_with_the_right_article() -> None:
    data = pd.DataFrame({"y": ["a", "b"] * 10, "x": np.repeat([0.0, 1.0], 10)})
    with pytest.warns(ConvergenceWarning, match="where the exponential loss is"):
        qb.adaboost("y ~ x", data)


# -- runs at the optimum


@pytest.mark.parametrize("form", ["newton", "gradient"])
def test_a_line_search_at_the_optimum_has_converged(form: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = qb.logitboost(
            "y ~ x1 + x2", DATA, form=form, zmax=None, learner="joint", step="line", mstop=2000, progress=False
        )
    assert fit.mstop < 2000 and fit.status == f"converged at iteration {fit.mstop}"
    y = (DATA["y"] == "yes").to_numpy()
    X = np.column_stack((np.ones(N), DATA[["x1", "x2"]]))
    # at the maximum of the likelihood the score is nil; the loss is flat there to the square of this
    assert np.abs(X.T @ (y - fit.predict_proba()["yes"].to_numpy())).max() < 1e-4 * N
    assert fit.extend(3000).status == fit.status and "converged at iteration" in str(fit.summary())


@pytest.mark.parametrize("family", [*FAMILIES, "l2 mean", "median", "binary", "jous", "multiclass", "quanting"])
def test_what_a_family_does_not_have_says_what_to_ask(family: str) -> None:
    others = {
        "l2 mean": lambda: qb.l2boost("x1 ~ x2", DATA, mstop=5),
        "median": lambda: qb.median_classifier("y ~ x1 + x2", DATA),
        "binary": lambda: qb.binary_qreg("y ~ x1 + x2", DATA, 0.5),
        "jous": lambda: qb.jous("y ~ x1 + x2", DATA),
        "multiclass": lambda: qb.multiclass("g ~ x1 + x2", DATA),
        "quanting": lambda: qb.quanting("x1 ~ x2", DATA, 0.5),
    }
    fit = others[family]() if family in others else fitted(family)
    for name in ("prsquared", "optimality_gap", "params", "coef_path"):
        try:
            value = getattr(fit, name)
            if name == "coef_path":
                value()
        except NotDefinedError as error:
            assert name in str(error) or "no coefficients" in str(error), str(error)
            assert any(word in str(error) for word in ("()", "importance", "risk_path")), str(error)
    with pytest.raises(NotDefinedError, match="optimality_gap"):
        _ = fit.optimality_gap
