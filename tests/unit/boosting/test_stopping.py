"""When to stop: loss on held-out rows by iteration, over folds of every kind."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import BoundWarning, InputError
from qreg_boost.boosting.learners import LEARNERS
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.stopping import CV, CVResult
from tests.unit.boosting.cases import frame

FORMULA = "y ~ x1 + g + x2"
N = 90
# whether the best stop is the last one tried is not what most of these tests are about
pytestmark = pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.BoundWarning")


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return frame(N, seed=31)


@pytest.fixture(scope="module")
def fit(data):
    return qb.qbr(FORMULA, data, 0.3, mstop=40)


def by_hand(data, train, held, stop: int, **options) -> list[float]:
    """Return the weighted mean loss on held rows of fits stopped at 0..stop, one fit each."""
    out = held > 0
    risks = []
    for m in range(stop + 1):
        one = qb.qbr(FORMULA, data, 0.3, weights=train, mstop=m, **options)
        rows = data[out]
        risks.append(
            CheckLoss(0.3).risk(rows["y"].to_numpy(), one.predict(rows).to_numpy(), held[out]) / held[out].sum()
        )
    return risks


# -- the curves


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_curves_are_those_of_fits_to_the_training_rows(data, learner: str, weighted: bool) -> None:
    """Case weights count in training and in the mean over held-out rows."""
    w = np.random.default_rng(0).integers(0, 4, N).astype(float) if weighted else np.ones(N)
    label = np.arange(N) % 3
    result = qb.qbr(FORMULA, data, 0.3, weights=w, learner=learner, mstop=0).cv(folds=label, max=12, progress=False)
    assert result.risk.shape == (3, 13)
    assert result.risk.columns.tolist() == list(range(13)) and result.risk.index.tolist() == [1, 2, 3]
    for fold in range(3):
        expected = by_hand(data, w * (label != fold), w * (label == fold), 12, learner=learner)
        np.testing.assert_allclose(result.risk.loc[fold + 1], expected, rtol=1e-11)


def test_offset_in_the_curves(data) -> None:
    o = 5 * data["x2"] - 3
    label = np.arange(N) % 4
    one = qb.qbr("y ~ x1 + g", data.assign(o=o), 0.3, offset="o").cv(folds=label, max=15, progress=False)
    other = qb.qbr("y ~ x1 + g", data.assign(y=data["y"] - o), 0.3).cv(folds=label, max=15, progress=False)
    assert one.risk.equals(other.risk)


def test_the_same_folds_in_every_dress(fit) -> None:
    label = np.random.default_rng(0).permutation(N) % 4
    matrix = (label[:, None] != np.arange(4)).astype(int)
    pairs = [(np.flatnonzero(label != k), np.flatnonzero(label == k)) for k in range(4)]
    names = np.array(["a", "b", "c", "d"])[label]

    class Splitter:
        def split(self, X, y=None, groups=None):
            assert len(X) == N
            yield from pairs

    plain = fit.cv(folds=matrix, max=20, progress=False).risk
    for dress in (
        label,
        names,
        pd.Series(names),
        pd.DataFrame(matrix),
        matrix.astype(bool),
        pairs,
        iter(pairs),
        Splitter(),
    ):
        assert fit.cv(folds=dress, max=20, progress=False).risk.equals(plain)


def test_scikit_learn_splitters(fit) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    kfold = fit.cv(folds=selection.KFold(3), max=10, progress=False)
    assert kfold.risk.shape == (3, 11)
    assert kfold.risk.equals(fit.cv(folds=np.repeat([0, 1, 2], N // 3), max=10, progress=False).risk)
    assert fit.cv(folds=selection.ShuffleSplit(2, random_state=0), max=10, progress=False).risk.shape == (2, 11)


def test_training_weights_above_one_are_repetition(fit, data) -> None:
    counts = np.random.default_rng(0).integers(0, 3, (N, 1))
    held = (counts[:, 0] == 0).astype(float)
    result = fit.cv(folds=counts, max=8, progress=False)
    np.testing.assert_allclose(result.risk.loc[1], by_hand(data, counts[:, 0].astype(float), held, 8), rtol=1e-11)


@pytest.mark.parametrize("folds", ["kfold", "bootstrap", "subsampling"])
def test_workers_and_seeds(fit, folds: str) -> None:
    one = fit.cv(folds=folds, k=5, max=25, rng=3, n_jobs=1, progress=False)
    two = fit.cv(folds=folds, k=5, max=25, rng=3, n_jobs=2, progress=False)
    assert one.risk.equals(two.risk) and one.risk.shape == (5, 26)
    assert one.risk.equals(fit.cv(folds=folds, k=5, max=25, rng=3, progress=False).risk)
    assert not one.risk.equals(fit.cv(folds=folds, k=5, max=25, rng=4, progress=False).risk)
    generators = [fit.cv(folds=folds, k=5, max=25, rng=np.random.default_rng(3), progress=False).risk for _ in range(2)]
    assert generators[0].equals(generators[1]) and generators[0].equals(one.risk)


def test_folds_of_the_whole_frame_fit_rows_that_were_dropped(data) -> None:
    """A label per row of the caller's frame, though two rows are missing and some are not in the subset."""
    label = np.arange(N) % 3
    holes = data.copy()
    holes.loc[[5, 17], "x1"] = np.nan
    used = np.arange(N) < 80
    fit = qb.qbr(FORMULA, holes, 0.3, subset=used)
    kept = used & holes["x1"].notna().to_numpy()
    plain = qb.qbr(FORMULA, data[kept], 0.3).cv(folds=label[kept], max=10, progress=False)
    assert fit.cv(folds=label, max=10, progress=False).risk.equals(plain.risk)
    assert fit.cv(folds=label[kept], max=10, progress=False).risk.equals(plain.risk)


