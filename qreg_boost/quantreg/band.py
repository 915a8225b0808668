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

from qreg_boost.quantreg.frisch_newton import Iterate
from qreg_boost.quantreg.vertex import Vertex, find_vertex

_STEPS = 60
# The residual of the row that stands for the others, in typical lengths of it times the largest residual.
_FAR = 100.0


@dataclass(frozen=True)
class Band:
    """Rows near zero: Z (m, k), residuals c (m,), their rounding (m,), and the pull (k,) of all other rows."""

    Z: np.ndarray
    c: np.ndarray
    rounding: np.ndarray
    pull: np.ndarray


def solve_band(band: Band, tau: float, tol: float) -> tuple[Vertex | None, int]:
    """Return the optimal vertex of a band with Newton steps taken; None if none was certified.

    The vertex has one dual value more than the band has rows: that of the other rows, which is 1.
    """
    m, k = band.Z.shape
    if m < k:
        return None, 0
    row = band.pull / tau
    length = float(np.linalg.norm(row))
    far = max(_FAR * float(np.max(np.abs(band.c))) * max(length, 1.0), 1e-300)
    Z, c = np.vstack([band.Z, row]), np.append(band.c, far)
    rounding = np.append(band.rounding, 0.0)
    point = Iterate(Z, c, tau)
    base = np.zeros(k)
    worth_trying = 1e-4
    while point.steps < _STEPS and point.step():
        products = float(point.u @ point.s + point.v @ point.a)
        loss = float(np.sum(np.abs(point.c[:m] - band.Z @ point.g)))
        if not products > 1e-30 * loss:
            break
        if products <= worth_trying * loss:
            worth_trying = 0.05 * products / loss
            base = base + point.g
            point.recentre(c - Z @ base)
            vertex = find_vertex(Z, point.c, tau, point.a, rounding)
            if vertex is None or not vertex.gap <= tol:
                continue
            # The other rows' residual is no longer far above zero: they do not leave the band an optimum of its own.
            if m in vertex.basis or vertex.a[m] < 1.0:
                break
            return Vertex(vertex.g + base, vertex.basis, vertex.a, vertex.gap, vertex.unique), point.steps
    return None, point.steps
