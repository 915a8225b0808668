"""How long a step is: rules for gamma in f + gamma g."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qreg_boost.boosting.losses import LineStep, Loss, weighted_quantile


class StepRule(Protocol):
    """A rule for the step of iteration m = 0, 1, ..."""

    @property
    def first(self) -> float | None:
        """The first step, in units of y over those of the negative gradient; None where it depends on the fit."""

    def at(self, m: int, loss: Loss, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step from fit f (n,) along g (n,)."""

    def schedule(self, first: int, stop: int) -> np.ndarray | None:
        """Return the steps of iterations first..stop - 1 where they are known beforehand, else None."""


@dataclass(frozen=True)
class Fixed:
    """The same step in every iteration."""

    first: float

    def at(self, m: int, loss: Loss, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the fixed step."""
        return LineStep(self.first, -1)

    def schedule(self, first: int, stop: int) -> np.ndarray | None:
        """Return the fixed step for each iteration."""
        return np.full(stop - first, self.first)


@dataclass(frozen=True)
class Line:
    """The exact line search of Zheng (2012), Fig. 2."""

    @property
    def first(self) -> float | None:
        """None: the step depends on the fit."""
        return None

    def at(self, m: int, loss: Loss, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step of least risk along g."""
        return loss.line_search(y, f, g, weights)

    def schedule(self, first: int, stop: int) -> np.ndarray | None:
        """Return None: the step depends on the fit."""
        return None


def step_unit(step_scale: str | None, y: np.ndarray, weights: np.ndarray, tau: float) -> float:
    """Return the unit of a step, in units of y over those of the negative gradient.

    "auto" is the mean check loss about the tau-quantile over tau (1 - tau), each row's deviation capped; "range" half
    the range of y; None 1.
    """
    if step_scale is None:
        return 1.0
    if step_scale == "range":
        return 0.5 * float(np.ptp(y))
    plain = None if np.ptp(weights) == 0.0 else weights
    r = y - weighted_quantile(y, tau, plain)
    return float(np.average(r * (tau - (r < 0)), weights=weights)) / (tau * (1.0 - tau))


def _fixed(first: float, step_scale: str | None) -> StepRule:
    return Fixed(first)


def _line(first: float, step_scale: str | None) -> StepRule:
    return Line()


STEPS: dict[str, Any] = {"auto": _fixed, "fixed": _fixed, "line": _line}
"""How a step evolves, by name: (first step, unit of the step) -> rule."""
