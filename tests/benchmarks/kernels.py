"""The quadratic program of kernel machines beside kernlab's ipop and cvxopt's own solver, whole fits, and kqr beside R.

    python tests/benchmarks/kernels.py [--quick] [--repeats 5] [--threads 1] [--part PART ...]

Each part runs in a process of its own, so that its peak of memory is its own; medians of the rounds, seconds of the
wall clock and of the processor (`cpu`: where they differ, the machine was busy).

- step: one dual step of the double ramp's DC loop (two blocks, two equalities, a tenth of the losses capped) on
  Gaussian data with an RBF kernel: 800 rows beside `ipop` (timed in R), 1600 rows beside `cvxopt.solvers.qp` with G
  sparse; the objectives stand beside the seconds.
- linear: such a step of 200,000 rows and 20 columns with a linear kernel, and a whole fit.
- rbf: a whole fit of 4000 rows, from the three starts that need no random numbers.
- grid: ten-fold cross-validation of the double ramp over 50 points of C and gamma on ionosphere.
- kqr: kernel quantile regression at 400 rows beside `kernlab::kqr`, ten-fold cross-validation over 50 costs, the exact
  path in C, and five quantiles held apart.

`--quick` leaves out ipop and kernlab and takes two rounds; whole fits and grids take one round there.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from machine import describe, limit_threads

Timed = tuple[float, Any]
WANTED = {"ipop": 40.0, "cvxopt, G sparse": 3.0}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two rounds, and nothing of R")
    parser.add_argument("--repeats", type=int, help="rounds whose median counts (default: 5, 2 if quick)")
    parser.add_argument("--threads", type=int, default=1, help="threads of every contender")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parser.parse_args(arguments)
    limit_threads(options.threads)
    rounds = options.repeats or (2 if options.quick else 5)
    if len(options.part) == 1:
        PARTS[options.part[0]](rounds, options.quick)
        return
    print(f"{describe('numpy', 'scipy', 'cvxopt', 'qreg_boost')}, {options.threads} thread(s), medians of {rounds}\n")
    for part in options.part:
        command = [sys.executable, __file__, "--part", part, "--repeats", str(rounds)]
        command += ["--threads", str(options.threads)] + ["--quick"] * options.quick
        print(flush=True, end="")
        subprocess.run(command, check=True)


def step(n: int, p: int, linear: bool) -> Any:
    """Return a dual step as a quadratic program."""
    import numpy as np

    from qreg_boost.kernel.box_qp import BoxQP, Dense, LowRank
    from qreg_boost.kernel.kernels import RBF

    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, p))
    y = np.sign(X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n))
    C, d = 2.0, 0.2
    Q = LowRank(X * y[:, None]) if linear else Dense(y[:, None] * RBF(0.1).matrix(X) * y)
    upper = C * np.array([[d], [1.0 - d]]) * np.ones((2, n))
    capped = upper * (rng.random((2, n)) < 0.1)
    A = np.array([[y, y], [np.ones(n), -np.ones(n)]])
    return BoxQP(Q, -np.ones((2, n)), -capped, upper - capped, A, np.zeros(2))


def ours(problem: Any) -> Any:
    """Return the solution of this package."""
    from qreg_boost.kernel.box_qp import solve_box_qp

    return solve_box_qp(problem)


def by_ipop(problem: Any) -> Timed:
    """Return R's seconds, without the way there and back, and the objective of ipop."""
    import numpy as np

    from qreg_boost.r.kernlab import ipop

    H = np.tile(problem.Q.Q, (2, 2))
    found = ipop(
        H, problem.c.ravel(), problem.A.reshape(2, -1), problem.b, problem.lower.ravel(), problem.upper.ravel()
    )
    return found.seconds, (found.objective, f"constraints violated by {found.violation:.1e}")


