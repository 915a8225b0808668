"""A quantile regression beside R's: coefficients, loss, likelihood, every kind of standard error, rank intervals.

Some of R's figures move when the rows are put in another order or the response into other units (its rank intervals
where residuals are tied, its nid and iid where y is very small or large). So R computes all of them again with rows
reversed, y times 1000 and weights times 10, and with rows shuffled a few times: only figures that it gives again each
time are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.r import session
from qreg_boost.r.compare import SIMPLEX_MOST, Comparison, as_row, close, frame, same_fit
from qreg_boost.r.objects import regression

_KINDS = ("iid", "nid", "ker")
# R inverts rank tests by default up to this many rows; beyond it takes long.
_RANK_MOST = 1000
_SHUFFLES = 8
# With a smaller share of distinct responses, rank bounds need not be R's.
_DISTINCT = 0.9
_STABLE, _SAME_ERRORS, _SAME_BOUNDS, _SAME_LIKELIHOOD = 1e-6, 1e-6, 1e-5, 1e-8
_CHECKS = "Inference of this package beside quantreg's summary, logLik and AIC:"
_FIGURES = """
figures <- function(order, unit, heavier) {
  d <- data.frame(y = y[order] * unit)
  d$X <- X[order, , drop = FALSE]
  given <- if (is.null(w)) list() else list(weights = w[order] * heavier)
  fit <- do.call(quantreg::rq, c(list(y ~ 0 + X, data = d, tau = tau, method = method), given))
  error <- function(kind) tryCatch(summary(fit, se = kind, covariance = TRUE)$coefficients[, 2] / unit,
                                   error = function(e) rep(NA_real_, ncol(X)))
  bounds <- if (rank) tryCatch(summary(fit, se = "rank")$coefficients[, 2:3] / unit, error = function(e) NULL)
  b <- as.vector(fit$coefficients) / unit
  r <- y - X %*% b
  by <- if (is.null(w)) 1 else w
  list(coef = b, objective = sum(by * r * (tau - (r < 0))), iid = error("iid"), nid = error("nid"), ker = error("ker"),
       bounds = if (!is.null(bounds)) as.vector(bounds), llf = as.numeric(logLik(fit)) + length(y) * log(unit),
       aic = as.numeric(AIC(fit)) - 2 * length(y) * log(unit))
}
c(list(figures(seq_along(y), 1, 1), figures(rev(seq_along(y)), 1000, 10)),
  lapply(unname(orders), function(order) figures(order, 1, 1)))
"""


@dataclass(frozen=True)
class _Figure:
    """A figure of R's: what it is called, what R finds, and the least and the largest that R finds."""

    name: str
    value: float
    least: float
    largest: float

    @property
    def stable(self) -> bool:
        return close(self.least, self.largest, _STABLE)

    def note(self, tied: bool) -> str:
        if self.stable:
            return "may differ: responses are tied" if tied else "must agree"
        if np.isnan(self.value):
            return "not compared: R has no figure"
        if not np.isfinite([self.least, self.largest]).all():
            return "not compared: R's is not always finite"
        spread = (self.largest - self.least) / max(abs(self.least), abs(self.largest))
        return f"not compared: R's moves by {100 * spread:.2g} %"


def _figures(runs: list[dict[str, Any]], what: str, names: list[str]) -> list[_Figure]:
    """Return what R finds under one of the names of `_FIGURES`, with its spread over the runs."""
    found = [one[what] for one in runs]
    if any(values is None or len(values) != len(names) for values in found):
        return []
    table = np.array([np.asarray(values, dtype=float) for values in found])
    table = np.where(np.abs(table) > 1e300, np.sign(table) * np.inf, table)  # R's infinite bounds
    return [_Figure(name, *column) for name, *column in zip(names, table[0], table.min(0), table.max(0), strict=True)]


def compare_regression(fit: Any) -> Comparison:
    """Return a quantile regression beside R's; see `qreg_boost.r.compare`.

    Raises
    ------
    InputError
        For a fit loaded without its rows.
    """
    if fit.solution is None:
        raise InputError("Comparing with R needs the rows of the fit; it was loaded without them.")
    session.require("quantreg")
    told = regression([fit])
    X = told["d"].to_numpy()[:, 1:]
    X = np.column_stack((np.ones(len(X)), X)) if told["intercept"] else X
    y = told["d"].to_numpy()[:, 0]
    method = "br" if X.size <= SIMPLEX_MOST else "fn"
    rank = X.shape[1] > 1 and len(y) <= _RANK_MOST
    shuffled = np.random.default_rng(0)
    orders = [shuffled.permutation(len(y)) + 1 for _ in range(_SHUFFLES if rank else 0)]
    values = {"X": X, "y": y, "w": told["w"], "tau": fit.tau, "method": method, "rank": bool(rank)}
    outcome = session.run(_FIGURES, **values, orders={str(k): order for k, order in enumerate(orders)})
    if outcome.error is not None:
        raise session.RError(f"quantreg stopped on the columns of this fit: {outcome.error}")
    return _comparison(fit, list(outcome.value), X, y, told, method)


