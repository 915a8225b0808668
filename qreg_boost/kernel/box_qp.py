"""The one quadratic program of all kernel machines: blocks of box-constrained variables whose sum enters the quadratic.

::

    minimise    1/2 a'Qa + sum_k c_k'u_k,      a = u_1 + ... + u_K
    subject to  lower_k <= u_k <= upper_k,     sum_k A_k u_k = b       (few rows)

cvxopt's interior point method (`coneqp`) is given the Newton system in its reduced form: one system of order n, or of
order p where Q = Z Z' (`qreg_boost.kernel.quadratic`). What it returns is judged here, by residuals computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, warn
from qreg_boost.kernel.program import BoxQP, BoxSolution, QPStatus, Residuals, check_program, judged, shortfall
from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic
from qreg_boost.kernel.sifting import solve_by_sifting

__all__ = ["BoxQP", "BoxSolution", "Dense", "LowRank", "QPStatus", "Residuals", "shortfall", "solve_box_qp"]

TOLERANCES = (1e-10, 1e-12, 1e-14)
"""Relative duality gaps asked of the interior point method; it goes on to the next while residuals exceed `CLOSE`."""
CLOSE = 1e-7
MOST_ITERATIONS, MORE_ITERATIONS = 50, 6
FEASIBILITY = 1e-8
"""The method's own feasibility: its slacks and points drift apart by rounding, and its point alone is kept."""
FEW_ROWS = 3000
"""Up to here, a low-rank problem whose system of order p lost its digits is solved by its system of order n."""
MANY_ROWS = 20_000
"""From here on, linear problems are sifted."""
INSIDE = 0.1
"""A warm start is moved inside its box by this share of the width; by a thousandth it is worse than a cold start."""


