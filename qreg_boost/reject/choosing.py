"""Out-of-fold risk of reject option classifiers over grids of C, kernel and price; kernels are shared by all folds."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_count, check_positive
from qreg_boost.base.levels import Levels
from qreg_boost.base.resampling import Folds, generator, make_folds, run_tasks
from qreg_boost.kernel.box_qp import BoxSolution
from qreg_boost.kernel.kernels import Kernel
from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic
from qreg_boost.reject.dca import Task
from qreg_boost.reject.machine import DENSE_UP_TO, LOSSES, Fitted, signed, signs
from qreg_boost.reject.prices import Prices, check_price
from qreg_boost.reject.tally import Tally


@dataclass(frozen=True, eq=False)
class Grid:
    """What is compared: every C with every kernel at every price."""

    C: tuple[float, ...]
    kernels: tuple[Kernel, ...]
    prices: tuple[Prices, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of prices, kernels and C."""
        return len(self.prices), len(self.kernels), len(self.C)


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows of a cross-validation, scaled, and how each part is fitted."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    mu: float
    method: str
    starts: tuple[str, ...]
    random: int
    seed: int
    folds: Folds


@dataclass(frozen=True, eq=False)
class Found:
    """Out-of-fold predictions.

    Attributes
    ----------
    counts : (prices, kernels, C, folds, 2, 3) array
        Held-out rows by class and prediction, weights counted.
    signs : (prices, kernels, C, n) array
        -1, 0, +1 of each row, the last fold's that held it out; NaN where none did.
    unsolved : int
        Starts of all fits with a convex program that did not end as optimal.
    programs : int
        Convex programs solved.
    kkt : float
        Largest KKT residual of a program.
    kernels : tuple of Kernel
        With their parameters as numbers.
    """

    counts: np.ndarray
    signs: np.ndarray
    unsolved: int
    programs: int
    kkt: float
    kernels: tuple[Kernel, ...]


def read_grid(C: Any, gamma: Any, d: Any, fitted_C: float, kernel: Kernel, prices: Prices) -> Grid:
    """Return the grid that is meant; what is None stays as it was fitted."""
    costs = [fitted_C] if C is None else [check_positive(one, "C") for one in _list(C, "C")]
    kernels: list[Kernel] = [kernel]
    if gamma is not None:
        if "gamma" not in {field.name for field in fields(kernel)}:
            raise InputError(f"The kernel {kernel} has no gamma; leave the grid of gamma out.")
        kernels = [replace(kernel, gamma=one) for one in _list(gamma, "gamma")]  # type: ignore[call-arg]
    several = [prices] if d is None else [Prices(1.0, 1.0, check_price(one)) for one in _list(d, "d")]
    by_price = sorted({one.reject: one for one in several}.items())
    return Grid(tuple(sorted(set(costs))), tuple(kernels), tuple(one for _, one in by_price))


def _list(values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, int, float, np.number)):
        return [values]
    found = list(values)
    if not found:
        raise InputError(f"The grid of `{name}` is empty.")
    return [one.item() if isinstance(one, np.generic) else one for one in found]


def reject_folds(folds: Any, k: int, y: np.ndarray, groups: Any, rows: np.ndarray, design: Any, rng: Any) -> Folds:
    """Return folds of the rows y (n,): with the shares of the classes, or with whole groups, or as given."""
    n = len(y)
    frame_rows = design.rows[rows]
    if isinstance(folds, str) and folds == "kfold":
        k = check_count(k, "k", 2)
        random = generator(rng)
        if groups is None:
            if k > n:
                raise InputError(f"`k` must be at most the number of rows, {n}; got {k}.")
            folds = _stratified(y, k, random)
        else:
            folds = _whole_groups(_of_rows(groups, rows, design), k, random)
    elif groups is not None:
        raise InputError('`groups` is for folds="kfold"; folds that are given hold groups together themselves.')
    drawn = make_folds(folds, k, np.ones(n, dtype=bool), frame_rows, rng, y)
    for j in range(drawn.train.shape[1]):
        if len(np.unique(y[drawn.train[:, j] > 0])) < 2:
            raise InputError(f"The training part of fold {j + 1} has one class only; use fewer or other folds.")
    return drawn