def by_cvxopt(problem: Any) -> Timed:
    """Return seconds and objective of `cvxopt.solvers.qp` with a sparse G, the matrices made beforehand."""
    import numpy as np
    from cvxopt import matrix, solvers, sparse, spdiag

    n = problem.c.size
    P = matrix(np.tile(problem.Q.Q, (2, 2)))
    eye = spdiag([1.0] * n)
    G = sparse([-eye, eye])
    h = matrix(np.concatenate((-problem.lower.ravel(), problem.upper.ravel())))
    A, b, q = matrix(problem.A.reshape(2, -1)), matrix(problem.b), matrix(problem.c.ravel())
    start = time.perf_counter()
    found = solvers.qp(P, q, G, h, A, b, options={"show_progress": False})
    return time.perf_counter() - start, (found["primal objective"], found["status"])


PEERS: dict[str, Callable[[Any], Timed]] = {"ipop": by_ipop, "cvxopt, G sparse": by_cvxopt}


def dense_step(n: int, rounds: int, peers: Sequence[str]) -> None:
    """Print seconds and objectives of one RBF step."""
    problem = step(n, 5, linear=False)
    ours(problem)
    own: list[Taken] = []
    others: dict[str, list[Timed]] = {name: [] for name in peers}
    for _ in range(rounds):
        found, taken = _timed(lambda: ours(problem), 1)
        own.append(taken)
        for name in peers:
            others[name].append(PEERS[name](problem))
    least = median(one.wall for one in own)
    print(f"One dual step, RBF, {n} rows ({2 * n} variables)")
    print(f"  {'qreg_boost':18s} {least:9.3f} s   objective {found.primal:.10g}   gap {found.residuals.gap:.1e}   "
          f"kkt {found.residuals.kkt:.1e}   {found.iterations} iterations")  # fmt: skip
    for name, runs in others.items():
        seconds = median(seconds for seconds, _ in runs)
        objective, told = runs[0][1]
        print(f"  {name:18s} {seconds:9.3f} s   objective {objective:.10g}   {told}   "
              f"{seconds / least:.1f} x (wanted {WANTED[name]:g})")  # fmt: skip
    print()


def steps(rounds: int, quick: bool) -> None:
    """Print seconds of one dual step beside the peers."""
    dense_step(800, rounds, () if quick else ("ipop",))
    dense_step(1600, rounds, ("cvxopt, G sparse",))


def linear(rounds: int, quick: bool) -> None:
    """Print seconds and memory of one linear step of 200,000 rows, and of a whole fit."""
    import qreg_boost as qb

    n, p, before = 200_000, 20, _peak()
    problem = step(n, p, linear=True)
    found, taken = _timed(lambda: ours(problem), rounds)
    print(f"One dual step, linear, {n:,} rows, {p} columns\n  qreg_boost {taken} (wanted 10 s)   {_peak():.2f} GB at "
          f"the peak, {before:.2f} before (wanted 0.6)   kkt {found.residuals.kkt:.1e}")  # fmt: skip
    X, y = rows(n, p)
    fit, taken = _timed(lambda: qb.RejectClassifier(y, X, C=2.0, progress=False).fit(), 1)
    print(f"  whole fit  {taken}   {_peak():.2f} GB at the peak   {_told(fit)}\n")


def rbf(rounds: int, quick: bool) -> None:
    """Print seconds and memory of whole fits of 4000 rows with an RBF kernel."""
    import qreg_boost as qb

    n, p = 4000, 5
    X, y = rows(n, p)
    print(f"Double ramp, RBF, {n} rows, {p} columns, d = 0.2 (wanted: 60 s, 2 GB)")
    for C in (2.0, 50.0):
        made = qb.RejectClassifier(y, X, d=0.2, kernel="rbf", C=C, progress=False)
        fit, taken = _timed(made.fit, 1 if quick else rounds)
        print(f"  C = {C:3g}    {taken}   {_peak():.2f} GB at the peak   {_told(fit)}")
    print()


