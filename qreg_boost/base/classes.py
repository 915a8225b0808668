"""Two classes: which label is the event, labels to 0 and 1 and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, listed


@dataclass(frozen=True)
class Classes:
    """The two labels of a response.

    Attributes
    ----------
    other, event : str, int, float or bool
        The labels coded 0 and 1.
    dtype : {"category", "bool", "number", "text"}
        What the labels were, so that predictions are of the same kind.
    """

    other: Any
    event: Any
    dtype: str

    def labels(self, event: np.ndarray, index: pd.Index, name: str = "predicted") -> pd.Series:
        """Return a Series of labels: the event where `event` (n,) is above 0.5, missing where it is missing.

        >>> Classes("no", "yes", "text").labels(np.array([1.0, 0.0, np.nan]), pd.RangeIndex(3)).tolist()
        ['yes', 'no', nan]
        """
        codes = np.where(np.isnan(event), -1, event > 0.5).astype(np.int8)
        values = pd.Categorical.from_codes(codes, categories=pd.Index([self.other, self.event]))
        return pd.Series(values, index=index, name=name)

    def code(self, labels: Any) -> np.ndarray:
        """Return 1.0 for the event, 0.0 for the other label, NaN for anything else, of labels (n,)."""
        values = pd.Series(np.asarray(labels, dtype=object) if not hasattr(labels, "to_numpy") else labels)
        plain = values.astype(object).to_numpy()
        return np.array([1.0 if v == self.event else 0.0 if v == self.other else np.nan for v in plain], dtype=float)

    def state(self) -> dict[str, Any]:
        """Return the labels as values that JSON holds."""
        return {"other": self.other, "event": self.event, "dtype": self.dtype}


def read_classes(y: Any, label: str, event: Any = None) -> tuple[np.ndarray, Classes]:
    """Return the response coded 0 and 1 (n,), and its labels; the second is the event unless `event` is given.

    Parameters
    ----------
    y : array_like (n,)
        Labels: text, numbers, booleans or categories; nothing missing.
    label : str
        Name of the response, for messages.
    event : label, optional
        The label to be coded 1.

    Raises
    ------
    InputError
        If there are not exactly two distinct labels, or `event` is none of them.

    Examples
    --------
    >>> read_classes(["good", "bad", "good"], "credit")[0].tolist()
    [1.0, 0.0, 1.0]
    >>> read_classes(["good", "bad", "good"], "credit", event="bad")[1].event
    'bad'
    """
    levels, codes, dtype = levels_of(y, label)
    if len(levels) != 2:
        what = "one class only" if len(levels) == 1 else f"{len(levels)} distinct values"
        remedy = (
            "there is nothing to tell apart. Check the rows used."
            if len(levels) == 1
            else "two are needed. Keep two with `subset`, or use multiclass(...)."
        )
        raise InputError(f"Response {label!r} has {what} ({listed(map(repr, levels))}); {remedy}")
    second = levels[1]
    if event is not None:
        matches = [level for level in levels if level == event or str(level) == str(event)]
        if not matches:
            raise InputError(
                f"`event` must be one of the two values of {label!r}, {listed(map(repr, levels))}; got {event!r}."
            )
        second = matches[0]
    other = levels[0] if second == levels[1] else levels[1]
    coded = (codes == levels.index(second)).astype(float)
    return coded, Classes(plain(other), plain(second), dtype)


def levels_of(y: Any, label: str) -> tuple[list[Any], np.ndarray, str]:
    """Return the distinct labels that occur, in order, and the position of each row's label."""
    if isinstance(getattr(y, "dtype", None), pd.CategoricalDtype):
        used = pd.Categorical(y).remove_unused_categories()
        return list(used.categories), np.asarray(used.codes), "category"
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"Response {label!r} must be one column of labels; got shape {values.shape}.")
    try:
        codes, distinct = pd.factorize(values, sort=True)
    except TypeError:
        kinds = listed(sorted({type(value).__name__ for value in values}))
        raise InputError(f"Response {label!r} mixes labels that cannot be put in order ({kinds}).") from None
    kind = values.dtype.kind
    dtype = "bool" if kind == "b" else "number" if kind in "iuf" else "text"
    return [plain(value) for value in distinct], codes, dtype


def plain(value: Any) -> Any:
    """Return a number of numpy as Python's, all else as it is."""
    return value.item() if isinstance(value, np.generic) else value
