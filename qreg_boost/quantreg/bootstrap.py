"""The bootstrap of quantile regression coefficients, by resampling rows, weights, gradients or residuals.

References
----------
Bose, A. and Chatterjee, S. (2003). Generalized bootstrap for estimators of minimizers of convex functions. JSPI 117.
Parzen, M., Wei, L. and Ying, Z. (1994). A resampling method based on pivotal estimating functions. Biometrika 81.
He, X. and Hu, F. (2002). Markov chain marginal bootstrap. JASA 97, 783-795.
Kocherginsky, M., He, X. and Mu, Y. (2005). Practical confidence intervals for regression quantiles. JCGS 14, 41-55.
Feng, X., He, X. and Hu, J. (2011). Wild bootstrap for quantile regression. Biometrika 98, 995-999.
Hagemann, A. (2017). Cluster-robust bootstrap inference in quantile regression models. JASA 112, 446-456.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, check_choice, check_count, check_tau, warn
from qreg_boost.base.resampling import generator, run_tasks
from qreg_boost.quantreg.covariance import check_groups
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.rows import Rows
from qreg_boost.quantreg.solution import Solution
from qreg_boost.quantreg.tilted import tilted

Solver = Callable[..., Solution]
# A replicate: coefficients (k,) in the coordinates of `Rows.Z`, less those of the fit; None if it cannot be had.
Replicate = Callable[[np.random.Generator], "np.ndarray | None"]

# A resample in which a column is missing is drawn again this often.
_REDRAWN = 20


@dataclass(frozen=True)
class Bootstrap:
    """Bootstrapped coefficients.

    Attributes
    ----------
    method : str
        A name of `METHODS`.
    B : (reps, p) array
        Coefficients of each replicate; NaN for dropped columns, and in replicates that could not be computed.
    matrix : (p, p) array
        Covariance matrix of the replicates around their mean.
    failed : int
        Replicates that could not be computed; they are left out of `matrix`.
    """

    method: str
    B: np.ndarray = field(repr=False)
    matrix: np.ndarray
    failed: int = 0

    @property
    def standard_errors(self) -> np.ndarray:
        """Return the roots (p,) of the diagonal."""
        return np.sqrt(np.diag(self.matrix))


def bootstrap(
    X: Any, y: Any, tau: float, fit: Solution, weights: Any = None, *, method: str = "xy", reps: int = 200,
    groups: Any = None, rng: Any = None, n_jobs: int = 1, progress: bool = True, solver: Solver = interior_point,
) -> Bootstrap:  # fmt: skip
    """Return bootstrapped coefficients and their covariance matrix, the same for any number of workers.

    Parameters
    ----------
    X : (n, p) array or scipy CSR
        Design of the fit.
    y : (n,) array
        Response, less the offset if there was one.
    tau : float
        Quantile level of the fit.
    fit : Solution
        The fit.
    weights : (n,) array, optional
        Weights of the fit.
    method : str
        "xy": rows with replacement. "wxy": exponential weights. "pwy": the gradient is replaced by its distribution at
        the true coefficients. "mcmb": Markov chain, one coefficient at a time, in orthogonal coordinates. "wild":
        residuals of random size and sign. "cluster": the clusters' gradients with random signs and sizes.
    reps : int
        Number of replicates.
    groups : (n,) array, optional
        Label of each row's cluster, for "cluster".
    rng : int, Generator or None
        Seed.
    n_jobs : int
        Workers; "mcmb" is a chain and uses one.
    progress : bool
        Whether to show a bar once two seconds have passed.
    solver : callable
        ``solver(X, y, tau, weights) -> Solution`` for the replicates.

    Raises
    ------
    InputError
        For an unknown method, fewer than two replicates, or `groups` that are missing or not wanted.

    Warns
    -----
    ConvergenceWarning
        If replicates could not be computed; their number is given.

    Examples
    --------
    >>> X, y = np.ones((99, 1)), np.arange(99.0)
    >>> found = bootstrap(X, y, 0.5, interior_point(X, y, 0.5), reps=50, rng=1)
    >>> found.B.shape
    (50, 1)
    """
    check_choice(method, "method", METHODS)
    tau, reps = check_tau(tau), check_count(reps, "reps", least=2)
    if (groups is None) != (method != "cluster"):
        found = "none" if groups is None else f"`groups` with method={method!r}"
        raise InputError(f'`groups` goes with method="cluster", and only with it; got {found}.')
    rows = Rows.of(X, y, fit, weights)
    labels = None if groups is None else check_groups(groups, len(rows.used))[rows.used]
    draws = generator(rng)
    if method == "mcmb":
        moves: list[np.ndarray | None] = list(_chain(rows, tau, reps, draws))
    else:
        one = _REPLICATES[method](rows, tau, solver, labels)
        root = np.random.SeedSequence([int(value) for value in draws.integers(2**32, size=4)])
        tasks = [(seed,) for seed in root.spawn(reps)]
        moves = run_tasks(lambda seed: one(np.random.default_rng(seed)), tasks, n_jobs, progress, "Bootstrap")
    return _collected(method, rows, moves)


def _collected(method: str, rows: Rows, moves: list[np.ndarray | None]) -> Bootstrap:
    from scipy.linalg import solve_triangular

    B = np.full((len(moves), rows.p), np.nan)
    G = np.array([np.full(rows.k, np.nan) if move is None else move for move in moves])
    done = ~np.isnan(G).any(axis=1)
    if rows.k:
        shift = solve_triangular(rows.T, G[done].T, check_finite=False).T
        B[np.ix_(done, rows.columns)] = rows.b + shift
    failed = int(np.sum(~done))
    if failed:
        message = f"{failed} of {len(moves)} bootstrap replicates could not be computed and are left out."
        warn(message, ConvergenceWarning)
    centred = G[done] - G[done].mean(axis=0) if done.sum() > 1 else np.full((1, rows.k), np.nan)
    C = centred.T @ centred / max(int(done.sum()) - 1, 1)
    return Bootstrap(method, B, rows.of_coefficients(C), failed)


def _refit(rows: Rows, tau: float, solver: Solver, draw: Callable[[np.random.Generator], np.ndarray]) -> Replicate:
    """Return the replicate that refits the residuals with random weights of the rows."""

    def one(rng: np.random.Generator) -> np.ndarray | None:
        for _ in range(_REDRAWN):
            g = solver(rows.Z, rows.r, tau, draw(rng)).coef
            if not np.isnan(g).any():
                return g
        return None

    return one


def _xy(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    n = rows.n
    return _refit(rows, tau, solver, lambda rng: np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64))


def _wxy(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    return _refit(rows, tau, solver, lambda rng: rng.standard_exponential(rows.n))


def _tilt(rows: Rows, tau: float, solver: Solver, gradient: Callable[[np.random.Generator], np.ndarray]) -> Replicate:
    """Return the replicate at which the estimating function has a random value instead of 0."""

    def one(rng: np.random.Generator) -> np.ndarray | None:
        fit = tilted(rows.Z, rows.r, tau, gradient(rng), solver)
        return None if fit is None else fit.coef

    return one


def _pwy(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    # Parzen, Wei and Ying (1994): sum of x (tau - 1[u < tau]) with u uniform.
    return _tilt(rows, tau, solver, lambda rng: rows.Z.T @ (tau - (rng.random(rows.n) < tau)))


def _cluster(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    assert labels is not None
    scores = rows.group_sums(_signs(rows, tau), labels)
    # Mammen's two points: mean 0, second and third moment 1.
    root = np.sqrt(5.0)
    low, high, chance = (1.0 - root) / 2.0, (1.0 + root) / 2.0, (root + 1.0) / (2.0 * root)
    return _tilt(rows, tau, solver, lambda rng: np.where(rng.random(len(scores)) < chance, low, high) @ scores)


def _wild(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    size = np.abs(rows.r)

    def one(rng: np.random.Generator) -> np.ndarray | None:
        # Feng, He and Hu (2011), section 2: two points, whose tau-quantile is 0.
        factor = np.where(rng.random(rows.n) < tau, -2.0 * tau, 2.0 * (1.0 - tau))
        g = solver(rows.Z, factor * size, tau).coef
        return None if np.isnan(g).any() else g

    return one


def _signs(rows: Rows, tau: float) -> np.ndarray:
    """Return tau - 1[r < 0], (n,)."""
    return np.where(rows.r < 0, tau - 1.0, tau)


def _chain(rows: Rows, tau: float, reps: int, rng: np.random.Generator) -> np.ndarray:
    """Return the states (reps, k) of the Markov chain: each coefficient in turn solves its own estimating equation.

    The coordinates are orthogonal, as Kocherginsky, He and Mu (2005) advise: the chain then hardly remembers.
    """
    Z = rows.Z if isinstance(rows.Z, np.ndarray) else rows.Z.toarray()
    lower = np.linalg.cholesky(Z.T @ Z) if rows.k else np.empty((0, 0))
    Q = np.linalg.solve(lower, Z.T).T
    scores = Q * _signs(rows, tau)[:, None]
    scores = scores - scores.mean(axis=0)
    state, r = np.zeros(rows.k), rows.r.copy()
    states = np.empty((reps, rows.k))
    for step in range(reps):
        for j in range(rows.k):
            drawn = float(np.sum(scores[rng.integers(rows.n, size=rows.n), j]))
            move = _univariate(Q[:, j], r, tau, drawn)
            state[j] += move
            r -= move * Q[:, j]
        states[step] = state
    return np.linalg.solve(lower.T, states.T).T


def _univariate(q: np.ndarray, r: np.ndarray, tau: float, gradient: float) -> float:
    """Return the t that minimises the check loss of r - t q, less gradient t, by a weighted quantile of r / q."""
    rows = np.flatnonzero(q)
    t = r[rows] / q[rows]
    order = np.argsort(t)
    # Slope far to the left, where r - t q has the sign of q; each point passed raises it by |q|.
    start = -float(np.sum(np.where(q > 0, tau, tau - 1.0) * q)) - gradient
    slopes = start + np.cumsum(np.abs(q[rows[order]]))
    return float(t[order[min(int(np.searchsorted(slopes, 0.0)), len(order) - 1)]])


_REPLICATES: dict[str, Callable[..., Replicate]] = {
    "xy": _xy,
    "wxy": _wxy,
    "pwy": _pwy,
    "wild": _wild,
    "cluster": _cluster,
}
METHODS = (*_REPLICATES, "mcmb")
