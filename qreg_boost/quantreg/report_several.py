"""Quantile regressions at several levels in print: coefficients with standard errors by tau."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import NotDefinedError, listed
from qreg_boost.base.tables import Fact, Row, Summary, Table, fits_a_line
from qreg_boost.base.typeset import fraction, level, numbers, settled
from qreg_boost.quantreg.inference import KINDS

if TYPE_CHECKING:
    from qreg_boost.quantreg.results import QRegResults
    from qreg_boost.quantreg.several import QRegProcess

MANY = 12
"""Of more quantile levels, some are shown, without standard errors, below each other if the coefficients fit a line."""
SHOWN_OF_MANY, SIDE_BY_SIDE = 21, 10
MOST_TERMS = 40


def summarise_process(process: QRegProcess) -> Summary:
    r"""Return the summary of quantile regressions at several levels.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75])
    >>> print(summarise_process(fits).as_text().split("\n")[0].strip())
    Quantile Regression Results, 2 Quantiles
    """
    many = len(process) > MANY
    table, shown = _below(process) if many else (_beside(process), len(process))
    facts = process.fits[0].facts
    count = len(process)
    left = [Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")]
    left.append(Fact("Method", facts.method))
    if not many:
        left.append(Fact("Inference" if KINDS[process.se].intervals_only else "Std. errors", process.se))
    left.append(Fact("Date", facts.when))
    return Summary(
        title=f"{process.fits[0].title} Results, {count} Quantile{'s' if count > 1 else ''}",
        left=tuple(left),
        right=tuple(_right(process)),
        tables=(table,),
        notes=tuple(_notes(process, shown, many)),
    )


def _right(process: QRegProcess) -> Iterator[Fact]:
    first = process.fits[0]
    yield Fact("No. observations", str(first.nobs))
    yield Fact("Rows dropped (missing)", str(first.facts.n_dropped))
    yield Fact("Df residuals", str(first.df_resid))
    try:
        yield Fact("Rows that cross", "{} of {}".format(*process.crossed))
    except NotDefinedError:
        return


def _beside(process: QRegProcess) -> Table:
    """Return the table of a few levels: a column for each, standard errors in brackets below the coefficients."""
    rows = []
    for position, name in enumerate(process.params.index[:MOST_TERMS]):
        values = process.params.to_numpy()[position]
        rows.append(Row(str(name), tuple(text or "dropped" for text in numbers(settled(values), 10, 5))))
        rows += _uncertainty(process, position)
    facts = (Row("R1", _r1(process.fits)), Row("Check loss", tuple(numbers(process.objective, 10))))
    return Table(tuple(level(tau) for tau in process.taus), (tuple(rows), facts), corner="tau")


def _uncertainty(process: QRegProcess, position: int) -> list[Row]:
    if position in process.fits[0].facts.dropped:
        return []
    if KINDS[process.se].intervals_only:
        bounds = np.array([fit.conf_int().to_numpy()[position] for fit in process.fits])
        return [Row(name, _cells(bounds[:, k]), depth=1) for k, name in enumerate(("lower", "upper"))]
    errors = [fit.bse.iloc[position] for fit in process.fits]
    return [Row("", tuple(f"({text})" if text else "" for text in numbers(errors, 8, 4)))]


def _cells(values: np.ndarray) -> tuple[str, ...]:
    texts = numbers(np.where(np.isfinite(values), values, np.nan), 10, 5)
    return tuple(f"{v:g}" if np.isinf(v) else text for v, text in zip(values, texts, strict=True))


def _r1(fits: list[QRegResults]) -> tuple[str, ...]:
    return tuple("" if np.isnan(fit.prsquared) else fraction(fit.prsquared) for fit in fits)


def _below(process: QRegProcess) -> tuple[Table, int]:
    """Return the table of many levels, and how many it shows: a row for each if the coefficients fit a line."""
    order = np.argsort(np.asarray(process.taus, dtype=float), kind="stable")

    def chosen(most: int) -> list[int]:
        return [int(order[k]) for k in spread(len(order), most)]

    names = [str(name) for name in process.params.index]
    at = chosen(SHOWN_OF_MANY)
    values = process.params.to_numpy()[:, at]
    columns = [*(numbers(settled(row), 10, 5) for row in values), list(_r1([process.fits[k] for k in at]))]
    rows = tuple(Row(level(process.taus[k]), tuple(column[i] for column in columns)) for i, k in enumerate(at))
    table = Table((*names, "R1"), (rows,), corner="tau", even=False)
    if fits_a_line(table):
        return table, len(at)
    at = chosen(SIDE_BY_SIDE)
    heads = tuple(level(process.taus[k]) for k in at)
    values = process.params.to_numpy()[:MOST_TERMS, at]
    rows = tuple(Row(name, tuple(numbers(settled(row), 10, 5))) for name, row in zip(names, values, strict=False))
    return Table(heads, (rows, (Row("R1", _r1([process.fits[k] for k in at])),)), corner="tau"), len(at)


def spread(count: int, most: int) -> list[int]:
    """Return at most `most` of `count` positions, both ends among them, at equal distances where they can be.

    >>> spread(99, 21)
    [0, 7, 14, 21, 28, 35, 42, 49, 56, 63, 70, 77, 84, 91, 98]
    """
    if count <= most:
        return list(range(count))
    even = [steps for steps in range(most - 1, most // 2, -1) if (count - 1) % steps == 0]
    steps = even[0] if even else most - 1
    return [int(k) for k in np.linspace(0, count - 1, steps + 1).round()]


def _notes(process: QRegProcess, shown: int, many: bool) -> Iterator[str]:
    facts = process.fits[0].facts
    if shown < len(process):
        yield f"{shown} of {len(process)} quantiles are shown; all are in fits.params, and drawn by fits.plot()."
    if many:
        yield "Standard errors: fits.tidy(), or fits[tau].summary() for one quantile."
    elif KINDS[process.se].intervals_only:
        alpha = process.fits[0].usual_alpha
        yield f"lower, upper: {100.0 * (1.0 - alpha):.4g} % intervals by inverting the rank score test."
    else:
        yield "In brackets: standard errors. fits[tau].summary() has the tests and intervals of one quantile."
        missing = [level(fit.tau) for fit in process.fits if fit.bse.isna()[fit.params.notna()].any()]
        if missing:
            yield f"Standard errors could not be estimated at tau = {listed(missing, 8)}: fits[tau].summary() says why."
    if len(process.params) > MOST_TERMS and not many:
        yield f"{len(process.params) - MOST_TERMS} more coefficients are in fits.params."
    if facts.aliased:
        yield f"Dropped, as combinations of the columns to their left: {listed(facts.aliased)}."
    perfect = [level(fit.tau) for fit in process.fits if fit.objective == 0]
    if perfect:
        yield f"The fit is perfect at tau = {listed(perfect, 8)}: all residuals are 0."
    several = [level(fit.tau) for fit in process.fits if not fit.facts.unique and fit.objective > 0]
    if several:
        yield f"The optimum is not unique at tau = {listed(several, 8)}: other coefficients reach the same check loss."
    failed = [level(fit.tau) for fit in process.fits if not fit.facts.optimal]
    if failed:
        yield f"The optimum was not certified at tau = {listed(failed, 8)}: see fits[tau].status."
