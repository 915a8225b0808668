"""What a boosted fit hands back: coefficients at any iteration, selections, tables, plots."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import ConvergenceWarning, InputError, NotDefinedError, check_count, warn
from qreg_boost.base.results import FitResults
from qreg_boost.boosting import tables
from qreg_boost.boosting.facts import BoostFacts
from qreg_boost.boosting.linear_path import LinearPath
from qreg_boost.boosting.path import BoostPath, stalled, vanished
from qreg_boost.boosting.stopping import CV, CVResult

if TYPE_CHECKING:
    from typing_extensions import Self

    from qreg_boost.base.summary import Summary


class BoostResults(FitResults):
    """A fitted boosted model; made by ``fit``, never changed afterwards. Each family adds what its loss means.

    Parameters
    ----------
    facts : BoostFacts
    path : BoostPath
        May be longer than `mstop`; fits cut from it share it.
    mstop : int
        Iteration that this fit stands at.
    model : BoostModel or None
        The model, which holds the rows; None for a fit loaded from a file without data.
    chosen : CVResult, optional
        The cross-validation that chose `mstop`.
    shared : dict, optional
        Values that all fits of one model share: the encoder of new data, and what was computed when first asked.
    """

    title = "Boosting"
    loss_name = "loss"
    unit = "units of the fit"
    loss_unit = ""

    def __init__(
        self,
        facts: BoostFacts,
        path: BoostPath,
        mstop: int,
        model: Any = None,
        chosen: CVResult | None = None,
        shared: dict[str, Any] | None = None,
    ) -> None:
        self.facts = facts
        self.path = path
        self.mstop = mstop
        self.chosen = chosen
        self._model = model
        self._known = {} if shared is None else shared
        if path.status == stalled(path.length) and mstop == path.length:
            warn(
                f"The run {path.status}, where the {self.loss_name} is {path.risks[-1]:.6g}: {self._why_stalled()}",
                ConvergenceWarning,
            )
        if path.status == vanished(path.length) and mstop == path.length:
            warn(
                f"After iteration {path.length} {path.status.partition(' at ')[0]} in every row: no further step can "
                f"change the fit. The {self.loss_name} is {path.risks[-1]:.6g}.",
                ConvergenceWarning,
            )

    def _why_stalled(self) -> str:
        return 'no step along the chosen learner lowers it. step="fixed" goes on from there.'

    # -- what it is

    @property
    def start(self) -> float:
        """The constant that the fit started from, in units of the fit."""
        return self.path.start

    @property
    def status(self) -> str:
        """Why the run ended before it was asked to, or "complete"."""
        return self.path.status if self.mstop == self.path.length else "complete"

    # -- coefficients and path

    @property
    def has_coefficients(self) -> bool:
        """Whether the fit is linear in its columns."""
        return type(self.path) is LinearPath

    @property
    def _linear(self) -> LinearPath:
        if not isinstance(self.path, LinearPath) or not self.has_coefficients:
            raise NotDefinedError(
                f"A fit with the learner {self.facts.learner!r} is not linear in its columns and has no coefficients. "
                "What moves it is in `importance` and `selection_frequencies`, and plot_effect(term) draws it."
            )
        return self.path

    @cached_property
    def params(self) -> pd.Series:
        """Coefficients on the data's own scale, the intercept first; columns never selected have 0."""
        slopes = self._linear.slopes_at(self.mstop)
        values = np.concatenate(([self._linear.intercept_at(self.mstop)], slopes))
        return pd.Series(values, index=self._labels, name="coef" if self.tau is None else f"tau={self.tau:g}")

    @property
    def _labels(self) -> pd.Index:
        return pd.Index(("Intercept", *self.facts.columns), name="term")

    def coef_path(self) -> pd.DataFrame:
        """Return the coefficients after 0..mstop iterations (rows), on the data's own scale."""
        table = self._linear.coefficients(self.mstop)
        return pd.DataFrame(table, index=self._iterations, columns=self._labels)

    @property
    def _iterations(self) -> pd.RangeIndex:
        return pd.RangeIndex(self.mstop + 1, name="iteration")

    @cached_property
    def risk_path(self) -> pd.Series:
        """Weighted sum of losses after 0..mstop iterations."""
        return pd.Series(self.path.risks[: self.mstop + 1], index=self._iterations, name="risk")

    @property
    def risk(self) -> float:
        """Weighted sum of losses of this fit."""
        return float(self.path.risks[self.mstop])

    @cached_property
    def selected(self) -> pd.Series:
        """Name of the learner chosen in iterations 1..mstop."""
        names = np.array(self.path.names, dtype=object)[self.path.selected[: self.mstop]]
        return pd.Series(names, index=pd.RangeIndex(1, self.mstop + 1, name="iteration"), name="selected", dtype=object)

    def _by_learner(self, values: Any, name: str) -> pd.Series:
        return pd.Series(values, index=pd.Index(self.path.names, name="learner"), name=name, dtype=float)

    @cached_property
    def selection_frequencies(self) -> pd.Series:
        """Share of the iterations in which each learner was used; missing at iteration 0."""
        iteration, learner, _ = self.path.shares(self.mstop)
        used = np.unique(np.column_stack((iteration, learner)), axis=0)[:, 1]
        counts = np.bincount(used.astype(np.intp), minlength=len(self.path.names))
        return self._by_learner(counts / self.mstop if self.mstop else np.nan, "selection_frequency")

    @cached_property
    def first_selected(self) -> pd.Series:
        """Iteration in which each learner was first used; missing for those never used."""
        first = np.full(len(self.path.names), np.nan)
        iteration, learner, _ = self.path.shares(self.mstop)
        np.fmin.at(first, learner, iteration + 1.0)
        return self._by_learner(first, "first_selected")

    @cached_property
    def importance(self) -> pd.Series:
        """Share of each learner in the reduction of the loss since the start; missing if there is none."""
        gains = -np.diff(self.path.risks[: self.mstop + 1])
        iteration, learner, part = self.path.shares(self.mstop)
        by_learner = np.bincount(learner, weights=gains[iteration] * part, minlength=len(self.path.names))
        total = float(by_learner.sum())
        return self._by_learner(by_learner / total if total > 0 else np.nan, "importance")

    # -- other iterations

    def at(self, m: int) -> Self:
        """Return the fit at iteration m of this path; this fit stays as it is."""
        m = check_count(m, "m", 0, " It is an iteration of the path.")
        if m > self.path.length:
            reason = "" if self.path.status == "complete" else f" (the run ended early: {self.path.status})"
            raise InputError(
                f"The path has {self.path.length} iterations{reason}; got m={m}. extend({m}) goes on to there."
            )
        return self._on(self.path, m, "fixed")

    def extend(self, m: int) -> Self:
        """Return the fit continued to iteration m in all, without refitting; this fit stays as it is."""
        m = check_count(m, "m", 0)
        if m < self.mstop:
            raise InputError(f"extend({m}) would shorten the fit, which stands at iteration {self.mstop}; use at({m}).")
        path = self.model.continued(self.path, m)
        return self._on(path, min(m, path.length), "fixed")

    def _on(self, path: BoostPath, m: int, how: str) -> Self:
        return type(self)(replace(self.facts, how=how), path, m, self._model, None, self._known)

    def cv(
        self,
        folds: Any = "kfold",
        k: int = 10,
        max: int | None = None,
        rng: Any = 0,
        n_jobs: int = 1,
        rule: str = "min",
        progress: bool = True,
    ) -> CVResult:
        """Return the out-of-sample loss by iteration, 0 to `max` (by default mstop); see `qreg_boost.CV`.

        ``fit.at(fit.cv().mstop)`` is the fit at the best stop.
        """
        most = self.mstop if max is None else max
        if most < 1:
            raise InputError(
                "`max` must be at least 1 to compare stops; this fit stands at iteration 0, so give `max`."
            )
        return self.model.cross_validate(CV(folds, k, most, rng, rule, n_jobs, progress))

    # -- rows

    @cached_property
    def fittedvalues(self) -> pd.Series:
        """Fitted quantiles of the rows kept, under the caller's labels, in units of y."""
        design = self.model.design
        return pd.Series(self._values(design.X, design.offset), index=design.index, name="fitted")

    @cached_property
    def resid(self) -> pd.Series:
        """Response minus fitted quantile of the rows kept, under the caller's labels."""
        design = self.model.design
        return pd.Series(design.y - self.fittedvalues.to_numpy(), index=design.index, name="resid")

    def predict(self, new: Any = None, offset: Any = None) -> pd.Series:
        """Return predicted quantiles for new data, in units of y.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the fitted values. Rows in which something
            is missing get a missing prediction.
        offset : array_like (rows,), optional
            Needed if the fit had an offset that was no column of the data.

        Raises
        ------
        InputError
            If a column is missing, or a level was not seen in training.
        """
        if new is None:
            if offset is not None:
                raise InputError("`offset` goes with new data; without `new` the offset of the fit is used.")
            return self.fittedvalues
        encoded = self.encoder.encode(new, offset)
        return pd.Series(self._values(encoded.X, encoded.offset), index=encoded.index, name="predicted")

    def _values(self, X: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
        fit = self.path.fit_at(self.mstop, X)
        if X.shape[1] and not self.path.handles_missing():
            fit[np.isnan(X).any(axis=1)] = np.nan
        return fit if offset is None else fit + offset

    # -- saving

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds; with `data`, the rows too."""
        encoder_meta, encoder_arrays = self.encoder.state()
        path_meta, path_arrays = self.path.state()
        meta: dict[str, Any] = {
            "facts": self.facts.state(),
            "mstop": self.mstop,
            "known": self._known_without_rows(),
            "encoder": encoder_meta,
            "path": path_meta,
        }
        arrays = {f"path.{name}": array for name, array in path_arrays.items()}
        arrays |= {f"encoder.{name}": array for name, array in encoder_arrays.items()}
        if data:
            model_meta, model_arrays = self.model.state()
            meta["model"] = model_meta
            arrays |= {f"model.{name}": array for name, array in model_arrays.items()}
        return meta, arrays

    def _known_without_rows(self) -> dict[str, Any]:
        """Return what a file should know that could not be computed again without the rows."""
        return {}

    # -- tables

    def tidy(self) -> pd.DataFrame:
        """Return one row per coefficient: term, estimate, selection_frequency, first_selected, importance.

        The last three belong to learners; a factor's columns repeat those of the factor.
        """
        return tables.tidy(self)

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the fit."""
        return tables.glance(self)

    def quality(self) -> dict[str, float]:
        """Return what a family measures of a fit, by name: the last columns of `glance`."""
        return {}

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the training rows with ``.fitted`` and ``.resid``; or `data` (``.resid`` if it has the response)."""
        return tables.augment(self, data)

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.boosting.report import summarise

        return summarise(self)

    def __str__(self) -> str:
        from qreg_boost.boosting.report import describe

        return describe(self)

    # -- plots and R

    def plot_path(self, ax: Any = None) -> Any:
        """Draw the coefficients against the iteration; return the Axes."""
        from qreg_boost.plots.paths import plot_path

        return plot_path(self.coef_path(), tau=self.tau, ax=ax, unit=self.unit)

    def plot_risk(self, ax: Any = None) -> Any:
        """Draw the loss against the iteration; return the Axes."""
        from qreg_boost.plots.paths import plot_risk

        return plot_risk(self.risk_path, tau=self.tau, ax=ax, loss=self.loss_name, unit=self.loss_unit)

    def plot_importance(self, ax: Any = None) -> Any:
        """Draw each learner's share in the reduction of the loss; return the Axes."""
        from qreg_boost.plots.paths import plot_importance

        return plot_importance(self.importance, tau=self.tau, ax=ax, loss=self.loss_name)

    def effect(self, term: str, grid: Any = None) -> pd.DataFrame:
        """Return what a term adds to the fit: columns term, x (or level), effect, in units of the fit.

        Its weighted mean over the rows of the fit is 0. For fits that are sums over terms (linear, spline, stump) it is
        the term's own contribution; for trees the partial dependence of Friedman (2001): the mean of the fit over the
        rows with the term set to each value, less the mean of the fit.

        Parameters
        ----------
        term : str
            A term of the formula, or a column of the arrays.
        grid : int, array_like or DataFrame, optional
            Number of points over the range of the rows, by default 100, to which stumps add both ends of each of their
            steps; or the values themselves, levels of a factor; or rows with all columns of the formula, for terms of
            several columns such as ``poly(x, 2)`` or ``x:g``. By default a factor is shown at all its levels. Where
            rows of the fit miss the term (``missing="branch"``), the last row is the effect of a missing value.

        Raises
        ------
        InputError
            If there is no such term, or a loaded fit would need the rows.

        References
        ----------
        Friedman (2001), Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 29, 1189-1232.
        """
        from qreg_boost.boosting.effects import effect

        return effect(self, term, grid)

    @property
    def facts_only(self) -> bool:
        """Whether the fit comes from a file without the rows."""
        return self._model is None

    def plot_effect(self, term: str, grid: Any = None, ax: Any = None) -> Any:
        """Draw what a term adds to the fit, with the values of the rows at the foot; return the Axes."""
        from qreg_boost.boosting.effects import effect, observed
        from qreg_boost.plots.effects import plot_effect

        rows = None if isinstance(grid, pd.DataFrame) else observed(self, term)
        return plot_effect(effect(self, term, grid), self.tau, rows, self.unit, ax)

    def compare_r(self) -> Any:
        """Return a comparison with R: the gap to `rq`'s optimum, and equality with mboost where that is installed."""
        from qreg_boost.r.compare import compare

        return compare(self)
