"""Logistic regression by maximum likelihood, for columns that may depend on each other and classes that may not mix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from qreg_boost.base.rank import independent_columns

MOST_STEPS = 100
ENOUGH = 1e-11
"""The deviance has come to rest when a step changes it by less than this share of itself."""
STILL = 1e-3
"""At a maximum the last step moves no log-odds by as much as this."""
HALVINGS = 30
TOLD_APART = (
    "some rows are told apart without error: the likelihood has no maximum, their probabilities are 0 and 1, and they "
    "are never withheld."
)
REMEDY = 'Leave predictors out, or use method="double_ramp".'


@dataclass(frozen=True, eq=False)
class Logit:
    """A logistic regression.

    Attributes
    ----------
    intercept : float
        0 in a model without one.
    slopes : (p,) array
        NaN for columns that others to their left determine.
    separated : bool
        Whether the likelihood has no maximum: some rows are told apart without error, and the further the slopes go,
        the nearer to 0 or 1 are their probabilities.
    """

    intercept: float
    slopes: np.ndarray
    separated: bool = False

    def probability_at(self, X: np.ndarray) -> np.ndarray:
        """Return probabilities of the event (rows,)."""
        return expit(self.intercept + X @ np.nan_to_num(self.slopes))


def fit_logit(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, intercept: bool = True) -> Logit:
    """Return the logistic regression of y (n,), 1 for the event and 0 for the other, on the columns of X (n, p).

    Newton's method on standardised columns, each step halved until the deviance falls.

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> fit = fit_logit(np.hstack((x, 2.0 * x)), np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0]))
    >>> fit.slopes.round(3).tolist(), fit.separated
    ([1.214, nan], False)
    """
    w = np.ones(len(y)) if weights is None else weights
    used = w > 0.0
    X, y, w = X[used], y[used], w[used] / w[used].mean()
    centre = np.average(X, axis=0, weights=w) if intercept else np.zeros(X.shape[1])
    Z = X - centre
    scale = np.sqrt(np.average(Z**2, axis=0, weights=w))
    scale[scale <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)] = 0.0
    Z = Z / np.where(scale > 0.0, scale, 1.0) * (scale > 0.0)
    ones = np.ones((len(y), 1)) if intercept else np.empty((len(y), 0))
    full = np.hstack((ones, Z))
    kept = independent_columns(full, weights=w)
    found, separated = _newton(np.ascontiguousarray(full[:, kept]), y, w)
    beta = np.full(full.shape[1], np.nan)
    beta[kept] = found
    slopes = beta[int(intercept) :] / np.where(scale > 0.0, scale, 1.0)
    constant = float(beta[0] - np.nan_to_num(slopes) @ centre) if intercept else 0.0
    return Logit(constant, slopes, separated)


def _newton(Z: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the coefficients of independent columns, and whether they went on to grow while the deviance rested."""
    beta = np.zeros(Z.shape[1])
    eta = np.zeros(len(y))
    least = _deviance(eta, y, w)
    for _ in range(MOST_STEPS):
        p = expit(eta)
        root = np.sqrt(w * np.maximum(p * (1.0 - p), 1e-300))
        step = np.linalg.lstsq(Z * root[:, None], w * (y - p) / root, rcond=None)[0]
        moved = Z @ step
        for halved in range(HALVINGS):
            length = 0.5**halved
            deviance = _deviance(eta + length * moved, y, w)
            if deviance <= least:
                break
        else:
            return beta, False  # no shorter step lowers the deviance: rounding is all that is left
        fallen, least = least - deviance, deviance
        beta, eta = beta + length * step, eta + length * moved
        if fallen <= ENOUGH * (least + 0.1):
            return beta, bool(np.abs(moved).max() > STILL)
    return beta, True


def _deviance(eta: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return 2.0 * float(w @ np.logaddexp(0.0, np.where(y > 0.5, -eta, eta)))
