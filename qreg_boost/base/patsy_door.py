"""The one place that imports patsy: its splines, its contrasts, and how it codes the factors of a term.

patsy decides which contrasts each categorical factor of a term needs so that the design is not redundant; what it
decided is copied into plain arrays, and no patsy object is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from patsy import builtins, design_matrix_builders
from patsy.desc import INTERCEPT
from patsy.desc import Term as PatsyTerm
from patsy.eval import EvalEnvironment

from qreg_boost.base.checks import InputError
from qreg_boost.base.transforms import Center, OrthogonalPolynomials, Standardize, Transform

CONTRASTS: Mapping[str, Any] = {
    name: getattr(builtins, name) for name in ("Treatment", "Poly", "Sum", "Helmert", "Diff", "ContrastMatrix")
}


class _PatsyTransform(Transform):
    """A transform of patsy's, given all its rows at once."""

    def __init__(self) -> None:
        self._inner = getattr(builtins, self.name).__patsy_stateful_transform__()

    def fit(self, *args: Any, **kwargs: Any) -> None:
        """Learn from the training rows."""
        self._inner.memorize_chunk(*args, **kwargs)
        self._inner.memorize_finish()

    def transform(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the basis at the values."""
        return np.asarray(self._inner.transform(*args, **kwargs))

    def remembered(self) -> dict[str, Any]:
        """Return what was learned, by field."""
        return {field: getattr(self._inner, field) for field in self.fields}

    def recall(self, values: dict[str, Any]) -> None:
        """Set what was learned."""
        for field in self.fields:
            setattr(self._inner, field, values[field])


class BSpline(_PatsyTransform):
    """``bs(x, df=None, knots=None, degree=3, ...)``: a B-spline basis, within its boundary knots only."""

    name = "bs"
    fields = ("_degree", "_all_knots")

    def transform(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the basis at the values, all of which must lie within the boundary knots."""
        x = np.asarray(args[0] if args else kwargs["x"], dtype=np.float64)
        low, high = float(np.min(self._inner._all_knots)), float(np.max(self._inner._all_knots))
        outside = (x < low) | (x > high)
        if outside.any():
            raise InputError(
                f"{int(outside.sum())} values lie outside the boundary knots [{low:g}, {high:g}] of the fitted spline, "
                f"the first {x[outside].flat[0]:g}. Fit with lower_bound= and upper_bound= wide enough, or use cr(), "
                "which extrapolates."
            )
        return super().transform(*args, **kwargs)


class NaturalSpline(_PatsyTransform):
    """``cr(x, df=None, knots=None, ...)``: patsy's natural cubic regression spline."""

    name = "cr"
    fields = ("_all_knots", "_constraints")

    def fit(self, *args: Any, **kwargs: Any) -> None:
        """Learn from the training rows."""
        try:
            super().fit(*args, **kwargs)
            knots = len(self._inner._all_knots)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            knots = 2
        if knots < 3:  # where patsy fails with numpy's words
            raise InputError("cr() needs at least three knots: ask for df=3 or more, or use x itself, a straight line.")


class CyclicSpline(_PatsyTransform):
    """``cc(x, df=None, knots=None, ...)``: patsy's cyclic cubic regression spline."""

    name = "cc"
    fields = ("_all_knots", "_constraints")


class TensorProduct(_PatsyTransform):
    """``te(s1, s2, ...)``: patsy's tensor product of splines."""

    name = "te"
    fields = ("_constraints",)


class _Foreign(Transform):
    """A stateful transform that the user wrote for patsy; it cannot be saved."""

    name: ClassVar[str] = ""

    def __init__(self, class_: Any) -> None:
        self._inner = class_()

    def fit(self, *args: Any, **kwargs: Any) -> None:
        """Learn from the training rows."""
        self._inner.memorize_chunk(*args, **kwargs)
        self._inner.memorize_finish()

    def transform(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the transformed values."""
        return self._inner.transform(*args, **kwargs)


TRANSFORMS: Mapping[str, type[Transform]] = {
    "center": Center,
    "standardize": Standardize,
    "scale": Standardize,
    "poly": OrthogonalPolynomials,
    "bs": BSpline,
    "cr": NaturalSpline,
    "cc": CyclicSpline,
    "te": TensorProduct,
}


def foreign_transform(function: Any) -> Transform | None:
    """Return a new transform if `function` is a stateful transform in patsy's sense, else None."""
    class_ = getattr(function, "__patsy_stateful_transform__", None)
    if class_ is None:
        return None
    for known in TRANSFORMS.values():
        if getattr(builtins, known.name, None) is function:
            return known()
    return _Foreign(class_)


@dataclass(frozen=True)
class FactorShape:
    """What coding needs to know of a factor: the number of columns, or the levels and the contrast asked for."""

    label: str
    columns: int
    levels: tuple[Any, ...] | None = None
    contrast: Any = None


@dataclass(frozen=True)
class Coded:
    """A part of a term: the factors it multiplies, each with (levels, k) contrasts and suffixes, or None if numeric."""

    factors: tuple[int, ...]
    contrasts: tuple[np.ndarray | None, ...]
    suffixes: tuple[tuple[str, ...] | None, ...]


class _Stand:
    """A factor in patsy's sense that evaluates to one row of the right kind."""

    origin = None

    def __init__(self, position: int, shape: FactorShape) -> None:
        self.position, self.shape = position, shape

    def name(self) -> str:
        """Return a name no other factor has."""
        return f"factor{self.position}."

    def memorize_passes_needed(self, state: dict, eval_env: Any) -> int:
        """Return 0: there is nothing to memorise."""
        return 0

    def eval(self, state: dict, data: Any) -> Any:
        """Return one row."""
        if self.shape.levels is None:
            return np.zeros((1, self.shape.columns))
        return builtins.C(list(self.shape.levels[:1]), contrast=self.shape.contrast, levels=list(self.shape.levels))


def code_terms(terms: Sequence[tuple[int, ...]], intercept: bool, shapes: Sequence[FactorShape]) -> list[list[Coded]]:
    """Return how patsy codes each term, given as positions in `shapes`; the intercept only decides the contrasts."""
    stands = [_Stand(i, shape) for i, shape in enumerate(shapes)]
    written = [PatsyTerm([stands[i] for i in term]) for term in terms]
    asked = [INTERCEPT, *written] if intercept else written
    try:
        (info,) = design_matrix_builders([asked], lambda: iter([{}]), EvalEnvironment([{}]), "drop")
    except Exception as error:
        named = next((shape for shape in shapes if shape.contrast is not None), None)
        what = "The factors" if named is None else f"'{named.label}'"
        raise InputError(
            f"{what} cannot be coded: {str(error).splitlines()[0]}. A contrast is Treatment, Sum, Poly, Helmert, Diff "
            "or a matrix with one row per level; levels are given as levels=[...]."
        ) from None
    return [[_copied(part) for part in info.term_codings[term]] for term in written]


def _copied(part: Any) -> Coded:
    contrasts: list[np.ndarray | None] = []
    suffixes: list[tuple[str, ...] | None] = []
    for stand in part.factors:
        matrix = part.contrast_matrices.get(stand)
        contrasts.append(None if matrix is None else np.array(matrix.matrix, dtype=np.float64))
        suffixes.append(None if matrix is None else tuple(matrix.column_suffixes))
    return Coded(tuple(stand.position for stand in part.factors), tuple(contrasts), tuple(suffixes))
