"""The words of a formula: text to tokens, and tokens back to evenly spaced text.

The tokeniser is ours rather than Python's because formulas hold what Python cannot read: `` `my col` ``, ``x.1``,
``%in%``, and columns named ``in`` or ``class``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from qreg_boost.base.checks import FormulaError

OPERATORS = (
    "%in%", "%/%", "%%", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||",
    "~", "+", "-", "*", "/", ":", "^", "%", "<", ">", "=", "&", "|", "@", ",", "!",
)  # fmt: skip
LOOKALIKES = {
    "−": "-", "–": "-", "—": "-", "∼": "~", "˜": "~", "×": "*", "“": '"', "”": '"', "‘": "'", "’": "'",  # noqa: RUF001
}  # fmt: skip
CLOSING = {"(": ")", "[": "]", "{": "}"}

_SPACE_BOTH = frozenset(
    ["+", "-", "*", "/", "%", "&", "^", "|", "<", ">", "==", "!=", "<=", ">=", "<<", ">>", "**", "//"]
)
_SPACE_BEFORE = _SPACE_BOTH | {"!", "~"}
_SPACE_AFTER = _SPACE_BOTH | {",", ":"}


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a formula: `kind` is name, number, string, quoted (backticks), dot, op, open or close."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def operand(self) -> bool:
        """Return True for what stands for a value by itself."""
        return self.kind in ("name", "number", "string", "quoted", "dot")


def shown(text: str) -> str:
    """Return a formula on one line, cut short if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:195] + " ..."


def unreadable(text: str, reason: str) -> FormulaError:
    """Return the error for a formula that breaks the grammar."""
    return FormulaError(f'The formula "{shown(text)}" cannot be read: {reason}')


def tokenise(text: str) -> list[Token]:
    """Return the tokens of a formula, brackets balanced.

    >>> [token.text for token in tokenise("y ~ log(x.1) + `my col`")]
    ['y', '~', 'log', '(', 'x.1', ')', '+', 'my col']
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        token = _next_token(text, position, tokens[-1] if tokens else None)
        tokens.append(token)
        position = token.end
    _check_brackets(text, tokens)
    return tokens


def _next_token(text: str, start: int, before: Token | None) -> Token:
    char = text[start]
    if char in LOOKALIKES:
        raise unreadable(text, f"it has {char!r} (U+{ord(char):04X}) where {LOOKALIKES[char]!r} is meant.")
    if char == "`":
        end = text.find("`", start + 1)
        if end < 0:
            raise unreadable(text, "a backtick ` is not closed.")
        return Token("quoted", text[start + 1 : end], start, end + 1)
    if char in "'\"":
        return _string(text, start)
    if char.isdigit() and char.isascii():
        return _number(text, start)
    if _starts_name(char):
        return _name(text, start)
    if char == ".":
        return _dot(text, start, before)
    if char in "([{":
        return Token("open", char, start, start + 1)
    if char in ")]}":
        return Token("close", char, start, start + 1)
    for operator in OPERATORS:
        if text.startswith(operator, start):
            return Token("op", operator, start, start + len(operator))
    raise unreadable(text, f"{char!r} has no meaning in a formula.")


def _starts_name(char: str) -> bool:
    return char.isidentifier() or (ord(char) > 127 and not char.isspace() and char not in LOOKALIKES)


def _in_name(char: str) -> bool:
    return ("a" + char).isidentifier() or (ord(char) > 127 and not char.isspace() and char not in LOOKALIKES)


def _name(text: str, start: int) -> Token:
    """Read a name with all its dots: ``x``, ``np.log``, R's ``x.1``."""
    end = start
    while end < len(text) and (_in_name(text[end]) or text[end] == "."):
        end += 1
    return Token("name", text[start:end], start, end)


def _dot(text: str, start: int, before: Token | None) -> Token:
    following = text[start + 1 : start + 2]
    if before is not None and before.kind in ("close", "string", "quoted") and before.end == start:
        return Token("op", ".", start, start + 1)  # an attribute of what stands before
    if following and following.isdigit() and following.isascii():
        return _number(text, start)
    if following and _starts_name(following):
        return _name(text, start)
    return Token("dot", ".", start, start + 1)


def _number(text: str, start: int) -> Token:
    end = start
    while end < len(text) and (text[end].isdigit() or text[end] == "."):
        end += 1
    if end < len(text) and text[end] in "eE":
        power = end + 1 + (text[end + 1 : end + 2] in ("+", "-"))
        if text[power : power + 1].isdigit():
            end = power
            while end < len(text) and text[end].isdigit():
                end += 1
    return Token("number", text[start:end], start, end)


def _string(text: str, start: int) -> Token:
    quote = text[start]
    end = start + 1
    while end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" else 1
    if end >= len(text):
        raise unreadable(text, f"a string that starts with {quote} is not closed.")
    return Token("string", text[start : end + 1], start, end + 1)


def _check_brackets(text: str, tokens: Iterable[Token]) -> None:
    opened: list[str] = []
    for token in tokens:
        if token.kind == "open":
            opened.append(token.text)
        elif token.kind == "close":
            if not opened:
                raise unreadable(text, f"the parenthesis '{token.text}' closes nothing.")
            start = opened.pop()
            if CLOSING[start] != token.text:
                raise unreadable(text, f"'{start}' is closed by '{token.text}'.")
    if opened:
        raise unreadable(text, f"the parenthesis '{opened[-1]}' is not closed.")


def spaced(words: Iterable[tuple[str, str]]) -> str:
    """Return tokens, as pairs of kind and text, joined with patsy's spacing.

    >>> spaced([("name", "I"), ("open", "("), ("name", "x"), ("op", "**"), ("number", "2"), ("close", ")")])
    'I(x ** 2)'
    """
    out: list[str] = []
    brackets: list[str] = []
    wants_space = delimited = after_open = object_like = False
    for kind, text in words:
        word = kind in ("name", "number", "string", "quoted")
        if word:
            if wants_space or delimited:
                out.append(" ")
            wants_space, delimited = False, True
        else:
            if kind == "open":
                brackets.append(text)
            elif kind == "close" and brackets:
                brackets.pop()
            before, after = text in _SPACE_BEFORE, text in _SPACE_AFTER
            if text == ":" and brackets and brackets[-1] == "[":
                after = False
            if (text in ("*", "**") and after_open) or (text in ("+", "-") and not object_like):
                before = after = False
            if wants_space or before:
                out.append(" ")
            wants_space, delimited = after, False
        out.append(text)
        object_like = word or text == ")"
        after_open = text in ("(", ",")
    return "".join(out)
