"""Confidence intervals of coefficients by inverting the rank score test (Koenker 1994; Koenker and Machado 1999).

For b_j held at b, let a be the dual solution of the fit of y - b x_j on the other columns. The rank score statistic is
T(b) = -x_j'(a - (1 - tau)) / (tau (1 - tau) x~_j'x~_j)^(1/2), with x~_j what the other columns leave of x_j (each row
times its density in the nid form). The numerator is the slope of the profile loss, the least loss of all b with b_j =
b: a convex, piecewise linear function. So the interval ends at the knot where that slope reaches the critical value,
and this knot is the solution of one quantile regression: of the same rows and one more, far off, which adds a linear
term in b_j. Nothing depends on the order of the rows or on units. (Where the fit of the other columns is not unique,
the steps of the simplex method matter too: see `profile_walk`.)

References
----------
Koenker, R. (1994). Confidence intervals for regression quantiles. In Asymptotic Statistics, eds. Mandl and Huskova.
Koenker, R. and Machado, J. (1999). Goodness of fit and related inference processes for quantile regression. JASA 94.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, check_positive, check_tau, warn
from qreg_boost.quantreg.bandwidth import bandwidth as bandwidth_of
from qreg_boost.quantreg.bandwidth import inside
from qreg_boost.quantreg.covariance import DensityWarning, local_density
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.profile_loss import Knot, ProfileLoss
from qreg_boost.quantreg.profile_walk import Start, start_of
from qreg_boost.quantreg.rows import Rows, inverse
from qreg_boost.quantreg.solution import Solution

Solver = Callable[..., Solution]

# Beyond, stops of the simplex method lie so close that they do not matter.
_LARGEST_WALKED = 5000


@dataclass(frozen=True)
class RankIntervals:
    """Confidence intervals by rank inversion.

    Attributes
    ----------
    bounds : (p, 2) array
        Lower and upper bounds, in the units of the coefficients; infinite where the test never rejects, NaN for
        dropped columns and where densities are 0 in too many rows.
    inner, outer : (p, 2) array
        The last values that the test does not reject by its steps, and the first ones it does; `bounds` lie between.
    critical : float
        Critical value of the statistic.
    alpha : float
        One minus the level.
    kind : str
        "iid" or "nid".
    """

    bounds: np.ndarray
    inner: np.ndarray
    outer: np.ndarray
    critical: float
    alpha: float
    kind: str


def rank_intervals(
    X: Any, y: Any, tau: float, fit: Solution, weights: Any = None, *,
    alpha: float = 0.1, iid: bool = True, tcrit: bool = True, interp: bool = True,
    bandwidth: Any = "hall-sheather", solver: Solver = interior_point,
) -> RankIntervals:  # fmt: skip
    """Return confidence intervals of all coefficients by inverting the rank score test.

    Parameters
    ----------
    X : (n, p) array or scipy CSR
        Design of the fit.
    y : (n,) array
        Response, less the offset if there was one.
    tau : float
        Quantile level of the fit.
    fit : Solution
        The fit.
    weights : (n,) array, optional
        Weights of the fit.
    alpha : float
        One minus the level of the intervals.
    iid : bool
        Whether errors count as identically distributed (Koenker 1994). If not, rows are weighted by densities from
        fits at tau +- the bandwidth (Koenker and Machado 1999).
    tcrit : bool
        Whether the critical value is Student's, with n - p degrees of freedom, or the normal one.
    interp : bool
        Whether to interpolate between the steps of the statistic; if not, `bounds` is `outer`.
    bandwidth : str or float
        For ``iid=False``: "hall-sheather", "bofinger", or the bandwidth in tau itself.
    solver : callable
        ``solver(X, y, tau) -> Solution``: two fits per coefficient.

    Notes
    -----
    Where rows are tied (whole numbers as responses, factors as predictors) bounds of R's may be others, for two
    reasons. Its simplex method passes one of several rows that are reached at once and leaves the rest on the wrong
    side, so that its statistic is no longer that of a dual solution; or it cuts a step of the statistic at another
    stop, and then both bounds lie on the same step.

    Raises
    ------
    InputError
        If `alpha` is not between 0 and 1.

    Warns
    -----
    DensityWarning
        With ``iid=False``, if the estimated densities are 0 in too many rows.

    Examples
    --------
    >>> X = np.column_stack([np.ones(20), np.arange(20.0)])
    >>> y = np.arange(20.0) + np.sin(np.arange(20.0) ** 2)
    >>> fit = interior_point(X, y, 0.4)
    >>> rank_intervals(X, y, 0.4, fit).bounds.round(4).tolist()
    [[-1.0952, 0.1134], [0.9266, 1.0532]]
    """
    tau, rows = check_tau(tau), Rows.of(X, y, fit, weights)
    if not check_positive(alpha, "alpha") < 1.0:
        raise InputError(f"`alpha` must lie between 0 and 1; got {alpha!r}. For 90 % intervals write alpha=0.1.")
    iid, tcrit, interp = check_bool(iid, "iid"), check_bool(tcrit, "tcrit"), check_bool(interp, "interp")
    critical = _critical(alpha, rows.n - rows.k if tcrit else np.inf)
    lengths = _left_lengths(rows, tau, None if iid else bandwidth, solver)
    bounds, inner, outer = (np.full((rows.p, 2), np.nan) for _ in range(3))
    start = _start(rows, fit)
    for j, column in enumerate(rows.columns):
        profile = ProfileLoss.of(rows, tau, j, start)
        unit = np.sqrt(tau * (1.0 - tau)) * lengths[j] * profile.scale
        for side in (0, 1):
            if np.isnan(unit):
                continue
            knot = profile.crossing(2 * side - 1, critical * unit, solver)
            ends = _ends(knot, critical * unit)
            values = rows.b[j] + (2 * side - 1) * profile.scale * np.array(ends)
            bounds[column, side] = values[0 if interp else 2]
            inner[column, side], outer[column, side] = values[1:]
    return RankIntervals(bounds, inner, outer, critical, alpha, "iid" if iid else "nid")


def _start(rows: Rows, fit: Solution) -> Callable[[], Start | None]:
    """Return a function that gives the start of walks, worked out once; None for fits that are large or not unique."""
    wanted = fit.unique and rows.n <= _LARGEST_WALKED and isinstance(rows.X, np.ndarray)
    return functools.cache(lambda: start_of(rows, fit) if wanted else None)


def _critical(alpha: float, df: float) -> float:
    """Return the two-sided critical value of Student's t, or of the normal for infinite df."""
    from scipy.special import ndtri, stdtrit

    if df < 1:
        return np.inf
    return float(ndtri(1.0 - alpha / 2.0) if np.isinf(df) else stdtrit(df, 1.0 - alpha / 2.0))


