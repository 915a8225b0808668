"""What JOUS-Boost hands back: probabilities in steps, and labels at any tau."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import check_tau
from qreg_boost.base.class_results import TwoClassResults
from qreg_boost.base.confusion import confusion_counts, confusion_table
from qreg_boost.base.costs import check_agreement, check_cost, tau_of_cost
from qreg_boost.base.facts import Facts
from qreg_boost.compose.cuts import read_off
from qreg_boost.compose.parts import decisions, parts_state

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary


class JousResults(TwoClassResults):
    """Fitted class probabilities by JOUS-Boost; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    parts : tuple of fits
        One classifier for each level of the grid.
    model : Jous or None
    encoder : Encoder
    """

    title = "JOUS-Boost"

    def __init__(self, facts: Facts, parts: tuple[Any, ...], model: Any, encoder: Any) -> None:
        super().__init__(facts, model, encoder)
        self.parts = parts

    @property
    def grid(self) -> np.ndarray:
        """The levels at which there is a classifier."""
        return np.array(self.facts.own["levels_of_p"])

    def probability_at(self, X: np.ndarray) -> np.ndarray:
        """Return estimated probabilities of the event (rows,) at rows of the design (rows, p)."""
        F = decisions(self.parts, X)
        p = read_off(F >= 0.0)
        p[np.isnan(F).any(axis=1)] = np.nan
        return p

    def probability(self, new: Any = None) -> pd.Series:
        """Return estimated probabilities of the event, in steps of the grid: the middle of the cell found.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula; without it, the training rows. Rows in which something is missing get a missing
            value.
        """
        X, index = self._rows(new)
        return pd.Series(self.probability_at(X), index=index, name=f"P({self.event})")

    def predict_proba(self, new: Any = None) -> pd.DataFrame:
        """Return estimated probabilities of both classes, the event in the second column."""
        p = self.probability(new)
        return pd.DataFrame(np.column_stack((1.0 - p, p)), index=p.index, columns=pd.Index(list(self.classes)))

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return P - 1/2 (rows,) at rows of the design (rows, p)."""
        return self.probability_at(X) - 0.5

    def predict(self, new: Any = None, tau: float | None = None, cost: Any = None) -> pd.Series:
        """Return predicted labels: the event where its estimated probability is above 1 - tau.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
        tau : float, optional
            0.5 unless `cost` says otherwise. Levels between those of the grid see its steps.
        cost : dict, optional
            What errors cost, as in ``{"fn": 5, "fp": 1}``: sets tau = fn / (fn + fp).
        """
        X, index = self._rows(new)
        return self.levels.series(self._codes(X, tau, cost), index)

    def _codes(self, X: np.ndarray, tau: float | None, cost: Any) -> np.ndarray:
        level = check_agreement(tau, cost)
        level = check_tau(tau_of_cost(cost) if cost is not None else level)
        p = self.probability_at(X)
        return np.where(np.isnan(p), np.nan, p > 1.0 - level)

    def _counts_of(self, data: Any, y: Any, **how: Any) -> np.ndarray:
        if data is not None or not how:
            return super()._counts_of(data, y, **how)
        design = self.model.design
        return confusion_counts(design.y, self._codes(design.X, **how), 2, design.weights)

    def confusion_at(self, tau: float | None = None, cost: Any = None) -> pd.DataFrame:
        """Return the confusion table of the training rows at another tau than 0.5."""
        return confusion_table(self._counts_of(None, None, tau=tau, cost=cost), list(self.classes))

    def evaluate(self, data: Any = None, y: Any = None, cost: Any = None, tau: float | None = None) -> pd.Series:
        """Return how the fit does on the training rows or on other ones: n, error_rate, fn_rate, fp_rate, cost.

        As for other classifiers, but that the labels are those of ``predict(new, tau, cost)``: a fit of probabilities
        decides by the costs that it is judged by, unless `tau` says otherwise.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
        y : array_like (rows,), optional
            Labels, where `data` has no column of the response.
        cost : dict, optional
            What errors cost, as in ``{"fn": 5, "fp": 1}``: adds ``cost``, the mean cost of a row.
        tau : float, optional
            Level of the labels.
        """
        if tau is None and cost is None:
            return super().evaluate(data, y)
        level = tau_of_cost(check_cost(cost)) if tau is None else check_tau(tau)
        counts = self._counts_of(data, y, tau=level, cost=None)
        return self._evaluation(counts, cost)

    def quality(self) -> dict[str, Any]:
        """Return the booster, the grid, the sampling and the Brier score."""
        own = self.facts.own
        return {name: own[name] for name in ("booster", "grid", "sampling", "jitter", "brier")}

    def tidy(self) -> pd.DataFrame:
        """Return one row per level: level, rows sampled, share of the training rows above it, error on the sample."""
        own = self.facts.own
        return pd.DataFrame(
            {
                "level": own["levels_of_p"],
                "rows": own["rows"],
                "flagged": own["flagged"],
                "error_rate": own["errors"],
            }
        )

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return parts_state(self.parts)

    def in_short(self) -> list[str]:
        """Return the lines of ``print(fit)`` below the call."""
        own = self.facts.own
        parts = f"P({self.event}) by {len(self.parts)} classifiers ({own['booster']}), in steps of 1/{own['grid']}"
        return [parts, f"Brier score: {own['brier']:.4f}", *super().in_short()]

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.compose.report import summarise_jous

        return summarise_jous(self)
