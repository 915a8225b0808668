"""Logistic regression: beside statsmodels, with columns that depend on each other, with classes that do not mix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from qreg_boost.api_reject import reject_classifier
from qreg_boost.base.checks import ConvergenceWarning, NotDefinedError
from qreg_boost.compose.logit import fit_logit
from tests.unit.reject.cases import overlapping

DATA = overlapping(150, 5)


@pytest.mark.parametrize("seed", range(8))
def test_same_as_statsmodels(seed: int) -> None:
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(60, 200)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, p)) * 10.0 ** rng.integers(-3, 4, p) + rng.standard_normal(p)
    y = (((X - X.mean(axis=0)) / X.std(axis=0)).sum(axis=1) + 2.0 * np.sqrt(p) * rng.standard_normal(n) > 0.0).astype(
        float
    )
    w = rng.integers(0, 3, n).astype(float)
    for weights, intercept in ((None, True), (w, True), (w, False)):
        design = sm.add_constant(X) if intercept else X
        used = slice(None) if weights is None else weights > 0
        freq = None if weights is None else weights[used]
        peer = sm.GLM(y[used], design[used], family=sm.families.Binomial(), freq_weights=freq).fit(tol=1e-13)
        found = fit_logit(X, y, weights, intercept)
        # both stop where the deviance rests, a step of Newton's from the maximum: the error is the square of the last
        np.testing.assert_allclose(found.probability_at(X), peer.predict(design), atol=1e-7)
        assert not found.separated


def test_the_score_is_zero_at_the_maximum() -> None:
    X, y = DATA[["a", "b"]].to_numpy(), (DATA["y"] == "yes").to_numpy(dtype=float)
    found = fit_logit(X, y)
    rest = y - found.probability_at(X)
    assert abs(rest.sum()) < 1e-6
    assert np.abs(((X - X.mean(axis=0)) / X.std(axis=0)).T @ rest).max() < 1e-6


def test_columns_that_others_determine_have_no_coefficient_and_change_nothing() -> None:
    """A constant and a multiple of a column once made the probabilities 0 and 1, without a word."""
    plain = reject_classifier("y ~ a + b", DATA, method="chow")
    more = DATA.assign(twice=2.0 * DATA["a"], one=1.0)
    fit = reject_classifier("y ~ a + twice + one + b", more, method="chow")
    np.testing.assert_allclose(fit.probability(), plain.probability(), atol=1e-10)
    assert fit.params.isna().to_dict() == {"Intercept": False, "a": False, "twice": True, "one": True, "b": False}
    np.testing.assert_allclose(fit.params.dropna(), plain.params, rtol=1e-8)
    assert fit.tidy()["term"].tolist() == fit.params.index.tolist()
    text = fit.summary().as_text()
    assert "Dropped, as combinations of the columns to their left: twice, one." in text
    assert "Dropped" not in plain.summary().as_text()


def test_units_do_not_matter() -> None:
    plain = reject_classifier("y ~ a + b", DATA, method="chow")
    for scale in (1e-12, 1e12):
        fit = reject_classifier("y ~ a + b", DATA.assign(a=DATA["a"] * scale), method="chow")
        np.testing.assert_allclose(fit.probability(), plain.probability(), atol=1e-9)
    shifted = reject_classifier("y ~ a + b", DATA.assign(a=DATA["a"] + 1e7), method="chow")
    np.testing.assert_allclose(shifted.probability(), plain.probability(), atol=1e-6)


def test_classes_that_do_not_mix_are_told_of() -> None:
    apart = DATA.assign(y=np.where(DATA["a"] > 3.0, "yes", "no"))
    with pytest.warns(ConvergenceWarning, match="has no maximum"):
        fit = reject_classifier("y ~ a", apart, method="chow")
    assert fit.error_rate == 0.0 and "told apart without error" in fit.summary().as_text()
    with pytest.warns(ConvergenceWarning, match="In 4 folds of 4, by logistic regression, some rows are told apart"):
        fit.cv(k=4, progress=False)
    group = DATA.assign(g=np.where(DATA.index < 12, 1.0, 0.0), y=np.where(DATA.index < 12, "yes", DATA["y"]))
    with pytest.warns(ConvergenceWarning, match="has no maximum"):  # of some rows only
        reject_classifier("y ~ a + g", group, method="chow")


def test_separation_is_kept_in_files(tmp_path) -> None:
    from qreg_boost import load

    apart = DATA.assign(y=np.where(DATA["a"] > 3.0, "yes", "no"))
    with pytest.warns(ConvergenceWarning):
        fit = reject_classifier("y ~ a + I(2 * a)", apart, method="chow")
    again = load(fit.save(tmp_path / "fit.qb"))
    assert again.part.separated and again.summary().as_text() == fit.summary().as_text()
    pd.testing.assert_series_equal(again.params, fit.params)


def test_only_a_logistic_regression_has_coefficients() -> None:
    fit = reject_classifier("y ~ a + b", DATA, method="chow", probability="logitboost", mstop=5)
    with pytest.raises(NotDefinedError, match="probability\\(new\\)"):
        _ = fit.params
    assert list(fit.tidy().columns) == ["actual", "predicted", "count"]
