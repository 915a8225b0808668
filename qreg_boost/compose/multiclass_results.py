"""What a classifier of several classes hands back."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.base.class_results import ClassResults
from qreg_boost.base.facts import Facts
from qreg_boost.compose.codes import by_hamming, by_loss
from qreg_boost.compose.parts import decisions, parts_state

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary


def scores(
    F: np.ndarray, code: np.ndarray, decoding: str, loss: Callable[[np.ndarray], np.ndarray] | None
) -> np.ndarray:
    """Return for each row and class (rows, k) how much speaks for it, of decision functions F (rows, L).

    >>> scores(np.array([[-1.0, 2.0]]), np.array([[1, -1], [-1, 1]]), "largest", None).tolist()
    [[-1.0, 2.0]]
    """
    if decoding == "largest":
        return F
    return by_hamming(F, code) if loss is None else by_loss(F, code, loss)


class MultiClassResults(ClassResults):
    """A fitted classifier of several classes; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    parts : tuple of fits
        One for each column of the code.
    model : MultiClass or None
    encoder : Encoder
    loss : function or None
        Of the margin, for loss-based decoding.
    """

    title = "Multi-class Classification"

    def __init__(self, facts: Facts, parts: tuple[Any, ...], model: Any, encoder: Any, loss: Any) -> None:
        super().__init__(facts, model, encoder)
        self.parts = parts
        self._loss = loss

    @cached_property
    def code(self) -> pd.DataFrame:
        """The code: a row for each class, a column for each classifier, 1 and -1 its classes, 0 left out."""
        matrix = np.array(self.facts.own["code"], dtype=np.int64)
        columns = pd.Index([f"c{j + 1}" for j in range(matrix.shape[1])], name="classifier")
        return pd.DataFrame(matrix, index=pd.Index(list(self.classes), name="class"), columns=columns)

    @property
    def fittedvalues(self) -> Any:
        """Several classes have no fit of one number."""
        raise NotDefinedError("Several classes have no single fitted value; decision_function() has one for each.")

    def decision_function(self, new: Any = None) -> pd.DataFrame:
        """Return for each row how much speaks for each class; the class of the largest is predicted.

        Under ``decoding="largest"`` it is the decision function of the class against all others, under "hamming" minus
        the Hamming distance of its code word, under "loss" minus the sum of losses.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
        """
        X, index = self._rows(new)
        return pd.DataFrame(self._scores_at(X), index=index, columns=pd.Index(list(self.classes), name="class"))

    def decisions(self, new: Any = None) -> pd.DataFrame:
        """Return the decision function of each classifier, a column for each."""
        X, index = self._rows(new)
        return pd.DataFrame(decisions(self.parts, X), index=index, columns=self.code.columns)

    def _scores_at(self, X: np.ndarray) -> np.ndarray:
        own = self.facts.own
        F = decisions(self.parts, X)
        table = scores(F, np.array(own["code"]), own["decoding"], self._loss)
        table[np.isnan(F).any(axis=1)] = np.nan
        return table

    def codes_at(self, X: np.ndarray) -> np.ndarray:
        """Return the code (rows,) of the class that most speaks for, of equals the first."""
        table = self._scores_at(X)
        lost = np.isnan(table).any(axis=1)
        return np.where(lost, np.nan, np.where(np.isnan(table), -np.inf, table).argmax(axis=1))

    def quality(self) -> dict[str, Any]:
        """Return the booster, the code and its least distance, the decoding."""
        own = self.facts.own
        return {
            "booster": own["booster"],
            "n_classes": len(self.classes),
            "code": own["code_name"],
            "n_classifiers": len(self.parts),
            "least_distance": own["least_distance"],
            "decoding": own["decoding"],
        }

    def tidy(self) -> pd.DataFrame:
        """Return one row per classifier: classifier, the classes it calls event and other, its training error."""
        matrix = self.code.to_numpy()
        labels = [str(label) for label in self.classes]

        def of(sign: int, column: int) -> str:
            return ", ".join(label for label, value in zip(labels, matrix[:, column], strict=True) if value == sign)

        return pd.DataFrame(
            {
                "classifier": self.code.columns.to_list(),
                "event": [of(1, j) for j in range(matrix.shape[1])],
                "other": [of(-1, j) for j in range(matrix.shape[1])],
                "error_rate": self.facts.own["errors"],
            }
        )

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if self.facts.own["decoding"] not in ("largest", "hamming", "loss"):
            raise InputError(
                "A fit that is decoded by a function of the caller's cannot be saved; fit with decoding='hamming'."
            )
        return parts_state(self.parts)

    def in_short(self) -> list[str]:
        """Return the lines of ``print(fit)`` below the call."""
        own = self.facts.own
        parts = f"{len(self.classes)} classes by {len(self.parts)} classifiers ({own['booster']}, {own['code_name']})"
        return [f"{parts}, decoded by {own['decoding']}", *super().in_short()]

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.compose.report import summarise_multiclass

        return summarise_multiclass(self)
