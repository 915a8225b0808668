"""Numbers and names as they are printed: significant digits, aligned columns, lines that fit."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

WIDTH = 78
"""Characters to a line, as in statsmodels."""
MOST_IN_CALL = 24
"""Of longer lists a call shows the first and the last."""
_ADDRESS = re.compile(r"(?: object)? at 0x[0-9A-Fa-f]+")


# -- numbers


def numbers(values: Iterable[float], width: int = 12, digits: int = 6) -> list[str]:
    """Return a column of numbers with the same decimals, or all in scientific notation if that would be too wide.

    The largest has `digits` significant digits, the smallest two to four as there is room. An exact 0 is "0",
    with blanks in place of decimals; missing values are empty.

    >>> numbers([81.48226, -0.5602, 0.0])
    ['81.4823', '-0.5602', '0     ']
    >>> numbers([1.5e-12, 3e12])
    ['1.5000e-12', '3.0000e+12']
    """
    array = np.asarray(list(values), dtype=float)
    sizes = np.abs(array[np.isfinite(array) & (array != 0.0)])
    decimals = _decimals(sizes, width, digits) if len(sizes) else 0
    while decimals and np.allclose(np.round(sizes, decimals - 1), sizes, rtol=1e-13, atol=0.0):
        decimals -= 1  # no zeros that say nothing
    return [_number(float(value), decimals) for value in array]


def settled(values: np.ndarray) -> np.ndarray:
    """Return values of one quantity with 0 for those that are rounding beside the largest, below 1e-13 of it.

    >>> settled(np.array([3.0, -8.9e-16, 1e-9])).tolist()
    [3.0, 0.0, 1e-09]
    """
    sizes = np.abs(values)
    largest = sizes[np.isfinite(sizes)].max(initial=0.0)
    return np.where(sizes < 1e-13 * largest, 0.0, values)


def number(value: float) -> str:
    """Return one number with six significant digits.

    >>> number(8779.9672), number(5.0), number(1e-12)
    ('8779.97', '5', '1.0000e-12')
    """
    return numbers([value])[0]


def _decimals(sizes: np.ndarray, width: int, digits: int) -> int | None:
    """Return how many decimals show every size, None if scientific notation must."""
    high, low = (int(np.floor(np.log10(size))) for size in (sizes.max(), sizes.min()))
    for least in (4, 3, 2):
        decimals = max(digits - 1 - high, least - 1 - low, 0)
        if 1 + max(high, 0) + 1 + (decimals + 1 if decimals else 0) <= width:
            return decimals
    return None


def _number(value: float, decimals: int | None) -> str:
    if np.isnan(value):
        return ""
    if value == 0.0:
        return "0" + (" " * (decimals + 1) if decimals else "")
    return f"{value:.4e}" if decimals is None else f"{value:.{decimals}f}"


def fraction(value: float) -> str:
    """Return a figure between -1 and 1 with three decimals, more if they would all be 0.

    >>> fraction(0.6206), fraction(-0.00031), fraction(-1e-17)
    ('0.621', '-0.0003', '0.000')
    """
    if abs(value) >= 0.0005:
        return f"{value:.3f}"
    return "0.000" if abs(value) < 1e-9 else np.format_float_positional(float(f"{value:.1g}"))


def share(value: float) -> str:
    """Return a share as a percentage with one decimal, never rounding what is there to nothing.

    >>> share(0.1234), share(0.00001), share(0.0)
    ('12.3 %', '<0.1 %', '0.0 %')
    """
    if np.isnan(value):
        return ""
    if 0.0 < abs(value) < 0.0005:
        return "<0.1 %"
    return f"{100.0 * value + 0.0:.1f} %"


def distance(value: float) -> str:
    """Return a relative distance as a percentage with two significant digits.

    >>> distance(0.000153), distance(0.1234), distance(3e-13)
    ('0.015 %', '12.3 %', '<0.000001 %')
    """
    percent = 100.0 * value
    if abs(percent) < 1e-6:
        return "<0.000001 %"
    if abs(percent) >= 1e5:
        return f"{percent:.2e} %"
    if abs(percent) >= 10.0:
        return f"{percent:.1f} %"
    return f"{percent:.{1 - int(np.floor(np.log10(abs(percent))))}f} %"


def level(tau: float) -> str:
    """Return a quantile level with three decimals, or more where it has more.

    >>> level(0.5), level(0.9995)
    ('0.500', '0.9995')
    """
    short = f"{tau:.3f}"
    return short if float(short) == float(tau) else f"{tau:.6g}"


# -- text


def flat(text: object) -> str:
    """Return text on one line: line breaks and tabs become blanks."""
    return re.sub(r"[\s\x00-\x1f\x7f]", " ", str(text))


def columns_of(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide characters two, combining ones none.

    >>> columns_of("income"), columns_of("収入")
    (6, 4)
    """
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fill(text: str, width: int, align: str = "l") -> str:
    """Return the text padded to `width` columns, to the left ("l"), right ("r") or in the centre ("c").

    >>> fill("ab", 5, "r")
    '   ab'
    """
    room = max(width - columns_of(text), 0)
    before = {"l": 0, "r": room, "c": room // 2}[align]
    return " " * before + text + " " * (room - before)


def _head(text: str, width: int) -> str:
    """Return as much of the beginning as fits."""
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:position]
    return text


