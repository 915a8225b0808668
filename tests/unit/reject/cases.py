"""Small data with an overlap of both classes."""

from __future__ import annotations

import numpy as np
import pandas as pd


def overlapping(n: int = 120, seed: int = 0, p: int = 2) -> pd.DataFrame:
    """Return columns a, b, ..., in different units, and y, "no" or "yes", uncertain about a plane."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    index = X @ np.linspace(2.0, 1.0, p) + 1.2 * rng.standard_normal(n)
    data = pd.DataFrame(X * 10.0 ** np.arange(p) + 3.0, columns=list("abcdef")[:p])
    data["y"] = np.where(index > 0.3, "yes", "no")
    return data
