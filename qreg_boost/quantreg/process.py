"""The whole solution of quantile regression in tau: a finite number of vertices, each optimal on an interval.

References
----------
Koenker, R. W. and d'Orey, V. (1987). Algorithm AS 229: Computing regression quantiles. Applied Statistics 36, 383-393.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.quantreg.interior_point import check_problem, interior_point
from qreg_boost.quantreg.parametric import Trace
from qreg_boost.quantreg.simplex import Task, dense, simplex

__all__ = ["Process", "quantile_process", "simplex"]

# Shortest interval in tau that is more than rounding.
_NIL = 1e-13


@dataclass(frozen=True)
class Process:
    """Coefficients for every tau.

    Attributes
    ----------
    taus : (K + 1,) array
        Where the coefficients change, increasing, from `low` to `high`.
    coef : (K, p) array
        Row k minimises the loss for all tau in [taus[k], taus[k + 1]]; in units of y per unit of the column, NaN for
        columns that were dropped.
    objective : (K + 1,) array
        Least weighted sum of check losses at `taus`, in units of y; linear in tau in between.
    basis : (K, p - d) int array
        Rows that row k of `coef` fits exactly and that determine it; one choice of them if there are several.
    unique : (K,) bool array
        False where other coefficients are as good for every tau of the interval.
    dropped : (d,) int array
        Positions of the columns that depend on columns to their left.
    """

    taus: np.ndarray
    coef: np.ndarray
    objective: np.ndarray
    basis: np.ndarray
    unique: np.ndarray
    dropped: np.ndarray

    def interval(self, tau: Any) -> np.ndarray:
        """Return the number of the interval that holds tau; where two meet, the one below.

        Then the process of a sample with an intercept alone gives the smallest y whose share of rows up to it reaches
        tau.
        """
        tau = np.asarray(tau, dtype=np.float64)
        low, high = self.taus[0], self.taus[-1]
        if not (np.all(tau >= low) and np.all(tau <= high)):
            raise InputError(
                f"`tau` must lie between {low:g} and {high:g}, for which the process was solved; got {tau}."
            )
        # A breakpoint is known to rounding only.
        found = np.searchsorted(self.taus[1:-1] + 1e-12, tau, side="left")
        return np.asarray(found)

    def at(self, tau: Any) -> np.ndarray:
        """Return the coefficients at tau: (p,) for a number, (m, p) for m of them."""
        return self.coef[self.interval(tau)]


def quantile_process(X: Any, y: Any, weights: Any = None, low: float = 0.0, high: float = 1.0) -> Process:
    """Return the coefficients that minimise the weighted check loss for every tau from `low` to `high`.

    Parameters
    ----------
    X : (n, p) array or sparse array
        The design as it is: bring a column of ones for an intercept. Columns that depend on columns to their left are
        dropped, as R's ``lm`` drops them.
    y : (n,) array
        Response.
    weights : (n,) array, optional
        Multipliers of the rows' losses, at least 0. Rows of weight 0 take no part.
    low, high : float
        Ends of the range of tau, 0 <= low < high <= 1.

    Raises
    ------
    InputError
        If shapes do not fit, values are missing or infinite, or `weights`, `low` or `high` are out of range.

    Notes
    -----
    The number of intervals grows about like n log n. Intervals shorter than 1e-13 are rounding and left out, as are
    changes of the basis that leave the coefficients as they are.

    Examples
    --------
    >>> import numpy as np
    >>> process = quantile_process(np.ones((4, 1)), np.array([3.0, 1.0, 2.0, 7.0]))
    >>> process.taus.round(12).tolist(), process.coef.ravel().round(12).tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 2.0, 3.0, 7.0])
    >>> process.at(0.5).round(12).tolist()
    [2.0]
    """
    if not 0.0 <= low < high <= 1.0:
        raise InputError(f"`low` and `high` must satisfy 0 <= low < high <= 1; got {low!r} and {high!r}.")
    middle = 0.5 * (low + high)
    X, y, middle, w = check_problem(dense(X), y, middle, weights)
    task = Task.of(X, y, w)
    found = _trivial(task, X, y, w, low, high) if task.trivial else _solved(task, low, high, middle)
    coef = np.full((len(found.b), X.shape[1]), np.nan)
    coef[:, task.problem.columns] = found.b
    dropped = np.setdiff1d(np.arange(X.shape[1]), task.problem.columns)
    objective = task.problem.heaviest * np.maximum(found.objective, 0.0)
    return Process(found.taus, coef, objective, task.rows[found.basis], found.unique, dropped)


@dataclass(frozen=True)
class _Found:
    """A process in the kept rows and columns; the arrays of `Process`, with b for coef."""

    taus: np.ndarray
    b: np.ndarray
    objective: np.ndarray
    basis: np.ndarray
    unique: np.ndarray


def _trivial(task: Task, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, low: float, high: float) -> _Found:
    """Return the process if there is no column, or none of the residuals is more than rounding."""
    taus = np.array([low, high])
    fit = interior_point(X, y, 0.5, w)
    basis = np.flatnonzero(np.isin(task.rows, fit.basis))
    b = fit.coef[task.problem.columns]
    loss = [task.problem.loss(b, tau) / task.problem.heaviest for tau in taus]
    return _Found(taus, b[None], np.array(loss), basis[None], np.array([True]))


def _solved(task: Task, low: float, high: float, middle: float) -> _Found:
    """Return the process, followed from the middle to both ends."""
    c = task.c[task.used] / task.size
    tableau = task.tableau(task.nearest(c - np.quantile(c, middle)))
    tableau.minimise(middle)
    there = tableau.saved()
    up = tableau.walk(middle, high, _NIL)
    tableau.restore(there)
    down = tableau.walk(middle, low, _NIL)
    whole = _joined(down, up)
    # Of vertices that follow each other without a move, the first stands for all; so does it for those of no length.
    start = np.append(low, whole.theta)
    length = np.append(whole.theta, high) - start
    lasting = np.flatnonzero(length > _NIL)
    new = np.append(True, np.add.reduceat(whole.moved, lasting[:-1]) > 0) if len(lasting) > 1 else np.array([True])
    first = lasting[new]
    taus = np.append(start[first], high)
    taus[0] = low
    group = np.cumsum(new) - 1
    unique = np.zeros(len(first), dtype=bool)
    np.logical_or.at(unique, group, ~whole.open[lasting])
    value = whole.value0[first] + taus[:-1] * whole.value1[first]
    last = whole.value0[first[-1]] + high * whole.value1[first[-1]]
    objective = np.append(value, last) + _elsewhere(task, taus)
    return _Found(taus, task.coefficients(whole.g[first]), objective, task.used[whole.basis[first]], unique)


def _joined(down: Trace, up: Trace) -> Trace:
    """Return one walk upwards from two that began at the same vertex."""

    def both(name: str) -> np.ndarray:
        return np.concatenate([getattr(down, name)[::-1], getattr(up, name)[name not in ("theta", "moved") :]])

    return Trace(**{name: both(name) for name in Trace.__dataclass_fields__})


def _elsewhere(task: Task, taus: np.ndarray) -> np.ndarray:
    """Return the loss (len(taus),) of the rows whose design is 0."""
    other = np.delete(task.c, task.used)
    return taus * np.maximum(other, 0.0).sum() - (1.0 - taus) * np.minimum(other, 0.0).sum()
