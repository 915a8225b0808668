"""Classifiers beside their peers: scikit-learn's AdaBoost, statsmodels' logistic regression."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from tests.reference import mboost_values as mboost

FORMULA = "y ~ x1 + x2 + x3 + x4 + x5 + x6"
PUBLIC = ["pima", "sonar", "german_credit", "ionosphere"]


@pytest.fixture(scope="module")
def binary():
    return mboost.binary()


@pytest.mark.parametrize("weighted", [False, True])
def test_newton_steps_on_all_columns_are_logistic_regression(binary, weighted: bool) -> None:
    """Newton's method squares its error from step to step: ten steps leave rounding."""
    from statsmodels.api import Logit, add_constant

    w = np.arange(len(binary)) % 3 if weighted else None
    options = {"event": 1, "zmax": None, "learner": "joint", "mstop": 20, "progress": False}
    fit = qb.logitboost(FORMULA, binary, weights=w, **options)
    rows = binary if w is None else binary.loc[np.repeat(binary.index, w)]
    theirs = Logit(rows["y"], add_constant(rows.drop(columns="y"))).fit(disp=0, tol=1e-14, maxiter=100)
    np.testing.assert_allclose(fit.params, 0.5 * theirs.params, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fit.risk, -theirs.llf, rtol=1e-10)
    proba = fit.predict_proba(binary.head(20))
    np.testing.assert_allclose(
        proba[1], theirs.predict(add_constant(binary.drop(columns="y")).head(20)), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def predictors(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every column as numbers, text coded in alphabetical order."""
    coded = {
        name: column if column.dtype.kind in "iuf" else pd.factorize(column, sort=True)[0]
        for name, column in frame.items()
    }
    return pd.DataFrame(coded).astype(float)


def draws(seed: int, n: int = 300, p: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    p_event = 1.0 / (1.0 + np.exp(-(X[:, 0] - X[:, 1] * X[:, 2])))
    return np.where(rng.random(n) < p_event, "yes", "no"), X


def assert_same_votes(y: np.ndarray, X: np.ndarray, count: int = 100) -> None:
    """Assert equal splits, votes (to rounding) and predictions on the training rows after each of `count` stumps."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    tree = pytest.importorskip("sklearn.tree")
    ours = qb.AdaBoost(y, X, mstop=count, progress=False).fit()
    stump = tree.DecisionTreeClassifier(max_depth=1, random_state=0)
    theirs = ensemble.AdaBoostClassifier(stump, n_estimators=count).fit(X, np.asarray(y) == ours.event)
    assert ours.path.selected.tolist() == [one.tree_.feature[0] for one in theirs.estimators_]
    f = np.zeros(len(y))
    stages = zip(ours.path.increments(X), theirs.staged_predict(X), theirs.estimator_weights_, strict=True)
    for added, predicted, vote in stages:
        f += added
        assert np.abs(added).max() == pytest.approx(vote, rel=1e-9)
        np.testing.assert_array_equal(f >= 0, predicted)


@pytest.mark.parametrize("seed", range(3))
def test_adaboost_votes_as_sklearn(seed: int) -> None:
    assert_same_votes(*draws(seed))


@pytest.mark.parametrize("name", PUBLIC)
def test_adaboost_votes_as_sklearn_on_public_tables(name: str) -> None:
    about = qb.datasets.info(name)
    if not about.available:
        pytest.skip(f"{name}: set QREG_BOOST_DATA to the folder that has it")
    frame = qb.datasets.load(name)
    X = predictors(frame.drop(columns=about.response[0]))
    assert_same_votes(frame[about.response[0]].to_numpy(), X.to_numpy())
