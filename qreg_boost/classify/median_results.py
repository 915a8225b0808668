"""What the median classifier hands back."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.class_results import TwoClassResults
from qreg_boost.base.facts import Facts
from qreg_boost.classify.median import Medians, nearer

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary


class MedianResults(TwoClassResults):
    """A fitted median classifier; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    centres : Medians
    model : MedianClassifier or None
    encoder : Encoder
    """

    title = "Median Classifier"

    def __init__(self, facts: Facts, centres: Medians, model: Any, encoder: Any) -> None:
        super().__init__(facts, model, encoder)
        self.centres = centres

    @property
    def medians(self) -> pd.DataFrame:
        """Component-wise medians: a row for each column of the design, a column for each class, in the data's units."""
        index = pd.Index(self.facts.columns, name="term")
        columns = pd.Index(list(self.classes), name=self.facts.response)
        return pd.DataFrame(np.column_stack((self.centres.other, self.centres.event)), index=index, columns=columns)

    @property
    def scale(self) -> pd.Series:
        """What differences in each column are divided by: 1 unless ``scale=True``."""
        return pd.Series(self.centres.scale, index=pd.Index(self.facts.columns, name="term"), name="scale")

    @property
    def distance(self) -> float:
        """The distance between the two medians."""
        return float((np.abs(self.centres.event - self.centres.other) / self.centres.scale).sum())

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return by how much rows of the design (rows, p) are nearer to the event's medians (rows,)."""
        return nearer(X, self.centres)

    def quality(self) -> dict[str, Any]:
        """Return the distance between the medians."""
        return {"scaled": self.facts.own["scale"], "distance": self.distance}

    def tidy(self) -> pd.DataFrame:
        """Return one row per column: term, other, event (medians), difference, scale, share of `distance`."""
        c = self.centres
        difference = c.event - c.other
        return pd.DataFrame(
            {
                "term": self.facts.columns,
                "other": c.other,
                "event": c.event,
                "difference": difference,
                "scale": c.scale,
                "share": np.abs(difference) / c.scale / self.distance,
            }
        )

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {field.name: getattr(self.centres, field.name) for field in fields(Medians)}

    def in_short(self) -> list[str]:
        """Return the lines of ``print(fit)`` below the call."""
        from qreg_boost.base.typeset import number

        return [f"Distance between the medians: {number(self.distance)}", *super().in_short()]

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.classify.median_report import summarise

        return summarise(self)
