"""What users stumbled over: messages whose remedy works, and rows that a transform loses."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import FormulaError, InputError, MissingRowsWarning


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


def test_a_column_named_intercept_is_refused(data: pd.DataFrame) -> None:
    named = data.rename(columns={"x": "Intercept"})
    with pytest.raises(InputError, match=r"named 'Intercept'.*rename it"):
        qb.qbr("y ~ Intercept", named)
    with pytest.raises(InputError, match=r"named 'Intercept'.*rename it"):
        qb.QBR(named["y"], named[["Intercept"]])


@pytest.mark.parametrize("written", ["s(x)", "ns(x, 4)", "relevel(g, 'b')"])
def test_the_remedy_for_a_function_of_r_works(data: pd.DataFrame, written: str) -> None:
    with pytest.raises(FormulaError) as caught:
        qb.qbr(f"y ~ {written}", data)
    remedy = re.search(r"write ((?:bs|cr|C)\(.*?\)+)(?= |$|\.|,)", str(caught.value))
    assert remedy, str(caught.value)
    assert qb.qbr(f"y ~ {remedy.group(1)}", data).nobs == 40


def test_the_nearest_name_may_differ_in_case_alone(data: pd.DataFrame) -> None:
    with pytest.raises(FormulaError, match="Did you mean 'x'"):
        qb.qbr("y ~ X", data)
