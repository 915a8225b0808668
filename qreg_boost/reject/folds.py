"""How rows are held out: folds with the shares of the classes, or with whole groups, or as given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, check_count
from qreg_boost.base.resampling import Folds, generator, make_folds
from qreg_boost.reject.groups import groups_of_rows


@dataclass(frozen=True, eq=False)
class Resampling:
    """How rows are held out and the work is done; arguments as in `RejectResults.cv`."""

    folds: Any = "kfold"
    k: int = 10
    groups: Any = None
    rng: Any = 0
    n_jobs: int = 1
    progress: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral) or self.n_jobs == 0:
            raise InputError(f"`n_jobs` must be a number of workers, -1 for one per processor; got {self.n_jobs!r}.")
        check_bool(self.progress, "progress")

    def draw(self, model: Any) -> Folds:
        """Return the folds of the rows of weight above 0 of a model of two classes."""
        design = model.design
        y = np.where(design.y[model.used] > 0.5, 1.0, -1.0)
        rows = np.arange(len(design.y))[model.used]
        return reject_folds(self.folds, self.k, y, self.groups, rows, design, self.rng)


def reject_folds(folds: Any, k: int, y: np.ndarray, groups: Any, rows: np.ndarray, design: Any, rng: Any) -> Folds:
    """Return folds of the rows y (n,), -1 or +1: with the shares of the classes, or with whole groups, or as given.

    Parameters
    ----------
    folds, k, rng
        As for `qreg_boost.CV`.
    y : (n,) array
    groups : array_like or None
        Of the rows of the design, or of the data that it was made of.
    rows : (n,) array
        Positions in the design.
    design : Design
    """
    n = len(y)
    kind = None
    if isinstance(folds, str) and folds == "kfold":
        k = check_count(k, "k", 2)
        random = generator(rng)
        if groups is None:
            if k > n:
                raise InputError(f"`k` must be at most the number of rows, {n}; got {k}.")
            folds, kind = _stratified(y, k, random), f"{k}-fold cross-validation, stratified by class"
        else:
            values = groups_of_rows(groups, design)[rows]
            folds, several = _whole_groups(values, k, random)
            kind = f"{k}-fold cross-validation, {several} groups held out whole"
    elif groups is not None:
        drawn_ones = (
            f"got folds={folds!r}." if isinstance(folds, str) else "folds that are given hold groups themselves."
        )
        raise InputError(f'`groups` is for folds="kfold"; {drawn_ones}')
    drawn = make_folds(folds, k, np.ones(n, dtype=bool), design.rows[rows], rng, y)
    for j in range(drawn.train.shape[1]):
        if len(np.unique(y[drawn.train[:, j] > 0])) < 2:
            raise InputError(f"The training part of fold {j + 1} has one class only; use fewer or other folds.")
    return drawn if kind is None else replace(drawn, kind=kind)


def _stratified(y: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    label = np.empty(len(y), dtype=int)
    begin = 0
    for value in (-1.0, 1.0):  # the second class goes on where the first ended: folds differ by one row at most
        at = rng.permutation(np.flatnonzero(y == value))
        label[at] = (begin + np.arange(len(at))) % k
        begin += len(at)
    return label


def _whole_groups(groups: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return the fold of each row, and the number of groups."""
    names, code = np.unique(groups.astype(str), return_inverse=True)
    if k > len(names):
        raise InputError(
            f"`k` must be at most the number of groups, {len(names)}; got {k}. k={len(names)} leaves each out once."
        )
    sizes = np.bincount(code)
    order = rng.permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold, load = np.empty(len(names), dtype=int), np.zeros(k)
    for group in order:  # the largest first, each to the fold with the fewest rows
        fold[group] = int(np.argmin(load))
        load[fold[group]] += sizes[group]
    return fold[code], len(names)
