"""The regularised risk of the double ramp loss lowered by difference-of-convex steps; convex losses in one step.

With Q = (y_i y_j k(x_i, x_j)), a = u_1 + ... + u_K and f = sum_j a_j y_j k(x_j, .) + b, the risk of a fit is
R = 1/2 a'Qa + sum_i C_i L(y_i f_i, rho). Each step is the dual of a convex problem, one `BoxQP`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from qreg_boost.kernel.box_qp import BoxQP, BoxSolution
from qreg_boost.kernel.offset import optimal_offsets
from qreg_boost.reject.flat import solve_step, solve_warm
from qreg_boost.reject.losses import Hinges, double_hinge, double_hinge_threshold, hinge
from qreg_boost.reject.task import Beyond, Minima, Minimum, Point, Task
from qreg_boost.reject.ties import Rows, leaving

LEAST_FALL = 1e-6
"""The steps end when R falls by less than this share of itself."""
EVEN = 1e-9
"""A step that lowers R by a smaller share lowers it by rounding alone, and is not taken."""
MOST_STEPS = 100


# -- convex steps ------------------------------------------------------------------------------------------------------


def convex_step(task: Task, beyond: Beyond, warm: BoxSolution | None = None) -> tuple[Point, BoxSolution]:
    """Return the minimiser of R with its concave part replaced by the tangent that `beyond` gives, and the dual.

    Of several (b, rho) the middle one. Raises rho to |rho| where that cannot raise R: all prices at most 1/2. Otherwise
    a rho below 0 is held at 0.

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
    b, rho = _band(problem, found)
    if rho < 0.0 and (task.d > 0.5).any():
        return _held_at_zero(task, beyond, None)
    return _point(task, found, b, abs(rho)), found


def _held_at_zero(task: Task, beyond: Beyond, warm: BoxSolution | None) -> tuple[Point, BoxSolution]:
    """Return the step with rho = 0: both ramps become one of width C / mu."""
    width = (task.C / task.mu)[None]
    beta = (task.C * (task.d * beyond.upper + (1.0 - task.d) * beyond.lower) / task.mu)[None]
    problem = BoxQP(task.Q, np.full(width.shape, -task.mu), -beta, width - beta, task.y[None, None, :], np.zeros(1))
    found = solve_step(problem, task.mu, warm)
    return _point(task, found, _offset(problem, found), 0.0), found


def hinges_fit(task: Task, loss: Hinges, rho: float, warm: BoxSolution | None = None) -> tuple[Point, BoxSolution]:
    """Return the minimiser of 1/2 ||w||^2 + sum_i C_i loss_i(y_i f_i), with the threshold rho, and its dual."""
    kept = loss.slopes.max(axis=1) > 0.0
    width, kinks = task.C * loss.slopes[kept], loss.kinks[kept]
    K = len(width)
    problem = BoxQP(
        task.Q, -kinks, np.zeros_like(width), width, np.repeat(task.y[None, None, :], K, axis=1), np.zeros(1)
    )
    found = solve_warm(problem, warm)
    return _point(task, found, _offset(problem, found), rho), found


def _offset(problem: BoxQP, found: BoxSolution) -> float:
    """Return b, of an interval of optimal ones the midpoint."""
    gradient = problem.Q.times(found.a) + problem.c
    every = np.ones(problem.c.shape, dtype=bool)
    return _settled(problem, gradient, every, float(found.multipliers[0]))


def _band(problem: BoxQP, found: BoxSolution) -> tuple[float, float]:
    """Return b and rho, of several optimal ones the middle.

    With y = 1, t - rho depends on (b, rho) by b - rho and t + rho by b + rho, with y = -1 the reverse: the two ends
    have a loss of their own, and an interval each.
    """
    gradient = problem.Q.times(found.a) + problem.c
    event = problem.A[0] > 0.0
    first = np.array([[True], [False]])
    b, rho = float(found.multipliers[0]), -float(found.multipliers[1])
    low = _settled(problem, gradient, event == first, b - rho)
    high = _settled(problem, gradient, event != first, b + rho)
    return 0.5 * (low + high), 0.5 * (high - low)


