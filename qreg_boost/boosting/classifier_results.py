"""What a boosted classifier hands back: labels, errors and what they cost, by iteration and on other rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from qreg_boost.base.arrays import check_one_index
from qreg_boost.base.checks import InputError, NotDefinedError, check_choice, listed
from qreg_boost.base.classes import Classes
from qreg_boost.base.confusion import confusion_table
from qreg_boost.base.costs import check_cost
from qreg_boost.base.frames import as_frame
from qreg_boost.base.tally import Tally
from qreg_boost.boosting.class_rest import resting_since
from qreg_boost.boosting.results import BoostResults
from qreg_boost.boosting.stopping import CV, CVResult

LOSSES = ("loss", "error", "cost")
"""What a classifier can be judged by out of sample."""


class ClassBoostResults(BoostResults):
    """A fitted boosted classifier of two classes; made by its formula function, never changed afterwards.

    The fit f is a number for each row; the event is predicted where it is at least 0 (0.5 for L2Boost).
    """

    threshold = 0.0
    instead = "evaluate() and confusion() have the errors, risk_path the loss and importance what moves the fit."

    # -- classes

    @property
    def _classes(self) -> Classes:
        return Classes(**self.facts.own["classes"])

    @property
    def classes(self) -> tuple[Any, Any]:
        """The two labels, the event second."""
        return self._classes.other, self._classes.event

    @property
    def event(self) -> Any:
        """The label that is predicted where the decision function is at least 0."""
        return self._classes.event

    @property
    def prices(self) -> dict[str, float]:
        """What a missed event (fn) and a false alarm (fp) cost; tau and 1 - tau unless the fit was told."""
        return dict(self.facts.own["prices"])

    # -- predictions

    def decision_function(self, new: Any = None) -> pd.Series:
        """Return by how much the fit is above the limit from which the event is predicted, for new data or the rows.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula. Rows in which something is missing get a missing value.
        """
        f = self.fittedvalues if new is None else super().predict(new)
        return (f - self.threshold).rename("decision")

    def predict(self, new: Any = None, offset: Any = None) -> pd.Series:
        """Return predicted labels for new data, as categories; missing where something is missing in the row.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the training rows.
        offset
            Classifiers have none.

        Raises
        ------
        InputError
            If a column is missing, or a level was not seen in training.
        """
        if offset is not None:
            raise InputError("A classifier takes no `offset`; leave it out.")
        return self._labelled(self.decision_function(new))

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return the decision function (rows,) at rows of the design X (rows, p)."""
        return self._values(X, None) - self.threshold

    def _labelled(self, decision: pd.Series) -> pd.Series:
        values = decision.to_numpy()
        event = np.where(np.isnan(values), np.nan, values >= 0.0)
        return self._classes.labels(event, decision.index)

    def predict_proba(self, new: Any = None) -> pd.DataFrame:
        """Return estimated probabilities of both classes, the event in the second column; LogitBoost has them."""
        from qreg_boost.boosting.words import WORDS

        raise NotDefinedError(WORDS[self.facts.family].no_probability(self))  # type: ignore[attr-defined]

    @property
    def resid(self) -> pd.Series:
        """Labels have no residuals."""
        raise NotDefinedError("A classifier has no residuals. augment() says which rows are predicted wrongly.")

    @property
    def near_boundary(self) -> float:
        """Weighted share of the training rows whose fit lies within 2 h of 0; missing where unknown or without an h."""
        h = self.facts.own.get("h")
        if h is None or self._model is None:
            return float(self._rest.get("near", np.nan))
        near = np.abs(self.decision_function().to_numpy()) <= 2.0 * h
        return float(np.average(near, weights=self.model.weights))

    @cached_property
    def resting_since(self) -> int | None:
        """Iteration since which no training label has changed, of a QBC run at rest; else None."""
        return self._rest.get("since") if self._model is None else resting_since(self)

    @property
    def _rest(self) -> dict[str, Any]:
        """What a fit read from a file knows of its run, at the iteration that was saved."""
        known = self._known.get("rest", {})
        return known if known.get("m") == self.mstop else {}

    # -- errors

    @cached_property
    def tally(self) -> Tally:
        """Errors on the training rows, weights counted."""
        if self._model is None:
            return self._tally_along(self.mstop)
        return self._tally(self.model.design.y, self.decision_function().to_numpy(), self.model.weights)

    @staticmethod
    def _tally(y: np.ndarray, decision: np.ndarray, weights: np.ndarray) -> Tally:
        predicted = np.where(np.isnan(decision), np.nan, decision >= 0.0)
        return Tally.of(y, predicted, weights)

    @property
    def _errors_along(self) -> dict[str, list[float]]:
        """Weighted sums of missed events and of false alarms after 0, 1, ... iterations."""
        known = self._known.get("errors")
        if known is None or len(known["missed"]) <= self.mstop:
            model = self.model
            used = model.weights > 0
            known = self._along(model.design.X[used], model.design.y[used] > 0.5, model.weights[used])
            self._known["errors"] = known
        return known

    def _along(self, X: np.ndarray, event: np.ndarray, w: np.ndarray) -> dict[str, list[float]]:
        f = np.full(len(w), self.path.start)
        along: dict[str, list[float]] = {"missed": [], "flagged": []}
        steps = self.path.increments(X)
        for m in range(self.path.length + 1):
            if m:
                f += next(steps)
            above = f >= self.threshold
            along["missed"].append(float(w[event & ~above].sum()))
            along["flagged"].append(float(w[~event & above].sum()))
        return along

    def _tally_along(self, m: int) -> Tally:
        own, along = self.facts.own, self._errors_along
        return Tally(along["missed"][m], along["flagged"][m], own["events"], own["others"])

    @property
    def error_rate(self) -> float:
        """Share of the training rows predicted wrongly, weights counted."""
        return self.tally.error_rate

    @cached_property
    def error_path(self) -> pd.Series:
        """Share of the training rows predicted wrongly after 0..mstop iterations, weights counted."""
        along, total = self._errors_along, self.facts.own["events"] + self.facts.own["others"]
        wrong = (np.array(along["missed"]) + np.array(along["flagged"]))[: self.mstop + 1]
        return pd.Series(wrong / total, index=self._iterations, name="error_rate")

    def _known_without_rows(self) -> dict[str, Any]:
        if self._model is None and "errors" not in self._known:
            return {}
        near = self.near_boundary
        rest = {} if np.isnan(near) else {"rest": {"m": self.mstop, "near": near, "since": self.resting_since}}
        return {"errors": self._errors_along, **rest}

    def confusion(self, data: Any = None, y: Any = None) -> pd.DataFrame:
        """Return counts of rows, actual classes by predicted ones; weights are counted for the training rows.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
            Other rows than those of training.
        y : array_like (rows,), optional
            Their labels, where `data` has no column of the response.
        """
        return confusion_table((self.tally if data is None else self._tally_of(data, y)).counts, list(self.classes))

    def evaluate(self, data: Any = None, y: Any = None, cost: Any = None) -> pd.Series:
        """Return how the fit does on the training rows or on other ones: n, error_rate, fn_rate, fp_rate, cost.

        ``fn_rate`` is the share of the events that were missed, ``fp_rate`` of the others that were flagged, ``cost``
        the mean cost of a row. Rows in which something is missing do not count; ``n`` is what is left, the sum of the
        weights for the training rows. Other rows have no weights.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
        y : array_like (rows,), optional
            Labels, where `data` has no column of the response.
        cost : dict, optional
            What errors cost here, as in ``{"fn": 5, "fp": 1}``; by default the `prices` of the fit. It prices the
            labels and changes none, so that fits of any kind compare at one price.
        """
        tally = self.tally if data is None else self._tally_of(data, y)
        return pd.Series({"n": tally.total, **self._figures(tally, cost)}, name="evaluation")

    def evaluate_path(self, data: Any = None, y: Any = None, cost: Any = None) -> pd.DataFrame:
        """Return how the fit does after 0..mstop iterations: a row for each, columns and arguments as of `evaluate`."""
        if data is None:
            along, events, others = self._errors_along, self.facts.own["events"], self.facts.own["others"]
        else:
            X = self.encoder.encode(data).X
            coded = self._coded(data, y, len(X))
            known = ~np.isnan(coded)
            if not self.path.handles_missing():
                known &= ~np.isnan(X).any(axis=1)
            event = coded[known] > 0.5
            events, others = float(event.sum()), float((~event).sum())
            along = self._along(X if known.all() else X[known], event, np.ones(len(event)))
        rows = zip(along["missed"], along["flagged"], range(self.mstop + 1), strict=False)
        tallies = [Tally(missed, flagged, events, others) for missed, flagged, _ in rows]
        return pd.DataFrame([{"n": t.total, **self._figures(t, cost)} for t in tallies], index=self._iterations)

    def _figures(self, tally: Tally, cost: Any = None) -> dict[str, float]:
        prices = self.prices if cost is None else check_cost(cost)
        return {**tally.rates, "cost": tally.cost(**prices)}

    def _tally_of(self, data: Any, y: Any) -> Tally:
        decision = self.decision_function(data).to_numpy()
        return self._tally(self._coded(data, y, len(decision)), decision, np.ones(len(decision)))

    def _coded(self, data: Any, y: Any, rows: int) -> np.ndarray:
        coded = self.code_response(data, y)
        if len(coded) != rows:
            raise InputError(f"`y` must have one label per row: {rows} rows, but {len(coded)} labels.")
        return coded

    def code_response(self, data: Any, y: Any = None) -> np.ndarray:
        """Return the labels of other rows, in `y` or in the response's column of `data`, as 1 and 0 (rows,)."""
        name = self.facts.response
        check_one_index(y, data)
        if y is None:
            try:
                y = data[name]
            except (KeyError, IndexError, TypeError, ValueError):
                raise InputError(
                    f"The data have no column {name!r}, which is the response; pass its labels as `y`."
                ) from None
        labels = pd.Series(pd.Categorical(y) if isinstance(y, pd.Categorical) else np.asarray(y, dtype=object))
        coded = self._classes.code(labels)
        foreign = np.isnan(coded) & ~labels.isna().to_numpy()
        if foreign.any():
            found = listed(map(repr, pd.unique(labels[foreign].astype(object))))
            raise InputError(
                f"The labels of {name!r} must be {self.classes[0]!r} or {self.classes[1]!r}, as in training; "
                f"found {found}."
            )
        return coded

    # -- out of sample

    def cv(
        self,
        folds: Any = "kfold",
        k: int = 10,
        max: int | None = None,
        rng: Any = 0,
        n_jobs: int = 1,
        rule: str = "min",
        progress: bool = True,
        loss: str = "loss",
    ) -> CVResult:
        """Return the loss out of sample by iteration, 0 to `max` (by default mstop); see `qreg_boost.CV`.

        ``fit.at(fit.cv().mstop)`` is the fit at the best stop.

        Parameters
        ----------
        folds, k, max, rng, n_jobs, rule, progress
            As for `qreg_boost.CV`.
        loss : {"loss", "error", "cost"}
            What is measured, as a mean over held-out rows: the loss that the fit lowers, the share of rows predicted
            wrongly, or what errors cost.
        """
        check_choice(loss, "loss", LOSSES)
        most = self.mstop if max is None else max
        if most < 1:
            raise InputError(
                "`max` must be at least 1 to compare stops; this fit stands at iteration 0, so give `max`."
            )
        return self.model.judged_by(loss, CV(folds, k, most, rng, rule, n_jobs, progress))

    # -- tables and figures

    def quality(self) -> dict[str, float]:
        """Return the errors on the training rows and their cost."""
        return self._figures(self.tally)

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the training rows, or `data`, with ``.decision``, ``.predicted`` and ``.wrong``.

        ``.wrong`` says whether the label differs from the predicted one, as far as the label is known.
        """
        decision = self.decision_function(data)
        if data is None:
            design = self.model.design
            table = pd.DataFrame(design.X, index=design.index, columns=list(design.column_names))
            table.insert(0, design.response, self._classes.labels(design.y, design.index))
            coded = design.y
        else:
            table = as_frame(data).copy()
            coded = self.code_response(table) if self.facts.response in table else None
        table[".decision"] = decision.to_numpy()
        table[".predicted"] = self._labelled(decision).to_numpy()
        if coded is not None:
            wrong = (decision.to_numpy() >= 0.0) != (coded > 0.5)
            known = ~(np.isnan(coded) | np.isnan(decision.to_numpy()))
            table[".wrong"] = pd.array(np.where(known, wrong, False), dtype="boolean")
            table.loc[~known, ".wrong"] = pd.NA
        return table

    def plot_objective(self, ax: Any = None) -> Any:
        """Draw the loss and the training error against the iteration, one above the other; return both Axes."""
        from qreg_boost.plots.classification import plot_objective

        return plot_objective(self.risk_path, self.error_path, self.loss_name, tau=self.tau, ax=ax)


class QBCResults(ClassBoostResults):
    """A fitted Quantile Boost Classification; made by `qreg_boost.qbc`, never changed afterwards."""

    title = "Quantile Boost Classification"
    loss_name = "smoothed cost"

    @cached_property
    def objective_path(self) -> pd.Series:
        """What the paper maximises, the weighted sum of (y - (1 - tau)) K(f / h), after 0..mstop iterations."""
        values = self.tau * self.facts.own["events"] - self.risk_path.to_numpy()
        return pd.Series(values, index=self._iterations, name="objective")

    def plot_objective(self, ax: Any = None) -> Any:
        """Draw the smoothed objective and the training error against the iteration (Zheng 2012, Fig. 5)."""
        from qreg_boost.plots.classification import plot_objective

        return plot_objective(self.objective_path, self.error_path, "smoothed objective", tau=self.tau, ax=ax)


class LogitBoostResults(ClassBoostResults):
    """A fitted LogitBoost; made by `qreg_boost.logitboost`, never changed afterwards. Its fit is half the log-odds."""

    title = "LogitBoost"
    loss_name = "negative log-likelihood"

    def predict_proba(self, new: Any = None) -> pd.DataFrame:
        """Return estimated probabilities of both classes, the event in the second column: 1 / (1 + exp(-2 f)).

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
        """
        f = self.decision_function(new)
        table = np.column_stack((expit(-2.0 * f.to_numpy()), expit(2.0 * f.to_numpy())))
        return pd.DataFrame(table, index=f.index, columns=pd.Index(self.classes))


class AdaBoostResults(ClassBoostResults):
    """A fitted AdaBoost; made by `qreg_boost.adaboost`, never changed afterwards.

    The fit of the discrete form is the sum of votes; of the gradient form half the log-odds.
    """

    title = "AdaBoost"
    loss_name = "exponential loss"

    def _why_stalled(self) -> str:
        if self.facts.step == "vote":
            return "no learner does better than chance under the weights reached, so none gets a vote."
        return super()._why_stalled()


class L2ClassResults(ClassBoostResults):
    """A fitted L2Boost of two classes coded 0 and 1; made by `qreg_boost.l2boost`, never changed afterwards."""

    title = "L2 Boosting"
    loss_name = "squared error"
    threshold = 0.5
