"""Bins of columns: every value in the bin that its cuts say, cuts of even weight, and few values one bin each."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.boosting.learners.binning import SAMPLE, bin_columns


def columns(n: int, seed: int = 0) -> np.ndarray:
    """Return X (n, 5): smooth, of few values, with gaps, spread over 50 decades, constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = np.round(X[:, 1])
    X[::7, 2] = np.nan
    X[:, 3] = np.exp(20.0 * X[:, 3])
    X[:, 4] = -0.0
    return X


@pytest.mark.parametrize("n", [1, 40, 500, SAMPLE + 1000])
@pytest.mark.parametrize("bins", [None, 2, 16, 255, 3000])
def test_codes_are_what_the_cuts_say(n: int, bins: int | None) -> None:
    X = columns(n)
    for memory in (np.ascontiguousarray, np.asfortranarray):
        binned = bin_columns(memory(X), None, bins)
        for j in range(X.shape[1]):
            own = slice(binned.offsets[j], binned.offsets[j + 1])
            cuts, gap = binned.cuts[own], np.isnan(X[:, j])
            inner = len(cuts) - binned.missing[j]
            expected = np.where(gap, inner, np.searchsorted(cuts[: max(inner - 1, 0)], X[:, j]))
            np.testing.assert_array_equal(binned.codes[j], expected)
            assert binned.missing[j] == gap.any()
            assert bins is None or inner <= bins
            if np.unique(X[~gap, j]).size <= (bins or n):
                np.testing.assert_array_equal(binned.lower[own][:inner], np.unique(X[~gap, j]))
                np.testing.assert_array_equal(binned.upper[own][:inner], binned.lower[own][:inner])


def test_bins_hold_even_weight() -> None:
    X = np.random.default_rng(1).normal(size=(1000, 1))
    assert np.ptp(np.bincount(bin_columns(X, None, 8).codes[0])) <= 1
    weights = np.random.default_rng(2).uniform(0.5, 1.5, 1000)
    of_bins = np.bincount(bin_columns(X, weights, 8).codes[0], weights=weights)
    assert np.ptp(of_bins) <= 2.0 * weights.max()


def test_a_value_that_many_rows_share_has_a_bin_to_itself() -> None:
    x = np.concatenate((np.zeros(900), np.linspace(1.0, 2.0, 600)))[:, None]
    counts = np.bincount(bin_columns(x, None, 10).codes[0])
    assert counts[0] == 900 and len(counts) == 10 and np.ptp(counts[1:]) <= 1


def test_cuts_from_a_sample_are_nearly_even() -> None:
    X = np.random.default_rng(3).normal(size=(100_000, 1))
    counts = np.bincount(bin_columns(X, None, 64).codes[0])
    # a bin of the sample holds 256 rows, so its share has a standard error of 1/16; 64 of them
    assert len(counts) == 64 and np.abs(counts / (100_000 / 64) - 1.0).max() < 5.0 / 16.0


@pytest.mark.parametrize("bins", [None, 16])
def test_weights_are_repetition(bins: int | None) -> None:
    X, counts = columns(300), np.random.default_rng(4).integers(1, 4, 300)
    one, other = bin_columns(X, counts.astype(float), bins), bin_columns(np.repeat(X, counts, axis=0), None, bins)
    np.testing.assert_array_equal(one.cuts, other.cuts)
    np.testing.assert_array_equal(np.repeat(one.codes, counts, axis=1), other.codes)


def test_neighbouring_floats_are_kept_apart() -> None:
    x = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)])[:, None]
    np.testing.assert_array_equal(bin_columns(x, None, None).codes[0], [0, 1, 2])


def test_codes_take_the_smallest_type() -> None:
    x = np.arange(70_000.0)[:, None]
    assert bin_columns(x, None, 256).codes.dtype == np.uint8
    assert bin_columns(x, None, 257).codes.dtype == np.uint16
    assert bin_columns(x, None, None).codes.dtype == np.uint32
