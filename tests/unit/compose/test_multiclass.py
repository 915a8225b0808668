"""Several classes by classifiers of two."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError, NotDefinedError, OneClassWarning
from tests.unit.compose.stand_ins import GroupMajority, Unweighted, three_classes, two_classes


def fitted(data: pd.DataFrame, formula: str = "y ~ a + b", **options):
    return qb.multiclass(formula, data, **{"progress": False, "booster": "logitboost", "mstop": 20, **options})


@pytest.mark.parametrize("booster", ["qbc", "logitboost", "adaboost", "l2boost"])
def test_one_versus_all_is_made_of_fits_of_each_class(booster: str) -> None:
    data = three_classes()
    fit = fitted(data, booster=booster)
    function = getattr(qb, booster)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneClassWarning)
        for label in ("blue", "green", "red"):
            own = data.assign(is_it=np.where(data["y"] == label, "yes", "no"))
            alone = function("is_it ~ a + b", own, mstop=20, event="yes", progress=False)
            np.testing.assert_allclose(fit.decision_function(data)[label], alone.decision_function(data), atol=1e-12)
    assert (fit.predict(data).astype(str) == fit.decision_function(data).idxmax(axis=1)).all()
    assert fit.error_rate == (fit.predict() != data["y"]).mean()


def test_several_classes_have_no_fitted_value() -> None:
    with pytest.raises(NotDefinedError, match=r"decision_function\(\) has one for each"):
        fitted(three_classes(), mstop=2).fittedvalues  # noqa: B018


def test_a_number_that_measures_is_no_label() -> None:
    """It once took a classifier for each of its values."""
    data = three_classes()
    with pytest.raises(InputError, match=r"Response 'a' has \d+ distinct numbers, such as .*pandas\.cut.*qbr"):
        fitted(data, "a ~ b")
    whole = data.assign(a=np.repeat([1.0, 2.0, 4.0], -(-len(data) // 3))[: len(data)])
    assert fitted(whole, "a ~ b").classes == (1.0, 2.0, 4.0)
    halves = data.assign(a=pd.Categorical(0.5 * whole["a"]))  # categories are labels, whatever they look like
    assert fitted(halves, "a ~ b").classes == (0.5, 1.0, 2.0)


@pytest.mark.parametrize("code", ["ova", "ovo", "ecoc"])
@pytest.mark.parametrize("decoding", [None, "hamming", "loss"])
def test_codes_tell_classes_apart(code: str, decoding: str | None) -> None:
    fit = fitted(three_classes(), code=code, decoding=decoding)
    # the centres are 2 apart, spreads 0.7: the best rule errs on about one in ten
    assert fit.error_rate < 0.15
    assert fit.evaluate(three_classes(seed=9))["error_rate"] < 0.25
    assert list(fit.confusion().index) == ["blue", "green", "red"]


def test_two_classes_are_those_of_the_booster() -> None:
    data = two_classes()
    fit = fitted(data, booster="qbc")
    alone = qb.qbc("y ~ a + b", data, mstop=20, progress=False)
    np.testing.assert_allclose(fit.decision_function()["yes"], alone.decision_function(), atol=1e-12)
    assert (fit.predict() == alone.predict()).all()
    assert fit.event == "yes"


def test_pairs_leave_the_other_classes_out() -> None:
    data = three_classes()
    fit = fitted(data, code="ovo")
    pair = data[data["y"] != "red"]
    alone = qb.logitboost("y ~ a + b", pair, event="blue", mstop=20, progress=False)
    np.testing.assert_allclose(fit.decisions(data)["c1"], alone.decision_function(data), atol=1e-10)
    assert fit.tidy()["event"].tolist() == ["blue", "blue", "green"]
    assert fit.tidy()["error_rate"].iloc[0] == pytest.approx(alone.error_rate, abs=1e-12)


def test_a_code_of_ones_own() -> None:
    data = three_classes()
    fit = fitted(data, code=2 * np.eye(3) - 1)
    named = fitted(data, code="ova", decoding="loss")
    pd.testing.assert_frame_equal(fit.decision_function(), named.decision_function())
    for code, message in (
        (np.ones((3, 2)), "Column 0 of `code` has no 1 or no -1"),
        ([[1, -1], [1, -1], [-1, 1]], "Two rows"),
        ([[1, 2], [1, -1], [-1, 1]], "a matrix of 1, -1 and 0"),
        (np.eye(2), "a row for each of the 3 classes"),
        ("each", "`code` must be one of"),
    ):
        with pytest.raises(InputError, match=message):
            fitted(data, code=code)


def test_estimators_are_copied_and_fitted() -> None:
    data = three_classes().assign(a=lambda d: np.arange(len(d)) % 30, b=0.0)
    given = GroupMajority()
    fit = qb.multiclass("y ~ a + b", data, booster=given)
    assert not hasattr(given, "votes")
    assert fit.facts.own["decoding"] == "largest"
    assert qb.multiclass("y ~ a + b", data, booster=given, code="ecoc").facts.own["decoding"] == "hamming"
    with pytest.raises(InputError, match="needs the loss that GroupMajority lowers"):
        qb.multiclass("y ~ a", data, booster=given, code="ecoc", decoding="loss")
    own = qb.multiclass("y ~ a", data, booster=given, code="ecoc", decoding=lambda z: np.maximum(0.0, 1.0 - z))
    assert own.error_rate <= 1.0


def test_sklearn_estimators(tmp_path) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    data = three_classes()
    fit = qb.multiclass("y ~ a + b", data, booster=linear_model.LogisticRegression(), code="ovo")
    assert fit.error_rate < 0.15
    with pytest.raises(InputError, match="fitted LogisticRegression objects"):
        fit.save(tmp_path / "fit.qb")
    assert (pickle.loads(pickle.dumps(fit)).predict(data) == fit.predict(data)).all()


def test_weights_are_repetitions() -> None:
    data = three_classes()
    data["w"] = np.random.default_rng(1).integers(0, 3, len(data))
    one = fitted(data, weights="w", booster="l2boost")
    two = fitted(data.loc[data.index.repeat(data["w"])], booster="l2boost")
    np.testing.assert_allclose(one.decision_function(data), two.decision_function(data), atol=1e-10)
    assert one.error_rate == pytest.approx(two.error_rate, abs=1e-12)
    with pytest.raises(InputError, match="takes no weights"):
        qb.multiclass("y ~ a", data, booster=Unweighted(), weights="w")


def test_rows_and_levels_that_cannot_be_predicted() -> None:
    data = three_classes()
    fit = fitted(data, "y ~ a + b + g", booster="qbc")
    predicted = fit.predict({"a": [np.nan, 1.0], "b": [0.0, 0.0], "g": ["u", "v"]})
    assert predicted.isna().tolist() == [True, False]
    with pytest.raises(InputError, match="'g'"):
        fit.predict({"a": [1.0], "b": [1.0], "g": ["w"]})
    assert len(fit.predict(data.iloc[[0]])) == 1
    assert fit.predict(data.iloc[:0]).empty


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"booster": "qbd"}, "Did you mean 'qbc'"),
        ({"booster": 3}, "an object with fit"),
        ({"booster": GroupMajority}, "an object with fit"),
        ({"steps": 3}, "logitboost has no option 'steps'"),
        ({"booster": GroupMajority(), "mstop": 5}, "go with the package's own boosters"),
        ({"booster": "qbc", "tau": [0.2, 0.5]}, "`tau` must be one number"),
        ({"booster": "qbc", "tau": 20}, "20th percentile"),
        ({"code": "ecoc", "decoding": "largest"}, 'needs code="ova"'),
        ({"decoding": "viterbi"}, "`decoding` must be one of"),
    ],
)
def test_options_are_checked(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(three_classes(), **change)


def test_one_class_is_refused() -> None:
    with pytest.raises(InputError, match="at least 2 classes"):
        fitted(three_classes().assign(y="red"))
    with pytest.raises(NotDefinedError, match="no event"):
        fitted(three_classes()).event  # noqa: B018


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(("code", "booster"), [("ova", "qbc"), ("ecoc", "adaboost")])
def test_saved_and_pickled_fits_are_the_same(tmp_path, rows: bool, code: str, booster: str) -> None:
    data = three_classes()
    fit = fitted(data, "y ~ a + b + g", code=code, booster=booster)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=rows))
    assert str(again.summary()) == str(fit.summary())
    pd.testing.assert_frame_equal(again.decision_function(data), fit.decision_function(data))
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy())
    if rows:
        pd.testing.assert_frame_equal(again.augment(), fit.augment())
    assert (pickle.loads(pickle.dumps(fit)).predict(data) == fit.predict(data)).all()


def test_a_fit_decoded_by_ones_own_function_is_not_saved(tmp_path) -> None:
    fit = fitted(three_classes(), code="ecoc", decoding=np.exp)
    with pytest.raises(InputError, match="a function of the caller"):
        fit.save(tmp_path / "fit.qb")


def test_summary_and_tables() -> None:
    fit = fitted(three_classes(), code="ecoc")
    text = str(fit.summary())
    for piece in ("Multi-class Classification Results", "error-correcting", "c1: ", "actual \\ predicted"):
        assert piece in text
    assert max(map(len, text.splitlines())) <= 78
    assert fit.glance()["n_classifiers"].iloc[0] == 3
    assert len(fit.augment()) == 150