def _left_lengths(rows: Rows, tau: float, bandwidth: Any, solver: Solver) -> np.ndarray:
    """Return the lengths (k,) of what the other columns leave of each column; bandwidth None is the iid form.

    With H = (X'FX)^-1 and F the densities, what they leave of x_j is X H e_j / H_jj.
    """
    density = None
    if bandwidth is not None:
        density = local_density(rows, tau, inside(tau, bandwidth_of(tau, rows.n, bandwidth)), solver)
    H = inverse(rows.gram(density))
    if np.isnan(H).any():
        warn(
            f"Rank inversion at tau={tau:g} with iid=False: the estimated densities are 0 in too many of the {rows.n} "
            "rows, and the bounds are missing. Use iid=True, or give a larger bandwidth.",
            DensityWarning,
        )
    full = H @ rows.gram() @ H
    H, full = (rows.of_coefficients(M)[np.ix_(rows.columns, rows.columns)] for M in (H, full))
    return np.sqrt(np.diag(full)) / np.diag(H)


def _ends(knot: Knot | None, cut: float) -> tuple[float, float, float]:
    """Return the interpolated, inner and outer distance of a bound from the estimate.

    Each knot carries the slope just beyond it; between the last knot that is not beyond the critical slope and the
    first that is, the bound is where the line through both reaches it.
    """
    if knot is None:
        return np.inf, np.inf, np.inf
    share = (cut - knot.slope_before) / (knot.slope_after - knot.slope_before)
    return knot.previous + share * (knot.at - knot.previous), knot.previous, knot.at
