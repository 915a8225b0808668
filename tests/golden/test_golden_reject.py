"""Printed summaries of classifiers that may withhold, compared with files to the last character; see test_golden."""

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


COST = {"fn": 5, "fp": 1, "reject": 0.4}
FITS: dict[str, Callable[[], object]] = {
    "double_ramp": lambda: qb.reject_classifier(FORMULA, engel()),
    "double_ramp_one_half": lambda: qb.reject_classifier(FORMULA, engel(), d=0.5, starts="zero", weights="weight"),
    "double_ramp_cv": lambda: qb.reject_classifier(FORMULA, engel(), starts="zero").cv([1, 10], k=3).refit(),
    "double_hinge_costs": lambda: qb.reject_classifier(FORMULA, engel(), method="double_hinge", cost=COST),
    "double_hinge_unbounded": lambda: qb.reject_classifier(FORMULA, engel(), method="double_hinge", d=0.45),
    "chow": lambda: qb.reject_classifier(FORMULA, engel(), method="chow", d=0.1),
    "chow_cv": lambda: qb.reject_classifier(FORMULA, engel(), method="chow").cv([0.1, 0.3], k=3).refit(0.3),
    "qbc_pair_cv": lambda: qb.reject_classifier(FORMULA, engel(), method="qbc_pair").cv(mstop=[20, 50], k=3).refit(),
    "qbc_pair": lambda: qb.reject_classifier(FORMULA, engel(), method="qbc_pair", event="no"),
}
fitted = cache(lambda name: FITS[name]())


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", FITS)
def test_printed(name: str, kind: str) -> None:
    assert_printed(fitted(name), name, kind)
