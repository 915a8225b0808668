"""Printed summaries of kernel fits, compared with files to the last character (the date aside); see test_golden."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import qreg_boost as qb

HERE = Path(__file__).parent
FORMULA = "foodexp ~ income"

FITS: dict[str, Callable[[], object]] = {
    "kqr": lambda: qb.kqr(FORMULA, qb.datasets.load("engel"), 0.75, gamma=1.0),
    "kqr_linear": lambda: qb.kqr(FORMULA, qb.datasets.load("engel"), 0.25, C=100.0, kernel="linear"),
    "kqr_process": lambda: qb.kqr(
        FORMULA, qb.datasets.load("engel"), [0.1, 0.5, 0.9], C=1000.0, gamma=2.0, noncrossing=True
    ),
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
