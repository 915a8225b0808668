"""A quantile regression of this package as the object that R's quantreg would have made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError
from qreg_boost.r import session

# The columns of the design are the variables of the formula, each under its own name.
_OBJECT = """
names(d) <- c(response, columns)
quoted <- function(name) paste0("`", gsub("`", "\\\\\\\\`", gsub("\\\\\\\\", "\\\\\\\\\\\\\\\\", name)), "`")
right <- c(if (intercept) "1" else "0", vapply(columns, quoted, ""))
f <- as.formula(paste(quoted(response), "~", paste(right, collapse = " + ")), env = globalenv())
frame <- if (is.null(w)) model.frame(f, d) else do.call(model.frame, list(f, d, weights = w))
X <- model.matrix(attr(frame, "terms"), frame)
y <- model.response(frame)
names <- colnames(X)
fitted <- X %*% coef
several <- length(tau) > 1L
labels <- paste("tau=", format(round(tau, 3)))
shape <- function(values, rows) {
  if (several) { dimnames(values) <- list(rows, labels); values } else stats::setNames(as.vector(values), rows)
}
by <- if (is.null(w)) 1 else w
fit <- list(coefficients = shape(coef, names), x = X * by, y = y * by, residuals = shape(y - fitted, rownames(frame)),
  dual = dual, fitted.values = shape(fitted, rownames(frame)), weights = w, formula = f, terms = attr(frame, "terms"),
  xlevels = stats::setNames(list(), character()), call = call("rq", formula = f, tau = tau), tau = tau, rho = rho,
  method = "br", model = frame)
if (is.null(w)) fit$weights <- NULL
class(fit) <- if (several) "rqs" else "rq"
list(fit = fit)
"""


def to_r(fit: Any) -> Any:
    """Return a quantile regression as R's object of class ``rq`` (``rqs`` for several taus); R fits nothing.

    R's ``summary``, ``predict``, ``anova``, ``logLik`` and ``coef`` accept it. Its variables are the columns of the
    design, under their names here (a factor's are ``g[T.b]`` and so on): new data for R's ``predict`` need these
    columns.

    Parameters
    ----------
    fit : results of `qreg_boost.qreg`
        One fit, or the fits at several taus.

    Returns
    -------
    object of ``rpy2.rinterface``
        rpy2's R functions accept it.

    Raises
    ------
    InputError
        For a fit of another kind, or one loaded without its rows.
    MissingDependencyError
        R, rpy2 or quantreg is missing; the message says how to get it.

    Notes
    -----
    Aliased columns and rows of weight 0 are left out; the response is y less the offset.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> from qreg_boost import r
    >>> fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"))
    >>> r.to_r(fit).rclass[0]  # doctest: +SKIP
    'rq'
    """
    fits = list(getattr(fit, "fits", [fit]))
    if not fits or any(getattr(one, "solution", None) is None for one in fits):
        raise InputError(
            "to_r takes a quantile regression with its rows, as qreg(formula, data) gives it; got "
            f"{type(fit).__name__}."
        )
    session.require("quantreg")
    return as_object(fits).sexp


def as_object(fits: list[Any], shuffle: int | None = None, unit: float = 1.0) -> session.RObject:
    """Return R's object of fits at one or several taus; with rows in a random order and y times `unit`, if asked."""
    told = regression(fits)
    if shuffle is not None:
        order = np.random.default_rng(shuffle).permutation(len(told["d"]))
        told["d"] = told["d"].iloc[order].reset_index(drop=True)
        told["dual"] = told["dual"][order]
        told["w"] = None if told["w"] is None else told["w"][order]
    told["d"] = told["d"].assign(v0=unit * told["d"]["v0"])
    told["coef"], told["rho"] = unit * told["coef"], [unit * value for value in told["rho"]]
    found: session.RObject = session.evaluate(_OBJECT, hold=("fit",), **told)["fit"]
    return found


def regression(fits: list[Any]) -> dict[str, Any]:
    """Return what R is told of fits at one or several taus: columns, coefficients, dual solution of the first."""
    first = fits[0]
    design, facts = first.model.design, first.facts
    rows = np.ones(len(design.y), dtype=bool) if design.weights is None else design.weights > 0
    kept = [j for j in range(len(facts.columns)) if j not in facts.dropped]
    intercept = facts.intercept and 0 in kept
    columns = [facts.columns[j] for j in kept if not (facts.intercept and j == 0)]
    X = first.model.exog[rows][:, kept]
    X = X.toarray() if hasattr(X, "toarray") else X
    response = design.response
    while response in columns:
        response += "_"
    data = pd.DataFrame(np.column_stack((first.model.endog[rows], X[:, int(intercept) :])))
    data.columns = pd.Index([f"v{j}" for j in range(data.shape[1])])
    return {
        "d": data,
        "w": None if design.weights is None else design.weights[rows],
        "response": response,
        "columns": columns,
        "intercept": bool(intercept),
        "coef": np.column_stack([one.params.to_numpy()[kept] for one in fits]),
        "dual": first.solution.a[rows],
        "tau": [float(one.tau) for one in fits],
        "rho": [one.facts.loss for one in fits],
    }
