"""Classifiers of every kind priced alike: `evaluate(data, cost=)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError

COST = {"fn": 5, "fp": 1}
FORMULA = "poor ~ income"
FITS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "qbc": lambda data: qb.qbc(FORMULA, data, tau=0.7),
    "logitboost": lambda data: qb.logitboost(FORMULA, data, learner="linear", mstop=5),
    "adaboost": lambda data: qb.adaboost(FORMULA, data, mstop=5),
    "l2boost": lambda data: qb.l2boost(FORMULA, data),
    "median_classifier": lambda data: qb.median_classifier(FORMULA, data),
    "binary_qreg": lambda data: qb.binary_qreg(FORMULA, data, tau=0.7, starts=5),
}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def halves() -> tuple[pd.DataFrame, pd.DataFrame]:
    engel = qb.datasets.load("engel")
    engel["poor"] = np.where(engel["foodexp"] > 0.65 * engel["income"], "yes", "no")
    return engel.iloc[::2], engel.iloc[1::2]


def mean_cost(actual: pd.Series, predicted: pd.Series) -> float:
    """Return the mean cost of a row, counted row by row."""
    missed = (actual == "yes") & (predicted == "no")
    flagged = (actual == "no") & (predicted == "yes")
    return float((5.0 * missed + 1.0 * flagged).mean())


@pytest.mark.parametrize("family", FITS)
def test_fits_of_any_kind_compare_at_one_price(family: str, halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = FITS[family](train)
    for rows, found in ((test, fit.evaluate(test, cost=COST)), (train, fit.evaluate(cost=COST))):
        assert found["cost"] == pytest.approx(mean_cost(rows["poor"], fit.predict(rows)), rel=1e-12)
    plain = fit.evaluate(test)
    pd.testing.assert_series_equal(found.drop("cost"), fit.evaluate().drop("cost", errors="ignore"))
    assert list(plain.index[:4]) == ["n", "error_rate", "fn_rate", "fp_rate"]
    with pytest.raises(InputError, match="`cost` must say what both errors cost"):
        fit.evaluate(test, cost={"FN": 5})


def test_the_cost_of_every_iteration_and_tau(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = qb.qbc(FORMULA, train, tau=0.7)
    assert fit.evaluate_path(test, cost=COST)["cost"].iloc[-1] == fit.evaluate(test, cost=COST)["cost"]
    fits = qb.qbc(FORMULA, train, tau=[0.5, 0.7])
    priced = fits.errors(test, cost=COST)["cost"].tolist()
    assert priced == [one.evaluate(test, cost=COST)["cost"] for one in fits]
    assert priced == fits.evaluate(test, cost=COST)["cost"].tolist()
    assert len(fits.plot_errors(test, cost=COST).figure.axes) == 2  # the cost, comparable now, has Axes of its own
    assert len(fits.plot_errors(test).figure.axes) == 1


def test_probabilities_decide_by_the_costs_they_are_judged_by(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = qb.jous(FORMULA, train, booster="logitboost", learner="linear", mstop=5)
    predicted = fit.predict(test, cost=COST)
    assert (predicted != fit.predict(test)).any()
    assert fit.evaluate(test, cost=COST)["cost"] == pytest.approx(mean_cost(test["poor"], predicted), rel=1e-12)
    halfway = fit.evaluate(test, cost=COST, tau=0.5)
    assert halfway["cost"] == pytest.approx(mean_cost(test["poor"], fit.predict(test)), rel=1e-12)
    assert fit.evaluate(test, tau=0.9)["error_rate"] == (fit.predict(test, tau=0.9) != test["poor"]).mean()
    missed, of = fit.confusion_at(cost=COST).loc["yes", "no"], (train["poor"] == "yes").sum()
    assert fit.evaluate(cost=COST)["fn_rate"] == missed / of


def test_several_classes_have_no_missed_event(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train = halves[0].assign(third=pd.qcut(halves[0]["foodexp"], 3, labels=["low", "middle", "high"]))
    fit = qb.multiclass("third ~ income", train, booster="l2boost", mstop=5)
    with pytest.raises(InputError, match="there are 3 classes"):
        fit.evaluate(train, cost=COST)
