"""What classifiers with a reject option that are made of others have in common."""

from __future__ import annotations

from typing import Any

from qreg_boost.reject.absent import Absent
from qreg_boost.reject.base_results import WithholdingResults
from qreg_boost.reject.choosing import RejectCV
from qreg_boost.reject.folds import Resampling

NO_KERNEL = "It is no kernel machine; the methods double_ramp, double_hinge and generalized_hinge are."


class ComposedResults(WithholdingResults):
    """A classifier that may withhold, made of fits of other models; never changed once it is made."""

    title = "Reject Option Classifier"

    def cv(
        self,
        d: Any = None,
        mstop: Any = None,
        *,
        folds: Any = "kfold",
        k: int = 10,
        groups: Any = None,
        rng: Any = 0,
        n_jobs: int = 1,
        progress: bool = True,
    ) -> RejectCV:
        """Return out-of-fold risk at several prices d, and after several numbers of iterations.

        Each part is fitted once per fold, for all iterations and for every price that needs it; with the same `rng`
        the folds are those of the other methods, row by row.

        Parameters
        ----------
        d : float or list of floats, optional
            By default the price of the fit.
        mstop : int or list of ints, optional
            Of boosted parts; by default what the fit was made with.
        folds, k, rng
            As for `qreg_boost.CV`; "kfold" keeps the shares of the classes.
        groups : array_like (rows,), optional
            Rows of one group, say of one patient, are never on both sides of a fold. A Series goes by its index.
        n_jobs : int
            The result does not depend on it.
        progress : bool

        Returns
        -------
        RejectCV
            ``table``, ``best`` (a row per d), ``refit(d)``, ``predictions(d)``, ``confusion(d)``, ``evaluate(d,
            groups)``, ``risk_coverage(d)``, ``fold_risks``, ``plot()``.

        Notes
        -----
        Where mstop is "cv" or a CV, it is chosen anew inside each training part, by folds of rows whatever groups are.
        """
        return self.model.cv(d, mstop, Resampling(folds, k, groups, rng, n_jobs, progress))

    # -- what kernel machines have

    kernel = Absent(NO_KERNEL)
    C = Absent(NO_KERNEL)
    gamma = Absent(NO_KERNEL)
    machine = Absent(NO_KERNEL)
    minima = Absent(NO_KERNEL)
    spread = Absent(NO_KERNEL)
    n_minima = Absent(NO_KERNEL)
    first_step = Absent(NO_KERNEL)
    compare_r = Absent("R's kernlab has kernel machines to compare with, and none of this kind.")
