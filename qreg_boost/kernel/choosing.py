"""Cross-validation of C and the kernel's gamma: one kernel matrix per gamma, shared by all folds and C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import BoundWarning, ConvergenceWarning, InputError, check_tau, listed, warn
from qreg_boost.base.resampling import make_folds, run_tasks
from qreg_boost.base.typeset import WIDTH, paragraph
from qreg_boost.kernel.along import fits_along
from qreg_boost.kernel.kernels import Kernel
from qreg_boost.kernel.kqr import check_losses
from qreg_boost.kernel.machine import Prepared
from qreg_boost.kernel.noncrossing import solve_noncrossing

DEFAULT_C = [2.0**k for k in range(-5, 11)]
TIED = 1e-7
"""A held-out row this share of the response's range above the fit is on it: fits are as exact as their programs."""


@dataclass(frozen=True, eq=False)
class KernelCV:
    """Held-out check loss and coverage by C, gamma and tau.

    Attributes
    ----------
    losses : (folds, taus, settings) array
        Weighted mean check loss per held-out row, in units of y.
    covered : (folds, taus, settings) array
        Weighted share of held-out rows at or below the fitted quantile; it should be near tau.
    settings : MultiIndex
        Pairs C, gamma.
    taus : tuple of float
    kind : str
        How rows were held out, in words.
    unsolved : int
        How many of the quadratic programs did not reach their optimum.
    together : bool
        Whether the quantiles were held apart in each fold, as noncrossing=True does.
    """

    losses: np.ndarray
    covered: np.ndarray
    settings: pd.MultiIndex
    taus: tuple[float, ...]
    kind: str
    unsolved: int = 0
    together: bool = False

    @property
    def risk(self) -> pd.DataFrame:
        """Weighted mean check loss per held-out row, its mean over the taus; folds by settings (C, gamma)."""
        return self._folds(self.losses.mean(axis=1))

    def _folds(self, values: np.ndarray) -> pd.DataFrame:
        folds = pd.RangeIndex(1, len(values) + 1, name="fold")
        return pd.DataFrame(values, index=folds, columns=self.settings)

    @property
    def table(self) -> pd.DataFrame:
        """One row per setting: C, gamma, mean_loss, std_error; the loss is the mean over the taus."""
        return _by_setting(self.risk)

    @property
    def by_tau(self) -> pd.DataFrame:
        """One row per tau and setting: tau, C, gamma, mean_loss, std_error, coverage."""
        tables = []
        for h, tau in enumerate(self.taus):
            one = _by_setting(self._folds(self.losses[:, h]))
            one.insert(0, "tau", tau)
            tables.append(one.assign(coverage=self.covered[:, h].mean(axis=0)))
        return pd.concat(tables, ignore_index=True)

    @property
    def best_by_tau(self) -> pd.DataFrame:
        """One row per tau: the setting that is best for it alone, by which each tau can be fitted.

        Examples
        --------
        >>> import qreg_boost as qb
        >>> engel = qb.datasets.load("engel")
        >>> fits = qb.kqr("foodexp ~ income", engel, tau=[0.1, 0.9], gamma=0.1)
        >>> best = fits.cv(C=[1.0, 4.0, 16.0, 64.0], k=5, progress=False).best_by_tau
        >>> own = [qb.kqr("foodexp ~ income", engel, one.tau, C=one.C, gamma=0.1) for one in best.itertuples()]
        >>> qb.KQRProcess(best["tau"], own).glance()["C"].to_list()
        [4.0, 16.0]
        """
        table = self.by_tau
        least = np.argmin(self.losses.mean(axis=0), axis=1) + len(self.settings) * np.arange(len(self.taus))
        return table.iloc[least].reset_index(drop=True)

    @property
    def chosen(self) -> pd.DataFrame:
        """One row per tau: loss and coverage at the setting that is best for all of them together."""
        at = int(np.argmin(self.losses.mean(axis=(0, 1))))
        return self.by_tau.iloc[at :: len(self.settings)].reset_index(drop=True)

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

    @property
    def how(self) -> str:
        """How rows were held out, over how many taus the loss is a mean, and whether quantiles were held apart."""
        taus = f", mean over {len(self.taus)} taus" if len(self.taus) > 1 else ""
        return f"{self.kind}{taus}{', quantiles held apart' if self.together else ''}"

    def plot(self, ax: Any = None, *, tau: float | None = None) -> Any:
        """Return the Axes with the mean held-out loss against C, a line per gamma; the least is ringed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        tau : float, optional
            One of the taus, whose loss is drawn alone; by default the mean over them.
        """
        from qreg_boost.plots.kernel import plot_kernel_cv

        if tau is None:
            return plot_kernel_cv(self.table, self.how, ax)
        own = self.by_tau[np.isclose(self.by_tau["tau"], check_tau(tau), rtol=1e-9)]
        if own.empty:
            raise InputError(f"There is no tau={tau!r} in this cross-validation; taus: {listed(self.taus)}.")
        held = ", quantiles held apart" if self.together else ""
        return plot_kernel_cv(own, f"tau {tau:g}, {self.kind}{held}", ax)

    def __str__(self) -> str:
        best = self._best
        several = len(self.taus) > 1
        table = self.table if several else self.by_tau.drop(columns="tau")
        lines = paragraph(f"Held-out check loss, {self.how}", WIDTH)
        lines += [_printed(table), f"Least at {_setting(best)}: {best['mean_loss']:.6g}"]
        if several:
            alone = self.best_by_tau
            shown = self.chosen[["tau", "mean_loss", "std_error", "coverage"]]
            shown = shown.assign(**{"best C": alone["C"], "best gamma": alone["gamma"]})
            lines += ["", "At that setting by tau, and what is best for each tau alone:", _printed(shown)]
        return "\n".join(lines)

    __repr__ = __str__

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the table as values that JSON holds and arrays."""
        plain = {"taus": list(self.taus), "kind": self.kind, "unsolved": self.unsolved, "together": self.together}
        settings = np.array([list(pair) for pair in self.settings], dtype=float)
        return plain, {"cv_losses": self.losses, "cv_covered": self.covered, "cv_settings": settings}

    @classmethod
    def from_state(cls, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> KernelCV:
        """Return the table that `state` wrote."""
        settings = _settings([(float(C), float(gamma)) for C, gamma in arrays["cv_settings"]])
        taus = tuple(float(tau) for tau in plain["taus"])
        return cls(
            arrays["cv_losses"], arrays["cv_covered"], settings, taus, str(plain["kind"]), int(plain["unsolved"]),
            bool(plain["together"]),
        )  # fmt: skip


def _settings(pairs: list[tuple[float, float]]) -> pd.MultiIndex:
    return pd.MultiIndex.from_tuples(pairs, names=["C", "gamma"])


def _by_setting(risk: pd.DataFrame) -> pd.DataFrame:
    k = len(risk)
    error = risk.std(ddof=1) / np.sqrt(k) if k > 1 else risk.iloc[0] * np.nan
    return pd.DataFrame({"mean_loss": risk.mean(), "std_error": error}).reset_index()


def _printed(table: pd.DataFrame) -> str:
    return table.dropna(axis=1, how="all").to_string(index=False, float_format=lambda value: f"{value:.6g}")


def _setting(best: Mapping[str, float]) -> str:
    return f"C = {best['C']:g}" + ("" if np.isnan(best["gamma"]) else f", gamma = {best['gamma']:.6g}")


@dataclass(frozen=True, eq=False)
class Fold:
    """What one fold says: losses and covered (taus, costs), and how many programs were not solved."""

    losses: np.ndarray
    covered: np.ndarray
    unsolved: int


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
    together: bool = False,
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
    together : bool
        Whether the quantiles are held apart at the training rows of each fold.
    """
    found: list[list[Fold]] = []
    labels: list[tuple[float, float]] = []
    kind = ""
    for kernel in kernels:
        ready = prepare(kernel)
        usable = np.zeros(len(rows), dtype=bool)
        usable[ready.columns] = True
        drawn = make_folds(folds, k, usable, rows, rng)
        kind = drawn.kind
        train, held = (part[ready.columns] * ready.weights[:, None] for part in (drawn.train, drawn.held))
        tasks = [(ready, costs, taus, train[:, j], held[:, j]) for j in range(train.shape[1])]
        judge = _fold_together if together and len(taus) > 1 else _fold
        found.append(run_tasks(judge, tasks, n_jobs, progress, f"cross-validation, {ready.kernel}"))
        gamma = ready.kernel.parameters.get("gamma", np.nan)
        labels += [(cost, float(gamma)) for cost in costs]
    losses, covered = (
        np.concatenate([np.array([getattr(one, name) for one in folds]) for folds in found], axis=2)
        for name in ("losses", "covered")
    )
    unsolved = sum(one.unsolved for folds in found for one in folds)
    result = KernelCV(losses, covered, _settings(labels), tuple(taus), kind, unsolved, together and len(taus) > 1)
    _tell(result, costs, len(kernels))
    return result


