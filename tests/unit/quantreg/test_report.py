"""Summaries of quantile regressions: every figure where it belongs, and what must be said about a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.quantreg.covariance import DensityWarning
from tests.unit.quantreg.cases import DATA, ENGEL


def summary(formula: str = "foodexp ~ income", data: pd.DataFrame = ENGEL, **options) -> str:
    return str(qb.qreg(formula, data, **options).summary())


def row(text: str, name: str) -> list[str]:
    return next(line.split()[1:] for line in text.splitlines() if line.startswith(f"{name} "))


def test_the_summary_has_the_look_of_statsmodels() -> None:
    text = summary()
    assert text.splitlines()[0].strip() == "Quantile Regression Results"
    assert max(map(len, text.splitlines())) <= 78
    assert "coef     std err         t    P>|t|     [0.025      0.975]" in text
    assert row(text, "income") == ["0.5602", "0.02828", "19.810", "0.000", "0.5045", "0.6159"]


def test_rank_intervals_have_their_level() -> None:
    text = summary(se="rank")
    assert row(text, "income") == ["0.5602", "0.48702", "0.60199"]
    assert "lower, upper: 90 % intervals by inverting the rank score test" in text
    assert "95 % intervals" in str(qb.qreg("foodexp ~ income", ENGEL, se="rank").summary(alpha=0.05))


def test_the_level_stands_above_the_bounds() -> None:
    text = str(qb.qreg("foodexp ~ income", ENGEL).summary(alpha=0.1))
    assert "[0.05" in text and "0.95]" in text


def test_r_style_is_what_r_prints() -> None:
    fit = qb.qreg("foodexp ~ income", ENGEL)
    # captured from quantreg 5.94, trailing blanks aside
    assert str(fit.summary(style="r")).splitlines()[2:] == [
        "tau: [1] 0.5",
        "",
        "Coefficients:",
        "            Value    Std. Error t value  Pr(>|t|)",
        "(Intercept) 81.48225 19.25066    4.23270  0.00003",
        "income       0.56018  0.02828   19.81032  0.00000",
    ]
    assert str(fit.summary(se="rank", style="r")).splitlines()[4:] == [
        "Coefficients:",
        "            coefficients lower bd  upper bd",
        "(Intercept)  81.48225     53.25915 114.01156",
        "income        0.56018      0.48702   0.60199",
    ]


def test_summary_of_another_kind_leaves_the_fit() -> None:
    fit = qb.qreg("foodexp ~ income", ENGEL)
    assert "Std. errors:    iid" in str(fit.summary(se="iid")) and fit.se == "nid"


@pytest.mark.filterwarnings("ignore::qreg_boost.quantreg.covariance.DensityWarning")
def test_a_perfect_fit_says_so() -> None:
    text = summary("y ~ x", pd.DataFrame({"x": np.arange(9.0), "y": 1 + 2 * np.arange(9.0)}))
    assert "The fit is perfect: all residuals are 0" in text
    assert 'Standard errors of kind "nid" cannot be estimated' in text
    assert "Log-likelihood" not in text and "nan" not in text and "inf" not in text


def test_an_optimum_that_is_not_unique_is_said_once_and_without_a_warning(recwarn) -> None:
    data = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "one": 1.0})
    fit = qb.qreg("y ~ 1", data, se="iid")
    assert not fit.facts.unique
    text = str(fit.summary())
    assert text.count("not unique") == 1
    assert not [one for one in recwarn if "unique" in str(one.message)]


@pytest.mark.filterwarnings("ignore::qreg_boost.quantreg.covariance.DensityWarning")
def test_infinite_bounds_are_infinite() -> None:
    text = summary("y ~ x", pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [0.0, 2.0, 1.0]}), se="rank")
    assert row(text, "x")[1:] == ["-inf", "inf"]


def test_weights_offset_and_dropped_rows_are_told() -> None:
    data = DATA.copy()
    data.loc[[1, 2], "x"] = np.nan
    text = summary("y ~ x", data, weights=np.where(np.arange(len(data)) == 5, 0.0, 2.0), offset="z")
    for expected in (
        "Rows dropped (missing):               2",
        "Rows of weight 0:                     1",
        "Weights:        sum 174",
        "Offset:         added to the fit",
        "Check loss (weighted sum)",
    ):
        assert expected in text, expected  # fmt: skip


def test_a_few_quantiles_have_standard_errors_in_brackets() -> None:
    fits = qb.qreg("foodexp ~ income", ENGEL, tau=[0.25, 0.5])
    text = str(fits.summary())
    assert row(text, "income") == ["0.47410", "0.56018"] and "(0.02906)" in text and "(0.02828)" in text
    rank = str(fits.summary(se="rank"))
    assert row(rank, "  lower")[-2:] == ["0.42033", "0.48702"] or "0.42033" in rank


def test_html_and_latex_escape_names() -> None:
    fit = qb.qreg("y ~ Q('a<b')", DATA.rename(columns={"x": "a<b"}))
    assert "a&lt;b" in fit.summary().as_html() and r"a\textless{}b" in fit.summary().as_latex()
    assert fit._repr_html_() == fit.summary().as_html()


def test_print_is_short() -> None:
    text = str(qb.qreg("foodexp ~ income", ENGEL))
    assert text.splitlines()[-1] == "Degrees of freedom: 235 total; 233 residual"
    assert 'qreg("foodexp ~ income", data, tau=0.5)' in text
    wide = qb.QReg(np.arange(60.0), np.random.default_rng(0).normal(size=(60, 40))).fit()
    assert "... and 16 more: fit.params" in str(wide)


def test_several_levels_say_why_standard_errors_are_missing() -> None:
    perfect = pd.DataFrame({"y": [1.0, 3.0, 2.0], "x": [0.0, 1.0, 3.0], "z": [1.0, 0.0, 1.0]})
    with pytest.warns(DensityWarning):
        text = " ".join(summary("y ~ x + z", perfect, tau=[0.2, 0.5]).split())
    assert "could not be estimated at tau = 0.200, 0.500: fits[tau].summary() says why." in text
    assert "The fit is perfect at tau = 0.200, 0.500: all residuals are 0." in text
    usual = summary(tau=[0.2, 0.5])
    assert "could not be estimated" not in usual and "perfect" not in usual


def test_rounding_beside_larger_coefficients_of_other_levels_is_0() -> None:
    data = pd.DataFrame({"wool": np.repeat(["A", "B"], 27), "tension": np.tile(np.repeat(["L", "M", "H"], 9), 2)})
    data["breaks"] = np.random.default_rng(1).poisson(28, 54)
    fits = qb.qreg("breaks ~ wool * tension", data, tau=np.arange(1, 20) / 20)
    assert row(str(fits.summary()), "wool[T.B]:tension[T.M]")[0] == "-4"
    assert "e-1" not in str(fits) + str(fits.summary())
