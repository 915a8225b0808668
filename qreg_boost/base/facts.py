"""What is known of a fit besides its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar

from qreg_boost.base.design import Design

Own = TypeVar("Own", bound="RowFacts")


@dataclass(frozen=True, kw_only=True)
class RowFacts:
    """What is known of the call and of the rows of any fit; plain values that a saved file can hold.

    Attributes
    ----------
    call, formula, response : str
    nobs, n_dropped, n_zero_weight : int
        Rows fitted (weight above 0), rows dropped because something was missing, rows of weight 0.
    total_weight : float
    weighted, intercept : bool
    columns : tuple of str
        Names of the design's columns.
    terms : tuple of (str, tuple of int)
        Name and columns of each term.
    when : str
        Date and time of the fit.
    """

    call: str
    formula: str | None
    response: str
    nobs: int
    n_dropped: int
    n_zero_weight: int
    total_weight: float
    weighted: bool
    intercept: bool
    columns: tuple[str, ...]
    terms: tuple[tuple[str, tuple[int, ...]], ...]
    when: str

    @property
    def design_columns(self) -> tuple[str, ...]:
        """Names of the design's columns, without one for the intercept."""
        return self.columns

    def state(self) -> dict[str, Any]:
        """Return the facts as values that JSON holds."""
        return asdict(self)

    @classmethod
    def from_state(cls: type[Own], state: Mapping[str, Any]) -> Own:
        """Return the facts that `state` wrote."""
        terms = tuple((str(name), tuple(int(c) for c in columns)) for name, columns in state["terms"])
        return cls(**{**state, "columns": tuple(state["columns"]), "terms": terms})


def facts_of_rows(design: Design) -> dict[str, Any]:
    """Return the facts of a fit to `design` that the design tells, by the names of `RowFacts`: all but the call."""
    weights, n = design.weights, len(design.index)
    positive = n if weights is None else int((weights > 0).sum())
    return {
        "formula": design.formula,
        "response": design.response,
        "nobs": positive,
        "n_dropped": design.n_dropped,
        "n_zero_weight": n - positive,
        "total_weight": float(positive if weights is None else weights.sum()),
        "weighted": weights is not None,
        "intercept": design.intercept,
        "columns": tuple(design.column_names),
        "terms": tuple((term.name, tuple(int(c) for c in term.columns)) for term in design.terms),
        "when": datetime.now().strftime("%Y-%m-%d %H:%M"),
    }


@dataclass(frozen=True, kw_only=True)
class Facts(RowFacts):
    """What is known of a fit besides its numbers; plain values that a saved file can hold.

    Attributes
    ----------
    function : str
        The formula function that makes such fits.
    tau : float or None
        None for methods that have none.
    own : dict
        Facts of the method, as values that JSON holds.
    """

    function: str
    tau: float | None
    own: dict[str, Any]

    @classmethod
    def of(cls, design: Design, *, function: str, call: str, own: dict[str, Any], tau: float | None = None) -> Facts:
        """Return the facts of a fit to `design`."""
        return cls(function=function, tau=tau, call=call, own=own, **facts_of_rows(design))
