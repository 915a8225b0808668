"""When to stop: out-of-sample loss by iteration, and the best iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import BoundWarning, InputError, check_choice, check_count, warn
from qreg_boost.base.held_out import RULES, HeldOutRisk
from qreg_boost.base.resampling import Folds, make_folds, run_tasks

FoldRisk = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""(train weights (n,), held-out weights (n,), iterations) -> mean held-out loss (iterations + 1,)."""


@dataclass(frozen=True)
class CV:
    """How a stop is chosen by resampling: pass it as `mstop`.

    Parameters
    ----------
    folds : {"kfold", "bootstrap", "subsampling"}, array, or splitter
        "kfold" leaves each row out once; "bootstrap" draws n rows with replacement and judges on those not drawn;
        "subsampling" draws half of them without replacement. Or folds of your own: an array (n, k) of training weights
        (0 = held out), an array (n,) of fold labels, a list of (train, test) row positions, or an object with a method
        ``split``.
    k : int
        Number of folds or replicates.
    max : int
        Largest number of iterations tried.
    rng : int or numpy Generator
        Seed of the folds.
    rule : {"min", "1se"}
        The iteration of least mean loss, or the first whose mean loss is within one standard error of the least.
    n_jobs : int
        Workers; the numbers do not depend on it.
    progress : bool
        Whether runs of more than two seconds show a bar.

    Examples
    --------
    >>> CV(k=5, max=200).k
    5
    """

    folds: Any = "kfold"
    k: int = 10
    max: int = 1000
    rng: int | np.random.Generator | None = 0
    rule: str = "min"
    n_jobs: int = 1
    progress: bool = True

    def __post_init__(self) -> None:
        check_choice(self.rule, "rule", RULES)
        check_count(self.max, "max", 1)
        check_count(self.k, "k", 1)
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral) or self.n_jobs == 0:
            raise InputError(f"`n_jobs` must be a number of workers, -1 for one per processor; got {self.n_jobs!r}.")


@dataclass(frozen=True, eq=False, repr=False)
class CVResult(HeldOutRisk):
    """Out-of-sample loss by iteration.

    Attributes
    ----------
    risk : DataFrame (folds by iterations 0..max)
        Weighted mean loss per held-out row.
    rule : str
        "min" or "1se": which of the two stops below `mstop` is.
    kind : str
        How rows were held out, in words.
    loss : str
        What was measured, in words.
    """

    loss: str = "check loss"

    @property
    def mstop_min(self) -> int:
        """The iteration of least mean loss, the first of equals."""
        return self._least

    @property
    def mstop_1se(self) -> int:
        """The first iteration whose mean loss is within one standard error of the least."""
        return self._within_1se

    @property
    def mstop(self) -> int:
        """The stop chosen by `rule`."""
        return self.mstop_min if self.rule == "min" else self.mstop_1se

    def summary(self) -> pd.DataFrame:
        """Return the mean loss and its standard error at the start, at both stops, and at the end."""
        return self._table("stop", "mstop")

    def __str__(self) -> str:
        table = self.summary().to_string(float_format=lambda value: f"{value:.6g}")
        return (
            f"Out-of-sample {self.loss}, {self.kind}, 0 to {self.risk.shape[1] - 1} iterations\n"
            f"{table}\nOptimal number of boosting iterations ({self.rule}): {self.mstop}"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss of each fold and their mean against the iteration; return the Axes."""
        from qreg_boost.plots.paths import plot_cv

        return plot_cv(self, ax=ax)


def cross_validate(
    fold_risk: FoldRisk,
    cv: CV,
    weights: np.ndarray,
    rows: np.ndarray,
    description: str = "cross-validation",
    y: np.ndarray | None = None,
) -> CVResult:
    """Return the out-of-sample loss of `fold_risk` over the folds of `cv`.

    Parameters
    ----------
    fold_risk : callable
        Fits on training weights and judges on held-out weights.
    weights : ndarray (n,)
        Case weights; rows of weight 0 are neither trained nor judged on.
    rows : ndarray (n,)
        Positions of the rows in the caller's frame, to which folds given by the caller may refer.
    y : ndarray (n,), optional
        The response, for folds that look at it.
    """
    folds: Folds = make_folds(cv.folds, cv.k, weights > 0, rows, cv.rng, y)
    tasks = [(folds.train[:, k] * weights, folds.held[:, k] * weights, cv.max) for k in range(folds.train.shape[1])]
    risks = run_tasks(fold_risk, tasks, n_jobs=cv.n_jobs, progress=cv.progress, description=description)
    table = pd.DataFrame(np.array(risks), index=pd.RangeIndex(1, len(risks) + 1, name="fold"))
    table.columns = pd.RangeIndex(cv.max + 1, name="iteration")
    result = CVResult(table, cv.rule, folds.kind)
    if cv.rule == "1se" and len(table) == 1:
        raise InputError('`rule="1se"` needs a standard error, and so at least two folds; got one.')
    if result.mstop_min == cv.max:
        warn(
            f"The best stop is the last iteration tried, {cv.max}: the loss was still falling. Try a larger `max`.",
            BoundWarning,
        )
    return result
