"""The figure of fitted quantile lines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import NotDefinedError
from qreg_boost.plots.process import plot_coefficients

pytest.importorskip("matplotlib.pyplot")


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x = rng.uniform(1.0, 5.0, 60)
    noise = rng.normal(size=60)
    return pd.DataFrame({"x": x, "y": 1.0 + x * (1.0 + 0.3 * noise), "z": noise, "g": rng.choice(["a", "b"], 60)})


def test_rows_and_lines_are_those_of_the_fit() -> None:
    data = frame()
    fits = qb.qbr("y ~ x", data, tau=[0.9, 0.1])
    ax = fits.plot_lines()
    points, low, high = ax.lines
    assert np.array_equal(points.get_xdata(), data["x"]) and np.array_equal(points.get_ydata(), data["y"])
    for line, tau in ((low, 0.1), (high, 0.9)):
        # a straight line in x, to rounding
        expected = fits[tau].params["Intercept"] + fits[tau].params["x"] * line.get_xdata()
        assert np.allclose(line.get_ydata(), expected, rtol=1e-9)
    assert {text.get_text() for text in ax.texts} == {"tau = 0.1", "tau = 0.9"}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")


def test_a_transformed_predictor_is_drawn_as_the_formula_has_it() -> None:
    data = frame()
    ax = qb.qbr("y ~ np.log(x)", data, tau=[0.5]).plot_lines()
    assert ax.get_xlabel() == "np.log(x)"
    assert np.allclose(ax.lines[0].get_xdata(), np.log(data["x"]), rtol=1e-12)


def test_an_offset_is_taken_off_and_rows_of_weight_0_are_left_out() -> None:
    data = frame()
    data["w"] = np.arange(60) % 2
    ax = qb.qbr("y ~ x", data, tau=[0.5], offset="z", weights="w").plot_lines()
    used = data[data["w"] > 0]
    assert np.allclose(ax.lines[0].get_ydata(), used["y"] - used["z"], rtol=1e-12)
    assert ax.get_ylabel() == "y - offset"
    slope = np.diff(ax.lines[1].get_ydata()) / np.diff(ax.lines[1].get_xdata())
    assert np.allclose(slope, slope[0], rtol=1e-6)


def test_many_lines_have_few_labels() -> None:
    ax = qb.qbr("y ~ x", frame(), tau=[k / 40 for k in range(1, 40)]).plot_lines()
    assert len(ax.lines) == 40
    assert len(ax.texts) == 11


@pytest.mark.parametrize(
    ("formula", "found"), [("y ~ x + z", r"2 columns \(x, z\)"), ("y ~ g", r"a factor \(g\[T.b\]\)"), ("y ~ 1", "none")]
)
def test_other_predictors_get_a_message(formula: str, found: str) -> None:
    fits = qb.qbr(formula, frame(), tau=[0.5])
    with pytest.raises(NotDefinedError, match=f"one numeric predictor; this fit has {found}.*predict"):
        fits.plot_lines()


def test_what_the_figures_leave_out_is_said() -> None:
    engel = qb.datasets.load("engel")
    steps = qb.qreg_process("foodexp ~ income", engel).plot()
    assert "steps may leave the panel" in steps[0].figure.get_suptitle()
    bands = qb.qreg("foodexp ~ income", engel, tau=[0.25, 0.5]).plot()
    assert "no band" not in bands[0].figure.get_suptitle()
    table = pd.DataFrame(
        {"tau": [0.2, 0.4], "term": "x", "estimate": 1.0, "conf_low": [0.0, np.nan], "conf_high": [2.0, np.nan]}
    )
    assert plot_coefficients(table)[0].figure.get_suptitle().endswith("no band: no interval")
