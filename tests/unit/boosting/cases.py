"""Models and loops that several tests of boosting need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.boosting.linear_path import LinearPath
from qreg_boost.boosting.loop import boost
from qreg_boost.boosting.loops import loop_of
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.signflip import boost_check

LOOPS = {"general": boost, "sign-flip": boost_check}

LINEAR = ("componentwise", "joint", "linear")
"""Learners whose fits have coefficients."""
BLOCKS = (*LINEAR, "spline")
"""Learners made of blocks of columns: a level and slopes in each iteration, and a compiled loop for the check loss."""

DRAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "heavy": lambda rng, size: rng.standard_t(1.5, size=size),
    "skewed": lambda rng, size: np.exp(rng.normal(size=size)),
}


def draw(
    n: int, p: int, seed: int = 0, columns: str = "normal", noise: str = "normal"
) -> tuple[np.ndarray, np.ndarray]:
    """Return y (n,), continuous, and X (n, p); about half the columns matter."""
    rng = np.random.default_rng(seed)
    X = DRAWS[columns](rng, (n, p))
    slopes = rng.normal(size=p) * (np.arange(p) % 2 == 0)
    return 3.0 + X @ slopes + DRAWS[noise](rng, n), X


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    """Return y, two numeric columns x1 and x2, and a factor g of four levels."""
    y, X = draw(n, 2, seed)
    level = np.random.default_rng(seed + 1).integers(0, 4, n)
    level[:4] = np.arange(4)[: len(level)]
    return pd.DataFrame({"y": y + 0.7 * level, "x1": X[:, 0], "x2": X[:, 1], "g": np.array(list("abcd"))[level]})


def paths(model: QBR, stop: int) -> tuple[LinearPath, LinearPath]:
    """Return what the general loop and the compiled loop of its learner make of one model."""
    task = model.task(model.weights)
    assert loop_of(task) is not boost
    return boost(task, stop), loop_of(task)(model.task(model.weights), stop)


def assert_same_path(one: LinearPath, other: LinearPath, tolerance: float = 1e-10) -> None:
    """Assert equal selections, and risks and coefficients equal to `tolerance`.

    Risks are compared one by one; level and slopes relative to the largest of their kind, and to how far the level
    moved: where no column explains anything, slopes are rounding of that (columns have a spread of about 1).
    """
    np.testing.assert_array_equal(one.selected, other.selected)
    assert one.status == other.status
    np.testing.assert_allclose(other.risks, one.risks, rtol=tolerance)
    m = one.length
    moved = abs(one.level_at(m) - one.start)
    assert abs(other.level_at(m) - one.level_at(m)) <= tolerance * max(abs(one.level_at(m)), moved)
    slopes = one.slopes_at(m)
    np.testing.assert_allclose(
        other.slopes_at(m), slopes, rtol=tolerance, atol=tolerance * max(np.abs(slopes).max(initial=0.0), moved)
    )


def silent(**options: Any) -> dict[str, Any]:
    """Return options of a fit that shows no bar."""
    return {"progress": False, **options}
