"""Numbers and names as printed: significant digits at all scales, lines that fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreg_boost.base import typeset

WIDE = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=400)


@pytest.mark.parametrize("power", range(-12, 13))
def test_one_number_keeps_its_significant_digits(power: int) -> None:
    text = typeset.number(1.2345678 * 10.0**power)
    # scientific notation has five digits, else six
    assert float(text) == pytest.approx(1.2345678 * 10.0**power, rel=5e-5)
    assert len(text) <= 12


@given(st.lists(st.floats(-1e15, 1e15, allow_subnormal=False), min_size=1, max_size=8))
def test_columns_are_aligned_and_no_value_is_lost(values: list[float]) -> None:
    texts = typeset.numbers(values)
    assert not any(text.strip() in ("-0", "-0.0", "-0.0000") for text in texts)
    for value, text in zip(values, texts, strict=True):
        # the smallest has at least two digits, so the error is at most 5 %
        assert float(text) == pytest.approx(value, rel=0.05, abs=0.0)
    fixed = [text for text in texts if "e" not in text and "." in text]
    assert len({len(text) - text.index(".") for text in fixed}) <= 1


def test_zeros_are_told_from_small_numbers() -> None:
    assert typeset.numbers([0.0, -0.0, 0.00123, np.nan]) == ["0" + " " * 6, "0" + " " * 6, "0.00123", ""]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "100.0 %"),
        (0.0, "0.0 %"),
        (-0.0, "0.0 %"),
        (4e-4, "<0.1 %"),
        (-4e-4, "<0.1 %"),
        (-0.02, "-2.0 %"),
        (np.nan, ""),
    ],
)
def test_shares(value: float, text: str) -> None:
    assert typeset.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "<0.000001 %"),
        (-1e-16, "<0.000001 %"),
        (1.5e-5, "0.0015 %"),
        (0.021, "2.1 %"),
        (0.5, "50.0 %"),
        (4e4, "4.00e+06 %"),
    ],
)
def test_distances(value: float, text: str) -> None:
    assert typeset.distance(value) == text


@given(WIDE, st.integers(4, 90))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    lines = typeset.wrap(typeset.flat(text), width)
    assert all(typeset.columns_of(line) <= width for line in lines)


@given(WIDE, st.integers(8, 90))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert typeset.columns_of(typeset.shorten(text, width)) <= width


def test_nothing_is_lost_by_wrapping() -> None:
    formula = "y ~ " + " + ".join(f"variable_{k}" for k in range(40))
    assert "".join(typeset.wrap(formula, 30)).replace(" ", "") == formula.replace(" ", "")


def test_line_breaks_in_a_name_do_not_break_a_table() -> None:
    assert typeset.flat("a\nb\tc\x00") == "a b c "


def test_names_that_shortening_would_confuse_stay_longer() -> None:
    names = [f"{'a' * 40}_{k}_{'b' * 40}" for k in range(3)]
    assert len(set(typeset.shortened(names, 20))) == 3


def test_a_named_vector_is_broken_over_lines_that_fit() -> None:
    lines = typeset.named_vector([f"x{k}" for k in range(60)], ["1.5"] * 60)
    assert len(lines) == 2 * -(-60 // (78 // 4))
    assert all(len(line) <= 78 for line in lines)
