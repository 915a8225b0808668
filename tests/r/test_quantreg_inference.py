"""Standard errors, rank intervals, likelihoods and tests against quantreg, live.

A figure is compared only where R itself gives it again after permuting rows, y x 1000 and weights x 10, and where the
coefficients are unique; the rest is printed with R's spread (``pytest -s``). R's nid subtracts an absolute 1.5e-8 from
differences of fitted values, so that it moves with the units of y; its rank bounds move where rows are tied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from statsmodels.datasets import engel

from qreg_boost.quantreg.anova import equal_slopes, wald
from qreg_boost.quantreg.covariance import COVARIANCES, DensityWarning
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.process import quantile_process
from qreg_boost.quantreg.rank import rank_intervals
from qreg_boost.quantreg.rank_test import rank_test
from qreg_boost.quantreg.solution import check_loss
from qreg_boost.r.session import evaluate

pytestmark = [
    pytest.mark.r("quantreg"),
    pytest.mark.filterwarnings("ignore::qreg_boost.quantreg.covariance.DensityWarning"),
]

TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)
QUICK = (0.25, 0.5)
# Formula in R, package of its data.
SETS = {
    "engel": ("foodexp ~ income", "quantreg"),
    "barro": ("y.net ~ lgdp2 + fse2 + gedy2 + Iy2 + gcony2", "quantreg"),
    "Mammals": ("log(speed) ~ log(weight) + hoppers + specials", "quantreg"),
    "uis": ("Y ~ ND1 + ND2 + IV3 + TREAT + FRAC + RACE + AGE * SITE", "quantreg"),
    "CobarOre": ("z ~ x + y", "quantreg"),
    "warpbreaks": ("breaks ~ wool * tension", "datasets"),
}
SIMULATED = ("line", "plane")
# Bounds that R gives again and we do not: rows are tied there (whole numbers as responses, 0 and 1 as predictors), the
# stops of R's simplex method depend on which of them it takes first, and its bound is not where the test of the
# documented statistic begins to reject. At most so many of each set's 20 p bounds, over both forms, unweighted.
TIED = {"uis": 1, "CobarOre": 2, "warpbreaks": 13}
TIED_WEIGHTED = {"warpbreaks": 3}

FIGURES = """
suppressWarnings({
  figures <- function(X, y, w, tau) {
    fit <- if (is.null(w)) quantreg::rq(y ~ X - 1, tau) else quantreg::rq(y ~ X - 1, tau, weights = w)
    attempt <- function(value, length) tryCatch(as.numeric(value), error = function(e) rep(NA_real_, length))
    p <- ncol(X)
    errors <- function(se) attempt(summary(fit, se = se)$coefficients[, 2], p)
    bounds <- function(...) attempt(summary(fit, se = "rank", ...)$coefficients[, 2:3], 2 * p)
    c(coef(fit), errors("iid"), errors("nid"), errors("ker"), bounds(), bounds(iid = FALSE))
  }
  sapply(seq_len(ncol(orders) + 2), function(k) {
    if (k <= ncol(orders)) { o <- orders[, k]; figures(X[o, , drop = FALSE], y[o], w[o], tau) }
    else if (k == ncol(orders) + 1) figures(X, 1000 * y, w, tau) / 1000
    else figures(X, y, if (is.null(w)) rep(10, length(y)) else 10 * w, tau)
  })
})
"""


@dataclass(frozen=True)
class Sample:
    name: str
    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in SIMULATED:
        rng = np.random.default_rng(SIMULATED.index(name))
        if name == "line":
            x = rng.uniform(0, 4, 200)
            return np.column_stack([np.ones(200), x]), 1 + 2 * x + (0.5 + x) * rng.standard_normal(200)
        Z = rng.standard_normal((250, 4))
        y = Z @ [1.0, 0.0, -1.0, 0.5] + np.exp(0.5 * Z[:, 0]) * rng.standard_t(3, 250)
        return np.column_stack([np.ones(250), Z]), y
    if name == "engel":
        table = engel.load_pandas().data.astype(float)
        return np.column_stack([np.ones(len(table)), table["income"]]), table["foodexp"].to_numpy()
    formula, package = SETS[name]
    d = f"{{e <- new.env(); utils::data({name}, package = '{package}', envir = e); d <- e${name};"
    X = np.asarray(evaluate(f"{d} model.matrix({formula}, d)}}"), dtype=float)
    return X, np.asarray(evaluate(f"{d} as.numeric(model.response(model.frame({formula}, d)))}}"), dtype=float)


@pytest.fixture(scope="module", params=[*SETS, *SIMULATED])
def data(request: pytest.FixtureRequest) -> tuple[str, np.ndarray, np.ndarray]:
    return (request.param, *load(request.param))


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def sample(request: pytest.FixtureRequest, data: tuple[str, np.ndarray, np.ndarray]) -> Sample:
    name, X, y = data
    return Sample(name, X, y, np.random.default_rng(9).uniform(0.2, 3.0, len(y)) if request.param else None)


def r_figures(sample: Sample, tau: float) -> np.ndarray:
    """Return R's figures in rows, one column per variant: as given, three orders, y x 1000, weights x 10."""
    n, rng = len(sample.y), np.random.default_rng(4)
    orders = np.column_stack([np.arange(n), *(rng.permutation(n) for _ in range(3))]) + 1.0
    found = evaluate(FIGURES, X=sample.X, y=sample.y, w=sample.w, tau=tau, orders=orders)
    found = np.array(found, dtype=float)
    return np.where(np.abs(found) > 1e300, np.sign(found) * np.inf, found)


