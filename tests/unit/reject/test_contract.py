"""What every classifier with a reject option has, and what it says of what it has not: every method, every name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import NotDefinedError, OneClassWarning
from qreg_boost.compose.chow import ChowResults
from qreg_boost.compose.qbc_pair import QBCPairResults
from qreg_boost.reject.absent import Absent
from qreg_boost.reject.results import RejectResults
from tests.unit.reject.cases import overlapping

DATA = overlapping(60, 4)
FITS = {
    method: qb.reject_classifier("y ~ a + b", DATA, method=method)
    for method in ("double_ramp", "double_hinge", "generalized_hinge", "chow", "qbc_pair")
}
EVERYWHERE = (
    "bse", "tvalues", "pvalues", "conf_int", "cov_params", "predict_proba", "resid", "prsquared", "optimality_gap",
    "out_of_fold",
)  # fmt: skip
OF_KERNELS = ("rho", "b", "C", "gamma", "kernel", "objective", "support", "minima", "compare_r", "machine")
OF_BOOSTERS = ("part", "at", "extend", "mstop", "risk_path", "importance", "plot_path")
ELSEWHERE = {
    RejectResults: ("probability", "part", "parts", "decision_functions", "taus", "n_both"),
    ChowResults: (*OF_KERNELS, "parts", "decision_functions", "taus", "n_both"),
    QBCPairResults: (*OF_KERNELS, "probability", *OF_BOOSTERS),
}


@pytest.mark.parametrize("method", FITS)
def test_what_a_fit_lacks_is_refused_by_name_with_what_to_ask(method: str) -> None:
    fit = FITS[method]
    for name in (*EVERYWHERE, *ELSEWHERE[type(fit)]):
        with pytest.raises(NotDefinedError) as caught:
            getattr(fit, name)
        said = str(caught.value)
        assert len(said) > 40 and said.endswith("."), said
        # it names something of this package that can be asked, and that the fit or the function then has
        asked = ("(", "`", "method=", "methods", "kernlab")
        assert any(word in said for word in asked), said
        assert not hasattr(fit, name)
    with pytest.raises(NotDefinedError, match="coef_path"):
        fit.coef_path()


@pytest.mark.parametrize("method", FITS)
def test_absent_names_are_none_that_the_class_defines(method: str) -> None:
    kind = type(FITS[method])
    absent = {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, Absent)}
    listed = {*EVERYWHERE, *ELSEWHERE[kind], "spread", "n_minima", "first_step"}
    assert absent <= listed, absent - listed
    for name in absent & set(dir(kind)):
        assert isinstance(getattr(kind, name), Absent) or kind is RejectResults


@pytest.mark.parametrize("method", FITS)
def test_every_method_has(method: str) -> None:
    fit = FITS[method]
    assert isinstance(fit.summary().as_text(), str)
    assert " in training" in str(fit) and "(training)" in fit.summary().as_text()
    assert list(fit.evaluate().index) == ["risk", "rejection_rate", "accuracy_accepted", "error_overall", "n"]
    table = fit.augment()
    assert isinstance(table[".predicted"].dtype, pd.CategoricalDtype)
    pd.testing.assert_series_equal(table[".predicted"], fit.predict(), check_names=False)
    assert fit.glance().shape[0] == 1 and len(fit.tidy()) and "cost_fn" not in fit.glance()
    dear = qb.reject_classifier("y ~ a + b", DATA, method=method, cost={"fn": 5, "fp": 1, "reject": 0.4}).glance()
    assert dear[["cost_fn", "cost_fp", "cost_reject"]].iloc[0].tolist() == [5.0, 1.0, 0.4] and dear["d"].isna().all()
    assert not np.signbit(fit.margins()[fit.margins() == 0.0]).any()
    X = DATA[["a", "b"]].to_numpy()
    first, second = fit.edges_at(X).T
    claims = (first > 0.0).astype(int) - (second < 0.0)
    assert fit.predict(codes=True).tolist() == claims.tolist()
    cv = fit.cv(d=[0.1, 0.4], k=3, progress=False)
    assert list(cv.best["d"]) == [0.1, 0.4]
    assert cv.refit(0.4).d == 0.4
    text = cv.refit(0.4).summary().as_text()
    assert "0-d-1 risk (out of fold)" in text and max(map(len, text.split("\n"))) <= 78
    assert fit.plot_band() is not None and cv.plot() is not None and fit.cv(k=3, progress=False).plot() is not None


@pytest.mark.parametrize("method", FITS)
def test_one_prediction_for_all_is_told_of(method: str) -> None:
    with pytest.warns(OneClassWarning, match="Every prediction is withheld, at d=0.2"):
        qb.reject_classifier("y ~ one", DATA.assign(one=1.0), method=method)


def test_linear_fits_have_coefficients_in_rows() -> None:
    for method in ("double_ramp", "double_hinge", "chow"):
        table = FITS[method].tidy()
        assert table["term"].tolist() == ["Intercept", "a", "b"]
        np.testing.assert_allclose(table["estimate"], FITS[method].params)
    standardized = FITS["double_ramp"].tidy()["standardized"]
    np.testing.assert_allclose(standardized[1:], FITS["double_ramp"].params.iloc[1:] * DATA[["a", "b"]].std(ddof=0))
    raw = qb.reject_classifier("y ~ a + b", DATA, standardize=False)
    assert raw.tidy()["standardized"].isna().all() and "standardized" not in raw.summary().as_text()
    with pytest.raises(NotDefinedError, match=r"parts\[0\].importance"):
        _ = qb.reject_classifier("y ~ a + b", DATA, method="qbc_pair", learner="stump", mstop=5).params
    pair = FITS["qbc_pair"].params
    assert list(pair.columns) == ["tau=0.2", "tau=0.8"] and list(pair.index) == ["Intercept", "a", "b"]
