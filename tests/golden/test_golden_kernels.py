"""Printed summaries of kernel fits, compared with files to the last character (the date aside); see test_golden."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import qreg_boost as qb
from tests.golden.printed import TEXTS, assert_printed

FORMULA = "foodexp ~ income"

FITS: dict[str, Callable[[], object]] = {
    "kqr": lambda: qb.kqr(FORMULA, qb.datasets.load("engel"), 0.75, gamma=1.0),
    "kqr_linear": lambda: qb.kqr(FORMULA, qb.datasets.load("engel"), 0.25, C=100.0, kernel="linear"),
    "kqr_process": lambda: qb.kqr(
        FORMULA, qb.datasets.load("engel"), [0.1, 0.5, 0.9], C=1000.0, gamma=2.0, noncrossing=True
    ),
}
fitted = cache(lambda name: FITS[name]())


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", FITS)
def test_printed(name: str, kind: str) -> None:
    assert_printed(fitted(name), name, kind)


def test_path_printed() -> None:
    path = qb.kqr(FORMULA, qb.datasets.load("engel"), 0.75, gamma=0.3).path(largest=100.0)
    assert_printed(path, "kqr_path", "print.txt")
