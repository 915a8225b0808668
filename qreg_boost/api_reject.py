"""The formula function of classifiers that may withhold a prediction."""

from __future__ import annotations

from typing import Any

from qreg_boost.base.checks import InputError, check_choice
from qreg_boost.base.rows import caller_env
from qreg_boost.compose.chow import Chow, restore_chow
from qreg_boost.compose.qbc_pair import QBCPair, restore_qbc_pair
from qreg_boost.reject.machine import LOSSES
from qreg_boost.reject.model import DEFAULTS, RejectClassifier, restore_reject
from qreg_boost.reject.prices import USUAL_PRICE

RESTORERS = {"ChowResults": restore_chow, "QBCPairResults": restore_qbc_pair, "RejectResults": restore_reject}
"""What reads the saved fits of each kind."""
MADE_OF_OTHERS = {"chow": Chow, "qbc_pair": QBCPair}
OF_KERNELS = ("kernel", "C", "mu", "gamma", "kpar", "low_rank", "standardize", "starts", "rng")


def reject_classifier(
    formula: str,
    data: Any,
    *,
    d: float = USUAL_PRICE,
    method: str = "double_ramp",
    kernel: Any = "linear",
    C: float = 1.0,
    mu: float = 1.0,
    gamma: Any = "sigest",
    kpar: Any = None,
    low_rank: Any = None,
    cost: Any = None,
    standardize: bool = True,
    event: Any = None,
    starts: Any = 0,
    rng: Any = 0,
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
    **options: Any,
) -> Any:
    """Return a classifier of two classes that may withhold a prediction, at a price.

    State what it costs to withhold: `d` where an error costs 1, or `cost` in real units. The prediction is withheld
    where a guess would cost more.

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too. The response holds labels of any
        kind, two distinct ones.
    data : DataFrame or mapping of columns
    d : float
        Price of a withheld prediction where an error costs 1: above 0, at most 0.5, where nothing is withheld.
    method : {"double_ramp", "double_hinge", "generalized_hinge", "chow", "qbc_pair"}
        "double_ramp": boundary and band are learned together (Manwani et al. 2015). "double_hinge" (Grandvalet et al.
        2008), "generalized_hinge" (Bartlett and Wegkamp 2008): convex losses, each with a threshold of its own.
        "chow": Chow's rule on ``probability="logit"`` (the default), ``"logitboost"`` or an estimator with
        ``predict_proba``. "qbc_pair": two QBC fits, one for each end of the band.
    kernel : {"linear", "rbf", "laplace", "polynomial", "tanh", "spline"}, Kernel or callable
        kernlab's names are understood too. For a kernel matrix use ``RejectClassifier(y, K, kernel="precomputed")``.
    C : float
        Weight of the losses against the norm, above 0.
    mu : float
        Width of the ramps, above 0 and at most 1.
    gamma : float, "sigest" or "median"
        Of the radial kernels, exp(-gamma |x - z|^2): kernlab's sigma. "sigest" is the mean of the two ends of kernlab's
        rule, over all rows.
    kpar : mapping, optional
        Other parameters of the kernel: degree, scale, offset.
    low_rank : int or float, optional
        Replace the kernel matrix by one of this rank, or of as small a rank as loses this part of it (below 1): for
        more rows than a whole matrix can be held of, or for speed.
    cost : dict, optional
        What things cost: ``{"fn": 5, "fp": 1, "reject": 0.4}``, an event missed, a false alarm, a withheld prediction.
        In the double ramp a row's C is C times the cost of its error, and its d is reject over that cost. The two
        hinges weigh the classes so that the band of Bayes' rule becomes symmetric, about sqrt(fn fp) C.
    standardize : bool
        Whether columns are brought to mean 0 and standard deviation 1.
    event : label, optional
        The label that is the event; by default the second in order.
    starts : int, or names
        The objective of the double ramp has many minima. The steps start from "zero", "svm" and "double_hinge", and
        from so many random starts besides; names choose among the three.
    rng : int, Generator or None
        For random starts.
    weights : column name or array_like (rows,), optional
        Weights multiply the loss.
    subset : column name, boolean array or expression, optional
        Rows to use.
    missing : {"drop", "raise"}
        What becomes of rows in which something is missing.
    progress : bool
        Whether runs of more than two seconds show a bar.
    **options
        For "chow": probability, with ``probability="logitboost"`` options of `logitboost`, with an estimator
        ``weight_name``, what its ``fit`` calls weights. For "qbc_pair": options of `qbc` (learner, mstop, nu, step, h).

    Returns
    -------
    RejectResults, ChowResults or QBCPairResults
        ``predict(new)`` (missing where withheld; ``codes=True``: -1, 0, +1), ``decision_function(new)``, ``margins()``,
        ``evaluate(data, groups)``, ``cv(d=[...], groups=...)``, ``risk_against_d()``: out-of-fold risk, on the same
        folds for every method; ``plot_band()``. Kernel machines have ``rho``, ``b``, ``support``, ``minima``, and
        ``cv(C, gamma, d)``; the two others ``cv(d, mstop)``. All but the pair have ``risk_coverage(data)``.

    Raises
    ------
    InputError
        If d is not in (0, 0.5]; if withholding could never pay at these costs; if the response has one class only, or
        three; if an argument, the formula or the data cannot be used. The message says what to do.

    Warns
    -----
    ConvergenceWarning
        If a quadratic program of the fit did not end as optimal, or a logistic regression has no maximum.
    OneClassWarning
        If the same is predicted, or everything withheld, for every row.

    Notes
    -----
    The double ramp minimises R = 1/2 ||w||^2 + sum_n C_n L(y_n f(x_n), rho), f = w'phi(x) + b, with
    L(t, rho) = (d/mu) ([mu - t + rho]_+ - [-mu^2 - t + rho]_+) + ((1-d)/mu) ([mu - t - rho]_+ - [-mu^2 - t - rho]_+),
    by difference-of-convex steps, in which R never rises. Each is a quadratic program whose optimality is checked.

    References
    ----------
    Manwani, N., Desai, K., Sasidharan, S. and Sundararajan, R. (2015). Double ramp loss based reject option classifier.
    PAKDD 2015, arXiv:1311.6556.

    Examples
    --------
    Which households spend more than 600 francs a year on food? To ask costs a fifth of being wrong:

    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["ample"] = np.where(engel["foodexp"] > 600, "yes", "no")
    >>> fit = qb.reject_classifier("ample ~ income", engel, d=0.2, C=10)
    >>> fit.predict({"income": [400.0, 920.0, 2000.0]}).tolist()
    ['no', nan, 'yes']
    >>> fit.evaluate().round(3).to_dict()  # doctest: +ELLIPSIS
    {'risk': ..., 'rejection_rate': ..., 'accuracy_accepted': ..., 'error_overall': ..., 'n': 235.0}
    """
    check_choice(method, "method", (*LOSSES, *MADE_OF_OTHERS))
    rows = {"weights": weights, "subset": subset, "missing": missing}
    shared = {"d": d, "cost": cost, "event": event, "progress": progress}
    kernels = {
        "kernel": kernel, "C": C, "mu": mu, "gamma": gamma, "kpar": kpar, "low_rank": low_rank,
        "standardize": standardize, "starts": starts, "rng": rng,
    }  # fmt: skip
    if method in MADE_OF_OTHERS:
        foreign = [name for name in OF_KERNELS if not _default(kernels[name], name)]
        if foreign:
            raise InputError(f"method={method!r} is no kernel machine and has no option {foreign[0]!r}; leave it out.")
        model = MADE_OF_OTHERS[method]
        return model.from_formula(formula, data, **rows, env=caller_env(), **shared, **options).fit()
    given = {**shared, "method": method, **kernels, **options}
    return RejectClassifier.from_formula(formula, data, **rows, env=caller_env(), **given).fit()


def _default(value: Any, name: str) -> bool:
    return value is DEFAULTS[name] or (isinstance(value, type(DEFAULTS[name])) and value == DEFAULTS[name])
