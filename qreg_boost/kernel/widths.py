"""Squared distances between rows, and the width of a radial kernel by a rule from them."""

from __future__ import annotations

import numpy as np

from qreg_boost.base.checks import InputError, check_choice

FEW_COLUMNS = 40
"""With up to so many columns squared distances are summed as they are; with more, by a product of matrices."""
ALL_PAIRS = 4000
"""Up to so many rows, "sigest" and "median" take all pairs of rows; of more rows, so many at equal steps."""
RULES = ("sigest", "median")


def squared_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return |x - z|^2 (n, m), exactly 0 for equal rows where there are few columns."""
    if X.shape[1] <= FEW_COLUMNS:
        from scipy.spatial.distance import cdist

        return cdist(X, Z, "sqeuclidean")
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    d = X @ Z.T
    d *= -2.0
    d += np.einsum("ij,ij->i", X, X)[:, None]
    d += np.einsum("ij,ij->i", Z, Z)
    return np.maximum(d, 0.0, out=d)


def width_by_rule(X: np.ndarray, rule: str, weights: np.ndarray | None = None) -> float:
    """Return gamma by a rule over all pairs of different rows, so that nothing is random.

    "sigest" is the mean of the reciprocals of the 0.9 and 0.1 quantiles of the squared distances, what kernlab's
    kqr takes from a random half of the rows; "median" the reciprocal of their median. Of more than `ALL_PAIRS` rows,
    that many are taken, at equal steps of the rows in order of their columns: the order of rows plays no part.

    Parameters
    ----------
    X : (n, p) array
    rule : {"sigest", "median"}
    weights : (n,) array, optional
        Whole weights count as repeated rows; of others, the mean counts as 1.

    Raises
    ------
    InputError
        If all rows are equal.

    Examples
    --------
    >>> width_by_rule(np.array([[0.0], [1.0], [2.0]]), "median")
    1.0
    >>> width_by_rule(np.array([[0.0], [1.0], [2.0]]), "median", np.array([4.0, 1.0, 4.0]))
    0.25
    """
    from scipy.spatial.distance import pdist

    check_choice(rule, "gamma", RULES)
    n = len(X)
    kept = np.arange(n) if n <= ALL_PAIRS else np.lexsort(X.T[::-1])[np.linspace(0, n - 1, ALL_PAIRS).astype(np.intp)]
    d = pdist(X[kept], "sqeuclidean")
    apart = d > 0.0
    if not apart.any():
        raise InputError(f"gamma={rule!r} needs rows that differ, and all are equal; give a number.")
    at = np.array([0.1, 0.5, 0.9])
    if weights is None or (weights == 1.0).all():
        low, middle, high = np.quantile(d[apart], at, overwrite_input=True)
    else:
        low, middle, high = _of_repeated(d[apart], _pair_weights(weights)[kept], apart, at)
    return float(0.5 * (1.0 / high + 1.0 / low) if rule == "sigest" else 1.0 / middle)


def _pair_weights(weights: np.ndarray) -> np.ndarray:
    """Return weights that count rows."""
    return weights if np.array_equal(weights, np.round(weights)) else weights / weights.mean()


def _of_repeated(d: np.ndarray, weights: np.ndarray, apart: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the quantiles (numpy's and R's default) of distances d, each repeated by the product of its weights."""
    times = np.concatenate([weights[i] * weights[i + 1 :] for i in range(len(weights) - 1)])[apart]
    order = np.argsort(d, kind="stable")
    d, reached = d[order], np.cumsum(times[order])
    position = np.maximum(reached[-1] - 1.0, 0.0) * at
    below = np.floor(position)
    lower, upper = (d[np.minimum(np.searchsorted(reached, p, side="right"), len(d) - 1)] for p in (below, below + 1.0))
    return lower + (position - below) * (upper - lower)
