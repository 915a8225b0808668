"""qreg beside R's quantreg: every figure that R gives again in other units and another order of the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
import qreg_boost.r as r
from qreg_boost.base.checks import InputError
from qreg_boost.r import session
from tests.golden.test_golden import warpbreaks

pytestmark = [
    pytest.mark.r("quantreg"),
    pytest.mark.filterwarnings("ignore::qreg_boost.quantreg.covariance.DensityWarning"),
]
TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)


def simulated(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(1.0, 4.0, 150), rng.normal(size=150)
    return pd.DataFrame({"y": 1.0 + x + (0.5 + x) * rng.standard_t(3 + seed, 150), "x": x, "z": z})


CASES = {
    "engel": ("foodexp ~ income", lambda: qb.datasets.load("engel")),
    "stackloss": ("STACKLOSS ~ AIRFLOW + WATERTEMP", lambda: qb.datasets.load("stackloss")),
    "warpbreaks": ("breaks ~ wool * tension", warpbreaks),
    "one column": ("y ~ 0 + x", lambda: simulated(0)),
    "simulated 1": ("y ~ x + z", lambda: simulated(1)),
    "simulated 2": ("y ~ x * z", lambda: simulated(2)),
}
TIED = ("stackloss", "warpbreaks")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("case", CASES)
def test_all_figures_agree(case: str, tau: float, weighted: bool) -> None:
    formula, load = CASES[case]
    data = load()
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(data)) if weighted else None
    found = qb.qreg(formula, data, tau, weights=weights).compare_r()
    assert found.agrees, str(found)
    # where responses are tied, R's rank bounds depend on the path of its simplex method
    assert found.checks["note"].str.startswith("may differ").any() == (case in TIED)
    assert abs(found.gap) < 1e-10


def test_the_comparison_says_what_it_holds() -> None:
    found = qb.qreg("foodexp ~ income", qb.datasets.load("engel")).compare_r()
    terms = found.checks["term"].tolist()
    assert terms[:4] == ["llf", "aic", "Intercept: se iid", "income: se iid"] and "income: rank upper" in terms
    moved = found.checks["note"].str.startswith("not compared")
    # R's bounds of the intercept depend on the order of the rows here
    assert set(found.checks["term"][moved]) == {"Intercept: rank lower", "Intercept: rank upper"}
    assert "This package and quantreg agree." in str(found) and "<table" in found._repr_html_()


def test_a_wrong_figure_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"))
    monkeypatch.setattr(qb.QRegResults, "llf", property(lambda fit: -1411.6302))
    assert not fit.compare_r().agrees


def test_offsets_aliased_columns_and_rows_of_weight_0() -> None:
    data = simulated(1)
    weights = np.arange(len(data)) % 3
    fit = qb.qreg("y ~ x + I(2 * x) + z", data, weights=weights, offset=data["z"] ** 2)
    found = fit.compare_r()
    assert found.agrees, str(found)
    assert "Left out as linear combinations of the columns before: I(2 * x)." in found.notes
    assert "rq ignores offsets, so it was given y - offset." in found.notes


def test_several_quantiles_and_where_the_optimum_is_not_unique() -> None:
    fits = qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75])
    found = fits.compare_r()
    assert found.agrees and set(found.table["tau"]) == {0.25, 0.75}
    even = qb.qreg("y ~ 1", pd.DataFrame({"y": [1.0, 2.0, 3.0, 5.0]})).compare_r()
    assert even.agrees and not even.unique


def in_r(code: str, fit) -> object:
    return session.evaluate(code, fit=session.RObject(r.to_r(fit)))


@pytest.mark.parametrize("weighted", [False, True])
def test_r_takes_the_fit_for_its_own(weighted: bool) -> None:
    data = simulated(2)
    weights = np.linspace(0.5, 2.0, len(data)) if weighted else None
    fit = qb.qreg("y ~ x + z", data, 0.3, weights=weights)
    assert in_r("class(fit)", fit).item() == "rq"
    np.testing.assert_allclose(in_r("as.vector(coef(fit))", fit), fit.params, rtol=1e-12)
    np.testing.assert_allclose(in_r("as.vector(resid(fit))", fit), fit.resid, atol=1e-10)
    for kind in ("iid", "nid", "ker"):
        errors = in_r(f'as.vector(summary(fit, se = "{kind}", covariance = TRUE)$coefficients[, 2])', fit)
        np.testing.assert_allclose(errors, fit.with_se(kind).bse, rtol=1e-6)
    assert in_r("as.numeric(logLik(fit))", fit).item() == pytest.approx(fit.llf, rel=1e-10)
    code = 'as.vector(predict(fit, data.frame(x = c(2, 3), z = c(0, 1)), interval = "confidence"))'
    table = fit.predict({"x": [2.0, 3.0], "z": [0.0, 1.0]}, interval="confidence")
    np.testing.assert_allclose(in_r(code, fit), table.to_numpy().ravel(order="F"), rtol=1e-6)


def test_several_quantiles_and_odd_names_go_to_r() -> None:
    data = simulated(1).rename(columns={"x": "a `b` c"}).assign(g=lambda d: np.where(d["z"] > 0, "u", "v"))
    fits = qb.qreg("y ~ Q('a `b` c') + g", data, tau=[0.25, 0.5])
    assert in_r("class(fit)", fits).item() == "rqs"
    np.testing.assert_allclose(in_r("as.vector(coef(fit))", fits), fits.params.to_numpy().ravel(order="F"), rtol=1e-12)
    assert in_r('dim(summary(fit, se = "iid")[[1]]$coefficients)', fits).tolist() == [3, 4]


def test_what_is_no_quantile_regression_is_refused(tmp_path) -> None:
    fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"))
    loaded = qb.load(fit.save(tmp_path / "fit.qb"))
    for other in (loaded, 3):
        with pytest.raises(InputError, match="to_r takes a quantile regression with its rows"):
            r.to_r(other)
    with pytest.raises(InputError, match="loaded without them"):
        loaded.compare_r()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"se": "ker"}, {"se": "iid"}, {"test": "rank"}, {"test": "rank", "iid": False}]
)
def test_anova_of_nested_models_agrees(weighted: bool, options: dict) -> None:
    data = simulated(1)
    weights = np.linspace(0.5, 2.0, len(data)) if weighted else None
    fits = [qb.qreg(formula, data, 0.4, weights=weights) for formula in ("y ~ x", "y ~ x + z + I(x**2)", "y ~ x + z")]
    found = r.compare(qb.anova(*fits, **options))
    assert found.agrees, str(found)
    assert found.table["term"].tolist()[:2] == ["Model 2: Df", "Model 2: Resid Df"]
    # R's rank test of a weighted fit depends on the scale of the weights
    assert found.table["note"].str.startswith("must agree").all() == (not weighted or "test" not in options)


@pytest.mark.parametrize("options", [{}, {"joint": False}, {"se": "ker"}])
def test_anova_of_slopes_agrees(options: dict) -> None:
    fits = qb.qreg("y ~ x + z", simulated(2), tau=[0.25, 0.5, 0.75])
    found = qb.anova(fits, **options).compare_r()
    assert found.agrees and (found.table["note"] == "must agree").all(), str(found)


def test_anova_without_a_counterpart_is_refused() -> None:
    data = simulated(1)
    result = qb.anova(qb.qreg("y ~ x + z", data), qb.qreg("y ~ x", data), bandwidth=0.1)
    with pytest.raises(InputError, match="R's anova has no counterpart to this test"):
        result.compare_r()
