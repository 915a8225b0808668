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

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qreg_boost.base.checks import ConvergenceWarning, InputError, check_choice, check_count, check_tau, warn
from qreg_boost.base.resampling import generator, run_tasks
from qreg_boost.quantreg.adaptive_kernel import adaptive_density
from qreg_boost.quantreg.covariance import check_groups
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.rows import Rows, inverse
from qreg_boost.quantreg.solution import Solution
from qreg_boost.quantreg.tilted import tilted

Solver = Callable[..., Solution]
# A replicate: coefficients (k,) in the coordinates of `Rows.Z`, less those of the fit; None if it cannot be had.
Replicate = Callable[[np.random.Generator], "np.ndarray | None"]

# A resample in which a column is missing, or a score out of reach, is drawn again this often.
_REDRAWN = 20
_JUST_WITHIN = 1.0 - 1e-9
# Rows of a sparse design that are dense at a time.
_BLOCK = 4096


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
        residuals, corrected for leverage, of random size and sign. "cluster": the gradients of clusters with random
        signs and sizes.
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
        moves: list[np.ndarray | None] = list(_chain(rows, tau, reps, draws, _dual_signs(rows, fit, tau)))
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
    """Return the replicate at which the estimating function is minus a random gradient instead of 0."""

    def one(rng: np.random.Generator) -> np.ndarray | None:
        drawn = gradient(rng)
        fit = tilted(rows.Z, rows.r, tau, drawn, solver)
        if fit is None:  # the steepest slope there is, met exactly (all rows of a cell on one side, say)
            fit = tilted(rows.Z, rows.r, tau, _JUST_WITHIN * drawn, solver)
        return None if fit is None else fit.coef

    return one


def _pwy(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    # Parzen, Wei and Ying (1994): the estimating function equals the sum of x (tau - 1[u < tau]) with u uniform.
    return _tilt(rows, tau, solver, lambda rng: rows.Z.T @ ((rng.random(rows.n) < tau) - tau))


def _cluster(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    assert labels is not None
    scores = rows.group_sums(_signs(rows, tau), labels)
    # Mammen's two points: mean 0, second and third moment 1.
    root = np.sqrt(5.0)
    low, high, chance = (1.0 - root) / 2.0, (1.0 + root) / 2.0, (root + 1.0) / (2.0 * root)
    return _tilt(rows, tau, solver, lambda rng: -np.where(rng.random(len(scores)) < chance, low, high) @ scores)


def _wild(rows: Rows, tau: float, solver: Solver, labels: np.ndarray | None) -> Replicate:
    """Return the replicate of residuals of random size and sign (Feng, He and Hu 2011).

    First each residual r moves away from 0 by x'(X'X)^-1 x (tau - 1[r < 0]) / f, with f the density of the errors at 0:
    fitted residuals are nearer to 0 than errors by about that. As in R, f is an adaptive kernel estimate.
    """
    f = adaptive_density(rows.r, 0.0)
    correction = _leverages(rows) * _signs(rows, tau) / f if f > 0.0 else 0.0
    size = np.abs(rows.r + correction)

    def one(rng: np.random.Generator) -> np.ndarray | None:
        # Section 2 of the paper: two points, whose tau-quantile is 0.
        factor = np.where(rng.random(rows.n) < tau, -2.0 * tau, 2.0 * (1.0 - tau))
        g = solver(rows.Z, factor * size, tau).coef
        return None if np.isnan(g).any() else g

    return one


def _signs(rows: Rows, tau: float) -> np.ndarray:
    """Return tau - 1[r < 0], (n,)."""
    return np.where(rows.r < 0, tau - 1.0, tau)


def _leverages(rows: Rows) -> np.ndarray:
    """Return x'(X'X)^-1 x of each row, weights taken in, (n,)."""
    C, Z = inverse(rows.gram()), rows.Z
    if isinstance(Z, np.ndarray):
        return np.einsum("ij,ij->i", Z @ C, Z)
    blocks = (Z[at : at + _BLOCK].toarray() for at in range(0, rows.n, _BLOCK))
    return np.concatenate([np.einsum("ij,ij->i", block @ C, block) for block in blocks])


def _dual_signs(rows: Rows, fit: Solution, tau: float) -> np.ndarray:
    """Return tau - 1[r < 0], and for residuals of 0 the values between with which the gradient is 0, (n,)."""
    return np.where(rows.zero, fit.a[rows.used] - (1.0 - tau), _signs(rows, tau))


def _chain(rows: Rows, tau: float, reps: int, rng: np.random.Generator, signs: np.ndarray) -> np.ndarray:
    """Return the states (reps, k) of the Markov chain: each coefficient in turn solves its own estimating equation.

    Its right side is a sum of n scores x (tau - 1[r < 0]) drawn with replacement, for each coefficient anew (He and Hu
    2002). The coordinates are those of x (X'X)^(-1/2) with the symmetric root, as Kocherginsky, He and Mu (2005)
    advise: the chain then hardly remembers. `signs` are dual values less 1 - tau: where residuals are 0 they lie
    between tau - 1 and tau, and the scores sum to 0.
    """
    Z = rows.Z if isinstance(rows.Z, np.ndarray) else rows.Z.toarray()
    if not rows.k:
        return np.empty((reps, 0))
    lower = np.linalg.cholesky(Z.T @ Z)
    left, _, right = np.linalg.svd(lower.T @ rows.T)
    turn = np.linalg.solve(lower.T, left @ right)  # w x = Q (X'W'WX)^(1/2), Q = Z turn
    Q = Z @ turn
    scores = Q * signs[:, None]
    equations = [_Equation.of(q, tau) for q in Q.T]
    state, r = np.zeros(rows.k), rows.r.copy()
    states = np.empty((reps, rows.k))
    for step in range(reps):
        for j, equation in enumerate(equations):
            move = equation.solved(r, functools.partial(_drawn_sum, scores[:, j], rng))
            state[j] += move
            r -= move * Q[:, j]
        states[step] = state
    return states @ turn.T


def _drawn_sum(scores: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.sum(scores[rng.integers(len(scores), size=len(scores))]))


@dataclass(frozen=True)
class _Equation:
    """The estimating equation of one coefficient: sum of q (tau - 1[r - t q < 0]) = score.

    Attributes
    ----------
    rows : (m,) int array
        Rows where q is not 0.
    q : (m,) array
        Their values.
    start : float
        Minus the left side far to the left; each r / q passed raises it by abs(q).
    """

    rows: np.ndarray
    q: np.ndarray
    start: float

    @classmethod
    def of(cls, q: np.ndarray, tau: float) -> _Equation:
        rows = np.flatnonzero(q)
        return cls(rows, q[rows], -float(np.sum(np.where(q > 0, tau, tau - 1.0) * q)))

    def solved(self, r: np.ndarray, draw: Callable[[], float]) -> float:
        """Return the t at which the left side passes a drawn score; scores that it never reaches are drawn again."""
        t = r[self.rows] / self.q
        order = np.argsort(t)
        slopes = self.start + np.cumsum(np.abs(self.q[order]))
        for _ in range(_REDRAWN):
            score = draw()
            if self.start < -score <= slopes[-1]:
                break
        return float(t[order[min(int(np.searchsorted(slopes, -score)), len(order) - 1)]])


_REPLICATES: dict[str, Callable[..., Replicate]] = {
    "xy": _xy,
    "wxy": _wxy,
    "pwy": _pwy,
    "wild": _wild,
    "cluster": _cluster,
}
METHODS = (*_REPLICATES, "mcmb")
