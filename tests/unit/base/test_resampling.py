"""Folds of every kind, and work done on them."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from qreg_boost.base.checks import InputError
from qreg_boost.base.resampling import generator, make_folds, run_tasks

N = 20
ALL = np.ones(N, dtype=bool)
SOME = np.arange(N) % 4 > 0
ROWS = np.arange(N)


@pytest.mark.parametrize("usable", [ALL, SOME], ids=["all", "some"])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_kfold_leaves_each_row_out_once(usable: np.ndarray, k: int) -> None:
    folds = make_folds("kfold", k, usable, ROWS, 0)
    assert folds.train.shape == folds.held.shape == (N, k)
    assert folds.held.sum(axis=1).tolist() == usable.astype(int).tolist()
    assert ((folds.train > 0) ^ folds.held)[usable].all() and not (folds.train[~usable]).any()
    sizes = folds.held.sum(axis=0)
    assert sizes.max() - sizes.min() <= 1


def test_leave_one_out() -> None:
    assert make_folds("kfold", N, ALL, ROWS, 0).held.sum(axis=0).tolist() == [1] * N


@pytest.mark.parametrize("usable", [ALL, SOME], ids=["all", "some"])
def test_bootstrap_draws_as_many_as_there_are(usable: np.ndarray) -> None:
    folds = make_folds("bootstrap", 30, usable, ROWS, 0)
    assert (folds.train.sum(axis=0) == usable.sum()).all() and folds.train.max() > 1
    assert (folds.held == ((folds.train == 0) & usable[:, None])).all()
    # a row is left out with probability (1 - 1/n)^n, about 0.36; 30 draws of n rows have a standard error below 0.03
    assert 0.25 < folds.held.sum() / (30 * usable.sum()) < 0.47


@pytest.mark.parametrize("usable", [ALL, SOME], ids=["all", "some"])
def test_subsampling_draws_half(usable: np.ndarray) -> None:
    folds = make_folds("subsampling", 10, usable, ROWS, 0)
    assert (folds.train.sum(axis=0) == usable.sum() // 2).all() and folds.train.max() == 1
    assert (folds.held.sum(axis=0) == usable.sum() - usable.sum() // 2).all()


@pytest.mark.parametrize("kind", ["kfold", "bootstrap", "subsampling"])
def test_seeds(kind: str) -> None:
    one, again, other = (make_folds(kind, 4, ALL, ROWS, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.train, again.train)
    assert (one.train != other.train).any()
    # more folds of the same seed do not change how rows were dealt to the first bootstrap draws
    if kind != "kfold":
        np.testing.assert_array_equal(make_folds(kind, 2, ALL, ROWS, 1).train, one.train[:, :2])


def test_drawing_leaves_numpys_global_state_alone() -> None:
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    make_folds("bootstrap", 4, ALL, ROWS, None)
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize("rng", ["x", -1, 1.5, object()])
def test_seeds_that_are_none(rng) -> None:
    with pytest.raises(InputError, match="`rng` must be a seed"):
        generator(rng)


def test_given_matrix_keeps_its_weights() -> None:
    weights = np.tile([1.0, 0.5, 0.0, 2.0], 5)[:, None] * np.ones(2)
    folds = make_folds(weights, 0, SOME, ROWS, None)
    np.testing.assert_array_equal(folds.train, weights * SOME[:, None])
    assert not folds.held[~SOME].any()


def test_one_fold_is_one() -> None:
    pair = (np.arange(10), np.arange(10, 20))
    assert make_folds([pair], 0, ALL, ROWS, None).kind == "1 given fold"
    assert make_folds(np.repeat([1.0, 0.0], 10)[:, None], 0, ALL, ROWS, None).kind == "1 given fold"


def test_labels_in_their_order() -> None:
    folds = make_folds(np.array(["b", "a"] * 10), 0, ALL, ROWS, None)
    assert folds.held[:, 0].tolist() == [False, True] * 10 and folds.kind == "2 given folds"


def test_given_folds_are_cut_to_the_rows_kept() -> None:
    kept = np.array([0, 2, 3, 9])
    label = np.array([0, 9, 0, 1, 9, 9, 9, 9, 9, 1, 9, 9])
    folds = make_folds(label, 0, np.ones(4, bool), kept, None)
    assert folds.held.T.tolist() == [[True, True, False, False], [False, False, True, True]]
    pairs = [([0, 1, 2], [3, 4, 9]), ([3, 9], [11, 2])]
    folds = make_folds(pairs, 0, np.ones(4, bool), kept, None)
    assert folds.train.T.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert folds.held.T.tolist() == [[False, False, True, True], [False, True, False, False]]


def test_held_out_rows_may_be_fewer_than_the_rest() -> None:
    folds = make_folds([([0, 1, 1], [5]), ([2], [6, 7])], 0, ALL, ROWS, None)
    assert folds.train.sum(axis=0).tolist() == [3, 1] and folds.held.sum(axis=0).tolist() == [1, 2]
    assert folds.train[1, 0] == 2


@pytest.mark.parametrize("pairs", [[([0, -1], [3])], [([0], [N])]])
def test_positions_out_of_range(pairs) -> None:
    with pytest.raises(InputError, match=f"Fold 1 names a row beyond the {N} rows"):
        make_folds(pairs, 0, ALL, ROWS, None)


def test_masks_are_no_positions() -> None:
    mask = np.arange(N) < 10
    with pytest.raises(InputError, match="positions"):
        make_folds([(mask, ~mask)], 0, ALL, ROWS, None)


def test_tasks_come_back_in_order_from_any_number_of_workers() -> None:
    def slow_first(k: int) -> int:
        time.sleep(0.02 if k == 0 else 0.0)
        return k * k

    tasks = [(k,) for k in range(8)]
    assert run_tasks(slow_first, tasks) == run_tasks(slow_first, tasks, n_jobs=2) == [k * k for k in range(8)]


def test_workers_work_at_the_same_time() -> None:
    meet = threading.Barrier(2, timeout=10)
    assert len(run_tasks(lambda k: meet.wait(), [(0,), (1,)], n_jobs=2)) == 2


def test_an_error_of_a_task_is_raised() -> None:
    def fail(k: int) -> None:
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        run_tasks(fail, [(1,), (2,)], n_jobs=2)


def test_no_tasks() -> None:
    assert run_tasks(max, []) == []


def test_a_splitter_sees_the_response() -> None:
    from sklearn.model_selection import StratifiedKFold

    y = (np.arange(N) < 5).astype(float)
    folds = make_folds(StratifiedKFold(5), 0, ALL, ROWS, 0, y)
    assert folds.held.shape == (N, 5) and (y @ folds.held == 1.0).all()
    # a row of weight 0 may have no class: it is in no fold
    without = make_folds(StratifiedKFold(5), 0, SOME, ROWS, 0, np.where(SOME, y, np.nan))
    assert not without.held[~SOME].any() and without.held.sum() == SOME.sum()


def test_a_splitter_that_cannot_split_says_why() -> None:
    from sklearn.model_selection import GroupKFold, StratifiedKFold

    with pytest.raises(InputError, match=r"StratifiedKFold that cannot split the 20 rows.*continuous"):
        make_folds(StratifiedKFold(5), 0, ALL, ROWS, 0, np.linspace(0.0, 0.7, N))
    with pytest.raises(InputError, match=r"GroupKFold that cannot split.*groups.*as a list"):
        make_folds(GroupKFold(5), 0, ALL, ROWS, 0)
