"""What holds of kernel quantile regressions whatever the rows: quantile property, certificate, mirror image, order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from qreg_boost.kernel.kernels import read_kernel
from qreg_boost.kernel.kqr import KernelQuantile, solve_kernel_quantile
from qreg_boost.kernel.noncrossing import solve_noncrossing
from qreg_boost.kernel.quadratic import Quadratic

KERNELS = {"rbf": 0.7, "laplace": 0.4, "linear": "sigest", "polynomial": "sigest", "spline": "sigest"}
LEVELS = st.floats(0.02, 0.98)
COSTS = st.floats(-3.0, 3.0).map(lambda power: 10.0**power)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Quadratic, np.ndarray, np.ndarray]:
    """Rows with ties in x and in y more often than not, and weights that may differ much."""
    n = draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, y = rng.normal(size=(n, draw(st.integers(1, 3)))), rng.standard_t(3, size=n)
    if draw(st.booleans()):
        X, y = np.round(X), np.round(y)
    w = 10.0 ** rng.uniform(-2.0, 2.0, n) if draw(st.booleans()) else np.ones(n)
    name = draw(st.sampled_from(sorted(KERNELS)))
    return read_kernel(name, KERNELS[name]).form(X), y, w


def check(found: KernelQuantile, y: np.ndarray, w: np.ndarray) -> None:
    # of an objective that is nearly nil, to 1e-6 of what the losses could come to: no digits are left to be relative to
    size = found.objective + 1e-6 * found.C * w.sum() * np.abs(y).max()
    assert found.optimal and -1e-12 * size <= found.objective - found.dual <= 1e-8 * size
    room = 1e-6 * w.sum()
    assert w[found.side == -1].sum() <= found.tau * w.sum() + room
    assert w[found.side == 1].sum() <= (1.0 - found.tau) * w.sum() + room
    tiny = 1e-4 * (np.ptp(y) or 1.0)
    assert (y[found.side == 1] > found.fit[found.side == 1] - tiny).all()
    assert (y[found.side == -1] < found.fit[found.side == -1] + tiny).all()


@given(problems(), LEVELS, COSTS)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_a_certified_quantile(problem: tuple[Quadratic, np.ndarray, np.ndarray], tau: float, C: float) -> None:
    form, y, w = problem
    found = solve_kernel_quantile(form, y, tau, C / w.mean(), w)
    check(found, y, w)
    mirror = solve_kernel_quantile(form, -y, 1.0 - tau, C / w.mean(), w)
    size = found.objective + 1e-6 * found.C * w.sum() * np.abs(y).max()
    assert abs(mirror.objective - found.objective) <= 1e-8 * size


@given(problems(), st.lists(LEVELS, min_size=2, max_size=5, unique_by=lambda tau: round(tau, 2)), COSTS)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_quantiles_held_apart(problem: tuple[Quadratic, np.ndarray, np.ndarray], taus: list[float], C: float) -> None:
    form, y, w = problem
    C, levels = C / w.mean(), sorted(taus)
    found = solve_noncrossing(form, y, levels, C, w)
    fits = np.array([one.fit for one in found])
    assert (np.diff(fits, axis=0) >= -1e-12 * (np.ptp(y) or 1.0)).all()
    assert all(one.optimal for one in found) and abs(found[0].duality_gap) <= 1e-7
    alone = sum(solve_kernel_quantile(form, y, tau, C, w).objective for tau in levels)
    assert sum(one.objective for one in found) >= alone * (1.0 - 1e-8)
