"""Kernel quantile regression for every C: the exact path, piecewise linear in lambda = 1 / C.

With theta = a / C, a the dual variables, f = (K theta + theta0) / lambda. Between two knots theta is linear in lambda.

References
----------
Li, Y., Liu, Y. and Zhu, J. (2007). Quantile regression in reproducing kernel Hilbert spaces. Journal of the American
Statistical Association 102, 255-268.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.kernel.kqr import KernelQuantile, best_offset, check_losses
from qreg_boost.kernel.path_trace import Trace
from qreg_boost.kernel.path_walk import StalledError, Walk
from qreg_boost.kernel.program import ALLOWED
from qreg_boost.kernel.quadratic import Quadratic

MOST_KNOTS = 200
"""Per row: a path of more is not followed to its end. Usual are one or two, and some dozens where y has no noise."""
ROUNDING = 8.0 * float(np.finfo(float).eps)
"""Responses that differ from their quantile by less than this share of the largest are equal to it."""
BLOCK = 64
"""Knots that are assessed together."""
SMALLEST = 1e-9
HALVINGS = 20
"""How far below an inexact knot the end of the path is looked for, a share of its C, and in how many steps."""


class PathStatus(Enum):
    """How a path ended; the value is a message."""

    COMPLETE = "The whole path up to the largest C asked for."
    STALLED = "Ties among the rows could not be resolved."
    LONG = f"It has more than {MOST_KNOTS} knots per row."
    INDEFINITE = "The kernel matrix is not positive semidefinite."
    INEXACT = "Beyond, rounding errors leave duality gaps above 1e-8."

    @property
    def complete(self) -> bool:
        """Return whether the path reached its end."""
        return self is PathStatus.COMPLETE


@dataclass(frozen=True, eq=False)
class ExactPath:
    """Kernel quantile regressions at one tau for every C from 0 to `largest`.

    Attributes
    ----------
    C : (K,) array
        Knots, increasing from 0; the last is the largest C.
    loss : (K,) array
        Weighted sum of check losses at the knots; between two it is linear in C.
    penalty : (K,) array
        1/2 |h|^2.
    edf : (K,) int array
        Rows on the fit whose dual variable is between its ends: the divergence of the fit.
    gap : (K,) array
        Relative duality gap, computed anew at each knot.
    tau : float
    status : PathStatus
    trace : Trace
    unit : float
        C is this over the trace's lambda.
    level : float
        The quantile of y: the offset at C = 0.
    """

    C: np.ndarray
    loss: np.ndarray
    penalty: np.ndarray
    edf: np.ndarray
    gap: np.ndarray
    tau: float
    status: PathStatus
    trace: Trace
    unit: float
    level: float

    @property
    def largest(self) -> float:
        """The C up to which the path is known."""
        return float(self.C[-1])

    def dual(self, C: float) -> np.ndarray:
        """Return the dual variables a (n,) at a C between 0 and `largest`."""
        return C / self.unit * self._theta(C)

    def _theta(self, C: float) -> np.ndarray:
        return self.trace.theta(self.unit / C if C > 0.0 else np.inf)

    def side(self, C: float) -> np.ndarray:
        """Return 1 for rows above the fit (n,), -1 below, 0 where the dual variable is between its ends."""
        return self.trace.side(self._theta(C))

    def at(self, C: float, form: Quadratic, y: np.ndarray, weights: np.ndarray) -> KernelQuantile:
        """Return the fit at a C between 0 and `largest`, from the arrays that the path was made of."""
        a, y = self.dual(C), y - self.level
        judged = judge(a[:, None], np.array([C]), form, y, self.tau, weights)
        gap = float(judged.gap[0])
        optimal = gap <= ALLOWED["gap"]
        return KernelQuantile(
            a=a,
            b=float(judged.b[0]) + self.level,
            fit=judged.Ka[:, 0] + judged.b[0] + self.level,
            penalty=float(judged.penalty[0]),
            loss=float(judged.loss[0]),
            dual=float(y @ a - judged.penalty[0]),
            C=C,
            tau=self.tau,
            side=self.side(C),
            program=None,
            iterations=int(np.searchsorted(self.C, C, side="right")) - 1,
            optimal=optimal,
            shortfall="" if optimal else f"Rounding errors along the path leave a duality gap of {gap:.1e}.",
        )


@dataclass(frozen=True, eq=False)
class Judged:
    """Fits at several C, what they cost, and how far from the optimum they can be.

    Attributes
    ----------
    Ka : (n, m) array
    b, loss, penalty, gap : (m,) arrays
    """

    Ka: np.ndarray
    b: np.ndarray
    loss: np.ndarray
    penalty: np.ndarray
    gap: np.ndarray


def judge(
    a: np.ndarray,
    C: np.ndarray,
    form: Quadratic,
    y: np.ndarray,
    tau: float,
    weights: np.ndarray,
    on: Sequence[np.ndarray] | None = None,
) -> Judged:
    """Return loss, penalty and relative duality gap of dual variables a (n, m) at C (m,).

    The offset is the best one; that of the rows `on` the fit if these are given for each C.
    """
    Ka = form.times(a)
    r = y[:, None] - Ka
    b = np.array(
        [
            best_offset(left, tau, weights) if on is None or not len(on[j]) else np.median(left[on[j]])
            for j, left in enumerate(r.T)
        ]
    )
    r -= b
    loss = weights @ check_losses(r, tau)
    penalty = 0.5 * np.einsum("ij,ij->j", a, Ka)
    objective = penalty + C * loss
    # where a does not sum to 0 the dual bound wants making good, by at most the range of y per unit
    short = C * loss - np.einsum("ij,ij->j", a, r) + np.abs(a.sum(axis=0)) * np.ptp(y)
    gap = np.divide(short, objective, out=np.zeros_like(short), where=objective > 0.0)
    return Judged(Ka, b, loss, penalty, gap)


def exact_path(
    form: Quadratic,
    y: np.ndarray,
    tau: float,
    largest: float,
    weights: np.ndarray | None = None,
    *,
    progress: bool = False,
) -> ExactPath:
    """Return the kernel quantile regressions at one tau for every C from 0 to `largest`.

    Parameters
    ----------
    form : Quadratic
        K, of order n.
    y : (n,) array
    tau : float
    largest : float
        Above 0.
    weights : (n,) array, optional
        Of the losses, at least 0; rows of weight 0 take no part.
    progress : bool
        Whether a path of more than two seconds shows a bar.

    Returns
    -------
    ExactPath
        Up to a smaller C if `status` says so.

    Notes
    -----
    At C = 0 theta solves the dual of the quantile of y; where rows tie with it, the same walk on these alone, with
    distinct responses that shrink to 0, finds the theta of least penalty. The cost of an event is that of a product of
    the elbow's rows of K with a vector, and of an update of their Cholesky factor.

    Examples
    --------
    >>> from qreg_boost.kernel.quadratic import LowRank
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> path = exact_path(LowRank(x[:, None]), 2.0 * x, 0.5, 100.0)
    >>> path.C.round(9).tolist(), path.loss.round(9).tolist()
    ([0.0, 2.0, 100.0], [2.0, 0.0, 0.0])
    >>> path.dual(1.0).round(9).tolist()
    [-0.5, 0.0, 0.5]
    """
    weights = np.ones(len(y)) if weights is None else weights
    unit = 1.0 / float(weights.max())
    used = weights > 0.0
    # 1'a = 0: a shift of y moves the offset alone
    level = weighted_quantile(y[used], tau, weights[used])
    y = np.where(np.abs(y - level) <= ROUNDING * np.abs(y).max(), 0.0, y - level)
    problem = _Problem(form, y, tau, weights, unit, largest)
    trace, status = _followed(problem, progress)
    C, edf, judged = problem.assess(trace)
    inexact = np.flatnonzero(judged.gap > ALLOWED["gap"])
    if len(inexact):
        problem.shorten(trace, int(inexact[0]))
        status = PathStatus.INEXACT
        C, edf, judged = problem.assess(trace)
    return ExactPath(C, judged.loss, judged.penalty, edf, judged.gap, tau, status, trace, unit, level)


@dataclass(frozen=True, eq=False)
class _Problem:
    """What a path is made of; the quantile of y is 0, and C is `unit` over lambda."""

    form: Quadratic
    y: np.ndarray
    tau: float
    weights: np.ndarray
    unit: float
    largest: float

    @property
    def end(self) -> float:
        """Lambda at the largest C."""
        return self.unit / self.largest

    def judge(self, theta: np.ndarray, C: np.ndarray, on: Sequence[np.ndarray] | None = None) -> Judged:
        """Return what theta (n, m) at C (m,) cost."""
        return judge(theta * (C / self.unit), C, self.form, self.y, self.tau, self.weights, on)

    def assess(self, trace: Trace) -> tuple[np.ndarray, np.ndarray, Judged]:
        """Return C (K,), degrees of freedom (K,) and costs at the knots, all computed anew from theta."""
        lam = np.array(trace.lam)
        C = np.where(lam == self.end, self.largest, self.unit / lam)
        edf = np.empty(len(C), dtype=int)
        b, loss, penalty, gap = (np.empty(len(C)) for _ in range(4))
        for those, theta, rows in trace.at_knots(BLOCK):
            edf[those] = ((trace.side(theta) == 0) & (self.weights > 0.0)[:, None]).sum(axis=0)
            found = self.judge(theta, C[those], rows)
            b[those], loss[those], penalty[those], gap[those] = found.b, found.loss, found.penalty, found.gap
        return C, edf, Judged(np.empty((len(self.y), 0)), b, loss, penalty, gap)

    def shorten(self, trace: Trace, k: int) -> None:
        """End a trace between its knot k, which is not exact, and the one before, at the last C that is."""
        bad = trace.lam[k]
        good = min(trace.lam[k - 1], bad / SMALLEST)
        for _ in range(HALVINGS):
            middle = float(np.sqrt(good * bad))
            exact = self.judge(trace.theta(middle)[:, None], np.array([self.unit / middle])).gap[0] <= ALLOWED["gap"]
            good, bad = (middle, bad) if exact else (good, middle)
        theta = trace.theta(good)
        trace.cut(k)
        trace.finish(good, theta)


def _followed(problem: _Problem, progress: bool) -> tuple[Trace, PathStatus]:
    """Return the trace of the walk from lambda = infinity to its end."""
    y, w, end = problem.y, problem.weights * problem.unit, problem.end
    low, high = w * (problem.tau - 1.0), w * problem.tau
    used = w > 0.0
    if not y[used].any():  # one value: h = 0, and all rows are on the fit
        trace = Trace(low, high, np.zeros(len(y)), [])
        trace.finish(end, np.zeros(len(y)))
        return trace, PathStatus.COMPLETE
    walk = _start(problem.form, y, low, high, used)
    trace = Trace(low, high, walk.theta, walk.elbow.rows)
    status = PathStatus.COMPLETE
    try:
        _settle_ties(walk, used & (y == 0.0))
        trace = Trace(low, high, walk.theta, walk.elbow.rows)
        if walk.begin(y, used) <= end:
            walk.lam = end
        elif not _walk_on(walk, trace, end, progress):
            status = PathStatus.LONG
    except StalledError:
        status = PathStatus.STALLED
    except ArithmeticError:
        status = PathStatus.INDEFINITE
    trace.finish(walk.lam, walk.theta)
    return trace, status


def _start(form: Quadratic, y: np.ndarray, low: np.ndarray, high: np.ndarray, used: np.ndarray) -> Walk:
    """Return the walk at lambda = infinity, where f is the quantile of y, which is 0.

    Of the rows that tie with it the last are above the fit, as many as may, the first are below, and the one between
    is the elbow.
    """
    side = np.where(y > 0.0, 1, -1)
    theta = np.where(y > 0.0, high, low)
    ties = np.flatnonzero(used & (y == 0.0))
    missing = -float(theta.sum())
    row = int(ties[0])
    for last in ties[::-1]:
        row, width = int(last), float(high[last] - low[last])
        if row == ties[0] or missing < width:
            break
        theta[row], side[row] = high[row], 1
        missing -= width
    theta[row], side[row] = min(max(low[row] + missing, low[row]), high[row]), 0
    return Walk(form, theta, side, low, high, row)


def _settle_ties(walk: Walk, ties: np.ndarray) -> None:
    """Bring theta of the rows that tie with the quantile to where the penalty is least: distinct responses, to 0."""
    rows = np.flatnonzero(ties)
    apart = np.zeros(len(ties))
    apart[rows] = np.arange(len(rows)) - np.searchsorted(rows, walk.elbow.rows[0])
    if walk.begin(apart, ties) > 0.0:
        for _ in range(MOST_KNOTS * (len(rows) + 10)):
            event = walk.step(0.0)
            if event.row < 0:
                return
            walk.turn(event)
        raise StalledError


def _walk_on(walk: Walk, trace: Trace, end: float, progress: bool) -> bool:
    """Follow the path to lambda = `end`; return whether it was reached within the number of knots allowed."""
    from tqdm import tqdm

    with tqdm(desc="path", unit=" knots", delay=2.0, disable=not progress, leave=False) as bar:
        for _ in range(MOST_KNOTS * (len(walk.y) + 10)):
            event = walk.step(end)
            if event.row < 0:
                return True
            new = trace.close(walk.lam, walk.theta)
            walk.turn(event)
            trace.open(walk.lam, walk.theta, walk.elbow.rows, event.row if event.new is None else -1, again=not new)
            bar.update(int(new))
            if walk.exact:
                trace.open(walk.lam, walk.theta, np.flatnonzero(walk.free), again=True)
                walk.theta *= end / walk.lam
                walk.lam = end
                return True
    return False
