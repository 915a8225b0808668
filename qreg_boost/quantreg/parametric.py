"""The parametric simplex method behind the solution in tau and the L1 path.

The problem is min over g of sum_i loss_i(r_i), r = c - U g, where loss_i rises at the rate high_i(theta) to the right
of 0 and at low_i(theta) to the left, both linear in theta, and where some rows are single coefficients: r = -g_j. A
vertex g is optimal while the multipliers of its k basic rows, which solve U' multipliers = 0 with the others at their
bounds, lie within theirs. They are linear in theta, so the theta at which the first one leaves its bounds is known, as
is the edge along which to go to the next vertex (Koenker & d'Orey 1987, Algorithm AS 229).

- In tau: low = w (tau - 1), high = w tau.
- L1-norm quantile regression: low = w (tau - 1), high = w tau, and -lambda, lambda for each penalised coefficient.

References
----------
Koenker, R. W. and d'Orey, V. (1987). Algorithm AS 229: Computing regression quantiles. Applied Statistics 36, 383-393.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qreg_boost.base.checks import InputError

if TYPE_CHECKING:
    from qreg_boost.quantreg.pivots import Log, State

_EPS = float(np.finfo(float).eps)
# Pivots between two fresh computations of inverse and sums.
_FRESH = 64
# Repairs of one walk after which rounding is given the blame.
_REPAIRS = 50


class LostError(InputError):
    """Rounding has left no digits to find the next vertex with."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"The simplex method lost its way to rounding: {what}. Look for columns or weights whose sizes differ by "
            "more than a factor of 1e12."
        )


def _typical(values: np.ndarray) -> float:
    """Return the median size of the values other than 0; 0 if there are none."""
    sizes = np.abs(values[values != 0.0])
    return float(np.median(sizes)) if len(sizes) else 0.0


@dataclass(frozen=True)
class Bounds:
    """Bounds of the multipliers, low0 + theta low1 to high0 + theta high1, each (N,)."""

    low0: np.ndarray
    low1: np.ndarray
    high0: np.ndarray
    high1: np.ndarray


@dataclass(frozen=True)
class Trace:
    """Vertices met by a walk, the first being where it began.

    Attributes
    ----------
    theta : (K - 1,) array
        Values of theta at which vertex i gave way to i + 1, in the order of the walk.
    moved : (K - 1,) bool array
        False where only the basis changed.
    open : (K,) bool array
        Whether a vertex was one of several optima.
    g : (K, k) array
        Coefficients.
    basis : (K, k) int array
        Basic rows.
    value0, value1 : (K,) arrays
        The objective of a vertex is value0 + theta value1.
    """

    theta: np.ndarray
    moved: np.ndarray
    open: np.ndarray
    g: np.ndarray
    basis: np.ndarray
    value0: np.ndarray
    value1: np.ndarray


