"""mboost's stored fits, met through the public functions.

Two programs that add the same numbers in another order differ by rounding: 1000 steps of relative error 1e-16 stay far
below the 1e-9 asked for here. Selections are whole numbers and must be equal, all of them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.boosting.loop import boost
from tests.reference import mboost_values as mboost

pytestmark = pytest.mark.reference

RAW = {"init": "median", "step_scale": None, "progress": False}
SIM8 = "y ~ x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8"
TOLERANCE = 1e-9


def counted_from_one(path) -> list[int]:
    return (path.selected + 1).tolist()


def close(actual, desired) -> None:
    """Assert equality to 1e-9 of each number, or of the largest where a number is 0."""
    desired = np.asarray(desired, dtype=float)
    np.testing.assert_allclose(actual, desired, rtol=TOLERANCE, atol=TOLERANCE * np.abs(desired).max())


@pytest.fixture(scope="module")
def sim8():
    return mboost.sim8()


@pytest.mark.parametrize("tau", mboost.TAUS)
@pytest.mark.parametrize("learner", mboost.LEARNERS)
def test_sim8(sim8, learner: str, tau: float) -> None:
    theirs = mboost.run(learner, tau)
    fit = qb.qbr(SIM8, sim8, tau, learner=learner, mstop=1000, **RAW)
    assert fit.start == pytest.approx(theirs["offset"], rel=1e-14)
    assert counted_from_one(fit.path) == theirs["xselect"]
    np.testing.assert_allclose(fit.risk_path, theirs["risk_path"], rtol=TOLERANCE)
    assert [step["mstop"] for step in theirs["steps"]][-1] == 1000
    for step in theirs["steps"]:
        here = fit.at(step["mstop"])
        assert here.risk == pytest.approx(step["risk"], rel=TOLERANCE)
        if learner == "componentwise":
            close(here.params, list(step["coef"].values()))
        else:
            close(here.fittedvalues.iloc[:10], step["fitted"])


@pytest.mark.parametrize("tau", mboost.TAUS)
@pytest.mark.parametrize("learner", mboost.LEARNERS)
def test_sim8_by_the_general_loop(sim8, learner: str, tau: float) -> None:
    theirs = mboost.run(learner, tau)
    model = qb.QBR.from_formula(SIM8, sim8, tau, learner=learner, **RAW)
    path = boost(model.task(model.weights), 1000)
    assert counted_from_one(path) == theirs["xselect"]
    np.testing.assert_allclose(path.risks, theirs["risk_path"], rtol=TOLERANCE)


@pytest.mark.parametrize("learner", mboost.LEARNERS)
def test_names_of_the_selections(sim8, learner: str) -> None:
    theirs = mboost.run(learner, 0.25)
    fit = qb.qbr(SIM8, sim8, 0.25, learner=learner, mstop=1000, **RAW)
    names = ["Intercept", *sim8.columns[1:]] if learner == "componentwise" else list(sim8.columns[1:])
    assert fit.selected.tolist() == [names[k - 1] for k in theirs["xselect"]]


@pytest.mark.parametrize("how", ["array", "column", "repeated rows"])
@pytest.mark.parametrize("learner", mboost.LEARNERS)
def test_weights(sim8, learner: str, how: str) -> None:
    stored = mboost.values("quantreg_weights")
    theirs, w = stored[mboost.LEARNERS[learner]], np.array(stored["weights"])
    assert (w == 0).any() and (w > 1).any()
    data, weights = sim8, w
    if how == "column":
        data, weights = sim8.assign(w=w), "w"
    if how == "repeated rows":
        if learner == "componentwise":
            pytest.skip("glmboost centres at the mean of all rows, weight 0 included: not equal to repeated rows")
        data, weights = sim8.loc[np.repeat(sim8.index, w)], None
    fit = qb.qbr(SIM8, data, stored["tau"], learner=learner, mstop=stored["mstop"], weights=weights, **RAW)
    assert fit.start == pytest.approx(theirs["offset"], rel=1e-14)
    assert counted_from_one(fit.path) == theirs["xselect"]
    np.testing.assert_allclose(fit.risk_path, theirs["risk_path"], rtol=TOLERANCE)
    if learner == "componentwise":
        close(fit.params, list(theirs["coef"].values()))
    else:
        close(fit.predict(sim8.iloc[:10]), theirs["fitted_first10"])


@pytest.mark.parametrize("learner", mboost.LEARNERS)
def test_weights_by_the_general_loop(sim8, learner: str) -> None:
    stored = mboost.values("quantreg_weights")
    theirs = stored[mboost.LEARNERS[learner]]
    model = qb.QBR.from_formula(SIM8, sim8, stored["tau"], learner=learner, weights=stored["weights"], **RAW)
    path = boost(model.task(model.weights), stored["mstop"])
    assert counted_from_one(path) == theirs["xselect"]
    np.testing.assert_allclose(path.risks, theirs["risk_path"], rtol=TOLERANCE)


def test_dummy_columns_one_by_one() -> None:
    stored = mboost.values("quantreg_factor")
    theirs = stored["glmboost"]
    formula = stored["formula"].replace("wool*tension", "wool * tension")
    fit = qb.qbr(formula, mboost.warpbreaks(), stored["tau"], learner="componentwise", mstop=stored["mstop"], **RAW)
    columns = [
        "Intercept",
        "wool[T.B]",
        "tension[T.M]",
        "tension[T.H]",
        "wool[T.B]:tension[T.M]",
        "wool[T.B]:tension[T.H]",
    ]
    assert list(fit.params.index) == columns
    assert counted_from_one(fit.path) == theirs["xselect"]
    assert fit.risk == pytest.approx(theirs["risk_last"], rel=TOLERANCE)
    close(fit.params, list(theirs["coef"].values()))


def test_factors_as_learners() -> None:
    stored = mboost.values("quantreg_factor")
    theirs = stored["bols"]
    fit = qb.qbr("breaks ~ wool + tension", mboost.warpbreaks(), stored["tau"], mstop=stored["mstop"], **RAW)
    assert list(fit.selection_frequencies.index) == ["wool", "tension"]
    assert counted_from_one(fit.path) == theirs["xselect"]
    assert fit.risk == pytest.approx(theirs["risk_last"], rel=TOLERANCE)
    close(fit.fittedvalues, theirs["fitted"])


@pytest.mark.parametrize("learner", mboost.LEARNERS)
def test_factors_by_the_general_loop(learner: str) -> None:
    stored = mboost.values("quantreg_factor")
    formula = "breaks ~ wool * tension" if learner == "componentwise" else "breaks ~ wool + tension"
    model = qb.QBR.from_formula(formula, mboost.warpbreaks(), stored["tau"], learner=learner, **RAW)
    path = boost(model.task(model.weights), stored["mstop"])
    assert counted_from_one(path) == stored[mboost.LEARNERS[learner]]["xselect"]


@pytest.fixture(scope="module")
def smooth():
    return pd.read_csv(mboost.FOLDER / "smooth.csv")


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.9])
def test_splines(smooth, tau: float) -> None:
    """df is trace(2S - S'S), the constant counted: by trace(S) the selections differ and the fits by 0.1."""
    stored = mboost.values("quantreg_pspline")
    theirs = next(run for run in stored["runs"] if run["tau"] == tau)
    fit = qb.qbr("y ~ x1 + x2 + x3", smooth, tau, learner="spline", mstop=stored["mstop"], **RAW)
    assert fit.start == pytest.approx(theirs["offset"], rel=1e-14)
    assert counted_from_one(fit.path) == theirs["xselect"]
    np.testing.assert_allclose(fit.risk_path, theirs["risk_path"], rtol=TOLERANCE)
    close(fit.fittedvalues, theirs["fitted"])
    close(fit.predict(smooth), theirs["fitted"])


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.9])
def test_splines_by_the_general_loop(smooth, tau: float) -> None:
    stored = mboost.values("quantreg_pspline")
    theirs = next(run for run in stored["runs"] if run["tau"] == tau)
    model = qb.QBR.from_formula("y ~ x1 + x2 + x3", smooth, tau, learner="spline", **RAW)
    path = boost(model.task(model.weights), stored["mstop"])
    assert counted_from_one(path) == theirs["xselect"]
    np.testing.assert_allclose(path.risks, theirs["risk_path"], rtol=TOLERANCE)


@pytest.mark.parametrize("way", ["fit.cv", "mstop=CV"])
def test_cvrisk(sim8, way: str) -> None:
    stored = mboost.values("cvrisk")
    folds = np.array(stored["folds"])
    options = {"learner": "componentwise", **RAW}
    if way == "fit.cv":
        result = qb.qbr(SIM8, sim8, stored["tau"], mstop=0, **options).cv(folds=folds, max=500, progress=False)
    else:
        fit = qb.qbr(SIM8, sim8, stored["tau"], mstop=qb.CV(folds=folds, max=500, progress=False), **options)
        result = fit.chosen
        assert fit.mstop == stored["mstop"]
    np.testing.assert_allclose(result.risk, stored["cvrisk"], rtol=TOLERANCE)
    assert result.mstop == stored["mstop"]
