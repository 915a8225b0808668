"""Scaling of columns: constant ones, many rows, units."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.kernel.scaling import Scaling


@pytest.mark.parametrize("n", [100, 10_000, 100_000])
def test_a_constant_column_has_no_spread_however_many_rows(n: int) -> None:
    """The mean of 10,000 times 0.1 is not 0.1, and the spread about it not 0."""
    X = np.column_stack((np.full(n, 0.1), np.full(n, 1e9 + 0.1), np.arange(n, dtype=float)))
    for weights in (None, np.linspace(1.0, 2.0, n)):
        assert Scaling.of(X, weights).spread[:2].tolist() == [1.0, 1.0]
        assert Scaling.of(X, weights).spread[2] > 1.0


@pytest.mark.parametrize("unit", [1e-100, 1e-12, 1e12, 1e100])
def test_units(unit: float) -> None:
    X = np.random.default_rng(0).normal(size=(50, 2)) + 3.0
    np.testing.assert_allclose(Scaling.of(unit * X).apply(unit * X), Scaling.of(X).apply(X), rtol=1e-9)
