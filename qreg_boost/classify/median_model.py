"""The median classifier as a model: formula or arrays in, results out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, check_options, listed
from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design
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

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        check_options(given, DEFAULTS)
        options = {**DEFAULTS, **given}
        self._read(design, options["event"])
        self.options = {"event": self.levels.labels[1], "scale": check_bool(options["scale"], "scale")}
        self.call = self._described(design.formula, options, DEFAULTS)

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
    opened = MedianClassifier.opened(meta, arrays)
    return MedianResults(opened.facts, Medians(**opened.parts["fit"]), opened.model, opened.encoder)
