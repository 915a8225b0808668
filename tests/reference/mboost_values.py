"""Reads what mboost 2.9-11 found; see mboost/README.md."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pandas as pd

FOLDER = Path(__file__).parent / "mboost"
TAUS = (0.1, 0.25, 0.5, 0.75, 0.9)
LEARNERS = {"componentwise": "glmboost", "linear": "bols"}
"""This package's name of a learner, and mboost's."""


@functools.cache
def values(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@functools.cache
def run(learner: str, tau: float) -> dict[str, Any]:
    """Return one run on sim8; `learner` is this package's name."""
    runs = values("quantreg_sim8")["runs"]
    return next(one for one in runs if one["learner"] == LEARNERS[learner] and one["tau"] == tau)


def sim8() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "sim8.csv")


def warpbreaks() -> pd.DataFrame:
    """Return warpbreaks with R's order of levels; patsy sorts levels, so L, M, H must be said."""
    table = pd.read_csv(FOLDER / "warpbreaks.csv")
    table["wool"] = pd.Categorical(table["wool"], ["A", "B"])
    table["tension"] = pd.Categorical(table["tension"], ["L", "M", "H"])
    return table


def binary() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "binary.csv")
