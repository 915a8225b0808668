"""The table of solvers, and several quantile levels at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qreg_boost.base.checks import check_choice
from qreg_boost.quantreg.exact import exact, prepared, sparse_fit
from qreg_boost.quantreg.highs import highs
from qreg_boost.quantreg.mm import mm
from qreg_boost.quantreg.simplex import interior_point_or_simplex, simplex
from qreg_boost.quantreg.solution import Solution

Solver = Callable[..., Solution]
"""solver(X, y, tau, weights=None, *, start=None), X (n, p) a dense array or scipy sparse, the design as it is."""


def frisch_newton(X: Any, y: Any, tau: float, weights: Any = None, *, start: Any = None) -> Solution:
    """Return the solution of `interior_point`; for a sparse design that of its Newton steps on the sparse rows.

    Where it certifies no vertex, as it may with weights of very different sizes, `simplex` is the last resort. `start`
    is not used: an interior point method starts in the middle.

    Examples
    --------
    >>> frisch_newton(np.ones((3, 1)), np.array([1.0, 2.0, 4.0]), 0.5).coef.tolist()
    [2.0]
    """
    if hasattr(X, "tocsr"):
        return sparse_fit(X, y, tau, weights, sampled=False)
    return interior_point_or_simplex(X, y, tau, weights)


SOLVERS: dict[str, Solver] = {
    "exact": exact,
    "interior_point": frisch_newton,
    "simplex": simplex,
    "mm": mm,
    "highs": highs,
}
"""Solvers by the name that the argument `method` takes."""

PREPARED: dict[str, Callable[[Any, Any, Any], Callable[[float, Any], Solution]]] = {"exact": prepared}
"""Of the solvers that share work between levels: prepare(X, y, weights)(tau, start)."""


def solve_several(X: Any, y: Any, taus: Sequence[float], weights: Any = None, method: str = "exact") -> list[Solution]:
    """Return the solutions at several quantile levels, in the order of `taus`, each started from its neighbour.

    Parameters
    ----------
    X : (n, p) array or scipy sparse
        The design as it is.
    y : (n,) array
        Response.
    taus : sequence of float
        Quantile levels, strictly between 0 and 1.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0.
    method : str
        Name of a solver.

    Examples
    --------
    >>> y = np.arange(9.0)
    >>> [float(fit.coef[0]) for fit in solve_several(np.ones((9, 1)), y, [0.75, 0.25])]
    [6.0, 2.0]
    """
    solver = SOLVERS[check_choice(method, "method", SOLVERS)]
    if method in PREPARED:
        fit = PREPARED[method](X, y, weights)
    else:

        def fit(tau: float, start: Any) -> Solution:
            return solver(X, y, tau, weights, start=start)

    found: dict[int, Solution] = {}
    start = None
    for place in np.argsort(np.asarray(taus, dtype=np.float64), kind="stable"):
        found[int(place)] = fit(taus[place], start)
        start = found[int(place)].coef
    return [found[place] for place in range(len(taus))]
