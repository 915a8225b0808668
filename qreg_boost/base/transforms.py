"""Stateful transforms: fitted on the training rows, remembered for new data, saved as plain numbers.

A transform is a class with ``fit(x, ...)``, ``transform(x, ...)`` and a table of what it remembers (`fields`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import InputError


class Transform:
    """Base of the transforms; `fields` names the attributes that hold what was learned."""

    name: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]] = ()

    def fit(self, *args: Any, **kwargs: Any) -> None:
        """Learn from the training rows."""
        raise NotImplementedError

    def transform(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the transformed values."""
        raise NotImplementedError

    def remembered(self) -> dict[str, Any]:
        """Return what was learned, by field."""
        return {field: getattr(self, field) for field in self.fields}

    def recall(self, values: dict[str, Any]) -> None:
        """Set what was learned."""
        for field in self.fields:
            setattr(self, field, values[field])


def _numeric(x: Any, name: str) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype.kind not in "iufb":
        raise InputError(f"{name}() needs numbers; got dtype {array.dtype}.")
    return array.astype(np.float64)


class Standardize(Transform):
    """``standardize(x, center=True, rescale=True, ddof=0)``: x less its mean over its standard deviation."""

    name = "standardize"
    fields = ("mean", "sum_of_squares", "count")

    def fit(self, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0) -> None:
        """Learn mean and spread of each column."""
        values = _numeric(x, self.name)
        self.mean = values.mean(axis=0)
        self.sum_of_squares = ((values - self.mean) ** 2).sum(axis=0)
        self.count = len(values)
        if rescale and (not np.all(self.sum_of_squares > 0) or self.count <= ddof):
            raise InputError(
                f"{self.name}(): the values are all equal, so there is no spread to divide by; leave the term out."
            )

    def transform(self, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0) -> np.ndarray:
        """Return x centred and rescaled by what was learned."""
        values = _numeric(x, self.name)
        if center:
            values = values - self.mean
        if rescale:
            values = values / np.sqrt(self.sum_of_squares / (self.count - ddof))
        return values


class Center(Transform):
    """``center(x)``: x less its mean; by column."""

    name = "center"
    fields = ("mean",)

    def fit(self, x: Any) -> None:
        """Learn the mean of each column."""
        self.mean = _numeric(x, self.name).mean(axis=0)

    def transform(self, x: Any) -> np.ndarray:
        """Return x less the learned mean."""
        return _numeric(x, self.name) - self.mean


class OrthogonalPolynomials(Transform):
    """``poly(x, degree=1, raw=False)``: orthonormal polynomials of degree 1 to `degree`, each orthogonal to a constant.

    The monic polynomials orthogonal on the training values obey p_0 = 1, p_1 = t - a_0,
    p_{k+1} = (t - a_k) p_k - b_k p_{k-1} with a_k = <t p_k, p_k>/<p_k, p_k>, b_k = <p_k, p_k>/<p_{k-1}, p_{k-1}>;
    column k is p_k over its norm. t is x centred and divided by its largest deviation, which changes no column.

    References
    ----------
    Kennedy, W. J. and Gentle, J. E. (1980). Statistical Computing. Marcel Dekker, pp. 343-344 (as R's ``poly``).
    """

    name = "poly"
    fields = ("middle", "unit", "a", "norms")

    def fit(self, x: Any, degree: int = 1, raw: bool = False) -> None:
        """Learn the coefficients of the recurrence."""
        values = self._vector(x, degree)
        distinct = len(np.unique(values))
        if degree >= distinct and not raw:
            raise InputError(
                f"poly(): the degree ({degree}) must be below the number of distinct values of x ({distinct})."
            )
        self.middle = float(values.mean())
        self.unit = float(np.abs(values - self.middle).max()) or 1.0
        t = (values - self.middle) / self.unit
        a, norms = [], [float(len(t))]
        before, current = np.zeros_like(t), np.ones_like(t)
        for k in range(degree):
            a.append(float((t * current**2).sum() / norms[k]))
            b = norms[k] / norms[k - 1] if k else 0.0
            before, current = current, (t - a[k]) * current - b * before
            norms.append(float((current**2).sum()))
        self.a, self.norms = np.array(a), np.array(norms)

    def transform(self, x: Any, degree: int = 1, raw: bool = False) -> np.ndarray:
        """Return the (n, degree) polynomials at x."""
        values = self._vector(x, degree)
        if raw:
            return values[:, None] ** np.arange(1, degree + 1)
        t = (values - self.middle) / self.unit
        out = np.empty((len(t), degree))
        before, current = np.zeros_like(t), np.ones_like(t)
        for k in range(degree):
            b = self.norms[k] / self.norms[k - 1] if k else 0.0
            before, current = current, (t - self.a[k]) * current - b * before
            out[:, k] = current / np.sqrt(self.norms[k + 1])
        return out

    @staticmethod
    def _vector(x: Any, degree: Any) -> np.ndarray:
        if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)) or degree < 1:
            raise InputError(f"poly(): the degree must be a whole number of at least 1; got {degree!r}.")
        values = _numeric(x, "poly")
        if values.ndim != 1:
            raise InputError(f"poly(): x must be one variable; got shape {values.shape}.")
        return values
