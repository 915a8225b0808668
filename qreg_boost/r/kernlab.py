"""`kqr`, `ksvm` and `ipop` of the R package kernlab: R's own fits, as the reference to check against.

kernlab's `predict` and `fitted` of a standardised `kqr` fit are on the standardised scale unless new data are passed;
what comes back from here is always in the response's units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from qreg_boost.base.checks import FormulaError, InputError, check_choice, check_positive, check_tau, listed
from qreg_boost.r import session
from qreg_boost.r.formula import to_r

_FIT = """
K <- if (precomputed) kernlab::as.kernelMatrix(X) else X
fit <- if (precomputed) kernlab::kqr(K, y, tau = tau, C = C, fit = FALSE) else
  kernlab::kqr(K, y, scaled = scaled, tau = tau, C = C, kernel = kernel, kpar = kpar, fit = FALSE)
s <- fit@scaling$y.scale
a <- as.vector(kernlab::alpha(fit))
f <- if (precomputed) as.vector(X %*% a) - kernlab::b(fit) else as.vector(kernlab::predict(fit, X))
list(alpha = a, b = as.numeric(kernlab::b(fit)), fitted = f,
     sigma = if (is.list(kpar) && !is.null(kpar$sigma)) kpar$sigma else NA_real_)
"""
_FRAME = """
qb_formula <- as.formula(qb_text, env = environment())
qb_terms <- terms(qb_formula, data = qb_data)
qb_frame <- model.frame(qb_terms, qb_data)
X <- model.matrix(attr(qb_frame, "terms"), qb_frame)
X <- X[, colnames(X) != "(Intercept)", drop = FALSE]
list(X = X, y = as.numeric(model.response(qb_frame)), rows = as.integer(rownames(qb_frame)))
"""
_KERNELS = ["rbfdot", "polydot", "tanhdot", "vanilladot", "laplacedot", "besseldot", "anovadot", "splinedot"]
_NAMES = {
    "rbf": "rbfdot", "polynomial": "polydot", "tanh": "tanhdot", "linear": "vanilladot", "laplace": "laplacedot",
    "spline": "splinedot",
}  # fmt: skip
"""kernlab's names of this package's kernels."""
_SIGEST = "kernlab::sigest(X, frac = 1, scaled = FALSE)"
# kernlab's objective is that of the dual, to be minimised: 1/2 a'Qa - 1'a. With shrinking, its own default, kernlab
# 0.9-32 stops short of the optimum (by 2e-6 of it, 0.006 in f) for a kernel matrix, though not for a kernel's name.
_SVM = """
K <- if (precomputed) kernlab::as.kernelMatrix(X) else X
labels <- factor(y, levels = c(-1, 1))
weights <- c(`-1` = other, `1` = event)
fit <- if (precomputed) kernlab::ksvm(K, labels, type = "C-svc", C = 1, tol = tol, class.weights = weights,
  shrinking = FALSE, fit = FALSE) else kernlab::ksvm(X, labels, type = "C-svc", scaled = FALSE, kernel = kernel,
  kpar = kpar, C = 1, tol = tol, class.weights = weights, shrinking = FALSE, fit = FALSE)
at <- kernlab::alphaindex(fit)[[1]]
f <- if (precomputed) as.vector(X[, at, drop = FALSE] %*% kernlab::coef(fit)[[1]]) - kernlab::b(fit) else
  as.vector(kernlab::predict(fit, X, type = "decision"))
a <- numeric(length(y))
a[at] <- kernlab::alpha(fit)[[1]]
list(objective = kernlab::obj(fit), decision = f, a = a, b = -as.numeric(kernlab::b(fit)))
"""
_IPOP = """
start <- proc.time()[["elapsed"]]
found <- kernlab::ipop(c = c, H = H, A = A, b = b, l = lower, u = upper, r = rep(0, length(b)), sigf = digits,
  maxiter = 200)
list(x = as.vector(kernlab::primal(found)), how = kernlab::how(found), dual = as.vector(kernlab::dual(found)),
     seconds = proc.time()[["elapsed"]] - start)
