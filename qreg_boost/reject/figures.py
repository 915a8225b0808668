"""Counts and figures of classifiers that may withhold, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.reject.prices import Prices
from qreg_boost.reject.tally import FIGURES, Tally


def counts_table(counts: np.ndarray, classes: Sequence[Any]) -> pd.DataFrame:
    """Return counts (2, 3) as a table, actual classes by predicted ones and withheld; whole numbers if they are.

    >>> counts_table(np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0]]), ("no", "yes")).loc["no"].tolist()
    [3, 0, 1]
    """
    whole = bool((counts == np.round(counts)).all())
    columns = pd.Index([*classes, "withheld"], name="predicted", dtype=object)
    index = pd.Index(classes, name="actual")
    return pd.DataFrame(counts.astype(np.int64) if whole else counts, index=index, columns=columns)


def figures_by_group(
    y: np.ndarray, signs: np.ndarray, weights: np.ndarray | None, groups: np.ndarray, prices: Prices
) -> pd.DataFrame:
    """Return the figures of `Tally` for each group, in their order.

    Parameters
    ----------
    y : (n,) array
        1 for the event, 0 for the other, NaN if unknown.
    signs : (n,) array
        -1, 0 (withheld) or +1, NaN where nothing can be said.
    weights : (n,) array or None
    groups : (n,) array
    prices : Prices

    Examples
    --------
    >>> y, signs = np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0])
    >>> figures_by_group(y, signs, None, np.array(["a", "a", "b"]), Prices(1.0, 1.0, 0.2))["risk"].tolist()
    [0.5, 0.2]
    """
    rows = {
        group: Tally.of(y[at], signs[at], None if weights is None else weights[at]).figures(prices)
        for group in pd.unique(groups)
        for at in [np.flatnonzero(groups == group)]
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(FIGURES))
    try:
        return table.sort_index()
    except TypeError:  # labels of kinds that have no order among them
        return table
