"""Saved fits of every kind, read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from qreg_boost.api_compose import RESTORERS as COMPOSED
from qreg_boost.api_kernels import KERNEL_MACHINES, KERNEL_PROCESSES
from qreg_boost.api_reject import RESTORERS as REJECTING
from qreg_boost.api_rivals import RESTORERS as RIVALS
from qreg_boost.base.checks import FileFormatError
from qreg_boost.base.process import QuantileProcess
from qreg_boost.base.storage import read
from qreg_boost.boosting.qbc_process_results import QBCProcess
from qreg_boost.boosting.saved_model import FAMILIES, restore_boost
from qreg_boost.quantreg.l1_model import restore_l1, restore_l1_fit
from qreg_boost.quantreg.saved_model import restore_process, restore_qreg
from qreg_boost.quantreg.several import QRegProcess

_RESTORERS: dict[str, Callable[..., Any]] = {
    **COMPOSED,
    **KERNEL_MACHINES,
    **REJECTING,
    **RIVALS,
    **{results.__name__: restore_boost for _, results in FAMILIES.values()},
    "L1Fit": restore_l1_fit,
    "L1Results": restore_l1,
    "QRegPath": restore_process,
    "QRegResults": restore_qreg,
}
_PROCESSES: dict[str, type[QuantileProcess]] = {
    **KERNEL_PROCESSES,
    "QBCProcess": QBCProcess,
    "QuantileProcess": QuantileProcess,
    "QRegProcess": QRegProcess,
}


def load(path: str | Path) -> Any:
    """Return a fit that was written by ``fit.save(path)``.

    Raises
    ------
    FileFormatError
        If the file is damaged, foreign, or written by a newer version.

    Examples
    --------
    >>> import tempfile, os
    >>> import qreg_boost as qb
    >>> fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = qb.load(fit.save(os.path.join(folder, "engel.qb")))
    >>> bool((again.params == fit.params).all())
    True
    """
    kind, meta, arrays = read(path)
    try:
        return _restore(kind, meta, arrays)
    except FileFormatError as error:
        raise FileFormatError(f"{str(path)!r} cannot be read. {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(
            f"{str(path)!r} is damaged (its content does not fit together: {reason}). Save the fit again with "
            "fit.save(path)."
        ) from None


def _restore(kind: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    if kind in _PROCESSES:
        fits = []
        for position, part in enumerate(meta["fits"]):
            prefix = f"{position}."
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            fits.append(_restore(part["kind"], part["meta"], own))
        process = _PROCESSES[kind](meta["taus"], fits)
        if meta.get("crossed") is not None:
            crossing, rows = meta["crossed"]
            process.crossed = (int(crossing), int(rows))
        return process
    if kind not in _RESTORERS:
        raise FileFormatError(f"The file holds a {kind!r}, which this version of qreg_boost does not know. Upgrade it.")
    return _RESTORERS[kind](meta, arrays)
