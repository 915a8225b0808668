"""Convex steps whose minimum is not reached: the band moves off in some direction of (b, rho) at no cost.

So it is where one class is never predicted (every row of it lies beyond a ramp, none of the other does) or where every
row is withheld. The box and the equalities then leave some duals no choice but 0, an interior point method has no
interior to work in, and (b, rho) is a half-line. Those duals are fixed, the others solved for, and (b, rho) is put
where the rows concerned come to lie clear of the kinks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qreg_boost.kernel.box_qp import BoxQP, BoxSolution, solve_box_qp
from qreg_boost.kernel.program import judged
from qreg_boost.kernel.quadratic import LowRank
from qreg_boost.kernel.sifting import solve_by_sifting

MANY_ROWS = 1000
"""From so many rows on, a step that has a start is solved on the variables that it leaves open."""
MOST_OPEN = 0.6
"""With a larger share of its rows open, the step is solved whole and without the start."""
CLEAR = 0.1
"""Rows come to lie this share of mu clear of the kinks."""
BOTH = ((1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (1.0, -1.0), (-1.0, -1.0))
ONE = ((1.0,), (-1.0,))


@dataclass(frozen=True, eq=False)
class Flat:
    """A direction of the multipliers (m,) along which the dual of a step is flat, and what it adds to each gradient."""

    direction: np.ndarray
    change: np.ndarray


def solve_step(problem: BoxQP, mu: float, warm: BoxSolution | None) -> BoxSolution:
    """Return the solution of a convex step, whose boxes have 0 at one end; its status is the caller's to look at."""
    flat = flat_direction(problem)
    if flat is None:
        return solve_warm(problem, warm)
    concerned = flat.change != 0.0
    fixed = replace(
        problem, lower=np.where(concerned, 0.0, problem.lower), upper=np.where(concerned, 0.0, problem.upper),
        A=problem.A[:1], b=problem.b[:1],
    )  # fmt: skip
    inner = solve_step(fixed, mu, None) if (fixed.upper > fixed.lower).any() else solve_box_qp(fixed, quiet=True)
    multipliers = np.zeros(len(problem.b))
    multipliers[0] = inner.multipliers[0]
    # margins less mu; a row without slope must lie at or above 0, a row beyond its ramp below -mu - mu^2
    gradient = problem.Q.times(inner.a) + problem.c + np.tensordot(multipliers, problem.A, axes=1)
    below, above = concerned & (flat.change > 0.0), concerned & (flat.change < 0.0)
    room = CLEAR * mu
    needed = np.concatenate((
        (room - gradient[below]) / flat.change[below],
        (gradient[above] + mu + mu**2 + room) / -flat.change[above],
    ))  # fmt: skip
    multipliers = multipliers + max(float(needed.max()), 0.0) * flat.direction
    return judged(problem, inner.u.copy(), multipliers, inner.iterations, False)


def solve_warm(problem: BoxQP, warm: BoxSolution | None) -> BoxSolution:
    """Return the solution, of many rows by way of the variables that `warm` does not put at a bound for certain."""
    few = problem.Q.n < MANY_ROWS or not isinstance(problem.Q, LowRank)
    if warm is None or few or warm.u.shape != problem.c.shape:
        return solve_box_qp(problem, warm, quiet=True)
    try:
        found = solve_by_sifting(problem, warm, _narrow)
    except _Wide:
        found = None
    return solve_box_qp(problem, None, quiet=True) if found is None else found


class _Wide(Exception):
    """Most rows are open: the start says too little."""


def _narrow(problem: BoxQP, start: BoxSolution | None) -> BoxSolution:
    if (problem.upper > problem.lower).any(axis=0).mean() > MOST_OPEN:
        raise _Wide
    return solve_box_qp(problem, start, quiet=True)


def flat_direction(problem: BoxQP) -> Flat | None:
    """Return a direction along which the multipliers may go on for ever, or None."""
    free = problem.upper > problem.lower
    rising, falling = free & (problem.lower == 0.0), free & (problem.upper == 0.0)
    for direction in BOTH if len(problem.b) == 2 else ONE:
        change = np.tensordot(np.array(direction), problem.A, axes=1)
        if (change[free] != 0.0).any() and rising[free & (change > 0.0)].all() and falling[free & (change < 0.0)].all():
            return Flat(np.array(direction), np.where(free, change, 0.0))
    return None
