"""Quantile regression with a linear term added to the loss, by any solver of the plain problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qreg_boost.quantreg.solution import Solution

Solver = Callable[..., Solution]

# The response of the added row over the mean residual: at first, and how often and by how much it grows.
_LEVEL, _GROWTH, _TRIES = 1e3, 1e4, 4


def tilted(
    Z: Any, r: np.ndarray, tau: float, gradient: np.ndarray, solver: Solver, bounded: Callable[[], bool] = lambda: True
) -> Solution | None:
    """Return the g that minimises the check loss of r - Z g, less gradient'g; None if the loss falls without end.

    One row, gradient / tau, is added, whose response is so high that its residual is positive (Parzen, Wei and Ying
    1994): its loss is a constant less gradient'g.

    Parameters
    ----------
    Z : (n, k) array or scipy CSR
        Design.
    r : (n,) array
        Response; best are residuals, so that g is small.
    tau : float
        Quantile level.
    gradient : (k,) array
        Coefficients of the linear term.
    solver : callable
        ``solver(X, y, tau) -> Solution``.
    bounded : callable
        Tells whether there is a least value at all; asked when it seems not.

    Returns
    -------
    Solution or None
        Of the problem with the added row, which is the last.

    Examples
    --------
    >>> from qreg_boost.quantreg.interior_point import interior_point
    >>> Z, r = np.ones((5, 1)), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    >>> tilted(Z, r, 0.5, np.array([1.0]), interior_point).coef.round(9).tolist()
    [1.0]
    """
    row = gradient / tau
    level = _LEVEL * (float(np.mean(np.abs(r))) or 1.0)
    for _ in range(_TRIES):
        fit = solver(_with_row(Z, row), np.append(r, level), tau)
        if level - float(row @ np.nan_to_num(fit.coef)) > 1e-6 * level:
            return fit
        if not bounded():
            return None
        level *= _GROWTH
    return None


def _with_row(Z: Any, row: np.ndarray) -> Any:
    if isinstance(Z, np.ndarray):
        return np.vstack([Z, row])
    from scipy.sparse import csr_matrix, vstack

    return vstack([Z, csr_matrix(row)], format="csr")
