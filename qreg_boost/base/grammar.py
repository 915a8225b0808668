"""The grammar of one side of a formula: operators to terms, each term a set of factors.

Sums, products and powers are patsy's (and S's: Chambers and Hastie 1992, ch. 2), read by operator precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qreg_boost.base.checks import FormulaError
from qreg_boost.base.references import Piece, References
from qreg_boost.base.tokens import Token, spaced, unreadable

PRECEDENCE = {"+": 100, "-": 100, "*": 200, "/": 200, ":": 300, "**": 500, "^": 500}
ENDS_FACTOR = frozenset(["~", *PRECEDENCE])
KEYWORDS = frozenset(["in", "is", "not", "and", "or", "if", "else", "lambda", "for"])


@dataclass
class Expression:
    """Terms so far, tuples of factor codes under the set of them; `intercept` is None if nothing was said of it."""

    terms: dict[frozenset[str], tuple[str, ...]]
    intercept: bool | None = None
    literal: str = ""  # "0", "1" or another number, when the expression is just that
    many: bool = False  # written in parentheses with an operator inside, or as a dot
    start: int = 0
    end: int = 0


class Parser:
    """One side of a formula, read by operator precedence. `pieces` maps each factor's code to its words."""

    def __init__(self, text: str, tokens: list[Token], references: References, leave_out: set[str] | None) -> None:
        self.text = text
        self.tokens = tokens
        self.references = references
        self.leave_out = leave_out  # None on the left, where a dot has no meaning
        self.position = 0
        self.pieces: dict[str, Sequence[Piece]] = {}

    def read(self) -> Expression:
        """Return the terms of all the tokens."""
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

    def _bare_number(self, expression: Expression) -> FormulaError:
        return unreadable(
            self.text,
            f"the number {expression.literal} stands by itself; only 0 and 1 (no intercept, intercept) may. "
            "For arithmetic write it inside I(), for example I(2 * x).",
        )

    def _expression(self, least: int) -> Expression:
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

    def _operand(self) -> Expression:
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
            return Expression({}, intercept, value, start=token.start, end=token.end)
        return self._factor()

    def _stray(self, token: Token) -> str:
        if token.text == "%in%":
            return "`%in%` is R's nesting; write a:b, or a/b for a + a:b."
        if token.text == "!":
            return "'!' is R's negation; write I(~b)."
        if token.text in PRECEDENCE and self.position:
            return (
                f"'{token.text}' follows '{self.tokens[self.position - 1].text}'; an operand is missing between them."
            )
        return f"an operand is missing before '{token.text}'."

    def _stands_alone(self) -> bool:
        following = self.tokens[self.position + 1] if self.position + 1 < len(self.tokens) else None
        return following is None or following.kind == "close" or following.text in ENDS_FACTOR

    def _unary(self, token: Token) -> Expression:
        self.position += 1
        inner = self._expression(PRECEDENCE["+"])
        if token.text == "+":
            return inner
        if inner.literal == "0":
            return Expression({}, True, "", start=token.start, end=inner.end)
        if inner.literal == "1":
            return Expression({}, False, "", start=token.start, end=inner.end)
        written = self.text[inner.start : inner.end]
        raise unreadable(
            self.text, f"'-{written}' takes away what is not there; for the negative of a column write I(-{written})."
        )

    def _group(self, token: Token) -> Expression:
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
                self.text,
                f"'{written} {following.text}' is arithmetic; write it inside I(), for example I({written} ...).",
            )
        inner.many = bool(operators)
        inner.start, inner.end = token.start, closing.end
        return inner

    def _dot(self, token: Token) -> Expression:
        if self.leave_out is None:
            raise unreadable(self.text, "the dot stands for predictors; name the response.")
        terms: dict[frozenset[str], tuple[str, ...]] = {}
        for piece in self.references.expand_dot(self.leave_out):
            terms[frozenset([piece.safe])] = (piece.safe,)
            self.pieces.setdefault(piece.safe, (piece,))
        return Expression(terms, many=True, start=token.start, end=token.end)

    def _factor(self) -> Expression:
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
        code = code_of(words)
        self.pieces.setdefault(code, words)
        return Expression({frozenset([code]): (code,)}, start=tokens[0].start, end=tokens[-1].end)

    def _check_adjacent(self, before: Token, token: Token) -> None:
        left = (before.operand or before.kind == "close") and before.text not in KEYWORDS
        if left and token.operand and token.text not in KEYWORDS:
            raise missing_operator(self.text, before, token, self.references)

    def _apply(self, token: Token, left: Expression, right: Expression) -> Expression:
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

    def _product(self, operator: str, left: Expression, right: Expression) -> Expression:
        if operator == ":":
            terms = self._interact(left, right)
        elif operator == "*":
            terms = {**left.terms, **right.terms, **self._interact(left, right)}
        else:  # a / b is a + a:b; everything on the left is one nest
            nest = tuple(dict.fromkeys(code for term in left.terms.values() for code in term))
            combined = Expression({frozenset(nest): nest}, left.intercept, left.literal)
            terms = {**left.terms, **self._interact(combined, right)}
        return Expression(terms, start=left.start)

    def _interact(self, left: Expression, right: Expression) -> dict[frozenset[str], tuple[str, ...]]:
        if (left.intercept is not None and left.literal) or (right.intercept is not None and right.literal):
            raise unreadable(
                self.text, "0 and 1 stand for the intercept, which cannot interact; write products inside I()."
            )
        terms: dict[frozenset[str], tuple[str, ...]] = {}
        for one in left.terms.values():
            for other in right.terms.values():
                term = tuple(dict.fromkeys(one + other))
                terms.setdefault(frozenset(term), term)
        return terms

    def _power(self, token: Token, left: Expression, right: Expression) -> Expression:
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
            latest = Expression(self._interact(left, latest))
            result.update({key: term for key, term in latest.terms.items() if key not in result})
        return Expression(result, start=left.start, end=right.end)


def code_of(words: Iterable[Piece]) -> str:
    """Return the code of a factor's words."""
    return spaced((word.kind, word.code) for word in words)


def missing_operator(text: str, before: Token, token: Token, references: References) -> FormulaError:
    """Return the error for two operands side by side, with the column they may have meant."""
    both = text[before.start : token.end]
    hint = f" For the column {both!r} write Q({both!r})." if references.has(both) else ""
    return unreadable(text, f"there is no operator between '{before.text}' and '{token.text}'.{hint}")
