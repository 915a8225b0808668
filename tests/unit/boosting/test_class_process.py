"""Several taus side by side: cells of the probability, errors against tau, files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import NotDefinedError

TAUS = [0.2, 0.4, 0.6, 0.8]


def drawn(n: int = 400, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x1, x2 = rng.normal(size=n), rng.normal(size=n)
    p = 1.0 / (1.0 + np.exp(-(x1 - x2)))
    return pd.DataFrame({"y": np.where(rng.random(n) < p, "bad", "good"), "x1": x1, "x2": x2, "p": p})


DATA = drawn()


@pytest.fixture(scope="module")
def fits():
    return qb.qbc("y ~ x1 + x2", DATA, TAUS, event="bad", progress=False)


def test_each_fit_is_the_fit_at_its_tau(fits) -> None:
    assert isinstance(fits, qb.QBCProcess) and list(fits.params.columns) == TAUS
    alone = qb.qbc("y ~ x1 + x2", DATA, 0.6, event="bad", progress=False)
    assert fits[0.6].params.equals(alone.params)
    assert fits.predict()[0.6].equals(alone.predict().rename(0.6))
    assert fits.predict(DATA.head(5)).dtypes.eq(pd.CategoricalDtype(["good", "bad"])).all()
    np.testing.assert_allclose(fits.decision_function(DATA.head(5))[0.6], alone.decision_function().head(5), atol=1e-12)


def test_errors_against_tau(fits) -> None:
    table = fits.errors()
    assert list(table.columns) == ["tau", "error_rate", "fn_rate", "fp_rate", "cost"]
    for row, fit in zip(table.itertuples(), fits, strict=True):
        assert row.error_rate == pytest.approx(fit.error_rate)
        actual, predicted = DATA["y"] == "bad", fit.predict() == "bad"
        cost = fit.tau * (actual & ~predicted).mean() + (1.0 - fit.tau) * (~actual & predicted).mean()
        assert row.cost == pytest.approx(cost)
    assert table["fn_rate"].is_monotonic_decreasing and table["fp_rate"].is_monotonic_increasing
    pd.testing.assert_frame_equal(fits.errors(DATA), table)
    priced = qb.qbc("y ~ x1 + x2", DATA, TAUS, event="bad", cost={"fn": 4, "fp": 1}).errors()
    assert priced["cost"].idxmin() == TAUS.index(0.8)


def test_the_cell_is_where_signs_change(fits) -> None:
    cell = fits.prob_cell(DATA)
    assert list(cell.columns) == ["lower", "upper"] and cell.columns.name == "estimate"
    assert cell.attrs["rows"] == len(DATA) and cell.attrs["corrected"] == fits.crossings
    signs = fits.decision_function().to_numpy() > 0
    rising = (np.diff(signs.astype(int), axis=1) >= 0).all(axis=1)
    for row in np.flatnonzero(rising)[:100]:
        below = [1.0 - tau for tau, above in zip(TAUS, signs[row], strict=True) if above]
        beyond = [1.0 - tau for tau, above in zip(TAUS, signs[row], strict=True) if not above]
        assert cell["lower"].iloc[row] == max(below, default=0.0)
        assert cell["upper"].iloc[row] == min(beyond, default=1.0)
    pd.testing.assert_frame_equal(fits.prob_cell(), cell)
    # the truth: 400 rows of a two-column logit place the boundaries to about a tenth of a cell
    inside = (DATA["p"] >= cell["lower"]) & (DATA["p"] <= cell["upper"])
    assert inside.mean() > 0.7


def test_rows_that_miss_something_have_no_cell(fits) -> None:
    new = DATA.head(4).assign(x1=[np.nan, 0.0, 1.0, 2.0])
    cell = fits.prob_cell(new, level=0.9, reps=5, progress=False)
    assert cell.isna().all(axis=1).tolist() == [True, False, False, False]


def test_the_interval_by_bootstrap(fits) -> None:
    new = DATA.head(30)
    cell = fits.prob_cell(new, level=0.9, reps=20, rng=3, progress=False)
    assert list(cell.columns) == ["lower", "upper", "conf_low", "conf_high"]
    assert (cell["conf_low"] <= cell["lower"]).all() and (cell["conf_high"] >= cell["upper"]).all()
    assert cell.equals(fits.prob_cell(new, level=0.9, reps=20, rng=3, progress=False))
    assert not cell.equals(fits.prob_cell(new, level=0.9, reps=20, rng=4, progress=False))
    wide = fits.prob_cell(new, level=0.99, reps=20, rng=3, progress=False)
    assert (wide["conf_low"] <= cell["conf_low"]).all() and (wide["conf_high"] >= cell["conf_high"]).all()


def test_a_replicate_is_a_fit_to_the_drawn_rows(fits) -> None:
    drawn_rows = np.random.default_rng(0).choice(len(DATA), len(DATA))
    weights = np.bincount(drawn_rows, minlength=len(DATA)).astype(float)
    one = fits[0.6]
    X = DATA[["x1", "x2"]].to_numpy()
    found = one.model.refitted_at(weights, one.mstop, X)
    theirs = qb.qbc("y ~ x1 + x2", DATA.iloc[drawn_rows], 0.6, event="bad", progress=False)
    np.testing.assert_allclose(found, theirs.decision_function(DATA), atol=1e-9)


@pytest.mark.parametrize("data", [False, True])
def test_saved_and_loaded(fits, data: bool, tmp_path) -> None:
    again = qb.load(fits.save(tmp_path / "fits.qb", data=data))
    assert isinstance(again, qb.QBCProcess)
    pd.testing.assert_frame_equal(again.prob_cell(DATA), fits.prob_cell(DATA))
    pd.testing.assert_frame_equal(again.errors(), fits.errors())
    if data:
        assert again.prob_cell(level=0.9, reps=3, progress=False).equals(
            fits.prob_cell(level=0.9, reps=3, progress=False)
        )
        assert str(again.summary()) == str(fits.summary())
    else:
        with pytest.raises(NotDefinedError, match="without the rows"):
            again.prob_cell(DATA, level=0.9)


def test_at_and_extend_stay_processes(fits) -> None:
    assert isinstance(fits.at(10), qb.QBCProcess) and fits.at(10).mstop.tolist() == [10] * 4
    longer = fits.extend(110)
    assert isinstance(longer, qb.QBCProcess)
    assert longer.at(100).errors().equals(fits.errors())


def test_trees_keep_rows_that_miss_predictors() -> None:
    gaps = DATA.assign(x1=DATA["x1"].where(np.arange(len(DATA)) % 7 != 0))
    fits = qb.qbc("y ~ x1 + x2", gaps, [0.3, 0.7], learner="stump", missing="branch", mstop=20, progress=False)
    cell = fits.prob_cell(gaps, level=0.5, reps=3, progress=False)
    assert cell.notna().all(axis=None) and len(cell) == len(DATA)


def test_tables_and_summary(fits) -> None:
    assert fits.tidy()["tau"].tolist() == np.repeat(TAUS, 3).tolist()
    assert fits.glance()["error_rate"].tolist() == fits.error_rate.tolist()
    assert set(fits.augment()[".tau"] if ".tau" in fits.augment() else fits.augment()["tau"]) == set(TAUS)
    text = str(fits.summary())
    assert (
        "Rows that cross" in text and "prob_cell(new) estimates between which of the limits 1 - tau P(bad) lies" in text
    )


@pytest.mark.parametrize("data", [False, True])
def test_saved_fits_know_how_many_rows_cross(tmp_path, data: bool) -> None:
    x = np.arange(40.0)
    rows = {"y": np.where((x > 15) ^ (x % 7 == 0), "a", "b"), "x": x, "z": np.sin(x)}
    fits = qb.qbc("y ~ x + z", rows, [0.3, 0.5, 0.7], mstop=40, progress=False)
    loaded = qb.load(fits.save(tmp_path / "fits.qreg", data=data))
    assert loaded.crossings == fits.crossings and f"{fits.crossings} of 40" in str(loaded.summary())
