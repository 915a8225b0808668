"""Chow's rule: a prediction is withheld where the probability of the event lies between two thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, listed
from qreg_boost.base.design import Design, Encoder
from qreg_boost.base.facts import Facts
from qreg_boost.compose.boosters import Booster, as_booster, restore_parts
from qreg_boost.compose.parts import parts_state
from qreg_boost.compose.withholding_model import WithholdingModel
from qreg_boost.reject.base_results import WithholdingResults
from qreg_boost.reject.prices import Prices

if TYPE_CHECKING:
    from qreg_boost.base.tables import Summary

MODELS = ("logit", "logitboost")
CLIPPED = 1e-15


@dataclass(frozen=True, eq=False)
class Logit:
    """A logistic regression by maximum likelihood: intercept, if there is one, and slopes."""

    intercept: float
    slopes: np.ndarray

    @classmethod
    def fit(cls, design: Design, y: np.ndarray, weights: np.ndarray | None) -> Logit:
        """Return the fit by iteratively reweighted least squares; columns determined by others share coefficients."""
        import warnings

        from statsmodels.genmod.families import Binomial
        from statsmodels.genmod.generalized_linear_model import GLM

        X = np.column_stack((np.ones(len(y)), design.X)) if design.intercept else design.X
        used = slice(None) if weights is None else weights > 0
        with warnings.catch_warnings():  # classes told apart without error have no finite optimum: probabilities do
            warnings.simplefilter("ignore")
            found = GLM(y[used], X[used], family=Binomial(), freq_weights=None if weights is None else weights[used])
            values = np.asarray(found.fit().params)
        return cls(float(values[0]) if design.intercept else 0.0, values[int(design.intercept) :])

    def probability_at(self, X: np.ndarray) -> np.ndarray:
        """Return probabilities of the event (rows,)."""
        from scipy.special import expit

        return expit(self.intercept + X @ self.slopes)


@dataclass(frozen=True, eq=False)
class Boosted:
    """A LogitBoost fit: f is half the log-odds."""

    fit: Any

    def probability_at(self, X: np.ndarray) -> np.ndarray:
        """Return probabilities of the event (rows,)."""
        from scipy.special import expit

        return expit(2.0 * self.fit.decision_at(X))


@dataclass(frozen=True, eq=False)
class Probabilities:
    """An estimator with ``predict_proba``, fitted to labels 0 and 1."""

    estimator: Any

    def probability_at(self, X: np.ndarray) -> np.ndarray:
        """Return probabilities of the event (rows,), NaN where a row holds NaN."""
        out = np.full(len(X), np.nan)
        known = ~np.isnan(X).any(axis=1)
        if known.any():
            out[known] = np.asarray(self.estimator.predict_proba(X[known]), dtype=float)[:, 1]
        return out


class Chow(WithholdingModel):
    """Chow's rule (1970) on a model of probabilities.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones; the second is the event.
    X : array_like (n, p)
    d, cost, event
        As for `qreg_boost.reject_classifier`.
    probability : {"logit", "logitboost"} or estimator
        A logistic regression; a booster of this package, which takes `options`; or an object with ``fit(X, y)`` and
        ``predict_proba(X)``, which is copied.
    **options
        Of the booster: learner, mstop, nu, ...
    names : sequence of str, optional
    weights : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> x = [1.0, 2.0, 3.0, 3.2, 4.0, 4.2, 5.0, 6.0]
    >>> fit = Chow([0, 0, 0, 1, 0, 1, 1, 1], x, d=0.2, names=["x"]).fit()
    >>> fit.predict([[1.0], [3.6], [6.0]]).tolist()
    [0, nan, 1]
    >>> fit.probability([[1.0], [6.0]]).round(1).tolist()
    [0.0, 1.0]
    """

    method: ClassVar[str] = "chow"
    defaults: ClassVar[dict[str, Any]] = {**WithholdingModel.defaults, "probability": "logit"}

    def _inner(self, given: Mapping[str, Any]) -> None:
        inner = {name: value for name, value in given.items() if name not in self.defaults}
        wanted = given.get("probability", "logit")
        self.booster: Booster | None = None
        if isinstance(wanted, str) and wanted not in MODELS:
            raise InputError(
                f"`probability` must be one of {listed(map(repr, MODELS))}, or an object with fit(X, y) and "
                f"predict_proba(X); got {wanted!r}."
            )
        if wanted == "logit":
            if inner:
                raise InputError(f"A logistic regression has no option {listed(map(repr, inner))}.")
            return
        if not isinstance(wanted, str) and not hasattr(wanted, "predict_proba"):
            raise InputError(f"{type(wanted).__name__} has no predict_proba(X), so Chow's rule has no probabilities.")
        self.booster = as_booster(wanted, inner)

    @property
    def _name(self) -> str:
        return "logit" if self.booster is None else self.booster.name

    def fit(self) -> ChowResults:
        """Return the fit."""
        y, design = np.nan_to_num(self.design.y), self.design
        part: Any
        if self.booster is None:
            part = Logit.fit(design, y, design.weights)
        else:
            fitted = self.booster.fit(design, y, design.weights)
            part = Boosted(fitted) if self._name == "logitboost" else Probabilities(fitted.estimator)
        found = chow_signs(part.probability_at(design.X), self.prices)
        return ChowResults(self.known(found, probability=self._name), part, self, design.encoder)


def chow_signs(p: np.ndarray, prices: Prices) -> np.ndarray:
    """Return -1, 0 (withheld) or +1 (n,) of probabilities of the event: Bayes' rule at these prices.

    References
    ----------
    Chow, C. K. (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory 16,
    41-46. Manwani et al. (2015), eq. (3).

    Examples
    --------
    >>> chow_signs(np.array([0.1, 0.2, 0.5, 0.9]), Prices(1.0, 1.0, 0.2)).tolist()
    [-1.0, 0.0, 0.0, 1.0]
    """
    low, high = prices.rule
    if not prices.withholds:
        return np.where(np.isnan(p), np.nan, np.where(p >= high, 1.0, -1.0))
    return np.where(np.isnan(p), np.nan, np.where(p > high, 1.0, np.where(p < low, -1.0, 0.0)))


class ChowResults(WithholdingResults):
    """A fitted model of probabilities with Chow's rule; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    part : Logit, Boosted or Probabilities
    model : Chow or None
    encoder : Encoder
    """

    title = "Reject Option Classifier"

    def __init__(self, facts: Facts, part: Any, model: Any, encoder: Any) -> None:
        super().__init__(facts, model, encoder)
        self.part = part

    def probability(self, new: Any = None) -> pd.Series:
        """Return probabilities of the event for new data or the rows fitted.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
        """
        X, index = self._rows(new)
        return pd.Series(self.part.probability_at(X), index=index, name=f"P({self.event})")

    def signs_at(self, X: np.ndarray) -> np.ndarray:
        """Return -1, 0 (withheld) or +1 (rows,) at rows of the design (rows, p), NaN where a row holds NaN."""
        return chow_signs(self.part.probability_at(X), self.prices)

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return log-odds of the event (rows,) less those at which both errors are equally dear."""
        p = np.clip(self.part.probability_at(X), CLIPPED, 1.0 - CLIPPED)
        return np.log(p) - np.log1p(-p) - np.log(self.prices.fp / self.prices.fn)

    def certainty_at(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return expected cost of the better guess (rows,) with its sign changed, and that of withholding."""
        p = self.part.probability_at(X)
        return -np.minimum(self.prices.fn * p, self.prices.fp * (1.0 - p)), -self.prices.reject

    def quality(self) -> dict[str, Any]:
        """Return what the probabilities are from."""
        return {"probability": self.facts.own["probability"]}

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if isinstance(self.part, Logit):
            return {"intercept": self.part.intercept}, {"slopes": self.part.slopes}
        if isinstance(self.part, Boosted):
            return parts_state((self.part.fit,))
        raise InputError(
            f"The fit holds a fitted {type(self.part.estimator).__name__}, which a file that is read without running "
            'code cannot hold. Use probability="logit" or "logitboost", or pickle the fit and load it where you trust '
            "the file."
        )

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.compose.withholding_report import summarise_chow

        return summarise_chow(self)


def restore_chow(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> ChowResults:
    """Return the results that a file of `ChowResults.save` holds; with a model if the rows were saved."""
    facts, encoder, model, own = restore_withholding(Chow, meta, arrays)
    if "intercept" in meta["fit"]:
        return ChowResults(facts, Logit(meta["fit"]["intercept"], own["slopes"]), model, encoder)
    return ChowResults(facts, Boosted(restore_parts(meta["fit"], own)[0]), model, encoder)


def restore_withholding(
    kind: type[WithholdingModel], meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[Facts, Encoder, Any, dict[str, np.ndarray]]:
    """Return facts, encoder, model or None, and the fit's own arrays of a saved file."""
    opened = kind.opened(meta, arrays)
    model = opened.model
    if model is not None:
        options = model.options
        model.prices = Prices(**options.pop("prices"))
        model.options = {**kind.defaults, **options}
        model._inner({name: value for name, value in options.items() if name not in WithholdingModel.defaults})
    return opened.facts, opened.encoder, model, dict(opened.parts["fit"])
