"""What a step rule remembers of stumps: the last stump on each column, to tell whether the next points against it.

Two stumps on one column point against each other where the sum of w g g' over the rows is negative. A numeric column
without missing values remembers bin of the cut and the values on both sides; any other the value of every bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.boosting.learners.base import TIE
from qreg_boost.boosting.learners.binning import Binned


class StumpMemory:
    """Where the last stump on each column is remembered.

    Parameters
    ----------
    binned : Binned
        K columns.
    weights : ndarray (n,)

    Attributes
    ----------
    at : ndarray (K + 1,)
        Column j's memory is ``last[at[j]:at[j + 1]]``.
    """

    def __init__(self, binned: Binned, weights: np.ndarray) -> None:
        self.compact = ~(binned.missing | binned.unordered)
        self.at = np.concatenate(([0], np.cumsum(np.where(self.compact, 3, binned.bins))))
        self._binned, self._weights = binned, weights
        self._known: dict[int, np.ndarray] = {}

    def _weight(self, j: int) -> np.ndarray:
        """Return the weight of each bin of column j."""
        if j not in self._known:
            size = int(self._binned.bins[j])
            self._known[j] = np.bincount(self._binned.codes[j], weights=self._weights, minlength=size)
        return self._known[j]

    def _values(self, j: int, last: np.ndarray) -> np.ndarray:
        """Return the last stump on column j by bin."""
        own = last[self.at[j] : self.at[j + 1]]
        return np.where(np.arange(self._binned.bins[j]) <= own[0], own[1], own[2]) if self.compact[j] else own

    def turned(self, nodes: Any, last: np.ndarray) -> bool:
        """Return whether a stump, as grown, points against the last on its column."""
        j = int(nodes.column[0])
        if j < 0:
            return False
        w, now, then = self._weight(j), self.by_bin(nodes), self._values(j, last)
        return bool((w * now) @ then < -TIE * np.sqrt((w @ now**2) * (w @ then**2)))

    def remember(self, nodes: Any, last: np.ndarray) -> None:
        """Note a stump, as grown, in `last`."""
        j = int(nodes.column[0])
        if j < 0:
            return
        now = self.by_bin(nodes)
        if self.compact[j]:
            cut = int(np.argmax(self._binned.cuts[self._binned.offsets[j] :] >= nodes.cut[0]))
            now = np.array([cut, nodes.value[1], nodes.value[2]])
        last[self.at[j] : self.at[j + 1]] = now

    def by_bin(self, nodes: Any) -> np.ndarray:
        """Return the values of a stump, as grown, by bin of its column."""
        j, b = int(nodes.column[0]), self._binned
        bins = int(b.bins[j])
        if b.unordered[j]:
            left = np.zeros(bins, dtype=bool)
            left[: len(nodes.sets[0])] = nodes.sets[0][:bins]
        else:
            left = b.cuts[b.offsets[j] : b.offsets[j + 1]] <= nodes.cut[0]
        if b.missing[j]:
            left[-1] = nodes.missing_left[0]
        return np.where(left, nodes.value[1], nodes.value[2])
