"""What is known of a quantile regression fit besides its coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qreg_boost.base.facts import RowFacts


@dataclass(frozen=True, kw_only=True)
class QRegFacts(RowFacts):
    """What is known of a fit besides its coefficients; plain values that a saved file can hold.

    Attributes
    ----------
    tau : float
    method : str
        Name of the solver.
    has_offset : bool
    columns : tuple of str
        Names of the coefficients, the intercept's first if there is one.
    dropped : tuple of int
        Positions among `columns` of those that depend on columns to their left.
    objective : float
        Weighted sum of check losses, in units of y.
    loss : float
        Sum of check losses without weights, of the rows fitted; what the log-likelihood is made of.
    duality_gap : float
    iterations : int
    status : str
        How the solver ended.
    optimal, unique : bool
        Whether the optimum was certified; whether no other coefficients reach it.
    """

    tau: float
    method: str
    has_offset: bool
    dropped: tuple[int, ...]
    objective: float
    loss: float
    duality_gap: float
    iterations: int
    status: str
    optimal: bool
    unique: bool

    @property
    def design_columns(self) -> tuple[str, ...]:
        """Names of the design's columns, without one for the intercept."""
        return self.columns[1:] if self.intercept else self.columns

    @property
    def rank(self) -> int:
        """Number of coefficients that were estimated."""
        return len(self.columns) - len(self.dropped)

    @property
    def aliased(self) -> tuple[str, ...]:
        """Names of the columns that were dropped."""
        return tuple(self.columns[j] for j in self.dropped)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> QRegFacts:
        """Return the facts that `state` wrote."""
        return super().from_state({**state, "dropped": tuple(int(j) for j in state["dropped"])})
