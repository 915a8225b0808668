"""A reader that computes the factors of a formula without executing code.

It walks the syntax tree of one expression over columns. Live and loaded formulas go the same way, so that predictions
after loading are those before to the last bit; a loaded formula may hold only what `saveable` finds no fault with.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import FormulaError, InputError, number_of
from qreg_boost.base.functions import FUNCTIONS, divide_whole, logic, multiply, numpy_named, power
from qreg_boost.base.patsy_door import CONTRASTS, TRANSFORMS, foreign_transform
from qreg_boost.base.transforms import Transform

KNOWN = frozenset([*FUNCTIONS, *TRANSFORMS])
CODING = frozenset(["C", "factor"])
MISSING_AWARE = frozenset(["isnan", "isfinite", "nan_to_num", "isna", "isnull", "notna", "notnull", "fillna"])
LONGEST = 20_000  # characters of one factor; far above what a person writes, far below what the parser cannot take

BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: divide_whole(operator.floordiv),
    ast.Mod: divide_whole(operator.mod),
    ast.Pow: power,
    ast.BitAnd: logic(operator.and_, "&"),
    ast.BitOr: logic(operator.or_, "|"),
    ast.BitXor: logic(operator.xor, "^"),
}
UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: np.logical_not,
}
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: np.isin(left, list(right)),
    ast.NotIn: lambda left, right: ~np.isin(left, list(right)),
}


@dataclass(frozen=True)
class Expression:
    """One factor ready to be computed: code and label, tree, the columns it uses, what its transforms have learned."""

    code: str
    label: str
    tree: ast.expr
    columns: tuple[str, ...]
    constants: Mapping[str, Any]
    transforms: dict[int, Transform] = field(default_factory=dict)  # by position of the call, filled by fitting
    positions: dict[int, int] = field(default_factory=dict)  # id of a call's node to its position

    @classmethod
    def read(cls, code: str, label: str, columns: tuple[str, ...], constants: Mapping[str, Any]) -> Expression:
        """Return the expression behind `code`; raises `FormulaError` if it is not Python's grammar."""
        if len(code) > LONGEST:
            raise FormulaError(f"A factor of {len(code)} characters is too long (at most {LONGEST}).")
        try:
            tree = ast.parse(code.strip(), mode="eval").body
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise FormulaError(f"'{label}' is not an expression that can be read.") from None
        held = {name: constants[name] for name in _names(tree) if name in constants}
        return cls(code, label, tree, columns, held, {}, {id(call): i for i, call in enumerate(calls)})

    @property
    def own(self) -> bool:
        """Return True if the expression calls functions of the user's."""
        return any(callable(value) for value in self.constants.values())

    @property
    def across(self) -> bool:
        """Return True if a row's value may depend on other rows.

        So it may with methods of columns (``x.shift(1)``) and functions of the user's. Such an expression is computed
        on all rows of the data, before any is left out.
        """
        methods = (node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute))
        return self.own or any(numpy_path(node) is None for node in methods)

    def counted(self) -> set[str]:
        """Return the columns whose missing values make a row missing.

        Left out are those that only a function of missing values reads, and all of an expression across rows: there the
        values that come out missing count.
        """
        found: set[str] = set()
        if not self.across:
            _collect_counted(self.tree, set(self.columns), found)
        return found

    def compute(
        self,
        columns: Mapping[str, Any],
        n: int,
        *,
        learn: np.ndarray | None = None,
        wanted: np.ndarray | None = None,
        coding: bool = False,
        index: pd.Index | None = None,
    ) -> Any:
        """Return the value on `n` rows of columns.

        Parameters
        ----------
        columns : mapping of safe name to (n,) values
        n : int
        learn : (n,) bool array, optional
            The rows that stateful transforms learn from first; None to use what they have learned.
        wanted : (n,) bool array, optional
            The rows that stateful transforms are asked for; the others get NaN.
        coding : bool
            Whether the levels and contrasts of ``C()`` are wanted too.
        index : Index, optional
            The rows' labels, for methods of columns and functions of the user's.
        """
        reader = _Reader(self, columns, n, learn, wanted, coding, index)
        try:
            with np.errstate(all="ignore"):
                return reader.value(self.tree)
        except InputError as error:
            text = str(error)
            raise type(error)(text if f"'{self.label}'" in text else f"'{self.label}': {text}") from None
        except RecursionError:
            raise InputError(f"'{self.label}' is nested too deeply.") from None
        except Exception as error:
            said = str(error).strip().splitlines() or [""]
            if isinstance(error, TypeError) and not self.own and any(_not_numbers(columns[c]) for c in self.columns):
                said = ["it needs numbers, but a column of it holds text or categories."]
            kind = "" if isinstance(error, (ValueError, TypeError)) else f"{type(error).__name__}: "
            raise InputError(f"'{self.label}' cannot be computed: {kind}{said[0]}") from (error if self.own else None)


