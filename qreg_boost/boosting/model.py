"""Quantile Boost Regression as a model: formula or arrays in, results out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import LARGEST, ConvergenceWarning, InputError, listed, nearest, warn
from qreg_boost.base.design import Design, Encoder, Term
from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.base.rank import independent_columns
from qreg_boost.boosting.facts import BoostFacts
from qreg_boost.boosting.learners import LinearBlocks, Predictors
from qreg_boost.boosting.loop import Task, boost
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.path import BoostPath
from qreg_boost.boosting.results import BoostResults
from qreg_boost.boosting.settings import Settings, describe_call
from qreg_boost.boosting.steps import STEPS, step_unit
from qreg_boost.boosting.stopping import CV, CVResult, cross_validate

RISEN = 1.05
"""A loss that ends this much above its start says that the steps are too long."""
ROUNDING = 1e-10
"""A residual this small, in units of the spread of y, is 0 but for rounding."""


class QBR:
    """Quantile Boost Regression (Zheng 2012): functional gradient descent on the check loss.

    Arrays are used as they are, without a copy: do not change them while the model or its fits are in use.

    Parameters
    ----------
    y : array_like (n,)
        Response, numeric.
    X : array_like (n, p)
        Predictors as they are; the intercept belongs to the learner and is not among them.
    tau : float or sequence of floats
        Quantile level, strictly between 0 and 1; with several, `fit` returns a `QuantileProcess`.
    names : sequence of str, optional
        Names of the predictors; by default those of a DataFrame, else x1, x2, ...
    weights, offset : array_like (n,), optional
    missing : {"drop", "raise"}
    **options
        `learner`, `mstop`, `nu`, `step`, `init`, `step_scale`, `progress`: see `qreg_boost.qbr`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20.0)
    >>> fit = QBR(3 + 2 * x, x, tau=0.5).fit()
    >>> fit.params.round(2).to_dict()
    {'Intercept': 3.0, 'x1': 2.0}
    """

    def __init__(
        self,
        y: Any,
        X: Any,
        tau: Any = 0.5,
        *,
        names: Sequence[str] | None = None,
        weights: Any = None,
        offset: Any = None,
        missing: str = "drop",
        **options: Any,
    ) -> None:
        design = Design.from_arrays(y, X, names=names, weights=weights, offset=offset, missing=missing)
        self._set(design, tau, options, describe_call("QBR(y, X, ", tau, options))

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        tau: Any = 0.5,
        *,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        missing: str = "drop",
        env: Any = None,
        **options: Any,
    ) -> QBR:
        """Return the model of a formula; arguments as in `qreg_boost.qbr`.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        design = Design.from_formula(
            formula, data, weights=weights, offset=offset, subset=subset, missing=missing, env=env
        )
        return cls.from_design(design, tau, describe_call(f'qbr("{formula}", data, ', tau, options), **options)

    @classmethod
    def from_design(cls, design: Design, tau: Any = 0.5, call: str = "", **options: Any) -> QBR:
        """Return the model of a design that is already there."""
        model = cls.__new__(cls)
        model._set(design, tau, options, call or describe_call("QBR(y, X, ", tau, options))
        return model

    def _set(self, design: Design, tau: Any, options: Mapping[str, Any], call: str) -> None:
        unknown = [name for name in options if name not in Settings.__dataclass_fields__ or name == "tau"]
        if unknown:
            known = [name for name in Settings.__dataclass_fields__ if name != "tau"]
            raise InputError(f"Unknown option {unknown[0]!r}.{nearest(unknown[0], known)} Options: {', '.join(known)}.")
        several = isinstance(tau, (list, tuple, np.ndarray)) or hasattr(tau, "to_numpy")
        self.design = design
        self.tau = list(tau) if several else tau
        if several and not self.tau:
            raise InputError("`tau` is an empty list; give at least one quantile level between 0 and 1.")
        if several and len(set(self.tau)) < len(self.tau):
            raise InputError(f"`tau` names a quantile level twice: {listed(self.tau)}.")
        self.call = call
        self._options = dict(options)
        self.settings = tuple(Settings(tau=one, **options) for one in (self.tau if several else [tau]))

    @property
    def formula(self) -> str | None:
        """The formula as written; None for a model of arrays."""
        return self.design.formula

    @property
    def learner(self) -> str:
        """Name of the base learner."""
        return self._one.learner.name

    @property
    def _one(self) -> Settings:
        return self.settings[0]

    def fit(self) -> Any:
        """Return the fit: `BoostResults`, or a `QuantileProcess` for a list of taus."""
        if isinstance(self.tau, list):
            from qreg_boost.base.process import QuantileProcess

            fits = [QBR.from_design(self.design, tau, self.call, **self._options).fit() for tau in self.tau]
            return QuantileProcess(self.tau, fits)
        cv = self._one.mstop
        if isinstance(cv, int):
            return self._results(self._run(self._task, cv), "fixed")
        chosen = self.cross_validate(cv)
        how = f"{chosen.kind}, rule {cv.rule}"
        return self._results(self._run(self._task, chosen.mstop), how, chosen)

    def _results(self, path: BoostPath, how: str, chosen: CVResult | None = None) -> BoostResults:
        if path.risks[-1] > RISEN * path.risks[0]:
            warn(
                f"The check loss ended at {path.risks[-1]:.6g}, above the {path.risks[0]:.6g} it started from: the "
                f"steps are too long for these rows. Lower `nu`, which is {self._one.nu:g}.",
                ConvergenceWarning,
            )
        return BoostResults(self._facts(how), path, path.length, self, chosen)

    # -- what a fit is made of

    @cached_property
    def weights(self) -> np.ndarray:
        """Case weights (n,), 1 where none were given."""
        return np.ones(len(self.design.y)) if self.design.weights is None else self.design.weights

    @cached_property
    def target(self) -> np.ndarray:
        """The response less any offset (n,)."""
        return self.design.y if self.design.offset is None else self.design.y - self.design.offset

    @cached_property
    def _task(self) -> Task:
        return self.task(self.weights)

    def task(self, weights: np.ndarray) -> Task:
        """Return what the loop works on, for other weights (n,) than the model's own."""
        settings, design = self._one, self.design
        y, X = self.target, design.X
        if not (weights > 0).all():
            used = weights > 0
            y, X, weights = y[used], X[used], weights[used]
        spread = np.ptp(y)
        if spread > 0.0 and not 1.0 / LARGEST < spread < LARGEST:
            raise InputError(
                f"Response {design.response!r} varies by {spread:.3g}, too far from 1 to compute with; rescale it."
            )
        if not 1.0 / LARGEST < weights.max() < LARGEST:
            raise InputError(
                f"`weights` reach {weights.max():.3g}, too far from 1 to compute with; divide them all by that: only "
                "their ratios count."
            )
        predictors = Predictors(
            X=np.ascontiguousarray(X),
            by_column=X.T if X.flags.f_contiguous else None,
            weights=weights,
            blocks=np.array([0, *np.cumsum([len(term.columns) for term in design.terms])], dtype=np.int64),
            terms=tuple(term.name for term in design.terms),
            columns=design.column_names,
            intercept=design.intercept,
            all_rows=design.X,
        )
        plain = _uneven(weights)
        unit = step_unit(settings.step_scale, y, plain)
        return Task(
            y=y,
            weights=weights,
            loss=CheckLoss(settings.tau),
            learner=settings.learner.prepare(predictors),
            step=STEPS[settings.step](settings.nu * unit),
            start=settings.start(y, plain),
            rounding=self._rounding(y, plain, unit),
        )

    def _rounding(self, y: np.ndarray, weights: np.ndarray | None, unit: float) -> float:
        """Return what is rounding in y; nil for raw steps, which repeat mboost, and the line search has its own."""
        settings = self._one
        if settings.step_scale is None or settings.step == "line":
            return 0.0
        return ROUNDING * (unit if settings.step_scale == "auto" else step_unit("auto", y, weights))

    def _run(self, task: Task, stop: int, path: BoostPath | None = None) -> BoostPath:
        """Return the path to iteration `stop`, the continuation of `path` if there is one."""
        if not task.learner.usable:
            return _start_alone(task, "the start alone: no column varies, so there is nothing to choose from")
        if np.ptp(task.y) == 0.0 and task.start == task.y[0]:
            return _start_alone(task, "the start alone: it fits every row exactly")
        if path is not None and (path.length >= stop or path.status != "complete"):
            return path
        loop = boost
        if isinstance(task.loss, CheckLoss) and isinstance(task.learner, LinearBlocks):
            from qreg_boost.boosting.signflip import boost_check as loop  # compiled: only once a fit needs it
        if path is None:
            with _bar(stop, self._one.progress) as bar:
                return loop(task, stop, tick=bar.update)
        with _bar(stop - path.length, self._one.progress) as bar:
            fit = task.step.resume(task.y, path.fit_at(path.length, task.learner.X))
            tail = loop(task, stop - path.length, fit=fit, memory=path.memory, tick=bar.update)
        return path.followed_by(tail)

    # -- what results may ask of their model

    def continued(self, path: BoostPath, stop: int) -> BoostPath:
        """Return `path` continued to iteration `stop`."""
        return self._run(self._task, stop, path)

    def cross_validate(self, cv: CV) -> CVResult:
        """Return the out-of-sample loss by iteration over the folds of `cv`."""
        model = QBR.from_design(self.design, self._one.tau, self.call, **{**self._options, "progress": False})
        return cross_validate(model.fold_risk, cv, self.weights, self.design.rows, f"tau={self._one.tau:g}")

    def fold_risk(self, train: np.ndarray, held: np.ndarray, stop: int) -> np.ndarray:
        """Return the mean loss (stop + 1,) on rows with weights `held` (n,) of a fit with weights `train` (n,)."""
        task = self.task(train)
        path = self._run(task, stop)
        out = held > 0
        risk = path.risk_along(self.design.X[out], self.target[out], held[out], task.loss)
        return np.concatenate((risk, np.full(stop - path.length, risk[-1])))

    def _facts(self, how: str) -> BoostFacts:
        settings, design, task = self._one, self.design, self._task
        constant = weighted_quantile(task.y, settings.tau, _uneven(task.weights)) if _spans_constant(design) else 0.0
        return BoostFacts.of(
            design,
            call=self.call,
            settings=settings,
            how=how,
            gamma=task.step.first,
            null_loss=CheckLoss(settings.tau).risk(task.y, constant, task.weights),
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the options and the rows, as values that JSON holds and arrays: with them a fit can be made again."""
        design = self.design
        options = dict(self._options)
        for name, value in options.items():
            if not isinstance(value, (str, int, float, bool, type(None))):
                raise InputError(
                    f"A fit with {name}={value!r} cannot be saved with its rows; save it without data=True."
                )
        arrays = {"y": design.y, "X": design.X, "rows": design.rows, "index": _plain_index(design.index)}
        arrays |= {name: getattr(design, name) for name in ("weights", "offset") if getattr(design, name) is not None}
        meta = {
            "tau": self._one.tau,
            "options": options,
            "call": self.call,
            "index_name": None if design.index.name is None else str(design.index.name),
        }
        return meta, arrays

    def __getstate__(self) -> dict[str, Any]:
        """Return the model without what can be computed again."""
        computed = ("_task", "target", "weights")
        return {name: value for name, value in self.__dict__.items() if name not in computed}


def restore_boost(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> BoostResults:
    """Return the results that `BoostResults.state` wrote; with a model if the rows were saved."""
    parts: dict[str, dict[str, np.ndarray]] = {"path": {}, "encoder": {}, "model": {}}
    for name, array in arrays.items():
        part, _, own = name.partition(".")
        parts[part][own] = array
    facts = BoostFacts.from_state(meta["facts"])
    encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
    path = BoostPath.from_state(meta["path"], parts["path"])
    shared = {"encoder": encoder, **({} if meta["least"] is None else {"least": meta["least"]})}
    model = _restore_model(meta["model"], parts["model"], facts, encoder) if "model" in meta else None
    return BoostResults(facts, path, int(meta["mstop"]), model, None, shared)


def _restore_model(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], facts: BoostFacts, encoder: Encoder
) -> QBR:
    design = Design(
        y=arrays["y"],
        X=arrays["X"],
        column_names=facts.columns,
        terms=tuple(Term(name, columns) for name, columns in facts.terms),
        intercept=facts.intercept,
        weights=arrays.get("weights"),
        offset=arrays.get("offset"),
        index=pd.Index(arrays["index"], name=meta["index_name"]),
        rows=arrays["rows"],
        n_dropped=facts.n_dropped,
        response=facts.response,
        formula=facts.formula,
        encoder=encoder,
    )
    return QBR.from_design(design, meta["tau"], meta["call"], **meta["options"])


def _plain_index(index: pd.Index) -> np.ndarray:
    """Return row labels as an array that a file can hold: numbers and dates as they are, all else as text."""
    values = index.to_numpy()
    return values if values.dtype.kind in "biufmM" else np.array([str(label) for label in index], dtype=str)


def _uneven(weights: np.ndarray) -> np.ndarray | None:
    """Return the weights (n,), or None where all are equal and so say nothing."""
    return None if np.ptp(weights) == 0.0 else weights


def _spans_constant(design: Design) -> bool:
    if design.intercept:
        return True
    ones = np.ones(len(design.y))
    return design.X.shape[1] not in independent_columns(np.column_stack((design.X, ones)), weights=design.weights)


def _start_alone(task: Task, status: str) -> BoostPath:
    risk = task.loss.risk(task.y, np.full(len(task.y), task.start), task.weights)
    return task.learner.path(task.start, [], [], [risk], status, task.learner.memory())


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Any]:
    from tqdm import tqdm

    with tqdm(total=total, desc="boosting", unit="it", delay=2.0, disable=not shown, leave=False) as bar:
        yield bar
