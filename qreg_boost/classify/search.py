"""The search for the greatest smoothed score: from many starts by gradients, or by simulated annealing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from qreg_boost.classify.scale import Scale
from qreg_boost.classify.score import Score

WIDER = (10.0, 5.0, 2.5)
"""Widths, in units of h, through which a climb may be led: wide ones have few maxima."""
SIZES = (0.1, 0.2, 0.4, 0.8)
"""How far a maximum is shaken, as a share of the length of its coefficients."""
WARM = 3
"""So many of the best maxima are where a fit to other rows starts."""
NEWTON = 20
"""Most Newton steps at the end."""
KEPT = 5
"""So many of the best maxima are shaken in search of better ones."""
SAME = 1e-7
"""Scores closer than this, relative to the bound, are of one maximum."""


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes
    ----------
    theta : (k,) array
        Coefficients of the greatest score, on the standard scale.
    score : float
    thetas : (m, k) array
        The distinct maxima reached, the greatest first.
    scores : (m,) array
        Their scores.
    reached : (m,) int array
        From how many starts.
    evaluations : int
    """

    theta: np.ndarray
    score: float
    thetas: np.ndarray
    scores: np.ndarray
    reached: np.ndarray
    evaluations: int


@dataclass(frozen=True)
class Climb:
    """Where one climb ended: coefficients (k,), their score, evaluations used."""

    theta: np.ndarray
    score: float
    evaluations: int


def climb(score: Score, scale: Scale, theta: np.ndarray, widths: tuple[float, ...] = ()) -> Climb:
    """Return the maximum uphill of theta (k,), led through scores of greater `widths` first, in units of h."""
    from scipy.optimize import minimize

    evaluations = 0
    for width in (*widths, 1.0):
        at = score.at(width * score.h)

        def downhill(u: np.ndarray, at: Score = at) -> tuple[float, np.ndarray]:
            value, gradient = at.value_and_gradient(scale.theta(u))
            return -value, -scale.pull(u, gradient)

        done = minimize(
            downhill, scale.free(theta), jac=True, method="L-BFGS-B", bounds=scale.bounds,
            options={"maxiter": 500, "maxfun": 2000, "gtol": 1e-9 * max(score.bound, 1e-300), "ftol": 1e-14},
        )  # fmt: skip
        theta = scale.theta(done.x)
        evaluations += int(done.nfev)
    return Climb(theta, score.value(theta), evaluations)


def polished(score: Score, scale: Scale, theta: np.ndarray) -> np.ndarray:
    """Return theta (k,) after Newton steps on the normalised coefficients, so that its digits owe nothing to the climb.

    A step that lowers the score by more than rounding, or does not lower the gradient, is not taken.
    """
    value, gradient = score.value_and_gradient(theta)
    for _ in range(NEWTON):
        along = scale.tangent(theta)
        slope = along.T @ gradient
        bent = np.zeros(len(theta))
        bent[scale.first :] = scale.bend(theta, gradient)
        second = along.T @ (score.curvature(theta) - np.diag(bent)) @ along
        step = np.linalg.lstsq(second, -slope, rcond=None)[0]
        new = scale.theta(scale.free(theta + along @ step))
        after, gradient_after = score.value_and_gradient(new)
        falls = np.linalg.norm(scale.tangent(new).T @ gradient_after) < 0.9 * np.linalg.norm(slope)
        if not falls or after < value - 1e-12 * score.bound:
            break
        theta, value, gradient = new, after, gradient_after
    return theta


def from_many_starts(
    score: Score, scale: Scale, starts: int, rng: np.random.Generator, tick: Callable[[], object]
) -> Found:
    """Return the greatest of the maxima reached from fixed starts and from `starts` drawn ones.

    The fixed starts are the least-squares fit of y - (1 - tau), climbed at once and led through wider smoothing, and
    every predictor alone, in both directions. A third of the drawn ones are directions at random; the others shake the
    best maxima so far, half of them led through wider smoothing.
    """
    climbs: list[Climb] = []
    widths: tuple[float, ...]
    for theta, widths in _fixed_starts(score, scale):
        climbs.append(climb(score, scale, theta, widths))
        tick()
    for number in range(starts):
        if 3 * number < starts:
            drawn = rng.standard_normal((score.D.shape[1],))
            theta, widths = score.with_best_intercept(scale.fitted(drawn)), ()
        else:
            best = _distinct(climbs, score.bound)[:KEPT]
            theta = _shaken(best[number % len(best)].theta, scale, rng)
            widths = ((), (2.0,), (), (4.0, 2.0))[number % 4]
        climbs.append(climb(score, scale, theta, widths))
        tick()
    found = _summed_up(climbs, score.bound)
    theta = polished(score, scale, found.theta)
    top, thetas, scores = score.value(theta), found.thetas.copy(), found.scores.copy()
    thetas[0], scores[0] = theta, top
    return replace(found, theta=theta, score=top, thetas=thetas, scores=scores)


