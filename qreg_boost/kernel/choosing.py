"""Cross-validation of C and the kernel's gamma: one kernel matrix per gamma, shared by all folds and C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import BoundWarning, ConvergenceWarning, warn
from qreg_boost.base.resampling import make_folds, run_tasks
from qreg_boost.kernel.kernels import Kernel
from qreg_boost.kernel.kqr import KernelQuantile, check_losses, solve_kernel_quantile
from qreg_boost.kernel.machine import Prepared

DEFAULT_C = [2.0**k for k in range(-5, 11)]


@dataclass(frozen=True, eq=False)
class KernelCV:
    """Held-out check loss by C and gamma.

    Attributes
    ----------
    risk : DataFrame (folds by settings)
        Weighted mean check loss per held-out row, in units of y (its mean over taus, if there are several); columns
        are pairs C, gamma.
    kind : str
        How rows were held out, in words.
    unsolved : int
        How many of the quadratic programs did not reach their optimum.
    """

    risk: pd.DataFrame
    kind: str
    unsolved: int = 0

    @property
    def table(self) -> pd.DataFrame:
        """One row per setting: C, gamma, mean_loss, std_error."""
        k = len(self.risk)
        error = self.risk.std(ddof=1) / np.sqrt(k) if k > 1 else self.risk.iloc[0] * np.nan
        found = pd.DataFrame({"mean_loss": self.risk.mean(), "std_error": error})
        return found.reset_index()

    @property
    def _best(self) -> dict[str, float]:
        table = self.table
        best = int(np.argmin(table["mean_loss"].to_numpy()))
        return {str(name): float(table[name].iloc[best]) for name in table}

    @property
    def C(self) -> float:
        """The C of least mean loss; of equals the smallest, and then the first gamma."""
        return self._best["C"]

    @property
    def gamma(self) -> float:
        """The gamma of least mean loss; missing for kernels that have none."""
        return self._best["gamma"]

    def plot(self, ax: Any = None) -> Any:
        """Return the Axes with the mean held-out loss against C, a line per gamma; the least is ringed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        """
        from qreg_boost.plots.kernel import plot_kernel_cv

        return plot_kernel_cv(self.table, self.kind, ax)

    def __str__(self) -> str:
        best = self._best
        at = f"C = {best['C']:g}" + ("" if np.isnan(best["gamma"]) else f", gamma = {best['gamma']:.6g}")
        table = self.table.dropna(axis=1, how="all").to_string(index=False, float_format=lambda value: f"{value:.6g}")
        return f"Held-out check loss, {self.kind}\n{table}\nLeast at {at}: {best['mean_loss']:.6g}"

    __repr__ = __str__


def choose(
    prepare: Callable[[Kernel], Prepared],
    kernels: Sequence[Kernel],
    costs: Sequence[float],
    taus: Sequence[float],
    rows: np.ndarray,
    folds: Any,
    k: int,
    rng: Any,
    n_jobs: int,
    progress: bool,
) -> KernelCV:
    """Return the held-out loss of each C and kernel.

    Parameters
    ----------
    prepare : callable
        kernel -> the rows on the scale of the fit. Centres and spreads of all rows serve every fold: they know nothing
        of how y depends on the predictors.
    kernels, costs : sequence
        Costs increasing: each fit starts from that at the smaller cost.
    rows : (n,) int array
        Positions of the rows in the caller's frame, to which folds given by the caller may refer.
    """
    losses: list[np.ndarray] = []
    labels: list[tuple[float, float]] = []
    kind, unsolved = "", 0
    for kernel in kernels:
        ready = prepare(kernel)
        usable = np.zeros(len(rows), dtype=bool)
        usable[ready.columns] = True
        drawn = make_folds(folds, k, usable, rows, rng)
        kind = drawn.kind
        train, held = (part[ready.columns] * ready.weights[:, None] for part in (drawn.train, drawn.held))
        tasks = [(ready, costs, taus, train[:, j], held[:, j]) for j in range(train.shape[1])]
        found = run_tasks(_fold, tasks, n_jobs, progress, f"cross-validation, {ready.kernel}")
        losses.append(np.array([one for one, _ in found]))
        unsolved += sum(count for _, count in found)
        gamma = ready.kernel.parameters.get("gamma", np.nan)
        labels += [(cost, float(gamma)) for cost in costs]
    table = pd.DataFrame(np.hstack(losses), columns=pd.MultiIndex.from_tuples(labels, names=["C", "gamma"]))
    table.index = pd.RangeIndex(1, len(table) + 1, name="fold")
    result = KernelCV(table, kind, unsolved)
    _tell(result, costs, len(kernels))
    return result


def _fold(
    ready: Prepared, costs: Sequence[float], taus: Sequence[float], train: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return the mean held-out loss by C, and how many programs were not solved."""
    out = np.zeros(len(costs))
    unsolved = 0
    for tau in taus:
        found: KernelQuantile | None = None
        for i, cost in enumerate(costs):
            # rows of weight 0 have boxes of no width, take no part, and get their fitted values all the same
            found = solve_kernel_quantile(ready.form, ready.y, tau, cost, train, found)
            unsolved += not found.optimal
            loss = held @ check_losses(ready.y - found.fit, tau) / held.sum()
            out[i] += float(loss) * ready.spread / len(taus)
    return out, unsolved


def _tell(result: KernelCV, costs: Sequence[float], kernels: int) -> None:
    if result.unsolved:
        warn(
            f"{result.unsolved} quadratic programs of the cross-validation did not reach their optimum; the loss of "
            "their settings is not reliable. Leave out the largest C.",
            ConvergenceWarning,
        )
    if len(costs) > 1 and result.C in (costs[0], costs[-1]):
        which = "largest" if costs[-1] == result.C else "smallest"
        warn(f"The best C is the {which} tried, {result.C:g}; try {which[:-3]}er ones.", BoundWarning)
    gammas = result.table["gamma"].unique()
    if kernels > 2 and result.gamma in (np.min(gammas), np.max(gammas)):
        which = "smallest" if result.gamma == np.min(gammas) else "largest"
        warn(f"The best gamma is the {which} tried, {result.gamma:.6g}; try {which[:-3]}er ones.", BoundWarning)