def shorten(text: str, width: int) -> str:
    """Return the text, its middle left out if it is too wide.

    >>> shorten("abcdefghij", 8)
    'abc...ij'
    """
    if columns_of(text) <= width:
        return text
    gap = "..." if width < 60 else " ... "
    room = max(width - len(gap), 2)
    tail = _head(text[::-1], room // 2)[::-1]
    return f"{_head(text, room - columns_of(tail))}{gap}{tail}"


def shortened(names: Iterable[object], width: int) -> list[str]:
    """Return names short enough, and longer only where they could not be told apart.

    >>> shortened(["a_long_name_1_of_many", "a_long_name_2_of_many"], 9)
    ['a_long_nam...1_of_many', 'a_long_nam...2_of_many']
    """
    whole = [flat(name) for name in names]
    while width < max(map(len, whole), default=0):
        short = [shorten(name, width) for name in whole]
        if len(set(short)) == len(set(whole)):
            return short
        width += 4
    return whole


def wrap(text: str, width: int, most: int | None = None) -> list[str]:
    """Return lines that fit, broken at blanks and operators where there are any; beyond `most`, the middle is left out.

    >>> wrap("y ~ x1 + x2", 8)
    ['y ~ x1 +', 'x2']
    """
    if most is not None:
        text = shorten(text, width * most)
    lines = [""]
    for piece in re.findall(r"[^\s:,+*/]*[\s:,+*/]*", text):
        while piece:
            if columns_of((lines[-1] + piece).rstrip()) <= width:
                lines[-1] += piece
                break
            if lines[-1].strip() and columns_of(piece.rstrip()) <= width:
                lines.append("")
                continue
            part = _head(piece, width - columns_of(lines[-1])) or ("" if lines[-1] else piece[0])
            lines[-1] += part
            lines.append("")
            piece = piece[len(part) :]
    return [line.rstrip() for line in lines if line.strip()] or [""]


def paragraph(text: str, width: int = WIDTH) -> list[str]:
    """Return prose in lines that fit, broken at blanks only."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if columns_of(longer) <= width:
            lines[-1] = longer
        else:
            lines = [line for line in lines if line] + wrap(word, width)
    return lines


def named_vector(names: Sequence[object], values: Sequence[str], width: int = WIDTH) -> list[str]:
    """Return lines with names above values, right-aligned, as R prints a named vector; long names have a line each.

    >>> named_vector(["a", "long"], ["1.5", "2"])
    ['   a long', ' 1.5    2']
    """
    heads = shortened(names, 30)
    cells = [value.rstrip() for value in values]
    each = max((columns_of(text) for text in (*heads, *cells)), default=0)
    if each > 30:
        return matrix(heads, [""], [[cell] for cell in cells])[1:]
    per_line = max(width // (each + 1), 1)
    lines = []
    for first in range(0, len(heads), per_line):
        for row in (heads, cells):
            lines.append(" ".join(fill(text, each, "r") for text in row[first : first + per_line]))
    return lines


def matrix(names: Sequence[str], heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of a matrix with names at the left and heads above, as R prints one.

    >>> matrix(["a", "bc"], ["x", "y"], [["1", "2"], ["3.5", "4"]])
    ['     x y', 'a    1 2', 'bc 3.5 4']
    """
    body = [[name, *map(str.rstrip, row)] for name, row in zip(names, cells, strict=True)]
    rows = [["", *heads], *body]
    widths = [max(columns_of(cell) for cell in column) for column in zip(*rows, strict=True)]
    aligns = "l" + "r" * len(heads)
    return [" ".join(map(fill, row, widths, aligns)).rstrip() for row in rows]


# -- calls


def name_of(function: Callable[..., Any]) -> str:
    """Return what a function is called; of an object, its class: nothing that differs from one run to the next.

    >>> name_of(len), name_of(lambda: 1)
    ('len', '<lambda>')
    """
    inner = getattr(function, "func", function)  # of a functools.partial
    return str(getattr(inner, "__name__", type(inner).__name__))


def in_call(value: Any) -> str:
    """Return a value as the call shows it: arrays as lists, functions by name.

    >>> in_call(np.array([0.5, 1.0])), in_call([np.float64(0.1) + 0.2]), in_call({"f": len})
    ('[0.5, 1.0]', '[0.3]', "{'f': len}")
    """
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float):
        return repr(float(f"{value:.15g}"))  # 0.3, where a computed grid holds 0.30000000000000004
    if isinstance(value, (list, tuple)):
        if len(value) > MOST_IN_CALL:
            return f"[{in_call(value[0])}, ..., {in_call(value[-1])}]"
        inside = ", ".join(map(in_call, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {in_call(one)}" for key, one in value.items()) + "}"
    if callable(value) and not hasattr(value, "__dataclass_fields__"):
        return name_of(value)
    return _ADDRESS.sub("", repr(value))
