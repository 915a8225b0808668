"""Quantile regression as a model: formula or arrays in, results out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_choice, check_tau, listed
from qreg_boost.base.design import Design
from qreg_boost.base.facts import facts_of_rows
from qreg_boost.base.frames import align, as_frame, find_column
from qreg_boost.base.rank import independent_columns
from qreg_boost.base.saved_design import design_state, plain_index
from qreg_boost.quantreg.facts import QRegFacts
from qreg_boost.quantreg.inference import KINDS, Estimate, Problem, check_kind
from qreg_boost.quantreg.process_results import QRegPath
from qreg_boost.quantreg.results import QRegResults, SEChoice
from qreg_boost.quantreg.several import QRegProcess
from qreg_boost.quantreg.solution import Solution, check_loss, constant_loss
from qreg_boost.quantreg.solvers import SOLVERS, Solver, solve_several
from qreg_boost.quantreg.sparse_design import is_sparse, spans_constant, sparse_design

MOST_TAUS = 12
"""So many taus are written out in a call."""


class QReg:
    """Quantile regression (Koenker and Bassett 1978): the linear function that minimises the check loss.

    Parameters
    ----------
    y : array_like (n,)
        Response, numeric.
    X : array_like or sparse matrix (n, p)
        The design as it is, nothing added: bring a column of ones for an intercept. A sparse matrix of scipy's stays
        sparse.
    tau : float or sequence of floats
        Quantile level, strictly between 0 and 1; with several, `fit` returns a `QuantileProcess`.
    names : sequence of str, optional
        Names of the columns; by default those of a DataFrame, else x1, x2, ...
    se, method
        See `qreg_boost.qreg`.
    groups, weights, offset : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> fit = QReg([0.0, 1.0, 2.0, 9.0, 4.0], X, tau=0.5, names=["const", "x"]).fit()
    >>> fit.params.round(6).to_dict()
    {'const': 0.0, 'x': 1.0}
    """

    def __init__(
        self,
        y: Any,
        X: Any,
        tau: Any = 0.5,
        *,
        names: Sequence[str] | None = None,
        se: str = "nid",
        method: str = "exact",
        groups: Any = None,
        weights: Any = None,
        offset: Any = None,
        missing: str = "drop",
    ) -> None:
        rows = {"names": names, "weights": weights, "offset": offset, "missing": missing}
        design = sparse_design(y, X, **rows) if is_sparse(X) else Design.from_arrays(y, X, **rows, intercept=False)
        self._set(design, tau, se, method, "QReg(y, X, ")
        labels = groups.index if isinstance(groups, pd.Series) else pd.RangeIndex(len(design.y) + design.n_dropped)
        self._frame = pd.DataFrame(index=labels)
        self._set_groups(groups)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        tau: Any = 0.5,
        *,
        se: str = "nid",
        method: str = "exact",
        groups: Any = None,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        missing: str = "drop",
        env: Any = None,
    ) -> QReg:
        """Return the model of a formula; arguments as in `qreg_boost.qreg`.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        design = Design.from_formula(
            formula, data, weights=weights, offset=offset, subset=subset, missing=missing, env=env,
            exclude=[groups] if isinstance(groups, str) else [],
        )  # fmt: skip
        model = cls.__new__(cls)
        model._set(design, tau, se, method, f'qreg("{formula}", data, ')
        model._frame = as_frame(data)
        model._set_groups(groups)
        return model

    @classmethod
    def from_design(cls, design: Design, tau: Any = 0.5, se: str = "nid", method: str = "exact") -> QReg:
        """Return the model of a design that is already there."""
        model = cls.__new__(cls)
        model._set(design, tau, se, method, "QReg(y, X, ")
        return model

    def _set(self, design: Design, tau: Any, se: str, method: str, head: str) -> None:
        self.design = design
        self.several = isinstance(tau, (list, tuple, np.ndarray)) or hasattr(tau, "to_numpy")
        self.taus = [_checked(one) for one in tau] if self.several else [check_tau(tau)]
        if not self.taus:
            raise InputError("`tau` is an empty list; give at least one quantile level between 0 and 1.")
        if len(set(self.taus)) < len(self.taus):
            raise InputError(f"`tau` names a quantile level twice: {listed(self.taus)}.")
        self.se = se
        self.method = check_choice(method, "method", SOLVERS)
        check_kind(se, {})
        if not len(self.exog_names):
            raise InputError(
                'There is neither an intercept nor a predictor: nothing to fit. Write "y ~ 1" for a constant.'
            )
        self.call = _call(head, self.tau, se, method)
        self.groups = None
        self._frame = None

    def _set_groups(self, groups: Any) -> None:
        self.groups = self.group_labels(groups)
        self.options_of(SEChoice(self.se))

    # -- what a fit is made of

    groups: np.ndarray | None
    _frame: pd.DataFrame | None

    def __repr__(self) -> str:
        return self.call

    @property
    def tau(self) -> Any:
        """Quantile level, or the list of them."""
        return self.taus if self.several else self.taus[0]

    @property
    def formula(self) -> str | None:
        """The formula as written; None for a model of arrays."""
        return self.design.formula

    @property
    def endog_names(self) -> str:
        """The response as written."""
        return self.design.response

    @property
    def exog_names(self) -> list[str]:
        """Names of the coefficients."""
        return [*(["Intercept"] if self.design.intercept else []), *self.design.column_names]

    @cached_property
    def exog(self) -> Any:
        """The design (n, p), the column of ones among the others if the formula has an intercept."""
        X = self.design.X
        return np.column_stack((np.ones(len(self.endog)), X)) if self.design.intercept else X

    @cached_property
    def endog(self) -> np.ndarray:
        """The response less any offset (n,)."""
        return self.design.y if self.design.offset is None else self.design.y - self.design.offset

    def fit(self) -> Any:
        """Return the fit: `QRegResults`, or a `QuantileProcess` for a list of taus."""
        if not self.several:
            return self._results(self.solve(self.taus[0]), self.taus[0])
        levels = [float(tau) for tau in self.taus]
        solutions = solve_several(self.exog, self.endog, levels, self.design.weights, self.method)
        return QRegProcess(self.taus, [self._results(*pair) for pair in zip(solutions, levels, strict=True)])

    @property
    def solver(self) -> Solver:
        """The solver by name of the method."""
        return SOLVERS[self.method]

    def solve(self, tau: float) -> Solution:
        """Return the solution at one tau."""
        return self.solver(self.exog, self.endog, tau, self.design.weights)

    def at(self, tau: float) -> QRegResults:
        """Return the fit at one tau."""
        return self._results(self.solve(tau), tau)

    def process(self) -> QRegPath:
        """Return the solution at every tau."""
        from qreg_boost.quantreg.process import quantile_process

        found = quantile_process(self.exog, self.endog, self.design.weights)
        call = f'qreg_process("{self.formula}", data)' if self.formula else "QReg(y, X).process()"
        facts = replace(self._facts(self.solve(0.5), 0.5), call=call)
        return QRegPath(found, facts, self, self.design.encoder)

    def _results(self, solution: Solution, tau: float) -> QRegResults:
        options = {"groups": self.groups} if self.se == "cluster" else {}
        return QRegResults(self._facts(solution, tau), solution.coef, SEChoice(self.se, options), self, solution)

    def _facts(self, solution: Solution, tau: float) -> QRegFacts:
        design, weights = self.design, self.design.weights
        loss = solution.objective
        if weights is not None:
            used = weights > 0
            loss = check_loss((self.endog - self.fitted(solution.coef))[used], tau)
        return QRegFacts(
            tau=tau,
            method=self.method,
            call=self.call,
            has_offset=design.offset is not None,
            dropped=tuple(int(j) for j in solution.dropped),
            objective=float(solution.objective),
            loss=float(loss),
            duality_gap=float(solution.duality_gap),
            iterations=int(solution.iterations),
            status=solution.status.value,
            optimal=solution.status.optimal,
            unique=bool(solution.unique),
            **{**facts_of_rows(design), "columns": tuple(self.exog_names)},
        )

    # -- what results may ask of their model

    def fitted(self, coef: np.ndarray) -> np.ndarray:
        """Return X b (n,) without the offset; dropped coefficients count as 0."""
        return np.asarray(self.exog @ np.nan_to_num(coef))

    def estimate(self, choice: SEChoice, solution: Solution, tau: float, alpha: float | None = None) -> Estimate:
        """Return standard errors or intervals of a kind at a solution of this model."""
        options = self.options_of(choice)
        kind = KINDS[choice.kind]
        if kind.intervals_only and alpha is not None:
            options["alpha"] = alpha
        problem = Problem(self.exog, self.endog, tau, self.design.weights, solution, self.solver)
        return kind.estimate(problem, **options)

    def options_of(self, choice: SEChoice) -> dict[str, Any]:
        """Return the options of a kind of standard error, checked by name, with one group label per row kept."""
        options = {name: value for name, value in choice.options.items() if value is not None}
        kind = check_kind(choice.kind, options)
        by_cluster = choice.kind == "cluster" or options.get("method") == "cluster"
        if by_cluster or "groups" in options:
            groups = self.group_labels(options.pop("groups", None))
            groups = self.groups if groups is None else groups
            if groups is None:
                raise InputError(f'se="{choice.kind}" needs `groups`: a column name, or one label per row.')
            options["groups"] = groups
        if kind.check is not None:
            kind.check(**options)
        return options

    def group_labels(self, groups: Any) -> np.ndarray | None:
        """Return one label per row kept, of groups given as a column name, an array or a Series aligned by index."""
        if groups is None:
            return None
        n, rows = len(self.design.y), self.design.rows
        if isinstance(groups, str):
            if self._frame is None or not len(self._frame.columns):
                raise InputError(
                    f"`groups` names a column, {groups!r}, but the data are not there; pass one label per row."
                )
            groups = find_column(self._frame, groups, "groups")
        elif isinstance(groups, pd.Series) and self._frame is not None and len(groups) != n:
            groups = align(groups, self._frame.index, "groups")
        values = np.asarray(groups)
        total = n + self.design.n_dropped if self._frame is None else len(self._frame)
        if values.ndim != 1 or len(values) not in (n, total):
            raise InputError(f"`groups` must have one label per row: {total} rows, but shape {values.shape}.")
        return values if len(values) == n else values[rows]

    def null_loss(self, tau: float) -> float:
        """Return the loss of the best constant for y less the offset, or of 0 if the columns span no constant."""
        weights = self.design.weights
        return constant_loss(self.endog, tau, weights) if self._spans_constant else check_loss(self.endog, tau, weights)

    @cached_property
    def _spans_constant(self) -> bool:
        if self.design.intercept:
            return True
        X, n = self.exog, len(self.endog)
        if is_sparse(X):
            return spans_constant(X, self.design.weights)
        with_ones = np.column_stack((X, np.ones(n)))
        return X.shape[1] not in independent_columns(with_ones, weights=self.design.weights)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the rows, as values that JSON holds and arrays: with them a fit can be asked anything again."""
        if is_sparse(self.design.X):
            raise InputError("A fit to a sparse matrix cannot be saved with its rows; leave out data=True.")
        meta, arrays = design_state(self.design)
        if self.groups is not None:
            arrays["groups"] = plain_index(pd.Index(self.groups))
        return meta, arrays

    def __getstate__(self) -> dict[str, Any]:
        """Return the model without what can be computed again, and without the caller's frame."""
        computed = ("exog", "endog", "_spans_constant")
        return {name: value for name, value in self.__dict__.items() if name not in computed} | {"_frame": None}


def _checked(tau: Any) -> Any:
    check_tau(tau)
    return tau


def _call(head: str, tau: Any, se: str, method: str) -> str:
    """Return the call as a user would write it, options at their defaults left out."""
    several = isinstance(tau, list)
    levels = [str(float(one)) for one in (tau if several else [tau])]
    if len(levels) > MOST_TAUS:
        levels = [*levels[:3], "...", levels[-1]]
    given = [f"tau=[{', '.join(levels)}]" if several else f"tau={levels[0]}"]
    options = (("se", se, "nid"), ("method", method, "exact"))
    given += [f"{name}={value!r}" for name, value, default in options if value != default]
    return head + ", ".join(given) + ")"
