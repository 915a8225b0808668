"""`r.rq`: R's fit under pandas' labels, and what it does with offsets, weights, dots and missing rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.datasets import engel

import qreg_boost as qb
import qreg_boost.r as r
from qreg_boost.base.checks import FormulaError, InputError
from qreg_boost.r.session import evaluate

pytestmark = pytest.mark.r("quantreg")
# R prints quantreg's own answer to 1e-12 of ours: the same call on the same doubles.
EXACT = {"rtol": 1e-12, "atol": 0}


@pytest.fixture(scope="module")
def data():
    return engel.load_pandas().data.astype(float)


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(4)
    n = 60
    frame = pd.DataFrame({
        "x": rng.normal(size=n),
        "g": pd.Categorical(rng.choice(["b", "a"], n), categories=["b", "a"]),
        "w": rng.uniform(0.5, 2.0, n),
        "z": rng.normal(size=n),
        "a b": rng.normal(size=n),
    }, index=[f"row {i}" for i in range(n)])  # fmt: skip
    frame["y"] = 1 + frame["x"] + (frame["g"] == "a") + rng.normal(size=n)
    return frame


def check_loss(resid, tau, weights=1.0):
    return float(np.sum(weights * resid * (tau - (resid < 0))))


def test_engel(data):
    fit = r.rq("foodexp ~ income", data, tau=0.5)
    # Printed by R 4.2.2 with quantreg 5.94: coef(rq(foodexp ~ income, data = engel)).
    np.testing.assert_allclose(fit.params.to_numpy(), [81.4822474, 0.5601806], rtol=1e-7)
    assert fit.params.index.tolist() == ["(Intercept)", "income"]
    assert fit.resid.index.equals(data.index) and fit.fittedvalues.index.equals(data.index)
    np.testing.assert_allclose(fit.fittedvalues + fit.resid, data["foodexp"], rtol=1e-12)
    assert fit.objective == pytest.approx(check_loss(fit.resid, 0.5), rel=1e-14)
    assert (fit.nobs, fit.n_dropped, fit.tau, fit.method) == (235, 0, 0.5, "br")
    assert evaluate("class(f)", f=fit._object).item() == "rq"
    assert "foodexp ~ income" in repr(fit) and "8779.97" in repr(fit)
    with pytest.raises(AttributeError):
        fit.tau = 0.9


def test_several_taus(data):
    fit = r.rq("foodexp ~ income", data, tau=[0.9, 0.1])  # R gives them back sorted
    assert fit.params.shape == (2, 2) and fit.params.columns.tolist() == [0.9, 0.1]
    assert fit.resid.shape == (235, 2)
    for tau in (0.1, 0.9):
        alone = r.rq("foodexp ~ income", data, tau=tau)
        np.testing.assert_allclose(fit.params[tau], alone.params, **EXACT)
        np.testing.assert_allclose(fit.fittedvalues[tau], alone.fittedvalues, **EXACT)
        assert fit.objective[tau] == pytest.approx(alone.objective, rel=1e-12)
    assert evaluate("class(f)", f=fit._object).item() == "rqs"
    assert r.rq("foodexp ~ income", data, tau=[0.5, 0.5]).params.shape == (2, 2)
    one = r.rq("foodexp ~ income", data, tau=[0.1])
    assert one.params.shape == (2, 1) and one.tau == (0.1,)


def test_it_is_the_call_that_r_would_make(made):
    fit = r.rq("y ~ x + g", made, tau=0.3, weights="w")
    direct = evaluate("f <- quantreg::rq(y ~ x + g, 0.3, d, weights = w); list(coef = coef(f), rho = f$rho)", d=made)
    np.testing.assert_allclose(fit.params, direct["coef"], **EXACT)
    assert fit.params.index.tolist() == direct["coef"].index.tolist() == ["(Intercept)", "x", "ga"]
    assert fit.objective == pytest.approx(check_loss(fit.resid, 0.3, made["w"]), rel=1e-14)
    # Weights multiply the loss: doubling them doubles the objective and moves nothing else.
    twice = r.rq("y ~ x + g", made, tau=0.3, weights=2 * made["w"].to_numpy())
    np.testing.assert_allclose(twice.params, fit.params, rtol=1e-9)
    assert twice.objective == pytest.approx(2 * fit.objective, rel=1e-12)


def test_weights_and_offset_align_by_index(made):
    shuffled = made["w"].sample(frac=1, random_state=0)
    fit = r.rq("y ~ x", made, weights=shuffled, offset=made["z"][::-1])
    direct = r.rq("I(y - z) ~ x", made, weights="w")
    np.testing.assert_allclose(fit.params, direct.params, **EXACT)


@pytest.mark.parametrize("how", [{"offset": "z"}, {"formula": "y ~ x + offset(z)"}])
def test_an_offset_becomes_y_minus_offset(made, how):
    fit = r.rq(**{"formula": "y ~ x", "data": made, **how})
    direct = r.rq("I(y - z) ~ x", made)
    np.testing.assert_allclose(fit.params, direct.params, **EXACT)
    np.testing.assert_allclose(fit.resid, direct.resid, rtol=1e-12, atol=1e-14)
    assert fit.objective == pytest.approx(direct.objective, rel=1e-12)


def test_two_offsets_add_up(made):
    fit = r.rq("y ~ x + offset(z)", made, offset=made["w"])
    np.testing.assert_allclose(fit.params, r.rq("I(y - z - w) ~ x", made).params, **EXACT)


def test_the_dot_leaves_out_response_weights_and_offset(made):
    fit = r.rq("y ~ .", made, weights="w", offset="z")
    assert fit.params.index.tolist() == ["(Intercept)", "x", "ga", "`a b`"]
    assert r.rq("np.exp(y) ~ . - z - w", made, tau=0.47).params.index.tolist() == ["(Intercept)", "x", "ga", "`a b`"]


def test_the_part_of_patsy_that_r_shares(made):
    fit = r.rq("y ~ C(g) + I(x**2) + np.abs(z) + Q('a b')", made)
    direct = r.rq("y ~ factor(g) + I(x^2) + abs(z) + `a b`", made)
    pd.testing.assert_series_equal(fit.params, direct.params)
    assert r.rq("y ~ bs(x, df=4)", made).params.size == 5


def test_missing_rows_are_left_out_and_counted(made):
    holes = made.assign(x=made["x"].where(np.arange(60) != 3))
    fit = r.rq("y ~ x", holes, weights="w", offset="z")
    assert (fit.nobs, fit.n_dropped) == (59, 1)
    assert fit.resid.index.equals(made.index.delete(3))
    direct = r.rq("y ~ x", holes.drop(index="row 3"), weights="w", offset="z")
    np.testing.assert_allclose(fit.params, direct.params, **EXACT)
    assert fit.objective == pytest.approx(direct.objective, rel=1e-14)
    none = r.rq("y ~ x", holes, weights="w", offset="z", **{"na.action": evaluate("list(f = na.exclude)")["f"]})
    pd.testing.assert_series_equal(none.fittedvalues, fit.fittedvalues)
    some = r.rq("y ~ x", made, subset=np.arange(60) < 30)
    assert some.resid.index.equals(made.index[:30]) and some.n_dropped == 30


def test_duplicate_labels_are_kept(made):
    twice = made.set_axis(["same"] * 60)
    assert r.rq("y ~ x", twice).resid.index.equals(twice.index)


def test_columns_that_the_formula_does_not_need_do_no_harm(made):
    odd = made.assign(period=pd.period_range("2020", periods=60, freq="D"))
    assert r.rq("y ~ x", odd).nobs == 60
    with pytest.raises(InputError, match="Column 'period' cannot be passed to R"):
        r.rq("y ~ .", odd)


def test_a_column_of_an_internal_or_r_name(made):
    frame = made.rename(columns={"x": "qb_weights", "z": "c", "w": "T"})
    fit = r.rq("y ~ qb_weights + c + T", frame, weights=made["w"])
    np.testing.assert_allclose(fit.params, r.rq("y ~ x + z + w", made, weights="w").params, **EXACT)


def test_interior_point_of_r_and_penalised_fits(made):
    exact = r.rq("y ~ x + z", made)  # a unique optimum; R's interior point stops within 1e-6 of the loss
    np.testing.assert_allclose(r.rq("y ~ x + z", made, method="fn").params, exact.params, rtol=1e-4, atol=1e-5)
    assert r.rq("y ~ x + z", made, method="lasso", **{"lambda": 5.0}).params.size == 3


def test_the_penalty_of_r_is_half_its_lambda(made):
    """As the docstring of l1qreg and the page from R have it."""
    path = qb.l1qreg("y ~ x + z", made, tau=0.4)
    lam = float(path.knots["lam"].iloc[0]) / 3.0
    theirs = r.rq("y ~ x + z", made, tau=0.4, method="lasso", **{"lambda": 2.0 * lam}).params
    ours = path.at(lam=lam).params
    assert 0.0 < np.abs(ours.iloc[1:]).sum() < np.abs(path.at(lam=0.0).params.iloc[1:]).sum()
    # R's interior point stops within 1e-6 of the loss, which is flat near its least: its coefficients are less exact
    np.testing.assert_allclose(theirs, ours, rtol=1e-3, atol=1e-4)

    def penalised(b):
        resid = made["y"] - b.iloc[0] - made[["x", "z"]].to_numpy() @ b.iloc[1:].to_numpy()
        return float((resid * (0.4 - (resid < 0.0))).sum() + lam * b.iloc[1:].abs().sum())

    assert penalised(ours) <= penalised(theirs) <= penalised(ours) * (1.0 + 1e-6)


def test_results_go_on_to_r(made):
    fit = r.rq("y ~ x + g", made, tau=0.47)
    table = evaluate("summary(f, se = 'iid')$coefficients", f=fit._object)
    assert table.shape == (3, 4) and table.index.tolist() == fit.params.index.tolist()
    assert fit.robject.typeof == 19  # a list, R's VECSXP


def test_nonunique_solutions_warn_once_at_the_caller(recwarn):
    r.rq("y ~ 1", pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0]}))
    assert [str(w.message) for w in recwarn] == ["R: Solution may be nonunique"]
    assert recwarn[0].filename == __file__


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"formula": "y ~ xx"}, FormulaError, r"Column 'xx' in \"y ~ xx\" is not in `data`. Did you mean 'x'\?"),
        ({"formula": "y ~ x +* z"}, FormulaError, r"R cannot read the formula \"y ~ x \+\* z\".*unexpected"),
        ({"formula": "y ~ x + I(2 * x)"}, FormulaError, r"is singular: I\(2 \* x\) can be written"),
        ({"formula": "y ~ x + I(2 * x)", "method": "fn"}, FormulaError, "is singular"),
        ({"formula": "y ~ nofunction(x)"}, InputError, "could not find function"),
        ({"tau": 1.5}, InputError, "strictly between 0 and 1"),
        ({"tau": []}, InputError, "empty list"),
        ({"weights": "ww"}, InputError, r"names the column 'ww'.*Did you mean 'w'\?"),
        ({"weights": [1.0, 2.0]}, InputError, "60 rows, but 2 values"),
        ({"weights": -np.ones(60)}, InputError, "must not be negative"),
        ({"offset": np.full(60, np.inf)}, InputError, "`offset` must be finite"),
        ({"method": "nosuch"}, InputError, "R stopped"),
        ({"method": 3}, InputError, "`method` must be one of quantreg's names"),
        ({"subset": "x > 0"}, InputError, "one True or False for each of the 60 rows"),
        ({"subset": np.zeros(60, bool)}, FormulaError, "No row of `data` is complete"),
        ({"formula": "g ~ x"}, FormulaError, r"response of \"g ~ x\" must be numbers; R has it as factor"),
        ({"formula": "log(0 * w) ~ x"}, FormulaError, r"log\(0 \* w\) in .* has infinite values"),
        ({"formula": "y ~ I(1 / (0 * x))"}, FormulaError, r"I\(1/\(0 \* x\)\) in .* has infinite values"),
        ({"formula": "y ~ factor(0 * x)"}, FormulaError, r"factor\(0 \* x\) in .* has a single level"),
        ({"formula": "y ~ 0"}, FormulaError, "neither terms nor an intercept"),
        ({"data": [1]}, InputError, "must be a pandas DataFrame; got list"),
        ({"data": pd.DataFrame({"y": [], "x": []})}, InputError, "has no rows"),
    ],
)
def test_messages(made, change, error, message):
    with pytest.raises(error, match=message):
        r.rq(**{"formula": "y ~ x", "data": made, **change})


def test_labels_that_cannot_be_aligned(made):
    weights = made["w"].set_axis(["same"] * 60)
    with pytest.raises(InputError, match="cannot be aligned by index"):
        r.rq("y ~ x", made, weights=weights)


def test_availability_of_this_machine():
    found = r.available()
    assert found.ready and found.packages["quantreg"]
