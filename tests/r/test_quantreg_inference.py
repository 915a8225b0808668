"""Standard errors, rank intervals, likelihoods and tests against quantreg, live.

A figure is compared only where R itself gives it again after permuting rows, y x 1000 and weights x 10, and where the
coefficients are unique; the rest is printed with R's spread (``pytest -s``). R's nid subtracts an absolute 1.5e-8 from
differences of fitted values, so that it moves with the units of y; its rank bounds move where rows are tied.

Rank bounds that R gives again and we do not must each be explained by linear programs alone (`rank_statistic`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from statsmodels.datasets import engel

import qreg_boost as qb
from qreg_boost.quantreg.anova import equal_slopes, wald
from qreg_boost.quantreg.covariance import COVARIANCES, DensityWarning
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.quantreg.process import quantile_process
from qreg_boost.quantreg.rank import rank_intervals
from qreg_boost.quantreg.rank_test import rank_test
from qreg_boost.quantreg.solution import check_loss
from qreg_boost.r.session import evaluate
from tests.r.rank_statistic import RankStatistic, verdict

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
# Three rows at which quantiles are predicted.
NEW = (0, 7, 20)

FIGURES = """
suppressWarnings({
  figures <- function(X, y, w, tau) {
    d <- data.frame(y = y); d$X <- X
    n <- data.frame(row = seq_len(nrow(new))); n$X <- new
    fit <- if (is.null(w)) quantreg::rq(y ~ X - 1, tau, d) else quantreg::rq(y ~ X - 1, tau, d, weights = w)
    attempt <- function(value, length) tryCatch(as.numeric(value), error = function(e) rep(NA_real_, length))
    r <- y - X %*% coef(fit); by <- if (is.null(w)) 1 else w / mean(w)
    p <- ncol(X)
    errors <- function(se) attempt(summary(fit, se = se)$coefficients[, 2], p)
    bounds <- function(...) attempt(summary(fit, se = "rank", ...)$coefficients[, 2:3], 2 * p)
    predicted <- attempt(predict(fit, n, interval = "confidence", se = "nid"), 3 * nrow(new))
    c(coef(fit), errors("iid"), errors("nid"), errors("ker"), bounds(), bounds(iid = FALSE), predicted,
      sum(by * r * (tau - (r < 0))))
  }
  sapply(seq_len(ncol(orders) + 2), function(k) {
    if (k <= ncol(orders)) { o <- orders[, k]; figures(X[o, , drop = FALSE], y[o], w[o], tau) }
    else if (k == ncol(orders) + 1) figures(X, 1000 * y, w, tau) / 1000
    else figures(X, y, if (is.null(w)) rep(10, length(y)) else 10 * w, tau)
  })
})
"""


# How many figures agree and how many are compared, by kind; printed at the end.
TALLY: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(2, dtype=int))


def count(name: str, good: np.ndarray, compared: np.ndarray) -> None:
    TALLY[name] += np.sum(good), np.sum(compared)


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    """Print how many figures agree once all have been compared (``pytest -s``)."""
    yield
    print("\n\nbeside R             agree  compared")
    for name, (good, compared) in TALLY.items():
        print(f"{name:20} {good:6} " + (f"{compared:8}" if compared else "   bounds that differ, with the reason"))


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
    found = evaluate(FIGURES, X=sample.X, y=sample.y, w=sample.w, tau=tau, orders=orders, new=sample.X[list(NEW)])
    found = np.array(found, dtype=float)
    return np.where(np.abs(found) > 1e300, np.sign(found) * np.inf, found)


def fitted(sample: Sample, tau: float) -> qb.QRegResults:
    return qb.QReg(sample.y, sample.X, tau, weights=sample.w).fit()


def our_figures(sample: Sample, tau: float, new: np.ndarray | None = None) -> np.ndarray:
    fit = fitted(sample, tau)
    errors = [fit.with_se(kind).bse for kind in ("iid", "nid", "ker")]
    bounds = [fit.with_se("rank", iid=iid).conf_int(0.1).to_numpy().T.ravel() for iid in (True, False)]
    predicted = fit.predict(sample.X[list(NEW)] if new is None else new, interval="confidence").to_numpy().T.ravel()
    least = fit.objective / (1.0 if sample.w is None else sample.w.mean())
    return np.concatenate([fit.params, *errors, *bounds, predicted, [least]])


def parts(p: int) -> Iterator[tuple[str, slice, float]]:
    """Yield name, place and tolerance of the figures; the tolerances are those promised."""
    for k, name in enumerate(("coefficients", "se iid", "se nid", "se ker")):
        yield name, slice(k * p, (k + 1) * p), 1e-6
    yield "rank bounds iid", slice(4 * p, 6 * p), 1e-5
    yield "rank bounds nid", slice(6 * p, 8 * p), 1e-5
    yield "predict intervals", slice(8 * p, 8 * p + 3 * len(NEW)), 1e-6
    yield "objective", slice(8 * p + 3 * len(NEW), None), 1e-10


def agree(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    # absolute part: a coefficient that is 0 has no relative error
    return np.isclose(a, b, rtol=tolerance, atol=1e-12)


STOPS = """suppressWarnings({
  by <- if (is.null(w)) 1 else w
  found <- quantreg::rq.fit.br(X * by, y * by, tau = tau, ci = TRUE, iid = iid, interp = FALSE)
  cbind(found$coefficients[, -1], found$c.values) })"""


def why(sample: Sample, tau: float, iid: bool, place: int) -> str:
    """Return why R's rank bound is another one; see `verdict`. The bounds of all coefficients from below come first."""
    X, y, w, p = sample.X, sample.y, sample.w, sample.X.shape[1]
    j, side = place % p, place // p
    fit = interior_point(X, y, tau, w)
    ours = rank_intervals(X, y, tau, fit, w, iid=iid)
    by = np.ones(len(y)) if w is None else w
    density = None if iid else COVARIANCES["nid"](X, y, tau, fit, w).density
    statistic = RankStatistic(X[:, j] * by, y * by, np.delete(X, j, 1) * by[:, None], tau, density)
    r = np.asarray(evaluate(STOPS, X=X, y=y, w=w, tau=tau, iid=iid), dtype=float)[j]
    # R's columns: first rejected and last accepted from below, last accepted and first rejected from above
    order = [0, 1] if side == 0 else [3, 2]
    said = r[4:][order]
    return verdict(statistic, r[order], said, ours.inner[j, side], ours.outer[j, side], ours.critical)


