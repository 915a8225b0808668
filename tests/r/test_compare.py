"""A boosted fit beside R: what is expected to differ, what must agree, what is said about each."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import qreg_boost.r as r
from qreg_boost.base.checks import NotDefinedError
from qreg_boost.quantreg.interior_point import interior_point
from qreg_boost.r import installation

pytestmark = pytest.mark.r("quantreg")
N = 80


def boosted(y, X, names, tau=0.4, weights=None, offset=None, above=1.02, **model):
    """Return what `compare` asks of a boosted fit: half of the way to the optimum, `above` times its loss."""
    z = y if offset is None else y - offset
    solution = interior_point(np.column_stack([np.ones(len(y)), X]), z, tau, weights)
    terms = tuple(SimpleNamespace(name=name, columns=(j,)) for j, name in enumerate(names))
    design = SimpleNamespace(y=y, X=X, column_names=names, terms=terms, weights=weights, offset=offset, intercept=True)
    learner = model.pop("learner", "linear")
    settings = SimpleNamespace(**{"step": "auto", "step_scale": "auto", "init": "quantile", "nu": 0.1, **model})
    return SimpleNamespace(
        params=pd.Series(np.nan_to_num(solution.coef) / 2, index=["Intercept", *names]),
        tau=tau, mstop=100, nobs=len(y), formula=None, risk=above * solution.objective, optimum=solution,
        model=SimpleNamespace(design=design, learner=learner, settings=(settings,)),
    )  # fmt: skip


@pytest.fixture
def numbers():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, 2))
    return X @ [1.0, -2.0] + rng.normal(size=N), X


def test_boosted_coefficients_are_expected_to_differ(numbers):
    y, X = numbers
    fit = boosted(y, X, ("x1", "x2"))
    found = r.compare(fit)
    assert found.table["term"].tolist() == ["check loss (sum)", "Intercept", "x1", "x2"]
    assert found.table.columns.tolist() == ["term", "python", "r", "difference", "note"]
    assert found.table["note"].str.startswith("expected").all()
    np.testing.assert_allclose(found.table["python"][1:], fit.params)
    np.testing.assert_allclose(found.table["difference"], found.table["python"] - found.table["r"])
    assert found.gap == pytest.approx(0.02, rel=1e-6)
    assert found.agrees and found.unique
    text = str(found)
    assert "2 % above rq's" in text and "a boosted fit is stopped on its way" in text and "fail" not in text.lower()


@pytest.mark.parametrize("tau", [0.05, 0.25, 0.5, 0.75, 0.95])
def test_the_exact_solver_agrees_with_rq(numbers, tau):
    y, X = numbers
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.1, 3.0, N) * (rng.uniform(size=N) > 0.1)  # some rows have none
    found = r.compare(boosted(y, X, ("x1", "x2"), tau, weights, rng.normal(size=N)))
    assert found.agrees and found.unique
    assert found.checks["note"].eq("must agree").all()
    # Both end at a vertex of the same linear programme, solved in doubles.
    np.testing.assert_allclose(found.checks["python"], found.checks["r"], rtol=1e-9, atol=1e-9)
    assert any("y - offset" in note for note in found.notes)
    assert "rows" in found.title and str((weights > 0).sum()) in found.title


def test_aliased_columns_are_left_out_and_named(numbers):
    y, X = numbers
    X = np.column_stack([X[:, 0], 2 * X[:, 0] - 1, X[:, 1]])
    found = r.compare(boosted(y, X, ("a", "twice a", "b")))
    assert found.agrees
    row = found.table.set_index("term").loc["twice a"]
    assert np.isnan(row["r"]) and row["note"] == "not in rq: aliased"
    assert found.checks["term"].tolist() == ["check loss (sum)", "Intercept", "a", "b"]
    assert any("combinations of the columns before: twice a" in note for note in found.notes)


def test_an_optimum_that_is_not_unique_is_compared_by_its_loss():
    y = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0])
    X = np.repeat([[0.0], [1.0]], 4, axis=0)
    found = r.compare(boosted(y, X, ("x",), tau=0.5))
    assert not found.unique and found.agrees
    assert found.checks["note"].tolist() == ["must agree", *["may differ: the optimum is not unique"] * 2]
    assert any("not unique" in note for note in found.notes)


def test_a_solver_that_is_wrong_is_found_out(numbers):
    y, X = numbers
    fit = boosted(y, X, ("x1", "x2"))
    solution = fit.optimum
    for change in ({"objective": solution.objective * 1.001}, {"coef": solution.coef + np.array([0, 1e-3, 0])}):
        parts = {"coef": solution.coef, "objective": solution.objective, "unique": True, **change}
        fit.optimum = SimpleNamespace(**parts)
        found = r.compare(fit)
        assert not found.agrees and any("do NOT agree" in note for note in found.notes)


def test_a_loss_below_the_optimum_is_not_passed_off_as_good(numbers):
    found = r.compare(boosted(*numbers, ("x1", "x2"), above=0.9))
    assert not found.agrees
    assert "BELOW" in found.notes[0]


def test_a_perfect_fit_has_no_relative_gap():
    X = np.arange(6.0)[:, None]
    found = r.compare(boosted(1 + X[:, 0], X, ("x",)))
    assert np.isnan(found.gap) and "without loss" in found.notes[0]


@pytest.mark.parametrize("learner", ["linear", "componentwise"])
def test_mboost_is_named_where_it_is_missing(numbers, learner):
    if r.available().packages["mboost"]:
        pytest.skip("mboost is installed here")
    fit = boosted(*numbers, ("x1", "x2"), learner=learner, step_scale=None, init="median")
    assert str(installation.missing_package("mboost", r.available().r_version)) in r.compare(fit).notes[-1]


@pytest.mark.r("mboost")
@pytest.mark.parametrize(("learner", "name"), [("linear", "bols"), ("componentwise", "glmboost")])
def test_mboost_agrees(numbers, learner, name):
    pytest.importorskip("qreg_boost.boosting.model")
    from qreg_boost.boosting.model import QBR

    y, X = numbers
    fit = QBR(y, X, tau=0.4, learner=learner, step_scale=None, init="median").fit()
    row = r.compare(fit).checks.set_index("term").loc[f"mboost's {name}: check loss"]
    assert row["python"] == pytest.approx(row["r"], rel=1e-9)


def test_other_steps_say_how_to_compare_with_mboost(numbers):
    assert 'step_scale=None, init="median"' in r.compare(boosted(*numbers, ("x1", "x2"))).notes[-1]


def test_several_taus_share_one_table(numbers):
    fits = [boosted(*numbers, ("x1", "x2"), tau, above=1 + tau / 10) for tau in (0.2, 0.6)]
    found = r.compare(SimpleNamespace(taus=[0.2, 0.6], fits=fits))
    assert found.table["tau"].tolist() == [0.2] * 4 + [0.6] * 4
    assert found.gap == pytest.approx(0.06, rel=1e-6)
    assert found.agrees and "tau 0.2, 0.6" in found.title
    assert sum("stopped on its way" in note for note in found.notes) == 2  # one gap per tau
    assert sum("exact solver" in note for note in found.notes) == 1  # said once


def test_a_real_fit():
    import qreg_boost as qb

    data = qb.datasets.load("engel")
    data["g"] = np.where(np.arange(len(data)) % 3 == 0, "a", "b")
    found = qb.qbr("foodexp ~ income + C(g)", data, tau=0.9, weights=data["income"], progress=False).compare_r()
    assert found.agrees
    direct = r.rq("foodexp ~ income + C(g)", data, tau=0.9, weights="income")
    # The same optimum through a formula of R's: its columns differ from patsy's in name only.
    np.testing.assert_allclose(found.table["r"], [direct.objective, *direct.params])


def test_it_shows_in_notebooks(numbers):
    page = r.compare(boosted(*numbers, ("x<1>", "x2")))._repr_html_()
    assert page.count("<table") == 2 and "x&lt;1&gt;" in page


def test_a_fit_without_optimum_says_so_itself(numbers):
    class Stumps:
        risk = mstop = params = model = None

        @property
        def optimum(self):
            raise NotDefinedError("The optimum is defined for linear learners only.")

    with pytest.raises(NotDefinedError, match="linear learners only"):
        r.compare(Stumps())
