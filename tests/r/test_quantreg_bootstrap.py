"""Bootstrapped standard errors against quantreg's, within their Monte-Carlo error.

R's "mcmb" takes the sign of a residual as it comes: 0 for the rows that the fit passes through, or that of the rounding
error there, so that its standard errors move by some per cent with the order of the rows or the last digit of y (14 %
of one coefficient at 60 rows and five coefficients). Ours takes the dual value. The chain is compared with R's signs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from qreg_boost.quantreg import bootstrap as module
from qreg_boost.quantreg.adaptive_kernel import adaptive_density
from qreg_boost.quantreg.bootstrap import bootstrap
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.r.session import evaluate
from tests.r.test_quantreg_inference import load

pytestmark = [pytest.mark.r("quantreg")]

# (set, tau); one has two coefficients and heteroskedastic errors, the other five and heavy tails.
CASES = [("engel", 0.5), ("plane", 0.25)]
REPS = 400
R_CODE = """{
  set.seed(1)
  groups <- if (method == "cluster") list(cluster = g) else list(bsmethod = method)
  do.call(quantreg::boot.rq, c(list(X, y, tau = tau, R = reps), groups))$B }"""


def r_replicates(X: np.ndarray, y: np.ndarray, tau: float, method: str, reps: int, g: np.ndarray) -> np.ndarray:
    return np.asarray(evaluate(R_CODE, X=X, y=y, tau=tau, method=method, reps=reps, g=g.astype(float)), dtype=float)


def error_of_spread(B: np.ndarray) -> np.ndarray:
    """Return the relative Monte-Carlo error of the standard deviations of the columns; of chains by their memory."""
    z = (B - B.mean(axis=0)) / B.std(axis=0)
    memory = np.mean((z[1:] ** 2 - 1) * (z[:-1] ** 2 - 1), axis=0) / np.mean((z**2 - 1) ** 2, axis=0)
    memory = np.clip(memory, 0.0, 0.95)
    return np.sqrt(np.mean((z**2 - 1) ** 2, axis=0) / 4 / len(B) * (1 + memory) / (1 - memory))


def compare(theirs: np.ndarray, ours: np.ndarray, most: float) -> None:
    ratio = ours.std(axis=0) / theirs.std(axis=0) - 1
    error = np.hypot(error_of_spread(ours), error_of_spread(theirs))
    print("ours over R, less 1, in %:", (100 * ratio).round(2), "Monte-Carlo error:", (100 * error).round(2))
    assert (error < most).all()
    assert (np.abs(ratio) < 4 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tau", "method"),
    [
        ("engel", 0.5, "xy"),
        ("engel", 0.5, "wxy"),
        ("engel", 0.25, "wild"),
        ("plane", 0.25, "pwy"),
        ("plane", 0.25, "cluster"),
    ],
)
def test_standard_errors(name: str, tau: float, method: str) -> None:
    X, y = load(name)
    g = np.arange(len(y)) % 50
    theirs = r_replicates(X, y, tau, method, 8000, g)
    groups = {"groups": g} if method == "cluster" else {}
    fit = interior_point(X, y, tau)
    ours = bootstrap(X, y, tau, fit, method=method, reps=REPS, rng=2, progress=False, **groups).B
    compare(theirs, ours, 0.08)


@pytest.mark.parametrize(("name", "tau"), CASES)
def test_chain(name: str, tau: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load(name)
    theirs = r_replicates(X, y, tau, "mcmb", 8000, np.zeros(0))
    fit = interior_point(X, y, tau)
    r = np.asarray(evaluate("quantreg::rq.fit.br(X, y, tau)$residuals", X=X, y=y, tau=tau), dtype=float).ravel()
    signs: Callable[..., np.ndarray] = lambda *_: np.where(r == 0, 0.0, np.where(r < 0, tau - 1.0, tau))  # noqa: E731
    monkeypatch.setattr(module, "_dual_signs", signs)
    compare(theirs, bootstrap(X, y, tau, fit, method="mcmb", reps=8000, rng=2, progress=False).B, 0.02)
    monkeypatch.undo()
    ours = bootstrap(X, y, tau, fit, method="mcmb", reps=8000, rng=2, progress=False).B
    # with the dual values of the two or five rows in question
    assert np.allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.15)
    print("with dual values:", (100 * (ours.std(axis=0) / theirs.std(axis=0) - 1)).round(2))


def test_density_of_the_correction() -> None:
    rng = np.random.default_rng(3)
    for n in (7, 8, 60, 235):
        x = np.sort(np.round(rng.standard_t(2, n), 2 if n > 10 else 6))
        r = np.asarray(evaluate("quantreg::akj(x, z)$dens", x=x, z=0.1), dtype=float).item()
        assert adaptive_density(x, 0.1) == pytest.approx(r, rel=1e-6)  # R's pi has eight digits


def test_wild_replicates_are_those_of_r() -> None:
    """With one column, replicates at tau take few values: the fit plus or minus a corrected residual."""
    y = np.array([1.3, 2.1, 4.7, 5.2, 7.9, 11.4, 17.1])
    X = np.ones((7, 1))
    for tau in (0.3, 0.5):
        theirs = r_replicates(X, y, tau, "wild", 3000, np.zeros(0)).ravel()
        found = bootstrap(X, y, tau, interior_point(X, y, tau), method="wild", reps=100, rng=1, progress=False).B
        assert set(found.ravel().round(6)) <= set(theirs.round(6))
