"""Quantile regression by majorisation and minimisation.

References
----------
Hunter, D. R. and Lange, K. (2000). Quantile regression via an MM algorithm. J. Computational and Graphical Statistics
9, 60-77.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.quantreg.frisch_newton import _factor, _gram
from qreg_boost.quantreg.solution import Solution, check_loss
from qreg_boost.quantreg.standard_form import StandardForm

# The perturbation shrinks so once a step lowers the perturbed loss by less than this share of what it may cost.
_SHRINK, _SETTLED = 0.25, 0.1
# A step is this many times that of the quadratic at least, and may be doubled so often.
_LONGER, _DOUBLINGS = 1.9, 30


def mm(
    X: Any, y: Any, tau: float, weights: Any = None, *, start: Any = None, tol: float = 1e-6, max_iter: int = 5000
) -> Solution:
    """Return coefficients whose weighted check loss is within a tolerance of the least.

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
    start : (p,) array, optional
        Coefficients to start from; by default the least squares fit.
    tol : float
        Largest relative gap between the loss and its least value at which to end, by a dual solution.
    max_iter : int
        Most steps.

    Returns
    -------
    Solution
        Coefficients in the caller's units with objective and gap. They are near a vertex, not at one: `basis` is empty.

    Raises
    ------
    InputError
        If shapes do not fit, values are missing or infinite, or `tau` or `weights` are out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is larger than `tol`; the message gives it.

    Notes
    -----
    The loss is perturbed to sum_i rho_tau(r_i) - (eps / 2) log(eps + |r_i|) (Hunter & Lange, eq. 3), which a quadratic
    with weights 1 / (eps + |r_i|) majorises (eq. 4); its minimum is a weighted least squares fit. Here eps decreases,
    and steps go on past that minimum while the perturbed loss falls: at tau = 0.001 thousands of steps become dozens.
    At the perturbed minimum a = (1 + r / (eps + |r|)) / 2 is a dual solution, and the gap is that between the two.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> fit = mm(X, np.array([0.0, 1.0, 2.0, 9.0, 4.0]), tau=0.4)
    >>> bool(np.abs(fit.coef - [0.0, 1.0]).max() < 1e-4), fit.status.name
    (True, 'WITHIN_TOLERANCE')
    """
    form = StandardForm.of(X, y, tau, weights)
    n, k = form.Z.shape
    g = np.zeros(k)
    if start is not None and k:
        b = np.nan_to_num(np.asarray(start, dtype=np.float64)[form.columns]) - form.origin
        g = form.to_g * b if form.to_g.ndim == 1 else form.to_g @ b
    r = form.c - form.Z @ g
    # With a larger start the first perturbed minimum of an extreme level lies far outside the data.
    eps = min(tau, 1.0 - tau) * float(np.mean(np.abs(r))) if n else 0.0
    if eps == 0.0 or k == 0:
        return form.solution(g, np.where(r == 0, 1.0 - form.tau, r > 0), 0.0, 0, tol)
    return _descend(form, g, eps, tol, max_iter)


def _descend(form: StandardForm, g: np.ndarray, eps: float, tol: float, max_iter: int) -> Solution:
    """Take steps of MM, eps decreasing, until the gap is small."""
    from scipy.linalg import cho_solve

    Z, tau = form.Z, form.tau
    least = 1e-15 * eps
    r = form.c - Z @ g
    gap, a = np.inf, np.full(len(r), 1.0 - tau)
    steps = 0
    while steps < max_iter:
        inverse = 1.0 / (eps + np.abs(r))
        descent = ((2.0 * tau - 1.0) + r * inverse) @ Z
        try:
            move = cho_solve(_factor(_gram(Z, np.sqrt(inverse))), descent, check_finite=False)
        except np.linalg.LinAlgError:
            break
        g = g + _length(r, Z @ move, eps, tau) * move
        r = form.c - Z @ g
        steps += 1
        # Half of `descent @ move` is what the quadratic promises.
        if 0.5 * float(descent @ move) > _SETTLED * eps * len(r) * min(tau, 1.0 - tau):
            continue
        a = _dual(form, r, eps)
        loss = check_loss(r, tau)
        slack = float(np.where(r > 0, 1.0 - a, a) @ np.abs(r))
        gap = slack / loss + form.lack(a) if loss > 0 else 0.0
        if gap <= tol or eps <= least:
            break
        eps *= _SHRINK
    return form.solution(g, a, gap, steps, tol)


def _length(r: np.ndarray, fit: np.ndarray, eps: float, tau: float) -> float:
    """Return how many times to take a step that changes the fit by `fit` (n,): the perturbed loss falls all the way.

    The quadratic is no higher than at the start up to twice its own step. Where no row is near zero, as at an extreme
    level, it is far too steep, and many times its step is better. The perturbed loss is convex, so its slope tells.
    """
    part = _LONGER
    for _ in range(_DOUBLINGS):
        there = r - 2.0 * part * fit
        if not float((2.0 * tau - 1.0 + there / (eps + np.abs(there))) @ fit) > 0.0:
            break
        part *= 2.0
    return part


def _dual(form: StandardForm, r: np.ndarray, eps: float) -> np.ndarray:
    """Return dual values in [0, 1] near those of the perturbed minimum, what they lack spread over rows near zero."""
    from scipy.linalg import cho_solve

    a = 0.5 * (1.0 + r / (eps + np.abs(r)))
    for _ in range(2):
        inside = np.minimum(a, 1.0 - a)
        factor = _factor(_gram(form.Z, inside))
        share = cho_solve(factor, (1.0 - form.tau - a) @ form.Z, check_finite=False)
        a = np.clip(a + inside**2 * (form.Z @ share), 0.0, 1.0)
    return a
