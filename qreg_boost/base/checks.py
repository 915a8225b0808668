"""Checks of what a caller passes, and the wording of every message.

A message says what is wrong, what was found, what is allowed and what to do. Errors that a caller can mend derive from
`InputError`, itself a ``ValueError``; the command line turns exactly these into one line and exit code 2.
"""

from __future__ import annotations

import difflib
import math
import sys
import unicodedata
import warnings
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

LARGEST = 1e140
"""Sizes beyond this, or below its inverse, have squares beyond floating point."""


class InputError(ValueError):
    """What was passed cannot be used; the message says what to pass instead."""


class FormulaError(InputError):
    """A formula that cannot be read, or that names what is not in the data."""


class NotDefinedError(InputError, AttributeError):
    """A quantity without meaning for this fit; the message names what to ask instead."""


class FileFormatError(InputError):
    """A file that is damaged, foreign, or written by a newer version."""


class MissingDependencyError(InputError, ImportError):
    """An optional package, or R, is not there; the message says how to get it."""


class ConvergenceWarning(UserWarning):
    """A fit that ended before it was done; the message gives the figure reached."""


class BoundWarning(UserWarning):
    """A best value that lies at the edge of what was searched."""


class MissingRowsWarning(UserWarning):
    """Rows that a transform in the formula made missing, though their data are there."""


class CrossingWarning(UserWarning):
    """Predicted quantiles that cross."""


class OneClassWarning(UserWarning):
    """A classifier that predicts one class for every row."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the nearest line outside this package: the one that the caller can change."""
    own = {__name__.partition(".")[0], "functools"}  # functools: cached properties
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in own:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known name closest to `name`, or an empty string."""
    candidates = [str(k) for k in known]
    composed = unicodedata.normalize("NFC", str(name))
    same = [k for k in candidates if unicodedata.normalize("NFC", k) == composed and k != str(name)]
    if same:
        return (
            f" The known {same[0]!r} differs from it in Unicode form alone (an accented letter as one character or as "
            "two); bring both to one form with unicodedata.normalize('NFC', ...)."
        )
    found = [k for k in candidates if k.casefold() == str(name).casefold() and k != str(name)]
    begun = [k for k in candidates if k.casefold().startswith(str(name).casefold())]
    found = found or (begun if len(begun) == 1 else difflib.get_close_matches(str(name), candidates, n=1, cutoff=0.6))
    return f" Did you mean {found[0]!r}?" if found else ""


def check_options(given: Iterable[str], known: Collection[str]) -> None:
    """Raise InputError for the first option by name that is not known.

    >>> check_options(["tau"], ["tau", "nu"])
    """
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(f"Unknown option {unknown[0]!r}.{nearest(unknown[0], known)} Options: {', '.join(known)}.")


def check_weight_size(weights: np.ndarray) -> None:
    """Raise InputError if the largest of the weights (n,) is too large or too small to compute with.

    >>> check_weight_size(np.ones(3))
    """
    if not 1.0 / LARGEST < weights.max() < LARGEST:
        raise InputError(
            f"`weights` reach {weights.max():.3g}, too far from 1 to compute with; divide them all by that: only "
            "their ratios count."
        )


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> number_of(1, "row"), number_of(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Iterable[object], most: int = 12) -> str:
    """Return names joined by commas, the tail counted rather than shown."""
    texts = [str(name) for name in names]
    if len(texts) <= most:
        return ", ".join(texts)
    return ", ".join(texts[:most]) + f", ... ({len(texts) - most} more)"


def check_tau(tau: Any) -> float:
    """Return `tau` as a float strictly between 0 and 1.

    >>> check_tau(0.5)
    0.5
    """
    if isinstance(tau, bool) or not isinstance(tau, Real):
        raise InputError(f"`tau` must be a number strictly between 0 and 1; got {tau!r}.")
    value = float(tau)
    if 0.0 < value < 1.0:
        return value
    hint = f" For the {_ordinal(value)} percentile write tau={value / 100:.4g}." if 1.0 < value < 100.0 else ""
    raise InputError(f"`tau` must lie strictly between 0 and 1; got {tau!r}.{hint}")


def check_alpha(alpha: Any) -> float:
    """Return `alpha` as a float strictly between 0 and 1.

    >>> check_alpha(0.05)
    0.05
    """
    number = float(alpha) if isinstance(alpha, Real) and not isinstance(alpha, bool) else np.nan
    if 0.0 < number < 1.0:
        return number
    written = f"For {number:g} % intervals write alpha={1 - number / 100:.4g}."
    hint = written if 50.0 <= number < 100.0 else "0.05 gives 95 % intervals."
    raise InputError(f"`alpha` must lie strictly between 0 and 1; got {alpha!r}. {hint}")


def _ordinal(value: float) -> str:
    if value != int(value):
        return f"{value:g}th"
    number = int(value)
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def check_count(value: Any, name: str, least: int = 0, advice: str = "") -> int:
    """Return `value` as an int of at least `least`; whole floats are taken."""
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, (bool, np.bool_)) or not whole or int(value) < least:
        raise InputError(f"`{name}` must be a whole number of at least {least}; got {value!r}.{advice}")
    return int(value)


def check_positive(value: Any, name: str, most: float = math.inf, advice: str = "") -> float:
    """Return `value` as a finite float above 0 and at most `most`."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and 0.0 < number <= most):
        bound = "" if most == math.inf else f" and at most {most:g}"
        raise InputError(f"`{name}` must be a number above 0{bound}; got {value!r}.{advice}")
    return number


