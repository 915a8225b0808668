"""Analysis of deviance: nested quantile regressions, and equality of slopes over quantiles, with names and in print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, check_bool, check_choice, listed
from qreg_boost.base.tables import Fact, Row, Summary, Table
from qreg_boost.base.typeset import level, numbers
from qreg_boost.quantreg.anova import FTest, equal_slopes, wald
from qreg_boost.quantreg.inference import KINDS
from qreg_boost.quantreg.process import quantile_process
from qreg_boost.quantreg.rank_test import rank_test
from qreg_boost.quantreg.results import QRegResults
from qreg_boost.quantreg.several import QRegProcess

TESTS = ("wald", "rank")


@dataclass(frozen=True, eq=False)
class AnovaResult:
    """An analysis of deviance; prints as text and in notebooks.

    Attributes
    ----------
    title : str
        What is tested, in a line.
    models : tuple of str
        The formulas, the largest model first.
    table : DataFrame
        One row per test: ``df df_resid statistic p_value``, under the names of the models or slopes tested.
    fits : tuple
        What was compared: fits in the order of `models`, or the fits at several taus.
    options : dict
        How it was tested, as it is printed.
    arguments : dict
        How it was tested, as arguments of `qreg_boost.anova`.
    """

    title: str
    models: tuple[str, ...]
    table: pd.DataFrame
    fits: tuple[Any, ...]
    options: dict[str, Any]
    arguments: dict[str, Any]

    @property
    def pvalue(self) -> Any:
        """The p value; a Series if there are several tests."""
        return float(self.table["p_value"].iloc[0]) if len(self.table) == 1 else self.table["p_value"]

    @property
    def statistic(self) -> Any:
        """The F value; a Series if there are several tests."""
        return float(self.table["statistic"].iloc[0]) if len(self.table) == 1 else self.table["statistic"]

    def tidy(self) -> pd.DataFrame:
        """Return the table with the names in a column: term, df, df_resid, statistic, p_value."""
        return self.table.rename_axis("term").reset_index()

    def summary(self) -> Summary:
        """Return the table as text, HTML and LaTeX."""
        columns = [
            [str(value) for value in self.table["df"]],
            [str(value) for value in self.table["df_resid"]],
            numbers(self.table["statistic"], 10, 5),
            [_p(value) for value in self.table["p_value"]],
        ]
        rows = tuple(Row(str(name), tuple(cells)) for name, *cells in zip(self.table.index, *columns, strict=True))
        labels = ["Model"] if len(self.models) == 1 else [f"Model {k + 1}" for k in range(len(self.models))]
        left = tuple(Fact(label, formula) for label, formula in zip(labels, self.models, strict=True))
        right = tuple(Fact(label, str(value)) for label, value in self.options.items())
        table = Table(("Df", "Resid Df", "F value", "Pr(>F)"), (rows,), even=False, stacked=False)
        return Summary("Quantile Regression Analysis of Deviance", left, right, (table,), (self.title,))

    def __str__(self) -> str:
        return self.summary().as_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def compare_r(self) -> Any:
        """Return a comparison with R's ``anova`` of the same fits."""
        from qreg_boost.r.compare import compare

        return compare(self)


def _p(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.4f}" if value >= 1e-4 else f"{value:.2e}"


def _frame(tests: Sequence[FTest], names: Sequence[str]) -> pd.DataFrame:
    rows = [(test.df, test.df_resid, test.statistic, test.pvalue) for test in tests]
    return pd.DataFrame(rows, index=pd.Index(names), columns=["df", "df_resid", "statistic", "p_value"])


def slopes(process: QRegProcess, joint: bool = True, se: str | None = None, bandwidth: Any = None) -> AnovaResult:
    """Return the test that slopes are equal at all taus, one of all or one for each; see `qreg_boost.anova`."""
    joint = check_bool(joint, "joint")
    solutions = [fit.solution for fit in process.fits if fit.solution is not None]
    if len(solutions) < len(process.fits):
        raise InputError("anova needs the rows of the fits; these were loaded without them. Fit them again.")
    kind = check_choice(se or (process.se if process.se in ("nid", "ker") else "nid"), "se", ("nid", "ker"))
    model, first = process.model, process.fits[0]
    constant = _constant(model, first)
    tested = [j for j in range(len(first.params)) if j != constant and j not in first.facts.dropped]
    tests = equal_slopes(
        model.exog, model.endog, [fit.tau for fit in process.fits], solutions,
        model.design.weights, slopes=tested, se=kind, joint=joint, solver=model.solver,
        **({} if bandwidth is None else {"bandwidth": bandwidth}),
    )  # fmt: skip
    names = ["all slopes"] if joint else [str(first.params.index[j]) for j in tested]
    what = "Joint test of equality of slopes" if joint else "Tests of equality of distinct slopes"
    taus = listed([level(tau) for tau in process.taus], 8)
    options = {"Std. errors": kind, "No. observations": first.nobs}
    told = {"test": "wald", "joint": joint, "se": kind, "bandwidth": bandwidth}
    return AnovaResult(f"{what} at tau = {taus}.", (_name(first),), _frame(tests, names), (process,), options, told)


