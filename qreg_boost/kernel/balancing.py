"""Multipliers of a few equalities for variables in boxes whose gradient is held as it is."""

from __future__ import annotations

import numpy as np

MOST_STEPS, MOST_TRIALS = 40, 30
EXACT = 1e-12
"""An equality off by less than this share of the largest that its terms can sum to holds."""
FIRM = 1e-8
"""Added to the diagonal of a Newton system, over what it is with all variables free."""


def balanced(
    gradient: np.ndarray,
    u: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    curvature: float,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return multipliers nu (m,) and the point x (n,) that they lead to, or None where no point is found.

    x minimises gradient'x + curvature/2 |x - u|^2 with lower <= x <= upper and A x = b: for a small curvature nearly a
    linear program. nu maximises its dual, x(nu) = u - (gradient + A'nu) / curvature moved into the box; a piecewise
    quadratic concave function of m variables, by Newton's method with a line search.

    >>> one = np.ones(3)
    >>> nu, x = balanced(np.array([0.0, 1.0, 2.0]), 0.5 * one, 0 * one, one, one[None], np.array([1.0]), 1e-3)
    >>> x.round(2).tolist(), bool(-1.0 < nu[0] < 0.0)
    ([1.0, 0.0, 0.0], True)
    """
    B = A / curvature
    ridge = FIRM * (A * B).sum(axis=1)
    centre = u - gradient / curvature
    reach = np.abs(A) @ np.maximum(np.abs(lower), np.abs(upper)) + np.abs(b)

    def at(nu: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        aim = centre - nu @ B
        x = np.minimum(np.maximum(aim, lower), upper)
        return x, A @ x - b, aim == x

    nu = np.zeros(len(b))
    x, off, free = at(nu)
    for _ in range(MOST_STEPS):
        if (np.abs(off) <= EXACT * reach).all():
            return nu, x
        S = A[:, free] @ B[:, free].T
        S[np.diag_indices(len(b))] += ridge
        try:
            step = np.linalg.solve(S, off)
        except np.linalg.LinAlgError:
            return None
        slope = float(off @ step)
        length, low, high, at_low = 1.0, 0.0, 1.0, slope
        x, off, free = at(nu + step)
        here = float(off @ step)
        at_high = here
        for _ in range(MOST_TRIALS):  # until the slope along the step is a tenth of what it was, or still upward at 1
            if abs(here) <= 0.1 * slope or (length == 1.0 and here > 0.0):
                break
            length = low + (high - low) * min(max(at_low / (at_low - at_high), 0.05), 0.95)
            x, off, free = at(nu + length * step)
            here = float(off @ step)
            if here > 0.0:
                low, at_low = length, here
            else:
                high, at_high = length, here
        nu = nu + length * step
    return None
