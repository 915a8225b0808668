"""A boosted fit in print: the summary, and the short lines of ``print(fit)``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import WIDTH, distance, fraction, level, named_vector, number, numbers, share, wrap

if TYPE_CHECKING:
    from qreg_boost.boosting.results import BoostResults

SHOWN_IN_FULL = 30
"""So many learners are shown in full; of more, those that were chosen."""
MOST_SHOWN = 100
MOST_PRINTED = 24


def summarise(fit: BoostResults) -> Summary:
    r"""Return the summary of a boosted fit.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> print(summarise(fit).as_text().split("\n")[0].strip())
    Quantile Boost Regression Results
    """
    gap, about_gap = _gap(fit)
    table = _coefficients(fit)
    return Summary(
        title=f"{fit.title} Results",
        left=tuple(_left(fit)),
        right=tuple(_right(fit, gap)),
        tables=(table,),
        notes=tuple(_notes(fit, about_gap)),
        aside=(Fact(f"{_kind(fit)} chosen", "", str(_count_chosen(fit)), f"{_kind(fit)} chosen"),),
    )


# -- header


def _left(fit: BoostResults) -> Iterator[Fact]:
    facts = fit.facts
    yield Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")
    if fit.status != "complete":
        yield Fact("Status", _status(fit), fit.status.split(":")[0])
    yield Fact("Learner", facts.learner)
    yield Fact("Iterations", f"{fit.mstop} ({_how(fit)})", str(fit.mstop), "Iterations")
    yield Fact("Step", _step(fit))
    yield Fact("Start", _start(fit), float(fit.start), "Start")
    if facts.weighted:
        yield Fact("Weights", f"sum {number(facts.total_weight)}")
    if facts.has_offset:
        yield Fact("Offset", "added to the fit")
    yield Fact("Date", facts.when)


def _right(fit: BoostResults, gap: str) -> Iterator[Fact]:
    facts = fit.facts
    r1 = "not defined" if np.isnan(fit.prsquared) else fraction(fit.prsquared)
    yield Fact("Quantile (tau)", level(fit.tau))
    yield Fact("No. observations", str(fit.nobs))
    yield Fact("Rows dropped (missing)", str(facts.n_dropped))
    if facts.weighted:
        yield Fact("Rows of weight 0", str(facts.n_zero_weight))
    loss = number(fit.risk)
    yield Fact("Check loss (weighted sum)" if facts.weighted else "Check loss (sum)", loss, fit.risk, "Check loss")
    yield Fact("Pseudo R-squared (R1)", r1, r1, "R1")
    yield Fact("Above the exact optimum", gap, gap, "Above optimum")


def _status(fit: BoostResults) -> str:
    return f"stalled at iteration {fit.mstop}" if fit.status == "stalled" else fit.status


def _how(fit: BoostResults) -> str:
    kind, _, _ = fit.facts.how.partition(", ")
    return kind.replace("cross-validation", "CV")


def _step(fit: BoostResults) -> str:
    facts = fit.facts
    if facts.step == "line":
        return "exact line search"
    unit = {"auto": "unit-free", "range": "half-range", "none": "raw"}.get(facts.step_scale, facts.step_scale)
    rule = "" if facts.step == "fixed" else f" {facts.step}"
    return f"{facts.nu:g}{rule}, {unit}"


def _start(fit: BoostResults) -> str:
    of = ", y-offset" if fit.facts.has_offset else " of y"
    named = {"quantile": f"{level(fit.tau)}-quantile{of}", "median": f"median{of}"}
    return named.get(fit.facts.init, f"{number(fit.start)} (given)")


def _gap(fit: BoostResults) -> tuple[str, str]:
    """Return the distance to the exact optimum, and what must be said of it."""
    try:
        gap = fit.optimality_gap
    except NotDefinedError:
        return "not known", "The distance to the exact optimum needs the rows, which the file does not hold."
    if np.isnan(gap):
        return "not defined", "The least check loss is 0 (the columns can fit every row): no relative distance to it."
    far = gap >= 0.01 and fit.facts.how == "fixed"
    return distance(
        gap
    ), "The distance to the exact optimum measures optimisation, not how well the fit predicts." if far else ""


# -- coefficients


def _kind(fit: BoostResults) -> str:
    return "Columns" if fit.facts.learner == "componentwise" else "Terms"


def _learners(fit: BoostResults) -> np.ndarray:
    """Return for each block of columns whether its learner was chosen."""
    path = fit.path
    first = int(path.intercept_learner)
    return (fit.selection_frequencies.fillna(0.0).to_numpy() > 0)[first:]


def _count_chosen(fit: BoostResults) -> int:
    return int(_learners(fit).sum())


def _coefficients(fit: BoostResults) -> Table:
    chosen = _learners(fit)
    importance = fit.importance.fillna(0.0).to_numpy()[int(fit.path.intercept_learner) :]
    shown = np.arange(len(chosen)) if len(chosen) <= SHOWN_IN_FULL else np.flatnonzero(chosen)
    kept = np.sort(shown[np.argsort(-importance[shown], kind="stable")[:MOST_SHOWN]])
    columns = [0, *(1 + c for k in kept for c in range(fit.path.blocks[k], fit.path.blocks[k + 1]))]
    text = dict(zip(columns, numbers(fit.params.to_numpy()[columns]), strict=True))
    rows = [Row("Intercept", (text[0], *(_learner_cells(fit, 0) if fit.path.intercept_learner else ("", "", ""))))]
    for k in kept:
        rows += _block_rows(fit, int(k), text)
    notes = tuple(_table_notes(fit, len(shown) - len(kept)))
    return Table(("coef", "selected", "first in", "loss share"), (tuple(rows),), notes=notes)


def _block_rows(fit: BoostResults, k: int, text: dict[int, str]) -> list[Row]:
    """Return the rows of a learner: one for one column, else its numbers on a line of their own above its columns."""
    columns = range(fit.path.blocks[k], fit.path.blocks[k + 1])
    learner = k + int(fit.path.intercept_learner)
    cells = _learner_cells(fit, learner)
    if len(columns) == 1:
        return [Row(fit.facts.columns[columns[0]], (text[columns[0] + 1], *cells))]
    term = fit.path.names[learner]
    rows = [Row(term, ("", *cells))]
    for c in columns:
        name = fit.facts.columns[c]
        own = name.removeprefix(term)
        rows.append(Row(own if own.startswith("[") else name, (text[c + 1], "", "", ""), depth=1))
    return rows


def _learner_cells(fit: BoostResults, learner: int) -> tuple[str, str, str]:
    frequency, first = fit.selection_frequencies.iloc[learner], fit.first_selected.iloc[learner]
    entry = "never" if np.isnan(first) else str(int(first))
    return share(frequency), entry, share(fit.importance.iloc[learner])


# -- notes


def _table_notes(fit: BoostResults, hidden: int) -> Iterator[str]:
    chosen, total = _count_chosen(fit), len(_learners(fit))
    kind = _kind(fit).lower()
    if not total:
        yield "There is no term to choose: the fit is its start."
        return
    if not fit.mstop:
        yield f"Chosen 0 of {total} {kind}: no iteration was made, the fit is its start."
        return
    partly = total > SHOWN_IN_FULL and chosen < total
    unshown = " Those never chosen have coefficient 0 and are not shown." if partly else ""
    if hidden:
        unshown += f" {hidden} more with smaller loss shares are in fit.params."
    yield f"Chosen {chosen} of {total} {kind}.{unshown}"
    yield (
        f"selected: share of the {fit.mstop} iterations; first in: iteration of first choice; "
        "loss share: share of the fall in check loss since the start."
        + (" A negative share: the steps raised the loss on balance." if (fit.importance < 0).any() else "")
    )


def _notes(fit: BoostResults, about_gap: str) -> Iterator[str]:
    if fit.mstop:
        yield "Coefficients of a boosted fit depend on its stop and carry no standard errors."
    if fit.facts.how != "fixed":
        yield from _choice(fit)
    if not fit.facts.intercept:
        yield "The formula has no intercept: the constant is the start, and stays."
    if about_gap:
        yield about_gap
    if np.isnan(fit.prsquared):
        yield "R1 is not defined: a constant fits every row exactly."


def _choice(fit: BoostResults) -> Iterator[str]:
    kind, _, rule = fit.facts.how.rpartition(", rule ")
    best = "the least mean loss out of sample"
    if rule == "1se":
        best = f"the first within one standard error of {best}"
    yield f"Iterations chosen by {kind}: {best}. A gap to the exact optimum is then intended."
    if fit.chosen is not None and fit.chosen.mstop_min == fit.chosen.risk.shape[1] - 1:
        yield f"The least loss was at the last iteration tried, {fit.chosen.mstop_min}: it was still falling."


# -- print(fit)


def describe(fit: BoostResults) -> str:
    r"""Return the short lines that ``print(fit)`` shows: mboost's, in our words.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> print(describe(fit).split("\n")[0])
    Quantile Boost Regression
    """
    values = fit.params.to_numpy()
    at = [0, *(1 + np.flatnonzero(values[1:]))]
    shown = at[:MOST_PRINTED]
    raw = fit.facts.gamma is None or fit.facts.step_scale == "none"
    size = "" if raw else f" (first step {number(fit.facts.gamma or 0.0)} in units of y)"
    start = _start(fit)
    lines = [
        fit.title,
        "",
        "Call:",
        *wrap(fit.facts.call, WIDTH, 4),
        "",
        f"Loss function: check loss, tau = {fit.tau:g}",
        f"Number of boosting iterations: mstop = {fit.mstop}" + ("" if fit.facts.how == "fixed" else f" ({_how(fit)})"),
        f"Step size: {_step(fit)}{size}",
        f"Start: {start if start.endswith('(given)') else f'{number(fit.start)} ({start})'}",
    ]
    if fit.status != "complete":
        lines.append(f"Status: {_status(fit)}")
    chosen = f"{_count_chosen(fit)} of {len(_learners(fit))} {_kind(fit).lower()} chosen"
    lines += ["", f"Coefficients (start included; {chosen}):"]
    lines += named_vector([fit.params.index[k] for k in shown], numbers(values[shown]))
    if len(at) > len(shown):
        lines.append(f"... and {len(at) - len(shown)} more: fit.params")
    return "\n".join(lines)
