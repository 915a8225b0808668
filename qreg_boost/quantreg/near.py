"""The exact fit of the rows near zero: smoothed first, then exact in a band that grows by the rows found wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qreg_boost.quantreg.band import Band, Fitted, solve_band
from qreg_boost.quantreg.smooth import Smoothed, smoothed
from qreg_boost.quantreg.vertex import Vertex, middle

TOL = 1e-10
"""Largest certified relative gap that counts as optimal."""
NEAR, BAND = 10, 12
"""Rows for each coefficient: near zero where smoothing ends, and in the first exact fit."""

# No optimum moves the rows by more than this times their largest residual, unless digits were lost on the way.
_FURTHEST = 1e3

Rounding = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]
"""Gives the rounding (m,) of scaled residuals from positions of rows, `Part.Z`, `Part.out` and a typical residual."""


@dataclass(frozen=True)
class Part:
    """Rows Z (m, k) of the design, their weights (m,) or None for ones, and what the rows were divided by (m,)."""

    Z: np.ndarray
    w: np.ndarray | None
    out: np.ndarray


@dataclass(frozen=True)
class Settled:
    """An optimal vertex of the near rows, or None, and the rows that its dual values go with.

    `inside` are their positions among the near rows, Z (m, k) their coordinates, `out` (m,) as in `Part`, `spread` a
    typical residual.
    """

    vertex: Vertex | None
    inside: np.ndarray
    Z: np.ndarray
    out: np.ndarray
    spread: float
    steps: int


class Near:
    """The rows near zero with their residuals c (m,), and the pull (k,) of all others."""

    def __init__(self, part: Part, c: np.ndarray, rounding: Rounding, pull: np.ndarray, tau: float) -> None:
        self.Z, self.w, self.out, self.c = part.Z, part.w, part.out, c / part.out
        self.rounding, self.pull, self.tau = rounding, pull, tau
        self.spread = middle(np.abs(self.c))
        self.steps = 0

    def settle(self, half: float, most: int) -> Settled:
        """Return the exact fit of the near rows: smoothed, then exact in a band that grows by the rows found wrong.

        The band is given up once it has grown to more than `most` rows.
        """
        m, k = self.Z.shape
        inside = np.zeros(m, dtype=bool)
        at = self._smoothed(min(0.4 * half, 1.5 * self.spread))
        self.steps += at.steps
        # Rows that moved by more than the band is wide: what lies outside may not be taken for certain.
        furthest = min(half, _FURTHEST * float(np.max(np.abs(self.c))))
        if not np.linalg.norm(at.g) <= furthest:
            return self._settled(None, inside)
        size, distance = min(max(BAND * k, at.near), m), np.abs(at.r)
        inside[np.argpartition(distance, size - 1)[:size]] = True
        while np.count_nonzero(inside) <= max(most, size):
            others = np.flatnonzero(~inside)
            found = self._exact(at.r, inside, others)
            vertex = found.vertex
            if vertex is None or not np.linalg.norm(vertex.g + at.g) <= furthest:
                if not len(others):
                    break
                more = self._first(at.r[others], others, found.away, int(np.sum(inside)))
                inside[others[more]] = True
                continue
            r = at.r[others] - self.Z[others] @ vertex.g
            wrong = ((r > 0) != (at.r[others] > 0)) | (np.abs(r) <= self.largest_rounding)
            if not wrong.any():
                return self._settled(replace(vertex, g=vertex.g + at.g), inside)
            inside[others[wrong]] = True
        return self._settled(None, inside)

    def _smoothed(self, half: float) -> Smoothed:
        if half > 0:
            return smoothed(self.Z, self.c, self.w, self.tau, self.pull, half, NEAR * self.Z.shape[1])
        # Ties: most rows lie on the fit without any rounding.
        return Smoothed(np.zeros(self.Z.shape[1]), self.c, 0.0, int(np.sum(self.c == 0)), 0)

    def _settled(self, vertex: Vertex | None, inside: np.ndarray) -> Settled:
        return Settled(vertex, np.flatnonzero(inside), self.Z[inside], self.out[inside], self.spread, self.steps)

    def _exact(self, c: np.ndarray, inside: np.ndarray, others: np.ndarray) -> Fitted:
        rows = np.flatnonzero(inside)
        share = np.where(c[others] > 0, self.tau, self.tau - 1.0)
        Z, c = self.Z[rows], c[rows]
        rounding = self.rounding(rows, Z, self.out[rows], self.spread)
        self.largest_rounding = float(rounding.max())
        if self.w is not None:
            share = share * self.w[others]
            Z, c, rounding = Z * self.w[rows, None], c * self.w[rows], rounding * self.w[rows]
        found = solve_band(Band(Z, c, rounding, self.pull + share @ self.Z[others]), self.tau, TOL)
        self.steps += found.steps
        return found

    def _first(self, r: np.ndarray, others: np.ndarray, away: np.ndarray | None, count: int) -> np.ndarray:
        """Return positions of `count` of the other rows: those that a move away crosses first, or the nearest to zero.

        A column that is 0 in most rows may be bounded by rows that are far from zero.
        """
        order = np.abs(r)
        if away is not None:
            with np.errstate(all="ignore"):
                part = r / (self.Z[others] @ away)
            ahead = (part > 0) & np.isfinite(part)
            if ahead.any():
                order, count = np.where(ahead, part, np.inf), min(count, int(np.sum(ahead)))
        count = min(count, len(others))
        return np.argpartition(order, count - 1)[:count]
