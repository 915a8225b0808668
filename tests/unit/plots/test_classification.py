"""Figures of classifiers: what is drawn is what the tables hold."""

from __future__ import annotations

import numpy as np
import pytest

import qreg_boost as qb

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def engel():
    data = qb.datasets.load("engel")
    data["ample"] = np.where(data["foodexp"] > 600, "yes", "no")
    return data


@pytest.fixture(autouse=True)
def closed():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_objective_and_error_by_iteration(engel) -> None:
    fit = qb.qbc("ample ~ income", engel, 0.4)
    above, below = fit.plot_objective()
    np.testing.assert_array_equal(above.lines[0].get_ydata(), fit.objective_path)
    np.testing.assert_allclose(below.lines[0].get_ydata(), 100.0 * fit.error_path)
    assert above.get_ylabel() == "smoothed objective" and "tau = 0.4" in above.get_title(loc="left")
    again = fit.plot_objective(ax=(above, below))
    assert again == (above, below) and len(above.lines) == 2


def test_other_losses_name_themselves(engel) -> None:
    fit = qb.logitboost("ample ~ income", engel, learner="linear", mstop=10)
    above, _ = fit.plot_objective()
    assert above.get_ylabel() == "negative log-likelihood"
    np.testing.assert_array_equal(above.lines[0].get_ydata(), fit.risk_path)
    assert fit.plot_risk().get_ylabel() == "negative log-likelihood in training (sum)"
    assert "negative log-likelihood" in fit.plot_importance().get_xlabel()


def test_errors_against_tau(engel) -> None:
    fits = qb.qbc("ample ~ income", engel, [0.7, 0.3, 0.5])
    table = fits.errors().sort_values("tau")
    ax = fits.plot_errors()
    drawn = [line.get_ydata() for line in ax.lines[:4]]
    for values, name in zip(drawn, ("error_rate", "fn_rate", "fp_rate", "cost"), strict=True):
        np.testing.assert_allclose(values, table[name])
    dear = qb.qbc("ample ~ income", engel, [0.3, 0.5], cost={"fn": 50, "fp": 10}).plot_errors()
    assert len(dear.lines) == 3  # a cost beyond 1 has no place among shares


def test_both_rates_over_tau(engel) -> None:
    fits = qb.qbc("ample ~ income", engel, [0.3, 0.5, 0.7])
    table = fits.errors(engel)
    curve = fits.plot_roc(engel).lines[1]
    np.testing.assert_allclose(curve.get_xdata(), table["fp_rate"])
    np.testing.assert_allclose(curve.get_ydata(), 1.0 - table["fn_rate"])
