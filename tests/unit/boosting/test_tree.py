"""Stumps and trees: best splits by brute force and by scikit-learn, factors, ties, ordered fits, leaves, messages."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.boosting.learners import Predictors, Stump, Tree
from qreg_boost.boosting.loop import boost
from qreg_boost.boosting.model import QBR
from tests.unit.boosting.cases import draw, frame


def prepared(learner: Stump | Tree, X: np.ndarray, weights: np.ndarray | None = None, blocks: list[int] | None = None):
    """Return a learner prepared with X (n, p), each column its own term unless blocks are given, those of factors."""
    n, p = X.shape
    ends = np.arange(p + 1) if blocks is None else np.array(blocks)
    return learner.prepare(
        Predictors(
            X=np.ascontiguousarray(X, dtype=float),
            weights=np.ones(n) if weights is None else weights,
            blocks=ends,
            terms=tuple(f"t{k}" for k in range(len(ends) - 1)),
            columns=tuple(f"x{j}" for j in range(p)),
            intercept=True,
            factors=np.diff(ends) > 1,
        )
    )


def squared_error(u: np.ndarray, fitted: np.ndarray, weights: np.ndarray | None = None) -> float:
    return float(np.sum((1.0 if weights is None else weights) * (u - fitted) ** 2))


# -- the best split


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(1, None, 1), (3, None, 1), (6, None, 5), (None, 12, 1), (4, 9, 3)])
def test_trees_are_scikit_learns(shape: tuple, weighted: bool) -> None:
    tree = pytest.importorskip("sklearn.tree")
    depth, leaves, least = shape
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).astype(np.float32).astype(float)  # scikit-learn works in single precision
    u = rng.normal(size=400) + X[:, 0] - X[:, 1] * X[:, 2]
    weights = rng.integers(1, 5, 400).astype(float) if weighted else None
    ours = prepared(Tree(depth, leaves, min_rows=least, bins=None), X, weights).update(u)
    theirs = tree.DecisionTreeRegressor(max_depth=depth, max_leaf_nodes=leaves, min_samples_leaf=least).fit(
        X, u, sample_weight=weights
    )
    np.testing.assert_allclose(ours.fitted, theirs.predict(X), rtol=0, atol=1e-12)
    inner, split = ours.nodes.column >= 0, theirs.tree_.feature >= 0
    mine = sorted(zip(ours.nodes.column[inner], ours.nodes.cut[inner], strict=True))
    others = sorted(zip(theirs.tree_.feature[split], theirs.tree_.threshold[split], strict=True))
    assert [column for column, _ in mine] == [column for column, _ in others]
    np.testing.assert_allclose([cut for _, cut in mine], [cut for _, cut in others], rtol=1e-6)


def test_stump_is_the_best_split_by_brute_force() -> None:
    rng = np.random.default_rng(1)
    X, u, w = np.round(rng.normal(size=(60, 3)), 1), rng.normal(size=60), rng.uniform(0.5, 2.0, 60)
    update = prepared(Stump(min_rows=7), X, w).update(u)
    errors = {}
    for j, cut in [(k, cut) for k in range(3) for cut in np.unique(X[:, k])[:-1]]:
        side = X[:, j] <= cut
        if 7 <= side.sum() <= 53:
            means = np.where(side, np.average(u[side], weights=w[side]), np.average(u[~side], weights=w[~side]))
            errors[j, cut] = squared_error(u, means, w)
    best = min(errors, key=errors.__getitem__)
    assert squared_error(u, update.fitted, w) == pytest.approx(errors[best], rel=1e-12)
    assert update.nodes.column[0] == best[0]
    above = np.unique(X[:, best[0]])[np.unique(X[:, best[0]]) > best[1]].min()
    assert update.nodes.cut[0] == pytest.approx(0.5 * (best[1] + above), rel=1e-15)
    total = squared_error(u, np.full(60, np.average(u, weights=w)), w)
    assert update.nodes.gain[0] == pytest.approx(total - errors[best], rel=1e-10)


def test_of_equal_splits_the_lowest_column_wins_then_the_lowest_cut() -> None:
    x = np.arange(6.0)
    u = np.array([1.0, -1.0, -1.0, -1.0, -1.0, 1.0])  # cut after the first and before the last are equal
    for X, column in ((np.column_stack((x, x)), 0), (np.column_stack((np.zeros(6), 5.0 - x, x)), 1)):
        update = prepared(Stump(), X).update(u)
        assert update.nodes.column[0] == column and update.nodes.cut[0] == 0.5


def test_bins_that_are_enough_change_nothing() -> None:
    X, u = draw(300, 4)[1], np.random.default_rng(2).normal(size=300)
    exact, binned = (prepared(Tree(4, bins=bins), X).update(u) for bins in (None, 300))
    np.testing.assert_array_equal(exact.nodes.cut, binned.nodes.cut)
    coarse = prepared(Tree(4, bins=16), X).update(u)
    assert squared_error(u, exact.fitted) <= squared_error(u, coarse.fitted) < squared_error(u, np.full(300, u.mean()))


def test_histograms_of_siblings_are_what_is_left_of_their_parents() -> None:
    X, u = np.round(draw(500, 3)[1], 1), np.random.default_rng(3).normal(size=500)
    learner = prepared(Tree(6, bins=None), X)
    nodes = learner.update(u).nodes
    for leaf in np.unique(nodes.leaf):
        assert nodes.value[leaf] == pytest.approx(u[nodes.leaf == leaf].mean(), rel=1e-9, abs=1e-12)


def test_a_gradient_that_nothing_explains_moves_all_rows_alike() -> None:
    update = prepared(Tree(3), np.arange(8.0)[:, None]).update(np.full(8, 0.3))
    assert update.nodes.column.tolist() == [-1]
    np.testing.assert_allclose(update.fitted, 0.3, rtol=1e-15)


def test_a_split_must_gain_by_itself() -> None:
    """Balanced XOR: no first split gains, so the two that would explain all are not found; one row more is enough."""
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 5, axis=0)
    u = np.where(X[:, 0] == X[:, 1], 1.0, -1.0)
    assert prepared(Tree(2), X).update(u).nodes.column.tolist() == [-1]
    found = prepared(Tree(2), np.vstack((X, [[0.0, 0.0]]))).update(np.append(u, 1.0))
    np.testing.assert_allclose(found.fitted, np.append(u, 1.0), atol=1e-12)


# -- factors


@pytest.mark.parametrize("intercept", ["", "0 + "])
def test_the_best_division_of_a_factors_levels_is_found(intercept: str) -> None:
    rng = np.random.default_rng(4)
    level = np.concatenate((np.arange(6), rng.integers(0, 6, 94)))
    y = rng.normal(size=100) + np.array([0.0, 3.0, 1.0, 2.5, 0.2, 1.4])[level]
    data = {"y": y, "g": np.array(list("abcdef"))[level]}
    fit = qb.l2boost(f"y ~ {intercept}C(g)", data, learner="stump", mstop=1, nu=1.0, progress=False)
    u = y - fit.start
    errors = []
    for count in range(1, 6):
        for left in itertools.combinations(range(6), count):
            side = np.isin(level, left)
            errors.append(squared_error(u, np.where(side, u[side].mean(), u[~side].mean())))
    assert squared_error(y, fit.fittedvalues) == pytest.approx(min(errors), rel=1e-12)
    assert fit.path.names == (("C(g)",)) and fit.path.nodes.width[0] == 5 + bool(intercept)


def test_what_counts_as_a_factor() -> None:
    data = frame(60).assign(d=lambda d: (d["x1"] > 0).astype(float), b=lambda d: d["x2"] > 0, k=np.arange(60) % 3)
    data["h"] = np.where(data["k"] == 1, "u", "v")

    def split(formula: str) -> list[int]:
        model = QBR.from_formula(formula, data, tau=0.5, learner="stump")
        return model.task(model.weights).learner.split.width.tolist()

    assert split("y ~ g + C(k) + h") == [3, 2, 0]
    assert split("y ~ g * b") == [3, 0, 3]
    assert split("y ~ 0 + g + x1") == [4, 0]
    assert split("y ~ d:g + C(g, Sum)") == [0, 0, 0, 0, 0, 0, 0]
    # g:h without g and h is h beside the levels of g within each: two ones a row
    assert split("y ~ g:h") == [0] * 7
    dummies = np.eye(3)[data["k"]]
    arrays = QBR(data["y"], dummies, 0.5, learner="stump")
    assert arrays.task(arrays.weights).learner.split.width.tolist() == [0, 0, 0]


def test_a_number_times_a_factor_is_no_factor_whatever_its_values_in_training() -> None:
    """d is 0 or 1 in training: 0.3 lies below every cut, as 0 does, and 7 above, as 1 does."""
    data = frame(120).assign(d=np.arange(120.0) % 2)
    data["y"] += 3.0 * data["d"] * (data["g"] != "a")
    for learner in ("stump", "tree"):
        fit = qb.qbr("y ~ x1 + g:d", data, 0.5, learner=learner, mstop=60, progress=False)
        at = {d: fit.predict(data.assign(d=d)) for d in (0.0, 0.3, 1.0, 7.0)}
        assert at[0.3].equals(at[0.0]) and at[7.0].equals(at[1.0]) and not at[0.0].equals(at[1.0])


def test_columns_of_other_terms_are_split_one_by_one_under_the_terms_name() -> None:
    data = frame(80, seed=3)
    fit = qb.qbr("y ~ bs(x1, df=4) + x2", data, 0.5, learner="tree", mstop=20, progress=False)
    assert fit.path.names == ("bs(x1, df=4)", "x2")
    assert set(np.unique(fit.path.nodes.column)) - {-1} > {0, 4} and (fit.path.nodes.width == 0).all()


def test_levels_without_rows_go_with_the_heavier_side() -> None:
    data = pd.DataFrame({"y": [0.0] * 5 + [4.0] * 3 + [9.0], "g": list("aaaaabbbc")})
    fit = qb.l2boost("y ~ C(g)", data, weights=[1] * 8 + [0], learner="stump", mstop=1, nu=1.0, progress=False)
    np.testing.assert_allclose(fit.predict({"g": ["a", "b", "c"]}), [0.0, 4.0, 0.0], atol=1e-12)


# -- ordered fits


def ordered(fit, name: str, direction: int, others: dict[str, float], reach: float = 4.0) -> bool:
    """Return whether predictions along a grid of one column never go against its direction."""
    grid = pd.DataFrame({"x1": 0.0, "x2": 0.0, "x3": 0.0}, index=range(60)).assign(**others)
    grid[name] = np.linspace(-reach, reach, 60)
    return bool((direction * np.diff(fit.predict(grid)) >= 0.0).all())


def _violations(count: int) -> int:
    rng = np.random.default_rng(11)
    found = 0
    for k in range(count):
        n = int(rng.integers(20, 120))
        X = np.round(rng.normal(size=(n, 3)), int(rng.integers(1, 5)))
        y = X @ rng.normal(size=3) * 2.0 + np.sin(3.0 * X[:, 0]) + rng.standard_t(2, size=n)
        monotone = {"x1": int(rng.choice([-1, 1])), "x2": int(rng.choice([-1, 1]))}
        leaf = ("mean", "quantile")[k % 2]
        shape = (Stump, lambda **o: Tree(depth=4, **o), lambda **o: Tree(depth=None, leaves=6, **o))[k % 3]
        model = QBR(
            y, X, tau=float(rng.uniform(0.1, 0.9)), learner=shape(leaf=leaf, monotone=monotone), mstop=25,
            step=("adaptive", "fixed", "line")[(k // 6) % 3], progress=False,
        )  # fmt: skip
        fit = model.fit()
        for name, direction in monotone.items():
            others = dict(zip(("x1", "x2", "x3"), rng.normal(size=3), strict=True))
            others.pop(name)
            found += not ordered(fit, name, direction, others)
    return found


@pytest.mark.filterwarnings("ignore")
def test_ordered_fits_are_in_order() -> None:
    assert _violations(36) == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ordered_fits_are_in_order_five_hundred_times() -> None:
    assert _violations(500) == 0


def test_without_the_order_these_fits_go_against_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=200)
    free, bound = (
        QBR(y, X, tau=0.5, learner=Tree(depth=3, monotone=monotone), mstop=50, progress=False).fit()
        for monotone in (None, {"x1": 1})
    )
    assert not ordered(free, "x1", 1, {}) and ordered(bound, "x1", 1, {})
    assert free.risk < bound.risk < bound.path.risks[0]


# -- leaves


@pytest.mark.parametrize("learner", [Stump(leaf="quantile"), Tree(depth=2, leaf="quantile")])
def test_leaves_take_the_quantile_of_their_residuals(learner) -> None:
    y, X = draw(80, 3)
    model = QBR(y, X, tau=0.3, learner=learner, step="fixed", nu=1.0, mstop=1, step_scale="range", progress=False)
    task = model.task(model.weights)
    update = task.learner.refit(
        task.learner.update(task.loss.negative_gradient(y, task.start)), task, np.full(80, task.start)
    )
    fit = model.fit().fittedvalues.to_numpy()
    for leaf in np.unique(update.nodes.leaf):
        inside = update.nodes.leaf == leaf
        rank = int(np.ceil(0.3 * inside.sum() * (1 - 1e-12)))
        np.testing.assert_allclose(fit[inside], np.sort(y[inside])[rank - 1], rtol=1e-12)


@pytest.mark.parametrize("nu", [0.3, 1.0])
@pytest.mark.parametrize("learner", [Stump(leaf="quantile"), Tree(depth=1, leaf="quantile")])
def test_a_step_takes_no_more_than_all_of_a_leafs_quantile(nu: float, learner) -> None:
    """One column chosen for ever: its share grows to 12 nu unless it is kept at 1."""
    X = np.arange(200.0)[:, None]
    y = 0.01 * X[:, 0] ** 2 + draw(200, 1)[0]
    model = QBR(y, X, tau=0.5, learner=learner, nu=nu, progress=False)
    task = model.task(model.weights)
    path, f, shares = boost(task, 40), np.full(200, task.start), []
    for m, added in enumerate(path.increments(X)):
        update = task.learner.update(task.loss.negative_gradient(y + task.rounding, f))
        whole = task.learner.refit(update, task, f).fitted
        big = np.abs(whole) > 1e-3
        shares.append((added[big] / whole[big]).max() if big.any() else 0.0)
        assert shares[-1] <= 1.0 + 1e-9, m
        f += added
    assert max(shares) == pytest.approx(1.0, rel=1e-9)


def test_ties_upper_is_the_order_statistic_of_gbm() -> None:
    y, X = draw(80, 3)
    fit = QBR(y, X, tau=0.3, learner=Stump(leaf="quantile", ties="upper"), step="fixed", nu=1.0, mstop=1).fit()
    assert fit.start == np.sort(y)[24]
    side = X[:, fit.path.nodes.column[0]] <= fit.path.nodes.cut[0]
    assert fit.fittedvalues[side].iloc[0] == pytest.approx(np.sort(y[side])[int(np.floor(0.3 * side.sum()))], rel=1e-12)


def test_quantile_leaves_of_squared_error_are_means() -> None:
    data = frame(60)
    one, other = (
        qb.l2boost("y ~ x1 + x2", data, learner=Stump(leaf=leaf), mstop=30, progress=False).fittedvalues
        for leaf in ("mean", "quantile")
    )
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_quantile_leaves_of_a_loss_of_classes_are_refused() -> None:
    data = frame(60).assign(y=lambda d: (d["y"] > d["y"].median()).astype(int))
    with pytest.raises(InputError, match=r'a loss of classes, has none\. Use leaf="mean"'):
        qb.logitboost("y ~ x1", data, learner=Stump(leaf="quantile"), mstop=2, progress=False)


def test_majority_leaves_vote() -> None:
    X, u = np.arange(8.0)[:, None], np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    update = prepared(Stump(leaf="majority"), X).update(u)
    np.testing.assert_array_equal(update.fitted, [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0])


# -- paths


def test_shares_of_a_tree_are_its_gains() -> None:
    fit = qb.qbr("y ~ x1 + x2 + C(g)", frame(100), 0.5, learner="tree", mstop=15, progress=False)
    iteration, term, share = fit.path.shares(15)
    np.testing.assert_allclose(np.bincount(iteration, weights=share), 1.0, rtol=1e-12)
    for m in range(15):
        own = iteration == m
        assert fit.path.selected[m] == np.argmax(np.bincount(term[own], weights=share[own], minlength=3))
    assert fit.importance.sum() == pytest.approx(1.0, rel=1e-12)
    assert (fit.selection_frequencies <= 1.0).all()


@pytest.mark.parametrize("leaf", ["mean", "quantile"])
@pytest.mark.parametrize("learner", [Tree(depth=None, leaves=2), Tree(depth=3, leaves=2), Tree(depth=1, leaves=9)])
def test_trees_of_two_leaves_are_stumps(learner, leaf: str) -> None:
    y, X = draw(150, 4)
    fits = [
        QBR(y, X, tau=0.7, learner=dataclasses.replace(one, leaf=leaf), mstop=80, progress=False).fit()
        for one in (Stump(), Tree(depth=1), learner)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.path.risks, fits[0].path.risks)
        np.testing.assert_array_equal(other.fittedvalues, fits[0].fittedvalues)


@pytest.mark.parametrize("learner", [Stump(), Tree(), Tree(depth=None, leaves=3), Stump(leaf="quantile")])
def test_the_path_repeats_the_run_to_the_last_bit(learner) -> None:
    y, X = draw(150, 4)
    model = QBR(y, X, tau=0.7, learner=learner, mstop=60, progress=False)
    task = model.task(model.weights)
    path = boost(task, 60)
    f = np.full(150, path.start)
    for added in path.increments(X):
        f += added
    np.testing.assert_array_equal(path.fit_at(60, X), f)
    assert path.risks[60] == task.loss.risk(y, f, task.weights)


def test_an_update_kept_for_the_path_holds_no_rows() -> None:
    update = prepared(Tree(), draw(50, 2)[1]).update(np.random.default_rng(0).normal(size=50)).bare()
    assert len(update.fitted) == len(update.nodes.leaf) == 0 and len(update.values) > 1


def test_min_rows_beyond_half_leaves_the_start() -> None:
    y, X = draw(30, 2)
    fit = QBR(y, X, tau=0.5, learner=Stump(min_rows=16), mstop=5).fit()
    assert fit.mstop == 0 and "nothing to choose from" in fit.status


# -- descriptions and messages


def test_descriptions_compare_and_pickle() -> None:
    import pickle

    for learner in (Stump(monotone={"x1": 1}), Tree(leaves=4, depth=None), Stump(bins=16, ties="upper")):
        assert pickle.loads(pickle.dumps(learner)) == learner
        assert eval(repr(learner), {"Stump": Stump, "Tree": Tree}) == learner
    assert Stump() != Stump(leaf="quantile") and Stump() != Tree(depth=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Stump(leaf="median"), "`leaf` must be"),
        (lambda: Stump(ties="middle"), "`ties` must be"),
        (lambda: Stump(min_rows=0), "`min_rows`"),
        (lambda: Stump(bins=1), "from 2 to 65535; got 1"),
        (lambda: Stump(bins=True), "`bins` must be"),
        (lambda: Stump(monotone={"x1": 2}), r"1 \(must not fall\) or -1 \(must not rise\) for 'x1'; got 2"),
        (lambda: Stump(monotone="x1"), "must map names to 1 or -1"),
        (lambda: Tree(depth=None), "needs `depth` or `leaves`"),
        (lambda: Tree(depth=0), "`depth`"),
        (lambda: Tree(depth=31), "at most 30; got 31"),
        (lambda: Tree(leaves=1), "`leaves`"),
        (lambda: prepared(Stump(monotone={"t9": 1}), np.ones((3, 2))), "no term of the model"),
        (lambda: prepared(Stump(monotone={"t0": 1}), np.eye(3)[:, :2], blocks=[0, 2]), "no single number"),
    ],
)
def test_messages(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_descriptions_name_what_is_not_the_default() -> None:
    assert repr(Stump()) == "Stump()" and repr(Tree(leaves=4, ties="upper")) == "Tree(leaves=4, ties='upper')"


def test_summaries_say_what_a_step_is_a_share_of() -> None:
    data = frame(60)
    for leaf, words in (("mean", "unit-free"), ("quantile", "share of each leaf")):
        fit = qb.qbr("y ~ x1 + x2", data, 0.5, learner=Stump(leaf=leaf), mstop=5, progress=False)
        assert words in str(fit.summary()) and words in str(fit)
