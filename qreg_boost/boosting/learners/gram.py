"""The factor of a block of columns as a least-squares learner."""

from __future__ import annotations

import numpy as np

from qreg_boost.base.rank import independent_columns

FAINT = 1e-8
"""A direction of a block this short, relative to its longest, is dependent on the others but for rounding."""


def gram_factor(X: np.ndarray, centre: np.ndarray, varies: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return T (k, k) with T T' = G^-1 on the columns that vary and are independent, left to right; else rows are 0.

    Each column kept may stand clear of those before it while all together are dependent but for rounding: directions
    whose length is below `FAINT` of the longest are left out too.
    """
    centred = np.sqrt(weights)[:, None] * np.where(varies, X - centre, 0.0)
    kept = independent_columns(centred)
    scale = np.sqrt((centred[:, kept] ** 2).sum(axis=0))
    _, lengths, directions = np.linalg.svd(np.linalg.qr(centred[:, kept] / scale, mode="r"), full_matrices=False)
    clear = lengths > FAINT * lengths.max(initial=0.0)
    factor = np.zeros((X.shape[1], X.shape[1]))
    own = directions[clear].T / lengths[clear] / scale[:, None]
    factor[np.ix_(kept, np.arange(own.shape[1]))] = own
    return factor
