"""Quantiles by reduction to classification (Langford, Oliveira and Zadrozny 2006), as a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError, check_choice, check_count, check_tau
from qreg_boost.base.class_model import RowsModel
from qreg_boost.base.design import Design
from qreg_boost.base.facts import Facts
from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.base.resampling import run_tasks
from qreg_boost.compose.boosters import Booster, as_booster, restore_parts
from qreg_boost.compose.cuts import Cuts, cuts_by_quantiles, cuts_evenly, cuts_given
from qreg_boost.compose.parts import decisions
from qreg_boost.compose.quanting_results import QuantingResults

SPACINGS = {"quantiles": "by quantiles", "even": "even"}
"""Where cuts are, by name and in words."""
DEFAULTS = {
    "tau": 0.5, "classifier": "logitboost", "cuts": 50, "spacing": "quantiles", "weight_name": "sample_weight",
    "progress": True,
}  # fmt: skip


class Quanting(RowsModel):
    """Quantiles by reduction to classification (Langford, Oliveira and Zadrozny 2006).

    Parameters
    ----------
    y : array_like (n,)
        Response, numeric.
    X : array_like (n, p)
    **options
        Those of `qreg_boost.quanting`.
    names : sequence of str, optional
    weights : array_like (n,), optional
    missing : {"drop", "raise", "branch"}
        "branch" for boosters of stumps or trees.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20.0)
    >>> fit = Quanting(2 * x, x, cuts=19, mstop=50).fit()
    >>> fit.predict([[3.0], [15.0]]).tolist()
    [6.0, 30.0]
    """

    function: ClassVar[str] = "quanting"
    may_branch: ClassVar[bool] = True

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        options = {**DEFAULTS, **{name: value for name, value in given.items() if name in DEFAULTS}}
        inner = {name: value for name, value in given.items() if name not in DEFAULTS}
        options["tau"] = check_tau(options["tau"])
        check_choice(options["spacing"], "spacing", SPACINGS)
        self.booster: Booster = as_booster(options["classifier"], inner, options["weight_name"])
        self.options = {**options, **inner, "classifier": self.booster.name}
        self.call = self._described(design.formula, {**given, "classifier": self.booster.name}, DEFAULTS)
        self.design = design
        self._need_columns()
        self.cuts = self._cuts(options["cuts"], options["spacing"])

    def _cuts(self, cuts: Any, spacing: str) -> Cuts:
        used, weights = self.used, self.design.weights
        y, w = self.design.y[used], None if weights is None else weights[used]
        if np.ptp(y) == 0.0:
            raise InputError(f"Response {self.design.response!r} is {y[0]:g} in every row; there is nothing to fit.")
        if np.ndim(cuts) == 0:
            count = check_count(cuts, "cuts", 1)
            return cuts_by_quantiles(y, count, w) if spacing == "quantiles" else cuts_evenly(y, count)
        at = np.unique(np.asarray(cuts, dtype=float))
        if not len(at) or not (y.min() < at[0] and at[-1] <= y.max()):
            raise InputError(
                f"`cuts` must be a number of cuts, or values above {y.min():g} and at most {y.max():g}, the range of "
                f"{self.design.response!r}: each must have rows below it and at or above it."
            )
        return cuts_given(y, at, w)

    @property
    def tau(self) -> float:
        """Quantile level."""
        return float(self.options["tau"])

    def fit(self) -> QuantingResults:
        """Return the fit: one classifier for each cut."""
        tasks = [(float(cut),) for cut in self.cuts.at]
        parts = tuple(run_tasks(self._part, tasks, 1, self.options["progress"], "classifiers"))
        above = decisions(parts, self.design.X) >= 0.0
        fitted, y, weights = self.cuts.sum_up(above), self.design.y, self.weights
        best = weighted_quantile(y[self.used], self.tau, weights[self.used])
        own = {
            "classifier": self.booster.name,
            "spacing": "given" if np.ndim(self.options["cuts"]) else SPACINGS[self.options["spacing"]],
            "risk": self._risk(y - fitted),
            "null_risk": self._risk(y - best),
            "coverage": float(np.average(y <= fitted, weights=weights)),
            "above": [float(np.average(y >= cut, weights=weights)) for cut in self.cuts.at],
            "predicted_above": np.average(above, axis=0, weights=weights).tolist(),
            "fell": int((np.diff(above.astype(int), axis=1) > 0).any(axis=1).sum()),
        }
        facts = Facts.of(self.design, function=self.function, call=self.call, own=own, tau=self.tau)
        return QuantingResults(facts, parts, self.cuts, self, self.design.encoder)

    def _risk(self, resid: np.ndarray) -> float:
        return float(self.weights @ (resid * (self.tau - (resid < 0.0))))

    def _part(self, cut: float) -> Any:
        """Return the classifier of y >= cut; rows at or above it weigh tau, rows below 1 - tau (times 2)."""
        above = self.design.y >= cut
        importance = np.where(above, self.tau, 1.0 - self.tau) * 2.0
        return self.booster.fit(self.design, above.astype(float), self.weights * importance)


def restore_quanting(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> QuantingResults:
    """Return the results that a file of `QuantingResults.save` holds; with a model if the rows were saved."""
    opened = Quanting.opened(meta, arrays)
    parts, at = restore_parts(meta["fit"], opened.parts["fit"]), opened.parts["cuts"]
    cuts = Cuts(at["at"], at["steps"], float(meta["start"]))
    if opened.model is not None:
        opened.model.cuts = cuts
    return QuantingResults(opened.facts, parts, cuts, opened.model, opened.encoder)
