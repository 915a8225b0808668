"""Figures of kernel quantile regression: what they show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError
from qreg_boost.plots.kernel import plot_kernel_cv, plot_kqr_path

plt = pytest.importorskip("matplotlib.pyplot")


def wavy(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 6, n)
    return pd.DataFrame({"x": x, "y": np.sin(x) + 0.3 * rng.normal(size=n)})


def test_held_out_loss_by_C_and_gamma() -> None:
    found = qb.kqr("y ~ x", wavy(), tau=0.5).cv(C=[0.5, 5.0, 50.0], gamma=[0.1, 1.0], k=4, progress=False)
    ax = found.plot()
    assert ax.get_xscale() == "log" and found.kind in ax.get_title(loc="left")
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"gamma = 0.1", "gamma = 1"}
    ringed = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in ringed] == [(found.C, found.table.mean_loss.min())]
    drawn = [
        line.get_ydata().astype(float) for line in ax.lines if len(line.get_xdata()) == 3 and line.get_marker() == "o"
    ]
    table = found.table
    for gamma, values in zip((0.1, 1.0), drawn, strict=True):
        np.testing.assert_allclose(values, table.loc[table["gamma"] == gamma, "mean_loss"])


def test_held_out_loss_of_a_kernel_without_gamma() -> None:
    given = plt.subplots()[1]
    found = qb.kqr("y ~ x", wavy(), tau=0.5, kernel="linear").cv(C=[0.1, 1.0], k=3, progress=False)
    assert found.plot(given) is given and given.get_legend() is None


def test_only_the_best_of_many_gammas_are_named() -> None:
    gammas = np.repeat(np.arange(1.0, 21.0), 2)
    table = pd.DataFrame({"C": [1.0, 2.0] * 20, "gamma": gammas, "mean_loss": gammas, "std_error": 0.1})
    names = [text.get_text() for text in plot_kernel_cv(table, "5-fold").get_legend().get_texts()]
    assert len(names) == 12 and names[-1] == "gamma = 12"


@pytest.mark.parametrize("criterion", ["sic", "gacv"])
def test_path_along_C(criterion: str) -> None:
    path = qb.kqr("y ~ x", wavy(), tau=0.5).path([0.1, 1.0, 10.0, 100.0])
    ax = path.plot(criterion)
    assert ax.get_ylabel() == criterion.upper() and "tau = 0.5" in ax.get_title(loc="left")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), path.table[criterion])
    assert ax.lines[1].get_xdata()[0] == path.select(criterion).C
    assert [text.get_text() for text in ax.texts] == [f"{edf:g}" for edf in path.table["edf"]]
    with pytest.raises(InputError, match="criterion"):
        path.plot("aic")


def test_fit_without_loss_is_left_out_of_the_path() -> None:
    table = pd.DataFrame({"edf": [2, 5, 9], "sic": [0.4, 0.3, -np.inf]}, index=pd.Index([1.0, 2.0, 4.0], name="C"))
    ax = plot_kqr_path(table, 0.5)
    assert len(ax.lines) == 1 and ax.lines[0].get_xdata().tolist() == [1.0, 2.0]


def test_the_whole_path_is_a_line_that_says_a_few_of_its_degrees_of_freedom() -> None:
    path = qb.kqr("y ~ x", wavy(), tau=0.5).path(largest=100.0)
    assert len(path) > 60
    ax = path.plot("gacv")
    line = ax.lines[0]
    known = path.table["gacv"].notna() & (path.table.index > 0.0)
    np.testing.assert_allclose(line.get_ydata(), path.table.loc[known, "gacv"])
    assert line.get_marker() == "None" and ax.lines[1].get_xdata()[0] == path.select("gacv").C
    assert 5 <= len(ax.texts) <= 13
    best = [text for text in ax.texts if text.xy[0] == path.select("gacv").C]
    assert [text.get_text() for text in best] == [str(path.select("gacv").n_on)]
    # no two of them on top of each other
    gaps = np.diff(np.log(sorted(text.xy[0] for text in ax.texts)))
    assert gaps.min() > 0.02 * np.ptp(np.log(line.get_xdata()))


def test_a_path_without_criteria_is_drawn_empty() -> None:
    table = pd.DataFrame({"edf": [5, 9], "sic": [np.nan, np.nan]}, index=pd.Index([1.0, 2.0], name="C"))
    ax = plot_kqr_path(table, 0.5)
    assert len(ax.lines[0].get_xdata()) == 0 and not ax.texts and "least" not in ax.get_title(loc="left")
