"""Binary quantile regression: optimality, what does not change it, what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import BoundWarning, ConvergenceWarning, InputError, NotDefinedError, OneClassWarning
from qreg_boost.classify.score import Score, Standard


def frame(n: int = 200, p: int = 2, seed: int = 0) -> pd.DataFrame:
    """Return predictors x1..xp and a label y that x1 and x2 explain in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    data = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(p)])
    data["y"] = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0.3, "yes", "no")
    return data


def fitted(data: pd.DataFrame, formula: str = "y ~ x1 + x2", **options):
    return qb.binary_qreg(formula, data, **{"progress": False, "starts": 30, **options})


def score_of(data: pd.DataFrame, columns: list[str], tau: float, h: float = 0.1) -> Score:
    X = data[columns].to_numpy()
    y = (data["y"] == "yes").to_numpy().astype(float)
    return Score.of(Standard.of(X, None, True).apply(X), y, tau, h, None, True)


@pytest.mark.parametrize("tau", [0.3, 0.5, 0.8])
def test_no_direction_and_no_cut_does_better(tau: float) -> None:
    """With two predictors, every direction and every intercept can be tried."""
    data = frame(120)
    score = score_of(data, ["x1", "x2"], tau)
    best = -np.inf
    for angle in np.linspace(0.0, 2.0 * np.pi, 361):
        index = score.D[:, 1:] @ np.array([np.cos(angle), np.sin(angle)])
        for cut in np.linspace(-3.0, 3.0, 61):
            best = max(best, float(score.value(np.array([cut, np.cos(angle), np.sin(angle)]))))
        assert len(index) == len(data)
    assert fitted(data, tau=tau).score >= best


def test_gradient_is_nil_at_the_coefficients() -> None:
    data = frame(300, 4)
    fit = fitted(data, "y ~ x1 + x2 + x3 + x4", tau=0.4)
    score = score_of(data, ["x1", "x2", "x3", "x4"], 0.4)
    value, gradient = score.value_and_gradient(fit.params_standardized.to_numpy())
    assert value == pytest.approx(fit.score, rel=1e-12)
    slopes = fit.params_standardized.to_numpy()[1:]
    along = gradient[1:] - slopes * (slopes @ gradient[1:])
    # terms of size 1/h, 300 of them: their rounding
    assert max(abs(gradient[0]), np.abs(along).max()) < 1e-10
    assert np.linalg.norm(slopes) == pytest.approx(1.0, abs=1e-12)


