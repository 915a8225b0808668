"""Which learner an iteration takes, and its slopes: `LinearBlocks.update`, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from qreg_boost.boosting.learners.base import NIL, TIE
from qreg_boost.boosting.learners.blocks import LinearBlocks


class Basis(NamedTuple):
    """The learners: the arrays of `LinearBlocks`; `single` says that every block has one column."""

    blocks: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    inverse: np.ndarray
    factor: np.ndarray
    factor_at: np.ndarray
    allowed: np.ndarray
    imbalance: np.ndarray
    single: bool
    moves_level: bool
    intercept_learner: bool


def compiled_basis(blocks: LinearBlocks) -> Basis:
    """Return the learners as compiled loops take them."""
    single = bool((np.diff(blocks.blocks) == 1).all())
    return Basis(
        blocks.blocks, blocks.centre, blocks.spread, blocks.inverse, blocks.factor, blocks.factor_at, blocks.allowed,
        blocks.imbalance, single, blocks.moves_level, blocks.intercept_learner,
    )  # fmt: skip


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "ninf"})
def _single_scores(c, inverse, scores):
    best = -1.0
    for j in range(len(c)):
        scores[j] = c[j] * c[j] * inverse[j]
        best = max(best, scores[j])
    return best


@njit(cache=True, nogil=True)
def _block_scores(c, basis, scores):
    best = -1.0
    for k in range(len(scores)):
        first, size = basis.blocks[k], basis.blocks[k + 1] - basis.blocks[k]
        score = 0.0
        if size == 1:
            score = c[first] * c[first] * basis.inverse[first]
        else:
            factor = basis.factor[basis.factor_at[k] : basis.factor_at[k + 1]].reshape(size, size)
            for a in range(size):
                part = 0.0
                for b in range(size):
                    part += factor[b, a] * c[first + b]
                score += part * part
        scores[k] = score
        best = max(best, score)
    return best


@njit(cache=True, nogil=True)
def choose(c, sum_u, sum_u2, total, basis, scores):
    """Return the block that reduces the squared error most, the first of equals; -1 is the intercept's learner."""
    best = _single_scores(c, basis.inverse, scores) if basis.single else _block_scores(c, basis, scores)
    own = sum_u * sum_u / total if basis.intercept_learner else -1.0
    if max(best, own) <= NIL * sum_u2:
        c[:] = 0.0
        scores[:] = 0.0
        best, own = 0.0, min(own, 0.0)
    if basis.intercept_learner and own >= best * (1.0 - TIE):
        return -1
    cut = best * (1.0 - TIE)
    block = 0
    while not (basis.allowed[block] and scores[block] >= cut):
        block += 1
    return block


@njit(cache=True, nogil=True)
def fit_slopes(c, k, basis, slopes):
    """Write the slopes of block k fitted to the negative gradient by least squares."""
    first, size = basis.blocks[k], basis.blocks[k + 1] - basis.blocks[k]
    if size == 1:
        slopes[0] = c[first] * basis.inverse[first]
        return
    factor = basis.factor[basis.factor_at[k] : basis.factor_at[k + 1]].reshape(size, size)
    slopes[:size] = 0.0
    for a in range(size):
        part = 0.0
        for b in range(size):
            part += factor[b, a] * c[first + b]
        for b in range(size):
            slopes[b] += factor[b, a] * part
