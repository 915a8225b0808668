"""Kernel quantile regressions of one model at several levels."""

from __future__ import annotations

from typing import Any

import pandas as pd

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.process import QuantileProcess
from qreg_boost.kernel.kqr_results import KQRResults


class KQRProcess(QuantileProcess):
    """Kernel quantile regressions at several taus; made by `qreg_boost.kqr` given a list of taus.

    Parameters
    ----------
    taus : sequence
        Quantile levels, kept as they were passed: they label the columns of every table.
    fits : sequence of KQRResults

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75], noncrossing=True)
    >>> fits.crossings
    0
    """

    fits: list[KQRResults]

    @property
    def objective(self) -> pd.Series:
        """Penalised objective by tau, on the scale of the penalty."""
        return self._by_tau("objective")

    @property
    def duality_gap(self) -> pd.Series:
        """Relative duality gap by tau; fits that are held apart share one."""
        return self._by_tau("duality_gap")

    @property
    def optimality_gap(self) -> pd.Series:
        """Raise: see `duality_gap`."""
        raise NotDefinedError("A kernel fit is a penalised optimum; duality_gap says how exactly it was reached.")

    @property
    def mstop(self) -> pd.Series:
        """Raise: there are no iterations."""
        raise NotDefinedError("A kernel quantile regression has no boosting iterations.")

    @property
    def cv_result(self) -> Any:
        """The cross-validation that chose C and gamma, the same for all taus."""
        return self.fits[0].cv_result

    def at(self, m: int) -> QuantileProcess:
        """Raise: a kernel quantile regression has no iterations to go back to."""
        raise NotDefinedError("A kernel fit has no iterations; fits[tau] is the fit at one of the taus.")

    extend = at

    def compare_r(self) -> Any:
        """Return a comparison with R's kernlab, the fits below each other."""
        from qreg_boost.r.compare import compare

        return compare(self)
