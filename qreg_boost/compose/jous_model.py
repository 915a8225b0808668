"""JOUS-Boost (Mease, Wyner and Buja 2007) as a model: probabilities by classifiers at a grid of levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_choice, check_count
from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design
from qreg_boost.base.resampling import generator, run_tasks
from qreg_boost.compose.boosters import Booster, as_booster, restore_parts
from qreg_boost.compose.cuts import read_off
from qreg_boost.compose.jous_results import JousResults
from qreg_boost.compose.parts import decisions
from qreg_boost.compose.resample import Sample, oversampled, spread_to_jitter, undersampled

SAMPLINGS = ("over", "under")
DEFAULTS = {
    "event": None, "booster": "adaboost", "grid": 10, "sampling": "over", "jitter": 1.0, "rng": 0, "progress": True,
}  # fmt: skip


class Jous(ClassModel):
    """JOUS-Boost (Mease, Wyner and Buja 2007): class probabilities by boosting with jittered over- or under-sampling.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones; the second is the event.
    X : array_like (n, p)
    **options
        Those of `qreg_boost.jous`.
    names : sequence of str, optional
    weights : array_like (n,), optional
        Whole numbers: a row is taken so many times.
    missing : {"drop", "raise", "branch"}
        "branch" for boosters of stumps or trees.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40.0)
    >>> fit = Jous(x >= 20, x, mstop=20).fit()
    >>> fit.probability([[2.0], [37.0]]).round(2).tolist()
    [0.05, 0.95]
    """

    function: ClassVar[str] = "jous"
    may_branch: ClassVar[bool] = True

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        options = {**DEFAULTS, **{name: value for name, value in given.items() if name in DEFAULTS}}
        inner = {name: value for name, value in given.items() if name not in DEFAULTS}
        if inner.get("tau") is not None or inner.get("cost") is not None:
            raise InputError("JOUS-Boost covers all levels of its grid; state tau in predict(new, tau=...).")
        options["grid"] = check_count(options["grid"], "grid", 2)
        if options["grid"] % 2:
            raise InputError(
                f"`grid` must be even, so that 1/2 is among the levels 1/grid, 2/grid, ...; got {options['grid']}."
            )
        check_choice(options["sampling"], "sampling", SAMPLINGS)
        jitter = options["jitter"]
        if isinstance(jitter, bool) or not isinstance(jitter, (int, float)) or not 0.0 <= jitter < np.inf:
            raise InputError(f"`jitter` must be a number of at least 0, in standard deviations; got {jitter!r}.")
        self.booster: Booster = as_booster(options["booster"], inner)
        self._read(design, options["event"])
        weights = self.design.weights
        if weights is not None and (weights != np.round(weights)).any():
            raise InputError("JOUS-Boost samples rows, so `weights` must be whole numbers: how often a row counts.")
        options["event"] = self.levels.labels[1]
        self.options = {**options, **inner, "booster": self.booster.name}
        self.call = self._described(design.formula, {**given, "booster": self.booster.name}, DEFAULTS)

    @property
    def grid(self) -> np.ndarray:
        """The levels 1/grid, ..., 1 - 1/grid."""
        d = self.options["grid"]
        return np.arange(1, d) / d

    def fit(self) -> JousResults:
        """Return the fit: one classifier for each level."""
        design, weights = self.design, self.design.weights
        known = np.ones(len(design.y)) if weights is None else weights
        rows = np.repeat(np.arange(len(design.y)), known.astype(np.intp))
        X, y = np.ascontiguousarray(design.X[rows]), design.y[rows]
        jitter = float(self.options["jitter"]) * spread_to_jitter(X)
        seeds = generator(self.options["rng"]).integers(2**63, size=len(self.grid))
        samples = [self._sample(X, y, step, jitter, int(seeds[step - 1])) for step in range(1, self.options["grid"])]
        tasks = [(one, y) for one in samples]
        parts = tuple(run_tasks(self._part, tasks, 1, self.options["progress"], "classifiers"))
        above = decisions(parts, design.X) >= 0.0
        p = read_off(above)
        facts = self.facts(
            (p > 0.5).astype(float),
            booster=self.booster.name,
            grid=self.options["grid"],
            sampling=self.options["sampling"],
            jitter=float(self.options["jitter"]),
            levels_of_p=self.grid.tolist(),
            rows=[len(one.rows) for one in samples],
            flagged=np.average(above, axis=0, weights=known).tolist(),
            errors=[self._error(part, one, y) for part, one in zip(parts, samples, strict=True)],
            brier=float(np.average((p - np.nan_to_num(design.y)) ** 2, weights=known)),
        )
        return JousResults(facts, parts, self, design.encoder)

    def _sample(self, X: np.ndarray, y: np.ndarray, step: int, jitter: np.ndarray, seed: int) -> Sample:
        """Return rows in which P = step / grid has become even odds: q of the other class for 1 - q of the event."""
        rng = np.random.default_rng(seed)
        copies = (step, self.options["grid"] - step)
        shared = int(np.gcd(*copies))
        copies = (copies[0] // shared, copies[1] // shared)
        if self.options["sampling"] == "under":
            return undersampled(X, y, copies, rng)
        return oversampled(X, y, copies, jitter, rng)

    def _part(self, sample: Sample, y: np.ndarray) -> Any:
        m = len(sample.rows)
        rows = replace(
            self.design, X=sample.X, y=y[sample.rows], weights=None, index=pd.RangeIndex(m), rows=np.arange(m)
        )
        return self.booster.fit(rows, y[sample.rows], None)

    @staticmethod
    def _error(part: Any, sample: Sample, y: np.ndarray) -> float:
        return float(np.mean((part.decision_at(sample.X) >= 0.0) != (y[sample.rows] > 0.5)))


def restore_jous(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> JousResults:
    """Return the results that a file of `JousResults.save` holds; with a model if the rows were saved."""
    opened = Jous.opened(meta, arrays)
    return JousResults(opened.facts, restore_parts(meta["fit"], opened.parts["fit"]), opened.model, opened.encoder)
