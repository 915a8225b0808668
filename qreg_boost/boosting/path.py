"""The record of a boosting run: the start, and per iteration the learner chosen and what it added."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qreg_boost.boosting.learners.base import Memory
from qreg_boost.boosting.losses import Loss


def stalled(m: int) -> str:
    """Return the status of a run whose step became 0 at iteration m.

    >>> stalled(7)
    'stalled at iteration 7'
    """
    return f"stalled at iteration {m}"


@dataclass(frozen=True)
class BoostPath:
    """A run of linear learners; M iterations, p columns.

    The fit at iteration m is ``start + sum(levels[:m])`` plus, for each column, the sum of its slopes so far times the
    distance of the column from its centre. Stored per iteration, never as M x p.

    Attributes
    ----------
    names : tuple of str
        Learner names, as `selected` numbers them.
    blocks : ndarray (b + 1,)
        Block k owns columns ``blocks[k]:blocks[k + 1]``.
    centre : ndarray (p,)
    intercept_learner : bool
        Whether learner 0 is the intercept; then learner k + 1 is block k.
    start : float
        The constant that the fit starts from, in units of y.
    selected : ndarray (M,) of int32
    levels : ndarray (M,)
        What each iteration added to every row, in units of y.
    slopes : ndarray
        What each iteration added to the slopes of its block, one iteration after the other.
    risks : ndarray (M + 1,)
        Weighted sum of losses after 0..M iterations.
    memory : Memory
        What the step rule remembers at iteration M, so that the run can go on.
    status : str
        "complete", or why the run ended before it was asked to.
    """

    names: tuple[str, ...]
    blocks: np.ndarray
    centre: np.ndarray
    intercept_learner: bool
    start: float
    selected: np.ndarray
    levels: np.ndarray
    slopes: np.ndarray
    risks: np.ndarray
    memory: Memory
    status: str = "complete"

    @property
    def length(self) -> int:
        """Number of iterations run."""
        return len(self.selected)

    def _sizes(self) -> np.ndarray:
        sizes = np.diff(self.blocks)
        return np.concatenate(([0], sizes)) if self.intercept_learner else sizes

    def _entries(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return iteration, column and value of every slope added in the first m iterations."""
        selected = self.selected[:m]
        sizes = self._sizes()[selected]
        first = np.concatenate(([0], self.blocks[:-1])) if self.intercept_learner else self.blocks[:-1]
        iteration = np.repeat(np.arange(m), sizes)
        ends = np.cumsum(sizes)
        within = np.arange(int(ends[-1]) if m else 0) - np.repeat(ends - sizes, sizes)
        return iteration, np.repeat(first[selected], sizes) + within, self.slopes[: len(iteration)]

    def slopes_at(self, m: int) -> np.ndarray:
        """Return the slopes (p,) after m iterations."""
        _, column, value = self._entries(m)
        return np.bincount(column, weights=value, minlength=len(self.centre)).astype(float)

    def level_at(self, m: int) -> float:
        """Return the fit after m iterations at the centre of all columns."""
        return self.start + (float(np.cumsum(self.levels[:m])[-1]) if m else 0.0)

    def intercept_at(self, m: int) -> float:
        """Return the fit after m iterations where all columns are 0."""
        return self.level_at(m) - float(self.slopes_at(m) @ self.centre)

    def coefficients(self, m: int) -> np.ndarray:
        """Return intercept and slopes (m + 1, 1 + p) after 0..m iterations."""
        iteration, column, value = self._entries(m)
        table = np.zeros((m + 1, 1 + len(self.centre)))
        table[1:, 0] = self.levels[:m]
        np.add.at(table, (iteration + 1, column + 1), value)
        np.cumsum(table, axis=0, out=table)
        table[:, 0] += self.start - table[:, 1:] @ self.centre
        return table

    def fit_at(self, m: int, X: np.ndarray) -> np.ndarray:
        """Return the fit (rows,) after m iterations at X (rows, p), in units of y, offset not included."""
        slopes = self.slopes_at(m)
        used = np.flatnonzero(slopes)
        return self.level_at(m) + (X[:, used] - self.centre[used]) @ slopes[used]

    def risk_along(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, loss: Loss) -> np.ndarray:
        """Return the weighted MEAN loss (M + 1,) after 0..M iterations on other rows, y (rows,) less any offset."""
        centred = np.asfortranarray(X - self.centre)
        sizes = self._sizes()[self.selected]
        ends = np.cumsum(sizes)
        f = np.full(len(y), self.start)
        risks = np.empty(self.length + 1)
        risks[0] = loss.risk(y, f, weights)
        for m, block in enumerate(self.selected - self.intercept_learner):
            f += self.levels[m]
            if sizes[m]:
                f += centred[:, self.blocks[block] : self.blocks[block + 1]] @ self.slopes[ends[m] - sizes[m] : ends[m]]
            risks[m + 1] = loss.risk(y, f, weights)
        return risks / weights.sum()

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the path as values that JSON holds, and arrays: selections in the smallest type there is."""
        meta = {
            "names": list(self.names),
            "intercept_learner": self.intercept_learner,
            "start": self.start,
            "status": self.status,
        }
        arrays = {name: getattr(self, name) for name in ("blocks", "centre", "selected", "levels", "slopes", "risks")}
        arrays |= {f"memory_{name}": getattr(self.memory, name) for name in ("chosen", "turns", "last")}
        arrays["selected"] = self.selected.astype(np.min_scalar_type(len(self.names)))
        return meta, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> BoostPath:
        """Return the path that `state` wrote."""
        memory = Memory(*(arrays[f"memory_{name}"] for name in ("chosen", "turns", "last")))
        kept = {name: array for name, array in arrays.items() if not name.startswith("memory_")}
        given: dict[str, Any] = {**meta, **kept, "names": tuple(meta["names"]), "memory": memory}
        return cls(**{**given, "selected": arrays["selected"].astype(np.int32)})

    def followed_by(self, tail: BoostPath) -> BoostPath:
        """Return this path continued by a run that started where it ends."""
        return replace(
            self,
            selected=np.concatenate((self.selected, tail.selected)),
            levels=np.concatenate((self.levels, tail.levels)),
            slopes=np.concatenate((self.slopes, tail.slopes)),
            risks=np.concatenate((self.risks, tail.risks[1:])),
            memory=tail.memory,
            status=stalled(self.length + tail.length) if tail.status == stalled(tail.length) else tail.status,
        )
