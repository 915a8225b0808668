"""The rows of a dense design: which are near the fit, and the exact fit once that is settled."""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.base.rank import column_basis
from qreg_boost.base.views import read_only
from qreg_boost.quantreg.near import BAND, NEAR, Near, Part, Rounding, Settled
from qreg_boost.quantreg.smooth import smoothed
from qreg_boost.quantreg.solution import Solution, Status, check_loss
from qreg_boost.quantreg.vertex import Vertex

_EPS = float(np.finfo(float).eps)
FIRST, SECOND, LEAST = 60, 0.7, 1000
"""Rows of the first sample for each coefficient, of the second over (n k)^(2/3), and the least of the second."""
# Half-width of the first sorting in standard errors of the sample's fit.
_ERRORS = 5.0
_ROUNDS = 8
# Rows so many times as far out as is typical are remote.
_REMOTE = 2.0
# The exact fit of more than this share of the rows is left to the fallback.
_MOST = 0.7
# Ridge of the least squares fit of a few rows, over the trace.
_RIDGE = 1e-12
# Share of the loss that rounding of the residuals may make up.
_SLACK = 1e-6


class DenseRows:
    """The kept columns of rows of positive weight, and coordinates Z = X R^-1 with Z'WZ about n times the identity."""

    def __init__(self, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, sizes: np.ndarray) -> None:
        n, self.p = X.shape
        self.y, self.unit = y, 1.0 if w is None else float(np.mean(w))
        self.w = None if w is None else w / self.unit
        self.sample = sampled(n, self.p)
        self.columns, self.R = _coordinates(X, self.w, self.sample, sizes)
        self.X: Any = X if len(self.columns) == self.p else np.ascontiguousarray(X[:, self.columns])
        self.steps = 0
        self._kept: dict[int, Part] = {}

    def part(self, rows: np.ndarray) -> Part:
        """Return the coordinates and weights of some rows.

        Rows far out are divided by their distance, and their weight is multiplied by it: the loss is the same, and a
        band of one width holds the rows whose sign a change of the coefficients by one size can turn.
        """
        from scipy.linalg.blas import dtrsm

        again = rows is self.sample or len(rows) == len(self.y) > len(self.columns)
        if again and len(rows) in self._kept:
            return self._kept[len(rows)]
        # The transposes are in the order of memory that BLAS wants: no copies but the result.
        Z = dtrsm(1.0, self.R, self.taken(rows).T, trans_a=1).T
        w = None if self.w is None else self.w[rows]
        squares = np.einsum("ij,ij->i", Z, Z)
        remote = (squares > _REMOTE**2 * Z.shape[1]).nonzero()[0]
        out = np.ones(len(Z))
        if len(remote):
            out[remote] = np.sqrt(squares[remote] / Z.shape[1]) / _REMOTE
            Z[remote] /= out[remote, None]
            w = out if w is None else w * out
        found = Part(Z, w, out)
        if again:
            self._kept[len(rows)] = found
        return found

    def taken(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (m, k) of the design."""
        return self.X if len(rows) == len(self.y) else self.X[rows]

    def coefficients(self, g: np.ndarray) -> np.ndarray:
        """Return b (k,) of coordinates g."""
        from scipy.linalg.blas import dtrsv

        return dtrsv(self.R, g) if len(g) else g

    def fit(self, tau: float, start: Any) -> Solution | None:
        """Return the certified vertex, or None if a few rounds do not reach one."""
        from scipy.linalg.blas import dtrsv

        n, k = self.X.shape
        self.steps = 0
        if k == 0:
            return None
        b, half = self.begin(tau, start)
        most = max(int(_MOST * n), 5 * BAND * k)
        for _ in range(_ROUNDS):
            if not np.isfinite(b).all() or np.isnan(half):
                return None
            before, near, pull = self.sorted(b, half, tau)
            if len(near) < min(BAND * k, n):
                half = _wider(2.0 * half, before, 2 * BAND * k)
                continue
            if len(near) == n:
                half = np.inf
            pull = dtrsv(self.R, pull, trans=1)
            settled = Near(self.part(near), before[near], self._rounding(near, b), pull, tau).settle(half, most)
            self.steps += settled.steps
            vertex = settled.vertex
            if vertex is None:
                if len(near) == n:
                    return None
                half = _wider(4.0 * half, before, 2 * len(near))
                continue
            inside = near[settled.inside]
            b = self._refined(b + self.coefficients(vertex.g), inside[vertex.basis])
            r, wrong = self.checked(b, before, near)
            if len(wrong):
                half = max(0.5 * half, 2.0 * float(np.median(np.abs(r[wrong]))))
                continue
            loss = check_loss(r, tau, self.w)
            if self._complementary(b, r, loss, inside, settled, vertex):
                return self._solution(b, r, loss, inside, vertex)
        return None

    def begin(self, tau: float, start: Any) -> tuple[np.ndarray, float]:
        """Return the smoothed fit of the sample with the half-width of the band in which rows may change sign."""
        n, k = self.X.shape
        m = len(self.sample)
        first = self.sample[:: max(1, m // (FIRST * k))]
        b = self._least_squares(first) if start is None else np.nan_to_num(np.asarray(start, float)[self.columns])
        for rows in (first, self.sample):
            if len(rows) == n:
                return b, np.inf
            part = self.part(rows)
            c = (self.y[rows] - self.taken(rows) @ b) / part.out
            share = 0.6 if start is None and rows is first else 0.2
            place = int(share * (len(c) - 1))
            width = 1.5 * float(np.partition(np.abs(c), place)[place]) or float(np.mean(np.abs(c)))
            if width < 1e-290:
                return b, np.inf
            enough = max(NEAR * k, int(len(rows) * min(tau, 1.0 - tau) / 4))
            at = smoothed(part.Z, c, part.w, tau, np.zeros(k), width, enough)
            self.steps += at.steps
            b = b + self.coefficients(at.g)
        error = np.sqrt(tau * (1.0 - tau) * k * m) * 2.0 * at.half / max(at.near, 1)
        return b, _ERRORS * error

    def sorted(self, b: np.ndarray, half: float, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return residuals (n,) at b, the rows near zero, and the pull (k,) of all others."""
        from qreg_boost.quantreg.kernels import sort_rows

        remote = 1.0 / (_REMOTE * np.sqrt(len(b)) * np.linalg.norm(self.R, axis=0))
        w = read_only(np.empty(0) if self.w is None else self.w)
        return sort_rows(read_only(self.X), read_only(self.y), w, read_only(b), half, read_only(remote), tau)

    def checked(self, b: np.ndarray, before: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (n,) at b, and the rows far from zero whose sign is not the one they had."""
        from qreg_boost.quantreg.kernels import wrong_rows

        r = np.empty(len(self.y))
        X, y = read_only(self.X), read_only(self.y)
        return r, wrong_rows(X, y, read_only(b), read_only(before), read_only(near), r)

    def _least_squares(self, rows: np.ndarray) -> np.ndarray:
        b = np.zeros(len(self.columns))
        from qreg_boost.quantreg.newton_kernels import cholesky, gram, solve

        part = self.part(rows)
        # Remote rows count by their length, not its square: they would own the fit.
        w = np.ones(len(rows)) if part.w is None else part.w
        factor = gram(part.Z, w)
        factor[np.diag_indices(len(b))] += _RIDGE * np.trace(factor)
        if not cholesky(factor):
            return b
        for _ in range(2):  # the second time takes out the rounding of the first
            c = (self.y[rows] - self.taken(rows) @ b) / part.out
            b = b + self.coefficients(solve(factor, (w * c) @ part.Z))
        return b

    def _refined(self, b: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Return coefficients at which the basic rows' residuals are smaller than rounding left them."""
        from scipy.linalg.lapack import dgesv

        part = self.part(basis)
        _, _, g, singular = dgesv(part.Z, (self.y[basis] - self.taken(basis) @ b) / part.out)
        return b if singular else b + self.coefficients(g)

    def _rounding(self, rows: np.ndarray, b: np.ndarray) -> Rounding:
        """Return what gives the rounding of residuals near coefficients b (k,)."""
        size = float(np.linalg.norm(self.R @ b))

        def rounding(at: np.ndarray, Z: np.ndarray, out: np.ndarray, spread: float) -> np.ndarray:
            own = rows[at]
            terms = (np.abs(self.y[own]) + np.abs(self.taken(own)) @ np.abs(b)) / out
            return 8.0 * _EPS * (terms + np.linalg.norm(Z, axis=1) * (size + spread))

        return rounding

    def _complementary(
        self, b: np.ndarray, r: np.ndarray, loss: float, inside: np.ndarray, settled: Settled, vertex: Vertex
    ) -> bool:
        """Return whether residuals at b go with the dual values: nil, but for rounding at b, unless those are bounds.

        Rounding was judged at coefficients that may have been far larger.
        """
        rounding = self._rounding(inside, b)(np.arange(len(inside)), settled.Z, settled.out, settled.spread)
        a = vertex.a[:-1]
        loose = np.where(r[inside] > 0, 1.0 - a, a)
        slack = float(np.sum(loose * np.abs(r[inside]) * (1.0 if self.w is None else self.w[inside])))
        nil = np.abs(r[inside]) <= 4.0 * settled.out * rounding
        return bool(nil[loose > 1e-9].all()) and slack <= _SLACK * loss

    def _solution(self, b: np.ndarray, r: np.ndarray, loss: float, inside: np.ndarray, vertex: Vertex) -> Solution:
        coef = np.full(self.p, np.nan)
        coef[self.columns] = b
        a = (r > 0.0).astype(np.float64)
        a[inside] = vertex.a[:-1]
        dropped = np.flatnonzero(np.isnan(coef))
        basis = inside[vertex.basis]
        return Solution(
            coef, self.unit * loss, vertex.gap, self.steps, Status.OPTIMAL, dropped, a, basis, vertex.unique
        )


def _wider(half: float, r: np.ndarray, count: int) -> float:
    """Return a half-width of at least `half` that holds `count` residuals (n,): with ties they come in steps."""
    count = min(count, len(r))
    return max(half, 1.01 * float(np.partition(np.abs(r), count - 1)[count - 1]))


def sampled(n: int, p: int) -> np.ndarray:
    """Return the rows that are fitted first, increasing: the same ones every time, and all if that is not many more.

    Their number follows Portnoy & Koenker (1997, section 5): the band that remains is then about as large.
    """
    m = max(FIRST * p, int(SECOND * (n * p) ** (2 / 3)), LEAST)
    return np.unique(np.random.default_rng(n).integers(0, n, m)) if 3 * m < n else np.arange(n)


def _coordinates(
    X: np.ndarray, w: np.ndarray | None, sample: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kept columns and R (k, k), from a sample if that settles which columns are kept.

    What the columns to its left leave of a column is no shorter over all rows than over some.
    """
    n, p = X.shape
    if len(sample) < n:
        kept = column_basis(X[sample], weights=None if w is None else w[sample], sizes=sizes)
        longest = np.sqrt(n) * sizes  # the weights are 1 on average
        if len(kept.columns) == p and (np.diag(kept.factor) > 1e-6 * longest).all():
            return kept.columns, kept.factor / np.sqrt(len(sample))
    kept = column_basis(X, weights=w, sizes=sizes)
    return kept.columns, kept.factor / np.sqrt(n)
