"""Checks of arguments and the wording of their messages."""

# ruff: noqa: E501 (tables of cases, one a line)
from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.base import checks
from qreg_boost.base.checks import InputError


@pytest.mark.parametrize("tau", [1e-9, 0.5, 1 - 1e-9, np.float32(0.25), np.float64(0.3)])
def test_taus(tau) -> None:
    assert checks.check_tau(tau) == float(tau) and type(checks.check_tau(tau)) is float


@pytest.mark.parametrize("tau", [0, 1, 0.0, 1.0, -0.5, 1.5, 20, 100, 1e9, np.inf, -np.inf, np.nan])
def test_taus_out_of_range(tau) -> None:
    with pytest.raises(InputError, match=r"`tau` must lie strictly between 0 and 1; got"):
        checks.check_tau(tau)


@pytest.mark.parametrize("tau", ["0.5", None, True, 1j, [0.5], np.array([0.5])])
def test_taus_that_are_no_numbers(tau) -> None:
    with pytest.raises(InputError, match=r"`tau` must be a number strictly between 0 and 1; got"):
        checks.check_tau(tau)


PERCENTILES = {20: ("20th", "0.2"), 1.5: ("1.5th", "0.015"), 2: ("2nd", "0.02"), 3: ("3rd", "0.03"), 11: ("11th", "0.11"),
               12: ("12th", "0.12"), 13: ("13th", "0.13"), 21: ("21st", "0.21"), 93: ("93rd", "0.93"), 99: ("99th", "0.99")}  # fmt: skip


@pytest.mark.parametrize("tau", PERCENTILES)
def test_a_percentile_is_recognised(tau) -> None:
    ordinal, written = PERCENTILES[tau]
    with pytest.raises(InputError, match=rf"For the {ordinal} percentile write tau={written}\d*\.$"):
        checks.check_tau(tau)


@pytest.mark.parametrize("tau", [-3, 0, 1, 100, 250])
def test_no_hint_where_no_percentile_is_meant(tau) -> None:
    with pytest.raises(InputError) as raised:
        checks.check_tau(tau)
    assert "percentile" not in str(raised.value)


@pytest.mark.parametrize("value", [0, 3, 3.0, np.int64(3), np.float64(3.0)])
def test_counts(value) -> None:
    assert checks.check_count(value, "k") == int(value) and type(checks.check_count(value, "k")) is int


@pytest.mark.parametrize("value", [-1, 2.5, "3", None, True, np.bool_(True), np.nan, np.inf, [3]])
def test_no_counts(value) -> None:
    with pytest.raises(InputError, match=r"`k` must be a whole number of at least 0; got .* Advice\.$"):
        checks.check_count(value, "k", 0, " Advice.")


@pytest.mark.parametrize("value", [0, -0.1, np.nan, np.inf, "1", None, True])
def test_positive(value) -> None:
    assert checks.check_positive(np.float32(0.5), "nu") == 0.5
    with pytest.raises(InputError, match=r"`nu` must be a number above 0; got"):
        checks.check_positive(value, "nu")


def test_positive_with_a_bound() -> None:
    assert checks.check_positive(1, "nu", most=1) == 1.0
    with pytest.raises(InputError, match=r"above 0 and at most 1; got 1\.5"):
        checks.check_positive(1.5, "nu", most=1)


def test_choice_names_the_nearest() -> None:
    assert checks.check_choice("line", "step", ("fixed", "line")) == "line"
    with pytest.raises(InputError, match=r"`step` must be one of 'fixed', 'line'; got 'lin'\. Did you mean 'line'\?$"):
        checks.check_choice("lin", "step", ("fixed", "line"))
    with pytest.raises(InputError, match=r"got 3\.$"):
        checks.check_choice(3, "step", ("fixed", "line"))
    with pytest.raises(InputError, match=r"got \['line'\]\.$"):
        checks.check_choice(["line"], "step", ("fixed", "line"))


def test_bool() -> None:
    assert checks.check_bool(np.bool_(True), "progress") is True
    for value in (1, "yes", None):
        with pytest.raises(InputError, match="`progress` must be True or False; got"):
            checks.check_bool(value, "progress")


BAD_WEIGHTS = {
    "negative": ([1, -2, -3], r"`weights` must not be negative; found 2 negative values, the first -2 in row 1"),
    "short": ([1, 2], r"`weights` must have one value per row: 3 rows, but 2 values"),
    "missing": ([1, np.nan, 2], "1 missing value.* 0 to leave it out"),
    "infinite": ([1, np.inf, 2], "infinite values"),
    "all zero": ([0, 0, 0], "all zero; at least one row needs a weight above 0"),
    "text": (["a", "b", "c"], "`weights` must be numbers; got list"),
    "table": ([[1], [1], [1]], r"one value per row \(shape \(3,\)\); got shape \(3, 1\)"),
    "one number": (2.0, r"one value per row \(shape \(3,\)\); got shape \(\)"),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_weights(case: str) -> None:
    values, words = BAD_WEIGHTS[case]
    with pytest.raises(InputError, match=words):
        checks.check_weights(values, 3)


def test_good_weights_are_floats() -> None:
    weights = checks.check_weights([0, 1, 2], 3)
    assert weights.dtype == np.float64 and weights.tolist() == [0, 1, 2]


def test_offset() -> None:
    assert checks.check_offset([-1, 0, 2], 3).tolist() == [-1, 0, 2]
    with pytest.raises(InputError, match="`offset` must be finite; found 2"):
        checks.check_offset([np.nan, np.inf, 0], 3)


def test_finite_names_the_place() -> None:
    checks.check_finite(np.array([1.0, np.nan]), "y")
    with pytest.raises(InputError, match=r"Column 'x' has 2 infinite values, the first in row 1"):
        checks.check_finite(np.array([[0.0], [np.inf], [-np.inf]]), "Column 'x'")


def test_names_are_listed_and_the_tail_counted() -> None:
    assert checks.listed("abc") == "a, b, c"
    assert checks.listed(range(15)).endswith("10, 11, ... (3 more)")


def test_nearest() -> None:
    assert checks.nearest("incom", ["foodexp", "income"]) == " Did you mean 'income'?"
    assert checks.nearest("zzz", ["foodexp", "income"]) == ""


def test_what_was_begun_goes_before_what_looks_alike() -> None:
    learners = ["linear", "componentwise", "joint", "spline", "stump", "tree"]
    assert checks.nearest("lin", learners) == " Did you mean 'linear'?"
    assert checks.nearest("comp", learners) == " Did you mean 'componentwise'?"
    assert checks.nearest("x", ["x1", "x2", "income"]) == checks.nearest("x", ["x1", "x2"])  # two were begun so


@pytest.mark.parametrize(
    "kind",
    [checks.FormulaError, checks.NotDefinedError, checks.FileFormatError, checks.MissingDependencyError],
)
def test_what_a_caller_can_mend_is_an_input_error(kind) -> None:
    assert issubclass(kind, InputError) and issubclass(kind, ValueError)
