"""The functions a formula may always call, and those of numpy that a saved formula may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError

SAVEABLE_NUMPY = frozenset(
    [
        "log",
        "log2",
        "log10",
        "log1p",
        "exp",
        "exp2",
        "expm1",
        "sqrt",
        "cbrt",
        "square",
        "power",
        "float_power",
        "reciprocal",
        "abs",
        "absolute",
        "fabs",
        "sign",
        "positive",
        "negative",
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "arctan2",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arccosh",
        "arctanh",
        "hypot",
        "degrees",
        "radians",
        "deg2rad",
        "rad2deg",
        "floor",
        "ceil",
        "round",
        "around",
        "rint",
        "trunc",
        "fix",
        "clip",
        "minimum",
        "maximum",
        "fmin",
        "fmax",
        "where",
        "add",
        "subtract",
        "multiply",
        "divide",
        "true_divide",
        "floor_divide",
        "mod",
        "remainder",
        "fmod",
        "isnan",
        "isfinite",
        "isinf",
        "nan_to_num",
        "logical_and",
        "logical_or",
        "logical_not",
        "logical_xor",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "isin",
        "array",
        "asarray",
        "digitize",
        "column_stack",
        "heaviside",
        "sinc",
        "logaddexp",
        "pi",
        "e",
        "inf",
        "nan",
    ]
)


@dataclass(frozen=True)
class Categories:
    """What ``C()`` returns: values to be taken as categories, with the contrast and levels asked for."""

    data: Any
    contrast: Any = None
    levels: Any = None


def categories(data: Any, contrast: Any = None, levels: Any = None) -> Categories:
    """Return values marked as categories; a mark inside keeps what is not given anew."""
    if isinstance(data, Categories):
        contrast = data.contrast if contrast is None else contrast
        levels = data.levels if levels is None else levels
        data = data.data
    if levels is not None:
        levels = (
            tuple(np.asarray(levels, dtype=object).tolist()) if not isinstance(levels, (list, tuple)) else tuple(levels)
        )
    return Categories(data, contrast, levels)


def _identity(x: Any) -> Any:
    return x


def _combine(*values: Any) -> np.ndarray:
    return np.array(values)


def _logarithm(x: Any, base: float | None = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "C": categories,
    "factor": categories,
    "I": _identity,
    "c": _combine,
    "log": _logarithm,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "floor": np.floor,
    "ceiling": np.ceil,
    "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc,
    "pmin": np.minimum,
    "pmax": np.maximum,
}


def numpy_named(path: str) -> Any:
    """Return numpy's object of a dotted path such as ``log`` or ``linalg.norm``."""
    value: Any = np
    for attribute in path.split("."):
        value = getattr(value, attribute)
    return value


def multiply(left: Any, right: Any) -> Any:
    """Return a product; one of whole numbers that int64 cannot hold comes back as floats."""
    return _whole(np.multiply, left, right)


def power(left: Any, right: Any) -> Any:
    """Return a power; whole numbers to a power that int64 cannot hold come back as floats."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return float(left) ** right
    return _whole(np.power, left, right)


def _whole(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if isinstance(left, (str, list, tuple)) or isinstance(right, (str, list, tuple)):
        raise InputError("arithmetic on text or lists has no meaning here.")
    whole = all(_is_whole(side) for side in (left, right))
    if not whole:
        return function(left, right)
    result = function(np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64))
    exact = result.size > 0 and bool((np.abs(result) < 2.0**53).all()) and bool((result == np.floor(result)).all())
    return result.astype(np.int64) if exact else result


def _is_whole(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def divide_whole(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return ``//`` or ``%`` that gives NaN or infinity rather than 0 where the divisor is 0."""

    def divide(left: Any, right: Any) -> Any:
        if isinstance(left, (str, bytes)):
            raise InputError("arithmetic on text has no meaning here.")
        if isinstance(right, (int, np.ndarray)) and np.any(np.asarray(right) == 0):
            left = np.asarray(left, dtype=np.float64)
        return function(left, right)

    return divide


def logic(function: Callable[[Any, Any], Any], sign: str) -> Callable[[Any, Any], Any]:
    """Return ``&``, ``|`` or ``^`` for conditions and whole numbers; other operands get a message."""

    def combine(left: Any, right: Any) -> Any:
        if any(np.asarray(side).dtype.kind not in "biu" for side in (left, right)):
            raise InputError(
                f"'{sign}' combines conditions, each in its own parentheses, as in I((x > 1) {sign} (z > 2))."
            )
        return function(left, right)

    return combine


def _as_called() -> None:
    """Let Python's own messages about arguments name these functions as a formula calls them."""
    for name, function in FUNCTIONS.items():
        if getattr(function, "__module__", None) == __name__ and name != "factor":
            function.__qualname__ = name


_as_called()
