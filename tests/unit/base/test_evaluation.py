"""Fits of a number judged on rows: the same figures under the same names in every family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import d2_pinball_score, mean_pinball_loss, r2_score

import qreg_boost as qb
from qreg_boost.base.checks import InputError

TAU = 0.8


@pytest.fixture(scope="module")
def halves() -> tuple[pd.DataFrame, pd.DataFrame]:
    engel = qb.datasets.load("engel").rename(index="r{}".format)
    return engel.iloc[::2], engel.iloc[1::2]


FITS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "qbr": lambda data: qb.qbr("foodexp ~ income", data, TAU, mstop=20),
    "qbr stump": lambda data: qb.qbr("foodexp ~ income", data, TAU, learner="stump", mstop=20),
    "qreg": lambda data: qb.qreg("foodexp ~ income", data, TAU),
    "l1qreg": lambda data: qb.l1qreg("foodexp ~ income", data, TAU).select("sic"),
    "quanting": lambda data: qb.quanting("foodexp ~ income", data, TAU, cuts=5, learner="linear", mstop=5),
}


@pytest.mark.parametrize("family", FITS)
def test_other_rows_are_judged_as_by_scikit_learn(family: str, halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = FITS[family](train)
    found, predicted = fit.evaluate(test), fit.predict(test)
    assert list(found.index) == ["n", "mean_loss", "coverage", "r1"] and found["n"] == len(test)
    assert found["mean_loss"] == pytest.approx(mean_pinball_loss(test["foodexp"], predicted, alpha=TAU), rel=1e-12)
    assert found["r1"] == pytest.approx(d2_pinball_score(test["foodexp"], predicted, alpha=TAU), rel=1e-9)
    assert found["coverage"] == (test["foodexp"] <= predicted).mean()


@pytest.mark.parametrize("family", FITS)
def test_training_rows_give_the_figures_of_the_fit(family: str, halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    fit = FITS[family](halves[0])
    found = fit.evaluate()
    assert found["r1"] == pytest.approx(fit.prsquared, rel=1e-9)
    assert found["mean_loss"] * found["n"] == pytest.approx(fit.risk, rel=1e-9)


def test_rows_on_an_exact_fit_are_covered(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Two of the residuals are 0 but for rounding. At or below the fit are then at least tau n rows."""
    for tau in (0.1, 0.5, 0.9):
        found = qb.qreg("foodexp ~ income", halves[0], tau).evaluate()
        assert tau * found["n"] <= found["coverage"] * found["n"] + 1e-9 <= tau * found["n"] + 2 + 1e-6


