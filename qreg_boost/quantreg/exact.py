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
from qreg_boost.quantreg.vertex import Vertex

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
# Rows so many times as far out as is typical are remote.
_REMOTE = 2.0


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
    given = _Given.of(X, y, tau, weights)
    X, y, tau, w = given.X, given.y, given.tau, given.w
    n, p = X.shape
    if n < _FEWEST * p or p == 0:
        return interior_point(X, y, tau, w)
    rows = None if w is None or w.all() else np.flatnonzero(w)
    used = (X, y, w) if rows is None or w is None else (X[rows], y[rows], w[rows])
    found = _Rows(*used, given.sizes).fit(tau, start)
    if found is None:
        fallen = interior_point(X, y, tau, w)
        return replace(fallen, status=Status.OPTIMAL_BY_FALLBACK) if fallen.status is Status.OPTIMAL else fallen
    if rows is None:
        return found
    a = np.full(n, 1.0 - tau)
    a[rows] = found.a
    return replace(found, a=a, basis=rows[found.basis])


@dataclass(frozen=True)
class _Given:
    """The arguments as float arrays that fit each other, and the largest size (p,) in each column."""

    X: np.ndarray
    y: np.ndarray
    tau: float
    w: np.ndarray | None
    sizes: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, tau: float, weights: Any) -> _Given:
        from qreg_boost.quantreg.kernels import largest, read_only

        X = np.ascontiguousarray(X, dtype=np.float64)
        y = np.ascontiguousarray(y, dtype=np.float64)
        if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
            _checked(X, y, tau, weights)
        sizes = largest(read_only(X))
        if not ((sizes <= _LARGEST).all() and (largest(read_only(y[:, None])) <= _LARGEST).all()):
            _checked(X, y, tau, weights)
        return cls(X, y, check_tau(tau), None if weights is None else check_weights(weights, len(y)), sizes)


@dataclass(frozen=True)
class _Part:
    """Rows Z (m, k) of the design, their weights (m,) or None for ones, and what the rows were divided by (m,)."""

    Z: np.ndarray
    w: np.ndarray | None
    out: np.ndarray


