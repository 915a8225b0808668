"""The regularised risk of the double ramp loss lowered by difference-of-convex steps; convex losses in one step.

With Q = (y_i y_j k(x_i, x_j)), a = u_1 + ... + u_K and f = sum_j a_j y_j k(x_j, .) + b, the risk of a fit is
R = 1/2 a'Qa + sum_i C_i L(y_i f_i, rho). Each step is the dual of a convex problem, one `BoxQP`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qreg_boost.kernel.box_qp import BoxQP, BoxSolution, solve_box_qp
from qreg_boost.kernel.quadratic import Quadratic
from qreg_boost.reject.flat import solve_step
from qreg_boost.reject.losses import Hinges, double_hinge, double_hinge_threshold, double_ramp, hinge

LEAST_FALL = 1e-6
"""The steps end when R falls by less than this share of itself."""
MOST_STEPS = 100
SAME = 1e-6
"""Minima whose R agree up to this share are one."""


@dataclass(frozen=True, eq=False)
class Task:
    """The rows of a reject option classifier.

    Attributes
    ----------
    Q : Quadratic
        Of order n: y_i y_j k(x_i, x_j).
    y : (n,) array
        -1 or +1.
    C : (n,) array
        What the loss of each row is multiplied by, above 0.
    d : (n,) array
        Price of withholding, over that of an error on this row; in (0, 1).
    mu : float
        Width of the ramps, in (0, 1].
    band : bool
        Whether rho is free; if not it is 0.
    """

    Q: Quadratic
    y: np.ndarray
    C: np.ndarray
    d: np.ndarray
    mu: float
    band: bool

    def risk(self, point: Point) -> float:
        """Return R at a point."""
        loss = double_ramp(point.t, point.rho, self.d, self.mu)
        return 0.5 * point.norm2 + float(self.C @ loss)


@dataclass(frozen=True, eq=False)
class Point:
    """A decision function at the rows fitted.

    Attributes
    ----------
    a : (n,) array
        f = sum_i a_i y_i k(x_i, .) + b.
    b, rho : float
    t : (n,) array
        Margins y f.
    norm2 : float
        ||w||^2 = a'Qa.
    """

    a: np.ndarray
    b: float
    rho: float
    t: np.ndarray
    norm2: float


@dataclass(frozen=True, eq=False)
class Beyond:
    """Which rows lie beyond the ramps: t - rho < -mu^2 and t + rho < -mu^2; the state of the difference-of-convex loop.

    Attributes
    ----------
    upper, lower : (n,) array of bool
        Of the ramp about t = rho, and of the one about t = -rho.
    """

    upper: np.ndarray
    lower: np.ndarray

    @classmethod
    def of(cls, t: np.ndarray, rho: float, mu: float) -> Beyond:
        """Return the rows beyond the ramps at margins t (n,)."""
        return cls(t - rho < -(mu**2), t + rho < -(mu**2))

    def same(self, other: Beyond) -> bool:
        """Return whether these are the same rows."""
        return bool((self.upper == other.upper).all() and (self.lower == other.lower).all())


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the steps from one start ended.

    Attributes
    ----------
    start : str
    point : Point
    u : (K, n) array
        The duals g' and g'' of the last step; one row where rho is held at 0.
    beyond : Beyond
        What the last step started from; where `repeated`, also at the point.
    risks : tuple of float
        R after each step; it never rises.
    repeated : bool
        Whether the steps ended because the rows beyond the ramps stayed the same.
    converged : bool
        Whether they ended before `MOST_STEPS`.
    solution : BoxSolution
        Of the last step.
    worst : BoxSolution
        That with the largest residuals, of all steps.
    """

    start: str
    point: Point
    u: np.ndarray
    beyond: Beyond
    risks: tuple[float, ...]
    repeated: bool
    converged: bool
    solution: BoxSolution
    worst: BoxSolution

    @property
    def risk(self) -> float:
        """R at the point."""
        return self.risks[-1]


