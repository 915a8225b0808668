"""Boosted stumps beside R's gbm, live: equal until two splits gain the same, and step by step after that."""

from __future__ import annotations

import numpy as np
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.boosting.learners import Stump
from qreg_boost.boosting.model import QBR
from qreg_boost.r.gbm import gbm_stumps, replay

pytestmark = pytest.mark.r("gbm")
LIKE_GBM = Stump(leaf="quantile", ties="upper", min_rows=10, bins=None)
SAME = 1e-10


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return y (n,) and X (n, p): Engel's data, smooth columns with heavy tails, and columns and y on a lattice."""
    rng = np.random.default_rng(3)
    if name == "engel":
        engel = qb.datasets.load("engel")
        return engel["foodexp"].to_numpy(), engel[["income"]].to_numpy()
    X = rng.normal(size=(300, 6))
    if name == "heavy":
        return X[:, 0] ** 2 + X[:, 1] + rng.standard_t(2, size=300), X
    X = np.round(2.0 * X)
    return X[:, 0] - np.abs(X[:, 1]) + rng.integers(0, 5, 300), X


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.9])
@pytest.mark.parametrize("name", ["engel", "heavy", "lattice"])
def test_path_is_gbms_until_two_splits_gain_the_same_and_every_step_of_it_is_ours(name: str, tau: float) -> None:
    y, X = rows(name)
    stumps = gbm_stumps(y, X, tau, trees=150, nu=0.1, min_rows=10)
    fit = QBR(y, X, tau=tau, learner=LIKE_GBM, step="fixed", mstop=150, progress=False).fit()
    judged = replay(stumps, y, X, tau, 0.1, 10)
    spread = np.ptp(y)
    assert fit.start == stumps.start
    f = np.full(len(y), stumps.start)
    ours = f.copy()
    until = min(judged.tied - 1, 150)
    assert until > (149 if name == "engel" else 3)
    for m, added in zip(range(until), fit.path.increments(X), strict=False):
        f += stumps.added(m, X)
        ours += added
        np.testing.assert_allclose(ours, f, rtol=0, atol=SAME * spread)
        assert fit.path.risks[m + 1] / len(y) == pytest.approx(stumps.error[m], rel=SAME)
    # every later step of gbm's is a best split, and its leaves the order statistics of the residuals there
    assert judged.gain >= judged.best * (1.0 - SAME)
    assert judged.leaf == pytest.approx(judged.statistic, abs=SAME * spread)
    assert judged.fit <= SAME * spread


def test_the_lower_end_of_the_quantile_is_not_gbms() -> None:
    y, X = rows("lattice")
    lower = QBR(y, X, tau=0.5, learner=Stump(leaf="quantile", min_rows=10), step="fixed", mstop=50).fit()
    upper = QBR(y, X, tau=0.5, learner=LIKE_GBM, step="fixed", mstop=50).fit()
    assert np.abs(lower.path.risks - upper.path.risks).max() > 1e-3


def test_compare_r_of_stumps() -> None:
    engel = qb.datasets.load("engel")
    fit = qb.qbr("foodexp ~ income", engel, tau=0.5, learner=LIKE_GBM, step="fixed", mstop=60)
    found = fit.compare_r()
    assert found.agrees and abs(found.gap) < SAME
    assert "must agree" in set(found.table["note"]) and len(found.checks) == 5
    assert "gbm" in str(found)


def test_compare_r_of_other_stumps_names_the_counterpart() -> None:
    engel = qb.datasets.load("engel")
    found = qb.qbr("foodexp ~ income", engel, tau=0.5, learner="stump", mstop=30).compare_r()
    assert found.checks.empty
    assert 'ties="upper"' in str(found) and found.table["note"].tolist() == ["expected to differ"]


@pytest.mark.parametrize(("options", "reason"), [({"learner": "tree"}, "tree"), ({"weights": "income"}, "weights")])
def test_compare_r_says_what_has_no_counterpart(options: dict, reason: str) -> None:
    fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5, mstop=5, **{"learner": "stump", **options})
    with pytest.raises(InputError, match=reason):
        fit.compare_r()
