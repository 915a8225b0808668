"""Rows that belong together: which group each is of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, number_of
from qreg_boost.base.frames import align, as_frame


def groups_of_rows(groups: Any, design: Any) -> np.ndarray:
    """Return the group (n,) of each row of a design.

    Parameters
    ----------
    groups : array_like
        One value per row of the design, or of the data that it was made of; a Series goes by its index.
    design : Design

    Raises
    ------
    InputError
        If it is a name, does not fit the rows, or is missing in some.
    """
    if isinstance(groups, str):
        raise InputError(
            f"`groups` names the column {groups!r}, but a fit keeps no columns besides those of its formula; pass the "
            f"values: groups=data[{groups!r}]."
        )
    n, rows = len(design.y), design.rows
    beyond = int(rows.max(initial=-1))
    if isinstance(groups, pd.Series):
        if len(groups) > beyond and groups.index.take(rows).equals(design.index):
            groups = groups.iloc[rows]
        else:
            groups = align(groups, design.index, "groups")
    values = _values(groups)
    if values.ndim == 1 and len(values) != n and len(values) > beyond:
        values = values[rows]
    return _checked(values, n)


def groups_of_data(groups: Any, data: Any, n: int) -> np.ndarray:
    """Return the group (n,) of each row of other data: by name of a column, or one value per row."""
    if isinstance(groups, str):
        frame = None if isinstance(data, np.ndarray) else as_frame(data)
        if frame is None or groups not in frame:
            raise InputError(f"`groups` names the column {groups!r}, but the data lack it; pass its values.")
        groups = frame[groups]
    elif isinstance(groups, pd.Series) and isinstance(data, pd.DataFrame):
        groups = align(groups, data.index, "groups")
    return _checked(_values(groups), n)


def _values(groups: Any) -> np.ndarray:
    return groups.to_numpy(dtype=object) if isinstance(groups, pd.Series) else np.asarray(groups, dtype=object)


def _checked(values: np.ndarray, n: int) -> np.ndarray:
    if values.shape != (n,):
        raise InputError(
            f"`groups` must have one value per row: {n} rows, but shape {values.shape}. Pass a column of the data, as "
            "in groups=data['subject']."
        )
    missing = pd.isna(values)
    if missing.any():
        raise InputError(
            f"`groups` is missing in {number_of(int(missing.sum()), 'row')}; leave those rows out, or give each a "
            "group of its own."
        )
    return values


def name_of(groups: Any) -> Any:
    """Return what the groups are called: the column's name, that of a Series, or None."""
    return groups if isinstance(groups, str) else getattr(groups, "name", None)
