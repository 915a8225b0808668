"""What all figures share: the Axes, colours that the colour-blind can tell apart, and labels at the ends of lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qreg_boost.base.checks import MissingDependencyError
from qreg_boost.base.typeset import columns_of, shortened

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito (2008) without its yellow, which white swallows."""
STYLES = ("-", "--", ":")
GREY = "0.6"
FONT = 9.0
LEADER = {"arrowstyle": "-", "linewidth": 0.6, "alpha": 0.7, "shrinkA": 1, "shrinkB": 1, "relpos": (0.0, 0.5)}
MOST_POINTS = 20_000


@dataclass(frozen=True)
class End:
    """The right end of a line: where it is, in units of the axis, and what it is called."""

    y: float
    text: str
    colour: Any


def axes(ax: Any = None) -> Any:
    """Return `ax`, or the Axes of a new figure.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingDependencyError(
            "Plots need matplotlib, which is not installed: pip install matplotlib. "
            "The numbers are in coef_path(), risk_path, importance and cv().risk."
        ) from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def colour(position: int) -> tuple[str, str]:
    """Return colour and line style number `position`; 21 are distinct."""
    return COLOURS[position % len(COLOURS)], STYLES[position // len(COLOURS) % len(STYLES)]


def labels(names: Iterable[object]) -> list[str]:
    """Return names short enough for a figure, their dollars kept from starting a formula."""
    return [name.replace("$", r"\$") for name in shortened(names, 28)]


def heading(ax: Any, what: str, tau: float | None) -> None:
    """Write what the figure shows above it, at the left."""
    ax.set_title(what if tau is None else f"{what}, tau = {tau:g}", loc="left", fontsize=11)


def thinned(count: int) -> np.ndarray:
    """Return the positions, of `count` points of a line, that are drawn: all up to 20,000, evenly spread beyond."""
    return np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).round().astype(int))


def label_ends(ax: Any, x: float, ends: Sequence[End], first: float) -> None:
    """Write labels right of lines that run from `first` to `x`, moved apart where they would overlap.

    The axis is widened until the labels fit inside it; its ticks and spine end at `x`.
    """
    low, high = ax.get_ylim()
    ax.set_ylim(low, high)
    ax.figure.canvas.figure.draw_without_rendering()  # the layout settles how large the Axes are
    scale = ax.figure.dpi / 72.0
    box = ax.get_window_extent()
    widest = max((columns_of(end.text) for end in ends), default=0) * 0.58 * FONT * scale + 22 * scale
    ticks = [tick for tick in ax.get_xticks() if first <= tick <= x]
    padding = 0.02 * (x - first)
    room = min(widest / box.width, 0.6)
    ax.set_xlim(first - padding, x + (x - first + padding) * room / (1.0 - room))
    ax.set_xticks(ticks)
    ax.spines["bottom"].set_bounds(first, x)
    per_unit = box.height / (high - low)
    wanted = np.array([(end.y - low) * per_unit for end in ends])
    placed = spread(wanted, 1.25 * FONT * scale, box.height)
    for end, height in zip(ends, placed, strict=True):
        ax.annotate(
            end.text,
            (x, end.y),
            xytext=(x + 14 * scale * (ax.get_xlim()[1] - ax.get_xlim()[0]) / box.width, low + height / per_unit),
            color=end.colour,
            fontsize=FONT,
            va="center",
            annotation_clip=False,
            arrowprops={**LEADER, "color": end.colour},
        )


def spread(wanted: np.ndarray, gap: float, height: float) -> np.ndarray:
    """Return positions in the order of `wanted` (k,), at least `gap` apart, as near as blocks of equal spacing come.

    >>> spread(np.array([0.0, 1.0, 50.0]), 10.0, 100.0).tolist()
    [0.0, 10.0, 50.0]
    """
    order = np.argsort(wanted, kind="stable")
    # pool neighbours that overlap into blocks about their mean: isotonic regression of wanted - k gap
    blocks: list[list[float]] = []
    for k, position in enumerate(order):
        blocks.append([wanted[position] - k * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            value, count = blocks.pop()
            total = blocks[-1][1] + count
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + value * count) / total, total]
    base = np.repeat([value for value, _ in blocks], [int(count) for _, count in blocks])
    base = np.clip(base, 0.0, max(height - gap * (len(wanted) - 1), 0.0))
    placed = np.empty(len(wanted))
    placed[order] = base + gap * np.arange(len(wanted))
    return placed
