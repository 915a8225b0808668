"""The median classifier as a model: formula or arrays in, results out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, listed
from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design, Encoder
from qreg_boost.base.facts import Facts
from qreg_boost.base.levels import Levels
from qreg_boost.base.saved_design import parts_of, restore_design
from qreg_boost.classify.median import Medians, class_medians, nearer
from qreg_boost.classify.median_results import MedianResults

DEFAULTS = {"event": None, "scale": False}


class MedianClassifier(ClassModel):
    """The median classifier (Hall, Titterington and Xue 2009): the class whose component-wise median is nearer.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones.
    X : array_like (n, p)
        Predictors, numeric.
    event, scale
        As for `qreg_boost.median_classifier`.
    names : sequence of str, optional
        Names of the columns; by default those of a DataFrame, else x1, x2, ...
    weights : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> fit = MedianClassifier(["a", "a", "b", "b"], [0.0, 1.0, 5.0, 6.0]).fit()
    >>> fit.predict([[2.0], [4.0]]).tolist()
    ['a', 'b']
    """

    function: ClassVar[str] = "median_classifier"

    def __init__(
        self,
        y: Any,
        X: Any,
        *,
        event: Any = None,
        scale: bool = False,
        names: Sequence[str] | None = None,
        weights: Any = None,
        missing: str = "drop",
    ) -> None:
        design = Design.from_arrays(y, X, names=names, weights=weights, missing=missing, response="raw")
        self._set(design, event, scale)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        event: Any = None,
        scale: bool = False,
        weights: Any = None,
        subset: Any = None,
        missing: str = "drop",
        env: Any = None,
    ) -> MedianClassifier:
        """Return the model of a formula; arguments as in `qreg_boost.median_classifier`.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        model = cls.__new__(cls)
        design = Design.from_formula(
            formula, data, weights=weights, subset=subset, missing=missing, env=env, response="raw"
        )
        model._set(design, event, scale)
        return model

    def _set(self, design: Design, event: Any, scale: bool) -> None:
        self._read(design, event)
        self.options = {"event": self.levels.labels[1], "scale": check_bool(scale, "scale")}
        self.call = self._described(design.formula, {"event": event, "scale": scale}, DEFAULTS)

    def fit(self) -> MedianResults:
        """Return the fit."""
        used, weights = self.used, self.design.weights
        X, y = self.design.X[used], self.design.y[used]
        centres = class_medians(X, y, None if weights is None else weights[used], self.options["scale"])
        self._check(centres)
        predicted = (nearer(self.design.X, centres) >= 0.0).astype(float)
        by_deviation = [self.design.column_names[j] for j in centres.by_deviation]
        facts = self.facts(predicted, scale=self.options["scale"], by_deviation=by_deviation)
        return MedianResults(facts, centres, self, self.design.encoder)

    def _check(self, centres: Medians) -> None:
        names = self.design.column_names
        flat = np.flatnonzero(centres.scale == 0.0)
        if len(flat):
            raise InputError(
                f"scale=True divides by the spread within the classes, and {listed(names[j] for j in flat)} "
                f"{'is' if len(flat) == 1 else 'are'} constant within both. Leave such columns out, or use scale=False."
            )
        if np.array_equal(centres.other, centres.event):
            raise InputError(
                "The component-wise medians of both classes are the same in every column, so no row is nearer to one "
                "of them. Columns of zeros and ones often have equal medians; use another classifier, such as qbc."
            )


def restore_median(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> MedianResults:
    """Return the results that a file of `MedianResults.save` holds; with a model if the rows were saved."""
    facts = Facts.from_state(meta["facts"])
    parts = parts_of(arrays, "fit", "encoder", "model")
    encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
    model = None
    if "model" in meta:
        model = MedianClassifier.__new__(MedianClassifier)
        model.design = restore_design(meta["model"], parts["model"], facts, encoder)
        model.options, model.call = dict(meta["options"]), facts.call
        model.levels = Levels.from_state(facts.own["levels"])
    return MedianResults(facts, Medians(**parts["fit"]), model, encoder)
