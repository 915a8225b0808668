"""The formula functions of classification, and L2Boost."""

from __future__ import annotations

from typing import Any

from qreg_boost.base.rows import caller_env
from qreg_boost.boosting.classifier_model import QBC, AdaBoost, LogitBoost
from qreg_boost.boosting.classifier_results import AdaBoostResults, LogitBoostResults
from qreg_boost.boosting.l2_model import L2Boost


def qbc(
    formula: str,
    data: Any,
    tau: Any = None,
    *,
    event: Any = None,
    cost: Any = None,
    h: float = 0.1,
    learner: Any = "linear",
    mstop: Any = 100,
    nu: float = 0.1,
    step: str = "fixed",
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
) -> Any:
    """Return a Quantile Boost Classification fit of `formula` to `data`: a classifier of two classes.

    The event is flagged where its probability is estimated to be above 1 - tau: a small tau asks for certainty before
    it flags, a large one flags on suspicion. Whoever knows what errors cost states that: ``cost={"fn": 5, "fp": 1}``.

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too. The response holds labels of any
        kind, two distinct ones.
    data : DataFrame or mapping of columns
    tau : float or list of floats, optional
        Strictly between 0 and 1; 0.5 unless `cost` says otherwise. A list gives a `QBCProcess`: errors against tau, and
        cells of the probability.
    event : label, optional
        The label that is the event; by default the second in order.
    cost : dict, optional
        What errors cost: "fn" an event that is missed, "fp" a false alarm. Sets tau = fn / (fn + fp), unless `tau` is a
        list: then it prices the errors.
    h : float
        Width over which the step from 0 to 1 at the boundary is smoothed, in units of the fit.
    learner : {"linear", "componentwise", "joint"} or learner
        As for `qbr`, "stump", "tree" and "spline" too.
    mstop : int, "cv" or CV
        Number of iterations; "cv" chooses it by 10-fold cross-validation of the smoothed cost, ``CV(...)`` as told.
    nu : float
        Length of a step.
    step : {"fixed", "line"}
        `nu` throughout, or a line search, where `nu` plays no part. The search looks no further than where a row has
        moved by `h`: the score is flat far from the boundary, and without that bound the first step is often endless.
    weights : column name or array_like (rows,), optional
        Weights multiply the loss.
    subset : column name, boolean array or expression, optional
        Rows to use.
    missing : {"drop", "raise", "branch"}
        What becomes of rows in which something is missing; "branch" for stumps and trees.
    progress : bool
        Whether runs of more than two seconds show a bar.

    Returns
    -------
    QBCResults or QBCProcess

    Raises
    ------
    InputError
        If the response has one class only, or three; if `tau` contradicts `cost`; if an argument, the formula or the
        data cannot be used. The message says what to do.

    Warns
    -----
    OneClassWarning
        If one class is predicted for every row.
    ConvergenceWarning
        If the gradient vanished in every row, far from the boundary.

    Notes
    -----
    With y = 1 for the event, each iteration fits the base learner by least squares to
    u_i = (y_i - (1 - tau)) phi(f_i / h) / h and moves f a step along it, from f = 0. That climbs the smoothed score
    sum_i w_i (y_i - (1 - tau)) Phi(f_i / h). The loss reported is its distance from tau times the weight of the events,
    a smoothed tau FN + (1 - tau) FP, and ``objective_path`` the score itself.

    The score is not concave. Rows far from the boundary f = 0, in units of h, have no gradient left; where tau is far
    from the share of the other class, most rows soon are, and the fit settles on few terms: compare
    `selection_frequencies`, ``cv(loss="cost")``, and `logitboost` with the event flagged where its probability exceeds
    1 - tau.

    References
    ----------
    Zheng, S. (2012). QBoost: Predicting quantiles with boosting for regression and binary classification. Expert
    Systems with Applications 39, 1687-1697, Fig. 3.

    Examples
    --------
    Which households spend more than 600 francs a year on food? Missing one is three times as bad as a false alarm:

    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["ample"] = np.where(engel["foodexp"] > 600, "yes", "no")
    >>> fit = qb.qbc("ample ~ income", engel, cost={"fn": 3, "fp": 1})
    >>> fit.tau, fit.event
    (0.75, 'yes')
    >>> fit.predict({"income": [400.0, 2000.0]}).tolist()
    ['no', 'yes']
    >>> fit.confusion().to_numpy().tolist()
    [[92, 35], [0, 108]]
    """
    options = {
        "event": event, "cost": cost, "h": h, "learner": learner, "mstop": mstop, "nu": nu, "step": step,
        "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return QBC.from_formula(formula, data, tau, **rows, env=caller_env(), **options).fit()


def l2boost(
    formula: str,
    data: Any,
    *,
    event: Any = None,
    learner: Any = "linear",
    mstop: Any = 100,
    nu: float = 0.1,
    step: str = "fixed",
    weights: Any = None,
    offset: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
) -> Any:
    """Return an L2Boost fit of `formula` to `data`: boosting of squared error.

    A numeric response is regressed on. Labels, or any response of two values with `event` given, are two classes: the
    event is coded 1, the other 0, and the event is predicted where the fit is at least 0.5.

    Parameters
    ----------
    formula, data, learner, nu, weights, subset, missing, progress
        As for `qbc`.
    event : label, optional
        The label that is the event, by default the second in order; makes a numeric response two classes.
    mstop : int, "cv" or CV
        Number of iterations; "cv" chooses it by 10-fold cross-validation.
    step : {"fixed", "line"}
        `nu` throughout, or the exact line search.
    offset : column name or array_like (rows,), optional
        Added to the fit; for regression only.

    Returns
    -------
    L2Results or L2ClassResults

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    References
    ----------
    Buhlmann, P. and Yu, B. (2003). Boosting with the L2 loss: regression and classification. Journal of the American
    Statistical Association 98, 324-339.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.l2boost("foodexp ~ income", qb.datasets.load("engel"))
    >>> fit.params.round(2).to_dict()
    {'Intercept': 147.49, 'income': 0.49}
    """
    options = {"event": event, "learner": learner, "mstop": mstop, "nu": nu, "step": step, "progress": progress}
    rows = {"weights": weights, "offset": offset, "subset": subset, "missing": missing}
    return L2Boost.from_formula(formula, data, **rows, env=caller_env(), **options).fit()


def logitboost(
    formula: str,
    data: Any,
    *,
    event: Any = None,
    form: str = "newton",
    zmax: float | None = 4.0,
    learner: Any = "stump",
    mstop: Any = 100,
    nu: float | None = None,
    step: str = "fixed",
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
) -> LogitBoostResults:
    """Return a LogitBoost fit of `formula` to `data`: boosting of the binomial likelihood, f half the log-odds.

    Parameters
    ----------
    formula, data, event, learner, weights, subset, missing, progress
        As for `qbc`; the learner here is a stump unless said otherwise.
    form : {"newton", "gradient"}
        "newton": LogitBoost as its authors have it, weighted least squares on a working response, from f = 0.
        "gradient": gradient steps from half the log-odds, mboost's Binomial.
    zmax : float or None
        Largest absolute working response of the Newton form; the authors take 2 to 4. None lifts the bound.
        With it, a row far on the wrong side pulls with p (1 - p) `zmax`, which tends to 0: over many iterations, or
        with learners that use all rows ("linear", "joint", "spline", "tree"), the loss may fall to a least and rise
        again. A warning says so; ``zmax=None`` or an earlier stop, ``fit.at(m)``, mend it.
    mstop : int, "cv" or CV
        Number of iterations; "cv" chooses it by 10-fold cross-validation of the likelihood.
    nu : float, optional
        Length of a step; by default 1 for Newton steps and 0.1 for gradient steps.
    step : {"fixed", "line"}
        `nu` throughout, or a line search.

    Returns
    -------
    LogitBoostResults
        With ``predict_proba(new)``.

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    References
    ----------
    Friedman, J., Hastie, T. and Tibshirani, R. (2000). Additive logistic regression: a statistical view of boosting.
    Annals of Statistics 28, 337-407, Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["ample"] = np.where(engel["foodexp"] > 600, "yes", "no")
    >>> fit = qb.logitboost("ample ~ income", engel, learner="linear", mstop=20)
    >>> fit.predict_proba({"income": [800.0, 1000.0]})["yes"].round(3).tolist()
    [0.141, 0.888]
    """
    options = {
        "event": event, "form": form, "zmax": zmax, "learner": learner, "mstop": mstop, "nu": nu, "step": step,
        "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return LogitBoost.from_formula(formula, data, **rows, env=caller_env(), **options).fit()


def adaboost(
    formula: str,
    data: Any,
    *,
    event: Any = None,
    form: str = "discrete",
    learner: Any = "stump",
    mstop: Any = 100,
    nu: float | None = None,
    step: str = "auto",
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
) -> AdaBoostResults:
    """Return an AdaBoost fit of `formula` to `data`.

    Parameters
    ----------
    formula, data, event, weights, subset, missing, progress
        As for `qbc`.
    form : {"discrete", "gradient"}
        "discrete": Freund and Schapire's. Each learner is fitted to the labels by weighted squared error, its leaves
        take the weighted majority, and it votes with log((1 - e) / e), e its weighted share of errors. A learner
        without error ends the run, and so does one no better than chance. "gradient": gradient steps on the exponential
        loss from half the log-odds, mboost's AdaExp.
    learner : {"stump", "tree"} or learner
        Any learner for gradient steps.
    mstop : int, "cv" or CV
        Number of iterations; "cv" chooses it by 10-fold cross-validation of the exponential loss.
    nu : float, optional
        Length of a step, or what votes are multiplied by; by default 1 for votes and 0.1 for gradient steps.
    step : {"auto", "vote", "fixed", "line"}
        "auto" is the vote for the discrete form and fixed steps for the other.

    Returns
    -------
    AdaBoostResults

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    References
    ----------
    Freund, Y. and Schapire, R. E. (1997). A decision-theoretic generalization of on-line learning and an application to
    boosting. Journal of Computer and System Sciences 55, 119-139.

    Examples
    --------
    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["ample"] = np.where(engel["foodexp"] > 600, "yes", "no")
    >>> fit = qb.adaboost("ample ~ income", engel, form="gradient", learner="linear")
    >>> fit.predict({"income": [400.0, 2000.0]}).tolist()
    ['no', 'yes']
    """
    options = {
        "event": event, "form": form, "learner": learner, "mstop": mstop, "nu": nu, "step": step, "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return AdaBoost.from_formula(formula, data, **rows, env=caller_env(), **options).fit()
