"""A boosted fit in print: the summary, and the short lines of ``print(fit)``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import WIDTH, named_vector, number, numbers, share, wrap
from qreg_boost.boosting.basis_path import BasisPath
from qreg_boost.boosting.words import WORDS, Words

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
    words = WORDS[fit.facts.family]
    kind = _coefficients if fit.has_coefficients else _smooth_table if _is_smooth(fit) else _learner_table
    table = kind(fit)
    chosen = f"{_kind(fit)} chosen"
    return Summary(
        title=f"{fit.title} Results",
        left=tuple(_left(fit, words)),
        right=tuple(_right(fit, words)),
        tables=(table,),
        notes=tuple(_notes(fit, words)),
        aside=(Fact(chosen, "", str(_count_chosen(fit)), chosen),),
    )


# -- header


def _left(fit: BoostResults, words: Words) -> Iterator[Fact]:
    facts = fit.facts
    yield Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")
    if fit.status != "complete":
        yield Fact("Status", fit.status, fit.status.split(":")[0])
    yield Fact("Learner", facts.learner)
    yield Fact("Iterations", f"{fit.mstop} ({_how(fit)})", str(fit.mstop), "Iterations")
    yield Fact("Step", words.step(fit))
    yield Fact("Start", words.start(fit), float(fit.start), "Start")
    if facts.weighted:
        yield Fact("Weights", f"sum {number(facts.total_weight)}")
    if facts.has_offset:
        yield Fact("Offset", "added to the fit")
    yield Fact("Date", facts.when)


def _right(fit: BoostResults, words: Words) -> Iterator[Fact]:
    facts = fit.facts
    yield from words.what(fit)
    yield Fact("No. observations", str(fit.nobs))
    yield Fact("Rows dropped (missing)", str(facts.n_dropped))
    if facts.weighted:
        yield Fact("Rows of weight 0", str(facts.n_zero_weight))
    yield from words.quality(fit)


def _how(fit: BoostResults) -> str:
    kind, _, _ = fit.facts.how.partition(", ")
    return kind.replace("cross-validation", "CV")


# -- coefficients


def _kind(fit: BoostResults) -> str:
    return "Columns" if fit.facts.learner == "componentwise" else "Terms"


def _first_learner(fit: BoostResults) -> int:
    """Return the position of the first learner that is not the intercept's."""
    return int(getattr(fit.path, "intercept_learner", False))


def _learners(fit: BoostResults) -> np.ndarray:
    """Return for each learner but the intercept's whether it was chosen."""
    return (fit.selection_frequencies.fillna(0.0).to_numpy() > 0)[_first_learner(fit) :]


def _count_chosen(fit: BoostResults) -> int:
    return int(_learners(fit).sum())


def _shown(fit: BoostResults) -> tuple[np.ndarray, int]:
    """Return the learners to show, the intercept's not counted, and how many chosen ones are left out."""
    chosen = _learners(fit)
    importance = fit.importance.fillna(0.0).to_numpy()[_first_learner(fit) :]
    shown = np.arange(len(chosen)) if len(chosen) <= SHOWN_IN_FULL else np.flatnonzero(chosen)
    kept = np.sort(shown[np.argsort(-importance[shown], kind="stable")[:MOST_SHOWN]])
    return kept, len(shown) - len(kept)


def _learner_table(fit: BoostResults) -> Table:
    """Return the table of a fit without coefficients: its learners, the most important first."""
    kept, hidden = _shown(fit)
    order = kept[np.argsort(-fit.importance.fillna(0.0).to_numpy()[kept], kind="stable")]
    rows = tuple(Row(fit.path.names[k], _learner_cells(fit, int(k))) for k in order)
    return Table(("selected", "first in", "loss share"), (rows,), notes=tuple(_table_notes(fit, hidden)))


def _is_smooth(fit: BoostResults) -> bool:
    return isinstance(fit.path, BasisPath)


def _smooth_table(fit: BoostResults) -> Table:
    """Return the table of a fit with splines: terms in the order of the formula, with coefficients where linear."""
    kept, hidden = _shown(fit)
    path: Any = fit.path
    slopes = path.linear_slopes(fit.mstop)
    text = dict(enumerate(numbers(np.nan_to_num(slopes))))
    rows: list[Row] = []
    for k in kept:
        columns, cells = range(path.sources[k], path.sources[k + 1]), _learner_cells(fit, int(k))
        if path.knots[k] is None:
            rows += _term_rows(fit, path.names[k], columns, [text[c] for c in columns], cells)
        else:
            rows.append(Row(path.names[k], ("smooth", *cells)))
    notes = (
        *_table_notes(fit, hidden),
        "smooth: a spline; plot_effect(term) draws it and effect(term) has its values.",
    )
    return Table(("coef", "selected", "first in", "loss share"), (tuple(rows),), notes=notes)


