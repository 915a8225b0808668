"""What a fit hands back: paths, selections, other iterations, quality, rows, tables."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import qreg_boost as qb
from qreg_boost import QBR
from qreg_boost.base.checks import ConvergenceWarning, InputError, NotDefinedError
from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.boosting.learners import LEARNERS
from qreg_boost.boosting.losses import CheckLoss
from tests.unit.boosting.cases import LINEAR, draw, frame

FORMULA = "y ~ x1 + g + x2"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return frame(150, seed=21)


@pytest.fixture(scope="module", params=[name for name in LINEAR if name != "joint"])  # those that select
def fit(request, data):
    return qb.qbr(FORMULA, data, 0.3, learner=request.param, mstop=120)


def least_loss(y: np.ndarray, X: np.ndarray, tau: float, w: np.ndarray) -> float:
    """Return the optimum of the linear programme by HiGHS."""
    n, p = X.shape
    cost = np.concatenate((np.zeros(p), tau * w, (1 - tau) * w))
    found = linprog(
        cost, A_eq=np.hstack((X, np.eye(n), -np.eye(n))), b_eq=y, bounds=[(None, None)] * p + [(0, None)] * 2 * n
    )
    return found.fun


# -- path


def test_coef_path(fit) -> None:
    table = fit.coef_path()
    assert list(table.columns) == ["Intercept", "x1", "g[T.b]", "g[T.c]", "g[T.d]", "x2"]
    assert table.index.tolist() == list(range(121)) and table.index.name == "iteration"
    assert table.iloc[0].tolist() == [fit.start, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(table.loc[120], fit.params, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(table.loc[50], fit.at(50).params, rtol=1e-11, atol=1e-13)


def test_risk_path_is_in_units_of_y(fit, data) -> None:
    y = data["y"].to_numpy()
    assert fit.risk_path.index.tolist() == list(range(121))
    for m in (0, 1, 60, 120):
        direct = CheckLoss(0.3).risk(y, fit.at(m).fittedvalues.to_numpy(), np.ones(150))
        assert fit.risk_path[m] == pytest.approx(direct, rel=1e-11)
    assert fit.risk == fit.risk_path[120]


def test_selected_and_shares(fit) -> None:
    assert fit.selected.index.tolist() == list(range(1, 121))
    frequencies = fit.selection_frequencies
    assert frequencies.sum() == pytest.approx(1.0, rel=1e-14)
    for name, share in frequencies.items():
        assert share == (fit.selected == name).mean()
        first = fit.first_selected[name]
        assert np.isnan(first) if share == 0 else fit.selected.tolist().index(name) + 1 == first
    by_term = fit.path.intercept_learner is False
    assert list(frequencies.index) == (
        ["x1", "g", "x2"] if by_term else ["Intercept", "x1", "g[T.b]", "g[T.c]", "g[T.d]", "x2"]
    )


def test_importance_is_each_share_of_what_the_loss_fell(fit) -> None:
    assert fit.importance.sum() == pytest.approx(1.0, rel=1e-12)
    gains = -fit.risk_path.diff().to_numpy()[1:]
    for name, share in fit.importance.items():
        assert share == pytest.approx(gains[(fit.selected == name).to_numpy()].sum() / gains.sum(), rel=1e-9, abs=1e-15)


def test_at_iteration_0(fit) -> None:
    start = fit.at(0)
    assert start.params.tolist() == [fit.start, 0, 0, 0, 0, 0]
    assert (
        start.selection_frequencies.isna().all() and start.importance.isna().all() and start.first_selected.isna().all()
    )
    assert start.prsquared == 0.0 and len(start.selected) == 0
    assert (start.fittedvalues == fit.start).all()
    assert len(start.tidy()) == 6 and start.glance()["mstop"].item() == 0


def test_at_and_extend_never_change_the_fit(data) -> None:
    fit = qb.qbr(FORMULA, data, 0.3, mstop=80)
    before = pickle.dumps((fit.params, fit.risk_path, fit.selected, fit.mstop, fit.fittedvalues, fit.optimality_gap))
    short, long = fit.at(3), fit.extend(200)
    long.at(100), long.extend(300), short.extend(90)
    assert (short.mstop, fit.mstop, long.mstop) == (3, 80, 200)
    after = pickle.dumps((fit.params, fit.risk_path, fit.selected, fit.mstop, fit.fittedvalues, fit.optimality_gap))
    assert after == before
    fresh = qb.qbr(FORMULA, data, 0.3, mstop=80)
    assert fresh.params.equals(fit.params)


def test_extend_from_a_cut_fit_uses_the_path_it_has(data) -> None:
    fit = qb.qbr(FORMULA, data, 0.3, mstop=80)
    assert fit.at(10).extend(60).params.equals(fit.at(60).params)
    assert fit.extend(80).params.equals(fit.params)


def test_extend_of_a_fit_chosen_by_cross_validation(data) -> None:
    fit = qb.qbr("y ~ x1 + x2", data, 0.3, mstop=qb.CV(k=3, max=150))
    longer = fit.extend(fit.mstop + 10)
    assert longer.mstop == fit.mstop + 10
    assert longer.params.equals(qb.qbr("y ~ x1 + x2", data, 0.3, mstop=fit.mstop + 10).params) or np.allclose(
        longer.params, qb.qbr("y ~ x1 + x2", data, 0.3, mstop=fit.mstop + 10).params, rtol=1e-11
    )


# -- quality


@pytest.mark.parametrize("learner", LINEAR)
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_gap_is_to_the_optimum_of_the_linear_programme(data, learner: str, tau: float) -> None:
    fit = qb.qbr(FORMULA, data, tau, learner=learner, mstop=60)
    X = np.column_stack((np.ones(150), fit.model.design.X))
    least = least_loss(data["y"].to_numpy(), X, tau, np.ones(150))
    assert fit.optimality_gap == pytest.approx((fit.risk - least) / least, rel=1e-7)
    assert fit.at(20).optimality_gap == pytest.approx((fit.risk_path[20] - least) / least, rel=1e-7)


def test_gap_with_weights_offset_and_aliased_columns(data) -> None:
    rng = np.random.default_rng(0)
    w, o = rng.uniform(0, 3, 150), rng.normal(size=150)
    w[:5] = 0
    more = data.assign(twin=2 * data["x1"] - 7, w=w, o=o)
    fit = qb.qbr("y ~ x1 + twin + x2", more, 0.7, weights="w", offset="o")
    X = np.column_stack((np.ones(150), data[["x1", "x2"]]))
    least = least_loss((data["y"] - o).to_numpy(), X, 0.7, w)
    assert fit.optimality_gap == pytest.approx((fit.risk - least) / least, rel=1e-7)


def test_gap_without_an_intercept_is_to_the_fit_with_one(data) -> None:
    """As defined: the least loss over an intercept and all columns."""
    fit = qb.qbr("y ~ 0 + x1 + x2", data, 0.4, mstop=300)
    X = np.column_stack((np.ones(150), data[["x1", "x2"]]))
    least = least_loss(data["y"].to_numpy(), X, 0.4, np.ones(150))
    assert fit.optimality_gap == pytest.approx((fit.risk - least) / least, rel=1e-7)


def test_the_optimum_is_solved_once_for_all_fits_of_one_model(data, monkeypatch) -> None:
    import qreg_boost.quantreg.interior_point as solver

    calls, solve = [], solver.interior_point
    monkeypatch.setattr(solver, "interior_point", lambda *args, **more: calls.append(1) or solve(*args, **more))
    fit = qb.qbr(FORMULA, data, 0.3)
    assert calls == []  # not part of fitting
    for one in (fit, fit.at(5), fit.extend(150), fit):
        assert one.optimality_gap > 0
    assert len(calls) == 1


def test_r1_compares_with_the_best_constant(data) -> None:
    y = data["y"].to_numpy()
    w = np.random.default_rng(0).integers(0, 4, 150).astype(float)
    for learner in LEARNERS:
        for init in ("quantile", "median", 11.0):
            fit = qb.qbr(FORMULA, data, 0.3, weights=w, init=init, learner=learner)
            constant = np.full(150, weighted_quantile(y[w > 0], 0.3, w[w > 0]))
            assert fit.prsquared == pytest.approx(1 - fit.risk / CheckLoss(0.3).risk(y, constant, w), rel=1e-12)


def test_r1_without_a_constant_in_the_design(data) -> None:
    """V0 is the loss of 0 where the design spans no constant; dummies of all levels span one."""
    y = data["y"].to_numpy()
    fit = qb.qbr("y ~ 0 + x1 + x2", data, 0.3)
    assert fit.prsquared == pytest.approx(1 - fit.risk / CheckLoss(0.3).risk(y, np.zeros(150), np.ones(150)), rel=1e-12)
    dummies = qb.qbr("y ~ 0 + g", data, 0.3)
    constant = np.full(150, weighted_quantile(y, 0.3))
    assert dummies.prsquared == pytest.approx(
        1 - dummies.risk / CheckLoss(0.3).risk(y, constant, np.ones(150)), rel=1e-12
    )


# -- rows

INDEXES = {
    "shuffled": lambda n: np.random.default_rng(0).permutation(n) + 100,
    "duplicated": lambda n: np.arange(n) // 3,
    "dates": lambda n: pd.date_range("2020-01-01", periods=n),
    "texts": lambda n: [f"row {i}" for i in range(n)],
    "two levels": lambda n: pd.MultiIndex.from_arrays([np.arange(n) // 10, np.arange(n) % 10]),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_rows_keep_the_callers_labels(data, kind: str) -> None:
    labelled = data.set_axis(pd.Index(INDEXES[kind](150)), axis=0)
    labelled.iloc[[3, 40], 1] = np.nan
    fit = qb.qbr("y ~ x1 + x2", labelled, 0.3)
    kept = labelled.dropna()
    assert fit.fittedvalues.index.equals(kept.index) and fit.resid.index.equals(kept.index)
    np.testing.assert_allclose(fit.fittedvalues + fit.resid, kept["y"], rtol=1e-14)
    plain = qb.qbr("y ~ x1 + x2", kept.reset_index(drop=True), 0.3)
    np.testing.assert_array_equal(fit.fittedvalues, plain.fittedvalues)
    predicted = fit.predict(labelled)
    assert predicted.index.equals(labelled.index)
    assert predicted.isna().to_numpy().nonzero()[0].tolist() == [3, 40]
    np.testing.assert_allclose(predicted.dropna(), fit.fittedvalues, rtol=1e-13)
    assert fit.augment().index.equals(kept.index)


def test_predict_without_new_data_is_the_fitted_values(fit, data) -> None:
    assert fit.predict().equals(fit.fittedvalues)
    np.testing.assert_allclose(fit.predict(data), fit.fittedvalues, rtol=1e-13)
    np.testing.assert_allclose(fit.predict(data.iloc[[0]]), fit.fittedvalues[:1], rtol=1e-13)
    assert len(fit.predict(data.iloc[:0])) == 0


def test_predict_for_some_levels_only(fit, data) -> None:
    some = data[data["g"] == "c"]
    np.testing.assert_allclose(fit.predict(some), fit.fittedvalues[some.index], rtol=1e-13)


def test_predict_of_arrays() -> None:
    y, X = draw(60, 3)
    fit = QBR(y, X, 0.3).fit()
    np.testing.assert_allclose(fit.predict(X), fit.fittedvalues, rtol=1e-13)
    assert fit.predict(np.full((2, 3), np.nan)).isna().all()
    with pytest.raises(InputError, match="3"):
        fit.predict(X[:, :2])


def test_an_offset_of_new_data_is_asked_for(data) -> None:
    o = np.arange(150.0)
    fit = qb.qbr("y ~ x1", data, 0.3, offset=o)
    with pytest.raises(InputError, match="offset"):
        fit.predict(data)
    np.testing.assert_allclose(fit.predict(data, offset=o), fit.fittedvalues, rtol=1e-13)
    with pytest.raises(InputError, match="goes with new data"):
        fit.predict(offset=o)


# -- tables


def test_tidy(fit) -> None:
    table = fit.tidy()
    assert list(table.columns) == ["term", "estimate", "selection_frequency", "first_selected", "importance"]
    assert table["term"].tolist() == fit.params.index.tolist()
    assert table["estimate"].tolist() == fit.params.tolist()
    g = table[table["term"].str.startswith("g[")]
    expected = fit.selection_frequencies
    if fit.path.intercept_learner:
        assert g["selection_frequency"].tolist() == expected[["g[T.b]", "g[T.c]", "g[T.d]"]].tolist()
        assert table["selection_frequency"][0] == expected["Intercept"]
    else:
        assert g["selection_frequency"].tolist() == [expected["g"]] * 3
        assert np.isnan(table["selection_frequency"][0])


def test_glance(fit) -> None:
    table = fit.glance()
    assert list(table.columns) == [
        "tau", "nobs", "n_dropped", "mstop", "n_selected", "start", "risk", "null_risk", "prsquared", "optimality_gap",
    ]  # fmt: skip
    row = table.iloc[0]
    assert len(table) == 1
    assert (row["tau"], row["nobs"], row["n_dropped"], row["mstop"]) == (0.3, 150, 0, 120)
    assert row["n_selected"] == (fit.params[1:] != 0).sum()
    assert row["risk"] == fit.risk and row["prsquared"] == fit.prsquared and row["optimality_gap"] == fit.optimality_gap
    assert row["prsquared"] == pytest.approx(1 - row["risk"] / row["null_risk"])


def test_augment(fit, data) -> None:
    own = fit.augment()
    assert {"y", ".fitted", ".resid"} <= set(own.columns)
    assert own[".fitted"].equals(fit.fittedvalues.rename(".fitted")) and own[".resid"].equals(
        fit.resid.rename(".resid")
    )
    other = fit.augment(data.iloc[:7])
    assert list(other.columns) == [*data.columns, ".fitted", ".resid"]
    np.testing.assert_allclose(other[".resid"], data["y"][:7] - other[".fitted"], rtol=1e-14)
    assert ".resid" not in fit.augment(data.drop(columns="y"))


# -- a fit without its rows


@pytest.fixture(scope="module")
def loaded(fit, tmp_path_factory):
    return qb.load(fit.save(tmp_path_factory.mktemp("saved") / "fit.qb"))


@pytest.mark.parametrize(
    "ask",
    [
        lambda one: one.fittedvalues, lambda one: one.resid, lambda one: one.model, lambda one: one.extend(200),
        lambda one: one.cv(), lambda one: one.augment(), lambda one: one.predict(),
    ],
    ids=["fittedvalues", "resid", "model", "extend", "cv", "augment", "predict"],
)  # fmt: skip
def test_what_needs_the_rows_says_so(loaded, ask) -> None:
    with pytest.raises(NotDefinedError, match=r"data=True.*predict\(new\)"):
        ask(loaded)


def test_what_needs_no_rows_is_there(fit, loaded, data) -> None:
    assert loaded.optimality_gap == fit.optimality_gap and loaded.prsquared == fit.prsquared
    assert loaded.glance().equals(fit.glance()) and loaded.coef_path().equals(fit.coef_path())
    assert loaded.augment(data).equals(fit.augment(data))
    assert loaded.formula == FORMULA and loaded.nobs == 150 and loaded.tau == 0.3
    assert str(loaded) == str(fit) and loaded.summary().as_text() == fit.summary().as_text()


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.BoundWarning")
def test_a_fit_saved_with_its_rows_goes_on(fit, tmp_path, data) -> None:
    again = qb.load(fit.save(tmp_path / "rows.qb", data=True))
    assert again.fittedvalues.equals(fit.fittedvalues) and again.resid.equals(fit.resid)
    assert again.extend(200).params.equals(fit.extend(200).params)
    assert again.augment().equals(fit.augment())
    one, other = again.cv(k=3, max=20, progress=False), fit.cv(k=3, max=20, progress=False)
    assert one.risk.equals(other.risk)


@pytest.mark.parametrize("kind", ["shuffled", "dates", "texts"])
def test_labels_of_saved_rows(data, kind: str, tmp_path) -> None:
    labelled = data.set_axis(pd.Index(INDEXES[kind](150), name="label"), axis=0)
    fit = qb.qbr("y ~ x1", labelled, 0.3)
    again = qb.load(fit.save(tmp_path / "rows.qb", data=True))
    assert again.fittedvalues.index.equals(fit.fittedvalues.index) and again.fittedvalues.index.name == "label"


# -- several taus


def test_a_list_of_taus_is_one_fit_each(data) -> None:
    fits = qb.qbr(FORMULA, data, [0.75, 0.25], mstop=50)
    assert isinstance(fits, qb.QuantileProcess) and len(fits) == 2
    for tau in (0.75, 0.25):
        alone = qb.qbr(FORMULA, data, tau, mstop=50)
        assert fits.params[tau].tolist() == alone.params.tolist()
        assert fits[tau].selected.equals(alone.selected)
        assert fits.fittedvalues[tau].tolist() == alone.fittedvalues.tolist()


def test_hasattr_works_on_a_fit_without_its_rows(loaded) -> None:
    """What is not defined raises an AttributeError too."""
    assert not hasattr(loaded, "fittedvalues") and hasattr(loaded, "params")


@pytest.mark.parametrize("far", [1e7, 1e8])
def test_the_gap_of_a_column_far_from_zero(far: float) -> None:
    """Beside the intercept such a column looks dependent, though it varies: the optimum is solved about the centres."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=60)})
    data["y"] = 1 + 2 * data["x"] + rng.normal(size=60)
    near = qb.qbr("y ~ x", data, mstop=500)
    moved = qb.qbr("y ~ x", data.assign(x=data["x"] + far), mstop=500)
    kept = 1e-15 * far  # what is left of the spread of x beside so large a mean
    assert moved.optimum.objective == pytest.approx(near.optimum.objective, rel=kept)
    assert 0 <= moved.optimality_gap < 1e-3
    assert moved.optimum.coef[1] == pytest.approx(near.optimum.coef[1], rel=1e-6)
    assert moved.optimum.coef[0] == pytest.approx(near.optimum.coef[0] - far * near.optimum.coef[1], rel=10 * kept)


def test_steps_too_long_are_warned_of(data) -> None:
    with pytest.warns(ConvergenceWarning, match="above the .* it started from.*Lower `nu`, which is 1e\\+06"):
        qb.qbr("y ~ x1", data, nu=1e6, step="fixed")