def _settled(problem: BoxQP, gradient: np.ndarray, rows: np.ndarray, multiplier: float) -> float:
    """Return the offset of the duals `rows` (K, n), which have `gradient` (K, n) at the offset 0."""
    interval = optimal_offsets(gradient[rows], problem.A[0][rows], problem.lower[rows], problem.upper[rows])
    scale = max(float(np.abs(problem.c).max()), float(np.abs(gradient - problem.c).max()))
    return interval.settled(multiplier, scale)


def _point(task: Task, found: BoxSolution, b: float, rho: float) -> Point:
    Qa = task.Q.times(found.a)
    return Point(found.a, b, rho, Qa + b * task.y, float(found.a @ Qa))


# -- the loop ----------------------------------------------------------------------------------------------------------


def descend(
    task: Task,
    beyond: Beyond,
    start: str,
    warm: BoxSolution | None = None,
    seen: dict[bytes, tuple[Minimum, int]] | None = None,
    ties: Callable[[], np.ndarray] | None = None,
) -> Minimum:
    """Return where difference-of-convex steps lead from a start, given by the rows beyond the ramps there.

    `seen` holds the states of earlier starts, with the minimum that each led to and the step it was at: where a path
    meets an earlier one it goes on as that did. The states of this one are added. `ties` as in `Beyond.of`.
    """
    known = {} if seen is None else seen
    ties = tie_breaker(task) if ties is None else ties
    states: list[bytes] = []
    risks: list[float] = []
    at: _Step | None = None
    now, end = beyond, None
    while end is None and len(risks) < MOST_STEPS:
        if now.key in known:
            end = _joined(start, risks, *known[now.key], at)
            break
        point, found = convex_step(task, now, warm if at is None else at.found)
        risk = task.risk(point)
        if at is not None and risk > (1.0 - EVEN) * risks[-1]:  # the last point stays
            end = at.minimum(start, risks, False, True)
            break
        states.append(now.key)
        fall = np.inf if at is None else risks[-1] - risk
        risks.append(risk)
        first, worst = (found, found) if at is None else (at.first, _worse(at.worst, found))
        at = _Step(point, found, now, first, worst, len(risks))
        now = Beyond.of(point.t, point.rho, task.mu, ties)
        repeated = now.same(at.used)
        if repeated or fall < LEAST_FALL * abs(risk):
            end = at.minimum(start, risks, repeated, True)
    if end is None:
        assert at is not None
        end = at.minimum(start, risks, False, False)
    known.update((key, (end, k)) for k, key in enumerate(states))
    return end


def tie_breaker(task: Task) -> Callable[[], np.ndarray]:
    """Return the function that says which rows (2, n) are taken as beyond the ramp at whose end they are.

    The first direction is the support vector machine's; it is solved for when the first such row is met.
    """

    @cache
    def beyond() -> np.ndarray:
        point = hinges_fit(task, hinge(len(task.y), task.mu), 0.0)[0]
        return leaving(task.Q, Rows(task.y, task.C * task.d, task.C * (1.0 - task.d), task.band), point.a)

    return beyond


@dataclass(frozen=True, eq=False)
class _Step:
    """The last step of a path, the state it was made from, and the first and the worst program up to here."""

    point: Point
    found: BoxSolution
    used: Beyond
    first: BoxSolution
    worst: BoxSolution
    solved: int

    def minimum(self, start: str, risks: Sequence[float], repeated: bool, converged: bool) -> Minimum:
        return Minimum(
            start, self.point, self.found.u, self.used, tuple(risks), repeated, converged, self.first, self.found,
            self.worst, self.solved,
        )  # fmt: skip


def _worse(one: BoxSolution, other: BoxSolution) -> BoxSolution:
    return max(one, other, key=lambda found: found.residuals.excess)


def _joined(start: str, risks: Sequence[float], end: Minimum, k: int, at: _Step | None) -> Minimum:
    """Return the end of an earlier path as that of one which met it before the earlier one's step k."""
    tail = end.risks[k:]
    if risks and tail[0] > risks[-1]:  # by rounding alone
        tail = (risks[-1], *(min(one, risks[-1]) for one in tail[1:]))
    if at is None:
        return replace(end, start=start, risks=tail, solved=0)
    worst = _worse(at.worst, end.worst)
    return replace(end, start=start, risks=(*risks, *tail), first=at.first, worst=worst, solved=at.solved)


