"""Haar features of images (Viola and Jones 2004): differences between sums of grey levels of neighbouring rectangles.

A feature is two, three or four rectangles of one size, side by side or one above the other; each has a sign:

    two_across  + -     two_down  +     three_across  - + -     three_down  -     four  + -
                                  -                                         +           - +
                                                                            -

Every position at which the whole feature lies inside the image counts, and every width and height of at least `least`
pixels of one rectangle. At 16 x 16 pixels and `least` = 4 that makes 2275 + 2275 + 637 + 637 + 625 = 6449 features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.checks import InputError, check_choice, check_count, check_finite

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["haar_features", "haar_layout", "integral_image"]

KINDS: dict[str, tuple[tuple[int, ...], ...]] = {
    "two_across": ((1, -1),),
    "two_down": ((1,), (-1,)),
    "three_across": ((-1, 1, -1),),
    "three_down": ((-1,), (1,), (-1,)),
    "four": ((1, -1), (-1, 1)),
}
"""Sign of each rectangle of a kind, by row and column."""

IMAGES_AT_ONCE = 256
"""As many images as keep the sums of one size of rectangle near the processor."""


def haar_features(images: Any, least: int = 4, dtype: str = "float64") -> np.ndarray:
    """Return the Haar features of images: (n, p), a row for each image, in units of the grey level.

    Parameters
    ----------
    images : array_like (n, height, width)
        Grey levels.
    least : int
        Least width and height, in pixels, of one rectangle.
    dtype : {"float64", "float32"}
        "float32" takes half the memory. It is exact for whole grey levels of up to 255 and images of up to 256 x 256.

    Returns
    -------
    ndarray (n, p)
        p = 6449 at 16 x 16 pixels. `haar_layout` has a row for each column.

    Raises
    ------
    InputError
        If `images` are not numbers in three dimensions, or too small for any feature.

    See Also
    --------
    haar_layout : kind, place and size of each feature; names for a data frame.

    Notes
    -----
    A feature is the sum of the grey levels under its rectangles of sign +, less that under its rectangles of sign -
    (the signs are at the top of `qreg_boost.haar`). So a feature of two or four rectangles does not change when a
    constant is added to an image; one of three, whose middle is smaller than its sides, does. Viola and Jones scale
    each image to variance 1 first; here images are taken as they are.

    References
    ----------
    Viola, P. and Jones, M. (2004). Robust real-time face detection. International Journal of Computer Vision 57,
    137-154, section 2.

    Examples
    --------
    A bright left half is what the first feature of an 8 x 4 image looks for:

    >>> image = np.zeros((1, 4, 8))
    >>> image[0, :, :4] = 10
    >>> haar_features(image)
    array([[160.]])
    >>> haar_features(np.zeros((2, 16, 16))).shape
    (2, 6449)
    """
    images = _read_images(images)
    height, width = images.shape[1:]
    check_choice(dtype, "dtype", ("float64", "float32"))
    blocks = list(_blocks(height, width, least))
    ends = np.cumsum([rows * columns for *_, rows, columns in blocks])
    features = np.empty((len(images), int(ends[-1])), dtype=dtype)
    for first in range(0, len(images), IMAGES_AT_ONCE):
        some = slice(first, first + IMAGES_AT_ONCE)
        # Images last: then every sum runs along memory.
        integral = np.ascontiguousarray(np.moveaxis(integral_image(images[some]), 0, 2))
        for end, (kind, tall, wide, rows, columns) in zip(ends, blocks, strict=True):
            sums = _signed_sums(integral, KINDS[kind], tall, wide, rows, columns)
            features[some, end - rows * columns : end] = sums.reshape(rows * columns, -1).T
    return features


def haar_layout(shape: Sequence[int] = (16, 16), least: int = 4) -> pd.DataFrame:
    """Return kind, place and size of each Haar feature of an image, in the order of the columns of `haar_features`.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images, in pixels.
    least : int
        Least width and height, in pixels, of one rectangle.

    Returns
    -------
    DataFrame
        A row for each feature. The index is a name that can stand in a formula, ``kind_x_y_widthxheight``; ``kind``;
        ``x`` and ``y``, column and row of the upper left pixel of the whole feature, from 0; ``width`` and ``height``
        of one of its rectangles, in pixels.

    Raises
    ------
    InputError
        If `shape` is not two whole numbers, or too small for any feature.

    Examples
    --------
    >>> layout = haar_layout((16, 16), least=4)
    >>> layout["kind"].value_counts(sort=False).to_dict()
    {'two_across': 2275, 'two_down': 2275, 'three_across': 637, 'three_down': 637, 'four': 625}
    >>> print(layout.reset_index().iloc[[0, -1]])
                     feature        kind  x  y  width  height
    0     two_across_0_0_4x4  two_across  0  0      4       4
    6448        four_0_0_8x8        four  0  0      8       8
    """
    import pandas as pd

    height, width = _read_shape(shape)
    found = [
        (f"{kind}_{x}_{y}_{wide}x{tall}", kind, x, y, wide, tall)
        for kind, tall, wide, rows, columns in _blocks(height, width, least)
        for y in range(rows)
        for x in range(columns)
    ]
    layout = pd.DataFrame(found, columns=["feature", "kind", "x", "y", "width", "height"])
    return layout.set_index("feature")


def integral_image(images: Any) -> np.ndarray:
    """Return sums of grey levels above and to the left of each corner of a pixel: (n, height + 1, width + 1) float64.

    Entry ``[i, y, x]`` is the sum over the first y rows and x columns of image i; so the sum over the rectangle of rows
    y0 to y1 - 1 and columns x0 to x1 - 1 is ``S[y1, x1] - S[y0, x1] - S[y1, x0] + S[y0, x0]``.

    Parameters
    ----------
    images : array_like (n, height, width)
        Grey levels.

    Raises
    ------
    InputError
        If `images` are not numbers in three dimensions.

    Examples
    --------
    >>> integral_image([[[1, 2], [3, 4]]])[0]
    array([[ 0.,  0.,  0.],
           [ 0.,  1.,  3.],
           [ 0.,  4., 10.]])
    """
    images = _read_images(images)
    n, height, width = images.shape
    integral = np.zeros((n, height + 1, width + 1))
    np.cumsum(images, axis=1, out=integral[:, 1:, 1:])
    np.cumsum(integral[:, 1:, 1:], axis=2, out=integral[:, 1:, 1:])
    return integral


def _blocks(height: int, width: int, least: int) -> Iterator[tuple[str, int, int, int, int]]:
    """Return kind, height and width of one rectangle, and how many places down and across such a feature has."""
    least = check_count(least, "least", least=1)
    if min(height, width) < least or max(height, width) < 2 * least:
        raise InputError(
            f"Images of {height} x {width} pixels have no Haar feature with rectangles of at least {least} x {least}: "
            "two of them must fit beside or above each other. Give larger images, or a smaller `least`."
        )
    for kind, signs in KINDS.items():
        for tall in range(least, height // len(signs) + 1):
            for wide in range(least, width // len(signs[0]) + 1):
                yield kind, tall, wide, height - len(signs) * tall + 1, width - len(signs[0]) * wide + 1


def _signed_sums(
    integral: np.ndarray, signs: tuple[tuple[int, ...], ...], tall: int, wide: int, rows: int, columns: int
) -> np.ndarray:
    """Return (rows, columns, n): a feature at each of its places."""
    sums = integral[tall:, wide:] - integral[:-tall, wide:]
    sums -= integral[tall:, :-wide]
    sums += integral[:-tall, :-wide]
    total = np.zeros((rows, columns, integral.shape[2]))
    for down, line in enumerate(signs):
        for across, sign in enumerate(line):
            y, x = down * tall, across * wide
            part = sums[y : y + rows, x : x + columns]
            (np.add if sign > 0 else np.subtract)(total, part, out=total)
    return total


def _read_images(images: Any) -> np.ndarray:
    try:
        array = np.asarray(images)
        array = array if array.dtype.kind in "biuf" else array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`images` must be numbers, the grey levels; got {type(images).__name__}.") from None
    if array.ndim != 3:
        advice = {
            2: " One image: `image[None]`. A row of pixels for each image: `rows.reshape(-1, height, width)`.",
            4: " Colours are not read: take their mean, `images.mean(axis=-1)`.",
        }.get(array.ndim, "")
        raise InputError(
            f"`images` must have three dimensions (image, row, column); got an array of shape {array.shape}.{advice}"
        )
    check_finite(array, "`images`")
    if np.isnan(array).any():
        raise InputError(f"`images` has {int(np.isnan(array).sum())} missing values; every pixel needs a grey level.")
    return array


def _read_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, Sequence | np.ndarray) or isinstance(shape, str) or len(shape) != 2:
        raise InputError(f"`shape` must be height and width of the images in pixels, as in (16, 16); got {shape!r}.")
    return check_count(shape[0], "shape[0]", least=1), check_count(shape[1], "shape[1]", least=1)
