"""What a boosted fit says of itself in print: every figure is the fit's own, and every special case is named."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import BoundWarning, ConvergenceWarning


def frame(n: int = 120, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["x1", "x2", "x3"])
    data["g"] = rng.choice(["a", "b", "c"], n)
    data["y"] = 10.0 + 2.0 * data["x1"] + (data["g"] == "b") + rng.normal(size=n)
    return data


def row(text: str, name: str) -> list[str]:
    line = next(line for line in text.split("\n") if line.strip().startswith(name))
    return line.strip().removeprefix(name).replace(" %", "%").split()


def prose(text: str) -> str:
    return " ".join(text.split())


def test_figures_are_those_of_the_fit() -> None:
    fit = qb.qbr("y ~ x1 + x2 + x3", frame(), tau=0.3, mstop=80)
    text = str(fit.summary())
    for name in ("x1", "x2"):
        coef, selected, first, share = row(text, name)
        # printed with at least four digits
        assert float(coef) == pytest.approx(fit.params[name], rel=1e-3)
        assert selected == f"{100 * fit.selection_frequencies[name]:.1f}%"
        assert int(first) == fit.first_selected[name]
        assert share == f"{100 * fit.importance[name]:.1f}%"
    assert float(re.search(r"Check loss \(sum\): +(\S+)", text)[1]) == pytest.approx(fit.risk, rel=1e-5)
    assert f"{fit.prsquared:.3f}" in text
    assert re.search(r"Quantile \(tau\): +0\.300", text)


def test_columns_of_a_factor_share_the_line_of_their_term() -> None:
    fit = qb.qbr("y ~ x1 + g", frame(), tau=0.5)
    text = str(fit.summary())
    assert row(text, "g ")[0] == f"{100 * fit.selection_frequencies['g']:.1f}%"
    for level in ("b", "c"):
        cells = row(text, f"[T.{level}]")
        assert len(cells) == 1
        assert float(cells[0]) == pytest.approx(fit.params[f"g[T.{level}]"], rel=1e-2)
    assert f"Chosen {int((fit.selection_frequencies > 0).sum())} of 2 terms." in text


def test_componentwise_counts_columns_and_its_intercept_has_numbers() -> None:
    fit = qb.qbr("y ~ x1 + g", frame(), tau=0.9, learner="componentwise", mstop=300)
    text = str(fit.summary())
    assert len(row(text, "Intercept")) == 4
    assert row(text, "Intercept")[1] == f"{100 * fit.selection_frequencies['Intercept']:.1f}%"
    chosen = int((fit.selection_frequencies.drop("Intercept") > 0).sum())
    assert f"Chosen {chosen} of 3 columns." in text


def test_the_linear_learner_has_no_intercept_learner() -> None:
    assert len(row(str(qb.qbr("y ~ x1", frame()).summary()), "Intercept")) == 1


def test_terms_never_chosen_have_an_exact_zero() -> None:
    fit = qb.qbr("y ~ x1 + x2", frame(), mstop=2)
    assert row(str(fit.summary()), "x2") == ["0", "0.0%", "never", "0.0%"]


def test_of_many_terms_only_the_chosen_are_listed() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 200))
    fit = qb.QBR(3.0 * X[:, 0] + rng.normal(size=60), X, tau=0.5, mstop=40).fit()
    text = str(fit.summary())
    chosen = set(fit.selected)
    listed = {line.split()[0] for line in text.split("\n") if re.match(r"x\d+ ", line)}
    assert listed == chosen
    assert f"Chosen {len(chosen)} of 200 terms. Those never chosen have coefficient 0" in prose(text)


def test_of_very_many_chosen_the_largest_shares_are_listed() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 300))
    fit = qb.QBR(X @ rng.normal(size=300), X, tau=0.5, mstop=600).fit()
    text = prose(str(fit.summary()))
    rest = len(set(fit.selected)) - 100
    assert rest > 0
    assert f"{rest} more with smaller loss shares are in fit.params." in text
    assert len(re.findall(r" x\d+ ", text)) == 100
    assert f"... and {int((fit.params != 0).sum()) - 24} more: fit.params" in str(fit)


def test_weights_offset_and_missing_rows_are_said() -> None:
    data = frame()
    data["w"] = np.arange(len(data)) % 3
    data["o"] = data["x2"]
    data.loc[5, "x1"] = np.nan
    fit = qb.qbr("y ~ x1", data, weights="w", offset="o")
    text = str(fit.summary())
    weight = data["w"].drop(5)
    assert re.search(rf"No\. observations: +{(weight > 0).sum()}\n", text)
    assert re.search(r"Rows dropped \(missing\): +1\n", text)
    assert re.search(rf"Rows of weight 0: +{(weight == 0).sum()}\n", text)
    assert f"sum {weight.sum()}" in text
    assert "Check loss (weighted sum):" in text
    assert "Offset:" in text and "quantile, y-offset" in text


def test_a_stop_chosen_by_cross_validation_is_explained() -> None:
    fit = qb.qbr("y ~ x1 + x2", frame(), mstop=qb.CV(k=4, max=150, rule="1se", progress=False))
    text = prose(str(fit.summary()))
    assert f"{fit.mstop} (4-fold CV)" in text
    assert "chosen by 4-fold cross-validation: the first within one standard error of the least mean loss" in text
    assert "A gap to the exact optimum is then intended." in text
    assert "(fixed)" in str(fit.at(3).summary())


def test_a_stop_at_the_bound_is_said() -> None:
    with pytest.warns(BoundWarning, match="still falling"):
        fit = qb.qbr("y ~ x1", frame(), mstop=qb.CV(k=4, max=5, progress=False))
    assert "The least loss was at the last iteration tried, 5: it was still falling." in prose(str(fit.summary()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "0.1 adaptive, unit-free"),
        ({"nu": 0.05, "step_scale": "range"}, "0.05, half-range"),
        ({"step_scale": None, "init": "median"}, "0.1, raw"),
        ({"step": "line"}, "exact line search"),
        ({"step": "fixed"}, "0.1, unit-free"),
    ],
)
def test_steps_in_words(options: dict, said: str) -> None:
    fit = qb.qbr("y ~ x1", frame(), mstop=2, **options)
    assert re.search(rf"Step: +{re.escape(said)} ", str(fit.summary()))
    assert f"Step size: {said}" in str(fit)


@pytest.mark.parametrize(
    ("init", "said"), [("quantile", "0.250-quantile of y"), ("median", "median of y"), (3.5, "3.5 (given)")]
)
def test_starts_in_words(init: object, said: str) -> None:
    fit = qb.qbr("y ~ x1", frame(), tau=0.25, init=init, mstop=5)
    assert re.search(rf"Start: +{re.escape(said)} ", str(fit.summary()))
    assert said in str(fit)


def test_no_iterations() -> None:
    text = str(qb.qbr("y ~ x1", frame(), mstop=0).summary())
    assert "no iteration was made, the fit is its start." in text
    assert "depend on its stop" not in text
    assert row(text, "x1") == ["0", "never"]


def test_nothing_to_choose() -> None:
    fit = qb.qbr("y ~ 1", frame())
    text = prose(str(fit.summary()))
    assert "Status: the start alone: no column varies" in text
    assert "Status: the start alone" in str(fit)
    assert "There is no term to choose" in text


def test_a_line_search_that_stalls_is_said() -> None:
    with pytest.warns(ConvergenceWarning, match="stalled"):
        fit = qb.qbr("y ~ x1", frame(), mstop=50, step="line")
    assert fit.mstop < 50
    for text in (str(fit.summary()), str(fit)):
        assert f"Status: stalled at iteration {fit.mstop} " in prose(text) + " "


def test_no_intercept() -> None:
    assert "the constant is the start, and stays." in str(qb.qbr("y ~ 0 + x1", frame()).summary())


def test_no_gap_where_every_row_can_be_fitted() -> None:
    rng = np.random.default_rng(0)
    fit = qb.QBR(rng.normal(size=10), rng.normal(size=(10, 20)), tau=0.5).fit()
    text = prose(str(fit.summary()))
    assert "Above the exact optimum: not defined" in text
    assert "The least check loss is 0" in text


def test_a_large_gap_is_not_taken_for_a_bad_fit() -> None:
    said = "measures optimisation, not how well the fit predicts."
    assert said in prose(str(qb.qbr("y ~ x1", frame(), mstop=2).summary()))
    assert said not in prose(str(qb.qbr("y ~ x1", frame(), mstop=500).summary()))


def test_a_constant_that_fits_exactly() -> None:
    data = frame().assign(y=4.0)
    text = prose(str(qb.qbr("y ~ x1", data).summary()))
    assert "R1 is not defined: a constant fits every row exactly." in text


def test_arrays_have_a_response_instead_of_a_formula() -> None:
    data = frame()
    fit = qb.QBR(data["y"], data[["x1"]], tau=0.5).fit()
    assert re.search(r"Response: +y \(arrays\)", str(fit.summary()))
    assert "QBR(y, X, tau=0.5)" in str(fit)


def test_a_loaded_fit_prints_the_same(tmp_path) -> None:
    fit = qb.qbr("y ~ x1 + g", frame())
    again = qb.load(fit.save(tmp_path / "fit.qb"))
    assert str(again.summary()) == str(fit.summary())
    assert str(again) == str(fit)


def test_loaded_quantiles_print_all_and_the_crossings(tmp_path) -> None:
    fits = qb.qbr("y ~ x1", frame(), tau=[0.2, 0.7])
    again = qb.load(fits.save(tmp_path / "fits.qb"))
    assert "Rows that cross" in str(fits.summary())
    assert "Rows that cross" in str(again.summary())
    assert str(again) == str(fits)


def test_print_is_short_and_has_mboosts_lines() -> None:
    fit = qb.qbr("y ~ x1 + x2", frame(), tau=0.5, mstop=1)
    lines = str(fit).split("\n")
    assert len(lines) <= 14
    assert 'qbr("y ~ x1 + x2", data, tau=0.5, mstop=1)' in lines
    assert "Number of boosting iterations: mstop = 1" in lines
    assert "Coefficients (start included; 1 of 2 terms chosen):" in lines
    assert lines[-2].split() == ["Intercept", *fit.selected]  # only what was chosen


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_units_do_not_spoil_the_frame(scale: float) -> None:
    data = frame()
    data["y"] *= scale
    fit = qb.qbr("y ~ x1 + x2", data, mstop=50)
    text = str(fit.summary())
    assert all(len(line) <= 78 for line in text.split("\n"))
    assert float(row(text, "x1")[0]) == pytest.approx(fit.params["x1"], rel=1e-3)
