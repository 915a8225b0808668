"""The formula functions of classifiers that boosting is compared with."""

from __future__ import annotations

from typing import Any

from qreg_boost.base.rows import caller_env
from qreg_boost.classify.binary_model import BinaryQReg, restore_binary
from qreg_boost.classify.binary_results import BinaryQRegResults
from qreg_boost.classify.median_model import MedianClassifier, restore_median
from qreg_boost.classify.median_results import MedianResults

RESTORERS = {
    "BinaryQRegResults": restore_binary,
    "MedianResults": restore_median,
}
"""What reads the saved fits of each kind."""


def median_classifier(
    formula: str,
    data: Any,
    *,
    event: Any = None,
    scale: bool = False,
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
) -> MedianResults:
    """Return the median classifier of `formula`: a row belongs to the class whose component-wise median is nearer.

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too. The response holds labels of any
        kind, two distinct ones.
    data : DataFrame or mapping of columns
    event : label, optional
        The label that is the event; by default the second in order. A row equally far from both is given to it.
    scale : bool
        Whether to divide each column by its pooled median absolute deviation, the median of |x - own class's median|
        over the rows of both classes; by the mean of the same where that is 0. Without it columns of large units
        decide, as in the paper.
    weights : column name or array_like (rows,), optional
        Weights of the rows in the medians; whole numbers count as repeated rows.
    subset : column name, boolean array or expression, optional
        Rows to use.
    missing : {"drop", "raise"}
        What becomes of rows in which something is missing.

    Returns
    -------
    MedianResults
        ``medians`` (one row per column), ``predict(new)``, ``decision_function(new)`` (distance to the other's median
        less that to the event's), ``error_rate``, ``confusion()``, ``evaluate(data)``.

    Raises
    ------
    InputError
        If the response has one class only, or three; if the medians of both classes are the same; if an argument, the
        formula or the data cannot be used. The message says what to do.

    Notes
    -----
    The event is predicted where sum_j |x_j - m0_j| / s_j >= sum_j |x_j - m1_j| / s_j, m0 and m1 the component-wise
    medians of the other class and the event, s_j = 1 unless `scale`.

    References
    ----------
    Hall, P., Titterington, D. M. and Xue, J.-H. (2009). Median-based classifiers for high-dimensional data. Journal of
    the American Statistical Association 104, 1597-1608.

    Examples
    --------
    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["poor"] = np.where(engel["foodexp"] > 0.7 * engel["income"], "yes", "no")
    >>> fit = qb.median_classifier("poor ~ income", engel)
    >>> fit.medians.round(1).to_dict("index")
    {'income': {'no': 939.0, 'yes': 829.3}}
    >>> fit.predict({"income": [500.0, 1500.0]}).tolist()
    ['yes', 'no']
    """
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return MedianClassifier.from_formula(formula, data, event=event, scale=scale, **rows, env=caller_env()).fit()


def binary_qreg(
    formula: str,
    data: Any,
    tau: float = 0.5,
    *,
    event: Any = None,
    h: float = 0.1,
    normalize: str = "slopes",
    method: str = "multistart",
    starts: int = 100,
    iterations: int = 1000,
    rng: Any = 0,
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
) -> BinaryQRegResults:
    """Return the binary quantile regression of `formula`: the linear index whose smoothed score is greatest.

    Parameters
    ----------
    formula, data, event, weights, subset, missing
        As for `median_classifier`. Weights multiply the score.
    tau : float
        Strictly between 0 and 1; the event is flagged where its probability is above 1 - tau.
    h : float
        Width of the smoothing, in units of the index of the standardised predictors (mean 0, standard deviation 1).
        0 is the unsmoothed maximum score (Manski 1975), searched for with less certainty and without intervals.
    normalize : str
        Coefficients count up to a positive factor. "slopes": those of the standardised predictors have norm 1, the
        intercept is free. A column's name: its coefficient is 1 or -1, whichever reaches the greater score.
    method : {"multistart", "annealing"}
        "multistart": climbs along the gradient from a linear fit, led through wider smoothing or not, from each
        predictor alone in both directions, from random directions, and from the best maxima shaken. "annealing":
        scipy's dual annealing, nearer to the paper's simulated annealing.
    starts : int
        Starts drawn at random, besides those that are not.
    iterations : int
        Of annealing.
    rng : int, Generator or None
    progress : bool
        Whether runs of more than two seconds show a bar.

    Returns
    -------
    BinaryQRegResults
        ``params`` (in the data's units), ``params_standardized``, ``conf_int(level, reps, rng, n_jobs)`` by the
        bootstrap, ``optima`` (the distinct maxima reached), ``n_optima``, ``spread``, ``predict(new)``,
        ``decision_function(new)``, ``error_rate``, ``evaluate(data)``.

    Raises
    ------
    InputError
        If the response has one class only, or three; if a column is constant or determined by others; if an argument,
        the formula or the data cannot be used. The message says what to do.

    Warns
    -----
    ConvergenceWarning
        If the predictors tell the classes apart without error, so that the coefficients are not unique.
    OneClassWarning
        If one class is predicted for every row.

    Notes
    -----
    Maximises sum_i w_i (y_i - (1 - tau)) Phi(x_i'b / h), y = 1 for the event. It has many local maxima; what the search
    reached is in ``optima``, and nothing certifies that the best of them is the greatest of all.

    References
    ----------
    Kordas, G. (2006). Smoothed binary regression quantiles. Journal of Applied Econometrics 21, 387-407. Horowitz, J.
    L. (1992). A smoothed maximum score estimator for the binary response model. Econometrica 60, 505-531. Manski, C. F.
    (1975). Maximum score estimation of the stochastic utility model of choice. Journal of Econometrics 3, 205-228.

    Examples
    --------
    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["poor"] = np.where(engel["foodexp"] > 0.7 * engel["income"], "yes", "no")
    >>> fit = qb.binary_qreg("poor ~ income", engel, tau=0.75, normalize="income")
    >>> fit.params.round(6).to_dict()["income"]
    -1.0
    >>> fit.predict({"income": [500.0, 2500.0]}).tolist()
    ['yes', 'no']
    """
    options = {
        "tau": tau, "event": event, "h": h, "normalize": normalize, "method": method, "starts": starts,
        "iterations": iterations, "rng": rng, "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return BinaryQReg.from_formula(formula, data, **rows, env=caller_env(), **options).fit()
