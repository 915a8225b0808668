"""Cross-validation of classifiers with a reject option that are made of others: each part is fitted once for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, check_count, number_of, warn
from qreg_boost.base.resampling import Folds, run_tasks
from qreg_boost.compose.boosters import OwnBooster, as_booster
from qreg_boost.compose.logit import REMEDY, TOLD_APART
from qreg_boost.reject.choosing import OutOfFold, values_of
from qreg_boost.reject.prices import Prices
from qreg_boost.reject.tally import Tally


def several_stops(mstop: Any, booster: Any, method: str) -> tuple[int | None, ...]:
    """Return the numbers of iterations to compare, in order; None where it stays as it was fitted.

    >>> several_stops(None, None, "chow")
    (None,)
    """
    if mstop is None:
        return (None,)
    if not isinstance(booster, OwnBooster):
        raise InputError(
            f"method={method!r} boosts nothing here and has no `mstop`; leave it out, or fit with "
            'probability="logitboost".'
        )
    return tuple(sorted({check_count(one, "mstop") for one in values_of(mstop, "mstop")}))


def decisions_along(fit: Any, X: np.ndarray, stops: tuple[int | None, ...]) -> np.ndarray:
    """Return the decision function (rows, stops) of a boosted fit after so many iterations; None is where it stands.

    A run that ended early stays as it ended.
    """
    if stops == (None,):
        return fit.decision_at(X)[:, None]
    f = np.full(len(X), fit.path.start)
    out = np.empty((len(X), len(stops)))
    steps: Iterator[np.ndarray] = fit.path.increments(X)
    done = 0
    for position, stop in enumerate(stops):
        assert stop is not None
        for _, added in zip(range(stop - done), steps, strict=False):
            f += added
            done += 1
        out[:, position] = f - fit.threshold
    return out


def cross_validate(
    model: Any, prices: tuple[Prices, ...], stops: tuple[int | None, ...], folds: Folds, n_jobs: int, progress: bool
) -> OutOfFold:
    """Return out-of-fold predictions of a `WithholdingModel`; one task is one part on one fold.

    Each part is fitted once per fold, to the last of `stops`, and serves every price that needs it.
    """
    design, used = model.design, np.arange(len(model.design.y))[model.used]
    # the same key stands for the same part at every price
    keys = list(dict.fromkeys(key for price in prices for key in model.keys(price)))
    booster = model.booster
    if stops[-1] is not None:
        booster = as_booster(booster.name, {**booster.options, "mstop": stops[-1]})

    def one(key: Any, fold: int) -> tuple[np.ndarray, bool]:
        times = folds.train[:, fold]
        train, held = used[times > 0], used[folds.held[:, fold]]
        part = model.part(key, _rows(design, train, times[times > 0]), booster)
        return model.values(part, design.X[held], stops), getattr(part, "separated", False)

    tasks = [(key, fold) for key in keys for fold in range(folds.train.shape[1])]
    found = dict(zip(tasks, run_tasks(one, tasks, n_jobs, progress, "cross-validation"), strict=True))
    separated = sum(apart for _, apart in found.values())
    if separated:
        of = f"{number_of(separated, 'fold')} of {folds.train.shape[1]}"
        warn(f"In {of}, by logistic regression, {TOLD_APART} {REMEDY}", ConvergenceWarning)
    return _collected(model, {task: values for task, (values, _) in found.items()}, prices, len(stops), folds, used)


def _collected(
    model: Any,
    found: dict[tuple[Any, int], np.ndarray],
    prices: tuple[Prices, ...],
    stops: int,
    folds: Folds,
    used: np.ndarray,
) -> OutOfFold:
    n, k = folds.train.shape
    counts = np.zeros((len(prices), stops, k, 2, 3))
    signs, certainty, side = (np.full((len(prices), stops, n), np.nan) for _ in range(3))
    weights = None if model.design.weights is None else model.design.weights[used]
    y = model.design.y[used]
    for i, price in enumerate(prices):
        for fold in range(k):
            held = folds.held[:, fold]
            values = np.stack([found[key, fold] for key in model.keys(price)], axis=-1)
            for j in range(stops):
                signs[i, j, held] = now = model.decide(values[:, j], price)
                sure = model.certainty(values[:, j], price)
                if sure is not None:
                    certainty[i, j, held], side[i, j, held] = sure
                counts[i, j, fold] = Tally.of(y[held], now, None if weights is None else weights[held]).counts
    if np.isnan(certainty).all():
        return OutOfFold(counts, signs)
    return OutOfFold(counts, signs, certainty, side)


def _rows(design: Any, at: np.ndarray, times: np.ndarray) -> Any:
    """Return the design of these rows, each so many times: repeated where they can be, else weighted."""
    weights = None if design.weights is None else design.weights[at]
    if (times != 1.0).any():
        if weights is None and (times == np.round(times)).all():
            at = np.repeat(at, times.astype(np.intp))
        else:
            weights = times * (1.0 if weights is None else weights)
    return replace(
        design,
        y=design.y[at],
        X=np.ascontiguousarray(design.X[at]),
        weights=weights,
        index=design.index[at],
        rows=design.rows[at],
    )
