"""Chow's rule and the pair of QBC fits: Bayes' rule from probabilities, and from two quantiles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.boosting.classifier_model import QBC, LogitBoost
from qreg_boost.compose.chow import Chow, chow_signs
from qreg_boost.compose.qbc_pair import QBCPair
from qreg_boost.reject.prices import Prices, read_prices
from tests.unit.reject.cases import overlapping

DATA = overlapping(150, 5)
X, Y = DATA[["a", "b"]], DATA["y"]


def test_bayes_rule_is_the_cheapest_choice() -> None:
    """At each probability the choice costs no more than the two others."""
    p = np.linspace(0.0, 1.0, 1001)
    for prices in (
        Prices(1.0, 1.0, 0.2),
        Prices(1.0, 1.0, 0.5),
        Prices(5.0, 1.0, 0.4, True),
        Prices(1.0, 9.0, 0.3, True),
    ):
        found = chow_signs(p, prices)
        costs = {-1.0: prices.fn * p, 0.0: np.full_like(p, prices.reject), 1.0: prices.fp * (1.0 - p)}
        taken = np.select([found == s for s in costs], list(costs.values()))
        assert (taken <= np.min(list(costs.values()), axis=0) + 1e-12).all()
    assert not (chow_signs(p, Prices(1.0, 1.0, 0.5)) == 0.0).any()


def test_prices() -> None:
    one = read_prices(0.2, {"fn": 5, "fp": 1, "reject": 0.4})
    assert one.d == (0.4, 0.08) and one.rule == (0.08, 0.6) and not one.even
    cost, d = one.by_row(np.array([1.0, -1.0]))
    assert cost.tolist() == [5.0, 1.0] and d.tolist() == [0.08, 0.4]
    assert not read_prices(0.5).withholds and read_prices(0.5).rule == (0.5, 0.5)


def test_chow_on_a_logistic_regression() -> None:
    sm = pytest.importorskip("statsmodels.api")
    peer = sm.Logit((Y == "yes").astype(float), sm.add_constant(X)).fit(disp=0)
    fit = Chow(Y, X, d=0.25).fit()
    p = peer.predict(sm.add_constant(X))
    np.testing.assert_allclose(fit.probability(), p, atol=1e-6)
    assert fit.predict(codes=True).tolist() == np.where(p > 0.75, 1, np.where(p < 0.25, -1, 0)).tolist()
    np.testing.assert_allclose(fit.decision_function(), np.log(p / (1 - p)), atol=1e-4)


def test_chow_on_a_booster_and_on_an_estimator() -> None:
    boosted = Chow(Y, X, probability="logitboost", mstop=30).fit()
    f = LogitBoost(Y, X, mstop=30).fit().decision_function()
    np.testing.assert_allclose(boosted.probability(), 1.0 / (1.0 + np.exp(-2.0 * f)), rtol=1e-10)
    linear = pytest.importorskip("sklearn.linear_model")
    estimator = linear.LogisticRegression(C=1e6, max_iter=1000)
    fit = Chow(Y, X, probability=estimator).fit()
    p = (
        linear.LogisticRegression(C=1e6, max_iter=1000)
        .fit(X.to_numpy(), (Y == "yes").astype(int))
        .predict_proba(X)[:, 1]
    )
    np.testing.assert_allclose(fit.probability(), p, atol=1e-6)
    assert not hasattr(estimator, "coef_")
    assert fit.predict([[np.nan, 1.0]]).isna().all()
    with pytest.raises(InputError, match="cannot hold"):
        fit.save("/nowhere/fit.qb")
    with pytest.raises(InputError, match="no predict_proba"):
        Chow(Y, X, probability=linear.RidgeClassifier())


def test_the_area_under_chows_curve_needs_no_price() -> None:
    one, two = (Chow(Y, X, d=d).fit().risk_coverage() for d in (0.1, 0.4))
    assert one.aurc == pytest.approx(two.aurc)
    assert one.fitted["coverage"] < two.fitted["coverage"]


@pytest.mark.parametrize("d", [0.1, 0.3, 0.5])
def test_the_pair_is_two_qbc_fits(d: float) -> None:
    fit = QBCPair(Y, X, d=d, mstop=50).fit()
    first, second = (QBC(Y, X, tau=tau, mstop=50).fit().decision_function() for tau in (d, 1.0 - d))
    F = fit.decision_functions()
    np.testing.assert_allclose(F.iloc[:, 0], first, rtol=1e-10)
    np.testing.assert_allclose(F.iloc[:, 1], second, rtol=1e-10)
    event, other = first > 0.0, second < 0.0
    expected = np.where(event & ~other, 1, np.where(other & ~event, -1, 0))
    assert fit.predict(codes=True).tolist() == expected.tolist()
    assert fit.n_both == (event & other).sum()
    f = fit.decision_function()
    assert (np.sign(f) == expected).all()


def test_what_both_claim_is_withheld_and_counted() -> None:
    """With few iterations of stumps on noise the two levels need not be nested."""
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.standard_normal((60, 4)))
    for seed in range(40):
        y = np.random.default_rng(seed).integers(0, 2, 60)
        fit = QBCPair(y, noise, d=0.45, mstop=60, learner="stump").fit()
        if fit.n_both:
            F = fit.decision_functions().to_numpy()
            both = (F[:, 0] > 0) & (F[:, 1] < 0)
            assert both.sum() == fit.n_both and (fit.predict(codes=True)[both] == 0).all()
            assert f"Claimed by both: {fit.n_both:g}" in fit.summary().as_text()
            return
    pytest.fail("none of the pairs claims a row twice: the count is not tested")


def test_levels_of_the_pair_follow_costs() -> None:
    fit = QBCPair(Y, X, cost={"fn": 5, "fp": 1, "reject": 0.4}, mstop=20).fit()
    assert fit.taus == pytest.approx((0.4, 0.92))  # P > 0.6 flags the event, P < 0.08 the other class


def test_weights_and_rows_of_weight_zero() -> None:
    w = np.where(np.arange(len(Y)) % 4 == 0, 0.0, 1.0)
    for model in (Chow, QBCPair):
        weighted, fewer = model(Y, X, weights=w).fit(), model(Y[w > 0], X[w > 0]).fit()
        np.testing.assert_allclose(weighted.decision_function(X), fewer.decision_function(X), atol=1e-8)
        assert weighted.evaluate().to_dict() == pytest.approx(fewer.evaluate().to_dict())


def test_a_pair_has_no_curve() -> None:
    with pytest.raises(NotDefinedError):
        QBCPair(Y, X).fit().risk_coverage()
