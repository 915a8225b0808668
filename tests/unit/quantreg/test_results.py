"""What a quantile regression hands back: inference, predictions, tables, files, several quantiles, both whole paths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import qreg_boost as qb
from qreg_boost.base.checks import CrossingWarning, NotDefinedError
from tests.unit.quantreg.cases import DATA, ENGEL

NEW = pd.DataFrame({"x": [1.5, np.nan, 4.0], "g": ["a", "b", "c"]}, index=["p", "q", "r"])


@pytest.fixture(scope="module")
def fit():
    return qb.qreg("y ~ x + g", DATA, tau=0.4)


# -- inference


def test_tests_and_intervals_follow_from_the_covariance(fit) -> None:
    V, b, df = fit.cov_params(), fit.params, fit.df_resid
    assert df == len(DATA) - 4
    np.testing.assert_allclose(fit.bse, np.sqrt(np.diag(V)))
    np.testing.assert_allclose(fit.tvalues, b / fit.bse)
    np.testing.assert_allclose(fit.pvalues, 2 * stats.t.sf(np.abs(b / fit.bse), df), rtol=1e-10)
    half = stats.t.ppf(0.975, df) * fit.bse
    np.testing.assert_allclose(fit.conf_int(), np.column_stack((b - half, b + half)), rtol=1e-10)
    assert (fit.conf_int(0.2)["lower"] > fit.conf_int()["lower"]).all()


def test_rank_has_intervals_at_90_percent_and_nothing_else(fit) -> None:
    rank = fit.with_se("rank")
    assert rank.bse.isna().all() and rank.tvalues.isna().all() and rank.pvalues.isna().all()
    pd.testing.assert_frame_equal(rank.conf_int(), rank.conf_int(0.1))
    wider = rank.conf_int(0.05)
    assert (wider["lower"] <= rank.conf_int()["lower"]).all() and (wider["upper"] >= rank.conf_int()["upper"]).all()
    with pytest.raises(NotDefinedError, match=r"gives intervals by inverting a test, not a covariance matrix"):
        rank.cov_params()
    with pytest.raises(NotDefinedError, match=r"with_se\(\"nid\"\)"):
        rank.t_test("x = 0")


def test_with_se_leaves_the_fit_as_it_is(fit) -> None:
    before = fit.bse.copy()
    other = fit.with_se("ker")
    assert (fit.se, other.se) == ("nid", "ker") and (other.params == fit.params).all()
    pd.testing.assert_series_equal(fit.bse, before)
    assert not np.allclose(other.bse, before)
    narrow, wide = fit.with_se("nid", bandwidth=0.05), fit.with_se("nid", bandwidth=0.2)
    assert not np.allclose(narrow.bse, wide.bse)


def test_linear_tests_are_those_of_statsmodels(fit) -> None:
    one = fit.t_test("x = 2")
    assert float(one.tvalue.item()) == pytest.approx((fit.params["x"] - 2) / fit.bse["x"], rel=1e-10)
    assert float(one.pvalue) == pytest.approx(2 * stats.t.sf(abs(one.tvalue.item()), fit.df_resid), rel=1e-8)
    R = np.array([[0, 0, 1, 0], [0, 0, 0, 1]])
    joint = fit.wald_test(R)
    b, V = R @ fit.params, R @ fit.cov_params().to_numpy() @ R.T
    expected = b @ np.linalg.solve(V, b) / 2
    assert float(joint.statistic) == pytest.approx(expected, rel=1e-9)
    assert float(joint.pvalue) == pytest.approx(stats.f.sf(expected, 2, fit.df_resid), rel=1e-8)


def test_summary_col_of_statsmodels_accepts_fits(fit) -> None:
    from statsmodels.iolib.summary2 import summary_col

    text = summary_col([fit, fit.with_se("iid")], stars=True).as_text()
    assert f"({fit.bse['x']:.4f})" in text and f"({fit.with_se('iid').bse['x']:.4f})" in text


# -- predictions


def test_predictions_keep_the_labels_and_miss_where_something_misses(fit) -> None:
    values = fit.predict(NEW)
    assert list(values.index) == ["p", "q", "r"] and np.isnan(values["q"])
    b = fit.params
    assert values["r"] == pytest.approx(b["Intercept"] + 4 * b["x"] + b["g[T.c]"])
    pd.testing.assert_series_equal(fit.predict(), fit.fittedvalues)
    np.testing.assert_allclose(fit.predict(DATA), fit.fittedvalues, rtol=1e-12)


def test_confidence_intervals_of_the_quantile(fit) -> None:
    table = fit.predict(NEW, interval="confidence", alpha=0.1)
    assert list(table.columns) == ["fit", "lower", "upper"]
    x = np.array([1.0, 4.0, 0.0, 1.0])
    half = stats.t.ppf(0.95, fit.df_resid) * np.sqrt(x @ fit.cov_params().to_numpy() @ x)
    np.testing.assert_allclose(table.loc["r"], [x @ fit.params, x @ fit.params - half, x @ fit.params + half])
    assert table.loc["q"].isna().all()
    # rank inversion has no covariance: that of nid, as in R
    pd.testing.assert_frame_equal(fit.with_se("rank").predict(NEW, interval="confidence", alpha=0.1), table)


def test_prediction_intervals_are_two_more_quantiles(fit) -> None:
    table = fit.predict(NEW, interval="prediction", alpha=0.2)
    for column, tau in (("lower", 0.1), ("upper", 0.9)):
        np.testing.assert_allclose(table[column], qb.qreg("y ~ x + g", DATA, tau=tau).predict(NEW), rtol=1e-9)
    np.testing.assert_array_equal(table["fit"], fit.predict(NEW))


def test_crossed_prediction_intervals_are_counted() -> None:
    small = qb.qreg("y ~ x + z", DATA.head(12))
    far = pd.DataFrame({"x": [-1e3, 1e3], "z": [1e3, -1e3]})
    with pytest.warns(CrossingWarning, match=r"cross in [12] of 2 rows: there `lower` is above `upper`"):
        small.predict(far, interval="prediction", alpha=0.4)


# -- tables and files


def test_tidy_has_the_columns_of_broom(fit) -> None:
    table = fit.tidy()
    assert list(table.columns) == ["term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    assert list(fit.tidy(conf_int=False).columns) == list(table.columns[:5])
    np.testing.assert_array_equal(table[["conf_low", "conf_high"]], fit.conf_int())
    np.testing.assert_array_equal(fit.tidy(alpha=0.5)[["conf_low", "conf_high"]], fit.conf_int(0.5))


def test_glance_is_one_row_and_augment_all_rows(fit) -> None:
    assert fit.glance().shape[0] == 1 and fit.glance()["bic"].item() == fit.bic
    table = fit.augment()
    np.testing.assert_allclose(table[".fitted"] + table[".resid"], table["y"], rtol=1e-12)
    pd.testing.assert_index_equal(table.index, DATA.index)
    assert {".fitted", ".resid", "z"} <= set(fit.augment(DATA.head(3)).columns)


@pytest.mark.parametrize("se", ["nid", "rank"])
@pytest.mark.parametrize("data", [False, True])
def test_saved_fits_come_back(tmp_path, se: str, data: bool) -> None:
    fit = qb.qreg("y ~ x + g", DATA, tau=0.4, se=se, weights="w")
    again = qb.load(fit.save(tmp_path / "fit.qb", data=data))
    assert str(again.summary()) == str(fit.summary()) and str(again) == str(fit)
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy())
    pd.testing.assert_frame_equal(again.glance(), fit.glance())
    pd.testing.assert_frame_equal(again.predict(NEW, "confidence"), fit.predict(NEW, "confidence"))
    if data:
        np.testing.assert_allclose(again.with_se("ker").bse, fit.with_se("ker").bse)
        pd.testing.assert_series_equal(again.resid, fit.resid)
    else:
        with pytest.raises(NotDefinedError, match=r"se='ker' needs the rows, which the file does not hold"):
            again.with_se("ker")
        with pytest.raises(NotDefinedError, match="loaded without the rows"):
            again.fittedvalues  # noqa: B018
        with pytest.raises(NotDefinedError, match=r"needs two more fits"):
            again.predict(NEW, interval="prediction")


# -- several quantiles


def test_several_quantiles_side_by_side(tmp_path) -> None:
    fits = qb.qreg("y ~ x", DATA, tau=[0.25, 0.75])
    assert isinstance(fits, qb.QuantileProcess)
    for name in ("params", "bse", "tvalues", "pvalues"):
        np.testing.assert_array_equal(getattr(fits, name)[0.75], getattr(fits[0.75], name))
    np.testing.assert_array_equal(fits.conf_int()[0.25], fits[0.25].conf_int())
    np.testing.assert_array_equal(fits.predict(NEW)[0.25], fits[0.25].predict(NEW))
    assert list(fits.predict(NEW, interval="confidence").columns.get_level_values(1)[:3]) == ["fit", "lower", "upper"]
    assert (fits.with_se("rank").se, fits.se) == ("rank", "nid")
    assert fits.aic[0.25] == fits[0.25].aic and (fits.risk == fits.objective).all()
    assert list(fits.tidy()["tau"]) == [0.25, 0.25, 0.75, 0.75]
    again = qb.load(fits.save(tmp_path / "fits.qb"))
    # what needs the rows is left out
    told, told_again = (str(one.summary()).splitlines() for one in (fits, again))
    assert [line for line in told if "cross" not in line] == [line for line in told_again if "Date" not in line]
    for ask in (lambda: fits.at(3), lambda: fits.extend(3), fits.cov_params):
        with pytest.raises(NotDefinedError, match=r"fits\[tau\]"):
            ask()
    with pytest.raises(ValueError, match="rearrange=True sorts quantiles, not intervals"):
        fits.predict(NEW, interval="confidence", rearrange=True)


def test_many_quantiles_warn_once(recwarn) -> None:
    fits = qb.qreg("y ~ x + z", DATA.head(25), tau=np.arange(1, 20) / 20)
    fits.bse  # noqa: B018
    density = [one for one in recwarn if one.category.__name__ == "DensityWarning"]
    assert len(density) == 1 and "such warnings, one per quantile" in str(density[0].message)
    assert density[0].filename == __file__


def test_the_figure_has_points_band_and_the_least_squares_line() -> None:
    pytest.importorskip("matplotlib.pyplot")
    fits = qb.qreg("y ~ x + z", DATA, tau=[0.75, 0.25, 0.5])
    panels = fits.plot(alpha=0.2)
    assert [one.get_title(loc="left") for one in panels] == ["Intercept", "x", "z"]
    line = panels[1].lines[0]
    np.testing.assert_allclose(line.get_xdata(), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(line.get_ydata(), fits.params.loc["x", [0.25, 0.5, 0.75]])
    X = np.column_stack((np.ones(len(DATA)), DATA["x"], DATA["z"]))
    b, rss = (lambda found: (found[0], found[1].item()))(np.linalg.lstsq(X, DATA["y"], rcond=None))
    error = np.sqrt(rss / (len(DATA) - 3) * np.diag(np.linalg.inv(X.T @ X)))
    half = stats.t.ppf(0.9, len(DATA) - 3) * error[1]
    levels = [one.get_ydata()[0] for one in panels[1].lines[1:4]]
    np.testing.assert_allclose(levels, [b[1], b[1] - half, b[1] + half], rtol=1e-8)
    assert len(fits.plot(terms="x", ols=False)) == 1
    with pytest.raises(ValueError, match="There is no coefficient 'xx'"):
        fits.plot(terms=["xx"])


# -- every tau, every bound


def test_the_process_has_names_and_agrees_with_single_fits(tmp_path) -> None:
    path = qb.qreg_process("y ~ x + g", DATA, weights="w")
    assert path.taus[0] == 0 and path.taus[-1] == 1 and (np.diff(path.taus) > 0).all()
    assert len(path.coef) == len(path.taus) - 1
    for tau in (0.123, 0.5, 0.9):
        single = qb.qreg("y ~ x + g", DATA, tau=tau, weights="w")
        np.testing.assert_allclose(path.params_at(tau), single.params, rtol=1e-8)
        np.testing.assert_allclose(path.predict(NEW, tau), single.predict(NEW), rtol=1e-8)
        np.testing.assert_allclose(path.fit_at(tau).bse, single.bse, rtol=1e-8)
    assert path.params_at([0.1, 0.2]).shape == (4, 2)
    again = qb.load(path.save(tmp_path / "path.qb"))
    pd.testing.assert_frame_equal(again.coef, path.coef)
    assert str(again.summary()) == str(path.summary())
    with pytest.raises(ValueError, match="never holds its rows"):
        again.fit_at(0.5)


def test_loaded_fits_at_several_taus_tell_how_many_rows_cross(tmp_path) -> None:
    fits = qb.qreg("y ~ x + z", DATA, tau=[0.49, 0.5, 0.51])
    again = qb.load(fits.save(tmp_path / "fits.qb"))
    assert "Rows that cross" in str(fits.summary()) and str(again.summary()) == str(fits.summary())


def test_the_l1_path_has_names_and_chooses(tmp_path) -> None:
    path = qb.l1qreg("y ~ x + z + g", DATA, tau=0.4)
    end = path.at(s=1e9)
    np.testing.assert_allclose(end.params, qb.qreg("y ~ x + z + g", DATA, tau=0.4).params, rtol=1e-7, atol=1e-9)
    assert (path.at(s=0.0).params[1:] == 0).all()
    half = path.at(s=end.s / 2)
    assert np.abs(half.params[1:]).sum() == pytest.approx(end.s / 2) and half.objective > end.objective
    assert half.objective == pytest.approx(float(np.where(half.resid < 0, -0.6, 0.4) @ half.resid), rel=1e-9)
    assert path.at(lam=0.0).s == pytest.approx(end.s)
    assert path.select("sic").objective == pytest.approx(path.knots["objective"][path.knots["sic"].idxmin()])
    by_cv = path.select("cv", k=5, progress=False)
    assert by_cv.s in path.knots["s"].to_numpy() and "cross-validation" in by_cv.how
    assert path.cv(k=4, progress=False).risk.shape == (4, len(path.knots))
    for one in (path, half):
        again = qb.load(one.save(tmp_path / "l1.qb"))
        assert str(again.summary()) == str(one.summary()) and str(again) == str(one)
    np.testing.assert_allclose(half.predict(DATA), half.fittedvalues)
    assert path.plot_path().get_xlabel().startswith("s:")


@pytest.mark.parametrize("weights", [None, np.arange(len(DATA)) % 3])
def test_a_loaded_l1_path_makes_the_same_fits(tmp_path, weights) -> None:
    path = qb.l1qreg("y ~ x + z + g", DATA, tau=0.4, weights=weights)
    again = qb.load(path.save(tmp_path / "l1.qb"))
    pd.testing.assert_frame_equal(again.knots, path.knots)
    middle = float(path.knots["s"].iloc[3:5].mean())
    for choose in (lambda one: one.select("sic"), lambda one: one.at(s=middle), lambda one: one.at(lam=2.0)):
        fit, other = choose(path), choose(again)
        pd.testing.assert_frame_equal(other.glance(), fit.glance(), check_exact=True)
        pd.testing.assert_series_equal(other.predict(DATA), fit.predict(DATA))
        # The likelihood takes the loss without weights, of the rows that count.
        resid = fit.resid if weights is None else fit.resid[weights > 0]
        loss = float(np.where(resid < 0, -0.6, 0.4) @ resid)
        assert other.llf == pytest.approx(len(resid) * (np.log(0.24) - 1.0 - np.log(loss / len(resid))), rel=1e-10)


def test_unpenalised_terms_are_free_and_units_do_not_matter_once_standardised() -> None:
    free = qb.l1qreg("y ~ x + g + z", DATA, unpenalised=["g"]).at(s=0.0)
    np.testing.assert_allclose(free.params[["Intercept", "g[T.b]", "g[T.c]"]], qb.qreg("y ~ g", DATA).params, rtol=1e-8)
    assert free.params["x"] == free.params["z"] == 0
    one = qb.l1qreg("y ~ x + z", DATA, standardize=True)
    other = qb.l1qreg("y ~ x + z", DATA.assign(x=1000 * DATA["x"]), standardize=True)
    np.testing.assert_allclose(other.knots["s"], one.knots["s"], rtol=1e-7)
    np.testing.assert_allclose(1000 * other.coef_path()["x"], one.coef_path()["x"], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "ask",
    [
        lambda fit: fit.bse, lambda fit: fit.conf_int(), lambda fit: fit.cov_params(), lambda fit: fit.with_se("nid"),
        lambda fit: fit.predict(DATA, interval="confidence"), lambda fit: fit.tidy(conf_int=True),
        lambda fit: fit.summary(se="nid"), lambda fit: fit.t_test("x = 0"),
    ],
)  # fmt: skip
def test_fits_on_the_l1_path_carry_no_inference(ask) -> None:
    fit = qb.l1qreg("y ~ x + z", DATA).at(s=1.0)
    with pytest.raises(NotDefinedError, match=r"A fit on the L1 path has no .*Fit the chosen terms with qreg"):
        ask(fit)


def test_99_quantiles_of_engel_stay_short() -> None:
    fits = qb.qreg("foodexp ~ income", ENGEL, tau=np.arange(1, 100) / 100)
    assert len(str(fits.summary()).splitlines()) < 40 and len(str(fits).splitlines()) < 20


def test_the_multiplier_of_a_knot_leads_back_to_it() -> None:
    path = qb.l1qreg("y ~ x + z + g", DATA, tau=0.4)
    for s in path.knots["s"][1::7]:
        fit = path.at(s=s)
        assert path.at(lam=fit.lam).s == pytest.approx(s)
    between = path.at(s=float(path.knots["s"][4:6].mean()))
    assert between.lam == path.knots["lam"][4]
