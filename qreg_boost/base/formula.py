"""What a formula says: its text to a response, terms and factors, every column reference replaced by a safe name.

The grammar is patsy's (``~ + - * / : **``, 0 and 1, Python expressions as factors), with R's dot, ``^`` and backticks.
A column reference becomes ``_qb0_``, ``_qb1_``, ... in the factors' code, so that no column name can clash with a
function, a keyword or a variable of the caller's; labels keep what the user wrote.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qreg_boost.base.checks import FormulaError
from qreg_boost.base.grammar import ENDS_FACTOR, Expression, Parser, code_of
from qreg_boost.base.references import Column, Piece, References
from qreg_boost.base.tokens import Token, shown, spaced, tokenise, unreadable


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: `code` over safe names, `label` as the user reads it, the safe names of the columns it uses."""

    code: str
    label: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Formula:
    """A formula read: terms as tuples of factors, by degree and then as written; safe names to columns and values."""

    text: str
    response: Factor
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    columns: Mapping[str, Hashable]
    constants: Mapping[str, Any]


def read_formula(
    text: str,
    columns: Iterable[Hashable],
    *,
    exclude: Iterable[Hashable] = (),
    functions: Iterable[str] = (),
    env: Mapping[str, Any] | None = None,
) -> Formula:
    """Return the formula `text` over a frame with these `columns`, its names resolved.

    Parameters
    ----------
    text : str
        The formula, such as ``"y ~ x + C(g)"``.
    columns : iterable
        All column labels of the data.
    exclude : iterable
        Columns that the dot leaves out, next to every left-hand variable.
    functions : iterable of str
        Names of the functions that are always known.
    env : mapping, optional
        The caller's names, looked up for functions and in keyword arguments only.

    Raises
    ------
    FormulaError
        If the formula breaks the grammar, or names what is not in the data.

    >>> formula = read_formula("y ~ . - id", ["id", "y", "x", "my z"])
    >>> [[factor.label for factor in term] for term in formula.terms]
    [['x'], ['my z']]
    """
    if not isinstance(text, str):
        raise FormulaError(f'`formula` must be text such as "y ~ x"; got {type(text).__name__}.')
    tokens = tokenise(text)
    left, right = _sides(text, tokens)
    references = References(text, columns, functions, env)
    response = _response(text, left, references)
    leave_out = {str(name) for name in exclude} | {references.name_of(safe) for safe in references.used}
    parser = Parser(text, right, references, leave_out)
    expression = _read(parser)
    pieces = parser.pieces
    made = {code: _factor(code, words, references) for code, words in pieces.items()}
    if frozenset([response.code]) in expression.terms:
        raise FormulaError(
            f'The response {response.label!r} is also a predictor in "{shown(text)}"; leave it out on the right.'
        )
    ordered = sorted(expression.terms.values(), key=len)
    used = {safe for term in ordered for code in term for safe in made[code].columns}.union(response.columns)
    return Formula(
        text=text,
        response=response,
        terms=tuple(tuple(made[code] for code in term) for term in ordered),
        intercept=expression.intercept is not False,
        columns={safe: column for safe, column in references.used.items() if safe in used},
        constants=dict(references.constants),
    )


def read_expression(
    text: str, columns: Iterable[Hashable], functions: Iterable[str] = ()
) -> tuple[Factor, Mapping[str, Hashable]]:
    """Return one expression over columns, such as ``"x > 3"``, and its safe names to columns."""
    references = References(text, columns, functions, None)
    words = references.resolve(tokenise(text))
    factor = _factor(code_of(words), words, references)
    return factor, dict(references.used)


def _sides(text: str, tokens: Sequence[Token]) -> tuple[list[Token], list[Token]]:
    outside = set(outside_brackets(tokens))
    tildes = [i for i, token in enumerate(tokens) if token.text == "~" and token.kind == "op" and token in outside]
    if not tokens:
        raise FormulaError('The formula is empty; write response ~ predictors, for example "y ~ x1 + x2".')
    if not tildes:
        raise unreadable(text, "it has no '~'; write response ~ predictors, for example \"y ~ x1 + x2\".")
    if len(tildes) > 1:
        raise unreadable(text, f"it has {len(tildes)} '~'; exactly one separates the response from the predictors.")
    if tildes[0] == 0:
        raise unreadable(text, "there is no response before '~'; write response ~ predictors.")
    if tildes[0] == len(tokens) - 1:
        raise unreadable(text, "nothing follows '~'; write `~ 1` for a model without predictors.")
    return list(tokens[: tildes[0]]), list(tokens[tildes[0] + 1 :])


def _response(text: str, tokens: list[Token], references: References) -> Factor:
    parser = Parser(text, tokens, references, None)
    expression = _read(parser)
    terms = list(expression.terms.values())
    written = text[tokens[0].start : tokens[-1].end]
    operators = [t.text for t in outside_brackets(tokens) if t.kind == "op" and t.text in ENDS_FACTOR]
    if expression.literal or expression.intercept is not None or not terms:
        raise unreadable(text, f"'{written}' on the left is not a response; name a column of `data`.")
    if operators == ["+"] * len(operators) and len(terms) > 1:
        raise FormulaError(f'"{shown(text)}" has {len(terms)} responses ({written}); fit one model for each.')
    if operators or len(terms) != 1:
        raise unreadable(text, f"'{written}' on the left is arithmetic; write I({written}) ~ ... for that.")
    (code,) = terms[0]
    return _factor(code, parser.pieces[code], references)


def _read(parser: Parser) -> Expression:
    try:
        return parser.read()
    except RecursionError:
        raise unreadable(parser.text, "it is nested too deeply.") from None


def outside_brackets(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens that are in no brackets, the outermost brackets themselves included."""
    depth = 0
    for token in tokens:
        depth -= token.kind == "close"
        if depth == 0:
            yield token
        depth += token.kind == "open"


def _factor(code: str, words: Sequence[Piece], references: References) -> Factor:
    label = spaced((word.kind, references.label(word)) for word in words)
    used = dict.fromkeys(word.safe for word in words if isinstance(word, Column))
    return Factor(code, label, tuple(used))
