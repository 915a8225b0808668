"""The best constant: its loss is the least, beside the solver on a column of ones."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.solution import constant_loss


@pytest.mark.parametrize("tau", [0.05, 0.3, 0.5, 0.75, 0.95])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_it_is_the_least_loss(tau: float, n: int) -> None:
    rng = np.random.default_rng(n)
    for y in (rng.standard_t(2, n), rng.integers(0, 4, n).astype(float)):
        for w in (None, rng.integers(0, 3, n) + (np.arange(n) == 0)):
            least = interior_point(np.ones((n, 1)), y, tau, w).objective
            assert constant_loss(y, tau, w) == pytest.approx(least, rel=1e-10, abs=1e-12)
