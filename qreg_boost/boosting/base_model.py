"""What every boosted model is: functional gradient descent on a loss, from formula or arrays to results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import LARGEST, InputError, check_options, check_weight_size, listed
from qreg_boost.base.design import Design
from qreg_boost.base.saved_design import design_state
from qreg_boost.boosting.facts import BoostFacts
from qreg_boost.boosting.learners import Predictors
from qreg_boost.boosting.learners.base import PreparedLearner
from qreg_boost.boosting.learners.stored import stored
from qreg_boost.boosting.loop import Task
from qreg_boost.boosting.loops import loop_of
from qreg_boost.boosting.losses import Judge, Loss
from qreg_boost.boosting.path import BoostPath
from qreg_boost.boosting.results import BoostResults
from qreg_boost.boosting.settings import BoostSettings, describe_call
from qreg_boost.boosting.steps import STEPS, StepRule
from qreg_boost.boosting.stopping import CV, CVResult, cross_validate


class BoostModel(ABC):
    """Functional gradient descent on a loss; a family says which loss, where it starts and how long its steps are.

    Arrays are used as they are, without a copy: do not change them while the model or its fits are in use.
    """

    settings_kind: ClassVar[type[BoostSettings]]
    function: ClassVar[str]
    """The formula function that makes the model."""
    loss_name: ClassVar[str] = "loss"
    response: ClassVar[str] = "numeric"
    """"numeric", or "raw" for a response of labels."""

    design: Design
    settings: tuple[Any, ...]
    call: str

    def __init__(
        self,
        y: Any,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        weights: Any = None,
        offset: Any = None,
        missing: str = "drop",
        **options: Any,
    ) -> None:
        call = self._described(f"{type(self).__name__}(y, X, ", options)
        rows = {"weights": weights, "offset": offset, "missing": missing, "response": self.response, "may_branch": True}
        self._set(self._read(Design.from_arrays(y, X, names=names, **rows), options), options, call)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        missing: str = "drop",
        env: Any = None,
        **options: Any,
    ) -> Any:
        """Return the model of a formula; arguments as in the formula function.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        model = cls.__new__(cls)
        call = model._described(f'{cls.function}("{formula}", data, ', options)
        rows = {"weights": weights, "offset": offset, "subset": subset, "missing": missing, "response": cls.response}
        design = Design.from_formula(formula, data, env=env, may_branch=True, **rows)
        model._set(model._read(design, options), options, call)
        return model

    @classmethod
    def from_design(cls, design: Design, call: str = "", **options: Any) -> Any:
        """Return the model of a design that is already there, its response numeric."""
        model = cls.__new__(cls)
        model._set(design, options, call or model._described(f"{cls.__name__}(y, X, ", options))
        return model

    @classmethod
    def _described(cls, head: str, options: Mapping[str, Any]) -> str:
        check_options(options, cls.settings_kind.names())
        return describe_call(head, options, cls.settings_kind)

    def __repr__(self) -> str:
        return self.call

    def _read(self, design: Design, options: dict[str, Any]) -> Design:
        """Return the design with a numeric response; what a family learns from labels goes into `options`."""
        return design

    def _set(self, design: Design, options: Mapping[str, Any], call: str) -> None:
        tau = options.get("tau")
        several = isinstance(tau, (list, tuple, np.ndarray)) or hasattr(tau, "to_numpy")
        self.design = design
        self.call = call
        self.taus = list(tau) if several else None  # type: ignore[arg-type]
        if several and not self.taus:
            raise InputError("`tau` is an empty list; give at least one quantile level between 0 and 1.")
        if several and len(set(self.taus)) < len(self.taus):  # type: ignore[arg-type]
            raise InputError(f"`tau` names a quantile level twice: {listed(self.taus)}.")  # type: ignore[arg-type]
        self._options = dict(options)
        one = self.settings_kind
        self.settings = tuple(one(**{**options, "tau": t}) for t in self.taus) if self.taus else (one(**options),)
        learner = self._one.learner
        if design.encoder.branch and not getattr(learner, "handles_missing", False):
            raise InputError(
                f'missing="branch" sends rows that miss a predictor down a side of each split, and the learner '
                f'{learner.name!r} splits nothing. Take learner="stump" or "tree", or missing="drop".'
            )

    def changed(self, **options: Any) -> Any:
        """Return the model of the same design with other options."""
        return type(self).from_design(self.design, self.call, **{**self._options, **options})

    @property
    def formula(self) -> str | None:
        """The formula as written; None for a model of arrays."""
        return self.design.formula

    @property
    def tau(self) -> Any:
        """Quantile level or levels; None for families that have none."""
        return self.taus if self.taus is not None else getattr(self._one, "tau", None)

    @property
    def learner(self) -> str:
        """Name of the base learner."""
        return self._one.learner.name

    @property
    def _one(self) -> Any:
        return self.settings[0]

    def fit(self) -> Any:
        """Return the fit, or the fits at several taus side by side."""
        if self.taus is not None:
            return self._process([self.changed(tau=tau).fit_one() for tau in self.taus])
        return self.fit_one()

    def fit_one(self) -> Any:
        """Return the fit at one tau."""
        cv = self._one.mstop
        if isinstance(cv, int):
            return self._results(self._run(self._task, cv), "fixed")
        chosen = self.cross_validate(cv)
        how = f"{chosen.kind}, rule {cv.rule}"
        return self._results(self._run(self._task, chosen.mstop), how, chosen)

    @property
    def family(self) -> str:
        """What summaries and saved files know the kind of fit by."""
        return self.function

    def _process(self, fits: list[Any]) -> Any:
        from qreg_boost.base.process import QuantileProcess

        return QuantileProcess(self.taus or [], fits)

    # -- what a family says

    @abstractmethod
    def _results(self, path: BoostPath, how: str, chosen: CVResult | None = None) -> BoostResults:
        """Return the results of a run."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss."""

    @abstractmethod
    def _start(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return the constant that a fit to y (n,) starts from."""

    def _unit(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return the unit of a step, in units of the fit over those of the negative gradient."""
        return 1.0

    def _rounding(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Return what is rounding in y."""
        return 0.0

    def _step(self, unit: float) -> StepRule:
        """Return the step rule, for a unit of the step."""
        return STEPS[self._one.step](self._one.nu * unit)

    def _null_loss(self) -> float:
        """Return the weighted sum of losses of the best constant."""
        loss, task = self._loss(), self._task
        return loss.risk(task.y, np.full(len(task.y), loss.constant(task.y, task.weights)), task.weights)

    def _own_facts(self) -> dict[str, Any]:
        """Return facts of the family, as values that JSON holds."""
        return {}

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
        design, y, X = self.design, self.target, self.design.X
        if not (weights > 0).all():
            used = weights > 0
            y, X, weights = y[used], X[used], weights[used]
        spread = np.ptp(y)
        if spread > 0.0 and not 1.0 / LARGEST < spread < LARGEST:
            raise InputError(
                f"Response {design.response!r} varies by {spread:.3g}, too far from 1 to compute with; rescale it."
            )
        check_weight_size(weights)
        predictors = Predictors(
            X=np.ascontiguousarray(X),
            by_column=X.T if X.flags.f_contiguous else None,
            weights=weights,
            blocks=np.array([0, *np.cumsum([len(term.columns) for term in design.terms])], dtype=np.int64),
            terms=tuple(term.name for term in design.terms),
            columns=design.column_names,
            intercept=design.intercept,
            all_rows=design.X,
            branches=design.encoder.branch,
            factors=np.array(design.encoder.levelled, dtype=np.bool_),
        )
        learner: PreparedLearner = self._one.learner.prepare(predictors)
        return Task(
            y=y,
            weights=weights,
            loss=self._loss(),
            learner=learner,
            step=self._step(1.0 if learner.in_units_of_fit else self._unit(y, weights)),
            start=self._start(y, weights),
            rounding=self._rounding(y, weights),
        )

    def _run(self, task: Task, stop: int, path: BoostPath | None = None) -> BoostPath:
        """Return the path to iteration `stop`, the continuation of `path` if there is one."""
        if not task.learner.usable:
            return _start_alone(task, "the start alone: no column varies, so there is nothing to choose from")
        if np.ptp(task.y) == 0.0 and task.start == task.y[0]:
            return _start_alone(task, "the start alone: it fits every row exactly")
        if path is not None and (path.length >= stop or path.status != "complete"):
            return path
        loop = loop_of(task)
        if path is None:
            with _bar(stop, self._one.progress) as bar:
                return loop(task, stop, tick=bar.update)
        with _bar(stop - path.length, self._one.progress) as bar:
            fit = task.step.resume(task.y, task.learner.fit_at(path, path.length))
            tail = loop(task, stop - path.length, fit=fit, memory=path.memory, tick=bar.update)
        return path.followed_by(tail)

    # -- what results may ask of their model

    def continued(self, path: BoostPath, stop: int) -> BoostPath:
        """Return `path` continued to iteration `stop`."""
        return self._run(self._task, stop, path)

    def cross_validate(self, cv: CV, judge: Judge | None = None, loss: str | None = None) -> CVResult:
        """Return the out-of-sample loss by iteration over the folds of `cv`, by the model's loss or a `judge`."""
        tau = getattr(self._one, "tau", None)
        description = "cross-validation" if tau is None else f"tau={tau:g}"
        fold_risk = partial(self.changed(progress=False).fold_risk, judge=judge)
        result = cross_validate(fold_risk, cv, self.weights, self.design.rows, description, self.target)
        return replace(result, loss=loss or self.loss_name)

    def fold_risk(self, train: np.ndarray, held: np.ndarray, stop: int, judge: Judge | None = None) -> np.ndarray:
        """Return the mean loss (stop + 1,) on rows with weights `held` (n,) of a fit with weights `train` (n,)."""
        task = self.task(train)
        path = self._run(task, stop)
        out = held > 0
        risk = path.risk_along(self.design.X[out], self.target[out], held[out], judge or task.loss)
        return np.concatenate((risk, np.full(stop - path.length, risk[-1])))

    def _facts(self, how: str) -> BoostFacts:
        return BoostFacts.of(
            self.design,
            family=self.family,
            call=self.call,
            settings=self._one,
            how=how,
            gamma=self._task.step.first,
            null_loss=self._null_loss(),
            own=self._own_facts(),
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the options and the rows, as values that JSON holds and arrays: with them a fit can be made again."""
        options = {**self._options, "learner": stored(self._options.get("learner", self.settings_kind.learner))}
        for name, value in options.items():
            if not _saveable(value):
                raise InputError(
                    f"A fit with {name}={value!r} cannot be saved with its rows; save it without data=True."
                )
        meta, arrays = design_state(self.design)
        return {"options": options, "call": self.call, **meta}, arrays

    def __getstate__(self) -> dict[str, Any]:
        """Return the model without what can be computed again."""
        computed = ("_task", "target", "weights")
        return {name: value for name, value in self.__dict__.items() if name not in computed}


def _saveable(value: Any) -> bool:
    """Return whether JSON holds an option as it is."""
    if isinstance(value, dict):
        return all(map(_saveable, value.values()))
    return isinstance(value, (str, int, float, bool, type(None)))


def _start_alone(task: Task, status: str) -> BoostPath:
    risk = task.loss.risk(task.y, np.full(len(task.y), task.start), task.weights)
    return task.learner.path(task.start, [], [], [risk], status, task.learner.memory())


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Any]:
    from tqdm import tqdm

    with tqdm(total=total, desc="boosting", unit="it", delay=2.0, disable=not shown, leave=False) as bar:
        yield bar
