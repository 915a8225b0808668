"""Several classes by classifiers of two, as a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError, check_choice, listed
from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design
from qreg_boost.base.resampling import generator, run_tasks
from qreg_boost.compose.boosters import Booster, as_booster, restore_parts
from qreg_boost.compose.codes import all_pairs, error_correcting, least_distance, one_versus_all
from qreg_boost.compose.multiclass_results import MultiClassResults, scores
from qreg_boost.compose.parts import MarginLoss, decisions

CODES = ("ova", "ovo", "ecoc")
DECODINGS = ("largest", "hamming", "loss")
DEFAULTS = {"booster": "qbc", "code": "ova", "decoding": None, "rng": 0, "progress": True}


class MultiClass(ClassModel):
    """Several classes by classifiers of two: one versus all, or error-correcting output codes.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two or more distinct ones.
    X : array_like (n, p)
    **options
        Those of `qreg_boost.multiclass`.
    names : sequence of str, optional
    weights : array_like (n,), optional
    missing : {"drop", "raise", "branch"}
        "branch" for boosters of stumps or trees.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(12.0)
    >>> fit = MultiClass(np.repeat(["a", "b", "c"], 4), x, booster="adaboost", mstop=20).fit()
    >>> fit.predict([[0.0], [5.0], [11.0]]).tolist()
    ['a', 'b', 'c']
    """

    function: ClassVar[str] = "multiclass"
    may_branch: ClassVar[bool] = True

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        options = {**DEFAULTS, **{name: value for name, value in given.items() if name in DEFAULTS}}
        inner = {name: value for name, value in given.items() if name not in DEFAULTS}
        self.booster: Booster = as_booster(options["booster"], inner)
        self._read_several(design)
        self.options = {**options, **inner, "booster": self.booster.name}
        self.call = self._described(design.formula, {**given, "booster": self.booster.name}, DEFAULTS)
        self.code, self.code_name = _code(options["code"], len(self.levels.labels), generator(options["rng"]))
        self.decoding, self.loss = self._decoding(options["decoding"])

    def _decoding(self, decoding: Any) -> tuple[str, Callable[[np.ndarray], np.ndarray] | None]:
        if decoding is None:
            decoding = "largest" if self.code_name == "ova" else "loss" if self.booster.loss else "hamming"
        if callable(decoding):
            return f"loss {getattr(decoding, '__name__', 'given')}", decoding
        check_choice(decoding, "decoding", DECODINGS)
        if decoding == "largest" and self.code_name != "ova":
            raise InputError(
                f'decoding="largest" takes the class whose classifier is surest, which needs code="ova"; the code is '
                f'{self.code_name}. Use "hamming" or "loss".'
            )
        if decoding == "loss":
            if self.booster.loss is None:
                raise InputError(
                    f'decoding="loss" needs the loss that {self.booster.name} lowers, which is not known here. Pass it '
                    'as a function of the margin, such as lambda z: np.maximum(0, 1 - z), or use "hamming".'
                )
            return decoding, self.booster.loss
        return decoding, None

    def fit(self) -> MultiClassResults:
        """Return the fit: one classifier for each column of the code."""
        parts = tuple(
            run_tasks(self._part, [(j,) for j in range(self.code.shape[1])], 1, self.options["progress"], "classifiers")
        )
        F = decisions(parts, self.design.X)
        found = scores(F, self.code, self.decoding, self.loss)
        facts = self.facts(
            found.argmax(axis=1).astype(float),
            booster=self.booster.name,
            h=float(self.options.get("h", 0.1)),
            code_name=self.code_name,
            code=self.code.tolist(),
            decoding=self.decoding,
            least_distance=least_distance(self.code),
            errors=self._errors(F),
        )
        return MultiClassResults(facts, parts, self, self.design.encoder, self.loss)

    def _part(self, column: int) -> Any:
        labels = self._labels(column)
        y, weights = (labels > 0).astype(float), self.design.weights
        if (labels == 0).any():
            weights = self.weights * (labels != 0)
        return self.booster.fit(self.design, y, weights)

    def _labels(self, column: int) -> np.ndarray:
        """Return +1, -1, or 0 for rows left out (n,)."""
        y = self.design.y
        return np.where(np.isnan(y), 0, self.code[np.nan_to_num(y).astype(np.intp), column])

    def _errors(self, F: np.ndarray) -> list[float]:
        errors = []
        for column in range(self.code.shape[1]):
            labels = self._labels(column)
            weights = self.weights * (labels != 0)
            errors.append(float(np.average(np.where(F[:, column] >= 0.0, 1, -1) != labels, weights=weights)))
        return errors


def _code(code: Any, k: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Return a code (k, L) of 1, -1 and 0, and its name."""
    if isinstance(code, str):
        check_choice(code, "code", CODES)
        if code == "ecoc":
            return error_correcting(k, rng), code
        return (one_versus_all(k) if code == "ova" else all_pairs(k)), code
    matrix = np.asarray(code)
    allowed = matrix.dtype.kind in "iufb" and np.isin(matrix, (-1, 0, 1)).all()
    if matrix.ndim != 2 or len(matrix) != k or not matrix.shape[1] or not allowed:
        raise InputError(
            f"`code` must be one of {listed(map(repr, CODES))}, or a matrix of 1, -1 and 0 with a row for each of the "
            f"{k} classes and a column for each classifier; got shape {matrix.shape}."
        )
    matrix = matrix.astype(np.int64)
    idle = np.flatnonzero(~((matrix == 1).any(axis=0) & (matrix == -1).any(axis=0)))
    if len(idle):
        raise InputError(f"Column {idle[0]} of `code` has no 1 or no -1: it tells no classes apart.")
    if len(np.unique(matrix, axis=0)) < k:
        raise InputError("Two rows of `code` are equal, so two classes could never be told apart.")
    return matrix, "given"


def restore_multiclass(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> MultiClassResults:
    """Return the results that a file of `MultiClassResults.save` holds; with a model if the rows were saved."""
    opened = MultiClass.opened(meta, arrays)
    own, parts = opened.facts.own, restore_parts(meta["fit"], opened.parts["fit"])
    loss = MarginLoss(own["booster"], own["h"]) if own["decoding"] == "loss" else None
    return MultiClassResults(opened.facts, parts, opened.model, opened.encoder, loss)
