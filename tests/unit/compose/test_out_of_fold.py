"""Out-of-fold risk of Chow's rule and of the pair: as fits without the fold, at any price and number of iterations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from qreg_boost.api_reject import reject_classifier
from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.compose.chow import Chow
from qreg_boost.compose.qbc_pair import QBCPair
from qreg_boost.reject.choosing import RejectCV
from tests.unit.reject.cases import overlapping

DATA = overlapping(90, 3)
X, Y = DATA[["a", "b"]], DATA["y"]
COST = {"fn": 5, "fp": 1, "reject": 0.4}
MADE = [
    (Chow, {}), (Chow, {"probability": "logitboost", "mstop": 15}), (QBCPair, {"mstop": 30}),
    (QBCPair, {"mstop": 10, "learner": "stump"}),
]  # fmt: skip


def fitted(method: str = "chow", data: pd.DataFrame = DATA, **options):
    return reject_classifier("y ~ a + b", data, method=method, **options)


@pytest.mark.parametrize("model, options", MADE)
@pytest.mark.parametrize("prices", [{"d": 0.1}, {"d": 0.5}, {"cost": COST}])
def test_predictions_are_those_of_fits_without_the_fold(model: type, options: dict, prices: dict) -> None:
    cv = model(Y, X, **prices, **options).fit().cv(k=4, rng=1, progress=False)
    codes = cv.predictions(codes=True).to_numpy()
    for j in range(4):
        train, held = cv.folds.train[:, j] > 0, cv.folds.held[:, j]
        part = model(Y[train], X[train], **prices, **options).fit()
        assert part.predict(X[held], codes=True).tolist() == codes[held].tolist()


@pytest.mark.parametrize("method", ["chow", "qbc_pair"])
def test_several_prices_at_once_are_those_one_by_one(method: str) -> None:
    fit = fitted(method)
    several = fit.cv(d=[0.3, 0.1, 0.5], k=5, progress=False)
    assert several.table["d"].tolist() == [0.1, 0.3, 0.5]
    for d in (0.1, 0.3, 0.5):
        alone = fitted(method, d=d).cv(k=5, progress=False)
        pd.testing.assert_series_equal(several.predictions(d), alone.predictions())
        assert several.best.set_index("d").loc[d, "risk"] == alone.best["risk"][0]
        codes, y = several.predictions(d, codes=True).to_numpy(), np.where(Y == "yes", 1, -1)
        assert alone.best["risk"][0] == pytest.approx(np.mean(np.where(codes == 0, d, codes != y)))


@pytest.mark.filterwarnings("ignore:Every prediction is withheld")  # after no iterations
@pytest.mark.parametrize("model, options", [MADE[1], MADE[2], MADE[3]])
def test_numbers_of_iterations_are_read_off_one_fit(model: type, options: dict) -> None:
    fit = model(Y, X, d=0.2, **options).fit()
    cv = fit.cv(mstop=[20, 5, 0], k=4, progress=False)
    assert cv.table["mstop"].tolist() == [0, 5, 20]
    for m, risk in zip(cv.table["mstop"], cv.table["risk"], strict=True):
        alone = model(Y, X, d=0.2, **{**options, "mstop": m}).fit().cv(k=4, progress=False)
        assert alone.table["risk"][0] == risk
    chosen = cv.refit()
    m = int(cv.best["mstop"][0])
    assert f"mstop={m}" in str(chosen) or m == options["mstop"]
    assert chosen.predict(codes=True).tolist() == model(Y, X, d=0.2, **{**options, "mstop": m}).fit().predict(
        codes=True
    ).tolist()  # fmt: skip
    assert chosen.out_of_fold["risk"] == cv.best["risk"][0]


def test_a_run_that_ends_early_stays_as_it_ended() -> None:
    options = {"probability": "logitboost", "learner": "componentwise", "step": "line"}
    fit = fitted(**options, mstop=100)
    assert fit.part.fit.path.length < 20
    cv = fit.cv(mstop=[3, 50, 100], k=3, progress=False)
    risks = cv.table["risk"]
    assert risks[1] == risks[2] == fitted(**options, mstop=30).cv(k=3, progress=False).table["risk"][0]


@pytest.mark.parametrize("method", ["chow", "qbc_pair", "double_hinge"])
def test_folds_are_the_same_for_all_methods(method: str) -> None:
    """So that risks can be compared fold by fold."""
    groups = pd.Series(np.arange(90) // 3, name="subject")
    mine = fitted(method).cv(groups=groups, k=6, rng=4, progress=False)
    ramp = fitted("double_ramp").cv(groups=groups, k=6, rng=4, progress=False)
    assert (mine.folds.held == ramp.folds.held).all()
    assert isinstance(mine, RejectCV) and "30 groups held out whole" in repr(mine)
    for j in range(6):
        held = mine.folds.held[:, j]
        assert not set(groups[held]) & set(groups[~held])
    difference = mine.fold_risks - ramp.fold_risks
    assert difference.shape == (6, 1) and list(difference.columns) == [0.2]


@pytest.mark.parametrize("method", ["chow", "qbc_pair"])
def test_risk_against_d_and_what_is_made_of_it(method: str) -> None:
    fit = fitted(method)
    curve = fit.risk_against_d(k=4, progress=False)
    assert curve.best["d"].tolist() == pytest.approx(np.arange(0.05, 0.55, 0.05).tolist())
    assert curve.best["rejection_rate"].iloc[-1] == (0.0 if method == "chow" else pytest.approx(0.0, abs=0.05))
    assert curve.best["rejection_rate"].is_monotonic_decreasing or method == "qbc_pair"
    again = curve.refit(0.15)
    assert again.d == 0.15 and "d=0.15" in str(again) and "out of fold" in str(again)
    text = again.summary().as_text()
    assert "4-fold cross-validation, stratified by class." in " ".join(text.split())
    assert curve.confusion(0.15).to_numpy().sum() == len(DATA)
    by = curve.evaluate(0.15, groups=np.arange(90) % 3)
    assert (by["risk"] * by["n"]).sum() / 90 == pytest.approx(curve.evaluate(0.15)["risk"])


@pytest.mark.parametrize("options", [{}, {"probability": "logitboost", "mstop": 10}, {"cost": COST}])
def test_risk_against_coverage_out_of_fold(options: dict) -> None:
    cv = fitted(**options).cv(k=4, progress=False)
    curve, known = cv.risk_coverage(), cv.evaluate()
    assert curve.fitted["coverage"] == pytest.approx(1.0 - known["rejection_rate"])
    assert curve.fitted["risk"] == pytest.approx(known["risk"])
    prices = cv.prices[0]
    every = np.empty(len(DATA))
    for train, held in zip(cv.folds.train.T > 0, cv.folds.held.T, strict=True):
        part = Chow(Y[train], X[train], **options).fit()
        every[held] = part.probability(X[held]) > prices.fp / (prices.fn + prices.fp)
    assert curve.table["error_accepted"].iloc[-1] == pytest.approx(np.mean((every > 0.5) != (Y == "yes")))


def test_the_pair_has_no_threshold_out_of_fold_either() -> None:
    with pytest.raises(NotDefinedError, match="no threshold to sweep"):
        fitted("qbc_pair").cv(k=3, progress=False).risk_coverage()


@pytest.mark.parametrize("method", ["chow", "qbc_pair"])
def test_results_depend_neither_on_workers_nor_on_rows_of_no_weight(method: str) -> None:
    fit = fitted(method)
    how = {"d": [0.1, 0.3], "k": 4, "progress": False}
    pd.testing.assert_frame_equal(fit.cv(**how).table, fit.cv(**how, n_jobs=2).table)
    weight = np.where(DATA.index < 9, 0.0, 1.0)
    weighted = fitted(method, weights=weight).cv(**how)
    fewer = fitted(method, DATA[9:]).cv(**how)
    pd.testing.assert_frame_equal(weighted.table, fewer.table)
    assert len(weighted.predictions(0.1)) == 81
    boot = fit.cv(folds="bootstrap", k=5, progress=False)
    assert boot.table["risk"].notna().all() and "bootstrap" in repr(boot)


def test_an_estimator_is_refitted_on_each_fold() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    estimator = linear.LogisticRegression(C=1e8, max_iter=2000)
    mine = fitted().cv(k=4, d=[0.1, 0.3], progress=False)
    peer = fitted(probability=estimator).cv(k=4, d=[0.1, 0.3], progress=False)
    np.testing.assert_allclose(peer.table["risk"], mine.table["risk"], atol=0.02)
    assert not hasattr(estimator, "coef_")
    assert "'LogisticRegression'" not in repr(peer)


def test_rows_drawn_twice_are_repeated_for_estimators_that_take_no_weights() -> None:
    neighbors = pytest.importorskip("sklearn.neighbors")
    fit = fitted(probability=neighbors.KNeighborsClassifier(7))
    cv = fit.cv(folds="bootstrap", k=3, rng=2, progress=False)
    codes = cv.predictions(codes=True).to_numpy()
    times, held = cv.folds.train[:, 2].astype(int), cv.folds.held[:, 2]
    assert times.max() > 1
    rows = np.repeat(np.arange(len(DATA)), times)
    again = Chow(Y.to_numpy()[rows], X.to_numpy()[rows], probability=neighbors.KNeighborsClassifier(7)).fit()
    assert again.predict(X.to_numpy()[held], codes=True).tolist() == codes[held].tolist()
    half = np.where(cv.folds.held, 0.0, 0.5)
    logit = fitted().cv(folds=half, progress=False)
    np.testing.assert_array_equal(logit.table["risk"], fitted().cv(folds=2.0 * half, progress=False).table["risk"])


def test_weights_reach_a_step_of_a_pipeline() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    linear = pytest.importorskip("sklearn.linear_model")
    made = pipeline.Pipeline([("logit", linear.LogisticRegression())])
    weights = np.where(Y == "yes", 4.0, 1.0)
    fit = Chow(Y, X, weights=weights, probability=made, weight_name="logit__sample_weight").fit()
    peer = linear.LogisticRegression().fit(X.to_numpy(), Y == "yes", sample_weight=weights)
    np.testing.assert_allclose(fit.probability(), peer.predict_proba(X.to_numpy())[:, 1], atol=1e-6)
    with pytest.raises(InputError, match="the class LogisticRegression; pass an object"):
        Chow(Y, X, probability=linear.LogisticRegression)


def test_a_loaded_fit_with_its_rows_can_be_crossed(tmp_path) -> None:
    from qreg_boost import load

    for method, options in (("chow", {}), ("qbc_pair", {"mstop": 20}), ("chow", {"cost": COST})):
        fit = fitted(method, **options)
        again = load(fit.save(tmp_path / "fit.qb", data=True))
        one, two = fit.cv(k=3, progress=False), again.cv(k=3, progress=False)
        pd.testing.assert_frame_equal(one.table, two.table)
        assert str(two.refit()) == str(one.refit())


def test_what_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="boosts nothing here"):
        fitted().cv(mstop=[10])
    with pytest.raises(InputError, match="`mstop` must be a whole number"):
        fitted("qbc_pair").cv(mstop=[10, -1])
    with pytest.raises(InputError, match="grid of `mstop` is empty"):
        fitted("qbc_pair").cv(mstop=[])
    with pytest.raises(InputError, match="cannot vary where"):
        fitted(cost=COST).risk_against_d()
    with pytest.raises(InputError, match="`d`, the price"):
        fitted("qbc_pair").cv(d=[0.1, "a"])
    with pytest.raises(InputError, match="`n_jobs` must be"):
        fitted().cv(n_jobs=0)
    with pytest.raises(InputError, match="`progress` must be"):
        fitted().cv(progress="yes")
    with pytest.raises(InputError, match=r"pass the values: groups=data\['g'\]"):
        fitted().cv(groups="g")
