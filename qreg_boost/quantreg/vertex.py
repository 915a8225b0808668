"""From a nearly optimal point to an exact vertex with its certificate.

Rows here are already weighted: the problem is min over g of sum_i rho_tau(c_i - z_i'g), its dual max c'a subject to
Z'a = (1 - tau) Z'1, 0 <= a <= 1 (Koenker 2005, section 6.2). Z has full column rank k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# A row's dual value counts as strictly inside (0, 1) from here on.
_INSIDE = 1e-8


@dataclass(frozen=True)
class Vertex:
    """A vertex of the primal problem and a dual solution that goes with it.

    Attributes
    ----------
    g : (k,) array
        Coefficients at which the rows of `basis` have residual 0.
    basis : (k,) int array
        Rows that determine g.
    a : (n,) array
        Dual solution, clipped to [0, 1].
    gap : float
        Upper bound of (loss - least loss) / loss, residuals within rounding counted as 0.
    unique : bool
        Whether no other g reaches the loss, judged by the dual solution.
    """

    g: np.ndarray
    basis: np.ndarray
    a: np.ndarray
    gap: float
    unique: bool


def middle(values: np.ndarray) -> float:
    """Return a median, the upper one of two: `np.median` takes several times as long for few."""
    place = len(values) // 2
    return float(np.partition(values, place)[place])


def find_vertex(Z: np.ndarray, c: np.ndarray, tau: float, a: np.ndarray, rounding: np.ndarray) -> Vertex | None:
    """Return a vertex near g = 0 with the best certificate at hand, or None if no k rows determine one.

    Parameters
    ----------
    Z : (n, k) array
        Weighted design, of full column rank and well conditioned.
    c : (n,) array
        Weighted residuals at the point to start from.
    tau : float
        Quantile level.
    a : (n,) array
        Nearly optimal dual values.
    rounding : (n,) array
        Size below which a residual is rounding error.
    """
    basis = _basic_rows(Z, c, a, rounding)
    return None if basis is None else _certify(Z, c, tau, a, rounding, basis)


def _basic_rows(Z: np.ndarray, c: np.ndarray, a: np.ndarray, rounding: np.ndarray) -> np.ndarray | None:
    """Return k independent rows: first those the dual values mark as interpolated, then the nearest ones.

    If the marked rows do not determine g, the optimum is a face: walk along it, holding the marked residuals at 0,
    until a further residual reaches 0, and so on.
    """
    from scipy.linalg.lapack import dgeqp3, dorgqr

    k = Z.shape[1]
    inside = np.minimum(a, 1.0 - a)
    size = np.abs(c)
    off = size > rounding
    # At an interior point of barrier mu, |r| is about mu / inside off the basis: the two meet at sqrt(mu * typical).
    typical = middle(size[off]) if off.any() else 1.0
    marked = np.flatnonzero(inside * typical > size)
    most = max(20 * k, 1000)
    if len(marked) > most:
        marked = marked[np.argpartition(-inside[marked], most)[:most]]
    lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    # Heavy rows well inside their bounds first: they can take up what the dual solution lacks.
    rows = Z[marked] * inside[marked, None]
    factor, order, tails = dgeqp3(rows.T)[:3] if len(marked) else (np.zeros((k, 0)), marked, marked)
    pivots = np.abs(factor.diagonal())
    basis = marked[order[: len(pivots)] - 1]
    independent = (pivots > 1e-9 * (lengths * inside)[basis]) & (pivots > 1e-14 * pivots[:1])
    rank = len(pivots) if independent.all() else int(np.argmin(independent))
    if rank == k:
        return basis
    Q = np.eye(k)
    if rank:
        Q[:, :rank] = factor[:, :rank]
        Q = dorgqr(Q, np.append(tails[:rank], np.zeros(k - rank)))[0]
    return _completed(Z, c, basis[:rank].tolist(), Q[:, :rank], Q[:, rank:], lengths)


def _completed(
    Z: np.ndarray, c: np.ndarray, basis: list[int], span: np.ndarray, free: np.ndarray, lengths: np.ndarray
) -> np.ndarray | None:
    """Return `basis` with the rows met first on a walk along `free`, orthonormal and orthogonal to the basic rows."""
    n = len(c)
    r = c - Z @ (span @ np.linalg.solve(Z[basis] @ span, c[basis])) if basis else c.copy()
    while free.shape[1]:
        move = Z @ free[:, 0]
        usable = np.abs(move) > 1e-7 * lengths
        usable[basis] = False
        if not usable.any():
            return None
        step = np.full(n, np.inf)
        np.divide(r, move, out=step, where=usable)
        reach = np.abs(step)
        nearest = np.flatnonzero(reach <= reach.min() * (1 + 1e-9))
        row = int(nearest[np.argmax(np.abs(move[nearest]) / lengths[nearest])])
        r -= step[row] * move
        basis.append(row)
        free = _without(free, free.T @ Z[row])
    return np.array(basis, dtype=np.intp)


def _without(free: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the part of span(free) orthogonal to free @ h, by one reflection."""
    reflector = h.copy()
    reflector[0] += np.copysign(np.linalg.norm(h), h[0])
    reflector /= np.linalg.norm(reflector)
    return (free - np.outer(free @ reflector, 2.0 * reflector))[:, 1:]


