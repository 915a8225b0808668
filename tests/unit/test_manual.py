"""The manual: every public name has its place in the reference, and what the reference names is there."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import getdoc, ismodule
from pathlib import Path

import pytest

import qreg_boost as qb

REFERENCE = Path(__file__).parents[2] / "vignettes" / "reference"
NAMED = re.findall(
    r"^\.\. auto(?:function|class|exception):: (\S+)",
    "\n".join(page.read_text() for page in REFERENCE.glob("*.md")),
    re.M,
)


def test_every_public_name_is_in_the_reference() -> None:
    public = {name for name in qb.__all__ if not (name.startswith("__") or ismodule(getattr(qb, name)))}
    shown = {name.rpartition(".")[2] for name in NAMED}
    assert public <= shown
    assert set(qb.errors.__all__) <= shown


@pytest.mark.parametrize("name", NAMED)
def test_names_in_the_reference_lead_to_docstrings(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert getdoc(getattr(import_module(module), last))
