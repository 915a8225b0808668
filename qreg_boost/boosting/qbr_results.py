"""What Quantile Boost Regression hands back: how near the exact optimum it is, and R1."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.evaluation import Judged
from qreg_boost.boosting.results import BoostResults

if TYPE_CHECKING:
    from qreg_boost.quantreg.solution import Solution


class QBRResults(Judged, BoostResults):
    """A fitted Quantile Boost Regression; made by `qreg_boost.qbr`, never changed afterwards."""

    title = "Quantile Boost Regression"
    loss_name = "check loss"
    unit = "units of y"
    loss_unit = "units of y"

    def _why_stalled(self) -> str:
        if self.facts.step == "line":
            return super()._why_stalled()
        return "the response does not vary, so a step in units of its spread has length 0. Use step_scale=None."

    @property
    def prsquared(self) -> float:
        """R1 = 1 - V/V0 (Koenker and Machado 1999), V0 the loss of the best constant; missing if that is nil."""
        return 1.0 - self.risk / self.facts.null_loss if self.facts.null_loss > 0 else np.nan

    @property
    def optimum(self) -> Solution:
        """The exact minimiser of the check loss over an intercept and all columns; solved once, when asked."""
        if "optimum" not in self._known:
            from qreg_boost.quantreg.interior_point import interior_point

            model = self.model
            # about their centres, as the learners see them: else a column far from 0 looks like the intercept's
            centre = self._linear.centre
            X = np.column_stack((np.ones(len(model.target)), model.design.X - centre))
            centred = interior_point(X, model.target, self.tau, model.design.weights)
            coef = centred.coef.copy()
            coef[0] -= np.nansum(coef[1:] * centre)
            self._known["optimum"] = replace(centred, coef=coef)
            self._known["least"] = centred.objective
        return self._known["optimum"]

    @property
    def optimality_gap(self) -> float:
        """(risk - opt) / opt, opt the least check loss over an intercept and all columns; missing where opt is nil.

        Missing too for learners that are not linear, whose fits may lie below it. It measures optimisation, not
        quality: a fit stopped by cross-validation should have one.
        """
        if not self.has_coefficients:
            return np.nan
        if "least" not in self._known:
            self.optimum  # noqa: B018
        least = self._known["least"]
        return (self.risk - least) / least if least > 0 else np.nan

    def _known_without_rows(self) -> dict[str, Any]:
        if self._model is not None and self.has_coefficients and "least" not in self._known:
            self.optimum  # noqa: B018
        return {"least": self._known["least"]} if "least" in self._known else {}

    def quality(self) -> dict[str, float]:
        """Return R1 and the distance to the exact optimum."""
        return {"prsquared": self.prsquared, "optimality_gap": self.optimality_gap}