def from_starts(
    task: Task,
    starts: Sequence[str],
    random: int,
    rng: np.random.Generator | None,
    warm: Mapping[str, BoxSolution] | None = None,
    done: Callable[[], object] | None = None,
) -> Minima:
    """Return the minima that named starts lead to, and `random` ones drawn by `rng`.

    `warm` may hold first steps from the named starts to a task like this one; `done` is called after each start.
    """
    before = {} if warm is None else warm
    ties = tie_breaker(task)
    seen: dict[bytes, tuple[Minimum, int]] = {}
    found: list[Minimum] = []
    for name in starts:
        last = found[-1].solution if found else None
        begin = STARTS[name](task, last)
        near = _within(before.get(name), task)
        one = descend(task, begin.beyond, name, last if near is None else near, seen, ties)
        found.append(one if begin.found is None else replace(one, worst=_worse(one.worst, begin.found)))
        if done is not None:
            done()
    for k in range(random):
        assert rng is not None
        last = found[-1].solution if found else None
        found.append(descend(task, random_start(task, rng), f"random {k + 1}", last, seen, ties))
        if done is not None:
            done()
    return Minima(tuple(found))


def _within(warm: BoxSolution | None, task: Task) -> BoxSolution | None:
    """Return a solution with its duals in proportion to the boxes of this task."""
    if warm is None or len(warm.u) != (2 if task.band else 1):
        return None
    size = float(np.abs(warm.u).max())
    if size == 0.0:
        return None
    return replace(warm, u=warm.u * (float(task.C.max()) / task.mu / size))


@dataclass(frozen=True, eq=False)
class Begin:
    """Where the steps begin, and the convex program that says so, if one does."""

    beyond: Beyond
    found: BoxSolution | None = None


def zero_start(task: Task, near: BoxSolution | None = None) -> Begin:
    """Return the state of w = 0, b = 0, rho = 0: no row is beyond the ramps."""
    none = np.zeros(len(task.y), dtype=bool)
    return Begin(Beyond(none, none))


def svm_start(task: Task, near: BoxSolution | None = None) -> Begin:
    """Return the state of the support vector machine, rho = 0: the hinge with its kink at mu.

    `near` may be a step of this task, whose duals without rho are a warm start.
    """
    warm = None
    if near is not None:
        u, gradient = near.u.sum(axis=0)[None], near.gradient.mean(axis=0)[None]
        warm = replace(near, u=u, gradient=gradient, multipliers=near.multipliers[:1])
    point, found = hinges_fit(task, hinge(len(task.y), task.mu), 0.0, warm)
    return Begin(Beyond.of(point.t, point.rho, task.mu), found)


def double_hinge_start(task: Task, near: BoxSolution | None = None) -> Begin:
    """Return the state of the double hinge fit with its threshold, the logit of the price."""
    rows, d = symmetric(task)
    point, found = hinges_fit(rows, double_hinge(np.full(len(task.y), d)), double_hinge_threshold(d))
    return Begin(Beyond.of(point.t, point.rho, task.mu), found)


def random_start(task: Task, rng: np.random.Generator) -> Beyond:
    """Return the state of f = sum_i z_i k(x_i, .) + b, z and b normal, f of standard deviation 1, rho half-normal."""
    t = task.Q.times(rng.standard_normal(len(task.y)))  # y_i f_i, as z_i y_i is normal too
    spread = float(np.sqrt(np.mean(t**2)))
    b, rho = rng.standard_normal(2)
    t = t / spread if spread > 0.0 else t
    return Beyond.of(t + b * task.y, abs(float(rho)) if task.band else 0.0, task.mu)


STARTS: dict[str, Callable[[Task, BoxSolution | None], Begin]] = {
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

    Notes
    -----
    The double ramp takes the price of each row as it is: C c_n times the loss at d_n = reject / c_n. That would not do
    for the hinges. The generalized one is in units of withholding, not of errors: its slopes, 1 and (1 - d_n) / d_n,
    times c_n move Bayes' band by the factor c0 / c1. The double one, times c_n, is convex only where no d_n exceeds
    1/2, and its threshold, the logit of the price, belongs to one price. Weighted so, both keep Bayes' band at all
    prices, and their form and threshold.
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
