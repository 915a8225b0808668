"""anova: which fits may be compared, under which names the tests come back, how they print; the bootstrap by name."""

# ruff: noqa: E501 (a message and its pattern belong on one line)
from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from tests.unit.quantreg.cases import DATA, ENGEL

pytestmark = pytest.mark.filterwarnings("ignore::qreg_boost.quantreg.covariance.DensityWarning")


def test_engel_gives_the_figures_of_r() -> None:
    fit, null = qb.qreg("foodexp ~ income", ENGEL), qb.qreg("foodexp ~ 1", ENGEL)
    # printed by R's anova (quantreg 5.94), to its last digit
    assert qb.anova(fit, null).statistic == pytest.approx(392.45, abs=0.005)
    assert qb.anova(null, fit, test="rank").statistic == pytest.approx(91.127, abs=0.0005)
    slopes = qb.anova(qb.qreg("foodexp ~ income", ENGEL, tau=[0.25, 0.5]))
    assert slopes.statistic == pytest.approx(10.621, abs=0.0005)
    assert slopes.pvalue == pytest.approx(0.001199, abs=5e-7)
    assert slopes.table[["df", "df_resid"]].to_numpy().tolist() == [[1, 469]]


def test_wald_of_one_column_is_its_t_test_squared() -> None:
    for se in ("nid", "ker", "rank"):
        large, small = qb.qreg("y ~ x + z", DATA, se=se), qb.qreg("y ~ x", DATA, se=se)
        judged = large if se != "rank" else large.with_se("nid")
        assert qb.anova(small, large).statistic == pytest.approx(judged.tvalues["z"] ** 2, rel=1e-9)
    assert qb.anova(large, small, se="iid").statistic == pytest.approx(large.with_se("iid").tvalues["z"] ** 2, rel=1e-9)


def test_smaller_models_stand_against_the_largest_in_any_order() -> None:
    fits = [qb.qreg(formula, DATA) for formula in ("y ~ x", "y ~ x + g + z", "y ~ x + g")]
    result = qb.anova(*fits)
    assert result.models == ("y ~ x + g + z", "y ~ x + g", "y ~ x")
    assert result.table.index.tolist() == ["Model 2", "Model 3"] and result.table["df"].tolist() == [1, 3]
    for name, small in (("Model 2", fits[2]), ("Model 3", fits[0])):
        assert result.statistic[name] == pytest.approx(qb.anova(fits[1], small).statistic, rel=1e-10)
    joint = fits[1].wald_test("g[T.b] = 0, g[T.c] = 0, z = 0")
    assert result.pvalue["Model 3"] == pytest.approx(float(joint.pvalue), rel=1e-7)


def test_rank_scores_by_name() -> None:
    large, small = qb.qreg("y ~ x + z", DATA), qb.qreg("y ~ x", DATA)
    found = {score: qb.anova(large, small, test="rank", score=score) for score in ("tau", "sign", "wilcoxon", "normal")}
    assert found["tau"].statistic == pytest.approx(found["sign"].statistic)  # both at the median
    assert len({round(result.statistic, 6) for result in found.values()}) == 3
    for result in found.values():
        assert result.pvalue == pytest.approx(stats.f.sf(result.statistic, 1, len(DATA) - 3), rel=1e-8)


def test_slopes_together_and_each() -> None:
    fits = qb.qreg("y ~ x + z", DATA, tau=[0.75, 0.25, 0.5])
    joint, each = qb.anova(fits), qb.anova(fits, joint=False)
    assert joint.table.index.tolist() == ["all slopes"] and joint.table["df"].item() == 4
    assert each.table.index.tolist() == ["x", "z"] and each.table["df"].tolist() == [2, 2]
    # a design of arrays: the constant is found where it stands
    X = DATA[["x", "z"]].assign(const=1.0)
    arrays = qb.anova(qb.QReg(DATA["y"], X, tau=[0.75, 0.25, 0.5]).fit(), joint=False)
    np.testing.assert_allclose(arrays.statistic, each.statistic, rtol=1e-8)
    assert qb.anova(fits, se="ker").statistic != joint.statistic


def test_it_prints_and_tidies() -> None:
    result = qb.anova(qb.qreg("y ~ x + z", DATA), qb.qreg("y ~ x", DATA))
    text = str(result)
    for expected in ("Quantile Regression Analysis of Deviance", "y ~ x + z", "Resid Df", "Pr(>F)", "Wald"):
        assert expected in text
    assert result.tidy().columns.tolist() == ["term", "df", "df_resid", "statistic", "p_value"]
    assert "<table" in result._repr_html_() and r"\begin{tabular}" in result.summary().as_latex()