def our_figures(sample: Sample, tau: float) -> np.ndarray:
    X, y, w = sample.X, sample.y, sample.w
    fit = interior_point(X, y, tau, w)
    errors = [COVARIANCES[kind](X, y, tau, fit, w).standard_errors for kind in ("iid", "nid", "ker")]
    bounds = [rank_intervals(X, y, tau, fit, w, iid=iid).bounds.T.ravel() for iid in (True, False)]
    return np.concatenate([fit.coef, *errors, *bounds])


def parts(p: int) -> Iterator[tuple[str, slice, float]]:
    """Yield name, place and tolerance of the figures; the tolerances are those promised."""
    for k, name in enumerate(("coef", "iid", "nid", "ker")):
        yield name, slice(k * p, (k + 1) * p), 1e-6
    yield "rank iid", slice(4 * p, 6 * p), 1e-5
    yield "rank nid", slice(6 * p, 8 * p), 1e-5


def agree(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    # absolute part: a coefficient that is 0 has no relative error
    return np.isclose(a, b, rtol=tolerance, atol=1e-12)


def compare(sample: Sample, taus: tuple[float, ...]) -> None:
    p = sample.X.shape[1]
    tied = wrong = 0
    for tau in taus:
        theirs, ours = r_figures(sample, tau), our_figures(sample, tau)
        fit = interior_point(sample.X, sample.y, tau, sample.w)
        for name, place, tolerance in parts(p):
            r, own = theirs[place], ours[place]
            again = agree(r, r[:, :1], tolerance).all(axis=1) & ~np.isnan(r).any(axis=1) & fit.unique
            good = agree(own, r[:, 0], tolerance)
            if name == "rank nid":  # densities of 0 in too many rows: ours are missing, R's come from some rows only
                again &= ~np.isnan(own)
            for j in np.flatnonzero(~again):
                spread = np.ptp(r[j]) / max(abs(r[j, 0]), 1e-300) if fit.unique else np.nan
                print(f"not compared: {sample.name} tau={tau} {name}[{j}]: R {r[j, 0]:.6g}, spread {spread:.2g}")
            for j in np.flatnonzero(again & ~good):
                print(f"differs: {sample.name} tau={tau} {name}[{j}]: ours {own[j]:.8g}, R {r[j, 0]:.8g}")
            bad = int((again & ~good).sum())
            tied, wrong = (tied + bad, wrong) if name.startswith("rank") else (tied, wrong + bad)
    assert wrong == 0
    assert tied <= (TIED if sample.w is None else TIED_WEIGHTED).get(sample.name, 0)


def test_errors_and_rank_intervals(sample: Sample) -> None:
    compare(sample, QUICK)


@pytest.mark.slow
def test_errors_and_rank_intervals_at_all_levels(sample: Sample) -> None:
    compare(sample, TAUS)


@pytest.mark.slow
@pytest.mark.parametrize("tau", TAUS)
def test_ours_pass_the_three_invariances(sample: Sample, tau: float) -> None:
    X, y, w = sample.X, sample.y, sample.w
    fit = interior_point(X, y, tau, w)
    plain = our_figures(sample, tau)
    order = np.random.default_rng(1).permutation(len(y))
    heavy = np.full(len(y), 10.0) if w is None else 10 * w
    others = {
        "rows permuted": our_figures(Sample("", X[order], y[order], None if w is None else w[order]), tau),
        "y x 1000": our_figures(Sample("", X, 1000 * y, w), tau) / 1000,
        "weights x 10": our_figures(Sample("", X, y, heavy), tau),
    }
    p = X.shape[1]
    # Optima that are not unique: a vertex is chosen, and iid and ker are those of the vertex.
    at = slice(0, None) if fit.unique else slice(2 * p, 3 * p)
    for what, figures in others.items():
        np.testing.assert_allclose(figures[at], plain[at], rtol=1e-6, atol=1e-9 * np.abs(y).max(), err_msg=what)


def test_likelihood(sample: Sample) -> None:
    X, y, w = sample.X, sample.y, sample.w
    code = """suppressWarnings({
      fit <- if (is.null(w)) quantreg::rq(y ~ X - 1, tau) else quantreg::rq(y ~ X - 1, tau, weights = w)
      c(logLik(fit), AIC(fit), AIC(fit, k = 0), coef(fit)) })"""
    n, p = X.shape
    for tau in TAUS:
        r = np.asarray(evaluate(code, X=X, y=y, w=w, tau=tau), dtype=float)
        # weights are relative scales: the likelihood is that of the unweighted loss at the weighted fit's coefficients
        coef = interior_point(X, y, tau, w).coef
        same = np.allclose(coef, r[3:], rtol=1e-6, atol=1e-12)
        loss = check_loss(y - X @ (coef if same or w is None else r[3:]), tau)
        llf = n * (np.log(tau * (1 - tau)) - 1 - np.log(loss / n))
        np.testing.assert_allclose([llf, 2 * p - 2 * llf, np.log(n) * p - 2 * llf], r[:3], rtol=1e-8)


def r_tests(X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Return R's tables in one row: joint by nid and ker, each slope; F values, degrees of freedom and p-values."""
    code = """suppressWarnings({
      one <- function(...) as.numeric(t(as.matrix(anova(several, ...)$table)))
      S <- X[, -1, drop = FALSE]; last <- ncol(S); A <- S[, -last, drop = FALSE]; B <- S[, last]
      if (is.null(w)) {
        several <- quantreg::rq(y ~ S, tau = c(.25, .5, .75))
        a <- quantreg::rq(y ~ A + B, .4); b <- quantreg::rq(y ~ A, .4)
      } else {
        several <- quantreg::rq(y ~ S, tau = c(.25, .5, .75), weights = w)
        a <- quantreg::rq(y ~ A + B, .4, weights = w); b <- quantreg::rq(y ~ A, .4, weights = w)
      }
      rank <- function(...) as.numeric(t(as.matrix(anova(a, b, test = "rank", ...)$table)))
      nested <- function(...) as.numeric(t(as.matrix(anova(a, b, ...)$table)))
      c(one(), one(se = "ker"), one(joint = FALSE), nested(), nested(se = "ker"),
        rank(score = "tau"), rank(score = "wilcoxon"), rank(score = "normal")) })"""
    return np.asarray(evaluate(code, X=X, y=y, w=w), dtype=float)


def our_tests(X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    taus, p = (0.25, 0.5, 0.75), X.shape[1]
    fits, slopes = [interior_point(X, y, tau, w) for tau in taus], range(1, p)
    tests = [
        *equal_slopes(X, y, taus, fits, w, slopes=slopes),
        *equal_slopes(X, y, taus, fits, w, slopes=slopes, se="ker"),
        *equal_slopes(X, y, taus, fits, w, slopes=slopes, joint=False),
    ]
    fit = interior_point(X, y, 0.4, w)
    for kind in ("nid", "ker"):
        matrix = COVARIANCES[kind](X, y, 0.4, fit, w).matrix
        tests.append(wald(fit.coef, matrix, [p - 1], len(y) - p))
    for score in ("tau", "wilcoxon", "normal"):
        tests.append(rank_test(X[:, :-1], X[:, -1:], y, 0.4, w, score=score, process=quantile_process))
    return np.array([[test.df, test.df_resid, test.statistic, test.pvalue] for test in tests]).ravel()


def unique_levels(X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Return for each test of `our_tests` whether the fits it stands on are unique; the dual of the rank tests is."""
    several = all(interior_point(X, y, tau, w).unique for tau in (0.25, 0.5, 0.75))
    one = interior_point(X, y, 0.4, w).unique
    return np.array([several] * (2 + X.shape[1] - 1) + [one] * 2 + [True] * 3)


# The last column alone is tested; engel and "line" have a single slope, for which R's formula of the null is another.
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", ["barro", "Mammals", "CobarOre", "plane"])
def test_anova(name: str, weighted: bool) -> None:
    X, y = load(name)
    w = np.random.default_rng(9).uniform(0.2, 3.0, len(y)) if weighted else None
    order = np.random.default_rng(1).permutation(len(y))
    heavy = np.full(len(y), 10.0) if w is None else 10 * w
    r = np.array(
        [
            r_tests(X, y, w),
            r_tests(X[order], y[order], None if w is None else w[order]),
            r_tests(X, 1000 * y, w),
            r_tests(X, y, heavy),
        ]
    )
    ours = our_tests(X, y, w)
    # 1e-6 relative; a p-value's own error is larger by its steepness in F
    again = agree(r, r[0], 1e-6).all(axis=0) & np.repeat(unique_levels(X, y, w), 4)
    for j in np.flatnonzero(~again):
        print(f"not compared: {name} test {j // 4} figure {j % 4}: R {r[0, j]:.8g}, spread {np.ptp(r[:, j]):.2g}")
    assert again.sum() >= 12
    steep = np.where(np.arange(len(ours)) % 4 == 3, 1e-4, 1e-6)
    bad = again & (np.abs(ours - r[0]) > steep * np.abs(r[0]))
    assert [(j // 4, j % 4, ours[j], r[0, j]) for j in np.flatnonzero(bad)] == []


def test_non_positive_densities_are_counted_as_in_r() -> None:
    X, y = load("plane")
    message = """{ said <- NULL
      fit <- quantreg::rq(y ~ X - 1, .95)
      withCallingHandlers(summary(fit, se = "nid"), warning = function(w) { said <<- conditionMessage(w)
        invokeRestart("muffleWarning") })
      if (is.null(said)) "0" else said }"""
    said = str(evaluate(message, X=X, y=y).iloc[0])
    fit = interior_point(X, y, 0.95)
    count = int(said.split()[0])
    if count:
        with pytest.warns(DensityWarning, match=f"{count} of 250 rows"):
            found = COVARIANCES["nid"](X, y, 0.95, fit)
    else:
        found = COVARIANCES["nid"](X, y, 0.95, fit)
    assert found.nonpositive == count
