"""Out-of-fold risk: folds that keep classes or groups, the same numbers however they are got, what is made of them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from qreg_boost.api_reject import reject_classifier
from qreg_boost.base.checks import ConvergenceWarning, InputError
from qreg_boost.reject.folds import reject_folds
from qreg_boost.reject.model import RejectClassifier
from tests.unit.reject.cases import overlapping

DATA = overlapping(90, 3)


def fitted(**options):
    return reject_classifier("y ~ a + b", DATA, **{"kernel": "rbf", "C": 2.0, **options})


def test_out_of_fold_predictions_are_those_of_fits_without_the_fold() -> None:
    fit = fitted()
    cv = fit.cv(k=5, rng=1, progress=False)
    X = DATA[["a", "b"]].to_numpy()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = cv.found.kernels[0]
    codes = cv.predictions(codes=True).to_numpy()
    for j in range(5):
        train, held = cv.folds.train[:, j] > 0, cv.folds.held[:, j]
        part = RejectClassifier(DATA["y"][train], Z[train], kernel=kernel, C=2.0, standardize=False).fit()
        assert part.predict(Z[held], codes=True).tolist() == codes[held].tolist()


def test_table_by_hand_and_best() -> None:
    cv = fitted().cv(C=[4, 0.5], gamma=[0.2, 1.0], d=[0.3, 0.1], k=5, progress=False)
    table = cv.table
    assert len(table) == 8 and sorted(table["d"].unique()) == [0.1, 0.3]
    assert (table["C"].to_numpy()[:2] == [0.5, 4.0]).all()
    for d, rows in table.groupby("d"):
        best = cv.best.set_index("d").loc[d]
        assert best["risk"] == rows["risk"].min()
        codes, y = cv.predictions(d, codes=True).to_numpy(), np.where(DATA["y"] == "yes", 1, -1)
        risk = np.mean(np.where(codes == 0, d, codes != y))
        assert best["risk"] == pytest.approx(risk)
    again = cv.refit(0.1)
    assert again.d == 0.1 and again.facts.own["out_of_fold"]["risk"] == cv.best.set_index("d").loc[0.1, "risk"]
    text = again.summary().as_text()
    assert "(out of fold)" in text and "(training)" in text
    known = fitted(C=float(cv.best["C"][0]), gamma=float(cv.best["gamma"][0]), d=0.1)
    assert again.objective == pytest.approx(known.objective, rel=1e-9)
    assert cv.predictions(0.3).isna().sum() == (cv.predictions(0.3, codes=True) == 0).sum()
    with pytest.raises(InputError, match="say which"):
        cv.refit()
    with pytest.raises(InputError, match="d='a' is none of the prices"):
        cv.refit("a")
    with pytest.raises(InputError, match="none of the prices"):
        cv.refit(0.25)


@pytest.mark.parametrize("method", ["double_ramp", "double_hinge", "generalized_hinge"])
def test_results_depend_neither_on_workers_nor_on_warm_starts(method: str) -> None:
    fit = fitted(method=method, starts=1)
    one = fit.cv(C=[0.5, 2, 8], k=4, progress=False)
    two = fit.cv(C=[0.5, 2, 8], k=4, n_jobs=2, progress=False)
    pd.testing.assert_frame_equal(one.table, two.table)
    assert one.found.unsolved == 0 and one.found.kkt < 1e-6
    alone = fit.cv(C=8, k=4, progress=False)
    assert alone.table["risk"][0] == pytest.approx(one.table.set_index("C").loc[8, "risk"])


def test_the_call_of_a_refit_is_the_one_that_repeats_it() -> None:
    """It once was that of the fit which had been crossed, with another C."""
    fit = fitted(C=32.0, gamma="median")
    chosen = fit.cv(C=[0.5, 3.0], gamma=[0.3, 0.6], d=[0.1, 0.25], k=3, progress=False).refit(0.25)
    call = chosen.facts.call
    assert f"C={chosen.C!r}" in call and f"gamma={chosen.gamma!r}" in call and "d=0.25" in call and "32" not in call
    again = eval(call, {"reject_classifier": reject_classifier, "data": DATA})
    assert again.objective == pytest.approx(chosen.objective, rel=1e-9)
    same = fit.cv(k=3, progress=False).refit()
    assert same.facts.call == fit.facts.call


def test_what_was_held_out_is_said() -> None:
    fit = fitted()
    subject = pd.Series(np.arange(90) // 5, name="subject")
    for how, said in (
        ({}, "10-fold cross-validation, stratified by class"),
        ({"k": 4}, "4-fold cross-validation, stratified by class"),
        ({"k": 4, "groups": subject}, "4-fold cross-validation, 18 groups held out whole"),
        ({"folds": np.arange(90) % 3}, "3 given folds"),
        ({"folds": "bootstrap", "k": 3}, "bootstrap, 3 replicates"),
    ):
        cv = fit.cv(C=[1.0, 4.0], progress=False, **how)
        assert f"Out of fold: 0-d-1 risk, {said}; the least of 2 settings (table has all)" in " ".join(repr(cv).split())
        text = " ".join(cv.refit().summary().as_text().split())
        assert f"Out of fold: {said}, the least risk of 2 settings and so a little too good." in text
    assert "the least" not in repr(fit.cv(k=3, progress=False))
    cost = fitted(cost={"fn": 3, "fp": 1, "reject": 0.3}).cv(k=3, progress=False)
    assert "mean cost of a row" in repr(cost) and "d" not in cost.table
    even = fitted(cost={"fn": 2, "fp": 2, "reject": 0.4}).cv(k=3, progress=False)
    assert even.table["d"].tolist() == [0.2] and even.refit(0.2).d == 0.2


def test_what_is_known_out_of_fold() -> None:
    fit = fitted()
    cv = fit.cv(d=[0.1, 0.3], k=5, progress=False)
    codes, y = cv.predictions(0.1, codes=True).to_numpy(), np.where(DATA["y"] == "yes", 1, -1)
    counts = cv.confusion(0.1)
    assert counts.loc["yes", "withheld"] == ((codes == 0) & (y > 0)).sum()
    assert counts.loc["no", "yes"] == ((codes > 0) & (y < 0)).sum()
    assert cv.evaluate(0.1)["risk"] == cv.best["risk"][0]
    third = pd.Series(np.arange(90) % 3, name="third")
    by = cv.evaluate(0.1, groups=third.sample(frac=1.0, random_state=0))
    assert by.index.name == "third" and by["n"].tolist() == [30, 30, 30]
    at = (third == 1).to_numpy()
    assert by.loc[1, "risk"] == pytest.approx(np.mean(np.where(codes == 0, 0.1, codes != y)[at]))
    held = cv.folds.held[:, 2]
    assert cv.fold_risks.loc[3, 0.1] == pytest.approx(np.mean(np.where(codes == 0, 0.1, codes != y)[held]))
    assert cv.refit(0.1).out_of_fold["risk"] == cv.best["risk"][0]


def test_risk_against_coverage_out_of_fold() -> None:
    fit = fitted(kernel="linear")
    cv = fit.cv(d=[0.1, 0.25], C=[0.5, 5.0], k=4, progress=False)
    for d in (0.1, 0.25):
        curve, known = cv.risk_coverage(d), cv.evaluate(d)
        assert curve.where == "out of fold" and curve.fitted["threshold"] == 0.0
        assert curve.fitted["coverage"] == pytest.approx(1.0 - known["rejection_rate"])
        assert curve.fitted["risk"] == pytest.approx(known["risk"])
        assert curve.fitted["error_accepted"] == pytest.approx(1.0 - known["accuracy_accepted"])
    # by hand, with every row predicted: the sign of f of the fit without the row's fold
    X = DATA[["a", "b"]].to_numpy()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    f = np.empty(len(DATA))
    for train, held in zip(cv.folds.train.T > 0, cv.folds.held.T, strict=True):
        part = RejectClassifier(DATA["y"][train], Z[train], C=float(cv.best["C"][1]), d=0.25, standardize=False).fit()
        f[held] = part.decision_function(Z[held])
    wrong = np.mean((f > 0.0) != (DATA["y"] == "yes"))
    assert cv.risk_coverage(0.25).table["error_accepted"].iloc[-1] == pytest.approx(wrong)
    with pytest.raises(InputError, match="say which"):
        cv.risk_coverage()
    assert "out of fold" in cv.risk_coverage(0.1).plot().get_title(loc="left")


def test_groups_go_by_their_index() -> None:
    subject = pd.Series(np.arange(90) // 5, name="subject")
    fit = fitted()
    how = {"k": 6, "progress": False}
    known = fit.cv(groups=subject, **how).folds.held
    assert (fit.cv(groups=subject.sample(frac=1.0, random_state=3), **how).folds.held == known).all()
    assert (fit.cv(groups=subject.to_numpy(), **how).folds.held == known).all()
    holes = reject_classifier("y ~ a + b", DATA.assign(a=DATA["a"].where(DATA.index != 7)), kernel="rbf")
    few = holes.cv(groups=subject, **how).folds.held
    assert (holes.cv(groups=subject.drop(7), **how).folds.held == few).all()
    twice = DATA.set_axis(np.arange(90) % 45, axis=0)
    fit = reject_classifier("y ~ a + b", twice, kernel="rbf")
    assert (fit.cv(groups=subject.set_axis(twice.index), **how).folds.held == known).all()
    assert len(fit.evaluate(groups=subject.set_axis(twice.index))) == 18


def test_folds_keep_the_classes() -> None:
    y = np.where(np.arange(50) < 10, 1.0, -1.0)
    folds = reject_folds("kfold", 5, y, None, np.arange(50), _Rows(50), 0)
    assert (folds.held.sum(axis=0) == 10).all() and (folds.held.sum(axis=1) == 1).all()
    assert (folds.held[y > 0].sum(axis=0) == 2).all()


class _Rows:
    """Stands for a design of n rows, none dropped."""

    def __init__(self, n: int) -> None:
        self.y, self.rows, self.index = np.zeros(n), np.arange(n), pd.RangeIndex(n)


def test_groups_are_never_on_both_sides() -> None:
    groups = pd.Series(np.repeat(np.arange(18), 5), name="subject")
    cv = fitted().cv(groups=groups, k=6, progress=False)
    for j in range(6):
        assert not set(groups[cv.folds.train[:, j] > 0]) & set(groups[cv.folds.held[:, j]])
    assert (cv.folds.held.sum(axis=1) == 1).all()
    with pytest.raises(InputError, match=r"number of groups, 18; got 19\. k=18 leaves each out once"):
        fitted().cv(groups=groups, k=19)
    with pytest.raises(InputError, match="`groups` is for folds=\"kfold\"; got folds='bootstrap'"):
        fitted().cv(groups=groups, folds="bootstrap")
    with pytest.raises(InputError, match="one value per row"):
        fitted().cv(groups=[1, 2, 3])
    with pytest.raises(InputError, match=r"keeps no columns .* groups=data\['subject'\]"):
        fitted().cv(groups="subject")
    with pytest.raises(InputError, match="missing in 2 rows"):
        fitted().cv(groups=groups.where(groups.index > 1))
    with pytest.raises(InputError, match="folds that are given"):
        fitted().cv(groups=groups, folds=groups.to_numpy())


def test_rows_of_one_subject_that_agree_flatter_folds_by_rows() -> None:
    """Repeats of a row on both sides of a fold: the risk by rows is far below that by whole groups."""
    rng = np.random.default_rng(0)
    few = overlapping(30, 8).assign(y=rng.permutation(np.repeat(["no", "yes"], 15)), subject=np.arange(30))
    data = few.loc[np.repeat(few.index, 4)].reset_index(drop=True)
    fit = reject_classifier("y ~ a + b", data, kernel="rbf", gamma=5.0, C=10.0)
    by_rows = fit.cv(k=5, progress=False).table["risk"][0]
    by_groups = fit.cv(k=5, groups=data["subject"], progress=False).table["risk"][0]
    assert by_rows < 0.5 * by_groups


def test_dropped_rows_and_weights() -> None:
    holes = DATA.copy()
    holes.loc[[3, 7], "a"] = np.nan
    groups = np.arange(len(DATA)) // 3
    fit = reject_classifier("y ~ a + b", holes, kernel="rbf")
    cv = fit.cv(groups=groups, k=5, progress=False)
    assert len(cv.predictions()) == len(DATA) - 2 and 3 not in cv.predictions().index
    weighted = reject_classifier("y ~ a + b", DATA, weights=np.where(groups == 0, 0.0, 2.0), kernel="rbf")
    cv = weighted.cv(k=5, progress=False)
    assert cv.found.counts.sum() == 2.0 * (len(DATA) - 3)


def test_risk_against_d() -> None:
    curve = fitted(kernel="linear").risk_against_d(k=4, progress=False)
    assert curve.best["d"].tolist() == pytest.approx(np.arange(0.05, 0.55, 0.05).tolist())
    assert curve.best["rejection_rate"].iloc[-1] == 0.0
    assert curve.best["rejection_rate"].iloc[0] > curve.best["rejection_rate"].iloc[6]
    assert repr(curve).startswith("Out of fold: 0-d-1 risk, 4-fold cross-validation, stratified by class\n")
    assert fitted().cv(d=np.array(0.1), C=np.float64(2.0), k=3, progress=False).table["d"].tolist() == [0.1]


@pytest.mark.parametrize("options", [
    {"kernel": "linear"}, {"gamma": "median"}, {"kernel": "polynomial", "kpar": {"degree": 3}}, {"event": "no"},
    {"kernel": "linear", "cost": {"fn": 3, "fp": 1, "reject": 0.3}}, {"method": "double_hinge", "starts": "zero"},
])  # fmt: skip
def test_a_loaded_fit_is_crossed_and_called_as_the_one_that_was_saved(tmp_path, options: dict) -> None:
    from qreg_boost import load

    fit = fitted(**options)
    again = load(fit.save(tmp_path / "fit.qb", data=True))
    one, two = (each.cv(C=[0.5, 2.0], k=3, progress=False) for each in (fit, again))
    pd.testing.assert_frame_equal(one.table, two.table)
    saved = load(one.refit().save(tmp_path / "chosen.qb"))
    assert str(two.refit()) == str(saved) == str(one.refit())
    assert saved.out_of_fold.equals(one.refit().out_of_fold)
    assert saved.summary().as_text() == one.refit().summary().as_text()


def test_programs_that_are_not_solved_are_told_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fitted(kernel="linear", C=1e12)
    with pytest.warns(ConvergenceWarning, match="of the cross-validation had a convex program that did not end as opt"):
        cv = fit.cv(k=3, progress=False)
    assert cv.found.unsolved > 0


def test_grids_are_checked() -> None:
    with pytest.raises(InputError, match="has no gamma"):
        fitted(kernel="linear").cv(gamma=[0.1])
    with pytest.raises(InputError, match="`C` must be a number above 0"):
        fitted().cv(C=[1.0, 0.0])
    with pytest.raises(InputError, match="`d`, the price"):
        fitted().cv(d=[0.7])
    with pytest.raises(InputError, match="grid of `C` is empty"):
        fitted().cv(C=[])
    with pytest.raises(InputError, match="cannot vary where"):
        fitted(cost={"fn": 3, "fp": 1, "reject": 0.3}).cv(d=[0.1])
    with pytest.raises(InputError, match="`n_jobs` must be a number of workers"):
        fitted().cv(n_jobs=0)
    with pytest.raises(InputError, match="`progress` must be True or False"):
        fitted().cv(progress="no")
    with pytest.raises(InputError, match="one class only"):
        fitted().cv(folds=(DATA["y"] == "yes").to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("name, response, kernel", [
    ("sonar", "class", "linear"), ("ionosphere", "class", "rbf"), ("parkinsons", "status", "linear"),
    ("spambase", "class", "rbf"),
])  # fmt: skip
@pytest.mark.parametrize("d", [0.05, 0.2, 0.4])
def test_every_program_of_a_ten_fold_run_is_optimal(public_table, name: str, response: str, kernel: str, d: float):
    data = public_table(name)
    data = data.drop(columns=[c for c in ("name", "subject") if c in data])
    response = next(c for c in data.columns if c.lower() in ("class", "status", "spam", "type"))
    if len(data) > 500:
        data = data.sample(500, random_state=0).reset_index(drop=True)
    fit = reject_classifier(f"Q('{response}') ~ .", data, d=d, kernel=kernel, C=2.0)
    cv = fit.cv(C=[0.5, 32.0], progress=False)
    assert cv.found.unsolved == 0
    assert cv.found.kkt < 1e-6
    assert cv.found.programs > 20
