"""missing="branch": rows whose predictors are missing stay, and every split has a side for them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.base.design import Design
from qreg_boost.boosting.learners import Stump, Tree
from tests.unit.boosting.cases import frame

FORMULA = "y ~ x1 + x2 + C(g)"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """Rows of which some miss x1, some g, some both, some the response."""
    rows = frame(150, seed=5)
    rows.loc[10:40, "x1"] = np.nan
    rows.loc[35:60, "g"] = None
    rows.loc[[0, 1, 2], "y"] = np.nan
    return rows


def test_design_keeps_rows_that_miss_predictors(data) -> None:
    design = Design.from_formula(FORMULA, data, missing="branch", may_branch=True)
    assert len(design.y) == 147 and design.n_dropped == 3
    X = pd.DataFrame(design.X, index=design.index, columns=design.column_names)
    np.testing.assert_array_equal(X["x1"].isna(), data["x1"].isna()[3:])
    assert (X.filter(like="C(g)").isna().all(axis=1) == data["g"].isna()[3:]).all()
    assert not X["x2"].isna().any()
    # what is there is coded as it is where nothing is missing
    whole = Design.from_formula(FORMULA, data.dropna())
    pd.testing.assert_frame_equal(
        X.loc[whole.index], pd.DataFrame(whole.X, index=whole.index, columns=whole.column_names)
    )


def test_levels_that_occur_in_incomplete_rows_only_are_learned(data) -> None:
    rows = data.assign(g=data["g"].where(data.index != 20, "only here"))
    assert "C(g)[T.only here]" in Design.from_formula(FORMULA, rows, missing="branch", may_branch=True).column_names


@pytest.mark.parametrize("kind", ["text", "category", "boolean", "integer"])
def test_columns_of_every_kind_may_miss_values(kind: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, 60)
    column = {
        "text": pd.Series(np.array(["no", "yes"])[values]),
        "category": pd.Series(pd.Categorical(np.array(["no", "yes"])[values])),
        "boolean": pd.Series(values == 1, dtype="boolean"),
        "integer": pd.Series(values, dtype="Int64"),
    }[kind].copy()
    column[5:15] = None
    rows = pd.DataFrame({"y": values + rng.normal(size=60), "x": column})
    design = Design.from_formula("y ~ x", rows, missing="branch", may_branch=True)
    np.testing.assert_array_equal(np.isnan(design.X[:, 0]), column.isna())
    np.testing.assert_array_equal(design.X[~column.isna(), 0], values[~column.isna()])
    np.testing.assert_array_equal(design.encoder.encode(rows).X, design.X)


@pytest.mark.parametrize("learner", [Stump(), Tree(depth=2), Tree(depth=None, leaves=4), Stump(leaf="quantile")])
def test_fits_predict_for_missing_values_and_survive(data, learner, tmp_path) -> None:
    fit = qb.qbr(FORMULA, data, 0.4, learner=learner, missing="branch", mstop=60, progress=False)
    assert fit.nobs == 147 and fit.fittedvalues.notna().all()
    predicted = fit.predict(data.drop(columns="y"))
    np.testing.assert_array_equal(predicted[fit.fittedvalues.index], fit.fittedvalues)
    assert fit.risk == pytest.approx(((fit.resid) * (0.4 - (fit.resid < 0))).sum(), rel=1e-12)
    for again in (qb.load(fit.save(tmp_path / "fit.qb")), pickle.loads(pickle.dumps(fit))):
        pd.testing.assert_series_equal(again.predict(data), fit.predict(data))
    assert fit.extend(80).at(60).predict(data).equals(predicted)
    assert np.isfinite(fit.cv(k=3, progress=False).risk.to_numpy()).all()
    alone = fit.predict({"x1": [np.nan], "x2": [np.nan], "g": [None]})
    assert np.isfinite(alone).all()


def test_missing_values_go_to_the_side_of_lower_squared_error() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    for there, side in ((5.0, False), (0.0, True)):
        y = np.array([0.0, 0.0, 5.0, 5.0, there, there])
        nodes = qb.l2boost("y ~ x", {"y": y, "x": x}, learner="stump", missing="branch", mstop=1).path.nodes
        assert nodes.missing_left[0] == side and nodes.cut[0] == 2.5


def test_a_side_that_is_best_is_found_by_hand() -> None:
    rng = np.random.default_rng(2)
    y, x = rng.normal(size=40), rng.normal(size=40)
    x[::3] = np.nan
    fit = qb.l2boost("y ~ x", {"y": y, "x": x}, learner="stump", missing="branch", mstop=1, nu=1.0, progress=False)

    def error(left: np.ndarray) -> float:
        return sum(((y[side] - y[side].mean()) ** 2).sum() for side in (left, ~left))

    cuts = np.sort(x[~np.isnan(x)])[:-1]
    errors = [error((x <= cut) | (np.isnan(x) & left)) for cut in cuts for left in (False, True)]
    assert ((y - fit.fittedvalues) ** 2).sum() == pytest.approx(min(errors), rel=1e-12)


def test_arrays_may_miss_values_too(data) -> None:
    rows = data.dropna(subset="y")
    X = rows[["x1", "x2"]]
    fit = qb.QBR(rows["y"], X, tau=0.5, learner="stump", missing="branch", mstop=20).fit()
    assert fit.nobs == 147
    np.testing.assert_array_equal(fit.predict(X.to_numpy()), fit.fittedvalues)


def test_rows_with_missing_predictors_are_dropped_unless_asked_for(data) -> None:
    fit = qb.qbr(FORMULA, data, 0.5, learner="stump", mstop=10)
    assert fit.nobs == len(data.dropna())
    assert fit.predict(data.loc[[20]]).isna().all()


@pytest.mark.parametrize("learner", ["linear", "componentwise", "spline"])
def test_learners_that_split_nothing_refuse(data, learner: str) -> None:
    with pytest.raises(InputError, match='learner="stump" or "tree"'):
        qb.qbr(FORMULA, data, 0.5, learner=learner, missing="branch")


def test_quantile_regression_refuses(data) -> None:
    with pytest.raises(InputError, match="`missing` must be"):
        qb.qreg(FORMULA, data, 0.5, missing="branch")


def test_a_column_of_nothing_is_refused(data) -> None:
    with pytest.raises(InputError, match="missing in every row"):
        qb.qbr("y ~ x1 + x2", data.assign(x1=np.nan), 0.5, learner="stump", missing="branch")
