"""What classifiers hand back that may withhold a prediction, however they were found."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, check_bool
from qreg_boost.base.class_results import ClassResults
from qreg_boost.base.frames import as_frame
from qreg_boost.base.typeset import share
from qreg_boost.reject.absent import Absent
from qreg_boost.reject.choosing import USUAL_GRID, sides
from qreg_boost.reject.curves import Coverage, coverage
from qreg_boost.reject.figures import counts_table, figures_by_group
from qreg_boost.reject.groups import groups_of_data, groups_of_rows, name_of
from qreg_boost.reject.prices import Prices
from qreg_boost.reject.tally import FIGURES, Tally

NO_STANDARD_ERRORS = "A classifier with a reject option has no standard errors; fit.cv() has its risk out of fold."


class WithholdingResults(ClassResults):
    """A fitted classifier of two classes that may withhold a prediction; never changed once it is made.

    Parameters
    ----------
    facts : Facts
        ``own["prices"]`` and ``own["tally"]``, the counts on the training rows, are among its own.
    model : object or None
    encoder : Encoder
    """

    @abstractmethod
    def signs_at(self, X: np.ndarray) -> np.ndarray:
        """Return -1, 0 (withheld) or +1 (rows,) at rows of the design (rows, p), NaN where a row holds NaN."""

    @abstractmethod
    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return the decision function (rows,) at rows of the design (rows, p)."""

    @abstractmethod
    def certainty_at(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return how far each row (rows,) is from being withheld, and the value up to which the fit withholds."""

    @abstractmethod
    def edges_at(self, X: np.ndarray) -> np.ndarray:
        """Return two functions (rows, 2) whose signs say what is predicted.

        Where the first is above 0 it is the event, where the second is below 0 the other class.
        Where neither is so, or both are, the prediction is withheld.
        """

    @property
    @abstractmethod
    def band_in_words(self) -> str:
        """Where a prediction is withheld."""

    def codes_at(self, X: np.ndarray) -> np.ndarray:
        """Return 1 for the event, 0 for the other (rows,), NaN where withheld or where a row holds NaN."""
        found = self.signs_at(X)
        return np.where(np.isnan(found) | (found == 0.0), np.nan, found > 0.0)

    # -- what it costs

    @cached_property
    def prices(self) -> Prices:
        """What errors and withheld predictions cost."""
        return Prices(**self.facts.own["prices"])

    @property
    def d(self) -> float:
        """Price of a withheld prediction where an error costs 1."""
        if not self.prices.even:
            other, event = self.prices.d
            raise NotDefinedError(
                f"The classes have prices of their own: {event:.6g} of a missed {self.event!r}, {other:.6g} of a false "
                "alarm. See `prices`."
            )
        return self.prices.d[0]

    # -- rows

    def predict(self, new: Any = None, *, codes: bool = False) -> pd.Series:
        """Return predicted labels for new data, as categories; missing where withheld.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the training rows.
        codes : bool
            Whether to return -1 (the other class), 0 (withheld) and +1 (the event) instead; missing only where
            something is missing in the row.
        """
        X, index = self._rows(new)
        if check_bool(codes, "codes"):
            found = self.signs_at(X)
            return pd.Series(pd.array(found, dtype="Float64").astype("Int8"), index=index, name="predicted")
        return self.levels.series(self.codes_at(X), index)

    def decision_function(self, new: Any = None) -> pd.Series:
        """Return the decision function, for new data or the rows fitted: above 0 on the side of the event.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
        """
        X, index = self._rows(new)
        return pd.Series(self.decision_at(X), index=index, name="decision")

    @property
    def fittedvalues(self) -> pd.Series:
        """The decision function of the rows fitted."""
        return self.decision_function().rename("fitted")

    def margins(self, data: Any = None, y: Any = None) -> pd.Series:
        """Return y f, the decision function with the sign of the actual class: below 0 on the wrong side.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
        y : array_like (rows,), optional
            Labels, where `data` has no column of the response.
        """
        decision = self.decision_function(data)
        return (decision * np.where(self._labels(data, y) > 0.5, 1.0, -1.0) + 0.0).rename("margin")

    def _labels(self, data: Any, y: Any) -> np.ndarray:
        if data is None:
            return self.model.design.y
        actual = self._actual(data, y)
        rows = len(data) if hasattr(data, "__len__") and not isinstance(data, dict) else len(as_frame(data))
        if len(actual) != rows:
            raise InputError(f"`y` must have one label per row: {rows} rows, but {len(actual)} labels.")
        return actual

    # -- errors

    @property
    def tally(self) -> Tally:
        """Training rows by class and prediction, weights counted."""
        return Tally(np.array(self.facts.own["tally"], dtype=float))

    @property
    def _counts(self) -> np.ndarray:
        return self.tally.counts

    def _tally_of(self, data: Any, y: Any) -> Tally:
        if data is None:
            return self.tally
        return Tally.of(self._labels(data, y), self._signs_of(data))

    def _signs_of(self, data: Any) -> np.ndarray:
        return self.signs_at(self._rows(data)[0])

    def confusion(self, data: Any = None, y: Any = None) -> pd.DataFrame:
        """Return counts of rows, actual classes by predicted ones and withheld; weights count for the training rows.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
            Other rows than those of training.
        y : array_like (rows,), optional
            Their labels, where `data` has no column of the response.
        """
        return counts_table(self._tally_of(data, y).counts, self.classes)

    @property
    def error_rate(self) -> float:
        """Share of the training rows predicted wrongly, withheld ones not among them; `evaluate` has the rest."""
        return self.tally.figures(self.prices)["error_overall"]

    def evaluate(  # type: ignore[override]
        self, data: Any = None, groups: Any = None, *, y: Any = None
    ) -> Any:
        """Return how the fit does on the training rows or on other ones.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
        groups : column name or array_like (rows,), optional
            Of the rows: figures for each group, in a frame. For the training rows an array, or a Series, which goes by
            its index.
        y : array_like (rows,), optional
            Labels, where `data` has no column of the response.

        Returns
        -------
        Series, or DataFrame by group
            risk: mean cost of a row, the 0-d-1 risk unless costs were stated. rejection_rate: share withheld.
            accuracy_accepted: share right of those predicted, missing if none was. error_overall: share of all rows
            that is predicted wrongly. n: rows, weights counted in training.
        """
        if groups is None:
            return pd.Series(self._tally_of(data, y).figures(self.prices), name="evaluation")
        labels, found = self._labels(data, y), self._signs_of(data)
        weights = self.model.weights if data is None else None
        by = groups_of_rows(groups, self.model.design) if data is None else groups_of_data(groups, data, len(found))
        return figures_by_group(labels, found, weights, by, self.prices).rename_axis(name_of(groups))

    @property
    def out_of_fold(self) -> pd.Series:
        """Figures of `evaluate` out of fold, of a fit that a cross-validation chose."""
        known = self.facts.own.get("out_of_fold")
        if known is None:
            raise NotDefinedError(
                "Nothing is known of this fit out of fold. fit.cv() returns its risk there, and fit.cv().refit() a fit "
                "that knows it."
            )
        return pd.Series({name: known[name] for name in FIGURES}, name="out of fold")

    @abstractmethod
    def cv(self, *args: Any, **options: Any) -> Any:
        """Return out-of-fold risk; what is compared besides prices d is the method's own."""

    def risk_against_d(self, d: Any = None, **options: Any) -> Any:
        """Return out-of-fold risk and rejection rate at each price d.

        Parameters
        ----------
        d : list of floats, optional
            By default 0.05, 0.10, ..., 0.50.
        **options
            Of `cv`: folds, k, groups, rng, n_jobs, progress.

        Returns
        -------
        RejectCV
        """
        return self.cv(d=USUAL_GRID if d is None else d, **options)

    def risk_coverage(self, data: Any = None, y: Any = None) -> Coverage:
        """Return risk against coverage with the decision function as it is and its threshold swept.

        On the training rows it flatters; ``cv().risk_coverage()`` has it out of fold.

        Parameters
        ----------
        data : DataFrame, mapping or array, optional
            Rows other than those of training.
        y : array_like (rows,), optional

        Returns
        -------
        Coverage
            ``table`` (threshold, coverage, error_accepted, risk), ``aurc``, ``fitted`` (the row of the fitted
            threshold), ``plot()``.
        """
        X = self._rows(data)[0]
        labels = self._labels(data, y)
        certainty, threshold = self.certainty_at(X)
        side = sides(self.decision_at(X))
        weights = self.model.weights if data is None else np.ones(len(X))
        where = "training rows" if data is None else "given rows"
        return coverage(labels, side, certainty, threshold, weights, self.prices, where)

    def plot_band(self, ax: Any = None) -> Any:
        """Return the Axes with the rows of a fit to two columns, and the band in which a prediction is withheld.

        As Figs 3 and 4 of Manwani et al. (2015); support vectors are ringed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        """
        from qreg_boost.plots.rejection import Band, plot_band

        design = self.model.design
        if design.X.shape[1] != 2:
            raise NotDefinedError(
                f"The band can be drawn for two predictors; this fit has {design.X.shape[1]}. See `risk_coverage()`."
            )
        boundary = self.decision_at if self.has_boundary else None
        band = Band(self.edges_at, boundary, self._ringed(), self.band_in_words)
        names, classes = list(design.column_names), [str(label) for label in self.classes]
        return plot_band(design.X, design.y > 0.5, band, names, classes, ax)

    has_boundary = True
    """Whether the decision function goes through 0 at one line between both classes."""

    def _ringed(self) -> np.ndarray:
        """Return which rows (n,) are ringed in a figure."""
        return np.zeros(len(self.model.design.y), dtype=bool)

    # -- what other models have

    bse = Absent(NO_STANDARD_ERRORS)
    tvalues = Absent(NO_STANDARD_ERRORS)
    pvalues = Absent(NO_STANDARD_ERRORS)
    conf_int = Absent(NO_STANDARD_ERRORS)
    cov_params = Absent(NO_STANDARD_ERRORS)
    predict_proba = Absent(
        'It decides, and may withhold, by predict(new). The fit of method="chow" has probability(new).'
    )

    # -- tables

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the fit; errors are those of the training rows.

        ``d`` is missing where both errors differ in cost; costs that were stated are in cost_fn, cost_fp, cost_reject.
        """
        facts, prices = self.facts, self.prices
        row = {"method": facts.own["method"], "d": prices.d[0] if prices.even else np.nan}
        row |= {f"cost_{name}": value for name, value in (prices.cost or {}).items()}
        row |= {"nobs": facts.nobs}
        row |= {"n_dropped": facts.n_dropped, "n_columns": len(facts.columns), **self.quality()}
        return pd.DataFrame([{**row, **self.tally.figures(prices)}]).drop(columns="n")

    def _scores(self, new: Any) -> dict[str, np.ndarray]:
        return {".decision": self.decision_function(new).to_numpy()}

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the training rows, or `data`, with ``.decision``, ``.predicted``, ``.withheld`` and ``.wrong``.

        ``.wrong`` says whether the label differs from the predicted one, as far as both are known.
        """
        table = super().augment(data)
        table[".predicted"] = self.predict(data).array
        codes = self.predict(data, codes=True)
        at = list(table.columns).index(".predicted") + 1
        table.insert(at, ".withheld", (codes == 0).to_numpy(dtype=bool, na_value=False))
        return table

    def in_short(self) -> list[str]:
        """Return the lines of ``print(fit)`` below the call."""
        found, known = self.tally.figures(self.prices), self.facts.own.get("out_of_fold")
        accuracy = found["accuracy_accepted"]
        right = "none predicted" if np.isnan(accuracy) else f"{share(accuracy)} right of those predicted"
        name = f"Mean cost of a row (event: {self.event})" if self.prices.stated else f"Risk at d = {self.prices}"
        weighed = " (weights counted)" if self.facts.weighted else ""
        out = "" if known is None else f", {known['risk']:.4g} out of fold"
        return [
            f"{name}: {found['risk']:.4g} in training{out}",
            f"In training {share(found['rejection_rate'])} of {self.nobs} rows withheld{weighed}, {right}",
        ]

    def tidy(self) -> pd.DataFrame:
        """Return counts in rows: actual, predicted, count."""
        return self.confusion().melt(ignore_index=False, value_name="count").reset_index()
