"""The formula functions: one call from a formula and a data frame to a fit."""

from __future__ import annotations

from typing import Any

from qreg_boost.base.checks import InputError, number_of
from qreg_boost.base.rows import caller_env
from qreg_boost.boosting.model import QBR
from qreg_boost.quantreg.anova_results import AnovaResult, nested, slopes
from qreg_boost.quantreg.l1_model import L1QReg
from qreg_boost.quantreg.l1_results import L1Results
from qreg_boost.quantreg.model import QReg
from qreg_boost.quantreg.process_results import QRegPath
from qreg_boost.quantreg.results import QRegResults
from qreg_boost.quantreg.several import QRegProcess


def qbr(
    formula: str,
    data: Any,
    tau: Any = 0.5,
    *,
    learner: Any = "linear",
    mstop: Any = 100,
    nu: float = 0.1,
    step: str = "auto",
    init: Any = "quantile",
    step_scale: str | None = "auto",
    weights: Any = None,
    offset: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
) -> Any:
    """Return a Quantile Boost Regression fit of `formula` to `data`.

    Each of `mstop` iterations fits the base learner to the sign of the residuals (tau above the fit, tau - 1 below it)
    by least squares, takes the learner that explains most, and moves the fit a step along it. Learners never chosen
    keep a coefficient of 0: boosting selects variables.

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too.
    data : DataFrame or mapping of columns
    tau : float or list of floats
        Quantile level, strictly between 0 and 1; a list gives a `QuantileProcess`.
    learner : {"linear", "componentwise", "joint", "spline", "stump", "tree"}, learner or dict
        "linear": one learner per term, all its columns and an intercept (Zheng 2012). "componentwise": one per design
        column, centred, and the intercept as a learner of its own (mboost's glmboost). "joint": all terms as one
        learner, which selects nothing and comes nearer the optimum than moves along one term can. "spline": a smooth
        function of each numeric term (P-splines, mboost's bbs), other terms linear. A dict gives terms learners of
        their own, ``{"x1": "spline"}``, and leaves the others linear.
    mstop : int, "cv" or CV
        Number of iterations; "cv" chooses it by 10-fold cross-validation, ``CV(...)`` as told.
    nu : float
        Length of a step, in units of `step_scale`.
    step : {"auto", "adaptive", "fixed", "line"}
        How the step evolves. "adaptive": each learner has a step of its own, which grows while it keeps its direction
        and shrinks when it turns round. "fixed": `nu` throughout. "line": the exact line search of the paper, where
        `nu` plays no part. "auto" is "adaptive" for unit-free steps, and "fixed" for the other two, which repeat the
        paper and mboost, and for monotone trees.
    init : {"quantile", "median"} or float
        Where the fit starts: the smallest y whose cumulative weight reaches tau, the median, or a number.
    step_scale : {"auto", "range", None}
        The unit of a step. "auto" is the range of the middle 80 % of y, so that fits do not depend on units; "range" is
        half the range of y (the paper maps y to [-1, 1]); None takes raw steps, in units of y, as mboost does.
    weights, offset : column name or array_like (rows,), optional
        Weights multiply the loss; an offset is added to the fit.
    subset : column name, boolean array or expression, optional
        Rows to use.
    missing : {"drop", "raise", "branch"}
        What becomes of rows in which something is missing; "branch", for stumps and trees, keeps those that miss
        predictors, and each split sends them to the side of lower squared error.
    progress : bool
        Whether runs of more than two seconds show a bar.

    Returns
    -------
    QBRResults or QuantileProcess

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    References
    ----------
    Zheng, S. (2012). QBoost: Predicting quantiles with boosting for regression and binary classification. Expert
    Systems with Applications 39, 1687-1697, Fig. 2.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> fit.params.round(2).to_dict()
    {'Intercept': 83.24, 'income': 0.56}
    """
    options = {
        "learner": learner, "mstop": mstop, "nu": nu, "step": step, "init": init, "step_scale": step_scale,
        "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "offset": offset, "subset": subset, "missing": missing}
    return QBR.from_formula(formula, data, tau, **rows, env=caller_env(), **options).fit()


def qreg(
    formula: str,
    data: Any,
    tau: Any = 0.5,
    *,
    se: str = "nid",
    method: str = "exact",
    groups: Any = None,
    weights: Any = None,
    offset: Any = None,
    subset: Any = None,
    missing: str = "drop",
) -> Any:
    """Return a quantile regression fit of `formula` to `data`: the exact minimiser of the check loss.

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too.
    data : DataFrame or mapping of columns
    tau : float or list of floats
        Quantile level, strictly between 0 and 1; a list gives a `QuantileProcess`.
    se : {"nid", "iid", "ker", "rank", "boot", "cluster"}
        How coefficients are judged, under R's names; computed when first asked for. "nid": a sandwich, for errors that
        are not identically distributed. "iid": for those that are. "ker": a sandwich with kernel densities (Powell).
        "rank": intervals by inverting the rank score test, without standard errors. "boot": the bootstrap. "cluster":
        for errors that depend on each other within `groups`. ``fit.with_se(...)`` takes options.
    method : str
        The solver: "exact" is the fast one; "interior_point", "simplex" and "highs" reach the same optimum and are
        there to check it; "mm" (Hunter and Lange 2000) comes near it.
    groups : column name or array_like (rows,), optional
        Cluster of each row, for se="cluster" and the bootstrap of clusters.
    weights, offset : column name or array_like (rows,), optional
        Weights multiply the loss. Standard errors, degrees of freedom and likelihood take them as known relative
        scales, as R does: n counts the rows of weight above 0, and the likelihood's loss is unweighted. An offset is
        added to the fit.
    subset : column name, boolean array or expression, optional
        Rows to use.
    missing : {"drop", "raise"}
        What becomes of rows in which something is missing.

    Returns
    -------
    QRegResults or QuantileProcess

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    Notes
    -----
    The coefficients minimise sum_i w_i rho_tau(y_i - x_i'b) with rho_tau(r) = r (tau - 1[r < 0]).

    References
    ----------
    Koenker, R. and Bassett, G. (1978). Regression quantiles. Econometrica 46, 33-50.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> fit.params.round(4).to_dict()
    {'Intercept': 81.4822, 'income': 0.5602}
    >>> fit.bse.round(5).to_dict()
    {'Intercept': 19.25066, 'income': 0.02828}
    """
    rows = {"groups": groups, "weights": weights, "offset": offset, "subset": subset, "missing": missing}
    return QReg.from_formula(formula, data, tau, se=se, method=method, **rows, env=caller_env()).fit()


def anova(
    *fits: Any,
    test: str = "wald",
    joint: bool = True,
    se: str | None = None,
    score: str = "tau",
    iid: bool = True,
    bandwidth: Any = None,
) -> AnovaResult:
    """Return an analysis of deviance: nested models against the largest, or equality of slopes over taus.

    Parameters
    ----------
    *fits : results of `qreg`
        Two or more nested fits at one tau, in any order; or one fit at several taus, whose slopes are compared.
    test : {"wald", "rank"}
        For nested fits: by the covariance of the largest, or by rank scores (Gutenbrunner and others 1993).
    joint : bool
        For one fit at several taus: whether to test all slopes at once, or each.
    se : str, optional
        Kind of covariance; by default that of the largest fit, "nid" where that has none. For slopes "nid" or "ker".
    score : {"tau", "sign", "wilcoxon", "normal"}
        Of the rank test.
    iid : bool
        Whether the rank test takes errors as identically distributed.
    bandwidth : str or float, optional
        "hall-sheather", "bofinger", or the bandwidth in tau itself.

    Returns
    -------
    AnovaResult
        ``table`` (df, df_resid, statistic, p_value); prints itself.

    Raises
    ------
    InputError
        If models are not nested or not of the same rows.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> table = qb.anova(qb.qreg("foodexp ~ income", engel), qb.qreg("foodexp ~ 1", engel)).table
    >>> table["statistic"].round(2).to_dict()
    {'Model 2': 392.45}
    >>> round(qb.anova(qb.qreg("foodexp ~ income", engel, tau=[0.25, 0.5])).pvalue, 6)
    0.001199
    """
    if len(fits) == 1 and isinstance(fits[0], QRegProcess):
        if test != "wald":
            raise InputError("Equality of slopes over taus is a Wald test; leave out `test`.")
        return slopes(fits[0], joint, se, bandwidth)
    wrong = [type(fit).__name__ for fit in fits if type(fit) is not QRegResults]
    if wrong or len(fits) < 2:
        found = ", ".join(wrong) or number_of(len(fits), "fit")
        raise InputError(
            "anova takes two or more fits of qreg at one tau, or one fit of qreg at several taus; got " + found + "."
        )
    return nested(fits, test, se, score, iid, bandwidth)


def qreg_process(
    formula: str, data: Any, *, weights: Any = None, offset: Any = None, subset: Any = None, missing: str = "drop"
) -> QRegPath:
    """Return the quantile regression of `formula` at every tau: all breakpoints, and the coefficients between them.

    Parameters
    ----------
    formula, data, weights, offset, subset, missing
        As for `qreg`.

    Returns
    -------
    QRegPath
        ``taus`` (breakpoints), ``coef`` (one row per interval), ``params_at(tau)``, ``fit_at(tau)``, ``plot()``.

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    Notes
    -----
    The number of intervals grows about like n log n: meant for up to some ten thousand rows. For a grid of taus,
    ``qreg(..., tau=[...])`` is faster and has standard errors.

    References
    ----------
    Koenker, R. W. and d'Orey, V. (1987). Algorithm AS 229: Computing regression quantiles. Applied Statistics 36,
    383-393.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> path = qb.qreg_process("foodexp ~ income", qb.datasets.load("engel"))
    >>> path.params_at(0.5).round(4).to_dict()
    {'Intercept': 81.4822, 'income': 0.5602}
    """
    rows = {"weights": weights, "offset": offset, "subset": subset, "missing": missing}
    return QReg.from_formula(formula, data, 0.5, **rows, env=caller_env()).process()


def l1qreg(
    formula: str,
    data: Any,
    tau: float = 0.5,
    *,
    standardize: bool = False,
    unpenalised: Any = None,
    weights: Any = None,
    offset: Any = None,
    subset: Any = None,
    missing: str = "drop",
) -> L1Results:
    """Return the quantile regression of `formula` under every bound s on the absolute sum of its coefficients.

    Parameters
    ----------
    formula, data, weights, offset, subset, missing
        As for `qreg`.
    tau : float
        Quantile level, strictly between 0 and 1; one number.
    standardize : bool
        Whether the bound counts coefficients of columns divided by their standard deviations; they are reported on the
        data's scale in any case.
    unpenalised : list of term or column names, optional
        What the bound leaves free besides the intercept.

    Returns
    -------
    L1Results
        ``knots``, ``at(s=)``, ``at(lam=)``, ``select("sic" | "gacv" | "cv")``, ``coef_path()``, ``plot_path()``.

    Raises
    ------
    InputError
        If an argument, the formula or the data cannot be used; the message says what to do.

    Notes
    -----
    For every s, the coefficients minimise sum_i w_i rho_tau(y_i - x_i'b) subject to sum_j |b_j| <= s. They are linear
    in s between the knots; the multiplier lambda is constant there: they minimise the sum plus lambda sum_j |b_j| too.
    In scikit-learn's ``QuantileRegressor`` alpha is lambda over the number of rows; quantreg's
    ``rq(method = "lasso")`` takes twice this lambda.

    References
    ----------
    Li, Y. and Zhu, J. (2008). L1-norm quantile regression. Journal of Computational and Graphical Statistics 17,
    163-185.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> path = qb.l1qreg("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> path.at(s=0.5).params.round(4).to_dict()
    {'Intercept': 132.1012, 'income': 0.5}
    """
    rows = {"weights": weights, "offset": offset, "subset": subset, "missing": missing}
    options = {"standardize": standardize, "unpenalised": unpenalised}
    return L1QReg.from_formula(formula, data, tau, **options, **rows, env=caller_env()).fit()
