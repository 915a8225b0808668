"""How long a step is: rules for gamma in f + gamma g."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from qreg_boost.boosting.losses import LineStep, Loss


class StepRule(Protocol):
    """A rule for the step of iteration m = 0, 1, ..."""

    def at(self, m: int, loss: Loss, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step from fit f (n,) along g (n,)."""

    def schedule(self, first: int, stop: int) -> np.ndarray | None:
        """Return the steps of iterations first..stop - 1 where they are known beforehand, else None."""


@dataclass(frozen=True)
class Fixed:
    """The same step in every iteration."""

    gamma: float

    def at(self, m: int, loss: Loss, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the fixed step."""
        return LineStep(self.gamma, -1)

    def schedule(self, first: int, stop: int) -> np.ndarray | None:
        """Return the fixed step for each iteration."""
        return np.full(stop - first, self.gamma)


@dataclass(frozen=True)
class Line:
    """The exact line search of Zheng (2012), Fig. 2."""

    def at(self, m: int, loss: Loss, y: np.ndarray, f: np.ndarray, g: np.ndarray, weights: np.ndarray) -> LineStep:
        """Return the step of least risk along g."""
        return loss.line_search(y, f, g, weights)

    def schedule(self, first: int, stop: int) -> np.ndarray | None:
        """Return None: the step depends on the fit."""
        return None
