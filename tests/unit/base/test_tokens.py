"""The tokens of formulas, and patsy's spacing of labels."""

from __future__ import annotations

import pytest
from patsy.tokens import normalize_token_spacing

from qreg_boost.base.checks import FormulaError
from qreg_boost.base.tokens import spaced, tokenise


def texts(formula: str) -> list[str]:
    return [token.text for token in tokenise(formula)]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y~x1+x2", ["y", "~", "x1", "+", "x2"]),
        ("y ~ x.1 + np.log(z.2)", ["y", "~", "x.1", "+", "np.log", "(", "z.2", ")"]),
        ("y ~ .-id", ["y", "~", ".", "-", "id"]),
        ("y ~ .hidden", ["y", "~", ".hidden"]),
        ("y ~ .5*x", ["y", "~", ".5", "*", "x"]),
        ("y ~ I(1e-3*x)", ["y", "~", "I", "(", "1e-3", "*", "x", ")"]),
        ("y ~ `a b` + Q('c\"d')", ["y", "~", "a b", "+", "Q", "(", "'c\"d'", ")"]),
        ("y ~ x**2 // 3 %in% b %% 2", ["y", "~", "x", "**", "2", "//", "3", "%in%", "b", "%%", "2"]),
        ("größe ~ उम्र + 😀 + x²", ["größe", "~", "उम्र", "+", "😀", "+", "x²"]),
        ("f(x).clip(0)", ["f", "(", "x", ")", ".", "clip", "(", "0", ")"]),
        ("y ~ x\n  + z", ["y", "~", "x", "+", "z"]),
    ],
)
def test_tokens(formula: str, expected: list[str]) -> None:
    assert texts(formula) == expected


@pytest.mark.parametrize(
    "code",
    [
        "I(x**2)", "C( g ,Treatment('b') )", "bs(x,df=4)", "np.log(x+1)", "a+-b", "f(x [1 : ],-1, +2)", "x==1",
        "-x", "a if b else c",
        "f(*args,**kw)", "x>0", "(a+b)*c", "f(g(x),[1,2])", "~b", "x //2 % 3",
    ],
)  # fmt: skip
def test_labels_are_spaced_as_patsy_does(code: str) -> None:
    assert spaced((token.kind, token.text) for token in tokenise(code)) == normalize_token_spacing(code)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y ~ x − z", "'−' (U+2212) where '-' is meant"),  # noqa: RUF001
        ("y ~ Q(“a”)", "(U+201C)"),
        ("y ~ `a", "backtick ` is not closed"),
        ("y ~ Q('a", "a string that starts with ' is not closed"),
        ("y ~ (x", "'(' is not closed"),
        ("y ~ x)", "')' closes nothing"),
        ("y ~ (x]", "'(' is closed by ']'"),
        ("y ~ x # note", "'#' has no meaning"),
        ("y ~ x; z", "';' has no meaning"),
    ],
)
def test_what_is_no_token_gets_a_message(formula: str, said: str) -> None:
    with pytest.raises(FormulaError) as caught:
        tokenise(formula)
    assert said in str(caught.value)
    assert f'"{formula}"' in str(caught.value)
