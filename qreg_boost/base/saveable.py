"""What of an expression may be saved, and so loaded: a list of allowed things, nothing else."""

from __future__ import annotations

import ast

from qreg_boost.base.functions import SAVEABLE_NUMPY
from qreg_boost.base.patsy_door import TRANSFORMS
from qreg_boost.base.reader import BINARY, CODING, KNOWN, Expression, data_argument, numpy_path


def not_saveable(expression: Expression) -> str | None:
    """Return what in an expression cannot be saved or loaded, or None if all of it can.

    Saveable are columns, numbers, strings, lists, arithmetic, comparisons, logic, patsy's and R's functions known here,
    and the numpy functions in `SAVEABLE_NUMPY`.
    """
    return _fault(expression.tree, expression)


def _fault(node: ast.AST, expression: Expression) -> str | None:
    if isinstance(node, ast.Constant):
        fine = node.value is None or isinstance(node.value, (bool, int, float, str))
        return None if fine else repr(node.value)
    if isinstance(node, ast.Name):
        return _name_fault(node.id, expression)
    if isinstance(node, ast.Attribute):
        path = numpy_path(node)
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
        arguments, keywords = data_argument(node)
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
        arguments, keywords = data_argument(node)
        for item in (*arguments, *(keyword.value for keyword in keywords)):
            _collect_evaluated(item, found)
        return
    for child in ast.iter_child_nodes(node):
        _collect_evaluated(child, found)


def stateful_calls(expression: Expression) -> dict[int, str]:
    """Return the positions of the calls of known stateful transforms, and their names."""
    calls = [node for node in ast.walk(expression.tree) if isinstance(node, ast.Call)]
    return {
        i: call.func.id
        for i, call in enumerate(calls)
        if isinstance(call.func, ast.Name) and call.func.id in TRANSFORMS
    }
