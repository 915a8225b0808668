"""A formula in R's syntax, also from the part that patsy shares with it.

Only spelling is changed, token by token: ``C(g)`` to ``factor(g)``, ``np.log(x)`` to ``log(x)``, ``Q("a b")`` to
backticks, ``**`` to ``^``. What has another meaning in R is refused with R's way of saying it.
"""

from __future__ import annotations

import re

from qreg_boost.base.checks import FormulaError

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<quoted>`[^`]*` | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*')
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?L?)
      | (?P<name>(?:[^\W\d]|\.)[\w.]*)
      | (?P<operator>\*\*|%[^%\s]*%|::|<=|>=|==|!=|&&|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)
_SAME = ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs", "sign", "sin", "cos", "tan", "floor", "trunc")
_NUMPY = {**dict(zip(_SAME, _SAME, strict=True)), "ceil": "ceiling", "absolute": "abs", "arctan": "atan"}
_DIFFERENT = {
    "standardize": "R divides by n - 1 where patsy divides by n; in R's syntax write scale(x)",
    "center": "in R's syntax write scale(x, scale = FALSE)",
    "cr": "in R's syntax write ns(x, df = ...), natural splines",
    "cc": "it has no counterpart in base R",
    "te": "it has no counterpart in base R",
}
_CONTRASTS = ("Treatment", "Sum", "Helmert", "Poly", "Diff")


def to_r(formula: str) -> str:
    """Return `formula` in R's spelling.

    >>> to_r('np.log(y) ~ C(g) + I(x**2) + Q("a b")')
    'log(y) ~ factor(g) + I(x^2) + `a b`'
    """
    if not isinstance(formula, str):
        raise FormulaError(f'`formula` must be a string such as "y ~ x1 + x2"; got {type(formula).__name__}.')
    if not formula.partition("~")[1] or not formula.partition("~")[0].strip():
        raise FormulaError(f'"{formula}" has no response: write "response ~ terms", for instance "y ~ x1 + x2".')
    tokens = [match.group() for match in _TOKEN.finditer(formula)]
    out: list[str] = []
    at = 0
    while at < len(tokens):
        at, text = _translate(tokens, at, formula)
        out.append(text)
    return "".join(out)


def _translate(tokens: list[str], at: int, formula: str) -> tuple[int, str]:
    token = tokens[at]
    if token == "**":
        return at + 1, "^"
    if token.startswith("_"):
        return at + 1, f"`{token}`"  # a name in Python, not in R
    if token.startswith(("np.", "numpy.")):
        function = token.split(".", 1)[1]
        if function not in _NUMPY:
            raise FormulaError(f'{token!r} in "{formula}" has no counterpart in R known here; write R\'s own function.')
        return at + 1, _NUMPY[function]
    if not _is_call(tokens, at):
        return at + 1, token
    if token in _DIFFERENT:
        raise FormulaError(f'{token!r} in "{formula}" is patsy\'s: {_DIFFERENT[token]}.')
    if token == "C":
        return at + 1, _category(tokens, at, formula)
    if token == "Q":
        return _quoted(tokens, at, formula)
    return at + 1, token


def _is_call(tokens: list[str], at: int) -> bool:
    following = next((token for token in tokens[at + 1 :] if token.strip()), "")
    return following == "("


def _arguments(tokens: list[str], at: int, formula: str) -> tuple[list[list[str]], int]:
    """Return the arguments of the call at `at` as lists of tokens, and the position behind its closing bracket."""
    at = tokens.index("(", at) + 1
    depth = 1
    arguments: list[list[str]] = [[]]
    while at < len(tokens):
        token = tokens[at]
        depth += (token in "([{") - (token in ")]}")
        if depth == 0:
            return arguments, at + 1
        if token == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(token)
        at += 1
    raise FormulaError(f'"{formula}" has a bracket that is not closed.')


def _category(tokens: list[str], at: int, formula: str) -> str:
    arguments, _ = _arguments(tokens, at, formula)
    if len(arguments) == 1:
        return "factor"
    second = "".join(arguments[1]).strip()
    if second.startswith(_CONTRASTS) or "=" in second:
        raise FormulaError(
            f"C(..., {second}) in \"{formula}\" is patsy's; in R's syntax write C(factor(g), contr.treatment), "
            'contr.sum, contr.helmert or contr.poly, or relevel(factor(g), ref = "b") for another reference.'
        )
    return "C"


def _quoted(tokens: list[str], at: int, formula: str) -> tuple[int, str]:
    arguments, behind = _arguments(tokens, at, formula)
    text = "".join(arguments[0]).strip()
    if len(arguments) != 1 or text[:1] not in "\"'" or len(text) < 2:
        raise FormulaError(f'Q(...) in "{formula}" takes one name in quotes, for instance Q("my column").')
    return behind, f"`{text[1:-1]}`"
