"""Which bound on the coefficients: loss out of sample along an L1 path, and the best knot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from qreg_boost.base.held_out import HeldOutRisk


@dataclass(frozen=True, eq=False, repr=False)
class L1CV(HeldOutRisk):
    """Out-of-sample check loss at the knots of an L1 path.

    Attributes
    ----------
    risk : DataFrame (folds by bounds s of the knots)
        Weighted mean loss per held-out row, in units of y.
    rule : str
        "min" or "1se": which of the two bounds below `s` is.
    kind : str
        How rows were held out, in words.
    """

    @property
    def knot_min(self) -> int:
        """The knot of least mean loss, the first of equals."""
        return self._least

    @property
    def knot_1se(self) -> int:
        """The first knot, of the smallest bound, whose mean loss is within one standard error of the least."""
        return self._within_1se

    @property
    def knot(self) -> int:
        """The knot chosen by `rule`."""
        return self.knot_min if self.rule == "min" else self.knot_1se

    @property
    def s(self) -> float:
        """The bound chosen by `rule`: ``path.at(s=path.cv().s)`` is the fit there."""
        return float(self.risk.columns[self.knot])

    def summary(self) -> pd.DataFrame:
        """Return the mean loss and its standard error at s = 0, at both bounds, and at the end."""
        return self._table("bound", "s")

    def __str__(self) -> str:
        table = self.summary().to_string(float_format=lambda value: f"{value:.6g}")
        return (
            f"Out-of-sample check loss, {self.kind}, at {self.risk.shape[1]} knots\n"
            f"{table}\nBest bound s ({self.rule}): {self.s:.6g}"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss of each fold and their mean against the bound s; return the Axes."""
        from qreg_boost.plots.paths import plot_l1_cv

        return plot_l1_cv(self, ax=ax)
