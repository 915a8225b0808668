"""The rank score statistic by its definition, from linear programs alone: who is right where two bounds differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from qreg_boost.quantreg.solvers import SOLVERS


@dataclass(frozen=True)
class RankStatistic:
    """The statistic of one coefficient as a function of the value at which the coefficient is held.

    Attributes
    ----------
    x, y : (n,) array
        The coefficient's column and the response, times the weights.
    others : (n, p - 1) array
        The other columns, times the weights.
    tau : float
    density : (n,) array or None
        Of the nid form.
    """

    x: np.ndarray
    y: np.ndarray
    others: np.ndarray
    tau: float
    density: np.ndarray | None = None

    @property
    def unit(self) -> float:
        """Standard deviation of the numerator: (tau (1 - tau))^(1/2) times the length of what the others leave of x."""
        root = np.ones(len(self.x)) if self.density is None else np.sqrt(self.density)
        of_others = np.linalg.lstsq(self.others * root[:, None], self.x * root, rcond=None)[0]
        return float(np.sqrt(self.tau * (1 - self.tau)) * np.linalg.norm(self.x - self.others @ of_others))

    def range(self, b: float) -> tuple[float, float]:
        """Return the least and greatest statistic among all dual solutions of the fit of y - b x on the others."""
        z = self.y - b * self.x
        r = z - self.others @ SOLVERS["highs"](self.others, z, self.tau).coef
        zero = np.abs(r) < 1e-8 * np.abs(z).max()
        fixed = np.where(zero, 0.0, (r > 0) - (1 - self.tau))
        near = self.others[zero]
        equal = (1 - self.tau) * near.sum(axis=0) - self.others.T @ fixed
        ends = [
            linprog(sign * self.x[zero], A_eq=near.T, b_eq=equal, bounds=(0, 1), method="highs-ds") for sign in (1, -1)
        ]
        assert all(end.status == 0 for end in ends)
        least, most = (self.x[zero] @ (end.x - (1 - self.tau)) + self.x @ fixed for end in ends)
        return float(least / self.unit), float(most / self.unit)

    def size(self, b: float) -> float:
        """Return abs(statistic) where all dual solutions give the same; NaN elsewhere."""
        least, most = self.range(b)
        return abs(least) if most - least < 1e-6 else np.nan


def verdict(
    statistic: RankStatistic, stops: np.ndarray, said: np.ndarray, inner: float, outer: float, cut: float
) -> str:
    """Return why R's bound, between its two stops, is not ours, between `inner` and `outer`.

    Parameters
    ----------
    statistic : RankStatistic
    stops : (2,) array
        R's first rejected and last accepted value of the coefficient.
    said : (2,) array
        The statistic that R reports beyond either.
    inner, outer : float
        Ours: the last value accepted and the first one rejected.
    cut : float
        Critical value.

    Returns
    -------
    str
        "same step" if both bounds lie on one step of the statistic, which R cuts at another stop of its simplex
        method; "R's statistic" if the one that R reports is not the statistic between its stops; else "unexplained".
        The same where ours is not where the test begins to reject.
    """
    if not (statistic.size((inner + outer) / 2) <= cut < statistic.size(outer + 1e-4 * (outer - inner))):
        return "unexplained"
    between = statistic.size(float(np.mean(stops)))
    if abs(between - abs(said[1])) > 1e-3:
        return "R's statistic"
    step = np.allclose(stops[0], outer, rtol=1e-9, atol=1e-9) and between <= cut
    return "same step" if step and np.isclose(between, statistic.size((inner + outer) / 2)) else "unexplained"
