"""What a formula says: its text to a response, terms and factors, every column reference replaced by a safe name.

The grammar is patsy's (``~ + - * / : **``, 0 and 1, Python expressions as factors), with R's dot, ``^`` and backticks. A column
reference becomes ``_qb0_``, ``_qb1_``, ... in the factors' code, so that no column name can clash with a function, a keyword
or a variable of the caller's; labels keep what the user wrote.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qreg_boost.base.checks import FormulaError
from qreg_boost.base.references import Column, Piece, References
from qreg_boost.base.tokens import Token, spaced, tokenise, unreadable

PRECEDENCE = {"+": 100, "-": 100, "*": 200, "/": 200, ":": 300, "**": 500, "^": 500}
ENDS_FACTOR = frozenset(["~", *PRECEDENCE])
KEYWORDS = frozenset(["in", "is", "not", "and", "or", "if", "else", "lambda", "for"])


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: `code` over safe names, `label` as the user reads it, the safe names of the columns it uses."""

    code: str
    label: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Formula:
    """A formula read: terms are tuples of factors, ordered by degree and then as written; safe names to columns and to values."""

    text: str
    response: Factor
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    columns: Mapping[str, Hashable]
    constants: Mapping[str, Any]


@dataclass
class _Expression:
    """Terms so far, each a tuple of factor codes under the set of them; `intercept` None if nothing was said about it."""

    terms: dict[frozenset[str], tuple[str, ...]]
    intercept: bool | None = None
    literal: str = ""  # "0", "1" or another number, when the expression is just that
    many: bool = False  # written in parentheses with an operator inside, or as a dot
    start: int = 0
    end: int = 0


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
    parser = _Parser(text, right, references, leave_out)
    expression = parser.read()
    pieces = parser.pieces
    made = {code: _factor(code, words, references) for code, words in pieces.items()}
    if frozenset([response.code]) in expression.terms:
        raise FormulaError(f'The response {response.label!r} is also a predictor in "{text}"; leave it out on the right.')
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


def read_expression(text: str, columns: Iterable[Hashable], functions: Iterable[str] = ()) -> tuple[Factor, Mapping[str, Hashable]]:
    """Return one expression over columns, such as ``"x > 3"``, and its safe names to columns."""
    references = References(text, columns, functions, None)
    words = references.resolve(tokenise(text))
    factor = _factor(_code(words), words, references)
    return factor, dict(references.used)


def _sides(text: str, tokens: Sequence[Token]) -> tuple[list[Token], list[Token]]:
    tildes = [i for i, token in enumerate(tokens) if token.text == "~" and token.kind == "op"]
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
    parser = _Parser(text, tokens, references, None)
    expression = parser.read()
    terms = list(expression.terms.values())
    written = text[tokens[0].start : tokens[-1].end]
    operators = [t.text for t in _outside_brackets(tokens) if t.kind == "op" and t.text in ENDS_FACTOR]
    if expression.literal or expression.intercept is not None or not terms:
        raise unreadable(text, f"'{written}' on the left is not a response; name a column of `data`.")
    if operators == ["+"] * len(operators) and len(terms) > 1:
        raise FormulaError(f'"{text}" has {len(terms)} responses ({written}); fit one model for each.')
    if operators or len(terms) != 1:
        raise unreadable(text, f"'{written}' on the left is arithmetic; write I({written}) ~ ... for that.")
    (code,) = terms[0]
    return _factor(code, parser.pieces[code], references)


def _outside_brackets(tokens: Iterable[Token]) -> Iterable[Token]:
    depth = 0
    for token in tokens:
        depth -= token.kind == "close"
        if depth == 0:
            yield token
        depth += token.kind == "open"


def _code(words: Iterable[Piece]) -> str:
    return spaced((word.kind, word.code) for word in words)


def _factor(code: str, words: Sequence[Piece], references: References) -> Factor:
    label = spaced((word.kind, references.label(word)) for word in words)
    used = dict.fromkeys(word.safe for word in words if isinstance(word, Column))
    return Factor(code, label, tuple(used))


