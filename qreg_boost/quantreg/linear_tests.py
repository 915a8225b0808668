"""Tests of linear combinations of coefficients, by statsmodels' own machinery."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.checks import InputError, listed

if TYPE_CHECKING:
    from qreg_boost.quantreg.results import QRegResults


def as_statsmodels(fit: QRegResults) -> Any:
    """Return a results object of statsmodels with the coefficients and covariance of `fit`, t tests on `df_resid`.

    Raises
    ------
    NotDefinedError
        If the inference gives intervals only.
    InputError
        If a column was dropped: combinations of coefficients are then ambiguous.
    """
    from statsmodels.base.model import LikelihoodModelResults

    covariance = fit.cov_params()
    if fit.facts.aliased:
        raise InputError(
            f"Columns were dropped from this fit ({listed(fit.facts.aliased)}), so tests of coefficients are "
            "ambiguous; leave them out of the formula."
        )
    names = list(fit.facts.columns)
    model = SimpleNamespace(
        data=SimpleNamespace(cov_names=names, param_names=names, xnames=names),
        exog_names=names,
        df_resid=fit.df_resid,
        df_model=fit.df_model,
    )
    found = LikelihoodModelResults(
        model, fit.params.to_numpy(), normalized_cov_params=np.asarray(covariance), scale=1.0, use_t=True
    )
    found.df_resid = found.df_resid_inference = fit.df_resid
    return found
