"""The reject option classifier as a model: formula or arrays in, results out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np

from qreg_boost.base.checks import (
    ConvergenceWarning,
    InputError,
    check_bool,
    check_choice,
    check_count,
    check_positive,
    listed,
    nearest,
    warn,
)
from qreg_boost.base.class_model import ClassModel
from qreg_boost.base.design import Design
from qreg_boost.base.facts import Facts
from qreg_boost.base.resampling import generator
from qreg_boost.kernel.definite import REMEDY, blaming_the_kernel
from qreg_boost.kernel.given import symmetric
from qreg_boost.kernel.incomplete_cholesky import check_kernel_matrix, low_rank_of, read_low_rank
from qreg_boost.kernel.kernels import Kernel, Precomputed, read_kernel, restore_kernel
from qreg_boost.kernel.program import shortfall
from qreg_boost.reject.choosing import RejectCV
from qreg_boost.reject.dca import STARTS
from qreg_boost.reject.folds import Resampling
from qreg_boost.reject.grid import Problem, cross_validate, read_grid
from qreg_boost.reject.machine import (
    LOSSES,
    Fitted,
    Machine,
    Scale,
    flaw,
    machine,
    sides,
    signed,
    signs,
    supports,
    task_of,
    unsigned,
)
from qreg_boost.reject.prices import USUAL_PRICE, Prices, read_prices, warn_of_one_prediction
from qreg_boost.reject.results import RejectResults
from qreg_boost.reject.tally import Tally

ELSEWHERE = {"chow": "Chow", "qbc_pair": "QBCPair"}
OF_BOOSTERS = ("probability", "weight_name", "learner", "mstop", "nu", "h", "step", "form", "zmax")
DEFAULTS = {
    "d": USUAL_PRICE, "method": "double_ramp", "kernel": "linear", "C": 1.0, "mu": 1.0, "gamma": "sigest",
    "kpar": None, "low_rank": None, "cost": None, "standardize": True, "event": None, "starts": 0, "rng": 0,
    "progress": True,
}  # fmt: skip


class RejectClassifier(ClassModel):
    """A kernel machine that learns its boundary together with the band in which it withholds.

    Parameters
    ----------
    y : array_like (n,)
        Labels, two distinct ones; the second is the event.
    X : array_like (n, p)
        Predictors; the offset is added. For ``kernel="precomputed"`` the kernel matrix (n, n).
    **options
        Those of `qreg_boost.reject_classifier`.
    names : sequence of str, optional
    weights : array_like (n,), optional
    missing : {"drop", "raise"}

    Examples
    --------
    >>> x = [1.0, 2.0, 3.0, 3.2, 4.0, 4.2, 5.0, 6.0]
    >>> fit = RejectClassifier([0, 0, 0, 1, 0, 1, 1, 1], x, d=0.2, C=10.0, names=["x"]).fit()
    >>> fit.predict([[1.0], [3.6], [6.0]]).tolist()
    [0, nan, 1]
    """

    function: ClassVar[str] = "reject_classifier"

    prices: Prices
    kernel: Kernel

    def _take(self, design: Design, given: Mapping[str, Any]) -> None:
        unknown = [name for name in given if name not in DEFAULTS]
        if unknown:
            hint = nearest(unknown[0], DEFAULTS)
            if unknown[0] in OF_BOOSTERS:
                hint = ' It is one of method="chow" or "qbc_pair".'
            raise InputError(f"Unknown option {unknown[0]!r}.{hint} Options: {', '.join(DEFAULTS)}.")
        options = {**DEFAULTS, **given}
        if options["method"] in ELSEWHERE:
            raise InputError(
                f"The method {options['method']!r} is the model {ELSEWHERE[options['method']]}(y, X, ...); "
                "reject_classifier(formula, data, method=...) takes all."
            )
        check_choice(options["method"], "method", LOSSES)
        options["C"] = check_positive(options["C"], "C", advice=" It weighs the losses against the norm.")
        options["mu"] = check_positive(options["mu"], "mu", 1.0, " It is the width of the ramps.")
        for name in ("standardize", "progress"):
            check_bool(options[name], name)
        self.prices = read_prices(options["d"], options["cost"])
        self.kernel = read_kernel(options["kernel"], options["gamma"], options["kpar"])
        self.low_rank = read_low_rank(options["low_rank"])
        self.starts, self.random = read_starts(options["starts"])
        generator(options["rng"])
        self._read(design, options["event"])
        options["event"] = self.levels.labels[1]
        self.options, self.given = options, dict(given)
        self.call = self._described(design.formula, given, DEFAULTS)
        self._check_rows()

    def _check_rows(self) -> None:
        design = self.design
        check_kernel_matrix(len(design.y), self.kernel, self.low_rank)
        if not isinstance(self.kernel, Precomputed):
            return
        if design.formula is not None:
            raise InputError(
                "A formula has no kernel matrix. For a matrix K (rows, rows) write RejectClassifier(y, K, "
                'kernel="precomputed").fit(), or give reject_classifier a function of two matrices as `kernel`.'
            )
        n = len(design.y)
        if design.X.shape[1] != n or design.n_dropped or not isinstance(self.used, slice):
            raise InputError(
                "A precomputed kernel is a matrix with a row and a column for each row of y, without missing values or "
                f"weights of 0; got shape {design.X.shape} for {n + design.n_dropped} labels."
            )
        symmetric(design.X, "precomputed kernel")
        self.options["standardize"] = False

    @property
    def _case_weights(self) -> np.ndarray | None:
        return None if self.design.weights is None else self.design.weights[self.used]

    # -- the fit

    def fit(self) -> RejectResults:
        """Return the fit."""
        return self._fitted(None)

    def _fitted(self, out_of_fold: dict[str, Any] | None) -> RejectResults:
        weights, used = self._case_weights, self.used
        scale = Scale.of(self.design.X[used], weights, self.options["standardize"], self.kernel)
        X = scale.apply(self.design.X[used])
        kernel = self.kernel.settled(X, weights)
        y = np.where(self.design.y[used] > 0.5, 1.0, -1.0)
        low = low_rank_of(kernel, X, self.low_rank)
        Q = signed(unsigned(kernel, X, low), y)
        wrong = flaw(kernel, X, Q)
        task = task_of(Q, y, self.prices, self.options["C"], self.options["mu"], weights)
        solve = LOSSES[self.options["method"]]
        rng = generator(self.options["rng"]) if self.random else None
        with _bar(len(self.starts) + self.random, self.options["progress"]) as bar, blaming_the_kernel(wrong):
            fitted = solve(task, self.starts, self.random, rng, None, bar.update if bar else None)
        fitted = replace(fitted, flaw=wrong)
        made = machine(fitted, kernel, scale, X, low)
        known = {"rank": None, "rank_error": None} if low is None else {"rank": low.rank, "rank_error": low.error}
        return self._results(fitted, made, known if out_of_fold is None else {**known, "out_of_fold": out_of_fold})

    def _results(self, fitted: Fitted, made: Machine, known: Mapping[str, Any]) -> RejectResults:
        decision = made.decision(self.design.X)
        tally = Tally.of(self.design.y, signs(decision, made.rho), self.design.weights)
        minima = fitted.minima
        own = {
            "levels": self.levels.state(),
            "method": self.options["method"],
            "prices": self.prices.state(),
            "tally": tally.counts.tolist(),
            "C": self.options["C"],
            "mu": self.options["mu"],
            "kernel": made.kernel.name,
            "kernel_shown": str(made.kernel),
            "standardize": self.options["standardize"],
            "objective": fitted.objective,
            "minima": [] if minima is None else minima_rows(fitted),
            "spread": 0.0 if minima is None else minima.spread,
            "distinct": 1 if minima is None else minima.distinct,
            "programs": fitted.programs,
            "unsolved": fitted.unsolved,
            "kkt": fitted.worst.residuals.kkt,
            "bounded": fitted.bounded,
            "flaw": None if fitted.flaw is None else str(fitted.flaw),
            **known,
        }
        facts = Facts.of(self.design, function=self.function, call=self.call, own=own)
        fit = RejectResults(facts, made, self._duals(fitted, decision), self, self.design.encoder)
        self._judge(fit, fitted)
        return fit

    def _duals(self, fitted: Fitted, decision: np.ndarray) -> dict[str, np.ndarray]:
        at = np.flatnonzero(supports(fitted))
        rows = np.arange(len(self.design.y))[self.used][at]
        y = fitted.task.y[at]
        return {
            "row": rows,
            "coef": fitted.point.a[at] * y,
            "decision": decision[rows],
            "event": (y > 0.0).astype(float),
            "side": sides(fitted)[at],
        }

    def _judge(self, fit: RejectResults, fitted: Fitted) -> None:
        if fitted.flaw is not None:
            warn(f"{fitted.flaw} The fit is a stationary point at best. {REMEDY}", ConvergenceWarning)
        if fitted.unsolved:
            starts = "" if fitted.minima is None else f" from {fitted.unsolved} of {len(fitted.minima.each)} starts"
            warn(f"A convex program{starts} is not solved. {shortfall(fitted.worst)}", ConvergenceWarning)
        if fitted.minima is not None and not fitted.minima.best.converged:
            steps = len(fitted.minima.best.risks)
            warn(f"The difference-of-convex steps were stopped after {steps}, still falling.", ConvergenceWarning)
        free = "C, gamma" if hasattr(self.kernel, "gamma") else "C"
        advice = f"Another {free} or price may tell more apart; fit.cv(C=[...]) compares them."
        warn_of_one_prediction(fit.tally.counts, fit.classes, self.prices, f", C={self.options['C']:g}", advice)

    # -- what results may ask of their model

    def cv(self, C: Any, gamma: Any, d: Any, how: Resampling) -> RejectCV:
        """Return out-of-fold risk over a grid; arguments as in `RejectResults.cv`."""
        grid = read_grid(C, gamma, d, self.options["C"], self.kernel, self.prices)
        weights, used = self._case_weights, self.used
        scale = Scale.of(self.design.X[used], weights, self.options["standardize"], self.kernel)
        X = scale.apply(self.design.X[used])
        y = np.where(self.design.y[used] > 0.5, 1.0, -1.0)
        folds = how.draw(self)
        seed = int(generator(how.rng).integers(2**32))
        problem = Problem(
            X,
            y,
            weights,
            self.options["mu"],
            self.options["method"],
            self.starts,
            self.random,
            seed,
            folds,
            self.low_rank,
        )
        found = cross_validate(problem, grid, how.n_jobs, how.progress)
        if found.unsolved:
            runs = "fit" if found.unsolved == 1 else "fits, counted by start,"
            warn(
                f"{found.unsolved} {runs} of the cross-validation had a convex program that did not end as optimal "
                f"(largest residual of the optimality conditions {found.kkt:.1e}). Rescale the predictors, or lower C.",
                ConvergenceWarning,
            )
        return RejectCV(found.out_of_fold(), found.settings(grid), grid.prices, folds, self, found)

    def at(self, options: Mapping[str, Any], prices: Prices, known: Mapping[str, Any]) -> RejectResults:
        """Return a fit of these rows with another C, kernel and price, of which it is known how it does out of fold."""
        C, kernel = options["C"], options["kernel"]
        model = RejectClassifier.__new__(RejectClassifier)
        model.__dict__.update(self.__dict__)
        changed = {"C": C} if self.options["C"] != C else {}
        if kernel != self.kernel and hasattr(kernel, "gamma"):
            changed["gamma"] = kernel.gamma
        if not prices.stated and prices != self.prices:
            changed["d"] = prices.reject
        model.given = {**self.given, **changed}
        model.options = {**self.options, **changed, "kernel": kernel}
        model.call = model._described(self.design.formula, model.given, DEFAULTS)
        model.prices, model.kernel = prices, kernel
        return model._fitted(dict(known))

    def plain_options(self) -> dict[str, Any]:
        """Return the options as values that JSON holds."""
        kept = {name: value for name, value in self.options.items() if name not in ("kernel", "gamma", "kpar", "cost")}
        if not isinstance(kept["starts"], int):
            kept["starts"] = ",".join(self.starts)
        kept["given"] = ",".join(name for name, value in self.given.items() if value is not None)
        rows = RejectClassifier.__new__(RejectClassifier)
        rows.options = kept
        return {**ClassModel.plain_options(rows), "kernel": self.kernel.state(), "prices": self.prices.state()}


def _bar(total: int, shown: bool) -> Any:
    if not shown:
        return nullcontext()
    from tqdm import tqdm

    return tqdm(total=total, desc="reject_classifier", unit="start", delay=2.0, leave=False)


def read_starts(starts: Any) -> tuple[tuple[str, ...], int]:
    """Return names of deterministic starts, and the number of random ones.

    >>> read_starts(2)
    (('zero', 'svm', 'double_hinge'), 2)
    >>> read_starts("zero")
    (('zero',), 0)
    """
    if isinstance(starts, str):
        starts = starts.split(",")
    if isinstance(starts, (list, tuple)):
        if not starts:
            raise InputError(f"`starts` is empty; name some of {listed(map(repr, STARTS))}, or count random ones.")
        return tuple(check_choice(one, "starts", STARTS) for one in starts), 0
    return tuple(STARTS), check_count(starts, "starts", advice=" It counts random starts besides the three others.")


def minima_rows(fitted: Fitted) -> list[dict[str, Any]]:
    """Return where the steps from each start ended, as values that JSON holds."""
    assert fitted.minima is not None
    best = fitted.minima.best
    return [
        {
            "start": one.start,
            "objective": one.risk,
            "rho": one.point.rho,
            "steps": len(one.risks),
            "repeated": one.repeated,
            "kept": one is best,
        }
        for one in fitted.minima.each
    ]


def restore_reject(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> RejectResults:
    """Return the results that a file of `RejectResults.save` holds; with a model if the rows were saved."""
    opened = RejectClassifier.opened(meta, arrays)
    facts, model = opened.facts, opened.model
    if model is not None:
        options = model.options
        model.kernel, model.prices = restore_kernel(options.pop("kernel")), Prices(**options.pop("prices"))
        names = options.pop("given").split(",")
        model.options = {**DEFAULTS, **options, "kernel": model.kernel}
        model.starts, model.random = read_starts(options["starts"])
        model.low_rank = read_low_rank(model.options["low_rank"])
        model.given = _given_again(model, names)
    fit, state = opened.parts["fit"], meta["fit"]
    scale = Scale(fit["centre"], fit["spread"])
    made = Machine(restore_kernel(state["kernel"]), scale, fit["Z"], fit["c"], state["b"], state["rho"])
    duals = {name.removeprefix("dual_"): values for name, values in fit.items() if name.startswith("dual_")}
    return RejectResults(facts, made, duals, model, opened.encoder)


def _given_again(model: Any, names: list[str]) -> dict[str, Any]:
    """Return the options by these names as they were given, of a model whose kernel and prices were restored."""
    kernel = model.kernel
    others = [field for field in fields(kernel) if field.name != "gamma"]
    own = {
        "kernel": kernel.name,
        "gamma": getattr(kernel, "gamma", DEFAULTS["gamma"]),
        "kpar": {one.name: value for one in others if (value := getattr(kernel, one.name)) != one.default} or None,
        "cost": model.prices.cost,
    }
    return {name: own.get(name, model.options.get(name)) for name in names if name}