def check_choice(value: Any, name: str, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of `allowed`."""
    allowed = list(allowed)
    if not isinstance(value, str) or value not in allowed:
        hint = nearest(value, allowed) if isinstance(value, str) else ""
        choices = f"{'one of ' if len(allowed) > 1 else ''}{', '.join(map(repr, allowed))}"
        raise InputError(f"`{name}` must be {choices}; got {value!r}.{hint}")
    return value


def check_bool(value: Any, name: str) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"`{name}` must be True or False; got {value!r}.")
    return bool(value)


def check_weights(weights: Any, n: int, name: str = "weights") -> np.ndarray:
    """Return weights as (n,) float64: finite, none negative, not all zero."""
    array = _real_vector(weights, n, name)
    if np.isnan(array).any():
        raise InputError(
            f"`{name}` has {number_of(int(np.isnan(array).sum()), 'missing value')}; "
            "give every row a weight, 0 to leave it out."
        )
    if not np.isfinite(array).all():
        raise InputError(f"`{name}` has infinite values; weights must be finite numbers of at least 0.")
    if (array < 0).any():
        row = int(np.flatnonzero(array < 0)[0])
        raise InputError(
            f"`{name}` must not be negative; found {number_of(int((array < 0).sum()), 'negative value')}, "
            f"the first {array[row]:g} in row {row}."
        )
    if n and not (array > 0).any():
        raise InputError(f"`{name}` are all zero; at least one row needs a weight above 0.")
    return array


def check_offset(offset: Any, n: int, name: str = "offset") -> np.ndarray:
    """Return an offset as (n,) float64 in units of y, finite."""
    array = _real_vector(offset, n, name)
    if not np.isfinite(array).all():
        count = int((~np.isfinite(array)).sum())
        raise InputError(f"`{name}` must be finite; found {number_of(count, 'missing or infinite value')}.")
    return array


def _real_vector(values: Any, n: int, name: str) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` must be numbers; got {type(values).__name__}.") from None
    if array.ndim != 1:
        raise InputError(f"`{name}` must be one value per row (shape ({n},)); got shape {array.shape}.")
    if len(array) != n:
        raise InputError(f"`{name}` must have one value per row: {n} rows, but {len(array)} values.")
    return array


def check_finite(values: np.ndarray, what: str, new_data: bool = False) -> None:
    """Refuse infinite values; `what` names the column or variable, and in new data no rows are ever dropped."""
    bad = np.isinf(values)
    if bad.any():
        row = int(np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))[0])
        raise InputError(
            f"{what} has {number_of(int(bad.sum()), 'infinite value')}, the first in row {row}. Replace them by "
            f"missing values{', which predict NaN,' if new_data else ' to drop those rows,'} or by finite numbers."
        )
