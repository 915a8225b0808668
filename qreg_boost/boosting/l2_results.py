"""What L2Boost of a numeric response hands back."""

from __future__ import annotations

import numpy as np

from qreg_boost.boosting.results import BoostResults


class L2Results(BoostResults):
    """A fitted L2Boost of a mean; made by `qreg_boost.l2boost`, never changed afterwards."""

    title = "L2 Boosting"
    loss_name = "squared error"
    unit = "units of y"
    instead = "rsquared says how much of the variance is explained, risk_path has the loss."

    @property
    def rsquared(self) -> float:
        """One minus the weighted sum of squared errors over that about the mean; missing if the latter is nil."""
        return 1.0 - self.risk / self.facts.null_loss if self.facts.null_loss > 0 else np.nan

    def quality(self) -> dict[str, float]:
        """Return R-squared."""
        return {"rsquared": self.rsquared}
