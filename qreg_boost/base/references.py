"""What a name in a formula refers to: a column, a function, or a value of the caller's.

Columns come from the data and nowhere else. Only names in call position and names inside keyword arguments may come
from the caller, so that a misspelt column never finds a variable that happens to be around.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qreg_boost.base.checks import FormulaError, listed, nearest
from qreg_boost.base.tokens import Token, shown, unreadable

CONTRASTS = ("Treatment", "Poly", "Sum", "Helmert", "Diff", "ContrastMatrix")
CONTRASTS_OF_R = {
    "contr.treatment": "Treatment",
    "contr.sum": "Sum",
    "contr.helmert": "Helmert",
    "contr.poly": "Poly",
    "contr.SAS": "Treatment(-1)",
}
CATEGORICAL = ("C", "factor")
OPTIONS = frozenset([*CATEGORICAL, "bs", "cr", "cc", "te", "poly", "center", "scale", "standardize"])
CONSTANTS = {"True": "True", "False": "False", "None": "None", "TRUE": "True", "FALSE": "False", "NULL": "None"}
KEYWORDS = frozenset(["in", "is", "not", "and", "or", "if", "else"])
RENAMED = {"^": "**", "%%": "%", "%/%": "//", "&&": "&", "||": "|"}
PYTHON = ("len", "int", "float", "bool", "str", "list", "tuple", "dict", "range", "min", "max", "sum", "pow", "divmod")
R_ONLY = {
    "offset": "an offset is an argument of the functions that take one: leave it out of the formula and pass offset=, "
    "a column name or an array",
    "as.factor": "write C({args}) or factor({args})",
    "as.ordered": "write C({args}), or make the column an ordered categorical",
    "ordered": "write C({args}), or make the column an ordered categorical",
    "as.numeric": "convert the column in `data` first, for example with pandas.to_numeric",
    "as.integer": "convert the column in `data` first, for example with astype(int)",
    "ifelse": "write np.where(condition, a, b)",
    "is.na": "write np.isnan({args})",
    "relevel": "write C(g, Treatment('b')) for a factor g with reference level b",
    "cut": "make the classes in `data` first, with pandas.cut",
    "interaction": "write a:b",
    "ns": "write cr(x, df=5) for ns(x, 4): a natural cubic spline that holds the constant too, hence df + 1",
    "s": "write bs({first}, df=5) or cr({first}, df=5)",
    "bbs": "it is a learner here: write {first} and pass learner={{'{first}': 'spline'}}",
    "bols": "it is the usual learner here: write {args}",
    "btree": "it is a learner here: write the columns, joined by +, and pass learner='tree'",
    "qss": "write bs({first}, df=5) or cr({first}, df=5)",
    "cbind": "fit one model for each response",
    "strata": "strata have no meaning here",
    "lag": "make the lagged column in `data` first, with shift()",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """One word of a factor: its code for the reader, and what is shown."""

    kind: str
    code: str
    shown: str


@dataclass(frozen=True, slots=True)
class Column(Piece):
    """A column reference; ``code`` starts with `safe`, and attributes may follow."""

    safe: str = ""


@dataclass
class _Frame:
    """An open bracket: the function it belongs to, the number of the argument, whether inside a keyword's value."""

    function: str = ""
    argument: int = 0
    keyword: bool = False
    inherited: bool = False


