"""Large linear problems: most variables sit at a bound that a sample of the rows tells, and need not be solved for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.kernel.program import BoxQP, BoxSolution, judged

SAMPLE = 10_000
"""Rows of the smallest problem; each larger one, of four times as many rows, starts from the solution before."""
SHARE = 0.1
"""Share of the variables, those of smallest gradient, that are free in the first reduced problem."""
MOST_ROUNDS = 12
SIGN = 1e-9
"""A gradient of this share of the largest has a sign."""

Solver = Callable[[BoxQP, "BoxSolution | None"], BoxSolution]


def solve_by_sifting(problem: BoxQP, start: BoxSolution | None, solve: Solver) -> BoxSolution | None:
    """Return the solution of a problem of many rows, or None where the rounds do not settle.

    The gradient at the solution of a sample (or at `start`) says which variables are surely at a bound. They are fixed
    there and the others solved for; variables whose gradient then has the wrong sign are freed, and so on. The end is
    judged on the whole problem, like any other solution.

    Parameters
    ----------
    problem : BoxQP
    start : BoxSolution or None
    solve : callable
        (problem, start) -> solution, with fixed variables where lower and upper bounds are equal.
    """
    gradient = _gradient(problem, start, solve)
    if gradient is None:
        return None
    open_ = problem.upper > problem.lower
    size = np.where(open_, np.abs(gradient), np.inf)
    most = max(int(SHARE * open_.sum()), 1)
    free = size <= np.partition(size.ravel(), most - 1)[most - 1]
    iterations, at = 0, None
    for _ in range(MOST_ROUNDS):
        bound = np.where(gradient > 0.0, problem.lower, problem.upper)
        reduced = replace(
            problem, lower=np.where(free, problem.lower, bound), upper=np.where(free, problem.upper, bound)
        )
        try:
            at = solve(reduced, at)
        except InputError:  # too few free variables for the equalities
            free = _more(size, free)
            at = None
            continue
        iterations += at.iterations
        found = judged(problem, at.u.copy(), at.multipliers, iterations, start is not None)
        if found.status.optimal:
            return found
        gradient = found.gradient
        clear = np.abs(gradient) > SIGN * np.abs(gradient).max()
        wrong = open_ & ~free & clear & ((gradient > 0.0) != (at.u == problem.lower))
        few = wrong.any() and wrong.sum() <= free.sum()
        # very many wrong: too few were free, and multipliers went astray
        free = free | wrong if few else _more(size, free)
    return None


def _more(size: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return a mask with twice as many free variables, those of smallest gradient."""
    most = min(2 * int(free.sum()), int(np.isfinite(size).sum()))
    return free | (size <= np.partition(size.ravel(), most - 1)[most - 1])


def _gradient(problem: BoxQP, start: BoxSolution | None, solve: Solver) -> np.ndarray | None:
    """Return the gradient (K, n) at a point that should be near the solution."""
    if start is not None and start.u.shape == problem.c.shape:
        return _at(problem, problem.Q.times(start.a), start.multipliers)
    n = problem.Q.n

    def of_part(part: BoxQP) -> BoxSolution:
        found = solve_by_sifting(part, None, solve) if part.Q.n > 2 * SAMPLE else None
        return solve(part, None) if found is None else found

    said = said_by_sample(problem, max(SAMPLE, n // 4), of_part)
    return None if said is None else said[0]


def said_by_sample(
    problem: BoxQP, size: int, solve: Callable[[BoxQP], BoxSolution]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the gradient (K, n) and the multipliers (m,) by which a sample of the rows extends to all, or None.

    The boxes of the sample are widened in proportion, so that it weighs as much as all rows.
    """
    n = problem.Q.n
    rows = np.sort(np.random.default_rng(0).permutation(n)[:size])
    factor = n / len(rows)
    part = BoxQP(
        problem.Q.at(rows), problem.c[:, rows], factor * problem.lower[:, rows], factor * problem.upper[:, rows],
        problem.A[:, :, rows], problem.b,
    )  # fmt: skip
    try:
        found = solve(part)
    except InputError:
        return None
    return _at(problem, problem.Q.product(rows, found.a), found.multipliers), found.multipliers


def _at(problem: BoxQP, Qa: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    return Qa + problem.c + np.tensordot(multipliers, problem.A, axes=1)
