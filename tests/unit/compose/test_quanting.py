"""Quantiles by classification."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.compose.cuts import cuts_by_quantiles, cuts_evenly
from tests.unit.compose.stand_ins import GroupMajority, Unweighted


def groups(seed: int = 0) -> pd.DataFrame:
    """Return a response and the number of its group, 13 rows in each of four."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"g": np.repeat(np.arange(4.0), 13)})
    data["y"] = data["g"] + rng.normal(size=len(data)) * (1.0 + data["g"])
    return data


@pytest.mark.parametrize("tau", [0.1, 0.37, 0.5, 0.9])
def test_perfect_classifiers_give_the_quantiles(tau: float) -> None:
    """A classifier that finds the weighted majority of each group makes the reduction exact (Langford et al.)."""
    data = groups()
    fit = qb.quanting("y ~ g", data, tau=tau, classifier=GroupMajority(), cuts=len(data))
    for g, own in data.groupby("g"):
        best = weighted_quantile(own["y"].to_numpy(), tau)
        assert fit.predict({"g": [g]}).iloc[0] == pytest.approx(best, abs=1e-12)
    assert fit.glance()["not_monotone"].iloc[0] == 0


@pytest.mark.parametrize("tau", [0.37, 0.9])
def test_weights_count_in_cuts_and_classifiers(tau: float) -> None:
    data = groups()
    data["w"] = np.random.default_rng(1).integers(0, 4, len(data))
    options = {"tau": tau, "classifier": GroupMajority(), "cuts": len(data)}
    one = qb.quanting("y ~ g", data, weights="w", **options)
    two = qb.quanting("y ~ g", data.loc[data.index.repeat(data["w"])], **options)
    np.testing.assert_allclose(one.predict(data), two.predict(data), atol=1e-12)
    assert one.risk == pytest.approx(two.risk, rel=1e-12)


def test_boosters_come_near_quantile_regression() -> None:
    engel = qb.datasets.load("engel")
    for tau in (0.25, 0.75):
        fit = qb.quanting("foodexp ~ income", engel, tau=tau, learner="linear", cuts=30, mstop=50, progress=False)
        exact = qb.qreg("foodexp ~ income", engel, tau=tau)
        # the lines of thirty classifiers bend where one line cannot: the loss is about that of the best line
        assert fit.risk < 1.15 * exact.objective
        assert abs((fit.resid <= 0).mean() - tau) < 0.1
        assert fit.prsquared == pytest.approx(1.0 - fit.risk / fit.facts.own["null_risk"])


def test_cuts() -> None:
    y = np.array([1.0, 2.0, 2.0, 5.0, 9.0])
    every = cuts_by_quantiles(y, 10)
    assert every.at.tolist() == [2.0, 5.0, 9.0] and every.start == 1.0
    np.testing.assert_allclose(every.sum_up(np.array([[0, 0, 0], [1, 1, 0], [1, 1, 1]])), [1.0, 5.0, 9.0])
    even = cuts_evenly(y, 4)
    assert even.at.tolist() == [2.0, 4.0, 6.0, 8.0] and even.steps.tolist() == [2.0] * 4
    own = qb.Quanting(y, np.arange(5.0), classifier=GroupMajority(), cuts=[4.0]).fit()
    assert own.predict().tolist() == [2.0, 2.0, 2.0, 7.0, 7.0]


def test_predictions_stay_within_the_response() -> None:
    data = groups()
    fit = qb.quanting("y ~ g", data, tau=0.9, cuts=10, mstop=20)
    new = fit.predict({"g": [-100.0, 100.0]})
    assert new.between(data["y"].min(), data["y"].max()).all()


def test_rows_that_cannot_be_predicted() -> None:
    data = groups().assign(h=lambda d: np.where(d.index % 2, "u", "v"))
    fit = qb.quanting("y ~ g + h", data, cuts=5, mstop=5)
    assert fit.predict({"g": [np.nan, 1.0], "h": ["u", "u"]}).isna().tolist() == [True, False]
    with pytest.raises(InputError, match="'h'"):
        fit.predict({"g": [1.0], "h": ["w"]})
    assert len(fit.predict(data.iloc[[0]])) == 1
    assert fit.predict().equals(fit.fittedvalues)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 0.0}, "`tau` must lie"),
        ({"cuts": 0}, "`cuts`"),
        ({"cuts": [-1e9]}, "`cuts` must be a number of cuts, or values above"),
        ({"spacing": "log"}, "`spacing` must be one of"),
        ({"classifier": Unweighted()}, "Unweighted takes no weights"),
        ({"classifier": "svm"}, "must be one of"),
        ({"classifier": "qbc", "colour": 1}, "qbc has no option 'colour'"),
        ({"booster": "qbc"}, "has no option 'booster'. In quanting the booster is `classifier`"),
    ],
)
def test_options_are_checked(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        qb.quanting("y ~ g", groups(), **{"progress": False, **change})


def test_the_data_are_checked() -> None:
    with pytest.raises(InputError, match="there is nothing to fit"):
        qb.Quanting(np.ones(4), np.arange(4.0))
    with pytest.raises(InputError, match="no predictor"):
        qb.quanting("y ~ 1", groups())


def test_sklearn_pipelines_name_their_weights() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = groups()
    estimator = make_pipeline(StandardScaler(), linear_model.LogisticRegression(C=1e6))
    name = "logisticregression__sample_weight"
    fit = qb.quanting("y ~ g", data, tau=0.75, classifier=estimator, weight_name=name, cuts=20)
    assert fit.prsquared > 0.2


@pytest.mark.parametrize("rows", [False, True])
def test_saved_and_pickled_fits_are_the_same(tmp_path, rows: bool) -> None:
    data = groups()
    fit = qb.quanting("y ~ g", data, tau=0.25, cuts=6, mstop=10)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=rows))
    assert str(again.summary()) == str(fit.summary())
    pd.testing.assert_series_equal(again.predict(data), fit.predict(data))
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy())
    if rows:
        pd.testing.assert_frame_equal(again.augment(), fit.augment())
    assert pickle.loads(pickle.dumps(fit)).predict(data).equals(fit.predict(data))
    other = qb.quanting("y ~ g", data, classifier=GroupMajority(), cuts=6)
    with pytest.raises(InputError, match="fitted GroupMajority objects"):
        other.save(tmp_path / "other.qb")


def test_summary_says_what_was_done() -> None:
    text = str(qb.quanting("y ~ g", groups(), cuts=6, mstop=10).summary())
    for piece in ("Quantiles by Classification Results", "logitboost", "predicted above", "Pseudo R-squared"):
        assert piece in text
    assert max(map(len, text.splitlines())) <= 78