@dataclass(frozen=True, eq=False)
class Minima:
    """What the steps from several starts ended in, in the order of the starts."""

    each: tuple[Minimum, ...]

    @property
    def best(self) -> Minimum:
        """The one of least R, the first of those that agree."""
        return min(self.each, key=lambda one: one.risk)

    @property
    def spread(self) -> float:
        """Largest R less the least."""
        return max(one.risk for one in self.each) - self.best.risk

    @property
    def distinct(self) -> int:
        """Number of minima of different R."""
        risks = np.sort([one.risk for one in self.each])
        return 1 + int((np.diff(risks) > SAME * np.abs(risks[1:])).sum())


# -- convex steps ------------------------------------------------------------------------------------------------------


def convex_step(task: Task, beyond: Beyond, warm: BoxSolution | None = None) -> tuple[Point, BoxSolution]:
    """Return the minimiser of R with its concave part replaced by the tangent that `beyond` gives, and the dual.

    Raises rho to |rho| where that cannot raise R: all prices at most 1/2. Otherwise a rho below 0 is held at 0.

    References
    ----------
    Manwani et al. (2015), Section 3; the dual with its factor 1/2.
    """
    if not task.band:
        return _held_at_zero(task, beyond, warm)
    n, y = len(task.y), task.y
    widths = np.stack((task.C * task.d, task.C * (1.0 - task.d))) / task.mu
    beta = widths * np.stack((beyond.upper, beyond.lower))
    signs = np.ones(n)
    problem = BoxQP(
        task.Q, np.full((2, n), -task.mu), -beta, widths - beta, np.array([[y, y], [signs, -signs]]), np.zeros(2)
    )
    found = solve_step(problem, task.mu, warm)
    b, rho = float(found.multipliers[0]), -float(found.multipliers[1])
    if rho < 0.0 and (task.d > 0.5).any():
        return _held_at_zero(task, beyond, None)
    return _point(task, found, b, abs(rho)), found


def _held_at_zero(task: Task, beyond: Beyond, warm: BoxSolution | None) -> tuple[Point, BoxSolution]:
    """Return the step with rho = 0: both ramps become one of width C / mu."""
    width = (task.C / task.mu)[None]
    beta = (task.C * (task.d * beyond.upper + (1.0 - task.d) * beyond.lower) / task.mu)[None]
    problem = BoxQP(task.Q, np.full(width.shape, -task.mu), -beta, width - beta, task.y[None, None, :], np.zeros(1))
    found = solve_step(problem, task.mu, warm)
    return _point(task, found, float(found.multipliers[0]), 0.0), found


def hinges_fit(task: Task, loss: Hinges, rho: float, warm: BoxSolution | None = None) -> tuple[Point, BoxSolution]:
    """Return the minimiser of 1/2 ||w||^2 + sum_i C_i loss_i(y_i f_i), with the threshold rho, and its dual."""
    kept = loss.slopes.max(axis=1) > 0.0
    width, kinks = task.C * loss.slopes[kept], loss.kinks[kept]
    K = len(width)
    problem = BoxQP(
        task.Q, -kinks, np.zeros_like(width), width, np.repeat(task.y[None, None, :], K, axis=1), np.zeros(1)
    )
    found = solve_box_qp(problem, warm, quiet=True)
    return _point(task, found, float(found.multipliers[0]), rho), found


def _point(task: Task, found: BoxSolution, b: float, rho: float) -> Point:
    Qa = task.Q.times(found.a)
    return Point(found.a, b, rho, Qa + b * task.y, float(found.a @ Qa))


# -- the loop ----------------------------------------------------------------------------------------------------------


