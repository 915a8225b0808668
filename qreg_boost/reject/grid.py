"""Cross-validation of kernel machines with a reject band over grids of C, kernel and price; kernels are shared."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_positive
from qreg_boost.base.resampling import Folds, run_tasks
from qreg_boost.kernel.box_qp import BoxSolution
from qreg_boost.kernel.incomplete_cholesky import low_rank_of
from qreg_boost.kernel.kernels import Kernel
from qreg_boost.kernel.quadratic import Dense, LowRank, Quadratic
from qreg_boost.reject.choosing import OutOfFold, Setting, prices_of, sides, values_of
from qreg_boost.reject.dca import Task
from qreg_boost.reject.machine import LOSSES, Fitted, signed, signs, unsigned
from qreg_boost.reject.prices import Prices
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
    low_rank: tuple[float, int] | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """Out-of-fold predictions.

    Attributes
    ----------
    counts : (prices, kernels, C, folds, 2, 3) array
        Held-out rows by class and prediction, weights counted.
    f, rho : (prices, kernels, C, n) arrays
        Decision function at each row and half-width of its band, of the last fold that held the row out; NaN where none
        did.
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
    f: np.ndarray
    rho: np.ndarray
    unsolved: int
    programs: int
    kkt: float
    kernels: tuple[Kernel, ...]

    @cached_property
    def signs(self) -> np.ndarray:
        """-1, 0, +1 of each row (prices, kernels, C, n), NaN where no fold held it out."""
        return signs(self.f, self.rho)

    def out_of_fold(self) -> OutOfFold:
        """Return the predictions by price and setting."""
        prices, kernels, costs, folds = self.counts.shape[:4]
        flat = (prices, kernels * costs, -1)
        return OutOfFold(
            self.counts.reshape(prices, kernels * costs, folds, 2, 3),
            self.signs.reshape(flat),
            (np.abs(self.f) - self.rho).reshape(flat),
            sides(self.f).reshape(flat),
        )

    def settings(self, grid: Grid) -> tuple[Setting, ...]:
        """Return every kernel with every C, in the order of the predictions; a gamma by rule is shown as a number."""
        found = []
        for j, (kernel, given) in enumerate(zip(self.kernels, grid.kernels, strict=True)):
            own = {"gamma": kernel.gamma} if hasattr(kernel, "gamma") else {"kernel": str(kernel)}
            found += [Setting({**own, "C": one}, {"C": one, "kernel": given}, (one, j)) for one in grid.C]
        return tuple(found)


def read_grid(C: Any, gamma: Any, d: Any, fitted_C: float, kernel: Kernel, prices: Prices) -> Grid:
    """Return the grid that is meant; what is None stays as it was fitted."""
    costs = [fitted_C] if C is None else [check_positive(one, "C") for one in values_of(C, "C")]
    kernels: list[Kernel] = [kernel]
    if gamma is not None:
        if "gamma" not in {field.name for field in fields(kernel)}:
            raise InputError(f"The kernel {kernel} has no gamma; leave the grid of gamma out.")
        kernels = [replace(kernel, gamma=one) for one in values_of(gamma, "gamma")]  # type: ignore[call-arg]
    return Grid(tuple(sorted(set(costs))), tuple(kernels), prices_of(d, prices))


def cross_validate(problem: Problem, grid: Grid, n_jobs: int = 1, progress: bool = True) -> Found:
    """Return out-of-fold predictions; one task is one fold with one kernel, C rising and each start warm."""
    kernels = tuple(kernel.settled(problem.X, problem.weights) for kernel in grid.kernels)
    forms = [unsigned(kernel, problem.X, low_rank_of(kernel, problem.X, problem.low_rank)) for kernel in kernels]
    k, n = problem.folds.train.shape[1], len(problem.y)
    prices, several, costs = grid.shape
    counts = np.zeros((prices, several, costs, k, 2, 3))
    f, rho = (np.full((prices, several, costs, n), np.nan) for _ in range(2))

    def one(kernel: int, fold: int) -> Part:
        return _part(problem, grid, forms[kernel], kernel, fold)

    tasks = [(kernel, fold) for kernel in range(several) for fold in range(k)]
    parts = run_tasks(one, tasks, n_jobs, progress, "cross-validation")
    for (kernel, fold), part in zip(tasks, parts, strict=True):
        counts[:, kernel, :, fold] = part.counts
        held = problem.folds.held[:, fold]
        f[:, kernel, :, held] = np.moveaxis(part.f, -1, 0)
        rho[:, kernel, :, held] = part.rho
    return Found(
        counts, f, rho, sum(part.unsolved for part in parts), sum(part.programs for part in parts),
        max(part.kkt for part in parts), kernels,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """One fold with one kernel: counts (prices, C, 2, 3), f (prices, C, held), rho (prices, C), how programs ended."""

    counts: np.ndarray
    f: np.ndarray
    rho: np.ndarray
    unsolved: int
    programs: int
    kkt: float


def _part(problem: Problem, grid: Grid, whole: Quadratic, kernel: int, fold: int) -> Part:
    times, held = problem.folds.train[:, fold], np.flatnonzero(problem.folds.held[:, fold])
    train = np.flatnonzero(times > 0)
    y = problem.y[train]
    weights = times[train] * (1.0 if problem.weights is None else problem.weights[train])
    Q = signed(whole.at(train), y)
    held_weights = None if problem.weights is None else problem.weights[held]
    prices, _, costs = grid.shape
    counts, f, rho = np.zeros((prices, costs, 2, 3)), np.zeros((prices, costs, len(held))), np.zeros((prices, costs))
    unsolved, programs, kkt = 0, 0, 0.0
    warm: dict[str, BoxSolution] = {}
    for i, price in enumerate(grid.prices):
        error, d = price.by_row(y)
        for j, C in enumerate(grid.C):
            task = Task(Q, y, C * error * weights, d, problem.mu, price.withholds)
            rng = np.random.default_rng([problem.seed, kernel, fold]) if problem.random else None
            fitted = LOSSES[problem.method](task, problem.starts, problem.random, rng, warm)
            f[i, j] = _cross(whole, held, train, fitted.point.a * y) + fitted.point.b
            rho[i, j] = fitted.point.rho
            known = (problem.y[held] > 0.0).astype(float)
            counts[i, j] = Tally.of(known, signs(f[i, j], rho[i, j]), held_weights).counts
            unsolved, programs = unsolved + fitted.unsolved, programs + fitted.programs
            kkt = max(kkt, fitted.worst.residuals.kkt)
            warm = first_steps(fitted)
    return Part(counts, f, rho, unsolved, programs, kkt)


def first_steps(fitted: Fitted) -> dict[str, BoxSolution]:
    """Return the solutions of the first step from each start: warm starts of the next C or price."""
    return {} if fitted.minima is None else {one.start: one.first for one in fitted.minima.each}


def _cross(whole: Quadratic, held: np.ndarray, train: np.ndarray, c: np.ndarray) -> np.ndarray:
    if isinstance(whole, LowRank):
        return whole.Z[held] @ (whole.Z[train].T @ c)
    assert isinstance(whole, Dense)
    return whole.Q[np.ix_(held, train)] @ c
