"""Kernel quantile regression as a model: formula or arrays in, results out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import (
    ConvergenceWarning,
    InputError,
    check_bool,
    check_positive,
    check_tau,
    listed,
    number_of,
    warn,
)
from qreg_boost.base.class_model import RowsModel
from qreg_boost.base.design import Design, Encoder
from qreg_boost.base.facts import Facts
from qreg_boost.base.quantile import weighted_quantile
from qreg_boost.base.resampling import run_tasks
from qreg_boost.base.saved_design import parts_of, restore_design
from qreg_boost.kernel.along import fits_along
from qreg_boost.kernel.choosing import DEFAULT_C, KernelCV, choose
from qreg_boost.kernel.definite import REMEDY, Indefinite, blaming_the_kernel, indefinite
from qreg_boost.kernel.exact_path import ExactPath
from qreg_boost.kernel.incomplete_cholesky import check_kernel_matrix, read_low_rank
from qreg_boost.kernel.kernels import Kernel, Precomputed, read_kernel
from qreg_boost.kernel.kqr import KernelQuantile, check_losses, solve_kernel_quantile
from qreg_boost.kernel.kqr_options import check_matrix, read_costs, read_gammas
from qreg_boost.kernel.kqr_path import LARGEST, KQRPath, path_call, path_table, whole_path
from qreg_boost.kernel.kqr_process_results import KQRProcess
from qreg_boost.kernel.kqr_results import KQRResults
from qreg_boost.kernel.machine import Machine, Prepared
from qreg_boost.kernel.noncrossing import check_order, solve_noncrossing
from qreg_boost.kernel.quadratic import Dense

DEFAULTS = {
    "C": 1.0, "kernel": "rbf", "gamma": "sigest", "kpar": None, "standardize": True, "noncrossing": False,
    "low_rank": None, "folds": "kfold", "k": 10, "rng": 0, "n_jobs": 1, "progress": True,
}  # fmt: skip


class KQR(RowsModel):
    """Kernel quantile regression (Takeuchi et al. 2006; Li, Liu and Zhu 2007).

    Parameters
    ----------
    y : array_like (n,)
        Response, numeric.
    X : array_like (n, p)
        Predictors, numeric; with ``kernel="precomputed"`` the kernel matrix (n, n).
    tau : float or sequence of floats
        Quantile level, strictly between 0 and 1; with several, `fit` returns a `KQRProcess`.
    C, kernel, gamma, kpar, standardize, noncrossing, low_rank, folds, k, rng, n_jobs, progress
        As for `qreg_boost.kqr`.
    names : sequence of str, optional
        Names of the columns; by default those of a DataFrame, else x1, x2, ...
    weights : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20.0)
    >>> fit = KQR(np.sin(x / 4), x, tau=0.5, C=100.0).fit()
    >>> bool(np.abs(fit.resid).max() < 0.01)
    True
    """

    function: ClassVar[str] = "kqr"

    def __init__(self, y: Any, X: Any, tau: Any = 0.5, **options: Any) -> None:
        kernel = options.get("kernel")
        if isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel in _PRECOMPUTED):
            check_matrix(y, X)
        super().__init__(y, X, tau=tau, **options)

    @classmethod
    def from_formula(cls, formula: str, data: Any, tau: Any = 0.5, **options: Any) -> KQR:
        """Return the model of a formula; arguments as in `qreg_boost.kqr`.

        `env` is where functions named in the formula are looked up: a mapping, or None for those the package knows.
        """
        return super().from_formula(formula, data, tau=tau, **options)

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        options = dict(given)
        tau = options.pop("tau")
        wrong = [name for name in options if name not in DEFAULTS]
        if wrong:
            raise InputError(f"There is no argument {listed(map(repr, wrong))}; arguments: {listed(DEFAULTS, 20)}.")
        self.options = {**DEFAULTS, **options}
        self.design = design
        if not design.X.shape[1]:
            raise InputError('There is no predictor for a kernel to compare rows by. Write "y ~ x1 + x2".')
        self.several = isinstance(tau, (list, tuple, np.ndarray)) or hasattr(tau, "to_numpy")
        self.taus = list(tau) if self.several else [tau]
        levels = [check_tau(one) for one in self.taus]
        if not levels:
            raise InputError("`tau` is an empty list; give at least one quantile level between 0 and 1.")
        if len(set(levels)) < len(levels):
            raise InputError(f"`tau` names a quantile level twice: {listed(self.taus)}.")
        self.levels = levels
        self.costs = read_costs(self.options["C"])
        self.standardize = check_bool(self.options["standardize"], "standardize")
        self.noncrossing = check_bool(self.options["noncrossing"], "noncrossing")
        gammas = read_gammas(self.options["gamma"])
        kernels = [read_kernel(self.options["kernel"], gamma, self.options["kpar"]) for gamma in gammas]
        self.kernels = list(dict.fromkeys(kernels)) if len(kernels) > 1 else kernels
        self.low_rank = read_low_rank(self.options["low_rank"])
        self._check_rows()
        shown = {"tau": self.taus if self.several else self.taus[0], **self.options}
        self.call = self._described(design.formula, shown, DEFAULTS)

    def _check_rows(self) -> None:
        if isinstance(self.kernels[0], Precomputed):
            self._check_precomputed()
        check_kernel_matrix(len(self.design.X), self.kernels[0], self.low_rank)
        if self.noncrossing and self.several:
            check_order(len(self.taus), int((self.weights > 0).sum()))

    def _check_precomputed(self) -> None:
        if self.design.formula is not None:
            raise InputError(
                "A formula has no place for a precomputed kernel matrix; pass arrays: KQR(y, K, "
                'kernel="precomputed").fit(), K (n, n) for the n values of y.'
            )
        if self.design.n_dropped:
            raise InputError(
                f"With a precomputed kernel no row may miss anything, and {number_of(self.design.n_dropped, 'row')} "
                "would be dropped. Take them out of y and of the matrix: y[keep], K[np.ix_(keep, keep)]."
            )

    # -- fitting

    def prepared(self, kernel: Kernel) -> Prepared:
        """Return the rows of weight above 0 on the scale of the fit, with the kernel matrix."""
        design = self.design
        return Prepared.of(design.X, design.y, design.weights, kernel, self.standardize, self.low_rank)

    @cached_property
    def chosen(self) -> KernelCV | None:
        """The cross-validation of several C or gamma; None if there is one of each."""
        if len(self.costs) * len(self.kernels) == 1:
            return None
        how = {name: self.options[name] for name in _CV}
        return self.cross_validate(self.costs, self.kernels, self.levels, self.held_apart, **how)

    @property
    def held_apart(self) -> bool:
        """Whether several quantiles are kept from crossing."""
        return self.noncrossing and self.several

    @cached_property
    def indefinite(self) -> Indefinite | None:
        """What is wrong with the kernel matrix; looked at where the kernel does not promise that nothing is."""
        ready = self.ready
        if not isinstance(ready.form, Dense) or ready.kernel.definite(ready.X):
            return None
        return indefinite(ready.form.Q)

    @cached_property
    def ready(self) -> Prepared:
        """The rows on the scale of the fit, under the chosen kernel."""
        if self.chosen is not None and len(self.kernels) > 1:
            return self.prepared(replace(self.kernels[0], gamma=self.chosen.gamma))  # type: ignore[call-arg]
        return self.prepared(self.kernels[0])

    @property
    def C(self) -> float:
        """The cost, the chosen one if there were several."""
        return self.costs[0] if self.chosen is None else self.chosen.C

    def fit(self) -> Any:
        """Return the fit: `KQRResults`, or a `KQRProcess` for a list of taus."""
        if not self.several:
            return self.at(self.levels[0], self.C)
        order = np.argsort(self.levels)
        levels = [self.levels[i] for i in order]
        found = self._together(levels) if self.noncrossing else self._one_by_one(levels)
        fits: list[Any] = [None] * len(order)
        for position, one in zip(order, found, strict=True):
            fits[position] = self._results(one, self.held_apart)
        if self.noncrossing:
            self._tell_of_kernel()
        return KQRProcess(self.taus, fits)

    def at(self, tau: float, C: float) -> KQRResults:
        """Return the fit at one tau and C, under the kernel of this model."""
        found = self._results(self._solve(tau, C, None))
        self._tell_of_kernel()
        return found

    def _tell_of_kernel(self) -> None:
        if self.indefinite is not None:
            warn(f"{self.indefinite} {_STATIONARY}", ConvergenceWarning)

    def _solve(self, tau: float, C: float, start: KernelQuantile | None) -> KernelQuantile:
        ready = self.ready
        with blaming_the_kernel(self.indefinite):
            return solve_kernel_quantile(ready.form, ready.y, tau, C, ready.weights, start)

    def _one_by_one(self, levels: list[float]) -> list[KernelQuantile]:
        tasks = [(tau, self.C, None) for tau in levels]
        self._tell_of_kernel()  # and have kernel matrix and C there before the workers ask for them
        return run_tasks(self._solve, tasks, self.options["n_jobs"], self.options["progress"], "quantiles")

    def _together(self, levels: list[float]) -> list[KernelQuantile]:
        ready = self.ready
        with blaming_the_kernel(self.indefinite):
            return solve_noncrossing(ready.form, ready.y, levels, self.C, ready.weights)

    def _results(self, found: KernelQuantile, together: bool = False) -> KQRResults:
        if not found.optimal:
            warn(f"tau = {found.tau:g}, C = {found.C:g}: {found.shortfall}", ConvergenceWarning)
        machine = self.ready.machine(found.a, found.b)
        chosen = self.chosen if found.C == self.C else None
        facts = self._facts(found, chosen, together)
        return KQRResults(facts, machine, found.a, found.side, self, self.design.encoder, chosen)

    def _facts(self, found: KernelQuantile, chosen: KernelCV | None, together: bool) -> Facts:
        ready, low = self.ready, self.ready.low_rank
        y, w = ready.y, ready.weights
        null = float(w @ check_losses(y - weighted_quantile(y, found.tau, w), found.tau)) * ready.spread
        rule = getattr(self.kernels[0], "gamma", None)
        several = {"C": len(self.costs) > 1, "gamma": len(self.kernels) > 1}
        own = {
            "C": found.C,
            "kernel": str(ready.kernel),
            "kernel_name": ready.kernel.name,
            "gamma": ready.kernel.parameters.get("gamma"),
            "rule": rule if isinstance(rule, str) and len(self.kernels) == 1 else None,
            "standardized": self.standardize,
            "noncrossing": together,
            "rank": None if low is None else low.rank,
            "rank_error": None if low is None else low.error,
            "objective": found.objective,
            "penalty": found.penalty,
            "loss": found.loss * ready.spread,
            "null_loss": null,
            "duality_gap": found.duality_gap,
            "iterations": found.iterations,
            "optimal": found.optimal,
            "shortfall": found.shortfall,
            "indefinite": None if self.indefinite is None else str(self.indefinite),
            "unit": ready.spread,
            "folds": None if chosen is None else chosen.how,
            "chosen": [] if chosen is None else [name for name, was in several.items() if was],
        }
        call = self.call if found.C == self.C else f"{self.call}.{path_call(found.C)}"
        return Facts.of(self.design, function="kqr", call=call, own=own, tau=found.tau)

    # -- what results may ask of their model

    def cross_validate(
        self,
        costs: Sequence[float],
        kernels: Sequence[Kernel],
        taus: Sequence[float],
        together: bool = False,
        *,
        folds: Any = "kfold",
        k: int = 10,
        rng: Any = 0,
        n_jobs: int = 1,
        progress: bool = True,
    ) -> KernelCV:
        """Return the held-out check loss of each C and kernel at each tau; `together` holds the quantiles apart."""
        return choose(
            self.prepared, list(kernels), sorted(costs), list(taus), self.design.rows, folds, k, rng, n_jobs, progress,
            together,
        )  # fmt: skip

    def cv(self, C: Any, gamma: Any, taus: Sequence[float], together: bool = False, **how: Any) -> KernelCV:
        """Return the cross-validation of C and gamma at some taus; without gamma, that of the fit."""
        costs = DEFAULT_C if C is None else read_costs(C)
        kernel = self.ready.kernel
        if gamma is None:
            return self.cross_validate(costs, [kernel], taus, together, **how)
        if "gamma" not in kernel.parameters:
            raise InputError(f"The kernel ({kernel}) has no gamma to choose; leave out `gamma`.")
        kernels = [read_kernel(kernel.name, one) for one in read_gammas(gamma)]
        return self.cross_validate(costs, kernels, taus, together, **how)

    def path(self, C: Any, tau: float, largest: Any = None, progress: bool = True) -> KQRPath:
        """Return the path at one tau up to a largest C; or, with C, the fits at these."""
        ready, definite = self.ready, self.indefinite is None
        if C is None:
            if not definite:
                raise InputError(f"{self.indefinite} Such a fit has no path. {REMEDY}")
            end = max(LARGEST, self.C) if largest is None else check_positive(largest, "largest")
            exact = whole_path(ready, tau, end, check_bool(progress, "progress"))
            table = path_table(ready, exact.C, exact.loss, exact.penalty, exact.edf, exact.gap)
            return KQRPath(table, tau, str(ready.kernel), partial(self._along, exact), True)
        if largest is not None:
            raise InputError("`largest` is where the whole path ends; leave out `largest`, or C.")
        costs = sorted(read_costs(C))
        self._tell_of_kernel()
        with blaming_the_kernel(self.indefinite):
            found = fits_along(ready.form, ready.y, tau, costs, ready.weights, definite)
        edf = [int((one.side == 0).sum()) for one in found]
        C, loss, penalty, gap = (
            [getattr(one, name) for one in found] for name in ("C", "loss", "penalty", "duality_gap")
        )
        table = path_table(ready, C, loss, penalty, edf, gap)
        results = {one.C: self._results(one) for one in found}
        return KQRPath(table, tau, str(ready.kernel), results.__getitem__, False)

    def _along(self, exact: ExactPath, C: float) -> KQRResults:
        """Return the fit at a C of a path; should rounding errors show there, that of the program if it is better."""
        found = exact.at(C, self.ready.form, self.ready.y, self.ready.weights)
        if not found.optimal:
            found = min(found, self._solve(exact.tau, C, None), key=lambda one: one.duality_gap)
        return self._results(found)

    def saved_options(self) -> dict[str, Any]:
        """Return the options that a file holds to make this model again; kernel and C stand elsewhere."""
        how = {name: DEFAULTS[name] for name in _CV}
        return {"standardize": self.standardize, "low_rank": self.options["low_rank"], **how}

    def __getstate__(self) -> dict[str, Any]:
        """Return the model without what can be computed again."""
        return {name: value for name, value in self.__dict__.items() if name not in ("ready", "indefinite")}


_CV = ("folds", "k", "rng", "n_jobs", "progress")
_PRECOMPUTED = (Precomputed.name, Precomputed.kernlab)
_STATIONARY = f"The fit is a stationary point at best, and its duality gap certifies nothing. {REMEDY}"


def restore_kqr(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> KQRResults:
    """Return the results that a file of `KQRResults.save` holds; with a model if the rows were saved."""
    facts = Facts.from_state(meta["facts"])
    chosen = meta.get("cv")
    parts = parts_of(arrays, "fit", "encoder", "model")
    encoder = Encoder.from_state(meta["encoder"], parts["encoder"])
    fit = parts["fit"]
    model = None
    if "model" in meta:
        model = KQR.__new__(KQR)
        options = {name: value for name, value in meta["options"].items() if name != "kernel"}
        machine = Machine.from_state(meta["machine"], fit)
        own = {"kernel": machine.kernel, "gamma": "sigest", "kpar": None}
        design = restore_design(meta["model"], parts["model"], facts, encoder)
        model._take(design, {**options, **own, "tau": facts.tau, "C": facts.own["C"], "noncrossing": False})
        model.call = facts.call
    cv = None if chosen is None else KernelCV.from_state(chosen, fit)
    return KQRResults(facts, Machine.from_state(meta["machine"], fit), fit["a"], fit["side"], model, encoder, cv)
