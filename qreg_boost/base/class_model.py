"""What models of rows have in common, and models of labels: formula or arrays in, labels coded, files read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_weight_size
from qreg_boost.base.classes import read_classes
from qreg_boost.base.confusion import confusion_counts
from qreg_boost.base.design import Design, Encoder
from qreg_boost.base.facts import Facts
from qreg_boost.base.levels import Levels, read_levels
from qreg_boost.base.saved_design import parts_of, restore_design
from qreg_boost.base.typeset import in_call


@dataclass(frozen=True)
class Opened:
    """What a saved file holds of a fit, whatever its method.

    Attributes
    ----------
    facts : Facts
    encoder : Encoder
    model : RowsModel or None
        With its design, options and call; None if the rows were not saved.
    parts : dict of dict of arrays
        By part and name; what the method wrote is under "fit".
    """

    facts: Facts
    encoder: Encoder
    model: Any
    parts: Mapping[str, Mapping[str, np.ndarray]]


class RowsModel(ABC):
    """A model of rows: its design, its options by name, the call that made it.

    Attributes
    ----------
    design : Design
        The response coded, if it holds labels.
    options : dict
        As they were given or fall back on defaults.
    call : str
    """

    function: ClassVar[str]
    """The formula function that makes the model."""
    response: ClassVar[str] = "numeric"
    """"numeric", or "raw" for a response of labels."""
    may_branch: ClassVar[bool] = False
    """Whether `missing` may be "branch"."""

    design: Design
    options: dict[str, Any]
    call: str

    def __init__(
        self,
        y: Any,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        weights: Any = None,
        missing: str = "drop",
        **options: Any,
    ) -> None:
        rows = {"weights": weights, "missing": missing, "response": self.response, "may_branch": self.may_branch}
        self._take(_computable(Design.from_arrays(y, X, names=names, **rows)), options)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        weights: Any = None,
        subset: Any = None,
        missing: str = "drop",
        env: Any = None,
        **options: Any,
    ) -> Any:
        """Return the model of a formula; arguments as in the formula function.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        model = cls.__new__(cls)
        rows = {"weights": weights, "subset": subset, "missing": missing}
        rows |= {"response": cls.response, "may_branch": cls.may_branch}
        model._take(_computable(Design.from_formula(formula, data, env=env, **rows)), options)
        return model

    @abstractmethod
    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        """Take the rows, and the options as they were given."""

    @classmethod
    def opened(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Opened:
        """Return what a saved file holds of a fit of this model."""
        facts = Facts.from_state(meta["facts"])
        parts = parts_of(arrays, "fit", "encoder", "model")
        encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
        model = None
        if "model" in meta:
            model = cls.__new__(cls)
            model.design = restore_design(meta["model"], parts["model"], facts, encoder)
            model.options, model.call = dict(meta["options"]), facts.call
        return Opened(facts, encoder, model, parts)

    def __repr__(self) -> str:
        return self.call

    @property
    def formula(self) -> str | None:
        """The formula as written; None for a model of arrays."""
        return self.design.formula

    @property
    def weights(self) -> np.ndarray:
        """Case weights (n,), 1 where none were given."""
        return np.ones(len(self.design.y)) if self.design.weights is None else self.design.weights

    @property
    def used(self) -> np.ndarray | slice:
        """The rows of weight above 0: a mask (n,), or a slice of all."""
        weights = self.design.weights
        return slice(None) if weights is None or (weights > 0).all() else weights > 0

    def _described(self, formula: str | None, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
        head = f"{type(self).__name__}(y, X" if formula is None else f'{self.function}("{formula}", data'
        given = [f"{k}={in_call(v)}" for k, v in options.items() if k != "progress" and not _same(v, defaults.get(k))]
        return ", ".join([head, *given]) + ")"

    def plain_options(self) -> dict[str, Any]:
        """Return the options as values that JSON holds.

        Raises
        ------
        InputError
            If one is none: a generator of random numbers, a learner, an array.
        """
        for name, value in self.options.items():
            if not isinstance(value, (str, int, float, bool, type(None))):
                raise InputError(
                    f"A fit with {name}={value!r} cannot be saved with its rows; save it without data=True."
                )
        return dict(self.options)

    def _need_columns(self) -> None:
        if not self.design.X.shape[1]:
            raise InputError('There is no predictor: nothing to tell classes apart by. Write "y ~ x1 + x2".')


def _computable(design: Design) -> Design:
    """Return the design; its weights must be of a size to compute with."""
    if design.weights is not None:
        check_weight_size(design.weights)
    return design


class ClassModel(RowsModel):
    """A model of labels."""

    response: ClassVar[str] = "raw"

    levels: Levels

    @classmethod
    def opened(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Opened:
        """Return what a saved file holds of a fit of this model."""
        opened = super().opened(meta, arrays)
        if opened.model is not None:
            opened.model.levels = Levels.from_state(opened.facts.own["levels"])
        return opened

    def _read(self, design: Design, event: Any) -> None:
        """Take the design of a response of two labels."""
        y, classes = read_classes(_used_labels(design), design.response, event)
        self.levels = Levels((classes.other, classes.event), classes.dtype)
        if design.weights is not None and not (design.weights > 0).all():
            y = _codes_with_zero_weight(design, self.levels, y)
        self.design = replace(design, y=y)
        self._need_columns()

    def _read_several(self, design: Design) -> None:
        """Take the design of a response of two or more labels."""
        _refuse_continuous(_used_labels(design), design.response)
        y, self.levels = read_levels(_used_labels(design), design.response)
        if design.weights is not None and not (design.weights > 0).all():
            y = _codes_with_zero_weight(design, self.levels, y)
        self.design = replace(design, y=y)
        self._need_columns()

    def facts(self, predicted: np.ndarray, tau: float | None = None, **own: Any) -> Facts:
        """Return the facts of a fit that predicts these codes (n,) for the rows."""
        counts = confusion_counts(self.design.y, predicted, len(self.levels.labels), self.design.weights)
        known = {"levels": self.levels.state(), "confusion": counts.tolist(), **own}
        return Facts.of(self.design, function=self.function, call=self.call, own=known, tau=tau)


def _used_labels(design: Design) -> Any:
    if design.weights is None or (design.weights > 0).all():
        return design.y
    return design.y[design.weights > 0]


def _refuse_continuous(y: Any, label: str) -> None:
    """Refuse numbers that are no whole numbers: they measure, and each would be a class of its own."""
    values = np.asarray(y)
    if isinstance(getattr(y, "dtype", None), pd.CategoricalDtype) or values.dtype.kind != "f":
        return
    if (values == np.round(values)).all():
        return
    fraction = values[values != np.round(values)][0]
    raise InputError(
        f"Response {label!r} has {len(np.unique(values))} distinct numbers, such as {fraction:.6g}: it measures, and "
        "each would be a class. Make classes of it with pandas.cut or pandas.qcut, or fit its quantiles (qbr, qreg); "
        "if the numbers are labels, pass them as text, astype(str)."
    )


def _codes_with_zero_weight(design: Design, levels: Levels, used: np.ndarray) -> np.ndarray:
    """Return codes of all rows; a row of weight 0 may hold a label that no other row has, and is then missing."""
    values = pd.Series(design.y).astype(object)
    y = np.array(values.map({label: float(k) for k, label in enumerate(levels.labels)}), dtype=float)
    y[design.weights > 0] = used  # type: ignore[operator]
    return y


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except (TypeError, ValueError):
        return False