def grid(rounds: int, quick: bool) -> None:
    """Print seconds of a cross-validation over 50 points."""
    import numpy as np

    import qreg_boost as qb

    data = qb.datasets.load("ionosphere")
    X, y = data.drop(columns="class"), data["class"]
    fit = qb.RejectClassifier(y, X, d=0.2, kernel="rbf", C=2.0, progress=False).fit()
    costs, widths = np.geomspace(0.1, 50.0, 10), np.geomspace(0.25, 4.0, 5) * fit.gamma
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, taken = _timed(lambda: fit.cv(C=costs, gamma=widths, progress=False), 1 if quick else rounds)
    best, count = found.best.iloc[0], found.found
    print(f"Ionosphere, RBF, 10 folds x 50 points of C and gamma, d = 0.2\n  qreg_boost {taken}   {count.programs} "
          f"programs, {count.unsolved} starts unsolved, least risk {best['risk']:.4f}\n")  # fmt: skip


def rows(n: int, p: int) -> tuple[Any, Any]:
    """Return Gaussian rows (n, p) and labels -1, +1 with a boundary that bends."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    f = X[:, 0] + 0.5 * X[:, 1] + 0.5 * np.sin(3.0 * X[:, 2]) + 0.7 * rng.normal(size=n)
    return X, np.where(f > 0.0, 1, -1)


def _told(fit: Any) -> str:
    minima = fit.minima
    return f"DC steps {dict(zip(minima['start'], minima['steps'], strict=True))}, R {minima['objective'].min():.8g}"


def quantiles(rounds: int, quick: bool) -> None:
    """Print seconds of kernel quantile regression."""
    import numpy as np

    from qreg_boost.kernel.kqr_model import KQR

    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=n) * (0.5 + 0.3 * np.abs(X[:, 0]))
    fit, own = _timed(lambda: KQR(y, X, 0.25, C=2.0).fit(), rounds)
    print(f"Kernel quantile regression, RBF, {n} rows, 4 columns\n  qreg_boost {own}, objective "
          f"{fit.objective:.10g}, gap {fit.duality_gap:.1e}")  # fmt: skip
    if not quick:
        from qreg_boost.r.kernlab import fit_kqr

        ready = fit.model.ready
        given = {"sigma": fit.gamma}
        other, theirs = _timed(lambda: fit_kqr(ready.X, ready.y, 0.25, 2.0, "rbfdot", given, False), rounds)
        r = ready.y - other.fittedvalues.to_numpy()
        K = ready.form.times(np.eye(n))
        objective = 0.5 * other.alpha @ K @ other.alpha + 2.0 * float(np.sum(r * (0.25 - (r < 0))))
        print(f"  kernlab    {theirs}, objective {objective:.10g}   {theirs.wall / own.wall:.1f} x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, taken = _timed(lambda: fit.cv(C=np.geomspace(0.05, 500.0, 50), progress=False), 1)
    print(f"  10 folds x 50 costs {taken}, best C {found.C:.3g}, {found.unsolved} of 500 not solved")
    path, taken = _timed(lambda: fit.path(largest=100.0, progress=False), rounds)
    print(f"  exact path, C from 0 to 100: {taken}, {len(path.knots)} knots, gap at most "
          f"{path.knots['duality_gap'].max():.1e}")  # fmt: skip
    taus = [0.1, 0.3, 0.5, 0.7, 0.9]
    fits, taken = _timed(lambda: KQR(y, X, taus, C=50.0, noncrossing=True).fit(), 1)
    print(f"  5 quantiles held apart ({5 * n} unknowns) {taken}, gap {fits.duality_gap.iloc[0]:.1e}, "
          f"{fits.crossings} rows cross")  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """Medians of seconds, of the wall clock and of the processor."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.3g} s ({self.cpu:.3g} cpu)"


def _timed(call: Callable[[], Any], rounds: int) -> tuple[Any, Taken]:
    taken = []
    for _ in range(rounds):
        start, cpu = time.perf_counter(), time.process_time()
        found = call()
        taken.append((time.perf_counter() - start, time.process_time() - cpu))
    return found, Taken(*(median(one) for one in zip(*taken, strict=True)))


def _peak() -> float:
    """Return the peak of resident memory in gigabytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)


PARTS: dict[str, Callable[[int, bool], None]] = {
    "step": steps, "linear": linear, "rbf": rbf, "grid": grid, "kqr": quantiles
}  # fmt: skip


if __name__ == "__main__":
    main()
