"""Printed summaries of classifiers, compared with files to the last character (the date aside); see test_golden."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from tests.golden.printed import TEXTS, assert_printed

FORMULA = "ample ~ income"


def engel() -> pd.DataFrame:
    data = qb.datasets.load("engel")
    data["ample"] = np.where(data["foodexp"] > 600, "yes", "no")
    data["weight"] = np.arange(len(data)) % 3
    return data


FITS: dict[str, Callable[[], object]] = {
    "qbc_costs": lambda: qb.qbc(FORMULA, engel(), cost={"fn": 3, "fp": 1}),
    "qbc_weights": lambda: qb.qbc(FORMULA, engel(), 0.4, event="no", weights="weight", learner="stump"),
    "qbc_process": lambda: qb.qbc(FORMULA, engel(), [0.25, 0.5, 0.75]),
    "logitboost": lambda: qb.logitboost(FORMULA, engel(), mstop=20),
    "logitboost_gradient": lambda: qb.logitboost(FORMULA, engel(), form="gradient", learner="linear"),
    "adaboost": lambda: qb.adaboost(FORMULA, engel(), mstop=20),
    "l2boost": lambda: qb.l2boost("foodexp ~ income", engel()),
    "l2boost_classes": lambda: qb.l2boost(FORMULA, engel()),
}
fitted = cache(lambda name: FITS[name]())


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", FITS)
def test_printed(name: str, kind: str) -> None:
    assert_printed(fitted(name), name, kind)
