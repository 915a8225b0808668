"""A quantile regression as three tidy tables: its coefficients, itself, its rows (broom's tidy, glance, augment)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from qreg_boost.base.checks import check_bool

if TYPE_CHECKING:
    from qreg_boost.quantreg.results import QRegResults


def tidy(fit: QRegResults, conf_int: bool, alpha: float | None) -> pd.DataFrame:
    """Return one row per coefficient; see `QRegResults.tidy`."""
    table = pd.DataFrame(
        {
            "term": fit.params.index,
            "estimate": fit.params.to_numpy(),
            "std_error": fit.bse.to_numpy(),
            "statistic": fit.tvalues.to_numpy(),
            "p_value": fit.pvalues.to_numpy(),
        }
    )
    if check_bool(conf_int, "conf_int"):
        bounds = fit.conf_int(alpha)
        table["conf_low"], table["conf_high"] = bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
    return table


def glance(fit: QRegResults) -> pd.DataFrame:
    """Return one row of facts about the fit."""
    return pd.DataFrame(
        {
            "tau": [fit.tau],
            "nobs": [fit.nobs],
            "n_dropped": [fit.facts.n_dropped],
            "df_resid": [fit.df_resid],
            "objective": [fit.objective],
            "null_loss": [fit.null_loss],
            "prsquared": [fit.prsquared],
            "llf": [fit.llf],
            "aic": [fit.aic],
            "bic": [fit.bic],
            "se": [fit.se],
            "method": [fit.facts.method],
            "unique": [fit.facts.unique],
        }
    )


def augment(fit: QRegResults, data: pd.DataFrame | None) -> pd.DataFrame:
    """Return the training rows, or `data`, with fitted values and residuals; see `QRegResults.augment`."""
    if data is None:
        design = fit.model.design
        X = design.X.toarray() if hasattr(design.X, "toarray") else design.X
        columns = pd.DataFrame(X, index=design.index, columns=list(design.column_names))
        response = pd.Series(design.y, index=design.index, name=design.response)
        return pd.concat([response, columns, fit.fittedvalues.rename(".fitted"), fit.resid.rename(".resid")], axis=1)
    table = pd.DataFrame(data).copy()
    table[".fitted"] = fit.predict(data).to_numpy()
    if fit.facts.response in table:
        table[".resid"] = table[fit.facts.response].astype(float).to_numpy() - table[".fitted"].to_numpy()
    return table
