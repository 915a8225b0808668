"""A fitted kernel machine with a reject band, as numbers: f = sum_j c_j k(x_j, .) + b, withheld where |f| <= rho."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from qreg_boost.kernel.box_qp import BoxSolution
from qreg_boost.kernel.definite import Indefinite, indefinite
from qreg_boost.kernel.incomplete_cholesky import LowRankKernel
from qreg_boost.kernel.kernels import Kernel, Precomputed, Spline
from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic
from qreg_boost.reject.dca import Minima, Point, Task, from_starts, hinges_fit, symmetric
from qreg_boost.reject.losses import (
    GENERALIZED_HINGE_THRESHOLD,
    Hinges,
    bounds_zero_d_one,
    double_hinge,
    double_hinge_threshold,
    generalized_hinge,
)
from qreg_boost.reject.prices import Prices

DENSE_UP_TO = 1000
"""Up to so many rows a linear kernel is held as a matrix, whose factor keeps more digits than that of its columns."""
SUPPORT = 1e-6
"""A row whose dual exceeds this share of its box, or of the largest dual if no box is filled, is a support vector."""
STAYS = 1e-9
"""Rows are left out of what predicts only where no margin moves by more than this share of the largest."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Centre and spread (p,) of the columns; 0 and 1 where they are left as they are."""

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray | None, standardize: bool, kernel: Kernel | None = None) -> Scale:
        """Return mean and standard deviation of the columns of X (n, p), weighted; a constant column has spread 1.

        Of the spline kernel, which is one for values of at least 0 only, least value and range.
        """
        if not standardize:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        if isinstance(kernel, Spline):
            least, width = X.min(axis=0), np.ptp(X, axis=0)
            return cls(least, np.where(width > 0.0, width, 1.0))
        centre = np.average(X, axis=0, weights=weights)
        spread = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weights))
        # of many equal values the mean is another number, and their spread not 0: only the range tells
        flat = (np.ptp(X, axis=0) <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)) | (spread == 0.0)
        return cls(centre, np.where(flat, 1.0, spread))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the columns centred and scaled."""
        return (X - self.centre) / self.spread


@dataclass(frozen=True, eq=False)
class Machine:
    """What predicting needs.

    Attributes
    ----------
    kernel : Kernel
        Its parameters are numbers.
    scale : Scale
    Z : (m, p) array
        Rows of support, scaled.
    c : (m,) array
        Their coefficients.
    b, rho : float
    """

    kernel: Kernel
    scale: Scale
    Z: np.ndarray
    c: np.ndarray
    b: float
    rho: float

    def decision(self, X: np.ndarray) -> np.ndarray:
        """Return f (rows,) at rows X (rows, p) on the data's scale; NaN where a row holds NaN."""
        out = np.full(len(X), np.nan)
        known = ~np.isnan(X).any(axis=1)
        out[known] = self.kernel.apply(self.scale.apply(X[known]), self.Z, self.c) + self.b
        return out

    @property
    def slopes(self) -> np.ndarray:
        """Coefficients (p,) of a linear kernel, for columns on the data's scale."""
        return (self.c @ self.Z) / self.scale.spread

    @property
    def intercept(self) -> float:
        """Intercept of a linear kernel, for columns on the data's scale."""
        return self.b - float(self.slopes @ self.scale.centre)


def signs(f: np.ndarray, rho: float | np.ndarray) -> np.ndarray:
    """Return -1, 0 (withheld) or +1 (n,) by eq. (1) of Manwani et al. (2015); NaN where f is.

    >>> signs(np.array([-2.0, -1.0, 0.5, 2.0, np.nan]), 1.0).tolist()
    [-1.0, 0.0, 0.0, 1.0, nan]
    """
    return np.where(np.isnan(f), np.nan, np.where(f > rho, 1.0, np.where(f < -rho, -1.0, 0.0)))


def unsigned(kernel: Kernel, X: np.ndarray, low: LowRankKernel | None = None) -> Quadratic:
    """Return the quadratic form of k(x_i, x_j) of scaled rows X (n, p), or of what takes its place."""
    held = kernel.form(X) if low is None else LowRank(low.Z)
    return held.dense() if isinstance(held, LowRank) and len(X) <= DENSE_UP_TO else held


def flaw(kernel: Kernel, X: np.ndarray, Q: Quadratic) -> Indefinite | None:
    """Return what is wrong with the form Q of scaled rows X (n, p), where the kernel does not promise that all is well.

    Signs of rows change nothing about it.
    """
    return None if not isinstance(Q, Dense) or kernel.definite(X) else indefinite(Q.Q)


def signed(held: Quadratic, y: np.ndarray) -> Quadratic:
    """Return the form with rows and columns multiplied by y (n,)."""
    if isinstance(held, LowRank):
        return LowRank(held.Z * y[:, None])
    assert isinstance(held, Dense)
    return Dense(held.Q * y[:, None] * y)


def task_of(Q: Quadratic, y: np.ndarray, prices: Prices, C: float, mu: float, weights: np.ndarray | None) -> Task:
    """Return the rows priced: C_i is C times the cost of the row's error and its weight, d_i reject over that cost."""
    costs, d = prices.by_row(y)
    return Task(Q, y, C * costs * (1.0 if weights is None else weights), d, mu, prices.withholds)


