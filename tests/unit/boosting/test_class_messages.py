"""Every message that a classifier's user may meet: what is wrong, what was found, what is allowed, what to do."""

# ruff: noqa: E501 (a message and its pattern belong on one line)
from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.boosting.learners import Stump

N = 40
RNG = np.random.default_rng(0)
X1 = RNG.normal(size=N)
DATA = pd.DataFrame({"y": np.where(X1 + RNG.normal(size=N) > 0, "bad", "good"), "x1": X1, "x2": RNG.normal(size=N)})


def fit(formula: str = "y ~ x1 + x2", data: pd.DataFrame = DATA, *args, **options):
    return qb.qbc(formula, data, *args, progress=False, **options)


BAD = {
    # classes
    "one class": (
        lambda: fit(data=DATA.assign(y="bad")),
        r"Response 'y' has one class only \('bad'\); there is nothing to tell apart",
    ),
    "three classes": (
        lambda: fit(data=DATA.assign(y=np.arange(N) % 3)),
        r"Response 'y' has 3 distinct values \(0, 1, 2\); two are needed\. Keep two with `subset`",
    ),
    "numbers of many values": (lambda: fit("x1 ~ x2"), r"Response 'x1' has 40 distinct values .*two are needed"),
    "one class of weight above 0": (
        lambda: fit(weights=(DATA["y"] == "bad").astype(float)),
        r"Response 'y' has one class only \('bad'\)",
    ),
    "unknown event": (
        lambda: fit(event="ugly"),
        r"`event` must be one of the two values of 'y', 'bad', 'good'; got 'ugly'",
    ),
    "one class, arrays": (lambda: qb.QBC(["a"] * N, DATA[["x1"]]), r"Response 'y' has one class only"),
    "l2boost of three labels": (
        lambda: qb.l2boost("g ~ x1", DATA.assign(g=np.array([*"abc"])[np.arange(N) % 3])),
        r"Response 'g' has 3 distinct values",
    ),
    "l2boost of many values, event given": (
        lambda: qb.l2boost("x1 ~ x2", DATA, event=1),
        r"Response 'x1' has 40 distinct values",
    ),
    # tau and cost
    "tau 0": (lambda: fit("y ~ x1", DATA, 0), r"`tau` must lie strictly between 0 and 1; got 0\."),
    "tau 20": (lambda: fit("y ~ x1", DATA, 20), r"write tau=0\.2"),
    "one of the taus": (lambda: fit("y ~ x1", DATA, [0.5, 50]), r"got 50\. For the 50th percentile write tau=0\.5"),
    "the same tau twice": (lambda: fit("y ~ x1", DATA, [0.5, 0.5]), r"names a quantile level twice"),
    "tau against cost": (
        lambda: fit("y ~ x1", DATA, 0.5, cost={"fn": 5, "fp": 1}),
        r"`tau` is 0\.5, but cost=\{'fn': 5, 'fp': 1\} means tau = fn / \(fn \+ fp\) = 0\.833333\. Leave one of them out\.",
    ),
    "tau against cost, arrays": (
        lambda: qb.QBC(DATA["y"], DATA[["x1"]], 0.5, cost={"fn": 5, "fp": 1}),
        r"Leave one of them out",
    ),
    "cost misspelt": (
        lambda: fit(cost={"fn": 5, "FP": 1}),
        r'`cost` must say what both errors cost, as in \{"fn": 5, "fp": 1\}.*got \{\'fn\': 5, \'FP\': 1\}',
    ),
    "half a cost": (lambda: fit(cost={"fn": 5}), r"`cost` must say what both errors cost"),
    "cost a number": (lambda: fit(cost=5), r"`cost` must say what both errors cost.*got 5\."),
    "cost 0": (lambda: fit(cost={"fn": 5, "fp": 0}), r"`cost\['fp'\]` must be a number above 0; got 0"),
    "cost of text": (lambda: fit(cost={"fn": "five", "fp": 1}), r"`cost\['fn'\]` must be a number above 0; got 'five'"),
    "cost too far apart": (
        lambda: fit(cost={"fn": 1e300, "fp": 1e-300}),
        r"`cost` has prices too large or too far apart.*Only their ratio counts",
    ),
    "cost too large": (lambda: fit(cost={"fn": 1e308, "fp": 1e308}), r"`cost` has prices too large"),
    "weights without end, jous": (
        lambda: qb.jous("y ~ x1", DATA, weights=np.full(N, 1e300)),
        r"`weights` reach 1e\+300, too far from 1 to compute with; divide them all by that",
    ),
    "weights without end, binary_qreg": (
        lambda: qb.binary_qreg("y ~ x1", DATA, 0.5, weights=np.full(N, 1e300)),
        r"`weights` reach 1e\+300, too far from 1 to compute with",
    ),
    "weights without end, median classifier": (
        lambda: qb.MedianClassifier(DATA["y"], DATA[["x1"]], weights=np.full(N, 1e300)),
        r"`weights` reach 1e\+300, too far from 1 to compute with",
    ),
    "h next to 0": (lambda: fit(h=1e-300), r"`h` is 1e-300, too narrow to compute with; 0\.1 is usual"),
    "labels of other rows": (
        lambda: fit().evaluate(DATA, y=DATA["y"].iloc[::-1]),
        r"`y` and the data have different indexes; align them first, or pass `y` as an array",
    ),
    "labels of other rows by iteration": (
        lambda: fit().evaluate_path(DATA, y=DATA["y"].iloc[::-1]),
        r"`y` and the data have different indexes",
    ),
    "labels of other rows, a median classifier": (
        lambda: qb.median_classifier("y ~ x1", DATA).evaluate(DATA, y=DATA["y"].iloc[::-1]),
        r"`y` and the data have different indexes",
    ),
    "h 0": (lambda: fit(h=0.0), r"`h` must be a number above 0; got 0\.0\. It is the width"),
    # options
    "step of qbr": (lambda: fit(step="adaptive"), r"`step` must be one of 'fixed', 'line'; got 'adaptive'"),
    "unknown option": (
        lambda: qb.QBC(DATA["y"], DATA[["x1"]], eventt="bad"),
        r"Unknown option 'eventt'\. Did you mean 'event'\? Options: ",
    ),
    "classes are no option": (lambda: qb.QBC(DATA["y"], DATA[["x1"]], classes={}), r"Unknown option 'classes'"),
    "offset": (lambda: qb.QBC(DATA["y"], DATA[["x1"]], offset=X1), r"A classifier takes no `offset`"),
    "quantile leaves": (lambda: fit(learner=Stump(leaf="quantile")), r'leaf="quantile".*Use leaf="mean"'),
    "form of logitboost": (
        lambda: qb.logitboost("y ~ x1", DATA, form="discrete"),
        r"`form` must be one of 'newton', 'gradient'; got 'discrete'",
    ),
    "zmax 0": (
        lambda: qb.logitboost("y ~ x1", DATA, zmax=0),
        r"`zmax` must be a number above 0; got 0\. It bounds the working response; None lifts the bound",
    ),
    "nu 0": (lambda: qb.logitboost("y ~ x1", DATA, nu=0), r"`nu` must be a number above 0; got 0"),
    "steps of l2boost": (
        lambda: qb.l2boost("x1 ~ x2", DATA, nu=2),
        r"`nu` must be below 2, from where on squared error grows with each step; got 2",
    ),
    "form of adaboost": (
        lambda: qb.adaboost("y ~ x1", DATA, form="newton"),
        r"`form` must be one of 'discrete', 'gradient'",
    ),
    "adaboost of linear learners": (
        lambda: qb.adaboost("y ~ x1", DATA, learner="linear"),
        r"Discrete AdaBoost needs a learner whose leaves vote \('stump', 'tree'\); got 'linear'\. form=\"gradient\" takes any learner",
    ),
    "adaboost by line search": (
        lambda: qb.adaboost("y ~ x1", DATA, step="line"),
        r"step='line' does not go with form='discrete'",
    ),
    "gradient steps by vote": (
        lambda: qb.adaboost("y ~ x1", DATA, form="gradient", step="vote"),
        r"step='vote' does not go with form='gradient'",
    ),
    # rows and results
    "a fold of one class": (
        lambda: fit().cv(folds=(DATA["y"] == "bad").to_numpy(), progress=False),
        r"fold or replicate hold one class only.*StratifiedKFold",
    ),
    "loss of cv": (
        lambda: fit().cv(loss="errors"),
        r"`loss` must be one of 'loss', 'error', 'cost'; got 'errors'\. Did you mean 'error'\?",
    ),
    "cv of the start": (lambda: fit(mstop=0).cv(), r"`max` must be at least 1"),
    "offset to predict": (lambda: fit().predict(DATA, offset=X1), r"A classifier takes no `offset`"),
    "rows without labels": (
        lambda: fit().evaluate(DATA[["x1", "x2"]]),
        r"The data have no column 'y', which is the response; pass its labels as `y`",
    ),
    "other labels": (
        lambda: fit().evaluate(DATA.assign(y="ugly")),
        r"The labels of 'y' must be 'bad' or 'good', as in training; found 'ugly'",
    ),
    "too few labels": (
        lambda: fit().evaluate(DATA, y=["bad"]),
        rf"`y` must have one label per row: {N} rows, but 1 labels",
    ),
    "level of the interval": (
        lambda: fit("y ~ x1", DATA, [0.3, 0.6]).prob_cell(level=90),
        r"`level` must lie strictly between 0 and 1, 0\.9 for 90 %; got 90",
    ),
    "level of text": (
        lambda: fit("y ~ x1", DATA, [0.3, 0.6]).prob_cell(level="a"),
        r"`level` must lie strictly between 0 and 1, 0\.9 for 90 %; got 'a'",
    ),
    "replicates": (
        lambda: fit("y ~ x1", DATA, [0.3, 0.6]).prob_cell(level=0.9, reps=1),
        r"`reps` must be a whole number of at least 2; got 1",
    ),
    "sorted labels": (
        lambda: fit("y ~ x1", DATA, [0.3, 0.6]).predict(rearrange=True),
        r"prob_cell\(new\) puts the fits in order",
    ),
    "quantile lines of a classifier": (lambda: fit("y ~ x1", DATA, [0.3, 0.6]).plot_lines(), r"no quantiles to draw"),
    "R1 of a classifier": (lambda: fit("y ~ x1", DATA, [0.3, 0.6]).prsquared, r"errors\(\) has the errors at each tau"),
    "residuals of a classifier": (lambda: fit("y ~ x1", DATA, [0.3, 0.6]).resid, r"A classifier has no residuals"),
    "optimum of a classifier": (
        lambda: fit("y ~ x1", DATA, [0.3, 0.6]).optimality_gap,
        r"optimum of a smoothed score is not known",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_message(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(InputError, match=message):
        call()


def test_unused_labels_and_rows_left_out_are_no_class() -> None:
    three = DATA.assign(y=np.where(np.arange(N) < 4, "ugly", DATA["y"]))
    assert fit(data=three, subset="y != 'ugly'").classes == ("bad", "good")
    categories = DATA.assign(y=pd.Categorical(DATA["y"], ["good", "bad", "ugly"]))
    assert fit(data=categories).classes == ("good", "bad")
    missing = DATA.assign(y=DATA["y"].where(np.arange(N) > 5))
    assert fit(data=missing).facts.n_dropped == 6


def test_a_tau_that_agrees_with_the_cost_may_be_given() -> None:
    assert fit("y ~ x1", DATA, 0.75, cost={"fn": 3, "fp": 1}).tau == 0.75
    assert [one.tau for one in fit("y ~ x1", DATA, [0.4, 0.75], cost={"fn": 3, "fp": 1})] == [0.4, 0.75]
