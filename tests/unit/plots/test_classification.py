"""Figures of classifiers: what is drawn is what the tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import qreg_boost as qb

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def engel():
    data = qb.datasets.load("engel")
    data["ample"] = np.where(data["foodexp"] > 600, "yes", "no")
    return data


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
    drawn = [line.get_ydata() for line in ax.lines]
    for values, name in zip(drawn, ("error_rate", "fn_rate", "fp_rate"), strict=True):
        np.testing.assert_allclose(values, table[name])
    assert len(ax.figure.axes) == 1  # tau prices each cost its own way


def test_the_cost_at_one_price_has_its_own_axes(engel) -> None:
    dear = qb.qbc("ample ~ income", engel, [0.5, 0.3, 0.7], cost={"fn": 50, "fp": 10})
    ax = dear.plot_errors()
    above, below = ax.figure.axes
    table = dear.errors().sort_values("tau")
    assert above is ax and len(ax.lines) == 3
    np.testing.assert_allclose(below.lines[0].get_ydata(), table["cost"])
    least = table.loc[table["cost"].idxmin()]
    assert below.get_ylabel().endswith("(FN 50, FP 10)")
    assert f"at tau = {least['tau']:g}" in below.texts[0].get_text()
    assert below.lines[1].get_ydata()[0] == pytest.approx(least["cost"])
    assert dear.plot_errors(ax=above) is above and len(above.figure.axes) == 2


def test_taus_at_one_point_share_a_label() -> None:
    from qreg_boost.plots.classification import plot_roc

    rates = {"tau": [0.1, 0.3, 0.5], "fn_rate": [1.0, 1.0, 0.2], "fp_rate": [0.0, 0.0, 0.1]}
    assert [text.get_text() for text in plot_roc(pd.DataFrame(rates)).texts] == ["0.1, 0.3", "0.5"]


def test_both_rates_over_tau(engel) -> None:
    fits = qb.qbc("ample ~ income", engel, [0.3, 0.5, 0.7])
    table = fits.errors(engel)
    curve = fits.plot_roc(engel).lines[1]
    np.testing.assert_allclose(curve.get_xdata(), table["fp_rate"])
    np.testing.assert_allclose(curve.get_ydata(), 1.0 - table["fn_rate"])
