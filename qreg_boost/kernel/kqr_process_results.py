"""Kernel quantile regressions of one model at several levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.process import QuantileProcess
from qreg_boost.kernel.kqr_results import KQRResults

if TYPE_CHECKING:
    from qreg_boost.kernel.choosing import KernelCV


class KQRProcess(QuantileProcess):
    """Kernel quantile regressions at several taus; made by `qreg_boost.kqr` given a list of taus.

    Parameters
    ----------
    taus : sequence
        Quantile levels, kept as they were passed: they label the columns of every table.
    fits : sequence of KQRResults
        To the same rows; fits of one call share kernel and C, others need not.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75], noncrossing=True)
    >>> fits.crossings
    0
    """

    fits: list[KQRResults]

    # -- what all share

    def _of_all(self, name: str) -> Any:
        values = [getattr(fit, name) for fit in self.fits]
        if any(value != values[0] for value in values):
            raise NotDefinedError(
                f"The fits differ in {name}: glance() has it by tau, fits[tau].{name} for one of them."
            )
        return values[0]

    @property
    def C(self) -> float:
        """Cost, where it is the same for all taus."""
        return self._of_all("C")

    @property
    def kernel(self) -> str:
        """The kernel and its parameters in words, where they are the same for all taus."""
        return self._of_all("kernel")

    @property
    def gamma(self) -> float:
        """Gamma of a radial kernel, on the scale of the standardised predictors if they were; where all share it."""
        return self._of_all("gamma")

    @property
    def cv_result(self) -> KernelCV:
        """The cross-validation that chose C or gamma, the same for all taus."""
        return self.fits[0].cv_result

    # -- by tau

    @property
    def objective(self) -> pd.Series:
        """Penalised objective by tau, on the scale of the penalty."""
        return self._by_tau("objective")

    @property
    def duality_gap(self) -> pd.Series:
        """Relative duality gap by tau; fits that are held apart share one."""
        return self._by_tau("duality_gap")

    @property
    def n_on(self) -> pd.Series:
        """Number of rows on the fit by tau."""
        return self._by_tau("n_on")

    @property
    def b(self) -> pd.Series:
        """Offset by tau, on the scale of the penalty."""
        return self._by_tau("b")

    @property
    def alpha(self) -> pd.DataFrame:
        """Dual variables, rows by tau."""
        return self._side_by_side([fit.alpha for fit in self.fits])

    @property
    def side(self) -> pd.DataFrame:
        """Where each row lies: 1 above the fit, -1 below it, 0 on it (or of weight 0); rows by tau."""
        return self._side_by_side([fit.side for fit in self.fits])

    # -- other C and gamma

    def cv(
        self,
        C: Any = None,
        gamma: Any = None,
        *,
        folds: Any = "kfold",
        k: int = 10,
        rng: Any = 0,
        n_jobs: int = 1,
        progress: bool = True,
    ) -> KernelCV:
        """Return the cross-validated check loss and coverage of C and gamma, by tau and as a mean over the taus.

        Fits with noncrossing=True are held apart in each fold too.

        Parameters
        ----------
        C, gamma, folds, k, rng, n_jobs, progress
            As for one fit.

        Returns
        -------
        KernelCV
            ``.table`` and ``.C``, ``.gamma`` for all taus together; ``.by_tau``, ``.best_by_tau`` for each.
        """
        how = {"folds": folds, "k": k, "rng": rng, "n_jobs": n_jobs, "progress": progress}
        first = self.fits[0]
        levels = [fit.tau for fit in self.fits]
        return first.model.cv(C, gamma, levels, bool(first.facts.own["noncrossing"]), **how)

    def plot_lines(self, ax: Any = None, *, x: str | None = None, at: Mapping[str, Any] | None = None) -> Any:
        """Return the Axes with the rows and the fitted quantiles against one numeric predictor, others held fixed.

        Parameters
        ----------
        ax, x, at
            As for one fit.
        """
        from qreg_boost.kernel.curves import curves
        from qreg_boost.plots.kernel_curves import plot_curves

        return plot_curves(curves(self.fits, x, at), ax)

    def compare_r(self) -> Any:
        """Return a comparison with R's kernlab, the fits below each other."""
        from qreg_boost.r.compare import compare

        return compare(self)

    # -- what there is not

    def path(self, C: Any = None) -> Any:
        """Raise: a path in C is that of one tau."""
        raise NotDefinedError(
            f"A path in C is that of one quantile: fits[{self.taus[0]!r}].path(C). For all of them together see "
            "fits.cv(C), or fit anew at another C."
        )

    @property
    def tau(self) -> float:
        """Raise: there are several."""
        raise NotDefinedError("These are fits at several taus: see fits.taus, and fits[tau] for one of them.")

    @property
    def optimality_gap(self) -> pd.Series:
        """Raise: see `duality_gap`."""
        raise NotDefinedError("A kernel fit is a penalised optimum; duality_gap says how exactly it was reached.")

    @property
    def mstop(self) -> pd.Series:
        """Raise: there are no iterations."""
        raise NotDefinedError("A kernel quantile regression has no boosting iterations; its path is fits[tau].path(C).")

    def at(self, m: int) -> QuantileProcess:
        """Raise: a kernel quantile regression has no iterations to go back to."""
        raise NotDefinedError("A kernel fit has no iterations; fits[tau] is the fit at one of the taus.")

    extend = at

    def __str__(self) -> str:
        from qreg_boost.kernel.kqr_report import describe_several

        return describe_several(self)
