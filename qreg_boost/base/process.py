"""Fits of one model at several quantile levels, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import CrossingWarning, InputError, NotDefinedError, listed, nearest, warn
from qreg_boost.base.results import Results


class QuantileProcess(Results):
    """Fits at several taus; made by a formula function given a list of taus.

    Parameters
    ----------
    taus : sequence
        Quantile levels, kept as they were passed: they label the columns of every table.
    fits : sequence of Results
        One fit per level.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75])
    >>> list(fits.params.columns)
    [0.25, 0.75]
    """

    def __init__(self, taus: Sequence[Any], fits: Sequence[Any]) -> None:
        self.taus = list(taus)
        self.fits = list(fits)

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fits)

    def __getitem__(self, tau: Any) -> Any:
        """Return the fit at one of the taus, which need not be equal to the last digit."""
        number = isinstance(tau, (int, float, np.number)) and not isinstance(tau, bool)
        same = np.isclose(np.asarray(self.taus, dtype=float), tau, rtol=1e-9, atol=0.0) if number else np.zeros(1)
        if not same.any():
            raise InputError(f"No fit at tau={tau!r}; taus: {', '.join(map(str, self.taus))}.")
        return self.fits[int(np.argmax(same))]

    def _one(self) -> tuple[type | None, str]:
        fits = self.__dict__.get("fits")
        return (type(fits[0]), f"fits[{self.taus[0]}]") if fits else (None, "")

    @property
    def _columns(self) -> pd.Index:
        return pd.Index(self.taus, name="tau")

    def _side_by_side(self, series: Sequence[pd.Series]) -> pd.DataFrame:
        table = np.column_stack([one.to_numpy() for one in series])
        return pd.DataFrame(table, index=series[0].index, columns=self._columns)

    def _by_tau(self, name: str) -> pd.Series:
        return pd.Series([getattr(fit, name) for fit in self.fits], index=self._columns, name=name)

    @property
    def formula(self) -> str | None:
        """The formula as written."""
        return self.fits[0].formula

    @property
    def model(self) -> Any:
        """The model of the first fit; all share its design."""
        return self.fits[0].model

    @property
    def nobs(self) -> int:
        """Number of rows with weight above 0."""
        return self.fits[0].nobs

    @property
    def params(self) -> pd.DataFrame:
        """Coefficients, terms by tau."""
        return self._side_by_side([fit.params for fit in self.fits])

    @property
    def fittedvalues(self) -> pd.DataFrame:
        """Fitted quantiles, rows by tau."""
        return self._side_by_side([fit.fittedvalues for fit in self.fits])

    @property
    def resid(self) -> pd.DataFrame:
        """Residuals, rows by tau."""
        return self._side_by_side([fit.resid for fit in self.fits])

    @property
    def prsquared(self) -> pd.Series:
        """R1 by tau."""
        return self._by_tau("prsquared")

    @property
    def risk(self) -> pd.Series:
        """Weighted sum of check losses by tau."""
        return self._by_tau("risk")

    @property
    def mstop(self) -> pd.Series:
        """Iterations by tau."""
        return self._by_tau("mstop")

    @property
    def optimality_gap(self) -> pd.Series:
        """Distance to the exact optimum by tau, relative."""
        return self._by_tau("optimality_gap")

    @property
    def crossings(self) -> int:
        """Number of training rows whose fitted quantiles cross."""
        return self.crossed[0]

    @cached_property
    def crossed(self) -> tuple[int, int]:
        """Number of training rows whose fitted quantiles cross, and of training rows; known to files without rows."""
        values = self.fittedvalues.to_numpy()
        return int(self._crossing(values).sum()), len(values)

    def _crossing(self, values: np.ndarray) -> np.ndarray:
        order = np.argsort(np.asarray(self.taus, dtype=float), kind="stable")
        steps = np.diff(values[:, order], axis=1)
        tiny = 1e-12 * np.nanmax(np.abs(values), initial=0.0)
        return (steps < -tiny).any(axis=1)

    def predict(self, new: Any = None, offset: Any = None, rearrange: bool = False) -> pd.DataFrame:
        """Return predicted quantiles, rows by tau, in units of y.

        Parameters
        ----------
        new, offset
            As for one fit.
        rearrange : bool
            Whether to sort each row's quantiles, so that they do not cross (Chernozhukov, Fernandez-Val and Galichon
            2010).

        Warns
        -----
        CrossingWarning
            If quantiles cross and are not rearranged; the rows are counted.
        """
        table = self._side_by_side([fit.predict(new, offset=offset) for fit in self.fits])
        values = table.to_numpy()
        crossing = int(self._crossing(values).sum())
        if not crossing:
            return table
        if not rearrange:
            warn(
                f"The quantiles of {crossing} of {len(table)} rows cross; rearrange=True sorts them within each row.",
                CrossingWarning,
            )
            return table
        order = np.argsort(np.asarray(self.taus, dtype=float), kind="stable")
        sorted_values = values.copy()
        sorted_values[:, order] = np.sort(values, axis=1)
        return pd.DataFrame(sorted_values, index=table.index, columns=table.columns)

    def at(self, m: int) -> QuantileProcess:
        """Return the fits at iteration m."""
        return QuantileProcess(self.taus, [fit.at(m) for fit in self.fits])

    def extend(self, m: int) -> QuantileProcess:
        """Return the fits continued to iteration m."""
        return QuantileProcess(self.taus, [fit.extend(m) for fit in self.fits])

    def tidy(self) -> pd.DataFrame:
        """Return one row per tau and coefficient, the tau in the first column."""
        return self._stacked([fit.tidy() for fit in self.fits])

    def glance(self) -> pd.DataFrame:
        """Return one row per tau."""
        return pd.concat(
            [fit.glance().assign(tau=tau) for tau, fit in zip(self.taus, self.fits, strict=True)], ignore_index=True
        )

    def evaluate(self, data: Any = None, y: Any = None, **options: Any) -> pd.DataFrame:
        """Return how each fit does on the training rows or on other ones: one row per tau, arguments as of one fit."""
        rows = {tau: fit.evaluate(data, y, **options) for tau, fit in zip(self.taus, self.fits, strict=True)}
        return pd.DataFrame(rows).T.rename_axis(index="tau").reset_index()

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return rows with ``.fitted`` and ``.resid``, once per tau, the tau in the first column."""
        return self._stacked([fit.augment(data) for fit in self.fits], keep_index=True)

    def _stacked(self, tables: list[pd.DataFrame], keep_index: bool = False) -> pd.DataFrame:
        for tau, table in zip(self.taus, tables, strict=True):
            table.insert(0, "tau" if "tau" not in table else ".tau", tau)
        return pd.concat(tables, ignore_index=not keep_index)

    def summary(self) -> Any:
        """Return the coefficients by tau with the facts of each fit; ``fits[tau].summary()`` has the whole of one."""
        from qreg_boost.base.summary import summarise_process

        return summarise_process(self)

    def __str__(self) -> str:
        from qreg_boost.base.summary import describe_process

        return describe_process(self)

    def plot_lines(self, ax: Any = None) -> Any:
        """Draw the rows and the fitted quantile lines of a fit to one numeric predictor; return the Axes."""
        from qreg_boost.plots.process import plot_lines

        return plot_lines(self, ax=ax)

    def plot(self, terms: Any = None, *, axes: Any = None) -> Any:
        """Draw each coefficient against tau; return the Axes, one per coefficient.

        Parameters
        ----------
        terms : list of names, optional
            Which coefficients; by default all, at most 12.
        axes : array of matplotlib Axes, optional
            One per coefficient; by default a new figure.
        """
        from qreg_boost.plots.process import plot_coefficients

        table = self.params.loc[self._chosen(terms)].melt(ignore_index=False, value_name="estimate").reset_index()
        return plot_coefficients(table, None, None, axes)

    def _chosen(self, terms: Any) -> list[str]:
        known = [str(name) for name in self.params.index[self.params.notna().any(axis=1)]]
        names = known[:12] if terms is None else [terms] if isinstance(terms, str) else list(terms)
        for name in names:
            if name not in known:
                raise InputError(
                    f"There is no coefficient {name!r}.{nearest(str(name), known)} Terms: {listed(known)}."
                )
        if not names:
            raise InputError(f"`terms` is empty, so there is nothing to draw. Terms: {listed(known)}.")
        return names

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds: the state of each fit."""
        metas: list[dict[str, Any]] = []
        arrays: dict[str, np.ndarray] = {}
        for position, fit in enumerate(self.fits):
            meta, own = fit.state(data)
            metas.append({"kind": type(fit).__name__, "meta": meta})
            arrays |= {f"{position}.{name}": array for name, array in own.items()}
        return {"taus": [float(tau) for tau in self.taus], "fits": metas, "crossed": self._crossed_if_known()}, arrays

    def _crossed_if_known(self) -> list[int] | None:
        try:
            return list(self.crossed)
        except NotDefinedError:
            return None
