"""What users stumbled over: messages whose remedy works, and rows that a transform loses."""

from __future__ import annotations

import re
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import FormulaError, InputError, MissingRowsWarning
from qreg_boost.base.design import Design


@pytest.fixture
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=40), "g": rng.choice(list("abc"), 40)})
    return frame.assign(y=1 + 2 * frame["x"] + rng.normal(size=40))


def test_rows_that_a_transform_loses_are_warned_of(data: pd.DataFrame) -> None:
    lost = int((data["x"] < 0).sum())
    with (
        pytest.warns(MissingRowsWarning, match=rf"log\(x\) is missing in {lost} rows where its columns are not"),
        np.errstate(all="ignore"),
    ):
        fit = qb.qbr("y ~ log(x)", data)
    assert fit.nobs == 40 - lost


def told_of(formula: str, data: pd.DataFrame, **options: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Design.from_formula(formula, data, **options)
    return [str(warning.message) for warning in caught]


def test_all_that_transforms_lose_is_one_warning() -> None:
    data = pd.DataFrame({"y": [-1.0, 2, 3, 4, 5, 6], "x": [1.0, -1, -1, 2, 3, np.nan]})
    assert told_of("log(y) ~ sqrt(x)", data) == [
        "log(y) is missing in 1 row, sqrt(x) is missing in 2 rows where their columns are not; these rows are dropped."
    ]
    assert told_of("log(y) ~ x", data) == [
        "log(y) is missing in 1 row where its columns are not; these rows are dropped."
    ]
    assert Design.from_formula("y ~ x", data).n_dropped == 1
    assert told_of("y ~ x", data) == []


@pytest.mark.parametrize("written", ["f(x)", "x.abs()"])
def test_missing_data_behind_a_function_are_no_loss(written: str) -> None:
    data = pd.DataFrame({"y": [1.0, 2, 3, 4], "x": [1.0, 2, np.nan, 4]})
    assert told_of(f"y ~ {written}", data, env={"f": lambda x: 2 * x}) == []


def test_refused_missing_values_are_told_the_same_way(data: pd.DataFrame) -> None:
    lost = int((data["y"] < 0).sum())
    with pytest.raises(InputError, match=rf"^log\(y\) is missing in {lost} rows where its columns are not\. Mend"):
        qb.qbr("log(y) ~ x", data, missing="raise")


def test_a_column_named_intercept_is_refused(data: pd.DataFrame) -> None:
    named = data.rename(columns={"x": "Intercept"})
    with pytest.raises(InputError, match=r"named 'Intercept'.*rename it"):
        qb.qbr("y ~ Intercept", named)
    with pytest.raises(InputError, match=r"named 'Intercept'.*rename it"):
        qb.QBR(named["y"], named[["Intercept"]])
    with pytest.raises(InputError, match=r"named 'Intercept'.*rename it"):
        Design.from_arrays(named["y"], named[["Intercept"]])
    assert Design.from_arrays(named["y"], named[["Intercept"]], intercept=False).column_names == ("Intercept",)


@pytest.mark.parametrize("written", ["s(x)", "ns(x, 4)", "relevel(g, 'b')"])
def test_the_remedy_for_a_function_of_r_works(data: pd.DataFrame, written: str) -> None:
    with pytest.raises(FormulaError) as caught:
        qb.qbr(f"y ~ {written}", data)
    remedy = re.search(r"write ((?:bs|cr|C)\(.*?\)+)(?= |$|\.|,)", str(caught.value))
    assert remedy, str(caught.value)
    assert qb.qbr(f"y ~ {remedy.group(1)}", data).nobs == 40


def test_the_remedy_for_a_smooth_leaves_its_options_out(data: pd.DataFrame) -> None:
    with pytest.raises(FormulaError, match=r"write bs\(x, df=5\) or cr\(x, df=5\)\.") as caught:
        qb.qbr("y ~ s(x, k=10)", data)
    assert "learner" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "formula", "options"),
    [
        ("bols(x)", "y ~ x", {}),
        ("bbs(x)", "y ~ x", {"learner": {"x": "spline"}}),
        ("bbs(x, df = 6)", "y ~ x", {"learner": {"x": "spline"}}),
        ("btree(x)", "y ~ x", {"learner": "tree"}),
    ],
)
def test_learners_of_mboost_are_options_here(data: pd.DataFrame, written: str, formula: str, options: dict) -> None:
    """They once were "Did you mean 'bs'?", which is another model."""
    with pytest.raises(FormulaError, match="is R's; it is") as caught:
        qb.qbr(f"y ~ {written}", data)
    for option in options.items():
        assert "{}={!r}".format(*option) in str(caught.value)
    assert qb.qbr(formula, data, mstop=2, **options).nobs == 40


