"""The median classifier: what it computes, what does not change it, what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.classify.median import class_medians


def frame(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return three numeric columns, a factor and a label that depends on them."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    data["g"] = rng.choice(["u", "v"], n)
    data["y"] = np.where(data["a"] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    return data


def test_medians_and_decisions_are_those_of_the_definition() -> None:
    data = frame()
    fit = qb.median_classifier("y ~ a + b + c", data)
    X = data[["a", "b", "c"]]
    medians = {label: X[data["y"] == label].median() for label in ("no", "yes")}
    assert list(fit.medians.columns) == ["no", "yes"]
    np.testing.assert_array_equal(fit.medians["yes"], medians["yes"])
    away = {label: (X - medians[label]).abs().sum(axis=1) for label in medians}
    np.testing.assert_allclose(fit.decision_function(data), away["no"] - away["yes"], rtol=0, atol=1e-13)
    assert (fit.predict(data) == np.where(away["yes"] <= away["no"], "yes", "no")).all()
    assert fit.error_rate == (fit.predict() != data["y"]).mean()
    assert fit.confusion().to_numpy().sum() == len(data)


def test_medians_minimise_the_l1_distance_within_each_class() -> None:
    data = frame(31)
    fit = qb.median_classifier("y ~ a + b", data)
    own = data.loc[data["y"] == "yes", ["a", "b"]].to_numpy()
    best = np.abs(own - fit.medians["yes"].to_numpy()).sum()
    for shift in (-0.1, 0.1):
        assert np.abs(own - fit.medians["yes"].to_numpy() - shift).sum() >= best


def test_weights_are_repetitions() -> None:
    data = frame()
    data["w"] = np.random.default_rng(1).integers(0, 4, len(data))
    weighted = qb.median_classifier("y ~ a + b + c", data, weights="w", scale=True)
    repeated = qb.median_classifier("y ~ a + b + c", data.loc[data.index.repeat(data["w"])], scale=True)
    np.testing.assert_allclose(weighted.medians, repeated.medians, rtol=0, atol=1e-15)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=0, atol=1e-15)
    assert weighted.error_rate == pytest.approx(repeated.error_rate, abs=1e-14)
    assert weighted.nobs == int((data["w"] > 0).sum())


def test_scaled_fit_does_not_depend_on_units() -> None:
    data = frame()
    other = data.assign(a=1000.0 * data["a"] + 7.0, b=-0.01 * data["b"])
    one, two = (qb.median_classifier("y ~ a + b + c", d, scale=True) for d in (data, other))
    # subtraction of 7 costs digits of the rescaled column
    np.testing.assert_allclose(one.decision_function(), two.decision_function(), rtol=0, atol=1e-12)


def test_flipping_the_labels_flips_the_decisions() -> None:
    data = frame()
    one, two = (qb.median_classifier("y ~ a + b", data, event=event) for event in ("yes", "no"))
    np.testing.assert_array_equal(one.decision_function(), -two.decision_function())
    assert one.event == "yes" and two.classes == ("yes", "no")


def test_scale_falls_back_on_the_mean_deviation_where_the_median_one_is_nil() -> None:
    X = np.array([[0.0], [0.0], [0.0], [4.0], [1.0], [1.0], [1.0], [1.0]])
    found = class_medians(X, np.repeat([0.0, 1.0], 4), None, scale=True)
    assert found.scale.tolist() == [0.5] and found.by_deviation.tolist() == [0]


def test_rows_and_levels_that_cannot_be_predicted() -> None:
    data = frame()
    fit = qb.median_classifier("y ~ a + g", data)
    predicted = fit.predict({"a": [np.nan, 1.0], "g": ["u", "v"]})
    assert predicted.isna().tolist() == [True, False]
    with pytest.raises(InputError, match="'g'"):
        fit.predict({"a": [1.0], "g": ["w"]})
    assert len(fit.predict(data.iloc[[3]])) == 1


def test_evaluation_on_other_rows() -> None:
    data = frame()
    fit = qb.median_classifier("y ~ a + b", data.iloc[:40])
    other = data.iloc[40:]
    wrong = (fit.predict(other) != other["y"]).mean()
    assert fit.evaluate(other)["error_rate"] == pytest.approx(wrong, abs=1e-15)
    assert fit.evaluate(other.drop(columns="y"), y=other["y"])["error_rate"] == pytest.approx(wrong, abs=1e-15)
    table = fit.augment(other)
    assert table[".wrong"].mean() == pytest.approx(wrong, abs=1e-15)
    with pytest.raises(InputError, match="no column 'y'"):
        fit.evaluate(other.drop(columns="y"))
    with pytest.raises(InputError, match="'maybe'"):
        fit.evaluate(other.assign(y="maybe"))


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [False, True],
        ["a", "b"],
        [2.5, 7.0],
        pd.Categorical(["low", "high"], categories=["low", "high", "none"]),
    ],
    ids=["int", "bool", "text", "float", "category"],
)
def test_labels_of_every_kind_come_back_as_they_were(labels, tmp_path) -> None:
    y = pd.Series(labels).iloc[[0, 0, 1, 1]].reset_index(drop=True)
    fit = qb.MedianClassifier(y, [0.0, 1.0, 5.0, 6.0]).fit()
    assert fit.event == list(labels)[1] and fit.error_rate == 0.0
    for one in (fit, qb.load(fit.save(tmp_path / "fit.qb"))):
        assert one.predict([[0.0], [9.0]]).tolist() == list(labels)
        assert one.evaluate(np.array([[0.0], [9.0]]), y=list(labels))["error_rate"] == 0.0


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["a"] * 6, "one class only"), (["a", "b", "c"] * 2, "3 distinct values")],
)
def test_two_classes_are_needed(labels: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        qb.MedianClassifier(labels, np.arange(6.0))


def test_messages() -> None:
    data = frame()
    with pytest.raises(InputError, match="no predictor"):
        qb.median_classifier("y ~ 1", data)
    with pytest.raises(InputError, match="`event` must be one of"):
        qb.median_classifier("y ~ a", data, event="perhaps")
    with pytest.raises(InputError, match="`scale` must be True or False"):
        qb.median_classifier("y ~ a", data, scale="mad")
    with pytest.raises(InputError, match="constant within both"):
        qb.MedianClassifier(["a", "a", "b", "b"], [[0.0], [0.0], [1.0], [1.0]], scale=True).fit()
    with pytest.raises(InputError, match="same in every column"):
        qb.MedianClassifier(["a", "a", "a", "b", "b", "b"], [[0.0], [0.0], [1.0]] * 2).fit()
    with pytest.raises(NotDefinedError, match="no residuals"):
        qb.median_classifier("y ~ a", data).resid  # noqa: B018


@pytest.mark.parametrize("rows", [False, True])
def test_saved_and_pickled_fits_are_the_same(tmp_path, rows: bool) -> None:
    data = frame()
    fit = qb.median_classifier("y ~ a + np.abs(b) + g", data, scale=True)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=rows))
    assert str(again.summary()) == str(fit.summary())
    np.testing.assert_array_equal(again.decision_function(data), fit.decision_function(data))
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy())
    if rows:
        pd.testing.assert_frame_equal(again.augment(), fit.augment())
    else:
        with pytest.raises(NotDefinedError, match="data=True"):
            again.predict()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fit)).predict(data), fit.predict(data))


def test_summary_says_what_was_done() -> None:
    text = str(qb.median_classifier("y ~ a + b", frame(), scale=True).summary())
    for piece in ("Median Classifier Results", "yes (not no)", "MAD", "actual \\ predicted", "Error rate"):
        assert piece in text
    assert max(map(len, text.splitlines())) <= 78
