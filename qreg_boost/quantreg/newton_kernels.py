"""Compiled Newton steps: of the smoothed loss (`smooth` says what it is) and of the interior point method (`band`).

Loops rather than array expressions: they compile in a third of the time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums may be added in any order; NaN and infinity keep their meaning.
_ANY_ORDER = {"reassoc", "contract", "nsz"}

# Smoothed loss. Newton steps at one half-width, half-widths tried, and points tried along one step.
_STEPS, _WIDTHS, _TRIALS = 12, 40, 8
# A half-width is left once the next step would move the rows by less than this share of it.
_SETTLED = 0.05
# From one half-width to the next this share of the rows stays near zero, so that the Newton steps keep their footing;
# the half-width itself shrinks to the second at the least.
_SHRINK, _LEAST_SHRINK = 0.2, 1e-3
# Ridge over the trace of the Hessian, and over the length of the slope.
_RIDGE, _BOUND = 1e-9, 0.1

# Interior point method; `frisch_newton` says why these.
_SHY = 0.99995
_CORRECTIONS, _LONGER, _FACTOR, _SHORT = 2, 0.3, 10.0, 0.9


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def cholesky(A):
    """Overwrite the lower triangle of A (k, k) by its Cholesky factor; return whether A is positive definite."""
    k = len(A)
    for j in range(k):
        for i in range(j, k):
            total = A[i, j]
            for q in range(j):
                total -= A[i, q] * A[j, q]
            if i > j:
                A[i, j] = total / A[j, j]
            elif total > 0.0:
                A[j, j] = np.sqrt(total)
            else:
                return False
    return True


@njit(cache=True, nogil=True)
def solve(L, b):
    """Return the x (k,) with L L'x = b."""
    k = len(b)
    x = b.copy()
    for i in range(k):
        for q in range(i):
            x[i] -= L[i, q] * x[q]
        x[i] /= L[i, i]
    for i in range(k - 1, -1, -1):
        x[i] /= L[i, i]
        for q in range(i):
            x[q] -= L[i, q] * x[i]
    return x


@njit(cache=True, nogil=True)
def gram(Z, weights):
    """Return Z' diag(weights) Z (k, k), rows of weight 0 left out."""
    n, k = Z.shape
    scaled = np.empty((np.count_nonzero(weights), k))
    count = 0
    for i in range(n):
        if weights[i] != 0.0:
            root = np.sqrt(weights[i])
            for q in range(k):
                scaled[count, q] = root * Z[i, q]
            count += 1
    return np.dot(scaled.T, scaled)


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def fitted(Z, g, fit):
    """Fill fit (n,) with Z g."""
    n, k = Z.shape
    for i in range(n):
        total = 0.0
        for q in range(k):
            total += Z[i, q] * g[q]
        fit[i] = total


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def summed(Z, shares):
    """Return Z' shares (k,)."""
    n, k = Z.shape
    total = np.zeros(k)
    for i in range(n):
        share = shares[i]
        if share != 0.0:
            for q in range(k):
                total[q] += share * Z[i, q]
    return total


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def product(a, b):
    """Return the sum of products of two arrays (n,)."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def select(values, place):
    """Return the value that sorting would bring to `place`, and reorder the values."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@njit(cache=True, nogil=True)
def _slope(Z, c, w, tau, pull, g, half, r):
    """Fill r (n,) with the residuals at g, and return the steepest descent (k,) of the smoothed loss."""
    fitted(Z, g, r)
    inverse = 0.5 / half
    share = np.empty(len(r))
    for i in range(len(r)):
        r[i] = c[i] - r[i]
        share[i] = min(max(r[i] * inverse + (tau - 0.5), tau - 1.0), tau)
        if len(w) > 0:
            share[i] *= w[i]
    descent = summed(Z, share)
    for q in range(len(pull)):
        descent[q] += pull[q]
    return descent


