"""A fit beside what R finds on the same columns.

R gets the columns of the design rather than a formula, so that nothing rests on reading a formula twice. Two questions
are kept apart: how far the boosted fit is from the optimum (a boosted fit is stopped on its way, so it is expected to
differ), and whether this package's exact solver and `rq` agree on the same problem (they must).
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError
from qreg_boost.base.rank import independent_columns
from qreg_boost.r import session

_Row = tuple[str, float, float, float, str]
_IN_MBOOST = {"linear": "mboost's bols", "componentwise": "mboost's glmboost"}
_COLUMNS = ["term", "python", "r", "difference", "note"]
_CHECKS = "Exact solver of this package beside rq, on the same columns:"
_LOSS = "check loss (sum)"
_EXPECTED = "expected: stopped on its way"
# Beyond this many entries of the design rq's simplex is slow; its interior point is exact to about 1e-6 relative.
SIMPLEX_MOST = 500_000
_RQ = """
fit <- if (is.null(weights)) quantreg::rq.fit(X, y, tau = tau, method = method) else
  quantreg::rq.wfit(X, y, tau = tau, weights = weights, method = method)
resid <- as.vector(y - X %*% fit$coefficients)
w <- if (is.null(weights)) rep(1, length(y)) else weights
list(coef = as.vector(fit$coefficients), objective = sum(w * resid * (tau - (resid < 0))))
"""
# mboost's names for the two linear learners: one base learner per term with its intercept, one column at a time.
_MBOOST = """
bols <- mboost::bols
d <- as.data.frame(X)
names(d) <- paste0("v", seq_along(d))
d$y <- y
right <- paste(if (learner == "linear") paste0("bols(", terms, ")") else gsub(",", " +", terms), collapse = " + ")
if (is.null(weights)) weights <- rep(1, length(y))
boost <- if (learner == "linear") mboost::mboost else mboost::glmboost
fit <- boost(as.formula(paste("y ~", right)), data = d, weights = weights, family = mboost::QuantReg(tau = tau),
  control = mboost::boost_control(mstop = mstop, nu = nu))