def fit(formula: str = "y ~ x", data=DATA, **options):
    return qb.qreg(formula, data, **options)


GAPS = DATA.assign(z=DATA["z"].where(DATA.index != 3))
BAD = {
    "one fit": (lambda: qb.anova(fit()), r"two or more fits of qreg at one tau, or one fit of qreg at several taus; got 1 fit"),
    "not fits": (lambda: qb.anova(fit(), 3), r"got int"),
    "a path": (lambda: qb.anova(fit(), qb.l1qreg("y ~ x", DATA).at(s=1.0)), r"got L1Fit"),
    "other taus": (lambda: qb.anova(fit(tau=0.3), fit("y ~ x + z")), r"The fits are at tau .* and .*; nested models are compared at one tau"),
    "other rows": (lambda: qb.anova(fit(data=GAPS), fit("y ~ x + z", GAPS)), r"The fits differ in their response, offset or rows: 89 and 90 observations"),
    "other weights": (lambda: qb.anova(fit(weights="w"), fit("y ~ x + z")), r"The fits differ in their weights"),
    "not nested": (lambda: qb.anova(fit("y ~ x + g"), fit("y ~ z")), r"are not nested: z is not in the larger one"),
    "the same": (lambda: qb.anova(fit(), fit()), r"are not nested: they have the same columns"),
    "test": (lambda: qb.anova(fit(), fit("y ~ 1"), test="lr"), r"`test` must be one of 'wald', 'rank'; got 'lr'"),
    "score": (lambda: qb.anova(fit(), fit("y ~ 1"), test="rank", score="median"), r"`score` must be one of 'tau', "),
    "rank of slopes": (lambda: qb.anova(fit(tau=[0.2, 0.4]), test="rank"), r"Equality of slopes over taus is a Wald test"),
    "se of slopes": (lambda: qb.anova(fit(tau=[0.2, 0.4]), se="iid"), r"`se` must be one of 'nid', 'ker'; got 'iid'"),
    "no slopes": (lambda: qb.anova(fit("y ~ 1", tau=[0.2, 0.4])), r"slopes"),
    # the bootstrap's options are refused before anything is drawn
    "bootstrap": (lambda: fit().with_se("boot", method="pairs"), r"`method` must be one of 'xy', .*; got 'pairs'"),
    "replicates": (lambda: fit().with_se("boot", reps=1), r"`reps` must be a whole number of at least 2; got 1"),
    "groups of rows": (lambda: fit().with_se("boot", method="xy", groups="g"), r"`groups` goes with method=\"cluster\", and only with it; got method='xy'"),
    "clusters without": (lambda: fit().with_se("boot", method="cluster"), r"se=\"boot\" needs `groups`"),
    "seed": (lambda: fit().with_se("boot", rng="one").bse, r"`rng` must be a seed"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_message(case: str) -> None:
    ask, pattern = BAD[case]
    with pytest.raises(InputError, match=pattern):
        ask()


@pytest.mark.parametrize("method", ["xy", "wxy", "pwy", "mcmb", "wild"])
def test_bootstraps_by_name_are_seeded(method: str) -> None:
    plain = qb.qreg("y ~ x", DATA)
    one, same, other = (plain.with_se("boot", method=method, reps=60, rng=rng) for rng in (1, 1, 2))
    np.testing.assert_array_equal(one.bse, same.bse)
    assert not np.allclose(one.bse, other.bse)
    np.testing.assert_allclose(one.bse, plain.bse, rtol=0.6)  # the same quantity: 60 replicates alone err by 10 %
    assert f"{method}, 60 reps" in str(one.summary())


def test_the_bootstrap_does_not_depend_on_the_number_of_workers() -> None:
    plain = qb.qreg("y ~ x", DATA)
    one, two = (plain.with_se("boot", reps=20, rng=3, n_jobs=n_jobs).bse for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_the_bootstrap_of_clusters_takes_the_models_groups_or_its_own() -> None:
    data = DATA.assign(village=np.arange(len(DATA)) // 6)
    with_groups = qb.qreg("y ~ x", data, groups="village")
    first = with_groups.with_se("boot", method="cluster", reps=30, rng=1)
    second = qb.qreg("y ~ x", data).with_se("boot", groups="village", reps=30, rng=1)
    np.testing.assert_array_equal(first.bse, second.bse)
    # groups of the model are no reason to resample clusters unasked
    assert "xy, 30 reps" in str(with_groups.with_se("boot", reps=30).summary())
