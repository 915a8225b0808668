"""Printed summaries of rivals and of what is made of several classifiers; see test_golden.

Few iterations: what is compared is the print, and its numbers must be the same on every machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb

HERE = Path(__file__).parent


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
PRINTED: dict[str, Callable[[object], str]] = {
    "print.txt": str,
    "summary.txt": lambda fit: str(fit.summary()),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("kind", PRINTED)
@pytest.mark.parametrize("name", FITS)
def test_printed(name: str, kind: str) -> None:
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "YYYY-MM-DD hh:mm", PRINTED[kind](fitted(name))) + "\n"
    file = HERE / f"{name}.{kind}"
    if os.environ.get("QREG_BOOST_REGENERATE") == "1":
        file.write_text(text, encoding="utf-8")
        pytest.skip(f"{file.name} was written; read the difference")
    assert text == file.read_text(encoding="utf-8")
