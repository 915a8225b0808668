"""The summary as text, HTML and LaTeX, and several quantiles side by side, on made-up fits."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.process import QuantileProcess
from qreg_boost.base.summary import Fact, Row, Summary, Table, describe_process, summarise_process
from qreg_boost.base.typeset import WIDTH, columns_of

NASTY = r"a_b & c% #1 $x$ {y} <script> ~^\ |z|"


def summary(
    formula: str = "y ~ x", names: tuple[str, ...] = ("Intercept", "x"), notes: tuple[str, ...] = ()
) -> Summary:
    rows = tuple(Row(name, ("-1.2345", "12.3 %", "7", "100.0 %")) for name in names)
    table = Table(("coef", "selected", "first in", "loss share"), (rows,))
    left = (Fact("Formula", formula), Fact("Learner", "linear"), Fact("Date", "2020-01-01 00:00"))
    return Summary("Quantile Boost Regression Results", left, (Fact("Quantile (tau)", "0.500"),), (table,), notes)


class Balance(HTMLParser):
    """Reads HTML, keeping open tags and the text of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read_html(text: str) -> list[str]:
    parser = Balance()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser.texts


def check_latex(text: str) -> None:
    """Braces balance, every tabular is closed and has as many cells to a row as columns, nothing special is bare."""
    bare = re.sub(r"\\[{}%&#$_\\]", "", text)
    depth = np.cumsum([(c == "{") - (c == "}") for c in bare])
    assert depth.min() >= 0
    assert depth[-1] == 0
    assert not re.search(r"[%#$_~^]", bare)
    tables = re.findall(r"\\begin\{tabular\}\{([lr]+)\}\n(.*?)\\end\{tabular\}", text, flags=re.S)
    assert len(tables) == text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 0
    for columns, body in tables:
        rows = [line for line in body.split("\n") if line.endswith(r"\\")]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns)}
        # after the end of the row above they would be read as its arguments
        assert not any(row.lstrip().startswith(("[", "*")) for row in rows)


def check_text(text: str) -> list[str]:
    lines = text.split("\n")
    assert all(columns_of(line) <= WIDTH for line in lines)
    assert all(line == line.rstrip() for line in lines)
    assert {len(line) for line in lines if re.fullmatch("=+|-+", line)} == {WIDTH}
    return lines


LONG = "y ~ " + " + ".join(f"x{k}" for k in range(80))
NAMES = {
    "plain": ("Intercept", "x"),
    "long": ("Intercept", *(f"a_rather_long_name_of_a_column_number_{k}_of_many" for k in range(5))),
    "many": tuple(f"x{k}" for k in range(200)),
    "wide": ("切片", "収入の合計", "größe_é", "e\u0301te\u0301"),
    "nasty": (NASTY, "line\nbreak", "", "[T.b]", "* x"),
    "endless": ("x" * 500,),
}


@pytest.mark.parametrize("formula", ["y ~ x", LONG, "y ~ " + "x" * 300, "支出 ~ 収入の合計 + その他", NASTY])
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_every_form_holds_whatever_the_names(formula: str, names: tuple[str, ...]) -> None:
    one = summary(formula, names, (f"A note on {NASTY}.",))
    check_text(one.as_text())
    check_latex(one.as_latex())
    texts = read_html(one.as_html())
    for wanted in (*names, formula):
        assert not wanted or any(wanted.replace("\n", " ") in text for text in texts)
    assert "<script" not in one.as_html()


def test_text_columns_are_aligned() -> None:
    lines = check_text(summary(names=("Intercept", "収入", "x" * 70)).as_text())
    rows = [line for line in lines if "-1.2345" in line]
    assert len(rows) == 3
    assert {columns_of(line[: line.index("-1.2345")]) for line in rows} == {35}
    assert {columns_of(line) for line in rows} == {WIDTH}


def test_a_formula_that_is_wrapped_is_whole() -> None:
    formula = "y ~ " + " + ".join(f"variable{k}" for k in range(20))
    lines = summary(formula).as_text().split("\n")
    first = next(k for k, line in enumerate(lines) if line.startswith("Formula:"))
    last = next(k for k, line in enumerate(lines) if line.startswith("Learner:"))
    said = " ".join(line[13:] for line in lines[first:last])
    assert said.split() == formula.split()


