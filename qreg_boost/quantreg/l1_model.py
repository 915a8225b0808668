"""L1-norm quantile regression as a model: formula or arrays in, the whole path out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_bool, check_tau, listed, nearest
from qreg_boost.base.design import Design, Encoder
from qreg_boost.base.resampling import make_folds, run_tasks
from qreg_boost.quantreg.facts import QRegFacts
from qreg_boost.quantreg.l1_cv import L1CV
from qreg_boost.quantreg.l1_path import L1Path, l1_path
from qreg_boost.quantreg.l1_results import L1Fit, L1Results
from qreg_boost.quantreg.model import QReg
from qreg_boost.quantreg.solution import Solution, Status


class L1QReg:
    """Quantile regression under a bound on the absolute sum of coefficients (Li and Zhu 2008), for every bound.

    Parameters
    ----------
    y : array_like (n,)
        Response, numeric.
    X : array_like (n, p)
        Predictors, without a column of ones: the path has an intercept, which the bound leaves free.
    tau : float
        Quantile level, strictly between 0 and 1.
    names : sequence of str, optional
        Names of the predictors; by default those of a DataFrame, else x1, x2, ...
    standardize, unpenalised
        See `qreg_boost.l1qreg`.
    weights, offset : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 0.0]])
    >>> L1QReg([1.0, 4.0, 3.0, 6.0, 5.0], X).fit().at(s=3.0).params.round(6).to_dict()
    {'Intercept': 0.0, 'x1': 1.0, 'x2': 2.0}
    """

    def __init__(
        self,
        y: Any,
        X: Any,
        tau: float = 0.5,
        *,
        names: Sequence[str] | None = None,
        standardize: bool = False,
        unpenalised: Any = None,
        weights: Any = None,
        offset: Any = None,
        missing: str = "drop",
    ) -> None:
        design = Design.from_arrays(y, X, names=names, weights=weights, offset=offset, missing=missing)
        self._set(design, tau, standardize, unpenalised, "L1QReg(y, X, ")

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        tau: float = 0.5,
        *,
        standardize: bool = False,
        unpenalised: Any = None,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        missing: str = "drop",
        env: Any = None,
    ) -> L1QReg:
        """Return the model of a formula; arguments as in `qreg_boost.l1qreg`."""
        design = Design.from_formula(
            formula, data, weights=weights, offset=offset, subset=subset, missing=missing, env=env
        )
        model = cls.__new__(cls)
        model._set(design, tau, standardize, unpenalised, f'l1qreg("{formula}", data, ')
        return model

    def _set(self, design: Design, tau: Any, standardize: bool, unpenalised: Any, head: str) -> None:
        if np.ndim(tau) != 0:
            raise InputError(f"`tau` must be one number: a path belongs to one quantile; got {tau!r}.")
        self.design = design
        self.tau = check_tau(tau)
        self.standardize = check_bool(standardize, "standardize")
        free = [unpenalised] if isinstance(unpenalised, str) else list(unpenalised or [])
        self.unpenalised = tuple(str(name) for name in free)
        if not design.column_names:
            raise InputError("There is no predictor, so there is no path; qreg fits a constant alone.")
        options = [f"tau={self.tau}"] + ["standardize=True"] * standardize
        options += [f"unpenalised={list(self.unpenalised)!r}"] * bool(self.unpenalised)
        self.call = head + ", ".join(options) + ")"

    def __repr__(self) -> str:
        return self.call

    @cached_property
    def penalised(self) -> np.ndarray:
        """Which columns count in the bound (p,): all but those of the terms named."""
        names = self.design.column_names
        owners = {term.name: term.columns for term in self.design.terms}
        owners = {name: (j,) for j, name in enumerate(names)} | owners
        flags = np.ones(len(names), dtype=bool)
        for name in self.unpenalised:
            if name not in owners:
                raise InputError(
                    f"`unpenalised` names {name!r}, which is no term.{nearest(name, owners)} Terms: {listed(owners)}."
                )
            flags[list(owners[name])] = False
        return flags

    @cached_property
    def plain(self) -> QReg:
        """The quantile regression of the same design, without the bound."""
        model = QReg.from_design(self.design, self.tau)
        model.call = self.call
        return model

    def fit(self) -> L1Results:
        """Return the whole path."""
        path = self._path(self.design.weights, self.penalised)
        end = path.coef[-1] if self.design.intercept else path.coef[-1, 1:]
        dropped = np.flatnonzero(np.isnan(end))
        nothing = np.empty(0, dtype=np.intp)
        solution = Solution(
            end, float(path.objective[-1]), 0.0, len(path.s), Status.OPTIMAL, dropped, nothing, nothing, True
        )  # fmt: skip
        facts = replace(self.plain._facts(solution, self.tau), method="L1 path", call=self.call)
        return L1Results(path, facts, self)

    def _path(self, weights: np.ndarray | None, penalised: np.ndarray) -> L1Path:
        return l1_path(
            self.design.X, self.plain.endog, self.tau, weights,
            penalised=penalised, standardize=self.standardize, intercept=self.design.intercept,
        )  # fmt: skip

    def cross_validate(
        self, s: np.ndarray, folds: Any, k: int, rng: Any, n_jobs: int, progress: bool, rule: str
    ) -> L1CV:
        """Return the mean loss per held-out row at bounds s."""
        weights = np.ones(len(self.design.y)) if self.design.weights is None else self.design.weights
        made = make_folds(folds, k, weights > 0, self.design.rows, rng)
        tasks = [(made.train[:, j] * weights, made.held[:, j] * weights, s) for j in range(made.train.shape[1])]
        risks = run_tasks(self.fold_risk, tasks, n_jobs=n_jobs, progress=progress, description="L1 path")
        index = pd.RangeIndex(1, len(risks) + 1, name="fold")
        risk = pd.DataFrame(np.array(risks), index=index, columns=pd.Index(s, name="s"))
        if rule == "1se" and len(risk) == 1:
            raise InputError('`rule="1se"` needs a standard error, and so at least two folds; got one.')
        return L1CV(risk, rule, made.kind)

    def fold_risk(self, train: np.ndarray, held: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the mean loss (len(s),) on rows with weights `held` (n,) of the path with weights `train` (n,)."""
        coef = np.nan_to_num(self._path(train, self.penalised).at(s=s))
        out = held > 0
        fitted = self.design.X[out] @ coef[:, 1:].T + coef[:, 0]
        residuals = self.plain.endog[out, None] - fitted
        losses = np.where(residuals < 0, self.tau - 1.0, self.tau) * residuals
        return np.asarray(held[out] @ losses / held[out].sum())


def restore_l1_fit(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> L1Fit:
    """Return the fit that `L1Fit.state` wrote."""
    known = {"encoder": _encoder(meta, arrays), "null_loss": float(meta["null_loss"])}
    return L1Fit(QRegFacts.from_state(meta["facts"]), arrays["fit.coef"], meta["about"], None, known)


def restore_l1(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> L1Results:
    """Return the path that `L1Results.state` wrote."""
    facts = QRegFacts.from_state(meta["facts"])
    own = {name.removeprefix("path."): array for name, array in arrays.items() if name.startswith("path.")}
    path = L1Path(**own, tau=facts.tau, nobs=facts.nobs, total_weight=float(meta["total_weight"]))
    known = {"encoder": _encoder(meta, arrays), "null_loss": float(meta["null_loss"])}
    if facts.weighted:
        known["losses"] = arrays["losses"]
    return L1Results(path, facts, None, known)


def _encoder(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Encoder:
    prefix = "encoder."
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return Encoder.from_state(meta["encoder"], own)
