"""What classifiers hand back, whatever finds them: labels, decisions, errors on the training rows and on others."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.arrays import check_one_index
from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.base.confusion import confusion_counts, confusion_table, error_rate, missed
from qreg_boost.base.costs import check_cost
from qreg_boost.base.facts import Facts
from qreg_boost.base.frames import as_frame
from qreg_boost.base.levels import Levels
from qreg_boost.base.results import FitResults
from qreg_boost.base.saved_design import design_state


class ClassResults(FitResults):
    """A fitted classifier of two or more classes; never changed once it is made.

    Parameters
    ----------
    facts : Facts
        ``own["levels"]`` holds the labels, ``own["confusion"]`` the counts on the training rows.
    model : object or None
        The model, which holds the rows; None for a fit loaded from a file without data.
    encoder : Encoder
        Encodes new data.
    """

    title = "Classifier"
    instead = "evaluate() and confusion() have the errors."

    def __init__(self, facts: Facts, model: Any, encoder: Any) -> None:
        self.facts = facts
        self._model = model
        self._known = {"encoder": encoder}

    @abstractmethod
    def codes_at(self, X: np.ndarray) -> np.ndarray:
        """Return the predicted code (rows,) at rows of the design (rows, p), NaN where a row holds NaN."""

    # -- classes

    @cached_property
    def levels(self) -> Levels:
        """The labels by code."""
        return Levels.from_state(self.facts.own["levels"])

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels; of two, the event is the second."""
        return self.levels.labels

    @property
    def event(self) -> Any:
        """The label of two that is the event."""
        if len(self.classes) != 2:
            raise NotDefinedError(f"There are {len(self.classes)} classes and no event among them; see `classes`.")
        return self.classes[1]

    # -- rows

    def predict(self, new: Any = None) -> pd.Series:
        """Return predicted labels for new data, as categories; missing where something is missing in the row.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the training rows.

        Raises
        ------
        InputError
            If a column is missing, or a level was not seen in training.
        """
        X, index = self._rows(new)
        return self.levels.series(self.codes_at(X), index)

    def _rows(self, new: Any) -> tuple[np.ndarray, pd.Index]:
        if new is None:
            return self.model.design.X, self.model.design.index
        encoded = self.encoder.encode(new)
        return encoded.X, encoded.index

    @property
    def resid(self) -> pd.Series:
        """Labels have no residuals."""
        raise NotDefinedError("A classifier has no residuals. augment() says which rows are predicted wrongly.")

    # -- errors

    @property
    def _counts(self) -> np.ndarray:
        return np.array(self.facts.own["confusion"], dtype=float)

    def _counts_of(self, data: Any, y: Any, **how: Any) -> np.ndarray:
        """Return the counts (k, k) of the training rows or of others; `how` are options of `predict`."""
        if data is None:
            return self._counts
        predicted = self.levels.code(self.predict(data, **how).astype(object), self.facts.response)
        actual = self._actual(data, y)
        if len(actual) != len(predicted):
            raise InputError(f"`y` must have one label per row: {len(predicted)} rows, but {len(actual)} labels.")
        return confusion_counts(actual, predicted, len(self.classes))

    def _actual(self, data: Any, y: Any) -> np.ndarray:
        name = self.facts.response
        check_one_index(y, data)
        if y is None:
            frame = as_frame(data) if not isinstance(data, np.ndarray) else None
            if frame is None or name not in frame:
                raise InputError(f"The data have no column {name!r}, which is the response; pass its labels as `y`.")
            y = frame[name]
        values = y if isinstance(y, pd.Series) else pd.Series(pd.Categorical(y) if hasattr(y, "categories") else y)
        return self.levels.code(values, name)

    def confusion(self, data: Any = None, y: Any = None) -> pd.DataFrame:
        """Return counts of rows, actual classes by predicted ones; weights are counted for the training rows.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
            Other rows than those of training.
        y : array_like (rows,), optional
            Their labels, where `data` has no column of the response.
        """
        return confusion_table(self._counts_of(data, y), list(self.classes))

    @property
    def error_rate(self) -> float:
        """Share of the training rows predicted wrongly, weights counted."""
        return error_rate(self._counts)

    def evaluate(self, data: Any = None, y: Any = None, cost: Any = None) -> pd.Series:
        """Return how the fit does on the training rows or on other ones: n, error_rate, fn_rate, fp_rate, cost.

        Of two classes ``fn_rate`` and ``fp_rate`` are the shares of the events missed and of the others flagged. Rows
        in which something is missing do not count; ``n`` is what is left, the sum of the weights for the training rows.
        Other rows have no weights.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
        y : array_like (rows,), optional
            Labels, where `data` has no column of the response.
        cost : dict, optional
            What errors of two classes cost, as in ``{"fn": 5, "fp": 1}``: adds ``cost``, the mean cost of a row. It
            prices the labels and changes none.
        """
        return self._evaluation(self._counts_of(data, y), cost)

    def _evaluation(self, counts: np.ndarray, cost: Any) -> pd.Series:
        figures = {"n": float(counts.sum()), **_figures(counts), **self._priced(counts, cost)}
        return pd.Series(figures, name="evaluation")

    def _priced(self, counts: np.ndarray, cost: Any) -> dict[str, float]:
        if cost is None:
            return {}
        if len(counts) != 2:
            raise InputError(
                f"`cost` prices a missed event and a false alarm, and there are {len(counts)} classes; leave it out, "
                "and price the cells of confusion()."
            )
        prices, total = check_cost(cost), float(counts.sum())
        return {"cost": (prices["fn"] * counts[1, 0] + prices["fp"] * counts[0, 1]) / total if total > 0.0 else np.nan}

    # -- tables

    def quality(self) -> dict[str, Any]:
        """Return what a method measures of a fit besides its errors, by name: columns of `glance`."""
        return {}

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the fit."""
        facts = self.facts
        row = {} if facts.tau is None else {"tau": facts.tau}
        row |= {"nobs": facts.nobs, "n_dropped": facts.n_dropped, "n_columns": len(facts.columns)}
        return pd.DataFrame([{**row, **self.quality(), **_figures(self._counts)}])

    def _scores(self, new: Any) -> dict[str, np.ndarray]:
        """Return columns of `augment` that stand before the labels."""
        return {}

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the training rows, or `data`, with ``.predicted`` and ``.wrong``, and ``.decision`` of two classes.

        ``.wrong`` says whether the label differs from the predicted one, as far as the label is known.
        """
        predicted = self.predict(data)
        actual = None
        if data is None:
            design = self.model.design
            table = pd.DataFrame(design.X, index=design.index, columns=list(design.column_names))
            table.insert(0, design.response, self.levels.series(design.y, design.index))
            actual = design.y
        else:
            table = as_frame(data).copy()
            if self.facts.response in table:
                actual = self._actual(table, None)
        for name, values in self._scores(data).items():
            table[name] = values
        table[".predicted"] = predicted.to_numpy()
        if actual is not None:
            codes = self.levels.code(predicted, self.facts.response)
            known = ~(np.isnan(actual) | np.isnan(codes))
            table[".wrong"] = pd.array(np.where(known, codes != actual, False), dtype="boolean")
            table.loc[~known, ".wrong"] = pd.NA
        return table

    # -- saving

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what the method must keep besides its facts."""
        return {}, {}

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds; with `data`, the rows too."""
        encoder_meta, encoder_arrays = self.encoder.state()
        own_meta, own_arrays = self._own_state()
        meta: dict[str, Any] = {"facts": self.facts.state(), "encoder": encoder_meta, "fit": own_meta}
        arrays = {f"encoder.{name}": array for name, array in encoder_arrays.items()}
        arrays |= {f"fit.{name}": array for name, array in own_arrays.items()}
        if data:
            meta["model"], model_arrays = design_state(self.model.design)
            meta["options"] = self.model.plain_options()
            arrays |= {f"model.{name}": array for name, array in model_arrays.items()}
        return meta, arrays

    def in_short(self) -> list[str]:
        """Return the lines of ``print(fit)`` below the call."""
        from qreg_boost.base.class_report import error_line

        return [error_line(self)]

    def __str__(self) -> str:
        from qreg_boost.base.class_report import describe

        return describe(self.title, self.facts.call, self.in_short())


