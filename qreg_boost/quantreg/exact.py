"""Exact quantile regression in a few passes over the rows.

The problem is min over b of sum_i w_i rho_tau(y_i - x_i'b). A smoothed fit of a sample of the rows tells which rows are
near the fit; all others keep their sign and become one linear part of the loss (`sort_rows`). The rows near the fit are
fitted smoothly again, with a width that shrinks until a few for each coefficient are left, and those exactly (`band`).
One more pass over all rows checks the signs; wrong ones start it over from the better fit.

References
----------
Portnoy, S. and Koenker, R. (1997). The Gaussian hare and the Laplacian tortoise. Statistical Science 12, 279-300.
Fernandes, M., Guerre, E. and Horta, E. (2021). Smoothing quantile regressions. J. Business & Economic Statistics 39,
338-357.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qreg_boost.base.checks import check_tau, check_weights
from qreg_boost.base.rank import column_basis
from qreg_boost.quantreg.band import Band, solve_band
from qreg_boost.quantreg.interior_point import _checked, interior_point
from qreg_boost.quantreg.smooth import smoothed
from qreg_boost.quantreg.solution import Solution, Status, check_loss

_EPS = float(np.finfo(float).eps)
_LARGEST = 1e150
_TOL = 1e-10
# Fewer rows than this for each coefficient: all of them are near the fit, and the interior point method is used.
_FEWEST = 40
# Rows of the first sample and of the second for each coefficient, and the least of the second.
_FIRST, _SECOND, _SECOND_LEAST = 60, 400, 20_000
# Rows left near zero for each coefficient: where smoothing ends, and in the exact fit.
_NEAR, _BAND = 10, 12
# Half-width of the first sorting in standard errors of the sample's fit.
_ERRORS = 5.0
_ROUNDS = 8


def exact(X: Any, y: Any, tau: float, weights: Any = None, *, start: Any = None) -> Solution:
    """Return the coefficients that minimise the weighted check loss exactly, in a few passes over the rows.

    Parameters
    ----------
    X : (n, p) array
        The design as it is: bring a column of ones for an intercept. Columns that depend on columns to their left are
        dropped, as R's ``lm`` drops them.
    y : (n,) array
        Response.
    tau : float
        Quantile level, strictly between 0 and 1.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0. Rows of weight 0 take no part.
    start : (p,) array, optional
        Coefficients to start from, such as those at a neighbouring quantile level. They change the time, not the optimum.

    Returns
    -------
    Solution
        Coefficients in the caller's units with objective, certificate and status.

    Raises
    ------
    InputError
        If shapes do not fit, values are missing or infinite, or `tau` or `weights` are out of range.

    Warns
    -----
    ConvergenceWarning
        If the optimum was not certified; the message gives the gap reached.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> fit = exact(X, np.array([0.0, 1.0, 2.0, 9.0, 4.0]), tau=0.5)
    >>> fit.coef.round(12).tolist(), fit.objective
    ([0.0, 1.0], 3.0)
    """
    X, y, tau, w = _arrays(X, y, tau, weights)
    n, p = X.shape
    if n < _FEWEST * p or p == 0:
        return interior_point(X, y, tau, w)
    rows = None if w is None or w.all() else np.flatnonzero(w)
    used = (X, y, w) if rows is None else (X[rows], y[rows], w[rows])  # type: ignore[index]
    found = _Rows(*used).fit(tau, start)
    if found is None:
        fallen = interior_point(X, y, tau, w)
        return replace(fallen, status=Status.OPTIMAL_BY_FALLBACK) if fallen.status is Status.OPTIMAL else fallen
    if rows is None:
        return found
    a = np.full(n, 1.0 - tau)
    a[rows] = found.a
    return replace(found, a=a, basis=rows[found.basis])


def _arrays(X: Any, y: Any, tau: float, weights: Any) -> tuple[np.ndarray, np.ndarray, float, np.ndarray | None]:
    """Return the arguments as float arrays that fit each other, checked in one pass."""
    from qreg_boost.quantreg.kernels import largest, read_only

    X = np.ascontiguousarray(X, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    fits = X.ndim == 2 and y.ndim == 1 and len(X) == len(y)
    if not (fits and (largest(read_only(X)) <= _LARGEST).all() and (largest(read_only(y[:, None])) <= _LARGEST).all()):
        return _checked(X, y, tau, weights)
    return X, y, check_tau(tau), None if weights is None else check_weights(weights, len(y))


class _Rows:
    """The kept columns of rows of positive weight, and coordinates Z = w X R^-1 with Z'Z about n times the identity."""

    def __init__(self, X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> None:
        n, self.p = X.shape
        self.y, self.total = y, 1.0 if w is None else float(np.mean(w))
        self.w = np.empty(0) if w is None else w / self.total
        m = max(_SECOND * self.p, _SECOND_LEAST)
        # Fixed numbers: the same data give the same fit.
        drawn = np.random.default_rng(n).integers(0, n, m) if 3 * m < n else np.arange(n)
        self.sample = np.unique(drawn) if len(drawn) < n else drawn
        self.columns, self.R = _coordinates(X, self.w, self.sample)
        self.X = X if len(self.columns) == self.p else np.ascontiguousarray(X[:, self.columns])
        self.steps = 0

    def weighted(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return values * self.w[rows] if len(self.w) else values

    def coordinates(self, rows: np.ndarray) -> np.ndarray:
        """Return Z (m, k) of some rows."""
        from scipy.linalg import solve_triangular

        X = (self.X if len(rows) == len(self.y) else self.X[rows]).T
        Z = solve_triangular(self.R, self.weighted(X, rows), trans=1, check_finite=False)
        return np.ascontiguousarray(Z.T)

    def coefficients(self, g: np.ndarray) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return solve_triangular(self.R, g, check_finite=False)

    def residuals(self, b: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self.weighted(self.y[rows] - self.X[rows] @ b, rows)

    def fit(self, tau: float, start: Any) -> Solution | None:
        """Return the certified vertex, or None if a few rounds do not reach one."""
        from scipy.linalg import solve_triangular

        from qreg_boost.quantreg.kernels import read_only, sort_rows, wrong_rows

        n, k = self.X.shape
        if k == 0:
            return None
        rows = read_only(self.X), read_only(self.y), read_only(self.w)
        r = np.empty(n)
        b, half = self._sampled(tau, start)
        for _ in range(_ROUNDS):
            if not np.isfinite(b).all() or np.isnan(half):
                return None
            before, near, pull = sort_rows(*rows, read_only(b), half, tau)
            if len(near) < min(_BAND * k, n):
                half *= 2.0
                continue
            pull = solve_triangular(self.R, pull, trans=1, check_finite=False)
            settled = _Near(self.coordinates(near), before[near], self._rounding(near, b), pull, tau).settle(half)
            self.steps += settled.steps
            if settled.vertex is None:
                if len(near) == n:
                    return None
                half *= 4.0
                continue
            b = b + self.coefficients(settled.vertex.g)
            wrong = wrong_rows(*rows, read_only(b), read_only(before), half, r)
            if not len(wrong):
                return self._solution(b, r, near, settled, tau)
            half = max(0.5 * half, 2.0 * float(np.median(np.abs(r[wrong]))))
        return None

    def _sampled(self, tau: float, start: Any) -> tuple[np.ndarray, float]:
        """Return the smoothed fit of the sample with the half-width of the band in which rows may change sign."""
        n, k = self.X.shape
        if start is not None:
            b = np.nan_to_num(np.asarray(start, dtype=np.float64)[self.columns])
        else:
            b = np.zeros(k)
        first = self.sample[:: max(1, len(self.sample) // (_FIRST * k))]
        for rows in (first, self.sample):
            Z, m = self.coordinates(rows), len(rows)
            c = self.residuals(b, rows)
            if start is None and rows is first:
                for _ in range(2):
                    b = b + self.coefficients(np.linalg.lstsq(Z, c, rcond=None)[0])
                    c = self.residuals(b, rows)
            half = 1.5 * float(np.quantile(np.abs(c), 0.6 if start is None and rows is first else 0.2))
            if m == n and rows is self.sample:
                return b, np.inf
            at = smoothed(Z, c, tau, np.zeros(k), max(half, 1e-300), max(_NEAR * k, m // 8))
            self.steps += at.steps
            b = b + self.coefficients(at.g)
        error = np.sqrt(tau * (1.0 - tau) * k * m) * 2.0 * at.half / max(at.near, 1)
        return b, _ERRORS * error

    def _rounding(self, rows: np.ndarray, b: np.ndarray) -> Any:
        """Return the function of positions among `rows` and Z that gives the rounding error of their residuals."""
        size = float(np.linalg.norm(self.R @ b))

        def rounding(at: np.ndarray, Z: np.ndarray, spread: float) -> np.ndarray:
            own = rows[at]
            terms = self.weighted(np.abs(self.y[own]) + np.abs(self.X[own]) @ np.abs(b), own)
            return 8.0 * _EPS * (terms + np.linalg.norm(Z, axis=1) * (size + spread))

        return rounding

    def _solution(self, b: np.ndarray, r: np.ndarray, near: np.ndarray, settled: Any, tau: float) -> Solution:
        coef = np.full(self.p, np.nan)
        coef[self.columns] = b
        a = (r > 0.0).astype(np.float64)
        inside, vertex = near[settled.inside], settled.vertex
        a[inside] = vertex.a[:-1]
        dropped = np.setdiff1d(np.arange(self.p), self.columns)
        return Solution(
            coef, self.total * check_loss(r, tau), vertex.gap, self.steps, Status.OPTIMAL, dropped, a,
            inside[vertex.basis], vertex.unique,
        )  # fmt: skip


def _coordinates(X: np.ndarray, w: np.ndarray, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kept columns and R (k, k), from a sample if that settles which columns are kept.

    What the columns to its left leave of a column is no shorter over all rows than over some.
    """
    n, p = X.shape
    if len(sample) < n:
        kept = column_basis(X[sample], weights=w[sample] if len(w) else None)
        if len(kept.columns) == p:
            total = float(w.sum()) if len(w) else float(n)
            longest = np.sqrt(total) * np.maximum(X.max(axis=0), -X.min(axis=0))
            if (np.diag(kept.factor) > 1e-6 * longest).all():
                return kept.columns, kept.factor / np.sqrt(len(sample))
    kept = column_basis(X, weights=w if len(w) else None)
    return kept.columns, kept.factor / np.sqrt(n)


@dataclass(frozen=True)
class _Settled:
    """An optimal vertex of the near rows, or None; `inside` are the positions of the rows its dual values go with."""

    vertex: Any
    inside: np.ndarray
    steps: int


class _Near:
    """The rows near zero: Z (m, k), residuals c (m,), and the pull (k,) of all others."""

    def __init__(self, Z: np.ndarray, c: np.ndarray, rounding: Any, pull: np.ndarray, tau: float) -> None:
        self.Z, self.c, self.rounding, self.pull, self.tau = Z, c, rounding, pull, tau

    def settle(self, half: float) -> _Settled:
        """Return the exact fit of the near rows: smoothed, then exact in a band that grows by the rows found wrong."""
        m, k = self.Z.shape
        spread = float(np.median(np.abs(self.c)))
        if not spread > 0:
            return _Settled(None, np.empty(0, dtype=np.intp), 0)
        at = smoothed(self.Z, self.c, self.tau, self.pull, min(0.4 * half, 1.5 * spread), _NEAR * k)
        steps, size = at.steps, min(max(_BAND * k, at.near), m)
        distance = np.abs(at.r)
        inside = np.zeros(m, dtype=bool)
        inside[np.argpartition(distance, size - 1)[:size]] = True
        while True:
            rows, others = np.flatnonzero(inside), np.flatnonzero(~inside)
            if len(rows) > max(0.7 * m, 5 * _BAND * k):
                return _Settled(None, rows, steps)
            share = np.where(at.r[others] > 0, self.tau, self.tau - 1.0)
            rounding = self.rounding(rows, self.Z[rows], spread)
            band = Band(self.Z[rows], at.r[rows], rounding, self.pull + share @ self.Z[others])
            vertex, more = solve_band(band, self.tau, _TOL)
            steps += more
            if vertex is None:
                size = min(2 * len(rows), m)
                inside[np.argpartition(distance, size - 1)[:size]] = True
                continue
            r = at.r[others] - self.Z[others] @ vertex.g
            wrong = ((r > 0) != (at.r[others] > 0)) | (np.abs(r) <= rounding.max())
            if not wrong.any():
                return _Settled(replace(vertex, g=vertex.g + at.g), rows, steps)
            inside[others[wrong]] = True
