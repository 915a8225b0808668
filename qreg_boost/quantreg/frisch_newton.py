"""Newton steps of the interior point method for quantile regression.

Rows are weighted as in `vertex`. With s = 1 - a and multipliers u, v >= 0 of the bounds a <= 1 and a >= 0, a point is
optimal where

    Z'a = (1 - tau) Z'1,    c - Z g = u - v,    u s = 0,    v a = 0

in every row (Portnoy & Koenker 1997, section 3). A step aims at u s = v a = barrier, with Mehrotra's (1992) predictor
and corrector and Gondzio's (1996) centrality corrections, which keep extreme taus from stalling.

References
----------
Portnoy, S. and Koenker, R. (1997). The Gaussian hare and the Laplacian tortoise. Statistical Science 12, 279-300.
Mehrotra, S. (1992). On the implementation of a primal-dual interior point method. SIAM J. Optimization 2, 575-601.
Gondzio, J. (1996). Multiple centrality corrections in a primal-dual method. Comput. Optim. Appl. 6, 137-156.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qreg_boost.quantreg.solution import check_loss

# Values per block of rows in the Gram matrix: fits in a core's second-level cache.
_BLOCK = 1 << 15
# Share of the way to the boundary that a step may go.
_SHY = 0.99995
# The start's multipliers over the mean absolute residual: of .01 to 1 the value with fewest steps, tau .001 to .999.
_SLACK = 0.1
# Centrality corrections: at most so many, aiming at a step longer by so much, at products within this factor of the
# barrier; another is tried while the step is short.
_CORRECTIONS, _LONGER, _FACTOR, _SHORT = 2, 0.3, 10.0, 0.9


class Iterate:
    """A point of the interior: g (k,), dual a and s = 1 - a (n,), multipliers u and v (n,)."""

    def __init__(self, Z: np.ndarray, c: np.ndarray, tau: float) -> None:
        n, k = Z.shape
        self.Z, self.c, self.tau = Z, c, tau
        self.g = np.zeros(k)
        self.a, self.s = np.full(n, 1.0 - tau), np.full(n, tau)
        slack = _SLACK * float(np.mean(np.abs(c)))
        self.u, self.v = np.maximum(c, 0.0) + slack, np.maximum(-c, 0.0) + slack
        self.steps = 0

    def recentre(self, c: np.ndarray) -> None:
        """Go on from residuals computed afresh at the present coefficients, which become g = 0."""
        self.c, self.g = c, np.zeros(len(self.g))

    def gap(self) -> float:
        """Return the duality gap over the loss."""
        loss = check_loss(self.c - self.Z @ self.g, self.tau)
        return self._products() / loss if loss > 0 else 0.0

    def infeasibility(self) -> float:
        """Return what Z'a = (1 - tau) Z'1 lacks, over the size of its terms: rounding, as the start is feasible."""
        lack = np.abs((1.0 - self.tau - self.a) @ self.Z)
        return float(np.max(lack / np.maximum(np.abs(self.Z).sum(axis=0), 1e-300)))

    def step(self) -> bool:
        """Move by one step; return False, without moving, if no digits are left to find one."""
        with np.errstate(all="ignore"):
            try:
                move = self._move()
            except np.linalg.LinAlgError:
                return False
        if move is None:
            return False
        self.a, self.s = self.a + move.along * move.da, self.s - move.along * move.da
        self.g = self.g + move.back * move.dg
        self.u, self.v = self.u + move.back * move.du, self.v + move.back * move.dv
        self.steps += 1
        return True

    def _products(self) -> float:
        return float(self.u @ self.s + self.v @ self.a)

    def _move(self) -> _Move | None:
        newton = _Newton(self)
        a, s, u, v = self.a, self.s, self.u, self.v
        # Predictor: aim at a barrier of 0.
        move = newton.toward(0.0, 0.0)
        total = self._products()
        ahead = float((a + move.along * move.da) @ (v + move.back * move.dv))
        ahead += float((s - move.along * move.da) @ (u + move.back * move.du))
        # Half the median product, not the mean: a few far outliers own the mean, and aiming the other rows at it stalls
        # (t, Cauchy and tied errors, n = 10,000, seven taus: 1486 steps with the mean, 925 so).
        barrier = (ahead / total) ** 3 * 0.25 * float(np.median(u * s + v * a))
        # Corrector: the predictor's second-order terms.
        to_u, to_v = (barrier + move.da * move.du) / s, (barrier - move.da * move.dv) / a
        move = newton.toward(to_u, to_v)
        for _ in range(_CORRECTIONS):
            if min(move.along, move.back) > _SHORT:
                break
            along, back = min(1.0, move.along + _LONGER), min(1.0, move.back + _LONGER)
            to_u = to_u + _central((s - along * move.da) * (u + back * move.du), barrier) / s
            to_v = to_v + _central((a + along * move.da) * (v + back * move.dv), barrier) / a
            trial = newton.toward(to_u, to_v)
            if not trial.along + trial.back > move.along + move.back + 0.01:
                break
            move = trial
        good = np.isfinite(move.dg).all() and np.isfinite(move.along) and np.isfinite(move.back)
        return move if good else None


@dataclass(frozen=True)
class _Move:
    """Directions dg (k,), da, du, dv (n,), and how far to go along da and along the other three."""

    dg: np.ndarray
    da: np.ndarray
    du: np.ndarray
    dv: np.ndarray
    along: float
    back: float


class _Newton:
    """The Newton equations at a point, factored once: Z'QZ dg = Z'Q t - (1 - tau) Z'1 + Z'a, Q = 1 / (u/s + v/a)."""

    def __init__(self, at: Iterate) -> None:
        self.at = at
        self.us, self.va = at.u / at.s, at.v / at.a
        self.q = 1.0 / (self.us + self.va)
        self.r = at.c - at.Z @ at.g
        self.lack = (1.0 - at.tau - at.a) @ at.Z
        self.factor = _factor(_gram(at.Z, np.sqrt(self.q)))

    def toward(self, to_u: np.ndarray | float, to_v: np.ndarray | float) -> _Move:
        """Return the move whose linearised end has u = to_u + (u/s) da and v = to_v - (v/a) da."""
        from scipy.linalg import cho_solve

        at = self.at
        target = self.r - to_u + to_v
        dg = cho_solve(self.factor, (self.q * target) @ at.Z - self.lack, check_finite=False)
        da = self.q * (target - at.Z @ dg)
        du, dv = to_u - at.u + self.us * da, to_v - at.v - self.va * da
        along = _SHY / max(float(np.max(-da / at.a)), float(np.max(da / at.s)), _SHY)
        back = _SHY / max(float(np.max(-du / at.u)), float(np.max(-dv / at.v)), _SHY)
        return _Move(dg, da, du, dv, along, back)


def _central(products: np.ndarray, barrier: float) -> np.ndarray:
    """Return the change that brings products near the barrier, large ones by little (Gondzio 1996, section 3)."""
    change = np.clip(products, barrier / _FACTOR, barrier * _FACTOR) - products
    return np.maximum(change, -_FACTOR * barrier)


def _gram(Z: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return Z' diag(roots^2) Z, block after block of rows; that of a sparse Z at once."""
    k = Z.shape[1]
    if not isinstance(Z, np.ndarray):
        scaled = Z * roots[:, None]
        return (scaled.T @ scaled).toarray()
    gram = np.zeros((k, k))
    rows = max(_BLOCK // k, k)
    for start in range(0, len(Z), rows):
        block = Z[start : start + rows] * roots[start : start + rows, None]
        gram += block.T @ block
    return gram


def _factor(gram: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the Cholesky factor; one singular to rounding (a flat optimum, late) gets the least ridge that helps."""
    from scipy.linalg import cho_factor

    largest = float(np.max(np.diag(gram)))
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            return cho_factor(gram + ridge * largest * np.eye(len(gram)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("The Newton equations have lost all digits.")
