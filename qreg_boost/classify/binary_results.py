"""What a binary quantile regression hands back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import NotDefinedError, check_alpha, check_bool, check_count
from qreg_boost.base.class_results import TwoClassResults
from qreg_boost.base.facts import Facts
from qreg_boost.classify.score import Standard
from qreg_boost.classify.search import Found

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary


class BinaryQRegResults(TwoClassResults):
    """A fitted binary quantile regression; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    found : Found
        What the search found, on the standard scale.
    standard : Standard
    model : BinaryQReg or None
    encoder : Encoder
    """

    title = "Binary Quantile Regression"

    def __init__(self, facts: Facts, found: Found, standard: Standard, model: Any, encoder: Any) -> None:
        super().__init__(facts, model, encoder)
        self.found = found
        self.standard = standard

    # -- coefficients

    @property
    def _labels(self) -> pd.Index:
        return pd.Index([*(["Intercept"] if self.facts.intercept else []), *self.facts.columns], name="term")

    @property
    def _unit(self) -> float:
        name = self.facts.own["normalize"]
        return 1.0 if name == "slopes" else float(self.standard.spread[self.facts.columns.index(name)])

    @cached_property
    def params(self) -> pd.Series:
        """Coefficients for predictors in the data's units, the intercept first.

        They count up to a positive factor only. Under ``normalize="slopes"`` the slopes of the standardised predictors
        have norm 1; under a column's name that column has the coefficient 1 or -1.
        """
        values = self.standard.back(self.found.theta, self.facts.intercept) * self._unit
        return pd.Series(values, index=self._labels, name=f"tau={self.tau:g}")

    @property
    def params_standardized(self) -> pd.Series:
        """Coefficients for predictors of mean 0 and standard deviation 1; `h` is in units of their index."""
        return pd.Series(self.found.theta, index=self._labels, name=f"tau={self.tau:g}")

    def conf_int(
        self, alpha: float = 0.05, reps: int = 200, rng: Any = 0, n_jobs: int = 1, progress: bool = True
    ) -> pd.DataFrame:
        """Return bootstrap percentile intervals of level 1 - alpha: columns ``lower`` and ``upper``.

        Parameters
        ----------
        alpha : float
            Strictly between 0 and 1.
        reps : int
            Fits to rows drawn with replacement. Each starts from the best maxima of this fit and from a linear fit, not
            from all starts anew, on the standard scale of this fit.
        rng : int, Generator or None
        n_jobs : int
            The intervals do not depend on it.
        progress : bool
            Whether runs of more than two seconds show a bar.

        Raises
        ------
        NotDefinedError
            For the unsmoothed score, h = 0.

        References
        ----------
        Horowitz, J. L. (1992). A smoothed maximum score estimator for the binary response model. Econometrica 60,
        505-531. Abrevaya, J. and Huang, J. (2005). On the bootstrap of the maximum score estimator. Econometrica 73,
        1175-1204.
        """
        if self.facts.own["h"] == 0.0:
            raise NotDefinedError(
                "The unsmoothed score (h=0) has no bootstrap intervals: its estimator converges at the cube root of n, "
                "where the bootstrap does not reproduce its distribution (Abrevaya and Huang 2005). Fit with h above 0."
            )
        tail = 0.5 * check_alpha(alpha)
        reps = check_count(reps, "reps", 2)
        drawn = self.model.bootstrap(self.found, reps, rng, n_jobs, progress)
        bounds = np.quantile(drawn, [tail, 1.0 - tail], axis=0).T
        return pd.DataFrame(bounds, index=self._labels, columns=["lower", "upper"])

    # -- how good it is

    @property
    def score(self) -> float:
        """The (smoothed) score reached: the weighted sum of (y - (1 - tau)) K(f / h)."""
        return float(self.facts.own["score"])

    @property
    def bound(self) -> float:
        """The score that nothing exceeds: tau times the weight of the events."""
        return float(self.facts.own["bound"])

    @property
    def separated(self) -> bool:
        """Whether every row fitted is predicted rightly."""
        return self.error_rate == 0.0

    @property
    def optima(self) -> pd.DataFrame:
        """The distinct maxima that the search reached, the greatest first: score, starts, coefficients."""
        f = self.found
        values = np.array([self.standard.back(theta, self.facts.intercept) * self._unit for theta in f.thetas])
        table = pd.DataFrame(values, columns=self._labels.to_list())
        table.insert(0, "starts", f.reached)
        table.insert(0, "score", f.scores)
        return table

    @property
    def n_optima(self) -> int:
        """Number of distinct maxima reached."""
        return len(self.found.scores)

    @property
    def spread(self) -> float:
        """Score of the best maximum reached less that of the worst."""
        return float(self.found.scores[0] - self.found.scores[-1])

    # -- rows

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return the index x'b (rows,) at rows of the design (rows, p), with the coefficients of `params`."""
        values = self.params.to_numpy()
        return X @ values[int(self.facts.intercept) :] + (values[0] if self.facts.intercept else 0.0)

    def predict(self, new: Any = None) -> pd.Series:
        """Return predicted labels for new data: the event where P(event) > 1 - tau, that is where the index is >= 0.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the training rows. Rows in which something
            is missing get a missing label.
        """
        return super().predict(new)

    # -- tables

    def quality(self) -> dict[str, Any]:
        """Return the score, its bound, and how many maxima were reached."""
        own = self.facts.own
        return {
            "h": own["h"],
            "method": own["method"],
            "score": self.score,
            "bound": self.bound,
            "n_optima": self.n_optima,
            "spread": self.spread,
        }

    def tidy(self, conf_int: bool = False, **options: Any) -> pd.DataFrame:
        """Return one row per coefficient: term, estimate, standardized; with `conf_int`, conf_low and conf_high.

        `options` are those of `conf_int`.
        """
        table = pd.DataFrame(
            {
                "term": self.params.index,
                "estimate": self.params.to_numpy(),
                "standardized": self.params_standardized.to_numpy(),
            }
        )
        if check_bool(conf_int, "conf_int"):
            bounds = self.conf_int(**options)
            table["conf_low"], table["conf_high"] = bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
        return table

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        f, s = self.found, self.standard
        arrays = {"thetas": f.thetas, "scores": f.scores, "reached": f.reached, "centre": s.centre, "spread": s.spread}
        return {}, arrays

    def in_short(self) -> list[str]:
        """Return the lines of ``print(fit)`` below the call."""
        from qreg_boost.classify.binary_report import coefficient_lines

        return [*coefficient_lines(self), *super().in_short()]

    def summary(self, conf_int: bool = False, **options: Any) -> Summary:
        """Return the summary as text, HTML and LaTeX; with `conf_int`, bootstrap intervals, whose options follow."""
        from qreg_boost.classify.binary_report import summarise

        bounds = self.conf_int(**options) if check_bool(conf_int, "conf_int") else None
        return summarise(self, bounds, float(options.get("alpha", 0.05)))
