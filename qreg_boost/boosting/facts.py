"""What is known of a boosted fit besides its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qreg_boost.base.facts import RowFacts, facts_of_rows


@dataclass(frozen=True, kw_only=True)
class BoostFacts(RowFacts):
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
    has_offset : bool
    null_loss : float
        Weighted sum of losses of the best constant.
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
    has_offset: bool
    null_loss: float
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
        return cls(
            family=family,
            tau=getattr(settings, "tau", None),
            learner=settings.learner.name,
            step=settings.step,
            nu=settings.nu,
            gamma=gamma,
            how=how,
            call=call,
            has_offset=design.offset is not None,
            null_loss=null_loss,
            own=own,
            **facts_of_rows(design),
        )
