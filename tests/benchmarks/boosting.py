"""Seconds of a whole quantile boosting fit, this package beside its peers, in one run with equal threads.

    python tests/benchmarks/boosting.py [--threads 1] [--quick] [--step fixed] [--sizes 0 1 2 3] ...

Every contender has been called once before it is timed; the contenders take turns, and the median of the rounds counts.
On a busy machine `--clock cpu` leaves out the time spent waiting for a core; with one thread it is else the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from machine import describe, limit_threads, load


@dataclass(frozen=True)
class Size:
    """One size of problem, and how many times faster than the NumPy loop this package is wanted to be there.

    `exact_iterations` caps scikit-learn's exact boosting, whose time is scaled up to `iterations`.
    """

    n: int
    p: int
    iterations: int
    wanted: float
    exact_iterations: int


SIZES = (
    Size(1_000, 10, 1000, 5.0, 100),
    Size(5_000, 11, 1000, 5.0, 50),
    Size(100_000, 50, 200, 6.0, 2),
    Size(200, 5_000, 500, 3.0, 5),
)
TAUS = (0.5, 0.9)
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
ENOUGH = 0.1
"""Seconds that a contender may take in one round if it needs more than one call for that."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its table."""
    options = _options(arguments)
    limit_threads(options.threads)
    print(describe("qreg_boost", "numpy", "numba", "scikit-learn", "lightgbm"))
    print(f"{options.threads} thread(s) each; {options.clock} seconds, {options.step} steps")
    print(f"second call on, medians of {options.repeats} rounds\n")
    for number in options.sizes:
        for tau in TAUS[: 1 if options.quick else None]:
            _compare(SIZES[number], tau, options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of every contender")
    parser.add_argument("--repeats", type=int, default=5, help="rounds whose median counts")
    parser.add_argument("--step", choices=("adaptive", "fixed"), default="adaptive", help="rule of both our loops")
    parser.add_argument("--quick", action="store_true", help="one tau, this package and the NumPy loop only")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what the seconds are")
    parser.add_argument("--all-awake", action="store_true", help="also this package without sleeping rows")
    parser.add_argument(
        "--sizes", type=int, nargs="+", choices=range(len(SIZES)), default=range(len(SIZES)), help="which sizes"
    )
    return parser.parse_args(arguments)


def _compare(size: Size, tau: float, options: argparse.Namespace) -> None:
    import contenders
    import numpy as np

    y, X = contenders.simulate(size.n, size.p)
    problem = contenders.Problem(y, X, tau, size.iterations, options.step, options.threads)
    fits: dict[str, Callable[[], object]] = {
        "qreg_boost": lambda: contenders.ours(problem),
        "NumPy loop": lambda: contenders.numpy_loop(problem),
    }
    if options.all_awake:
        awake = contenders.all_awake()
        fits["qreg_boost, all rows awake"] = lambda: awake(problem)
    if not options.quick:
        fits["LightGBM"] = lambda: contenders.light_gbm(problem)
        fits["scikit-learn, histograms"] = lambda: contenders.hist_gradient_boosting(problem)
    first = {name: fit() for name, fit in fits.items()}
    for name in ("NumPy loop", "qreg_boost, all rows awake"):
        if name in first and not np.array_equal(first["qreg_boost"], first[name]):
            raise AssertionError(f"{name} selects other columns than qreg_boost at n={size.n}, p={size.p}, tau={tau}.")
    seconds = _median_seconds(fits, options.repeats, CLOCKS[options.clock])
    scaled = {}
    if not options.quick:
        share = size.iterations / size.exact_iterations
        exact = lambda: contenders.gradient_boosting(problem, size.exact_iterations)  # noqa: E731
        scaled["scikit-learn, exact"] = share * _median_seconds({"": exact}, 1, CLOCKS[options.clock])[""]
    _print_table(size, tau, seconds, scaled)


def _median_seconds(fits: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(rounds):
        for name, fit in fits.items():
            begun = clock()
            while True:
                start = clock()
                fit()
                now = clock()
                taken[name].append(now - start)
                if now - begun + taken[name][-1] > ENOUGH:
                    break
    return {name: median(values) for name, values in taken.items()}


def _print_table(size: Size, tau: float, seconds: dict[str, float], scaled: dict[str, float]) -> None:
    print(f"n={size.n:,} p={size.p:,} iterations={size.iterations:,} tau={tau} (load {load()})")
    print(f"  {'':<30}{'seconds':>10}{'ratio':>8}{'wanted':>8}")
    own = seconds["qreg_boost"]
    for name, value in (seconds | scaled).items():
        wanted = f"{size.wanted:8.1f}" if name == "NumPy loop" else ""
        note = f"  scaled up from {size.exact_iterations} iterations" if name in scaled else ""
        print(f"  {name:<30}{value:10.5f}{value / own:8.1f}{wanted}{note}")
    print(flush=True)


if __name__ == "__main__":
    main()
