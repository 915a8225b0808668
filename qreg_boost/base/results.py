"""What all results have in common: how they print, and how they are saved and pickled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np


class Results(ABC):
    """Base of all results. A subclass says by `state` what a saved file must hold."""

    @abstractmethod
    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what predicting and reading need: plain values, and arrays; with `data`, the rows too."""

    @abstractmethod
    def summary(self) -> Any:
        """Return the summary as text, HTML and LaTeX."""

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
