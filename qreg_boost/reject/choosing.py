"""Out-of-fold risk of classifiers that may withhold, over settings and prices, however the classifiers are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, check_bool
from qreg_boost.base.resampling import Folds
from qreg_boost.base.typeset import WIDTH, wrap
from qreg_boost.reject.curves import Coverage, coverage
from qreg_boost.reject.figures import counts_table, figures_by_group
from qreg_boost.reject.groups import groups_of_rows, name_of
from qreg_boost.reject.prices import Prices, check_price
from qreg_boost.reject.tally import Tally

USUAL_GRID = tuple(round(0.05 * k, 2) for k in range(1, 11))
"""Prices d of `risk_against_d`."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What one of the fits compared at a price is made with.

    Attributes
    ----------
    shown : dict
        Columns of the table, by name.
    options : dict
        What the model's ``at`` takes.
    order : tuple of numbers
        Of settings of equal risk the least of these is best.
    """

    shown: Mapping[str, Any]
    options: Mapping[str, Any]
    order: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions.

    Attributes
    ----------
    counts : (prices, settings, folds, 2, 3) array
        Held-out rows by class and prediction, weights counted.
    signs : (prices, settings, n) array
        -1, 0, +1 of each row, the last fold's that held it out; NaN where none did.
    certainty : (prices, settings, n) array or None
        How far each row is beyond the threshold up to which its fold's fit withholds; None where there is none.
    side : (prices, settings, n) array or None
        -1 or +1, what is predicted if anything is.
    """

    counts: np.ndarray
    signs: np.ndarray
    certainty: np.ndarray | None = None
    side: np.ndarray | None = None


def sides(decision: np.ndarray) -> np.ndarray:
    """Return -1 or +1, what a decision function predicts if anything; NaN where it is.

    >>> sides(np.array([2.0, -1.0, 0.0, np.nan])).tolist()
    [1.0, -1.0, -1.0, nan]
    """
    return np.where(np.isnan(decision), np.nan, np.where(decision > 0.0, 1.0, -1.0))


