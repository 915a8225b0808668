"""Fitted quantiles along one predictor."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb
from qreg_boost.base.checks import InputError, NotDefinedError
from qreg_boost.kernel.curves import curves

matplotlib.use("Agg")
RNG = np.random.default_rng(2)


def made(n: int = 80) -> pd.DataFrame:
    x, z, g = RNG.uniform(0, 6, n), RNG.normal(size=n), RNG.choice(["old", "new", "odd"], n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame({"x": x, "z": z, "g": g, "y": np.sin(x) + (g == "old") + 0.1 * RNG.normal(size=n)})


DATA = made()


@pytest.fixture(scope="module")
def fits():
    return qb.kqr("y ~ x + z + C(g)", DATA, tau=[0.9, 0.5], C=10.0, gamma=0.3)


@pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.CrossingWarning")
def test_curves_are_predictions_with_the_others_held(fits) -> None:
    found = curves(fits.fits, "x", {"C(g)": "new", "z": 0.5})
    new = pd.DataFrame({"x": found.x, "z": 0.5, "g": "new"})
    np.testing.assert_allclose(found.fits.T, fits.predict(new)[[0.5, 0.9]], rtol=1e-12)
    assert found.taus == (0.5, 0.9) and found.held == (("z", "0.5"), ("C(g)", "new"))
    assert (found.x[0], found.x[-1]) == (DATA["x"].min(), DATA["x"].max())
    # the rows drawn are those at that level
    np.testing.assert_array_equal(found.rows_y, DATA["y"][DATA["g"] == "new"])
    usual = curves(fits.fits, "x")
    assert usual.held == (("z", f"{DATA['z'].median():.4g}"), ("C(g)", "old"))


def test_weights_and_terms_of_several_columns() -> None:
    weights = (DATA["z"] > 0).astype(float)
    fit = qb.kqr("y ~ x + cr(z, df=4)", DATA, weights=weights, gamma=0.3)
    found = curves([fit], "x")
    assert found.held == (("cr(z, df=4)", "a typical row"),) and len(found.rows_x) == weights.sum()
    with pytest.raises(InputError, match="must hold 'cr"):
        curves([fit], "x", {"cr(z, df=4)": 1.0})


def test_figure(fits) -> None:
    ax = fits.plot_lines(x="x", at={"C(g)": "new"})
    lines = ax.get_lines()
    assert len(lines) == 3 and len(lines[1].get_xdata()) == 300
    assert ax.get_xlabel() == "x" and ax.get_ylabel() == "y" and "C(g) = new" in ax.get_title(loc="right")
    assert [text.get_text() for text in ax.texts] == ["tau = 0.5", "tau = 0.9"]
    # a curve is one between the rows too, not a chord from row to row
    engel = qb.datasets.load("engel")
    fit = qb.kqr("foodexp ~ income", engel, tau=0.5, C=10.0, gamma=0.1)
    x, y = fit.plot_lines().get_lines()[1].get_data()
    np.testing.assert_allclose(y, fit.predict(pd.DataFrame({"income": x})))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, NotDefinedError, r"this fit has 4 columns: say which with x=. Numeric ones: x, z"),
        ({"x": "g"}, InputError, r"must name a numeric predictor; got 'g'. They are: x, z"),
        ({"x": "x", "at": {"q": 1}}, InputError, r"`at` holds 'q', which is no other term"),
        ({"x": "x", "at": {"x": 1}}, InputError, r"`at` holds 'x', which is no other term"),
        (
            {"x": "x", "at": {"C(g)": "old "}},
            InputError,
            "none of its levels: 'new', 'odd', 'old'",
        ),
        ({"x": "x", "at": {"z": "a"}}, InputError, r"must hold 'z' at a number or a level of a factor; got 'a'"),
    ],
)
def test_messages(fits, given: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fits.plot_lines(**given)


def test_a_factor_alone_has_no_curve() -> None:
    with pytest.raises(NotDefinedError, match=r"this fit has 2 columns: say which with x=. Numeric ones: none"):
        qb.kqr("y ~ C(g)", DATA, gamma=1.0).plot_lines()


def test_a_precomputed_kernel_has_no_curves() -> None:
    with pytest.raises(NotDefinedError, match="knows no predictors"):
        qb.KQR(np.arange(5.0), np.eye(5), kernel="precomputed").fit().plot_lines()
