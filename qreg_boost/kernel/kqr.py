"""Kernel quantile regression (Takeuchi et al. 2006; Li, Liu and Zhu 2007) as a quadratic program.

::

    minimise over f = h + b    1/2 |h|^2 + C sum_i w_i rho_tau(y_i - f(x_i))
    dual                       max y'a - 1/2 a'Ka,   C w_i (tau - 1) <= a_i <= C w_i tau,   1'a = 0

and h = sum_i a_i k(x_i, .). Everything here is in the units that the penalty is meant in: those of the scaled data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qreg_boost.kernel.box_qp import BoxQP, BoxSolution, shortfall, solve_box_qp
from qreg_boost.kernel.offset import optimal_offsets
from qreg_boost.kernel.quadratic import Quadratic

ELBOW = 1e-6
"""A dual variable farther than this share of its box from both ends is between them: its row lies on the fit."""


@dataclass(frozen=True, eq=False)
class KernelQuantile:
    """A kernel quantile regression at one tau, its rows in the units of the scaled data.

    Attributes
    ----------
    a : (n,) array
        Dual variables: the coefficients of k(x_i, .).
    b : float
        The offset: the midpoint of the quantiles of y - Ka, all of which are optimal.
    fit : (n,) array
        Ka + b.
    penalty : float
        1/2 a'Ka.
    loss : float
        Weighted sum of check losses, without C.
    dual : float
        y'a - 1/2 a'Ka, which no objective can be below.
    C, tau : float
    side : (n,) int array
        1 where a is at its upper end (the row lies above the fit), -1 at its lower end, 0 between (on the fit).
    program : BoxSolution or None
        What the quadratic program returned; None where fits are held together, or there was none to solve.
    iterations : int
    optimal : bool
    shortfall : str
        What is wrong if not optimal.
    """

    a: np.ndarray
    b: float
    fit: np.ndarray
    penalty: float
    loss: float
    dual: float
    C: float
    tau: float
    side: np.ndarray
    program: BoxSolution | None
    iterations: int
    optimal: bool
    shortfall: str = ""

    @property
    def objective(self) -> float:
        """1/2 |h|^2 + C sum of losses."""
        return self.penalty + self.C * self.loss

    @property
    def duality_gap(self) -> float:
        """(objective - dual) / objective, an upper bound of how far the objective is above the least."""
        return (self.objective - self.dual) / self.objective if self.objective > 0.0 else 0.0


def check_losses(r: np.ndarray, tau: float) -> np.ndarray:
    """Return rho_tau(r) = r (tau - 1[r < 0]), row by row."""
    return r * (tau - (r < 0.0))


def dual_program(form: Quadratic, y: np.ndarray, tau: float, C: float, weights: np.ndarray) -> BoxQP:
    """Return the dual as a quadratic program of one block and one equality."""
    one = np.ones((1, 1, len(y)))
    return BoxQP(form, -y[None], C * (tau - 1.0) * weights[None], C * tau * weights[None], one, np.zeros(1))


def solve_kernel_quantile(
    form: Quadratic,
    y: np.ndarray,
    tau: float,
    C: float,
    weights: np.ndarray,
    start: KernelQuantile | None = None,
) -> KernelQuantile:
    """Return the kernel quantile regression at one tau.

    Parameters
    ----------
    form : Quadratic
        K, of order n.
    y, weights : (n,) array
    start : KernelQuantile, optional
        The fit at another C or tau, to start from.

    Examples
    --------
    >>> from qreg_boost.kernel.quadratic import LowRank
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> found = solve_kernel_quantile(LowRank(x[:, None]), 2.0 * x, 0.5, 100.0, np.ones(3))
    >>> found.fit.round(6).tolist()
    [-2.0, 0.0, 2.0]
    """
    # 1'a = 0: a shift of y moves b alone, and a large one would cost digits
    shift = float(np.median(y[weights > 0.0]))
    y = y - shift
    if not y[weights > 0.0].any():
        return _constant(len(y), shift, tau, C)
    problem = dual_program(form, y, tau, C, weights)
    program = solve_box_qp(problem, None if start is None else _moved(start, C, tau), quiet=True)
    a = program.a
    Ka = form.times(a)
    b = best_offset(y - Ka, tau, weights)
    return KernelQuantile(
        a=a,
        b=b + shift,
        fit=Ka + b + shift,
        penalty=0.5 * float(a @ Ka),
        loss=float(weights @ check_losses(y - Ka - b, tau)),
        dual=float(y @ a - 0.5 * (a @ Ka)),
        C=C,
        tau=tau,
        side=sides(a, C, tau, weights),
        program=program,
        iterations=program.iterations,
        optimal=program.status.optimal,
        shortfall="" if program.status.optimal else shortfall(program),
    )


def _constant(n: int, value: float, tau: float, C: float) -> KernelQuantile:
    """Return the fit to a response that is one value: that value, every row on it."""
    return KernelQuantile(
        a=np.zeros(n), b=value, fit=np.full(n, value), penalty=0.0, loss=0.0, dual=0.0, C=C, tau=tau,
        side=np.zeros(n, dtype=int), program=None, iterations=0, optimal=True,
    )  # fmt: skip


def best_offset(r: np.ndarray, tau: float, weights: np.ndarray) -> float:
    """Return the constant of least weighted check loss for r (n,); of an interval of them, the midpoint."""
    return optimal_offsets(-r, np.ones(len(r)), (tau - 1.0) * weights, tau * weights).middle


def sides(a: np.ndarray, C: float, tau: float, weights: np.ndarray) -> np.ndarray:
    """Return 1 where a (n,) is at the upper end of its box, -1 at the lower one, 0 between and for rows of weight 0."""
    width = C * weights
    high, low = C * tau * weights - a <= ELBOW * width, a - C * (tau - 1.0) * weights <= ELBOW * width
    return np.where(width <= 0.0, 0, high.astype(int) - low.astype(int))


def _moved(start: KernelQuantile, C: float, tau: float) -> BoxSolution | None:
    """Return an earlier solution with its dual variables at the same place in the new boxes."""
    if start.program is None:
        return None
    factor = C / start.C
    u = start.program.u * factor
    return replace(start.program, u=u, a=start.program.a * factor)
