"""The one quadratic program of all kernel machines: blocks of box-constrained variables whose sum enters the quadratic.

::

    minimise    1/2 a'Qa + sum_k c_k'u_k,      a = u_1 + ... + u_K
    subject to  lower_k <= u_k <= upper_k,     sum_k A_k u_k = b       (few rows)

cvxopt's interior point method (`coneqp`) is given the Newton system in its reduced form: one system of order n, or of
order p where Q = Z Z' (`qreg_boost.kernel.quadratic`). A problem with a matrix that is like one solved before, or of
many rows, is first tried from a guess (`qreg_boost.kernel.active_set`). What either returns is judged here, by
residuals computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, warn
from qreg_boost.kernel.active_set import Guess, solve_by_active_set
from qreg_boost.kernel.cone_program import Iterate, Newton, NoStep, Parts
from qreg_boost.kernel.program import BoxQP, BoxSolution, QPStatus, Residuals, check_program, judged, shortfall
from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic
from qreg_boost.kernel.sifting import said_by_sample, solve_by_sifting

__all__ = ["BoxQP", "BoxSolution", "Dense", "LowRank", "QPStatus", "Residuals", "shortfall", "solve_box_qp"]

TOLERANCES = (1e-10, 1e-12, 1e-14)
"""Relative duality gaps asked of the interior point method; it goes on to the next while residuals exceed `CLOSE`."""
CLOSE = 1e-7
MOST_ITERATIONS, MORE_ITERATIONS = 50, 6
FEW_ROWS = 3000
"""Up to here, a low-rank problem whose system of order p lost its digits is solved by its system of order n."""
MANY_ROWS = 20_000
"""From here on, linear problems are sifted."""
SAMPLED = 800
"""From so many rows on, a problem with a matrix and without a start begins from a quarter of its rows."""
INSIDE = 0.1
"""A warm start is moved inside its box by this share of the width; by a thousandth it is worse than a cold start."""


def solve_box_qp(problem: BoxQP, start: BoxSolution | None = None, *, quiet: bool = False) -> BoxSolution:
    """Return the solution of a block box-constrained quadratic program.

    Parameters
    ----------
    problem : BoxQP
    start : BoxSolution, optional
        Solution of a problem like this one: its u, gradient and multipliers are looked at. Where it leads nowhere, the
        problem is solved anew without it.
    quiet : bool
        Whether to leave the warning to the caller, who then must look at `status`.

    Raises
    ------
    InputError
        If shapes do not fit, a number is not finite, a lower bound is above its upper bound, or Q is not positive
        semidefinite.

    Warns
    -----
    ConvergenceWarning
        If the solution is not optimal; the residuals are named.

    Notes
    -----
    With barrier diagonals D_k, E = 1 / sum_k 1/D_k and omega_k = E / D_k, the Newton system of the blocks is
    a = (Q + E)^-1 sum_k omega_k r_k, u_k = omega_k a + sum_j omega_j (r_k - r_j) / D_k. This recovery of the blocks
    keeps its digits; (r_k - Q a) / D_k does not.

    Examples
    --------
    >>> from qreg_boost.kernel.quadratic import Dense
    >>> one = np.ones((1, 2))
    >>> problem = BoxQP(Dense(np.eye(2)), np.array([[-3.0, 0.0]]), 0.0 * one, one, one[None], np.array([1.5]))
    >>> solve_box_qp(problem).u.round(6).tolist()
    [[1.0, 0.5]]
    """
    check_program(problem)
    found = _answer(problem, start)
    if not found.status.optimal and not quiet:
        warn(f"The quadratic program is not solved. {shortfall(found)}", ConvergenceWarning)
    return found


def _answer(problem: BoxQP, start: BoxSolution | None) -> BoxSolution:
    """Return the solution by the way that suits the problem; where it does not lead there, by the interior point."""
    if start is not None and (start.u.shape != problem.c.shape or len(start.multipliers) != len(problem.b)):
        start = None
    if isinstance(problem.Q, LowRank):
        sifted = solve_by_sifting(problem, start, _solution) if problem.Q.n >= MANY_ROWS else None
        return _solution(problem, start) if sifted is None else sifted
    if not (problem.upper > problem.lower).any():
        return _solution(problem, start)
    found = _from_guess(problem, start)
    return _refined(problem, _solution(problem, start)) if found is None else found


def _from_guess(problem: BoxQP, start: BoxSolution | None) -> BoxSolution | None:
    """Return what the active set of the start leads to, or that of a quarter of many rows; None if not the solution."""
    guess = None
    if start is not None:
        guess = Guess(start.u, start.gradient, start.multipliers)
    elif problem.Q.n >= SAMPLED:
        said = said_by_sample(problem, problem.Q.n // 4, lambda part: _answer(part, None))
        guess = None if said is None else Guess(problem.lower, *said)
    found = None if guess is None else solve_by_active_set(problem, guess)
    if found is None or not found.status.optimal or found.residuals.kkt > CLOSE:
        return None
    return replace(found, warm=start is not None)


def _refined(problem: BoxQP, found: BoxSolution) -> BoxSolution:
    """Return a solution with its variables at their bounds to the last digit.

    In boxes much wider than the solution, the interior point method's point keeps a distance from the bounds that is
    nothing to the boxes, and much to the objective.
    """
    near = solve_by_active_set(problem, Guess(found.u, found.gradient, found.multipliers))
    if near is None or not near.status.optimal or near.residuals.kkt > found.residuals.kkt:
        return found
    return replace(near, iterations=found.iterations, warm=found.warm)


def _solution(problem: BoxQP, start: BoxSolution | None) -> BoxSolution:
    free = problem.upper > problem.lower
    if not free.any():
        return judged(problem, problem.lower.copy(), np.zeros(len(problem.b)), 0, False)
    try:
        found = _by_interior_point(problem, free, start)
    except InputError:
        told = _independent(problem.A[:, free])
        if told.all():
            raise
        fewer = replace(problem, A=problem.A[told], b=problem.b[told])
        part = _by_interior_point(fewer, free, None)
        multipliers = np.zeros(len(problem.b))
        multipliers[told] = part.multipliers
        found = judged(problem, part.u.copy(), multipliers, part.iterations, False)
    Q = problem.Q
    if not found.status.optimal and isinstance(Q, LowRank) and Q.n <= FEW_ROWS:
        whole = _solution(replace(problem, Q=Q.dense()), None)
        found = min(found, whole, key=lambda one: one.residuals.excess)
    return found


# -- the Newton system -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sums:
    """The quadratic term scale * a'Qa of the free variables of several blocks, a their sum by row.

    Attributes
    ----------
    Q : Quadratic
        Of order n: the rows in which some block is free.
    free : (K, n) array of bool
    scale : float
    """

    Q: Quadratic
    free: np.ndarray
    scale: float

    @cached_property
    def _all(self) -> bool:
        return bool(self.free.all())

    def _spread(self, x: np.ndarray) -> np.ndarray:
        """Return the free variables x (free, k) as blocks (K, n, k), 0 where a variable is fixed."""
        shape = (*self.free.shape, x.shape[1])
        if self._all:
            return x.reshape(shape)
        blocks = np.zeros(shape)
        blocks[self.free] = x
        return blocks

    def _gathered(self, blocks: np.ndarray) -> np.ndarray:
        """Return the free variables (free, k) of blocks (K, n, k)."""
        return blocks.reshape(-1, blocks.shape[2]) if self._all else blocks[self.free]

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient (free,) of the term at the free variables x."""
        Qa = self.scale * self.Q.times(self._spread(x[:, None]).sum(axis=0))
        return self._gathered(np.broadcast_to(Qa, (*self.free.shape, 1)))[:, 0]

    def solver(self, D: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the Newton system's solution, the blocks recovered without cancellation."""
        over_D = self._spread(1.0 / D[:, None])
        E = 1.0 / over_D.sum(axis=0)
        omega = E * over_D
        inner = self.Q.solver(E[:, 0], self.scale)
        K = len(self.free)

        def solve(r: np.ndarray) -> np.ndarray:
            R = self._spread(r)
            a = inner(np.asfortranarray((omega * R).sum(axis=0)))
            U = omega * a
            for k in range(K):
                for j in range(k):
                    difference = omega[j] * over_D[k] * (R[k] - R[j])
                    U[k] += difference
                    U[j] -= difference
            return self._gathered(U)

        return solve


def _by_interior_point(problem: BoxQP, free: np.ndarray, start: BoxSolution | None) -> BoxSolution:
    blocks = Blocks.of(problem, free)
    found = blocks.solution(start)
    return blocks.solution(None) if found.warm and not found.status.optimal else found


def _independent(A: np.ndarray) -> np.ndarray:
    """Return which rows (m,) of A (m, n) no earlier ones make up."""
    sizes = np.abs(A).max(axis=1, keepdims=True)
    rows = A / np.where(sizes > 0.0, sizes, 1.0)
    told = sizes[:, 0] > 0.0
    for j in np.flatnonzero(told):
        told[j] = np.linalg.matrix_rank(rows[: j + 1][told[: j + 1]]) == np.count_nonzero(told[: j + 1])
    return told


# -- without units -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Blocks:
    """The free part of a `BoxQP`, without units: variables over `unit`, objective over `unit` times `force`."""

    problem: BoxQP
    free: np.ndarray
    newton: Newton
    unit: float
    force: float

    @classmethod
    def of(cls, problem: BoxQP, free: np.ndarray) -> Blocks:
        """Return the free part of a problem."""
        rows = np.flatnonzero(free.any(axis=0))
        Q = problem.Q if len(rows) == problem.Q.n else problem.Q.at(rows)
        unit = float((problem.upper - problem.lower).max())
        force = float(np.abs(problem.c[free]).max()) or unit * problem.Q.size or 1.0
        return cls(problem, free, Sums(Q, free[:, rows], unit / force), unit, force)

    @cached_property
    def _scales(self) -> np.ndarray:
        """Size of each row of A on the free variables; 0 for a row that does not concern them."""
        return np.abs(self.problem.A[:, self.free]).max(axis=1)

    @cached_property
    def _parts(self) -> Parts:
        problem, free, kept = self.problem, self.free, self._scales > 0.0
        fixed = np.where(free, 0.0, problem.lower)
        c, b = problem.c[free], problem.b
        if fixed.any():
            c = c + np.broadcast_to(problem.Q.times(fixed.sum(axis=0)), free.shape)[free]
            b = b - np.tensordot(problem.A, fixed, axes=2)
        scales = self._scales[kept]
        return Parts(
            self.newton, c / self.force, problem.lower[free] / self.unit, problem.upper[free] / self.unit,
            problem.A[:, free][kept] / scales[:, None], b[kept] / scales / self.unit,
        )  # fmt: skip

    def solution(self, start: BoxSolution | None) -> BoxSolution:
        """Return the solution; of several tolerances, the one with the smallest residuals."""
        warm = start is not None and start.u.shape == self.free.shape
        at = self._moved_inside(start) if warm and start is not None else None
        found = None
        for tolerance in TOLERANCES:
            try:
                at = self._parts.run(at, tolerance, MOST_ITERATIONS if found is None else MORE_ITERATIONS)
            except NoStep:
                break
            here = self._judged(at, warm)
            found = here if found is None else min(found, here, key=lambda one: one.residuals.excess)
            if here.residuals.kkt <= CLOSE and here.status.optimal:
                break
        if found is None and warm:
            return self.solution(None)
        if found is None:
            raise InputError(
                "The quadratic program has no unique Newton step: the kernel matrix is not positive semidefinite (the "
                "tanh kernel's need not be, nor one of your own), or the equalities depend on each other."
            )
        return found

    def _judged(self, at: Iterate, warm: bool) -> BoxSolution:
        u = self.problem.lower.copy()
        u[self.free] = at.x * self.unit
        multipliers, kept = np.zeros(len(self._scales)), self._scales > 0.0
        multipliers[kept] = at.y * self.force / self._scales[kept]
        return judged(self.problem, u, multipliers, at.iterations, warm)

    def _moved_inside(self, start: BoxSolution) -> Iterate:
        """Return a start in this box: the old point moved inside, multipliers of the bounds at least as far from 0."""
        lower, upper, kept = self._parts.lower, self._parts.upper, self._scales > 0.0
        margin = INSIDE * (upper - lower)
        x = np.clip(start.u[self.free] / self.unit, lower + margin, upper - margin)
        gradient = start.gradient[self.free] / self.force
        z = np.maximum(np.concatenate((gradient, -gradient)), INSIDE)
        y = start.multipliers[kept] * self._scales[kept] / self.force
        return Iterate(x, y, np.concatenate((x - lower, upper - x)), z)
