"""Quantile Boost Classification at several taus: cells of the probability, and errors against tau."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, check_count
from qreg_boost.base.costs import check_cost
from qreg_boost.base.process import QuantileProcess
from qreg_boost.base.resampling import generator, run_tasks
from qreg_boost.boosting.cells import Cells, cells, interval

ERRORS = ("error_rate", "fn_rate", "fp_rate", "cost")


class QBCProcess(QuantileProcess):
    """Fits of `qreg_boost.qbc` at several taus.

    Each says where P(event) is above 1 - tau; together they enclose the probability.

    Parameters
    ----------
    taus : sequence
        Kept as they were passed: they label the columns of every table.
    fits : sequence of QBCResults
        One fit per level.

    Examples
    --------
    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["ample"] = np.where(engel["foodexp"] > 600, "yes", "no")
    >>> fits = qb.qbc("ample ~ income", engel, tau=[0.25, 0.5, 0.75])
    >>> fits.prob_cell({"income": [400.0, 900.0]}).to_numpy().tolist()
    [[0.0, 0.25], [0.5, 0.75]]
    """

    def decision_function(self, new: Any = None) -> pd.DataFrame:
        """Return the fits, rows by tau, for new data or the training rows; see `QBCResults.decision_function`."""
        return self._side_by_side([fit.decision_function(new) for fit in self.fits])

    def predict(self, new: Any = None, offset: Any = None, rearrange: bool = False) -> pd.DataFrame:
        """Return predicted labels, rows by tau, as categories.

        Parameters
        ----------
        new
            As for one fit.
        offset, rearrange
            Labels have neither; `prob_cell` puts the signs of all fits in order.
        """
        if rearrange:
            raise InputError("Labels cannot be sorted by rearrange=True; prob_cell(new) puts the fits in order.")
        labels = [fit.predict(new, offset) for fit in self.fits]
        return pd.concat(labels, axis=1, keys=self._columns)

    def _crossing(self, values: np.ndarray) -> np.ndarray:
        """Return where signs fall as tau rises."""
        return cells(np.asarray(self.taus, dtype=float), values).corrected

    @property
    def error_rate(self) -> pd.Series:
        """Share of the training rows predicted wrongly, by tau."""
        return self._by_tau("error_rate")

    @property
    def resid(self) -> pd.DataFrame:
        """Labels have no residuals."""
        raise NotDefinedError("A classifier has no residuals. errors() has the errors at each tau.")

    @property
    def prsquared(self) -> pd.Series:
        """R1 is of quantile regression."""
        raise NotDefinedError("R1 is not defined for a classifier. errors() has the errors at each tau.")

    @property
    def optimality_gap(self) -> pd.Series:
        """The smoothed score has no known optimum."""
        raise NotDefinedError("The optimum of a smoothed score is not known. errors() has the errors at each tau.")

    def plot_lines(self, ax: Any = None) -> Any:
        """Fits of a classifier are no quantiles of the response."""
        raise NotDefinedError("The fits of a classifier are no quantiles to draw. Ask plot_errors() or plot_roc().")

    def at(self, m: int) -> QBCProcess:
        """Return the fits at iteration m."""
        return QBCProcess(self.taus, [fit.at(m) for fit in self.fits])

    def extend(self, m: int) -> QBCProcess:
        """Return the fits continued to iteration m."""
        return QBCProcess(self.taus, [fit.extend(m) for fit in self.fits])

    def summary(self) -> Any:
        """Return the coefficients by tau with the facts of each fit; ``fits[tau].summary()`` has the whole of one."""
        whole = super().summary()
        event = self.fits[0].event
        note = f"prob_cell(new) estimates between which of the limits 1 - tau P({event}) lies; errors() has the errors."
        return replace(whole, notes=(*whole.notes, note))

    # -- the probability

    def prob_cell(
        self,
        new: Any = None,
        level: float | None = None,
        reps: int = 200,
        rng: Any = 0,
        n_jobs: int = 1,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Return an estimate of the cell in which P(event) lies, a row for each of `new` or of the training rows.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula. Rows in which something is missing get a missing cell.
        level : float, optional
            With it, also a percentile interval of this level from `reps` bootstrap samples of the training rows, to
            each of which all taus are fitted anew.
        reps : int
            Number of bootstrap samples.
        rng : int or numpy Generator
            Seed of the samples.
        n_jobs : int
            Workers; the numbers do not depend on it.
        progress : bool
            Whether work of more than two seconds shows a bar.

        Returns
        -------
        DataFrame
            ``lower``, ``upper``, and with `level` ``conf_low``, ``conf_high``. ``attrs["corrected"]`` counts the rows
            whose signs were not in order, ``attrs["label"]`` is "estimate".

        Notes
        -----
        P(event) > 1 - tau exactly where the best score at tau is above 0 (Zheng 2012, eq. 9): the cell runs between the
        limits 1 - tau of the neighbouring taus at which the fits change sign. Where the signs do not rise with tau,
        they are replaced by the rising sequence that differs from them at the fewest taus; if several are as near, the
        cell spans them all. The fits are estimates of the best score, and so is the cell: it is an interval because the
        taus are few, not because the estimate is uncertain. `level` speaks of that, as far as the sample goes: a bias
        from the smoothing, the stop or the learner is not in it.
        """
        X, index = self._encoded(new)
        found = self._cells(np.column_stack([fit.decision_at(X) for fit in self.fits]))
        columns = {"lower": found.lower, "upper": found.upper}
        if level is not None:
            if isinstance(level, bool) or not isinstance(level, Real) or not 0.0 < level < 1.0:
                raise InputError(f"`level` must lie strictly between 0 and 1, 0.9 for 90 %; got {level!r}.")
            check_count(reps, "reps", 2)
            ends = self._bootstrapped(X, float(level), reps, rng, n_jobs, progress)
            columns["conf_low"] = np.minimum(ends[:, 0], found.lower)
            columns["conf_high"] = np.maximum(ends[:, 1], found.upper)
        table = pd.DataFrame(columns, index=index)
        table.columns.name = "estimate"
        table.attrs.update(label="estimate", corrected=int(found.corrected.sum()), rows=len(table))
        return table

    def _encoded(self, new: Any) -> tuple[np.ndarray, pd.Index]:
        if new is None:
            design = self.model.design
            return design.X, design.index
        encoded = self.fits[0].encoder.encode(new, None)
        return encoded.X, encoded.index

    def _cells(self, values: np.ndarray) -> Cells:
        return cells(np.asarray(self.taus, dtype=float), values)

    def _bootstrapped(
        self, X: np.ndarray, level: float, reps: int, rng: Any, n_jobs: int, progress: bool
    ) -> np.ndarray:
        model = self.model
        used, draws = np.flatnonzero(model.weights > 0), generator(rng)
        tasks = []
        for _ in range(reps):
            drawn = _both_classes(used, model.design.y, draws)
            tasks.append((np.bincount(drawn, minlength=len(model.weights)) * model.weights, X))
        ends = run_tasks(self._replicate, tasks, n_jobs=n_jobs, progress=progress, description="bootstrap")
        return interval(np.array(ends), level)

    def _replicate(self, weights: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the cells (rows, 2) at X of fits with other weights (n,)."""
        found = self._cells(np.column_stack([fit.model.refitted_at(weights, fit.mstop, X) for fit in self.fits]))
        return np.column_stack((found.lower, found.upper))

    # -- errors

    def errors(self, data: Any = None, y: Any = None, cost: Any = None) -> pd.DataFrame:
        """Return the errors at each tau: tau, error_rate, fn_rate, fp_rate, cost; of the training rows or of others.

        ``cost`` is the mean cost of a row: with the prices that `cost` gives, here or to the fits, else tau for an
        event missed and 1 - tau for another flagged, which differ from tau to tau.

        Parameters
        ----------
        data, y, cost
            As for `QBCResults.evaluate`.
        """
        figures = [fit.evaluate(data, y, cost) for fit in self.fits]
        return pd.DataFrame(
            [{"tau": tau, **{name: one[name] for name in ERRORS}} for tau, one in zip(self.taus, figures, strict=True)]
        )

    def plot(self, terms: Any = None, *, axes: Any = None) -> Any:
        """Raise: a fit's unit is arbitrary, so coefficients at several taus do not compare."""
        raise NotDefinedError(
            "The fits of a classifier at several taus have units of their own, so their coefficients do not compare. "
            "plot_errors() and plot_roc() draw the errors."
        )

    def plot_errors(self, data: Any = None, y: Any = None, ax: Any = None, cost: Any = None) -> Any:
        """Draw error rate, FN rate and FP rate against tau; return their Axes.

        Where `cost` is told, here or to the fits, one price for all, the mean cost of a row is drawn in Axes of its own
        below, the least marked, unless `ax` is given. Without, each tau has prices of its own, and costs do not
        compare.
        """
        from qreg_boost.plots.classification import plot_errors

        where = "training rows" if data is None else "given rows"
        told = self.fits[0].facts.own["cost"] if cost is None else check_cost(cost)
        return plot_errors(self.errors(data, y, cost), where=where, ax=ax, cost=told)

    def plot_roc(self, data: Any = None, y: Any = None, ax: Any = None) -> Any:
        """Draw the share of events flagged against that of others flagged, a point for each tau; return the Axes."""
        from qreg_boost.plots.classification import plot_roc

        return plot_roc(self.errors(data, y), where="training rows" if data is None else "given rows", ax=ax)


def _both_classes(used: np.ndarray, y: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """Return rows drawn with replacement from `used` (k,), drawn again if they hold one class only."""
    while True:
        drawn = draws.choice(used, len(used))
        if np.ptp(y[drawn]) > 0.0:
            return drawn