# -- fits --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit by one of the losses.

    Attributes
    ----------
    point : Point
    u : (K, n) array
        Duals by block.
    task : Task
        As it was solved: with the weights that a hinge gives the classes.
    objective : float
        1/2 ||w||^2 plus the losses.
    minima : Minima or None
        Of all starts; None for a convex loss.
    programs : int
        Convex programs solved.
    unsolved : int
        Starts with one among them that did not end as optimal.
    worst : BoxSolution
        The program with the largest residuals, of all starts.
    bounded : bool
        Whether the loss bounds the 0-d-1 loss at this price.
    flaw : Indefinite or None
        What is wrong with the kernel matrix.
    """

    point: Point
    u: np.ndarray
    task: Task
    objective: float
    minima: Minima | None
    programs: int
    unsolved: int
    worst: BoxSolution
    bounded: bool
    flaw: Indefinite | None = None


def fit_double_ramp(
    task: Task,
    starts: tuple[str, ...],
    random: int,
    rng: np.random.Generator | None,
    warm: Mapping[str, BoxSolution] | None = None,
    done: Callable[[], object] | None = None,
) -> Fitted:
    """Return the least of the minima that the starts lead to."""
    minima = from_starts(task, starts, random, rng, warm, done)
    best = minima.best
    programs = sum(one.solved for one in minima.each)
    unsolved = sum(not one.worst.status.optimal for one in minima.each)
    worst = max((one.worst for one in minima.each), key=lambda found: found.residuals.excess)
    return Fitted(best.point, best.u, task, best.risk, minima, programs, unsolved, worst, True)


def fit_double_hinge(task: Task, *_: object) -> Fitted:
    """Return the fit of Grandvalet et al. (2008), its threshold the logit of the price."""
    rows, d = symmetric(task)
    rho = double_hinge_threshold(d) if d < 0.5 else 0.0
    return _hinge_fit(rows, double_hinge(rows.d), rho, double_hinge(np.array([d])), d)


def fit_generalized_hinge(task: Task, *_: object) -> Fitted:
    """Return the fit of Bartlett and Wegkamp (2008), its threshold 1/2, and 0 at d = 1/2."""
    rows, d = symmetric(task)
    rho = GENERALIZED_HINGE_THRESHOLD if d < 0.5 else 0.0
    return _hinge_fit(rows, generalized_hinge(rows.d), rho, generalized_hinge(np.array([d])), d)


def _hinge_fit(rows: Task, loss: Hinges, rho: float, one: Hinges, d: float) -> Fitted:
    point, found = hinges_fit(rows, loss, rho)
    objective = 0.5 * point.norm2 + float(rows.C @ loss.value(point.t))
    return Fitted(
        point, found.u, rows, objective, None, 1, int(not found.status.optimal), found, bounds_zero_d_one(one, rho, d)
    )


LOSSES: dict[str, Callable[..., Fitted]] = {
    "double_ramp": fit_double_ramp,
    "double_hinge": fit_double_hinge,
    "generalized_hinge": fit_generalized_hinge,
}
"""What fits by each loss."""


def machine(fitted: Fitted, kernel: Kernel, scale: Scale, X: np.ndarray, low: LowRankKernel | None = None) -> Machine:
    """Return what predicting needs of a fit to scaled rows X (n, p), by a kernel matrix of low rank if one is given."""
    kept, y = needed(fitted), fitted.task.y
    if isinstance(kernel, Precomputed):
        kept = np.ones(len(y), dtype=bool)
    c = fitted.point.a[kept] * y[kept]
    rows = np.zeros((len(y), 0)) if isinstance(kernel, Precomputed) else X[kept]
    if low is not None:
        rows, c = X[low.pivots], low.coefficients(fitted.point.a * y)
    one = Machine(kernel, scale, rows, c, fitted.point.b, fitted.point.rho)
    if kernel.name == "linear":  # one row serves for all
        return replace(one, Z=(c @ rows)[None], c=np.ones(1))
    return one


def supports(fitted: Fitted) -> np.ndarray:
    """Return which rows (n,) have a coefficient that is not the rounding of 0."""
    task = fitted.task
    return _above(fitted.point.a[None], (task.C / (task.mu if fitted.minima is not None else 1.0))[None])[0]


def needed(fitted: Fitted) -> np.ndarray:
    """Return which rows (n,) predicting cannot do without; where large coefficients cancel, small ones count too."""
    a, point = np.abs(fitted.point.a), fitted.point
    allowed = STAYS * float(np.abs(point.t).max())
    for share in (SUPPORT, 1e-8, 1e-10, 1e-12):
        kept = a > share * float(a.max())
        if np.abs(fitted.task.Q.times(np.where(kept, 0.0, point.a))).max() <= allowed:
            return kept
    return a > 0.0


def sides(fitted: Fitted) -> np.ndarray:
    """Return +1 for rows (n,) that bear on the boundary f = rho, -1 on f = -rho, 0 on both.

    Where there is one block, by the sign of f. A row of the event is at t = f = rho by its first dual and at -rho by
    the second, a row of the other the reverse.
    """
    task, u = fitted.task, fitted.u
    if len(u) == 1 or fitted.minima is None:
        return np.where(fitted.point.t * task.y > 0.0, 1, -1)
    first, second = _above(u, np.stack((task.C * task.d, task.C * (1.0 - task.d))) / task.mu)
    larger = np.where(np.abs(u[0]) >= np.abs(u[1]), task.y, -task.y)
    return np.where(first & second, 0, np.where(first == second, larger, np.where(first, task.y, -task.y))).astype(int)


def _above(u: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return which duals u (K, n) are not the rounding of 0, in boxes of these widths (K, n)."""
    return np.abs(u) > SUPPORT * np.minimum(width, float(np.abs(u).max()))