def _stratified(y: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    label = np.empty(len(y), dtype=int)
    begin = 0
    for value in (-1.0, 1.0):  # the second class goes on where the first ended: folds differ by one row at most
        at = rng.permutation(np.flatnonzero(y == value))
        label[at] = (begin + np.arange(len(at))) % k
        begin += len(at)
    return label


def _whole_groups(groups: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    names, code = np.unique(groups.astype(str), return_inverse=True)
    if k > len(names):
        raise InputError(f"`k` must be at most the number of groups, {len(names)}; got {k}.")
    sizes = np.bincount(code)
    order = rng.permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold, load = np.empty(len(names), dtype=int), np.zeros(k)
    for group in order:  # the largest first, each to the fold with the fewest rows
        fold[group] = int(np.argmin(load))
        load[fold[group]] += sizes[group]
    return fold[code]


def _of_rows(groups: Any, rows: np.ndarray, design: Any) -> np.ndarray:
    kept = len(design.y)
    values = np.asarray(groups, dtype=object)
    if isinstance(groups, pd.Series) and len(values) != kept:
        values = groups.reindex(design.index).to_numpy(dtype=object)
    elif len(values) != kept and len(values) > design.rows.max(initial=-1):
        values = values[design.rows]
    if values.shape != (kept,) or pd.isna(values).any():
        raise InputError(
            f"`groups` must have one value per row, none missing: {kept} rows, but shape {values.shape}. Pass a column "
            "of the data, as in groups=data['subject']."
        )
    return values[rows]


def cross_validate(problem: Problem, grid: Grid, n_jobs: int = 1, progress: bool = True) -> Found:
    """Return out-of-fold predictions; one task is one fold with one kernel, C rising and each start warm."""
    kernels = tuple(kernel.settled(problem.X) for kernel in grid.kernels)
    forms = [_form(kernel, problem.X) for kernel in kernels]
    k, n = problem.folds.train.shape[1], len(problem.y)
    prices, several, costs = grid.shape
    counts = np.zeros((prices, several, costs, k, 2, 3))
    found_signs = np.full((prices, several, costs, n), np.nan)

    def one(kernel: int, fold: int) -> Part:
        return _part(problem, grid, forms[kernel], kernel, fold)

    tasks = [(kernel, fold) for kernel in range(several) for fold in range(k)]
    parts = run_tasks(one, tasks, n_jobs, progress, "cross-validation")
    for (kernel, fold), part in zip(tasks, parts, strict=True):
        counts[:, kernel, :, fold] = part.counts
        found_signs[:, kernel, :, problem.folds.held[:, fold]] = np.moveaxis(part.signs, -1, 0)
    return Found(
        counts, found_signs, sum(part.unsolved for part in parts), sum(part.programs for part in parts),
        max(part.kkt for part in parts), kernels,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """One fold with one kernel: counts (prices, C, 2, 3), signs (prices, C, held), and how the programs ended."""

    counts: np.ndarray
    signs: np.ndarray
    unsolved: int
    programs: int
    kkt: float


def _form(kernel: Kernel, X: np.ndarray) -> Quadratic:
    return Dense(kernel.matrix(X)) if len(X) <= DENSE_UP_TO else kernel.form(X)


def _part(problem: Problem, grid: Grid, whole: Quadratic, kernel: int, fold: int) -> Part:
    times, held = problem.folds.train[:, fold], np.flatnonzero(problem.folds.held[:, fold])
    train = np.flatnonzero(times > 0)
    y = problem.y[train]
    weights = times[train] * (1.0 if problem.weights is None else problem.weights[train])
    Q = signed(whole.at(train), y)
    held_weights = None if problem.weights is None else problem.weights[held]
    prices, _, costs = grid.shape
    counts, found = np.zeros((prices, costs, 2, 3)), np.zeros((prices, costs, len(held)))
    unsolved, programs, kkt = 0, 0, 0.0
    warm: dict[str, BoxSolution] = {}
    for i, price in enumerate(grid.prices):
        error, d = price.by_row(y)
        for j, C in enumerate(grid.C):
            task = Task(Q, y, C * error * weights, d, problem.mu, price.withholds)
            rng = np.random.default_rng([problem.seed, kernel, fold]) if problem.random else None
            fitted = LOSSES[problem.method](task, problem.starts, problem.random, rng, warm)
            f = _cross(whole, held, train, fitted.point.a * y) + fitted.point.b
            found[i, j] = signs(f, fitted.point.rho)
            counts[i, j] = Tally.of((problem.y[held] > 0.0).astype(float), found[i, j], held_weights).counts
            unsolved, programs = unsolved + fitted.unsolved, programs + fitted.programs
            kkt = max(kkt, fitted.worst.residuals.kkt)
            warm = first_steps(fitted)
    return Part(counts, found, unsolved, programs, kkt)


def first_steps(fitted: Fitted) -> dict[str, BoxSolution]:
    """Return the solutions of the first step from each start: warm starts of the next C or price."""
    return {} if fitted.minima is None else {one.start: one.first for one in fitted.minima.each}


def _cross(whole: Quadratic, held: np.ndarray, train: np.ndarray, c: np.ndarray) -> np.ndarray:
    if isinstance(whole, LowRank):
        return whole.Z[held] @ (whole.Z[train].T @ c)
    assert isinstance(whole, Dense)
    return whole.Q[np.ix_(held, train)] @ c


# -- what is made of it ------------------------------------------------------------------------------------------------


class RejectCV:
    """Out-of-fold risk over a grid of C, kernel and price; made by ``fit.cv``.

    Parameters
    ----------
    found : Found
    grid : Grid
    folds : Folds
    model : RejectClassifier
        Refits.
    index : Index
        Of the rows.
    levels : Levels
    """

    def __init__(self, found: Found, grid: Grid, folds: Folds, model: Any, index: pd.Index, levels: Levels) -> None:
        self.found, self.grid, self.folds = found, grid, folds
        self._model, self._index, self._levels = model, index, levels

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per price, kernel and C: risk, its standard error, and what it is made of.

        Columns d, kernel or gamma, C, risk, se, rejection_rate, accuracy_accepted, error_overall. risk is over all
        held-out rows; se the standard deviation of the folds' risks over the root of their number.
        """
        rows = []
        for i, price in enumerate(self.grid.prices):
            for j, kernel in enumerate(self.found.kernels):
                for k, C in enumerate(self.grid.C):
                    each = self.found.counts[i, j, k]
                    risks = np.array([Tally(one).figures(price)["risk"] for one in each])
                    se = float(np.std(risks, ddof=1) / np.sqrt(len(risks))) if len(risks) > 1 else np.nan
                    figures = Tally(each.sum(axis=0)).figures(price)
                    own = {"gamma": kernel.gamma} if hasattr(kernel, "gamma") else {"kernel": str(kernel)}
                    rows.append({
                        "d": price.d[0] if price.even else np.nan, **own, "C": C, "risk": figures["risk"], "se": se,
                        "rejection_rate": figures["rejection_rate"],
                        "accuracy_accepted": figures["accuracy_accepted"], "error_overall": figures["error_overall"],
                    })  # fmt: skip
        return pd.DataFrame(rows)

    @property
    def best(self) -> pd.DataFrame:
        """The row of least risk at each price; of equal ones that of the smallest C and the first kernel."""
        _, several, costs = self.grid.shape
        at = [i * several * costs + self._best_of(i) for i in range(len(self.grid.prices))]
        return self.table.iloc[at].reset_index(drop=True)

    def _best_of(self, i: int) -> int:
        _, several, costs = self.grid.shape
        risks = self.table["risk"].to_numpy().reshape(-1, several, costs)[i]
        k, j = np.unravel_index(int(np.argmin(np.round(risks.T, 12))), (costs, several))
        return int(j) * costs + int(k)

    def _price(self, d: float | None) -> int:
        if d is None:
            if len(self.grid.prices) > 1:
                known = ", ".join(f"{one.reject:g}" for one in self.grid.prices)
                raise InputError(f"Several prices were compared; say which, d=...: {known}.")
            return 0
        for i, one in enumerate(self.grid.prices):
            if abs(one.reject - d) < 1e-9:
                return i
        known = ", ".join(f"{one.reject:g}" for one in self.grid.prices)
        raise InputError(f"d={d!r} is none of the prices compared: {known}.")

    def refit(self, d: float | None = None) -> Any:
        """Return the fit of all rows with the C and kernel of least risk; its summary has the risk out of fold too.

        Parameters
        ----------
        d : float, optional
            Which price, where several were compared.
        """
        i = self._price(d)
        _, _, costs = self.grid.shape
        j, k = divmod(self._best_of(i), costs)
        known = Tally(self.found.counts[i, j, k].sum(axis=0)).figures(self.grid.prices[i])
        return self._model.at(self.grid.C[k], self.found.kernels[j], self.grid.prices[i], known)

    def predictions(self, d: float | None = None, *, codes: bool = False) -> pd.Series:
        """Return the out-of-fold predictions of the best C and kernel; missing where withheld.

        Parameters
        ----------
        d : float, optional
            Which price, where several were compared.
        codes : bool
            Whether to return -1, 0 (withheld), +1.
        """
        i = self._price(d)
        j, k = divmod(self._best_of(i), self.grid.shape[2])
        found = self.found.signs[i, j, k]
        if codes:
            return pd.Series(pd.array(found, dtype="Float64").astype("Int8"), index=self._index, name="predicted")
        values = np.where(np.isnan(found) | (found == 0.0), np.nan, found > 0.0)
        return self._levels.series(values, self._index)

    def plot(self, ax: Any = None) -> Any:
        """Return the Axes: against d where several prices were compared, risk against C where not."""
        from qreg_boost.plots.rejection import plot_against_d, plot_grid

        return plot_against_d(self.best, ax) if len(self.grid.prices) > 1 else plot_grid(self.table, ax)

    def __repr__(self) -> str:
        return f"{self.folds.kind}, out of fold\n{self.best.to_string(index=False, float_format=lambda v: f'{v:.4g}')}"
