"""The least check loss as a function of one coefficient: convex, piecewise linear, read off one knot at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.quantreg.profile_walk import Start, walk
from qreg_boost.quantreg.rows import Rows
from qreg_boost.quantreg.solution import Solution, check_loss
from qreg_boost.quantreg.tilted import tilted

Solver = Callable[..., Solution]

# Dual values this near to 0 or 1 are at their bounds.
_BOUND = 1e-9


@dataclass(frozen=True)
class Knot:
    """A knot of the profile loss on one side of the estimate, as distances from it.

    Attributes
    ----------
    at : float
        The knot.
    previous : float
        The knot before it, seen from the estimate; `at` itself if there is none on this side.
    slope_before, slope_after : float
        Slopes of the profile loss between the two, and beyond the knot.
    """

    at: float
    previous: float
    slope_before: float
    slope_after: float


@dataclass(frozen=True)
class ProfileLoss:
    """The least loss of residuals r - Z g among g with u'g = t, as a function of t.

    Attributes
    ----------
    Z : (n, k) array or scipy CSR
        Weighted design, well conditioned.
    r : (n,) array
        Weighted residuals of the best fit; t = 0 there.
    tau : float
        Quantile level.
    u : (k,) array
        Direction, of length 1.
    scale : float
        The coefficient changes by `scale` t.
    rounding : (n,) array
        Size below which a residual is 0 but for rounding.
    up : (n,) bool array
        Where the response less what the coefficient contributes is positive at the estimate.
    start : callable
        Returns where a walk along the loss starts, or None if none is wanted.
    """

    Z: Any
    r: np.ndarray
    tau: float
    u: np.ndarray
    scale: float
    rounding: np.ndarray
    up: np.ndarray
    start: Callable[[], Start | None]

    @classmethod
    def of(cls, rows: Rows, tau: float, j: int, start: Callable[[], Start | None]) -> ProfileLoss:
        """Return the profile loss of the j-th kept coefficient of a fit: b_j = e_j'T^-1 g."""
        from scipy.linalg import solve_triangular

        q = solve_triangular(rows.T, np.eye(rows.k)[j], trans=1, check_finite=False)
        scale = float(np.linalg.norm(q))
        return cls(rows.Z, rows.r, tau, q / scale, scale, rows.rounding, rows.y > rows.X[:, [j]] @ rows.b[[j]], start)

    def crossing(self, direction: int, cut: float, solver: Solver) -> Knot | None:
        """Return the knot, up (1) or down (-1) of the estimate, where the slope's size passes `cut`; None if nowhere.

        It is the solution of the problem with -cut u'g added to the loss.
        """
        if not np.isfinite(cut):
            return None
        u = direction * self.u
        fit = tilted(self.Z, self.r, self.tau, cut * u, solver, lambda: cut < (1.0 - 1e-10) * self._steepest(u, solver))
        return None if fit is None else self._knot(u, cut, fit)

    def _steepest(self, u: np.ndarray, solver: Solver) -> float:
        """Return the slope far out: the least loss of residuals -Z d among directions d with u'd = 1."""
        others = np.linalg.svd(u[None, :])[2][1:].T
        far = -(self.Z @ u)
        return solver(self.Z @ others, far, self.tau).objective if others.shape[1] else check_loss(far, self.tau)

    def _knot(self, u: np.ndarray, cut: float, fit: Solution) -> Knot:
        """Return the knot at a solution with its slopes and the knot before it."""
        n = len(self.r)
        at = float(u @ fit.coef)
        r = self.r - self.Z @ fit.coef
        zero = np.abs(r) <= self.rounding
        zero[fit.basis[fit.basis < n]] = True
        r[zero] = 0.0
        rows = np.flatnonzero(zero)
        near = _dense(self.Z, rows)
        a = np.where(zero, fit.a[:n], r > 0)
        before, after, inner = _slopes(near, a[rows], u, cut)
        a[rows] = inner
        held = (inner > _BOUND) & (inner < 1.0 - _BOUND)
        line = len(rows) == len(u) and held.sum() == len(u) - 1
        start = None if line else self.start()
        stops = None if start is None else walk(self.Z, self.r, self.rounding, self.up, u, cut, start)
        if stops is not None:
            return Knot(stops[1].at, stops[0].at, stops[0].slope if stops[0] is not stops[1] else 0.0, stops[1].slope)
        if before < -_BOUND * cut:  # the loss falls up to here: this knot is the estimate
            return Knot(at, at, 0.0, after)
        back = _along if line else _least
        return Knot(at, at + back(u, self.Z, r, a, rows, held), before, after)


