"""What a term adds to a boosted fit, as a table: by value of a number, by level of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import FormulaError, InputError, NotDefinedError, check_count, listed, nearest
from qreg_boost.boosting.linear_path import LinearPath

if TYPE_CHECKING:
    from qreg_boost.boosting.results import BoostResults


@dataclass(frozen=True)
class Points:
    """Where an effect is asked for: columns that say so in the table, and the term's design columns there (k, m)."""

    table: pd.DataFrame
    columns: np.ndarray


def effect(fit: BoostResults, term: str, grid: Any = 100) -> pd.DataFrame:
    """Return what a term adds to the fit; see `BoostResults.effect`.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5, learner="spline")
    >>> effect(fit, "income", grid=[500, 1000]).round(1)
         term       x  effect
    0  income   500.0  -277.5
    1  income  1000.0    40.3
    """
    columns = _columns_of(fit, term)
    points = _points(fit, term, columns, grid)
    values = _centred(fit, columns, points.columns)
    return points.table.assign(effect=values)


def observed(fit: BoostResults, term: str) -> np.ndarray | None:
    """Return the values of a numeric term of one column in the rows of the fit; None where there are none to show."""
    columns = _columns_of(fit, term)
    if fit.facts_only or len(columns) != 1 or _levels(fit, term) is not None:
        return None
    x = _rows(fit)[0][:, columns[0]]
    return x[~np.isnan(x)]


def _columns_of(fit: BoostResults, term: str) -> np.ndarray:
    columns = dict(fit.facts.terms)
    if term not in columns:
        raise FormulaError(f"{term!r} is no term of this fit.{nearest(term, columns)} Terms: {listed(columns)}.")
    return np.array(columns[term], dtype=np.intp)


def _rows(fit: BoostResults) -> tuple[np.ndarray, np.ndarray]:
    """Return predictors and weights of the rows with weight above 0."""
    design, weights = fit.model.design, fit.model.weights
    used = weights > 0
    return design.X[used], weights[used]


# -- where


def _points(fit: BoostResults, term: str, columns: np.ndarray, grid: Any) -> Points:
    if isinstance(grid, pd.DataFrame):
        return _at_rows(fit, term, columns, grid)
    if (levels := _levels(fit, term)) is not None:
        return levels
    if len(columns) > 1:
        raise NotDefinedError(
            f"Term {term!r} has {len(columns)} columns and is no single factor, so it has no axis of its own. Give "
            "`grid` a DataFrame of rows to see it at, with all columns of the formula."
        )
    x = _grid(fit, int(columns[0]), term, grid)
    return Points(pd.DataFrame({"term": term, "x": x}), x[:, None])


def _levels(fit: BoostResults, term: str) -> Points | None:
    """Return the levels of a term that is one factor, and their columns; None for other terms."""
    encoder, first = fit.encoder, 0
    for block in encoder.blocks:
        factors = [encoder.factors[k] for k in block.factors]
        if first == dict(fit.facts.terms)[term][0] and len(factors) == 1 and factors[0].levels is not None:
            seen = factors[0].seen or (True,) * len(factors[0].levels)
            kept = np.flatnonzero(seen)
            table = pd.DataFrame({"term": term, "level": [factors[0].levels[k] for k in kept]})
            return Points(table, np.asarray(block.contrasts[0], dtype=float)[kept])
        first += block.width
    return None


def _grid(fit: BoostResults, column: int, term: str, grid: Any) -> np.ndarray:
    if np.ndim(grid) == 1:
        x = np.asarray(grid, dtype=float)
        if not np.isfinite(x).all():
            raise InputError("`grid` must hold finite values of the term.")
        return x
    count = check_count(grid, "grid", 2, " It is the number of points, or an array of values of the term.")
    span = _span(fit, column)
    if span is None:
        raise NotDefinedError(
            f"The file holds no rows, so the range of {term!r} is not known: give `grid` an array of its values, or "
            "save the fit with data=True."
        )
    return np.linspace(*span, count)


def _span(fit: BoostResults, column: int) -> tuple[float, float] | None:
    if not fit.facts_only:
        x = _rows(fit)[0][:, column]
        return float(np.nanmin(x)), float(np.nanmax(x))
    return fit.path.span(column)


def _at_rows(fit: BoostResults, term: str, columns: np.ndarray, frame: pd.DataFrame) -> Points:
    X = fit.encoder.encode(frame, np.zeros(len(frame)) if fit.facts.has_offset else None).X
    used = variables(fit, term)
    table = frame[[name for name in frame.columns if str(name) in used]] if used else frame
    return Points(table.assign(term=term)[["term", *table.columns]], X[:, columns])


def variables(fit: BoostResults, term: str) -> set[str]:
    """Return the columns of the data that a term of a formula is made of."""
    encoder, own = fit.encoder, set(dict(fit.facts.terms)[term])
    found: set[str] = set()
    first = 0
    for block in encoder.blocks:
        if first in own:
            safe = {name for k in block.factors for name in encoder.factors[k].expression.columns}
            found |= {str((encoder.columns or {}).get(name, name)) for name in safe}
        first += block.width
    return found or {term}


# -- how much


def _centred(fit: BoostResults, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the term's effect (k,) at `values` (k, m), less its weighted mean over the rows.

    For an additive fit that is the term's own contribution. Else it is the partial dependence of Friedman (2001,
    section 8.2), the mean over the rows of the fit with the term set to each value, less the mean of the fit; for
    additive fits the two are the same.
    """
    path, m = fit.path, fit.mstop
    if isinstance(path, LinearPath):
        own = path.part_at(m, columns, values)
        if fit.facts_only:
            # the centres are the weighted means, unless there was no level to move
            if not fit.facts.intercept:
                raise NotDefinedError("The file holds no rows to centre the effect at; save the fit with data=True.")
            return own
        X, weights = _rows(fit)
        return own - np.average(path.part_at(m, columns, X[:, columns]), weights=weights)
    from tqdm import tqdm

    X, weights = _rows(fit)
    if path.additive:
        return _alone(fit, X[:1], columns, values) - np.average(
            _alone(fit, X[:1], columns, X[:, columns]), weights=weights
        )
    mean = np.average(path.fit_at(m, X), weights=weights)
    moved = X.copy()
    out = np.empty(len(values))
    for k, value in enumerate(tqdm(values, desc="partial dependence", delay=2.0, leave=False)):
        moved[:, columns] = value
        out[k] = np.average(path.fit_at(m, moved), weights=weights) - mean
    return out


def _alone(fit: BoostResults, row: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the fit (k,) with the term at `values` (k, m) and all else as in `row` (1, p)."""
    X = np.repeat(row, len(values), axis=0)
    X[:, columns] = values
    return fit.path.fit_at(fit.mstop, X)
