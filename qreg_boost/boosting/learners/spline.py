"""Smooth base learners: one P-spline per numeric term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import InputError, check_count, check_positive, listed, nearest
from qreg_boost.boosting.learners.base import Predictors
from qreg_boost.boosting.learners.bsplines import Knots

if TYPE_CHECKING:
    from qreg_boost.boosting.learners.bands import BandedBlocks, Part

CONSTANT = 1e-13
"""A column whose range is this small, relative to its values, is constant to rounding."""
FEW = 1000
"""Rows that are looked at first for enough distinct values."""


@dataclass(frozen=True)
class Spline:
    """One penalised spline (P-spline) per numeric term, a linear learner for every other term.

    A term of several columns (a factor, ``poly(x, 2)``) is linear, and so is one of no more distinct values than `df`.
    Where a term is given a spline by name (``{"x": "spline"}``), both are refused instead.

    Parameters
    ----------
    df : float
        Degrees of freedom of each spline, trace(2S - S'S) of its smoother S, the constant included; above
        `differences`, for that many a spline of endless penalty has.
    knots : int
        Number of inner knots, equidistant over the range of the rows with weight above 0.
    degree : int
    differences : int
        Order of the differences of neighbouring coefficients whose squares are penalised.
    monotone : {1, -1} or dict, optional
        1 for terms that never fall, -1 for terms that never rise; or by term. At each iteration the coefficients of the
        sum of all updates rise (fall), so the term is monotone, beyond the knots as well. Under a line search, which
        may take any step, each update does.

    Notes
    -----
    An update minimises sum w (u - B b)^2 + lambda sum (differences of b)^2; lambda follows from `df`, and the learner
    chosen is the one of least sum w (u - B b)^2: the conventions of mboost's ``bbs``. Beyond the range of the rows a
    spline goes on as a straight line. Without an intercept in the formula splines are measured from their means all the
    same.

    Monotone, b is the minimiser among those that, times the longest step there can be, leave the coefficients so far
    rising (falling). So an update may take back what earlier ones overdid, and where the truth is monotone hardly
    anything is lost; updates each of which is monotone cannot, and stay short of the best monotone fit.

    References
    ----------
    Eilers and Marx (1996), Flexible Smoothing with B-splines and Penalties, Statistical Science 11, 89-121.
    Buhlmann and Hothorn (2007), Boosting Algorithms: Regularization, Prediction and Model Fitting, Statistical Science
    22, 477-505.
    Hofner, Mayr, Robinzonov and Schmid (2014), Model-based Boosting in R, Computational Statistics 29, 3-35.

    >>> Spline(df=3).name
    'spline'
    """

    df: float = 4.0
    knots: int = 20
    degree: int = 3
    differences: int = 2
    monotone: int | Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        check_positive(self.df, "df", advice=" It is the degrees of freedom of each spline; 4 is usual.")
        check_count(self.knots, "knots", 1, " It is the number of inner knots; 20 is usual.")
        check_count(self.degree, "degree", 1, " 3 makes a cubic spline.")
        check_count(self.differences, "differences", 1, " 2 penalises what departs from a straight line.")
        most = self.knots + self.degree + 1
        if self.differences >= most:
            raise InputError(
                f"`differences` must be below the {most} coefficients of a spline; got {self.differences}."
            )
        if self.df <= self.differences:
            other = "" if self.differences == 1 else f", or differences={self.differences - 1}"
            raise InputError(
                f"`df` must be above `differences`, {self.differences}: so many degrees of freedom are not penalised; "
                f'got {self.df:g}. Give more{other}; for straight lines use the learner "linear".'
            )
        if self.df >= most:
            raise InputError(
                f"df={self.df:g} cannot be reached: a spline on {self.knots} inner knots of degree {self.degree} has "
                f"{most} coefficients. Give a lower `df`, or more `knots`."
            )
        signs = self.monotone.values() if isinstance(self.monotone, Mapping) else (self.monotone,)
        if any(isinstance(sign, bool) or sign not in (None, 0, 1, -1) for sign in signs):
            raise InputError(
                f'`monotone` must be 1 (rising), -1 (falling), a dict such as {{"x1": 1}}, or None; got '
                f"{self.monotone!r}."
            )

    @property
    def name(self) -> str:
        """The name that the option `learner` takes."""
        return "spline"

    def prepare(self, data: Predictors) -> BandedBlocks:
        """Return one learner per term, splines where they can be."""
        from qreg_boost.boosting.learners.linear import Linear
        from qreg_boost.boosting.learners.mapping import prepared_terms

        learners = {term: Linear() if self.refuses(data, k) else self for k, term in enumerate(data.terms)}
        self.check_terms([term for term, learner in learners.items() if learner is self], data.terms)
        return prepared_terms(learners, data)

    def check_terms(self, splines: list[str], terms: tuple[str, ...]) -> None:
        """Refuse a monotone term that is no spline."""
        for term in self.monotone if isinstance(self.monotone, Mapping) else ():
            if term not in splines:
                known = "is linear in" if term in terms else "is no term of"
                raise InputError(
                    f"`monotone` names {term!r}, which {known} this fit.{nearest(term, splines)} Splines: "
                    f"{listed(splines) or 'none'}."
                )

    def refuses(self, data: Predictors, k: int) -> str:
        """Return why term k can have no spline of these degrees of freedom; empty if it can."""
        first, last = data.blocks[k], data.blocks[k + 1]
        if last - first != 1:
            return f"it has {last - first} columns, and a spline is a function of one"
        x = data.X[:, first]
        if np.ptp(x) <= CONSTANT * np.abs(x).max():
            return "it does not vary"
        distinct = len(np.unique(x[:FEW]))
        if distinct <= self.df and len(x) > FEW:
            distinct = len(np.unique(x))
        if distinct <= self.df:
            return f"it has {distinct} distinct values, and a spline of df={self.df:g} needs more than that"
        return ""

    def part(self, data: Predictors, k: int) -> Part:
        """Return how term k is fitted."""
        from qreg_boost.boosting.learners.bands import Part

        first, term = int(data.blocks[k]), data.terms[k]
        x = data.X[:, first]
        sign = self.monotone.get(term, 0) if isinstance(self.monotone, Mapping) else self.monotone
        return Part(
            term,
            first,
            first + 1,
            Knots(float(x.min()), float(x.max()), int(self.knots), int(self.degree)),
            float(self.df),
            int(self.differences),
            int(sign or 0),
        )
