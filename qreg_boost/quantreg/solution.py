"""What a solver of the quantile regression problem hands back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from qreg_boost.base.quantile import weighted_quantile


class Status(Enum):
    """How a solver ended; the value is a message, with the remedy where one is needed."""

    OPTIMAL = "Optimal: a vertex, certified by a dual solution."
    OPTIMAL_BY_HIGHS = (
        "Optimal: a vertex, certified by a dual solution. The interior point method stopped short of it, and the "
        "simplex method of scipy's HiGHS supplied the start."
    )
    OPTIMAL_BY_FALLBACK = (
        "Optimal: a vertex, certified by a dual solution. The fast method did not settle which rows lie near the fit, "
        "and the interior point method was run on all of them."
    )
    WITHIN_TOLERANCE = (
        "Optimal to the tolerance, though no vertex was certified: the check loss is accurate to `duality_gap`, the "
        "coefficients to about its root. Raise `max_iter` for more."
    )
    STOPPED = (
        "Stopped before the optimum was certified: see `duality_gap` for how far the check loss may lie above the "
        "least. Raise `max_iter`, or look for columns or weights whose sizes differ by more than a factor of 1e12."
    )

    @property
    def optimal(self) -> bool:
        """Return whether the optimum was certified."""
        return self is not Status.STOPPED


@dataclass(frozen=True)
class Solution:
    """Coefficients that minimise the weighted check loss, with the certificate.

    Attributes
    ----------
    coef : (p,) array
        Coefficients in units of y per unit of the column; NaN for columns that were dropped.
    objective : float
        Weighted sum of check losses at `coef`, in units of y. Exactly 0 if all residuals are rounding error.
    duality_gap : float
        Certified upper bound of (objective - least) / objective.
    iterations : int
        Newton steps taken.
    status : Status
        How the solver ended.
    dropped : (d,) int array
        Positions of the columns that depend on columns to their left.
    a : (n,) array
        Dual solution in [0, 1]: 1 where the residual is positive, 0 where it is negative, and
        X'(w (a - (1 - tau))) = 0. It is 1 - tau in rows of weight 0, which take no part.
    basis : (k,) int array
        Rows whose residual is 0 and which determine the k = p - d coefficients; empty if no vertex was certified.
    unique : bool
        True if no other coefficients (of the kept columns) reach the objective; False if others do, or if no vertex
        was certified.
    """

    coef: np.ndarray
    objective: float
    duality_gap: float
    iterations: int
    status: Status
    dropped: np.ndarray
    a: np.ndarray
    basis: np.ndarray
    unique: bool


def check_loss(r: np.ndarray, tau: float, weights: np.ndarray | None = None) -> float:
    """Return the (weighted) sum of check losses r (tau - 1[r < 0]), in units of `r`.

    Parameters
    ----------
    r : (n,) array
        Residuals.
    tau : float
        Quantile level, in (0, 1).
    weights : (n,) array, optional
        Multipliers of the rows' losses.

    Examples
    --------
    >>> check_loss(np.array([2.0, -1.0]), 0.75)
    1.75
    """
    # np.sum adds pairwise: more exact than a dot product over a million rows.
    losses = np.where(r < 0, tau - 1.0, tau) * r
    return float(np.sum(losses if weights is None else losses * weights))


def constant_loss(y: np.ndarray, tau: float, weights: np.ndarray | None = None) -> float:
    """Return the weighted sum of check losses of the best constant for y (n,), in units of y.

    Examples
    --------
    >>> constant_loss(np.array([1.0, 2.0, 3.0, 7.0]), 0.5)
    3.5
    """
    return check_loss(y - weighted_quantile(y, tau, weights), tau, weights) if len(y) else 0.0
