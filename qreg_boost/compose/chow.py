"""Chow's rule: a prediction is withheld where the probability of the event lies between two thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from qreg_boost.base.checks import ConvergenceWarning, InputError, NotDefinedError, listed, warn
from qreg_boost.base.design import Design
from qreg_boost.base.facts import Facts
from qreg_boost.compose.boosters import Booster, as_booster, restore_parts
from qreg_boost.compose.logit import REMEDY, TOLD_APART, Logit, fit_logit
from qreg_boost.compose.out_of_fold import decisions_along
from qreg_boost.compose.parts import parts_state
from qreg_boost.compose.withholding_model import WithholdingModel, restore_withholding
from qreg_boost.compose.withholding_results import ComposedResults
from qreg_boost.reject.absent import Absent
from qreg_boost.reject.choosing import sides
from qreg_boost.reject.prices import Prices

if TYPE_CHECKING:
    from qreg_boost.base.tables import Summary

MODELS = ("logit", "logitboost")
CLIPPED = 1e-15
BY_PROBABILITY = (
    "Chow's rule withholds where the probability of the event lies between the two of `prices.rule`; see "
    "probability(new)."
)


@dataclass(frozen=True, eq=False)
class Boosted:
    """A LogitBoost fit: f is half the log-odds."""

    fit: Any

    def probability_at(self, X: np.ndarray) -> np.ndarray:
        """Return probabilities of the event (rows,)."""
        from scipy.special import expit

        return expit(2.0 * self.fit.decision_at(X))

    def along(self, X: np.ndarray, stops: tuple[int | None, ...]) -> np.ndarray:
        """Return probabilities (rows, stops) after so many iterations."""
        from scipy.special import expit

        return expit(2.0 * decisions_along(self.fit, X, stops))


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
    weight_name : str
        What the estimator's ``fit`` calls weights of rows: "<step>__sample_weight" for a pipeline.
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
    defaults: ClassVar[dict[str, Any]] = {
        **WithholdingModel.defaults,
        "probability": "logit",
        "weight_name": "sample_weight",
    }

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
                raise InputError(
                    f"A logistic regression has no option {listed(map(repr, inner))}. Those of a booster go with "
                    'probability="logitboost".'
                )
            return
        if isinstance(wanted, type):
            raise InputError(f"`probability` is the class {wanted.__name__}; pass an object: {wanted.__name__}(...).")
        if not isinstance(wanted, str) and not hasattr(wanted, "predict_proba"):
            raise InputError(f"{type(wanted).__name__} has no predict_proba(X), so Chow's rule has no probabilities.")
        self.booster = as_booster(wanted, inner, given.get("weight_name", self.defaults["weight_name"]))

    @property
    def _name(self) -> str:
        return "logit" if self.booster is None else self.booster.name

    def keys(self, prices: Prices) -> tuple[Any, ...]:
        """Return one key: a model of probabilities serves all prices."""
        return ("P",)

    def part(self, key: Any, design: Design, booster: Booster | None) -> Any:
        """Return a model of probabilities of the rows of a design."""
        if booster is None:
            return fit_logit(design.X, design.y, design.weights, design.intercept)
        fitted = booster.fit(design, design.y, design.weights)
        return Boosted(fitted) if booster.name == "logitboost" else Probabilities(fitted.estimator)

    def values(self, part: Any, X: np.ndarray, stops: tuple[int | None, ...]) -> np.ndarray:
        """Return probabilities of the event (rows, stops)."""
        return part.along(X, stops) if isinstance(part, Boosted) else part.probability_at(X)[:, None]

    def decide(self, values: np.ndarray, prices: Prices) -> np.ndarray:
        """Return what Chow's rule says of probabilities (rows, 1)."""
        return chow_signs(values[:, 0], prices)

    def certainty(self, values: np.ndarray, prices: Prices) -> tuple[np.ndarray, np.ndarray]:
        """Return how far probabilities (rows, 1) are beyond being withheld, and -1 or +1 by the cheaper guess."""
        p = values[:, 0]
        return chow_certainty(p, prices) - (prices.worst - prices.reject), sides(prices.fn * p - prices.fp * (1.0 - p))

    def _made(self, parts: tuple[Any, ...], known: Mapping[str, Any]) -> ChowResults:
        (part,) = parts
        separated = getattr(part, "separated", False)
        if separated:
            warn(f"In the logistic regression {TOLD_APART} {REMEDY}", ConvergenceWarning)
        found = chow_signs(part.probability_at(self.design.X), self.prices)
        facts = self.known(found, probability=self._name, separated=separated, **known)
        return ChowResults(facts, part, self, self.design.encoder)


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


