"""Figures of classifiers that may withhold: what they show."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.api_reject import reject_classifier
from qreg_boost.base.checks import NotDefinedError
from tests.unit.reject.cases import overlapping

plt = pytest.importorskip("matplotlib.pyplot")
Text = pytest.importorskip("matplotlib.text").Text
DATA = overlapping(80, 2)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_coverage() -> None:
    fit = reject_classifier("y ~ a + b", DATA)
    found = fit.risk_coverage()
    ax = found.plot()
    assert f"{found.aurc:.4f}" in ax.get_title(loc="left")
    curves = [line for line in ax.lines if len(line.get_xdata()) == len(found.table)]
    assert len(curves) == 2
    np.testing.assert_allclose(curves[1].get_ydata(), found.table["risk"])
    marked = [line for line in ax.lines if line.get_marker() == "o"]
    assert {float(line.get_xdata()[0]) for line in marked} == {float(found.fitted["coverage"])}
    assert {"risk", "error on the accepted", "fitted"} <= set(texts(ax))


def test_headings_fit_whatever_the_price() -> None:
    for options in ({}, {"cost": {"fn": 25, "fp": 10, "reject": 2.5}}):
        found = reject_classifier("y ~ a + b", DATA, **options).risk_coverage()
        ax = found.plot()
        ax.figure.canvas.draw()
        written = [one for one in ax.get_children() if isinstance(one, Text) and one.get_text().startswith(("R", "C"))]
        assert len(written) == 1 and written[0].get_window_extent().x1 < ax.figure.bbox.x1
    assert "missed 25, false alarm 10, withheld 2.5" in ax.get_ylabel() and "cost" in texts(ax)


def test_against_d_and_against_C() -> None:
    fit = reject_classifier("y ~ a + b", DATA)
    ax = fit.risk_against_d([0.1, 0.3, 0.5], k=3, progress=False).plot()
    assert ax.get_xlabel() == "price of withholding, d" and {"risk", "withheld", "asking always"} <= set(texts(ax))
    assert any(np.array_equal(line.get_xdata(), line.get_ydata()) for line in ax.lines)  # it costs d
    ax = reject_classifier("y ~ a + b", DATA, kernel="rbf").cv([0.5, 5], [0.1, 1.0], k=3, progress=False).plot()
    assert ax.get_xscale() == "log" and {"gamma = 0.1", "gamma = 1"} <= set(texts(ax))
    bars = [c for c in ax.containers if hasattr(c, "has_yerr")]
    assert len(bars) == 2 and all(bar.has_yerr for bar in bars) and "one s.e." in ax.get_ylabel()
    assert "d = 0.2" in ax.get_title(loc="left")
    given = plt.subplots()[1]
    assert fit.cv([0.5, 5.0], k=3, progress=False).plot(given) is given


@pytest.mark.parametrize("method", ["chow", "qbc_pair"])
def test_methods_made_of_others(method: str) -> None:
    fit = reject_classifier("y ~ a + b", DATA, method=method)
    ax = fit.risk_against_d([0.1, 0.3], k=3, progress=False).plot()
    assert {"risk", "withheld"} <= set(texts(ax)) and ax.get_xticks().tolist() == [0.1, 0.3]
    assert fit.cv(k=3, progress=False).plot().get_xlabel() == "the one that was fitted"


def test_numbers_of_iterations() -> None:
    fit = reject_classifier("y ~ a + b", DATA, method="qbc_pair")
    cv = fit.cv(mstop=[10, 50], k=3, progress=False)
    ax = cv.plot()
    assert ax.get_xlabel() == "mstop" and ax.get_xscale() == "linear"
    ax = fit.cv(mstop=[10, 50], d=[0.1, 0.2], k=3, progress=False).plot()
    assert "the least of 2 settings" in ax.get_title(loc="left")


def test_risk_has_one_colour() -> None:
    fit = reject_classifier("y ~ a + b", DATA)
    shades = set()
    for ax in (fit.risk_coverage().plot(), fit.risk_against_d([0.1, 0.3], k=3, progress=False).plot()):
        shades |= {text.get_color() for text in ax.texts if text.get_text() == "risk"}
    assert len(shades) == 1


def test_band_in_two_columns() -> None:
    fit = reject_classifier("y ~ a + b", DATA, kernel="rbf", d=0.3)
    ax = fit.plot_band()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    shown = [c for c in ax.collections if hasattr(c, "get_offsets") and len(c.get_offsets())]
    assert sorted(len(c.get_offsets()) for c in shown)[-1] >= len(fit.support)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["no", "yes", "support vectors"]
    with pytest.raises(NotDefinedError, match="two predictors"):
        reject_classifier("y ~ a", DATA).plot_band()
    assert reject_classifier("y ~ a + b", DATA, d=0.5).plot_band() is not None


@pytest.mark.parametrize("method, said", [("chow", "0.3 <= P(yes) <= 0.7"), ("qbc_pair", "tau = 0.3 and 0.7")])
def test_band_of_methods_made_of_others(method: str, said: str) -> None:
    fit = reject_classifier("y ~ a + b", DATA, method=method, d=0.3)
    ax = fit.plot_band()
    assert said in ax.get_title(loc="left")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes"]
    # the shaded region is where predictions are withheld
    shaded = ax.collections[0].get_paths()
    withheld = fit.predict(codes=True) == 0
    inside = np.any([path.contains_points(DATA[["a", "b"]].to_numpy()) for path in shaded], axis=0)
    assert (inside == withheld).mean() > 0.95