@njit(cache=True, nogil=True)
def _newton(Z, w, r, descent, half):
    """Return the Newton step (k,) of the smoothed loss, and how many rows are near zero."""
    n, k = Z.shape
    weights = np.zeros(n)
    near = 0
    for i in range(n):
        if abs(r[i]) < half:
            near += 1
            weights[i] = w[i] if len(w) > 0 else 1.0
    hessian = gram(Z, weights)
    # A direction that no row near zero bounds: the step is 2 / _BOUND half-widths at most.
    trace = 0.0
    for q in range(k):
        trace += hessian[q, q]
    ridge = max(_RIDGE * trace + _BOUND * np.sqrt(product(descent, descent)), 1e-300)
    for q in range(k):
        hessian[q, q] += ridge
    length = 2.0 * half
    if cholesky(hessian):
        move = solve(hessian, descent)
    else:
        move = descent.copy()
        length /= max(near, k)
    for q in range(k):
        move[q] *= length
    return move, near


@njit(cache=True, nogil=True)
def descend_smoothed(Z, c, w, tau, pull, half, enough):
    """Return g (k,), residuals (n,), half-width, rows near zero and steps of the smoothed fit; w is empty for ones."""
    n, k = Z.shape
    g, there, r, distance = np.zeros(k), np.zeros(k), np.empty(n), np.empty(n)
    descent = _slope(Z, c, w, tau, pull, g, half, r)
    steps, stuck, before, near = 0, 0, n + 1, n
    least = 1e-13 * half
    for _ in range(_WIDTHS):
        for _ in range(_STEPS):
            move, near = _newton(Z, w, r, descent, half)
            # Rows have length about root k, so this is the root mean square change of a residual.
            length = np.sqrt(product(move, move))
            if not (np.isfinite(length) and length > _SETTLED * half):
                break
            # Along the step to where the loss no longer falls much, by false position on its slope.
            slope = product(descent, move)
            low, high, falling, part = 0.0, 0.0, slope, 1.0
            for _ in range(_TRIALS):
                for q in range(k):
                    there[q] = g[q] + part * move[q]
                descent = _slope(Z, c, w, tau, pull, there, half, r)
                left = product(descent, move)
                if left > 0.7 * slope and part < 64.0 and high == 0.0:
                    low, falling, part = part, left, 4.0 * part
                elif left < -0.7 * slope:
                    high = part
                    part = low + (part - low) * max(falling / (falling - left), 0.1)
                else:
                    break
            g[:] = there
            steps += 1
        near = 0
        for i in range(n):
            if abs(r[i]) < half:
                distance[near] = abs(r[i])
                near += 1
        if near <= 1.2 * enough or half <= least or stuck == 3:
            break
        keep = max(int(_SHRINK * near), enough)
        closest = select(distance[:near], keep - 1) / half
        # Ties: rows that stay near however narrow the band.
        stuck = stuck + 1 if closest <= 0.1 and near > 0.9 * before else 0
        before = near
        half *= min(max(closest, _LEAST_SHRINK), keep / near)
        descent = _slope(Z, c, w, tau, pull, g, half, r)
    return g, r, half, near, steps


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def _toward(Z, factor, q, target, lack, va, us, a, s, u, v, to_u, to_v, dg, da, du, dv):
    """Fill the directions whose linearised end has u = to_u + us da and v = to_v - va da; return both step lengths."""
    for i in range(len(q)):
        da[i] = q[i] * (target[i] - to_u[i] + to_v[i])
    need = summed(Z, da)
    for j in range(len(need)):
        need[j] -= lack[j]
    dg[:] = solve(factor, need)
    fitted(Z, dg, du)
    along, back = _SHY, _SHY
    for i in range(len(q)):
        da[i] -= q[i] * du[i]
        du[i] = to_u[i] - u[i] + us[i] * da[i]
        dv[i] = to_v[i] - v[i] - va[i] * da[i]
        along = max(along, -da[i] / a[i], da[i] / s[i])
        back = max(back, -du[i] / u[i], -dv[i] / v[i])
    return _SHY / along, _SHY / back


@njit(cache=True, nogil=True)
def _central(product, barrier):
    """Return the change that brings a product near the barrier, a large one by little (Gondzio 1996, section 3)."""
    return max(min(max(product, barrier / _FACTOR), barrier * _FACTOR) - product, -_FACTOR * barrier)