def solve_box_qp(problem: BoxQP, start: BoxSolution | None = None, *, quiet: bool = False) -> BoxSolution:
    """Return the solution of a block box-constrained quadratic program.

    Parameters
    ----------
    problem : BoxQP
    start : BoxSolution, optional
        Solution of a problem like this one; where it leads nowhere, the problem is solved anew without it.
    quiet : bool
        Whether to leave the warning to the caller, who then must look at `status`.

    Raises
    ------
    InputError
        If shapes do not fit, a number is not finite, a lower bound is above its upper bound, Q is not positive
        semidefinite, or the equalities depend on each other.

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
    found = None
    if isinstance(problem.Q, LowRank) and problem.Q.n >= MANY_ROWS:
        found = solve_by_sifting(problem, start, _solution)
    if found is None:
        found = _solution(problem, start)
    if not found.status.optimal and not quiet:
        warn(f"The quadratic program is not solved. {shortfall(found)}", ConvergenceWarning)
    return found


def _solution(problem: BoxQP, start: BoxSolution | None) -> BoxSolution:
    free = problem.upper > problem.lower
    if not free.any():
        return judged(problem, problem.lower.copy(), np.zeros(len(problem.b)), 0, False)
    blocks = Blocks.of(problem, free)
    found = blocks.solution(start)
    if found.warm and not found.status.optimal:
        found = blocks.solution(None)
    Q = problem.Q
    if not found.status.optimal and isinstance(Q, LowRank) and Q.n <= FEW_ROWS:
        whole = _solution(replace(problem, Q=Q.dense()), None)
        found = min(found, whole, key=lambda one: one.residuals.excess)
    return found


# -- the Newton system -------------------------------------------------------------------------------------------------


class Newton(Protocol):
    """A quadratic term H (n, n) of variables x, known by products and by its Newton system."""

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return H x (n,)."""

    def solver(self, D: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function r -> (H + diag D)^-1 r, for r (n, k)."""


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


# -- the interior point method -----------------------------------------------------------------------------------------


class NoStep(Exception):
    """The interior point method has no first step: its system is singular."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """Where the interior point method is, and after how many iterations.

    x (n,), multipliers y (m,) of the equalities, slacks s and multipliers z of the finite lower and then upper bounds,
    all above 0.
    """

    x: np.ndarray
    y: np.ndarray
    s: np.ndarray
    z: np.ndarray
    iterations: int = 0


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


@dataclass(frozen=True, eq=False)
class Parts:
    """A problem min 1/2 x'Hx + c'x with lower <= x <= upper and A x = b, of moderate size, as one without units.

    Attributes
    ----------
    newton : Newton
        H, and its Newton system.
    c, lower, upper : (n,) array
        A bound may be infinite, on one side.
    A : (m, n) array
    b : (m,) array
    """

    newton: Newton
    c: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    A: np.ndarray
    b: np.ndarray

    def run(self, start: Iterate | None, tolerance: float, most: int) -> Iterate:
        """Return where cvxopt's interior point method ends, from a start or from its own."""
        from cvxopt import matrix, solvers

        low, high = np.flatnonzero(np.isfinite(self.lower)), np.flatnonzero(np.isfinite(self.upper))
        cones = Cones(self.newton, self.A, low, high)
        h = np.concatenate((-self.lower[low], self.upper[high]))
        options = {"show_progress": False, "abstol": 1e-3 * tolerance, "reltol": tolerance,
                   "feastol": FEASIBILITY, "maxiters": most}  # fmt: skip
        begin = None if start is None else {name: matrix(getattr(start, name)) for name in "xysz"}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a problem without a solution: judged by its residuals
                found = solvers.coneqp(
                    cones.P, matrix(self.c), cones.G, matrix(h), {"l": len(h), "q": [], "s": []}, matrix(self.A),
                    matrix(self.b), initvals=begin, kktsolver=cones.kktsolver, options=options,
                )  # fmt: skip
        except ValueError:
            raise NoStep from None
        done = found["iterations"] + (0 if start is None else start.iterations)
        x, y, s, z = (np.array(found[name]).ravel() for name in "xysz")
        return Iterate(x, y, s, z, done)


def _view(vector: Any) -> np.ndarray:
    """Return the numbers of cvxopt's column (n, 1) as an array (n,) that shares them."""
    return np.asarray(memoryview(vector)).reshape(-1) if len(vector) else np.empty(0)


@dataclass(frozen=True, eq=False)
class Cones:
    """The problem as `coneqp` asks for it: products with P and with G = [-I; I], and the solution of its KKT system."""

    newton: Newton
    A: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alive: list[list[Callable[[np.ndarray], np.ndarray]]] = field(default_factory=list)
    """The Newton system of the latest iteration: coneqp keeps the functions of two earlier ones, each with a matrix."""

    def P(self, x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
        """Set y to alpha P x + beta y."""
        out = _view(y)
        out[:] = alpha * self.newton.times(_view(x)) + (beta * out if beta else 0.0)

    def G(self, x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0, trans: str = "N") -> None:
        """Set y to alpha G x + beta y, or with G'."""
        out = _view(y)
        product = self._G(_view(x)) if trans == "N" else self._Gt(_view(x), len(out))
        out[:] = alpha * product + (beta * out if beta else 0.0)

    def _G(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate((-x[self.low], x[self.high]))

    def _Gt(self, z: np.ndarray, n: int) -> np.ndarray:
        out = np.zeros(n)
        out[self.low] -= z[: len(self.low)]
        out[self.high] += z[len(self.low) :]
        return out

    def kktsolver(self, W: Any) -> Callable[[Any, Any, Any], None]:
        """Return the function that solves [P A' G'; A 0 0; G 0 -W'W] for one scaling W."""
        di2 = _view(W["di"]) ** 2
        di = np.sqrt(di2)
        n = self.A.shape[1]
        D = np.zeros(n)
        D[self.low] += di2[: len(self.low)]
        D[self.high] += di2[len(self.low) :]
        for earlier in self.alive:
            earlier.clear()
        own: list[Callable[[np.ndarray], np.ndarray]] = []
        self.alive[:] = [own]
        own.append(self.newton.solver(D))
        inverse_At = own[0](self.A.T) if len(self.A) else np.empty((n, 0))
        schur = self.A @ inverse_At

        def kkt(x: Any, y: Any, z: Any) -> None:
            bx, by, bz = _view(x), _view(y), _view(z)
            ux = own[0]((bx + self._Gt(di2 * bz, n))[:, None])[:, 0]
            if len(by):
                try:
                    by[:] = np.linalg.solve(schur, self.A @ ux - by)
                except np.linalg.LinAlgError:
                    raise ArithmeticError("the equalities depend on each other") from None
                ux -= inverse_At @ by
            bz[:] = di * (self._G(ux) - bz)
            bx[:] = ux

        return kkt
