"""Classifiers of two classes as parts of something larger: this package's boosters, or any estimator."""

from __future__ import annotations

import copy
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, OneClassWarning, listed, nearest
from qreg_boost.base.design import Design
from qreg_boost.boosting.base_model import BoostModel
from qreg_boost.boosting.classifier_model import QBC, AdaBoost, LogitBoost
from qreg_boost.boosting.l2_model import L2Boost
from qreg_boost.compose.parts import FittedEstimator, MarginLoss

BOOSTERS: dict[str, type[BoostModel]] = {"qbc": QBC, "logitboost": LogitBoost, "adaboost": AdaBoost, "l2boost": L2Boost}
"""The package's boosters of two classes, by formula function."""


class Booster(ABC):
    """A classifier to be fitted, again and again, to rows with other labels and weights.

    Attributes
    ----------
    name : str
    """

    name: str

    @abstractmethod
    def fit(self, design: Design, y: np.ndarray, weights: np.ndarray | None) -> Any:
        """Return a fit to y (n,), 1 for the event and 0 for the other, with ``decision_at(X)``."""

    @property
    def loss(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """The loss as a function of the margin s f, s = +1 or -1; None if it is not known."""
        return None


@dataclass(frozen=True)
class OwnBooster(Booster):
    """A booster of this package with its options."""

    kind: type[BoostModel]
    options: Mapping[str, Any]

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the formula function."""
        return self.kind.function

    def fit(self, design: Design, y: np.ndarray, weights: np.ndarray | None) -> Any:
        """Return the boosted fit."""
        classes = {"other": 0, "event": 1, "dtype": "number"}
        rows = replace(design, y=y, weights=weights)
        with warnings.catch_warnings():  # each part may predict one class, or end early; tables say which do
            for category in (OneClassWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", category)
            return self.kind.from_design(
                rows, self.name, **{**self.options, "classes": classes, "progress": False}
            ).fit()

    @property
    def loss(self) -> Callable[[np.ndarray], np.ndarray]:
        """The loss that the booster lowers, of the margin."""
        return MarginLoss(self.name, float(self.options.get("h", 0.1)))


@dataclass(frozen=True)
class Estimator(Booster):
    """Any object with ``fit(X, y)`` and ``predict(X)``: scikit-learn's classifiers, say; copied, never changed."""

    estimator: Any
    weight_name: str = "sample_weight"

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of its class."""
        return type(self.estimator).__name__

    @property
    def takes_weights(self) -> bool:
        """Whether its ``fit`` takes weights."""
        names = inspect.signature(self.estimator.fit).parameters
        return self.weight_name in names or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in names.values())

    def fit(self, design: Design, y: np.ndarray, weights: np.ndarray | None) -> FittedEstimator:
        """Return a fitted copy."""
        if design.encoder.branch:
            raise InputError(
                f'missing="branch" is for the package\'s own boosters of stumps and trees, and not for {self.name}. '
                'Take booster="logitboost", say, or missing="drop".'
            )
        if weights is not None and not self.takes_weights:
            raise InputError(
                f"{self.name} takes no weights in fit ({self.weight_name!r} is none of its arguments), and they are "
                "needed here. Choose another classifier, or name the argument: weight_name="
                '"<step>__sample_weight" for a pipeline.'
            )
        X = design.X
        if weights is not None and not (weights > 0).all():
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        fitted = copy.deepcopy(self.estimator)
        fitted.fit(X, y.astype(np.int64), **({} if weights is None else {self.weight_name: weights}))
        return FittedEstimator(fitted)


def as_booster(booster: Any, options: Mapping[str, Any], weight_name: str = "sample_weight") -> Booster:
    """Return what `booster` means: a name, a formula function, a model class, or an estimator.

    >>> as_booster("adaboost", {"mstop": 10}).name
    'adaboost'
    """
    name = booster if isinstance(booster, str) else getattr(booster, "__name__", None)
    if isinstance(booster, type) and issubclass(booster, BoostModel):
        name = booster.function
    if isinstance(name, str) and name in BOOSTERS:
        kind = BOOSTERS[name]
        known = [one for one in kind.settings_kind.names() if one not in ("event", "progress")]
        unknown = [one for one in options if one not in known]
        if unknown:
            hint = nearest(unknown[0], known)
            if unknown[0] in ("booster", "classifier"):
                hint = f" In quanting the {unknown[0]} is `classifier`; in jous and multiclass it is `booster`."
            raise InputError(f"{name} has no option {unknown[0]!r}.{hint} Options: {', '.join(known)}.")
        tau = options.get("tau")
        if tau is not None and np.ndim(tau):
            raise InputError(f"`tau` must be one number here; got {tau!r}.")
        kind.settings_kind(**options)  # a wrong value is told of once, before any fit
        return OwnBooster(kind, dict(options))
    is_object = hasattr(booster, "fit") and hasattr(booster, "predict") and not isinstance(booster, type)
    if not is_object:
        hint = nearest(booster, BOOSTERS) if isinstance(booster, str) else ""
        raise InputError(
            f"The classifier must be one of {listed(map(repr, BOOSTERS))}, or an object with fit(X, y) and predict(X), "
            f"such as scikit-learn's; got {booster!r}.{hint}"
        )
    if options:
        raise InputError(
            f"Options ({listed(options)}) go with the package's own boosters; give {type(booster).__name__} its own "
            "when you make it."
        )
    return Estimator(booster, weight_name)


def restore_parts(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
    """Return the parts that `parts_state` wrote."""
    from qreg_boost.boosting.saved_model import restore_boost

    own: list[dict[str, np.ndarray]] = [{} for _ in meta["parts"]]
    for name, array in arrays.items():
        position, _, rest = name.partition(".")
        own[int(position)][rest] = array
    return tuple(restore_boost(one, mine) for one, mine in zip(meta["parts"], own, strict=True))
