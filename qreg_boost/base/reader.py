"""A reader that computes the factors of a formula without executing code.

It walks the syntax tree of one expression over columns. Live and loaded formulas go the same way, so that predictions after
loading are those before to the last bit; a loaded formula may hold only what `not_saveable` finds no fault with.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import FormulaError, InputError
from qreg_boost.base.functions import FUNCTIONS, SAVEABLE_NUMPY, divide_whole, multiply, numpy_named, power
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
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
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
    """One factor ready to be computed: its code and label, its tree, the columns it uses, what its transforms have learned."""

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

    def counted(self) -> set[str]:
        """Return the columns whose missing values make a row missing: all but those that a function of missing values reads."""
        found: set[str] = set()
        _collect_counted(self.tree, set(self.columns), found)
        return found

    def compute(self, columns: Mapping[str, Any], n: int, *, fit: bool = False, coding: bool = False) -> Any:
        """Return the value on `n` rows of columns.

        Parameters
        ----------
        columns : mapping of safe name to (n,) values
        n : int
        fit : bool
            Whether stateful transforms learn from these rows first.
        coding : bool
            Whether the levels and contrasts of ``C()`` are wanted too.
        """
        reader = _Reader(self, columns, n, fit, coding)
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
            kind = "" if isinstance(error, (ValueError, TypeError)) else f"{type(error).__name__}: "
            raise InputError(f"'{self.label}' cannot be computed: {kind}{said[0]}") from (error if self.own else None)


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

    def __init__(self, expression: Expression, columns: Mapping[str, Any], n: int, fit: bool, coding: bool) -> None:
        self.expression = expression
        self.columns = columns
        self.n = n
        self.fit = fit
        self.coding = coding

    def value(self, node: ast.expr) -> Any:
        kind = type(node).__name__.lower()
        method = getattr(self, f"_{kind}", None)
        if method is None:
            words = {"lambda": "a lambda", "listcomp": "a comprehension", "generatorexp": "a comprehension"}
            raise FormulaError(f"{words.get(kind, type(node).__name__)} cannot be used in a formula; make it a function or a column.")
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
        path = _numpy_path(node)
        if path is not None and "np" not in self.columns:
            return numpy_named(path)
        value = self.value(node.value)
        if isinstance(node.value, ast.Name) and node.value.id in self.columns:
            value = pd.Series(value)
        return getattr(value, node.attr)

    def _call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in CODING and not self.coding:
            node = ast.copy_location(ast.Call(node.func, *_data_argument(node)), node)
        position = self.expression.positions.get(id(node), -1)
        if name in TRANSFORMS:
            return self._stateful(node, position, TRANSFORMS[name])
        function = FUNCTIONS[name] if name in FUNCTIONS else self.value(node.func)
        if name not in FUNCTIONS and foreign_transform(function) is not None:
            return self._stateful(node, position, lambda: foreign_transform(function))
        arguments, keywords = self._arguments(node)
        if name not in FUNCTIONS and name not in CONTRASTS and not isinstance(function, np.ufunc):
            arguments = [_writeable(argument) for argument in arguments]
        return function(*arguments, **keywords)

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
        """Compute a stateful transform on the complete rows of its arguments; the other rows get NaN."""
        arguments, keywords = self._arguments(node)
        rowwise = [self._by_row(a, v) for a, v in zip(node.args, arguments, strict=False)]
        named = {k.arg: self._by_row(k.value, keywords[k.arg]) for k in node.keywords if k.arg is not None}
        complete = np.ones(self.n, dtype=bool)
        for by_row, value in [*zip(rowwise, arguments, strict=True), *((named[k], keywords[k]) for k in named)]:
            if by_row:
                array = np.asarray(value)
                if array.dtype.kind == "f":
                    complete &= ~np.isnan(array.reshape(self.n, -1)).any(axis=1)
                    if self.fit and np.isinf(array).any():
                        raise InputError(f"'{ast.unparse(node.func)}()' is given {int(np.isinf(array).sum())} infinite values.")
        if not complete.all():
            arguments = [v[complete] if by_row else v for by_row, v in zip(rowwise, arguments, strict=True)]
            keywords = {k: v[complete] if named.get(k) else v for k, v in keywords.items()}
        if self.fit:
            transform = make()
            if not complete.any():
                raise InputError("no row is complete.")
            transform.fit(*arguments, **keywords)
            self.expression.transforms[position] = transform
        transform = self.expression.transforms[position]
        if complete.all():
            return transform.transform(*arguments, **keywords)
        return self._scattered(transform, arguments, keywords, complete)

    def _scattered(self, transform: Any, arguments: list[Any], keywords: dict[str, Any], complete: np.ndarray) -> np.ndarray:
        if not complete.any():
            return np.full(self.n, np.nan)
        values = np.asarray(transform.transform(*arguments, **keywords), dtype=np.float64)
        out = np.full((self.n, *values.shape[1:]), np.nan)
        out[complete] = values
        return out

    def _by_row(self, node: ast.expr, value: Any) -> bool:
        used = _names(node) & set(self.expression.columns)
        return bool(used) and np.ndim(value) > 0 and len(value) == self.n


def _writeable(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


def _data_argument(node: ast.Call) -> tuple[list[ast.expr], list[ast.keyword]]:
    """Return the first argument of ``C()`` alone: levels and contrasts are settled when the formula is first coded."""
    return node.args[:1], [k for k in node.keywords if k.arg == "data"]


def _numpy_path(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id == "np" and parts:
        return ".".join(reversed(parts))
    return None


def not_saveable(expression: Expression) -> str | None:
    """Return what in an expression cannot be saved or loaded, or None if all of it can.

    Saveable are columns, numbers, strings, lists, arithmetic, comparisons, logic, patsy's and R's functions known here, and
    the numpy functions in `SAVEABLE_NUMPY`.
    """
    return _fault(expression.tree, expression)


def _fault(node: ast.AST, expression: Expression) -> str | None:
    if isinstance(node, ast.Constant):
        fine = node.value is None or isinstance(node.value, (bool, int, float, str))
        return None if fine else repr(node.value)
    if isinstance(node, ast.Name):
        return _name_fault(node.id, expression)
    if isinstance(node, ast.Attribute):
        path = _numpy_path(node)
        return None if path in SAVEABLE_NUMPY else ast.unparse(node)
    if isinstance(node, ast.Call):
        return _call_fault(node, expression)
    if isinstance(node, ast.BinOp) and type(node.op) not in BINARY:
        return type(node.op).__name__
    if not isinstance(
        node,
        (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.List, ast.Tuple, ast.Subscript, ast.Slice,
         ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
    ):  # fmt: skip
        return ast.unparse(node)
    return next((fault for child in ast.iter_child_nodes(node) if (fault := _fault(child, expression))), None)


def _name_fault(name: str, expression: Expression) -> str | None:
    if name in expression.columns:
        return None
    if name in expression.constants:
        value = expression.constants[name]
        return f"the function {getattr(value, '__name__', value)!r}" if callable(value) else None
    return name


def _call_fault(node: ast.Call, expression: Expression) -> str | None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in CODING:
        arguments, keywords = _data_argument(node)
    elif name in KNOWN:
        arguments, keywords = node.args, node.keywords
    elif (fault := _fault(node.func, expression)) is not None:
        return fault
    else:
        arguments, keywords = node.args, node.keywords
    if any(keyword.arg is None or keyword.arg == "out" for keyword in keywords):
        return ast.unparse(node)
    inside: list[ast.AST] = [*arguments, *(keyword.value for keyword in keywords)]
    return next((fault for item in inside if (fault := _fault(item, expression))), None)


def evaluated_names(expression: Expression) -> set[str]:
    """Return the names that computing needs: all but those in the levels and contrasts of ``C()``."""
    found: set[str] = set()
    _collect_evaluated(expression.tree, found)
    return found


def _collect_evaluated(node: ast.AST, found: set[str]) -> None:
    if isinstance(node, ast.Name):
        found.add(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CODING:
        arguments, keywords = _data_argument(node)
        for item in (*arguments, *(keyword.value for keyword in keywords)):
            _collect_evaluated(item, found)
        return
    for child in ast.iter_child_nodes(node):
        _collect_evaluated(child, found)


def stateful_calls(expression: Expression) -> dict[int, str]:
    """Return the positions of the calls of known stateful transforms, and their names."""
    calls = [node for node in ast.walk(expression.tree) if isinstance(node, ast.Call)]
    return {
        i: call.func.id for i, call in enumerate(calls) if isinstance(call.func, ast.Name) and call.func.id in TRANSFORMS
    }
