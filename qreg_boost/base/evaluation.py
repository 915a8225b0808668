"""How fits of a number do on rows, those of training or others: mean loss, coverage, R1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.arrays import check_one_index
from qreg_boost.base.checks import InputError
from qreg_boost.base.frames import as_frame
from qreg_boost.base.quantile import weighted_quantile

ON_THE_FIT = 1e-9
"""Residuals below this share of the fit's size are rounding: such a row lies on the fit."""


class Judged:
    """A mixin: fits of a number that can be judged on other rows. A family says by `judge` what is measured."""

    def judge(
        self, actual: np.ndarray, fitted: np.ndarray, weights: np.ndarray, offset: np.ndarray | None
    ) -> dict[str, float]:
        """Return the figures of complete rows (n,), by name; those of a quantile unless a family says otherwise."""
        return quantile_figures(actual, fitted, self.tau, weights, offset)  # type: ignore[attr-defined]

    def evaluate(self, data: Any = None, y: Any = None, offset: Any = None) -> pd.Series:
        """Return how the fit does on the training rows or on other ones: n, mean_loss, coverage, r1.

        ``n`` counts the rows in which nothing is missing. ``mean_loss`` is the mean check loss of a row, in units of y.
        ``coverage`` is the share of rows at or below the fit, which should be near tau. ``r1`` is 1 - V/V0, V0 the loss
        of the best constant (added to the offset, if there is one) for the very rows that are judged; missing where
        that is nil. Weights count for the training rows only.

        Parameters
        ----------
        data : DataFrame, mapping or array (rows, p), optional
            Other rows than those of training.
        y : array_like (rows,), optional
            Their response, on the scale of the fit, where `data` has no column of its name.
        offset : array_like (rows,), optional
            Needed if the fit had an offset that was no column of the data.

        Raises
        ------
        InputError
            If there is no response, or no complete row.
        """
        fit: Any = self
        if data is None:
            if y is not None or offset is not None:
                raise InputError("`y` and `offset` are those of other rows: pass `data` too, or leave both out.")
            design = fit.model.design
            actual, fitted, shift = design.y, fit.fittedvalues.to_numpy(), design.offset
            weights = np.ones(len(actual)) if design.weights is None else design.weights
        else:
            fitted = fit.predict(data, **({} if offset is None else {"offset": offset})).to_numpy()
            actual = response_of(data, y, fit.facts.response, len(fitted))
            shift = _offset_of(fit.encoder, data, offset)
            weights = np.ones(len(actual))
        used = ~(np.isnan(actual) | np.isnan(fitted)) & (weights > 0.0)
        if not used.any():
            raise InputError("There is no complete row to judge the fit by: predictors or response are missing in all.")
        shift = None if shift is None else shift[used]
        figures = self.judge(actual[used], fitted[used], weights[used], shift)
        return pd.Series({"n": float(used.sum()), **figures}, name="evaluation")


def _offset_of(encoder: Any, data: Any, offset: Any) -> np.ndarray | None:
    """Return the offset of other rows (rows,), or None; a sparse design is not encoded."""
    if offset is None and encoder.offset is None:
        return None
    if hasattr(data, "tocsr"):
        return np.asarray(offset, dtype=float)
    found: np.ndarray | None = encoder.encode(data, offset).offset
    return found


def quantile_figures(
    actual: np.ndarray,
    fitted: np.ndarray,
    tau: float,
    weights: np.ndarray | None = None,
    offset: np.ndarray | None = None,
) -> dict[str, float]:
    """Return mean_loss, coverage and r1 of fitted tau-quantiles (n,) of a response (n,), nothing of it missing.

    The reference of r1 is the best constant for the response less the offset (Koenker and Machado 1999).

    >>> quantile_figures(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0]), 0.5)
    {'mean_loss': 0.3333333333333333, 'coverage': 0.6666666666666666, 'r1': 0.33333333333333337}
    """
    w = np.ones(len(actual)) if weights is None else weights
    target = actual if offset is None else actual - offset
    loss = _mean_loss(actual - fitted, tau, w)
    null = _mean_loss(target - weighted_quantile(target, tau, w), tau, w)
    rounding = ON_THE_FIT * float(np.abs(fitted).max() + np.ptp(fitted))
    covered = float(np.average(actual <= fitted + rounding, weights=w))
    return {"mean_loss": loss, "coverage": covered, "r1": 1.0 - loss / null if null > 0.0 else np.nan}


def _mean_loss(residuals: np.ndarray, tau: float, weights: np.ndarray) -> float:
    return float(np.average(residuals * (tau - (residuals < 0.0)), weights=weights))


def response_of(data: Any, y: Any, name: str, rows: int) -> np.ndarray:
    """Return the response (rows,) as numbers: `y`, or else the column `name` of the data.

    >>> response_of({"y": [1, 2]}, None, "y", 2)
    array([1., 2.])
    """
    check_one_index(y, data)
    if y is None:
        frame = None if isinstance(data, np.ndarray) else as_frame(data)
        if frame is None or name not in frame:
            raise InputError(f"The data have no column {name!r}, which is the response; pass its values as `y`.")
        y = frame[name]
    try:
        values = pd.Series(y).astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(f"The response {name!r} must be numbers; got {type(y).__name__} of other values.") from None
    if len(values) != rows:
        raise InputError(f"`y` must have one value per row: {rows} rows, but {len(values)} values.")
    return values
