"""Every kind of standard error under one signature and in one table: a fit's rows in, an `Estimate` out.

A kind gives a covariance matrix, from which t tests and intervals follow, or intervals alone (rank inversion).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import InputError, check_bool, check_choice, check_count, listed, nearest
from qreg_boost.quantreg import covariance
from qreg_boost.quantreg.bootstrap import METHODS, bootstrap
from qreg_boost.quantreg.rank import rank_intervals
from qreg_boost.quantreg.solution import Solution

Solver = Callable[..., Solution]

REPS = 200
"""Bootstrap replicates, as in R."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem that was solved, with its solution.

    Attributes
    ----------
    X : (n, p) array or scipy CSR
        Design, the intercept's column among the others.
    y : (n,) array
        Response less any offset.
    tau : float
    weights : (n,) array or None
    solution : Solution
    solver : callable
        What solved it, for further fits.
    """

    X: Any
    y: np.ndarray
    tau: float
    weights: np.ndarray | None
    solution: Solution
    solver: Solver


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a kind of standard error says about the coefficients.

    Attributes
    ----------
    kind : str
    covariance : (p, p) array or None
        None where there are intervals only.
    bounds : (p, 2) array or None
        Intervals, where they do not follow from the covariance.
    alpha : float
        One minus the level of `bounds`, or the usual one of intervals from the covariance.
    facts : tuple of (str, str)
        What to say of it: label and text.
    note : str
    """

    kind: str
    covariance: np.ndarray | None
    bounds: np.ndarray | None = None
    alpha: float = 0.05
    facts: tuple[tuple[str, str], ...] = ()
    note: str = ""

    @property
    def standard_errors(self) -> np.ndarray | None:
        """Roots (p,) of the diagonal of the covariance."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a saved file holds: plain values, and arrays."""
        arrays = {"covariance": self.covariance, "bounds": self.bounds}
        meta = {"kind": self.kind, "alpha": self.alpha, "facts": self.facts, "note": self.note}
        return meta, {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Estimate:
        """Return the estimate that `state` wrote."""
        facts = tuple((str(label), str(text)) for label, text in meta["facts"])
        bounds = arrays.get("bounds")
        return cls(meta["kind"], arrays.get("covariance"), bounds, float(meta["alpha"]), facts, meta["note"])


@dataclass(frozen=True)
class Kind:
    """A kind of standard error.

    Attributes
    ----------
    estimate : callable
        Function of a problem and options.
    options : tuple of str
        Names of the options.
    what : str
    intervals_only : bool
        Whether it gives intervals and no covariance.
    alpha : float
        One minus the usual level of intervals.
    check : callable or None
        Refuses options that cannot be used, before anything is computed.
    """

    estimate: Callable[..., Estimate]
    options: tuple[str, ...]
    what: str
    intervals_only: bool = False
    alpha: float = 0.05
    check: Callable[..., None] | None = None


def _sandwich(function: Callable[..., covariance.Covariance]) -> Callable[..., Estimate]:
    def estimate(problem: Problem, **options: Any) -> Estimate:
        found = function(
            problem.X,
            problem.y,
            problem.tau,
            problem.solution,
            weights=problem.weights,
            solver=problem.solver,
            **options,
        )
        return Estimate(
            found.kind, found.matrix, facts=(("Bandwidth", f"{found.bandwidth:.4g}"),), note=_density(found)
        )

    return estimate


def _density(found: covariance.Covariance) -> str:
    if not found.nonpositive:
        return ""
    return (
        f"{found.nonpositive} rows have no positive density estimate (the fits at tau +- bandwidth cross there) and "
        "count as density 0."
    )


def _cluster(problem: Problem, *, groups: Any, bandwidth: Any = "hall-sheather") -> Estimate:
    found = covariance.cluster(
        problem.X, problem.y, problem.tau, problem.solution, groups, problem.weights,
        bandwidth=bandwidth, solver=problem.solver,
    )  # fmt: skip
    used = np.ones(len(problem.y), bool) if problem.weights is None else problem.weights > 0
    count = len(np.unique(np.asarray(groups)[used]))
    facts = (("Clusters", str(count)), ("Bandwidth", f"{found.bandwidth:.4g}"))
    return Estimate("cluster", found.matrix, facts=facts, note=_density(found))


def _rank(problem: Problem, *, alpha: float = 0.1, **options: Any) -> Estimate:
    found = rank_intervals(
        problem.X, problem.y, problem.tau, problem.solution, problem.weights,
        alpha=alpha, solver=problem.solver, **options,
    )  # fmt: skip
    return Estimate("rank", None, found.bounds, alpha, (("Rank test", f"{found.kind} errors"),))


def _boot(
    problem: Problem, *, method: str | None = None, reps: int = REPS, groups: Any = None, rng: Any = 0,
    n_jobs: int = 1, progress: bool = True,
) -> Estimate:  # fmt: skip
    method = method or ("xy" if groups is None else "cluster")
    found = bootstrap(
        problem.X, problem.y, problem.tau, problem.solution, problem.weights, method=method, reps=reps, groups=groups,
        rng=rng, n_jobs=n_jobs, progress=progress, solver=problem.solver,
    )  # fmt: skip
    failed = f"{found.failed} of {reps} replicates could not be computed and are left out." if found.failed else ""
    return Estimate("boot", found.matrix, facts=(("Bootstrap", f"{method}, {reps} reps"),), note=failed)


def _check_boot(
    *, method: Any = None, reps: Any = REPS, groups: Any = None, rng: Any = 0, n_jobs: Any = 1, progress: Any = True
) -> None:
    method = method or ("xy" if groups is None else "cluster")
    check_choice(method, "method", METHODS)
    check_count(reps, "reps", 2, " R's default is 200; 1000 is better.")
    check_bool(progress, "progress")
    if groups is not None and method != "cluster":
        raise InputError(f'`groups` goes with method="cluster", and only with it; got method={method!r}.')


KINDS: dict[str, Kind] = {
    "nid": Kind(_sandwich(covariance.nid), ("bandwidth",), "sandwich, densities by fits at tau +- bandwidth"),
    "iid": Kind(_sandwich(covariance.iid), ("bandwidth",), "identically distributed errors"),
    "ker": Kind(_sandwich(covariance.ker), ("bandwidth",), "sandwich, densities by a kernel"),
    "rank": Kind(_rank, ("iid", "tcrit", "interp", "bandwidth"), "inverted rank score test", True, 0.1),
    "boot": Kind(_boot, ("method", "reps", "groups", "rng", "n_jobs", "progress"), "bootstrap", check=_check_boot),
    "cluster": Kind(_cluster, ("groups", "bandwidth"), "errors dependent within clusters"),
}


def check_kind(se: Any, options: Mapping[str, Any]) -> Kind:
    """Return the row of the table for `se`, its options checked by name."""
    kind = KINDS[check_choice(se, "se", KINDS)]
    for name in options:
        if name not in kind.options:
            owners = [other for other, row in KINDS.items() if name in row.options]
            hint = f" It belongs to se={' or '.join(map(repr, owners))}." if owners else nearest(name, kind.options)
            hint = " conf_int(alpha=...) and summary(alpha=...) set the level." if name == "alpha" else hint
            raise InputError(f"se={se!r} has no option {name!r}.{hint} Its options: {listed(kind.options)}.")
    return kind
