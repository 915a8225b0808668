"""Quantile regression by scipy's HiGHS, as a referee for the solvers of this package.

References
----------
Huangfu, Q. and Hall, J. A. J. (2018). Parallelizing the dual revised simplex method. Mathematical Programming
Computation 10, 119-142.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.quantreg.solution import Solution
from qreg_boost.quantreg.standard_form import StandardForm

_TOL = 1e-6


def highs(X: Any, y: Any, tau: float, weights: Any = None, *, start: Any = None) -> Solution:
    """Return the coefficients at which HiGHS finds the weighted check loss least.

    Parameters
    ----------
    X : (n, p) array or scipy sparse
        The design as it is. Columns that depend on columns to their left are dropped, as R's ``lm`` drops them.
    y : (n,) array
        Response.
    tau : float
        Quantile level, strictly between 0 and 1.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0. Rows of weight 0 take no part.
    start : optional
        Not used: scipy cannot hand HiGHS a start.

    Returns
    -------
    Solution
        Coefficients in the caller's units with objective; the gap is that between HiGHS's two solutions. No vertex is
        certified: what counts is that none of this package's solvers has had a hand in it.

    Raises
    ------
    InputError
        If shapes do not fit, values are missing or infinite, or `tau` or `weights` are out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is larger than 1e-6: HiGHS keeps constraints to 1e-10, which extreme levels multiply by 1 / tau.

    Notes
    -----
    HiGHS's dual simplex method on the dual problem, max c'a subject to Z'a = (1 - tau) Z'1, 0 <= a <= 1 (Koenker 2005,
    section 6.2), in the coordinates of `StandardForm`.

    References
    ----------
    Koenker, R. (2005). Quantile Regression. Cambridge University Press.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> highs(X, np.array([0.0, 1.0, 2.0, 9.0, 4.0]), tau=0.5).coef.round(9).tolist()
    [0.0, 1.0]
    """
    from scipy.optimize import linprog

    form = StandardForm.of(X, y, tau, weights)
    n, k = form.Z.shape
    size = float(np.mean(np.abs(form.c))) if n else 0.0
    neutral = np.full(n, 1.0 - form.tau)
    if k == 0 or size == 0.0:
        return form.solution(np.zeros(k), np.where(form.c == 0, neutral, form.c > 0), 0.0, 0, _TOL)
    need = (1.0 - form.tau) * np.asarray(form.Z.sum(axis=0)).ravel()
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(-form.c / size, A_eq=form.Z.T, b_eq=need, bounds=(0, 1), method="highs-ds", options=tight)
    if found.x is None:
        return form.solution(np.zeros(k), neutral, np.inf, int(found.nit), _TOL)
    a = np.clip(found.x, 0.0, 1.0)
    g = -found.eqlin.marginals * size
    r = form.c - form.Z @ g
    slack = float(np.where(r > 0, 1.0 - a, a) @ np.abs(r))
    loss = float(np.where(r < 0, form.tau - 1.0, form.tau) @ r)
    gap = slack / loss + form.lack(a) if loss > 0 else 0.0
    return form.solution(g, a, gap, int(found.nit), _TOL)
