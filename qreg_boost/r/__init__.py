"""R from Python: what is there, `rq` on a pandas frame, and a fit checked against R.

Importing this module starts nothing: rpy2 is imported, and R started, when a function first needs them.
"""

from qreg_boost.r.compare import Comparison, compare
from qreg_boost.r.installation import Availability, available
from qreg_boost.r.kernlab import KQRInR, kqr
from qreg_boost.r.objects import to_r
from qreg_boost.r.quantreg import RQResults, rq
from qreg_boost.r.session import RError, RWarning

__all__ = [
    "Availability",
    "Comparison",
    "KQRInR",
    "RError",
    "RQResults",
    "RWarning",
    "available",
    "compare",
    "kqr",
    "rq",
    "to_r",
]
