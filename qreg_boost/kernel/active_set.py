"""A block box-constrained quadratic program from a guess: which variables are at which bound, and which between them.

Where a program is like one that is solved, or where a sample of its rows has been, most of this is known. From a point
that satisfies the equalities (if it is far off, after some steps of projected gradients) each round goes to a minimum
over the free variables; what reaches a bound on the way stays there, and variables whose gradient then has the wrong
sign become free. The objective falls from round to round. A round costs a few Cholesky factors of the order of the free
variables, not one of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qreg_boost.kernel.balancing import balanced
from qreg_boost.kernel.program import BoxQP, BoxSolution, judged

MOST_ROUNDS = 80
MOST_STALLS = 4
"""Rounds in a row that do not lower the objective, each with fewer new variables, before the guess is given up."""
UNMOVED = 1e-13
"""A fall of the objective below this share of its terms is none."""
WRONG = 1e-9
"""A gradient of this share of the linear term has a sign."""
NEAR = 1e-7
"""A variable whose gradient in the guess is below this share of the linear term is free."""
SHARES = (0.5, 0.2, 0.05, 0.0)
"""Of the variables that a step takes across a bound, the share that are put there at once; with 0, one after another.
Where one leads up, or off the equalities, the next is tried."""
ENTER, FEWEST = 0.2, 3
"""At most this share of the rows, or as many variables as are free, become free in a round; after a stall, fewer."""
MANY_WRONG, OF_FREE = 10, 0.5
"""With more wrong signs than this, and this share of the free variables, the multipliers are looked at anew."""
RIDGE = 1e-9
"""Added to the diagonal, over its largest element: a step is defined where rows of Q depend on each other, too."""
FAR, MANY_ROWS = 0.4, 800
"""With more wrong signs than this share of the rows at the beginning, many rows are moved along gradients first, ..."""
FEW_FREE, LEAST_STEPS, MOST_STEPS = 0.2, 5, 100
"""... until at most this share of the rows is between its bounds; no more become free in the first round."""
TOO_FLAT, FLATTEST = 1.9, 1e-3
"""A step lowers the objective if the curvature along it is below twice the one it was made with."""
MOST_SINGLE = 40
"""Variables put at a bound one after another before a share of 0 is given up."""
LOOSE = 0.03
"""Curvature, over force and width, with which the equalities are met first."""
HOLDS, EXACT = 1e-9, 1e-10
"""An equality off by less than this share of the largest that its terms can sum to holds; a step aims at the second."""
MOST_REFINEMENTS = 3
DEPENDENT = 1e-13
"""Eigenvalues below this share of the largest count as 0: the free variables do not tell the multipliers apart."""


class Astray(Exception):
    """The guess leads nowhere."""


@dataclass(frozen=True, eq=False)
class Guess:
    """Where the solution is looked for.

    Attributes
    ----------
    u, gradient : (K, n) array
        A variable is guessed at its lower bound where the gradient is above 0, at its upper bound where it is below,
        and at u where it is 0.
    multipliers : (m,) array
        Of the equalities, as in the gradient.
    """

    u: np.ndarray
    gradient: np.ndarray
    multipliers: np.ndarray


@dataclass(frozen=True, eq=False)
class Point:
    """Variables that satisfy the equalities.

    Attributes
    ----------
    u : (K n,) array
    free : (K n,) array of bool
        Which may move.
    Qa : (n,) array
    multipliers : (m,) array
    objective, terms : float
        And the sum of what it is made of, without signs.
    """

    u: np.ndarray
    free: np.ndarray
    Qa: np.ndarray
    multipliers: np.ndarray
    objective: float
    terms: float


def solve_by_active_set(problem: BoxQP, guess: Guess) -> BoxSolution | None:
    """Return the solution of a problem, judged like any other, or None where the guess does not lead to one.

    Examples
    --------
    >>> from qreg_boost.kernel.quadratic import Dense
    >>> one = np.ones((1, 2))
    >>> problem = BoxQP(Dense(np.eye(2)), np.array([[-3.0, 0.0]]), 0.0 * one, one, one[None], np.array([1.5]))
    >>> solve_by_active_set(problem, Guess(0.75 * one, 0.0 * one, np.zeros(1))).u.round(6).tolist()
    [[1.0, 0.5]]
    """
    try:
        return ActiveSet.of(problem).solution(guess)
    except Astray:
        return None


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """A program with its blocks one after the other: variable k n + i is u[k, i].

    Attributes
    ----------
    problem : BoxQP
    c, lower, upper : (K n,) array
    A : (m, K n) array
    rows : (K n,) array
        i of each variable.
    force, width : float
        Scale of gradients and of variables.
    reach : (m,) array
        The largest that the terms of each equality can sum to.
    ridge : float
    """

    problem: BoxQP
    c: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    A: np.ndarray
    rows: np.ndarray
    force: float
    width: float
    reach: np.ndarray
    ridge: float

    @classmethod
    def of(cls, problem: BoxQP) -> ActiveSet:
        """Return a program in this form."""
        c, lower, upper = problem.c.ravel(), problem.lower.ravel(), problem.upper.ravel()
        A = problem.A.reshape(len(problem.b), c.size)
        width, size = float((upper - lower).max()), problem.Q.size
        force = float(np.abs(c).max()) or width * size or 1.0
        reach = np.abs(A) @ np.maximum(np.abs(lower), np.abs(upper)) + np.abs(problem.b)
        rows = np.tile(np.arange(problem.Q.n), len(problem.c))
        ridge = RIDGE * (size + 1e-3 * force / width)
        return cls(problem, c, lower, upper, A, rows, force, width, reach, ridge)

    # -- rounds --------------------------------------------------------------------------------------------------------

    def solution(self, guess: Guess) -> BoxSolution:
        """Return where the rounds end."""
        point = self.approached(self.begin(guess))
        usual: int = max(int(ENTER * self.problem.Q.n), FEWEST)
        most, stalls, share = usual, 0, 0
        for rounds in range(1, MOST_ROUNDS + 1):
            before = point.objective
            point, share = self.lowered(point, max(share - 1, 0))
            point, wrong = self.wrong(point)
            if not wrong.any():
                u, multipliers = self.polished(point)
                return judged(self.problem, u.reshape(self.problem.c.shape), multipliers, rounds, True)
            if before - point.objective > UNMOVED * point.terms:
                most, stalls = min(4 * most, usual), 0
                count = max(most, int(np.count_nonzero(point.free)))
            else:  # where many become free at once, a step may leave them all where they are
                count = most = max(min(most, int(np.count_nonzero(wrong))) // 4, FEWEST)
                stalls += 1
                if stalls > MOST_STALLS:
                    break
            point = replace(point, free=point.free | _largest(wrong, count))
        raise Astray

    def begin(self, guess: Guess) -> Point:
        """Return the point next to a guess that satisfies the equalities."""
        gradient = guess.gradient.ravel()
        near = np.abs(gradient) <= NEAR * self.force
        bound = np.where(gradient > 0.0, self.lower, self.upper)
        u = np.where(near, np.clip(guess.u.ravel(), self.lower, self.upper), bound)
        met = self.balanced(np.where(near, 0.0, gradient), u)
        if met is None:
            raise Astray
        change, u = met
        free = (u > self.lower) & (u < self.upper)
        return self.point(u, free, self.problem.Q.times(self.sums(u)), guess.multipliers + change)

    def polished(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return u and the multipliers after a last step from the solution, as the ridge holds it back no more."""
        u, at, multipliers = self.minimum(point, SHARES[0])
        stays = len(at) == np.count_nonzero(point.free)
        return (u, multipliers) if stays else (point.u.copy(), point.multipliers)

    def approached(self, point: Point) -> Point:
        """Return a point of lower objective, many variables moved at once, where very many have a wrong sign.

        Steps of projected gradients, each with the curvature of the one before (Barzilai and Borwein 1988); in a step
        from afar over free variables alone, all of them would end at a bound.
        """
        n = self.problem.Q.n
        if n < MANY_ROWS or np.count_nonzero(self.wrong_at(point)) <= FAR * n:
            return point
        curvature, steps = LOOSE * self.force / self.width, 0
        while steps < MOST_STEPS:
            met = self.balanced(point.Qa[self.rows] + self.c, point.u, curvature)
            if met is None or (met[1] == point.u).all():
                break
            d = met[1] - point.u
            moved = np.flatnonzero(d)
            Qd = self.problem.Q.product(self.rows[moved], d[moved])
            along = float(self.sums(d) @ Qd) / float(d @ d)
            steps += 1
            if along <= TOO_FLAT * curvature:
                free = (met[1] > self.lower) & (met[1] < self.upper)
                point = self.point(met[1], free, point.Qa + Qd, met[0])
                if steps > LEAST_STEPS and np.count_nonzero(free) <= FEW_FREE * n:
                    break
            curvature = max(along, FLATTEST * curvature)
        few = _largest(np.where(point.free, np.abs(self.gradient(point)), 0.0), max(int(FEW_FREE * n), FEWEST))
        return replace(point, free=few)  # the others, though between their bounds, become free in later rounds

    def lowered(self, point: Point, first: int) -> tuple[Point, int]:
        """Return a minimum over some of the free variables, not above the point, and which of `SHARES` led there."""
        # what the equalities, met in the wide boxes of the guess up to rounding, cost where they are met exactly
        owed = 2.0 * float(np.abs(point.multipliers) @ np.abs(self.A @ point.u - self.problem.b))
        for number in range(first, len(SHARES)):
            u, at, multipliers = self.minimum(point, SHARES[number])
            if (np.abs(self.A @ u - self.problem.b) > HOLDS * self.reach).any():
                continue
            moved = np.flatnonzero(u != point.u)
            Qa = point.Qa + self.problem.Q.product(self.rows[moved], u[moved] - point.u[moved])
            free = np.zeros(len(u), dtype=bool)
            free[at] = True
            found = self.point(u, free, Qa, multipliers)
            if found.objective <= point.objective + UNMOVED * found.terms + owed:
                return found, number
        raise Astray

    def wrong(self, point: Point) -> tuple[Point, np.ndarray]:
        """Return the size of the gradient (K n,) of variables at a bound that it pushes inside, in one block of a row.

        With many of them the multipliers, which few free variables tell badly, are those that suit all the gradients
        best; they are part of the point that is returned.
        """
        sizes = self.wrong_at(point)
        if np.count_nonzero(sizes) > MANY_WRONG + OF_FREE * np.count_nonzero(point.free):
            met = self.balanced(self.gradient(point), point.u)
            if met is not None:
                other = replace(point, multipliers=point.multipliers + met[0])
                anew = self.wrong_at(other)
                if anew.any():
                    point, sizes = other, anew
        blocks = sizes.reshape(self.problem.c.shape)
        return point, np.where(blocks == blocks.max(axis=0), blocks, 0.0).ravel()

    def wrong_at(self, point: Point) -> np.ndarray:
        """Return the sizes of gradients with the wrong sign (K n,), any where a variable is between its bounds."""
        gradient = self.gradient(point)
        outward = np.where(point.u >= self.upper, gradient, np.abs(gradient))
        sizes = np.where(point.u <= self.lower, -gradient, outward)
        fixed = (self.upper <= self.lower) | point.free
        return np.where(fixed | (sizes <= WRONG * self.force), 0.0, sizes)

    # -- what a point is made of ---------------------------------------------------------------------------------------

    def sums(self, u: np.ndarray) -> np.ndarray:
        """Return a (n,)."""
        return u.reshape(self.problem.c.shape).sum(axis=0)

    def gradient(self, point: Point) -> np.ndarray:
        """Return the gradient (K n,)."""
        return point.Qa[self.rows] + self.c + point.multipliers @ self.A

    def point(self, u: np.ndarray, free: np.ndarray, Qa: np.ndarray, multipliers: np.ndarray) -> Point:
        """Return a point with its objective."""
        square, linear = 0.5 * float(self.sums(u) @ Qa), float(self.c @ u)
        return Point(u, free, Qa, multipliers, square + linear, abs(square) + abs(linear))

    def balanced(
        self, gradient: np.ndarray, u: np.ndarray, curvature: float | None = None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return multipliers that suit a gradient, and a point that satisfies the equalities."""
        curvature = LOOSE * self.force / self.width if curvature is None else curvature
        return balanced(gradient, u, self.lower, self.upper, self.A, self.problem.b, curvature)

    # -- a minimum over the free variables -----------------------------------------------------------------------------

    def minimum(self, point: Point, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return u (K n,), who is still free (positions) and multipliers (m,) of a minimum over the free variables."""
        at, u, multipliers = np.flatnonzero(point.free), point.u.copy(), point.multipliers
        rows = self.rows[at]
        H = self.problem.Q.block(rows)
        lower, upper, x, force = self.lower[at], self.upper[at], u[at], self.c[at] + point.Qa[rows]
        single = 0
        while len(at):
            A = self.A[:, at]
            step, change = self.step(H, A, force + multipliers @ A, self.problem.b - self.A @ u)
            room = np.where(step > 0.0, upper - x, lower - x)
            moving = step != 0.0
            limit = np.divide(room, step, out=np.full(len(at), np.inf), where=moving)
            blocking = np.count_nonzero(limit < 1.0)
            if not blocking:
                u[at] = np.minimum(np.maximum(x + step, lower), upper)
                return u, at, multipliers + change
            single += share == 0.0
            if single > MOST_SINGLE:
                raise Astray
            last = max(int(share * blocking), 1) - 1
            length = max(float(np.partition(limit, last)[last]), 0.0)
            hit = limit <= length
            moved = np.where(hit, np.where(step > 0.0, upper, lower), np.clip(x + length * step, lower, upper))
            u[at] = moved
            left = ~hit
            force = (force + H @ (moved - x))[left]
            at, lower, upper, x, H = at[left], lower[left], upper[left], moved[left], H[left][:, left]
        return u, at, multipliers

    def step(
        self, H: np.ndarray, A: np.ndarray, gradient: np.ndarray, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return d (f,) and a change nu (m,) of multipliers: H d + A'nu = -gradient, A d = off, with a little ridge."""
        from scipy.linalg import lapack

        m = len(A)
        firm = H.copy(order="F")
        firm[np.diag_indices_from(firm)] += self.ridge
        factor, info = lapack.dpotrf(firm, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise Astray
        right = np.empty((len(H), m + 1), order="F")
        right[:, :m], right[:, m] = A.T, -gradient
        right = lapack.dpotrs(factor, right, lower=1, overwrite_b=1)[0]
        over_A, d = right[:, :m], right[:, m]
        values, vectors = np.linalg.eigh(A @ over_A)
        told = values > DEPENDENT * values.max(initial=0.0)
        inverse = (vectors[:, told] / values[told]) @ vectors[:, told].T
        nu = inverse @ (A @ d - off)
        d = d - over_A @ nu
        for _ in range(MOST_REFINEMENTS):
            short = off - A @ d
            if (np.abs(short) <= EXACT * self.reach).all():
                break
            more = lapack.dpotrs(factor, -gradient - H @ d - self.ridge * d - nu @ A, lower=1)[0]
            change = inverse @ (A @ more - short)
            nu, d = nu + change, d + more - over_A @ change
        return d, nu


def _largest(sizes: np.ndarray, count: int) -> np.ndarray:
    """Return which of the sizes above 0 are the `count` largest, or all."""
    some = np.count_nonzero(sizes) > count
    return sizes >= np.partition(sizes, -count)[-count] if some else sizes > 0.0