def test_positions_refer_to_the_callers_rows(data) -> None:
    """(train, test) pairs made for the caller's frame keep their meaning when rows are dropped."""
    holes = data.copy()
    holes.loc[[0, 1], "x1"] = np.nan
    pairs = [(np.arange(0, 45), np.arange(45, N)), (np.arange(45, N), np.arange(0, 45))]
    label = (np.arange(N) < 45).astype(int)
    fit = qb.qbr(FORMULA, holes, 0.3)
    by_label = fit.cv(folds=label, max=10, progress=False).risk
    by_pairs = fit.cv(folds=pairs, max=10, progress=False).risk
    np.testing.assert_array_equal(np.sort(by_pairs[10]), np.sort(by_label[10]))


def test_levels_that_a_fold_lacks_do_no_harm(data) -> None:
    rare = data.assign(g=np.where(np.arange(N) < 2, "rare", data["g"]))
    label = np.where(np.arange(N) < 2, 0, np.arange(N) % 3)
    for learner in LEARNERS:
        result = qb.qbr(FORMULA, rare, 0.3, learner=learner).cv(folds=label, max=50, progress=False)
        assert np.isfinite(result.risk).all(axis=None)
        expected = by_hand(rare, (label != 0).astype(float), (label == 0).astype(float), 5, learner=learner)
        np.testing.assert_allclose(result.risk.loc[1, :5], expected, rtol=1e-11)


def test_a_column_constant_in_a_fold_does_no_harm(data) -> None:
    label = np.arange(N) % 3
    spike = data.assign(x2=np.where(label == 0, data["x2"], 0.0))
    result = qb.qbr("y ~ x1 + x2", spike, 0.3).cv(folds=label, max=30, progress=False)
    assert np.isfinite(result.risk).all(axis=None)


def test_rows_of_weight_0_are_in_no_fold(data) -> None:
    w = (np.arange(N) % 5 > 0).astype(float)
    wild = data.copy()
    wild.loc[w == 0, "y"] = 1e9
    one = qb.qbr(FORMULA, wild, 0.3, weights=w).cv(k=4, max=10, progress=False)
    other = qb.qbr(FORMULA, data, 0.3, weights=w).cv(k=4, max=10, progress=False)
    assert one.risk.equals(other.risk)


# -- the stop


def result_of(*curves: list[float], rule: str = "min") -> CVResult:
    return CVResult(pd.DataFrame(list(curves)), rule, "given")


def test_the_best_stop_is_the_first_of_equals() -> None:
    assert result_of([3.0, 1.0, 1.0, 2.0]).mstop == 1


def test_one_standard_error() -> None:
    result = result_of([5.0, 3.1, 2.0, 1.9, 2.5], [5.0, 3.3, 3.0, 2.9, 3.5], rule="1se")
    # least at 3: 2.4, standard error 0.5: the first within 2.9 is iteration 2
    assert (result.mstop_min, result.mstop_1se, result.mstop) == (3, 2, 2)
    assert result.se[3] == pytest.approx(0.5)
    assert result_of([5.0, 3.0, 4.0], rule="1se").mstop == 1  # one fold has no standard error


def test_summary_and_print() -> None:
    result = result_of([5.0, 3.1, 2.0, 1.9, 2.5], [5.0, 3.3, 3.0, 2.9, 3.5])
    table = result.summary()
    assert table["mstop"].tolist() == [0, 3, 2, 4]
    assert table["mean_loss"].tolist() == pytest.approx([5.0, 2.4, 2.5, 3.0])
    assert repr(result) == str(result)  # what a console and a notebook show
    assert "given, 0 to 4 iterations" in str(result) and "Optimal number of boosting iterations (min): 3" in str(result)


def test_cross_validation_stops_before_it_overfits() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    y = 0.5 * X[:, 0] + rng.standard_t(3, size=60)
    fit = qb.QBR(y, X, 0.5, mstop=400).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = fit.cv(progress=False)
    assert 0 < result.mstop < 200
    assert result.mean[result.mstop] < result.mean[400] * 0.95


