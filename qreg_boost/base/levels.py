"""Two or more classes: labels to codes and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, listed
from qreg_boost.base.classes import levels_of, plain


@dataclass(frozen=True)
class Levels:
    """The labels of a response, in the order of their codes 0, 1, ...

    Attributes
    ----------
    labels : tuple of str, int, float or bool
    dtype : {"category", "bool", "number", "text"}
        What the labels were.
    """

    labels: tuple[Any, ...]
    dtype: str

    def series(self, codes: np.ndarray, index: pd.Index, name: str = "predicted") -> pd.Series:
        """Return a Series of labels of codes (n,), missing where a code is NaN.

        >>> Levels(("a", "b", "c"), "text").series(np.array([2.0, np.nan]), pd.RangeIndex(2)).tolist()
        ['c', nan]
        """
        positions = np.where(np.isnan(codes), -1, codes).astype(np.intp)
        values = pd.Categorical.from_codes(positions, categories=pd.Index(list(self.labels)))
        return pd.Series(values, index=index, name=name)

    def code(self, labels: Any, response: str) -> np.ndarray:
        """Return codes (n,) of labels, NaN where a label is missing.

        Raises
        ------
        InputError
            If a label is none of those the model was fitted to.
        """
        values = pd.Series(labels).astype(object)
        codes = values.map({label: float(k) for k, label in enumerate(self.labels)}).to_numpy(dtype=float)
        unknown = np.isnan(codes) & values.notna().to_numpy()
        if unknown.any():
            found = list(dict.fromkeys(values[unknown]))
            raise InputError(
                f"Column {response!r} of the data holds {listed(map(repr, found))}, which the model was not fitted to. "
                f"Its classes: {listed(map(repr, self.labels))}."
            )
        return codes

    def state(self) -> dict[str, Any]:
        """Return the labels as values that JSON holds."""
        return {"labels": list(self.labels), "dtype": self.dtype}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Levels:
        """Return the labels that `state` wrote."""
        return cls(tuple(state["labels"]), str(state["dtype"]))


def read_levels(y: Any, label: str, least: int = 2) -> tuple[np.ndarray, Levels]:
    """Return the codes 0, 1, ... (n,) of a response as floats, and its labels in order.

    Parameters
    ----------
    y : array_like (n,)
        Labels; nothing missing.
    label : str
        Name of the response, for messages.
    least : int
        Fewest classes allowed.

    Raises
    ------
    InputError
        If there are fewer than `least` distinct labels.

    Examples
    --------
    >>> codes, levels = read_levels(["b", "a", "c"], "g")
    >>> codes.tolist(), levels.labels
    ([1.0, 0.0, 2.0], ('a', 'b', 'c'))
    """
    labels, codes, dtype = levels_of(y, label)
    if len(labels) < least:
        raise InputError(
            f"Response {label!r} has {len(labels)} distinct value{'s' if len(labels) > 1 else ''} "
            f"({listed(map(repr, labels))}); at least {least} classes are needed. Check the rows used."
        )
    return codes.astype(float), Levels(tuple(plain(one) for one in labels), dtype)
