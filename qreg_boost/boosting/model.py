"""Quantile Boost Regression as a model: formula or arrays in, results out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, warn
from qreg_boost.base.design import Design
from qreg_boost.base.rank import independent_columns
from qreg_boost.boosting.base_model import BoostModel
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.path import BoostPath
from qreg_boost.boosting.qbr_results import QBRResults
from qreg_boost.boosting.settings import QBRSettings
from qreg_boost.boosting.steps import step_unit
from qreg_boost.boosting.stopping import CVResult

RISEN = 1.05
"""A loss that ends this much above its start says that the steps are too long."""
ROUNDING = 1e-10
"""A residual this small, in units of the spread of y, is 0 but for rounding."""


class QBR(BoostModel):
    """Quantile Boost Regression (Zheng 2012): functional gradient descent on the check loss.

    Arrays are used as they are, without a copy: do not change them while the model or its fits are in use.

    Parameters
    ----------
    y : array_like (n,)
        Response, numeric.
    X : array_like (n, p)
        Predictors as they are; the intercept belongs to the learner and is not among them.
    tau : float or sequence of floats
        Quantile level, strictly between 0 and 1; with several, `fit` returns a `QuantileProcess`.
    names : sequence of str, optional
        Names of the predictors; by default those of a DataFrame, else x1, x2, ...
    weights, offset : array_like (n,), optional
    missing : {"drop", "raise", "branch"}
        "branch" (stumps and trees) keeps rows whose predictors are missing.
    **options
        `learner`, `mstop`, `nu`, `step`, `init`, `step_scale`, `progress`: see `qreg_boost.qbr`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20.0)
    >>> fit = QBR(3 + 2 * x, x, tau=0.5).fit()
    >>> fit.params.round(2).to_dict()
    {'Intercept': 3.0, 'x1': 2.0}
    """

    settings_kind: ClassVar[type[QBRSettings]] = QBRSettings
    function: ClassVar[str] = "qbr"
    loss_name: ClassVar[str] = "check loss"

    def __init__(self, y: Any, X: Any, tau: Any = 0.5, **options: Any) -> None:
        super().__init__(y, X, tau=tau, **options)

    @classmethod
    def from_formula(cls, formula: str, data: Any, tau: Any = 0.5, **options: Any) -> QBR:
        """Return the model of a formula; arguments as in `qreg_boost.qbr`.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        return super().from_formula(formula, data, tau=tau, **options)

    def _results(self, path: BoostPath, how: str, chosen: CVResult | None = None) -> QBRResults:
        if path.risks[-1] > RISEN * path.risks[0]:
            warn(
                f"The check loss ended at {path.risks[-1]:.6g}, above the {path.risks[0]:.6g} it started from: the "
                f"steps are too long for these rows. Lower `nu`, which is {self._one.nu:g}.",
                ConvergenceWarning,
            )
        return QBRResults(self._facts(how), path, path.length, self, chosen)

    def _loss(self) -> CheckLoss:
        return CheckLoss(self._one.tau, self._one.ties)

    def _start(self, y: np.ndarray, weights: np.ndarray) -> float:
        return self._one.start(y, _uneven(weights))

    def _unit(self, y: np.ndarray, weights: np.ndarray) -> float:
        return step_unit(self._one.step_scale, y, _uneven(weights))

    def _rounding(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return what is rounding in y; nil where mboost or gbm is repeated; the line search has its own."""
        if self._one.step_scale is None or self._one.step == "line" or self._one.ties == "upper":
            return 0.0
        return ROUNDING * step_unit("auto", y, _uneven(weights))

    def _own_facts(self) -> dict[str, Any]:
        scale = "leaf" if self._task.learner.in_units_of_fit else self._one.step_scale or "none"
        return {"init": str(self._one.init), "step_scale": scale}

    def _null_loss(self) -> float:
        loss, task = self._loss(), self._task
        constant = loss.constant(task.y, _uneven(task.weights)) if _spans_constant(self.design) else 0.0
        return loss.risk(task.y, constant, task.weights)


def _uneven(weights: np.ndarray) -> np.ndarray | None:
    """Return the weights (n,), or None where all are equal and so say nothing."""
    return None if np.ptp(weights) == 0.0 else weights


def _spans_constant(design: Design) -> bool:
    if design.intercept or design.encoder.branch:  # leaves hold constants
        return True
    ones = np.ones(len(design.y))
    return design.X.shape[1] not in independent_columns(np.column_stack((design.X, ones)), weights=design.weights)
