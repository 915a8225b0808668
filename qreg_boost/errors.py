"""What this package raises and warns of, to be caught or silenced by name.

Every error that a caller can mend is an `InputError`, itself a ``ValueError``; its message says what to do.

>>> import warnings
>>> import qreg_boost as qb
>>> with warnings.catch_warnings():
...     warnings.simplefilter("ignore", qb.errors.OneClassWarning)
...     fit = qb.qbc("large ~ income", {"large": [0, 0, 0, 1], "income": [1.0, 2.0, 3.0, 1.5]}, tau=0.1)
"""

from qreg_boost.base.checks import (
    BoundWarning,
    ConvergenceWarning,
    CrossingWarning,
    FileFormatError,
    FormulaError,
    InputError,
    MissingDependencyError,
    MissingRowsWarning,
    NotDefinedError,
    OneClassWarning,
)
from qreg_boost.quantreg.covariance import DensityWarning

__all__ = [
    "BoundWarning",
    "ConvergenceWarning",
    "CrossingWarning",
    "DensityWarning",
    "FileFormatError",
    "FormulaError",
    "InputError",
    "MissingDependencyError",
    "MissingRowsWarning",
    "NotDefinedError",
    "OneClassWarning",
]
