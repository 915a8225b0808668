"""Cells of a probability from signs: by hand, and against all monotone sequences tried out."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.boosting.cells import cells, interval

TAUS = np.array([0.2, 0.4, 0.6, 0.8])


def cell(*signs: float) -> tuple[float, float]:
    found = cells(TAUS, np.array([signs], dtype=float))
    return round(float(found.lower[0]), 12), round(float(found.upper[0]), 12)


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        ((1, 1, 1, 1), (0.8, 1.0)),
        ((-1, 1, 1, 1), (0.6, 0.8)),
        ((-1, -1, 1, 1), (0.4, 0.6)),
        ((-1, -1, -1, 1), (0.2, 0.4)),
        ((-1, -1, -1, -1), (0.0, 0.2)),
    ],
)
def test_signs_that_rise(signs, expected) -> None:
    assert cell(*signs) == expected
    assert not cells(TAUS, np.array([signs], dtype=float)).corrected[0]


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        ((1, -1, 1, 1), (0.4, 1.0)),  # all positive, or negative up to .4: one sign differs either way
        ((-1, 1, -1, -1), (0.0, 0.2)),
        ((-1, -1, -1, 1), (0.2, 0.4)),
        ((1, -1, -1, -1), (0.0, 0.2)),
        ((-1, 1, -1, 1), (0.2, 0.8)),
    ],
)
def test_signs_out_of_order(signs, expected) -> None:
    assert cell(*signs) == expected


def test_a_fit_of_nil_agrees_with_both_signs() -> None:
    assert cell(-1, 0, 1, 1) == (0.4, 0.8)
    assert not cells(TAUS, np.array([[-1.0, 0.0, 1.0, 1.0]])).corrected[0]


def test_every_sequence_of_signs_against_all_that_rise() -> None:
    """The cell spans what the rising sequences nearest to the signs say, each of which is a cell of its own."""
    limits = np.concatenate(([1.0], 1.0 - TAUS, [0.0]))
    every = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    found = cells(TAUS, every)
    for row, signs in enumerate(every):
        wrong = [int((signs[:j] > 0).sum() + (signs[j:] < 0).sum()) for j in range(5)]
        best = [j for j in range(5) if wrong[j] == min(wrong)]
        assert found.upper[row] == limits[best[0]]
        assert found.lower[row] == limits[best[-1] + 1]
        assert found.corrected[row] == (min(wrong) > 0)


def test_the_order_of_taus_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    fits = rng.normal(size=(50, 4))
    order = [2, 0, 3, 1]
    one, other = cells(TAUS, fits), cells(TAUS[order], fits[:, order])
    np.testing.assert_array_equal(one.lower, other.lower)
    np.testing.assert_array_equal(one.upper, other.upper)


def test_flipping_labels_flips_cells() -> None:
    fits = np.random.default_rng(1).normal(size=(80, 4))
    one, other = cells(TAUS, fits), cells(1.0 - TAUS, -fits)
    np.testing.assert_allclose(other.lower, 1.0 - one.upper, atol=1e-15)
    np.testing.assert_allclose(other.upper, 1.0 - one.lower, atol=1e-15)


def test_missing_fits_have_missing_cells() -> None:
    found = cells(TAUS, np.array([[np.nan, -1.0, 1.0, 1.0]]))
    assert np.isnan(found.lower[0]) and np.isnan(found.upper[0]) and not found.corrected[0]


def test_one_tau_halves_the_line() -> None:
    found = cells(np.array([0.3]), np.array([[1.0], [-1.0]]))
    assert found.lower.tolist() == [0.7, 0.0] and found.upper.tolist() == [1.0, 0.7]


def test_the_interval_widens_with_its_level() -> None:
    rng = np.random.default_rng(2)
    low = rng.random((200, 7))
    ends = np.stack((low, low + 0.1), axis=2)
    narrow, wide = interval(ends, 0.5), interval(ends, 0.95)
    assert (wide[:, 0] <= narrow[:, 0]).all() and (wide[:, 1] >= narrow[:, 1]).all()
    inside = ((ends[:, :, 0] >= wide[:, 0]) & (ends[:, :, 1] <= wide[:, 1])).mean(axis=0)
    assert (inside >= 0.94).all()