@njit(cache=True, nogil=True)
def interior_step(Z, c, tau, g, a, s, u, v):
    """Take one step of the interior point method in place; return whether digits were left to take it."""
    n, k = Z.shape
    us, va, q, r, shares = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    fitted(Z, g, r)
    for i in range(n):
        us[i], va[i] = u[i] / s[i], v[i] / a[i]
        q[i] = 1.0 / (us[i] + va[i])
        r[i] = c[i] - r[i]
        shares[i] = 1.0 - tau - a[i]
    lack = summed(Z, shares)
    whole, done, largest = gram(Z, q), False, 0.0
    for j in range(k):
        largest = max(largest, whole[j, j])
    factor = np.empty((k, k))
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        factor[:] = whole
        for j in range(k):
            factor[j, j] += ridge * largest
        if cholesky(factor):
            done = True
            break
    if not done:
        return False
    dg, da, du, dv = np.empty(k), np.empty(n), np.empty(n), np.empty(n)
    to_u, to_v = np.zeros(n), np.zeros(n)
    # Predictor: aim at a barrier of 0.
    along, back = _toward(Z, factor, q, r, lack, va, us, a, s, u, v, to_u, to_v, dg, da, du, dv)
    total, ahead, products = 0.0, 0.0, shares
    for i in range(n):
        products[i] = u[i] * s[i] + v[i] * a[i]
        total += products[i]
        ahead += (a[i] + along * da[i]) * (v[i] + back * dv[i]) + (s[i] - along * da[i]) * (u[i] + back * du[i])
    barrier = (ahead / total) ** 3 * 0.25 * select(products, n // 2)
    # Corrector: the predictor's second-order terms.
    for i in range(n):
        to_u[i], to_v[i] = (barrier + da[i] * du[i]) / s[i], (barrier - da[i] * dv[i]) / a[i]
    along, back = _toward(Z, factor, q, r, lack, va, us, a, s, u, v, to_u, to_v, dg, da, du, dv)
    for _ in range(_CORRECTIONS):
        if min(along, back) > _SHORT:
            break
        further, return_further = min(1.0, along + _LONGER), min(1.0, back + _LONGER)
        for i in range(n):
            high = (s[i] - further * da[i]) * (u[i] + return_further * du[i])
            low = (a[i] + further * da[i]) * (v[i] + return_further * dv[i])
            to_u[i] += _central(high, barrier) / s[i]
            to_v[i] += _central(low, barrier) / a[i]
        dg2, da2, du2, dv2 = np.empty(k), np.empty(n), np.empty(n), np.empty(n)
        along2, back2 = _toward(Z, factor, q, r, lack, va, us, a, s, u, v, to_u, to_v, dg2, da2, du2, dv2)
        if not along2 + back2 > along + back + 0.01:
            break
        along, back, dg, da, du, dv = along2, back2, dg2, da2, du2, dv2
    if not (np.isfinite(product(dg, dg)) and np.isfinite(along) and np.isfinite(back)):
        return False
    for j in range(k):
        g[j] += back * dg[j]
    for i in range(n):
        a[i] += along * da[i]
        s[i] -= along * da[i]
        u[i] += back * du[i]
        v[i] += back * dv[i]
    return True


@njit(cache=True, nogil=True)
def interior_steps(Z, c, tau, g, a, s, u, v, most, share, least):
    """Take up to `most` steps in place, until the products are `share` of the loss of all rows but the last.

    A loss below `least` is rounding. Returns the number of steps, and the products over the loss; NaN once no digits
    are left for a step.
    """
    reached, fit = np.nan, np.empty(len(c))
    for step in range(most):
        if not interior_step(Z, c, tau, g, a, s, u, v):
            return step, np.nan
        fitted(Z, g, fit)
        loss = 0.0
        for i in range(len(c) - 1):
            loss += abs(c[i] - fit[i])
        reached = (product(u, s) + product(v, a)) / max(loss, least)
        if reached <= share:
            return step + 1, reached
    return most, reached
