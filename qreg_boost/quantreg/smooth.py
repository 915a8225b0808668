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
    from qreg_boost.quantreg.newton_kernels import descend_smoothed

    found = descend_smoothed(Z, c, np.empty(0) if w is None else w, tau, pull, half, enough)
    return Smoothed(*found)
