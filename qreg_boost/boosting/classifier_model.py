"""Classifiers of two classes as models: Quantile Boost Classification, LogitBoost, AdaBoost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, OneClassWarning, listed, warn
from qreg_boost.base.classes import Classes, read_classes
from qreg_boost.base.costs import check_agreement
from qreg_boost.base.design import Design
from qreg_boost.boosting.base_model import BoostModel
from qreg_boost.boosting.class_losses import Binomial, Errors, Exponential, NewtonBinomial, SmoothedScore, Votes
from qreg_boost.boosting.class_rest import at_rest
from qreg_boost.boosting.class_settings import (
    AdaBoostSettings,
    ClassSettings,
    LogitBoostSettings,
    QBCSettings,
)
from qreg_boost.boosting.classifier_results import (
    AdaBoostResults,
    ClassBoostResults,
    LogitBoostResults,
    QBCResults,
)
from qreg_boost.boosting.losses import Loss
from qreg_boost.boosting.path import BoostPath
from qreg_boost.boosting.qbc_process_results import QBCProcess
from qreg_boost.boosting.steps import StepRule
from qreg_boost.boosting.stopping import CV, CVResult
from qreg_boost.boosting.voting import Vote

RISEN = 1.05
"""A loss that ends this much above its start says that the steps are too long."""
PAST_LEAST = 1.01
"""A loss that ends this much above its own least says that a bounded Newton step no longer goes down."""
NOTHING = 1e-6
"""A least loss below this share of the start is nil: what it rises by says nothing."""


class ClassifierModel(BoostModel):
    """A boosted classifier of two classes; its response holds labels, coded 1 for the event and 0 for the other."""

    settings_kind: ClassVar[type[ClassSettings]] = ClassSettings
    results_kind: ClassVar[type[ClassBoostResults]] = ClassBoostResults
    response: ClassVar[str] = "raw"
    threshold: ClassVar[float] = 0.0
    """The event is predicted where the fit is at least this."""

    def _read(self, design: Design, options: dict[str, Any]) -> Design:
        if design.offset is not None:
            raise InputError("A classifier takes no `offset`; leave it out.")
        y, classes = code_labels(design, options.get("event"))
        options["classes"] = classes.state()
        if options.get("event") is not None:
            options["event"] = classes.event
        return replace(design, y=y)

    @property
    def classes(self) -> Classes:
        """The two labels."""
        return Classes(**self._one.classes)

    def fit(self) -> Any:
        """Return the fit, or the fits at several taus; warns where one class is predicted for every row."""
        fit = super().fit()
        fits = fit.fits if self.taus is not None else [fit]
        self._warn_of_one_class(fits)
        self._warn_of_rest(fits)
        return fit

    def _warn_of_rest(self, fits: Sequence[ClassBoostResults]) -> None:
        """Warn of fits that stopped moving long before they were asked to; QBC knows such."""

    def _warn_of_one_class(self, fits: Sequence[ClassBoostResults]) -> None:
        sided = [fit for fit in fits if fit.mstop and fit.tally.one_sided]
        if sided:
            warn(self._why_one_class(sided), OneClassWarning)

    def _why_one_class(self, fits: Sequence[ClassBoostResults]) -> str:
        return f"{_everywhere(fits[0])}: the fit crosses the boundary nowhere. More iterations may: fit.extend(m)."

    def _results(self, path: BoostPath, how: str, chosen: CVResult | None = None) -> ClassBoostResults:
        if why := self._why_risen(path.risks):
            warn(why, ConvergenceWarning)
        return self.results_kind(self._facts(how), path, path.length, self, chosen)

    def _why_risen(self, risks: np.ndarray) -> str:
        """Return what to say of a loss by iteration (m + 1,) that rose, or an empty string."""
        if risks[-1] <= RISEN * risks[0]:
            return ""
        return (
            f"The {self.loss_name} ended at {risks[-1]:.6g}, above the {risks[0]:.6g} it started from: "
            f"the steps are too long for these rows. Lower `nu`, which is {self._one.nu:g}."
        )

    def _start(self, y: np.ndarray, weights: np.ndarray) -> float:
        if np.ptp(y) == 0.0:
            raise InputError(
                "The rows of a fold or replicate hold one class only; use fewer folds, or folds with both classes in "
                "each (sklearn's StratifiedKFold, passed as `folds`, makes such)."
            )
        return self._first(y, weights)

    def _first(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return the constant that a fit to both classes starts from."""
        return self._loss().constant(y, weights)

    @property
    def prices(self) -> dict[str, float]:
        """What a missed event (fn) and a false alarm (fp) cost."""
        return {"fn": 1.0, "fp": 1.0}

    def refitted_at(self, weights: np.ndarray, stop: int, X: np.ndarray) -> np.ndarray:
        """Return the fit (rows,) at X (rows, p) after `stop` iterations with other case weights (n,)."""
        model = self.changed(progress=False)
        path = model._run(model.task(weights), stop)
        return _where_known(path.fit_at(path.length, X), X, path) - self.threshold

    def judged_by(self, loss: str, cv: CV) -> CVResult:
        """Return the loss out of sample, the error or the cost, by iteration."""
        if loss == "loss":
            return self.cross_validate(cv)
        prices = self.prices if loss == "cost" else {"fn": 1.0, "fp": 1.0}
        judge = Errors(prices["fn"], prices["fp"], self.threshold)
        return self.cross_validate(cv, judge, "error rate" if loss == "error" else "cost")

    def _own_facts(self) -> dict[str, Any]:
        y, w = self.design.y, self.weights
        used = w > 0
        events = float(w[used] @ y[used])
        return {
            "classes": self._one.classes,
            "events": events,
            "others": float(w[used].sum()) - events,
            "prices": self.prices,
        }


