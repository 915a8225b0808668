"""mboost's stored fits of two classes, met through the public functions: all selections equal, fits within 1e-8.

Sums of a hundred steps in another order differ by some 1e-14; 1e-8 is what the stored values are asked for.
"""

from __future__ import annotations

import numpy as np
import pytest

import qreg_boost as qb
from tests.reference import mboost_values as mboost

pytestmark = pytest.mark.reference

FORMULA = "y ~ x1 + x2 + x3 + x4 + x5 + x6"
TOLERANCE = {"rtol": 1e-8, "atol": 1e-8}
GRADIENT = {"event": 1, "mstop": 100, "nu": 0.1, "learner": "linear", "progress": False}
OTHERS = {
    "L2Boost": lambda data: qb.l2boost(FORMULA, data, **GRADIENT),
    "LogitBoost": lambda data: qb.logitboost(FORMULA, data, form="gradient", **GRADIENT),
    "AdaExp": lambda data: qb.adaboost(FORMULA, data, form="gradient", **GRADIENT),
}


@pytest.fixture(scope="module")
def binary():
    return mboost.binary()


def selections(fit) -> list[int]:
    return (fit.path.selected + 1).tolist()


@pytest.mark.parametrize("run", mboost.values("qbc")["runs"], ids=lambda run: f"tau={run['tau']}")
def test_qbc(binary, run) -> None:
    fit = qb.qbc(FORMULA, binary, run["tau"], h=run["h"], nu=run["nu"], mstop=run["mstop"], progress=False)
    assert selections(fit) == run["xselect"]
    np.testing.assert_allclose(fit.fittedvalues, run["fitted"], **TOLERANCE)
    np.testing.assert_allclose(fit.objective_path, run["objective_path"], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("run", mboost.values("other_boosting")["runs"], ids=lambda run: run["family"])
def test_other_losses(binary, run) -> None:
    fit = OTHERS[run["family"]](binary)
    assert fit.start == pytest.approx(run["offset"], rel=1e-12)
    assert selections(fit) == run["xselect"]
    np.testing.assert_allclose(fit.fittedvalues, run["fitted"], **TOLERANCE)
    np.testing.assert_allclose(fit.risk_path, run["risk_path"], **TOLERANCE)


def test_l2boost_of_numbers_is_the_same_fit(binary) -> None:
    run = next(run for run in mboost.values("other_boosting")["runs"] if run["family"] == "L2Boost")
    fit = qb.l2boost(FORMULA, binary, progress=False)
    assert isinstance(fit, qb.boosting.l2_results.L2Results)
    np.testing.assert_allclose(fit.fittedvalues, run["fitted"], **TOLERANCE)