def _comparison(
    fit: Any, runs: list[dict[str, Any]], X: np.ndarray, y: np.ndarray, told: dict[str, Any], method: str
) -> Comparison:
    names = (["Intercept"] if told["intercept"] else []) + told["columns"]
    ours, theirs = told["coef"][:, 0], np.asarray(runs[0]["coef"], dtype=float)
    least = float(runs[0]["objective"].iloc[0])
    unique = bool(fit.facts.unique)  # by certificate; R's warning says no more than "may be"
    same = same_fit(X, y, ours, theirs)
    note = "must agree" if unique else "may differ: the optimum is not unique"
    rows = [as_row("check loss (sum)", fit.objective, least, "must agree")]
    rows += [as_row(name, a, b, note) for name, a, b in zip(names, ours, theirs, strict=True)]
    exact = 1e-6 if method == "br" else 1e-5
    agrees = close(fit.objective, least, exact) and (same or not unique)
    checks, fine, moving = _inference(fit, runs, names) if same else ([], True, 0)
    gap = (fit.objective - least) / least if least > 0 else float("nan")
    return Comparison(
        title=f"Quantile regression beside R's quantreg: tau {fit.tau:g}, {len(y)} rows",
        table=frame(rows),
        checks=frame(checks),
        gap=gap,
        unique=unique,
        agrees=agrees and fine,
        notes=_notes(fit, agrees and fine, same, moving, method),
        about_checks=_CHECKS,
    )


def _inference(fit: Any, runs: list[dict[str, Any]], names: list[str]) -> tuple[list[Any], bool, int]:
    """Return rows for all inference, whether those that must agree do, and how many of R's figures move."""
    kept = [j for j in range(len(fit.params)) if j not in fit.facts.dropped]
    rows, fine, moving = [], True, 0

    def put(ours: Any, what: str, labels: list[str], tolerance: float, tied: bool = False) -> None:
        nonlocal fine, moving
        for figure, value in zip(_figures(runs, what, labels), ours, strict=False):
            rows.append(as_row(figure.name, value, figure.value, figure.note(tied)))
            moving += not figure.stable
            fine &= tied or not figure.stable or close(value, figure.value, tolerance)

    put([fit.llf], "llf", ["llf"], _SAME_LIKELIHOOD)
    put([fit.aic], "aic", ["aic"], _SAME_LIKELIHOOD)
    for kind in _KINDS:
        put(fit.with_se(kind).bse.to_numpy()[kept], kind, [f"{name}: se {kind}" for name in names], _SAME_ERRORS)
    if runs[0]["bounds"] is not None:
        ends = fit.with_se("rank").conf_int(0.1).to_numpy()[kept].ravel(order="F")
        put(
            ends,
            "bounds",
            [f"{name}: rank {side}" for side in ("lower", "upper") for name in names],
            _SAME_BOUNDS,
            _tied(fit),
        )
    return rows, fine, moving


def _tied(fit: Any) -> bool:
    """Return whether responses occur more than once; R's bounds then depend on the path of its simplex method."""
    y = np.asarray(fit.model.design.y)
    return len(np.unique(y)) < _DISTINCT * len(y)


def _notes(fit: Any, agrees: bool, same: bool, moving: int, method: str) -> tuple[str, ...]:
    unique = fit.facts.unique
    agree = "agree" if agrees else "do NOT agree; please report it with the data"
    aliased = ", ".join(fit.facts.aliased)
    notes = {
        f"This package and quantreg {agree}.": True,
        "The optimum is not unique: several coefficients reach it.": not unique,
        "R's are others of them, so nothing else is compared.": not unique and not same,
        f"Not compared: {moving} of R's figures, which move with row order, y x 1000 or weights x 10.": moving,
        f"Left out as linear combinations of the columns before: {aliased}.": bool(aliased),
        "rq ignores offsets, so it was given y - offset.": fit.facts.has_offset,
        "For the size of the data rq's interior point was used (method 'fn'), exact to about 1e-6.": method == "fn",
    }
    return tuple(note for note, applies in notes.items() if applies)