def _fold(ready: Prepared, costs: Sequence[float], taus: Sequence[float], train: np.ndarray, held: np.ndarray) -> Fold:
    """Return what fits to each tau alone say of the held-out rows."""
    out = Fold(np.zeros((len(taus), len(costs))), np.zeros((len(taus), len(costs))), 0)
    unsolved, definite = 0, ready.kernel.definite(ready.X)
    for h, tau in enumerate(taus):
        for i, found in enumerate(fits_along(ready.form, ready.y, tau, costs, train, definite)):
            unsolved += not found.optimal
            _judge(out, (h, i), ready, found.fit, tau, held)
    return Fold(out.losses, out.covered, unsolved)


def _fold_together(
    ready: Prepared, costs: Sequence[float], taus: Sequence[float], train: np.ndarray, held: np.ndarray
) -> Fold:
    """Return what fits say of the held-out rows whose quantiles do not cross at the training rows."""
    out = Fold(np.zeros((len(taus), len(costs))), np.zeros((len(taus), len(costs))), 0)
    unsolved = 0
    rows, order = np.flatnonzero(train > 0.0), np.argsort(taus)
    form = ready.form.at(rows)
    for i, cost in enumerate(costs):
        levels = [float(taus[h]) for h in order]
        for h, one in zip(order, solve_noncrossing(form, ready.y[rows], levels, cost, train[rows]), strict=True):
            unsolved += not one.optimal
            a = np.zeros(len(train))
            a[rows] = one.a
            _judge(out, (int(h), i), ready, ready.form.times(a) + one.b, float(taus[h]), held)
    return Fold(out.losses, out.covered, unsolved)


def _judge(out: Fold, at: tuple[int, int], ready: Prepared, fit: np.ndarray, tau: float, held: np.ndarray) -> None:
    """Write loss and coverage of fitted values (n,) on the held-out rows."""
    total = held.sum()
    out.losses[at] = float(held @ check_losses(ready.y - fit, tau) / total) * ready.spread
    out.covered[at] = float(held @ (ready.y <= fit + TIED * np.ptp(ready.y)) / total)


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
