"""Records of the difference-of-convex loop: the rows, a point, its state, a minimum and several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qreg_boost.kernel.box_qp import BoxSolution
from qreg_boost.kernel.quadratic import Quadratic
from qreg_boost.reject.losses import double_ramp

SAME = 1e-6
"""Minima whose R agree up to this share are one."""
DIGITS = 12
"""R is computed to so many: sums of the same losses in another order differ in the last ones."""
TIE = 1e-7
"""A row this share of the largest margin (or of mu) from the end of a ramp is at it: a solver knows no better."""


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
        """Return R at a point, to the digits that do not depend on the order of the rows.

        So the first of two starts that lead to equal R is the one kept, in any order.
        """
        loss = double_ramp(point.t, point.rho, self.d, self.mu)
        return float(f"{0.5 * point.norm2 + float(self.C @ loss):.{DIGITS}g}")


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
    def of(cls, t: np.ndarray, rho: float, mu: float, ties: Callable[[], np.ndarray] | None = None) -> Beyond:
        """Return the rows beyond the ramps at margins t (n,).

        `ties` returns which rows (2, n) are taken as beyond if they are at the end of a ramp; without it none is.
        """
        near = TIE * max(mu, float(np.abs(t).max(initial=0.0)))
        past = -(mu**2) - np.stack((t - rho, t + rho))
        tied = np.abs(past) <= near
        chosen = tied & ties() if ties is not None and tied.any() else np.zeros_like(tied)
        return cls(*((past > near) | chosen))

    @property
    def key(self) -> bytes:
        """The state as something to look up."""
        return np.packbits(np.concatenate((self.upper, self.lower))).tobytes()

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
    first, solution : BoxSolution
        Of the first and of the last step.
    worst : BoxSolution
        That with the largest residuals, of all steps.
    solved : int
        Steps solved for this start; fewer than there are risks where the path met that of an earlier start.
    """

    start: str
    point: Point
    u: np.ndarray
    beyond: Beyond
    risks: tuple[float, ...]
    repeated: bool
    converged: bool
    first: BoxSolution
    solution: BoxSolution
    worst: BoxSolution
    solved: int

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
