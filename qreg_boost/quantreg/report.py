"""A quantile regression in print: the summary, R's layout of it, and the short lines of ``print(fit)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import listed
from qreg_boost.base.tables import Fact, Row, Summary, Table, fits_a_line
from qreg_boost.base.typeset import WIDTH, fraction, level, named_vector, number, numbers, wrap
from qreg_boost.quantreg.inference import KINDS

if TYPE_CHECKING:
    from qreg_boost.quantreg.results import QRegResults

MOST_SHOWN = 100
MOST_PRINTED = 24


def summarise(fit: QRegResults, alpha: float | None = None) -> Summary:
    r"""Return the summary of a quantile regression.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> print(summarise(fit).as_text().split("\n")[0].strip())
    Quantile Regression Results
    """
    return Summary(
        title=f"{fit.title} Results",
        left=tuple(_left(fit)),
        right=tuple(_right(fit)),
        tables=(_coefficients(fit, fit.usual_alpha if alpha is None else alpha),),
        notes=tuple(_notes(fit)),
    )


# -- header


def _left(fit: QRegResults) -> Iterator[Fact]:
    facts = fit.facts
    yield Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")
    yield Fact("Method", facts.method)
    yield Fact("Inference" if KINDS[fit.se].intervals_only else "Std. errors", fit.se)
    for label, text in fit._estimate.facts:
        yield Fact(label, text, text, label)
    if facts.weighted:
        yield Fact("Weights", f"sum {number(facts.total_weight)}")
    if facts.has_offset:
        yield Fact("Offset", "added to the fit")
    if np.isfinite(fit.llf):
        yield Fact("Log-likelihood", number(fit.llf), fit.llf, "Log-likelihood")
        yield Fact("AIC, BIC", f"{number(fit.aic)}, {number(fit.bic)}")
    yield Fact("Date", facts.when)


def _right(fit: QRegResults) -> Iterator[Fact]:
    facts = fit.facts
    r1 = "not defined" if np.isnan(fit.prsquared) else fraction(fit.prsquared)
    yield Fact("Quantile (tau)", level(fit.tau))
    yield Fact("No. observations", str(fit.nobs))
    yield Fact("Rows dropped (missing)", str(facts.n_dropped))
    if facts.weighted:
        yield Fact("Rows of weight 0", str(facts.n_zero_weight))
    yield Fact("Df residuals", str(fit.df_resid))
    loss = "Check loss (weighted sum)" if facts.weighted else "Check loss (sum)"
    yield Fact(loss, number(fit.objective), fit.objective, "Check loss")
    yield Fact("Pseudo R-squared (R1)", r1, r1, "R1")


# -- coefficients


def bound_labels(alpha: float) -> tuple[str, str]:
    """Return the heads of the columns of an interval, as statsmodels has them.

    >>> bound_labels(0.05)
    ('[0.025', '0.975]')
    """
    return f"[{alpha / 2:.4g}", f"{1.0 - alpha / 2:.4g}]"


def _coefficients(fit: QRegResults, alpha: float) -> Table:
    shown = slice(0, MOST_SHOWN)
    bounds = fit.conf_int(alpha).to_numpy()[shown]
    names = [str(name) for name in fit.params.index[shown]]
    for digits in (7, 6, 5, 4):
        columns = [numbers(fit.params.to_numpy()[shown], 12, min(digits, 6))]
        if KINDS[fit.se].intervals_only:
            heads: tuple[str, ...] = ("coef", "lower", "upper")
            columns += _bound_columns(bounds, digits + 1)
        else:
            heads = ("coef", "std err", "t", "P>|t|", *bound_labels(alpha))
            columns += [_numbers(fit.bse.to_numpy()[shown], digits - 1), _fixed(fit.tvalues.to_numpy()[shown])]
            columns += [_fixed(fit.pvalues.to_numpy()[shown])]
            columns += _bound_columns(bounds, digits - 1)
        rows = tuple(Row(name, cells) for name, *cells in zip(names, *columns, strict=True))  # type: ignore[arg-type]
        rows = tuple(Row(row.name, _told(row.cells)) for row in rows)
        table = Table(heads, (rows,), even=False, stacked=False, notes=tuple(_table_notes(fit, alpha)))
        if fits_a_line(table):
            break
    return table


def _told(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells of a row, those of a column that was dropped saying so."""
    return ("dropped", *[""] * (len(cells) - 1)) if cells[0] == "" else tuple(cells)


def _bound_columns(bounds: np.ndarray, digits: int) -> list[list[str]]:
    """Return both columns of bounds (p, 2) with the same decimals."""
    texts = _numbers(bounds.ravel(), digits)
    return [texts[0::2], texts[1::2]]


def _numbers(values: np.ndarray, digits: int) -> list[str]:
    texts = numbers(np.where(np.isfinite(values), values, np.nan), 12, digits)
    return [f"{value:g}" if np.isinf(value) else text for value, text in zip(values, texts, strict=True)]