def test_the_natural_spline_named_instead_is_that_of_r(data: pd.DataFrame) -> None:
    from scipy.interpolate import CubicSpline

    knots = np.quantile(data["x"], [0, 0.25, 0.5, 0.75, 1])  # of ns(x, 4), ends included
    basis = CubicSpline(knots, np.eye(5), bc_type="natural")(data["x"])
    theirs = basis @ np.linalg.lstsq(basis, data["y"], rcond=None)[0]
    ours = Design.from_formula("y ~ cr(x, df=5)", data).X
    fitted = ours @ np.linalg.lstsq(ours, data["y"], rcond=None)[0]
    np.testing.assert_allclose(fitted, theirs, atol=1e-9)


@pytest.mark.parametrize("written", ["I(x*k)", "log(x + k)", "np.exp(x*k)", "bs(k, df=4)"])
def test_a_number_of_the_callers_is_to_be_written_out(data: pd.DataFrame, written: str) -> None:
    with pytest.raises(FormulaError, match=r"only: write the number, or make the column in `data`\.$"):
        Design.from_formula(f"y ~ {written}", data, env={"k": 2.0, "np": np})


@pytest.mark.parametrize("written", ["bs(x, k)", "poly(x, k)", "f(x, k)"])
def test_an_option_of_the_callers_goes_by_keyword(data: pd.DataFrame, written: str) -> None:
    with pytest.raises(FormulaError, match=r"only; pass it by keyword, as in knots=my_knots\.$"):
        Design.from_formula(f"y ~ {written}", data, env={"k": 3, "f": lambda x, k: x})


def test_the_nearest_name_may_differ_in_case_alone(data: pd.DataFrame) -> None:
    with pytest.raises(FormulaError, match="Did you mean 'x'"):
        qb.qbr("y ~ X", data)


@pytest.mark.parametrize(("held", "asked"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_names_that_differ_in_unicode_form_alone_are_told_apart(data: pd.DataFrame, held: str, asked: str) -> None:
    named = data.rename(columns={"x": unicodedata.normalize(held, "prix_carré")})
    with pytest.raises(FormulaError, match=r"differs from it in Unicode form alone.*unicodedata\.normalize"):
        qb.qbr(f"y ~ {unicodedata.normalize(asked, 'prix_carré')}", named)


def test_an_infinite_value_in_new_data_is_no_row_to_drop(data: pd.DataFrame) -> None:
    for encoder in (
        Design.from_formula("y ~ x", data).encoder,
        Design.from_formula("y ~ I(x * 1)", data).encoder,
        Design.from_arrays(data["y"], data[["x"]]).encoder,
    ):
        with pytest.raises(InputError) as caught:
            encoder.encode(pd.DataFrame({"x": [0.0, np.inf]}))
        assert "has 1 infinite value, the first in row 1." in str(caught.value)
        assert str(caught.value).endswith("by missing values, which predict NaN, or by finite numbers.")
        assert np.isnan(encoder.encode(pd.DataFrame({"x": [0.0, np.nan]})).X[1, 0])
    with pytest.raises(InputError, match="to drop those rows, or by finite numbers"):
        Design.from_formula("y ~ x", data.assign(x=np.inf))
