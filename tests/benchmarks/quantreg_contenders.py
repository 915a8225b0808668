"""The contenders of `quantreg.py`: each fits one quantile regression to the same arrays, coefficients only.

To be imported once the number of threads is set. Every package gets its design in the order of memory it likes best,
made before the clock starts; R holds its own copy of the arrays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qreg_boost.quantreg.solution import check_loss
from qreg_boost.quantreg.solvers import SOLVERS


@dataclass
class Problem:
    """Response (n,), design (n, p) with its constant, and a quantile level."""

    y: np.ndarray
    X: np.ndarray
    tau: float
    columns_first: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.columns_first = np.asfortranarray(self.X)

    def loss(self, coef: np.ndarray) -> float:
        """Return the check loss at coefficients (p,)."""
        return check_loss(self.y - self.X @ coef, self.tau)


def simulate(n: int, p: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return y (n,) and X (n, p) with a constant: five columns matter, heavy-tailed noise grows with the first."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, p - 1))])
    line = X[:, :6] @ np.array([1.0, 2.0, -1.5, 1.0, 0.5, -0.25])[: X.shape[1]]
    return line + (1.0 + 0.5 * np.abs(X[:, 1])) * rng.standard_t(3, n), X


Fit = Callable[[Problem], Any]


def own(method: str) -> Fit:
    """Return a solver of this package."""
    return lambda problem: SOLVERS[method](problem.X, problem.y, problem.tau).coef


def pinball(method: str) -> Fit:
    """Return a solver of pinball-qr."""
    from pinball import get_solver

    def fit(problem: Problem) -> np.ndarray:
        return np.ravel(get_solver(method).solve(problem.X, problem.y, problem.tau).coefficients)

    return fit


def pyqreg(method: str) -> Fit:
    """Return a solver of pyqreg2, which is imported as pyqreg."""
    from pyqreg import QuantReg

    def fit(problem: Problem) -> np.ndarray:
        model = QuantReg(problem.y, problem.columns_first)
        if method == "ipm":
            return model.fit_ipm(problem.tau)
        return model.fit_preproc_ipm(problem.tau, np.random.RandomState(1))

    return fit


def pyfixest(method: str) -> Fit:
    """Return a solver of pyfixest."""
    from pyfixest.estimation.quantreg.quantreg_ import Quantreg

    model = object.__new__(Quantreg)
    options = {} if method == "fn" else {"rng": np.random.default_rng(1)}

    def fit(problem: Problem) -> np.ndarray:
        model._k = problem.X.shape[1]
        y = problem.y if method == "fn" else problem.y[:, None]
        return np.ravel(getattr(model, f"fit_qreg_{method}")(problem.X, y, problem.tau, **options)[0])

    return fit


def statsmodels(problem: Problem) -> np.ndarray:
    """Fit statsmodels' QuantReg, whose covariance cannot be left out."""
    from statsmodels.regression.quantile_regression import QuantReg

    return QuantReg(problem.y, problem.X).fit(q=problem.tau, max_iter=10_000).params


def scikit_learn(problem: Problem) -> np.ndarray:
    """Fit scikit-learn's QuantileRegressor without a penalty."""
    from sklearn.linear_model import QuantileRegressor

    model = QuantileRegressor(quantile=problem.tau, alpha=0.0, fit_intercept=False, solver="highs")
    return model.fit(problem.X, problem.y).coef_


class R:
    """R's functions; the arrays are handed over once per problem, and R's own clock is read."""

    def __init__(self) -> None:
        from rpy2 import robjects

        self.robjects = robjects
        self.held: Problem | None = None
        robjects.r("suppressPackageStartupMessages(library(quantreg))")

    def fit(self, expression: str) -> Fit:
        """Return the fit by an R expression in X, y and tau that gives coefficients."""

        def run(problem: Problem) -> np.ndarray:
            self.hold(problem)
            return np.array(self.robjects.r(f"suppressWarnings({expression})"))

        return run

    def hold(self, problem: Problem) -> None:
        """Hand the arrays over, unless R has them."""
        if self.held is problem:
            return
        r = self.robjects
        values = r.FloatVector(problem.columns_first.ravel(order="K"))
        r.globalenv["X"] = r.r.matrix(values, nrow=problem.X.shape[0])
        r.globalenv["y"] = r.FloatVector(problem.y)
        r.globalenv["tau"] = problem.tau
        self.held = problem


def peers(n: int, p: int, quick: bool = False) -> dict[str, Fit]:
    """Return the peers that are installed and worth timing at a size, by name; if quick, those fastest somewhere.

    Simplex methods are left out where one call takes minutes, and so is statsmodels with 500 columns, whose iteration
    ends 6e-8 above the least loss there.
    """
    small = n * p <= 60_000
    makers: dict[str, Callable[[], Fit]] = {
        "pinball-qr fn": lambda: pinball("fn"),
        "pinball-qr pfn": lambda: pinball("pfn"),
        "pyqreg2 ipm": lambda: pyqreg("ipm"),
        "pyqreg2 preproc-ipm": lambda: pyqreg("preproc-ipm"),
        "pyfixest fn": lambda: pyfixest("fn"),
        "pyfixest pfn": lambda: pyfixest("pfn"),
    }
    if quick:
        return _made({name: makers[name] for name in ("pinball-qr pfn", "pyqreg2 ipm", "pyqreg2 preproc-ipm")})
    if small:
        makers["pinball-qr br"] = lambda: pinball("br")
        makers["scikit-learn"] = lambda: scikit_learn
    if n * p <= 1_000_000:
        makers["statsmodels"] = lambda: statsmodels
    return _made(makers) | _in_r(small)


def _made(makers: dict[str, Callable[[], Fit]]) -> dict[str, Fit]:
    found: dict[str, Fit] = {}
    for name, make in makers.items():
        with contextlib.suppress(ImportError):
            found[name] = make()
    return found


def describe_r() -> str:
    """Return a line on R and its packages, or on why they are left out."""
    try:
        r = R().robjects.r
    except Exception as problem:
        return f"R's quantreg is left out: {problem}"
    versions = [f"{name} {r(f'format(packageVersion({name!r}))')[0]}" for name in ("quantreg", *_conquer(r))]
    blas = r("basename(extSoftVersion()[['BLAS']])")[0]
    return f"{r('R.version.string')[0]}, {', '.join(versions)}, {blas}"


def _conquer(r: Any) -> list[str]:
    return ["conquer"] if r("nzchar(system.file(package = 'conquer'))")[0] else []


def _in_r(small: bool) -> dict[str, Fit]:
    try:
        r = R()
    except Exception:
        return {}
    expressions = {"fnb": "rq.fit.fnb(X, y, tau)$coefficients", "pfn": "rq.fit.pfn(X, y, tau)$coefficients"}
    if small:
        expressions["br"] = "rq.fit.br(X, y, tau)$coefficients"
    fits = {f"R quantreg {name}": r.fit(expression) for name, expression in expressions.items()}
    if _conquer(r.robjects.r):
        fits["R conquer (approximate)"] = r.fit("conquer::conquer(X[, -1], y, tau)$coeff")
    return fits
