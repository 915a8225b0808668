"""cvxopt's interior point method for a quadratic program with bounds and few equalities, its Newton system given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

FEASIBILITY = 1e-8
"""The method's own feasibility: its slacks and points drift apart by rounding, and its point alone is kept."""


class Newton(Protocol):
    """A quadratic term H (n, n) of variables x, known by products and by its Newton system."""

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return H x (n,)."""

    def solver(self, D: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function r -> (H + diag D)^-1 r, for r (n, k)."""


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
