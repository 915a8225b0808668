"""What L2Boost of a numeric response hands back."""

from __future__ import annotations

import numpy as np

from qreg_boost.base.evaluation import Judged
from qreg_boost.boosting.results import BoostResults


class L2Results(Judged, BoostResults):
    """A fitted L2Boost of a mean; made by `qreg_boost.l2boost`, never changed afterwards."""

    title = "L2 Boosting"
    loss_name = "squared error"
    unit = "units of y"
    instead = "rsquared says how much of the variance is explained, risk_path has the loss."

    @property
    def rsquared(self) -> float:
        """One minus the weighted sum of squared errors over that about the mean; missing if the latter is nil."""
        return 1.0 - self.risk / self.facts.null_loss if self.facts.null_loss > 0 else np.nan

    def judge(
        self, actual: np.ndarray, fitted: np.ndarray, weights: np.ndarray, offset: np.ndarray | None
    ) -> dict[str, float]:
        """Return mean_loss, the mean squared error, and rsquared against the best constant for the rows judged."""
        loss = float(np.average((actual - fitted) ** 2, weights=weights))
        target = actual if offset is None else actual - offset
        null = float(np.average((target - np.average(target, weights=weights)) ** 2, weights=weights))
        return {"mean_loss": loss, "rsquared": 1.0 - loss / null if null > 0.0 else np.nan}

    def quality(self) -> dict[str, float]:
        """Return R-squared."""
        return {"rsquared": self.rsquared}
