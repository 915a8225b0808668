"""qreg and QReg: what reaches the solver, and what comes back under which names."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.quantreg.interior_point import interior_point
from tests.unit.quantreg.cases import DATA, ENGEL


def test_engel_gives_the_figures_of_the_manual() -> None:
    fit = qb.qreg("foodexp ~ income", ENGEL, tau=0.5)
    # printed by R's summary.rq (quantreg 5.94), to its last digit
    np.testing.assert_allclose(fit.params, [81.48225, 0.56018], atol=6e-6)
    np.testing.assert_allclose(fit.bse, [19.25066, 0.02828], atol=6e-6)
    np.testing.assert_allclose(fit.with_se("iid").bse, [13.23908, 0.01192], atol=6e-6)
    np.testing.assert_allclose(fit.with_se("ker").bse, [30.21532, 0.03732], atol=6e-6)
    np.testing.assert_allclose(fit.with_se("rank").conf_int(), [[53.25915, 114.01156], [0.48702, 0.60199]], atol=6e-6)
    assert fit.llf == pytest.approx(-1411.630124, abs=1e-6)
    assert fit.aic == pytest.approx(2827.260248, abs=1e-6)
    assert fit.bic == pytest.approx(2834.179419, abs=1e-6)


@pytest.mark.parametrize("method", ["exact", "interior_point"])
def test_a_formula_is_its_design_with_a_column_of_ones(method: str) -> None:
    fit = qb.qreg("y ~ x + g", DATA, tau=0.3, method=method)
    X = np.column_stack((np.ones(len(DATA)), DATA["x"], DATA["g"] == "b", DATA["g"] == "c"))
    assert list(fit.params.index) == ["Intercept", "x", "g[T.b]", "g[T.c]"]
    np.testing.assert_allclose(fit.params, interior_point(X, DATA["y"], 0.3).coef, rtol=1e-9)


def test_arrays_are_taken_as_the_design() -> None:
    X = np.column_stack((np.ones(len(DATA)), DATA["x"]))
    named = qb.QReg(DATA["y"], pd.DataFrame(X, columns=["const", "x"]), tau=0.3).fit()
    assert list(named.params.index) == ["const", "x"]
    np.testing.assert_allclose(named.params, qb.qreg("y ~ x", DATA, tau=0.3).params, rtol=1e-9)
    alone = qb.QReg(DATA["y"], DATA["x"].to_numpy()[:, None]).fit()
    assert list(alone.params.index) == ["x1"]
    np.testing.assert_allclose(alone.params, qb.qreg("y ~ 0 + x", DATA).params, rtol=1e-9)


def test_r1_compares_with_the_best_constant_only_where_the_columns_span_one() -> None:
    with_constant = qb.QReg(DATA["y"], np.column_stack((np.ones(len(DATA)), DATA["x"]))).fit()
    without = qb.QReg(DATA["y"], DATA[["x"]]).fit()
    y = DATA["y"].to_numpy()
    assert with_constant.null_loss == pytest.approx(0.5 * np.abs(y - np.median(y)).sum(), rel=1e-12)
    assert without.null_loss == pytest.approx(0.5 * np.abs(y).sum(), rel=1e-12)
    # all levels of a factor span a constant though none is one
    assert qb.qreg("y ~ 0 + g", DATA).null_loss == with_constant.null_loss


def test_an_offset_is_taken_off_the_response_and_added_to_the_fit() -> None:
    plain = qb.qreg("y ~ x", DATA.assign(y=DATA["y"] - DATA["z"]), tau=0.7)
    fit = qb.qreg("y ~ x", DATA, tau=0.7, offset="z")
    np.testing.assert_allclose(fit.params, plain.params, rtol=1e-9)
    np.testing.assert_allclose(fit.fittedvalues, plain.fittedvalues + DATA["z"], rtol=1e-9)
    np.testing.assert_allclose(fit.resid, plain.resid, atol=1e-9)
    np.testing.assert_allclose(fit.predict(DATA.head(3)), fit.fittedvalues[:3], rtol=1e-9)
    np.testing.assert_allclose(fit.bse, plain.bse, rtol=1e-9)


def test_whole_weights_are_repeated_rows_in_the_fit_and_not_in_the_inference() -> None:
    w = np.arange(len(DATA)) % 3
    fit = qb.qreg("y ~ x", DATA, tau=0.4, weights=w)
    repeated = qb.qreg("y ~ x", DATA.loc[DATA.index.repeat(w)], tau=0.4)
    assert fit.objective == pytest.approx(repeated.objective, rel=1e-10)
    np.testing.assert_allclose(fit.params, repeated.params, rtol=1e-8)
    assert fit.prsquared == pytest.approx(repeated.prsquared, rel=1e-9)
    assert fit.nobs == (w > 0).sum() and fit.df_resid == fit.nobs - 2
    # rows of weight 0 are fitted and take no part
    assert len(fit.fittedvalues) == len(DATA)
    used = qb.qreg("y ~ x", DATA[w > 0], tau=0.4, weights=w[w > 0])
    np.testing.assert_allclose(fit.bse, used.bse, rtol=1e-9)
    assert (fit.llf, fit.bic) == pytest.approx((used.llf, used.bic), rel=1e-10)


@pytest.mark.parametrize("se", ["iid", "nid", "ker"])
def test_a_common_factor_of_the_weights_changes_nothing(se: str) -> None:
    one, ten = (qb.qreg("y ~ x", DATA, weights=k * DATA["w"], se=se) for k in (1.0, 10.0))
    np.testing.assert_allclose(one.params, ten.params, rtol=1e-9)
    np.testing.assert_allclose(one.bse, ten.bse, rtol=1e-8)
    assert one.llf == pytest.approx(ten.llf, rel=1e-10)


def test_aliased_columns_are_named_and_missing() -> None:
    data = DATA.assign(twice=2.0 * DATA["x"])
    fit, plain = qb.qreg("y ~ x + twice + z", data), qb.qreg("y ~ x + z", data)
    assert fit.facts.aliased == ("twice",)
    assert np.isnan(fit.params["twice"]) and np.isnan(fit.bse["twice"]) and np.isnan(fit.pvalues["twice"])
    for name in ("params", "bse", "pvalues"):
        np.testing.assert_allclose(getattr(fit, name).drop("twice"), getattr(plain, name), rtol=1e-8)
    assert fit.df_resid == plain.df_resid and fit.aic == pytest.approx(plain.aic)
    np.testing.assert_allclose(fit.predict(data.head()), plain.predict(data.head()), rtol=1e-9)
    assert "Dropped, as combinations of the columns to their left: twice" in str(fit.summary())
    with pytest.raises(ValueError, match=r"Columns were dropped from this fit \(twice\)"):
        fit.t_test("x = 0")


def test_taus_come_back_in_the_order_given() -> None:
    fits = qb.qreg("y ~ x", DATA, tau=[0.75, 0.25, 0.5])
    assert list(fits.params.columns) == [0.75, 0.25, 0.5]
    for tau in (0.25, 0.5, 0.75):
        np.testing.assert_allclose(fits[tau].params, qb.qreg("y ~ x", DATA, tau=tau).params, rtol=1e-9)


def test_inference_waits_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    model = qb.QReg.from_formula("y ~ x", DATA)
    monkeypatch.setattr(qb.QReg, "estimate", lambda *args, **kw: asked.append(args) or 1 / 0)
    fit = model.fit()
    assert fit.params.notna().all() and fit.prsquared > 0 and not asked
    with pytest.raises(ZeroDivisionError):
        fit.bse  # noqa: B018


def test_clusters_by_column_array_and_series() -> None:
    data = DATA.assign(village=np.arange(len(DATA)) // 9)
    data.loc[[3, 40], "x"] = np.nan
    by_column = qb.qreg("y ~ x", data, se="cluster", groups="village")
    by_array = qb.qreg("y ~ x", data, se="cluster", groups=data["village"].to_numpy())
    by_series = qb.qreg("y ~ x", data, se="cluster", groups=data["village"][::-1])
    later = qb.qreg("y ~ x", data).with_se("cluster", groups="village")
    kept = qb.qreg("y ~ x", data).with_se("cluster", groups=data["village"].to_numpy()[data["x"].notna()])
    for fit in (by_array, by_series, later, kept):
        np.testing.assert_array_equal(fit.bse, by_column.bse)
    # the dot leaves the groups out
    assert "village" not in qb.qreg("y ~ .", data, se="cluster", groups="village").params.index


def test_a_model_can_be_pickled() -> None:
    fit = pickle.loads(pickle.dumps(qb.qreg("y ~ x + g", DATA)))
    np.testing.assert_array_equal(fit.with_se("ker").bse, qb.qreg("y ~ x + g", DATA, se="ker").bse)


def test_callers_data_are_never_changed() -> None:
    before = DATA.copy(deep=True)
    qb.qreg("y ~ x + g", DATA, weights="w", offset="z").summary()
    pd.testing.assert_frame_equal(DATA, before)


def test_rescaling_leaves_everything_but_the_units() -> None:
    base = qb.qreg("y ~ x", DATA, tau=0.6)
    for b, c in ((1e-12, 1e6), (1e12, 1e-9)):
        fit = qb.qreg("y ~ x", DATA.assign(y=b * DATA["y"], x=c * DATA["x"]), tau=0.6)
        factor = np.array([b, b / c])
        np.testing.assert_allclose(fit.params / factor, base.params, rtol=1e-8)
        np.testing.assert_allclose(fit.bse / factor, base.bse, rtol=1e-7)
        np.testing.assert_allclose(
            fit.with_se("rank").conf_int().div(factor, axis=0), base.with_se("rank").conf_int(), rtol=1e-7
        )