def _along(u: np.ndarray, Z: Any, r: np.ndarray, a: np.ndarray, rows: np.ndarray, held: np.ndarray) -> float:
    """Return what `_least` does where the residuals held at 0 leave one direction."""
    d = np.linalg.solve(_dense(Z, rows), np.where(held, 0.0, 1.0))
    step = Z @ (d / -(u @ d))
    meet = (r * step > 0) & (np.abs(step) > 1e-13 * np.max(np.abs(step)))
    return -float(np.min(r[meet] / step[meet])) if meet.any() else -np.inf


def _dense(Z: Any, rows: np.ndarray) -> np.ndarray:
    return Z[rows] if isinstance(Z, np.ndarray) else Z[rows].toarray()


def _slopes(near: np.ndarray, a: np.ndarray, u: np.ndarray, cut: float) -> tuple[float, float, np.ndarray]:
    """Return the slopes before and after a knot, and the dual values of its rows that go with the first.

    Dual values of the rows with residual 0 may move by v with near'v = s u; then the slope falls by s.
    """
    if len(a) == len(u):
        v = np.linalg.solve(near.T, u)
        v[np.abs(v) < 1e-11 * np.max(np.abs(v))] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(v > 0, (1.0 - a) / v, np.where(v < 0, -a / v, np.inf))
            back = np.where(v > 0, -a / v, np.where(v < 0, (1.0 - a) / v, -np.inf))
        fall, rise = float(np.min(room)), float(np.max(back))
        inner = np.clip(a + fall * v, 0.0, 1.0)
        return cut - fall, cut - rise, inner
    from scipy.optimize import linprog

    equal = np.column_stack([near.T, -u])
    bounds = [(0.0, 1.0)] * len(a) + [(None, None)]
    cost = np.append(np.zeros(len(a)), 1.0)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    ends = [
        linprog(sign * cost, A_eq=equal, b_eq=near.T @ a, bounds=bounds, method="highs-ds", options=tight)
        for sign in (-1.0, 1.0)
    ]
    if any(end.x is None for end in ends):
        return cut, cut, a
    return cut - float(ends[0].x[-1]), cut - float(ends[1].x[-1]), np.clip(ends[0].x[:-1], 0.0, 1.0)


def _least(u: np.ndarray, Z: Any, r: np.ndarray, a: np.ndarray, rows: np.ndarray, held: np.ndarray) -> float:
    """Return the least u'd such that residuals r - Z d keep the signs that the dual values a tell."""
    from scipy.optimize import linprog

    size = float(np.mean(np.abs(r))) or 1.0
    side = np.where(a > 0.5, 1.0, -1.0)
    free = np.ones(len(r), dtype=bool)
    free[rows[held]] = False
    Zs = Z[free] * side[free, None] if isinstance(Z, np.ndarray) else Z[free].multiply(side[free, None])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        u,
        A_ub=Zs,
        b_ub=side[free] * r[free] / size,
        A_eq=_dense(Z, rows[held]) if held.any() else None,
        b_eq=np.zeros(held.sum()) if held.any() else None,
        bounds=(None, None),
        method="highs-ds",
        options=tight,
    )
    return -np.inf if found.x is None else float(found.fun) * size
