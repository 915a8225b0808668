"""Kernel quantile regressions at one tau along C: the whole path, or fits at some C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import (
    ConvergenceWarning,
    InputError,
    NotDefinedError,
    check_choice,
    listed,
    number_of,
    warn,
)
from qreg_boost.base.typeset import number
from qreg_boost.kernel.along import MOST_ROWS
from qreg_boost.kernel.exact_path import ExactPath, exact_path
from qreg_boost.kernel.machine import Prepared
from qreg_boost.kernel.quadratic import LowRank

SAME = 1e-9
"""C that differ by a smaller share are one."""
CRITERIA = ("sic", "gacv")
LARGEST = 1024.0
"""Where a path ends unless the fit's own C is larger: at the largest C that cross-validation tries by itself."""
MOST_ROWS_LOW_RANK = 30_000
"""Rows of a low-rank factor of which the whole path is a matter of minutes."""
MOST_SHOWN = 15


@dataclass(frozen=True, eq=False)
class KQRPath:
    """Fits at one tau along C: for every C from 0 to `largest`, or for those asked for.

    Attributes
    ----------
    table : DataFrame
        One row per C, which is the index: those asked for, or else the knots. Columns loss (weighted sum of check
        losses, in units of y), penalty, objective, edf (rows on the fit: the divergence of the fit, an unbiased
        estimate of its degrees of freedom), sic, gacv, duality_gap.
    tau : float
    kernel : str
    fit_at : callable
        C -> KQRResults.
    whole : bool
        Whether every C up to the largest has a fit.

    Notes
    -----
    With theta = a / C, a the dual variables, and lambda = 1 / C, theta is linear in lambda between two knots, and the
    loss in C. A knot is where a row comes to the fit, or the dual variable of one on it reaches an end of its box (Li,
    Liu and Zhu 2007). The criteria are missing where more than half the rows are on the fit.

    References
    ----------
    Li, Y., Liu, Y. and Zhu, J. (2007). Quantile regression in reproducing kernel Hilbert spaces. Journal of the
    American Statistical Association 102, 255-268.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> path = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), gamma=0.1).path(largest=10)
    >>> bool((path.knots["duality_gap"] < 1e-8).all())
    True
    >>> fit = path.select("sic")
    >>> bool(fit.C in path.table.index) and path.at(2.5).C
    2.5
    """

    table: pd.DataFrame
    tau: float
    kernel: str
    fit_at: Callable[[float], Any]
    whole: bool

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Any]:
        return (self.fit_at(float(C)) for C in self.table.index)

    @property
    def largest(self) -> float:
        """The largest C."""
        return float(self.table.index[-1])

    @property
    def knots(self) -> pd.DataFrame:
        """One row per knot, the last the end: C, loss, penalty, objective, edf, sic, gacv, duality_gap."""
        if not self.whole:
            raise NotDefinedError("These are fits at given C; fit.path(), without C, is the path with its knots.")
        return self.table.reset_index().rename_axis("knot")

    def at(self, C: float) -> Any:
        """Return the fit at a C: any from 0 to the largest, or one of those asked for."""
        if isinstance(C, bool) or not isinstance(C, (int, float, np.number)):
            raise InputError(f"Give one number, for one fit; got {C!r}. fit.path([...]) takes several.")
        if self.whole:
            if not 0.0 <= C <= self.largest * (1.0 + SAME):
                raise InputError(
                    f"C must be from 0 to {self.largest:.6g}, where this path ends; got {C!r}. "
                    "fit.path(largest=...) goes further."
                )
            return self.fit_at(min(float(C), self.largest))
        known = self.table.index.to_numpy()
        near = np.flatnonzero(np.isclose(known, C, rtol=SAME, atol=0.0))
        if not len(near):
            raise InputError(
                f"No fit at C={C!r}; C: {listed(f'{one:g}' for one in known)}. fit.path(), without C, has all fits."
            )
        return self.fit_at(float(known[near[0]]))

    def select(self, criterion: str = "sic") -> Any:
        """Return the fit of least Schwarz criterion ("sic") or generalised approximate CV ("gacv") in the table."""
        check_choice(criterion, "criterion", CRITERIA)
        values = self.table[criterion].to_numpy()
        if np.isnan(values).all():
            raise InputError(
                f"At each C more than half the rows are on the fit, so {criterion!r} chooses none. Take smaller C, or "
                "cross-validation: fit.cv()."
            )
        return self.fit_at(float(self.table.index[int(np.nanargmin(values))]))

    def plot(self, criterion: str = "sic", ax: Any = None) -> Any:
        """Return the Axes with a criterion against C, its least ringed, the rows on the fit written along.

        Parameters
        ----------
        criterion : {"sic", "gacv"}
        ax : matplotlib Axes, optional
        """
        from qreg_boost.plots.kernel import plot_kqr_path

        check_choice(criterion, "criterion", CRITERIA)
        return plot_kqr_path(self.table, self.tau, criterion, ax)

    def __str__(self) -> str:
        lines = [f"Kernel quantile regression along C: tau = {self.tau:g}, {self.kernel}"]
        table = self.table
        if self.whole:
            lines += [f"{len(table)} knots, C from 0 to {number(self.largest)}", ""]
            shown = np.unique(np.linspace(0, len(table) - 1, min(len(table), MOST_SHOWN)).round().astype(int))
            table = table.iloc[shown].drop(columns="duality_gap")
        lines.append(table.reset_index().to_string(index=False, float_format=lambda value: f"{value:.6g}"))
        if self.whole:
            lines += [""] if len(table) == len(self.table) else [f"{len(table)} of them; all are in .knots.", ""]
            lines += [_least(self.table, criterion) for criterion in CRITERIA]
        return "\n".join(lines)

    __repr__ = __str__


