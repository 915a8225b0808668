"""What is known of a boosted fit besides its path."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class BoostFacts:
    """What is known of a fit besides its path; plain values that a saved file can hold.

    Attributes
    ----------
    family : str
        The formula function that makes such fits.
    tau : float or None
        None for families that have none.
    learner, step : str
        Those options by name.
    nu : float
    gamma : float or None
        Step of the first iteration, in units of y over those of the negative gradient; None for the line search.
    how : str
        How the number of iterations was chosen.
    call, formula, response : str
    nobs, n_dropped, n_zero_weight : int
        Rows fitted (weight above 0), rows dropped because something was missing, rows of weight 0.
    total_weight : float
    weighted, has_offset, intercept : bool
    null_loss : float
        Weighted sum of losses of the best constant.
    columns : tuple of str
    terms : tuple of (str, tuple of int)
        Name and columns of each term.
    when : str
        Date and time of the fit.
    own : dict
        Facts of the family, as values that JSON holds.
    """

    family: str
    tau: float | None
    learner: str
    step: str
    nu: float
    gamma: float | None
    how: str
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
    null_loss: float
    columns: tuple[str, ...]
    terms: tuple[tuple[str, tuple[int, ...]], ...]
    when: str
    own: dict[str, Any]

    @classmethod
    def of(
        cls,
        design: Any,
        *,
        family: str,
        call: str,
        settings: Any,
        how: str,
        gamma: float | None,
        null_loss: float,
        own: dict[str, Any],
    ) -> BoostFacts:
        """Return the facts of a fit to `design` with `settings`."""
        weights = design.weights
        positive = len(design.y) if weights is None else int((weights > 0).sum())
        return cls(
            family=family,
            tau=getattr(settings, "tau", None),
            learner=settings.learner.name,
            step=settings.step,
            nu=settings.nu,
            gamma=gamma,
            how=how,
            call=call,
            formula=design.formula,
            response=design.response,
            nobs=positive,
            n_dropped=design.n_dropped,
            n_zero_weight=len(design.y) - positive,
            total_weight=float(positive if weights is None else weights.sum()),
            weighted=weights is not None,
            has_offset=design.offset is not None,
            intercept=design.intercept,
            null_loss=null_loss,
            columns=design.column_names,
            terms=design.terms,
            when=datetime.now().strftime("%Y-%m-%d %H:%M"),
            own=own,
        )

    def state(self) -> dict[str, Any]:
        """Return the facts as values that JSON holds."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> BoostFacts:
        """Return the facts that `state` wrote."""
        terms = tuple((str(name), tuple(int(c) for c in columns)) for name, columns in state["terms"])
        return cls(**{**state, "columns": tuple(state["columns"]), "terms": terms})