class _Parser:
    """One side of a formula, read by operator precedence. `pieces` maps each factor's code to its words."""

    def __init__(self, text: str, tokens: list[Token], references: References, leave_out: set[str] | None) -> None:
        self.text = text
        self.tokens = tokens
        self.references = references
        self.leave_out = leave_out  # None on the left, where a dot has no meaning
        self.position = 0
        self.pieces: dict[str, Sequence[Piece]] = {}

    def read(self) -> _Expression:
        expression = self._expression(0)
        if self.position < len(self.tokens):
            raise self._no_operator(self.tokens[self.position])
        if expression.literal not in ("", "0", "1"):
            raise self._bare_number(expression)
        return expression

    def _peek(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _no_operator(self, token: Token) -> FormulaError:
        before = self.tokens[self.position - 1]
        return missing_operator(self.text, before, token, self.references)

    def _bare_number(self, expression: _Expression) -> FormulaError:
        return unreadable(
            self.text,
            f"the number {expression.literal} stands by itself; only 0 and 1 (no intercept, intercept) may. "
            "For arithmetic write it inside I(), for example I(2 * x).",
        )

    def _expression(self, least: int) -> _Expression:
        left = self._operand()
        while (token := self._peek()) is not None and token.kind == "op" and token.text in PRECEDENCE:
            if PRECEDENCE[token.text] <= least:
                break
            self.position += 1
            if self._peek() is None:
                raise unreadable(self.text, f"nothing follows the last '{token.text}'.")
            right = self._expression(PRECEDENCE[token.text])
            left = self._apply(token, left, right)
        return left

    def _operand(self) -> _Expression:
        token = self._peek()
        if token is None or token.kind == "close":
            what = "an operand is missing" + (f" before '{token.text}'" if token else " at the end")
            raise unreadable(self.text, what + ".")
        if token.kind == "op" and token.text in ("+", "-"):
            return self._unary(token)
        if token.kind == "op":
            raise unreadable(self.text, self._stray(token))
        if token.kind == "open" and token.text == "(":
            return self._group(token)
        if token.kind == "dot":
            self.position += 1
            return self._dot(token)
        if token.kind == "number" and self._stands_alone():
            self.position += 1
            value = "0" if token.text == "0" else token.text
            intercept = {"0": False, "1": True}.get(value)
            return _Expression({}, intercept, value, start=token.start, end=token.end)
        return self._factor()

    def _stray(self, token: Token) -> str:
        if token.text == "%in%":
            return "`%in%` is R's nesting; write a:b, or a/b for a + a:b."
        if token.text in PRECEDENCE and self.position:
            return f"'{token.text}' follows '{self.tokens[self.position - 1].text}'; an operand is missing between them."
        return f"an operand is missing before '{token.text}'."

    def _stands_alone(self) -> bool:
        following = self.tokens[self.position + 1] if self.position + 1 < len(self.tokens) else None
        return following is None or following.kind == "close" or following.text in ENDS_FACTOR

    def _unary(self, token: Token) -> _Expression:
        self.position += 1
        inner = self._expression(PRECEDENCE["+"])
        if token.text == "+":
            return inner
        if inner.literal == "0":
            return _Expression({}, True, "", start=token.start, end=inner.end)
        if inner.literal == "1":
            return _Expression({}, False, "", start=token.start, end=inner.end)
        written = self.text[inner.start : inner.end]
        raise unreadable(
            self.text, f"'-{written}' takes away what is not there; for the negative of a column write I(-{written})."
        )

    def _group(self, token: Token) -> _Expression:
        self.position += 1
        inner = self._expression(0)
        closing = self._peek()
        if closing is None or closing.text != ")":
            raise self._no_operator(closing or self.tokens[-1])
        operators = [t for t in self.tokens if token.start < t.start < closing.start and t.text in ENDS_FACTOR]
        self.position += 1
        following = self._peek()
        if following is not None and (following.operand or following.kind == "open"):
            raise self._no_operator(following)
        if following is not None and following.kind == "op" and following.text not in PRECEDENCE:
            written = self.text[token.start : closing.end]
            raise unreadable(
                self.text, f"'{written} {following.text}' is arithmetic; write it inside I(), for example I({written} ...)."
            )
        inner.many = bool(operators)
        inner.start, inner.end = token.start, closing.end
        return inner

    def _dot(self, token: Token) -> _Expression:
        if self.leave_out is None:
            raise unreadable(self.text, "the dot stands for predictors; name the response.")
        terms: dict[frozenset[str], tuple[str, ...]] = {}
        for piece in self.references.expand_dot(self.leave_out):
            terms[frozenset([piece.safe])] = (piece.safe,)
            self.pieces.setdefault(piece.safe, (piece,))
        return _Expression(terms, many=True, start=token.start, end=token.end)

    def _factor(self) -> _Expression:
        first = self.position
        depth = 0
        while (token := self._peek()) is not None:
            if depth == 0 and (token.kind == "close" or (token.kind == "op" and token.text in ENDS_FACTOR)):
                break
            if depth == 0 and token.text == ",":
                raise unreadable(self.text, "a comma stands between terms; join them by '+'.")
            if depth == 0 and self.position > first:
                self._check_adjacent(self.tokens[self.position - 1], token)
            depth += (token.kind == "open") - (token.kind == "close")
            self.position += 1
        tokens = self.tokens[first : self.position]
        words = self.references.resolve(tokens)
        code = _code(words)
        self.pieces.setdefault(code, words)
        return _Expression({frozenset([code]): (code,)}, start=tokens[0].start, end=tokens[-1].end)

    def _check_adjacent(self, before: Token, token: Token) -> None:
        left = (before.operand or before.kind == "close") and before.text not in KEYWORDS
        if left and token.operand and token.text not in KEYWORDS:
            raise missing_operator(self.text, before, token, self.references)

    def _apply(self, token: Token, left: _Expression, right: _Expression) -> _Expression:
        if token.text in ("^", "**"):
            return self._power(token, left, right)
        for side in (left, right):
            if side.literal not in ("", "0", "1"):
                raise self._bare_number(side)
        if token.text == "+":
            left.terms.update({key: term for key, term in right.terms.items() if key not in left.terms})
            left.intercept = left.intercept if right.intercept is None else right.intercept
        elif token.text == "-":
            for key in right.terms:
                left.terms.pop(key, None)
            left.intercept = left.intercept if right.intercept is None else not right.intercept
        else:
            left = self._product(token.text, left, right)
        left.literal, left.end = "", right.end
        return left

    def _product(self, operator: str, left: _Expression, right: _Expression) -> _Expression:
        if operator == ":":
            terms = self._interact(left, right)
        elif operator == "*":
            terms = {**left.terms, **right.terms, **self._interact(left, right)}
        else:  # a / b is a + a:b; everything on the left is one nest
            nest = tuple(dict.fromkeys(code for term in left.terms.values() for code in term))
            combined = _Expression({frozenset(nest): nest}, left.intercept, left.literal)
            terms = {**left.terms, **self._interact(combined, right)}
        return _Expression(terms, start=left.start)

    def _interact(self, left: _Expression, right: _Expression) -> dict[frozenset[str], tuple[str, ...]]:
        if left.intercept is not None and left.literal or right.intercept is not None and right.literal:
            raise unreadable(self.text, "0 and 1 stand for the intercept, which cannot interact; write products inside I().")
        terms: dict[frozenset[str], tuple[str, ...]] = {}
        for one in left.terms.values():
            for other in right.terms.values():
                term = tuple(dict.fromkeys(one + other))
                terms.setdefault(frozenset(term), term)
        return terms

    def _power(self, token: Token, left: _Expression, right: _Expression) -> _Expression:
        base = self.text[left.start : left.end]
        exponent = self.text[right.start : right.end]
        if not left.many:
            raise unreadable(
                self.text,
                f"'{base}{token.text}{exponent}' means interactions in a formula, and of one term there are none. "
                f"For the power write I({base.strip('()') if base.startswith('(') else base}**{exponent}).",
            )
        if not right.literal.isdigit() or int(right.literal) < 1:
            raise unreadable(self.text, f"the power '{exponent}' of '{base}' must be a whole number of at least 1.")
        result = dict(left.terms)
        latest = left
        for _ in range(1, min(len(left.terms), int(right.literal))):
            latest = _Expression(self._interact(left, latest))
            result.update({key: term for key, term in latest.terms.items() if key not in result})
        return _Expression(result, start=left.start, end=right.end)


def missing_operator(text: str, before: Token, token: Token, references: References) -> FormulaError:
    """Return the error for two operands side by side, with the column they may have meant."""
    both = text[before.start : token.end]
    hint = f" For the column {both!r} write Q({both!r})." if references.has(both) else ""
    return unreadable(text, f"there is no operator between '{before.text}' and '{token.text}'.{hint}")
