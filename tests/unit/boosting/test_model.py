"""QBR: degenerate data, units, starts, the figures of the issue."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost import QBR
from qreg_boost.base.checks import ConvergenceWarning
from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.steps import STEPS
from tests.unit.boosting.cases import LINEAR, draw, frame

learners = pytest.mark.parametrize("learner", [name for name in LINEAR if name != "joint"])  # those that select


@pytest.fixture(scope="module")
def engel() -> pd.DataFrame:
    return qb.datasets.load("engel")


# -- degenerate data


@learners
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_no_predictors_is_the_start_alone(engel, learner: str, tau: float) -> None:
    fit = qb.qbr("foodexp ~ 1", engel, tau, learner=learner)
    assert fit.params.to_dict() == {"Intercept": weighted_quantile(engel["foodexp"].to_numpy(), tau)}
    assert fit.mstop == 0 and "start alone" in fit.status
    assert (fit.fittedvalues == fit.params["Intercept"]).all()
    assert (fit.predict(engel.iloc[:3]) == fit.params["Intercept"]).all()
    assert len(fit.selected) == 0 and fit.prsquared == 0.0
    assert fit.coef_path().shape == (1, 1)


@learners
def test_constant_columns_are_never_selected(learner: str) -> None:
    data = frame(80).assign(one=1.0, tenth=0.1, big=1e9 + 0.1)
    fit = qb.qbr("y ~ one + x1 + tenth + big", data, 0.4, learner=learner, mstop=200)
    assert set(fit.selected) <= {"x1", "Intercept"}
    assert (fit.params[["one", "tenth", "big"]] == 0).all()
    nothing = qb.qbr("y ~ one + tenth", data, 0.4, learner=learner)
    assert nothing.mstop == 0 and "no column varies" in nothing.status


@learners
def test_more_columns_than_rows(learner: str) -> None:
    y, X = draw(20, 100)
    fit = QBR(y, X, 0.5, learner=learner, mstop=2000).fit()
    assert np.isfinite(fit.params).all()
    assert fit.risk < 0.2 * fit.risk_path[0]


@learners
@pytest.mark.parametrize("tau", [0.01, 0.5, 0.99])
def test_one_row(learner: str, tau: float) -> None:
    fit = qb.qbr("y ~ x", pd.DataFrame({"y": [3.0], "x": [2.0]}), tau, learner=learner)
    assert fit.params.tolist() == [3.0, 0.0] and fit.resid.tolist() == [0.0]
    assert np.isnan(fit.prsquared) and np.isnan(fit.optimality_gap)


@learners
@pytest.mark.parametrize("tau", [0.01, 0.5, 0.99])
def test_two_rows(learner: str, tau: float) -> None:
    fit = qb.qbr("y ~ x", pd.DataFrame({"y": [3.0, 4.0], "x": [2.0, -1.0]}), tau, learner=learner)
    assert np.isfinite(fit.params).all() and fit.risk <= fit.risk_path[0]


@learners
def test_one_row_of_weight(learner: str) -> None:
    weights = np.zeros(30)
    weights[7] = 2.5
    data = frame(30)
    fit = qb.qbr("y ~ x1 + g", data, 0.3, weights=weights, learner=learner)
    assert fit.nobs == 1 and fit.mstop == 0
    assert fit.params["Intercept"] == data["y"][7] and (fit.params[1:] == 0).all()
    assert len(fit.fittedvalues) == 30


@learners
@pytest.mark.parametrize("init", ["quantile", "median", 7.0])
def test_all_y_equal(learner: str, init) -> None:
    data = frame(30).assign(y=7.0)
    fit = qb.qbr("y ~ x1 + g", data, 0.3, init=init, learner=learner)
    assert (fit.fittedvalues == 7.0).all() and fit.risk == 0.0 and (fit.params[1:] == 0.0).all()
    assert np.isnan(fit.prsquared) and np.isnan(fit.optimality_gap)


@pytest.mark.parametrize("step_scale", ["auto", "range"])
def test_all_y_equal_from_elsewhere_says_why_it_cannot_move(step_scale: str) -> None:
    """The spread of y is 0, and so is a step in units of it: the fit ends where it starts, and that is no success."""
    data = frame(30).assign(y=7.0)
    with pytest.warns(ConvergenceWarning):
        fit = qb.qbr("y ~ x1", data, 0.3, init=5.0, step_scale=step_scale)
    assert fit.status != "complete"


@learners
def test_duplicated_columns_the_first_wins(learner: str) -> None:
    data = frame(90).assign(twin=lambda t: t["x1"] * 3.0 - 1.0, copy=lambda t: t["x1"])
    fit = qb.qbr("y ~ x1 + twin + copy", data, 0.4, learner=learner, mstop=300)
    assert set(fit.selected) <= {"x1", "Intercept"}
    turned = qb.qbr("y ~ copy + twin + x1", data, 0.4, learner=learner, mstop=300)
    assert set(turned.selected) <= {"copy", "Intercept"}
    assert turned.fittedvalues.equals(fit.fittedvalues)


@learners
@pytest.mark.parametrize("step", [s for s in STEPS if s != "line"])
def test_a_perfect_fit(learner: str, step: str) -> None:
    x = np.arange(20.0)
    fit = QBR(3 + 2 * x, x, 0.5, learner=learner, step=step, mstop=3000).fit()
    assert fit.prsquared > 0.9  # a fixed step ends by hovering about the line
    assert np.isnan(fit.optimality_gap)


def test_a_perfect_fit_by_the_line_search() -> None:
    x = np.arange(20.0)
    with pytest.warns(ConvergenceWarning, match=r"stalled at iteration"):
        fit = QBR(3 + 2 * x, x, 0.5, step="line", mstop=500).fit()
    assert fit.prsquared > 0.8


@learners
def test_columns_of_extreme_units(learner: str) -> None:
    y, X = draw(200, 4, seed=3)
    scale = np.array([1e-12, 1e12, 1.0, 1e-3])
    plain = QBR(y, X, 0.3, learner=learner, mstop=400).fit()
    wild = QBR(y, X * scale, 0.3, learner=learner, mstop=400).fit()
    assert wild.selected.equals(plain.selected)
    np.testing.assert_allclose(wild.fittedvalues, plain.fittedvalues, rtol=0, atol=1e-9 * np.ptp(plain.fittedvalues))
    np.testing.assert_allclose(wild.params[1:] * scale, plain.params[1:], rtol=1e-9, atol=1e-12)


@learners
def test_columns_far_from_zero(learner: str) -> None:
    """At 1e9 a column of unit spread keeps 1e-7 of itself: fits agree to that, times the iterations that pass."""
    y, X = draw(200, 3, seed=3)
    plain = QBR(y, X, 0.3, learner=learner, mstop=200).fit()
    far = QBR(y, X + 1e9, 0.3, learner=learner, mstop=200).fit()
    assert far.selected.equals(plain.selected)
    np.testing.assert_allclose(far.fittedvalues, plain.fittedvalues, rtol=0, atol=1e-6 * np.ptp(plain.fittedvalues))


@learners
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.ConvergenceWarning")
def test_tied_responses(learner: str, step: str) -> None:
    data = frame(200).assign(y=lambda t: t["y"].round())
    fit = qb.qbr("y ~ x1 + x2 + g", data, 0.5, learner=learner, step=step, mstop=300)
    assert np.isfinite(fit.params).all() and fit.risk <= fit.risk_path[0]


@learners
def test_powers_of_two_change_nothing_on_a_lattice(learner: str) -> None:
    data = frame(200).assign(y=lambda t: t["y"].round())
    one = qb.qbr("y ~ x1 + g", data, 0.5, learner=learner, mstop=300)
    other = qb.qbr("y ~ x1 + g", data.assign(y=data["y"] * 2.0**40), 0.5, learner=learner, mstop=300)
    assert (other.fittedvalues == one.fittedvalues * 2.0**40).all()


# -- what a model is


def test_zero_weights_take_no_part_but_get_fitted_values() -> None:
    data = frame(100)
    used = np.arange(100) % 3 > 0
    wild = data.copy()
    wild.loc[~used, "y"] = 1e6
    wild.loc[~used, "x1"] = -1e6
    fit = qb.qbr("y ~ x1 + x2", wild, 0.3, weights=used.astype(float))
    alone = qb.qbr("y ~ x1 + x2", data[used], 0.3)
    assert fit.params.equals(alone.params) and fit.nobs == alone.nobs == used.sum()
    assert fit.risk_path.equals(alone.risk_path)
    assert fit.prsquared == alone.prsquared and fit.optimality_gap == pytest.approx(alone.optimality_gap, rel=1e-9)
    assert len(fit.fittedvalues) == len(fit.resid) == 100
    np.testing.assert_allclose(fit.fittedvalues[used], alone.fittedvalues, rtol=1e-13)
    expected = fit.params["Intercept"] + wild[["x1", "x2"]] @ fit.params[["x1", "x2"]]
    np.testing.assert_allclose(fit.fittedvalues, expected, rtol=1e-12)


@learners
def test_an_offset_is_taken_from_y(learner: str) -> None:
    data = frame(120).assign(o=lambda t: 10 * t["x2"] + 3)
    fit = qb.qbr("y ~ x1 + g", data, 0.3, offset="o", learner=learner)
    moved = qb.qbr("y ~ x1 + g", data.assign(y=data["y"] - data["o"]), 0.3, learner=learner)
    assert fit.params.equals(moved.params) and fit.start == moved.start
    np.testing.assert_allclose(fit.fittedvalues, moved.fittedvalues + data["o"], rtol=1e-13)
    np.testing.assert_allclose(fit.resid, moved.resid, atol=1e-12)
    assert fit.prsquared == moved.prsquared and fit.optimality_gap == pytest.approx(moved.optimality_gap, rel=1e-9)
    np.testing.assert_allclose(fit.predict(data), fit.fittedvalues, rtol=1e-13)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_starts(engel, tau: float) -> None:
    y = engel["foodexp"]
    assert qb.qbr("foodexp ~ income", engel, tau, mstop=0).start == y.sort_values().iloc[int(np.ceil(tau * len(y))) - 1]
    assert qb.qbr("foodexp ~ income", engel, tau, init="median", mstop=0).start == y.median()
    assert qb.qbr("foodexp ~ income", engel, tau, init=500, mstop=0).start == 500.0


def test_a_model_fits_again_and_again_the_same(engel) -> None:
    model = QBR.from_formula("foodexp ~ income", engel, 0.9)
    assert model.fit().params.equals(model.fit().params)


def test_the_callers_data_are_not_changed(engel) -> None:
    before = engel.copy(deep=True)
    weights = np.arange(235.0)
    qb.qbr("foodexp ~ income", engel, [0.1, 0.9], weights=weights).fits[0].extend(200)
    pd.testing.assert_frame_equal(engel, before)
    assert weights.tolist() == list(range(235))


# -- the figures of the issue


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_engel_on_raw_units(engel, tau: float) -> None:
    fit = qb.qbr("foodexp ~ income", engel, tau, mstop=500)
    assert fit.at(100).optimality_gap < 0.05
    assert fit.optimality_gap < 0.01


def test_engel_from_the_median_covers(engel) -> None:
    fit = qb.qbr("foodexp ~ income", engel, 0.9, init="median")
    assert 0.85 <= (engel["foodexp"] <= fit.fittedvalues).mean() <= 0.95


LEVERAGE = 137
"""The household of by far the largest income, 4958 francs: the exact optimum follows its response up to a point."""


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("row", [0, 50, 200, LEVERAGE])
def test_one_wild_response_moves_the_others_little(engel, tau: float, side: int, row: int) -> None:
    """One y at a million spreads: the loss on all other rows changes by under 1 % at 2000 iterations.

    That is about the steps. Where the exact optimum itself moves by more, as it does for the row of greatest leverage,
    the fit must not move by more than 1 % beyond it.
    """
    wild = engel.copy()
    wild.loc[row, "foodexp"] += side * 1e6 * engel["foodexp"].std()
    others = np.arange(len(engel)) != row

    def losses(data: pd.DataFrame) -> np.ndarray:
        fit = qb.qbr("foodexp ~ income", data, tau, mstop=2000)
        exact = fit.optimum.coef[0] + fit.optimum.coef[1] * engel["income"].to_numpy()
        fits = (fit.fittedvalues.to_numpy(), exact)
        y, w = engel["foodexp"].to_numpy()[others], np.ones(others.sum())
        return np.array([CheckLoss(tau).risk(y, one[others], w) for one in fits])

    boosted, exact = losses(wild) / losses(engel) - 1
    assert abs(boosted - exact) < 0.01
    if row != LEVERAGE:
        assert abs(boosted) < 0.01


def test_red_wine_runs_and_the_line_search_never_moves(public_table) -> None:
    wine = public_table("wine_red")
    fit = qb.qbr("quality ~ .", wine, 0.5, mstop=500)
    assert np.isfinite(fit.params).all() and fit.risk < fit.risk_path[0]
    with pytest.warns(ConvergenceWarning, match=r"stalled at iteration 0, where the check loss is 526"):
        stuck = qb.qbr("quality ~ .", wine, 0.5, step="line")
    assert stuck.status == "stalled at iteration 0" and stuck.mstop == 0


def test_a_stall_says_what_was_reached(engel) -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        fit = qb.qbr("foodexp ~ income", engel, 0.5, step="line", mstop=1000)
    assert fit.status == f"stalled at iteration {fit.mstop}" and fit.mstop < 1000
    text = str(caught[0].message)
    assert f"{fit.risk:.6g}" in text and 'step="fixed"' in text


def test_two_hundred_thousand_iterations(engel, tmp_path) -> None:
    fit = qb.qbr("foodexp ~ income", engel, 0.9, mstop=200_000)
    assert fit.save(tmp_path / "long.qb").stat().st_size < 5_000_000
    table = fit.coef_path()
    assert table.shape == (200_001, 2)
    np.testing.assert_allclose(table.iloc[-1], fit.params, rtol=1e-9)
    again = qb.load(tmp_path / "long.qb")
    assert again.at(150_000).params.equals(fit.at(150_000).params)