def _least(table: pd.DataFrame, criterion: str) -> str:
    values = table[criterion].to_numpy()
    if np.isnan(values).all():
        return f"{criterion.upper()} is missing at all knots: more than half the rows are on the fit."
    best = int(np.nanargmin(values))
    C, edf = float(table.index[best]), int(table["edf"].iloc[best])
    return f"Least {criterion.upper()} at C = {number(C)}: {number_of(edf, 'row')} on the fit"


def whole_path(ready: Prepared, tau: float, largest: float, progress: bool) -> ExactPath:
    """Return the path from C = 0 to `largest`; a warning says where it ends if earlier.

    Raises
    ------
    InputError
        If there are too many rows.
    """
    n, low_rank = len(ready.y), isinstance(ready.form, LowRank)
    most = MOST_ROWS_LOW_RANK if low_rank else MOST_ROWS
    if n > most:
        first = "a fit to a subset" if low_rank else "a fit to a subset or with low_rank=500"
        raise InputError(
            f"The whole path of {n} rows has about as many knots or more, and each of them is a pass over the rows; at "
            f"most {most} rows are taken. Ask for some C, fit.path([1, 10, 100]), or for the path of {first}."
        )
    found = exact_path(ready.form, ready.y, tau, largest, ready.weights, progress=progress)
    if not found.status.complete:
        warn(
            f"The path ends at C = {found.largest:.6g}, not {largest:g}: {found.status.value} Ask for larger C one by "
            "one: fit.path([...]).",
            ConvergenceWarning,
        )
    return found


def path_table(ready: Prepared, C: Any, loss: Any, penalty: Any, edf: Any, gap: Any) -> pd.DataFrame:
    """Return the table of a path: C is the index, `loss` (m,) that of the scaled data.

    With V the weighted mean loss and n rows of weight above 0, SIC = log V + log(n) edf / (2n) (Koenker, Ng and Portnoy
    1994) and GACV = loss / (n - edf) (Yuan 2006); both missing where edf is more than half the rows.
    """
    n = len(ready.y)
    C, penalty, edf = np.asarray(C, dtype=float), np.asarray(penalty, dtype=float), np.asarray(edf, dtype=int)
    scaled = np.asarray(loss, dtype=float)
    loss = scaled * ready.spread
    sparse = 2 * edf <= n
    with np.errstate(divide="ignore"):
        sic = np.where(sparse, np.log(loss / ready.weights.sum()) + np.log(n) * edf / (2.0 * n), np.nan)
    gacv = np.where(sparse, loss / np.where(sparse, n - edf, 1), np.nan)
    columns = {
        "loss": loss, "penalty": penalty, "objective": penalty + C * scaled, "edf": edf, "sic": sic, "gacv": gacv,
        "duality_gap": gap,
    }  # fmt: skip
    return pd.DataFrame(columns, index=pd.Index(C, name="C"))


def path_call(C: float) -> str:
    """Return how the fit at a C is asked for.

    >>> path_call(0.5)
    'path([0.5]).at(0.5)'
    """
    if C == 0.0:
        return "path().at(0)"
    shown = f"{C:g}" if float(f"{C:g}") == C else repr(C)
    return f"path([{shown}]).at({shown})"