def _where_known(f: np.ndarray, X: np.ndarray, path: BoostPath) -> np.ndarray:
    """Return the fit (rows,), missing where a row of X misses something that the learner cannot do without."""
    if X.shape[1] and not path.handles_missing():
        f[np.isnan(X).any(axis=1)] = np.nan
    return f


def code_labels(design: Design, event: Any) -> tuple[np.ndarray, Classes]:
    """Return the response coded 0 and 1 (n,), and its labels; rows of weight 0 have no say in what the classes are.

    Such rows may hold other labels, which are coded as missing.
    """
    if design.weights is None or (design.weights > 0).all():
        return read_classes(design.y, design.response, event)
    used = design.weights > 0
    coded, classes = read_classes(design.y[used], design.response, event)
    y = np.empty(len(used))
    y[used], y[~used] = coded, classes.code(design.y[~used])
    return y, classes


class QBC(ClassifierModel):
    """Quantile Boost Classification (Zheng 2012): functional gradient descent on the smoothed score.

    Arrays are used as they are, without a copy: do not change them while the model or its fits are in use.

    Parameters
    ----------
    y : array_like (n,)
        Labels: text, numbers, booleans or categories, two distinct ones; the second is the event.
    X : array_like (n, p)
        Predictors as they are; the intercept belongs to the learner and is not among them.
    tau : float or sequence of floats, optional
        Strictly between 0 and 1, 0.5 unless `cost` says otherwise; with several, `fit` returns a `QBCProcess`.
    names : sequence of str, optional
        Names of the predictors; by default those of a DataFrame, else x1, x2, ...
    weights : array_like (n,), optional
    missing : {"drop", "raise"}
    **options
        `event`, `cost`, `h`, `learner`, `mstop`, `nu`, `step`, `progress`: see `qreg_boost.qbc`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(10.0)
    >>> QBC(np.where(x > 4, "large", "small"), x, event="large").fit().error_rate
    0.0
    """

    settings_kind: ClassVar[type[QBCSettings]] = QBCSettings
    results_kind: ClassVar[type[ClassBoostResults]] = QBCResults
    function: ClassVar[str] = "qbc"
    loss_name: ClassVar[str] = "smoothed cost"

    def __init__(self, y: Any, X: Any, tau: Any = None, **options: Any) -> None:
        super().__init__(y, X, tau=check_agreement(tau, options.get("cost")), **options)

    @classmethod
    def from_formula(cls, formula: str, data: Any, tau: Any = None, **options: Any) -> QBC:
        """Return the model of a formula; arguments as in `qreg_boost.qbc`.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        return super().from_formula(formula, data, tau=check_agreement(tau, options.get("cost")), **options)

    @property
    def prices(self) -> dict[str, float]:
        """What a missed event (fn) and a false alarm (fp) cost: as told, or tau and 1 - tau."""
        return self._one.prices

    def _process(self, fits: list[Any]) -> QBCProcess:
        return QBCProcess(self.taus or [], fits)

    def _loss(self) -> Loss:
        return SmoothedScore(self._one.tau, self._one.h)

    def _first(self, y: np.ndarray, weights: np.ndarray) -> float:
        return 0.0  # Zheng (2012), Fig. 3

    def _warn_of_rest(self, fits: Sequence[ClassBoostResults]) -> None:
        resting = [fit for fit in fits if fit.resting_since is not None and not fit.tally.one_sided]
        if resting:
            where = f"At tau = {listed(f'{fit.tau:g}' for fit in resting)}: " if len(fits) > 1 else ""
            warn(where + at_rest(resting[0]), ConvergenceWarning)

    def _own_facts(self) -> dict[str, Any]:
        return {**super()._own_facts(), "h": self._one.h, "cost": self._one.cost}

    def _why_one_class(self, fits: Sequence[ClassBoostResults]) -> str:
        event = self.classes.event
        if len(fits) > 1:
            return (
                f"At tau = {listed(f'{fit.tau:g}' for fit in fits)} one class is predicted for every row: no row's "
                f"P({event}) is estimated on the other side of 1 - tau."
            )
        tau, flagged = fits[0].tau, fits[0].tally.flagged > 0.0
        side, remedy = ("below", "smaller") if flagged else ("above", "larger")
        return (
            f"{_everywhere(fits[0])}: no row's P({event}) is estimated {side} 1 - tau = {1.0 - tau:.6g}. "
            f"A {remedy} tau (or other costs) moves that limit."
        )


def _everywhere(fit: ClassBoostResults) -> str:
    label = fit.classes[1] if fit.tally.flagged > 0.0 else fit.classes[0]
    return f"{label!r} is predicted for every row"


class LogitBoost(ClassifierModel):
    """LogitBoost (Friedman, Hastie and Tibshirani 2000): boosting of the binomial likelihood.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones; the second is the event.
    X : array_like (n, p)
    **options
        `names`, `weights`, `missing`, and those of `qreg_boost.logitboost`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(10.0)
    >>> LogitBoost(np.where(x > 4, "large", "small"), x, event="large", learner="linear").fit().error_rate
    0.0
    """

    settings_kind: ClassVar[type[LogitBoostSettings]] = LogitBoostSettings
    results_kind: ClassVar[type[ClassBoostResults]] = LogitBoostResults
    function: ClassVar[str] = "logitboost"
    loss_name: ClassVar[str] = "negative log-likelihood"

    def _loss(self) -> Loss:
        return NewtonBinomial(self._one.zmax) if self._one.form == "newton" else Binomial()

    def _first(self, y: np.ndarray, weights: np.ndarray) -> float:
        # Newton steps begin at p = 1/2 (Algorithm 3), gradient steps at the best constant
        return 0.0 if self._one.form == "newton" else super()._first(y, weights)

    def _unit(self, y: np.ndarray, weights: np.ndarray) -> float:
        return 0.5 if self._one.form == "newton" else 1.0  # F <- F + f / 2, Algorithm 3

    def _why_risen(self, risks: np.ndarray) -> str:
        if self._one.form != "newton" or self._one.zmax is None:
            return super()._why_risen(risks)
        best = int(np.argmin(risks))
        if risks[-1] <= max(PAST_LEAST * risks[best], NOTHING * risks[0]):
            return ""
        return (
            f"The {self.loss_name} was least at iteration {best}, {risks[best]:.6g}, and ended at {risks[-1]:.6g}: a "
            f"row that is far on the wrong side pulls less and less, because its working response is held to "
            f"zmax = {self._one.zmax:g}. zmax=None lifts the bound; or stop earlier: fit.at({best})."
        )

    def _own_facts(self) -> dict[str, Any]:
        return {**super()._own_facts(), "form": self._one.form, "zmax": self._one.zmax}


class AdaBoost(ClassifierModel):
    """AdaBoost (Freund and Schapire 1997), or gradient steps on the exponential loss.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones; the second is the event.
    X : array_like (n, p)
    **options
        `names`, `weights`, `missing`, and those of `qreg_boost.adaboost`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(10.0)
    >>> y = np.where(x > 4, "large", "small")
    >>> AdaBoost(y, x, event="large", form="gradient", learner="linear").fit().error_rate
    0.0
    """

    settings_kind: ClassVar[type[AdaBoostSettings]] = AdaBoostSettings
    results_kind: ClassVar[type[ClassBoostResults]] = AdaBoostResults
    function: ClassVar[str] = "adaboost"
    loss_name: ClassVar[str] = "exponential loss"

    def _loss(self) -> Loss:
        return Votes() if self._one.form == "discrete" else Exponential()

    def _first(self, y: np.ndarray, weights: np.ndarray) -> float:
        return 0.0 if self._one.form == "discrete" else super()._first(y, weights)

    def _step(self, unit: float) -> StepRule:
        return Vote(self._one.nu) if self._one.step == "vote" else super()._step(unit)

    def _own_facts(self) -> dict[str, Any]:
        return {**super()._own_facts(), "form": self._one.form}