def test_representations() -> None:
    one = summary()
    assert str(one) == repr(one) == one.as_text()
    assert one._repr_html_() == one.as_html()
    assert one._repr_latex_() == one.as_latex()


# -- several quantiles


class MadeUp:
    """As much of a fit as a process asks for."""

    title = "Made-up Regression"

    def __init__(self, tau: float, terms: int, has_params: bool = True) -> None:
        self.tau = tau
        self._terms = terms
        self._has_params = has_params

    @property
    def params(self) -> pd.Series:
        if not self._has_params:
            raise NotDefinedError("no coefficients here")
        values = np.r_[self.tau, np.where(np.arange(self._terms) % 2, 0.0, np.arange(self._terms) - 3.25)]
        return pd.Series(values, index=["Intercept", *(f"x{k}" for k in range(self._terms))])

    @property
    def fittedvalues(self) -> pd.Series:
        return pd.Series([1.0, self.tau])

    def summary(self) -> Summary:
        left = (
            Fact("Formula", "y ~ ."),
            Fact("Iterations", f"{int(1e3 * self.tau)} (fixed)", f"{int(1e3 * self.tau)}"),
        )
        right = (Fact("Quantile (tau)", str(self.tau)), Fact("Loss (sum)", "1.5", 1.5, "Loss"))
        return Summary("Made-up Results", left, right, (), (f"Only at {self.tau}.", "At all."))


def made_up(taus: list[float], terms: int = 2, **options: bool) -> QuantileProcess:
    return QuantileProcess(taus, [MadeUp(tau, terms, **options) for tau in taus])


def test_what_differs_stands_by_tau_and_what_is_shared_in_the_header() -> None:
    text = summarise_process(made_up([0.25, 0.5, 0.75])).as_text()
    head, body = text.split("\ntau ")
    assert "y ~ ." in head and "Rows that cross:" in head and "0 of 2" in head
    assert "fixed" not in text
    assert "At all." in text and "Only at" not in text
    rows = {line.split()[0]: line.split()[1:] for line in body.split("\n") if line and line[0] not in "=-"}
    assert rows["0.250"] == ["0.500", "0.750"]
    assert rows["Iterations"] == ["250", "500", "750"]
    assert rows["Intercept"] == ["0.25", "0.50", "0.75"]
    assert rows["x1"] == ["0", "0", "0"]
    assert rows["Loss"] == ["1.5"] * 3


def test_crossing_rows_are_counted() -> None:
    process = QuantileProcess([0.2, 0.8], [MadeUp(0.9, 1), MadeUp(0.1, 1)])
    assert "1 of 2" in summarise_process(process).as_text()


@pytest.mark.parametrize("terms", [0, 1, 2, 5, 60])
@pytest.mark.parametrize("count", [1, 4, 13, 99])
def test_any_number_of_quantiles_and_terms_stays_in_the_frame(count: int, terms: int) -> None:
    taus = [(k + 1) / (count + 1) for k in range(count)]
    process = made_up(taus, terms)
    one = summarise_process(process)
    lines = check_text(one.as_text())
    check_latex(one.as_latex())
    read_html(one.as_html())
    assert all(any(f"{tau:.3f}"[:4] in line for line in lines) for tau in taus)
    assert all(columns_of(line) <= WIDTH for line in describe_process(process).split("\n"))
    if count == 99 and terms == 2:
        assert len(lines) < 120


def test_terms_without_a_coefficient_are_counted_when_there_are_many() -> None:
    text = summarise_process(made_up([0.3, 0.6], 60)).as_text()
    assert "30 terms with coefficient 0 at every quantile are not shown." in text
    assert "\nx1 " not in text


def test_fits_without_coefficients_have_their_facts() -> None:
    process = made_up([0.3, 0.6], has_params=False)
    assert "Intercept" not in summarise_process(process).as_text()
    assert "Iterations" in summarise_process(process).as_text()
    lines = describe_process(process).splitlines()
    assert lines[-4:] == [
        "           tau=0.3 tau=0.6",
        "Iterations     300     600",
        "Loss           1.5     1.5",
        "summary() has all.",
    ]


def test_describe_says_what_it_leaves_out() -> None:
    text = describe_process(made_up([k / 100 for k in range(1, 100)], 60))
    assert text.endswith("... of 61 terms at 99 taus in all: .params")
    assert "Coefficients:" in text and "tau=0.01" in text
