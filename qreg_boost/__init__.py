"""Quantile regression and quantile classification for people who think in formulas."""

from __future__ import annotations

from qreg_boost import datasets
from qreg_boost.api import anova, l1qreg, load, qbr, qreg, qreg_process
from qreg_boost.base.process import QuantileProcess
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.qbr_results import QBRResults
from qreg_boost.boosting.stopping import CV, CVResult
from qreg_boost.haar import haar_features, haar_layout, integral_image
from qreg_boost.quantreg.model import QReg
from qreg_boost.quantreg.results import QRegResults

__version__ = "0.1.0"

__all__ = [
    "CV",
    "QBR",
    "CVResult",
    "QBRResults",
    "QReg",
    "QRegResults",
    "QuantileProcess",
    "__version__",
    "anova",
    "datasets",
    "haar_features",
    "haar_layout",
    "integral_image",
    "l1qreg",
    "load",
    "qbr",
    "qreg",
    "qreg_process",
]