def test_rescaled_columns_rescale_the_coefficients_alone() -> None:
    data = frame()
    other = data.assign(x1=100.0 * data["x1"] + 3.0, x2=-data["x2"])
    one, two = fitted(data), fitted(other)
    assert two.score == pytest.approx(one.score, rel=1e-9)
    # Newton's steps end at the rounding of the gradient, which standardising anew changes
    assert two.params["x1"] == pytest.approx(one.params["x1"] / 100.0, rel=1e-9)
    assert two.params["x2"] == pytest.approx(-one.params["x2"], rel=1e-9)
    np.testing.assert_allclose(two.decision_function(), one.decision_function(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("unit", [2.0**600, 2.0**-600])
def test_units_of_any_size(unit: float) -> None:
    data = frame()
    one, two = fitted(data), fitted(data.assign(x1=unit * data["x1"]))
    # a power of two costs no digit
    assert two.score == one.score and two.params["x1"] * unit == one.params["x1"]


def test_flipping_the_labels_flips_the_coefficients() -> None:
    data = frame()
    one = fitted(data, tau=0.3)
    two = fitted(data, tau=0.7, event="no")
    np.testing.assert_allclose(two.params, -one.params, rtol=0, atol=1e-9)
    total = 0.7 * (data["y"] == "no").sum() - 0.3 * (data["y"] == "yes").sum()
    # sum d K(-t) = sum d - sum d K(t)
    assert two.score == pytest.approx(one.score + total, abs=1e-8)


def test_weights_are_repetitions() -> None:
    data = frame(150)
    data["w"] = np.random.default_rng(1).integers(0, 3, len(data))
    one = fitted(data, weights="w")
    two = fitted(data.loc[data.index.repeat(data["w"])])
    assert one.score == pytest.approx(two.score, rel=1e-9)
    np.testing.assert_allclose(one.params, two.params, rtol=0, atol=1e-9)
    assert one.error_rate == pytest.approx(two.error_rate, abs=1e-12)


def test_a_named_column_has_a_coefficient_of_one() -> None:
    data = frame().assign(x1=lambda d: 50.0 * d["x1"])
    fit = fitted(data, normalize="x1")
    assert fit.params["x1"] == pytest.approx(1.0, abs=1e-12)
    negative = fitted(data.assign(x1=-data["x1"]), normalize="x1")
    assert negative.params["x1"] == pytest.approx(-1.0, abs=1e-12)
    assert negative.score == pytest.approx(fit.score, rel=1e-9)
    design = data[["x1", "x2"]].to_numpy() @ fit.params[["x1", "x2"]].to_numpy() + fit.params["Intercept"]
    np.testing.assert_allclose(fit.decision_function(), design, rtol=0, atol=1e-10)


def test_a_column_that_hardly_matters_as_the_unit_is_warned_of() -> None:
    """Rows crowd at the boundary of x1, so that ever larger coefficients of it tell more of them apart."""
    x1 = np.linspace(-1.0, 1.0, 200) ** 5
    data = pd.DataFrame({"x1": x1, "noise": np.random.default_rng(0).normal(size=200)})
    data["y"] = np.where(x1 > 0, "yes", "no")
    with pytest.warns(BoundWarning, match="1000 times"):
        fitted(data, "y ~ x1 + noise", normalize="noise")


def test_coefficients_come_near_the_truth() -> None:
    data = frame(4000, seed=3)
    fit = fitted(data, starts=10)
    # the median of a symmetric error: slopes in the ratio of the truth, -1; the estimator's error is about n^-2/5
    assert fit.params["x2"] / fit.params["x1"] == pytest.approx(-1.0, abs=0.25)
    assert fit.params["Intercept"] / fit.params["x1"] == pytest.approx(-0.3, abs=0.2)


def test_predictions() -> None:
    data = frame().assign(g=lambda d: np.where(d.index % 3 == 0, "u", "v"))
    fit = fitted(data, "y ~ x1 + x2 + g")
    f = fit.decision_function(data)
    assert (fit.predict(data) == np.where(f >= 0, "yes", "no")).all()
    assert fit.error_rate == pytest.approx((fit.predict() != data["y"]).mean(), abs=1e-15)
    assert fit.predict({"x1": [np.nan, 0.0], "x2": [0.0, 0.0], "g": ["u", "u"]}).isna().tolist() == [True, False]
    with pytest.raises(InputError, match="'g'"):
        fit.predict({"x1": [0.0], "x2": [0.0], "g": ["w"]})
    assert len(fit.predict(data.iloc[[0]])) == 1


def test_rows_that_miss_something_are_dropped() -> None:
    data = frame()
    data.loc[3, "x1"] = np.nan
    data.loc[5, "y"] = None
    fit = fitted(data)
    assert (fit.nobs, fit.facts.n_dropped) == (198, 2)
    assert fit.params.equals(fitted(data.dropna()).params)


def test_optima_are_the_distinct_maxima() -> None:
    fit = fitted(frame(100, 4), "y ~ x1 + x2 + x3 + x4")
    table = fit.optima
    assert fit.n_optima == len(table) and table["starts"].sum() == fit.facts.own["starts"]
    assert (np.diff(table["score"]) < 0).all()
    assert fit.spread == table["score"].iloc[0] - table["score"].iloc[-1]
    np.testing.assert_allclose(table.iloc[0][fit.params.index].astype(float), fit.params, rtol=1e-14)


def test_the_same_seed_gives_the_same_fit() -> None:
    data = frame(100, 4)
    one, two = (fitted(data, "y ~ x1 + x2 + x3 + x4", rng=7) for _ in range(2))
    assert one.params.equals(two.params)
    annealed = [fitted(data, method="annealing", iterations=50, rng=7) for _ in range(2)]
    assert annealed[0].params.equals(annealed[1].params)


def test_without_intercept() -> None:
    fit = fitted(frame(), "y ~ 0 + x1 + x2")
    assert list(fit.params.index) == ["x1", "x2"]
    assert fit.decision_function({"x1": [0.0], "x2": [0.0]}).tolist() == [0.0]


def test_the_unsmoothed_score_counts_rows() -> None:
    data = frame(80)
    fit = fitted(data, h=0)
    y = (data["y"] == "yes").to_numpy()
    flagged = (fit.decision_function() >= 0).to_numpy()
    assert fit.score == pytest.approx(0.5 * (y & flagged).sum() - 0.5 * (~y & flagged).sum(), abs=1e-9)
    assert fit.score >= fitted(data).score - 1.0
    with pytest.raises(NotDefinedError, match="cube root"):
        fit.conf_int()


def test_intervals_hold_the_coefficients_and_do_not_depend_on_workers() -> None:
    fit = fitted(frame(300))
    one = fit.conf_int(alpha=0.1, reps=30, rng=1, progress=False)
    two = fit.conf_int(alpha=0.1, reps=30, rng=1, n_jobs=2, progress=False)
    pd.testing.assert_frame_equal(one, two)
    assert (one["lower"] < one["upper"]).all()
    assert (one["lower"] - 0.3 < fit.params).all() and (fit.params < one["upper"] + 0.3).all()
    wide = fit.conf_int(alpha=0.01, reps=30, rng=1, progress=False)
    assert (wide["lower"] <= one["lower"]).all() and (wide["upper"] >= one["upper"]).all()
    table = fit.tidy(conf_int=True, reps=30, rng=1, alpha=0.1, progress=False)
    np.testing.assert_array_equal(table["conf_low"], one["lower"])
    assert "[0.05" in str(fit.summary(conf_int=True, reps=5, alpha=0.1, progress=False))


def test_warnings() -> None:
    with pytest.warns(ConvergenceWarning, match="without error"):
        fit = qb.BinaryQReg([0, 0, 0, 1, 1, 1], np.arange(6.0), progress=False).fit()
    assert fit.separated and fit.error_rate == 0.0
    rng = np.random.default_rng(0)
    with pytest.warns(OneClassWarning, match="every row"):
        qb.BinaryQReg(np.arange(60) % 2, rng.integers(0, 2, 60), tau=0.05, progress=False).fit()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 20}, "20th percentile"),
        ({"h": -1.0}, "`h` must be a number above 0"),
        ({"h": True}, "`h` must be a number above 0"),
        ({"method": "genetic"}, "`method` must be one of"),
        ({"starts": -1}, "`starts`"),
        ({"normalize": "x9"}, "name of a column; got 'x9'"),
        ({"event": "perhaps"}, "`event` must be one of"),
        ({"rng": "seed"}, "`rng` must be a seed"),
    ],
)
def test_options_are_checked(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(frame(), **change)


def test_columns_are_checked() -> None:
    data = frame().assign(one=2.5, twice=lambda d: 3.0 * d["x1"] - 2.0)
    with pytest.raises(InputError, match="'one' is the same in every row"):
        fitted(data, "y ~ x1 + one")
    with pytest.raises(InputError, match="'twice' is determined by the columns before"):
        fitted(data, "y ~ x1 + twice")
    with pytest.raises(InputError, match="no predictor"):
        fitted(data, "y ~ 1")
    with pytest.raises(InputError, match="one class only"):
        fitted(data.assign(y="yes"))
    with pytest.raises(InputError, match="3 distinct values"):
        fitted(data.assign(y=np.resize(["a", "b", "c"], len(data))))
    with pytest.raises(InputError, match="Unknown option 'start'"):
        qb.BinaryQReg([0, 1], [[0.0], [1.0]], start=3)
    with pytest.raises(
        InputError, match=r"`alpha` must lie strictly between 0 and 1; got 95\. For 95 % intervals write alpha=0\.05"
    ):
        fitted(data).conf_int(alpha=95)


@pytest.mark.parametrize("rows", [False, True])
def test_saved_and_pickled_fits_are_the_same(tmp_path, rows: bool) -> None:
    data = frame()
    fit = fitted(data, tau=0.4, normalize="x1")
    again = qb.load(fit.save(tmp_path / "fit.qb", data=rows))
    assert str(again.summary()) == str(fit.summary())
    assert again.params.equals(fit.params)
    pd.testing.assert_frame_equal(again.optima, fit.optima)
    np.testing.assert_array_equal(again.decision_function(data), fit.decision_function(data))
    if rows:
        options = {"reps": 5, "rng": 3, "progress": False}
        pd.testing.assert_frame_equal(again.conf_int(**options), fit.conf_int(**options))
    else:
        with pytest.raises(NotDefinedError, match="data=True"):
            again.conf_int()
    assert pickle.loads(pickle.dumps(fit)).params.equals(fit.params)


def test_a_generator_is_not_saved(tmp_path) -> None:
    fit = fitted(frame(), rng=np.random.default_rng(0))
    fit.save(tmp_path / "fit.qb")
    with pytest.raises(InputError, match="rng="):
        fit.save(tmp_path / "fit.qb", data=True)


def test_summary_says_what_was_done() -> None:
    text = str(fitted(frame(), tau=0.75).summary())
    for piece in ("Binary Quantile Regression Results", "h = 0.1", "slopes of norm 1", "Optima", "P(yes) > 1 - tau"):
        assert piece in text
    assert max(map(len, text.splitlines())) <= 78
