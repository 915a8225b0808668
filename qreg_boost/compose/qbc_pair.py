"""Two QBC fits as a classifier with a reject option: one says where the event is, one where the other class is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, check_options
from qreg_boost.base.design import Design
from qreg_boost.base.facts import Facts
from qreg_boost.boosting.class_settings import QBCSettings
from qreg_boost.compose.boosters import OwnBooster, as_booster, restore_parts
from qreg_boost.compose.out_of_fold import decisions_along
from qreg_boost.compose.parts import parts_state
from qreg_boost.compose.withholding_model import WithholdingModel, restore_withholding
from qreg_boost.compose.withholding_results import ComposedResults
from qreg_boost.reject.absent import Absent
from qreg_boost.reject.prices import Prices

if TYPE_CHECKING:
    from qreg_boost.base.tables import Summary


OF_PARTS = "There are two boosted fits, at both `taus`; they are in `parts`, and each has its own."
NO_BAND = "A pair has two decision functions and no band about one: see `taus` and decision_functions(new)."


class QBCPair(WithholdingModel):
    """Two QBC fits, at tau = d and tau = 1 - d: the event where f_d > 0, the other class where f_(1-d) < 0.

    f_d > 0 says P(event) > 1 - d, and f_(1-d) < 0 says P(event) < d (Zheng 2012, eq. (9)): Bayes' rule with a reject
    option (Manwani et al. 2015, eq. (3)). What neither says is withheld, and so is what both say.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones; the second is the event.
    X : array_like (n, p)
    d, cost, event
        As for `qreg_boost.reject_classifier`.
    **options
        Of `qreg_boost.qbc`: learner, mstop, nu, h, step.
    names : sequence of str, optional
    weights : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 200)
    >>> y = np.random.default_rng(0).random(200) < x
    >>> fit = QBCPair(y, x, d=0.3, names=["x"]).fit()
    >>> fit.predict([[0.05], [0.5], [0.95]]).tolist()
    [False, nan, True]
    """

    method: ClassVar[str] = "qbc_pair"

    def _inner(self, given: Mapping[str, Any]) -> None:
        inner = {name: value for name, value in given.items() if name not in self.defaults}
        if "tau" in inner:
            raise InputError("`tau` follows from d or cost in a pair of QBC fits; leave it out.")
        of_rule = ("tau", "cost", "event", "progress")
        check_options(inner, [name for name in QBCSettings.names() if name not in of_rule])
        self.booster: OwnBooster = as_booster("qbc", inner)  # type: ignore[assignment]

    @property
    def taus(self) -> tuple[float, float]:
        """Levels of the fit that says where the event is, and of the one that says where the other class is."""
        return self.keys(self.prices)

    def keys(self, prices: Prices) -> tuple[float, float]:
        """Return the levels of both fits at these prices: the same at d = 0.5."""
        low, high = prices.rule
        return 1.0 - high, 1.0 - low

    def part(self, key: float, design: Design, booster: OwnBooster) -> Any:
        """Return the QBC fit at the level `key` of the rows of a design."""
        return as_booster("qbc", {**booster.options, "tau": key}).fit(design, design.y, design.weights)

    def values(self, part: Any, X: np.ndarray, stops: tuple[int | None, ...]) -> np.ndarray:
        """Return the decision function (rows, stops)."""
        return decisions_along(part, X, stops)

    def decide(self, values: np.ndarray, prices: Prices) -> np.ndarray:
        """Return what both decision functions (rows, 2) say."""
        return pair_signs(values)

    def _made(self, parts: tuple[Any, ...], known: Mapping[str, Any]) -> QBCPairResults:
        F = pair_decisions(parts, self.design.X)
        both = (F[:, 0] > 0.0) & (F[:, 1] < 0.0)
        facts = self.known(pair_signs(F), taus=list(self.taus), both=float(self.weights[both].sum()), **known)
        return QBCPairResults(facts, parts, self, self.design.encoder)


def pair_decisions(parts: tuple[Any, ...], X: np.ndarray) -> np.ndarray:
    """Return the decision functions (rows, 2) of both fits."""
    return np.column_stack([part.decision_at(X) for part in parts])


def pair_signs(F: np.ndarray) -> np.ndarray:
    """Return -1, 0 (withheld) or +1 (n,) of both decision functions (n, 2).

    >>> pair_signs(np.array([[1.0, 2.0], [-1.0, 1.0], [-2.0, -1.0], [1.0, -1.0], [0.0, 0.0]])).tolist()
    [1.0, 0.0, -1.0, 0.0, 0.0]
    """
    event, other = F[:, 0] > 0.0, F[:, 1] < 0.0
    found = np.where(event & ~other, 1.0, np.where(other & ~event, -1.0, 0.0))
    return np.where(np.isnan(F).any(axis=1), np.nan, found)


class QBCPairResults(ComposedResults):
    """Two QBC fits that withhold where neither is sure; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    parts : pair of QBCResults
        At both levels of tau.
    model : QBCPair or None
    encoder : Encoder
    """

    def __init__(self, facts: Facts, parts: tuple[Any, ...], model: Any, encoder: Any) -> None:
        super().__init__(facts, model, encoder)
        self.parts = parts

    @property
    def taus(self) -> tuple[float, float]:
        """Levels of both fits: where the event is, where the other class is."""
        first, second = self.facts.own["taus"]
        return first, second

    @property
    def n_both(self) -> float:
        """Training rows, weights counted, that both fits claim: impossible by eq. (9) of Zheng (2012), and withheld."""
        return float(self.facts.own["both"])

    def decision_functions(self, new: Any = None) -> pd.DataFrame:
        """Return the decision functions of both fits, a column per tau.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
        """
        X, index = self._rows(new)
        columns = pd.Index([f"tau={tau:g}" for tau in self.taus])
        return pd.DataFrame(pair_decisions(self.parts, X), index=index, columns=columns)

    def signs_at(self, X: np.ndarray) -> np.ndarray:
        """Return -1, 0 (withheld) or +1 (rows,) at rows of the design (rows, p), NaN where a row holds NaN."""
        return pair_signs(pair_decisions(self.parts, X))

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return the decision function of the fit that is sure (rows,), 0 where the prediction is withheld."""
        F = pair_decisions(self.parts, X)
        found = pair_signs(F)
        return np.where(found > 0.0, F[:, 0], np.where(found < 0.0, F[:, 1], 0.0 * found))

    def edges_at(self, X: np.ndarray) -> np.ndarray:
        """Return both decision functions (rows, 2)."""
        return pair_decisions(self.parts, X)

    has_boundary = False

    @property
    def band_in_words(self) -> str:
        """The levels of both fits."""
        event, other = self.taus
        return f"Withheld by QBC fits at tau = {event:.3g} and {other:.3g}"

    def certainty_at(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Raise: a pair has no threshold to sweep."""
        raise NotDefinedError(
            "A pair of QBC fits has two decision functions and no threshold to sweep: each price d has fits of its "
            'own. risk_against_d() compares them out of fold; method="chow" and "double_ramp" have risk_coverage().'
        )

    # -- what other methods have

    rho = Absent(NO_BAND)
    b = Absent(NO_BAND)
    objective = Absent(NO_BAND)
    support = Absent(NO_BAND)
    probability = Absent(
        "The fit at each tau says where P(event) is above a limit, not what it is; "
        'use method="chow", or qbc(..., tau=[...]).prob_cell(new) for a cell of it.'
    )

    part = Absent(OF_PARTS)
    at = Absent(OF_PARTS)
    extend = Absent(OF_PARTS)
    mstop = Absent(OF_PARTS)
    risk_path = Absent(OF_PARTS)
    importance = Absent(OF_PARTS)
    plot_path = Absent(OF_PARTS)

    @property
    def params(self) -> pd.DataFrame:
        """Coefficients of both fits, of linear learners: rows terms, columns taus."""
        if not all(part.has_coefficients for part in self.parts):
            raise NotDefinedError(
                f"Fits with the learner {self.parts[0].facts.learner!r} are not linear in their columns and have no "
                "coefficients. Both are in `parts`: parts[0].importance has what moves the one at the first tau."
            )
        table = pd.concat([part.params for part in self.parts], axis=1)
        return table.set_axis([f"tau={tau:g}" for tau in self.taus], axis=1)

    def quality(self) -> dict[str, Any]:
        """Return both levels and how many rows both fits claim."""
        return {"tau_event": self.taus[0], "tau_other": self.taus[1], "n_both": self.n_both}

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return parts_state(self.parts)

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.compose.withholding_report import summarise_pair

        return summarise_pair(self)


def restore_qbc_pair(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> QBCPairResults:
    """Return the results that a file of `QBCPairResults.save` holds; with a model if the rows were saved."""
    facts, encoder, model, own = restore_withholding(QBCPair, meta, arrays)
    return QBCPairResults(facts, restore_parts(meta["fit"], own), model, encoder)
