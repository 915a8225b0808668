"""Stumps boosted for a quantile by the R package gbm, as the reference to check against.

gbm's own account of its trees (`pretty.gbm.tree`) is all that is read of them. Its conventions: the start and the
leaves are the order statistic floor(tau n) + 1, of the response and of the residuals; the negative gradient is tau
where the residual is above 0, else tau - 1; cuts lie midway between neighbouring values; the loss is a mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.base.quantile import upper_quantile
from qreg_boost.r import session

TIE = 1e-10
"""Gains this close, relative to the best, are equal."""
_FIT = """
fit <- gbm::gbm.fit(as.data.frame(X), y, distribution = list(name = "quantile", alpha = tau), n.trees = trees,
  interaction.depth = 1L, shrinkage = nu, n.minobsinnode = least, bag.fraction = 1, nTrain = nrow(X),
  keep.data = FALSE, verbose = FALSE)
nodes <- lapply(seq_len(trees), function(i) gbm::pretty.gbm.tree(fit, i))
from <- function(name, row) vapply(nodes, function(d) as.numeric(d[[name]][row]), 0)
list(start = fit$initF, fit = fit$fit, error = fit$train.error, column = from("SplitVar", 1L),
     cut = from("SplitCodePred", 1L), left = from("Prediction", 2L), right = from("Prediction", 3L))
"""


@dataclass(frozen=True)
class GBMStumps:
    """What gbm made of n rows in M iterations.

    Attributes
    ----------
    start : float
        Constant that the fit starts from, in units of y.
    column, cut : ndarray (M,)
        The column split, -1 if none was, and where; values below the cut go left.
    left, right : ndarray (M,)
        What each side adds to the fit, the step included, in units of y.
    fit : ndarray (n,)
        The fit after M iterations.
    error : ndarray (M,)
        Mean check loss after 1..M iterations.
    """

    start: float
    column: np.ndarray
    cut: np.ndarray
    left: np.ndarray
    right: np.ndarray
    fit: np.ndarray
    error: np.ndarray

    def added(self, m: int, X: np.ndarray) -> np.ndarray:
        """Return what iteration m (0-based) adds at X (n, p)."""
        if self.column[m] < 0:
            return np.zeros(len(X))
        return np.where(X[:, self.column[m]] < self.cut[m], self.left[m], self.right[m])


@dataclass(frozen=True)
class Replay:
    """gbm's path followed step by step, each step judged by its conventions from where gbm stood.

    Attributes
    ----------
    tied : int
        The first iteration (1-based) in which two splits gain the same, so that either may be taken; M + 1 if none is.
    best, gain : float
        Where gbm's split falls most below the best: the largest gain there is, and that of gbm's split.
    statistic, leaf : float
        Where gbm's leaf lies farthest from it: `nu` times the order statistic of its residuals, and gbm's value; in
        units of y.
    fit : float
        How far gbm's fit lies from the sum of its trees, in units of y; the largest.
    """

    tied: int
    best: float
    gain: float
    statistic: float
    leaf: float
    fit: float


def gbm_stumps(y: np.ndarray, X: np.ndarray, tau: float, trees: int, nu: float, min_rows: int) -> GBMStumps:
    """Return the stumps that gbm boosts for the tau-quantile of y (n,), all rows in every iteration.

    Raises
    ------
    MissingDependencyError
        R or gbm is missing.
    RError
        gbm stopped, for instance because `min_rows` is too many for the rows there are.
    """
    session.require("gbm")
    outcome = session.run(_FIT, X=X, y=y, tau=tau, trees=trees, nu=nu, least=min_rows)
    if outcome.error is not None:
        raise session.RError(f"gbm stopped on the rows of this fit: {outcome.error}")
    found = {name: values.to_numpy() for name, values in outcome.value.items()}
    return GBMStumps(
        start=float(found["start"][0]),
        column=found["column"].astype(np.int64),
        **{name: found[name].astype(float) for name in ("cut", "left", "right", "fit", "error")},
    )


def replay(stumps: GBMStumps, y: np.ndarray, X: np.ndarray, tau: float, nu: float, min_rows: int) -> Replay:
    """Return how gbm's path, followed step by step, keeps to its conventions and to least squares."""
    order = np.argsort(X, axis=0, kind="stable")
    ordered = np.take_along_axis(X, order, axis=0)
    left = np.arange(1.0, len(y))[:, None]
    allowed = (ordered[1:] > ordered[:-1]) & (left >= min_rows) & (len(y) - left >= min_rows)
    f = np.full(len(y), stumps.start)
    tied, split, leaf = len(stumps.column) + 1, (0.0, 0.0), (0.0, 0.0)
    for m in range(len(stumps.column)):
        u = np.where(y > f, tau, tau - 1.0)
        d = np.cumsum((u - u.mean())[order], axis=0)[:-1]
        gains = np.where(allowed, d**2 * len(y) / (left * (len(y) - left)), 0.0)
        best = float(gains.max(initial=0.0))
        if best > 0.0 and np.count_nonzero(gains >= best * (1.0 - TIE)) > 1:
            tied = min(tied, m + 1)
        side = X[:, stumps.column[m]] < stumps.cut[m]
        if stumps.column[m] >= 0 and 0 < side.sum() < len(y):
            rows = int(side.sum())
            own = float((u - u.mean())[side].sum()) ** 2 * len(y) / (rows * (len(y) - rows))
            split = max((best, own), split, key=lambda pair: 1.0 - pair[1] / pair[0] if pair[0] > 0.0 else 0.0)
            for inside, value in ((side, stumps.left[m]), (~side, stumps.right[m])):
                own_leaf = (nu * upper_quantile((y - f)[inside], tau), value)
                leaf = max(own_leaf, leaf, key=lambda pair: abs(pair[0] - pair[1]))
        f += stumps.added(m, X)
    return Replay(tied, *split, *leaf, float(np.abs(f - stumps.fit).max()))