@pytest.mark.parametrize("call", [qb.qbr, qb.qreg], ids=["qbr", "qreg"])
def test_weights_count_in_training_and_offsets_everywhere(
    call: Callable[..., Any], halves: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    train = halves[0].assign(w=np.arange(len(halves[0])) % 3, o=0.3 * halves[0]["income"])
    fit = call("foodexp ~ income", train, TAU, weights="w", offset="o")
    found = fit.evaluate()
    assert found["n"] == (train["w"] > 0).sum() == fit.nobs
    assert found["r1"] == pytest.approx(fit.prsquared, rel=1e-9)
    repeated = train.loc[train.index.repeat(train["w"])]
    pd.testing.assert_series_equal(fit.evaluate(repeated).drop("n"), found.drop("n"), rtol=1e-12)


def test_an_offset_that_was_no_column_goes_along(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = qb.qreg("foodexp ~ income", train, offset=0.3 * train["income"])
    by_name = qb.qreg("foodexp ~ income", train.assign(o=0.3 * train["income"]), offset="o")
    found = fit.evaluate(test, offset=0.3 * test["income"])
    pd.testing.assert_series_equal(found, by_name.evaluate(test.assign(o=0.3 * test["income"])))


def test_rows_with_something_missing_do_not_count(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = qb.qreg("foodexp ~ income", train)
    holes = test.astype(float)
    holes.iloc[0, 0] = holes.iloc[3, 1] = np.nan
    pd.testing.assert_series_equal(fit.evaluate(holes), fit.evaluate(holes.dropna()))
    with pytest.raises(InputError, match="no complete row"):
        fit.evaluate(holes.iloc[:1])


def test_the_response_may_come_apart(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """The response of "np.log(foodexp) ~ ..." is no column: it is passed, on the scale of the fit."""
    train, test = halves
    fit = qb.qreg("np.log(foodexp) ~ income", train)
    assert fit.evaluate(test, np.log(test["foodexp"]))["n"] == len(test)
    with pytest.raises(InputError, match=r"no column 'np\.log\(foodexp\)', which is the response; pass its values as"):
        fit.evaluate(test)
    with pytest.raises(InputError, match="different indexes"):
        fit.evaluate(test, np.log(test["foodexp"])[::-1])
    with pytest.raises(InputError, match="one value per row: 117 rows, but 3 values"):
        fit.evaluate(test, [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="must be numbers"):
        fit.evaluate(test, ["a"] * len(test))
    with pytest.raises(InputError, match="pass `data` too"):
        fit.evaluate(y=np.log(train["foodexp"]))


def test_arrays_are_judged_with_their_response(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = qb.QBR(train["foodexp"].to_numpy(), train[["income"]].to_numpy(), tau=TAU, mstop=20).fit()
    named = FITS["qbr"](train)
    found = fit.evaluate(test[["income"]].to_numpy(), test["foodexp"].to_numpy())
    pd.testing.assert_series_equal(found, named.evaluate(test))


def test_a_sparse_design_stays_sparse(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    X, Z = (csr_matrix(np.column_stack([np.ones(len(half)), half["income"]])) for half in halves)
    found = qb.QReg(train["foodexp"].to_numpy(), X, tau=TAU).fit().evaluate(Z, test["foodexp"].to_numpy())
    expected = FITS["qreg"](train).evaluate(test)
    pd.testing.assert_series_equal(found, expected, rtol=1e-9)
    shift = 0.3 * train["income"].to_numpy()
    shifted = qb.QReg(train["foodexp"].to_numpy(), X, tau=TAU, offset=shift).fit()
    by_offset = shifted.evaluate(Z, test["foodexp"].to_numpy(), offset=0.3 * test["income"].to_numpy())
    # the same line, judged against a constant that is added to the offset
    pd.testing.assert_series_equal(by_offset.drop("r1"), expected.drop("r1"), rtol=1e-9)
    assert by_offset["r1"] < expected["r1"]


def test_l2boost_is_judged_by_squared_error(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fit = qb.l2boost("foodexp ~ income", train)
    found = fit.evaluate(test)
    assert list(found.index) == ["n", "mean_loss", "rsquared"]
    assert found["rsquared"] == pytest.approx(r2_score(test["foodexp"], fit.predict(test)), rel=1e-12)
    assert fit.evaluate()["rsquared"] == pytest.approx(fit.rsquared, rel=1e-12)


@pytest.mark.parametrize("call", [qb.qbr, qb.qreg], ids=["qbr", "qreg"])
def test_several_taus_have_a_row_each(call: Callable[..., Any], halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = halves
    fits = call("foodexp ~ income", train, tau=[0.9, 0.1])
    table = fits.evaluate(test)
    assert table["tau"].tolist() == [0.9, 0.1]
    pd.testing.assert_series_equal(table.iloc[1].drop("tau"), fits[0.1].evaluate(test), check_names=False)


def test_classifiers_at_several_taus_have_a_row_each(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    train, test = (half.assign(large=half["foodexp"] > 600) for half in halves)
    fits = qb.qbc("large ~ income", train, tau=[0.3, 0.7])
    table = fits.evaluate(test)
    assert list(table) == ["tau", "n", "error_rate", "fn_rate", "fp_rate", "cost"]
    pd.testing.assert_frame_equal(table.drop(columns="n"), fits.errors(test))


def test_qreg_has_its_loss_under_the_name_of_all_families(halves: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    fit = qb.qreg("foodexp ~ income", halves[0])
    assert fit.risk == fit.objective == qb.qreg("foodexp ~ income", halves[0], tau=[0.5]).risk[0.5]
