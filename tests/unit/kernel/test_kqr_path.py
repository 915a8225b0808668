"""The path of a kernel quantile regression, as a user meets it: knots, fits at any C, criteria, prints, messages."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import ConvergenceWarning, InputError, NotDefinedError
from qreg_boost.kernel import along, exact_path, kqr_path

ENGEL = "foodexp ~ income"


@pytest.fixture(scope="module")
def engel() -> pd.DataFrame:
    return qb.datasets.load("engel")


@pytest.fixture(scope="module")
def fit(engel: pd.DataFrame):
    return qb.kqr(ENGEL, engel, tau=0.5, C=3.0, gamma=0.3)


@pytest.fixture(scope="module")
def path(fit):
    return fit.path(largest=100.0)


def test_knots(path, engel: pd.DataFrame) -> None:
    knots = path.knots
    assert list(knots) == ["C", "loss", "penalty", "objective", "edf", "sic", "gacv", "duality_gap"]
    assert knots.index.name == "knot" and len(knots) == len(path) > 100
    assert (knots["C"].iloc[0], knots["C"].iloc[-1], path.largest) == (0.0, 100.0, 100.0)
    assert knots["C"].is_monotonic_increasing and (knots["duality_gap"] < 1e-8).all()
    assert (np.diff(knots["loss"]) < 1e-9).all() and (np.diff(knots["penalty"]) > -1e-9).all()
    # at C = 0 the fit is the quantile; the loss is in units of y
    y = engel["foodexp"]
    assert knots["loss"].iloc[0] == pytest.approx(0.5 * (y - y.median()).abs().sum(), rel=1e-10)


@pytest.mark.parametrize("C", [1e-4, 0.37, 3.0, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_at_any_C_is_the_fit(engel: pd.DataFrame, kernel: str, C: float) -> None:
    found = qb.kqr(ENGEL, engel, tau=0.9, kernel=kernel).path(largest=100.0).at(C)
    alone = qb.kqr(ENGEL, engel, tau=0.9, kernel=kernel, C=C)
    assert found.C == C and found.duality_gap < 1e-8
    assert found.objective == pytest.approx(alone.objective, rel=1e-8)
    assert found.risk == pytest.approx(alone.risk, rel=1e-6)
    spread = np.ptp(engel["foodexp"])
    np.testing.assert_allclose(found.fittedvalues, alone.fittedvalues, atol=1e-5 * spread)
    np.testing.assert_allclose(found.predict(engel[:9]), alone.predict(engel[:9]), atol=1e-5 * spread)
    assert found.n_on == found.sides().loc[1, "count"] and "Duality gap" in found.summary().as_text()
    assert found.glance().loc[0, "optimal"]


def test_at_nothing_the_fit_is_the_quantile(path, engel: pd.DataFrame, tmp_path) -> None:
    found = path.at(0)
    np.testing.assert_allclose(found.fittedvalues, engel["foodexp"].median())
    assert (found.C, found.objective, found.duality_gap, found.prsquared) == (0.0, 0.0, 0.0, pytest.approx(0.0))
    assert "path().at(0)" in str(found) and "Cost (C)" in found.summary().as_text()
    assert qb.load(found.save(tmp_path / "quantile")).predict(engel[:2]).iloc[0] == engel["foodexp"].median()


def test_the_fit_of_the_own_C_is_called_by_its_own_name(path, fit) -> None:
    assert path.at(3.0).facts.call == fit.facts.call
    knot = path.at(path.table.index[7])
    shown = knot.facts.call.rsplit(".at(", 1)[1].rstrip(")")
    assert float(shown) == knot.C and f".path([{shown}])" in knot.facts.call


@pytest.mark.parametrize("criterion", ["sic", "gacv"])
def test_select_takes_the_least_of_all_knots(path, criterion: str) -> None:
    chosen = path.select(criterion)
    assert path.table[criterion].idxmin() == chosen.C
    n = 235
    sic = np.log(chosen.risk / n) + np.log(n) * chosen.n_on / (2 * n)
    gacv = chosen.risk / (n - chosen.n_on)
    assert path.table.loc[chosen.C, criterion] == pytest.approx(sic if criterion == "sic" else gacv, rel=1e-9)
    # between knots the criterion is nowhere less: more rows are on the fit, and the loss falls towards the next knot
    for C in np.exp(np.random.default_rng(0).uniform(-4, 4, 40)):
        found = path.at(C)
        edf = found.n_on
        value = np.log(found.risk / n) + np.log(n) * edf / (2 * n) if criterion == "sic" else found.risk / (n - edf)
        assert value > path.table[criterion].min() - 1e-9


def test_criteria_are_missing_where_most_rows_are_on_the_fit(engel: pd.DataFrame) -> None:
    path = qb.kqr(ENGEL, engel, kernel="laplace", gamma=5.0).path()
    table = path.table
    assert path.largest == 1024.0 and table["edf"].max() > 118
    for criterion in ("sic", "gacv"):
        assert (table[criterion].isna() == (2 * table["edf"] > 235)).all()
        assert path.select(criterion).n_on <= 117
    rough = qb.kqr(ENGEL, engel, kernel="laplace", gamma=5.0).path([500.0, 1000.0])
    with pytest.raises(InputError, match="At each C more than half the rows are on the fit"):
        rough.select("gacv")


@pytest.mark.parametrize("count", [2, 60])
def test_given_C_whichever_way_is_cheaper(fit, path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walked = []
    follow = exact_path.exact_path
    monkeypatch.setattr(along, "exact_path", lambda *args, **how: walked.append(1) or follow(*args, **how))
    costs = np.geomspace(0.05, 60.0, count)[::-1]
    grid = fit.path(costs)
    assert bool(walked) == (count > along.FEW)
    np.testing.assert_allclose(grid.table.index, costs[::-1])
    for C, one in zip(grid.table.index, grid, strict=True):
        assert one.C == C and one.objective == pytest.approx(path.at(C).objective, rel=1e-8)
        assert grid.table.loc[C, "edf"] == one.n_on
    with pytest.raises(NotDefinedError, match=r"fit.path\(\), without C"):
        grid.knots  # noqa: B018
    with pytest.raises(InputError, match=r"No fit at C=7.7; C: 0.05, .*fit.path\(\), without C"):
        grid.at(7.7)


def test_programs_take_over_where_the_path_ends(fit, path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_path, "MOST_KNOTS", 1)
    costs = np.geomspace(0.05, 60.0, 60)
    grid = fit.path(costs)
    assert (grid.table["duality_gap"] < 1e-8).all()
    np.testing.assert_allclose(grid.table["objective"], [path.at(C).objective for C in costs], rtol=1e-8)
    assert {one.facts.own["iterations"] < 60 for one in grid} == {True, False}


def test_a_path_that_ends_early_says_where(fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_path, "MOST_KNOTS", 1)
    with pytest.warns(ConvergenceWarning, match=r"The path ends at C = .*, not 1024: It has more than"):
        path = fit.path()
    assert path.largest < 1024.0 and (path.table["duality_gap"] < 1e-8).all()
    with pytest.raises(InputError, match=r"C must be from 0 to .*, where this path ends; got 1000.0"):
        path.at(1000.0)


def test_messages(fit, path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ([1.0, 2.0], "1", True, None):
        with pytest.raises(InputError, match="Give one number, for one fit"):
            path.at(wrong)
    for wrong in (-1.0, 101.0, float("nan")):
        with pytest.raises(InputError, match="C must be from 0 to 100"):
            path.at(wrong)
    with pytest.raises(InputError, match="leave out `largest`, or C"):
        fit.path([1.0], largest=10.0)
    with pytest.raises(InputError, match="`largest`"):
        fit.path(largest=0.0)
    with pytest.raises(InputError, match="criterion"):
        path.select("aic")
    monkeypatch.setattr(kqr_path, "MOST_ROWS", 200)
    monkeypatch.setattr(along, "MOST_ROWS", 200)
    with pytest.raises(InputError, match=r"path of 235 rows .* at most 200 rows are taken.*low_rank=500"):
        fit.path()
    assert (fit.path([0.1, 0.2, 0.3, 0.4, 0.5]).table["duality_gap"] < 1e-8).all()


def test_a_kernel_that_is_none_has_no_path(engel: pd.DataFrame) -> None:
    K = -np.eye(20)
    model = qb.KQR(engel["foodexp"][:20], K, kernel="precomputed")
    with pytest.raises(InputError, match=r"no path|positive semidefinite"):
        model.path(None, 0.5)


def test_weights_subset_and_precomputed(engel: pd.DataFrame) -> None:
    weights = np.arange(235) % 3
    path = qb.kqr(ENGEL, engel, weights=weights, gamma=0.3).path(largest=10.0)
    found = path.at(2.0)
    alone = qb.kqr(ENGEL, engel, weights=weights, gamma=0.3, C=2.0)
    assert found.objective == pytest.approx(alone.objective, rel=1e-8)
    assert (found.alpha[weights == 0] == 0).all() and len(found.fittedvalues) == 235
    rows = engel[:60]
    x = ((rows["income"] - rows["income"].mean()) / rows["income"].std()).to_numpy()[:, None]
    given = qb.KQR(rows["foodexp"], np.exp(-0.3 * (x - x.T) ** 2), kernel="precomputed").fit().path(largest=10.0)
    np.testing.assert_allclose(
        given.table, qb.kqr(ENGEL, rows, gamma=0.3).path(largest=10.0).table, rtol=1e-5, atol=1e-8
    )


def test_low_rank(engel: pd.DataFrame) -> None:
    fit = qb.kqr(ENGEL, engel, gamma=0.3, low_rank=6, C=5.0)
    path = fit.path(largest=100.0)
    assert (path.table["duality_gap"] < 1e-8).all() and path.table["edf"].max() <= 7
    assert path.at(5.0).objective == pytest.approx(fit.objective, rel=1e-8)


def test_a_constant_response() -> None:
    data = pd.DataFrame({"x": np.arange(12.0), "y": 3.0})
    path = qb.kqr("y ~ x", data).path(largest=10.0)
    assert path.table["loss"].tolist() == [0.0, 0.0] and (path.at(4.0).fittedvalues == 3.0).all()


def test_print_and_pickle(path) -> None:
    text = str(path)
    assert f"{len(path)} knots, C from 0 to 100" in text and "15 of them; all are in .knots." in text
    assert "Least SIC at C = " in text and "Least GACV at C = " in text
    assert max(map(len, text.split("\n"))) <= 100
    again = pickle.loads(pickle.dumps(path))
    pd.testing.assert_frame_equal(again.knots, path.knots)
    np.testing.assert_array_equal(again.at(0.7).fittedvalues, path.at(0.7).fittedvalues)


def test_a_loaded_fit_has_its_path(fit, tmp_path) -> None:
    again = qb.load(fit.save(tmp_path / "fit", data=True))
    pd.testing.assert_frame_equal(again.path(largest=5.0).knots, fit.path(largest=5.0).knots)


def test_cross_validation_from_paths_is_that_from_programs(fit, monkeypatch: pytest.MonkeyPatch) -> None:
    how = {"C": [0.05, 0.2, 1.0, 5.0, 25.0, 100.0], "k": 4, "progress": False}
    from_programs = fit.cv(**how)
    monkeypatch.setattr(along, "FEW", 4)
    from_paths = fit.cv(**how)
    np.testing.assert_allclose(from_paths.risk, from_programs.risk, rtol=1e-6)
    np.testing.assert_allclose(from_paths.covered, from_programs.covered)
