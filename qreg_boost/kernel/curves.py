"""Fitted quantiles along one predictor, the others held fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.checks import InputError, NotDefinedError, listed, nearest, number_of
from qreg_boost.kernel.kernels import Precomputed

if TYPE_CHECKING:
    from qreg_boost.kernel.kqr_results import KQRResults

POINTS = 300
"""Points of a curve, equally spaced over the range of the predictor."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Fitted quantiles along one predictor.

    Attributes
    ----------
    name, response : str
    x : (m,) array
    fits : (k, m) array
        In units of the response, by tau increasing.
    taus : tuple of float
    rows_x, rows_y : (n,) array
        The rows of weight above 0 that share the levels at which factors are held.
    held : tuple of (str, str)
        Names of the other terms, and where they are held.
    """

    name: str
    response: str
    x: np.ndarray
    fits: np.ndarray
    taus: tuple[float, ...]
    rows_x: np.ndarray
    rows_y: np.ndarray
    held: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a term is held: its columns there (w,), in words, and the rows (n,) that are there too."""

    values: np.ndarray
    text: str
    rows: np.ndarray


def curves(fits: Sequence[KQRResults], x: str | None = None, at: Mapping[str, Any] | None = None) -> Curves:
    """Return the fitted quantiles of fits to the same rows; see `KQRResults.plot_lines`.

    Raises
    ------
    InputError
        If `x` or a name in `at` is none of the fit, or a value of `at` cannot be.
    NotDefinedError
        If there are several predictors and `x` does not say which; for a precomputed kernel.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.kqr("STACKLOSS ~ .", qb.datasets.load("stackloss"), tau=0.5, C=10.0)
    >>> curves([fit], "AIRFLOW", at={"WATERTEMP": 20}).held
    (('WATERTEMP', '20'), ('ACIDCONC', '87'))
    """
    fit = fits[0]
    design = fit.model.design
    if isinstance(fit.machine.kernel, Precomputed):
        raise NotDefinedError("A precomputed kernel knows no predictors to draw against; see predict(new).")
    column = _column(fit, x)
    used = np.ones(len(design.y), dtype=bool) if design.weights is None else design.weights > 0
    X, y = design.X[used], design.y[used]
    held = dict(at or {})
    base, rows, told = np.zeros(X.shape[1]), np.ones(len(y), dtype=bool), []
    for name, columns in fit.facts.terms:
        if column in columns:
            continue
        place = _place(fit, name, X[:, columns], held.pop(name, None))
        base[list(columns)] = place.values
        rows &= place.rows
        told.append((name, place.text))
    if held:
        wrong, others = str(next(iter(held))), [name for name, _ in told]
        raise InputError(
            f"`at` holds {wrong!r}, which is no other term.{nearest(wrong, others)} Terms: {listed(others)}."
        )
    grid = np.linspace(X[:, column].min(), X[:, column].max(), POINTS)
    points = np.tile(base, (len(grid), 1))
    points[:, column] = grid
    order = np.argsort([one.tau for one in fits], kind="stable")
    values = np.array([fits[k].machine(points) for k in order])
    return Curves(
        name=design.column_names[column],
        response=design.response,
        x=grid,
        fits=values,
        taus=tuple(float(fits[k].tau) for k in order),
        rows_x=X[rows, column],
        rows_y=y[rows],
        held=tuple(told),
    )


def _column(fit: KQRResults, x: str | None) -> int:
    """Return the position of the column to draw against, which must be a term of its own that is a number."""
    numeric = {
        fit.facts.columns[columns[0]]: columns[0]
        for name, columns in fit.facts.terms
        if len(columns) == 1 and _levels(fit, name) is None
    }
    if x is None:
        if len(fit.facts.terms) == 1 and len(numeric) == 1:
            return next(iter(numeric.values()))
        raise NotDefinedError(
            "plot_lines draws against one numeric predictor, and this fit has "
            f"{number_of(len(fit.facts.columns), 'column')}: say which with x=. Numeric ones: "
            f"{listed(numeric) or 'none'}. For rows of your own see predict(new)."
        )
    if x not in numeric:
        raise InputError(
            f"`x` must name a numeric predictor; got {x!r}.{nearest(x, numeric)} They are: {listed(numeric)}."
        )
    return numeric[x]


def _place(fit: KQRResults, name: str, values: np.ndarray, wanted: Any) -> _Place:
    """Return where a term with these columns (n, w) is held."""
    everywhere = np.ones(len(values), dtype=bool)
    levels = _levels(fit, name)
    if wanted is not None and levels is not None:
        if wanted not in levels:
            known = listed(map(repr, levels))
            raise InputError(f"`at` holds {name!r} at {wanted!r}, which is none of its levels: {known}.")
        return _Place(levels[wanted], str(wanted), (values == levels[wanted]).all(axis=1))
    if wanted is not None:
        number = isinstance(wanted, (int, float, np.number)) and not isinstance(wanted, bool) and np.isfinite(wanted)
        if values.shape[1] != 1 or not number:
            raise InputError(f"`at` must hold {name!r} at a number or a level of a factor; got {wanted!r}.")
        return _Place(np.array([float(wanted)]), f"{float(wanted):.4g}", everywhere)
    if levels is None and values.shape[1] == 1:
        middle = float(np.median(values))
        return _Place(np.array([middle]), f"{middle:.4g}", everywhere)
    patterns, counts = np.unique(values, axis=0, return_counts=True)
    pattern = patterns[int(np.argmax(counts))]
    if levels is None:
        if counts.max() == 1:  # no value is frequent: that of the row nearest to the medians
            pattern = patterns[int(np.argmin(np.abs(patterns - np.median(values, axis=0)).sum(axis=1)))]
        return _Place(pattern, "a typical row", everywhere)
    label = next(level for level, row in levels.items() if np.array_equal(row, pattern))
    return _Place(pattern, str(label), (values == pattern).all(axis=1))


def _levels(fit: KQRResults, name: str) -> dict[Any, np.ndarray] | None:
    """Return the columns (w,) of each level of a term that is one factor; None for other terms."""
    encoder, first = fit.encoder, 0
    for block in encoder.blocks:
        factors = [encoder.factors[k] for k in block.factors]
        if first == dict(fit.facts.terms)[name][0] and len(factors) == 1 and factors[0].levels is not None:
            rows = np.asarray(block.contrasts[0], dtype=float)
            return dict(zip(factors[0].levels, rows, strict=True))
        first += block.width
    return None
