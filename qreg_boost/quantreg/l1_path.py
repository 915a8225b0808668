"""L1-norm quantile regression: the whole solution in the bound s, or in its multiplier lambda.

References
----------
Li, Y. and Zhu, J. (2008). L1-norm quantile regression. Journal of Computational and Graphical Statistics 17, 163-185.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, check_choice
from qreg_boost.base.quantile import quantile_row
from qreg_boost.base.rank import column_basis
from qreg_boost.quantreg.interior_point import check_problem
from qreg_boost.quantreg.parametric import Bounds, Tableau, Trace

_EPS = float(np.finfo(float).eps)
# The path ends at this share of the least upper bound of a column's lambda.
_END = 1e-12
# Columns of which the unpenalised ones leave no more than this share are combinations of them (the rule of R's lm).
_DEPENDENT = 1e-7


@dataclass(frozen=True)
class L1Path:
    """Coefficients for every bound on their absolute sum; between two knots they are linear in s.

    Attributes
    ----------
    s : (K,) array
        Knots, increasing from 0: sums of `scale` |b| over the penalised coefficients.
    coef : (K, 1 + p) array
        Intercept (0 without one) and coefficients at the knots, in units of y per unit of the column; NaN for
        unpenalised columns that depend on the intercept and unpenalised columns to their left.
    lam : (K - 1,) array
        The multiplier lambda between two knots, decreasing: the loss falls by lambda per unit of s. In units of the
        loss per unit of s.
    objective : (K,) array
        Weighted sum of check losses, in units of y, at the knots; linear in s in between.
    df : (K,) int array
        Degrees of freedom: coefficients that are not held at 0, intercept and unpenalised ones included. Without ties
        it is the number of rows fitted exactly (Li & Zhu 2008, section 4).
    scale : (p,) array
        What a coefficient is multiplied by before it counts in s: the standard deviation of its column if the columns
        were standardised, otherwise 1.
    penalised : (p,) bool array
        Which columns count in s.
    tau : float
        Quantile level.
    nobs : int
        Rows of weight above 0.
    total_weight : float
        Sum of their weights; their number if none were given.
    """

    s: np.ndarray
    coef: np.ndarray
    lam: np.ndarray
    objective: np.ndarray
    df: np.ndarray
    scale: np.ndarray
    penalised: np.ndarray
    tau: float
    nobs: int
    total_weight: float

    def at(self, *, s: Any = None, lam: Any = None) -> np.ndarray:
        """Return the coefficients at a bound or at a multiplier: (1 + p,) for a number, (m, 1 + p) for m of them.

        Beyond the last knot the bound does not bind. In lambda the path is a step function; where it steps, all
        coefficients between two knots are optimal, and the ones of least absolute sum are returned.
        """
        if (s is None) == (lam is None):
            raise InputError("Give either `s`, the bound, or `lam`, the multiplier: `at(s=1.5)`, `at(lam=0.2)`.")
        name, value = ("s", s) if lam is None else ("lam", lam)
        try:
            values = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"`{name}` must be a number of at least 0; got {value!r}.") from None
        if not np.all(values >= 0.0):
            raise InputError(f"`{name}` must be at least 0; got {value!r}.")
        if lam is not None:
            return self.coef[np.searchsorted(-self.lam, -values, side="left")]
        if len(self.s) == 1:
            return self.coef[np.zeros(values.shape, dtype=np.intp)]
        left = np.clip(np.searchsorted(self.s, values, side="right") - 1, 0, len(self.s) - 2)
        share = np.minimum((values - self.s[left]) / (self.s[left + 1] - self.s[left]), 1.0)[..., None]
        return np.asarray((1.0 - share) * self.coef[left] + share * self.coef[left + 1])

    @property
    def sic(self) -> np.ndarray:
        """Schwarz-type criterion (K,) log(loss / W) + df log(n) / (2 n), W the sum of weights; NaN where df > n/2."""
        with np.errstate(divide="ignore"):
            criterion = np.log(self.objective / self.total_weight) + np.log(self.nobs) / (2.0 * self.nobs) * self.df
        return np.where(self._sparse_enough(), criterion, np.nan)

    @property
    def gacv(self) -> np.ndarray:
        """Generalised approximate cross-validation (K,) loss / (n - df), in units of y; NaN where df > n/2."""
        left = np.where(self._sparse_enough(), self.nobs - self.df, 1)
        return np.where(self._sparse_enough(), self.objective / left, np.nan)

    def select(self, criterion: str = "sic") -> int:
        """Return the number of the knot with the least "sic" or "gacv", the first if several share it."""
        values = self.sic if check_choice(criterion, "criterion", ("sic", "gacv")) == "sic" else self.gacv
        if np.isnan(values).all():
            raise InputError(
                f"Every knot has more than {self.nobs // 2} degrees of freedom, half of the {self.nobs} rows, so "
                f"{criterion!r} chooses none. Leave fewer columns unpenalised, or choose s by cross-validation."
            )
        return int(np.nanargmin(values))

    def _sparse_enough(self) -> np.ndarray:
        """Return which knots the criteria make sense for: with df near n both tend to -infinity or to infinity."""
        return np.asarray(2 * self.df <= self.nobs)


def l1_path(
    X: Any,
    y: Any,
    tau: float,
    weights: Any = None,
    *,
    penalised: Any = None,
    standardize: bool = False,
    intercept: bool = True,
) -> L1Path:
    """Return min over b of the weighted check loss subject to sum |b_j| <= s, for every s.

    Parameters
    ----------
    X : (n, p) array
        Predictors, without a column of ones.
    y : (n,) array
        Response.
    tau : float
        Quantile level, strictly between 0 and 1.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0. Rows of weight 0 take no part.
    penalised : (p,) bool array, optional
        Which columns count in the sum; all by default.
    standardize : bool
        Let s be the sum for columns divided by their (weighted) standard deviations, without an intercept by their root
        mean squares. Coefficients are still those of the columns as given.
    intercept : bool
        Add an intercept, which does not count in the sum.

    Raises
    ------
    InputError
        If shapes do not fit, values are missing or infinite, or `tau` or `weights` are out of range.

    Notes
    -----
    The path is followed in lambda, from infinity to 0, by the simplex method of `parametric`, in which a penalised
    coefficient at 0 is a row fitted exactly. It begins at the least quantile if there are several, and ends, for
    p < n, at a solution of quantile regression: of several the one of least sum. Of equal columns the first is used;
    penalised columns that are combinations of the unpenalised ones and the intercept stay at 0.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 0.0]])
    >>> path = l1_path(X, np.array([1.0, 4.0, 3.0, 6.0, 5.0]), tau=0.5)
    >>> path.s.round(12).tolist()
    [0.0, 0.333333333333, 3.0]
    >>> path.coef.round(12).tolist()
    [[4.0, 0.0, 0.0], [3.333333333333, 0.333333333333, 0.0], [0.0, 1.0, 2.0]]
    >>> path.lam.round(12).tolist()
    [2.5, 1.0]
    """
    X, y, tau, w = check_problem(X, y, tau, weights)
    chosen = _flags(penalised, X.shape[1])
    check_bool(standardize, "standardize"), check_bool(intercept, "intercept")
    kept = slice(None) if w is None else w > 0
    used = None if w is None else w[kept]
    design = _Penalised.of(X[kept], used, chosen, standardize, intercept)
    return _follow(design, y[kept], tau, chosen)


def _flags(penalised: Any, p: int) -> np.ndarray:
    if penalised is None:
        return np.ones(p, dtype=bool)
    flags = np.asarray(penalised)
    if flags.dtype != bool or flags.shape != (p,):
        raise InputError(
            f"`penalised` must hold True or False for each of the {p} columns of `X`; got shape {flags.shape} of type "
            f"{flags.dtype}."
        )
    return flags


@dataclass(frozen=True)
class _Penalised:
    """The design in coordinates fit to be worked in: free columns first and orthonormal, penalised ones apart of them.

    Attributes
    ----------
    U : (n, f + q) array
        f free columns, then q penalised ones of root mean square 1 from which the free ones are taken out.
    w : (n,) array
        Weights over the heaviest.
    heaviest : float
        Its weight.
    free, bound : (f,), (q,) int arrays
        Positions of the columns in the design with a column of ones in front.
    back : (f + q, f + q) array
        Turns coordinates into coefficients of those columns.
    price : (q,) array
        What a unit of a coordinate adds to s.
    scale : (p,) array
        What a unit of a coefficient adds to s.
    width : int
        Columns of the design with the one in front.
    aliased : (d,) int array
        Positions of free columns that depend on others.
    weighted : bool
        Whether weights were given.
    """

    U: np.ndarray
    w: np.ndarray
    heaviest: float
    free: np.ndarray
    bound: np.ndarray
    back: np.ndarray
    price: np.ndarray
    scale: np.ndarray
    width: int
    aliased: np.ndarray
    weighted: bool

    @classmethod
    def of(
        cls, X: np.ndarray, weights: np.ndarray | None, penalised: np.ndarray, standardize: bool, intercept: bool
    ) -> _Penalised:
        n, p = X.shape
        heaviest = 1.0 if weights is None else float(weights.max())
        w = np.ones(n) if weights is None else weights / heaviest
        centre = w @ X / w.sum() if intercept else np.zeros(p)
        centre += w @ (X - centre) / w.sum() if intercept else 0.0
        Z = np.column_stack([np.full(n, float(intercept)), X - centre])
        spread = np.sqrt(w @ Z**2 / w.sum())
        rounding = 64.0 * _EPS * np.abs(X).max(axis=0, initial=0.0)
        spread[1:][np.abs(Z[:, 1:]).max(axis=0, initial=0.0) <= rounding] = 0.0
        scale = spread[1:].copy() if standardize else np.ones(p)
        Z = Z / np.where(spread > 0, spread, 1.0)
        open_to = np.flatnonzero(np.append(intercept, ~penalised & (spread[1:] > 0)))
        basis = column_basis(Z[:, open_to], weights=w)
        free = open_to[basis.columns]
        turn = np.linalg.inv(basis.factor) * np.sqrt(w.sum()) if len(free) else np.zeros((0, 0))
        A = Z[:, free] @ turn
        bound = np.flatnonzero(np.append(False, penalised & (spread[1:] > 0)))
        share = A.T @ (w[:, None] * Z[:, bound]) / w.sum()
        V = Z[:, bound] - A @ share
        size = np.sqrt(w @ V**2 / w.sum())
        independent = size > _DEPENDENT
        bound, V, share, size = bound[independent], V[:, independent], share[:, independent], size[independent]
        f, q = len(free), len(bound)
        back = np.zeros((f + q, f + q))
        back[:f, :f], back[:f, f:], back[f:, f:] = turn, -turn @ share / size, np.diag(1.0 / size)
        back /= spread[np.append(free, bound), None]
        if intercept:
            # Coefficients of centred columns: the intercept takes the centres in.
            back[0] -= centre[np.append(free, bound)[1:] - 1] @ back[1:]
        price = np.append(1.0, scale)[bound] / (spread[bound] * size)
        aliased = np.setdiff1d(np.flatnonzero(~penalised) + 1, free)
        U = np.ascontiguousarray(np.hstack([A, V / size]))
        return cls(U, w, heaviest, free, bound, back, price, scale, p + 1, aliased, weights is not None)

    def coefficients(self, g: np.ndarray, level: float) -> np.ndarray:
        """Return intercept and coefficients (K, 1 + p) for coordinates g (K, f + q) of y - level."""
        coef = np.zeros((len(g), self.width))
        coef[:, np.append(self.free, self.bound)] = g @ self.back.T
        coef[:, 0] += level
        coef[:, self.aliased] = np.nan
        return coef


def _follow(design: _Penalised, y: np.ndarray, tau: float, penalised: np.ndarray) -> L1Path:
    """Return the path of a design."""
    w, U = design.w, design.U
    n, f, q = len(y), len(design.free), len(design.bound)
    row = quantile_row(y, tau, w)
    level = float(y[row]) if len(design.free) and design.free[0] == 0 else 0.0
    c = y - level
    low, high, rounding = (tau - 1.0) * w, tau * w, 8.0 * _EPS * np.abs(y)
    start = _unpenalised(U[:, :f], c, low, high, rounding, row) if f else np.empty(0, dtype=np.intp)
    zero, single = np.zeros(n), np.arange(f, f + q)
    bounds = Bounds(
        np.append(low, np.zeros(q)), np.append(zero, -design.price), np.append(high, np.zeros(q)),
        np.append(zero, design.price),
    )  # fmt: skip
    tableau = Tableau(U, c, single, bounds, rounding, np.append(start, n + np.arange(q)))
    # No column can come in at a larger lambda than this.
    most = np.maximum(high, -low) @ np.abs(U[:, f:]) / design.price
    begin, nil = 1.01 * float(np.max(most, initial=0.0)), _END * float(np.min(most, initial=np.inf))
    tableau.minimise(begin)
    return _path(design, tableau.walk(begin, 0.0, nil), y, tau, level, penalised)


def _unpenalised(
    A: np.ndarray, c: np.ndarray, low: np.ndarray, high: np.ndarray, rounding: np.ndarray, row: int
) -> np.ndarray:
    """Return the basic rows of the fit of the free columns alone; at the lower quantile if that is all there is."""
    from scipy.linalg import qr

    f = A.shape[1]
    basis = np.array([row])
    if f > 1 or A[row, 0] == 0.0:
        near = 1e-3 + np.abs(c) / (float(np.median(np.abs(c))) or 1.0)
        basis = qr((A / near[:, None]).T, mode="r", pivoting=True, check_finite=False)[1][:f]
    nil = np.zeros(len(c))
    tableau = Tableau(A, c, np.empty(0, dtype=np.intp), Bounds(low, nil, high, nil), rounding, basis)
    tableau.minimise(0.0)
    return tableau.state.basis.copy()


def _path(design: _Penalised, trace: Trace, y: np.ndarray, tau: float, level: float, penalised: np.ndarray) -> L1Path:
    """Return the path from a walk, without the changes of basis that do not move the fit."""
    coef = design.coefficients(trace.g, level)
    s = np.abs(coef[:, design.bound]) @ design.scale[design.bound - 1]
    knots = [0]
    for i in range(1, len(s)):
        if trace.moved[i - 1] and s[i] > s[knots[-1]] * (1.0 + 8.0 * _EPS):
            knots.append(i)
    ahead = np.array(knots[1:], dtype=np.intp) - 1
    f = len(design.free)
    return L1Path(
        s=s[knots],
        coef=coef[knots],
        lam=design.heaviest * np.minimum.accumulate(trace.theta[ahead]),
        objective=design.heaviest * trace.value0[knots],
        df=f + np.count_nonzero(trace.g[knots][:, f:], axis=1),
        scale=design.scale,
        penalised=penalised,
        tau=tau,
        nobs=len(y),
        total_weight=float(np.sum(design.w)) * design.heaviest if design.weighted else float(len(y)),
    )
