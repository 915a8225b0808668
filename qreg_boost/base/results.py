"""What all results have in common: how they print, and how they are saved and pickled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qreg_boost.base.checks import NotDefinedError


class Results(ABC):
    """Base of all results. A subclass says by `state` what a saved file must hold."""

    whole: ClassVar[str] = ""
    """Of results that are a path without one chosen fit: how to get a fit that predicts alone."""

    @abstractmethod
    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what predicting and reading need: plain values, and arrays; with `data`, the rows too."""

    @abstractmethod
    def summary(self) -> Any:
        """Return the summary as text, HTML and LaTeX."""

    def _one(self) -> tuple[type | None, str]:
        """Return the kind of one fit, of results that hold several, and how to reach one."""
        return None, ""

    if not TYPE_CHECKING:  # a checker is to miss what is not there

        def __getattr__(self, name: str) -> Any:
            """Say of what single fits alone have how to ask for it."""
            if hasattr(type(self), name):  # a property that raised: its own words are the right ones
                return getattr(type(self), name).__get__(self, type(self))
            kind, one = (None, "") if name.startswith("_") else self._one()
            if kind is None or not hasattr(kind, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise NotDefinedError(f"{type(self).__name__} holds many fits, and `{name}` is of one: {one}.{name}.")

    def save(self, path: str | Path, data: bool = False) -> Path:
        """Write the fit to a file that `qreg_boost.load` reads without running code; return its path.

        Parameters
        ----------
        path : str or Path
        data : bool
            Whether to keep the rows too, which `extend`, `cv`, `fittedvalues` and `augment()` need.

        Raises
        ------
        InputError
            If the formula holds what a file cannot: a function of the caller's own, say.
        """
        from qreg_boost.base.storage import write

        return write(Path(path), type(self).__name__, *self.state(data))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.summary().as_html()


class FitResults(Results):
    """What fits of every family have: facts, the model while its rows are there, and what is known without them.

    Attributes
    ----------
    facts
        The family's record of facts, with ``formula`` and ``nobs`` and ``tau`` among them.
    """

    facts: Any
    _model: Any
    _known: dict[str, Any]

    @property
    def tau(self) -> float:
        """Quantile level."""
        return self.facts.tau

    # -- what a family may not have; it says in `instead` what to ask

    instead: ClassVar[str] = "glance() has what is known of the fit."

    def _not_defined(self, what: str) -> NotDefinedError:
        return NotDefinedError(f"{what} not defined for {type(self).__name__}. {self.instead}")

    @property
    def params(self) -> Any:
        """Coefficients, of fits that have any."""
        raise self._not_defined("Coefficients (`params`) are")

    def coef_path(self) -> Any:
        """Return the coefficients along the path, of fits that have one."""
        raise self._not_defined("A path of coefficients (`coef_path`) is")

    @property
    def prsquared(self) -> Any:
        """R1, of quantile regression."""
        raise self._not_defined("R1 (`prsquared`) compares check losses and is")

    @property
    def optimality_gap(self) -> Any:
        """Distance to the exact optimum, where that is known."""
        raise self._not_defined("The distance to an exact optimum (`optimality_gap`) is")

    @property
    def formula(self) -> str | None:
        """The formula as written; None for a fit to arrays."""
        return self.facts.formula

    @property
    def nobs(self) -> int:
        """Number of rows with weight above 0."""
        return self.facts.nobs

    @property
    def model(self) -> Any:
        """The model, with its design; a fit loaded from a file has one only if it was saved with ``data=True``."""
        if self._model is None:
            raise NotDefinedError(
                "This fit was loaded without the rows it was fitted to, so it has no `model`: nothing can be computed "
                "anew, and there are no fitted values or residuals. Save it with save(path, data=True), or use "
                "predict(new)."
            )
        return self._model

    @property
    def encoder(self) -> Any:
        """What encodes new data."""
        return self._known["encoder"] if self._model is None else self._model.design.encoder
