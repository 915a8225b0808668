"""Rows that the tests of quantile regressions share."""

from __future__ import annotations

import numpy as np
import pandas as pd

import qreg_boost as qb

ENGEL = qb.datasets.load("engel")


def frame(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x = rng.uniform(1.0, 5.0, n)
    g = rng.choice(["a", "b", "c"], n)
    y = 1.0 + 2.0 * x + (g == "b") + x * rng.standard_t(3, n)
    return pd.DataFrame({"y": y, "x": x, "g": g, "w": rng.uniform(0.5, 2.0, n), "z": rng.normal(size=n)})


DATA = frame()
