"""Kernel quantile regressions at several taus that do not cross at the data (Takeuchi et al. 2006, section 4.1).

::

    minimise    sum_h [ 1/2 |g_h|^2 + C sum_i w_i rho_h(y_i - g_h(x_i) - b_h) ]
    subject to  g_h(x_i) + b_h <= g_(h+1)(x_i) + b_(h+1)      for all rows i

The dual has a multiplier c_h >= 0 per constraint next to the boxed u_h, with a_h = u_h + c_(h-1) - c_h, and one Newton
system of order H n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.kernel.box_qp import MORE_ITERATIONS, MOST_ITERATIONS, TOLERANCES, Iterate, NoStep, Parts
from qreg_boost.kernel.kqr import KernelQuantile, check_losses, sides, solve_kernel_quantile
from qreg_boost.kernel.quadratic import Quadratic

MOST = 6000
"""Largest order H n of the Newton system."""
ALLOWED = 1e-7
"""Largest relative duality gap of the whole that counts as optimal."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """The quadratic term of x = (u, c): scale * sum_h a_h'K a_h, a = u + B c, with its Newton system.

    With D_u, D_c the barrier diagonals, E = (1/D_u + B (1/D_c) B')^-1 and F = (D_c + B'D_u B)^-1, both made of small
    chains row by row: a = (K + E)^-1 (E (1/D_u) r_u + D_u B F r_c); with T = F (B'r_u - r_c),
    u = (1/D_u) E a + B T and c = F B'D_u a - T. Nothing that cancels is divided by a small number.

    Attributes
    ----------
    K : (n, n) array
    H : int
    scale : float
    """

    K: np.ndarray
    H: int
    scale: float

    @property
    def B(self) -> np.ndarray:
        """The matrix (H, H - 1) that adds c_h to the fit above it and takes it from the one below."""
        return np.eye(self.H, self.H - 1, -1) - np.eye(self.H, self.H - 1)

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return u (H, n, ...) and c (H - 1, n, ...) of x."""
        n, at = len(self.K), self.H * len(self.K)
        return x[:at].reshape(self.H, n, *x.shape[1:]), x[at:].reshape(self.H - 1, n, *x.shape[1:])

    def _joined(self, u: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.concatenate((u.reshape(-1, *u.shape[2:]), c.reshape(-1, *c.shape[2:])))

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the term at x."""
        u, c = self.parts(x)
        Ka = self.scale * (u + np.tensordot(self.B, c, axes=1)) @ self.K.T
        return self._joined(Ka, np.tensordot(self.B.T, Ka, axes=1))

    def solver(self, D: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that solves the Newton system."""
        from scipy.linalg import lapack

        n, H, B = len(self.K), self.H, self.B
        Du, Dc = self.parts(D)
        E = chain_solve(1.0 / Du, 1.0 / Dc, np.broadcast_to(np.eye(H)[:, None], (H, n, H))).transpose(1, 0, 2)
        surplus = Dc.copy()
        surplus[0] += Du[0]
        surplus[-1] += Du[-1]
        whole = np.zeros((H, n, H, n))
        for h in range(H):
            whole[h, :, h] = self.scale * self.K
            for k in range(H):
                whole[h, range(n), k, range(n)] += E[:, h, k]
        factor, info = lapack.dpotrf(whole.reshape(H * n, H * n).T, lower=1, overwrite_a=1, clean=0)
        if info != 0:
            raise ArithmeticError("no Cholesky factor")

        def solve(r: np.ndarray) -> np.ndarray:
            ru, rc = self.parts(r)
            right = np.einsum("nhk,knm->hnm", E, ru / Du[..., None])
            right += Du[..., None] * np.tensordot(B, chain_solve(surplus, Du[1:-1], rc), axes=1)
            a = lapack.dpotrs(factor, np.asfortranarray(right.reshape(H * n, -1)), lower=1)[0].reshape(H, n, -1)
            T = chain_solve(surplus, Du[1:-1], np.tensordot(B.T, ru, axes=1) - rc)
            return self._joined(
                np.einsum("nhk,knm->hnm", E, a) / Du[..., None] + np.tensordot(B, T, axes=1),
                chain_solve(surplus, Du[1:-1], np.tensordot(B.T, Du[..., None] * a, axes=1)) - T,
            )

        return solve


def chain_solve(surplus: np.ndarray, links: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return x with (diag surplus + Laplacian of a chain with these links) x = r, for many chains at once.

    The matrix of a chain has surplus + adjacent links on its diagonal and minus the links beside it. Elimination in
    terms of surplus and links subtracts nothing, so each element of the inverse keeps its digits, however far the
    numbers lie apart.

    Parameters
    ----------
    surplus : (m, n) array
        Above 0: m positions of n chains.
    links : (m - 1, n) array
        At least 0.
    r : (m, n, k) array

    Examples
    --------
    >>> chain_solve(np.ones((2, 1)), np.ones((1, 1)), np.array([[[3.0]], [[0.0]]]))[:, 0, 0].tolist()
    [2.0, 1.0]
    """
    m = len(surplus)
    x = r.copy()
    rest = surplus[0]
    passed, pivots = [], []
    for h in range(m - 1):
        pivot = rest + links[h]
        part = links[h] / pivot
        x[h + 1] += part[:, None] * x[h]
        rest = surplus[h + 1] + part * rest
        passed.append(part)
        pivots.append(pivot)
    x[m - 1] /= rest[:, None]
    for h in range(m - 2, -1, -1):
        x[h] = x[h] / pivots[h][:, None] + passed[h][:, None] * x[h + 1]
    return x


def check_order(H: int, n: int) -> None:
    """Refuse a system that is too large.

    Raises
    ------
    InputError
        If it has more than `MOST` unknowns; their number is named.
    """
    if H * n > MOST:
        raise InputError(
            f"noncrossing=True solves one system for all quantiles: {H} taus x {n} rows = {H * n} unknowns, and at "
            f"most {MOST} are allowed ({8e-9 * (H * n) ** 2:.1f} GB a matrix). Use fewer taus or rows, or sort the "
            "predictions of separate fits with predict(..., rearrange=True)."
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
    Where separate fits do not cross, they are the solution, and they are returned.
    """
    check_order(len(taus), len(y))
    apart: list[KernelQuantile] = []
    for tau in taus:
        apart.append(solve_kernel_quantile(form, y, tau, C, weights))
    fits = np.array([one.fit for one in apart])
    if len(taus) == 1 or (np.diff(fits, axis=0) >= 0.0).all():
        return apart
    return _together(form, y, np.array(taus), C, weights)


def _together(form: Quadratic, y: np.ndarray, taus: np.ndarray, C: float, weights: np.ndarray) -> list[KernelQuantile]:
    n, H = len(y), len(taus)
    unit, force = C * float(weights.max()), float(np.abs(y).max()) or 1.0
    newton = Crossing(form.times(np.eye(n)), H, unit / force)
    w = C * weights / unit
    lower = np.concatenate(((taus[:, None] - 1.0) * w, np.zeros((H - 1, n)))).ravel()
    upper = np.concatenate((taus[:, None] * w, np.full((H - 1, n), np.inf))).ravel()
    c = np.concatenate((np.tile(-y / force, H), np.zeros((H - 1) * n)))
    A = np.kron(np.hstack((np.eye(H), newton.B)), np.ones(n))
    parts = Parts(newton, c, lower, upper, A, np.zeros(H))
    at: Iterate | None = None
    best: list[KernelQuantile] = []
    for tolerance in TOLERANCES[:2]:
        try:
            at = parts.run(at, tolerance, MOST_ITERATIONS if at is None else MORE_ITERATIONS)
        except NoStep:
            break
        u, multipliers = (part * unit for part in newton.parts(at.x))
        u = np.clip(u, C * weights * (taus[:, None] - 1.0), C * weights * taus[:, None])
        a = u + newton.B @ np.maximum(multipliers, 0.0)
        found = _fits(form, y, taus, C, weights, u, a, at.y * force, at.iterations)
        best = found if not best else min(best, found, key=lambda fits: abs(fits[0].duality_gap))
    if not best:
        raise InputError(
            "The quantiles cannot be held apart: the kernel matrix is not positive semidefinite. Take another kernel."
        )
    return best


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
