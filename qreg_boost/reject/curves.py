"""Risk against coverage with the decision function fixed and its threshold swept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.reject.prices import Prices


@dataclass(frozen=True, eq=False)
class Coverage:
    """Risk against coverage of one decision function: rows are withheld up to a threshold of their certainty.

    Attributes
    ----------
    table : DataFrame
        A row per threshold, the largest first: threshold, coverage (share of rows predicted), error_accepted (share
        wrong of those), risk (mean cost of a row).
    aurc : float
        Area under error_accepted against coverage: the mean of error_accepted over rows taken in order of certainty
        (Geifman and El-Yaniv 2017); 0 is perfect.
    fitted : Series
        The row at the threshold that was fitted.
    where : str
        Which rows.
    prices : Prices
        At which risk is counted.
    """

    table: pd.DataFrame
    aurc: float
    fitted: pd.Series
    where: str
    prices: Prices

    def plot(self, ax: Any = None) -> Any:
        """Return the Axes with error and risk against coverage, the fitted threshold marked."""
        from qreg_boost.plots.rejection import plot_coverage

        return plot_coverage(self, ax)

    def __repr__(self) -> str:
        shown = self.fitted.to_frame().T.to_string(index=False, float_format=lambda v: f"{v:.4g}")
        return (
            f"Risk against coverage, {self.where}, {self.prices.in_words}: {len(self.table)} thresholds (table has "
            f"all), AURC {self.aurc:.4g}\nAs fitted:\n{shown}"
        )


def coverage(
    y: np.ndarray,
    side: np.ndarray,
    certainty: np.ndarray,
    threshold: float,
    weights: np.ndarray,
    prices: Prices,
    where: str,
) -> Coverage:
    """Return risk against coverage.

    Parameters
    ----------
    y : (n,) array
        1 for the event, 0 for the other, NaN if unknown.
    side : (n,) array
        -1 or +1, what is predicted if anything is.
    certainty : (n,) array
        A row is withheld where it is at most the threshold.
    threshold : float
        The fitted one.
    weights : (n,) array
    prices : Prices
    where : str

    Examples
    --------
    >>> y, side, far = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, -1.0, -1.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> found = coverage(y, side, far, 2.0, np.ones(4), Prices(1.0, 1.0, 0.2), "rows")
    >>> found.table["error_accepted"].round(3).tolist(), round(found.aurc, 4)
    ([nan, 0.0, 0.0, 0.333, 0.5], 0.2083)
    >>> found.fitted["coverage"]
    np.float64(0.5)
    """
    known = ~(np.isnan(y) | np.isnan(certainty)) & (weights > 0.0)
    y, side, certainty, weights = y[known], side[known], certainty[known], weights[known]
    order = np.argsort(-certainty, kind="stable")
    certainty, weights = certainty[order], weights[order]
    wrong = ((side > 0.0) != (y > 0.5))[order]
    price = np.where(y[order] > 0.5, prices.fn, prices.fp)
    total = float(weights.sum())
    last = np.append(np.flatnonzero(np.diff(certainty)), len(certainty) - 1) if len(certainty) else np.empty(0, int)
    accepted, errors = np.cumsum(weights)[last], np.cumsum(weights * wrong)[last]
    cost = np.cumsum(weights * wrong * price)[last]
    # a threshold is the largest certainty that is withheld; below all of them nothing is
    below = np.append(certainty[last[1:]], -np.inf) if len(last) else np.empty(0)
    table = pd.DataFrame({
        "threshold": [certainty[0] if len(certainty) else np.nan, *below],
        "coverage": [0.0, *accepted / total],
        "error_accepted": [np.nan, *errors / accepted],
        "risk": [prices.reject, *(cost + prices.reject * (total - accepted)) / total],
    })  # fmt: skip
    widths = np.diff(table["coverage"])
    aurc = float((table["error_accepted"].to_numpy()[1:] * widths).sum())
    # a probability of exactly 1 - d is withheld, whatever the rounding of its distance from one half
    slack = 1e-12 * float(np.abs(certainty).max(initial=0.0))
    at = int((certainty[last] > threshold + slack).sum()) if len(last) else 0
    fitted = table.iloc[at].rename("fitted")
    fitted["threshold"] = threshold
    return Coverage(table, aurc, fitted, where, prices)
