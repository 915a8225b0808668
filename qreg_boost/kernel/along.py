"""Kernel quantile regressions at given C, whichever way is the cheaper: from the exact path, or one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from qreg_boost.kernel.exact_path import exact_path
from qreg_boost.kernel.kqr import KernelQuantile, solve_kernel_quantile
from qreg_boost.kernel.quadratic import LowRank, Quadratic

MOST_ROWS = 6000
"""Rows of a kernel matrix of which the path is a matter of minutes and of less than a gigabyte."""
FEW = 50
"""So many C are cheaper one by one, each from the one before, than the path up to the largest."""


def fits_along(
    form: Quadratic, y: np.ndarray, tau: float, costs: Sequence[float], weights: np.ndarray, definite: bool
) -> list[KernelQuantile]:
    """Return the fits at some C, increasing.

    Quadratic programs are solved, each from the one before. Of a kernel matrix the path from 0 to the largest costs as
    much as some fifty of them, and serves if there are more C than that, as far as it reaches and is exact.

    Parameters
    ----------
    form : Quadratic
        K, of order n.
    y, weights : (n,) array
        Rows of weight 0 take no part, and get their fitted values all the same.
    definite : bool
        Whether K is known to be positive semidefinite; if it is not there may be no path.

    Examples
    --------
    >>> from qreg_boost.kernel.quadratic import Dense
    >>> fits = fits_along(Dense(np.eye(3)), np.array([0.0, 1.0, 3.0]), 0.5, [1.0, 2.0, 4.0], np.ones(3), True)
    >>> [round(fit.loss, 6) for fit in fits]
    [1.0, 0.5, 0.0]
    """
    found: list[KernelQuantile] = []
    if definite and len(costs) > FEW and not isinstance(form, LowRank) and len(y) <= MOST_ROWS:
        path = exact_path(form, y, tau, costs[-1], weights)
        reached = (path.at(C, form, y, weights) for C in costs if path.largest >= C)
        found = list(takewhile(lambda one: one.optimal, reached))
    for cost in costs[len(found) :]:
        found.append(solve_kernel_quantile(form, y, tau, cost, weights, found[-1] if found else None))
    return found