def _constant(model: Any, fit: QRegResults) -> int | None:
    """Return the position of the column that is constant, None if there is none."""
    if fit.facts.intercept:
        return 0
    X = model.exog
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if hasattr(X, "toarray") else X[:, j]
        if len(column) and np.ptp(column) == 0.0 and column[0] != 0.0:
            return j
    return None


def nested(
    fits: Sequence[QRegResults],
    test: str = "wald",
    se: str | None = None,
    score: str = "tau",
    iid: bool = True,
    bandwidth: Any = None,
) -> AnovaResult:
    """Return the tests of smaller models against the largest; see `qreg_boost.anova`."""
    check_choice(test, "test", TESTS)
    fits = sorted(fits, key=lambda fit: -fit.facts.rank)
    large = fits[0]
    for fit in fits:
        _check_same(large, fit)
    added = [_added(large, fit) for fit in fits[1:]]
    own = {} if bandwidth is None else {"bandwidth": bandwidth}
    if test == "wald":
        kind = se or (large.se if not KINDS[large.se].intervals_only else "nid")
        judged = large if kind == large.se and not own else large.with_se(kind, **own)
        cov = judged.cov_params().to_numpy()
        tests = [wald(large.params.to_numpy(), cov, columns, large.df_resid) for columns in added]
        options = {"Test": "Wald", "Std. errors": kind}
    else:
        model = large.model
        X = model.exog.toarray() if hasattr(model.exog, "toarray") else model.exog
        tests = []
        for columns in added:
            rest = [j for j in range(X.shape[1]) if j not in columns and j not in large.facts.dropped]
            tests.append(
                rank_test(
                    X[:, rest], X[:, columns], model.endog, large.tau, model.design.weights,
                    score=score, iid=iid, solver=model.solver, process=quantile_process, **own,
                )
            )  # fmt: skip
        options = {"Test": "rank score", "Score": score}
    names = [f"Model {k + 2}" for k in range(len(added))]
    options |= {"Quantile (tau)": level(large.tau), "No. observations": str(large.nobs)}
    what = "that the coefficients which model 1 has beyond it are 0"
    title = f"Model 2 against model 1: {what}." if len(added) == 1 else f"Each model against model 1: {what}."
    told = {"test": test, "se": options.get("Std. errors"), "score": score, "iid": iid, "bandwidth": bandwidth}
    return AnovaResult(title, tuple(_name(fit) for fit in fits), _frame(tests, names), tuple(fits), options, told)


def _name(fit: QRegResults) -> str:
    facts = fit.facts
    return facts.formula or f"{facts.response} on {listed(facts.columns, 6)}"


def _check_same(large: QRegResults, fit: QRegResults) -> None:
    """Refuse fits that are not of the same rows at the same tau."""
    if fit.solution is None:
        raise InputError("anova needs the rows of the fits; one was loaded without them. Fit it again.")
    if fit.tau != large.tau:
        raise InputError(
            f"The fits are at tau {large.tau:g} and {fit.tau:g}; nested models are compared at one tau. For equality "
            "of slopes over taus pass one model fitted with a list of taus."
        )
    a, b = large.model, fit.model
    same = len(a.endog) == len(b.endog) and np.array_equal(a.endog, b.endog)
    one, other = (np.ones(len(m.endog)) if m.design.weights is None else m.design.weights for m in (a, b))
    if not same or not np.array_equal(one, other):
        what = "weights" if same else "response, offset or rows"
        raise InputError(
            f"The fits differ in their {what}: {large.nobs} and {fit.nobs} observations. Fit them to the same rows; "
            "missing values in a column of one model may have dropped some."
        )


def _added(large: QRegResults, small: QRegResults) -> list[int]:
    """Return the positions of the columns that the larger model has and the smaller lacks."""
    names = {str(name): j for j, name in enumerate(large.params.index) if j not in large.facts.dropped}
    kept = [str(name) for j, name in enumerate(small.params.index) if j not in small.facts.dropped]
    foreign = [name for name in kept if name not in names]
    if foreign or len(kept) == len(names):
        why = f"{listed(foreign, 6)} is not in the larger one" if foreign else "they have the same columns"
        raise InputError(
            f"The models {_name(large)!r} and {_name(small)!r} are not nested: {why}. Each column of the smaller model "
            "must be one of the larger, which must have more."
        )
    return [j for name, j in names.items() if name not in kept]
