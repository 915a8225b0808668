"""The exact fit of the rows near zero, all other rows being one linear part of the loss.

A row whose residual keeps its sign adds to the loss a linear function of the coefficients. The sum of these is written
as one more row, z = pull / tau, whose residual is far above zero (Portnoy & Koenker 1997, section 4, use one for each
sign).

References
----------
Portnoy, S. and Koenker, R. (1997). The Gaussian hare and the Laplacian tortoise. Statistical Science 12, 279-300.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.quantreg.vertex import Vertex, find_vertex

_STEPS = 60
# Products of the interior point method over the loss below which there is no use in going on.
_SPENT = 1e-30
# The start's multipliers over the mean absolute residual, as in `frisch_newton`.
_SLACK = 0.1
# The residual of the row that stands for the others, in typical lengths of it times the largest residual.
_FAR = 100.0


@dataclass(frozen=True)
class Band:
    """Rows near zero: Z (m, k), residuals c (m,), their rounding (m,), and the pull (k,) of all other rows."""

    Z: np.ndarray
    c: np.ndarray
    rounding: np.ndarray
    pull: np.ndarray


@dataclass(frozen=True)
class Fitted:
    """The optimal vertex of a band, or None if none was certified, and Newton steps taken.

    The vertex has one dual value more than the band has rows: that of the other rows, which is 1. If the band has no
    optimum of its own, `away` (k,) is a direction in which the loss of its rows and the pull falls without end.
    """

    vertex: Vertex | None
    steps: int
    away: np.ndarray | None = None


def solve_band(band: Band, tau: float, tol: float) -> Fitted:
    """Return the optimal vertex of a band."""
    from qreg_boost.quantreg.newton_kernels import interior_steps

    m, k = band.Z.shape
    if m < k:
        return Fitted(None, 0)
    row = band.pull / tau
    length = float(np.linalg.norm(row))
    # Residuals may all be 0: the steps need a size.
    size = max(float(np.max(np.abs(band.c))), float(np.max(band.rounding)), 1e-300)
    far = _FAR * size * max(length, 1.0)
    Z, c = np.vstack([band.Z, row]), np.append(band.c, far)
    rounding = np.append(band.rounding, 0.0)
    slack = _SLACK * float(np.mean(np.abs(c)))
    a, s = np.full(m + 1, 1.0 - tau), np.full(m + 1, tau)
    u, v = np.maximum(c, 0.0) + slack, np.maximum(-c, 0.0) + slack
    base, g, r = np.zeros(k), np.zeros(k), c
    share, steps, least = 1e-4, 0, max(float(np.sum(rounding)), 1e-300)
    while steps < _STEPS:
        more, reached = interior_steps(Z, r, tau, g, a, s, u, v, _STEPS - steps, share, least)
        steps += more
        if not _SPENT < reached <= share:
            break
        share = 0.05 * reached
        # Go on from residuals computed afresh at the present coefficients, which become g = 0.
        base, g = base + g, np.zeros(k)
        r = c - Z @ base
        vertex = find_vertex(Z, r, tau, a, rounding)
        if vertex is None or not vertex.gap <= tol:
            continue
        # The other rows' residual is no longer far above zero: they do not leave the band an optimum of its own.
        if m in vertex.basis or vertex.a[m] < 1.0:
            return Fitted(None, steps, vertex.g + base)
        return Fitted(Vertex(vertex.g + base, vertex.basis, vertex.a, vertex.gap, vertex.unique), steps)
    return Fitted(None, steps)
