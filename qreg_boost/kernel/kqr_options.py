"""What a caller says of a kernel quantile regression, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_positive, number_of


def check_matrix(y: Any, K: Any) -> None:
    """Refuse a precomputed kernel that is not one finite matrix (n, n) for the n values of y.

    Raises
    ------
    InputError
        With the shapes found.
    """
    n = np.shape(y)[0] if np.ndim(y) else 1
    try:
        matrix = np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("A precomputed kernel must be a matrix (n, n) of numbers.") from None
    if matrix.shape != (n, n):
        raise InputError(
            f"A precomputed kernel is a matrix (n, n) with k(x_i, x_j) in row i and column j. y has {n} values, so it "
            f"must have shape ({n}, {n}); got {matrix.shape}. For a matrix of predictors choose another kernel."
        )
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        raise InputError(
            f"The precomputed kernel has {number_of(len(wrong), 'value')} missing or infinite, the first in row "
            f"{wrong[0][0]}, column {wrong[0][1]} (counted from 0)."
        )


def read_gammas(gamma: Any) -> list[Any]:
    """Return the values or rules of gamma as a list."""
    given = list(gamma) if isinstance(gamma, (list, tuple, np.ndarray)) or hasattr(gamma, "to_numpy") else [gamma]
    if not given:
        raise InputError("`gamma` is an empty list; give at least one number, or a rule.")
    return given


def read_costs(C: Any) -> list[float]:
    """Return the values of C as a list, each once."""
    given = list(C) if isinstance(C, (list, tuple, np.ndarray)) or hasattr(C, "to_numpy") else [C]
    if not given:
        raise InputError("`C` is an empty list; give at least one number above 0.")
    advice = " It weighs the losses against the penalty."
    return list(dict.fromkeys(check_positive(one, "C", advice=advice) for one in given))