def compare(sample: Sample, taus: tuple[float, ...]) -> None:
    p, wrong = sample.X.shape[1], []
    for tau in taus:
        theirs, ours, unique = r_figures(sample, tau), our_figures(sample, tau), fitted(sample, tau).facts.unique
        for name, place, tolerance in parts(p):
            r, own = theirs[place], ours[place]
            again = agree(r, r[:, :1], tolerance).all(axis=1) & ~np.isnan(r).any(axis=1)
            again &= unique | (name == "objective")
            good = agree(own, r[:, 0], tolerance)
            if name == "rank bounds nid":  # densities of 0 in too many rows: ours are missing, R's come from some rows
                again &= ~np.isnan(own)
            count(name, again & good, again)
            for j in np.flatnonzero(~again):
                spread = np.ptp(r[j]) / max(abs(r[j, 0]), 1e-300) if unique and np.isfinite(r[j]).all() else np.nan
                print(f"not compared: {sample.name} tau={tau} {name}[{j}]: R {r[j, 0]:.6g}, spread {spread:.2g}")
            for j in np.flatnonzero(again & ~good):
                reason = why(sample, tau, name == "rank bounds iid", j) if name.startswith("rank") else "unexplained"
                TALLY["  " + reason] += 1, 0
                print(f"differs: {sample.name} tau={tau} {name}[{j}]: ours {own[j]:.8g}, R {r[j, 0]:.8g}: {reason}")
                if reason == "unexplained":
                    wrong.append((tau, name, j, own[j], r[j, 0]))
    assert wrong == []


