"""What is kept of a walk along lambda: enough to say theta at every C of it, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

SAME = 1e-10
"""Knots whose lambda differs by a smaller share are one."""
INSIDE = 1e-10
"""A dual variable nearer to an end of its box than this share of the width is at the end."""


class Trace:
    """At each knot the rows whose theta moves from there on, and their theta at both ends of the way.

    Parameters
    ----------
    low, high : (n,) arrays
        The box of theta.
    theta : (n,) array
        At C = 0.
    rows : sequence of int
        The elbow there.

    Attributes
    ----------
    lam : list of float
        Of the knots, falling from infinity.

    Examples
    --------
    >>> low, high = np.array([-0.5, -0.5]), np.array([0.5, 0.5])
    >>> trace = Trace(low, high, np.array([-0.5, 0.5]), [0])
    >>> trace.close(2.0, np.array([-0.5, 0.5]))
    True
    >>> trace.open(2.0, np.array([-0.5, 0.5]), [0, 1])
    >>> trace.finish(1.0, np.array([-0.25, 0.25]))
    >>> trace.theta(4.0).tolist(), trace.theta(1.5).tolist()
    ([-0.5, 0.5], [-0.375, 0.375])
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, theta: np.ndarray, rows: Sequence[int]) -> None:
        self.low, self.high = low, high
        self.lam = [np.inf]
        self._rows = [np.array(rows, dtype=np.intp)]
        self._left = [theta[self._rows[0]]]
        self._right: list[np.ndarray] = []
        self._first = theta.copy()
        # rows that left the elbow: the knot, the row, theta from then on
        self._went: list[tuple[int, int, float]] = []

    def close(self, lam: float, theta: np.ndarray) -> bool:
        """End the way from the last knot at lambda; return whether that is a new knot, and not the last once more."""
        last = self.lam[-1]
        if np.isfinite(last) and last - lam <= SAME * last:
            return False
        self._right.append(theta[self._rows[-1]])
        return True

    def open(
        self, lam: float, theta: np.ndarray, rows: Sequence[int] | np.ndarray, went: int = -1, again: bool = False
    ) -> None:
        """Begin the way from a knot, at which the row `went` left the elbow; `again` if it is the last knot."""
        if again:
            self._rows.pop()
            self._left.pop()
        else:
            self.lam.append(lam)
        self._rows.append(np.array(rows, dtype=np.intp))
        self._left.append(theta[self._rows[-1]])
        if went >= 0:
            self._went.append((len(self.lam) - 1, went, float(theta[went])))

    def finish(self, lam: float, theta: np.ndarray) -> None:
        """End the path at lambda."""
        if np.isinf(lam):
            return
        rows = self._rows[-1]
        if self.close(lam, theta):
            self.open(lam, theta, rows)

    def cut(self, knots: int) -> None:
        """Keep this many knots."""
        del self.lam[knots:], self._rows[knots:], self._left[knots:], self._right[max(knots - 1, 0) :]
        self._went = [one for one in self._went if one[0] < knots]

    def theta(self, lam: float) -> np.ndarray:
        """Return theta (n,) at a lambda of the path."""
        k = int(np.searchsorted(-np.array(self.lam), -lam, side="right")) - 1
        out = self._first.copy()
        for knot, row, value in self._went:
            if knot > k:
                break
            out[row] = value
        out[self._rows[k]] = self._left[k]
        if 0 < k < len(self._right):
            rows, left, right = self._rows[k], self._left[k], self._right[k]
            length = self.lam[k] - self.lam[k + 1]
            gone, ahead = (self.lam[k] - lam) / length, (lam - self.lam[k + 1]) / length
            # from the nearer end: theta may be smaller there by far, and so are its digits
            way = left + gone * (right - left) if gone < 0.5 else right + ahead * (left - right)
            out[rows] = np.clip(way, self.low[rows], self.high[rows])
        return out

    def at_knots(self, block: int) -> Iterator[tuple[slice, np.ndarray, list[np.ndarray]]]:
        """Yield which knots, at most `block` of them, theta (n, block) at these, and the rows that move from there."""
        out = self._first.copy()
        went = iter([*self._went, (len(self.lam), 0, 0.0)])
        knot, row, value = next(went)
        for begin in range(0, len(self.lam), block):
            those = slice(begin, min(begin + block, len(self.lam)))
            columns = np.empty((those.stop - begin, len(out)))
            for k in range(begin, those.stop):
                while knot <= k:
                    out[row] = value
                    knot, row, value = next(went)
                out[self._rows[k]] = self._left[k]
                columns[k - begin] = out
            yield those, columns.T, self._rows[those]

    def side(self, theta: np.ndarray) -> np.ndarray:
        """Return 1 where theta (n,) or (n, m) is at its upper end, -1 at its lower one, 0 between or without a box."""
        tall = (slice(None), *([None] * (theta.ndim - 1)))
        low, high = self.low[tall], self.high[tall]
        width = high - low
        above, below = high - theta <= INSIDE * width, theta - low <= INSIDE * width
        return np.where(width > 0.0, above.astype(int) - below.astype(int), 0)
