"""Printed summaries of classifiers that may withhold, compared with files to the last character; see test_golden."""

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
    "qbc_pair": lambda: qb.reject_classifier(FORMULA, engel(), method="qbc_pair", event="no"),
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