def test_errors_and_rank_intervals(sample: Sample) -> None:
    compare(sample, QUICK)


@pytest.mark.slow
def test_errors_and_rank_intervals_at_the_other_levels(sample: Sample) -> None:
    compare(sample, tuple(tau for tau in TAUS if tau not in QUICK))


@pytest.mark.slow
@pytest.mark.parametrize("tau", TAUS)
def test_ours_pass_the_three_invariances(sample: Sample, tau: float) -> None:
    X, y, w = sample.X, sample.y, sample.w
    fit = interior_point(X, y, tau, w)
    plain = our_figures(sample, tau)
    order = np.random.default_rng(1).permutation(len(y))
    heavy = np.full(len(y), 10.0) if w is None else 10 * w
    others = {
        "rows permuted": our_figures(
            Sample("", X[order], y[order], None if w is None else w[order]), tau, X[list(NEW)]
        ),
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
        ours = np.array([llf, 2 * p - 2 * llf, np.log(n) * p - 2 * llf])
        if same:
            fit = fitted(sample, tau)
            ours = np.array([fit.llf, fit.aic, fit.bic])
        count("logLik, AIC, BIC", np.isclose(ours, r[:3], rtol=1e-8), np.ones(3, dtype=bool))
        np.testing.assert_allclose(ours, r[:3], rtol=1e-8)


def r_tests(X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Return R's tables in one row: joint by nid and ker, each slope; F values, degrees of freedom and p-values."""
    code = """suppressWarnings({
      missing <- function(rows) function(e) rep(NA_real_, 4 * rows)
      safe <- function(value, rows) tryCatch(as.numeric(t(as.matrix(value))), error = missing(rows))
      one <- function(..., rows = 1) safe(anova(several, ...)$table, rows)
      S <- X[, -1, drop = FALSE]; last <- ncol(S); A <- S[, -last, drop = FALSE]; B <- S[, last]
      small <- if (last > 1) y ~ A else y ~ 1
      large <- if (last > 1) y ~ A + B else y ~ B
      environment(small) <- environment(large) <- environment()
      if (is.null(w)) {
        several <- quantreg::rq(y ~ S, tau = c(.25, .5, .75))
        a <- quantreg::rq(large, .4); b <- quantreg::rq(small, .4)
      } else {
        several <- quantreg::rq(y ~ S, tau = c(.25, .5, .75), weights = w)
        a <- quantreg::rq(large, .4, weights = w); b <- quantreg::rq(small, .4, weights = w)
      }
      rank <- function(...) safe(anova(a, b, test = "rank", ...)$table, 1)
      nested <- function(...) safe(anova(a, b, ...)$table, 1)
      c(one(), one(se = "ker"), one(joint = FALSE, rows = last), nested(), nested(se = "ker"),
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


# The last column alone is tested.
QUICK_ANOVA = ("CobarOre", "plane")


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK_ANOVA else pytest.mark.slow) for name in (*SETS, *SIMULATED)],
)
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
    # 1e-6 relative; a p-value's own error is larger by its steepness in F, and R takes it from 1
    again = agree(r, r[0], 1e-6).all(axis=0) & ~np.isnan(r).any(axis=0) & np.repeat(unique_levels(X, y, w), 4)
    for j in np.flatnonzero(~again):
        print(f"not compared: {name} test {j // 4} figure {j % 4}: R {r[0, j]:.8g}, spread {np.ptp(r[:, j]):.2g}")
    of_p = np.arange(len(ours)) % 4 == 3
    bad = again & (np.abs(ours - r[0]) > np.where(of_p, 1e-14 + 1e-4 * np.abs(r[0]), 1e-6 * np.abs(r[0])))
    kinds = ["slopes, joint"] * 2 + ["slopes, each"] * (X.shape[1] - 1) + ["Wald"] * 2 + ["rank"] * 3
    for kind in dict.fromkeys(kinds):
        of_kind = np.repeat([other == kind for other in kinds], 4)
        count(f"anova {kind}", again & ~bad & of_kind, again & of_kind)
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
