"""Predictions of a quantile regression, with intervals of the quantile and of a new response."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import CrossingWarning, InputError, NotDefinedError, check_alpha, warn

if TYPE_CHECKING:
    from qreg_boost.quantreg.results import QRegResults


def t_quantile(level: float, df: int) -> float:
    """Return the quantile of the t distribution; missing without degrees of freedom.

    >>> round(t_quantile(0.975, 233), 4)
    1.9702
    """
    from scipy.special import stdtrit

    return float(stdtrit(df, level)) if df > 0 else np.nan


def predict(fit: QRegResults, new: Any, interval: Any, alpha: Any, offset: Any) -> Any:
    """Return predicted quantiles; see `QRegResults.predict`."""
    if interval not in _INTERVALS:
        allowed = ", ".join(repr(name) for name in _INTERVALS)
        raise InputError(f"`interval` must be one of {allowed}; got {interval!r}.")
    X, shift, index = _encoded(fit, new, offset)
    values = _values(X, fit.params.to_numpy(), shift)
    if interval is None:
        return pd.Series(values, index=index, name="fitted" if new is None else "predicted")
    lower, upper = _INTERVALS[interval](fit, X, values, shift, check_alpha(alpha))
    return pd.DataFrame({"fit": values, "lower": lower, "upper": upper}, index=index)


def _encoded(fit: QRegResults, new: Any, offset: Any) -> tuple[Any, np.ndarray | None, pd.Index]:
    """Return the design of new rows, their offset and labels; without new rows, those of the fit."""
    if new is None:
        if offset is not None:
            raise InputError("`offset` goes with new data; without `new` the offset of the fit is used.")
        model = fit.model
        return model.exog, model.design.offset, model.design.index
    if hasattr(new, "tocsr"):
        found = new.tocsr()
        if found.shape[1] != len(fit.params):
            raise InputError(f"The new data must have {len(fit.params)} columns; got {found.shape[1]}.")
        return found, None if offset is None else np.asarray(offset, dtype=float), pd.RangeIndex(found.shape[0])
    encoded = fit.encoder.encode(new, offset)
    X = np.column_stack((np.ones(len(encoded.X)), encoded.X)) if fit.facts.intercept else encoded.X
    return X, encoded.offset, encoded.index


def _values(X: Any, coef: np.ndarray, shift: np.ndarray | None) -> np.ndarray:
    values = np.asarray(X @ np.nan_to_num(coef))
    return values if shift is None else values + shift


def _confidence(
    fit: QRegResults, X: Any, values: np.ndarray, shift: np.ndarray | None, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return fit +- t sqrt(x'Vx)."""
    source = fit._with_covariance
    V = np.nan_to_num(source.cov_params().to_numpy())
    if not np.isfinite(source.bse.drop(list(fit.facts.aliased)).to_numpy()).all():
        return np.full(len(values), np.nan), np.full(len(values), np.nan)
    product = X @ V
    spread = np.asarray((X.multiply(product) if hasattr(X, "multiply") else X * product).sum(axis=1)).ravel()
    half = t_quantile(1.0 - alpha / 2.0, fit.df_resid) * np.sqrt(np.maximum(spread, 0.0))
    return values - half, values + half


def _prediction(
    fit: QRegResults, X: Any, values: np.ndarray, shift: np.ndarray | None, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fits at alpha/2 and 1 - alpha/2."""
    try:
        model = fit.model
    except NotDefinedError:
        raise NotDefinedError(
            'interval="prediction" needs two more fits, and this fit was loaded without its rows. Save it with '
            "save(path, data=True)."
        ) from None
    lower, upper = (_values(X, model.solve(level).coef, shift) for level in (alpha / 2.0, 1.0 - alpha / 2.0))
    crossed = int((upper < lower).sum())
    if crossed:
        warn(
            f"The quantiles at {alpha / 2:g} and {1 - alpha / 2:g} cross in {crossed} of {len(values)} rows: there "
            "`lower` is above `upper`.",
            CrossingWarning,
        )
    return lower, upper


_INTERVALS: dict[str | None, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    None: lambda *_: (np.empty(0), np.empty(0)),
    "confidence": _confidence,
    "prediction": _prediction,
}
