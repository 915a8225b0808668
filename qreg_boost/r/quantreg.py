"""`rq` of the R package quantreg on a pandas frame: R's own fit, as the reference to check against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import FormulaError, InputError, check_offset, check_tau, check_weights, listed, nearest
from qreg_boost.r import session
from qreg_boost.r.convert import RVector, as_double
from qreg_boost.r.formula import to_r

_CONSTANTS = frozenset({".", "pi", "T", "F"})

# The formula's environment is the room of the code: what is not in the data is found there or nowhere near the caller.
_FIT = """
bs <- splines::bs
ns <- splines::ns
qb_formula <- as.formula(qb_text, env = environment())
qb_seen <- qb_data[setdiff(names(qb_data), qb_hidden)]
qb_terms <- terms(qb_formula, data = qb_seen)
if ("." %in% all.vars(qb_formula)) qb_formula <- formula(qb_terms)
environment(qb_formula) <- environment()
for (i in attr(qb_terms, "offset")) {
  qb_term <- attr(qb_terms, "variables")[[i + 1L]]
  qb_formula[[2L]] <- call("-", qb_formula[[2L]], qb_term[[2L]])
}
if (!is.null(get(qb_z))) qb_formula[[2L]] <- call("-", qb_formula[[2L]], as.name(qb_z))
qb_rows <- qb_more[names(qb_more) %in% c("subset", "na.action")]
qb_frame <- do.call(model.frame, c(list(qb_formula, data = qb_data), qb_rows))
qb_y <- model.response(qb_frame)
qb_problem <- function() {
  if (!nrow(qb_frame)) return(list(problem = "no rows"))
  if (!is.numeric(qb_y) || !is.null(dim(qb_y))) return(list(problem = "response", names = class(qb_y)[1L]))
  alone <- vapply(qb_frame, function(v) (is.factor(v) || is.character(v)) && length(unique(v)) < 2L, NA)
  if (any(alone)) return(list(problem = "one level", names = names(qb_frame)[alone]))
  X <<- model.matrix(attr(qb_frame, "terms"), qb_frame, qb_more$contrasts)
  infinite <- c(if (any(is.infinite(qb_y))) names(qb_frame)[1L], colnames(X)[colSums(is.infinite(X)) > 0])
  if (length(infinite)) return(list(problem = "infinite", names = infinite))
  if (!ncol(X)) return(list(problem = "no terms"))
  found <- qr(X, tol = 1e-7)
  if (found$rank < ncol(X) && !(qb_method %in% c("lasso", "scad")))
    return(list(problem = "aliased", names = colnames(X)[found$pivot[seq_len(ncol(X)) > found$rank]]))
}
X <- NULL
qb_found <- qb_problem()
if (is.null(qb_found)) {
  qb_call <- list(quote(quantreg::rq), formula = qb_formula, tau = qb_tau, data = quote(qb_data), method = qb_method)
  if (!is.null(get(qb_w))) qb_call$weights <- as.name(qb_w)
  fit <- eval(as.call(c(qb_call, qb_more)))
  qb_found <- list(fit = fit, names = colnames(X), coef = as.vector(fit$coefficients), tau = fit$tau,
    resid = as.vector(fit$residuals), fitted = as.vector(as.vector(qb_y) - fit$residuals),
    rows = as.integer(rownames(qb_frame)),
    formula = paste(trimws(deparse(qb_formula, width.cutoff = 500L)), collapse = " "))
}
qb_found
"""
_PROBLEMS = {
    "no rows": 'No row of `data` is complete in what "{formula}" needs, or `subset` leaves none of them.',
    "response": 'The response of "{formula}" must be numbers; R has it as {names}.',
    "one level": '{names} in "{formula}" has a single level in the rows used; leave it out of the formula.',
    "infinite": '{names} in "{formula}" has infinite values; replace them by missing ones to drop those rows.',
    "no terms": '"{formula}" has neither terms nor an intercept; add at least one.',
    "aliased": (
        'The design of "{formula}" is singular: {names} can be written as a linear combination of the columns before. '
        "Leave it out of the formula."
    ),
}


@dataclass(frozen=True)
class RQResults:
    """A fit of quantreg's `rq`, with quantities on the data's own scale.

    Attributes
    ----------
    params : Series or DataFrame
        Coefficients under R's names; for several taus terms by taus, labelled as passed.
    objective : float or Series
        Weighted sum of check losses of y - offset at the fit, in units of y; a Series by tau for several.
    fittedvalues, resid : Series or DataFrame
        Of y - offset, in units of y, for the rows that R used, under the labels of ``data.index``.
    tau : float or tuple of float
    nobs : int
        Rows used.
    n_dropped : int
        Rows of `data` that R left out: missing values, or not in `subset`.
    formula : str
        What R fitted; an offset shows as ``y - offset``.
    method : str
        quantreg's algorithm.
    """

    params: pd.Series | pd.DataFrame
    objective: float | pd.Series
    fittedvalues: pd.Series | pd.DataFrame
    resid: pd.Series | pd.DataFrame
    tau: float | tuple[float, ...]
    nobs: int
    n_dropped: int
    formula: str
    method: str
    _object: session.RObject

    @property
    def robject(self) -> Any:
        """R's fit, of class ``rq`` or ``rqs``, as an object of ``rpy2.rinterface``; rpy2's R functions accept it."""
        return self._object.sexp

    def __repr__(self) -> str:
        dropped = f", {self.n_dropped} left out" if self.n_dropped else ""
        return (
            f"Quantile regression by R's quantreg (method {self.method!r})\n{self.formula}\n"
            f"tau: {self.tau}   rows: {self.nobs}{dropped}\n\n{self.params.to_string()}\n\n"
            f"check loss (sum): {_plain(self.objective)}"
        )


def rq(
    formula: str,
    data: pd.DataFrame,
    tau: float | Sequence[float] = 0.5,
    weights: Any = None,
    offset: Any = None,
    method: str = "br",
    **kw: Any,
) -> RQResults:
    """Return the quantile regression that R's ``quantreg::rq`` fits.

    Parameters
    ----------
    formula : str
        In R's syntax, or in the part of patsy's that R shares: ``C(g)`` is read as ``factor(g)``, ``np.log(x)`` as
        ``log(x)``, ``Q("a b")`` as a name in backticks; ``.`` stands for all columns but the response, weights and
        offset. Variables are columns of `data`, nothing else.
    data : DataFrame
        Passed by the rules of `qreg_boost.r.convert`: categories as factors, missing values as NA.
    tau : float or sequence of float
        Strictly between 0 and 1.
    weights, offset : str, Series or array, optional
        A column of `data`, a Series aligned by index, or one value per row. Weights multiply the loss. An offset, also
        one in the formula (``offset(z)``), is subtracted from the response, since `rq` itself ignores it.
    method : str
        quantreg's: ``"br"`` (simplex, exact), ``"fn"``, ``"pfn"`` (interior point), ``"lasso"`` and others.
    **kw
        Passed on to `rq`, for instance ``subset=`` (a boolean per row) or ``contrasts=``.

    Returns
    -------
    RQResults

    Raises
    ------
    InputError
        A formula that R cannot read, a variable that is not in `data`, columns that are linear combinations of others.
    MissingDependencyError
        R, rpy2 or quantreg is missing.

    Notes
    -----
    Text columns become factors whose levels are sorted by code point, as in patsy, whatever the locale.

    Examples
    --------
    >>> import pandas as pd
    >>> from qreg_boost import r
    >>> frame = pd.DataFrame({"y": [1.0, 2.0, 4.0, 4.0, 6.0], "x": [1, 2, 3, 4, 5]})
    >>> r.rq("y ~ x", frame, tau=0.5).params.round(3).to_dict()  # doctest: +SKIP
    {'(Intercept)': -0.25, 'x': 1.25}
    """
    several = not np.isscalar(tau)
    taus = tuple(check_tau(t) for t in tau) if several else (check_tau(tau),)  # type: ignore[union-attr]
    if not taus:
        raise InputError("`tau` is an empty list; pass at least one number strictly between 0 and 1.")
    _check(data, method, kw)
    text = to_r(formula)
    session.require("quantreg")
    w = None if weights is None else check_weights(_rowwise(weights, data, "weights"), len(data))
    z = None if offset is None else check_offset(_rowwise(offset, data, "offset"), len(data))
    used = data[_columns(text, formula, data)]
    names = [_free(name, used) for name in ("qb_weights", "qb_offset")]
    fit = session.evaluate(
        _FIT,
        hold=("fit",),
        qb_text=text,
        qb_data=used,
        qb_hidden=[name for name in (weights, offset) if isinstance(name, str)],
        qb_tau=list(taus),
        qb_method=method,
        qb_more=kw,
        qb_w=names[0],
        qb_z=names[1],
        **{names[0]: _doubles(w), names[1]: _doubles(z)},
    )
    if "problem" in fit:
        found = listed(fit.get("names", ()))
        raise FormulaError(_PROBLEMS[fit["problem"].item()].format(formula=formula, names=found))
    return _results(fit, data.index, taus, several, w, method)


def _check(data: Any, method: Any, kw: dict[str, Any]) -> None:
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"`data` must be a pandas DataFrame; got {type(data).__name__}.")
    if not len(data):
        raise InputError("`data` has no rows; there is nothing to fit.")
    if not isinstance(method, str):
        raise InputError(f'`method` must be one of quantreg\'s names, for instance "br" or "fn"; got {method!r}.')
    if "subset" in kw:
        subset = np.asarray(kw["subset"])
        if subset.shape != (len(data),) or subset.dtype != bool:
            raise InputError(
                f"`subset` must be one True or False for each of the {len(data)} rows, for instance data.x > 0."
            )


def _doubles(values: np.ndarray | None) -> RVector | None:
    return None if values is None else RVector("double", as_double(values))


def _free(name: str, data: pd.DataFrame) -> str:
    """Return a name that no column has: R looks into the data first."""
    while name in data.columns:
        name += "_"
    return name


def _rowwise(values: Any, data: pd.DataFrame, what: str) -> Any:
    """Return one value per row: a column by name, a Series by index, an array as it is."""
    if isinstance(values, str):
        if values not in data.columns:
            raise InputError(
                f"`{what}` names the column {values!r}, which is not in `data`.{nearest(values, data.columns)} "
                f"Columns: {listed(data.columns)}."
            )
        values = data[values]
    elif isinstance(values, pd.Series) and not values.index.equals(data.index):
        if not (values.index.is_unique and data.index.is_unique):
            raise InputError(
                f"`{what}` cannot be aligned by index: labels occur more than once. Pass an array, one value per row."
            )
        values = values.reindex(data.index)
    return values.to_numpy(dtype=np.float64, na_value=np.nan) if isinstance(values, pd.Series) else values


def _columns(text: str, formula: str, data: pd.DataFrame) -> list[Any]:
    """Return the columns that a formula needs: those it names, or all if it has a dot."""
    outcome = session.run("all.vars(as.formula(text))", text=text)
    if outcome.error is not None:
        reason = outcome.error.splitlines()[0].removeprefix("<text>:")
        raise FormulaError(
            f'R cannot read the formula "{formula}" (in R\'s spelling "{text}"): {reason}.{_locale(text)}'
        )
    names = set(outcome.value)
    columns = [str(column) for column in data.columns]
    for name in sorted(names - set(columns) - _CONSTANTS):
        raise FormulaError(
            f'Column {name!r} in "{formula}" is not in `data`.{nearest(name, columns)} Columns: {listed(columns)}.'
        )
    return [c for c in data.columns if "." in names or str(c) in names]


def _locale(text: str) -> str:
    if text.isascii() or session.evaluate("l10n_info()[['UTF-8']]").item():
        return ""
    return (
        " R's locale is not UTF-8, so names must be ASCII: start Python with the environment variable LC_ALL=C.UTF-8."
    )


def _results(
    fit: dict[str, Any], index: pd.Index, taus: tuple[float, ...], several: bool, w: np.ndarray | None, method: str
) -> RQResults:
    rows = fit["rows"].to_numpy() - 1
    labels, sorted_taus = index[rows], fit["tau"].to_numpy()
    # rq sorts the taus and drops repeated ones; the columns go back to the order asked for.
    order = [int(np.abs(sorted_taus - tau).argmin()) for tau in taus]
    coef, fitted, resid = (
        fit[name].to_numpy().reshape(-1, len(sorted_taus), order="F")[:, order] for name in ("coef", "fitted", "resid")
    )
    weight = np.ones(len(rows)) if w is None else w[rows]
    levels = np.array(taus)
    losses = weight @ (resid * (levels - (resid < 0)))
    shaped = _table if several else _series
    by_tau = pd.Series(losses, index=pd.Index(taus, name="tau"), name="objective")
    return RQResults(
        params=shaped(coef, pd.Index(list(fit["names"])), taus, "params"),
        objective=by_tau if several else float(losses[0]),
        fittedvalues=shaped(fitted, labels, taus, "fittedvalues"),
        resid=shaped(resid, labels, taus, "resid"),
        tau=taus if several else taus[0],
        nobs=len(rows),
        n_dropped=len(index) - len(rows),
        formula=str(fit["formula"].iloc[0]),
        method=method,
        _object=fit["fit"],
    )


def _table(values: np.ndarray, index: pd.Index, taus: tuple[float, ...], name: str) -> pd.DataFrame:
    return pd.DataFrame(values, index=index, columns=pd.Index(taus, name="tau"))


def _series(values: np.ndarray, index: pd.Index, taus: tuple[float, ...], name: str) -> pd.Series:
    return pd.Series(values[:, 0], index=index, name=name)


def _plain(objective: float | pd.Series) -> str:
    return f"{objective:.6g}" if isinstance(objective, float) else ", ".join(f"{value:.6g}" for value in objective)
