"""Bandwidths in tau for estimates of the sparsity, 1 over the density at the quantile.

References
----------
Hall, P. and Sheather, S. (1988). On the distribution of a Studentized quantile. JRSS B 50, 381-391.
Bofinger, E. (1975). Estimation of a density function using order statistics. Australian J. of Statistics 17, 1-7.
Koenker, R. (2005). Quantile Regression. Cambridge University Press. Section 4.10.1.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

from qreg_boost.base.checks import InputError, check_choice, check_count, check_positive, check_tau

_NORMAL = NormalDist()


def hall_sheather(tau: float, n: int, alpha: float = 0.05) -> float:
    """Return the bandwidth of Hall and Sheather, of order n^(-1/3), best for intervals of level 1 - alpha.

    Parameters
    ----------
    tau : float
        Quantile level, in (0, 1).
    n : int
        Number of observations.
    alpha : float
        One minus the level of the intervals that the bandwidth is for.

    Examples
    --------
    >>> round(hall_sheather(0.5, 235), 8)
    0.15743933
    """
    x, z = _NORMAL.inv_cdf(tau), _NORMAL.inv_cdf(1.0 - alpha / 2.0)
    return n ** (-1 / 3) * z ** (2 / 3) * (1.5 * _NORMAL.pdf(x) ** 2 / (2.0 * x**2 + 1.0)) ** (1 / 3)


def bofinger(tau: float, n: int, alpha: float = 0.05) -> float:
    """Return the bandwidth of Bofinger, of order n^(-1/5), best for the mean squared error of the sparsity.

    Parameters
    ----------
    tau : float
        Quantile level, in (0, 1).
    n : int
        Number of observations.
    alpha : float
        Not used.

    Examples
    --------
    >>> round(bofinger(0.5, 235), 8)
    0.21734867
    """
    x = _NORMAL.inv_cdf(tau)
    return n ** (-1 / 5) * (4.5 * _NORMAL.pdf(x) ** 4 / (2.0 * x**2 + 1.0) ** 2) ** (1 / 5)


BANDWIDTHS: dict[str, Callable[[float, int, float], float]] = {"hall-sheather": hall_sheather, "bofinger": bofinger}


def bandwidth(tau: float, n: int, rule: Any = "hall-sheather", alpha: float = 0.05) -> float:
    """Return the bandwidth of a rule, or a number that the caller gives.

    Parameters
    ----------
    tau : float
        Quantile level, in (0, 1).
    n : int
        Number of observations.
    rule : str or float
        A name of `BANDWIDTHS`, or the bandwidth itself.
    alpha : float
        One minus the level of the intervals that the bandwidth is for.

    Raises
    ------
    InputError
        For a rule that is not known, or a value out of range.

    Examples
    --------
    >>> bandwidth(0.5, 100, rule=0.1)
    0.1
    """
    tau, n = check_tau(tau), check_count(n, "n", least=1)
    if not isinstance(rule, str):
        return check_positive(rule, "bandwidth", advice=f" Or name a rule: {', '.join(map(repr, BANDWIDTHS))}.")
    if not 0.0 < check_positive(alpha, "alpha") < 1.0:
        raise InputError(f"`alpha` must lie between 0 and 1; got {alpha!r}. For 95 % intervals write 0.05.")
    return BANDWIDTHS[check_choice(rule, "bandwidth", BANDWIDTHS)](tau, n, alpha)


def inside(tau: float, h: float) -> float:
    """Return `h` halved until tau - h and tau + h lie strictly between 0 and 1.

    R halves in the same way, but lets tau - h = 0 and tau + h = 1 pass, where the difference quotient has no meaning.

    Examples
    --------
    >>> inside(0.05, 0.08)
    0.04
    """
    while not (tau - h > 0.0 and tau + h < 1.0):
        h /= 2.0
    return h