def _coefficients(fit: BoostResults) -> Table:
    kept, hidden = _shown(fit)
    path: Any = fit.path
    columns = [0, *(1 + c for k in kept for c in range(path.blocks[k], path.blocks[k + 1]))]
    text = dict(zip(columns, numbers(fit.params.to_numpy()[columns]), strict=True))
    rows = [Row("Intercept", (text[0], *(_learner_cells(fit, 0) if path.intercept_learner else ("", "", ""))))]
    for k in kept:
        rows += _block_rows(fit, int(k), text)
    notes = tuple(_table_notes(fit, hidden))
    return Table(("coef", "selected", "first in", "loss share"), (tuple(rows),), notes=notes)


def _block_rows(fit: BoostResults, k: int, text: dict[int, str]) -> list[Row]:
    """Return the rows of a learner: one for one column, else its numbers on a line of their own above its columns."""
    path: Any = fit.path
    columns = range(path.blocks[k], path.blocks[k + 1])
    learner = k + int(path.intercept_learner)
    return _term_rows(
        fit, fit.path.names[learner], columns, [text[c + 1] for c in columns], _learner_cells(fit, learner)
    )


def _term_rows(fit: BoostResults, term: str, columns: range, text: list[str], cells: tuple[str, str, str]) -> list[Row]:
    names = [fit.facts.columns[c] for c in columns]
    if len(names) == 1:
        return [Row(names[0], (text[0], *cells))]
    rows = [Row(term, ("", *cells))]
    for name, value in zip(names, text, strict=True):
        own = name.removeprefix(term)
        rows.append(Row(own if own.startswith("[") else name, (value, "", "", ""), depth=1))
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
    where = "params" if fit.has_coefficients else "importance"
    nil = "have coefficient 0 and " if fit.has_coefficients else ""
    unshown = f" Those never chosen {nil}are not shown." if partly else ""
    if hidden:
        unshown += f" {hidden} more with smaller loss shares are in fit.{where}."
    yield f"Chosen {chosen} of {total} {kind}.{unshown}"
    used = f"selected: share of the {fit.mstop} iterations; first in: iteration of first choice; "
    if fit.importance.isna().all():
        yield used + f"loss share: not defined, as {_not_fallen(fit)}."
        return
    yield (
        f"{used}loss share: share of the fall in {fit.loss_name} since the start."
        + (" A negative share: the steps raised the loss on balance." if (fit.importance < 0).any() else "")
    )


def _not_fallen(fit: BoostResults) -> str:
    return f"the {fit.loss_name} did not fall: {number(fit.path.risks[0])} at the start, {number(fit.risk)} at the end"


def _notes(fit: BoostResults, words: Words) -> Iterator[str]:
    if fit.mstop and fit.has_coefficients:
        yield words.coefficients
    if fit.facts.how != "fixed":
        yield from _choice(fit)
    if not fit.facts.intercept:
        yield "The formula has no intercept: the constant is the start, and stays."
    yield from words.notes(fit)


def _choice(fit: BoostResults) -> Iterator[str]:
    kind, _, rule = fit.facts.how.rpartition(", rule ")
    best = "the least mean loss out of sample"
    if rule == "1se":
        best = f"the first within one standard error of {best}"
    gap = " A gap to the exact optimum is then intended." if fit.facts.family == "qbr" else ""
    yield f"Iterations chosen by {kind}: {best}.{gap}"
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
    words = WORDS[fit.facts.family]
    start = words.start(fit)
    if not start.endswith("(given)") and start.partition(" (")[0] != number(fit.start):
        start = f"{number(fit.start)} ({start})"
    lines = [
        fit.title,
        "",
        "Call:",
        *wrap(fit.facts.call, WIDTH, 4),
        "",
        f"Loss function: {words.loss_function(fit)}",
        f"Number of boosting iterations: mstop = {fit.mstop}" + ("" if fit.facts.how == "fixed" else f" ({_how(fit)})"),
        f"Step size: {words.step(fit)}{words.step_length(fit)}",
        f"Start: {start}",
    ]
    if fit.status != "complete":
        lines.append(f"Status: {fit.status}")
    chosen = f"{_count_chosen(fit)} of {len(_learners(fit))} {_kind(fit).lower()} chosen"
    return "\n".join([*lines, "", *(_printed_coefficients if fit.has_coefficients else _printed_shares)(fit, chosen)])


def _printed_coefficients(fit: BoostResults, chosen: str) -> list[str]:
    values = fit.params.to_numpy()
    at = [0, *(1 + np.flatnonzero(values[1:]))]
    shown = at[:MOST_PRINTED]
    lines = [f"Coefficients (start included; {chosen}):"]
    lines += named_vector([fit.params.index[k] for k in shown], numbers(values[shown]))
    if len(at) > len(shown):
        lines.append(f"... and {len(at) - len(shown)} more: fit.params")
    return lines


def _printed_shares(fit: BoostResults, chosen: str) -> list[str]:
    largest = fit.importance.sort_values(ascending=False, kind="stable").dropna()
    shown = largest[largest != 0.0].iloc[:MOST_PRINTED]
    if not len(shown):
        return wrap(f"No learner has a share ({chosen}): {_not_fallen(fit)}.", WIDTH)
    lines = [f"Share of each learner in the fall of the {fit.loss_name} ({chosen}):"]
    return lines + named_vector(list(shown.index), [share(value) for value in shown])
