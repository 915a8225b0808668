"""Every message that qbr's user may meet: what is wrong, what was found, what is allowed, what to do."""

# ruff: noqa: E501 (a message and its pattern belong on one line)
from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost import QBR
from qreg_boost.base.checks import BoundWarning, ConvergenceWarning, InputError
from tests.unit.boosting.cases import frame

N = 40
DATA = frame(N)


def fit(formula: str = "y ~ x1", data: pd.DataFrame = DATA, tau=0.5, **options):
    return qb.qbr(formula, data, tau, **options)


BAD = {
    # columns
    "unknown column": (lambda: fit("y ~ x1 + x3"), r"Column 'x3' in \"y ~ x1 \+ x3\" is not in `data`\. Columns: y, x1, x2, g"),
    "unknown response": (lambda: fit("yy ~ x1"), r"Column 'yy' .*not in `data`.*Did you mean 'y'|Column 'yy' .*not in `data`.*Columns: y, x1"),
    "engel misspelt": (
        lambda: qb.qbr("foodexp ~ incom", qb.datasets.load("engel")),
        r"Column 'incom' in \"foodexp ~ incom\" is not in `data`\. Did you mean 'income'\? Columns: income, foodexp",
    ),
    "weights column": (lambda: fit(weights="w"), r"'w'.*not in `data`"),
    "offset column": (lambda: fit(offset="o"), r"'o'.*not in `data`"),
    # tau
    "tau 0": (lambda: fit(tau=0), r"`tau` must lie strictly between 0 and 1; got 0\."),
    "tau 1": (lambda: fit(tau=1.0), r"`tau` must lie strictly between 0 and 1; got 1\.0"),
    "tau 20": (lambda: fit(tau=20), r"`tau` must lie strictly between 0 and 1; got 20\. For the 20th percentile write tau=0\.2"),
    "tau text": (lambda: fit(tau="median"), r"`tau` must be a number strictly between 0 and 1; got 'median'"),
    "tau nan": (lambda: fit(tau=np.nan), r"`tau` must lie strictly between 0 and 1; got nan"),
    "one of the taus": (lambda: fit(tau=[0.5, 50]), r"got 50\. For the 50th percentile write tau=0\.5"),
    # learner
    "learner misspelt": (lambda: fit(learner="liner"), r"`learner` must be one of 'linear', 'componentwise'.*; got 'liner'\. Did you mean 'linear'\?"),
    "learner a number": (lambda: fit(learner=3), r"`learner` must be one of .*, or an instance of a learner; got 3"),
    "learner a class": (lambda: fit(learner=qb.boosting.learners.Linear), r"`learner` must be one of .*an instance"),
    # weights
    "negative weights": (lambda: fit(weights=-np.ones(N)), rf"`weights` must not be negative; found {N} negative values, the first -1 in row 0"),
    "weights of wrong length": (lambda: fit(weights=np.ones(7)), rf"`weights` must have one value per row: {N} rows, but 7 values"),
    "infinite weights": (lambda: fit(weights=np.full(N, np.inf)), "`weights` has infinite values"),
    "all weights 0": (lambda: fit(weights=np.zeros(N)), "at least one row needs a weight above 0"),
    "weights of text": (lambda: fit(weights=["a"] * N), "`weights` must be numbers"),
    "offset of wrong length": (lambda: fit(offset=np.ones(7)), rf"`offset` must have one value per row: {N} rows, but 7 values"),
    # rows
    "infinite y": (lambda: fit(data=DATA.assign(y=DATA["y"].where(DATA.index != 3, np.inf))), r"'?y'? has 1 infinite value.*row 3"),
    "infinite x": (lambda: fit(data=DATA.assign(x1=DATA["x1"].where(DATA.index != 3, -np.inf))), r"'x1'.* infinite.*row 3"),
    "log of 0": (lambda: fit("y ~ np.log(x1 - x1)"), r"infinite"),
    "y not numeric": (lambda: fit("g ~ x1"), r"'g'.*(numeric|numbers)"),
    "empty frame": (lambda: fit(data=DATA.iloc[:0]), r"`data` is empty: 0 rows, 4 columns"),
    "all rows missing": (lambda: fit(data=DATA.assign(x1=np.nan)), rf"No row is complete: each of the {N} rows misses something\. Missing values: x1"),
    "missing refused": (lambda: fit(data=DATA.assign(x1=DATA["x1"].where(DATA.index != 3)), missing="raise"), r"missing"),
    "missing misspelt": (lambda: fit(missing="dorp"), r"`missing` must be one of 'drop', 'raise', 'branch'; got 'dorp'\. Did you mean 'drop'"),
    "data of another kind": (lambda: fit(data=3), "`data` must be"),
    # formula
    "no tilde": (lambda: fit("y x1"), r"formula"),
    "two tildes": (lambda: fit("y ~ x1 ~ x2"), r"y ~ x1 ~ x2"),
    "open bracket": (lambda: fit("y ~ (x1 + x2"), r"y ~ \(x1 \+ x2"),
    "nothing after plus": (lambda: fit("y ~ x1 +"), r"y ~ x1 \+"),
    "no response": (lambda: fit("~ x1"), r"response|left"),
    "formula a number": (lambda: fit(3), r"formula"),
    # iterations and steps
    "mstop -1": (lambda: fit(mstop=-1), r"`mstop` must be a whole number of at least 0; got -1\. .*'cv'"),
    "mstop 2.5": (lambda: fit(mstop=2.5), r"`mstop` must be a whole number of at least 0; got 2\.5"),
    "mstop text": (lambda: fit(mstop="best"), r"`mstop` must be a whole number of at least 0, 'cv', or a CV\(\.\.\.\); got 'best'"),
    "nu 0": (lambda: fit(nu=0), r"`nu` must be a number above 0; got 0\. .*0\.1 is usual"),
    "nu negative": (lambda: fit(nu=-0.1), r"`nu` must be a number above 0; got -0\.1"),
    "nu nan": (lambda: fit(nu=np.nan), r"`nu` must be a number above 0; got nan"),
    "step": (lambda: fit(step="lines"), r"`step` must be one of .*'line'.*; got 'lines'\. Did you mean 'line'"),
    "step_scale": (lambda: fit(step_scale="rang"), r"`step_scale` must be 'auto', 'range' or None; got 'rang'\. Did you mean 'range'"),
    "step_scale none": (lambda: fit(step_scale="raw"), r"`step_scale` .*None.*; got 'raw'"),
    "init": (lambda: fit(init="mean"), r"`init` must be .*'quantile', 'median'.*; got 'mean'"),
    "init nan": (lambda: fit(init=np.nan), r"`init` must be 'quantile', 'median' or a finite number in units of y; got nan"),
    "init true": (lambda: fit(init=True), r"`init` must be .*; got True"),
    "init list": (lambda: fit(init=[1.0]), r"`init` must be .*; got \[1\.0\]"),
    "init none": (lambda: fit(init=None), r"`init` must be .*; got None"),
    "progress": (lambda: fit(progress="no"), r"`progress` must be True or False; got 'no'"),
    "unknown option": (lambda: QBR(DATA["y"], DATA["x1"], mstopp=3), r"Unknown option 'mstopp'\. Did you mean 'mstop'\? Options: learner, mstop"),
    "unknown option of a formula": (lambda: QBR.from_formula("y ~ x1", DATA, nuu=3), r"Unknown option 'nuu'\. Did you mean 'nu'"),
    # arrays
    "rows of X": (lambda: QBR(DATA["y"], np.ones((7, 2))), rf"{N}.*7|7.*{N}"),
    "y of two columns": (lambda: QBR(np.ones((5, 2)), np.ones((5, 2))), "y"),
    "names": (lambda: QBR(DATA["y"], DATA[["x1", "x2"]], names=["a"]), "names"),
    # results
    "at beyond": (lambda: fit(mstop=10).at(11), r"The path has 10 iterations; got m=11\. extend\(11\) goes on to there"),
    "at -1": (lambda: fit(mstop=10).at(-1), r"`m` must be a whole number of at least 0; got -1"),
    "at 2.5": (lambda: fit(mstop=10).at(2.5), r"`m` must be a whole number"),
    "at beyond the start alone": (lambda: fit("y ~ 1").at(3), r"The path has 0 iterations \(the run ended early: the start alone"),
    "extend below": (lambda: fit(mstop=10).extend(9), r"extend\(9\) would shorten the fit, which stands at iteration 10; use at\(9\)"),
    "cv of nothing": (lambda: fit(mstop=0).cv(), r"`max` must be at least 1.*iteration 0.*give `max`"),
    "new data without a column": (lambda: fit().predict(DATA[["x2"]]), r"'x1'"),
    "new level": (lambda: fit("y ~ g").predict(pd.DataFrame({"g": ["z"]})), r"'?g'?.*'z'|'z'.*'?g'?"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_message(case: str) -> None:
    call, words = BAD[case]
    with pytest.raises(InputError, match=words) as raised:
        call()
    text = str(raised.value)
    assert text[-1] in ".?)" and "Traceback" not in text


WARNED = {
    "stall by formula": (ConvergenceWarning, lambda: fit(step="line", mstop=900)),
    "stall by class": (ConvergenceWarning, lambda: QBR(DATA["y"], DATA["x1"], step="line", mstop=900).fit()),
    "stall of several": (ConvergenceWarning, lambda: fit(tau=[0.5], step="line", mstop=900)),
    "bound by cv": (BoundWarning, lambda: fit().cv(max=1, progress=False)),
    "bound by formula": (BoundWarning, lambda: fit(mstop=qb.CV(max=1, progress=False))),
    "bound by class": (BoundWarning, lambda: QBR(DATA["y"], DATA["x1"], mstop=qb.CV(max=1, progress=False)).fit()),
}


@pytest.mark.parametrize("case", WARNED)
def test_warnings_point_at_the_callers_line(case: str) -> None:
    """Python shows the line of a warning, and each place once: a line of this package would tell the user nothing."""
    kind, call = WARNED[case]
    with pytest.warns(kind) as caught:
        call()
    assert [one.filename for one in caught if one.category is kind] == [__file__]


def test_a_stall_is_warned_of_once() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        one = fit(step="line", mstop=900)
    assert len(caught) == 1 and one.status == f"stalled at iteration {one.mstop}"


def test_looking_at_earlier_iterations_does_not_warn(recwarn) -> None:
    with pytest.warns(ConvergenceWarning):
        one = fit(step="line", mstop=900)
    recwarn.clear()
    assert one.at(1).status == "complete"
    assert not recwarn.list


def test_a_copied_fit_does_not_warn_again(tmp_path, recwarn) -> None:
    import pickle

    with pytest.warns(ConvergenceWarning):
        one = fit(step="line", mstop=900)
    recwarn.clear()
    pickle.loads(pickle.dumps(one))
    assert not recwarn.list


@pytest.mark.parametrize("size", [1e-160, 1e160])
def test_sizes_beyond_floating_point(size: float) -> None:
    """Squares of such numbers are 0 or infinite: a message, where a fit would be silently wrong."""
    x = np.linspace(-1.0, 1.0, 30)
    y = np.sin(9.0 * x)
    with pytest.raises(InputError, match=r"Column 'x1' varies by .*rescale it"):
        QBR(y, x * size).fit()
    with pytest.raises(InputError, match=r"Response 'y' varies by .*rescale it"):
        QBR(y * size, x).fit()
    with pytest.raises(InputError, match=r"`weights` reach .*only their ratios count"):
        QBR(y, x, weights=np.full(30, size)).fit()


def test_more_iterations_than_memory() -> None:
    with pytest.raises(InputError, match="`mstop` must be at most 100,000,000; got 1,000,000,000,000"):
        fit(mstop=10**12)


def test_one_fold_has_no_standard_error() -> None:
    with pytest.raises(InputError, match="at least two folds; got one"):
        fit(mstop=5).cv(folds="bootstrap", k=1, rule="1se")
