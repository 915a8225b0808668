"""The first convex programs of a reject option classifier as plain arrays, so that other solvers can be set beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.kernel.box_qp import BoxSolution
from qreg_boost.kernel.incomplete_cholesky import low_rank_of
from qreg_boost.kernel.kernels import Kernel
from qreg_boost.reject.dca import convex_step, hinges_fit, symmetric
from qreg_boost.reject.losses import double_hinge, generalized_hinge, hinge
from qreg_boost.reject.machine import Machine, signed, task_of, unsigned
from qreg_boost.reject.task import Beyond, Point, Task

if TYPE_CHECKING:
    from qreg_boost.reject.model import RejectClassifier

HINGES = {"double_hinge": double_hinge, "generalized_hinge": generalized_hinge}


@dataclass(frozen=True, eq=False)
class Program:
    """min c'u + 1/2 u'Hu, A u = 0, lower <= u <= upper, its blocks of n variables one after the other.

    Attributes
    ----------
    H : (Kn, Kn) array
    c, lower, upper : (Kn,) array
    A : (m, Kn) array
    u : (Kn,) array
        As this package solved it.
    """

    H: np.ndarray
    c: np.ndarray
    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    u: np.ndarray

    @property
    def objective(self) -> float:
        """The objective as solved."""
        return float(self.c @ self.u + 0.5 * self.u @ (self.H @ self.u))

    @property
    def violation(self) -> float:
        """Largest violation of an equality or a bound."""
        out = np.maximum(self.lower - self.u, self.u - self.upper).max(initial=0.0)
        return float(max(np.abs(self.A @ self.u).max(initial=0.0), out))


@dataclass(frozen=True, eq=False)
class FirstStep:
    """Rows on the scale of the fit, and what is solved first.

    With mu = 1 and rho = 0 both ramps of the first step's convex part share their kink: d [1 - t] + (1 - d) [1 - t] is
    the hinge, so the step is the support vector machine of cost C itself, whatever d is. For another mu it is that of
    cost C / mu^2, with f / mu in place of f.

    Attributes
    ----------
    X : (n, p) array
        Scaled rows; for a precomputed kernel nothing.
    K : (n, n) array
        Kernel matrix.
    y : (n,) array
        -1 or +1.
    kernel : Kernel
    C : (n,) array
        Cost of the support vector machine by row: C / mu^2, times cost and weight of the row.
    point : Point
        The support vector machine.
    machine : BoxSolution
        Its dual: 1/2 a'Qa - 1'a over 0 <= a <= C, y'a = 0.
    own : BoxSolution
        The first program of the fit's own method, with rho as it chooses it.
    program : Program
        The same as arrays.
    """

    X: np.ndarray
    K: np.ndarray
    y: np.ndarray
    kernel: Kernel
    C: np.ndarray
    point: Point
    machine: BoxSolution
    own: BoxSolution
    program: Program


def first_step(model: RejectClassifier, made: Machine) -> FirstStep:
    """Return the rows of a fit and the solutions of its first programs."""
    weights = None if model.design.weights is None else model.design.weights[model.used]
    X = made.scale.apply(model.design.X[model.used])
    y = np.where(model.design.y[model.used] > 0.5, 1.0, -1.0)
    mu = float(model.options["mu"])
    Q = signed(unsigned(made.kernel, X, low_rank_of(made.kernel, X, model.low_rank)), y)
    task = task_of(Q, y, model.prices, model.options["C"], mu, weights)
    whole = task.Q.times(np.eye(len(y)))
    cost = task.C / mu**2
    point, machine = hinges_fit(Task(task.Q, y, cost, task.d, 1.0, False), hinge(len(y)), 0.0)
    own, program = _own(task, whole, model.options["method"])
    return FirstStep(X, whole * y[:, None] * y, y, made.kernel, cost, point, machine, own, program)


def _own(task: Task, Q: np.ndarray, method: str) -> tuple[BoxSolution, Program]:
    """Return the first program of a method: the double ramp's from zero, or that of a hinge."""
    if method in HINGES:
        rows, _ = symmetric(task)
        loss = HINGES[method](rows.d)
        own = hinges_fit(rows, loss, 0.0)[1]
        kept = loss.slopes.max(axis=1) > 0.0
        c, upper = -loss.kinks[kept], rows.C * loss.slopes[kept]
    else:
        none = np.zeros(len(task.y), dtype=bool)
        own = convex_step(task, Beyond(none, none))[1]
        shares = np.stack((task.d, 1.0 - task.d)) if len(own.u) == 2 else np.ones((1, len(task.y)))
        c, upper = np.full(shares.shape, -task.mu), task.C * shares / task.mu
    blocks = len(c)
    A = np.tile(task.y, blocks)[None]
    if method not in HINGES and blocks == 2:
        A = np.vstack((A, np.repeat([1.0, -1.0], len(task.y))))
    program = Program(
        np.tile(Q, (blocks, blocks)), c.ravel(), A, np.zeros(c.size), upper.ravel(), np.asarray(own.u).ravel()
    )
    return own, program
