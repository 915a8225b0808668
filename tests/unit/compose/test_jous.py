"""Probabilities by JOUS-Boost."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.compose.cuts import read_off
from qreg_boost.compose.resample import oversampled, spread_to_jitter, undersampled
from tests.unit.compose.stand_ins import Unweighted, two_classes


def fitted(data: pd.DataFrame, formula: str = "y ~ a + b", **options):
    return qb.jous(formula, data, **{"progress": False, "mstop": 20, **options})


@pytest.mark.parametrize("d", [2, 4, 10])
def test_probabilities_of_monotone_answers_are_the_middle_of_their_cell(d: int) -> None:
    for k in range(d):
        above = np.arange(1, d) <= k  # above the levels 1/d, ..., k/d
        assert read_off(above[None]).tolist() == pytest.approx([(k + 0.5) / d])


def test_probabilities_are_read_from_the_median_outwards() -> None:
    # levels .25 .5 .75: above .5, so only what lies beyond counts, and the other way round
    assert read_off(np.array([[False, True, False]])).tolist() == [0.625]
    assert read_off(np.array([[True, False, True]])).tolist() == [0.375]
    assert read_off(np.array([[False, False, True]])).tolist() == [0.125]


@pytest.mark.parametrize("copies", [(1, 9), (2, 3), (1, 1), (9, 1)])
def test_samples_have_the_odds_asked_for(copies: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), (np.arange(100) % 4 == 0).astype(float)
    over = oversampled(X, y, copies, np.ones(2), rng)
    events = int((y[over.rows] > 0.5).sum())
    assert (events, len(over.rows) - events) == (25 * copies[1], 75 * copies[0])
    under = undersampled(X, y, copies, rng)
    events = int((y[under.rows] > 0.5).sum())
    assert events / (len(under.rows) - events) == pytest.approx(copies[1] / copies[0] / 3.0, rel=0.1)
    assert len(np.unique(under.rows)) == len(under.rows)
    np.testing.assert_array_equal(under.X, X[under.rows])


def test_only_repeated_rows_and_columns_of_more_than_two_values_are_jittered() -> None:
    data = two_classes(50)
    X = data[["a", "flag"]].to_numpy()
    jitter = spread_to_jitter(X)
    drawn = oversampled(X, np.ones(50), (1, 3), jitter, np.random.default_rng(0))
    away = np.abs(drawn.X - X[drawn.rows])
    assert jitter[1] == 0.0 and (away[:, 1] == 0.0).all()
    assert (away[::3] == 0.0).all() and (away[1::3, 0] > 0.0).all()
    assert away.max() <= jitter[0]


@pytest.mark.parametrize("sampling", ["over", "under"])
def test_probabilities_come_near_the_truth(sampling: str) -> None:
    data, other = two_classes(1000), two_classes(500, seed=1)
    fit = fitted(data, sampling=sampling, booster="logitboost", learner="linear")
    # half a step of the grid is 0.05; the best constant is off by 0.26
    assert np.abs(fit.probability(other) - other["p"]).mean() < 0.08
    assert set(fit.probability().round(2)) <= {round(0.05 + 0.1 * k, 2) for k in range(10)}
    assert fit.facts.own["brier"] == pytest.approx(float(((fit.probability() - (data["y"] == "yes")) ** 2).mean()))


def test_labels_follow_tau_and_cost() -> None:
    data = two_classes()
    fit = fitted(data)
    p = fit.probability()
    for tau in (0.25, 0.5, 0.8):
        flagged = fit.predict(data, tau=tau) == "yes"
        assert (flagged == (p > 1.0 - tau)).all()
    assert (fit.predict(data, cost={"fn": 4, "fp": 1}) == fit.predict(data, tau=0.8)).all()
    assert (fit.predict() == fit.predict(tau=0.5)).all()
    assert fit.error_rate == (fit.predict() != data["y"]).mean()
    counts = fit.confusion_at(tau=0.8)
    assert counts.loc["no", "yes"] == ((fit.predict(tau=0.8) == "yes") & (data["y"] == "no")).sum()
    table = fit.predict_proba(data)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert list(table.columns) == ["no", "yes"]
    with pytest.raises(InputError, match="`tau` must lie"):
        fit.predict(data, tau=2.0)
    with pytest.raises(InputError, match="Leave one of them out"):
        fit.predict(data, tau=0.5, cost={"fn": 4, "fp": 1})


def test_the_median_level_is_the_booster_itself() -> None:
    data = two_classes()
    fit = fitted(data)
    alone = qb.adaboost("y ~ a + b", data, mstop=20, progress=False)
    assert (fit.predict() == alone.predict()).all()


def test_weights_are_repetitions() -> None:
    data = two_classes(100)
    data["w"] = np.random.default_rng(1).integers(0, 3, len(data))
    one = fitted(data, weights="w")
    two = fitted(data.loc[data.index.repeat(data["w"])])
    assert one.probability(data).equals(two.probability(data))
    assert one.error_rate == pytest.approx(two.error_rate, abs=1e-12)


def test_the_same_seed_gives_the_same_fit() -> None:
    data = two_classes()
    assert fitted(data, rng=3).probability().equals(fitted(data, rng=3).probability())
    assert not fitted(data, rng=3).probability().equals(fitted(data, rng=4).probability())


def test_estimators_need_no_weights() -> None:
    fit = qb.jous("y ~ a", two_classes(), booster=Unweighted(), grid=4, sampling="under", progress=False)
    assert fit.probability().nunique() == 1


def test_rows_and_levels_that_cannot_be_predicted() -> None:
    data = two_classes().assign(g=lambda d: np.where(d.index % 2, "u", "v"))
    fit = fitted(data, "y ~ a + g")
    assert fit.probability({"a": [np.nan, 0.0], "g": ["u", "u"]}).isna().tolist() == [True, False]
    assert fit.predict({"a": [np.nan, 0.0], "g": ["u", "u"]}).isna().tolist() == [True, False]
    with pytest.raises(InputError, match="'g'"):
        fit.predict({"a": [0.0], "g": ["w"]})
    assert len(fit.predict(data.iloc[[0]])) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": 5}, "`grid` must be even"),
        ({"grid": 0}, "`grid`"),
        ({"sampling": "both"}, "`sampling` must be one of"),
        ({"jitter": -1.0}, "`jitter` must be a number of at least 0"),
        ({"tau": 0.3}, "state tau in predict"),
        ({"booster": "ada"}, "must be one of"),
        ({"event": "perhaps"}, "`event` must be one of"),
    ],
)
def test_options_are_checked(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(two_classes(), **change)


def test_the_data_are_checked() -> None:
    data = two_classes()
    with pytest.raises(InputError, match="one class only"):
        fitted(data.assign(y="yes"))
    with pytest.raises(InputError, match="whole numbers"):
        fitted(data, weights=np.full(len(data), 0.5))


@pytest.mark.parametrize("rows", [False, True])
def test_saved_and_pickled_fits_are_the_same(tmp_path, rows: bool) -> None:
    data = two_classes()
    fit = fitted(data, grid=4)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=rows))
    assert str(again.summary()) == str(fit.summary())
    pd.testing.assert_series_equal(again.probability(data), fit.probability(data))
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy())
    if rows:
        pd.testing.assert_frame_equal(again.augment(), fit.augment())
    else:
        with pytest.raises(NotDefinedError, match="data=True"):
            again.probability()
    assert pickle.loads(pickle.dumps(fit)).probability(data).equals(fit.probability(data))


def test_summary_says_what_was_done() -> None:
    text = str(fitted(two_classes()).summary())
    for piece in ("JOUS-Boost Results", "over, jittered", "Brier score", "P > 0.5"):
        assert piece in text
    assert max(map(len, text.splitlines())) <= 78