class TwoClassResults(ClassResults):
    """A classifier of two classes that predicts the event where its decision function is at least 0."""

    @abstractmethod
    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return the decision function (rows,) at rows of the design (rows, p)."""

    def codes_at(self, X: np.ndarray) -> np.ndarray:
        """Return 1 (rows,) where the event is predicted, 0 elsewhere, NaN where a row holds NaN."""
        decision = self.decision_at(X)
        return np.where(np.isnan(decision), np.nan, decision >= 0.0)

    def decision_function(self, new: Any = None) -> pd.Series:
        """Return the decision function, for new data or the rows fitted: the event is predicted where it is >= 0.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula. Rows in which something is missing get a missing value.
        """
        X, index = self._rows(new)
        return pd.Series(self.decision_at(X), index=index, name="decision")

    @property
    def fittedvalues(self) -> pd.Series:
        """The decision function of the rows fitted."""
        return self.decision_function().rename("fitted")

    def _scores(self, new: Any) -> dict[str, np.ndarray]:
        return {".decision": self.decision_function(new).to_numpy()}


def _figures(counts: np.ndarray) -> dict[str, float]:
    figures = {"error_rate": error_rate(counts)}
    return figures | ({"fn_rate": missed(counts, 1), "fp_rate": missed(counts, 0)} if len(counts) == 2 else {})