def descend(task: Task, beyond: Beyond, start: str, warm: BoxSolution | None = None) -> Minimum:
    """Return where difference-of-convex steps lead from a start, given by the rows beyond the ramps there."""
    used = beyond
    point, found = convex_step(task, used, warm)
    risks, worst = [task.risk(point)], found
    repeated = converged = False
    while len(risks) < MOST_STEPS:
        now = Beyond.of(point.t, point.rho, task.mu)
        if now.same(used):
            repeated = converged = True
            break
        next_point, next_found = convex_step(task, now, found)
        worst = max(worst, next_found, key=lambda one: one.residuals.excess)
        risk = task.risk(next_point)
        if risk > risks[-1]:  # by rounding alone: the last point stays
            converged = True
            break
        fall = risks[-1] - risk
        point, found, used = next_point, next_found, now
        risks.append(risk)
        if fall < LEAST_FALL * abs(risk):
            converged = True
            repeated = Beyond.of(point.t, point.rho, task.mu).same(used)
            break
    return Minimum(start, point, found.u, used, tuple(risks), repeated, converged, found, worst)


def from_starts(task: Task, starts: Sequence[str], random: int, rng: np.random.Generator | None) -> Minima:
    """Return the minima that named starts lead to, and `random` ones drawn by `rng`."""
    found = [descend(task, STARTS[name](task), name) for name in starts]
    for k in range(random):
        assert rng is not None
        found.append(descend(task, random_start(task, rng), f"random {k + 1}"))
    return Minima(tuple(found))


def zero_start(task: Task) -> Beyond:
    """Return the state of w = 0, b = 0, rho = 0: no row is beyond the ramps."""
    none = np.zeros(len(task.y), dtype=bool)
    return Beyond(none, none)


def svm_start(task: Task) -> Beyond:
    """Return the state of the support vector machine, rho = 0: the hinge with its kink at mu."""
    point, _ = hinges_fit(task, hinge(len(task.y), task.mu), 0.0)
    return Beyond.of(point.t, 0.0, task.mu)


def double_hinge_start(task: Task) -> Beyond:
    """Return the state of the double hinge fit with its threshold, the logit of the price."""
    rows, d = symmetric(task)
    point, _ = hinges_fit(rows, double_hinge(np.full(len(task.y), d)), double_hinge_threshold(d))
    return Beyond.of(point.t, point.rho, task.mu)


def random_start(task: Task, rng: np.random.Generator) -> Beyond:
    """Return the state of f = sum_i z_i k(x_i, .) + b, z and b normal, f of standard deviation 1, rho half-normal."""
    t = task.Q.times(rng.standard_normal(len(task.y)))  # y_i f_i, as z_i y_i is normal too
    spread = float(np.sqrt(np.mean(t**2)))
    b, rho = rng.standard_normal(2)
    t = t / spread if spread > 0.0 else t
    return Beyond.of(t + b * task.y, abs(float(rho)) if task.band else 0.0, task.mu)


STARTS: dict[str, Callable[[Task], Beyond]] = {
    "zero": zero_start,
    "svm": svm_start,
    "double_hinge": double_hinge_start,
}
"""Starts that need no random numbers."""


def symmetric(task: Task) -> tuple[Task, float]:
    """Return the rows weighted so that one price d serves both classes, and that price; as they are if they share one.

    Where errors on events cost c1 and on others c0, Bayes' rule withholds for odds of the event from d1 / (1 - d1) to
    (1 - d0) / d0. Weights of the classes in the ratio k move odds by the factor k; at
    k^2 = d0 (1 - d1) / (d1 (1 - d0)) the band becomes symmetric, with (1 - d)^2 / d^2 = (1 - d1)(1 - d0) / (d1 d0).
    """
    event = task.y > 0.0
    d1, d0 = float(task.d[event][0]), float(task.d[~event][0])
    if d1 == d0:
        return task, d1
    odds1, odds0 = (1.0 - d1) / d1, (1.0 - d0) / d0
    d = 1.0 / (1.0 + np.sqrt(odds1 * odds0))
    ratio = np.sqrt(odds1 / odds0)
    # C = base * cost and d = reject / cost: base * reject = C * d in both classes, the rest from the product of costs
    both = np.sqrt(1.0 / (d1 * d0))
    C = task.C * task.d * both * np.where(event, np.sqrt(ratio), 1.0 / np.sqrt(ratio))
    return replace(task, C=C, d=np.full_like(task.d, d)), float(d)
