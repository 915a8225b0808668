"""The block box-constrained quadratic program as a record, its solution, and the certificate that judges it.

::

    minimise    1/2 a'Qa + sum_k c_k'u_k,      a = u_1 + ... + u_K
    subject to  lower_k <= u_k <= upper_k,     sum_k A_k u_k = b       (few rows)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.kernel.quadratic import Quadratic

ALLOWED = {"gap": 1e-8, "kkt": 1e-6, "equality": 1e-8}
"""A solution whose residuals, computed anew, exceed these is not optimal, whatever the method says of it."""


class QPStatus(Enum):
    """How a quadratic program ended; the value is a message, with the remedy where one is needed."""

    OPTIMAL = "Optimal: residuals of the optimality conditions, computed anew, are within the tolerance."
    STOPPED = (
        "Stopped before the optimum: see the residuals for how far. Rescale the predictors, lower C, or add a little "
        "to the diagonal of the kernel matrix."
    )

    @property
    def optimal(self) -> bool:
        """Return whether the optimum was reached."""
        return self is QPStatus.OPTIMAL


@dataclass(frozen=True, eq=False)
class BoxQP:
    """A block box-constrained quadratic program.

    Attributes
    ----------
    Q : Quadratic
        `Dense(Q)` or `LowRank(Z)`, of order n.
    c : (K, n) array
        Linear terms, a row for each block.
    lower, upper : (K, n) array
        The boxes, finite; equal where a variable is fixed.
    A : (m, K, n) array
        Rows of the equality constraints: sum over k, i of A[j, k, i] u[k, i] = b[j].
    b : (m,) array
    """

    Q: Quadratic
    c: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    A: np.ndarray
    b: np.ndarray


@dataclass(frozen=True)
class Residuals:
    """How far a point within its boxes is from optimal; all without units, 0 at an optimum.

    Attributes
    ----------
    equality : float
        Largest violation of an equality, over the largest that its terms can sum to.
    kkt : float
        Largest violation of complementarity: the smaller of the gradient (over its scale) and the distance to the
        bound that it pushes to (over the width of the widest box).
    gap : float
        Duality gap over the size of the objective.
    """

    equality: float
    kkt: float
    gap: float

    @property
    def excess(self) -> float:
        """The largest of them, each over what is allowed: at most 1 if optimal."""
        return max(getattr(self, name) / allowed for name, allowed in ALLOWED.items())


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """A solution of a `BoxQP`, with its certificate.

    Attributes
    ----------
    u : (K, n) array
        The blocks, within their boxes.
    a : (n,) array
        Their sum.
    multipliers : (m,) array
        nu of the equalities, in the Lagrangian f(u) + nu'(A u - b).
    gradient : (K, n) array
        Q a + c_k + A_k'nu: at least 0 where a variable is at its lower bound, at most 0 at its upper bound, 0 between.
    primal, dual : float
        Objective at u, and the lower bound of it that nu and a prove.
    residuals : Residuals
    iterations : int
        Of the interior point method; rounds, where an active set led to it.
    status : QPStatus
    warm : bool
        Whether a start was used.
    """

    u: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray
    gradient: np.ndarray
    primal: float
    dual: float
    residuals: Residuals
    iterations: int
    status: QPStatus
    warm: bool

    @property
    def gap(self) -> float:
        """Duality gap, primal - dual."""
        return self.primal - self.dual


def check_program(problem: BoxQP) -> None:
    """Refuse a problem whose parts do not fit, or that has no solution for a plain reason."""
    n, shape = problem.Q.n, problem.c.shape
    shapes = (problem.lower.shape, problem.upper.shape, problem.A.shape[1:], (shape[0], n))
    if any(one != shape for one in shapes) or problem.b.shape != problem.A.shape[:1]:
        raise InputError(f"The parts of the quadratic program do not fit: order {n}, c {shape}, A {problem.A.shape}.")
    parts = (problem.c, problem.lower, problem.upper, problem.A, problem.b)
    if not all(np.isfinite(part).all() for part in parts):
        raise InputError("The quadratic program has infinite or missing numbers.")
    if (problem.lower > problem.upper).any():
        raise InputError("A lower bound of the quadratic program lies above its upper bound.")
    ends = (problem.A * problem.lower, problem.A * problem.upper)
    least, most = (pick(*ends).sum(axis=(1, 2)) for pick in (np.minimum, np.maximum))
    slack = 1e-9 * (np.abs(least) + np.abs(most))
    if ((problem.b < least - slack) | (problem.b > most + slack)).any():
        raise InputError("No point of the boxes satisfies the equalities of the quadratic program.")


def judged(problem: BoxQP, u: np.ndarray, multipliers: np.ndarray, iterations: int, warm: bool) -> BoxSolution:
    """Return the solution with its residuals, computed from the problem as it was given."""
    np.clip(u, problem.lower, problem.upper, out=u)
    a = u.sum(axis=0)
    Qa = problem.Q.times(a)
    gradient = Qa + problem.c + np.tensordot(multipliers, problem.A, axes=1)
    primal = float(0.5 * (a @ Qa) + np.vdot(problem.c, u))
    off = np.tensordot(problem.A, u, axes=2) - problem.b
    # Sum of terms none of which is negative: no digits cancel, as they would in the difference of two objectives.
    slack = np.where(gradient > 0.0, u - problem.lower, problem.upper - u)
    gap = float(np.vdot(np.abs(gradient), slack))
    residuals = _residuals(problem, u, Qa, gradient, slack, off, gap, primal)
    status = QPStatus.OPTIMAL if residuals.excess <= 1.0 else QPStatus.STOPPED
    return BoxSolution(
        u,
        a,
        multipliers,
        gradient,
        primal,
        primal - gap + float(multipliers @ off),
        residuals,
        iterations,
        status,
        warm,
    )


def shortfall(found: BoxSolution) -> str:
    """Return what is wrong with a solution that is not optimal, in words."""
    r = found.residuals
    return (
        f"{found.status.value} After {found.iterations} iterations: relative duality gap {r.gap:.2g}, optimality "
        f"conditions {r.kkt:.2g}, equalities {r.equality:.2g}; allowed {', '.join(f'{v:g}' for v in ALLOWED.values())}."
    )


def _residuals(
    problem: BoxQP,
    u: np.ndarray,
    Qa: np.ndarray,
    gradient: np.ndarray,
    slack: np.ndarray,
    off: np.ndarray,
    gap: float,
    primal: float,
) -> Residuals:
    width = problem.upper - problem.lower
    scale = max(float(np.abs(problem.c).max(initial=0.0)), float(np.abs(Qa).max(initial=0.0)))
    if not problem.c.any():  # nothing pulls: gradients are as large as the boxes could make them
        scale = max(scale, problem.Q.size * float(width.max(initial=0.0))) or 1.0
    share = slack / max(float(width.max(initial=0.0)), 1e-300)
    kkt = float(np.minimum(np.abs(gradient) / scale, share).max(initial=0.0))
    reach = np.tensordot(np.abs(problem.A), np.maximum(np.abs(problem.lower), np.abs(problem.upper)), axes=2)
    equality = float((np.abs(off) / np.maximum(reach + np.abs(problem.b), 1e-300)).max(initial=0.0))
    size = abs(primal) + 1e-6 * scale * float(width.sum()) + 1e-300
    return Residuals(equality, kkt, gap / size)