@dataclass
class References:
    """The names of one formula. `used` maps safe names to column labels, `constants` to values of the caller's."""

    text: str
    columns: Iterable[Hashable]
    functions: Iterable[str]
    env: Mapping[str, Any] | None
    used: dict[str, Hashable] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = frozenset(self.functions)
        self.by_name: dict[str, Hashable] = {}
        self._repeated: set[str] = set()
        for column in self.columns:
            name = str(column)
            if name in self.by_name:
                self._repeated.add(name)
            self.by_name[name] = column
        self._safe: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._expanded: set[str] = set()

    def has(self, name: str) -> bool:
        """Return True if a column has that name."""
        return name in self.by_name

    def name_of(self, safe: str) -> str:
        """Return the column name behind a safe name."""
        return str(self.used[safe])

    def label(self, piece: Piece) -> str:
        """Return what is shown for a word; a column that the dot brought in is shown by its bare name."""
        if not isinstance(piece, Column):
            return piece.shown
        name = self.name_of(piece.safe)
        shown = name if piece.safe in self._expanded else self._written.get(piece.safe, name)
        return shown + piece.code[len(piece.safe) :]

    def expand_dot(self, leave_out: set[str]) -> Iterator[Column]:
        """Yield every column but those to leave out, in the order of the data."""
        for name in self.by_name:
            if name not in leave_out:
                piece = self._column(name, None)
                self._expanded.add(piece.safe)
                yield piece

    def resolve(self, tokens: Sequence[Token]) -> list[Piece]:
        """Return the words of one factor with all names resolved."""
        words: list[Piece] = []
        frames = [_Frame()]
        position = 0
        while position < len(tokens):
            token = tokens[position]
            following = tokens[position + 1] if position + 1 < len(tokens) else None
            if token.text == "Q" and following is not None and following.text == "(" and token.kind == "name":
                piece, taken = self._quoted(tokens, position)
                words.append(piece)
                position += taken
                continue
            words.append(self._word(token, following, tokens[position - 1] if position else None, frames))
            self._track(token, tokens[position - 1] if position else None, frames)
            position += 1
        return words

    def _track(self, token: Token, before: Token | None, frames: list[_Frame]) -> None:
        top = frames[-1]
        if token.kind == "open":
            call = before is not None and before.kind in ("name", "close", "quoted") and token.text == "("
            function = before.text if call and before is not None and before.kind == "name" else ""
            inside = top.keyword or top.inherited
            frames.append(_Frame(function if call else top.function, 0 if call else top.argument, False, inside))
        elif token.kind == "close":
            frames.pop()
        elif token.text == "," and token.kind == "op":
            top.argument, top.keyword = top.argument + 1, False
        elif token.text == "=" and token.kind == "op":
            if len(frames) == 1:
                raise unreadable(self.text, "a single '=' has no meaning here; compare with '=='.")
            top.keyword = True

    def _word(self, token: Token, following: Token | None, before: Token | None, frames: list[_Frame]) -> Piece:
        if token.kind == "quoted":
            return self._column(token.text, token.text)
        if token.kind == "dot":
            raise unreadable(
                self.text,
                "the dot stands for all other columns and cannot be used inside an expression; name the column.",
            )
        if token.kind == "op":
            return self._operator(token)
        if token.kind != "name" or (before is not None and before.text == "."):
            return Piece(token.kind, token.text, token.text)
        if following is not None and following.text == "(" and not self._is_operator(token, following, before):
            return self._function(token, following)
        if following is not None and following.kind == "string" and following.start == token.end:
            raise unreadable(self.text, f"the string prefix {token.text!r} has no meaning in a formula.")
        if following is not None and following.text == "=" and len(frames) > 1:
            return Piece("name", token.text, token.text)
        if self._is_operator(token, following, before):
            return Piece("name", token.text, token.text)
        return self._value(token.text, frames[-1], len(frames) > 1)

    def _operator(self, token: Token) -> Piece:
        if token.text == "%in%":
            raise unreadable(self.text, "`%in%` is R's nesting; write a:b, or a/b for a + a:b.")
        if token.text == "!":
            raise unreadable(self.text, "'!' is R's negation; write ~ inside I(), for example I(~b).")
        code = RENAMED.get(token.text, token.text)
        return Piece("op", code, code)

    def _is_operator(self, token: Token, following: Token | None, before: Token | None) -> bool:
        """Tell Python's word operators from columns that are named like them."""
        if token.text not in KEYWORDS:
            return False
        after_operand = (
            before is not None and (before.kind == "close" or before.operand) and before.text not in KEYWORDS
        )
        if token.text == "not":
            return following is not None and (following.operand or following.kind == "open")
        return after_operand

    def _value(self, name: str, frame: _Frame, inside: bool) -> Piece:
        coding = frame.function in CATEGORICAL and (frame.argument > 0 or frame.keyword)
        if coding and name in CONTRASTS:
            return Piece("name", name, name)
        if name in CONSTANTS and (inside or name not in self.by_name):
            return Piece("name", CONSTANTS[name], CONSTANTS[name])
        keyword = frame.keyword or frame.inherited
        if coding and self._in_env(name):
            return self._constant(name, self._look_up(name))
        if self._numpy_value(name):
            return self._attribute(name)
        if (piece := self._column_run(name)) is not None:
            return piece
        head = name.split(".")[0]
        if (head in ("np", "numpy") or isinstance((self.env or {}).get(head), types.ModuleType)) and "." in name:
            return self._attribute(name)
        if keyword and self._in_env(name):
            return self._constant(name, self._look_up(name))
        if name in ("lambda", "for"):
            raise unreadable(
                self.text, "lambda and comprehensions cannot be used; name a function of your own, or make a column."
            )
        if inside and name in ("int", "float", "str", "bool"):
            return self._constant(name, getattr(builtins, name))
        if name in CONTRASTS_OF_R:
            ours = CONTRASTS_OF_R[name]
            raise FormulaError(f"'{name}' in \"{shown(self.text)}\" is R's; write {ours}, as in C(g, {ours}).")
        if inside and name == "pi":
            return Piece("name", "np.pi", "pi")
        raise self.unknown(name, inside, self._takes_options(frame))

    def _numpy_value(self, name: str) -> bool:
        """Tell numpy's ``np.pi`` from an attribute of a column that is named ``np``."""
        head, _, attribute = name.partition(".")
        return head == "np" and name not in self.by_name and attribute in ("pi", "e", "inf", "nan", "newaxis")

    def _column_run(self, name: str) -> Column | None:
        """Return the longest column name that starts a dotted run, what follows it being attributes."""
        if name in self.by_name:
            return self._column(name, name)
        parts = name.split(".")
        for length in range(len(parts) - 1, 0, -1):
            stem = ".".join(parts[:length])
            if stem in self.by_name and all(part.isidentifier() for part in parts[length:]):
                return self._column(stem, stem, name[len(stem) :])
        return None

    def _column(self, name: str, written: str | None, attributes: str = "") -> Column:
        if name not in self.by_name:
            raise self.unknown(name)
        if name in self._repeated:
            raise FormulaError(
                f'Column {name!r} in "{shown(self.text)}" occurs more than once in `data`; rename the columns.'
            )
        safe = self._safe.get(name)
        if safe is None:
            safe = f"_qb{len(self._safe) + len(self.constants)}_"
            self._safe[name] = safe
            self.used[safe] = self.by_name[name]
        if written is not None:
            self._written.setdefault(safe, written)
        return Column("name", safe + attributes, name + attributes, safe)

    def _quoted(self, tokens: Sequence[Token], position: int) -> tuple[Column, int]:
        inner = tokens[position + 2 : position + 4]
        if len(inner) != 2 or inner[0].kind not in ("string", "number") or inner[1].text != ")":
            raise unreadable(self.text, "Q() takes the name of one column in quotes, for example Q('my col').")
        name = _unquote(inner[0].text) if inner[0].kind == "string" else inner[0].text
        return self._column(name, f"Q({inner[0].text})"), 4

    def _in_env(self, name: str) -> bool:
        return self.env is not None and name.split(".")[0] in self.env

    def _look_up(self, name: str) -> Any:
        """Return what a dotted name of the caller's stands for."""
        assert self.env is not None
        head, *rest = name.split(".")
        value = self.env[head]
        for attribute in rest:
            if not hasattr(value, attribute):
                raise FormulaError(f"'{name}' in \"{shown(self.text)}\": {head!r} has no {attribute!r}.")
            value = getattr(value, attribute)
        return value

    def _constant(self, name: str, value: Any) -> Piece:
        for known, held in self.constants.items():
            if held is value:
                return Piece("name", known, name)
        safe = f"_qb{len(self._safe) + len(self.constants)}_"
        self.constants[safe] = value
        return Piece("name", safe, name)

    def _attribute(self, name: str) -> Piece:
        head, *rest = name.split(".")
        if head not in ("np", "numpy"):
            return self._constant(name, self._look_up(name))
        value: Any = np
        for attribute in rest:
            if not hasattr(value, attribute):
                raise FormulaError(
                    f"'{name}' in \"{shown(self.text)}\": numpy has no {attribute!r}.{nearest(attribute, dir(value))}"
                )
            value = getattr(value, attribute)
        return Piece("name", ".".join(["np", *rest]), name)

    def _function(self, token: Token, following: Token) -> Piece:
        name = token.text
        if name in CONTRASTS or (name in self.functions and not self._overridden(name)):
            return Piece("name", name, name)
        head = name.split(".")[0]
        if head in ("np", "numpy") and "." in name:
            return self._attribute(name)
        module = self.env is not None and isinstance(self.env.get(head), types.ModuleType)
        if "." in name and not module and (piece := self._column_run(name)) is not None and piece.code != piece.safe:
            return piece
        if self._in_env(name) and callable(value := self._look_up(name)):
            return self._imported(name, value) or self._constant(name, value)
        if name in R_ONLY:
            end = self.text.find(")", following.end)
            args = self.text[following.end : end]
            advice = R_ONLY[name].format(args=args, first=args.partition(",")[0].strip())
            raise FormulaError(f"'{name}()' in \"{shown(self.text)}\" is R's; {advice}.")
        if name in PYTHON:
            return self._constant(name, getattr(builtins, name))
        raise self._unknown_function(name, token, following)

    def _imported(self, name: str, value: Any) -> Piece | None:
        """Return numpy's or patsy's function that the caller imported under some name, or numpy's for one of math's."""
        own = getattr(value, "__name__", "")
        module = (getattr(value, "__module__", None) or "").split(".")[0]
        if module == "patsy" and own.lower() in self.functions:
            return Piece("name", own.lower(), name)
        if getattr(np, own, None) is value or (module == "math" and isinstance(getattr(np, own, None), np.ufunc)):
            return Piece("name", f"np.{own}", name)
        return None

    def _overridden(self, name: str) -> bool:
        """Return True if the caller defines a function of that name; one of numpy, math or patsy does not count."""
        value = (self.env or {}).get(name)
        if not isinstance(value, types.FunctionType):
            return False
        origin = (getattr(value, "__module__", None) or "").split(".")[0]
        return origin not in ("numpy", "math", "patsy", "scipy", "sympy", "pandas", "qreg_boost")

    def _unknown_function(self, name: str, token: Token, following: Token) -> FormulaError:
        if self.has(name):
            gap = " " if following.start > token.end else ""
            return unreadable(
                self.text, f"'{name}{gap}(' calls the column {name!r}; an operator is missing between '{name}' and '('."
            )
        last = name.split(".")[-1]
        hint = f" numpy's is np.{last}()." if callable(getattr(np, last, None)) else nearest(name, self.functions)
        return FormulaError(
            f"Function '{name}' in \"{shown(self.text)}\" is not known.{hint} "
            "Besides patsy's, R's and numpy's, functions come from where you call; import or define it there."
        )

    def _takes_options(self, frame: _Frame) -> bool:
        """Tell where an option may stand: after the data of a spline, a coding or a function of the caller's."""
        name = frame.function
        own = name not in self.functions and name.split(".")[0] not in ("np", "numpy") and self._in_env(name)
        return frame.argument > 0 and (own or name in OPTIONS)

    def unknown(self, name: str, inside: bool = False, options: bool = False) -> FormulaError:
        """Return the error for a name that no column has."""
        hint = nearest(name, self.by_name)
        message = f'Column {name!r} in "{shown(self.text)}" is not in `data`.{hint} Columns: {listed(self.by_name)}.'
        if self._in_env(name) and name.isidentifier():
            message += f" A variable {name!r} exists where you call from, but columns come from `data` only"
            if options:
                message += "; pass it by keyword, as in knots=my_knots."
            else:
                message += ": write the number, or make the column in `data`." if inside else "."
        return FormulaError(message)


def _unquote(literal: str) -> str:
    """Return the text of a quoted string; the escapes are Python's for quotes and backslashes."""
    body = literal[1:-1]
    return body.replace("\\\\", "\0").replace("\\'", "'").replace('\\"', '"').replace("\0", "\\")
