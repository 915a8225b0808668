"""Quantile regressions of one model at several levels: tables by tau, and the plot of coefficients against tau."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, warn
from qreg_boost.base.process import QuantileProcess
from qreg_boost.quantreg import predicting
from qreg_boost.quantreg.results import QRegResults

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary


class QRegProcess(QuantileProcess):
    """Quantile regressions at several taus; made by `qreg_boost.qreg` given a list of taus.

    Parameters
    ----------
    taus : sequence
        Quantile levels, kept as they were passed: they label the columns of every table.
    fits : sequence of QRegResults

    Examples
    --------
    >>> import qreg_boost as qb
    >>> fits = qb.qreg("foodexp ~ income", qb.datasets.load("engel"), tau=[0.25, 0.75])
    >>> fits.params.loc["income"].round(4).to_dict()
    {0.25: 0.4741, 0.75: 0.644}
    """

    fits: list[QRegResults]

    def _settle(self) -> None:
        """Compute the inference of all fits; what several of them would warn of is said once."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for fit in self.fits:
                fit._estimate  # noqa: B018
        for category in dict.fromkeys(one.category for one in said):
            own = [one for one in said if one.category is category]
            more = f" (the first of {len(own)} such warnings, one per quantile)" if len(own) > 1 else ""
            warn(f"{own[0].message}{more}", category)

    def _matrix(self, name: str) -> pd.DataFrame:
        self._settle()
        return self._side_by_side([getattr(fit, name) for fit in self.fits])

    @property
    def bse(self) -> pd.DataFrame:
        """Standard errors, terms by tau."""
        return self._matrix("bse")

    @property
    def tvalues(self) -> pd.DataFrame:
        """Coefficients over standard errors, terms by tau."""
        return self._matrix("tvalues")

    @property
    def pvalues(self) -> pd.DataFrame:
        """Two-sided p values, terms by tau."""
        return self._matrix("pvalues")

    def conf_int(self, alpha: float | None = None) -> pd.DataFrame:
        """Return intervals of level 1 - alpha: terms by tau and ``lower``, ``upper``."""
        self._settle()
        bounds = {tau: fit.conf_int(alpha) for tau, fit in zip(self.taus, self.fits, strict=True)}
        return pd.concat(bounds, axis=1, names=["tau", None])

    @property
    def se(self) -> str:
        """Kind of the standard errors."""
        return self.fits[0].se

    @property
    def objective(self) -> pd.Series:
        """Weighted sum of check losses by tau, in units of y."""
        return self._by_tau("objective")

    @property
    def risk(self) -> pd.Series:
        """The same as `objective`, under the name that all fits share."""
        return self._by_tau("objective").rename("risk")

    @property
    def llf(self) -> pd.Series:
        """Log-likelihood by tau."""
        return self._by_tau("llf")

    @property
    def aic(self) -> pd.Series:
        """2 k - 2 llf by tau."""
        return self._by_tau("aic")

    @property
    def bic(self) -> pd.Series:
        """Log(n) k - 2 llf by tau."""
        return self._by_tau("bic")

    @property
    def df_resid(self) -> int:
        """Rows less estimated coefficients."""
        return self.fits[0].df_resid

    def cov_params(self) -> pd.DataFrame:
        """Raise: each fit has a covariance matrix of its own."""
        raise NotDefinedError("Each quantile has a covariance matrix of its own: fits[tau].cov_params().")

    def with_se(self, se: str, **options: Any) -> QRegProcess:
        """Return the same fits with another kind of standard error; these stay as they are."""
        return type(self)(self.taus, [fit.with_se(se, **options) for fit in self.fits])

    def predict(  # type: ignore[override]
        self,
        new: Any = None,
        interval: str | None = None,
        alpha: float = 0.05,
        offset: Any = None,
        rearrange: bool = False,
    ) -> pd.DataFrame:
        """Return predicted quantiles, rows by tau, in units of y; with `interval`, by tau and ``fit lower upper``.

        Parameters
        ----------
        new, interval, alpha, offset
            As for one fit.
        rearrange : bool
            Whether to sort each row's quantiles, so that they do not cross (Chernozhukov, Fernandez-Val and Galichon
            2010); not together with `interval`.

        Warns
        -----
        CrossingWarning
            If quantiles cross and are not rearranged; the rows are counted.
        """
        if interval is None:
            return super().predict(new, offset, rearrange)
        if rearrange:
            raise InputError("rearrange=True sorts quantiles, not intervals; leave out `interval` or `rearrange`.")
        each = {tau: fit.predict(new, interval, alpha, offset) for tau, fit in zip(self.taus, self.fits, strict=True)}
        return pd.concat(each, axis=1, names=["tau", None])

    def tidy(self, conf_int: bool = True, alpha: float | None = None) -> pd.DataFrame:
        """Return one row per tau and coefficient, the tau in the first column."""
        self._settle()
        return self._stacked([fit.tidy(conf_int, alpha) for fit in self.fits])

    def at(self, m: int) -> QuantileProcess:
        """Raise: a quantile regression has no iterations to go back to."""
        raise NotDefinedError("A quantile regression has no iterations; fits[tau] is the fit at one of the taus.")

    extend = at

    def summary(self, se: str | None = None, style: str | None = None) -> Summary | Any:
        """Return coefficients with standard errors by tau; with ``style="r"``, one table below the other as in R."""
        from qreg_boost.quantreg import report, report_several

        process = self if se is None or se == self.se else self.with_se(se)
        if style is not None or len(process) <= report_several.MANY:
            process._settle()
        if style is not None:
            return report.RText("\n\n".join(str(fit.summary(style=style)) for fit in process.fits))
        return report_several.summarise_process(process)

    # -- plots and R

    def plot(self, terms: Any = None, alpha: float = 0.1, ols: bool = True, axes: Any = None) -> Any:
        """Draw each coefficient against tau with its band, and the least squares estimate with its interval.

        Parameters
        ----------
        terms : list of names, optional
            Which coefficients; by default all, at most 12.
        alpha : float
            One minus the level of the bands, 0.1 as in R.
        ols : bool
            Whether to draw the least squares estimate.
        axes : array of matplotlib Axes, optional
            One per coefficient; by default a new figure.

        Returns
        -------
        array of Axes
        """
        from qreg_boost.plots.process import plot_coefficients

        names = self._chosen(terms)
        table = self.tidy(alpha=alpha)
        line = self.least_squares(alpha) if ols else None
        return plot_coefficients(table[table["term"].isin(names)], line, 1.0 - alpha, axes)

    def compare_r(self) -> Any:
        """Return a comparison with R's quantreg, the fits below each other."""
        from qreg_boost.r.compare import compare

        return compare(self)

    def least_squares(self, alpha: float = 0.1) -> pd.DataFrame:
        """Return the least squares fit of the same columns: estimate, conf_low, conf_high by term."""
        model, facts = self.model, self.fits[0].facts
        kept = [j for j in range(len(facts.columns)) if j not in facts.dropped]
        used = slice(None) if model.design.weights is None else model.design.weights > 0
        X, y = model.exog[used][:, kept], model.endog[used]
        X = X.toarray() if hasattr(X, "toarray") else X
        if model.design.weights is not None:
            root = np.sqrt(model.design.weights[used])
            X, y = X * root[:, None], y * root
        Q, R = np.linalg.qr(X)
        b = np.linalg.solve(R, Q.T @ y)
        variance = float(np.sum((y - X @ b) ** 2)) / max(self.df_resid, 1)
        half = predicting.t_quantile(1.0 - alpha / 2.0, self.df_resid) * np.sqrt(
            variance * np.sum(np.linalg.inv(R) ** 2, axis=1)
        )
        names = pd.Index([facts.columns[j] for j in kept], name="term")
        return pd.DataFrame({"estimate": b, "conf_low": b - half, "conf_high": b + half}, index=names)
