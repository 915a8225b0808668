"""Quantile regression and quantile classification for people who think in formulas."""

from __future__ import annotations

from qreg_boost import datasets, errors
from qreg_boost.api import anova, l1qreg, qbr, qreg, qreg_process
from qreg_boost.api_classes import adaboost, l2boost, logitboost, qbc
from qreg_boost.api_compose import jous, multiclass, quanting
from qreg_boost.api_files import load
from qreg_boost.api_kernels import kqr
from qreg_boost.api_reject import reject_classifier
from qreg_boost.api_rivals import binary_qreg, median_classifier
from qreg_boost.base.process import QuantileProcess
from qreg_boost.boosting.classifier_model import QBC, AdaBoost, LogitBoost
from qreg_boost.boosting.classifier_results import (
    AdaBoostResults,
    ClassBoostResults,
    L2ClassResults,
    LogitBoostResults,
    QBCResults,
)
from qreg_boost.boosting.l2_model import L2Boost
from qreg_boost.boosting.l2_results import L2Results
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.qbc_process_results import QBCProcess
from qreg_boost.boosting.qbr_results import QBRResults
from qreg_boost.boosting.stopping import CV, CVResult
from qreg_boost.classify.binary_model import BinaryQReg
from qreg_boost.classify.binary_results import BinaryQRegResults
from qreg_boost.classify.median_model import MedianClassifier
from qreg_boost.classify.median_results import MedianResults
from qreg_boost.compose.chow import Chow, ChowResults
from qreg_boost.compose.jous_model import Jous
from qreg_boost.compose.jous_results import JousResults
from qreg_boost.compose.multiclass_model import MultiClass
from qreg_boost.compose.multiclass_results import MultiClassResults
from qreg_boost.compose.qbc_pair import QBCPair, QBCPairResults
from qreg_boost.compose.quanting_model import Quanting
from qreg_boost.compose.quanting_results import QuantingResults
from qreg_boost.haar import haar_features, haar_layout, integral_image
from qreg_boost.kernel.choosing import KernelCV
from qreg_boost.kernel.kqr_model import KQR
from qreg_boost.kernel.kqr_process_results import KQRProcess
from qreg_boost.kernel.kqr_results import KQRResults
from qreg_boost.quantreg.anova_results import AnovaResult
from qreg_boost.quantreg.l1_cv import L1CV
from qreg_boost.quantreg.l1_model import L1QReg
from qreg_boost.quantreg.l1_results import L1Fit, L1Results
from qreg_boost.quantreg.model import QReg
from qreg_boost.quantreg.process_results import QRegPath
from qreg_boost.quantreg.results import QRegResults
from qreg_boost.quantreg.several import QRegProcess
from qreg_boost.reject.choosing import RejectCV
from qreg_boost.reject.model import RejectClassifier
from qreg_boost.reject.results import RejectResults

__version__ = "0.1.0"

__all__ = [
    "CV",
    "KQR",
    "L1CV",
    "QBC",
    "QBR",
    "AdaBoost",
    "AdaBoostResults",
    "AnovaResult",
    "BinaryQReg",
    "BinaryQRegResults",
    "CVResult",
    "Chow",
    "ChowResults",
    "ClassBoostResults",
    "Jous",
    "JousResults",
    "KQRProcess",
    "KQRResults",
    "KernelCV",
    "L1Fit",
    "L1QReg",
    "L1Results",
    "L2Boost",
    "L2ClassResults",
    "L2Results",
    "LogitBoost",
    "LogitBoostResults",
    "MedianClassifier",
    "MedianResults",
    "MultiClass",
    "MultiClassResults",
    "QBCPair",
    "QBCPairResults",
    "QBCProcess",
    "QBCResults",
    "QBRResults",
    "QReg",
    "QRegPath",
    "QRegProcess",
    "QRegResults",
    "QuantileProcess",
    "Quanting",
    "QuantingResults",
    "RejectCV",
    "RejectClassifier",
    "RejectResults",
    "__version__",
    "adaboost",
    "anova",
    "binary_qreg",
    "datasets",
    "errors",
    "haar_features",
    "haar_layout",
    "integral_image",
    "jous",
    "kqr",
    "l1qreg",
    "l2boost",
    "load",
    "logitboost",
    "median_classifier",
    "multiclass",
    "qbc",
    "qbr",
    "qreg",
    "qreg_process",
    "quanting",
    "reject_classifier",
]
