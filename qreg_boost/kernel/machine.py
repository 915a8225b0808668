"""A function of rows made of kernels, in the data's own units: what a fitted kernel machine predicts by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.kernel.incomplete_cholesky import LowRankKernel, low_rank_of
from qreg_boost.kernel.kernels import Kernel, Linear, Precomputed, Spline, restore_kernel
from qreg_boost.kernel.quadratic import LowRank, Quadratic
from qreg_boost.kernel.scaling import Scaling


@dataclass(frozen=True, eq=False)
class Machine:
    """f(x) = centre + spread (b + sum_j coef_j k(rows_j, x scaled)).

    Attributes
    ----------
    kernel : Kernel
    rows : (m, p) array
        On the scale of the kernel.
    coef : (m,) array
    b : float
    scaling : Scaling
        Of the predictors.
    centre, spread : float
        Of the response, in its units.
    """

    kernel: Kernel
    rows: np.ndarray
    coef: np.ndarray
    b: float
    scaling: Scaling
    centre: float
    spread: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return f (rows,) at rows X (rows, p) of the design, NaN where a row holds NaN."""
        complete = ~np.isnan(X).any(axis=1)
        out = np.full(len(X), np.nan)
        scaled = self.scaling.apply(X[complete])
        out[complete] = self.centre + self.spread * (self.kernel.apply(scaled, self.rows, self.coef) + self.b)
        return out

    def linear(self) -> tuple[float, np.ndarray] | None:
        """Return intercept and slopes (p,) in the data's units, for the linear kernel; else None."""
        if not isinstance(self.kernel, Linear):
            return None
        slopes = self.spread * (self.coef @ self.rows) / self.scaling.spread
        return self.centre + self.spread * self.b - float(slopes @ self.scaling.centre), slopes

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the machine as values that JSON holds and arrays."""
        plain = {"kernel": self.kernel.state(), "b": self.b, "centre": self.centre, "spread": self.spread}
        arrays = {
            "rows": self.rows,
            "coef": self.coef,
            "x_centre": self.scaling.centre,
            "x_spread": self.scaling.spread,
        }
        return plain, arrays

    @classmethod
    def from_state(cls, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Machine:
        """Return the machine that `state` wrote."""
        return cls(
            restore_kernel(plain["kernel"]), arrays["rows"], arrays["coef"], float(plain["b"]),
            Scaling(arrays["x_centre"], arrays["x_spread"]), float(plain["centre"]), float(plain["spread"]),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Prepared:
    """The rows that a machine is fitted to, on the scale that the kernel and the penalty are meant on.

    Attributes
    ----------
    X : (n, p) array
        Predictors; for a precomputed kernel, rows of the kernel matrix.
    y, weights : (n,) array
        Weights above 0.
    columns : (n,) int array
        Positions of these rows among all rows, which a precomputed kernel's columns are.
    kernel : Kernel
        Its parameters numbers.
    form : Quadratic
    low_rank : LowRankKernel or None
    scaling : Scaling
    centre, spread : float
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    columns: np.ndarray
    kernel: Kernel
    form: Quadratic
    low_rank: LowRankKernel | None
    scaling: Scaling
    centre: float
    spread: float

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        kernel: Kernel,
        standardize: bool,
        low_rank: tuple[float, int] | None = None,
    ) -> Prepared:
        """Return what a fit needs of all rows X (n, p), y and weights (n,); rows of weight 0 are left out.

        Parameters
        ----------
        standardize : bool
            Whether predictors and response are brought to mean 0 and standard deviation 1; predictors of the spline
            kernel to [0, 1].
        low_rank : (float, int), optional
            Tolerance and largest rank of an incomplete Cholesky factor that takes the place of the kernel matrix.
        """
        columns = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0.0)
        wts = np.ones(len(columns)) if weights is None else weights[columns]
        X, y = X[columns], y[columns]
        given = isinstance(kernel, Precomputed)
        scaling = _scaling(X, wts, kernel) if standardize else Scaling.none(X.shape[1])
        own = Scaling.of(y[:, None], wts) if standardize else Scaling.none(1)
        X = scaling.apply(X) if standardize and not given else X
        kernel = kernel.settled(X, weights if weights is None else wts)
        low = low_rank_of(kernel, X, low_rank)
        within = X[:, columns] if given else X
        form: Quadratic = LowRank(low.Z) if low is not None else kernel.form(within)
        return cls(
            X, own.apply(y[:, None])[:, 0], wts, columns, kernel, form, low, scaling, float(own.centre[0]),
            float(own.spread[0]),
        )  # fmt: skip

    def machine(self, a: np.ndarray, b: float) -> Machine:
        """Return the machine with dual variables a (n,) and offset b."""
        rows, coef = self.X, a
        if isinstance(self.kernel, Precomputed):
            coef = np.zeros(self.X.shape[1])
            coef[self.columns] = a
            rows = np.zeros((len(coef), 1))
        elif self.low_rank is not None:
            rows, coef = self.X[self.low_rank.pivots], self.low_rank.coefficients(a)
        if isinstance(self.kernel, Linear):
            rows, coef = (rows.T @ coef)[None], np.ones(1)
        return Machine(self.kernel, rows, coef, b, self.scaling, self.centre, self.spread)


def _scaling(X: np.ndarray, weights: np.ndarray, kernel: Kernel) -> Scaling:
    """Return the scaling that a kernel wants: the spline kernel is one for values of at least 0 only."""
    if isinstance(kernel, Precomputed):
        return Scaling.none(X.shape[1])
    return Scaling.to_unit(X) if isinstance(kernel, Spline) else Scaling.of(X, weights)
