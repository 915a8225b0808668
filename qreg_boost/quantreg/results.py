"""What a quantile regression hands back: coefficients, their inference, predictions with intervals, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import NotDefinedError, check_alpha, check_choice
from qreg_boost.base.evaluation import Judged
from qreg_boost.base.results import FitResults
from qreg_boost.quantreg import predicting, tables
from qreg_boost.quantreg.facts import QRegFacts
from qreg_boost.quantreg.inference import KINDS, Estimate, check_kind
from qreg_boost.quantreg.solution import Solution

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary


@dataclass(frozen=True)
class SEChoice:
    """A kind of standard error by name, and its options."""

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)


class QRegResults(Judged, FitResults):
    """A fitted quantile regression; made by ``fit``, never changed afterwards.

    Inference is computed when first asked for, not in the fit.

    Parameters
    ----------
    facts : QRegFacts
    coef : (p,) array
        Coefficients, NaN for columns that were dropped.
    choice : SEChoice
        The kind of standard error.
    model : QReg or None
        The model, which holds the rows; None for a fit loaded from a file without data.
    solution : Solution or None
        What the solver handed back.
    known : dict, optional
        What a loaded fit knows without its rows: estimates by kind, the null loss, the encoder.
    """

    title = "Quantile Regression"

    def __init__(
        self,
        facts: QRegFacts,
        coef: np.ndarray,
        choice: SEChoice,
        model: Any = None,
        solution: Solution | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self.facts = facts
        self.choice = choice
        self.solution = solution
        self._coef = coef
        self._model = model
        self._known = dict(known or {})

    # -- what it is

    @property
    def df_resid(self) -> int:
        """Rows less estimated coefficients."""
        return self.facts.nobs - self.facts.rank

    @property
    def df_model(self) -> int:
        """Estimated coefficients, an intercept of the formula left out."""
        return self.facts.rank - int(self.facts.intercept)

    @property
    def se(self) -> str:
        """Kind of the standard errors."""
        return self.choice.kind

    @property
    def status(self) -> str:
        """How the solver ended."""
        return self.facts.status

    # -- coefficients and their inference

    @cached_property
    def params(self) -> pd.Series:
        """Coefficients in units of y per unit of the column; missing for columns that were dropped."""
        return self._series(self._coef, f"tau={self.tau:g}")

    def _series(self, values: np.ndarray | None, name: str) -> pd.Series:
        values = np.full(len(self._labels), np.nan) if values is None else values
        return pd.Series(values, index=self._labels, name=name)

    @property
    def _labels(self) -> pd.Index:
        return pd.Index(self.facts.columns, name="term")

    @cached_property
    def _estimate(self) -> Estimate:
        return self._ask(self.choice, None)

    def _ask(self, choice: SEChoice, alpha: float | None) -> Estimate:
        known = self._known.get("estimates", {}).get(choice.kind)
        if self._model is None and known is not None and alpha in (None, known.alpha):
            return known
        if self._model is None:
            level = "" if alpha is None else f" at alpha={alpha:g}"
            held = ", ".join(map(repr, self._known.get("estimates", {}))) or "none"
            raise NotDefinedError(
                f"se={choice.kind!r}{level} needs the rows, which the file does not hold (it holds {held}). "
                "Save the fit with save(path, data=True)."
            )
        found: Estimate = self._model.estimate(choice, self.solution, self.tau, alpha)
        return found

    @cached_property
    def bse(self) -> pd.Series:
        """Standard errors; missing where the inference gives intervals only."""
        return self._series(self._estimate.standard_errors, "bse")

    @cached_property
    def tvalues(self) -> pd.Series:
        """Coefficients over standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return (self.params / self.bse).rename("tvalues")

    @cached_property
    def pvalues(self) -> pd.Series:
        """Two-sided p values by the t distribution with `df_resid` degrees of freedom, as in R."""
        from scipy.special import stdtr

        return self._series(2.0 * stdtr(max(self.df_resid, 0) or np.nan, -np.abs(self.tvalues.to_numpy())), "pvalues")

    def conf_int(self, alpha: float | None = None) -> pd.DataFrame:
        """Return intervals of level 1 - alpha: columns ``lower`` and ``upper``.

        Parameters
        ----------
        alpha : float, optional
            By default 0.1 where they come from rank inversion, as in R, and 0.05 otherwise. Ends may be infinite.
        """
        alpha = self.usual_alpha if alpha is None else check_alpha(alpha)
        estimate = self._estimate if alpha == self.usual_alpha else None
        if KINDS[self.se].intervals_only:
            estimate = self._ask(self.choice, alpha) if estimate is None else estimate
            bounds = estimate.bounds
        else:
            half = predicting.t_quantile(1.0 - alpha / 2.0, self.df_resid) * self.bse.to_numpy()
            bounds = np.column_stack((self._coef - half, self._coef + half))
        return pd.DataFrame(bounds, index=self._labels, columns=["lower", "upper"])

    @property
    def usual_alpha(self) -> float:
        """One minus the level of intervals if none is asked for."""
        return KINDS[self.se].alpha

    def cov_params(self) -> pd.DataFrame:
        """Return the covariance matrix of the coefficients.

        Raises
        ------
        NotDefinedError
            If the inference gives intervals only.
        """
        if self._estimate.covariance is None:
            raise NotDefinedError(
                f"se={self.se!r} gives intervals by inverting a test, not a covariance matrix: see conf_int(). "
                'with_se("nid").cov_params() estimates one.'
            )
        return pd.DataFrame(self._estimate.covariance, index=self._labels, columns=self._labels)

    def with_se(self, se: str, **options: Any) -> QRegResults:
        """Return the same fit with another kind of standard error; this one stays as it is.

        Parameters
        ----------
        se : {"nid", "iid", "ker", "rank", "boot", "cluster"}
        **options
            See `qreg_boost.qreg`: `bandwidth`, `groups`, `rng`, `reps` and others, by kind.

        Examples
        --------
        >>> import qreg_boost as qb
        >>> fit = qb.qreg("foodexp ~ income", qb.datasets.load("engel"))
        >>> fit.with_se("iid").bse.round(5).to_dict()
        {'Intercept': 13.23908, 'income': 0.01192}
        """
        check_kind(se, options)
        choice = SEChoice(se, options)
        if self._model is None:
            self._ask(choice, None)
        else:
            self._model.options_of(choice)
        return type(self)(self.facts, self._coef, choice, self._model, self.solution, self._known)

    @cached_property
    def _with_covariance(self) -> QRegResults:
        """The fit with standard errors: itself, or with those of "nid" where it has intervals only, as in R."""
        return self.with_se("nid") if KINDS[self.se].intervals_only else self

    def t_test(self, r_matrix: Any, use_t: bool | None = None) -> Any:
        """Return statsmodels' t tests of linear combinations, as text ("x1 = x2") or a matrix (q, p)."""
        from qreg_boost.quantreg.linear_tests import as_statsmodels

        return as_statsmodels(self).t_test(r_matrix, use_t=use_t)

    def wald_test(self, r_matrix: Any, use_f: bool | None = None, scalar: bool = True) -> Any:
        """Return statsmodels' joint test of linear combinations, as text ("x1 = 0, x2 = 0") or a matrix (q, p)."""
        from qreg_boost.quantreg.linear_tests import as_statsmodels

        return as_statsmodels(self).wald_test(r_matrix, use_f=use_f, scalar=scalar)

    # -- how good it is

    @property
    def objective(self) -> float:
        """Weighted sum of check losses, in units of y."""
        return self.facts.objective

    @property
    def risk(self) -> float:
        """The same, under the name that it has in all families: `objective` is what the solver minimised."""
        return self.facts.objective

    @cached_property
    def null_loss(self) -> float:
        """Weighted sum of check losses of the best constant, or of 0 if the columns span no constant."""
        return float(self._known["null_loss"] if self._model is None else self._model.null_loss(self.tau))

    @property
    def prsquared(self) -> float:
        """R1 = 1 - V/V0 (Koenker and Machado 1999), V0 the loss of the best constant; missing if that is nil."""
        return 1.0 - self.objective / self.null_loss if self.null_loss > 0 else np.nan

    @property
    def llf(self) -> float:
        """Log-likelihood of asymmetric Laplace errors, n (log tau (1 - tau) - 1 - log(V/n)), as in R.

        n counts the rows of weight above 0, and V is their loss without weights.
        """
        n, tau, loss = self.nobs, self.tau, self.facts.loss
        return n * (np.log(tau * (1.0 - tau)) - 1.0 - np.log(loss / n)) if loss > 0 else np.inf

    @property
    def aic(self) -> float:
        """2 k - 2 llf, k the number of estimated coefficients."""
        return 2.0 * self.facts.rank - 2.0 * self.llf

    @property
    def bic(self) -> float:
        """Log(n) k - 2 llf."""
        return float(np.log(self.nobs)) * self.facts.rank - 2.0 * self.llf

    # -- rows

    @cached_property
    def fittedvalues(self) -> pd.Series:
        """Fitted quantiles of the rows kept, offset included, under the caller's labels, in units of y."""
        design = self.model.design
        fit = self.model.fitted(self._coef)
        return pd.Series(fit if design.offset is None else fit + design.offset, index=design.index, name="fitted")

    @cached_property
    def resid(self) -> pd.Series:
        """Response minus fitted quantile of the rows kept, under the caller's labels."""
        design = self.model.design
        return pd.Series(design.y - self.fittedvalues.to_numpy(), index=design.index, name="resid")

    def predict(self, new: Any = None, interval: str | None = None, alpha: float = 0.05, offset: Any = None) -> Any:
        """Return predicted quantiles, in units of y.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the fitted values. Rows in which something
            is missing get a missing prediction.
        interval : {None, "confidence", "prediction"}
            "confidence": of the quantile at `tau`, from the covariance of the coefficients (that of "nid" under
            se="rank", as in R). "prediction": of a new response, from fits at alpha/2 and 1 - alpha/2.
        alpha : float
            One minus the level of the interval.
        offset : array_like (rows,), optional
            Needed if the fit had an offset that was no column of the data.

        Returns
        -------
        Series, or DataFrame with columns ``fit``, ``lower``, ``upper``
        """
        return predicting.predict(self, new, interval, alpha, offset)

    # -- saving

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds, the inference among it; with `data`, the rows too."""
        encoder_meta, encoder_arrays = self.encoder.state()
        meta: dict[str, Any] = {
            "facts": self.facts.state(),
            "se": self.se,
            "null_loss": self.null_loss,
            "encoder": encoder_meta,
            "estimates": {},
        }
        arrays = {f"encoder.{name}": array for name, array in encoder_arrays.items()} | {"fit.coef": self._coef}
        for fit in {self.se: self, self._with_covariance.se: self._with_covariance}.values():
            about, own = fit._estimate.state()
            meta["estimates"][fit.se] = about
            arrays |= {f"fit.{fit.se}.{name}": array for name, array in own.items()}
        if data:
            model_meta, model_arrays = self.model.state()
            meta["model"] = model_meta
            arrays |= {f"model.{name}": array for name, array in model_arrays.items()}
            arrays |= {"fit.a": self.solution.a, "fit.basis": self.solution.basis}  # type: ignore[union-attr]
        return meta, arrays

    # -- tables

    def tidy(self, conf_int: bool = True, alpha: float | None = None) -> pd.DataFrame:
        """Return one row per coefficient: term, estimate, std_error, statistic, p_value, conf_low, conf_high."""
        return tables.tidy(self, conf_int, alpha)

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the fit."""
        return tables.glance(self)

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the training rows with ``.fitted`` and ``.resid``; or `data` (``.resid`` if it has the response)."""
        return tables.augment(self, data)

    def summary(self, se: str | None = None, style: str | None = None, alpha: float | None = None) -> Summary | Any:
        """Return the summary as text, HTML and LaTeX.

        Parameters
        ----------
        se : str, optional
            Another kind of standard error than the fit's.
        style : {None, "r"}
            "r" lays it out as R's ``summary.rq``.
        alpha : float, optional
            One minus the level of the intervals; 0.1 under rank inversion and 0.05 otherwise.
        """
        from qreg_boost.quantreg import report

        fit = self if se is None or se == self.se else self.with_se(se)
        if style is not None:
            check_choice(style, "style", ["r"])
            return report.in_r_style(fit)
        return report.summarise(fit, alpha)

    def __str__(self) -> str:
        from qreg_boost.quantreg.report import describe

        return describe(self)

    def compare_r(self) -> Any:
        """Return a comparison with R's quantreg: coefficients, loss, standard errors, rank intervals, likelihood."""
        from qreg_boost.r.compare import compare

        return compare(self)
