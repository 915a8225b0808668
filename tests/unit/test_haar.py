"""Haar features against sums taken pixel by pixel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from qreg_boost import haar_features, haar_layout, integral_image
from qreg_boost.base.checks import InputError
from qreg_boost.haar import IMAGES_AT_ONCE, KINDS


def by_hand(image: np.ndarray, feature: pd.Series) -> float:
    """Return one feature of one image, each rectangle summed on its own."""
    total = 0.0
    for down, line in enumerate(KINDS[feature["kind"]]):
        for across, sign in enumerate(line):
            top, left = feature["y"] + down * feature["height"], feature["x"] + across * feature["width"]
            rectangle = image[top : top + feature["height"], left : left + feature["width"]]
            assert rectangle.shape == (feature["height"], feature["width"])  # inside the image
            total += sign * float(rectangle.sum())
    return total


def grey(n: int, height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, height, width)).astype(np.uint8)


@pytest.mark.parametrize(("height", "width", "least"), [(16, 16, 4), (9, 14, 3), (12, 6, 2), (4, 8, 4), (5, 5, 1)])
def test_features_are_the_sums_of_their_rectangles(height: int, width: int, least: int) -> None:
    images = grey(3, height, width)
    layout = haar_layout((height, width), least)
    expected = [[by_hand(image.astype(float), feature) for _, feature in layout.iterrows()] for image in images]
    assert np.array_equal(haar_features(images, least), expected)  # whole numbers: exact


def test_the_window_of_the_paper_has_6449_features_each_of_them_once() -> None:
    layout = haar_layout((16, 16), 4)
    assert len(layout) == 6449
    assert haar_features(grey(1, 16, 16)).shape == (1, 6449)
    assert layout.index.is_unique
    assert not layout.duplicated().any()
    assert (layout[["width", "height"]] >= 4).all(axis=None)


def test_every_place_and_size_inside_the_window_is_there() -> None:
    wanted = {
        (kind, x, y, wide, tall)
        for kind, signs in KINDS.items()
        for tall in range(2, 10)
        for wide in range(2, 8)
        for y in range(10)
        for x in range(8)
        if y + len(signs) * tall <= 9 and x + len(signs[0]) * wide <= 7
    }
    assert set(haar_layout((9, 7), 2).itertuples(index=False, name=None)) == wanted


def test_names_can_stand_in_a_formula() -> None:
    assert all(name.isidentifier() for name in haar_layout().index)


def test_signs() -> None:
    layout = haar_layout((12, 12), 4)
    left, top = np.zeros((12, 12)), np.zeros((12, 12))
    left[:, :4], top[:4] = 1, 1
    found = pd.DataFrame(haar_features([left, top, np.ones((12, 12))]), columns=layout.index)
    assert found["two_across_0_0_4x4"].tolist() == [16, 0, 0]
    assert found["two_down_0_0_4x4"].tolist() == [0, 16, 0]
    # three rectangles: the middle less both sides, which are twice as large
    assert found["three_across_0_0_4x4"].tolist() == [-16, -16, -16]
    assert found["three_down_0_0_4x4"].tolist() == [-16, -16, -16]
    assert found["four_0_0_4x4"].tolist() == [0, 0, 0]


def test_single_precision_is_exact_for_grey_levels() -> None:
    images = grey(2, 16, 16)
    single = haar_features(images, dtype="float32")
    assert single.dtype == np.float32
    assert np.array_equal(single, haar_features(images))


def test_blocks_of_images_meet() -> None:
    images = grey(2 * IMAGES_AT_ONCE + 3, 6, 6)
    whole = haar_features(images, 2)
    assert np.array_equal(
        whole[IMAGES_AT_ONCE - 1 : IMAGES_AT_ONCE + 2], haar_features(images[IMAGES_AT_ONCE - 1 :][:3], 2)
    )
    assert haar_features(images[:0], 2).shape == (0, whole.shape[1])


def test_integral_image_sums_rectangles() -> None:
    images = grey(4, 7, 9)
    integral = integral_image(images)
    assert integral.shape == (4, 8, 10)
    for y0, y1, x0, x1 in [(0, 7, 0, 9), (2, 5, 3, 4), (0, 1, 0, 1), (6, 7, 1, 9)]:
        box = integral[:, y1, x1] - integral[:, y0, x1] - integral[:, y1, x0] + integral[:, y0, x0]
        assert np.array_equal(box, images[:, y0:y1, x0:x1].sum(axis=(1, 2), dtype=float))


def test_images_are_not_changed() -> None:
    images = grey(2, 16, 16).astype(float)
    before = images.copy()
    haar_features(images)
    assert np.array_equal(images, before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: haar_features(np.zeros((16, 16))), r"One image: `image\[None\]`"),
        (lambda: haar_features(np.zeros((2, 16, 16, 3))), "Colours are not read"),
        (lambda: haar_features([["a"]]), "must be numbers"),
        (lambda: haar_features(np.full((1, 16, 16), np.nan)), "256 missing values"),
        (lambda: haar_features(np.full((1, 16, 16), np.inf)), "infinite"),
        (lambda: haar_features(np.zeros((1, 7, 7))), "7 x 7 pixels have no Haar feature"),
        (lambda: haar_features(np.zeros((1, 3, 40))), "no Haar feature"),
        (lambda: haar_features(np.zeros((1, 16, 16)), least=0), "`least` must be a whole number of at least 1"),
        (lambda: haar_features(np.zeros((1, 16, 16)), dtype="int8"), "`dtype` must be one of"),
        (lambda: haar_layout(16), "`shape` must be height and width"),
        (lambda: haar_layout((16, 2.5)), r"`shape\[1\]`"),
    ],
)
def test_messages(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
