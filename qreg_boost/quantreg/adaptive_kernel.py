"""The density of a sample at a point, by a normal kernel whose width adapts to a pilot estimate.

References
----------
Silverman, B. (1986). Density Estimation for Statistics and Data Analysis. Chapman and Hall. Pages 100-104.
Portnoy, S. and Koenker, R. (1989). Adaptive L-estimation for linear models. Annals of Statistics 17, 362-381.
"""

from __future__ import annotations

import numpy as np

# The pilot estimate takes time of order m^2: of more rows, so many evenly spaced order statistics stand for all.
_MOST = 4000


def adaptive_density(x: np.ndarray, at: float) -> float:
    """Return the estimated density of a sample at a point, per unit of `x`; NaN if the sample has no spread.

    Parameters
    ----------
    x : (n,) array
        Sample.
    at : float
        Point.

    Notes
    -----
    The pilot estimate has a normal kernel of standard deviation h = 0.9 n^(-1/5) min(sd, IQR / 1.34). Then each row's
    is h times the root of the geometric mean of the pilot estimates over its own. Quartiles are order statistics, of
    ranks n / 4 rounded up from either end, and sd divides by n; R's ``akj`` gives the same.

    Examples
    --------
    >>> round(adaptive_density(np.array([-3.9, -3.1, -0.5, 0.0, 2.7, 6.2, 11.9]), 0.0), 8)
    0.07882944
    """
    n = len(x)
    if n < 2:
        return float("nan")
    x = np.sort(x)
    quarter = -(-n // 4)
    spread = min(float(np.std(x)), float(x[n - quarter] - x[quarter - 1]) / 1.34)
    h = 0.9 * spread * n**-0.2
    if not (np.isfinite(h) and h > 1e-12 * float(np.max(np.abs(x)))):
        return float("nan")
    if n > _MOST:
        x = x[np.linspace(0, n - 1, _MOST).round().astype(np.intp)]
    pilot = np.array([_normal((x - point) / h).mean() for point in x]) / h
    widths = h * np.sqrt(np.exp(np.mean(np.log(pilot))) / pilot)
    return float(np.mean(_normal((at - x) / widths) / widths))


def _normal(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
