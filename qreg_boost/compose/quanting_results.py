"""What quantiles by classification hand back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.evaluation import Judged
from qreg_boost.base.facts import Facts
from qreg_boost.base.frames import as_frame
from qreg_boost.base.results import FitResults
from qreg_boost.base.saved_design import design_state
from qreg_boost.compose.cuts import Cuts
from qreg_boost.compose.parts import decisions, parts_state

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary


class QuantingResults(Judged, FitResults):
    """Fitted quantiles by classification; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    parts : tuple of fits
        One classifier for each cut.
    cuts : Cuts
    model : Quanting or None
    encoder : Encoder
    """

    title = "Quantiles by Classification"

    def __init__(self, facts: Facts, parts: tuple[Any, ...], cuts: Cuts, model: Any, encoder: Any) -> None:
        self.facts = facts
        self.parts = parts
        self.cuts = cuts
        self._model = model
        self._known = {"encoder": encoder}

    @property
    def risk(self) -> float:
        """Weighted sum of check losses, in units of y."""
        return float(self.facts.own["risk"])

    @property
    def prsquared(self) -> float:
        """R1 = 1 - V/V0, V0 the loss of the best constant; missing if that is nil."""
        null = float(self.facts.own["null_risk"])
        return 1.0 - self.risk / null if null > 0 else np.nan

    def _values(self, X: np.ndarray) -> np.ndarray:
        F = decisions(self.parts, X)
        fit = self.cuts.sum_up(F >= 0.0)
        fit[np.isnan(F).any(axis=1)] = np.nan
        return fit

    @cached_property
    def fittedvalues(self) -> pd.Series:
        """Fitted quantiles of the rows kept, under the caller's labels, in units of y."""
        design = self.model.design
        return pd.Series(self._values(design.X), index=design.index, name="fitted")

    @property
    def resid(self) -> pd.Series:
        """Response minus fitted quantile of the rows kept, under the caller's labels."""
        return (self.model.design.y - self.fittedvalues).rename("resid")

    def predict(self, new: Any = None) -> pd.Series:
        """Return predicted quantiles, in units of y.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the fitted values. Rows in which something
            is missing get a missing prediction.

        Raises
        ------
        InputError
            If a column is missing, or a level was not seen in training.
        """
        if new is None:
            return self.fittedvalues
        encoded = self.encoder.encode(new)
        return pd.Series(self._values(encoded.X), index=encoded.index, name="predicted")

    # -- tables

    def tidy(self) -> pd.DataFrame:
        """Return one row per classifier: cut, step, and the shares of rows at or above it, actual and predicted."""
        own = self.facts.own
        return pd.DataFrame(
            {
                "cut": self.cuts.at,
                "step": self.cuts.steps,
                "above": own["above"],
                "predicted_above": own["predicted_above"],
            }
        )

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the fit.

        ``not_monotone`` counts the training rows for which a classifier says yes above one that says no.
        """
        facts, own = self.facts, self.facts.own
        row = {
            "tau": facts.tau,
            "nobs": facts.nobs,
            "n_dropped": facts.n_dropped,
            "classifier": own["classifier"],
            "n_classifiers": len(self.parts),
            "risk": self.risk,
            "null_risk": own["null_risk"],
            "prsquared": self.prsquared,
            "coverage": own["coverage"],
            "not_monotone": own["fell"],
        }
        return pd.DataFrame([row])

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the training rows with ``.fitted`` and ``.resid``; or `data` (``.resid`` if it has the response)."""
        if data is None:
            design = self.model.design
            table = pd.DataFrame(design.X, index=design.index, columns=list(design.column_names))
            table.insert(0, design.response, design.y)
            return table.assign(**{".fitted": self.fittedvalues, ".resid": self.resid})
        table = as_frame(data).copy()
        table[".fitted"] = self.predict(data).to_numpy()
        if self.facts.response in table:
            table[".resid"] = table[self.facts.response].astype(float).to_numpy() - table[".fitted"].to_numpy()
        return table

    # -- saving and print

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds; with `data`, the rows too."""
        encoder_meta, encoder_arrays = self.encoder.state()
        own_meta, own_arrays = parts_state(self.parts)
        meta: dict[str, Any] = {
            "facts": self.facts.state(),
            "encoder": encoder_meta,
            "fit": own_meta,
            "start": self.cuts.start,
        }
        arrays = {f"encoder.{name}": array for name, array in encoder_arrays.items()}
        arrays |= {f"fit.{name}": array for name, array in own_arrays.items()}
        arrays |= {"cuts.at": self.cuts.at, "cuts.steps": self.cuts.steps}
        if data:
            meta["model"], model_arrays = design_state(self.model.design)
            meta["options"] = self.model.plain_options()
            arrays |= {f"model.{name}": array for name, array in model_arrays.items()}
        return meta, arrays

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.compose.report import summarise_quanting

        return summarise_quanting(self)

    def __str__(self) -> str:
        from qreg_boost.base.class_report import describe
        from qreg_boost.base.typeset import fraction, number

        parts = f"{self.tau:g}-quantile by {len(self.parts)} classifiers ({self.facts.own['classifier']})"
        known = "" if np.isnan(self.prsquared) else f"; R1: {fraction(self.prsquared)}"
        return describe(self.title, self.facts.call, [parts, f"Check loss: {number(self.risk)}{known}"])
