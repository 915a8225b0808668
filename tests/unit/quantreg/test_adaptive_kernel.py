"""The adaptive kernel estimate of a density at a point."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from qreg_boost.quantreg.adaptive_kernel import adaptive_density


@pytest.mark.parametrize("n", [1000, 4001, 60_000])
def test_normal_density_from_normal_quantiles(n):
    """5 %: the kernel of width 0.9 n^(-1/5) flattens the top by about half its square."""
    assert adaptive_density(ndtri((np.arange(n) + 0.5) / n), 0.0) == pytest.approx(1 / np.sqrt(2 * np.pi), rel=0.05)


def test_units_and_order():
    x = np.random.default_rng(2).standard_t(3, 200)
    plain = adaptive_density(x, 0.3)
    assert adaptive_density(x[::-1] * 1e9, 0.3e9) * 1e9 == pytest.approx(plain, rel=1e-10)
    assert adaptive_density(x * 1e-9 + 0.0, 0.3e-9) / 1e9 == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0, 5.0]])
def test_samples_without_spread_have_none(x):
    assert np.isnan(adaptive_density(np.array(x), 0.0))
