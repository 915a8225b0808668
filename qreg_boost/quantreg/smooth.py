"""Newton steps for the check loss smoothed by convolution with a uniform kernel.

The loss is sum_i w_i rho_tau(c_i - z_i'g) - pull'g, where the linear part stands for rows of certain sign. With
half-width h the sign of a residual becomes a(r) = min(max(1/2 + r / (2h), 0), 1), the gradient is
-Z'W(a - (1 - tau)) - pull, and the Hessian sums w z z' / (2h) over the rows with |r| < h.

References
----------
Fernandes, M., Guerre, E. and Horta, E. (2021). Smoothing quantile regressions. J. Business & Economic Statistics 39,
338-357.
He, X., Pan, X., Tan, K. M. and Zhou, W.-X. (2023). Smoothed quantile regression with large-scale inference.
J. Econometrics 232, 367-388.
Madsen, K. and Nielsen, H. B. (1993). A finite smoothing algorithm for linear l1 estimation. SIAM J. Optimization 3,
223-235.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Newton steps at one half-width, and half-widths tried.
_STEPS, _WIDTHS = 12, 40
# A half-width is left once the next step would move the rows by less than this share of it.
_SETTLED = 0.05
# From one half-width to the next this share of the rows stays near zero, so that the Newton steps keep their footing.
_SHRINK = 0.2
# The half-width itself shrinks to this at the least.
_LEAST_SHRINK = 1e-3
# Ridge over the trace of the Hessian, and over the length of the slope.
_RIDGE, _BOUND = 1e-9, 0.1


@dataclass(frozen=True)
class Smoothed:
    """A minimum of the smoothed loss.

    Attributes
    ----------
    g : (k,) array
        Coefficients.
    r : (n,) array
        Residuals.
    half : float
        Half-width of the kernel.
    near : int
        Rows with a residual smaller than that.
    steps : int
        Newton steps taken.
    """

    g: np.ndarray
    r: np.ndarray
    half: float
    near: int
    steps: int


def smoothed(
    Z: np.ndarray, c: np.ndarray, w: np.ndarray | None, tau: float, pull: np.ndarray, half: float, enough: int
) -> Smoothed:
    """Return the minimum for a half-width at which about `enough` rows lie near zero, starting at g = 0.

    Parameters
    ----------
    Z : (n, k) array
        Design, Z'WZ about n times the identity.
    c : (n,) array
        Residuals at the start.
    w : (n,) array or None
        Weights, 1 on average; None stands for ones.
    tau : float
        Quantile level.
    pull : (k,) array
        Linear part of the loss.
    half : float
        First half-width, positive.
    enough : int
        Rows to be left near zero.
    """
    loss = _Loss(Z, c, w, tau, pull)
    g, steps = np.zeros(Z.shape[1]), 0
    at = loss.at(g, half)
    least, stuck, before = 1e-13 * half, 0, len(c) + 1.0
    for _ in range(_WIDTHS):
        for _ in range(_STEPS):
            move = at.newton()
            # Rows have length about root k, so this is the root mean square change of a residual.
            if not np.isfinite(move).all() or np.linalg.norm(move) <= _SETTLED * half:
                break
            g, at = _along(loss, at, g, move)
            steps += 1
        near = len(at.near)
        if near <= 1.2 * enough or half <= least or stuck == 3:
            break
        left = max(int(_SHRINK * near), enough)
        closest = float(np.partition(np.abs(at.r[at.near]), left - 1)[left - 1]) / half
        # Ties: rows that stay near however narrow the band.
        stuck = stuck + 1 if closest <= 0.1 and near > 0.9 * before else 0
        before = near
        half *= min(max(closest, _LEAST_SHRINK), left / near)
        at = loss.at(g, half)
    return Smoothed(g, at.r, half, len(at.near), steps)


class _Loss:
    """The loss, to be asked for its slope and curvature."""

    def __init__(self, Z: np.ndarray, c: np.ndarray, w: np.ndarray | None, tau: float, pull: np.ndarray) -> None:
        self.Z, self.c, self.w, self.tau, self.pull = Z, c, w, tau, pull

    def at(self, g: np.ndarray, half: float) -> _Point:
        return _Point(self, self.c - self.Z @ g, half)


class _Point:
    """Residuals r, the rows near zero and the steepest descent at one point."""

    def __init__(self, loss: _Loss, r: np.ndarray, half: float) -> None:
        self.Z, self.w, self.half, self.r = loss.Z, loss.w, half, r
        self.near = np.flatnonzero(np.abs(r) < half)
        share = np.clip(r * (0.5 / half) + (loss.tau - 0.5), loss.tau - 1.0, loss.tau)
        self.descent = (share if loss.w is None else share * loss.w) @ loss.Z + loss.pull

    def newton(self) -> np.ndarray:
        """Return the Newton step; a ridge keeps it finite."""
        from scipy.linalg import cho_factor, cho_solve

        k = self.Z.shape[1]
        rows = self.Z[self.near]
        hessian = rows.T @ (rows if self.w is None else rows * self.w[self.near, None])
        # A direction that no row near zero bounds: the step is 2 / _BOUND half-widths at most.
        ridge = _RIDGE * float(np.trace(hessian)) + _BOUND * float(np.linalg.norm(self.descent))
        hessian[np.diag_indices(k)] += max(ridge, 1e-300)
        try:
            factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return 2.0 * self.half / max(len(self.near), k) * self.descent
        return 2.0 * self.half * cho_solve(factor, self.descent, check_finite=False)


def _along(loss: _Loss, at: _Point, g: np.ndarray, move: np.ndarray) -> tuple[np.ndarray, _Point]:
    """Return the point at which the loss no longer falls much along `move`, found by false position on its slope."""
    slope = float(at.descent @ move)
    low, high, falling, part = 0.0, 0.0, slope, 1.0
    for _ in range(8):
        there = loss.at(g + part * move, at.half)
        left = float(there.descent @ move)
        if left > 0.7 * slope and part < 64.0 and not high:
            low, falling, part = part, left, 4.0 * part
        elif left < -0.7 * slope:
            high = part
            part = low + (part - low) * max(falling / (falling - left), 0.1)
        else:
            break
    return g + part * move, there
