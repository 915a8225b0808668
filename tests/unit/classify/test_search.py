"""Climbs from many starts are never below annealing."""

from __future__ import annotations

import numpy as np
import pytest

import qreg_boost as qb


def simulated(which: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return labels, predictors and tau: heavy tails and unequal spreads, or a mixture, or mostly noise."""
    rng = np.random.default_rng({"heavy": 3, "mixture": 4, "noise": 5}[which])
    if which == "heavy":
        X = rng.normal(size=(400, 6))
        error = rng.standard_t(2, size=400) * (1.0 + 0.5 * np.abs(X[:, 0]))
        return (X[:, :3] @ [1.0, -1.0, 0.5] + error > 0).astype(int), X, 0.75
    if which == "mixture":
        y = rng.integers(0, 2, 300)
        X = rng.normal(size=(300, 4)) + np.where(y[:, None] > 0, rng.choice([-1.5, 1.5], (300, 1)), 0.0)
        return y, X, 0.5
    X = rng.uniform(-1.0, 1.0, size=(250, 5))
    return (0.3 * X[:, 0] + rng.logistic(size=250) > 0).astype(int), X, 0.6


def compare(y: np.ndarray, X: np.ndarray, tau: float, seeds: range) -> None:
    for seed in seeds:
        many = qb.BinaryQReg(y, X, tau=tau, rng=seed, progress=False).fit()
        annealed = qb.BinaryQReg(y, X, tau=tau, rng=seed, method="annealing", progress=False).fit()
        # annealing differentiates by differences, so both stop within 1e-7 of a maximum they share
        assert many.score >= annealed.score - 1e-7 * many.bound, seed


@pytest.mark.parametrize("which", ["heavy", "mixture", "noise"])
def test_many_starts_are_not_below_annealing(which: str) -> None:
    y, X, tau = simulated(which)
    compare(y[:100], X[:100, :3], tau, range(2))


@pytest.mark.slow
@pytest.mark.parametrize("which", ["heavy", "mixture", "noise"])
def test_many_starts_are_not_below_annealing_over_twenty_seeds(which: str) -> None:
    compare(*simulated(which), range(20))


@pytest.mark.slow
def test_many_starts_are_not_below_annealing_on_pima(public_table) -> None:
    table = public_table("pima_diabetes")
    X = table.drop(columns=table.columns[-1]).to_numpy(dtype=float)
    compare(table.iloc[:, -1].to_numpy(), X, 0.5, range(20))
