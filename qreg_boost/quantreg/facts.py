"""What is known of a quantile regression fit besides its coefficients."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class QRegFacts:
    """What is known of a fit besides its coefficients; plain values that a saved file can hold.

    Attributes
    ----------
    tau : float
    method : str
        Name of the solver.
    call, formula, response : str
    nobs, n_dropped, n_zero_weight : int
        Rows fitted (weight above 0), rows dropped because something was missing, rows of weight 0.
    total_weight : float
    weighted, has_offset, intercept : bool
        `intercept`: whether the model added a column of ones before the design's.
    columns : tuple of str
        Names of the coefficients, the intercept's first if there is one.
    terms : tuple of (str, tuple of int)
        Name of each term, and its columns in the design without the intercept.
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
    when : str
        Date and time of the fit.
    """

    tau: float
    method: str
    call: str
    formula: str | None
    response: str
    nobs: int
    n_dropped: int
    n_zero_weight: int
    total_weight: float
    weighted: bool
    has_offset: bool
    intercept: bool
    columns: tuple[str, ...]
    terms: tuple[tuple[str, tuple[int, ...]], ...]
    dropped: tuple[int, ...]
    objective: float
    loss: float
    duality_gap: float
    iterations: int
    status: str
    optimal: bool
    unique: bool
    when: str

    @property
    def rank(self) -> int:
        """Number of coefficients that were estimated."""
        return len(self.columns) - len(self.dropped)

    @property
    def aliased(self) -> tuple[str, ...]:
        """Names of the columns that were dropped."""
        return tuple(self.columns[j] for j in self.dropped)

    def state(self) -> dict[str, Any]:
        """Return the facts as values that JSON holds."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> QRegFacts:
        """Return the facts that `state` wrote."""
        terms = tuple((str(name), tuple(int(c) for c in columns)) for name, columns in state["terms"])
        kept = {"columns": tuple(state["columns"]), "dropped": tuple(int(j) for j in state["dropped"]), "terms": terms}
        return cls(**{**state, **kept})
