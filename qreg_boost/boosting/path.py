"""The record of a boosting run: the start, and per iteration the learner chosen and what it added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qreg_boost.boosting.learners.base import Memory
from qreg_boost.boosting.losses import Judge


def stalled(m: int) -> str:
    """Return the status of a run whose step became 0 at iteration m.

    >>> stalled(7)
    'stalled at iteration 7'
    """
    return f"stalled at iteration {m}"


def converged(m: int) -> str:
    """Return the status of a run at the least of a smooth convex loss, but for rounding, after m iterations.

    >>> converged(7)
    'converged at iteration 7'
    """
    return f"converged at iteration {m}"


def vanished(m: int) -> str:
    """Return the status of a run whose negative gradient became 0 in every row at iteration m.

    >>> vanished(7)
    'the gradient vanished at iteration 7'
    """
    return f"the gradient vanished at iteration {m}"


def perfect(m: int) -> str:
    """Return the status of a run whose learner at iteration m made no error.

    >>> perfect(1)
    'a perfect learner at iteration 1'
    """
    return f"a perfect learner at iteration {m}"


@dataclass(frozen=True, kw_only=True)
class BoostPath(ABC):
    """A run of M iterations with any of L learners; each kind of learner has a path of its own kind.

    Attributes
    ----------
    names : tuple of str
        L learner names, as `selected` numbers them.
    start : float
        The constant that the fit starts from, in units of the fit.
    selected : ndarray (M,) of int32
        The learner chosen; for learners that use several terms at once, the one that gained most.
    risks : ndarray (M + 1,)
        Weighted sum of losses after 0..M iterations.
    memory : Memory
        What the step rule remembers at iteration M, so that the run can go on.
    status : str
        "complete", or why the run ended before it was asked to.
    """

    kind: ClassVar[str]

    names: tuple[str, ...]
    start: float
    selected: np.ndarray
    risks: np.ndarray
    memory: Memory
    status: str = "complete"

    @property
    def length(self) -> int:
        """Number of iterations run."""
        return len(self.selected)

    # -- who did what

    def shares(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return iteration (0-based), learner and share in that iteration of every use of a learner in the first m."""
        return np.arange(m), self.selected[:m], np.ones(m)

    # -- fits

    @abstractmethod
    def increments(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield what each iteration adds to the fit at X (rows, p), in units of the fit."""

    def fit_at(self, m: int, X: np.ndarray) -> np.ndarray:
        """Return the fit (rows,) after m iterations at X (rows, p), offset not included."""
        f = np.full(len(X), self.start)
        for _, added in zip(range(m), self.increments(X), strict=False):
            f += added
        return f

    def risk_along(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, loss: Judge) -> np.ndarray:
        """Return the weighted MEAN loss (M + 1,) after 0..M iterations on other rows, y (rows,) less any offset."""
        f = np.full(len(y), self.start)
        risks = np.empty(self.length + 1)
        risks[0] = loss.risk(y, f, weights)
        for m, added in enumerate(self.increments(X), start=1):
            f += added
            risks[m] = loss.risk(y, f, weights)
        return risks / weights.sum()

    @property
    def additive(self) -> bool:
        """Whether the fit is a sum of functions of one term each."""
        return False

    def span(self, column: int) -> tuple[float, float] | None:
        """Return the range of a predictor in training where the path knows it, else None."""
        return None

    @abstractmethod
    def handles_missing(self) -> bool:
        """Return whether rows of X in which something is missing have a fit."""

    # -- saving, continuing

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the path as values that JSON holds, and arrays: selections in the smallest type there is."""
        own_meta, own_arrays = self._own_state()
        meta = {"kind": self.kind, "names": list(self.names), "start": self.start, "status": self.status, **own_meta}
        arrays = {f"memory_{name}": getattr(self.memory, name) for name in ("chosen", "turns", "last")}
        arrays |= {"selected": self.selected.astype(np.min_scalar_type(len(self.names))), "risks": self.risks}
        return meta, arrays | own_arrays

    @abstractmethod
    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a kind of path holds besides the attributes of every path."""

    @classmethod
    @abstractmethod
    def _from_own_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], shared: dict[str, Any]) -> Any:
        """Return the path of `_own_state`; `shared` are the attributes of every path."""

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> BoostPath:
        """Return the path that `state` wrote; `cls` is its kind."""
        shared = {
            "names": tuple(meta["names"]),
            "start": float(meta["start"]),
            "selected": arrays["selected"].astype(np.int32),
            "risks": arrays["risks"],
            "memory": Memory(*(arrays[f"memory_{name}"] for name in ("chosen", "turns", "last"))),
            "status": str(meta["status"]),
        }
        return cls._from_own_state(meta, arrays, shared)

    @abstractmethod
    def followed_by(self, tail: Any) -> BoostPath:
        """Return this path continued by a run that started where it ends."""

    def _joined(self, tail: BoostPath) -> dict[str, Any]:
        """Return the attributes of every path of this path continued by another."""
        status = tail.status
        for ended in (converged, stalled, vanished, perfect):
            if status == ended(tail.length):
                status = ended(self.length + tail.length)
        return {
            "selected": np.concatenate((self.selected, tail.selected)),
            "risks": np.concatenate((self.risks, tail.risks[1:])),
            "memory": tail.memory,
            "status": status,
        }
