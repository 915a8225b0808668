"""A learner by term, and terms of equal degrees of freedom."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.boosting.learners import ByTerm, Componentwise, Joint, Linear, Spline, Stump, Tree
from tests.unit.boosting.cases import assert_same_path, frame, paths


def test_terms_not_named_are_linear() -> None:
    data = frame(150)
    fit = qb.qbr("y ~ x1 + g + x2", data, 0.4, learner={"x2": "spline"})
    full = qb.qbr("y ~ x1 + g + x2", data, 0.4, learner={"x1": "linear", "g": "linear", "x2": Spline()})
    assert fit.fittedvalues.equals(full.fittedvalues)
    assert [knots is not None for knots in fit.path.knots] == [False, False, True]
    assert fit.facts.learner == "by term" and not fit.has_coefficients


def test_linear_terms_alone_are_the_linear_learner() -> None:
    data = frame(150)
    fit = qb.qbr("y ~ x1 + g + x2", data, 0.4, learner={"x2": "linear"})
    assert fit.params.equals(qb.qbr("y ~ x1 + g + x2", data, 0.4).params)


def test_all_splines_by_name_are_the_spline_learner() -> None:
    data = frame(150)
    fit = qb.qbr("y ~ x1 + x2", data, 0.4, learner={"x1": "spline", "x2": "spline"})
    assert fit.fittedvalues.equals(qb.qbr("y ~ x1 + x2", data, 0.4, learner="spline").fittedvalues)


def test_a_mix_finds_what_is_smooth_and_what_is_not() -> None:
    data = frame(400, seed=3)
    data["y"] = np.sin(3 * data["x1"]) + data["x2"] + 0.2 * np.random.default_rng(0).normal(size=400)
    mixed, linear, smooth = (
        qb.qbr("y ~ x1 + g + x2", data, 0.5, learner=learner, mstop=500)
        for learner in ({"x1": "spline"}, "linear", "spline")
    )
    assert mixed.risk < 0.6 * linear.risk and mixed.risk < 1.05 * smooth.risk
    effect = mixed.effect("x2", grid=[0.0, 1.0, 2.0])["effect"]
    assert effect[2] - effect[1] == pytest.approx(effect[1] - effect[0], rel=1e-9)


@pytest.mark.parametrize("rows", [False, True])
def test_a_mapping_is_saved(rows: bool, tmp_path) -> None:
    data = frame(90)
    fit = qb.qbr("y ~ x1 + g", data, 0.4, learner={"x1": "spline"}, mstop=40)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=rows))
    assert again.predict(data).equals(fit.predict(data))
    if rows:
        assert again.extend(60).fittedvalues.equals(fit.extend(60).fittedvalues)


@pytest.mark.parametrize(
    "learner",
    [
        {"x1": "spline"}, {"x1": Spline(df=6, monotone=1), "g": Linear(df=1)}, ByTerm({"x1": Spline()}),
        Spline(monotone={"x1": -1}), Linear(df=2), Componentwise(center="rows"), Joint(), Stump(leaf="quantile"),
        Tree(depth=2, monotone={"x1": 1}),
    ],
    ids=str,
)  # fmt: skip
def test_instances_are_saved_with_the_rows(learner, tmp_path) -> None:
    data = frame(90)
    fit = qb.qbr("y ~ x1 + g", data, 0.4, learner=learner, mstop=12)
    again = qb.load(fit.save(tmp_path / "fit.qb", data=True))
    assert again.model.settings == fit.model.settings
    assert again.extend(20).fittedvalues.equals(fit.extend(20).fittedvalues)


def test_a_learner_of_ones_own_is_not_saved_with_the_rows(tmp_path) -> None:
    class Own(Linear):
        pass

    fit = qb.qbr("y ~ x1", frame(30), learner=Own())
    with pytest.raises(InputError, match="cannot be saved with its rows; save it without data=True"):
        fit.save(tmp_path / "fit.qb", data=True)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (
            {"x_1": "spline"},
            "`learner` names 'x_1', which is no term of the model. Did you mean 'x1'? Terms: x1, g, x2",
        ),
        ({"x1": "splines"}, "got 'splines'. Did you mean 'spline'?"),
        ({"x1": "joint"}, "`learner` gives 'x1' the learner 'joint'; terms can be \"linear\" or \"spline\""),
        ({"g": "spline"}, "Term 'g' cannot be a spline: it has 3 columns, and a spline is a function of one."),
        ({"few": "spline"}, 'it has 3 distinct values, and a spline of df=4 needs more than that. Use "linear"'),
        ({}, "`learner` is an empty mapping"),
        ({"x1": Spline(monotone={"x2": 1})}, "names 'x2', which is linear in this fit. Splines: x1."),
    ],
)
def test_mappings_that_cannot_be(learner: dict, words: str) -> None:
    data = frame(60).assign(few=np.arange(60) % 3)
    with pytest.raises(InputError) as caught:
        qb.qbr("y ~ x1 + g + x2 + few", data, learner=learner)
    assert words in str(caught.value)


# -- equal degrees of freedom


def test_shrunken_terms_in_both_loops_and_in_coefficients() -> None:
    data = frame(200)
    fit = qb.qbr("y ~ x1 + g + x2", data, 0.4, learner=Linear(df=1), mstop=150)
    X = fit.model.design.X
    np.testing.assert_allclose(fit.params["Intercept"] + X @ fit.params[1:], fit.fittedvalues, rtol=1e-10)
    for formula in ("y ~ x1 + g + x2", "y ~ 0 + g + x1", "y ~ x1 * g"):
        assert_same_path(*paths(qb.QBR.from_formula(formula, data, 0.4, learner=Linear(df=1)), 150))


def test_single_columns_are_not_shrunk() -> None:
    data = frame(120)
    one = qb.qbr("y ~ x1 + x2", data, 0.4, learner=Linear(df=1))
    other = qb.qbr("y ~ x1 + x2", data, 0.4)
    assert one.selected.equals(other.selected)
    np.testing.assert_allclose(one.params, other.params, rtol=1e-9)


def test_degrees_of_freedom_of_a_factor() -> None:
    """The smoother, read off from updates to unit vectors: the level counts 1, the term df."""
    data = frame(40, seed=2)
    for df, expected in ((1, 1.0), (2.5, 2.5), (7, 3.0)):
        model = qb.QBR.from_formula("y ~ g", data, learner=Linear(df=df))
        learner = model.task(np.ones(40)).learner
        S = np.column_stack([learner.update(u).fitted for u in np.eye(40)])
        assert np.trace(2 * S - S.T @ S) == pytest.approx(1.0 + expected, rel=1e-9)


def test_the_coding_of_a_factor_does_not_matter() -> None:
    data = frame(150)
    one, other = (
        qb.qbr(f"y ~ x1 + C(g, {coding})", data, 0.4, learner=Linear(df=1)) for coding in ("Treatment", "Sum")
    )
    np.testing.assert_allclose(other.fittedvalues, one.fittedvalues, rtol=1e-9)


def test_a_factor_of_many_levels_has_no_advantage() -> None:
    """Nothing matters: of two terms each should come first about half the time; unpenalised, the factor nearly always.

    400 draws at 1/2 have a standard error of 0.025; the bounds are four of them. (Equal expectations are not equal
    medians, so the share need not be 1/2.)
    """
    first = {"linear": 0, "equal": 0}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({"y": rng.normal(size=120), "x": rng.normal(size=120), "g": np.arange(120) % 12})
        for name, learner in (("linear", "linear"), ("equal", Linear(df=1))):
            fit = qb.qbr("y ~ x + C(g)", rows, 0.5, learner=learner, mstop=1, progress=False)
            first[name] += fit.selected[1] == "C(g)"
    assert first["linear"] > 380
    assert 0.5 < first["equal"] / 400 < 0.8


def test_splines_and_factors_of_equal_degrees_of_freedom() -> None:
    """Of four terms without any effect each comes first in some quarter of the draws; by their defaults x never does.

    200 draws at 1/4 have a standard error of 0.03.
    """
    equal = {"x": Spline(df=2, differences=1), "z": Spline(df=2, differences=1), "g": Linear(df=1), "k": Linear(df=1)}
    first: dict[str, list[str]] = {"equal": [], "default": []}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({name: rng.normal(size=150) for name in "yxzk"}).assign(g=list("abcdef") * 25)
        for name, learner in (("equal", equal), ("default", {"z": "spline"})):
            fit = qb.qbr("y ~ x + z + g + k", rows, 0.5, learner=learner, mstop=1, progress=False)
            first[name].append(fit.selected[1])
    share = pd.Series(first["equal"]).value_counts(normalize=True)
    assert share.min() > 0.1 and share.max() < 0.45
    assert pd.Series(first["default"]).value_counts(normalize=True).get("x", 0.0) < 0.1


def test_df_must_be_positive() -> None:
    with pytest.raises(InputError, match="`df` must be a number above 0; got -1"):
        Linear(df=-1)


def test_names() -> None:
    assert ByTerm({"x": Spline()}).name == "by term" and Linear(df=1).name == "linear"


# -- in print


def test_summary_and_tidy_give_linear_terms_their_coefficients() -> None:
    data = frame(200)
    fit = qb.qbr("y ~ x1 + g + x2", data, 0.4, learner={"x1": "spline"}, mstop=150)
    step = fit.effect("x2", grid=[0.0, 1.0])["effect"].diff()[1]
    levels = fit.effect("g").set_index("level")["effect"]
    tidy = fit.tidy().set_index("term")
    assert tidy.index.tolist() == ["x1", "g[T.b]", "g[T.c]", "g[T.d]", "x2"]
    assert np.isnan(tidy.loc["x1", "estimate"]) and tidy.loc["x2", "estimate"] == pytest.approx(step, rel=1e-9)
    assert tidy.loc["g[T.c]", "estimate"] == pytest.approx(levels["c"] - levels["a"], rel=1e-9)
    lines = fit.summary().as_text().splitlines()
    assert next(line for line in lines if line.startswith("x1")).split()[1] == "smooth"
    assert float(next(line for line in lines if line.startswith("x2")).split()[1]) == pytest.approx(step, rel=1e-4)
    assert any(line.startswith("  [T.b]") for line in lines)
    assert any(line.startswith("smooth: a spline") for line in lines)
    html, latex = fit.summary().as_html(), fit.summary().as_latex()
    assert "smooth" in html and "smooth" in latex