"""


@dataclass(frozen=True)
class KQRInR:
    """A fit of kernlab's `kqr`.

    Attributes
    ----------
    alpha : (n,) array
        Dual variables, of rows in R's order.
    b : float
        Offset, to be added: R prints it with the other sign. On the scale of the fit.
    fittedvalues : Series
        In units of the response.
    tau, C : float
    kernel : str
        kernlab's name.
    kpar : dict
    """

    alpha: np.ndarray
    b: float
    fittedvalues: pd.Series
    tau: float
    C: float
    kernel: str
    kpar: dict[str, float]

    def __repr__(self) -> str:
        given = ", ".join(f"{name} = {value:.6g}" for name, value in self.kpar.items())
        kernel = f"{self.kernel}({given})" if given else self.kernel
        return (
            f"Kernel quantile regression by R's kernlab: tau {self.tau:g}, C {self.C:g}, {kernel}, "
            f"{len(self.alpha)} rows"
        )


def kqr(
    formula: str,
    data: pd.DataFrame,
    tau: float = 0.5,
    *,
    C: float = 0.1,
    kernel: str = "rbfdot",
    kpar: Mapping[str, float] | str | None = None,
    scaled: bool = True,
) -> KQRInR:
    """Return the kernel quantile regression that R's ``kernlab::kqr`` fits.

    Parameters
    ----------
    formula : str
        In R's syntax, or in the part of patsy's that R shares. kernlab drops its intercept.
    data : DataFrame
    tau, C : float
    kernel : str
        kernlab's name, or this package's.
    kpar : mapping, optional
        kernlab's parameters; without ``sigma``, or with "automatic", "rbfdot" and "laplacedot" get the mean of the
        outer values of `sigest`, which draws pairs of rows at random.
    scaled : bool
        Whether predictors and response are standardised.

    Examples
    --------
    >>> import qreg_boost as qb
    >>> from qreg_boost import r
    >>> r.kqr("foodexp ~ income", qb.datasets.load("engel"), C=1.0)  # doctest: +SKIP
    Kernel quantile regression by R's kernlab: tau 0.5, C 1, rbfdot(sigma = 35.5), 235 rows
    """
    if not isinstance(data, pd.DataFrame) or not len(data):
        raise InputError("`data` must be a pandas DataFrame with at least one row.")
    kernel = check_choice(_NAMES.get(str(kernel), kernel), "kernel", _KERNELS)
    if isinstance(kpar, str) and kpar == "automatic":
        kpar = None
    if kpar is not None and not isinstance(kpar, Mapping):
        raise InputError(
            f"`kpar` must be a mapping of kernlab's parameters, for example {{'sigma': 0.1}}; got {kpar!r}."
        )
    session.require("kernlab")
    outcome = session.run(_FRAME, qb_text=to_r(formula), qb_data=data)
    if outcome.error is not None:
        raise FormulaError(f'R cannot use the formula "{formula}" on these data: {outcome.error}')
    found = outcome.value
    X, y = (np.asarray(found[name], dtype=float) for name in ("X", "y"))
    given = dict(kpar or {})
    if kernel in ("rbfdot", "laplacedot") and "sigma" not in given:
        sd = X.std(axis=0, ddof=1)
        Z = (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0) if scaled else X
        ends = np.asarray(session.evaluate(_SIGEST, X=Z), dtype=float)
        given["sigma"] = float((ends[0] + ends[2]) / 2)
    fit = fit_kqr(X, y, tau, C, kernel, given, scaled)
    fit.fittedvalues.index = data.index[np.asarray(found["rows"]).astype(int) - 1]
    return fit


def fit_kqr(
    X: np.ndarray, y: np.ndarray, tau: float, C: float, kernel: str, kpar: Mapping[str, float], scaled: bool
) -> KQRInR:
    """Return kernlab's `kqr` of arrays; for the kernel "kernelMatrix", X is the kernel matrix (n, n)."""
    session.require("kernlab")
    given = kernel == "kernelMatrix"
    values: dict[str, Any] = {"X": X, "y": y, "tau": check_tau(tau), "C": check_positive(C, "C")}
    outcome = session.run(_FIT, **values, scaled=bool(scaled), kernel=kernel, kpar=dict(kpar), precomputed=given)
    if outcome.error is not None:
        raise session.RError(f"kernlab's kqr stopped: {outcome.error}")
    found = outcome.value
    alpha, fitted = (np.asarray(found[name], dtype=float) for name in ("alpha", "fitted"))
    b = -float(np.asarray(found["b"])[0])
    return KQRInR(alpha, b, pd.Series(fitted, name="fittedvalues"), float(tau), float(C), kernel, dict(kpar))


