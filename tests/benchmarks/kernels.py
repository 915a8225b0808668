"""The quadratic program of kernel machines beside kernlab's ipop and cvxopt's own solver, and kqr beside kernlab's.

    python tests/benchmarks/kernels.py [--quick] [--repeats 5] [--threads 1]

One dual step of the double ramp's DC loop (two blocks, two equalities, a tenth of the losses capped) on Gaussian data:

- 800 rows, RBF: this package beside `ipop` (timed in R);
- 1600 rows, RBF: beside `cvxopt.solvers.qp` with G sparse;
- 200,000 rows, 20 columns, linear: seconds and peak memory of the process.

Then kernel quantile regression at 400 rows beside `kernlab::kqr`, ten-fold cross-validation over 50 costs on it, and
five quantiles held apart. Medians of the rounds; the objectives stand beside the seconds. `--quick` leaves out ipop and
takes two rounds.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from machine import describe, limit_threads

Timed = tuple[float, Any]
WANTED = {"ipop": 40.0, "cvxopt, G sparse": 3.0}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two rounds, and no ipop")
    parser.add_argument("--repeats", type=int, help="rounds whose median counts (default: 5, 2 if quick)")
    parser.add_argument("--threads", type=int, default=1, help="threads of every contender")
    options = parser.parse_args(arguments)
    limit_threads(options.threads)
    rounds = options.repeats or (2 if options.quick else 5)
    print(f"{describe('numpy', 'scipy', 'cvxopt', 'qreg_boost')}, {options.threads} thread(s), medians of {rounds}\n")
    many_rows(rounds)  # first, so that the peak of memory is its own
    dense_step(800, rounds, ("ipop",) if not options.quick else ())
    dense_step(1600, rounds, ("cvxopt, G sparse",))
    quantiles(rounds, not options.quick)


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


def ours(problem: Any) -> Timed:
    """Return seconds and solution of this package."""
    from qreg_boost.kernel.box_qp import solve_box_qp

    start = time.perf_counter()
    found = solve_box_qp(problem)
    return time.perf_counter() - start, found


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
    own: list[Timed] = []
    others: dict[str, list[Timed]] = {name: [] for name in peers}
    for _ in range(rounds):
        own.append(ours(problem))
        for name in peers:
            others[name].append(PEERS[name](problem))
    least = median(seconds for seconds, _ in own)
    found = own[0][1]
    print(f"One dual step, RBF, {n} rows ({2 * n} variables)")
    print(f"  {'qreg_boost':18s} {least:9.3f} s   objective {found.primal:.10g}   gap {found.residuals.gap:.1e}   "
          f"kkt {found.residuals.kkt:.1e}   {found.iterations} iterations")  # fmt: skip
    for name, runs in others.items():
        seconds = median(seconds for seconds, _ in runs)
        objective, told = runs[0][1]
        print(f"  {name:18s} {seconds:9.3f} s   objective {objective:.10g}   {told}   "
              f"{seconds / least:.1f} x (wanted {WANTED[name]:g})")  # fmt: skip
    print()


def many_rows(rounds: int) -> None:
    """Print seconds and memory of one linear step of 200,000 rows."""
    before = _peak()
    problem = step(200_000, 20, linear=True)
    runs = [ours(problem) for _ in range(min(rounds, 3))]
    found = runs[0][1]
    print("One dual step, linear, 200,000 rows, 20 columns")
    seconds = median(seconds for seconds, _ in runs)
    print(f"  qreg_boost {seconds:.2f} s (wanted 10)   {_peak():.2f} GB at the peak, {before:.2f} before (wanted 0.6)")
    print(f"  gap {found.residuals.gap:.1e}   kkt {found.residuals.kkt:.1e}\n")


def quantiles(rounds: int, with_r: bool) -> None:
    """Print seconds of kernel quantile regression."""
    import numpy as np

    from qreg_boost.kernel.kqr_model import KQR

    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=n) * (0.5 + 0.3 * np.abs(X[:, 0]))
    fit, seconds = _timed(lambda: KQR(y, X, 0.25, C=2.0).fit(), rounds)
    print(f"Kernel quantile regression, RBF, {n} rows, 4 columns\n  qreg_boost {seconds:.3f} s, objective "
          f"{fit.objective:.10g}, gap {fit.duality_gap:.1e}")  # fmt: skip
    if with_r:
        from qreg_boost.r.kernlab import fit_kqr

        ready = fit.model.ready
        given = {"sigma": fit.gamma}
        other, theirs = _timed(lambda: fit_kqr(ready.X, ready.y, 0.25, 2.0, "rbfdot", given, False), rounds)
        r = ready.y - other.fittedvalues.to_numpy()
        K = ready.form.times(np.eye(n))
        objective = 0.5 * other.alpha @ K @ other.alpha + 2.0 * float(np.sum(r * (0.25 - (r < 0))))
        print(f"  kernlab    {theirs:.3f} s, objective {objective:.10g}   {theirs / seconds:.1f} x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, seconds = _timed(lambda: fit.cv(C=np.geomspace(0.05, 500.0, 50), progress=False), 1)
    print(f"  10 folds x 50 costs {seconds:.1f} s, best C {found.C:.3g}, {found.unsolved} of 500 not solved")
    taus = [0.1, 0.3, 0.5, 0.7, 0.9]
    fits, seconds = _timed(lambda: KQR(y, X, taus, C=50.0, noncrossing=True).fit(), 1)
    print(f"  5 quantiles held apart ({5 * n} unknowns) {seconds:.1f} s, gap {fits.duality_gap.iloc[0]:.1e}, "
          f"{fits.crossings} rows cross")  # fmt: skip


def _timed(call: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        found = call()
        taken.append(time.perf_counter() - start)
    return found, median(taken)


def _peak() -> float:
    """Return the peak of resident memory in gigabytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)


if __name__ == "__main__":
    main()
