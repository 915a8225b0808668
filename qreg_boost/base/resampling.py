"""Folds and replicates, and the work done on them: the same numbers for any number of workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_choice, check_count, number_of

KINDS = ("kfold", "bootstrap", "subsampling")


@dataclass(frozen=True)
class Folds:
    """Training and held-out parts of n rows, one column per fold.

    Attributes
    ----------
    train : ndarray (n, k)
        How often each row is in the training part.
    held : ndarray (n, k) of bool
        Whether it is in the held-out part.
    kind : str
        In words.
    """

    train: np.ndarray
    held: np.ndarray
    kind: str


def make_folds(
    folds: Any, k: int, usable: np.ndarray, rows: np.ndarray, rng: Any, y: np.ndarray | None = None
) -> Folds:
    """Return folds over n rows.

    Parameters
    ----------
    folds : str, array, list of pairs, or splitter
        See `qreg_boost.CV`.
    k : int
        Number of folds or replicates to draw.
    usable : ndarray (n,) of bool
        Rows that may be drawn at all.
    rows : ndarray (n,)
        Positions of the rows in the caller's frame: folds for that whole frame are cut down to these.
    rng : int, Generator or None
    y : ndarray (n,), optional
        The response, for splitters that look at it; classes as numbers, missing in rows that may not be drawn.

    Raises
    ------
    InputError
        If a fold has no training or no held-out rows, or the folds do not fit the rows.
    """
    if isinstance(folds, str):
        check_choice(folds, "folds", KINDS)
        drawn = _draw(folds, check_count(k, "k", 2 if folds == "kfold" else 1), usable, generator(rng))
    else:
        drawn = _given(folds, usable, rows, y)
    for j in range(drawn.train.shape[1]):
        if not drawn.train[:, j].any() or not drawn.held[:, j].any():
            part = "training" if not drawn.train[:, j].any() else "held-out"
            raise InputError(f"Fold {j + 1} has no {part} rows with weight above 0; use fewer or other folds.")
    return drawn


def generator(rng: Any) -> np.random.Generator:
    """Return the generator of a seed, or the generator itself.

    >>> int(generator(0).integers(10))
    8
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"`rng` must be a seed (a whole number of at least 0), a numpy Generator or None; got {rng!r}."
        ) from None


def _draw(kind: str, k: int, usable: np.ndarray, rng: np.random.Generator) -> Folds:
    n, at = len(usable), np.flatnonzero(usable)
    train = np.zeros((n, k))
    if kind == "kfold":
        if k > len(at):
            raise InputError(f"`k` must be at most the number of rows, {len(at)}; got {k}.")
        label = np.arange(len(at)) % k
        train[at] = rng.permutation(label)[:, None] != np.arange(k)
        return Folds(train, (train == 0) & usable[:, None], f"{k}-fold cross-validation")
    for j in range(k):
        if kind == "bootstrap":
            train[:, j] = np.bincount(rng.choice(at, len(at)), minlength=n)
        else:
            train[rng.choice(at, max(len(at) // 2, 1), replace=False), j] = 1.0
    return Folds(train, (train == 0) & usable[:, None], f"{kind}, {k} replicates")


def _split(splitter: Any, n: int, y: np.ndarray | None) -> list[Any]:
    """Return the (train, test) positions that an object with a method ``split`` makes of n rows."""
    seen = None if y is None else np.nan_to_num(y)
    try:
        return list(splitter.split(np.zeros((n, 1)), seen))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`folds` is a {type(splitter).__name__} that cannot split the {n} rows of the fit by their response: "
            f"{error} Pass the (train, test) positions as a list, or an array of fold labels."
        ) from error


def _given(folds: Any, usable: np.ndarray, rows: np.ndarray, y: np.ndarray | None) -> Folds:
    n = len(usable)
    if hasattr(folds, "split"):
        folds, rows = _split(folds, n, y), np.arange(n)
    if isinstance(folds, Iterable) and not hasattr(folds, "shape"):
        folds = list(folds)
    if (
        isinstance(folds, list)
        and folds
        and isinstance(folds[0], (tuple, list))
        and len(folds[0]) == 2
        and np.ndim(folds[0][0]) == 1
    ):
        return _from_pairs(folds, usable, rows)
    array = np.asarray(folds)
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufOSU":
        raise InputError(
            f"`folds` must be one of {', '.join(map(repr, KINDS))}, an array (rows, k) of training weights, an array "
            f"of fold labels, or a list of (train, test) positions; got {type(folds).__name__}."
        )
    if len(array) != n and len(rows) and len(array) > rows.max():
        array = array[rows]
    if len(array) != n:
        raise InputError(f"`folds` must have one entry per row: {n} rows, but {len(array)} entries.")
    if array.ndim == 1:
        labels, code = np.unique(array, return_inverse=True)
        if len(labels) < 2:
            raise InputError("`folds` has one label only; at least two folds are needed.")
        train = (code[:, None] != np.arange(len(labels))).astype(float)
    else:
        train = array.astype(float)
        if not np.isfinite(train).all() or (train < 0).any():
            raise InputError("`folds` holds training weights: finite numbers of at least 0, where 0 holds a row out.")
    train = train * usable[:, None]
    return Folds(train, (train == 0) & usable[:, None], number_of(train.shape[1], "given fold"))


def _from_pairs(pairs: Sequence[Any], usable: np.ndarray, rows: np.ndarray) -> Folds:
    n = len(usable)
    train, held = np.zeros((n, len(pairs))), np.zeros((n, len(pairs)), dtype=bool)
    for j, (in_fold, out) in enumerate(pairs):
        np.add.at(train[:, j], _kept(in_fold, j, rows), 1.0)
        held[_kept(out, j, rows), j] = True
    return Folds(train * usable[:, None], held & usable[:, None], number_of(len(pairs), "given fold"))


def _kept(positions: Any, fold: int, rows: np.ndarray) -> np.ndarray:
    """Return where positions in the caller's frame are among the kept rows; those of other rows are left out."""
    given = np.asarray(positions)
    if given.dtype.kind not in "iu" and len(given):
        raise InputError(f"Fold {fold + 1} must be given by whole numbers, the positions of rows; got {given.dtype}.")
    given = given.astype(np.intp)
    n = len(rows)
    if (given < 0).any() or (rows[-1] == n - 1 and (given >= n).any()):
        raise InputError(f"Fold {fold + 1} names a row beyond the {n} rows of the fit: positions go from 0 to {n - 1}.")
    at = np.minimum(np.searchsorted(rows, given), n - 1)
    return at[rows[at] == given]


def run_tasks(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int = 1,
    progress: bool = True,
    description: str = "",
) -> list[Any]:
    """Return ``function(*task)`` for each task, in order; a bar is shown once the work has taken two seconds.

    >>> run_tasks(max, [(1, 2), (4, 3)])
    [2, 4]
    """
    from joblib import Parallel, delayed
    from tqdm import tqdm

    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise InputError(f"`n_jobs` must be a number of workers, or -1 for all processors; got {n_jobs!r}.")
    # threads: the compiled loops release the interpreter, and nothing is copied
    results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(function)(*task) for task in tasks
    )
    return list(tqdm(results, total=len(tasks), desc=description, delay=2.0, disable=not progress, leave=False))
