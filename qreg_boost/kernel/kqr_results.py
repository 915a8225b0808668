"""What a kernel quantile regression hands back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.base.evaluation import Judged
from qreg_boost.base.facts import Facts
from qreg_boost.base.frames import as_frame
from qreg_boost.base.results import FitResults
from qreg_boost.base.saved_design import design_state
from qreg_boost.kernel.kernels import Precomputed
from qreg_boost.kernel.machine import Machine

if TYPE_CHECKING:
    from qreg_boost.base.summary import Summary
    from qreg_boost.kernel.choosing import KernelCV
    from qreg_boost.kernel.kqr_path import KQRPath

SIDES = {1: "above", 0: "on", -1: "below"}


class KQRResults(Judged, FitResults):
    """A fitted kernel quantile regression; made by ``fit``, never changed afterwards.

    A saved fit holds the predictors of the rows that it was fitted to, without which a kernel predicts nothing; their
    responses only with ``data=True``. Linear and low-rank fits hold no row, or those of the low rank.

    Parameters
    ----------
    facts : Facts
    machine : Machine
        What predicts.
    a : (n,) array
        Dual variables of the rows of weight above 0.
    side : (n,) int array
        1 where such a row lies above the fit, -1 below, 0 on it.
    model : KQR or None
    encoder : Encoder
    chosen : KernelCV, optional
        The cross-validation that chose C or gamma.
    """

    title = "Kernel Quantile Regression"

    def __init__(
        self,
        facts: Facts,
        machine: Machine,
        a: np.ndarray,
        side: np.ndarray,
        model: Any,
        encoder: Any,
        chosen: KernelCV | None = None,
    ) -> None:
        self.facts = facts
        self.machine = machine
        self._a = a
        self._side = side
        self._model = model
        self._chosen = chosen
        self._known = {"encoder": encoder}

    # -- what it is

    @property
    def C(self) -> float:
        """Cost: what a unit of check loss weighs against the penalty 1/2 |h|^2."""
        return self.facts.own["C"]

    @property
    def kernel(self) -> str:
        """The kernel and its parameters, in words."""
        return self.facts.own["kernel"]

    @property
    def gamma(self) -> float:
        """Gamma of a radial kernel, on the scale of the standardised predictors if they were."""
        value = self.facts.own["gamma"]
        if value is None:
            raise NotDefinedError(f"The kernel ({self.kernel}) has no gamma.")
        return value

    @property
    def b(self) -> float:
        """Offset of the fit, on the scale of the penalty (of the standardised response if it was)."""
        return self.machine.b

    @property
    def cv_result(self) -> KernelCV:
        """The cross-validation that chose C or gamma; a file keeps it."""
        if self._chosen is None:
            raise NotDefinedError("C and gamma were given, not chosen; fit.cv() judges others.")
        return self._chosen

    @property
    def params(self) -> pd.Series:
        """Intercept and slopes in the data's units, for the linear kernel."""
        found = self.machine.linear()
        if found is None:
            raise NotDefinedError(
                f"A fit with the kernel {self.kernel} has no coefficients. See predict(), alpha, or kernel='linear'."
            )
        index = pd.Index(["Intercept", *self.facts.columns], name="term")
        return pd.Series(np.concatenate(([found[0]], found[1])), index=index, name=f"tau={self.tau:g}")

    @property
    def alpha(self) -> pd.Series:
        """Dual variables of the rows, between C w (tau - 1) and C w tau; 0 for rows of weight 0."""
        return self._by_row(self._a, "alpha")

    @property
    def side(self) -> pd.Series:
        """Where each row lies: 1 above the fit, -1 below it, 0 on it (or of weight 0)."""
        return self._by_row(self._side, "side").astype(int)

    def _by_row(self, values: np.ndarray, name: str) -> pd.Series:
        design = self.model.design
        out = np.zeros(len(design.y))
        out[np.arange(len(out)) if design.weights is None else np.flatnonzero(design.weights > 0)] = values
        return pd.Series(out, index=design.index, name=name)

    @property
    def n_on(self) -> int:
        """Number of rows on the fit: an unbiased estimate of its degrees of freedom (Li, Liu and Zhu 2007)."""
        return int((self._side == 0).sum())

    # -- how good it is

    @property
    def objective(self) -> float:
        """1/2 |h|^2 + C times the weighted sum of check losses, on the scale of the penalty."""
        return self.facts.own["objective"]

    @property
    def duality_gap(self) -> float:
        """Bound of how far `objective` may lie above the least, relative; of a positive semidefinite kernel matrix."""
        return self.facts.own["duality_gap"]

    @property
    def risk(self) -> float:
        """Weighted sum of check losses, in units of y."""
        return self.facts.own["loss"]

    @property
    def null_loss(self) -> float:
        """Weighted sum of check losses of the best constant, in units of y."""
        return self.facts.own["null_loss"]

    @property
    def prsquared(self) -> float:
        """R1 = 1 - V/V0, V0 the loss of the best constant; missing if that is nil."""
        return 1.0 - self.risk / self.null_loss if self.null_loss > 0.0 else np.nan

    @property
    def optimality_gap(self) -> float:
        """Raise: see `duality_gap`."""
        raise NotDefinedError("A kernel fit is a penalised optimum; duality_gap says how exactly it was reached.")

    # -- rows

    @cached_property
    def fittedvalues(self) -> pd.Series:
        """Fitted quantiles of the rows kept, under the caller's labels, in units of y."""
        design = self.model.design
        return pd.Series(self.machine(design.X), index=design.index, name="fitted")

    @cached_property
    def resid(self) -> pd.Series:
        """Response minus fitted quantile of the rows kept, under the caller's labels."""
        design = self.model.design
        return pd.Series(design.y - self.fittedvalues.to_numpy(), index=design.index, name="resid")

    def predict(self, new: Any = None, offset: Any = None) -> pd.Series:
        """Return predicted quantiles, in units of y; missing where something is missing in the row.

        Parameters
        ----------
        new : DataFrame, mapping or array (rows, p), optional
            The columns of the formula, encoded as in training; without it, the fitted values. For a precomputed kernel
            its values (rows, n) between the new rows and those of training.
        offset : None
            Kernel fits have none.
        """
        if offset is not None:
            raise InputError("A kernel quantile regression has no offset; leave out `offset`.")
        if new is None:
            return self.fittedvalues
        self._check_columns(new)
        encoded = self.encoder.encode(new)
        return pd.Series(self.machine(encoded.X), index=encoded.index, name="predicted")

    def _check_columns(self, new: Any) -> None:
        """Say what new data for a precomputed kernel are."""
        if isinstance(self.machine.kernel, Precomputed):
            n, shape = len(self.facts.columns), np.shape(new)
            if len(shape) != 2 or shape[1] != n:
                raise InputError(
                    f"A precomputed kernel predicts from its values between the new rows and the {n} rows of training: "
                    f"an array (m, {n}); got {shape}."
                )

    # -- figures

    def plot_lines(self, ax: Any = None, *, x: str | None = None, at: Mapping[str, Any] | None = None) -> Any:
        """Return the Axes with the rows and the fitted quantile against one numeric predictor, others held fixed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        x : str, optional
            The column to draw against, as `augment` names it; by default the only one.
        at : mapping, optional
            Where other terms are held, by name: a number, or a level of a factor. By default numbers are held at their
            medians, other terms at their most frequent value.
        """
        from qreg_boost.kernel.curves import curves
        from qreg_boost.plots.kernel_curves import plot_curves

        return plot_curves(curves([self], x, at), ax)

    # -- other C

    def cv(
        self,
        C: Any = None,
        gamma: Any = None,
        *,
        folds: Any = "kfold",
        k: int = 10,
        rng: Any = 0,
        n_jobs: int = 1,
        progress: bool = True,
    ) -> KernelCV:
        """Return the cross-validated check loss and coverage of C and gamma at this tau, fitted alone.

        Parameters
        ----------
        C : list of float, optional
            By default powers of two from 1/32 to 1024.
        gamma : float, "sigest", "median" or list of these, optional
            By default that of the fit.
        folds, k, rng
            See `qreg_boost.CV`; an array of labels keeps rows together.
        n_jobs : int
            Workers; the numbers do not depend on it.
        progress : bool
            Whether runs of more than two seconds show a bar.

        Returns
        -------
        KernelCV
            ``.table``, ``.C``, ``.gamma``, ``.risk`` (folds by settings), ``.by_tau`` (with the coverage).
        """
        how = {"folds": folds, "k": k, "rng": rng, "n_jobs": n_jobs, "progress": progress}
        return self.model.cv(C, gamma, [self.tau], **how)

    def path(self, C: Any = None, *, largest: Any = None, progress: bool = True) -> KQRPath:
        """Return the fits at this tau along C: for every C from 0 on, or for those given.

        Parameters
        ----------
        C : list of float, optional
            Without it, the whole path, which is piecewise linear in 1/C and is known by its knots.
        largest : float, optional
            Where the whole path ends: by default at 1024, or at the fit's own C if that is larger.
        progress : bool
            Whether a whole path of more than two seconds shows a bar.

        Returns
        -------
        KQRPath
            ``.knots``, or ``.table`` for given C (loss, penalty, edf, sic, gacv), ``.at(C)``,
            ``.select("sic" | "gacv")``, ``.plot()``.

        Warns
        -----
        ConvergenceWarning
            If the whole path cannot be followed to its end; the C reached is named.

        Examples
        --------
        >>> import qreg_boost as qb
        >>> fit = qb.kqr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5, kernel="linear")
        >>> path = fit.path(largest=10)
        >>> path.knots["edf"].iloc[-1].item()
        2
        >>> bool(path.at(1.0).objective - fit.objective < 1e-8 * fit.objective)
        True
        """
        return self.model.path(C, self.tau, largest, progress)

    # -- tables

    def tidy(self) -> pd.DataFrame:
        """Return one row per coefficient for the linear kernel (term, estimate); else one per side of the fit.

        The sides are ``above``, ``on`` and ``below``: count, and share of the rows.
        """
        if self.machine.linear() is not None:
            return self.params.rename("estimate").reset_index()
        return self.sides()

    def sides(self) -> pd.DataFrame:
        """Return how many rows lie above, on and below the fit, and their share."""
        counts = {name: int((self._side == code).sum()) for code, name in SIDES.items()}
        table = pd.DataFrame({"side": list(counts), "count": list(counts.values())})
        table["share"] = table["count"] / max(len(self._side), 1)
        return table

    def glance(self) -> pd.DataFrame:
        """Return one row of facts about the fit."""
        own = self.facts.own
        return pd.DataFrame(
            {
                "tau": [self.tau],
                "nobs": [self.nobs],
                "n_dropped": [self.facts.n_dropped],
                "kernel": [own["kernel_name"]],
                "gamma": [np.nan if own["gamma"] is None else own["gamma"]],
                "C": [self.C],
                "objective": [self.objective],
                "loss": [self.risk],
                "null_loss": [self.null_loss],
                "prsquared": [self.prsquared],
                "n_on": [self.n_on],
                "duality_gap": [self.duality_gap],
                "iterations": [own["iterations"]],
                "optimal": [own["optimal"]],
            }
        )

    def augment(self, data: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the training rows with ``.fitted``, ``.resid``, ``.side``; or `data` (``.resid`` with a response)."""
        if data is None:
            design = self.model.design
            columns = pd.DataFrame(design.X, index=design.index, columns=list(design.column_names))
            response = pd.Series(design.y, index=design.index, name=design.response)
            own = [self.fittedvalues.rename(".fitted"), self.resid.rename(".resid"), self.side.rename(".side")]
            return pd.concat([response, columns, *own], axis=1)
        table = as_frame(data).copy()
        table[".fitted"] = self.predict(data).to_numpy()
        if self.facts.response in table:
            table[".resid"] = table[self.facts.response].astype(float).to_numpy() - table[".fitted"].to_numpy()
        return table

    def summary(self) -> Summary:
        """Return the summary as text, HTML and LaTeX."""
        from qreg_boost.kernel.kqr_report import summarise

        return summarise(self)

    def __str__(self) -> str:
        from qreg_boost.kernel.kqr_report import describe

        return describe(self)

    def compare_r(self) -> Any:
        """Return a comparison with R's kernlab on the same standardised columns: objective and fitted values."""
        from qreg_boost.r.compare import compare

        return compare(self)

    # -- saving

    def state(self, data: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds; with `data`, the rows too."""
        encoder_meta, encoder_arrays = self.encoder.state()
        machine, arrays = self.machine.state()
        meta: dict[str, Any] = {"facts": self.facts.state(), "machine": machine, "encoder": encoder_meta}
        if self._chosen is not None:
            meta["cv"], table = self._chosen.state()
            arrays = {**arrays, **table}
        held = {f"fit.{name}": array for name, array in arrays.items()} | {"fit.a": self._a, "fit.side": self._side}
        held |= {f"encoder.{name}": array for name, array in encoder_arrays.items()}
        if data:
            meta["model"], rows = design_state(self.model.design)
            meta["options"] = self.model.saved_options()
            held |= {f"model.{name}": array for name, array in rows.items()}
        return meta, held
