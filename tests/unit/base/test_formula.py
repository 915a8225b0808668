"""Formulas read: the grammar against patsy's, R's dot and spellings, names, one message per mistake."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import patsy
import pytest

from qreg_boost.base.checks import FormulaError
from qreg_boost.base.formula import Formula, read_expression, read_formula
from qreg_boost.base.reader import KNOWN

COLUMNS = ["y", "a", "b", "c", "d", "g", "my col", "C", "in", "class", "x.1", "np", "log", 7]


def read(text: str, columns: list[Any] = COLUMNS, env: Mapping[str, Any] | None = None, exclude: Any = ()) -> Formula:
    return read_formula(text, columns, functions=KNOWN, env=env, exclude=exclude)


def terms(text: str, **options: Any) -> list[str]:
    return [":".join(factor.label for factor in term) for term in read(text, **options).terms]


@pytest.mark.parametrize(
    "right",
    [
        "a", "a + b", "a*b", "a:b", "a/b", "a*b*c", "(a + b)*c", "(a + b)/c", "a/(b + c)", "a/b/c", "a:(b + c)",
        "(a + b)**2", "(a + b + c)**2",
        "(a + b + c)**3", "(a + b)**7", "a*b - a", "a*b - a:b", "(a + b)**2 - b", "a + b - b", "a - 1", "a + 0",
        "0 + a", "-1 + a", "1 + a", "a + 1",
        "a - 0", "1", "0", "-1", "a + b:c + a:b:c", "a + (b + c)", "((a))", "+a", "b + a", "a:b + b:a", "a:a",
        "a*a", "np.log(a) + b:I(c + d)",
        "center(a)*b", "a + b - (a + c)", "a*b:c", "a + b*c/d", "a:b*c", "(a + b):(c + d)", "a > 1",
        "C(g, Treatment('u'))", "1 + a - 1", "(a + b - 1)",
        "I(a**2) + I(a  **  2)", "log(a,base=2)",
    ],
)  # fmt: skip
def test_terms_are_patsys(right: str) -> None:
    ours = read(f"y ~ {right}")
    theirs = patsy.ModelDesc.from_formula(f"y ~ {right}").rhs_termlist
    ordered = sorted((t for t in theirs if t.factors), key=lambda t: len(t.factors))
    assert [":".join(f.label for f in term) for term in ours.terms] == [t.name() for t in ordered]
    assert ours.intercept == any(not t.factors for t in theirs)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [  # term.labels of R 4.2.2
        ("y ~ a + g", ["a", "g"]),
        ("y ~ g:a + g + a", ["g", "a", "g:a"]),
        ("y ~ g*a - 1", ["g", "a", "g:a"]),
        ("y ~ g/a", ["g", "g:a"]),
        ("y ~ (a + b + c)^2", ["a", "b", "c", "a:b", "a:c", "b:c"]),
        ("y ~ .", ["a", "b", "g"]),
        ("y ~ . - g", ["a", "b"]),
        ("log(y) ~ .", ["a", "b", "g"]),
        ("y ~ .^2", ["a", "b", "g", "a:b", "a:g", "b:g"]),
        ("y ~ . + a:b", ["a", "b", "g", "a:b"]),
        ("y ~ .:a", ["a", "b:a", "g:a"]),
        ("log(y/a) ~ .", ["b", "g"]),
    ],
)
def test_terms_are_rs(formula: str, expected: list[str]) -> None:
    columns = ["y", "a", "b", "c", "g"] if "c" in formula else ["y", "a", "b", "g"]
    assert terms(formula, columns=columns) == expected


def test_minus_one_takes_the_intercept_away_wherever_it_stands() -> None:
    assert not read("y ~ a + -1").intercept
    assert not read("y ~ a + (0 + b)").intercept
    assert read("y ~ 0 + a + 1").intercept


def test_the_dot_leaves_out_response_and_excluded_columns() -> None:
    assert terms("y ~ .", columns=["w", "y", "a b", 3, "g"], exclude=["w", "g"]) == ["a b", "3"]
    assert terms("y ~ .", columns=["y"]) == []


def test_columns_taken_away_are_not_used() -> None:
    assert sorted(map(str, read("y ~ . - id", columns=["id", "y", "a"]).columns.values())) == ["a", "y"]


def test_dot_expanded_columns_go_by_their_bare_name() -> None:
    assert terms("y ~ . + Q('my col'):a", columns=["y", "my col", "a"]) == ["my col", "a", "my col:a"]


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ("Q('my col')", ["Q('my col')"]),
        ('Q("my col")', ['Q("my col")']),
        ("`my col` + a", ["my col", "a"]),
        ("`my col` + Q('my col')", ["my col"]),
        ("C", ["C"]),
        ("C(g) + C", ["C(g)", "C"]),
        ("in + class", ["in", "class"]),
        ("I(in > 1) + I(a in [1, 2])", ["I(in > 1)", "I(a in[1, 2])"]),
        ("x.1 + np.log(x.1)", ["x.1", "np.log(x.1)"]),
        ("np + np.log(np)", ["np", "np.log(np)"]),
        ("I(np.pi * np)", ["I(np.pi * np)"]),
        ("log + log(log)", ["log", "log(log)"]),
        ("`7` + Q('7')", ["7"]),
        ("Q(7)", ["Q(7)"]),
        ("factor(g)", ["factor(g)"]),
        ("I(a^2)", ["I(a ** 2)"]),
        ("poly(a, 2)", ["poly(a, 2)"]),
        ("bs(a, df=4, include_intercept=TRUE)", ["bs(a, df=4, include_intercept=True)"]),
        ("I(a %% 2) + I(a %/% 2)", ["I(a % 2)", "I(a // 2)"]),
        ("x.1.clip(0)", ["x.1.clip(0)"]),
    ],
)
def test_any_column_name_can_be_written(right: str, expected: list[str]) -> None:
    assert terms(f"y ~ {right}") == expected


def test_no_column_name_reaches_the_code() -> None:
    formula = read("y ~ C(C) + log(log) + np.log(np) + in")
    assert [factor.code for (factor,) in formula.terms] == ["C(_qb1_)", "log(_qb2_)", "np.log(_qb3_)", "_qb4_"]
    assert [formula.columns[f"_qb{i}_"] for i in range(5)] == ["y", "C", "log", "np", "in"]


def test_words_of_python_are_columns_where_an_operand_stands() -> None:
    columns = ["y", "not", "and", "if", "lambda", "None", "a"]
    assert terms("y ~ not + and + if + lambda + None", columns=columns) == ["not", "and", "if", "lambda", "None"]
    assert terms("y ~ I(not a)", columns=columns) == ["I(not a)"]


UNKNOWN = "Column 'incom' in \"foodexp ~ incom\" is not in `data`. Did you mean 'income'? Columns: foodexp, income."


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    with pytest.raises(FormulaError) as caught:
        read("foodexp ~ incom", columns=["foodexp", "income"])
    assert str(caught.value) == UNKNOWN
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "text", ["y ~ incom", "y ~ log(incom)", "y ~ a + incom:b", "incom ~ a", "y ~ bs(a, incom)", "y ~ incom.x"]
)
def test_a_misspelt_column_never_finds_a_variable(text: str) -> None:
    with pytest.raises(FormulaError, match=r"Column 'incom(\.x)?' in .* is not in `data`"):
        read(text, env={"incom": np.arange(3.0)})


def test_functions_and_keyword_values_come_from_the_caller() -> None:
    def own(x: Any) -> Any:
        return x

    formula = read("y ~ own(a) + bs(a, knots=k) + C(g, levels=lv)", env={"own": own, "k": [1], "lv": ["u"]})
    assert list(formula.constants.values()) == [own, [1], ["u"]]
    assert [factor.label for (factor,) in formula.terms] == ["own(a)", "bs(a, knots=k)", "C(g, levels=lv)"]


def test_a_column_goes_before_a_variable_in_keyword_values() -> None:
    assert not read("y ~ bs(a, knots=b)", env={"b": [1]}).constants


def test_known_functions_give_way_to_the_callers_own_but_not_to_what_was_imported() -> None:
    def log(x: Any) -> Any:
        return x

    assert list(read("y ~ log(a)", env={"log": log}).constants.values()) == [log]
    for imported in (math.log, np.log, patsy.center, 3.0):
        assert not read("y ~ log(a)", env={"log": imported}).constants


MISTAKES = [
    ("y ~ a +", "nothing follows the last '+'"),
    ("y a", "it has no '~'; write response ~ predictors"),
    ("y", "it has no '~'"),
    ("", "The formula is empty"),
    ("y ~ a ~ b", "it has 2 '~'"),
    ("~ a", "there is no response before '~'"),
    ("y ~", "nothing follows '~'; write `~ 1`"),
    ("y ~ a b", "there is no operator between 'a' and 'b'"),
    ("y ~ my col", "For the column 'my col' write Q('my col')"),
    ("y ~ I(a) I(b)", "there is no operator between ')' and 'I'"),
    ("y ~ (a + b) c", "there is no operator between ')' and 'c'"),
    ("y ~ a + * b", "'*' follows '+'"),
    ("y ~ * a", "an operand is missing before '*'"),
    ("y ~ ()", "an operand is missing before ')'"),
    ("y ~ a^2", "For the power write I(a**2)"),
    ("y ~ a**2", "For the power write I(a**2)"),
    ("y ~ log(a)^2", "For the power write I(log(a)**2)"),
    ("y ~ (a)^2", "For the power write I(a**2)"),
    ("y ~ (a + b)^1.5", "must be a whole number of at least 1"),
    ("y ~ (a + b)^0", "must be a whole number of at least 1"),
    ("y ~ (a + b)^c", "must be a whole number of at least 1"),
    ("y ~ 2*a", "the number 2 stands by itself"),
    ("y ~ a + 3", "the number 3 stands by itself"),
    ("y ~ 3", "the number 3 stands by itself"),
    ("y ~ 1:a", "the intercept, which cannot interact"),
    ("y ~ -a", "for the negative of a column write I(-a)"),
    ("y ~ a, b", "a comma stands between terms"),
    ("y ~ a = b", "a single '=' has no meaning here"),
    ("y ~ !a", "write I(~b)"),
    ("y ~ (a > 1) & b", "write it inside I()"),
    ("y ~ log(.)", "the dot stands for all other columns"),
    ("y ~ I(. + 1)", "the dot stands for all other columns"),
    (". ~ a", "name the response"),
    ("y ~ a %in% b", "write a:b"),
    ("y ~ a + offset(b)", "pass offset="),
    ("y ~ as.factor(g)", "write C(g) or factor(g)"),
    ("y ~ ifelse(a > 1, 1, 0)", "write np.where(condition, a, b)"),
    ("y ~ ns(a, 3)", "write cr(x, df=5) for ns(x, 4): a natural cubic spline"),
    ("y ~ C(g, contr.sum)", "write Sum, as in C(g, Sum)"),
    ("y ~ " + "(" * 3000 + "a" + ")" * 3000, "it is nested too deeply"),
    ("y ~ " + "-" * 3000 + "1", "it is nested too deeply"),
    ("y ~ s(a)", "write bs(a, df=5)"),
    ("y ~ lgo(a)", "Function 'lgo' in \"y ~ lgo(a)\" is not known. Did you mean 'log'?"),
    ("y ~ gamma(a)", "Function 'gamma'"),
    ("y ~ floor_divide(a, 2)", "numpy's is np.floor_divide()"),
    ("y ~ np.lgo(a)", "numpy has no 'lgo'. Did you mean 'log'?"),
    ("y ~ a (b)", "'a (' calls the column 'a'"),
    ("y ~ a(b)", "an operator is missing between 'a' and '('"),
    ("y ~ Q(a)", "Q() takes the name of one column in quotes"),
    ("y ~ Q('nope')", "Column 'nope'"),
    ("y ~ (lambda v: v)(a)", "lambda and comprehensions cannot be used"),
    ("y ~ I(f'{a}')", "the string prefix 'f'"),
    ("y + a ~ b", "has 2 responses (y + a)"),
    ("cbind(y, a) ~ b", "fit one model for each response"),
    ("y/2 ~ a", "the number 2 stands by itself"),
    ("y/a ~ b", "write I(y/a) ~ ..."),
    ("y - a ~ b", "write I(y - a) ~ ..."),
    ("1 ~ a", "'1' on the left is not a response"),
    ("y ~ y + a", "The response 'y' is also a predictor"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES, ids=[text[:40] for text, _ in MISTAKES])
def test_one_message_per_mistake(text: str, said: str) -> None:
    with pytest.raises(FormulaError) as caught:
        read(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_formula_must_be_text() -> None:
    with pytest.raises(FormulaError, match="`formula` must be text"):
        read(3)  # type: ignore[arg-type]


def test_columns_that_occur_twice_are_refused_only_where_used() -> None:
    assert terms("y ~ a", columns=["y", "a", "b", "b"]) == ["a"]
    for text in ("y ~ b", "y ~ ."):
        with pytest.raises(FormulaError, match=r"'b' .* occurs more than once in `data`"):
            read(text, columns=["y", "a", "b", "b"])
    with pytest.raises(FormulaError, match="occurs more than once"):
        read("y ~ .", columns=["y", 1, "1"])


def test_thousands_of_terms_are_read() -> None:
    names = [f"v{i}" for i in range(5000)]
    assert terms("y ~ " + " + ".join(names), columns=["y", *names]) == names
    assert terms("y ~ . - v0", columns=["y", *names]) == names[1:]


def test_one_expression_is_read() -> None:
    factor, columns = read_expression("(a > 1) & (`my col` < 2)", COLUMNS, KNOWN)
    assert factor.code == "(_qb0_ > 1) & (_qb1_ < 2)"
    assert list(columns.values()) == ["a", "my col"]