@pytest.mark.filterwarnings("default::qreg_boost.base.checks.BoundWarning")
def test_a_best_stop_at_the_bound_is_a_warning(fit) -> None:
    with pytest.warns(BoundWarning, match=r"last iteration tried, 3\b.*larger `max`"):
        result = fit.cv(max=3, progress=False)
    assert result.mstop == 3


def test_mstop_cv(data) -> None:
    cv = CV(folds="kfold", k=4, max=60, rng=2, progress=False)
    chosen = qb.qbr(FORMULA, data, 0.3, mstop=cv)
    result = qb.qbr(FORMULA, data, 0.3, mstop=1).cv(k=4, max=60, rng=2, progress=False)
    assert chosen.chosen.risk.equals(result.risk) and chosen.mstop == result.mstop
    assert chosen.params.equals(qb.qbr(FORMULA, data, 0.3, mstop=result.mstop).params)
    one_se = qb.qbr(FORMULA, data, 0.3, mstop=CV(k=4, max=60, rng=2, rule="1se", progress=False))
    assert one_se.mstop == result.mstop_1se <= result.mstop_min


def test_the_word_cv_is_the_default_cv() -> None:
    small = frame(30, seed=1)
    by_word = qb.qbr("y ~ x1", small, 0.5, mstop="cv", progress=False)
    by_record = qb.qbr("y ~ x1", small, 0.5, mstop=CV(), progress=False)
    assert by_word.chosen.risk.shape == (10, 1001)
    assert by_word.params.equals(by_record.params)


def test_each_tau_has_its_own_stop(data) -> None:
    fits = qb.qbr(FORMULA, data, [0.2, 0.8], mstop=CV(k=3, max=80, progress=False))
    for tau in (0.2, 0.8):
        assert fits.mstop[tau] == qb.qbr(FORMULA, data, tau, mstop=CV(k=3, max=80, progress=False)).mstop


def test_max_is_the_stop_of_the_fit_by_default(fit) -> None:
    assert fit.cv(k=2, progress=False).risk.shape == (2, 41)


def test_no_bar_when_silent_or_short(fit, capfd) -> None:
    fit.cv(k=3, max=10)
    fit.cv(k=3, max=10, progress=False)
    assert capfd.readouterr() == ("", "")


# -- messages

BAD = {
    "a word": (
        {"folds": "kfolds"},
        r"`folds` must be one of 'kfold', 'bootstrap', 'subsampling'; got 'kfolds'\. Did you mean 'kfold'",
    ),
    "one fold": ({"k": 1}, r"`k` must be a whole number of at least 2; got 1"),
    "no folds": ({"k": 0}, r"`k` must be a whole number of at least 1; got 0"),
    "more folds than rows": ({"k": N + 1}, rf"`k` must be at most the number of rows, {N}; got {N + 1}"),
    "labels too few": ({"folds": np.arange(10) % 2}, rf"one entry per row: {N} rows, but 10 entries"),
    "one label": ({"folds": np.zeros(N)}, "one label only"),
    "negative weights": ({"folds": -np.ones((N, 2))}, "at least 0"),
    "missing weights": ({"folds": np.full((N, 2), np.nan)}, "finite"),
    "nothing held out": ({"folds": np.ones((N, 2))}, "Fold 1 has no held-out rows"),
    "nothing to train on": ({"folds": [(np.arange(0), np.arange(N))]}, "Fold 1 has no training rows"),
    "a row too many": ({"folds": [(np.arange(5), np.array([N]))]}, f"Fold 1 names a row beyond the {N} rows"),
    "three axes": ({"folds": np.ones((N, 2, 2))}, "`folds` must be one of .*; got ndarray"),
    "a dict": ({"folds": {"a": 1}}, "`folds`"),
    "a number": ({"folds": 5}, "`folds`"),
    "an empty list": ({"folds": []}, "`folds`"),
    "max 0": ({"max": 0}, "`max` must be at least 1"),
    "rule": ({"rule": "best"}, r"`rule` must be one of 'min', '1se'; got 'best'"),
    "workers": ({"n_jobs": 0}, "`n_jobs`"),
    "seed": ({"rng": "seed"}, "`rng`"),
}


@pytest.mark.parametrize("case", BAD)
def test_messages(fit, case: str) -> None:
    arguments, words = BAD[case]
    with pytest.raises(InputError, match=words):
        fit.cv(**{"max": 5, "progress": False, **arguments})


@pytest.mark.parametrize("mstop", ["CV", "kfold", -1, 2.5, True, None])
def test_what_mstop_may_be(data, mstop) -> None:
    with pytest.raises(InputError, match=r"`mstop` must be a whole number of at least 0"):
        qb.qbr(FORMULA, data, mstop=mstop)
