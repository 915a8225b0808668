"""Splines against the same least squares written out, their degrees of freedom, and what they promise beyond."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import lsq_linear

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.boosting.learners import BandedBlocks, Predictors, Spline
from qreg_boost.boosting.learners.bsplines import Knots, difference_penalty, gram
from qreg_boost.boosting.loop import boost
from qreg_boost.boosting.loops import loop_of
from tests.unit.boosting.cases import assert_same_path, frame, paths


def predictors(X: np.ndarray, weights=None, intercept: bool = True) -> Predictors:
    n, p = X.shape
    names = tuple(f"x{j + 1}" for j in range(p))
    return Predictors(
        X=np.ascontiguousarray(X, dtype=float),
        weights=np.ones(n) if weights is None else weights,
        blocks=np.arange(p + 1),
        terms=names,
        columns=names,
        intercept=intercept,
    )


def prepared(learner: Spline, X: np.ndarray, weights=None, intercept: bool = True) -> BandedBlocks:
    return learner.prepare(predictors(X, weights, intercept))


def basis(x: np.ndarray, learner: Spline | None = None) -> np.ndarray:
    """Return the basis by scipy, which sums over knots in its own way."""
    k, d = (20, 3) if learner is None else (learner.knots, learner.degree)
    knots = x.min() + np.ptp(x) / (k + 1) * np.arange(-d, k + d + 2)
    return BSpline.design_matrix(np.clip(x, knots[d], knots[-d - 1]), knots, d).toarray()


def smoother(B: np.ndarray, w: np.ndarray, penalty: float, differences: int = 2) -> np.ndarray:
    K = difference_penalty(B.shape[1], differences)
    return B @ np.linalg.solve(B.T @ (w[:, None] * B) + penalty * K, B.T * w)


# -- the basis


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("inner", [1, 5, 20])
def test_basis_is_scipys(degree: int, inner: int) -> None:
    x = np.concatenate((np.random.default_rng(0).uniform(-3, 7, 60), [-3.0, 7.0, 2.0]))
    ours = Knots(-3.0, 7.0, inner, degree).columns(x)
    np.testing.assert_allclose(ours, basis(x, Spline(degree=degree, knots=inner, df=2.5)), atol=1e-13)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_go_on_as_straight_lines(degree: int) -> None:
    b = np.random.default_rng(1).normal(size=5 + degree + 1)
    knots = Knots(0.0, 2.0, 5, degree)
    for edge, away in ((0.0, -1.0), (2.0, 1.0)):
        line = knots.columns(edge + away * np.array([0.0, 1.0, 2.0, 50.0])) @ b
        np.testing.assert_allclose(line[3] - line[0], 50.0 * (line[1] - line[0]), rtol=1e-12)
        inside = knots.columns(np.array([edge - away * 1e-6])) @ b
        assert (line[0] - inside[0]) / 1e-6 == pytest.approx(line[1] - line[0], abs=1e-3 * np.abs(b).max())


def test_gram_of_bands() -> None:
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=80), rng.uniform(0.1, 2, 80)
    knots = Knots(float(x.min()), float(x.max()), 7, 3)
    B = knots.columns(x)
    np.testing.assert_allclose(gram(*knots.bands(x), w, knots.count), B.T @ (w[:, None] * B), atol=1e-13)


# -- the learner


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_update_is_the_penalised_least_squares_fit_of_least_error(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(90, 3)), rng.normal(size=90)
    w = rng.uniform(0.3, 2.0, 90) if weighted else np.ones(90)
    learner = prepared(Spline(), X, w)
    fits = []
    for j in range(3):
        B, block = basis(X[:, j]), slice(*learner.blocks[j : j + 2])
        # the penalty that brings the trace of 2S - S'S to 4, found here by bisection on its logarithm
        low, high = -20.0, 20.0
        for _ in range(100):
            S = smoother(B, w, np.exp((low + high) / 2))
            root = np.sqrt(w)[:, None] * S / np.sqrt(w)
            over = np.trace(2 * root - root.T @ root) > 4
            low, high = ((low + high) / 2, high) if over else (low, (low + high) / 2)
        fits.append(smoother(B, w, np.exp(low)) @ u)
        assert block.stop - block.start == 24
    errors = [w @ (u - fit) ** 2 for fit in fits]
    update = learner.update(u)
    assert update.learner == int(np.argmin(errors))
    np.testing.assert_allclose(update.fitted, fits[update.learner], atol=1e-7)
    assert update.level == pytest.approx(np.average(u, weights=w), rel=1e-12)


@pytest.mark.parametrize(
    "options", [{"df": 3}, {"df": 8, "differences": 3}, {"df": 1.5, "differences": 1, "degree": 2}]
)
def test_degrees_of_freedom(options: dict) -> None:
    """The smoother, read off column by column from updates to unit vectors."""
    x = np.random.default_rng(0).exponential(size=(50, 1))
    learner = prepared(Spline(**options), x)
    S = np.column_stack([learner.update(u).fitted for u in np.eye(50)])
    assert np.trace(2 * S - S.T @ S) == pytest.approx(options["df"], rel=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_learner_of_other_weights_is_the_learner_prepared_with_them(intercept: bool) -> None:
    rng = np.random.default_rng(3)
    X, u, w, other = (
        rng.normal(size=(70, 2)), rng.normal(size=70), rng.uniform(0.2, 2, 70), rng.uniform(0.2, 2, 70),
    )  # fmt: skip
    learner = prepared(Spline(), X, w, intercept)
    one, two = learner.reweighted(other).update(u), prepared(Spline(), X, other, intercept).update(u)
    np.testing.assert_allclose(one.fitted, two.fitted, atol=1e-10)
    # told about the centres of the path, the same fit
    k = one.learner
    b = slice(*learner.blocks[k : k + 2])
    B = Knots(X[:, k].min(), X[:, k].max(), 20, 3).columns(X[:, k])
    np.testing.assert_allclose(one.level + (B - learner.centre[b]) @ one.slopes, one.fitted, atol=1e-10)


def test_what_is_no_numeric_column_is_linear() -> None:
    data = frame(100).assign(few=np.arange(100) % 4, more=np.arange(100) % 5)
    fit = qb.qbr("y ~ x1 + g + few + more", data, 0.4, learner="spline", mstop=20)
    assert [knots is not None for knots in fit.path.knots] == [True, False, False, True]


def test_a_binary_column_alone_has_coefficients() -> None:
    data = frame(60).assign(b=np.arange(60) % 2)
    fit = qb.qbr("y ~ b + g", data, 0.4, learner="spline", mstop=20)
    linear = qb.qbr("y ~ b + g", data, 0.4, learner="linear", mstop=20)
    assert fit.has_coefficients and fit.selected.equals(linear.selected)
    np.testing.assert_allclose(fit.params, linear.params, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_of_a_predictor_do_not_matter(scale: float) -> None:
    data = frame(150)
    one = qb.qbr("y ~ x1 + x2", data, 0.3, learner="spline")
    other = qb.qbr("y ~ x1 + x2", data.assign(x1=scale * data["x1"] + 3 * scale), 0.3, learner="spline")
    np.testing.assert_allclose(other.fittedvalues, one.fittedvalues, rtol=1e-9, atol=1e-9)


def test_predictions_beyond_the_rows_are_straight_and_missing_where_a_value_is() -> None:
    data = frame(120)
    fit = qb.qbr("y ~ x1 + x2", data, 0.5, learner="spline")
    top = data["x1"].max()
    new = pd.DataFrame({"x1": [top, top + 1, top + 2, np.nan], "x2": 0.0})
    at = fit.predict(new)
    assert at[2] - at[1] == pytest.approx(at[1] - at[0], rel=1e-9) and np.isnan(at[3])


def test_more_terms_than_rows_and_gaps_between_values() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 40)) < 0.5, rng.normal(size=(30, 40)), 100 + rng.normal(size=(30, 40)))
    fit = qb.QBR(rng.normal(size=30), X, 0.5, learner="spline", mstop=300).fit()
    assert np.isfinite(fit.fittedvalues).all() and fit.risk < 0.3 * fit.risk_path[0]


@pytest.mark.parametrize("formula", ["y ~ x1 + g + x2", "y ~ 0 + x1 + g", "y ~ x1 + x1:x2"])
@pytest.mark.parametrize("learner", [Spline(monotone=1), Spline(df=6, knots=8, degree=2), {"x1": "spline"}])
@pytest.mark.parametrize("step", ["fixed", "adaptive", "line"])
def test_both_loops_are_one(formula: str, learner, step: str) -> None:
    data = frame(200, seed=5)
    weights = np.random.default_rng(0).uniform(0, 2, 200)
    model = qb.QBR.from_formula(formula, data, 0.4, learner=learner, step=step, weights=weights)
    assert_same_path(*paths(model, 150), tolerance=1e-9)


def test_sums_taken_anew_change_nothing(monkeypatch) -> None:
    """Beyond several returns to Python and refreshed sums."""
    model = qb.QBR.from_formula("y ~ x1 + x2", frame(60), 0.5, learner="spline", nu=1.0, step="fixed")
    task = model.task(model.weights)
    assert loop_of(task) is not boost
    assert_same_path(*paths(model, 1300), tolerance=1e-9)


# -- monotone splines


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.ConvergenceWarning")  # steps of nu = 1 may be too long
@pytest.mark.parametrize("seed", range(500))
def test_monotone_splines_never_turn(seed: int) -> None:
    """Any tau, weights, steps and shape of the data, on a grid beyond the range too; rounding is 1e-12 of the range."""
    rng = np.random.default_rng(seed)
    n, sign = int(rng.integers(12, 200)), int(rng.choice([-1, 1]))
    x1, x2 = rng.normal(size=n) * rng.choice([1, 100]), rng.exponential(size=n)
    y = rng.choice([-1, 1]) * x1 + np.sin(5 * x2) + rng.standard_t(2, size=n)
    learner = Spline(monotone={"x1": sign}, knots=int(rng.integers(3, 25)))
    weights = rng.integers(0, 3, n).astype(float) if seed % 2 else None
    if weights is not None:
        weights[:6] = 1.0
    fit = qb.QBR(
        y, np.column_stack((x1, x2)), float(rng.uniform(0.05, 0.95)), learner=learner, weights=weights,
        step=("fixed", "adaptive")[seed % 2], nu=float(rng.choice([0.1, 1.0])), mstop=60, progress=False,
    ).fit()  # fmt: skip
    grid = np.linspace(x1.min() - np.ptp(x1), x1.max() + np.ptp(x1), 801)
    for m in (1, 7, fit.mstop):
        curve = fit.at(m).predict(np.column_stack((grid, np.full(801, np.median(x2))))).to_numpy()
        assert (sign * np.diff(curve) >= -1e-12 * (np.ptp(y) + np.ptp(curve))).all()


def test_a_monotone_update_is_the_constrained_least_squares_fit() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=80), rng.uniform(0.2, 2, 80)
    learner = prepared(Spline(monotone=-1), x[:, None], w)
    free = prepared(Spline(), x[:, None], w)
    B, K = basis(x), difference_penalty(24, 2)
    for _ in range(20):
        u = rng.normal(size=80)
        update = learner.update(u)
        # penalty read off from the unconstrained fit: lambda K b = B'W(u - fit)
        plain = free.update(u)
        b = plain.slopes + plain.level
        penalty = (B.T @ (w * (u - plain.fitted))) @ b / (b @ K @ b)
        down = np.column_stack((np.ones(24), -np.tril(np.ones((24, 23)), -1)))
        root = np.sqrt(w)[:, None]
        rows = np.vstack((root * B, np.sqrt(penalty) * np.diff(np.eye(24), 2, axis=0))) @ down
        target = np.concatenate((np.sqrt(w) * u, np.zeros(22)))
        found = lsq_linear(rows, target, (np.r_[-np.inf, np.zeros(23)], np.inf), method="bvls", tol=1e-14)
        np.testing.assert_allclose(update.fitted, B @ down @ found.x, atol=1e-6)
        assert (np.diff(update.slopes) <= 0).all()


TRUTHS = {"line": lambda x: 3 * x, "curve": lambda x: 1 / (1 + np.exp(-12 * (x - 0.5))), "step": lambda x: x > 0.5}


def monotone_data(name: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 400)
    return pd.DataFrame({"x": x, "y": TRUTHS[name](x) + 0.1 * rng.normal(size=400)})


@pytest.mark.parametrize("step", ["fixed", "adaptive"])
@pytest.mark.parametrize("name", TRUTHS)
def test_where_the_truth_is_monotone_little_is_lost(name: str, step: str) -> None:
    """Updates each of which is monotone lose 5 to 60 percent here: they cannot take back what they overdid."""
    data = monotone_data(name)
    free, rising = (
        qb.qbr("y ~ x", data, 0.5, learner=Spline(monotone=sign), mstop=300, step=step) for sign in (None, 1)
    )
    assert rising.risk < 1.02 * free.risk
    falling = qb.qbr("y ~ x", data, 0.5, learner=Spline(monotone=-1), step=step)
    assert falling.risk > 0.9 * falling.risk_path[0]


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.ConvergenceWarning")  # the line search stalls
@pytest.mark.parametrize("step", ["fixed", "adaptive", "line"])
def test_monotone_runs_go_on_where_they_stopped(step: str, tmp_path) -> None:
    data = monotone_data("curve")
    options = {"learner": Spline(monotone=1), "step": step, "progress": False}
    long, short = (qb.qbr("y ~ x", data, 0.3, mstop=m, **options) for m in (90, 31))
    np.testing.assert_allclose(short.extend(90).fittedvalues, long.fittedvalues, rtol=1e-9, atol=1e-9)
    again = qb.load(short.save(tmp_path / "fit.qb"))
    np.testing.assert_array_equal(again.path.memory.last, short.path.memory.last)
    held = long.path.memory.last[25:]
    np.testing.assert_allclose(held, long.path.slopes_at(long.mstop), atol=1e-12)


@pytest.mark.parametrize("family", ["l2boost", "qbc", "logitboost"])
def test_other_losses_keep_terms_monotone(family: str) -> None:
    data = monotone_data("curve").assign(z=np.random.default_rng(1).normal(size=400))
    data["y"] = data["y"] + np.sin(20 * data["x"]) * 0.3
    response = "y" if family == "l2boost" else "I(y > 0.5)"
    fit = getattr(qb, family)(f"{response} ~ x + z", data, learner=Spline(monotone={"x": 1}), mstop=80)
    effect = fit.effect("x", grid=np.linspace(-0.5, 1.5, 500))["effect"].to_numpy()
    assert np.diff(effect).min() >= -1e-12 * np.ptp(effect) and np.ptp(effect) > 0.1
    free = getattr(qb, family)(f"{response} ~ x + z", data, learner="spline", mstop=80)
    assert np.diff(free.effect("x", grid=500)["effect"]).min() < 0


# -- messages


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"df": 2}, 'must be above `differences`, 2: so many degrees of freedom are not penalised; got 2. Give more, '
                    'or differences=1; for straight lines use the learner "linear".'),
        ({"df": 30}, "df=30 cannot be reached: a spline on 20 inner knots of degree 3 has 24 coefficients."),
        ({"df": -1}, "`df` must be a number above 0"),
        ({"knots": 0}, "`knots` must be a whole number of at least 1"),
        ({"degree": 0}, "`degree` must be a whole number of at least 1"),
        ({"differences": 24}, "`differences` must be below the 24 coefficients"),
        ({"monotone": "up"}, "`monotone` must be 1 (rising), -1 (falling), a dict"),
        ({"monotone": {"x1": 2}}, "`monotone` must be 1 (rising), -1 (falling), a dict"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(options: dict, words: str) -> None:
    with pytest.raises(InputError) as caught:
        Spline(**options)
    assert words in str(caught.value)


def test_degrees_of_freedom_that_the_rows_do_not_allow() -> None:
    data = frame(60)
    far = data.assign(x1=np.where(np.arange(60) == 3, 1e7, data["x1"]))
    with pytest.raises(
        InputError, match=r"Term 'x1' cannot have df=4: on 20 equidistant knots its values allow for 3 at"
    ):
        qb.qbr("y ~ x1 + x2", far, learner="spline")
    with pytest.raises(InputError, match=r"Term 'x1' cannot have df=23\.99"):
        qb.qbr("y ~ x1", data.iloc[:24], learner=Spline(df=23.99))
    # weights of an iteration may leave fewer: then as many as there can be
    learner = prepared(Spline(), data[["x1"]].to_numpy())
    light = np.where(np.arange(60) < 3, 1.0, 1e-30)
    u = np.random.default_rng(0).normal(size=60)
    assert np.isfinite(learner.reweighted(light).update(u).fitted).all()


def test_monotone_terms_must_be_splines() -> None:
    data = frame(50)
    with pytest.raises(InputError, match=r"names 'x_1', which is no term of this fit. Did you mean 'x1'\?"):
        qb.qbr("y ~ x1 + g", data, learner=Spline(monotone={"x_1": 1}))
    with pytest.raises(InputError, match=r"names 'g', which is linear in this fit. Splines: x1."):
        qb.qbr("y ~ x1 + g", data, learner=Spline(monotone={"g": 1}))
