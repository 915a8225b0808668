"""Codes and their decoding."""

from __future__ import annotations

import numpy as np
import pytest

from qreg_boost.compose.codes import all_pairs, by_hamming, by_loss, error_correcting, least_distance, one_versus_all


@pytest.mark.parametrize("k", range(2, 8))
def test_exhaustive_codes_hold_every_dichotomy_once(k: int) -> None:
    code = error_correcting(k, np.random.default_rng(0))
    assert code.shape == (k, 2 ** (k - 1) - 1)
    words = {tuple(column * column[0]) for column in code.T}
    assert len(words) == code.shape[1]
    assert (np.abs(code.sum(axis=0)) < k).all()
    # Dietterich and Bakiri (1995): rows of the exhaustive code differ in 2^(k-2) columns
    assert least_distance(code) == 2.0 ** (k - 2)


@pytest.mark.parametrize("k", [8, 12, 20])
def test_random_codes_keep_classes_apart(k: int) -> None:
    code = error_correcting(k, np.random.default_rng(0))
    assert code.shape[1] <= np.ceil(10 * np.log2(k)) and set(np.unique(code)) == {-1, 1}
    assert least_distance(code) >= 0.25 * code.shape[1]
    np.testing.assert_array_equal(code, error_correcting(k, np.random.default_rng(0)))


def test_distances() -> None:
    assert least_distance(one_versus_all(5)) == 2.0
    # a pair of rows differs in its own column, and by a half in the 2 (k - 2) that hold one of them
    assert least_distance(all_pairs(4)) == 1.0 + 0.5 * (1 + 2 * 2)


def test_errors_are_corrected() -> None:
    code = error_correcting(5, np.random.default_rng(0))
    most = int((least_distance(code) - 1) // 2)
    rng = np.random.default_rng(1)
    for k in range(5):
        F = code[k].astype(float)
        F[rng.choice(len(F), most, replace=False)] *= -1.0
        assert by_hamming(F[None], code).argmax() == k


def test_decoding_by_loss_of_the_sign_is_hamming_decoding() -> None:
    code = all_pairs(4)
    F = np.random.default_rng(0).normal(size=(50, code.shape[1]))
    hamming = by_hamming(F, code)
    np.testing.assert_allclose(by_loss(F, code, lambda z: 0.5 * (1.0 - np.sign(z))), hamming, atol=1e-14)
