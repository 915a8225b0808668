"""An L1 path and its fits in print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import InputError, NotDefinedError, listed
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import WIDTH, fraction, level, named_vector, number, numbers, wrap

if TYPE_CHECKING:
    from qreg_boost.quantreg.l1_results import L1Fit, L1Results

SHOWN_IN_FULL, MOST_SHOWN = 30, 100
KNOTS_SHOWN = 15


def summarise_fit(fit: L1Fit) -> Summary:
    """Return the summary of the fit at one bound."""
    facts = fit.facts
    left = [Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")]
    left += [Fact("Bound (s)", number(fit.s)), Fact("Multiplier", number(fit.lam)), Fact("Chosen by", fit.how)]
    left += [Fact("Date", facts.when)]
    right = (
        Fact("Quantile (tau)", level(fit.tau)),
        Fact("No. observations", str(fit.nobs)),
        Fact("Rows dropped (missing)", str(facts.n_dropped)),
        Fact("Degrees of freedom", str(fit.df)),
        Fact("Check loss (weighted sum)" if facts.weighted else "Check loss (sum)", number(fit.objective)),
        Fact("Pseudo R-squared (R1)", "not defined" if np.isnan(fit.prsquared) else fraction(fit.prsquared)),
    )
    values = fit.params.to_numpy()
    first = int(facts.intercept)
    chosen = np.nan_to_num(values) != 0
    chosen[:first] = True
    shown = np.arange(len(values)) if len(values) <= SHOWN_IN_FULL else np.flatnonzero(chosen)[:MOST_SHOWN]
    texts = numbers(values[shown])
    rows = tuple(Row(str(fit.params.index[k]), (text or "dropped",)) for k, text in zip(shown, texts, strict=True))
    count, total = int(chosen[first:].sum()), len(values) - first
    notes = [
        f"{count} of {total} coefficients are not 0."
        + ("" if len(shown) == len(values) else " The others are not shown.")
    ]
    notes.append("Coefficients under an L1 bound are shrunk and carry no standard errors.")
    if facts.aliased:
        notes.append(f"Dropped, as combinations of other unpenalised columns: {listed(facts.aliased)}.")
    return Summary(f"{fit.title} Results", tuple(left), right, (Table(("coef",), (rows,)),), tuple(notes))


def summarise_path(path: L1Results) -> Summary:
    """Return the summary of the path: what it consists of, and some of its knots."""
    facts = path.facts
    left = [Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")]
    left += [Fact("Knots", str(len(path.knots))), Fact("Largest s", number(path.path.s[-1])), Fact("Date", facts.when)]
    right = [
        Fact("Quantile (tau)", level(path.tau)),
        Fact("No. observations", str(path.nobs)),
        Fact("Rows dropped (missing)", str(facts.n_dropped)),
    ]
    right += [Fact(f"Least {name.upper()} at s", _chosen(path, name)) for name in ("sic", "gacv")]
    at = np.unique(np.linspace(0, len(path.knots) - 1, min(KNOTS_SHOWN, len(path.knots))).round().astype(int))
    table = path.knots.iloc[at]
    columns = [numbers(table[name], 11) for name in ("lam", "objective")]
    columns += [[str(value) for value in table["df"]], numbers(table["sic"], 11), numbers(table["gacv"], 11)]
    rows = tuple(Row(s, tuple(column[k] for column in columns)) for k, s in enumerate(numbers(table["s"], 11)))
    heads = ("lambda", "check loss", "df", "SIC", "GACV")
    notes = [f"{len(at)} of {len(path.knots)} knots are shown; all are in .knots."] if len(at) < len(path.knots) else []
    notes.append(
        "Coefficients and loss are linear in s between knots: .at(s=), .at(lam=), .select('sic'), .coef_path()."
    )
    shown = Table(heads, (rows,), corner="s", even=False, stacked=False)
    return Summary(f"{path.title} Results", tuple(left), tuple(right), (shown,), tuple(notes))


def _chosen(path: L1Results, criterion: str) -> str:
    try:
        return number(path.path.s[path.path.select(criterion)])
    except InputError:
        return "none"


def describe_path(path: L1Results) -> str:
    """Return the short lines that ``print(path)`` shows."""
    lines = [path.title, "", "Call:", *wrap(path.facts.call, WIDTH, 4), ""]
    lines.append(f"{len(path.knots)} knots, s from 0 to {number(path.path.s[-1])}, tau = {path.tau:g}")
    try:
        fit = path.select("sic")
    except NotDefinedError:
        return "\n".join(lines)
    except InputError:
        fit = path.at(s=float(path.path.s[-1]))
    used = np.flatnonzero(np.nan_to_num(fit.params.to_numpy()))[:24]
    lines += ["", f"Coefficients other than 0 at s = {number(fit.s)} ({fit.how}):"]
    return "\n".join([*lines, *named_vector(list(fit.params.index[used]), numbers(fit.params.to_numpy()[used]))])
