"""Effects of terms: parts of additive fits, partial dependence of trees, and both where they are the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError, NotDefinedError
from tests.unit.boosting.cases import frame

FORMULA = "y ~ x1 + g + x2"
ADDITIVE = ("linear", "componentwise", "joint", "spline", "stump")


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return frame(120, seed=4).assign(w=np.random.default_rng(0).integers(0, 3, 120).astype(float))


@pytest.fixture(scope="module", params=[*ADDITIVE, "tree"])
def fit(request, data):
    return qb.qbr(FORMULA, data, 0.3, learner=request.param, weights="w", mstop=60)


def dependence(fit, data: pd.DataFrame, term: str, value) -> float:
    """Return the mean prediction over the rows with a column set to a value, by predict alone."""
    return float(np.average(fit.predict(data.assign(**{term: value})), weights=data["w"]))


def test_an_effect_is_partial_dependence_less_the_mean_fit(fit, data) -> None:
    """For every learner alike, by nothing but predict: additive fits compute it another way."""
    mean = np.average(fit.predict(data), weights=data["w"])
    numbers = fit.effect("x1", grid=7)
    assert numbers.columns.tolist() == ["term", "x", "effect"] and (numbers["term"] == "x1").all()
    used = data["w"] > 0
    even = np.linspace(data["x1"][used].min(), data["x1"][used].max(), 7)
    if fit.path.kind == "tree" and fit.path.additive:
        assert np.isin(even, numbers["x"]).all()
    else:
        np.testing.assert_allclose(numbers["x"], even)
    for x, effect in zip(numbers["x"], numbers["effect"], strict=True):
        assert effect == pytest.approx(dependence(fit, data, "x1", x) - mean, abs=1e-10)
    levels = fit.effect("g")
    assert levels.columns.tolist() == ["term", "level", "effect"] and levels["level"].tolist() == list("abcd")
    for level, effect in zip(levels["level"], levels["effect"], strict=True):
        assert effect == pytest.approx(dependence(fit, data, "g", level) - mean, abs=1e-10)


def test_values_asked_for(fit) -> None:
    at = fit.effect("x2", grid=[0.5, -1.0])
    assert at["x"].tolist() == [0.5, -1.0]
    assert at["effect"][0] == pytest.approx(fit.effect("x2", grid=np.array([0.5, 2.0]))["effect"][0], abs=1e-12)


@pytest.mark.parametrize("learner", ADDITIVE)
def test_effects_of_an_additive_fit_add_up_to_it(data, learner: str) -> None:
    fit = qb.qbr(FORMULA, data, 0.3, learner=learner, mstop=60)
    parts = fit.effect("x1", data["x1"])["effect"] + fit.effect("x2", data["x2"])["effect"]
    by_level = fit.effect("g").set_index("level")["effect"]
    total = fit.fittedvalues.mean() + parts.to_numpy() + by_level[data["g"]].to_numpy()
    np.testing.assert_allclose(total, fit.fittedvalues, rtol=1e-10, atol=1e-10)
    assert fit.effect("x1", data["x1"])["effect"].mean() == pytest.approx(0.0, abs=1e-12)


def test_effects_at_another_iteration_and_of_arrays(data) -> None:
    fit = qb.QBR(data["y"], data[["x1", "x2"]], 0.3, learner="spline", mstop=40).fit()
    assert (fit.at(0).effect("x1")["effect"] == 0).all()
    assert len(fit.effect("x2")) == 100 and fit.effect("x2")["effect"].std() > 0


def test_terms_without_an_axis_are_seen_at_rows(data) -> None:
    fit = qb.qbr("y ~ poly(x1, 2) + x2:g + C(g)", data, 0.4)
    with pytest.raises(NotDefinedError, match=r"Term 'poly\(x1, 2\)' has 2 columns and is no single factor"):
        fit.effect("poly(x1, 2)")
    at = fit.effect("poly(x1, 2)", grid=data)
    assert at.columns.tolist() == ["term", "x1", "effect"] and at["x1"].tolist() == data["x1"].tolist()
    assert at["effect"].mean() == pytest.approx(0.0, abs=1e-10)
    pair = fit.effect("x2:g", grid=data.iloc[:5])
    assert set(pair.columns) == {"term", "x2", "g", "effect"}
    assert fit.effect("C(g)")["level"].tolist() == list("abcd")


@pytest.mark.parametrize("learner", ["linear", "spline", "stump"])
def test_loaded_fits(data, learner: str, tmp_path) -> None:
    fit = qb.qbr(FORMULA, data, 0.3, learner=learner, weights="w", mstop=60)
    whole = qb.load(fit.save(tmp_path / "whole.qb", data=True))
    assert whole.effect("x1").equals(fit.effect("x1"))
    bare = qb.load(fit.save(tmp_path / "bare.qb"))
    if learner == "stump":
        with pytest.raises(InputError, match="data=True"):
            bare.effect("x1", grid=[0.0])
        return
    np.testing.assert_allclose(bare.effect("x1", [0.0, 1.0])["effect"], fit.effect("x1", [0.0, 1.0])["effect"])
    np.testing.assert_allclose(bare.effect("g")["effect"], fit.effect("g")["effect"], atol=1e-12)
    if learner == "spline":
        np.testing.assert_allclose(bare.effect("x1")["effect"], fit.effect("x1")["effect"], atol=1e-12)
        bare.plot_effect("x1")
    else:
        with pytest.raises(NotDefinedError, match="give `grid` an array of its values, or save the fit with data=True"):
            bare.effect("x1")


def test_without_an_intercept_loaded_fits_need_the_rows(data, tmp_path) -> None:
    fit = qb.qbr("y ~ 0 + x1 + x2", data, 0.3)
    assert fit.effect("x1", data["x1"])["effect"].mean() == pytest.approx(0.0, abs=1e-10)
    with pytest.raises(NotDefinedError, match="no rows to centre the effect at"):
        qb.load(fit.save(tmp_path / "bare.qb")).effect("x1", [0.0])


def test_messages(data) -> None:
    fit = qb.qbr(FORMULA, data, 0.3)
    with pytest.raises(InputError, match=r"'x_1' is no term of this fit. Did you mean 'x1'\? Terms: x1, g, x2."):
        fit.effect("x_1")
    with pytest.raises(InputError, match="`grid` must be a whole number of at least 2; got 1"):
        fit.effect("x1", grid=1)
    with pytest.raises(InputError, match="`grid` must hold finite values"):
        fit.effect("x1", grid=[np.nan])


@pytest.mark.parametrize("fit", ["stump"], indirect=True)
def test_effects_of_stumps_are_steps_at_the_cuts(fit) -> None:
    """Both ends of each step are in the table, so that it changes between neighbouring floats only."""
    assert fit.path.kind == "tree" and fit.path.additive
    table = fit.at(40).effect("x1", grid=5)
    x, values = table["x"].to_numpy(), table["effect"].to_numpy()
    cuts = fit.path.cuts(40, 0)
    assert len(cuts) > 3 and len(x) == 5 + 2 * len(cuts)
    moved = np.flatnonzero(np.abs(np.diff(values)) > 1e-12)
    np.testing.assert_array_equal(x[moved], cuts)
    np.testing.assert_array_equal(np.nextafter(x[moved], np.inf), x[moved + 1])
    ax = fit.at(40).plot_effect("x1", grid=5)
    np.testing.assert_array_equal(ax.lines[-1].get_xdata(), x)


def test_levels_asked_for(fit) -> None:
    every = fit.effect("g").set_index("level")["effect"]
    some = fit.effect("g", grid=["c", "a"])
    assert some["level"].tolist() == ["c", "a"]
    np.testing.assert_allclose(some["effect"], every[["c", "a"]], atol=1e-14)
    for grid in (100, "a"):
        with pytest.raises(InputError, match=r"'g' is a factor, so `grid` must be a list of its levels.*Levels: 'a'"):
            fit.effect("g", grid=grid)
    with pytest.raises(InputError, match="`grid` holds 'e', which is no level of 'g'"):
        fit.plot_effect("g", grid=["a", "e"])


@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_a_term_never_chosen_has_no_effect(data, learner: str) -> None:
    rows = data.assign(y=0.1 + 3.7 * data["x1"], w=data["w"] * 0.1)
    fit = qb.qbr(FORMULA, rows, 0.3, learner=learner, weights="w", mstop=9, nu=0.013)
    assert set(fit.path.term[fit.path.nodes.column[fit.path.nodes.column >= 0]]) == {0}
    assert (fit.effect("g")["effect"] == 0.0).all() and (fit.effect("x2")["effect"] == 0.0).all()


@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_the_effect_of_a_missing_value_has_a_row_and_a_point(data, learner: str) -> None:
    rows = data.copy()
    rows.loc[10:40, "x1"] = np.nan
    rows.loc[35:60, "g"] = None
    rows["y"] += 3.0 * rows["x1"].isna()
    fit = qb.qbr(FORMULA, rows, 0.4, learner=learner, missing="branch", weights="w", mstop=60)
    mean = np.average(fit.predict(rows), weights=rows["w"])
    for term, where in (("x1", "x"), ("g", "level")):
        table = fit.effect(term)
        assert table[where].isna().tolist() == [False] * (len(table) - 1) + [True]
        gone = dependence(fit, rows, term, np.nan if term == "x1" else None)
        assert table["effect"].iloc[-1] == pytest.approx(gone - mean, abs=1e-10)
    assert fit.effect("x2")["x"].notna().all()
    assert fit.effect("x1", grid=[np.nan])["effect"][0] == pytest.approx(fit.effect("x1")["effect"].iloc[-1])
    ax = fit.plot_effect("x1")
    point, line = ax.lines[-2:]
    assert point.get_ydata()[0] == fit.effect("x1")["effect"].iloc[-1]
    assert point.get_xdata()[0] > line.get_xdata().max() == rows["x1"][rows["w"] > 0].max()
    assert [text.get_text() for text in ax.texts] == ["missing"]
    assert [tick.get_text() for tick in fit.plot_effect("g").get_xticklabels()] == [*"abcd", "missing"]


# -- figures


def test_figures(fit, data) -> None:
    ax = fit.plot_effect("x1")
    line = ax.lines[-1]
    np.testing.assert_allclose(line.get_ydata(), fit.effect("x1")["effect"])
    assert ax.get_xlabel() == "x1" and "units of y" in ax.get_ylabel()
    rug = ax.collections[0].get_segments()
    assert len(rug) == int((data["w"] > 0).sum())
    ax = fit.plot_effect("g")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list("abcd")
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), fit.effect("g")["effect"])


def test_figures_at_rows(data) -> None:
    fit = qb.qbr("y ~ poly(x1, 2) + x2:g", data, 0.4)
    ax = fit.plot_effect("poly(x1, 2)", grid=data)
    assert ax.get_xlabel() == "x1" and (np.diff(ax.lines[-1].get_xdata()) >= 0).all()
    with pytest.raises(NotDefinedError, match="made of 2 variables"):
        fit.plot_effect("x2:g", grid=data)
