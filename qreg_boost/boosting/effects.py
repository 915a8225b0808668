"""What a term adds to a boosted fit, as a table: by value of a number, by level of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import FormulaError, InputError, NotDefinedError, check_count, listed, nearest
from qreg_boost.boosting.linear_path import LinearPath
from qreg_boost.boosting.tree_path import TreePath

if TYPE_CHECKING:
    from qreg_boost.boosting.results import BoostResults

POINTS = 100
"""Points over the range of a number by default."""


@dataclass(frozen=True)
class Points:
    """Where an effect is asked for: columns that say so in the table, and the term's design columns there (k, m)."""

    table: pd.DataFrame
    columns: np.ndarray


def effect(fit: BoostResults, term: str, grid: Any = None) -> pd.DataFrame:
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
        if grid is not None:
            return _levels_asked_for(levels, term, grid)
        return _and_missing(levels, "level") if _misses(fit, columns) else levels
    if len(columns) > 1:
        raise NotDefinedError(
            f"Term {term!r} has {len(columns)} columns and is no single factor, so it has no axis of its own. Give "
            "`grid` a DataFrame of rows to see it at, with all columns of the formula."
        )
    x = _grid(fit, int(columns[0]), term, grid)
    points = Points(pd.DataFrame({"term": term, "x": x}), x[:, None])
    return _and_missing(points, "x") if np.ndim(grid) == 0 and _misses(fit, columns) else points


def _misses(fit: BoostResults, columns: np.ndarray) -> bool:
    """Return whether rows of the fit miss the term."""
    return fit.encoder.branch and not fit.facts_only and bool(np.isnan(_rows(fit)[0][:, columns]).any())


def _and_missing(points: Points, where: str) -> Points:
    """Return the points and one at which the term is missing."""
    at = [*points.table[where], np.nan if where == "x" else None]
    kind = float if where == "x" else object
    table = pd.DataFrame({"term": points.table["term"].iloc[0], where: pd.Series(at, dtype=kind)})
    return Points(table, np.vstack((points.columns, np.full(points.columns.shape[1], np.nan))))


def _levels_asked_for(points: Points, term: str, grid: Any) -> Points:
    known = {level: k for k, level in enumerate(points.table["level"])}
    if np.ndim(grid) != 1:
        raise InputError(
            f"{term!r} is a factor, so `grid` must be a list of its levels, or be left out for all; got {grid!r}. "
            f"Levels: {listed(map(repr, known))}."
        )
    unknown = [level for level in grid if level not in known]
    if unknown:
        raise InputError(
            f"`grid` holds {unknown[0]!r}, which is no level of {term!r}.{nearest(str(unknown[0]), map(str, known))} "
            f"Levels: {listed(map(repr, known))}."
        )
    at = [known[level] for level in grid]
    return Points(points.table.iloc[at].reset_index(drop=True), points.columns[at])


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
        if not (np.isfinite(x) | (np.isnan(x) & fit.encoder.branch)).all():
            raise InputError("`grid` must hold finite values of the term.")
        return x
    advice = " It is the number of points, or an array of values of the term."
    count = POINTS if grid is None else check_count(grid, "grid", 2, advice)
    span = _span(fit, column)
    if span is None:
        raise NotDefinedError(
            f"The file holds no rows, so the range of {term!r} is not known: give `grid` an array of its values, or "
            "save the fit with data=True."
        )
    return _with_steps(fit, column, np.linspace(*span, count))


def _with_steps(fit: BoostResults, column: int, x: np.ndarray) -> np.ndarray:
    """Return the points x, in order, and where stumps step both ends of each step: the cut, and what comes after it."""
    if not (isinstance(fit.path, TreePath) and fit.path.additive):
        return x
    cuts = fit.path.cuts(fit.mstop, column)
    cuts = cuts[(x[0] <= cuts) & (cuts < x[-1])]
    return np.unique(np.concatenate((x, cuts, np.nextafter(cuts, np.inf))))


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
    # less the fit where nothing is moved, row for row: what a term does not do is then exactly 0
    if path.additive:
        here = _alone(fit, X[:1], columns, X[:1][:, columns])
        return (_alone(fit, X[:1], columns, values) - here) - np.average(
            _alone(fit, X[:1], columns, X[:, columns]) - here, weights=weights
        )
    still = path.fit_at(m, X)
    moved = X.copy()
    out = np.empty(len(values))
    for k, value in enumerate(tqdm(values, desc="partial dependence", delay=2.0, leave=False)):
        moved[:, columns] = value
        out[k] = np.average(path.fit_at(m, moved) - still, weights=weights)
    return out


def _alone(fit: BoostResults, row: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the fit (k,) with the term at `values` (k, m) and all else as in `row` (1, p)."""
    X = np.repeat(row, len(values), axis=0)
    X[:, columns] = values
    return fit.path.fit_at(fit.mstop, X)
