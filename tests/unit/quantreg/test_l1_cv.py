"""Which bound of the L1 path: what cross-validation finds, prints and draws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.l1_cv import L1CV


@pytest.fixture(scope="module")
def path():
    return qb.l1qreg("STACKLOSS ~ .", qb.datasets.load("stackloss"))


@pytest.fixture(scope="module")
def made() -> L1CV:
    """Three folds over four bounds: means 5, 3.1, 3, 4; at the least the standard error is 0.2 / sqrt(3)."""
    columns = pd.Index([0.0, 0.5, 1.5, 4.0], name="s")
    risk = pd.DataFrame([[5, 3.0, 2.8, 4], [5, 3.1, 3.0, 4], [5, 3.2, 3.2, 4.0]], index=[1, 2, 3], columns=columns)
    return L1CV(risk, "min", "3-fold cross-validation")


def test_the_least_and_the_first_within_a_standard_error(made: L1CV) -> None:
    assert (made.knot_min, made.knot_1se) == (2, 1)
    assert made.s == 1.5 and L1CV(made.risk, "1se", made.kind).s == 0.5
    table = made.summary()
    assert table["s"].tolist() == [0.0, 1.5, 0.5, 4.0]
    np.testing.assert_allclose(table["mean_loss"], [5.0, 3.0, 3.1, 4.0])
    assert table.loc["least", "std_error"] == pytest.approx(0.2 / np.sqrt(3.0))


def test_it_prints_itself(made: L1CV) -> None:
    assert str(made) == repr(made)
    first, *_, last = str(made).splitlines()
    assert first == "Out-of-sample check loss, 3-fold cross-validation, at 4 knots"
    assert last == "Best bound s (min): 1.5"


def test_it_is_drawn_against_the_bound(path) -> None:
    found = path.cv(k=3, progress=False)
    ax = found.plot()
    assert ax.get_xlabel().startswith("s:") and len(ax.lines) >= 5  # three folds, their mean, the best bound
    np.testing.assert_array_equal(ax.lines[3].get_xdata(), found.risk.columns)
    assert any(text.get_text() == f"least mean: {found.s:.6g}" for text in ax.texts)


def test_select_takes_the_bound_that_cv_finds(path) -> None:
    for rule in ("min", "1se"):
        found = path.cv(k=4, rng=1, progress=False, rule=rule)
        fit = path.select("cv", k=4, rng=1, progress=False, rule=rule)
        assert fit.s == found.s
        pd.testing.assert_series_equal(fit.params, path.at(s=found.s).params)


def test_the_multiplier_is_that_of_scikit_learn_times_the_rows() -> None:
    from sklearn.linear_model import QuantileRegressor

    data = qb.datasets.load("zheng2012").head(120)
    X, y = data.drop(columns="y"), data["y"]
    ours = qb.l1qreg("y ~ .", data, tau=0.3).at(lam=12.0)
    theirs = QuantileRegressor(quantile=0.3, alpha=12.0 / len(data), solver="highs").fit(X, y)
    np.testing.assert_allclose(ours.params.iloc[1:], theirs.coef_, atol=1e-9)
    assert ours.params["Intercept"] == pytest.approx(theirs.intercept_, abs=1e-9)


def test_glance_counts_the_rows_that_were_dropped() -> None:
    data = qb.datasets.load("stackloss").astype(float)
    data.iloc[:2, 1] = np.nan
    table = qb.l1qreg("STACKLOSS ~ .", data).select("sic").glance()
    assert table.loc[0, ["nobs", "n_dropped"]].tolist() == [19, 2]


def test_rules_are_checked(path) -> None:
    with pytest.raises(InputError, match=r"`rule` must be one of 'min', '1se'; got 'best'"):
        path.cv(rule="best")
    half = np.repeat(["train", "test"], [11, 10])
    with pytest.raises(InputError, match="at least two folds"):
        path.cv(folds=[(np.flatnonzero(half == "train"), np.flatnonzero(half == "test"))], rule="1se", progress=False)
