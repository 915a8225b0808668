"""Fitted classifiers of two classes as parts of something larger: what they decide, what a file holds of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from qreg_boost.base.checks import InputError


@dataclass(frozen=True)
class MarginLoss:
    """The loss of a booster of this package, by name, as a function of the margin; `h` is qbc's.

    >>> MarginLoss("adaboost")(np.zeros(1)).tolist()
    [1.0]
    """

    name: str
    h: float = 0.1

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Return the losses of margins, of their shape."""
        if self.name == "qbc":
            return np.asarray(ndtr(-z / self.h))
        if self.name == "adaboost":
            return np.exp(np.minimum(-0.5 * z, 700.0))
        return np.logaddexp(0.0, -2.0 * z) if self.name == "logitboost" else (0.5 - z) ** 2


@dataclass(frozen=True)
class FittedEstimator:
    """An estimator that was fitted to labels 0 and 1."""

    estimator: Any

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return a number (rows,) that is at least 0 where the label 1 is predicted."""
        if hasattr(self.estimator, "decision_function"):
            return np.asarray(self.estimator.decision_function(X), dtype=float).reshape(len(X))
        if hasattr(self.estimator, "predict_proba"):
            return np.asarray(self.estimator.predict_proba(X), dtype=float)[:, 1] - 0.5
        return 2.0 * np.asarray(self.estimator.predict(X), dtype=float) - 1.0

    def state(self, data: bool) -> Any:
        """Refuse: only code can say what an estimator is."""
        raise InputError(
            f"The fit holds fitted {type(self.estimator).__name__} objects, which a file that is read without running "
            "code cannot hold. Use a booster of this package, or pickle the fit and load it where you trust the file."
        )


def decisions(parts: tuple[Any, ...], X: np.ndarray) -> np.ndarray:
    """Return the decision functions (rows, parts) at rows of the design, NaN where a row misses what parts need."""
    F = np.full((len(X), len(parts)), np.nan)
    branches = all(hasattr(part, "path") and part.path.handles_missing() for part in parts)
    known = np.ones(len(X), dtype=bool) if branches else ~np.isnan(X).any(axis=1)
    if known.any():
        rows = np.ascontiguousarray(X[known])
        F[known] = np.column_stack([part.decision_at(rows) for part in parts])
    return F


def parts_state(parts: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what a file must hold of the parts."""
    metas: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for position, part in enumerate(parts):
        meta, own = part.state(False)
        metas.append(meta)
        arrays |= {f"{position}.{name}": array for name, array in own.items()}
    return {"parts": metas}, arrays
