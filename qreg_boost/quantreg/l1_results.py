"""The whole L1 path with names: knots, coefficients at any bound, the choice of one, and its fit."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError, check_choice
from qreg_boost.base.held_out import RULES
from qreg_boost.base.results import FitResults
from qreg_boost.quantreg.facts import QRegFacts
from qreg_boost.quantreg.inference import Estimate
from qreg_boost.quantreg.l1_cv import L1CV
from qreg_boost.quantreg.results import QRegResults, SEChoice
from qreg_boost.quantreg.solution import check_loss

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary
    from qreg_boost.quantreg.l1_path import L1Path

CRITERIA = ("sic", "gacv", "cv")


class L1Fit(QRegResults):
    """The fit at one bound of an L1 path; without inference, which a penalty leaves without meaning.

    Parameters
    ----------
    facts, coef, model, known
        As for `QRegResults`.
    about : dict
        ``s lam df how``: bound, multiplier, degrees of freedom, and how the bound was chosen.
    """

    title = "L1-Norm Quantile Regression"

    def __init__(
        self, facts: QRegFacts, coef: np.ndarray, about: dict[str, Any], model: Any, known: Any = None
    ) -> None:
        super().__init__(facts, coef, SEChoice("nid"), model, None, known)
        self.s, self.lam = float(about["s"]), float(about["lam"])
        self.df, self.how = int(about["df"]), str(about["how"])

    @property
    def model(self) -> Any:
        """The model, with its design; a loaded fit has none."""
        if self._model is None:
            raise _without_rows("fit")
        return self._model

    @property
    def se(self) -> str:
        """There is none: a message."""
        raise self._without("standard errors")

    @property
    def _estimate(self) -> Estimate:
        raise self._without("standard errors, tests or intervals")

    def _ask(self, choice: SEChoice, alpha: float | None) -> Estimate:
        return self._estimate

    def conf_int(self, alpha: float | None = None) -> pd.DataFrame:
        """Raise: there are none."""
        raise self._without("intervals")

    def with_se(self, se: str, **options: Any) -> QRegResults:
        """Raise: there are none."""
        raise self._without("standard errors")

    @staticmethod
    def _without(what: str) -> NotDefinedError:
        return NotDefinedError(
            f"A fit on the L1 path has no {what}: the penalty shrinks coefficients and chooses among them. Fit the "
            "chosen terms with qreg, on other rows than those they were chosen on."
        )

    @property
    def df_resid(self) -> int:
        """Rows less degrees of freedom."""
        return self.nobs - self.df

    @property
    def aic(self) -> float:
        """2 df - 2 llf."""
        return 2.0 * self.df - 2.0 * self.llf

    @property
    def bic(self) -> float:
        """Log(n) df - 2 llf."""
        return float(np.log(self.nobs)) * self.df - 2.0 * self.llf

    def predict(self, new: Any = None, interval: str | None = None, alpha: float = 0.05, offset: Any = None) -> Any:
        """Return predicted quantiles for new data, in units of y; there are no intervals."""
        if interval is not None:
            raise self._without("intervals")
        return super().predict(new, offset=offset)

    def tidy(self, conf_int: bool = False, alpha: float | None = None) -> pd.DataFrame:
        """Return one row per coefficient: term, estimate."""
        if conf_int:
            raise self._without("intervals")
        return pd.DataFrame({"term": self.params.index, "estimate": self.params.to_numpy()})

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the fit."""
        names = ("s", "lam", "df", "objective", "null_loss", "prsquared", "llf", "aic", "bic")
        rows = {"tau": self.tau, "nobs": self.nobs, "n_dropped": self.facts.n_dropped}
        return pd.DataFrame([{**rows, **{name: getattr(self, name) for name in names}}])

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds; the rows belong to the path, so there is no fit with its rows."""
        if data:
            raise _saved_without_rows("A fit on the L1 path")
        encoder_meta, encoder_arrays = self.encoder.state()
        about = {"s": self.s, "lam": self.lam, "df": self.df, "how": self.how}
        meta = {"facts": self.facts.state(), "about": about, "null_loss": self.null_loss, "encoder": encoder_meta}
        return meta, {f"encoder.{name}": array for name, array in encoder_arrays.items()} | {"fit.coef": self._coef}

    def summary(self, se: str | None = None, style: str | None = None, alpha: float | None = None) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.quantreg.report_l1 import summarise_fit

        if se is not None or style is not None or alpha is not None:
            raise self._without("standard errors")
        return summarise_fit(self)

    def compare_r(self) -> Any:
        """Raise: quantreg has no L1 path."""
        raise NotDefinedError(
            "quantreg has no path in the bound to compare with; its rq(method='lasso') takes one lambda."
        )


class L1Results(FitResults):
    """The L1 path of a quantile regression: coefficients for every bound s on their absolute sum.

    Parameters
    ----------
    path : L1Path
    facts : QRegFacts
        Names and counts; what depends on the bound is that of the end of the path.
    model : L1QReg or None
        The model, which holds the rows; None for a path loaded from a file.
    known : dict
        What a loaded path knows without its rows: the null loss, the encoder.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> path = qb.l1qreg("STACKLOSS ~ .", qb.datasets.load("stackloss"), tau=0.5)
    >>> fit = path.select("sic")
    >>> bool(fit.s <= path.knots["s"].iloc[-1])
    True
    """

    title = "L1-Norm Quantile Regression Path"
    whole = "path.select('sic') or path.at(s=...)"
    instead = "A fit at one bound has them: select('sic'), at(s=) or at(lam=)."

    def __init__(self, path: L1Path, facts: QRegFacts, model: Any, known: dict[str, Any] | None = None) -> None:
        self.path = path
        self.facts = facts
        self._model = model
        self._known = dict(known or {})

    def _one(self) -> tuple[type | None, str]:
        return L1Fit, "path.select('sic')"

    @property
    def model(self) -> Any:
        """The model, with its design; a loaded path has none."""
        if self._model is None:
            raise _without_rows("path")
        return self._model

    @cached_property
    def knots(self) -> pd.DataFrame:
        """One row per knot: s, lam (the multiplier from there to the next), objective, df, sic, gacv.

        Between knots coefficients and loss are linear in s. The criteria are missing where df exceeds half the rows.
        """
        path = self.path
        table = {"s": path.s, "lam": np.append(path.lam, 0.0), "objective": path.objective, "df": path.df}
        return pd.DataFrame(
            {**table, "sic": path.sic, "gacv": path.gacv}, index=pd.RangeIndex(len(path.s), name="knot")
        )

    def coef_path(self) -> pd.DataFrame:
        """Return the coefficients at the knots: s by terms."""
        labels = pd.Index(self.facts.columns, name="term")
        return pd.DataFrame(self._coefficients(self.path.coef), index=pd.Index(self.path.s, name="s"), columns=labels)

    def _coefficients(self, coef: np.ndarray) -> np.ndarray:
        """Return coefficients under the names of this model: without the intercept's 0 if it has none."""
        return coef if self.facts.intercept else coef[..., 1:]

    def at(self, s: float | None = None, lam: float | None = None) -> L1Fit:
        """Return the fit at a bound s on the absolute sum, or at a multiplier: of several solutions the smallest."""
        values = [value for value in (s, lam) if value is not None]
        if len(values) == 1 and np.ndim(values[0]) != 0:
            raise InputError(f"Give one number, for one fit; got {values[0]!r}. coef_path() has all knots.")
        coef = self.path.at(s=s, lam=lam)
        used = float(np.nansum(np.abs(coef[1:])[self.path.penalised] * self.path.scale[self.path.penalised]))
        return self._fit(used if s is None else min(float(s), float(self.path.s[-1])), coef, "given", lam)

    def _fit(self, s: float, coef: np.ndarray, how: str, lam: float | None = None) -> L1Fit:
        path = self.path
        knot = min(int(np.searchsorted(path.s, s * (1 - 1e-12), side="left")), len(path.s) - 1)
        piece = int(np.searchsorted(path.s, s * (1 + 1e-12), side="right")) - 1
        own_lam = path.lam[piece] if piece < len(path.lam) else 0.0
        about = {"s": s, "lam": own_lam if lam is None else lam, "df": path.df[knot], "how": how}
        own = self._coefficients(coef)
        objective, loss = (float(np.interp(s, path.s, losses)) for losses in (path.objective, self._losses))
        facts = replace(self.facts, objective=objective, loss=loss)
        return L1Fit(facts, own, about, None if self._model is None else self._model.plain, self._known)

    @cached_property
    def _losses(self) -> np.ndarray:
        """Loss without weights at the knots, of rows with weight above 0; linear between knots, as the objective is."""
        if not self.facts.weighted:
            return self.path.objective
        if self._model is None:
            return np.asarray(self._known["losses"])
        model = self._model.plain
        used = model.design.weights > 0
        coefs = self._coefficients(self.path.coef)
        return np.array([check_loss((model.endog - model.fitted(coef))[used], self.tau) for coef in coefs])

    def select(self, criterion: str = "sic", **options: Any) -> L1Fit:
        """Return the fit at the knot that a criterion chooses.

        Parameters
        ----------
        criterion : {"sic", "gacv", "cv"}
            "sic" and "gacv" (Li and Zhu 2008, section 4) among knots whose degrees of freedom are at most half the
            rows; "cv": the knot of least loss out of sample.
        **options
            Of `cv`: folds, k, rng, n_jobs, progress, rule.
        """
        check_choice(criterion, "criterion", CRITERIA)
        if criterion != "cv":
            if options:
                raise InputError(f"criterion={criterion!r} has no options; {', '.join(options)} belong to 'cv'.")
            knot = self.path.select(criterion)
            return self._fit(float(self.path.s[knot]), self.path.coef[knot], f"{criterion.upper()}, among the knots")
        found = self.cv(**options)
        within = ", one standard error" if found.rule == "1se" else ""
        how = f"cross-validation, {len(found.risk)} folds{within}, among the knots"
        return self._fit(float(self.path.s[found.knot]), self.path.coef[found.knot], how)

    def cv(
        self,
        folds: Any = "kfold",
        k: int = 10,
        rng: Any = 0,
        n_jobs: int = 1,
        progress: bool = True,
        rule: str = "min",
    ) -> L1CV:
        """Return the loss out of sample at each knot; ``path.select("cv")`` is the fit at the best.

        Parameters
        ----------
        folds, k, rng, n_jobs, progress
            As for `qreg_boost.CV`.
        rule : {"min", "1se"}
            The knot of least mean loss, or the first whose mean loss is within one standard error of the least.
        """
        check_choice(rule, "rule", RULES)
        if self._model is None:
            raise NotDefinedError(
                "This path was loaded without its rows, so it cannot be cross-validated. select('sic') and "
                "select('gacv') need none; for cross-validation fit the path to the data anew with l1qreg."
            )
        found: L1CV = self._model.cross_validate(self.path.s, folds, k, rng, n_jobs, progress, rule)
        return found

    def predict(self, new: Any, s: float | None = None, lam: float | None = None, offset: Any = None) -> Any:
        """Return predicted quantiles of new data at a bound or multiplier, in units of y."""
        return self.at(s=s, lam=lam).predict(new, offset=offset)

    def tidy(self) -> pd.DataFrame:
        """Return one row per knot and coefficient: s, term, estimate."""
        return (
            self.coef_path()
            .reset_index()
            .melt(id_vars="s", value_name="estimate")
            .sort_values("s", kind="stable", ignore_index=True)
        )

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the path."""
        facts = {"tau": self.tau, "nobs": self.nobs, "n_dropped": self.facts.n_dropped, "knots": len(self.path.s)}
        return pd.DataFrame([{**facts, "s_max": self.path.s[-1], "objective": self.path.objective[-1]}])

    def plot_path(self, ax: Any = None) -> Any:
        """Draw the coefficients against the bound s; return the Axes."""
        from qreg_boost.plots.paths import plot_l1_path

        return plot_l1_path(self.coef_path(), tau=self.tau, ax=ax)

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.quantreg.report_l1 import summarise_path

        return summarise_path(self)

    def __str__(self) -> str:
        from qreg_boost.quantreg.report_l1 import describe_path

        return describe_path(self)

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds: the path, without the rows."""
        if data:
            raise _saved_without_rows("An L1 path")
        encoder_meta, encoder_arrays = self.encoder.state()
        meta = {"facts": self.facts.state(), "encoder": encoder_meta, "total_weight": self.path.total_weight}
        meta["null_loss"] = self._model.plain.null_loss(self.tau) if self._model else self._known["null_loss"]
        names = ("s", "coef", "lam", "objective", "df", "scale", "penalised")
        arrays = {f"path.{name}": getattr(self.path, name) for name in names}
        if self.facts.weighted:
            arrays["losses"] = self._losses
        return meta, arrays | {f"encoder.{name}": array for name, array in encoder_arrays.items()}


def _without_rows(kind: str) -> NotDefinedError:
    return NotDefinedError(
        f"This {kind} was loaded from a file, which never holds the rows of an L1 path, so it has no `model`: there "
        "are no fitted values or residuals, and nothing can be fitted anew. predict(new) needs no rows; for the rest "
        "fit the path to the data anew with l1qreg."
    )


def _saved_without_rows(what: str) -> InputError:
    return InputError(
        f"{what} is saved without its rows; leave out data=True. To keep the rows too, pickle the object: that file "
        "runs code when it is read."
    )
