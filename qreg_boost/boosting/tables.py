"""A boosted fit as three tidy tables: its coefficients, itself, its rows (broom's tidy, glance, augment)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.boosting.basis_path import BasisPath

if TYPE_CHECKING:
    from qreg_boost.boosting.results import BoostResults


def tidy(fit: BoostResults) -> pd.DataFrame:
    """Return one row per coefficient; see `BoostResults.tidy`."""
    if isinstance(fit.path, BasisPath):
        return _tidy_smooth(fit, fit.path)
    if not fit.has_coefficients:
        shares = (fit.selection_frequencies, fit.first_selected, fit.importance)
        return pd.DataFrame({"term": list(fit.path.names), **{one.name: one.to_numpy() for one in shares}})
    owner = learner_of_coefficient(fit)
    table = pd.DataFrame({"term": fit.params.index, "estimate": fit.params.to_numpy()})
    for values in (fit.selection_frequencies, fit.first_selected, fit.importance):
        by_learner = np.append(values.to_numpy(), np.nan)
        table[values.name] = by_learner[owner]
    return table


def _tidy_smooth(fit: BoostResults, path: BasisPath) -> pd.DataFrame:
    """Return a row for each column of a linear term, and one, its estimate missing, for each spline."""
    slopes = path.linear_slopes(fit.mstop)
    owner = np.repeat(np.arange(len(path.knots)), np.diff(path.sources))
    table = pd.DataFrame({"term": fit.facts.columns, "estimate": slopes})
    for values in (fit.selection_frequencies, fit.first_selected, fit.importance):
        table[values.name] = values.to_numpy()[owner]
    return table


def learner_of_coefficient(fit: BoostResults) -> np.ndarray:
    """Return for each coefficient the position of the learner that moves it, -1 where that is every learner."""
    path: Any = fit.path
    if path.intercept_learner:
        return np.arange(len(fit.params))
    return np.concatenate(([-1], np.repeat(np.arange(len(path.blocks) - 1), np.diff(path.blocks))))


def glance(fit: BoostResults) -> pd.DataFrame:
    """Return one row of facts about the fit."""
    if fit.has_coefficients:
        chosen = int((fit.path.slopes_at(fit.mstop) != 0).sum())  # type: ignore[attr-defined]
    else:
        chosen = int((fit.selection_frequencies > 0).sum())
    return pd.DataFrame(
        {
            **({} if fit.tau is None else {"tau": [fit.tau]}),
            "nobs": [fit.nobs],
            "n_dropped": [fit.facts.n_dropped],
            "mstop": [fit.mstop],
            "n_selected": [chosen],
            "start": [fit.start],
            "risk": [fit.risk],
            "null_risk": [fit.facts.null_loss],
            **{name: [value] for name, value in fit.quality().items()},
        }
    )


def augment(fit: BoostResults, data: pd.DataFrame | None) -> pd.DataFrame:
    """Return the training rows, or `data`, with fitted values and residuals; see `BoostResults.augment`."""
    if data is None:
        design = fit.model.design
        columns = pd.DataFrame(design.X, index=design.index, columns=list(design.column_names))
        response = pd.Series(design.y, index=design.index, name=design.response)
        return pd.concat([response, columns, fit.fittedvalues.rename(".fitted"), fit.resid.rename(".resid")], axis=1)
    table = pd.DataFrame(data).copy()
    table[".fitted"] = fit.predict(data).to_numpy()
    if fit.facts.response in table:
        table[".resid"] = table[fit.facts.response].astype(float).to_numpy() - table[".fitted"].to_numpy()
    return table
