"""Figures of one fit: what is drawn is what was given, and labels do not overlap."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError, MissingDependencyError, NotDefinedError
from qreg_boost.plots import drawing, paths

pytest.importorskip("matplotlib.pyplot")


def path_of(columns: int, stop: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    steps = np.vstack([np.zeros(columns), rng.normal(size=(stop, columns))])
    table = pd.DataFrame(np.cumsum(steps, axis=0), columns=[f"x{k}" for k in range(columns)])
    table.insert(0, "Intercept", 1e6)
    return table


def overlapping(ax) -> list[tuple[str, str]]:
    """Return pairs of texts whose boxes share more than a pixel in both directions."""
    from matplotlib.text import Text

    ax.figure.canvas.draw()
    # of the words alone: an annotation's own box includes its leader
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in ax.texts if text.get_text()]
    return [
        (one, other)
        for k, (one, a) in enumerate(boxes)
        for other, b in boxes[k + 1 :]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_path_draws_each_coefficient_and_names_it() -> None:
    table = path_of(4)
    table["never"] = 0.0
    ax = paths.plot_path(table, tau=0.3)
    for name in ("x0", "x1", "x2", "x3"):
        assert any(np.array_equal(line.get_ydata(), table[name]) for line in ax.lines)
        assert name in texts(ax)
    assert "never" not in texts(ax) and "Intercept" not in texts(ax)
    assert "4 of 5 coefficients other than 0" in ax.get_title(loc="left")
    assert "tau = 0.3" in ax.get_title(loc="left")
    assert "mstop = 30" in texts(ax)


@pytest.mark.parametrize("columns", [1, 12, 60])
def test_labels_do_not_overlap(columns: int) -> None:
    table = path_of(columns)
    table.iloc[-1, 1:] = np.linspace(1.0, 1.001, columns)  # all ends at one height but for a hair
    table.iloc[10, 1] = 50.0
    ax = paths.plot_path(table)
    assert overlapping(ax) == []
    box = ax.figure.bbox
    for text in ax.texts:
        extent = text.get_window_extent()
        assert box.x0 <= extent.x0 and extent.x1 <= box.x1


def test_of_many_coefficients_the_largest_are_named() -> None:
    table = path_of(60)
    ax = paths.plot_path(table)
    largest = table.iloc[-1, 1:].abs().nlargest(12).index
    assert {text for text in texts(ax) if text.startswith("x")} == set(largest)
    assert "grey: the other 48" in texts(ax)


def test_path_of_the_intercept_alone_and_of_no_iterations() -> None:
    paths.plot_path(pd.DataFrame({"Intercept": [1.0, 1.0]}))
    paths.plot_path(pd.DataFrame({"Intercept": [1.0], "x": [0.0]}))


def test_long_paths_are_thinned() -> None:
    ax = paths.plot_path(path_of(2, stop=50_000))
    assert max(len(line.get_ydata()) for line in ax.lines) == drawing.MOST_POINTS


def test_risk() -> None:
    risk = pd.Series([30.0, 20.0, 12.5])
    ax = paths.plot_risk(risk, tau=0.5)
    assert np.array_equal(ax.lines[0].get_ydata(), risk)
    assert "12.5" in texts(ax)
    assert overlapping(ax) == []


def test_importance_is_sorted_and_counts_what_it_omits() -> None:
    ax = paths.plot_importance(pd.Series({"a": 0.2, "b": 0.0, "c": 0.8, "d": np.nan}))
    assert [bar.get_width() for bar in ax.patches] == [80.0, 20.0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["c", "a"]
    assert "not drawn: 2 of 4 with share 0" in texts(ax)
    assert "80.0 %" in texts(ax)


def test_importance_of_many_is_gathered() -> None:
    shares = pd.Series(np.arange(40, 0, -1.0), index=[f"x{k}" for k in range(40)])
    ax = paths.plot_importance(shares / shares.sum())
    assert len(ax.patches) == 25
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(100.0)
    assert ax.get_yticklabels()[-1].get_text() == "16 others together"


def test_importance_of_nothing_says_so() -> None:
    with pytest.raises(NotDefinedError, match="No iteration has lowered the loss"):
        paths.plot_importance(pd.Series({"a": np.nan}))


def cv_result(rule: str, best: int = 40) -> qb.CVResult:
    grid = np.arange(61.0)
    rng = np.random.default_rng(2)
    risk = (grid - best) ** 2 / 900 + rng.normal(size=(5, 1)) + 0.1 * rng.normal(size=(5, 61))
    return qb.CVResult(pd.DataFrame(risk), rule, "5-fold cross-validation")


@pytest.mark.parametrize("rule", ["min", "1se"])
def test_cv_marks_both_stops_and_the_chosen_one_boldly(rule: str) -> None:
    result = cv_result(rule)
    ax = paths.plot_cv(result)
    assert len(ax.lines) == 5 + 1 + 2
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    name = "least mean" if rule == "min" else "one standard error"
    assert bold == [f"{name}: {result.mstop}"]
    assert {line.get_xdata()[0] for line in ax.lines[6:]} == {result.mstop_min, result.mstop_1se}
    assert overlapping(ax) == []


@pytest.mark.parametrize("best", [0, 60])
def test_cv_with_its_stop_at_the_edge(best: int) -> None:
    assert overlapping(paths.plot_cv(cv_result("min", best))) == []


def test_given_axes_are_used() -> None:
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    shares = pd.Series({"a": 1.0})
    assert paths.plot_path(path_of(2), ax=ax) is ax
    assert paths.plot_risk(pd.Series([2.0, 1.0]), ax=ax) is ax
    assert paths.plot_importance(shares, ax=ax) is ax
    assert paths.plot_cv(cv_result("min"), ax=ax) is ax
    assert len(pyplot.get_fignums()) == 1


def test_a_name_with_dollars_is_drawn_as_it_is() -> None:
    table = path_of(1).rename(columns={"x0": "cost in $ or $"})
    ax = paths.plot_path(table)
    ax.figure.canvas.draw()
    assert r"cost in \$ or \$" in texts(ax)


def test_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="pip install matplotlib") as caught:
        paths.plot_risk(pd.Series([2.0, 1.0]))
    assert isinstance(caught.value, InputError)


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.BoundWarning")
def test_methods_of_a_fit_draw() -> None:
    fit = qb.qbr("foodexp ~ income", qb.datasets.load("engel"), tau=0.5, mstop=20)
    assert fit.plot_path().get_xlabel() == fit.plot_risk().get_xlabel() == "iteration"
    assert len(fit.plot_importance().patches) == 1
    assert len(fit.cv(k=3, progress=False).plot().lines) >= 5


def test_coefficients_of_a_classifier_are_in_units_of_the_fit() -> None:
    x = np.arange(20.0)
    fit = qb.qbc("y ~ x", {"y": np.where(x > 8, "a", "b"), "x": x}, progress=False)
    ax = fit.plot_path()
    assert ax.get_ylabel() == "coefficient (units of the fit per unit of the predictor)"
    ax.figure.canvas.draw()
    stop = next(text for text in ax.texts if text.get_text().startswith("mstop"))
    assert not stop.get_window_extent().overlaps(ax._left_title.get_window_extent())
    assert stop.get_window_extent().y1 <= ax._left_title.get_window_extent().y0