def _fixed(values: np.ndarray) -> list[str]:
    """Return figures with three decimals, as statsmodels has them."""
    return ["" if np.isnan(value) else f"{value:.3f}" if abs(value) < 1e6 else f"{value:.3g}" for value in values]


def _table_notes(fit: QRegResults, alpha: float) -> Iterator[str]:
    if KINDS[fit.se].intervals_only:
        yield (
            f"lower, upper: {100.0 * (1.0 - alpha):.4g} % intervals by inverting the rank score test, which come "
            "without standard errors."
        )
    if len(fit.params) > MOST_SHOWN:
        yield f"{len(fit.params) - MOST_SHOWN} more coefficients are in fit.tidy()."


def _notes(fit: QRegResults) -> Iterator[str]:
    facts = fit.facts
    if not facts.optimal:
        yield f"{facts.status} Gap: {facts.duality_gap:.3g}."
    if facts.aliased:
        yield (
            f"Dropped, as combinations of the columns to their left: {listed(facts.aliased)}. Their coefficients are "
            "missing, and predictions count them as 0."
        )
    if facts.objective == 0.0:
        yield "The fit is perfect: all residuals are 0, so there is no likelihood to speak of."
    elif not facts.unique:
        yield "The optimum is not unique: other coefficients reach the same check loss."
    if fit._estimate.note:
        yield fit._estimate.note
    covariance = fit._estimate.covariance
    if covariance is not None and np.isnan(np.delete(np.diag(covariance), facts.dropped)).any():
        yield f'Standard errors of kind "{fit.se}" cannot be estimated from these rows; se="rank" gives intervals.'
    if np.isnan(fit.prsquared):
        yield "R1 is not defined: a constant fits every row exactly."


# -- R's layout


@dataclass(frozen=True)
class RText:
    """A summary as R lays it out; prints as text."""

    text: str

    def as_text(self) -> str:
        """Return the text."""
        return self.text

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def in_r_style(fit: QRegResults) -> RText:
    r"""Return the summary as R's ``summary.rq`` prints it.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> print("\n".join(in_r_style(fit).as_text().split("\n")[4:]))
    Coefficients:
                Value    Std. Error t value  Pr(>|t|)
    (Intercept) 81.48225 19.25066    4.23270  0.00003
    income       0.56018  0.02828   19.81032  0.00000
    """
    kept = [j for j in range(len(fit.params)) if j not in fit.facts.dropped]
    names = ["(Intercept)" if name == "Intercept" else name for name in fit.params.index[kept]]
    if KINDS[fit.se].intervals_only:
        heads = ["coefficients", "lower bd", "upper bd"]
        values = np.column_stack((fit.params, fit.conf_int()))[kept]
    else:
        heads = ["Value", "Std. Error", "t value", "Pr(>|t|)"]
        values = np.column_stack((fit.params, fit.bse, fit.tvalues, fit.pvalues))[kept]
    cells = [[_r_number(value) for value in row] for row in values]
    width = max((len(cell) for row in cells for cell in row), default=0)
    columns = [_r_column(head, column, width) for head, column in zip(heads, zip(*cells, strict=True), strict=True)]
    first = max(len(name) for name in ("", *names))
    rows = zip(("", *names), zip(*columns, strict=True), strict=True)
    lines = [" ".join((name.ljust(first), *row)).rstrip() for name, row in rows]
    head = [f"Call: {fit.facts.call}", "", f"tau: [1] {fit.tau:g}", ""]
    return RText("\n".join([*head, "Coefficients:", *lines]))


def _r_number(value: float) -> str:
    if np.isfinite(value):
        return f"{value:.5f}"
    return "NA" if np.isnan(value) else "-Inf" if value < 0 else "Inf"


def _r_column(head: str, cells: Sequence[str], width: int) -> list[str]:
    """Return a head and its figures, all figures of one width, the head to the left, as R prints them."""
    room = max(width, len(head))
    return [head.ljust(room), *(cell.rjust(width).ljust(room) for cell in cells)]


# -- print(fit)


def describe(fit: QRegResults) -> str:
    r"""Return the short lines that ``print(fit)`` shows, in R's layout.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> print(describe(fit).split("\n")[-1])
    Degrees of freedom: 235 total; 233 residual
    """
    values = fit.params.to_numpy()[:MOST_PRINTED]
    texts = ["NA" if text == "" else text for text in numbers(values)]
    lines = [fit.title, "", "Call:", *wrap(fit.facts.call, WIDTH, 4), "", f"Coefficients (tau = {fit.tau:g}):"]
    lines += named_vector(list(fit.params.index[:MOST_PRINTED]), texts)
    if len(fit.params) > MOST_PRINTED:
        lines.append(f"... and {len(fit.params) - MOST_PRINTED} more: fit.params")
    return "\n".join([*lines, "", f"Degrees of freedom: {fit.nobs} total; {fit.df_resid} residual"])
