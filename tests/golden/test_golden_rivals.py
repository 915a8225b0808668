"""Printed summaries of rivals and of what is made of several classifiers; see test_golden.

Few iterations: what is compared is the print, and its numbers must be the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from tests.golden.printed import TEXTS, assert_printed


def engel() -> pd.DataFrame:
    data = qb.datasets.load("engel")
    data["ample"] = np.where(data["foodexp"] > 600, "yes", "no")
    data["spent"] = np.select([data["foodexp"] > 700, data["foodexp"] > 450], ["much", "some"], "little")
    data["weight"] = np.arange(len(data)) % 3
    data["noise"] = np.cos(np.arange(len(data)))
    data.loc[[2, 50], "income"] = np.nan
    return data


QUIET = {"progress": False}
FITS: dict[str, Callable[[], object]] = {
    "median": lambda: qb.median_classifier("ample ~ income + noise", engel()),
    "median_scaled": lambda: qb.median_classifier(
        "ample ~ income + noise", engel(), event="no", scale=True, weights="weight"
    ),
    "binary_qreg": lambda: qb.binary_qreg("ample ~ income + noise", engel(), tau=0.25, starts=20, **QUIET),
    "binary_qreg_column": lambda: qb.binary_qreg(
        "ample ~ income + noise", engel(), normalize="income", starts=20, weights="weight", **QUIET
    ),
    "multiclass": lambda: qb.multiclass("spent ~ income", engel(), booster="logitboost", mstop=20, **QUIET),
    "multiclass_ecoc": lambda: qb.multiclass(
        "spent ~ income", engel(), booster="adaboost", code="ecoc", mstop=20, weights="weight", **QUIET
    ),
    "quanting": lambda: qb.quanting("foodexp ~ income", engel(), tau=0.75, cuts=15, mstop=10, **QUIET),
    "jous": lambda: qb.jous("ample ~ income + noise", engel(), grid=6, mstop=10, **QUIET),
}
fitted = cache(lambda name: FITS[name]())


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", FITS)
def test_printed(name: str, kind: str) -> None:
    assert_printed(fitted(name), name, kind)
