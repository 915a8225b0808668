"""Printed summaries, compared with files to the last character (the date aside).

When a change of the wording or the numbers is meant: ``QREG_BOOST_REGENERATE=1 python -m pytest tests/golden`` writes
the files anew and skips; read the difference before committing it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from tests.golden.printed import TEXTS, assert_printed

# Breaks in yarn during weaving, 9 looms for each of 2 wools and 3 tensions (Tippett 1950; R's warpbreaks).
BREAKS = (
    (26, 30, 54, 25, 70, 52, 51, 26, 67), (18, 21, 29, 17, 12, 18, 35, 30, 36), (36, 21, 24, 18, 10, 43, 28, 15, 26),
    (27, 14, 29, 19, 29, 31, 41, 20, 44), (42, 26, 19, 16, 39, 28, 21, 39, 29), (20, 21, 24, 17, 13, 15, 15, 16, 28),
)  # fmt: skip


def warpbreaks() -> pd.DataFrame:
    wool = np.repeat(["A", "B"], 27)
    tension = pd.Categorical(np.tile(np.repeat(["L", "M", "H"], 9), 2), categories=["L", "M", "H"])
    return pd.DataFrame({"breaks": np.ravel(BREAKS).astype(float), "wool": wool, "tension": tension})


def engel_with_gaps() -> pd.DataFrame:
    """Return the Engel data with weights 0 to 3, an offset and three incomes missing."""
    data = qb.datasets.load("engel")
    data["weight"] = np.arange(len(data)) % 4
    data["rent"] = 0.1 * data["income"]
    data["noise"] = np.cos(np.arange(len(data)))
    data.loc[[2, 50, 101], "income"] = np.nan
    return data


def engel_chosen_by_cv() -> qb.QBRResults:
    stop = qb.CV(k=5, max=200, rule="1se", progress=False)
    formula = "foodexp ~ income + noise"
    return qb.qbr(formula, engel_with_gaps(), tau=0.75, mstop=stop, weights="weight", offset="rent")


def engel_process() -> qb.QuantileProcess:
    return qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=[0.1, 0.5, 0.9])


def engel_99() -> qb.QuantileProcess:
    return qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=[k / 100 for k in range(1, 100)])


FITS: dict[str, Callable[[], object]] = {
    "engel": lambda: qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5),
    "engel_componentwise_raw": lambda: qb.qbr(
        "foodexp ~ income",
        qb.datasets.load("engel"),
        tau=0.5,
        learner="componentwise",
        init="median",
        step_scale=None,
        mstop=200,
    ),
    "engel_weights_offset_cv": engel_chosen_by_cv,
    "engel_process": engel_process,
    "engel_99": engel_99,
    "warpbreaks": lambda: qb.qbr("breaks ~ wool * tension", warpbreaks(), tau=0.5),
    "qreg_engel": lambda: qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=0.5),
    "qreg_engel_rank": lambda: qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=0.5, se="rank"),
    "qreg_weights_offset_aliased": lambda: qb.qreg(
        "foodexp ~ income + I(2 * income) + noise",
        engel_with_gaps(),
        tau=0.75,
        se="ker",
        weights="weight",
        offset="rent",
    ),
    "qreg_engel_several": lambda: qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=[0.1, 0.5, 0.9]),
    "qreg_engel_99": lambda: qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=np.arange(1, 100) / 100),
    "anova": lambda: qb.anova(
        qb.qreg("foodexp ~ income + noise", engel_with_gaps()), qb.qreg("foodexp ~ income", engel_with_gaps())
    ),
    "anova_slopes": lambda: qb.anova(
        qb.qreg("breaks ~ wool + tension", warpbreaks(), tau=[0.25, 0.5, 0.75]), joint=False
    ),
    "qreg_process": lambda: qb.qreg_process("foodexp ~ income", qb.datasets.load("engel")),
    "l1qreg": lambda: qb.l1qreg("STACKLOSS ~ .", qb.datasets.load("stackloss"), tau=0.5, standardize=True),
    "l1qreg_sic": lambda: qb.l1qreg("STACKLOSS ~ .", qb.datasets.load("stackloss"), tau=0.5, standardize=True).select(),
}
fitted = cache(lambda name: FITS[name]())
CASES = [(name, kind) for name in FITS for kind in TEXTS]
CASES += [("warpbreaks", "summary.html"), ("warpbreaks", "summary.tex"), ("engel_process", "summary.tex")]
CASES += [("qreg_engel_rank", "summary.html"), ("qreg_engel_rank", "summary.tex")]
CASES += [("qreg_engel_several", "summary.tex")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_printed(name: str, kind: str) -> None:
    assert_printed(fitted(name), name, kind)