class Tableau:
    """A vertex of the problem and what is needed to go on from it.

    Parameters
    ----------
    U : (n, k) array
        Design, its rows or columns of sizes near 1.
    c : (n,) array
        Responses.
    single : (m,) int array
        Positions of the coefficients that are rows n, ..., n + m - 1 of their own.
    bounds : Bounds
        Of all N = n + m rows.
    rounding : (n,) array
        Size of the rounding errors of `c`.
    basis : (k,) int array
        Rows to start from; independent.
    """

    def __init__(
        self,
        U: np.ndarray,
        c: np.ndarray,
        single: np.ndarray,
        bounds: Bounds,
        rounding: np.ndarray,
        basis: np.ndarray,
    ) -> None:
        from qreg_boost.quantreg.pivots import Rows, State

        n, k = U.shape
        N = n + len(single)
        self.n, self.k = n, k
        self.rounding = np.concatenate([rounding, np.zeros(len(single))])
        self.scale = np.concatenate([np.sqrt(np.einsum("ij,ij->i", U, U)), np.ones(len(single))])
        # Of the size that coefficients will have.
        self.spread = _typical(c) / (_typical(self.scale[:n]) or 1.0)
        responses = np.concatenate([c, np.zeros(len(single))])
        self.rows = Rows(
            np.ascontiguousarray(U.T), np.asarray(single, dtype=np.intp),
            bounds.low0, bounds.low1, bounds.high0, bounds.high1, responses,
        )  # fmt: skip
        # The second level: any numbers without ties will do. Positive ones keep rows in their order of c.
        shift = np.random.default_rng(0).uniform(0.5, 1.0, N)
        vector, sums = np.zeros(N), np.zeros(k)
        self.state: State = State(
            np.array(basis, dtype=np.intp), np.eye(k), np.zeros(N, dtype=np.int8), vector.copy(), vector.copy(), shift,
            vector.copy(), sums.copy(), sums.copy(), sums.copy(), sums.copy(), vector.copy(), vector.copy(),
        )  # fmt: skip
        size0 = np.maximum(np.abs(bounds.low0), np.abs(bounds.high0))
        size1 = np.maximum(np.abs(bounds.low1), np.abs(bounds.high1))
        self.state.size0[:] = self._summed(size0, absolute=True)
        self.state.size1[:] = self._summed(size1, absolute=True)
        self.refresh()

    def saved(self) -> State:
        """Return a copy of the vertex, for `restore`."""
        return type(self.state)(*(values.copy() for values in self.state))

    def restore(self, state: State) -> None:
        """Go back to a vertex saved before."""
        self.state = state

    def _summed(self, values: np.ndarray, absolute: bool = False) -> np.ndarray:
        """Return U'values (k,), or with the absolute values of U."""
        columns = self.rows.columns
        total = (np.abs(columns) if absolute else columns) @ values[: self.n]
        np.add.at(total, self.rows.single, values[self.n :])
        return total

    def refresh(self) -> bool:
        """Compute inverse, residuals and sums afresh; return False if a row was found on the wrong side of the fit."""
        from qreg_boost.quantreg.pivots import coefficients, settle

        rows, state = self.rows, self.state
        state.inverse[:] = self._inverse()
        state.side[state.basis] = 0
        state.r[:] = 1.0  # no coefficient is known to be 0
        state.r[state.basis] = 0.0
        g = coefficients(rows, state)
        h = state.inverse.T @ state.shift[state.basis]
        state.r[:] = rows.c - self._fit(g)
        state.s[:] = state.shift - self._fit(h)
        size = (float(np.linalg.norm(g)) + self.spread) * self.scale
        state.tol[:] = self.rounding + 32.0 * _EPS * (np.abs(rows.c) + size)
        off = np.ones(len(rows.c), dtype=bool)
        off[state.basis] = False
        zero = np.abs(state.r) <= state.tol
        actual = np.where(np.where(zero, state.s, state.r) > 0, 1, -1)
        new = off & (state.side == 0)
        wrong = off & ~new & ~zero & (state.side != actual)
        change = new | wrong
        state.side[change] = actual[change]
        settle(state)
        for level, low, high in ((state.sum0, rows.low0, rows.high0), (state.sum1, rows.low1, rows.high1)):
            level[:] = self._summed(np.where(state.side > 0, high, np.where(state.side < 0, low, 0.0)))
        return not wrong.any()

    def _fit(self, g: np.ndarray) -> np.ndarray:
        return np.concatenate([g @ self.rows.columns, g[self.rows.single]])

    def _inverse(self) -> np.ndarray:
        """Return the transposed inverse of the basic rows; rows that are single coefficients need no elimination."""
        columns, basis = self.rows.columns, self.state.basis
        alone = basis >= self.n
        held = self.rows.single[basis[alone] - self.n]
        active = np.setdiff1d(np.arange(self.k), held)
        at, at_alone = np.flatnonzero(~alone), np.flatnonzero(alone)
        data = columns[:, basis[at]]  # (k, e)
        inverse = np.zeros((self.k, self.k))
        if len(at):
            try:
                core = np.linalg.inv(data[active])  # transposed: (e, active)
            except np.linalg.LinAlgError:
                raise LostError("the basic rows are dependent") from None
            inverse[np.ix_(at, active)] = core
            # B = [A H; 0 I] has the inverse [A^-1, -A^-1 H; 0, I].
            inverse[np.ix_(at_alone, active)] = -data[held] @ core
        inverse[at_alone, held] = 1.0
        return inverse

    def minimise(self, theta: float) -> int:
        """Go to an optimal vertex for one theta; return the number of pivots."""
        from qreg_boost.quantreg.pivots import DONE, MORE, descend

        pivots, repairs = 0, 0
        while True:
            count, end = descend(self.rows, self.state, theta, _FRESH)
            pivots += count
            right = self.refresh()
            if end == DONE and right and (count == 0 or repairs > 2):
                return pivots
            repairs += end != MORE or not right
            if repairs > _REPAIRS or pivots > 100 * (len(self.rows.c) + 100):
                raise LostError("no optimal vertex was found")

    def vertex(self) -> np.ndarray:
        """Return the coefficients (k,)."""
        from qreg_boost.quantreg.pivots import coefficients

        return coefficients(self.rows, self.state)

    def value(self) -> tuple[float, float]:
        """Return the parts of the objective at theta^0 and theta^1."""
        rows, state = self.rows, self.state
        up = state.side > 0
        value0 = float(np.sum(state.r * np.where(up, rows.high0, rows.low0)))
        return value0, float(np.sum(state.r * np.where(up, rows.high1, rows.low1)))

    def multipliers(self, theta: float) -> np.ndarray:
        """Return the multipliers (N,) at theta."""
        rows, state = self.rows, self.state
        low, high = rows.low0 + theta * rows.low1, rows.high0 + theta * rows.high1
        found = np.where(state.side > 0, high, np.where(state.side < 0, low, 0.0))
        found[state.basis] = -state.inverse @ self._summed(found)
        return found

    def walk(self, theta: float, end: float, nil: float) -> Trace:
        """Follow the optimum from theta, where the present vertex is optimal, to within `nil` of `end`."""
        from qreg_boost.quantreg.pivots import DONE, MORE, Log, walk

        parts = [self._entry(theta)]
        repairs = 0
        while True:
            log = Log(
                np.empty(_FRESH), np.empty(_FRESH, dtype=bool), np.zeros(_FRESH + 1, dtype=bool),
                np.empty((_FRESH, self.k)), np.empty((_FRESH, self.k), dtype=np.intp), np.empty(_FRESH),
                np.empty(_FRESH),
            )  # fmt: skip
            count, theta, how = walk(self.rows, self.state, log, theta, end, nil)
            parts.append(Log(*(values[:count] for values in log)))
            if how == DONE:
                is_open = bool(log.open[count])
                break
            if not self.refresh() or how != MORE:
                # Rounding took a wrong turn: go back to the optimum, and on from there.
                repairs += 1
                if repairs > _REPAIRS:
                    raise LostError("no next vertex was found")
                self.minimise(theta)
                parts.append(self._entry(theta))
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in Log._fields}
        # Entry i says what vertex i - 1 was: shift by one.
        joined["open"] = np.append(joined["open"][1:], is_open)
        return Trace(**{**joined, "theta": joined["theta"][1:], "moved": joined["moved"][1:]})

    def _entry(self, theta: float) -> Log:
        """Return a log of one entry for the present vertex."""
        from qreg_boost.quantreg.pivots import Log

        value0, value1 = self.value()
        return Log(
            np.array([theta]), np.array([True]), np.array([False]), self.vertex()[None],
            self.state.basis[None].copy(), np.array([value0]), np.array([value1]),
        )  # fmt: skip
