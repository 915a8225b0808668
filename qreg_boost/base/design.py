"""Formula or arrays to a Design: response, predictors, terms, weights, offset, and the encoder of new data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.arrays import read_arrays
from qreg_boost.base.checks import InputError, check_choice
from qreg_boost.base.encoder import Encoder, NewData, Term
from qreg_boost.base.formula import read_formula
from qreg_boost.base.frames import as_frame, row_values
from qreg_boost.base.learning import Learned, learn
from qreg_boost.base.reader import KNOWN
from qreg_boost.base.rows import as_env, caller_env, subset_rows

__all__ = ["Design", "Encoder", "NewData", "Term", "caller_env"]


@dataclass(frozen=True, eq=False)
class Design:
    """The numbers a model is fitted to, with the names that give them meaning.

    Attributes
    ----------
    y : (n,) array, units of the response; labels (an array or a categorical) for a raw response
    X : (n, p) array, contiguous by rows or by columns, the predictors without the intercept's column
    column_names : p names, patsy's
    terms : a partition of the columns, by degree and then in the order of the formula
    intercept : False after ``0 +`` or ``- 1``
    weights, offset : (n,) array, or None if none were given
    index : labels of the kept rows, the caller's own
    rows : (n,) positions of the kept rows in the caller's frame
    n_dropped : rows dropped because something was missing
    response : the left-hand side as written
    formula : as the user wrote it; None when built from arrays
    encoder : encodes new data
    """

    y: np.ndarray
    X: np.ndarray
    column_names: tuple[str, ...]
    terms: tuple[Term, ...]
    intercept: bool
    weights: np.ndarray | None
    offset: np.ndarray | None
    index: pd.Index
    rows: np.ndarray
    n_dropped: int
    response: str
    formula: str | None
    encoder: Encoder

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        missing: str = "drop",
        env: Any = None,
        exclude: Iterable[Hashable] = (),
        response: str = "numeric",
        may_branch: bool = False,
    ) -> Design:
        """Return the design of a formula over data.

        Parameters
        ----------
        formula : str
            patsy's language, R's dot (``y ~ .``, ``. - id``) and R's spellings (``log(x)``, ``factor(g)``, ``I(x^2)``,
            ``(a + b)^2``, ``poly(x, 2)``). Boolean, text and categorical columns, ordered or not, get patsy's treatment
            coding; categories without a row are left out, as R's ``lm`` leaves them out. Terms stand in the order of
            the formula, main effects first (patsy puts categorical ones first).
        data : DataFrame, or dict of columns
            Never changed.
        weights, offset : column name, (n,) array, or Series aligned by index
        subset : mask, Series of booleans, column name, or expression such as ``"x > 3"``
        missing : {"drop", "raise"}
            Rows that miss the response, a predictor, or a weight or offset given by column name.
        env : mapping, int or patsy EvalEnvironment, optional
            Where functions and keyword values of the formula are looked up; columns come from `data` only.
        exclude : iterable
            Further columns the dot leaves out, such as groups.
        response : {"numeric", "raw"}
            ``"raw"`` leaves `y` as it is: labels for classification.
        may_branch : bool
            Whether `missing` may be "branch": rows that miss predictors stay, and have NaN in the columns of the terms
            that are missing.

        Raises
        ------
        FormulaError
            If the formula cannot be read, or names what is not in `data`.
        InputError
            If the data cannot be used.

        Examples
        --------
        >>> data = {"y": [1.0, 2.0, 4.0], "x": [0.0, 1.0, 2.0], "g": ["a", "b", "a"]}
        >>> design = Design.from_formula("y ~ x + g", data)
        >>> design.column_names
        ('x', 'g[T.b]')
        >>> design.encoder.encode({"x": [3.0], "g": ["b"]}).X
        array([[3., 1.]])
        """
        check_choice(missing, "missing", ["drop", "raise", "branch"] if may_branch else ["drop", "raise"])
        check_choice(response, "response", ["numeric", "raw"])
        names = as_env(env)
        frame = as_frame(data)
        if not len(frame.columns) or not len(frame):
            raise InputError(f"`data` is empty: {len(frame)} rows, {len(frame.columns)} columns.")
        by_row = {"weights": row_values(weights, frame, "weights"), "offset": row_values(offset, frame, "offset")}
        leave_out = [values.column for values in by_row.values() if values.column is not None]
        parsed = read_formula(formula, frame.columns, exclude=[*leave_out, *exclude], functions=KNOWN, env=names)
        rows = subset_rows(subset, frame)
        learned = learn(parsed, frame, rows, by_row["weights"], by_row["offset"], missing, response == "raw")
        return cls._of(learned, frame.index, parsed.intercept, parsed.text)

    @classmethod
    def _of(cls, learned: Learned, index: pd.Index, intercept: bool, formula: str | None) -> Design:
        if "Intercept" in learned.encoder.column_names and (intercept or formula is not None):
            raise InputError(
                "A column of the design is named 'Intercept', as the model's own intercept is; rename it, or leave it "
                "out if it holds the constant."
            )
        kept = index if len(learned.rows) == len(index) else index[learned.rows]
        return cls(
            y=learned.y,
            X=learned.X,
            column_names=learned.encoder.column_names,
            terms=learned.encoder.terms,
            intercept=intercept,
            weights=learned.weights,
            offset=learned.offset,
            index=kept,
            rows=learned.rows,
            n_dropped=learned.n_dropped,
            response=learned.response,
            formula=formula,
            encoder=learned.encoder,
        )

    @classmethod
    def from_arrays(
        cls,
        y: Any,
        X: Any,
        *,
        names: Sequence[Any] | None = None,
        weights: Any = None,
        offset: Any = None,
        missing: str = "drop",
        intercept: bool = True,
        response: str = "numeric",
        may_branch: bool = False,
    ) -> Design:
        """Return the design of a response and predictors as they are, each column its own term.

        Parameters
        ----------
        y : (n,) array or Series
        X : (n, p) or (n,) array, DataFrame or Series
            Nothing is added. A C-contiguous float64 array is not copied unless rows are dropped.
        names : sequence of p names, optional
            Those of a DataFrame, else x1, x2, ...
        weights, offset : (n,) array, or Series aligned by index
        missing : {"drop", "raise"}
        intercept : bool
            What the design's `intercept` says; X holds no column for it.
        response : {"numeric", "raw"}
            ``"raw"`` leaves `y` as it is: labels for classification.
        may_branch : bool
            Whether `missing` may be "branch": rows that miss predictors stay, and have NaN in the columns of the terms
            that are missing.

        Raises
        ------
        InputError
            If lengths differ, or values are not finite numbers.

        Examples
        --------
        >>> import numpy as np
        >>> Design.from_arrays(np.arange(3.0), np.ones((3, 2))).column_names
        ('x1', 'x2')
        """
        check_choice(missing, "missing", ["drop", "raise", "branch"] if may_branch else ["drop", "raise"])
        check_choice(response, "response", ["numeric", "raw"])
        learned, index = read_arrays(y, X, names, weights, offset, missing, response == "raw")
        return cls._of(learned, index, bool(intercept), None)