@dataclass(frozen=True)
class SVMInR:
    """A support vector machine by kernlab's `ksvm`.

    Attributes
    ----------
    objective : float
        Of the dual as kernlab states it, 1/2 a'Qa - 1'a: below 0.
    decision : (n,) array
        Above 0 on the side of +1.
    a : (n,) array
        Dual variables.
    b : float
        Offset, to be added.
    """

    objective: float
    decision: np.ndarray
    a: np.ndarray
    b: float


def fit_svm(
    X: np.ndarray, y: np.ndarray, C: tuple[float, float], kernel: str, kpar: Mapping[str, float], tol: float = 1e-6
) -> SVMInR:
    """Return kernlab's `ksvm` of type C-svc for arrays, nothing scaled.

    Parameters
    ----------
    X : (n, p) array
        For the kernel "kernelMatrix", the kernel matrix (n, n).
    y : (n,) array
        -1 or +1.
    C : pair of floats
        Cost of the hinge of rows with y = -1, and with y = +1.
    kernel : str
        kernlab's name.
    kpar : mapping
    tol : float
        kernlab's tolerance of the optimality conditions.
    """
    session.require("kernlab")
    values: dict[str, Any] = {"X": X, "y": y, "other": float(C[0]), "event": float(C[1]), "tol": float(tol)}
    given = kernel == "kernelMatrix"
    outcome = session.run(_SVM, **values, kernel=kernel, kpar=dict(kpar), precomputed=given)
    if outcome.error is not None:
        raise session.RError(f"kernlab's ksvm stopped: {outcome.error}")
    found = outcome.value
    decision, a = (np.asarray(found[name], dtype=float) for name in ("decision", "a"))
    objective, b = (float(np.asarray(found[name], dtype=float)[0]) for name in ("objective", "b"))
    return SVMInR(objective, decision, a, b)


@dataclass(frozen=True)
class IpopSolution:
    """What kernlab's `ipop` finds for min c'x + 1/2 x'Hx, A x = b, lower <= x <= upper.

    Attributes
    ----------
    x : (n,) array
    objective : float
    violation : float
        Largest violation of an equality or a bound.
    how : str
        kernlab's word for how it ended.
    seconds : float
        Measured in R.
    """

    x: np.ndarray
    objective: float
    violation: float
    how: str
    seconds: float


def ipop(
    H: np.ndarray,
    c: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    digits: int = 7,
) -> IpopSolution:
    """Return what R's ``kernlab::ipop`` finds for min c'x + 1/2 x'Hx subject to A x = b and lower <= x <= upper.

    Parameters
    ----------
    H : (n, n) array
    c, lower, upper : (n,) array
    A : (m, n) array
    b : (m,) array
    digits : int
        Significant digits asked of it.
    """
    session.require("kernlab")
    given = {"H": H, "c": c, "A": np.atleast_2d(A), "b": b, "lower": lower, "upper": upper}
    values: dict[str, Any] = {name: np.asarray(value, dtype=float) for name, value in given.items()}
    outcome = session.run(_IPOP, **values, digits=digits)
    if outcome.error is not None:
        raise session.RError(f"kernlab's ipop stopped: {outcome.error}")
    found = outcome.value
    x = np.asarray(found["x"], dtype=float)
    off = np.abs(np.atleast_2d(A) @ x - b).max(initial=0.0)
    out = np.maximum(lower - x, x - upper).max(initial=0.0)
    return IpopSolution(
        x, float(c @ x + 0.5 * x @ (H @ x)), float(max(off, out)), str(listed(found["how"])),
        float(np.asarray(found["seconds"])[0]),
    )  # fmt: skip