def values_of(values: Any, name: str) -> list[Any]:
    """Return the values of a grid: one value or several, none of them numpy's.

    >>> values_of(2.0, "C"), values_of([1, 2], "C")
    ([2.0], [1, 2])
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        return [values.item() if isinstance(values, np.generic) else values]
    if isinstance(values, np.ndarray) and not values.ndim:
        return [values.item()]
    found = list(values)
    if not found:
        raise InputError(f"The grid of `{name}` is empty.")
    return [one.item() if isinstance(one, np.generic) else one for one in found]


def prices_of(d: Any, prices: Prices) -> tuple[Prices, ...]:
    """Return the prices of a grid of d in order; those of the fit where it is None."""
    if d is None:
        return (prices,)
    if prices.stated:
        raise InputError("`d` cannot vary where `cost` states what withholding costs; fit with d=... instead.")
    return tuple(Prices(1.0, 1.0, one) for one in sorted({check_price(one) for one in values_of(d, "d")}))


class RejectCV:
    """Out-of-fold risk over settings and prices; made by ``fit.cv`` and ``fit.risk_against_d``.

    Parameters
    ----------
    out : OutOfFold
    settings : sequence of Setting
    prices : sequence of Prices
    folds : Folds
    model : object
        With the rows (``design``, ``used``, ``weights``, ``levels``), and ``at(options, prices, known)``, which refits.
    found : object, optional
        What else is known of the fits: of kernel machines, how their programs ended.
    """

    def __init__(
        self,
        out: OutOfFold,
        settings: tuple[Setting, ...],
        prices: tuple[Prices, ...],
        folds: Folds,
        model: Any,
        found: Any = None,
    ) -> None:
        self.settings, self.prices, self.folds, self.found = settings, prices, folds, found
        self._out, self._model = out, model

    # -- risks

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per price and setting: risk, its standard error, and what it is made of.

        Columns d (unless costs were stated), those of the settings (C and kernel or gamma; mstop), risk, se,
        rejection_rate, accuracy_accepted, error_overall. risk is over all held-out rows, in units of the costs if they
        were stated; se the standard deviation of the folds' risks over the root of their number.
        """
        rows = []
        for i, price in enumerate(self.prices):
            at = {"d": price.d[0]} if price.even else {}
            for j, setting in enumerate(self.settings):
                risks = self._risks(i, j)
                se = float(np.std(risks, ddof=1) / np.sqrt(len(risks))) if len(risks) > 1 else np.nan
                figures = self._tally(i, j).figures(price)
                rows.append({
                    **at, **setting.shown, "risk": figures["risk"], "se": se,
                    "rejection_rate": figures["rejection_rate"], "accuracy_accepted": figures["accuracy_accepted"],
                    "error_overall": figures["error_overall"],
                })  # fmt: skip
        return pd.DataFrame(rows)

    def _risks(self, i: int, j: int) -> np.ndarray:
        return np.array([Tally(one).figures(self.prices[i])["risk"] for one in self._out.counts[i, j]])

    def _tally(self, i: int, j: int) -> Tally:
        return Tally(self._out.counts[i, j].sum(axis=0))

    @property
    def best(self) -> pd.DataFrame:
        """The row of least risk at each price; of equal ones that of the smallest C or mstop and the first kernel."""
        at = [i * len(self.settings) + self._best_of(i) for i in range(len(self.prices))]
        return self.table.iloc[at].reset_index(drop=True)

    def _best_of(self, i: int) -> int:
        several = len(self.settings)
        risks = self.table["risk"].to_numpy()[i * several : (i + 1) * several]
        return min(range(several), key=lambda j: (round(float(risks[j]), 12), self.settings[j].order, j))

    @property
    def fold_risks(self) -> pd.DataFrame:
        """Risk in each fold (rows) of the best setting at each price d (columns): for differences between methods."""
        columns = pd.Index([price.d[0] if price.even else str(price) for price in self.prices], name="d")
        risks = np.column_stack([self._risks(i, self._best_of(i)) for i in range(len(self.prices))])
        return pd.DataFrame(risks, index=pd.RangeIndex(1, len(risks) + 1, name="fold"), columns=columns)

    # -- one price

    def _price(self, d: Any) -> int:
        each = [price.d[0] if price.even else price.reject for price in self.prices]
        known = ", ".join(f"{one:g}" for one in each)
        if d is None:
            if len(self.prices) > 1:
                raise InputError(f"Several prices were compared; say which, d=...: {known}.")
            return 0
        number = float(d) if isinstance(d, Real) and not isinstance(d, bool) else np.nan
        for i, one in enumerate(each):
            if abs(one - number) < 1e-9:
                return i
        raise InputError(f"d={d!r} is none of the prices compared: {known}.")

    def refit(self, d: float | None = None) -> Any:
        """Return the fit of all rows with the setting of least risk; its summary has the risk out of fold too.

        Parameters
        ----------
        d : float, optional
            Which price, where several were compared.
        """
        i = self._price(d)
        j = self._best_of(i)
        known = {**self._tally(i, j).figures(self.prices[i]), "folds": self.folds.kind, "settings": len(self.settings)}
        return self._model.at(self.settings[j].options, self.prices[i], known)

    def predictions(self, d: float | None = None, *, codes: bool = False) -> pd.Series:
        """Return the out-of-fold predictions of the best setting; missing where withheld.

        Parameters
        ----------
        d : float, optional
            Which price, where several were compared.
        codes : bool
            Whether to return -1, 0 (withheld), +1.
        """
        check_bool(codes, "codes")
        i = self._price(d)
        found = self._out.signs[i, self._best_of(i)]
        index = self._model.design.index[self._model.used]
        if codes:
            return pd.Series(pd.array(found, dtype="Float64").astype("Int8"), index=index, name="predicted")
        values = np.where(np.isnan(found) | (found == 0.0), np.nan, found > 0.0)
        return self._model.levels.series(values, index)

    def confusion(self, d: float | None = None) -> pd.DataFrame:
        """Return counts of held-out rows, actual classes by predicted ones and withheld, of the best setting.

        Parameters
        ----------
        d : float, optional
            Which price, where several were compared.
        """
        i = self._price(d)
        return counts_table(self._tally(i, self._best_of(i)).counts, self._model.levels.labels)

    def evaluate(self, d: float | None = None, groups: Any = None) -> Any:
        """Return how the best setting does out of fold, in all or by group; columns as in `RejectResults.evaluate`.

        Parameters
        ----------
        d : float, optional
            Which price, where several were compared.
        groups : array_like (rows,), optional
            Say the patient of each row.
        """
        i = self._price(d)
        j = self._best_of(i)
        if groups is None:
            return pd.Series(self._tally(i, j).figures(self.prices[i]), name="out of fold")
        design, used = self._model.design, self._model.used
        by = groups_of_rows(groups, design)[used]
        table = figures_by_group(design.y[used], self._out.signs[i, j], self._model.weights[used], by, self.prices[i])
        return table.rename_axis(name_of(groups))

    def risk_coverage(self, d: float | None = None) -> Coverage:
        """Return risk against coverage out of fold, of the best setting, as the thresholds of all folds move together.

        Parameters
        ----------
        d : float, optional
            Which price, where several were compared.

        Returns
        -------
        Coverage
            Its thresholds are how far beyond that of its own fold a row must be: 0 is as fitted.
        """
        i = self._price(d)
        j = self._best_of(i)
        certainty, side = self._out.certainty, self._out.side
        if certainty is None or side is None:
            raise NotDefinedError(
                "A pair of QBC fits has no threshold to sweep: each price d has fits of its own, which "
                "risk_against_d() compares."
            )
        y, weights = self._model.design.y[self._model.used], self._model.weights[self._model.used]
        return coverage(y, side[i, j], certainty[i, j], 0.0, weights, self.prices[i], "out of fold")

    # -- what is shown

    def plot(self, ax: Any = None) -> Any:
        """Return the Axes: against d where several prices were compared, against the settings where not.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        """
        from qreg_boost.plots.rejection import plot_against_d, plot_settings

        if len(self.prices) > 1:
            return plot_against_d(self.best, len(self.settings), ax)
        return plot_settings(self.table, self.prices[0].in_words, ax)

    def __repr__(self) -> str:
        several = len(self.settings)
        what = "mean cost of a row" if self.prices[0].stated else "0-d-1 risk"
        each = " at each d" if len(self.prices) > 1 else ""
        least = f"; the least of {several} settings{each} (table has all)" if several > 1 else ""
        shown = self.best.to_string(index=False, float_format=lambda v: f"{v:.4g}")
        return "\n".join([*wrap(f"Out of fold: {what}, {self.folds.kind}{least}", WIDTH), shown])
