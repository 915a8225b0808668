"""What must hold for classifiers on any data.

Flipping the labels turns tau into 1 - tau: y - (1 - tau) becomes (1 - y) - tau, its exact negative up to the rounding
of 1 - tau; u, the least-squares fits and f are negated with it. Taus are such that 1 - tau and its complement are exact
in binary, so that f is the exact negative wherever it is not 0 (where it is, both predict the event: I(f >= 0)).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qreg_boost as qb
from qreg_boost.base.checks import InputError

few = settings(max_examples=30, derandomize=True, deadline=None)
pytestmark = [
    pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::qreg_boost.base.checks.OneClassWarning"),
]

seeds = st.integers(0, 10_000)
sizes = st.tuples(st.integers(6, 150), st.integers(1, 5))
exact_taus = st.sampled_from([0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875])


def draw(seed: int, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (n,), both of them present, and X (n, p)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=size)
    y = X[:, 0] + rng.normal(size=size[0]) > 0
    y[:2] = False, True
    return np.where(y, "yes", "no"), X


@few
@given(
    seeds,
    sizes,
    exact_taus,
    st.sampled_from(["linear", "componentwise", "joint", "stump", "tree"]),
    st.sampled_from(["fixed", "line"]),
)
def test_flipping_the_labels_negates_the_fit(seed, size, tau, learner, step) -> None:
    y, X = draw(seed, size)
    options = {"learner": learner, "step": step, "mstop": 40, "progress": False}
    one = qb.QBC(y, X, tau, event="yes", **options).fit()
    other = qb.QBC(y, X, 1.0 - tau, event="no", **options).fit()
    f, g = one.decision_function().to_numpy(), other.decision_function().to_numpy()
    np.testing.assert_array_equal(g, -f)
    np.testing.assert_array_equal(one.path.selected, other.path.selected)
    np.testing.assert_allclose(one.risk_path, other.risk_path, rtol=1e-12)
    same = one.predict().astype(object) == other.predict().astype(object)
    assert same[f != 0].all()
    assert (one.predict()[f == 0] == "yes").all() and (other.predict()[f == 0] == "no").all()


@few
@given(seeds, sizes, st.sampled_from(["newton", "gradient"]), st.sampled_from(["linear", "stump"]))
def test_logitboost_is_symmetric_in_the_labels(seed, size, form, learner) -> None:
    """Gradient steps start at the log of a ratio: log(a/b) and log(b/a) differ by rounding, which later steps carry."""
    y, X = draw(seed, size)
    options = {"form": form, "learner": learner, "mstop": 30, "progress": False}
    one = qb.LogitBoost(y, X, event="yes", **options).fit().predict_proba()
    other = qb.LogitBoost(y, X, event="no", **options).fit().predict_proba()
    np.testing.assert_allclose(one["yes"], other["yes"], atol=1e-9)


@few
@given(seeds, sizes, exact_taus, st.floats(0.01, 100.0))
def test_only_ratios_of_weights_count(seed, size, tau, factor) -> None:
    y, X = draw(seed, size)
    w = np.random.default_rng(seed).integers(1, 5, size[0]).astype(float)
    options = {"mstop": 30, "progress": False}
    one = qb.QBC(y, X, tau, weights=w, **options).fit()
    other = qb.QBC(y, X, tau, weights=factor * w, **options).fit()
    np.testing.assert_allclose(other.decision_function(), one.decision_function(), rtol=1e-9, atol=1e-9)
    assert other.error_rate == pytest.approx(one.error_rate)


@few
@given(seeds, sizes)
def test_adaboost_lowers_its_bound(seed, size) -> None:
    """Freund and Schapire (1997), Theorem 6: each vote multiplies the exponential loss by 2 sqrt(e (1 - e)) < 1."""
    y, X = draw(seed, size)
    fit = qb.AdaBoost(y, X, mstop=30, progress=False).fit()
    risks = fit.risk_path.to_numpy()
    assert (np.diff(risks) < 0).all()
    votes = np.array([np.abs(added).max() for added in fit.path.increments(X)])
    e = 1.0 / (1.0 + np.exp(votes))
    if fit.status == "complete":
        np.testing.assert_allclose(risks[1:] / risks[:-1], 2.0 * np.sqrt(e * (1.0 - e)), rtol=1e-9)
    assert (fit.error_path.to_numpy() <= risks / len(y) + 1e-12).all()


@few
@given(
    seeds, st.tuples(st.integers(30, 120), st.integers(1, 4)), st.lists(exact_taus, min_size=1, max_size=5, unique=True)
)
def test_cells_hold_the_limits_of_every_fit_that_agrees(seed, size, taus) -> None:
    y, X = draw(seed, size)
    fits = qb.QBC(y, X, taus, mstop=20, progress=False).fit()
    cell, decision = fits.prob_cell(X), fits.decision_function(X)
    assert (cell["lower"] < cell["upper"]).all()
    assert set(cell["lower"]) <= {0.0, *(1.0 - t for t in taus)} and set(cell["upper"]) <= {
        1.0,
        *(1.0 - t for t in taus),
    }
    ordered = np.sort(taus)
    signs = np.sign(decision[list(ordered)].to_numpy())
    rising = (np.diff(signs, axis=1) >= 0).all(axis=1)
    assert cell.attrs["corrected"] == (~rising).sum() and cell.attrs["label"] == "estimate"
    for k, tau in enumerate(ordered):
        assert (cell["lower"][rising & (signs[:, k] > 0)] >= 1.0 - tau).all()
        assert (cell["upper"][rising & (signs[:, k] < 0)] <= 1.0 - tau).all()


@few
@given(seeds)
def test_the_bootstrap_does_not_depend_on_workers(seed) -> None:
    y, X = draw(seed, (60, 2))
    fits = qb.QBC(y, X, [0.25, 0.5, 0.75], mstop=10, progress=False).fit()
    one = fits.prob_cell(X, level=0.8, reps=6, rng=seed, n_jobs=1, progress=False)
    two = fits.prob_cell(X, level=0.8, reps=6, rng=seed, n_jobs=2, progress=False)
    assert one.equals(two)
    assert (one["conf_low"] <= one["lower"]).all() and (one["conf_high"] >= one["upper"]).all()


@few
@given(seeds, st.integers(1, 6))
def test_any_two_labels_or_a_message(seed, kinds) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, kinds, 30)
    X = rng.normal(size=(30, 2))
    distinct = len(set(y.tolist()))
    if distinct == 2:
        fit = qb.QBC(y, X, mstop=3, progress=False).fit()
        assert fit.classes == tuple(sorted(set(y.tolist())))
        return
    with pytest.raises(InputError, match="one class only" if distinct == 1 else f"{distinct} distinct values"):
        qb.QBC(y, X)