def _not_numbers(values: Any) -> bool:
    return not isinstance(values, np.ndarray) or values.dtype == object


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _collect_counted(node: ast.AST, columns: set[str], found: set[str]) -> None:
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in MISSING_AWARE:
            return
    if isinstance(node, ast.Name) and node.id in columns:
        found.add(node.id)
    for child in ast.iter_child_nodes(node):
        _collect_counted(child, columns, found)


class _Reader:
    """One computation of an expression."""

    def __init__(
        self,
        expression: Expression,
        columns: Mapping[str, Any],
        n: int,
        learn: np.ndarray | None,
        wanted: np.ndarray | None,
        coding: bool,
        index: pd.Index | None,
    ) -> None:
        self.expression = expression
        self.columns = columns
        self.n = n
        self.learn = learn
        self.wanted = wanted
        self.coding = coding
        self.index = index

    def value(self, node: ast.expr) -> Any:
        kind = type(node).__name__.lower()
        method = getattr(self, f"_{kind}", None)
        if method is None:
            words = {"lambda": "a lambda", "listcomp": "a comprehension", "generatorexp": "a comprehension"}
            raise FormulaError(
                f"{words.get(kind, type(node).__name__)} cannot be used in a formula; make it a function or a column."
            )
        return method(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.columns:
            return self.columns[node.id]
        if node.id in self.expression.constants:
            return self.expression.constants[node.id]
        if node.id in CONTRASTS:
            return CONTRASTS[node.id]
        raise FormulaError(f"{node.id!r} is not known.")

    def _binop(self, node: ast.BinOp) -> Any:
        if type(node.op) not in BINARY:
            raise FormulaError(f"the operator {type(node.op).__name__} cannot be used in a formula.")
        left, right = (self._plain(self.value(side)) for side in (node.left, node.right))
        if isinstance(left, (str, list, tuple)) and isinstance(right, (str, list, tuple, int)):
            raise InputError("arithmetic on text or lists has no meaning here.")
        return BINARY[type(node.op)](left, right)

    @staticmethod
    def _plain(value: Any) -> Any:
        """Return the values of a Categorical, whose own comparisons and sums are too strict."""
        return np.asarray(value, dtype=object) if isinstance(value, pd.Categorical) else value

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return UNARY[type(node.op)](self.value(node.operand))

    def _boolop(self, node: ast.BoolOp) -> Any:
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        result = self.value(node.values[0])
        for other in node.values[1:]:
            result = combine(result, self.value(other))
        return result

    def _compare(self, node: ast.Compare) -> Any:
        result: Any = None
        left = self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            if type(op) not in COMPARE:
                raise FormulaError("`is` compares objects, not values; write ==.")
            ordered = isinstance(left, pd.Categorical) and left.ordered and not isinstance(op, (ast.In, ast.NotIn))
            sides = (left, right) if ordered else (self._plain(left), self._plain(right))
            outcome = COMPARE[type(op)](*sides)
            result = outcome if result is None else np.logical_and(result, outcome)
            left = right
        return result

    def _list(self, node: ast.List) -> list[Any]:
        return [self.value(item) for item in node.elts]

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in node.elts)

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        return {self.value(k): self.value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None}

    def _ifexp(self, node: ast.IfExp) -> Any:
        raise FormulaError("`a if b else c` is not computed by row; write np.where(b, a, c).")

    def _subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def _slice(self, node: ast.Slice) -> slice:
        parts = [None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
        return slice(*parts)

    def _attribute(self, node: ast.Attribute) -> Any:
        path = numpy_path(node)
        if path is not None:
            return numpy_named(path)
        return getattr(self._series(self.value(node.value)), node.attr)

    def _call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in CODING and not self.coding:
            node = ast.copy_location(ast.Call(node.func, *data_argument(node)), node)
        position = self.expression.positions.get(id(node), -1)
        if name in TRANSFORMS:
            return self._stateful(node, position, TRANSFORMS[name])
        function = FUNCTIONS[name] if name in FUNCTIONS else self.value(node.func)
        if name not in FUNCTIONS and foreign_transform(function) is not None:
            return self._stateful(node, position, lambda: foreign_transform(function))
        arguments, keywords = self._arguments(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.expression.constants:
            arguments = [self._series(argument) for argument in arguments]
            keywords = {key: self._series(argument) for key, argument in keywords.items()}
        return function(*arguments, **keywords)

    def _series(self, value: Any) -> Any:
        """Return one value per row as a Series of its own, which may be changed and knows the rows' labels."""
        if isinstance(value, (np.ndarray, pd.Categorical)) and value.ndim == 1 and len(value) == self.n:
            return pd.Series(value.copy(), index=self.index)
        return value

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments.extend(self.value(argument.value))
            else:
                arguments.append(self.value(argument))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                keywords.update(self.value(keyword.value))
            else:
                keywords[keyword.arg] = self.value(keyword.value)
        return arguments, keywords

    def _stateful(self, node: ast.Call, position: int, make: Callable[[], Any]) -> Any:
        """Compute a stateful transform where its arguments are complete; the other rows get NaN."""
        given, named = self._arguments(node)
        rowwise = [self._by_row(a, v) for a, v in zip(node.args, given, strict=False)]
        rowwise += [False] * (len(given) - len(rowwise))
        rowwise_named = {k.arg: self._by_row(k.value, named[k.arg]) for k in node.keywords if k.arg is not None}
        complete = np.ones(self.n, dtype=bool) if self.wanted is None else self.wanted.copy()
        for array in [
            *(np.asarray(value) for value, by_row in zip(given, rowwise, strict=True) if by_row),
            *(np.asarray(named[key]) for key, by_row in rowwise_named.items() if by_row),
        ]:
            if array.dtype.kind == "f":
                complete &= ~np.isnan(array.reshape(self.n, -1)).any(axis=1)
                self._refuse_infinite(array, node)

        def part(rows: np.ndarray) -> tuple[list[Any], dict[str, Any]]:
            if rows.all():
                return given, named
            some = [value[rows] if by_row else value for value, by_row in zip(given, rowwise, strict=True)]
            return some, {key: value[rows] if rowwise_named.get(key) else value for key, value in named.items()}

        if self.learn is not None:
            learn = complete & self.learn
            if not learn.any():
                raise InputError("there is no complete row to learn from.")
            transform = make()
            arguments, keywords = part(learn)
            transform.fit(*arguments, **keywords)
            self.expression.transforms[position] = transform
        arguments, keywords = part(complete)
        transform = self.expression.transforms[position]
        if complete.all():
            return transform.transform(*arguments, **keywords)
        if not complete.any():
            return np.full(self.n, np.nan)
        values = np.asarray(transform.transform(*arguments, **keywords), dtype=np.float64)
        out = np.full((self.n, *values.shape[1:]), np.nan)
        out[complete] = values
        return out

    def _refuse_infinite(self, array: np.ndarray, node: ast.Call) -> None:
        rows = slice(None) if self.wanted is None else self.wanted
        count = int(np.isinf(array[rows]).sum())
        if count:
            raise InputError(f"{ast.unparse(node.func)}() is given {number_of(count, 'infinite value')}.")

    def _by_row(self, node: ast.expr, value: Any) -> bool:
        used = _names(node) & set(self.expression.columns)
        return bool(used) and np.ndim(value) > 0 and len(value) == self.n


def data_argument(node: ast.Call) -> tuple[list[ast.expr], list[ast.keyword]]:
    """Return the first argument of ``C()`` alone: levels and contrasts are settled when the formula is first coded."""
    return node.args[:1], [k for k in node.keywords if k.arg == "data"]


def numpy_path(node: ast.expr) -> str | None:
    """Return the dotted path after ``np.``, or None if the expression is something else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id == "np" and parts:
        return ".".join(reversed(parts))
    return None
