"""Kernel quantile regressions at one tau along C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_choice, listed
from qreg_boost.kernel.kqr import KernelQuantile
from qreg_boost.kernel.machine import Prepared

CRITERIA = ("sic", "gacv")


@dataclass(frozen=True, eq=False)
class KQRPath:
    """Fits at one tau along C.

    Attributes
    ----------
    table : DataFrame
        One row per C: loss (weighted sum of check losses, in units of y), penalty, objective, edf (rows on the fit: the
        divergence of the fit, an unbiased estimate of its degrees of freedom), sic, gacv, duality_gap.
    fits : list of KQRResults

    References
    ----------
    Li, Y., Liu, Y. and Zhu, J. (2007). Quantile regression in reproducing kernel Hilbert spaces. Journal of the
    American Statistical Association 102, 255-268.
    """

    table: pd.DataFrame
    fits: list[Any]

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fits)

    def at(self, C: float) -> Any:
        """Return the fit at one of the C."""
        found = np.flatnonzero(np.isclose(self.table.index, C, rtol=1e-9))
        if not len(found):
            raise InputError(f"No fit at C={C!r}; C: {listed(f'{one:g}' for one in self.table.index)}.")
        return self.fits[int(found[0])]

    def select(self, criterion: str = "sic") -> Any:
        """Return the fit of least Schwarz criterion ("sic") or generalised approximate CV ("gacv")."""
        check_choice(criterion, "criterion", CRITERIA)
        return self.fits[int(np.argmin(self.table[criterion]))]

    def plot(self, criterion: str = "sic", ax: Any = None) -> Any:
        """Return the Axes with a criterion against C, its least ringed, the rows on the fit written along.

        Parameters
        ----------
        criterion : {"sic", "gacv"}
        ax : matplotlib Axes, optional
        """
        from qreg_boost.plots.kernel import plot_kqr_path

        check_choice(criterion, "criterion", CRITERIA)
        return plot_kqr_path(self.table, float(self.fits[0].tau), criterion, ax)

    def __str__(self) -> str:
        head = f"Kernel quantile regression along C: tau = {self.fits[0].tau:g}, {self.fits[0].kernel}"
        return f"{head}\n{self.table.to_string(float_format=lambda value: f'{value:.6g}')}"

    __repr__ = __str__


def path_table(found: Sequence[KernelQuantile], ready: Prepared) -> pd.DataFrame:
    """Return the table of a path.

    With n the sum of weights and V the mean loss, SIC = log V + log(n) edf / (2n) (Koenker, Ng and Portnoy 1994) and
    GACV = n V / (n - edf) (Yuan 2006).
    """
    n = float(ready.weights.sum())
    rows = []
    for one in found:
        loss = one.loss * ready.spread
        edf = int((one.side == 0).sum())
        with np.errstate(divide="ignore"):
            sic = float(np.log(loss / n)) + np.log(n) * edf / (2.0 * n)
        gacv = loss / (n - edf) if edf < n else np.inf
        rows.append((one.C, loss, one.penalty, one.objective, edf, sic, gacv, one.duality_gap))
    names = ["C", "loss", "penalty", "objective", "edf", "sic", "gacv", "duality_gap"]
    return pd.DataFrame(rows, columns=names).set_index("C")