def _certify(
    Z: np.ndarray, c: np.ndarray, tau: float, a: np.ndarray, rounding: np.ndarray, basis: np.ndarray
) -> Vertex | None:
    """Return the vertex of `basis` with the dual solution that complements it."""
    rows = _BasicRows(Z, basis)
    if rows.singular:
        return None
    g = rows.solve(c)
    g += rows.solve(c - Z @ g)
    r = c - Z @ g
    zero = np.abs(r) <= rounding
    zero[basis] = True
    r[zero] = 0.0
    dual = np.where(zero, a, r > 0)
    beyond = rows.complete(dual, tau)
    if beyond > 1e-13 and np.count_nonzero(zero) > len(basis):
        # Ties: let all rows at 0 share what is lacking before the basic ones take the rest.
        dual = np.where(zero, a, r > 0)
        _spread(Z, dual, tau, np.flatnonzero(zero))
        beyond = rows.complete(dual, tau)
    # A dual solution out of bounds by `beyond` is feasible once a - (1 - tau) is shrunk by the factor
    # 1 + beyond / min(tau, 1 - tau); its value, the loss itself as a is 1 or 0 off the zeros, shrinks by as much.
    gap = beyond / min(tau, 1.0 - tau) if r.any() else 0.0
    np.clip(dual, 0.0, 1.0, out=dual)
    return Vertex(g, basis, dual, gap, _is_unique(Z, dual, zero, basis))


class _BasicRows:
    """The factored rows Z_h of a basis h."""

    def __init__(self, Z: np.ndarray, basis: np.ndarray) -> None:
        from scipy.linalg.lapack import dgecon, dgetrf

        self.Z, self.basis = Z, basis
        # Rows of very different weight: give each a length near 1.
        self.scale = np.max(np.abs(Z[basis]), axis=1)
        rows = Z[basis] / self.scale[:, None]
        self.lu, self.pivots, _ = dgetrf(rows)
        rcond, _ = dgecon(self.lu, np.abs(rows).sum(axis=0).max())
        self.singular = not rcond > 1e-15

    def solve(self, c: np.ndarray) -> np.ndarray:
        """Return the g (k,) at which Z_h g = c_h."""
        from scipy.linalg.lapack import dgetrs

        return dgetrs(self.lu, self.pivots, c[self.basis] / self.scale)[0]

    def complete(self, dual: np.ndarray, tau: float) -> float:
        """Set the basic entries of `dual` so that Z'a = (1 - tau) Z'1, and return how far it is out of [0, 1]."""
        from scipy.linalg.lapack import dgetrs

        for _ in range(3):  # the second pass refines, the third measures what is left
            change = dgetrs(self.lu, self.pivots, (1.0 - tau - dual) @ self.Z, trans=1)[0] / self.scale
            dual[self.basis] += change
        return max(float(-dual.min()), float(dual.max()) - 1.0, 0.0) + float(np.max(np.abs(change)))


def _spread(Z: np.ndarray, dual: np.ndarray, tau: float, zero: np.ndarray) -> None:
    """Change the entries `zero` of `dual` towards Z'a = (1 - tau) Z'1, each by little against its room in [0, 1]."""
    for _ in range(2):
        dual[zero] = np.clip(dual[zero], 0.0, 1.0)
        inside = np.minimum(dual[zero], 1.0 - dual[zero])
        rows = Z[zero] * inside[:, None]
        share = np.linalg.pinv(rows.T @ rows, rcond=1e-13, hermitian=True) @ ((1.0 - tau - dual) @ Z)
        dual[zero] += inside * (rows @ share)


def _is_unique(Z: np.ndarray, dual: np.ndarray, zero: np.ndarray, basis: np.ndarray) -> bool:
    """Return whether the rows with residual 0 and dual value strictly inside its bounds determine g."""
    inside = np.minimum(dual, 1.0 - dual)
    if (inside[basis] > _INSIDE).all():
        return True
    rows = Z[zero & (inside > _INSIDE)]
    if len(rows) < Z.shape[1]:
        return False
    rows /= np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]
    return bool(np.linalg.matrix_rank(rows.T @ rows, tol=1e-12 * len(rows)) == Z.shape[1])
