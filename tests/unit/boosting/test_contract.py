"""What every row of the tables of learners and step rules owes: one set of tests, run over all of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import qreg_boost as qb
from qreg_boost.boosting.learners import LEARNERS
from qreg_boost.boosting.losses import CheckLoss
from qreg_boost.boosting.model import QBR
from qreg_boost.boosting.steps import STEPS
from tests.unit.boosting.cases import LINEAR, frame

FORMULA = "y ~ x1 + g + x2"
PENALISED = ("spline",)
pairs = pytest.mark.parametrize(("learner", "step"), [(learner, step) for learner in LEARNERS for step in STEPS])
# a line search that stalls before the last iteration says so by a warning, which is tested elsewhere
pytestmark = pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return frame(120, seed=11)


def steady(learner: str, step: str) -> int:
    """Return for how many iterations rounding stays rounding: trees by line search amplify it by a third in each."""
    return 30 if (learner, step) == ("tree", "line") else 80


def fitted(data, learner, step, **options):
    return qb.qbr(FORMULA, data, 0.3, learner=learner, step=step, progress=False, **{"mstop": 80, **options})


@pytest.mark.parametrize("name", LEARNERS)
def test_the_table_names_learners_as_they_name_themselves(name: str) -> None:
    assert LEARNERS[name].name == name
    assert pickle.loads(pickle.dumps(LEARNERS[name])) == LEARNERS[name]


@pytest.mark.parametrize("name", LEARNERS)
def test_an_update_is_a_projection(data, name: str) -> None:
    """Least squares: what is left of u is orthogonal to the update, and no multiple of it explains more.

    A penalised fit is shorter than its projection: what is left points the same way.
    """
    model = QBR.from_formula(FORMULA, data, 0.3, learner=name)
    task = model.task(model.weights)
    rng = np.random.default_rng(0)
    for _ in range(20):
        u = np.where(rng.random(len(task.y)) < 0.4, 0.3, -0.7)
        update = task.learner.update(u)
        assert 0 <= update.learner < len(task.learner.names)
        left = task.weights * (u - update.fitted) @ update.fitted
        assert left == pytest.approx(0.0, abs=1e-12 * len(u)) or (name in PENALISED and left > 0.0)
        assert update.fitted.shape == u.shape


@pytest.mark.parametrize("name", LEARNERS)
def test_an_instance_does_as_its_name(data, name: str) -> None:
    one, other = fitted(data, name, "fixed"), fitted(data, LEARNERS[name], "fixed")
    assert one.fittedvalues.equals(other.fittedvalues) and one.selected.equals(other.selected)


@pairs
def test_a_fit_to_arrays_is_the_fit_of_the_formula(data, learner: str, step: str) -> None:
    by_formula = qb.qbr("y ~ x1 + x2", data, 0.3, learner=learner, step=step, mstop=60)
    by_arrays = qb.QBR(data["y"], data[["x1", "x2"]], 0.3, learner=learner, step=step, mstop=60).fit()
    assert by_arrays.fittedvalues.equals(by_formula.fittedvalues)


@pairs
def test_loss_falls_from_the_start(data, learner: str, step: str) -> None:
    fit = fitted(data, learner, step)
    assert fit.risk < fit.risk_path[0]
    y, w = data["y"].to_numpy(), np.ones(len(data))
    assert fit.risk == pytest.approx(CheckLoss(0.3).risk(y, fit.fittedvalues.to_numpy(), w), rel=1e-11)


@pairs
def test_at_is_the_fit_stopped_there(data, learner: str, step: str) -> None:
    fit = fitted(data, learner, step)
    for m in (0, 1, min(40, fit.mstop), fit.mstop):
        short = fitted(data, learner, step, mstop=m)
        assert short.fittedvalues.equals(fit.at(m).fittedvalues)
        assert short.selected.equals(fit.at(m).selected)
        np.testing.assert_allclose(short.risk_path, fit.at(m).risk_path, rtol=1e-13)


@pairs
def test_extend_goes_on_as_a_longer_fit(data, learner: str, step: str) -> None:
    """The continuation starts from coefficients, not from the running sum: 1e-11 is their rounding."""
    long = fitted(data, learner, step)
    for m in (0, 1, 5, 33):
        extended = fitted(data, learner, step, mstop=m).extend(80)
        assert extended.selected.equals(long.selected)
        np.testing.assert_allclose(extended.fittedvalues, long.fittedvalues, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(extended.risk_path, long.risk_path, rtol=1e-11)


@pairs
def test_saved_and_pickled_fits_are_the_fit(data, learner: str, step: str, tmp_path) -> None:
    fit, new = fitted(data, learner, step), frame(30, seed=12)
    for again in (
        qb.load(fit.save(tmp_path / "fit.qb")),
        qb.load(fit.save(tmp_path / "rows.qb", data=True)),
        pickle.loads(pickle.dumps(fit)),
    ):
        assert again.predict(new).equals(fit.predict(new))
        assert again.risk_path.equals(fit.risk_path) and again.selected.equals(fit.selected)
        assert again.has_coefficients == fit.has_coefficients == (learner in LINEAR)
        assert not fit.has_coefficients or again.params.equals(fit.params)
        assert again.at(7).predict(new).equals(fit.at(7).predict(new))
        assert again.tidy().equals(fit.tidy())


@pairs
def test_weights_are_repetition(data, learner: str, step: str) -> None:
    counts = np.random.default_rng(1).integers(0, 4, len(data))
    repeated = data.loc[np.repeat(data.index, counts)]
    mstop = steady(learner, step)
    one, other = fitted(data, learner, step, weights=counts, mstop=mstop), fitted(repeated, learner, step, mstop=mstop)
    assert one.selected.equals(other.selected)
    np.testing.assert_allclose(other.predict(data), one.predict(data), rtol=1e-9, atol=1e-9)
    assert one.risk == pytest.approx(other.risk, rel=1e-10)
    assert one.prsquared == pytest.approx(other.prsquared, rel=1e-9)
    assert one.optimality_gap == pytest.approx(other.optimality_gap, rel=1e-7, abs=1e-9, nan_ok=True)


@pairs
def test_results_do_not_depend_on_the_order_of_rows(data, learner: str, step: str) -> None:
    shuffled = data.sample(frac=1.0, random_state=0)
    mstop = steady(learner, step)
    one, other = fitted(data, learner, step, mstop=mstop), fitted(shuffled, learner, step, mstop=mstop)
    assert one.selected.equals(other.selected)
    np.testing.assert_allclose(other.fittedvalues.sort_index(), one.fittedvalues, rtol=1e-10, atol=1e-10)
