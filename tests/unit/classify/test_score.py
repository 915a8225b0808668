"""The smoothed score, its derivative, and the two normalisations."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.classify.scale import OneColumn, Scale, UnitSlopes
from qreg_boost.classify.score import Score, Standard
from qreg_boost.classify.search import climb, polished


def problem(n: int = 50, p: int = 3, h: float = 0.3, seed: int = 0) -> Score:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    y = (Z[:, 0] + rng.normal(size=n) > 0).astype(float)
    return Score.of(Z, y, 0.4, h, rng.integers(1, 4, n).astype(float), True)


def scales(score: Score) -> list[Scale]:
    k = score.D.shape[1]
    return [UnitSlopes(1, 5.0, score.h, k), OneColumn(1, 5.0, score.h, k, 2, -1.0)]


@pytest.mark.parametrize("which", [0, 1])
def test_derivative_is_that_of_differences(which: int) -> None:
    score = problem()
    scale = scales(score)[which]
    u = np.random.default_rng(1).normal(size=score.D.shape[1] - which)
    gradient = scale.pull(u, score.value_and_gradient(scale.theta(u))[1])
    step = 1e-6
    for j in range(len(u)):
        e = step * np.eye(len(u))[j]
        slope = (score.value(scale.theta(u + e)) - score.value(scale.theta(u - e))) / (2 * step)
        # central differences of a function of size 10: an error of 1e-10/1e-6, and of the square of the step
        assert gradient[j] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("which", [0, 1])
def test_normalised_coefficients_are_kept(which: int) -> None:
    score = problem()
    scale = scales(score)[which]
    theta = scale.fitted(np.array([0.3, 1.0, -2.0, 0.5]))
    np.testing.assert_allclose(scale.theta(scale.free(theta)), theta, rtol=1e-15)
    norm = np.linalg.norm(theta[1:]) if which == 0 else abs(theta[2])
    assert norm == pytest.approx(1.0, abs=1e-15)


def test_score_of_the_definition() -> None:
    from scipy.stats import norm

    score = problem()
    theta = np.array([0.2, 0.6, -0.8, 0.0])
    assert score.value(theta) == pytest.approx(float(score.d @ norm.cdf(score.D @ theta / score.h)), rel=1e-14)
    assert score.at(0.0).value(theta) == pytest.approx(float(score.d[score.D @ theta >= 0].sum()), rel=1e-14)
    assert score.value(theta) < score.bound


def test_curvature_is_that_of_differences() -> None:
    score = problem()
    theta = np.array([0.2, 0.6, -0.8, 0.0])
    step = 1e-6
    for j, e in enumerate(step * np.eye(4)):
        up, down = score.value_and_gradient(theta + e)[1], score.value_and_gradient(theta - e)[1]
        # gradients of size 100 differ by rounding of 1e-14 times that, over the step
        np.testing.assert_allclose(score.curvature(theta)[j], (up - down) / (2 * step), rtol=0, atol=1e-5)


@pytest.mark.parametrize("which", [0, 1])
def test_polishing_ends_where_the_gradient_is_nil(which: int) -> None:
    score = problem(200)
    scale = scales(score)[which]
    top = climb(score, scale, scale.fitted(np.array([0.0, 1.0, -0.1, 0.1])))
    theta = polished(score, scale, top.theta)
    gradient = score.value_and_gradient(theta)[1]
    assert np.abs(scale.tangent(theta).T @ gradient).max() < 1e-11
    assert score.value(theta) >= top.score - 1e-12 * score.bound
    np.testing.assert_allclose(theta, top.theta, rtol=0, atol=1e-3)


def test_best_intercept_is_the_best_of_all_cuts() -> None:
    score = problem(h=0.0)
    theta = np.array([0.0, 0.6, -0.8, 0.0])
    best = score.value(score.with_best_intercept(theta))
    index = score.D[:, 1:] @ theta[1:]
    every = [score.value(np.concatenate(([cut], theta[1:]))) for cut in (*(-index), index.max() + 9, -index.max() - 9)]
    assert best == pytest.approx(max(every), rel=1e-14)


def test_standard_predictors_and_back() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, [1.0, 100.0], size=(40, 2))
    weights = rng.integers(1, 4, 40).astype(float)
    standard = Standard.of(X, weights, intercept=True)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    np.testing.assert_allclose(standard.apply(repeated).mean(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(standard.apply(repeated).std(axis=0), 1.0, rtol=1e-13)
    theta = np.array([0.3, 0.6, -0.8])
    back = standard.back(theta, True)
    np.testing.assert_allclose(back[0] + X @ back[1:], theta[0] + standard.apply(X) @ theta[1:], rtol=0, atol=1e-12)
    assert Standard.of(X, None, intercept=False).centre.tolist() == [0.0, 0.0]
