"""The formula functions of what is made of several classifiers: quantiles, probabilities, several classes."""

from __future__ import annotations

from typing import Any

from qreg_boost.base.rows import caller_env
from qreg_boost.compose.jous_model import Jous, restore_jous
from qreg_boost.compose.jous_results import JousResults
from qreg_boost.compose.multiclass_model import MultiClass, restore_multiclass
from qreg_boost.compose.multiclass_results import MultiClassResults
from qreg_boost.compose.quanting_model import Quanting, restore_quanting
from qreg_boost.compose.quanting_results import QuantingResults

RESTORERS = {
    "JousResults": restore_jous,
    "MultiClassResults": restore_multiclass,
    "QuantingResults": restore_quanting,
}
"""What reads the saved fits of each kind."""


def quanting(
    formula: str,
    data: Any,
    tau: float = 0.5,
    *,
    classifier: Any = "logitboost",
    cuts: Any = 50,
    spacing: str = "quantiles",
    weight_name: str = "sample_weight",
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
    **options: Any,
) -> QuantingResults:
    """Return quantiles of a numeric response by reduction to classification.

    For each cut of the response, a classifier says whether the quantile is at or above it; rows at or above the cut
    weigh tau, rows below 1 - tau. The prediction adds up the steps between the cuts that the quantile is above.

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too. The response is numeric.
    data : DataFrame or mapping of columns
    tau : float
        Quantile level, strictly between 0 and 1.
    classifier : {"logitboost", "qbc", "adaboost", "l2boost"} or estimator
        A booster of this package, which takes `options`; or an object with ``fit(X, y, sample_weight)`` and
        ``predict(X)``, such as scikit-learn's classifiers, which is copied for each cut.
    cuts : int or array_like
        How many cuts, or the cuts themselves.
    spacing : {"quantiles", "even"}
        Cuts at quantiles of the response, what lies between two being worth its median; or evenly over its range, as in
        the paper, where every cut is worth the same.
    weight_name : str
        What the estimator calls its weights: ``"svc__sample_weight"`` for the step "svc" of a pipeline.
    weights, subset, missing
        As for `qreg`; ``missing="branch"`` too, for classifiers of stumps or trees.
    progress : bool
        Whether runs of more than two seconds show a bar.
    **options
        Of the booster: learner, mstop, nu, ...

    Returns
    -------
    QuantingResults
        ``predict(new)``, ``risk``, ``prsquared``, ``cuts``, ``parts``, ``tidy()`` (one row per classifier).

    Raises
    ------
    InputError
        If the estimator takes no weights; if an argument, the formula or the data cannot be used.

    References
    ----------
    Langford, J., Oliveira, R. and Zadrozny, B. (2006). Predicting conditional quantiles via reduction to
    classification. Proceedings of the 22nd Conference on Uncertainty in Artificial Intelligence, 257-264.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> fit = qb.quanting("foodexp ~ income", engel, tau=0.5, cuts=20, learner="linear", mstop=50)
    >>> fit.predict({"income": [500.0, 2500.0]}).round(-1).tolist()
    [360.0, 1370.0]
    """
    given = {
        "tau": tau, "classifier": classifier, "cuts": cuts, "spacing": spacing, "weight_name": weight_name,
        "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return Quanting.from_formula(formula, data, **rows, env=caller_env(), **given, **options).fit()


def jous(
    formula: str,
    data: Any,
    *,
    event: Any = None,
    booster: Any = "adaboost",
    grid: int = 10,
    sampling: str = "over",
    jitter: float = 1.0,
    rng: Any = 0,
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
    **options: Any,
) -> JousResults:
    """Return class probabilities by JOUS-Boost: boosting at a grid of levels on jittered over- or under-sampled rows.

    At each level q, rows are sampled so that P(event) = q becomes even odds, and a classifier is boosted on them. The
    probability of a row is read off from the level 1/2 outwards, up to the first classifier that disagrees.

    Parameters
    ----------
    formula, data, event, subset, missing
        As for `median_classifier`; ``missing="branch"`` too, for boosters of stumps or trees.
    booster : {"adaboost", "logitboost", "qbc", "l2boost"} or estimator
        A booster of this package, which takes `options`; or an object with ``fit(X, y)`` and ``predict(X)``.
    grid : int
        Levels are 1/grid, 2/grid, ..., 1 - 1/grid; even.
    sampling : {"over", "under"}
        Repeat rows, the repeated ones jittered; or leave rows out.
    jitter : float
        Noise on repeated rows is uniform up to this many standard deviations of each column. Columns of two values,
        such as codes of categories, get none.
    rng : int, Generator or None
    weights : column name or array_like (rows,), optional
        Whole numbers: how often a row counts.
    progress : bool
        Whether runs of more than two seconds show a bar.
    **options
        Of the booster: learner, mstop, nu, ...

    Returns
    -------
    JousResults
        ``probability(new)``, ``predict(new, tau=, cost=)``, ``error_rate`` (at tau = 0.5), ``confusion()``,
        ``tidy()`` (one row per level).

    Raises
    ------
    InputError
        If the response has one class only, or three; if an argument, the formula or the data cannot be used.

    References
    ----------
    Mease, D., Wyner, A. J. and Buja, A. (2007). Boosted classification trees and class probability/quantile estimation.
    Journal of Machine Learning Research 8, 409-439.

    Examples
    --------
    >>> import numpy as np
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["poor"] = np.where(engel["foodexp"] > 0.7 * engel["income"], "yes", "no")
    >>> fit = qb.jous("poor ~ income", engel, booster="logitboost", learner="linear", mstop=20)
    >>> fit.probability({"income": [400.0, 2500.0]}).round(2).tolist()
    [0.55, 0.15]
    >>> fit.predict({"income": [400.0, 2500.0]}, cost={"fn": 3, "fp": 1}).tolist()
    ['yes', 'no']
    """
    given = {
        "event": event, "booster": booster, "grid": grid, "sampling": sampling, "jitter": jitter, "rng": rng,
        "progress": progress,
    }  # fmt: skip
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return Jous.from_formula(formula, data, **rows, env=caller_env(), **given, **options).fit()


def multiclass(
    formula: str,
    data: Any,
    *,
    booster: Any = "qbc",
    code: Any = "ova",
    decoding: Any = None,
    rng: Any = 0,
    weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    progress: bool = True,
    **options: Any,
) -> MultiClassResults:
    """Return a classifier of several classes, made of classifiers of two.

    Parameters
    ----------
    formula : str
        A patsy formula; R's dot, backticks and function names are understood too. The response holds labels of any
        kind, two or more distinct ones.
    data : DataFrame or mapping of columns
    booster : {"qbc", "logitboost", "adaboost", "l2boost"} or estimator
        A booster of this package, by name, function or model class, which takes `options`; or an object with
        ``fit(X, y)`` and ``predict(X)``, such as scikit-learn's classifiers, which is copied for each classifier.
    code : {"ova", "ecoc", "ovo"} or array_like (classes, classifiers)
        "ova": each class against all others. "ecoc": error-correcting output codes, every dichotomy for up to 7
        classes, else the best of random ones. "ovo": each class against each other one. Or a matrix of 1, -1 and 0
        (left out), the classes in order.
    decoding : {"largest", "hamming", "loss"} or function, optional
        "largest": the class with the largest decision function, the default for "ova". "hamming": the nearest code
        word. "loss": the code word of least loss, that of the booster, or a function of the margin; the default for
        other codes where the booster is this package's.
    rng : int, Generator or None
        For random codes.
    weights, subset, missing
        As for `median_classifier`; ``missing="branch"`` too, for boosters of stumps or trees. Weights multiply the
        loss.
    progress : bool
        Whether runs of more than two seconds show a bar.
    **options
        Of the booster: learner, mstop, nu, ...

    Returns
    -------
    MultiClassResults
        ``predict(new)``, ``decision_function(new)`` (a column for each class), ``code``, ``parts``, ``error_rate``,
        ``confusion()``, ``evaluate(data)``, ``tidy()`` (one row per classifier).

    Raises
    ------
    InputError
        If the response has one class only; if the code tells classes not apart; if an argument, the formula or the data
        cannot be used.

    References
    ----------
    Dietterich, T. G. and Bakiri, G. (1995). Solving multiclass learning problems via error-correcting output codes.
    Journal of Artificial Intelligence Research 2, 263-286. Allwein, E. L., Schapire, R. E. and Singer, Y. (2000).
    Reducing multiclass to binary: a unifying approach for margin classifiers. Journal of Machine Learning Research 1,
    113-141.

    Examples
    --------
    >>> import pandas as pd
    >>> import qreg_boost as qb
    >>> engel = qb.datasets.load("engel")
    >>> engel["third"] = pd.qcut(engel["foodexp"], 3, labels=["low", "middle", "high"])
    >>> fit = qb.multiclass("third ~ income", engel, booster="adaboost", code="ecoc", mstop=50)
    >>> fit.predict({"income": [500.0, 850.0, 2500.0]}).tolist()
    ['low', 'middle', 'high']
    >>> fit.code.to_numpy().tolist()
    [[1, 1, 1], [-1, -1, 1], [-1, 1, -1]]
    """
    given = {"booster": booster, "code": code, "decoding": decoding, "rng": rng, "progress": progress}
    rows = {"weights": weights, "subset": subset, "missing": missing}
    return MultiClass.from_formula(formula, data, **rows, env=caller_env(), **given, **options).fit()