list(risk = utils::tail(fit$risk(), 1L))
"""


@dataclass(frozen=True)
class Comparison:
    """A fit of this package beside R's on the same data; prints as text and in notebooks.

    Attributes
    ----------
    title : str
    table : DataFrame
        The fit beside R's optimum: ``term`` (the check loss, then the coefficients), ``python``, ``r``, ``difference``
        (python - r), ``note``. Differences are expected here.
    checks : DataFrame
        The same columns for what must agree: this package's exact solver beside `rq`, and, where it applies and mboost
        is installed, the boosted loss beside mboost's.
    gap : float
        (our check loss - R's least) / R's least; NaN where that is 0. The largest, for several taus.
    unique : bool
        Whether only one set of coefficients reaches the optimum; if not, only losses must agree.
    agrees : bool
        Whether all that must agree does: losses to 1e-6 relative; coefficients, where unique, to 1e-6 of what moves the
        fit by the spread of y.
    notes : tuple of str
        What to know when reading the tables.
    about_checks : str
        What stands above the second table.
    """

    title: str
    table: pd.DataFrame
    checks: pd.DataFrame
    gap: float
    unique: bool
    agrees: bool
    notes: tuple[str, ...]
    about_checks: str = _CHECKS

    def __str__(self) -> str:
        first, second = _text(self.table), _text(self.checks)
        rule = "=" * max(len(line) for line in (self.title, *first.splitlines(), *second.splitlines()))
        checks = [] if self.checks.empty else ["", self.about_checks, second]
        return "\n".join([self.title, rule, first, *checks, rule, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, second = (t.to_html(index=False, formatters=_FORMATS, border=0) for t in (self.table, self.checks))
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<h4>{html.escape(self.title)}</h4>{first}<h5>{html.escape(self.about_checks)}</h5>{second}{notes}"


def compare(fit: Any) -> Comparison:
    """Return a fit beside what R finds on the same columns; the same as ``fit.compare_r()``.

    Parameters
    ----------
    fit : results of this package
        What is compared depends on what the fit offers: a boosted quantile fit is set beside quantreg's `rq`, and
        beside mboost where that is installed, or with stumps beside gbm; a quantile regression beside `rq` with all its
        inference; a kernel quantile regression, and the first convex programs of a reject option classifier, beside
        kernlab.

    Returns
    -------
    Comparison
        ``.table``, ``.gap``, ``.agrees``; prints as text and in notebooks.

    Raises
    ------
    InputError
        The fit is of a kind that has no counterpart in R here.
    MissingDependencyError
        R, rpy2 or quantreg is missing; the message says how to get it.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> fit.compare_r().agrees  # doctest: +SKIP
    True
    """
    offered = set(dir(fit))
    for needed, function in _KINDS:
        if needed <= offered:
            return function(fit)
    raise InputError(
        f"There is no comparison with R for {type(fit).__name__}; pass a fit of qbr or qreg, for "
        "instance `r.compare(qreg(formula, data))`."
    )


@dataclass(frozen=True)
class _Problem:
    """What R is given.

    Attributes
    ----------
    X : (n, k) array
        The independent columns, the intercept among them; the others about their means, or a column far from 0 would
        pass for the intercept's.
    centre : (k,) array
        Those means, 0 for the intercept.
    y : (n,) array
        Response minus offset.
    weights : (n,) array or None
    names : tuple of str
        Names of all columns, aliased ones included.
    kept : (k,) int array
        Which of them are in X.
    """

    X: np.ndarray
    centre: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    names: tuple[str, ...]
    kept: np.ndarray

    def on_centre(self, coef: np.ndarray) -> np.ndarray:
        """Return coefficients (k,) of the columns as they are as those of X."""
        return np.concatenate(([coef[0] + coef[1:] @ self.centre[1:]], coef[1:])) if self.centre.any() else coef

    def off_centre(self, coef: np.ndarray) -> np.ndarray:
        """Return coefficients (k,) of X as those of the columns as they are."""
        return np.concatenate(([coef[0] - coef[1:] @ self.centre[1:]], coef[1:])) if self.centre.any() else coef

    @property
    def aliased(self) -> list[str]:
        return [name for j, name in enumerate(self.names) if j not in set(self.kept.tolist())]


def _boosted(fit: Any) -> Comparison:
    """Return a boosted quantile fit beside rq's optimum, and our exact solver beside rq's; trees beside gbm's."""
    if not getattr(fit, "has_coefficients", True):
        from qreg_boost.r.compare_gbm import compare_gbm

        return compare_gbm(fit)
    solution = fit.optimum
    session.require("quantreg")
    problem = _problem(fit.model.design, len(solution.coef))
    method = "br" if problem.X.size <= SIMPLEX_MOST else "fn"
    found, said = _optimum_in_r(problem, fit.tau, method)
    least, centred = float(found["objective"].iloc[0]), found["coef"].to_numpy()
    coef = problem.off_centre(centred)
    ours = np.asarray(solution.coef)[problem.kept]
    gap = (fit.risk - least) / least if least > 0 else float("nan")
    unique = bool(solution.unique) and not any("nonunique" in text for text in said)
    more, notes = _mboost(fit)
    checks = frame([*_check_rows(problem, solution.objective, least, ours, coef, unique), *more])
    agrees = (
        close(solution.objective, least)
        and not gap < -1e-6
        and (not unique or same_fit(problem.X, problem.y, problem.on_centre(ours), centred))
        and all(close(row[1], row[2]) for row in more)
    )
    return Comparison(
        title=f"Quantile boosting beside R's quantreg: tau {fit.tau:g}, {len(problem.y)} rows, {fit.mstop} iterations",
        table=frame(_boosted_rows(problem, fit, least, coef, gap)),
        checks=checks,
        gap=gap,
        unique=unique,
        agrees=agrees,
        notes=(*_notes(problem, fit, gap, unique, agrees, method), *notes),
    )


def _process(fits: Any) -> Comparison:
    """Return the comparisons of fits at several taus as one, with a column that says which."""
    found = [compare(fit) for fit in fits.fits]
    taus = [float(fit.tau) for fit in fits.fits]

    def stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
        parts = zip(tables, taus, strict=True)
        return pd.concat([table.assign(tau=tau)[["tau", *_COLUMNS]] for table, tau in parts], ignore_index=True)

    notes = {f"tau {tau:g}: {note}": None for one, tau in zip(found, taus, strict=True) for note in one.notes}
    shared = [note for note in found[0].notes if all(note in one.notes for one in found)]
    return Comparison(
        title=f"{found[0].title.split(':')[0]}: tau {', '.join(f'{tau:g}' for tau in taus)}",
        table=stacked([one.table for one in found]),
        checks=stacked([one.checks for one in found]),
        gap=float(np.max([one.gap for one in found])),
        unique=all(one.unique for one in found),
        agrees=all(one.agrees for one in found),
        notes=(*(note for note in notes if note.split(": ", 1)[1] not in shared), *shared),
        about_checks=found[0].about_checks,
    )


def _regression(fit: Any) -> Comparison:
    """Return a quantile regression beside rq's."""
    from qreg_boost.r.compare_regression import compare_regression

    return compare_regression(fit)


def _kernel(fit: Any) -> Comparison:
    """Return a kernel quantile regression beside kernlab's."""
    from qreg_boost.r.compare_kernels import compare_kqr

    return compare_kqr(fit)


def _reject(fit: Any) -> Comparison:
    """Return the first convex programs of a reject option classifier beside kernlab's."""
    from qreg_boost.r.compare_reject import compare_reject

    return compare_reject(fit)


def _anova(result: Any) -> Comparison:
    """Return an analysis of deviance beside R's."""
    from qreg_boost.r.compare_anova import compare_anova

    return compare_anova(result)


def _boosted_rows(problem: _Problem, fit: Any, least: float, coef: np.ndarray, gap: float) -> list[_Row]:
    above = "expected: at or above rq's" if np.isnan(gap) else f"expected: {100 * gap:.3g} % above rq's"
    theirs = np.full(len(problem.names), np.nan)
    theirs[problem.kept] = coef
    rows = [as_row(_LOSS, fit.risk, least, above)]
    for name, a, b in zip(problem.names, fit.params.reindex(problem.names).fillna(0.0), theirs, strict=True):
        rows.append(as_row(name, a, b, "not in rq: aliased" if np.isnan(b) else _EXPECTED))
    return rows


def _check_rows(
    problem: _Problem, objective: float, least: float, ours: np.ndarray, coef: np.ndarray, unique: bool
) -> list[_Row]:
    note = "must agree" if unique else "may differ: the optimum is not unique"
    names = [problem.names[j] for j in problem.kept]
    rows = [as_row(name, a, b, note) for name, a, b in zip(names, ours, coef, strict=True)]
    return [as_row(_LOSS, objective, least, "must agree"), *rows]


def _problem(design: Any, size: int) -> _Problem:
    """Return the problem over an intercept (if the optimum has one) and all columns, rows of weight 0 left out."""
    weights = design.weights
    rows = slice(None) if weights is None else np.flatnonzero(weights > 0)
    X, names = design.X[rows], tuple(design.column_names)
    centre = np.zeros(size)
    if size == X.shape[1] + 1:
        centre[1:] = X.mean(axis=0)
        X, names = np.column_stack([np.ones(len(X)), X - centre[1:]]), ("Intercept", *names)
    y = design.y[rows] if design.offset is None else design.y[rows] - design.offset[rows]
    w = None if weights is None else weights[rows]
    kept = independent_columns(X, weights=w)
    return _Problem(X[:, kept], centre[kept], y, w, names, kept)


def _optimum_in_r(problem: _Problem, tau: float, method: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    outcome = session.run(_RQ, X=problem.X, y=problem.y, weights=problem.weights, tau=tau, method=method)
    if outcome.error is not None:
        raise session.RError(f"quantreg's rq stopped on the columns of this fit: {outcome.error}")
    return outcome.value, outcome.warnings


def as_row(term: str, python: float, r: float, note: str) -> _Row:
    """Return a row of a table of comparison."""
    return term, float(python), float(r), float(python) - float(r), note


def frame(rows: list[_Row]) -> pd.DataFrame:
    """Return rows as a table."""
    return pd.DataFrame(rows, columns=_COLUMNS)


def _text(table: pd.DataFrame) -> str:
    return table.to_string(index=False, formatters=_FORMATS, justify="right")


def close(a: float, b: float, tolerance: float = 1e-6) -> bool:
    """Return whether two figures agree, relative to the larger."""
    return a == b or bool(np.isfinite(a) and np.isfinite(b) and abs(a - b) <= tolerance * max(abs(a), abs(b)))


def same_fit(X: np.ndarray, y: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Return whether coefficients agree to 1e-6 of the spread of y that their columns can move."""
    reach = np.abs(X).max(axis=0, initial=0.0)
    spread = max(float(np.ptp(y)), float(np.abs(y).max(initial=0.0)))
    return bool((np.abs(ours - theirs) * reach <= 1e-6 * max(spread, 1e-300)).all())


def _notes(problem: _Problem, fit: Any, gap: float, unique: bool, agrees: bool, method: str) -> tuple[str, ...]:
    loss = f"The boosted loss is {100 * gap:.3g} % {'above' if gap >= -1e-6 else 'BELOW'} rq's."
    loss = "rq fits these rows without loss." if np.isnan(gap) else loss
    agree = "agree" if agrees else "do NOT agree on the same problem; please report it with the data"
    several = "The optimum is not unique: several coefficients reach it, so only losses are compared."
    aliased = f"Left out of rq as linear combinations of the columns before: {', '.join(problem.aliased)}."
    notes = {
        f"{loss} Its coefficients are expected to differ from rq's: a boosted fit is stopped on its way.": True,
        f"The exact solver of this package and rq {agree}.": True,
        several: not unique,
        aliased: bool(problem.aliased),
        "rq ignores offsets, so it was given y - offset.": fit.model.design.offset is not None,
        "For the size of the data rq's interior point was used (method 'fn'), exact to about 1e-6.": method == "fn",
    }
    return tuple(note for note, applies in notes.items() if applies)


def _mboost(fit: Any) -> tuple[list[_Row], tuple[str, ...]]:
    """Return the boosted loss beside mboost's, the same algorithm on raw columns, or why it is not there."""
    design, learner, settings = fit.model.design, str(fit.model.learner), fit.model.settings[0]
    raw = settings.step_scale is None and settings.init == "median" and settings.step != "line"
    if learner not in _IN_MBOOST or not raw or not design.terms:
        how = 'learner="linear" or "componentwise", step_scale=None, init="median"'
        return [], (f"Not compared with mboost; its counterpart here is a fit with {how}.",)
    name = _IN_MBOOST[learner]
    try:
        session.require("mboost")
    except InputError as error:
        return [], (f"Not compared with {name}. {error}",)
    outcome = session.run(
        _MBOOST,
        X=design.X,
        y=design.y if design.offset is None else design.y - design.offset,
        weights=design.weights,
        terms=[", ".join(f"v{column + 1}" for column in term.columns) for term in design.terms],
        learner=learner,
        tau=fit.tau,
        mstop=fit.mstop,
        nu=settings.nu,
    )
    if outcome.error is not None:
        return [], (f"Not compared with {name}, which stopped: {outcome.error}",)
    return [as_row(f"{name}: check loss", fit.risk, float(outcome.value["risk"].iloc[0]), "must agree")], ()


_FORMATS: dict[str, Callable[[Any], str]] = {
    "python": "{:.6g}".format,
    "r": "{:.6g}".format,
    "difference": "{:.2e}".format,
    "note": "  {}".format,
}
# What a fit must offer -> how it is compared; the first row that applies counts.
_KINDS: tuple[tuple[frozenset[str], Callable[[Any], Comparison]], ...] = (
    (frozenset({"taus", "fits"}), _process),
    (frozenset({"with_se", "solution", "params", "model"}), _regression),
    (frozenset({"models", "table", "fits", "arguments"}), _anova),
    (frozenset({"machine", "duality_gap", "alpha", "tau"}), _kernel),
    (frozenset({"machine", "first_step", "support", "model"}), _reject),
    (frozenset({"optimum", "risk", "mstop", "params", "model"}), _boosted),
)
