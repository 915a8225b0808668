"""Formulas into R's spelling."""

from __future__ import annotations

import pytest

from qreg_boost.base.checks import FormulaError
from qreg_boost.r.formula import to_r


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y ~ x1 + x2", "y ~ x1 + x2"),
        ("y ~ C(g)", "y ~ factor(g)"),
        ("y ~ C (g):x", "y ~ factor (g):x"),
        ("np.log(y) ~ numpy.sqrt(x) + np.abs(z)", "log(y) ~ sqrt(x) + abs(z)"),
        ("y ~ I(x**2) + (a + b)**2", "y ~ I(x^2) + (a + b)^2"),
        ("y ~ Q(\"a b\") + Q('c d')", "y ~ `a b` + `c d`"),
        ("y ~ . - id", "y ~ . - id"),
        ("y ~ _merge + x_1", "y ~ `_merge` + x_1"),
        ("`odd ** name` ~ C + x", "`odd ** name` ~ C + x"),
        ("y ~ factor(g) + poly(x, 2) + a %in% b", "y ~ factor(g) + poly(x, 2) + a %in% b"),
        ("y ~ C(g, contr.sum)", "y ~ C(g, contr.sum)"),
        ("y ~ relevel(g, ref = 'C(x) ** 2')", "y ~ relevel(g, ref = 'C(x) ** 2')"),
        ("größe ~ x.1 + .hidden + 1e-3", "größe ~ x.1 + .hidden + 1e-3"),
        ("y ~ I(x / 1e3) - 1", "y ~ I(x / 1e3) - 1"),
    ],
)
def test_spelling(formula, expected):
    assert to_r(formula) == expected


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ standardize(x)", r"n - 1 where patsy divides by n.*scale\(x\)"),
        ("y ~ center(x)", r"scale\(x, scale = FALSE\)"),
        ("y ~ C(g, Treatment('b'))", r"relevel\(factor\(g\)"),
        ("y ~ C(g, levels=['a', 'b'])", r"is patsy's"),
        ("y ~ np.fft(x)", r"'np.fft'.*no counterpart"),
        ("y ~ Q(name)", r"one name in quotes"),
        ("y ~ C(g", r"bracket that is not closed"),
        ("x1 + x2", r"has no response"),
        (" ~ x1", r"has no response"),
        (3, r"must be a string"),
    ],
)
def test_messages(formula, message):
    with pytest.raises(FormulaError, match=message):
        to_r(formula)
