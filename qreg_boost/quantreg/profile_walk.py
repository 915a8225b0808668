"""The walk of the simplex method along the profile loss, for fits whose dual solution is not unique.

Where the fit of the other coefficients has many solutions (n tau a whole number and only an intercept left, say), the
simplex method also stops at places where the slope does not change. R interpolates between such stops, so they are
needed to give its bounds. Where the fit is unique the stops are the knots, and no walk is needed.

References
----------
Koenker, R. and d'Orey, V. (1987). Algorithm AS 229: computing regression quantiles. Applied Statistics 36, 383-393.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.quantreg.rows import Rows
from qreg_boost.quantreg.solution import Solution

_TIED = 1e-9


@dataclass(frozen=True)
class Start:
    """A vertex of the dual problem at the estimate, rows in an order that does not depend on how they were given.

    Attributes
    ----------
    order : (n,) int array
        Rows in order of response and design.
    basis : (k,) int array
        Rows, among those in order, that determine the coefficients.
    a : (n,) array
        Dual values in that order; outside the basis they are 0 or 1.
    """

    order: np.ndarray
    basis: np.ndarray
    a: np.ndarray


@dataclass(frozen=True)
class Stop:
    """A stop of the walk: the distance gone, and the slope from there on."""

    at: float
    slope: float


def start_of(rows: Rows, fit: Solution) -> Start | None:
    """Return the dual vertex of a fit; None if the linear program for it fails."""
    keys = np.column_stack([np.asarray(rows.X, dtype=np.float64)[:, ::-1], rows.y])
    order = np.lexsort(keys.T)
    place = np.empty(rows.n, dtype=np.intp)
    place[order] = np.arange(rows.n)
    position = np.cumsum(rows.used) - 1
    a = np.where(rows.zero, fit.a[rows.used], rows.r > 0).astype(np.float64)[order]
    zero = np.flatnonzero(rows.zero[order])
    if len(zero) == rows.k:
        return Start(order, np.sort(place[position[fit.basis]]), a)
    return _vertex(rows.Z[order], order, zero, a)


def _vertex(Z: np.ndarray, order: np.ndarray, zero: np.ndarray, a: np.ndarray) -> Start | None:
    """Return a vertex among the dual values that the rows with residual 0 can have."""
    from scipy.optimize import linprog

    near = Z[zero]
    cost = np.cos(np.arange(len(zero)))  # any cost that no face is orthogonal to
    found = linprog(cost, A_eq=near.T, b_eq=near.T @ a[zero], bounds=(0.0, 1.0), method="highs-ds")
    if found.x is None:
        return None
    values = np.where(found.x < _TIED, 0.0, np.where(found.x > 1.0 - _TIED, 1.0, found.x))
    between = (values > 0.0) & (values < 1.0)
    basis: list[int] = []
    span = np.zeros((0, Z.shape[1]))
    for i in np.concatenate([np.flatnonzero(between), np.flatnonzero(~between)]):
        left = near[i] - span.T @ (span @ near[i])
        left -= span.T @ (span @ left)
        if np.linalg.norm(left) > 1e-9 * np.linalg.norm(near[i]):
            span = np.vstack([span, left / np.linalg.norm(left)])
            basis.append(int(zero[i]))
    if len(basis) < Z.shape[1]:
        return None
    a[zero] = values
    return Start(order, np.array(basis), a)


def walk(
    Z: np.ndarray, r: np.ndarray, rounding: np.ndarray, up: np.ndarray, u: np.ndarray, cut: float, start: Start
) -> tuple[Stop, Stop] | None:
    """Return the last stop with slope at most `cut` and the first beyond, for the least loss of r - Z g as u'g grows.

    Parameters
    ----------
    Z : (n, k) array
        Design.
    r : (n,) array
        Residuals of the best fit.
    rounding : (n,) array
        Size below which a residual is 0 but for rounding.
    up : (n,) bool array
        Where the response less what the coefficient contributes is positive at the estimate; decides between ties.
    u : (k,) array
        Direction.
    cut : float
        Slope to pass.
    start : Start
        Where to start.

    Returns
    -------
    (Stop, Stop) or None
        The two are the same if the slope is beyond `cut` right from the estimate. None if `cut` is never passed, or
        not within 20 n stops. Of several stops at one place the last one counts.
    """
    order = start.order
    Z, r, rounding, up, a = Z[order], r[order].copy(), rounding[order], up[order], start.a.copy()
    basis, off = list(start.basis), np.ones(len(r), dtype=bool)
    off[basis] = False
    stop, entered = Stop(0.0, 0.0), -1
    last: Stop | None = None
    for _ in range(20 * len(r)):
        held = Z[basis]
        v = np.linalg.solve(held.T, u)
        leaving, rise = _leaving(v, a[basis], up[basis], basis.index(entered) if entered >= 0 else -1)
        a[basis] = np.clip(a[basis] - rise * v, 0.0, 1.0)
        row = basis.pop(leaving)
        a[row] = 0.0 if v[leaving] > 0 else 1.0
        off[row] = True
        stop = Stop(stop.at, stop.slope + rise)
        step = Z @ np.linalg.solve(held, np.eye(len(u))[leaving] / v[leaving])
        meet = off & np.where(a > 0.5, step > 1e-12, step < -1e-12)
        meet[row] = False
        if not meet.any():
            return (last or stop, stop) if stop.slope > cut else None
        rows = np.flatnonzero(meet)
        far = np.maximum(r[rows] / step[rows], 0.0)
        first = int(np.argmax(far <= far.min() + rounding[rows] / np.abs(step[rows])))
        entered = int(rows[first])
        if far[first] > 0.0 and abs(far[first] * step[entered]) > rounding[entered]:
            if stop.slope > cut:
                return last or stop, stop
            last = stop
        stop = Stop(stop.at + float(far[first]), stop.slope)
        r -= far[first] * step
        basis.append(entered)
        r[basis] = 0.0
        off[entered] = False
    return None


def _leaving(v: np.ndarray, a: np.ndarray, up: np.ndarray, entered: int) -> tuple[int, float]:
    """Return which row of the basis leaves as its dual value reaches 0 or 1, and by how much the slope rises.

    Of several, the row that just entered goes, else one that reaches 1 (or 0 if not `up`), else the first.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(v > 1e-12, a / v, np.where(v < -1e-12, (a - 1.0) / v, np.inf))
    room = np.maximum(room, 0.0)
    rise = float(room.min())
    tied = np.flatnonzero(room <= rise + _TIED)
    if entered in tied:
        return entered, rise
    first = tied[(v[tied] < 0) == up[tied]]
    return int(first[0] if len(first) else tied[0]), rise
