"""Exact quantile regression in a few passes over the rows.

The problem is min over b of sum_i w_i rho_tau(y_i - x_i'b). A smoothed fit of a sample of the rows tells which rows are
near the fit; all others keep their sign and become one linear part of the loss (`sort_rows`). The rows near the fit are
fitted smoothly again, with a width that shrinks until a few for each coefficient are left, and those exactly (`band`).
One more pass over all rows checks the signs; wrong ones start it over from the better fit.

References
----------
Portnoy, S. and Koenker, R. (1997). The Gaussian hare and the Laplacian tortoise. Statistical Science 12, 279-300.
Fernandes, M., Guerre, E. and Horta, E. (2021). Smoothing quantile regressions. J. Business & Economic Statistics 39,
338-357.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qreg_boost.base.checks import check_tau, check_weights
from qreg_boost.base.views import read_only
from qreg_boost.quantreg.dense_rows import DenseRows
from qreg_boost.quantreg.interior_point import check_problem, warned
from qreg_boost.quantreg.simplex import interior_point_or_simplex
from qreg_boost.quantreg.solution import Solution, Status
from qreg_boost.quantreg.sparse_rows import SparseRows, checked

_LARGEST = 1e150
# Fewer rows than this, or than this for each coefficient: the interior point method is as fast.
_FEWEST, _FEWEST_EACH = 1000, 40
# Entries up to which a sparse design is filled in as a last resort.
_FILLED_MOST = 2_000_000
# Gap of the interior point method on a sparse design that counts as optimal.
_SPARSE_TOL = 1e-7


def exact(X: Any, y: Any, tau: float, weights: Any = None, *, start: Any = None) -> Solution:
    """Return the coefficients that minimise the weighted check loss exactly, in a few passes over the rows.

    Parameters
    ----------
    X : (n, p) array or scipy sparse
        The design as it is: bring a column of ones for an intercept. Columns that depend on columns to their left are
        dropped, as R's ``lm`` drops them. A sparse one is not filled in.
    y : (n,) array
        Response.
    tau : float
        Quantile level, strictly between 0 and 1.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0. Rows of weight 0 take no part.
    start : (p,) array, optional
        Coefficients to start from, such as those at a neighbouring quantile level. They change the time, not the
        optimum.

    Returns
    -------
    Solution
        Coefficients in the caller's units with objective, certificate and status.

    Raises
    ------
    InputError
        If shapes do not fit, values are missing or infinite, or `tau` or `weights` are out of range.

    Warns
    -----
    ConvergenceWarning
        If the optimum was not certified; the message gives the gap reached.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> fit = exact(X, np.array([0.0, 1.0, 2.0, 9.0, 4.0]), tau=0.5)
    >>> fit.coef.round(12).tolist(), fit.objective
    ([0.0, 1.0], 3.0)
    """
    return prepared(X, y, weights)(tau, start)


def prepared(X: Any, y: Any, weights: Any = None) -> Callable[[float, Any], Solution]:
    """Return what fits quantile levels one by one: of a level and a start (None for none) the solution of `exact`.

    What does not depend on the level is computed once.

    Examples
    --------
    >>> fit = prepared(np.ones((3, 1)), np.array([1.0, 2.0, 4.0]))
    >>> [float(fit(tau, None).coef[0]) for tau in (0.2, 0.5)]
    [1.0, 2.0]
    """
    if hasattr(X, "tocsr"):
        return lambda tau, start: sparse_fit(X, y, tau, weights, start=start)
    return _Dense.of(X, y, weights).fit


def sparse_fit(X: Any, y: Any, tau: float, weights: Any = None, *, start: Any = None, sampled: bool = True) -> Solution:
    """Return the coefficients that minimise the weighted check loss of a sparse design.

    Arguments are those of `exact`; unless `sampled`, the interior point method finds the rows near the fit. A vertex is
    certified by writing out the few thousand rows nearest to the fit. Where that fails, a design of up to two million
    entries is filled in for `interior_point`; a larger one ends at what the interior point method reached on it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> fit = sparse_fit(sparse.csr_array(np.ones((3, 1))), np.array([1.0, 2.0, 4.0]), tau=0.5)
    >>> fit.coef.tolist()
    [2.0]
    """
    X, y, tau, w = checked(X, y, tau, weights)
    n = len(y)
    rows = None if w is None or w.all() else np.flatnonzero(w)
    used = (X, y, w) if rows is None or w is None else (X[rows], y[rows], w[rows])
    design = SparseRows(*used, sampled)
    found = design.fit(tau, start)
    if found is None and n * X.shape[1] <= _FILLED_MOST:
        return interior_point_or_simplex(X.toarray(), y, tau, w)
    if found is None:
        found = design.within_tolerance(tau, _SPARSE_TOL)
    warned(found, tau)
    return found if rows is None else _among(found, rows, n, tau)


def _among(found: Solution, rows: np.ndarray, n: int, tau: float) -> Solution:
    """Return the solution for all n rows of that for some, the others having weight 0."""
    a = np.full(n, 1.0 - tau)
    a[rows] = found.a
    return replace(found, a=a, basis=rows[found.basis])


@dataclass(frozen=True)
class _Dense:
    """A dense problem, checked.

    Attributes
    ----------
    X, y, w : arrays
        The arguments as float arrays that fit each other; w is None without weights.
    rows : (m,) int array or None
        Rows of positive weight, None if all are.
    design : DenseRows or None
        These rows; None if they are few.
    """

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None
    rows: np.ndarray | None
    design: DenseRows | None

    @classmethod
    def of(cls, X: Any, y: Any, weights: Any) -> _Dense:
        from qreg_boost.quantreg.kernels import largest

        X = np.ascontiguousarray(X, dtype=np.float64)
        y = np.ascontiguousarray(y, dtype=np.float64)
        if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
            check_problem(X, y, 0.5, weights)
        sizes = largest(read_only(X))
        if not ((sizes <= _LARGEST).all() and (largest(read_only(y[:, None])) <= _LARGEST).all()):
            check_problem(X, y, 0.5, weights)
        w = None if weights is None else check_weights(weights, len(y))
        n, p = X.shape
        if n < max(_FEWEST, _FEWEST_EACH * p) or p == 0:
            return cls(X, y, w, None, None)
        if w is None or w.all():
            return cls(X, y, w, None, DenseRows(X, y, w, sizes))
        rows = np.flatnonzero(w)
        kept = X[rows]
        return cls(X, y, w, rows, DenseRows(kept, y[rows], w[rows], largest(read_only(kept))))

    def fit(self, tau: float, start: Any) -> Solution:
        tau = check_tau(tau)
        if self.design is None:
            return interior_point_or_simplex(self.X, self.y, tau, self.w)
        found = self.design.fit(tau, start)
        if found is None:
            fallen = interior_point_or_simplex(self.X, self.y, tau, self.w)
            fell = fallen.status is Status.OPTIMAL and fallen.objective > 0
            return replace(fallen, status=Status.OPTIMAL_BY_FALLBACK) if fell else fallen
        return found if self.rows is None else _among(found, self.rows, len(self.y), tau)
