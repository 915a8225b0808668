"""A kernel quantile regression in print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from qreg_boost.base.summary import describe_process
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import WIDTH, fraction, level, named_vector, number, numbers, share, wrap

if TYPE_CHECKING:
    from qreg_boost.kernel.kqr_process_results import KQRProcess
    from qreg_boost.kernel.kqr_results import KQRResults

MOST_SHOWN = 100
MOST_PRINTED = 24
SIDE_HEADS = ("above", "on", "below")
SMALL_GAP = 1e-8
"""A smaller gap is rounding, and not printed."""
_CHOSEN = " (cross-validated)"
_STANDARDIZED = {"precomputed": "response", "spline": "response; x to [0, 1]"}


def summarise(fit: KQRResults) -> Summary:
    r"""Return the summary of a kernel quantile regression.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> print(summarise(fit).as_text().split("\n")[0].strip())
    Kernel Quantile Regression Results
    """
    tables = (_coefficients(fit), _sides(fit)) if fit.machine.linear() is not None else (_sides(fit),)
    return Summary(f"{fit.title} Results", tuple(_left(fit)), tuple(_right(fit)), tables, tuple(_notes(fit)))


def _left(fit: KQRResults) -> Iterator[Fact]:
    facts, own = fit.facts, fit.facts.own
    yield Fact("Formula", facts.formula) if facts.formula else Fact("Response", f"{facts.response} (arrays)")
    yield Fact("Kernel", own["kernel"] if own["kernel_name"] == "function" else own["kernel_name"])
    if own["gamma"] is not None:
        rule = _CHOSEN if "gamma" in own["chosen"] else f" ({own['rule']})" if own["rule"] else ""
        yield Fact("Gamma", f"{own['gamma']:.6g}{rule}")
    if own["rank"] is not None:
        yield Fact("Rank", f"{own['rank']} (lost: {own['rank_error']:.2g})")
    yield Fact("Cost (C)", f"{fit.C:g}" + (_CHOSEN if "C" in own["chosen"] else ""))
    yield Fact(
        "Standardized", _STANDARDIZED.get(own["kernel_name"], "predictors, response") if own["standardized"] else "no"
    )
    if facts.weighted:
        yield Fact("Weights", f"sum {number(facts.total_weight)}")
    yield Fact("Date", facts.when)


def _right(fit: KQRResults) -> Iterator[Fact]:
    facts = fit.facts
    r1 = "not defined" if np.isnan(fit.prsquared) else fraction(fit.prsquared)
    yield Fact("Quantile (tau)", level(fit.tau))
    yield Fact("No. observations", str(fit.nobs))
    yield Fact("Rows dropped (missing)", str(facts.n_dropped))
    if facts.weighted:
        yield Fact("Rows of weight 0", str(facts.n_zero_weight))
    loss = "Check loss (weighted sum)" if facts.weighted else "Check loss (sum)"
    yield Fact(loss, number(fit.risk), fit.risk, "Check loss")
    yield Fact("Pseudo R-squared (R1)", r1, r1, "R1")
    yield Fact("Objective (penalised)", number(fit.objective), fit.objective, "Objective")
    gap = "below 1e-8" if fit.duality_gap < SMALL_GAP else f"{fit.duality_gap:.1e}"
    gap = "no certificate" if facts.own["indefinite"] else gap
    yield Fact("Duality gap (relative)", gap, gap, "Duality gap")


def _coefficients(fit: KQRResults) -> Table:
    params = fit.params.iloc[:MOST_SHOWN]
    rows = tuple(Row(str(name), (cell,)) for name, cell in zip(params.index, numbers(params), strict=True))
    hidden = len(fit.params) - len(params)
    notes = (f"{hidden} more coefficients are in fit.tidy().",) if hidden > 0 else ()
    return Table(("coef",), (rows,), notes=notes)


def _sides(fit: KQRResults) -> Table:
    table = fit.sides()
    rows = tuple(
        Row(f"{side} the fit", (str(count), share(part)))
        for side, count, part in zip(table["side"], table["count"], table["share"], strict=True)
    )
    return Table(("rows", "share"), (rows,))


def _notes(fit: KQRResults) -> Iterator[str]:
    own = fit.facts.own
    if not own["optimal"]:
        yield own["shortfall"]
    if own["indefinite"]:
        yield f"{own['indefinite']} The fit is a stationary point at best."
    if own["folds"]:
        verb = "have" if len(own["chosen"]) > 1 else "has"
        yield f"{' and '.join(own['chosen'])} {verb} the least check loss in {own['folds']}; see cv_result."
    if own["noncrossing"]:
        yield "Fitted together with the other quantiles, so that they do not cross at the data."
    yield (
        "Rows on the fit are as many as its degrees of freedom. The check loss is in the response's units, the "
        f"objective {'in those of the standardised data' if own['standardized'] else 'too'}."
    )


def describe(fit: KQRResults) -> str:
    r"""Return the short lines that ``print(fit)`` shows.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fit = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5, kernel="linear", C=10.0)
    >>> print(describe(fit).split("\n")[0])
    Kernel Quantile Regression
    """
    lines = [fit.title, "", "Call:", *wrap(fit.facts.call, WIDTH, 4), ""]
    if fit.machine.linear() is not None:
        values = fit.params.to_numpy()[:MOST_PRINTED]
        lines += [f"Coefficients (tau = {fit.tau:g}):"]
        lines += named_vector(list(fit.params.index[:MOST_PRINTED]), numbers(values))
        lines.append("")
    counts = fit.sides()["count"]
    lines.append(f"Kernel: {fit.kernel}; C = {fit.C:g}; tau = {fit.tau:g}")
    lines.append(f"Rows: {fit.nobs}, of which {counts[0]} above, {counts[1]} on and {counts[2]} below the fit")
    lines.append(f"Check loss: {number(fit.risk)}")
    return "\n".join(lines)


def describe_several(fits: KQRProcess) -> str:
    r"""Return the short lines that ``print(fits)`` shows: coefficients where there are any, else what each fit is like.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.1, 0.9], C=10.0)
    >>> print("\n".join(describe_several(fits).split("\n")[5:]))
    Kernel: rbf, gamma = 35.4379; C = 10
    tau  above  on  below  check loss     R1
    0.1    197  26     12     2785.16  0.636
    0.9     10  34    191     2409.03  0.833
    """
    first = fits.fits[0]
    differ = [name for name, same in _settings(fits).items() if len(set(same)) > 1]
    told = f"Kernel: {first.kernel}; C = {first.C:g}" + ("; held apart" if first.facts.own["noncrossing"] else "")
    told = f"Kernel: {first.facts.own['kernel_name']}" if differ else told
    if first.machine.linear() is not None:
        return f"{describe_process(fits)}\n\n{told}"
    head = [f"{first.title}, {len(fits)} quantile{'s' if len(fits) > 1 else ''}", ""]
    head += ["Call:", *wrap(first.facts.call, WIDTH, 4), "", told]
    table = pd.DataFrame([fit.sides()["count"].to_list() for fit in fits], columns=list(SIDE_HEADS))
    table.insert(0, "tau", [f"{float(tau):.6g}" for tau in fits.taus])
    table["check loss"] = [number(fit.risk) for fit in fits]
    for name in differ:
        table[name] = [f"{value:.6g}" for value in _settings(fits)[name]]
    table["R1"] = ["" if np.isnan(fit.prsquared) else fraction(fit.prsquared) for fit in fits]
    return "\n".join([*head, *table.to_string(index=False).split("\n")])


def _settings(fits: KQRProcess) -> dict[str, list[float]]:
    """Return C and gamma of the fits, of kernels that have one."""
    gammas = [fit.facts.own["gamma"] for fit in fits]
    return {"C": [fit.C for fit in fits], **({} if None in gammas else {"gamma": gammas})}
