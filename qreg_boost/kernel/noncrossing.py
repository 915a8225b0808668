"""Kernel quantile regressions at several taus that do not cross at the data (Takeuchi et al. 2006, section 4.1).

::

    minimise    sum_h [ 1/2 |g_h|^2 + C sum_i w_i rho_h(y_i - g_h(x_i) - b_h) ]
    subject to  g_h(x_i) + b_h <= g_(h+1)(x_i) + b_(h+1)      for all rows i

The dual has a multiplier c_h >= 0 per constraint next to the boxed u_h, with a_h = u_h + c_(h-1) - c_h. Most of them
are 0: constraints enter where separate fits cross or nearly do, and then where the fits still cross, until none do.
"""

from __future__ import annotations

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.kernel.box_qp import MORE_ITERATIONS, MOST_ITERATIONS, TOLERANCES
from qreg_boost.kernel.cone_program import Iterate, NoStep, Parts
from qreg_boost.kernel.crossing_pairs import Pairs
from qreg_boost.kernel.kqr import KernelQuantile, check_losses, sides, solve_kernel_quantile
from qreg_boost.kernel.quadratic import Dense, Quadratic

MOST = 6000
"""Largest number H n of unknowns."""
ALLOWED = 1e-7
"""Largest relative duality gap of the whole that counts as optimal."""
NEAR = 0.1
"""Fits nearer than this share of their median distance are held apart from the first."""
ROUNDS = 10
"""So often constraints are added where fits cross; then all of them are taken."""
TINY = 1e-12
"""A crossing by this share of the response's range is rounding."""


def check_order(H: int, n: int) -> None:
    """Refuse a program that is too large.

    Raises
    ------
    InputError
        If it has more than `MOST` unknowns; their number is named.
    """
    if H * n > MOST:
        raise InputError(
            f"noncrossing=True solves one program for all quantiles: {H} taus x {n} rows = {H * n} unknowns, and at "
            f"most {MOST} are allowed. Use fewer taus or rows, or sort the predictions of separate fits with "
            "predict(..., rearrange=True)."
        )


def solve_noncrossing(
    form: Quadratic, y: np.ndarray, taus: list[float], C: float, weights: np.ndarray
) -> list[KernelQuantile]:
    """Return kernel quantile regressions at increasing taus that do not cross at the rows.

    Parameters
    ----------
    form : Quadratic
        K, of order n.
    y, weights : (n,) array
        Weights above 0.
    taus : list of float
        Increasing.

    Notes
    -----
    Where separate fits do not cross, they are the solution, and they are returned. A solution under some of the
    constraints that keeps them all is the solution under all.
    """
    check_order(len(taus), len(y))
    apart = [solve_kernel_quantile(form, y, tau, C, weights) for tau in taus]
    gaps = np.diff([one.fit for one in apart], axis=0)
    if len(taus) == 1 or (gaps >= 0.0).all():
        return apart
    K, levels = form.Q if isinstance(form, Dense) else form.times(np.eye(len(y))), np.array(taus)
    held = np.zeros(gaps.shape, dtype=bool)
    for _ in range(ROUNDS):
        held |= gaps <= NEAR * np.median(np.maximum(gaps, 0.0), axis=1, keepdims=True)
        found, fits = _held_at(held, K, form, y, levels, C, weights)
        gaps = np.diff(fits, axis=0)
        if not ((gaps < -TINY * np.ptp(y)) & ~held).any():
            return found
    return _held_at(np.ones_like(held), K, form, y, levels, C, weights)[0]


def _held_at(
    held: np.ndarray, K: np.ndarray, form: Quadratic, y: np.ndarray, taus: np.ndarray, C: float, weights: np.ndarray
) -> tuple[list[KernelQuantile], np.ndarray]:
    """Return the fits held apart at some pairs (H - 1, n) of gap and row, and their values (H, n) before rounding."""
    n, H = len(y), len(taus)
    unit, force = C * float(weights.max()), float(np.abs(y).max()) or 1.0
    newton = Pairs(K, H, unit / force, *np.nonzero(held))
    m = len(newton.gap)
    w = C * weights / unit
    lower = np.concatenate((((taus[:, None] - 1.0) * w).ravel(), np.zeros(m)))
    upper = np.concatenate(((taus[:, None] * w).ravel(), np.full(m, np.inf)))
    c = np.concatenate((np.tile(-y / force, H), np.zeros(m)))
    A = np.hstack((np.kron(np.eye(H), np.ones(n)), newton.sums))
    parts = Parts(newton, c, lower, upper, A, np.zeros(H))
    at: Iterate | None = None
    best: list[KernelQuantile] = []
    fits = np.zeros((H, n))
    for tolerance in TOLERANCES[:2]:
        try:
            at = parts.run(at, tolerance, MOST_ITERATIONS if at is None else MORE_ITERATIONS)
        except NoStep:
            break
        u, multipliers = (part * unit for part in newton.parts(at.x))
        u = np.clip(u, C * weights * (taus[:, None] - 1.0), C * weights * taus[:, None])
        a = u + newton.spread(np.maximum(multipliers, 0.0))
        b = at.y * force
        found = _fits(form, y, taus, C, weights, u, a, b, at.iterations)
        if not best or abs(found[0].duality_gap) < abs(best[0].duality_gap):
            best, fits = found, form.times(a.T).T + b[:, None]
    if not best:
        raise InputError(
            "The quantiles cannot be held apart: the kernel matrix is not positive semidefinite. Take another kernel."
        )
    return best, fits


def _fits(
    form: Quadratic,
    y: np.ndarray,
    taus: np.ndarray,
    C: float,
    weights: np.ndarray,
    u: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    iterations: int,
) -> list[KernelQuantile]:
    """Return the fits with offsets that keep them apart; the duality gap of each is that of all."""
    Ka = form.times(a.T).T
    b = b.copy()
    for h in range(1, len(taus)):  # by rounding the method's own offsets may cross
        b[h] = max(b[h], float((Ka[h - 1] + b[h - 1] - Ka[h]).max()))
    penalties = 0.5 * np.einsum("hn,hn->h", a, Ka)
    losses = np.array([weights @ check_losses(y - Ka[h] - b[h], tau) for h, tau in enumerate(taus)])
    objectives = penalties + C * losses
    total = float(objectives.sum())
    gap = (total - float(u.sum(axis=0) @ y - penalties.sum())) / total if total > 0.0 else 0.0
    off = float(np.abs(a.sum(axis=1)).max()) / (C * float(weights.sum()))
    optimal = abs(gap) <= ALLOWED and off <= ALLOWED
    told = f"The non-crossing quantiles are not solved: relative duality gap {gap:.2g}, equalities {off:.2g}."
    return [
        KernelQuantile(
            a=a[h], b=float(b[h]), fit=Ka[h] + b[h], penalty=float(penalties[h]), loss=float(losses[h]),
            dual=float(objectives[h] * (1.0 - gap)), C=C, tau=float(tau), side=sides(u[h], C, float(tau), weights),
            program=None, iterations=iterations, optimal=optimal, shortfall="" if optimal else told,
        )
        for h, tau in enumerate(taus)
    ]  # fmt: skip