class _Rows:
    """The kept columns of rows of positive weight, and coordinates Z = X R^-1 with Z'WZ about n times the identity."""

    def __init__(self, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, sizes: np.ndarray) -> None:
        n, self.p = X.shape
        self.y, self.unit = y, 1.0 if w is None else float(np.mean(w))
        self.w = None if w is None else w / self.unit
        m = max(_SECOND * self.p, _SECOND_LEAST)
        # Fixed numbers: the same data give the same fit.
        drawn = np.random.default_rng(n).integers(0, n, m) if 3 * m < n else np.arange(n)
        self.sample = np.unique(drawn) if len(drawn) < n else drawn
        self.columns, self.R = _coordinates(X, self.w, self.sample, sizes)
        self.X = X if len(self.columns) == self.p else np.ascontiguousarray(X[:, self.columns])
        self.steps = 0

    def part(self, rows: np.ndarray) -> _Part:
        """Return the coordinates and weights of some rows.

        Rows far out are divided by their distance, and their weight is multiplied by it: the loss is the same, and a
        band of one width holds the rows whose sign a change of the coefficients by one size can turn.
        """
        from scipy.linalg import solve_triangular

        X = self.X if len(rows) == len(self.y) else self.X[rows]
        Z = np.ascontiguousarray(solve_triangular(self.R, X.T, trans=1, check_finite=False).T)
        w = None if self.w is None else self.w[rows]
        squares = np.einsum("ij,ij->i", Z, Z)
        remote = np.flatnonzero(squares > _REMOTE**2 * Z.shape[1])
        out = np.ones(len(Z))
        if len(remote):
            out[remote] = np.sqrt(squares[remote] / Z.shape[1]) / _REMOTE
            Z[remote] /= out[remote, None]
            w = out if w is None else w * out
        return _Part(Z, w, out)

    def coefficients(self, g: np.ndarray) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return solve_triangular(self.R, g, check_finite=False)

    def fit(self, tau: float, start: Any) -> Solution | None:
        """Return the certified vertex, or None if a few rounds do not reach one."""
        from scipy.linalg import solve_triangular

        from qreg_boost.quantreg.kernels import read_only, sort_rows, wrong_rows

        n, k = self.X.shape
        if k == 0:
            return None
        X, y, w = read_only(self.X), read_only(self.y), read_only(np.empty(0) if self.w is None else self.w)
        r = np.empty(n)
        remote = 1.0 / (_REMOTE * np.sqrt(k) * np.linalg.norm(self.R, axis=0))
        b, half = self._sampled(tau, start)
        for _ in range(_ROUNDS):
            if not np.isfinite(b).all() or np.isnan(half):
                return None
            before, near, pull = sort_rows(X, y, w, read_only(b), half, read_only(remote), tau)
            if len(near) < min(_BAND * k, n):
                half *= 2.0
                continue
            pull = solve_triangular(self.R, pull, trans=1, check_finite=False)
            settled = _Near(self.part(near), before[near], self._rounding(near, b), pull, tau).settle(half)
            self.steps += settled.steps
            if settled.vertex is None:
                if len(near) == n:
                    return None
                half *= 4.0
                continue
            inside = near[settled.inside]
            b = self._refined(b + self.coefficients(settled.vertex.g), inside[settled.vertex.basis])
            wrong = wrong_rows(X, y, read_only(b), read_only(before), read_only(near), r)
            if len(wrong):
                half = max(0.5 * half, 2.0 * float(np.median(np.abs(r[wrong]))))
            elif self._complementary(b, r, inside, settled):
                return self._solution(b, r, inside, settled.vertex, tau)
        return None

    def _sampled(self, tau: float, start: Any) -> tuple[np.ndarray, float]:
        """Return the smoothed fit of the sample with the half-width of the band in which rows may change sign."""
        n, k = self.X.shape
        m = len(self.sample)
        first = self.sample[:: max(1, m // (_FIRST * k))]
        b = self._least_squares(first) if start is None else np.nan_to_num(np.asarray(start, float)[self.columns])
        for rows in (first, self.sample):
            if len(rows) == n and (rows is self.sample or start is not None):
                return b, np.inf
            part = self.part(rows)
            c = (self.y[rows] - self.X[rows] @ b) / part.out
            width = 1.5 * float(np.quantile(np.abs(c), 0.6 if start is None and rows is first else 0.2))
            enough = max(_NEAR * k, int(len(rows) * min(tau, 1.0 - tau) / 4))
            at = smoothed(part.Z, c, part.w, tau, np.zeros(k), max(width, 1e-300), enough)
            self.steps += at.steps
            b = b + self.coefficients(at.g)
        error = np.sqrt(tau * (1.0 - tau) * k * m) * 2.0 * at.half / max(at.near, 1)
        return b, _ERRORS * error

    def _least_squares(self, rows: np.ndarray) -> np.ndarray:
        b = np.zeros(len(self.columns))
        part = self.part(rows)
        # Remote rows count by their length, not its square: they would own the fit.
        roots = np.ones(len(rows)) if part.w is None else np.sqrt(part.w)
        for _ in range(2):  # the second time takes out the rounding of the first
            c = (self.y[rows] - self.X[rows] @ b) / part.out
            b = b + self.coefficients(np.linalg.lstsq(part.Z * roots[:, None], c * roots, rcond=None)[0])
        return b

    def _refined(self, b: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Return coefficients at which the basic rows' residuals are smaller than rounding left them."""
        part = self.part(basis)
        try:
            return b + self.coefficients(np.linalg.solve(part.Z, (self.y[basis] - self.X[basis] @ b) / part.out))
        except np.linalg.LinAlgError:
            return b

    def _rounding(self, rows: np.ndarray, b: np.ndarray) -> Any:
        """Return the function of positions among `rows`, Z and a typical residual that gives the residuals' rounding."""
        size = float(np.linalg.norm(self.R @ b))

        def rounding(at: np.ndarray, Z: np.ndarray, out: np.ndarray, spread: float) -> np.ndarray:
            own = rows[at]
            terms = (np.abs(self.y[own]) + np.abs(self.X[own]) @ np.abs(b)) / out
            return 8.0 * _EPS * (terms + np.linalg.norm(Z, axis=1) * (size + spread))

        return rounding

    def _complementary(self, b: np.ndarray, r: np.ndarray, inside: np.ndarray, settled: _Settled) -> bool:
        """Return whether the rows' residuals at b go with the dual values: nil, but for rounding at b, unless at a bound.

        Rounding was judged at coefficients that may have been far larger.
        """
        rounding = self._rounding(inside, b)(np.arange(len(inside)), settled.Z, settled.out, settled.spread)
        a = settled.vertex.a[:-1]
        loose = np.where(r[inside] > 0, 1.0 - a, a) > 1e-9
        return bool((np.abs(r[inside]) <= 4.0 * settled.out * rounding)[loose].all())

    def _solution(self, b: np.ndarray, r: np.ndarray, inside: np.ndarray, vertex: Vertex, tau: float) -> Solution:
        coef = np.full(self.p, np.nan)
        coef[self.columns] = b
        a = (r > 0.0).astype(np.float64)
        a[inside] = vertex.a[:-1]
        loss = self.unit * check_loss(r, tau, self.w)
        dropped = np.setdiff1d(np.arange(self.p), self.columns)
        basis = inside[vertex.basis]
        return Solution(coef, loss, vertex.gap, self.steps, Status.OPTIMAL, dropped, a, basis, vertex.unique)


def _coordinates(
    X: np.ndarray, w: np.ndarray | None, sample: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kept columns and R (k, k), from a sample if that settles which columns are kept.

    What the columns to its left leave of a column is no shorter over all rows than over some.
    """
    n, p = X.shape
    if len(sample) < n:
        kept = column_basis(X[sample], weights=None if w is None else w[sample])
        longest = np.sqrt(n) * sizes  # the weights are 1 on average
        if len(kept.columns) == p and (np.diag(kept.factor) > 1e-6 * longest).all():
            return kept.columns, kept.factor / np.sqrt(len(sample))
    kept = column_basis(X, weights=w)
    return kept.columns, kept.factor / np.sqrt(n)


@dataclass(frozen=True)
class _Settled:
    """An optimal vertex of the near rows, or None, and the rows that its dual values go with.

    `inside` are their positions among the near rows, Z (m, k) their coordinates, `out` (m,) as in `_Part`, `spread` a
    typical residual.
    """

    vertex: Vertex | None
    inside: np.ndarray
    Z: np.ndarray
    out: np.ndarray
    spread: float
    steps: int


class _Near:
    """The rows near zero with their residuals c (m,), and the pull (k,) of all others."""

    def __init__(self, part: _Part, c: np.ndarray, rounding: Any, pull: np.ndarray, tau: float) -> None:
        self.Z, self.w, self.out, self.c = part.Z, part.w, part.out, c / part.out
        self.rounding, self.pull, self.tau = rounding, pull, tau
        self.spread = float(np.median(np.abs(self.c)))
        self.steps = 0

    def settle(self, half: float) -> _Settled:
        """Return the exact fit of the near rows: smoothed, then exact in a band that grows by the rows found wrong."""
        m, k = self.Z.shape
        inside = np.zeros(m, dtype=bool)
        if not self.spread > 0:
            return self._settled(None, inside)
        first = min(0.4 * half, 1.5 * self.spread)
        at = smoothed(self.Z, self.c, self.w, self.tau, self.pull, first, _NEAR * k)
        self.steps += at.steps
        # Rows that moved by more than the band is wide: what lies outside may not be taken for certain.
        if not np.linalg.norm(at.g) <= half:
            return self._settled(None, inside)
        size, distance = min(max(_BAND * k, at.near), m), np.abs(at.r)
        inside[np.argpartition(distance, size - 1)[:size]] = True
        while np.count_nonzero(inside) <= max(0.7 * m, 5 * _BAND * k):
            others = np.flatnonzero(~inside)
            vertex = self._exact(at.r, inside, others)
            if vertex is None:
                if not len(others):
                    break
                size = min(2 * np.count_nonzero(inside), m)
                inside[np.argpartition(distance, size - 1)[:size]] = True
                continue
            r = at.r[others] - self.Z[others] @ vertex.g
            wrong = ((r > 0) != (at.r[others] > 0)) | (np.abs(r) <= self.largest_rounding)
            if not wrong.any():
                return self._settled(replace(vertex, g=vertex.g + at.g), inside)
            inside[others[wrong]] = True
        return self._settled(None, inside)

    def _settled(self, vertex: Vertex | None, inside: np.ndarray) -> _Settled:
        return _Settled(vertex, np.flatnonzero(inside), self.Z[inside], self.out[inside], self.spread, self.steps)

    def _exact(self, c: np.ndarray, inside: np.ndarray, others: np.ndarray) -> Vertex | None:
        rows = np.flatnonzero(inside)
        share = np.where(c[others] > 0, self.tau, self.tau - 1.0)
        Z, c = self.Z[rows], c[rows]
        rounding = self.rounding(rows, Z, self.out[rows], self.spread)
        self.largest_rounding = float(rounding.max())
        if self.w is not None:
            share = share * self.w[others]
            Z, c, rounding = Z * self.w[rows, None], c * self.w[rows], rounding * self.w[rows]
        vertex, steps = solve_band(Band(Z, c, rounding, self.pull + share @ self.Z[others]), self.tau, _TOL)
        self.steps += steps
        return vertex
