"""L2Boost as a model: the mean of a number, or two classes coded 0 and 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_finite
from qreg_boost.base.design import Design
from qreg_boost.boosting.class_losses import Squared
from qreg_boost.boosting.class_settings import L2Settings
from qreg_boost.boosting.classifier_model import ClassifierModel
from qreg_boost.boosting.classifier_results import ClassBoostResults, L2ClassResults
from qreg_boost.boosting.l2_results import L2Results
from qreg_boost.boosting.losses import Loss
from qreg_boost.boosting.path import BoostPath
from qreg_boost.boosting.results import BoostResults
from qreg_boost.boosting.stopping import CVResult

CLASSES = "l2boost of classes"
"""The family of fits to classes, in saved files."""


class L2Boost(ClassifierModel):
    """L2Boost (Buhlmann and Yu 2003): boosting of squared error.

    A numeric response is regressed on; labels, or any response with `event` given, are two classes coded 0 and 1.

    Parameters
    ----------
    y : array_like (n,)
    X : array_like (n, p)
    **options
        `names`, `weights`, `offset` (regression only), `missing`, and those of `qreg_boost.l2boost`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20.0)
    >>> L2Boost(3 + 2 * x, x).fit().params.round(2).to_dict()
    {'Intercept': 3.0, 'x1': 2.0}
    """

    settings_kind: ClassVar[type[L2Settings]] = L2Settings
    results_kind: ClassVar[type[ClassBoostResults]] = L2ClassResults
    function: ClassVar[str] = "l2boost"
    loss_name: ClassVar[str] = "squared error"
    threshold: ClassVar[float] = 0.5

    def _read(self, design: Design, options: dict[str, Any]) -> Design:
        if options.get("event") is not None or not _numeric(design.y):
            return super()._read(design, options)
        y = np.asarray(design.y, dtype=float)
        y = y[:, 0].copy() if y.ndim == 2 and y.shape[1] == 1 else y.copy()
        if y.ndim != 1:
            raise InputError(f"Response {design.response!r} has {y.shape[1]} columns; fit one model for each.")
        check_finite(y, f"Response {design.response!r}")
        return replace(design, y=y)

    @property
    def classifies(self) -> bool:
        """Whether the response is two classes."""
        return self._one.classes is not None

    @property
    def family(self) -> str:
        """What summaries and saved files know the kind of fit by."""
        return CLASSES if self.classifies else self.function

    def _warn_of_one_class(self, fits: Any) -> None:
        if self.classifies:
            super()._warn_of_one_class(fits)

    def _results(self, path: BoostPath, how: str, chosen: CVResult | None = None) -> BoostResults:  # type: ignore[override]
        if self.classifies:
            return super()._results(path, how, chosen)
        return L2Results(self._facts(how), path, path.length, self, chosen)

    def _loss(self) -> Loss:
        return Squared()

    def _start(self, y: np.ndarray, weights: np.ndarray) -> float:
        return super()._start(y, weights) if self.classifies else self._first(y, weights)

    def _own_facts(self) -> dict[str, Any]:
        return super()._own_facts() if self.classifies else {}


def _numeric(y: Any) -> bool:
    if isinstance(y, pd.Categorical):
        return False
    array = np.asarray(y)
    if array.dtype.kind == "O":
        array = np.asarray(pd.Series(array.ravel()).infer_objects())
    return array.dtype.kind in "iuf"
