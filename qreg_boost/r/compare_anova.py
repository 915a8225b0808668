"""An analysis of deviance beside that of R's quantreg, on the same fits handed over as R's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError
from qreg_boost.r import session
from qreg_boost.r.compare import Comparison, as_row, close, frame
from qreg_boost.r.objects import as_object

_ANOVA = """
found <- if (length(fits) == 1L) anova(fits[[1L]], joint = joint, se = se) else
  do.call(anova, c(unname(fits), list(test = test, score = score, iid = iid, se = se)))
t(as.matrix(found$table[, 1:4]))
"""
_COLUMNS = {"df": "Df", "df_resid": "Resid Df", "statistic": "F value", "p_value": "Pr(>F)"}
_SAME = 1e-6


def compare_anova(result: Any) -> Comparison:
    """Return an analysis of deviance beside R's; see `qreg_boost.r.compare`.

    Raises
    ------
    InputError
        For a bandwidth or a kind of standard error that R's anova does not take.
    """
    told = result.arguments
    if told["bandwidth"] is not None or told["se"] not in (None, "iid", "nid", "ker"):
        raise InputError(
            "R's anova has no counterpart to this test: it takes se 'iid', 'nid' or 'ker' and its own bandwidth; got "
            f"se={told['se']!r}, bandwidth={told['bandwidth']!r}."
        )
    session.require("quantreg")
    values = {"joint": told.get("joint", True), "se": told["se"] or "nid", "score": told.get("score", "tau")}
    values |= {"test": "Wald" if told["test"] == "wald" else "rank", "iid": told.get("iid", True)}
    runs = [_run(result, values, shuffle, unit) for shuffle, unit in ((None, 1.0), (1, 1000.0), (2, 1.0))]
    first = result.fits[0]
    weighted = bool((first if len(result.fits) > 1 else first.fits[0]).facts.weighted)
    scaled = told["test"] == "rank" and weighted
    rows, agrees = [], True
    figures = [(name, column) for name in result.table.index for column in _COLUMNS]
    for (name, column), *found in zip(figures, *runs, strict=True):
        ours, theirs = float(result.table.loc[name, column]), found[0]
        stable = all(_same(theirs, again, column) for again in found[1:])
        note = "must agree" if stable and not scaled else "not compared: R's moves with the order of the rows"
        note = "not compared: R's depends on the scale of the weights" if scaled else note
        rows.append(as_row(f"{name}: {_COLUMNS[column]}", ours, theirs, note))
        agrees &= scaled or not stable or _same(ours, theirs, column)
    said = "agree" if agrees else "do NOT agree; please report it with the data"
    return Comparison(
        title="Analysis of deviance beside R's quantreg",
        table=frame(rows),
        checks=frame([]),
        gap=float("nan"),
        unique=True,
        agrees=bool(agrees),
        notes=(result.title, f"This package and quantreg {said}."),
    )


def _run(result: Any, values: dict[str, Any], shuffle: int | None, unit: float) -> list[float]:
    """Return R's table, row after row."""
    fits = {str(k): as_object(list(getattr(fit, "fits", [fit])), shuffle, unit) for k, fit in enumerate(result.fits)}
    outcome = session.run(_ANOVA, fits=fits, **values)
    if outcome.error is not None:
        raise session.RError(f"R's anova stopped on these fits: {outcome.error}")
    return [float(value) for value in np.ravel(np.asarray(outcome.value, dtype=float), order="F")]


def _same(a: float, b: float, column: str) -> bool:
    """Return whether two figures agree; R takes a p value from 1, so that it is exact to 1e-15 and no further."""
    return close(a, b, 1e-5) or abs(a - b) < 1e-14 if column == "p_value" else close(a, b, _SAME)
