"""What a kernel machine with a reject band hands back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import NotDefinedError
from qreg_boost.base.facts import Facts
from qreg_boost.reject.absent import Absent
from qreg_boost.reject.base_results import WithholdingResults
from qreg_boost.reject.folds import Resampling
from qreg_boost.reject.machine import Machine, signs

if TYPE_CHECKING:
    from qreg_boost.base.tables import Summary

ONE_FIT = "A kernel machine is one fit, held by `machine`; it withholds where |f| <= `rho`."


class RejectResults(WithholdingResults):
    """A fitted reject option classifier; made by ``fit``, never changed afterwards.

    Parameters
    ----------
    facts : Facts
    machine : Machine
        What predicting needs.
    duals : dict of arrays
        Of the rows of support: ``row`` (position among the rows fitted), ``coef``, ``decision``, ``event`` (label as 0
        or 1), ``side`` (+1 at the boundary of the event, -1 at that of the other, 0 both).
    model : RejectClassifier or None
    encoder : Encoder
    """

    title = "Reject Option Classifier"

    def __init__(self, facts: Facts, machine: Machine, duals: dict[str, np.ndarray], model: Any, encoder: Any) -> None:
        super().__init__(facts, model, encoder)
        self.machine = machine
        self._duals = duals

    # -- the band

    @property
    def kernel(self) -> str:
        """The kernel and its parameters, in words."""
        return self.facts.own["kernel_shown"]

    @property
    def C(self) -> float:
        """Weight of the losses against the norm."""
        return float(self.facts.own["C"])

    @property
    def gamma(self) -> float:
        """Gamma of a radial kernel, on the scale of the standardised predictors if they were."""
        kernel = self.machine.kernel
        if not hasattr(kernel, "gamma"):
            raise NotDefinedError(f"The kernel ({self.kernel}) has no gamma.")
        return float(kernel.gamma)

    @property
    def rho(self) -> float:
        """Half-width of the band: withheld where |f| <= rho."""
        return self.machine.rho

    @property
    def b(self) -> float:
        """Offset of the decision function."""
        return self.machine.b

    @property
    def params(self) -> pd.Series:
        """Coefficients of a linear kernel, for predictors in the data's units."""
        if self.facts.own["kernel"] != "linear":
            raise NotDefinedError(
                f"A fit with the kernel {self.facts.own['kernel_shown']} has no coefficients by predictor; see "
                "`support`, `b` and `decision_function`."
            )
        values = [self.machine.intercept, *self.machine.slopes]
        return pd.Series(values, index=pd.Index(["Intercept", *self.facts.columns], name="term"), name="coef")

    @property
    def support(self) -> pd.DataFrame:
        """Support vectors: label, coef (in the decision function), decision, side.

        side is the class at whose boundary of the band a row bears on the fit; "both" if it does at both boundaries.
        """
        d = self._duals
        names = np.array([*self.classes, "both"], dtype=object)
        which = np.where(d["side"] == 0, 2, (d["side"] > 0).astype(int))
        index = pd.Index(d["row"], name="row") if self._model is None else self.model.design.index[d["row"]]
        return pd.DataFrame(
            {
                "label": np.array(self.classes, dtype=object)[d["event"].astype(int)],
                "coef": d["coef"],
                "decision": d["decision"],
                "side": names[which],
            },
            index=index,
        )

    @property
    def objective(self) -> float:
        """The regularised risk reached: 1/2 ||w||^2 + sum C L."""
        return float(self.facts.own["objective"])

    @property
    def minima(self) -> pd.DataFrame:
        """Where the steps from each start ended: start, objective, rho, steps, repeated, kept.

        ``repeated`` says whether they ended because the rows beyond the ramps stayed the same.
        """
        rows = self.facts.own["minima"]
        if not rows:
            raise NotDefinedError(f"{self.facts.own['method']!r} is convex: it has one minimum and needs no starts.")
        return pd.DataFrame(rows)

    @property
    def spread(self) -> float:
        """Largest objective that a start led to, less the least."""
        return float(self.facts.own["spread"])

    @property
    def n_minima(self) -> int:
        """Number of distinct minima that the starts led to."""
        return int(self.facts.own["distinct"])

    # -- rows

    def decision_at(self, X: np.ndarray) -> np.ndarray:
        """Return f (rows,) at rows of the design (rows, p)."""
        return self.machine.decision(X)

    def signs_at(self, X: np.ndarray) -> np.ndarray:
        """Return -1, 0 (withheld) or +1 (rows,) at rows of the design (rows, p), NaN where a row holds NaN."""
        return signs(self.machine.decision(X), self.rho)

    def edges_at(self, X: np.ndarray) -> np.ndarray:
        """Return f - rho and f + rho (rows, 2)."""
        return self.machine.decision(X)[:, None] + np.array([-self.rho, self.rho])

    @property
    def band_in_words(self) -> str:
        """The band |f| <= rho."""
        return f"Boundary and band, |f| <= {self.rho:.3g}"

    def _ringed(self) -> np.ndarray:
        ringed = super()._ringed()
        ringed[self._duals["row"]] = True
        return ringed

    def certainty_at(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return |f| (rows,) and rho."""
        return np.abs(self.machine.decision(X)), self.rho

    # -- choosing and judging

    def cv(
        self,
        C: Any = None,
        gamma: Any = None,
        d: Any = None,
        *,
        folds: Any = "kfold",
        k: int = 10,
        groups: Any = None,
        rng: Any = 0,
        n_jobs: int = 1,
        progress: bool = True,
    ) -> Any:
        """Return out-of-fold risk over grids of C, gamma and d; what is not given stays as it was fitted.

        Parameters
        ----------
        C, gamma, d : float or list of floats, optional
        folds, k, rng
            As for `qreg_boost.CV`; "kfold" keeps the shares of the classes.
        groups : array_like (rows,), optional
            Rows of one group, say of one patient, are never on both sides of a fold. A Series goes by its index.
        n_jobs : int
            The result does not depend on it.
        progress : bool

        Returns
        -------
        RejectCV
            ``table``, ``best`` (a row per d), ``refit(d)``, ``predictions(d)``, ``confusion(d)``, ``evaluate(d,
            groups)``, ``risk_coverage(d)``, ``fold_risks``, ``plot()``.

        Notes
        -----
        The rows are standardised, and a gamma by rule is chosen, once for all folds, so that kernels are shared.
        """
        return self.model.cv(C, gamma, d, Resampling(folds, k, groups, rng, n_jobs, progress))

    # -- what other methods have

    probability = Absent('A kernel machine has no probabilities; method="chow" withholds by them.')
    part = Absent(ONE_FIT)
    parts = Absent(ONE_FIT)
    taus = Absent(ONE_FIT)
    n_both = Absent(ONE_FIT)
    decision_functions = Absent("There is one decision function: decision_function(new).")

    # -- beside R

    def first_step(self) -> Any:
        """Return the first convex programs of the fit as arrays, and this package's solutions of them."""
        from qreg_boost.reject.first_step import first_step

        return first_step(self.model, self.machine)

    def compare_r(self) -> Any:
        """Return a comparison of the first convex programs with R's kernlab.

        With rho = 0 and mu = 1 the first step is a support vector machine: `ksvm`, its objective and decision values.
        With rho free, the quadratic program is beside `ipop`, with the violation of its constraints.
        """
        from qreg_boost.r.compare import compare

        return compare(self)

    # -- tables

    def quality(self) -> dict[str, Any]:
        """Return C, kernel, half-width, objective, and how many rows support the fit."""
        own = self.facts.own
        return {
            "C": own["C"],
            "kernel": own["kernel_shown"],
            "rho": self.rho,
            "objective": self.objective,
            "n_support": len(self._duals["row"]),
        }

    def _own_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        m = self.machine
        arrays = {"Z": m.Z, "c": m.c, "centre": m.scale.centre, "spread": m.scale.spread}
        arrays |= {f"dual_{name}": values for name, values in self._duals.items()}
        return {"b": m.b, "rho": m.rho, "kernel": m.kernel.state()}, arrays

    def tidy(self) -> pd.DataFrame:
        """Return one row per coefficient for the linear kernel: term, estimate, standardized; else counts.

        ``standardized`` is per standard deviation of the predictor, missing for the intercept. Counts are in rows:
        actual, predicted, count.
        """
        if self.facts.own["kernel"] != "linear":
            return super().tidy()
        table = self.params.rename("estimate").reset_index()
        return table.assign(standardized=[np.nan, *self.machine.slopes * self._spread])

    @property
    def _spread(self) -> np.ndarray:
        """Standard deviations of the columns (p,) where they were standardised; NaN where not."""
        spread = self.machine.scale.spread
        return spread if self.facts.own["standardize"] else np.full(len(spread), np.nan)

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.reject.report import summarise

        return summarise(self)