def chow_certainty(p: np.ndarray, prices: Prices) -> np.ndarray:
    """Return by how much the better guess costs less than at worst (n,), of probabilities of the event.

    >>> chow_certainty(np.array([0.1, 0.5, 0.75]), Prices(1.0, 1.0, 0.2)).tolist()
    [0.4, 0.0, 0.25]
    """
    return prices.worst - np.minimum(prices.fn * p, prices.fp * (1.0 - p))


class ChowResults(ComposedResults):
    """A fitted model of probabilities with Chow's rule; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    part : Logit, Boosted or Probabilities
    model : Chow or None
    encoder : Encoder
    """

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

    def edges_at(self, X: np.ndarray) -> np.ndarray:
        """Return by how much P(event) is above both thresholds (rows, 2), the upper one first."""
        low, high = self.prices.rule
        return self.part.probability_at(X)[:, None] - np.array([high, low])

    @property
    def band_in_words(self) -> str:
        """The probabilities at which a prediction is withheld."""
        low, high = self.prices.rule
        return f"Withheld where {low:.3g} <= P({self.event}) <= {high:.3g}"

    def certainty_at(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return by how much the better guess costs less than at worst (rows,), and by how much withholding does.

        Where both errors cost 1 these are |P - 1/2| and 1/2 - d.
        """
        return chow_certainty(self.part.probability_at(X), self.prices), self.prices.worst - self.prices.reject

    # -- coefficients

    @property
    def params(self) -> pd.Series:
        """Coefficients of a logistic regression, log-odds of the event per unit; missing where others determine one."""
        if not isinstance(self.part, Logit):
            raise NotDefinedError(
                f"Probabilities by {self.facts.own['probability']} have no coefficients; probability(new) has them, "
                "and `part` holds the fit."
            )
        values = [self.part.intercept, *self.part.slopes]
        return pd.Series(values, index=pd.Index(["Intercept", *self.facts.columns], name="term"), name="coef")

    def tidy(self) -> pd.DataFrame:
        """Return one row per coefficient of a logistic regression: term, estimate; else counts in rows."""
        if not isinstance(self.part, Logit):
            return super().tidy()
        return self.params.rename("estimate").reset_index()

    # -- what other methods have

    rho = Absent(BY_PROBABILITY)
    b = Absent(BY_PROBABILITY)
    objective = Absent(BY_PROBABILITY)
    support = Absent(BY_PROBABILITY)
    taus = Absent(BY_PROBABILITY)
    n_both = Absent("One model of probabilities claims no row twice; see `part`.")
    parts = Absent("There is one: `part`.")
    decision_functions = Absent("There is one: decision_function(new), the log-odds.")

    def quality(self) -> dict[str, Any]:
        """Return what the probabilities are from."""
        return {"probability": self.facts.own["probability"]}

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if isinstance(self.part, Logit):
            return {"intercept": self.part.intercept, "separated": self.part.separated}, {"slopes": self.part.slopes}
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
        part = Logit(meta["fit"]["intercept"], own["slopes"], meta["fit"]["separated"])
        return ChowResults(facts, part, model, encoder)
    return ChowResults(facts, Boosted(restore_parts(meta["fit"], own)[0]), model, encoder)
