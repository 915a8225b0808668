"""Prints compared with files to the last character, the date aside; QREG_BOOST_REGENERATE=1 writes the files anew."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PRINTED: dict[str, Callable[[object], str]] = {
    "print.txt": str,
    "summary.txt": lambda fit: str(fit.summary()),  # type: ignore[attr-defined]
    "summary.html": lambda fit: fit.summary().as_html(),  # type: ignore[attr-defined]
    "summary.tex": lambda fit: fit.summary().as_latex(),  # type: ignore[attr-defined]
}
TEXTS = ("print.txt", "summary.txt")


def assert_printed(fit: object, name: str, kind: str) -> None:
    """Compare what a fit prints with the file of that name and kind."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "YYYY-MM-DD hh:mm", PRINTED[kind](fit)) + "\n"
    file = HERE / f"{name}.{kind}"
    if os.environ.get("QREG_BOOST_REGENERATE") == "1":
        file.write_text(text, encoding="utf-8")
        pytest.skip(f"{file.name} was written; read the difference")
    assert text == file.read_text(encoding="utf-8")
