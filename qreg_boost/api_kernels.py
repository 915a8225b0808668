"""The formula functions of kernel machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from qreg_boost.base.process import QuantileProcess
from qreg_boost.base.rows import caller_env
from qreg_boost.kernel.kqr_model import KQR, restore_kqr
from qreg_boost.kernel.kqr_process_results import KQRProcess

KERNEL_MACHINES: dict[str, Callable[..., Any]] = {"KQRResults": restore_kqr}
"""What reads saved fits, by the name of their results."""
KERNEL_PROCESSES: dict[str, type[QuantileProcess]] = {"KQRProcess": KQRProcess}


def kqr(
    formula: str,
    data: Any,
    tau: Any = 0.5,
    *,
    C: Any = 1.0,
    kernel: Any = "rbf",
    gamma: Any = "sigest",
    kpar: Mapping[str, Any] | None = None,
    standardize: bool = True,
    noncrossing: bool = False,
    low_rank: Any = None,
    folds: Any = "kfold",
    k: int = 10,
    rng: Any = 0,
    n_jobs: int = 1,
    progress: bool = True,
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
) -> Any:
    """Return a kernel quantile regression fit of `formula` to `data`: a smooth function of the predictors.

    Fitted values and predictions are in the response's own units (kernlab's are standardised).

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too. Its right side says which columns the
        kernel compares rows by; an offset is always there, so ``- 1`` changes only how categories are coded.
    data : DataFrame or mapping of columns
    tau : float or list of floats
        Quantile level, strictly between 0 and 1; a list gives a `KQRProcess`.
    C : float or list of floats
        What a unit of check loss weighs against the penalty; of several, cross-validation chooses: one C and one gamma
        for all taus, of least mean loss over them (``cv_result.best_by_tau`` has what is best for each).
    kernel : str, Kernel or callable
        "rbf", exp(-gamma |x - z|^2); "linear"; "laplace", exp(-gamma |x - z|); "polynomial"; "tanh"; "spline";
        kernlab's names ("rbfdot", ...); a kernel of `qreg_boost.kernel.kernels`; a function of two matrices of rows, or
        of two rows. One that is not positive semidefinite, as "tanh" hardly ever is, has no certified optimum.
    gamma : float, "sigest", "median", or list of these
        Of the radial kernels; kernlab's sigma. "sigest": the mean of the reciprocals of the 0.9 and 0.1 quantiles of
        the squared distances between rows, over all pairs (of more than 4000 rows, of 4000 of them); whole weights
        count as repeated rows. It knows nothing of the response, and for one or two predictors is mostly too large, the
        fit too rough. "median": the reciprocal of their median. Of several, cross-validation chooses.
    kpar : mapping, optional
        Further parameters: ``degree``, ``scale``, ``offset``; ``sigma`` is gamma. kernlab's "automatic" is "sigest".
    standardize : bool
        Whether predictors and response are brought to mean 0 and standard deviation 1 first (predictors of the spline
        kernel to [0, 1]). C and gamma are meant on that scale; without it, on the data's.
    noncrossing : bool
        Whether fits at several taus are held apart so that they do not cross at the rows; at most 6000 unknowns, taus
        times rows. Cross-validation holds them apart in each fold too, which takes long: to save time, choose C and
        gamma by separate fits and pass them.
    low_rank : int or float, optional
        Replace the kernel matrix by one of this rank, or of as small a rank as loses this part of it (below 1).
    folds, k, rng, n_jobs, progress
        How cross-validation is done, if there are several C or gamma; see `qreg_boost.CV`. `n_jobs` workers fit several
        taus too, the numbers being the same; what takes more than two seconds shows a bar.
    weights : column name or array_like (rows,), optional
        Multiply the loss.
    subset : column name, boolean array or expression, optional
        Rows to use.
    missing : {"drop", "raise"}
        What becomes of rows in which something is missing.

    Returns
    -------
    KQRResults or KQRProcess

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    Warns
    -----
    ConvergenceWarning
        If the quadratic program was not solved to its tolerance; the figures are named.

    Notes
    -----
    The fit f = h + b minimises 1/2 |h|^2 + C sum_i w_i rho_tau(y_i - f(x_i)), |h| the norm of the kernel's space, by
    its dual; ``duality_gap`` certifies the optimum.

    References
    ----------
    Takeuchi, I., Le, Q. V., Sears, T. D. and Smola, A. J. (2006). Nonparametric quantile estimation. Journal of Machine
    Learning Research 7, 1231-1264.

    Li, Y., Liu, Y. and Zhu, J. (2007). Quantile regression in reproducing kernel Hilbert spaces. Journal of the
    American Statistical Association 102, 255-268.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> fit = qb.kqr("foodexp ~ income", engel, tau=0.9, C=10.0)
    >>> bool((fit.side == 1).mean() <= 0.1 <= (fit.side >= 0).mean())
    True
    >>> bool(fit.duality_gap < 1e-8)
    True
    """
    options = {
        "C": C, "kernel": kernel, "gamma": gamma, "kpar": kpar, "standardize": standardize, "noncrossing": noncrossing,
        "low_rank": low_rank, "folds": folds, "k": k, "rng": rng, "n_jobs": n_jobs, "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return KQR.from_formula(formula, data, tau, **rows, env=caller_env(), **options).fit()
