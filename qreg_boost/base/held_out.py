"""Loss out of sample along a path, by fold, and the best place on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

RULES = ("min", "1se")


@dataclass(frozen=True, eq=False, repr=False)
class HeldOutRisk:
    """Out-of-sample loss at the places of a path, from the least fit to the closest.

    Attributes
    ----------
    risk : DataFrame (folds by places)
        Weighted mean loss per held-out row.
    rule : str
        "min" or "1se": the place of least mean loss, or the first within one standard error of it.
    kind : str
        How rows were held out, in words.
    """

    risk: pd.DataFrame
    rule: str
    kind: str

    @property
    def mean(self) -> pd.Series:
        """Mean over folds, by place."""
        return self.risk.mean(axis=0)

    @property
    def se(self) -> pd.Series:
        """Standard error of the mean over folds, by place; missing with one fold."""
        return self.risk.std(axis=0, ddof=1) / np.sqrt(len(self.risk))

    @property
    def _least(self) -> int:
        """Position of the least mean loss, the first of equals."""
        return int(np.argmin(self.mean.to_numpy()))

    @property
    def _within_1se(self) -> int:
        """First position whose mean loss is within one standard error of the least."""
        mean, best = self.mean.to_numpy(), self._least
        margin = float(self.se.to_numpy()[best]) if len(self.risk) > 1 else 0.0
        return int(np.argmax(mean <= mean[best] + margin))

    def _table(self, name: str, place: str) -> pd.DataFrame:
        """Return place, mean loss and its standard error at the start, at both places that rules choose, and last."""
        at = {"start": 0, "least": self._least, "one standard error": self._within_1se, "last": self.risk.shape[1] - 1}
        where = list(at.values())
        columns = {place: self.risk.columns, "mean_loss": self.mean, "std_error": self.se}
        return pd.DataFrame(
            {column: np.asarray(values)[where] for column, values in columns.items()}, index=pd.Index(at, name=name)
        )

    def __repr__(self) -> str:
        return str(self)
