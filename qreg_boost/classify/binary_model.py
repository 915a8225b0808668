"""Binary quantile regression as a model: formula or arrays in, results out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import (
    BoundWarning,
    ConvergenceWarning,
    InputError,
    OneClassWarning,
    check_choice,
    check_count,
    check_options,
    check_positive,
    check_tau,
    listed,
    nearest,
    warn,
)
from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design
from qreg_boost.base.rank import independent_columns
from qreg_boost.base.resampling import generator, run_tasks
from qreg_boost.classify.binary_results import BinaryQRegResults
from qreg_boost.classify.scale import FARTHEST, OneColumn, Scale, UnitSlopes
from qreg_boost.classify.score import Score, Standard
from qreg_boost.classify.search import (
    Found,
    best_of,
    by_annealing,
    climb,
    count_fixed_starts,
    from_many_starts,
    unsmoothed,
    warm_starts,
)

METHODS = ("multistart", "annealing")
SLOPES = "slopes"
DEFAULTS = {
    "tau": 0.5, "event": None, "h": 0.1, "normalize": SLOPES, "method": "multistart", "starts": 100,
    "iterations": 1000, "rng": 0, "progress": True,
}  # fmt: skip
NARROW = (0.1, 0.03)
"""Widths at which an unsmoothed score is searched for."""


class BinaryQReg(ClassModel):
    """Binary quantile regression (Kordas 2006): the hyperplane of greatest smoothed score.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones; the second is the event.
    X : array_like (n, p)
        Predictors; the intercept is added.
    **options
        Those of `qreg_boost.binary_qreg`.
    names : sequence of str, optional
    weights : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> fit = BinaryQReg([0, 0, 1, 0, 1, 1], x, names=["x"]).fit()
    >>> fit.predict([[1.5], [5.5]]).tolist()
    [0, 1]
    """

    function: ClassVar[str] = "binary_qreg"

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        check_options(given, DEFAULTS)
        options = {**DEFAULTS, **given}
        options["tau"] = check_tau(options["tau"])
        if not (isinstance(options["h"], (int, float)) and options["h"] == 0 and options["h"] is not False):
            advice = " It is the width of the smoothing; 0 is the unsmoothed score."
            options["h"] = check_positive(options["h"], "h", advice=advice)
        check_choice(options["method"], "method", METHODS)
        options["starts"] = check_count(options["starts"], "starts")
        options["iterations"] = check_count(options["iterations"], "iterations", 1)
        self._read(design, options["event"])
        options["event"] = self.levels.labels[1]
        self.options = options
        self.call = self._described(design.formula, given, DEFAULTS)
        self._check_columns()

    @property
    def tau(self) -> float:
        """Quantile level."""
        return float(self.options["tau"])

    def _check_columns(self) -> None:
        design, used = self.design, self.used
        X, names = design.X[used], design.column_names
        flat = np.flatnonzero(np.ptp(X, axis=0) == 0.0)
        if len(flat):
            raise InputError(
                f"{listed(repr(names[j]) for j in flat)} {'is' if len(flat) == 1 else 'are'} the same in every row "
                "fitted and cannot be standardised. Leave such columns out of the formula."
            )
        columns = np.column_stack((np.ones(len(X)), X)) if design.intercept else X
        first, weights = int(design.intercept), design.weights
        kept = independent_columns(columns, weights=None if weights is None else weights[used])
        lost = [names[j - first] for j in range(columns.shape[1]) if j not in set(kept.tolist())]
        if lost:
            raise InputError(
                f"{listed(map(repr, lost))} {'is' if len(lost) == 1 else 'are'} determined by the columns before "
                f"({len(X)} rows, {columns.shape[1]} columns), so the coefficients are not unique. Leave them out."
            )
        normalize = self.options["normalize"]
        if normalize != SLOPES and normalize not in names:
            hint = nearest(str(normalize), [SLOPES, *names])
            raise InputError(
                f'`normalize` must be "slopes" or the name of a column; got {normalize!r}.{hint} '
                f"Columns: {listed(names)}."
            )

    # -- the fit

    def fit(self) -> BinaryQRegResults:
        """Return the fit."""
        score, standard = self._score()
        scales = self.scales(score)
        found = self._search(score, scales)
        theta = standard.back(found.theta, score.intercept) * self.unit(standard)
        decision = self.design.X @ theta[int(score.intercept) :] + (theta[0] if score.intercept else 0.0)
        facts = self.facts(
            (decision >= 0.0).astype(float),
            self.tau,
            h=float(self.options["h"]),
            normalize=self.options["normalize"],
            method=self.options["method"],
            starts=self._count_starts(score, scales) if self.options["method"] == "multistart" else 0,
            score=found.score,
            bound=score.bound,
            evaluations=found.evaluations,
        )
        fit = BinaryQRegResults(facts, found, standard, self, self.design.encoder)
        self._judge(fit)
        return fit

    def _score(self) -> tuple[Score, Standard]:
        design, used = self.design, self.used
        weights = None if design.weights is None else design.weights[used]
        standard = Standard.of(design.X[used], weights, design.intercept)
        Z = standard.apply(design.X[used])
        return Score.of(Z, design.y[used], self.tau, float(self.options["h"]), weights, design.intercept), standard

    def unit(self, standard: Standard) -> float:
        """Return what coefficients on the data's scale are multiplied by: the named column's then has size 1."""
        name = self.options["normalize"]
        return 1.0 if name == SLOPES else float(standard.spread[self.design.column_names.index(name)])

    def scales(self, score: Score) -> list[Scale]:
        """Return the normalisations to search: one, or the two signs of the named column."""
        first, k = int(score.intercept), score.D.shape[1]
        reach = float(np.sqrt((score.D[:, first:] ** 2).sum(axis=1)).max())
        name, h = self.options["normalize"], max(score.h, min(NARROW))
        if name == SLOPES:
            return [UnitSlopes(first, reach, h, k)]
        at = first + self.design.column_names.index(name)
        return [OneColumn(first, reach, h, k, at, sign) for sign in (1.0, -1.0)]

    def _count_starts(self, score: Score, scales: list[Scale]) -> int:
        widths = 1 if score.h > 0.0 else len(NARROW)
        return len(scales) * widths * (count_fixed_starts(score) + self.options["starts"])

    def _search(self, score: Score, scales: list[Scale]) -> Found:
        options = self.options
        rng = generator(options["rng"])
        if options["method"] == "annealing":
            return best_of([by_annealing(score, scale, options["iterations"], rng) for scale in scales], score.bound)
        widths = NARROW if score.h == 0.0 else (score.h,)
        with _bar(self._count_starts(score, scales), options["progress"]) as bar:
            found = [
                from_many_starts(score.at(width), scale, options["starts"], rng, bar.update if bar else _silent)
                for scale in scales
                for width in widths
            ]
        merged = best_of(found, score.bound)
        return merged if score.h > 0.0 else unsmoothed(score, merged)

    def _judge(self, fit: BinaryQRegResults) -> None:
        own = fit.facts.own
        if fit.separated:
            warn(
                f"The predictors tell {fit.classes[1]!r} from {fit.classes[0]!r} without error: the score is "
                f"{own['score']:.6g} of at most {own['bound']:.6g}. Many hyperplanes do, and the coefficients are "
                "those of one of them.",
                ConvergenceWarning,
            )
        flagged = fit.confusion().sum(axis=0).to_numpy() > 0
        if flagged.sum() == 1:
            warn(
                f"{fit.classes[int(flagged[1])]!r} is predicted for every row: at tau={self.tau:g} the event is "
                f"flagged where its probability exceeds {1.0 - self.tau:.6g}, and no half-space was found that pays. "
                "Another tau flags more or fewer.",
                OneClassWarning,
            )
        if self.options["normalize"] != SLOPES and np.abs(fit.found.theta).max() >= FARTHEST:
            warn(
                f"Another coefficient is {FARTHEST:g} times that of {self.options['normalize']!r}, the limit of the "
                'search: that column hardly matters. normalize="slopes" has no such limit.',
                BoundWarning,
            )

    # -- what results may ask of their model

    def bootstrap(self, found: Found, reps: int, rng: Any, n_jobs: int, progress: bool) -> np.ndarray:
        """Return the coefficients (reps, k) on the data's scale of fits to rows drawn with replacement.

        Each is climbed to from the best maxima of the fit and from the linear start, on the fit's standard scale.
        """
        score, standard = self._score()
        scales, n = self.scales(score), len(score.d)
        starts = warm_starts(found)
        seeds = generator(rng).integers(2**63, size=reps)

        def once(seed: int) -> np.ndarray:
            counts = np.bincount(np.random.default_rng(seed).integers(n, size=n), minlength=n)
            drawn = Score(score.D, score.d * counts, score.h, score.intercept)
            climbs = [climb(drawn, scale, theta, led) for scale in scales for theta, led in starts(drawn, scale)]
            best = max(climbs, key=lambda one: one.score)
            return standard.back(best.theta, score.intercept) * self.unit(standard)

        return np.array(run_tasks(once, [(int(s),) for s in seeds], n_jobs, progress, "bootstrap"))


def restore_binary(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> BinaryQRegResults:
    """Return the results that a file of `BinaryQRegResults.save` holds; with a model if the rows were saved."""
    opened = BinaryQReg.opened(meta, arrays)
    own, fit = opened.facts.own, opened.parts["fit"]
    standard = Standard(fit["centre"], fit["spread"])
    found = Found(fit["thetas"][0], own["score"], fit["thetas"], fit["scores"], fit["reached"], own["evaluations"])
    return BinaryQRegResults(opened.facts, found, standard, opened.model, opened.encoder)


def _silent() -> None:
    return None


def _bar(total: int, shown: bool) -> Any:
    if not shown:
        return nullcontext()
    from tqdm import tqdm

    return tqdm(total=total, desc="binary_qreg", unit="start", delay=2.0, leave=False)