def count_fixed_starts(score: Score) -> int:
    """Return how many starts do not depend on chance."""
    return len(WIDER) + 1 + 2 * (score.D.shape[1] - int(score.intercept))


def _fixed_starts(score: Score, scale: Scale) -> Iterator[tuple[np.ndarray, tuple[float, ...]]]:
    linear = _linear(score, scale)
    for led in range(len(WIDER) + 1):
        yield linear, WIDER[len(WIDER) - led :]
    first = int(score.intercept)
    for j in range(first, score.D.shape[1]):
        for sign in (1.0, -1.0):
            theta = np.zeros(score.D.shape[1])
            theta[j] = sign
            yield score.with_best_intercept(scale.fitted(theta)), ()


def _linear(score: Score, scale: Scale) -> np.ndarray:
    return scale.fitted(np.linalg.lstsq(score.D, score.d, rcond=None)[0])


def _shaken(theta: np.ndarray, scale: Scale, rng: np.random.Generator) -> np.ndarray:
    size = SIZES[rng.integers(len(SIZES))]
    length = max(float(np.linalg.norm(theta)), 1.0)
    return scale.fitted(theta + 2.0 * size * length / np.sqrt(len(theta)) * rng.standard_normal(len(theta)))


def _distinct(climbs: list[Climb], bound: float) -> list[Climb]:
    """Return the first climb of each distinct maximum, the greatest first."""
    kept: list[Climb] = []
    for one in sorted(climbs, key=lambda c: -c.score):
        if not kept or kept[-1].score - one.score > SAME * bound:
            kept.append(one)
    return kept


def _summed_up(climbs: list[Climb], bound: float) -> Found:
    best = _distinct(climbs, bound)
    tops = np.array([one.score for one in best])
    place = [int(np.argmin(np.where(tops >= c.score, tops - c.score, np.inf))) for c in climbs]
    return Found(
        theta=best[0].theta,
        score=best[0].score,
        thetas=np.array([one.theta for one in best]),
        scores=tops,
        reached=np.bincount(place, minlength=len(best)),
        evaluations=sum(one.evaluations for one in climbs),
    )


def by_annealing(score: Score, scale: Scale, iterations: int, rng: np.random.Generator) -> Found:
    """Return what scipy's dual annealing finds: the generalised simulated annealing of Tsallis, with local searches.

    Without smoothing there is no gradient, and no local search.
    """
    from scipy.optimize import dual_annealing

    done = dual_annealing(
        lambda u: -score.value(scale.theta(u)), scale.box, maxiter=iterations, rng=rng,
        no_local_search=score.h == 0.0,
    )  # fmt: skip
    theta = scale.theta(done.x)
    value = score.value(theta)
    return Found(theta, value, theta[None], np.array([value]), np.ones(1, dtype=np.intp), int(done.nfev))


def best_of(each: list[Found], bound: float) -> Found:
    """Return several searches as one."""
    climbs = [Climb(t, float(v), 0) for one in each for t, v in zip(one.thetas, one.scores, strict=True)]
    counts = [int(r) for one in each for r in one.reached]
    repeated = [climb for climb, count in zip(climbs, counts, strict=True) for _ in range(count)]
    found = _summed_up(repeated, bound)
    return replace(found, evaluations=sum(one.evaluations for one in each))


def unsmoothed(score: Score, found: Found) -> Found:
    """Return the best unsmoothed score among the maxima of smoothed ones, with their best intercepts too."""
    thetas = [one for theta in found.thetas for one in (theta, score.with_best_intercept(theta))]
    values = [Climb(theta, score.value(theta), 0) for theta in thetas]
    return replace(_summed_up(values, score.bound), evaluations=found.evaluations)


def warm_starts(found: Found) -> Callable[[Score, Scale], Iterator[tuple[np.ndarray, tuple[float, ...]]]]:
    """Return the starts of a fit to other rows: the best maxima of this one, and the linear one led through `WIDER`."""

    def starts(score: Score, scale: Scale) -> Iterator[tuple[np.ndarray, tuple[float, ...]]]:
        for theta in found.thetas[:WARM]:
            yield scale.fitted(theta), ()
        yield _linear(score, scale), WIDER

    return starts
