"""Seconds of one exact quantile regression, this package beside its peers, in one run with equal threads.

    python tests/benchmarks/quantreg.py [--quick] [--threads 1] [--repeats 5] [--sizes 0 1 ...] [--clock cpu]

Coefficients only, from arrays, on heteroskedastic data with heavy tails. Every contender has been called once before it
is timed, the contenders take turns, and the ratios are those of the medians over the rounds; the least of the rounds
stands beside them. A peer counts only where its loss is within 1e-8 of the least of all; the others are shown with how
far they are off. Each table names the load, and how many of X'X take as long. At the end 99 levels at n = 50,000,
p = 20 are fitted at once and one by one.

`--quick` takes two rounds of the three smallest sizes and the fastest peers. On a busy machine `--clock cpu` leaves out
the time spent waiting for a core; with one thread it is else the same.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from machine import describe, limit_threads, load

SIZES = ((1_000, 10), (5_000, 11), (100_000, 10), (100_000, 50), (1_000_000, 10), (5_000, 500))
TAUS = (0.5, 0.9)
WANTED = {(100_000, 50): 4.0, (1_000_000, 10): 4.0}
"""How many times as long the fastest exact peer is wanted to take; elsewhere at least 1 / 1.5."""
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
OWN, GRAM = "qreg_boost exact", "one X'X"
EXACT = 1e-8
ENOUGH = 0.1
"""Seconds that a contender may take in one round if it needs more than one call for that."""
SLOW = 10.0
"""A contender whose first call takes so many seconds is not called again."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Timed:
    """Seconds of one call: the median and the least."""

    median: float
    least: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two rounds of the small sizes and the fastest peers")
    parser.add_argument("--threads", type=int, default=1, help="threads of every contender")
    parser.add_argument("--repeats", type=int, help="rounds whose median counts (default: 5, 2 if quick)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what the seconds are")
    parser.add_argument("--sizes", type=int, nargs="*", choices=range(len(SIZES)), help="which sizes (default: all)")
    parser.add_argument("--taus", type=float, nargs="*", default=TAUS, help="which levels")
    options = parser.parse_args(arguments)
    limit_threads(options.threads)
    rounds = options.repeats or (2 if options.quick else 5)
    sizes = range(3 if options.quick else len(SIZES)) if options.sizes is None else options.sizes
    print(describe("qreg_boost", "numpy", "scipy", "pinball-qr", "pyqreg2", "pyfixest", "statsmodels", "scikit-learn"))
    if not options.quick:
        import quantreg_contenders

        print(quantreg_contenders.describe_r())
    print(f"{options.threads} thread(s) each; {options.clock} seconds over {rounds} rounds\n", flush=True)
    clock = CLOCKS[options.clock]
    for number in sizes:
        for tau in options.taus:
            _compare(SIZES[number], tau, rounds, clock, options.quick)
    _several(clock, 20 if options.quick else 99)


def _compare(size: tuple[int, int], tau: float, rounds: int, clock: Clock, quick: bool) -> None:
    import quantreg_contenders as contenders

    n, p = size
    problem = contenders.Problem(*contenders.simulate(n, p), tau)
    fits = {OWN: contenders.own("exact"), "qreg_boost interior_point": contenders.own("interior_point")}
    fits |= contenders.peers(n, p, quick)
    fits[OWN](problem)  # compiles, where nothing is kept from an earlier run
    losses, seconds = {}, {}
    for name, fit in fits.items():
        begun = clock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses[name] = problem.loss(fit(problem))
        seconds[name] = Timed(clock() - begun, clock() - begun)
    again = {name: (lambda fit=fit: fit(problem)) for name, fit in fits.items() if seconds[name].least < SLOW}
    calls: dict[str, Callable[[], object]] = {GRAM: lambda: problem.X.T @ problem.X, **again}
    seconds |= _timed(calls, rounds, clock)
    least = min(losses.values())
    above = {name: loss / least - 1 for name, loss in losses.items()}
    if above[OWN] > EXACT:
        raise AssertionError(f"The exact solver is not the least at n={n}, p={p}, tau={tau}: {losses}.")
    _print_table(size, tau, seconds, above)


def _timed(calls: dict[str, Callable[[], object]], rounds: int, clock: Clock) -> dict[str, Timed]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begun = clock()
            while True:
                start = clock()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call()
                now = clock()
                taken[name].append(now - start)
                if now - begun + taken[name][-1] > ENOUGH:
                    break
    return {name: Timed(median(values), min(values)) for name, values in taken.items()}


def _print_table(size: tuple[int, int], tau: float, seconds: dict[str, Timed], above: dict[str, float]) -> None:
    n, p = size
    own, gram = seconds[OWN], seconds[GRAM]
    print(f"n={n:,} p={p} tau={tau} (load {load()})")
    print(f"  {'':<28}{'median s':>10}{'least s':>10}{'/ exact':>9}{'/ one':>9}{'loss above least':>18}")
    for name, taken in seconds.items():
        off = f"{above[name]:18.1e}" if name in above else f"{'':>18}"
        note = "" if above.get(name, 0.0) <= EXACT else "  not exact"
        ratios = f"{taken.median / own.median:9.2f}{taken.median / gram.median:9.1f}"
        print(f"  {name:<28}{taken.median:10.5f}{taken.least:10.5f}{ratios}{off}{note}")
    peers = [name for name, off in above.items() if not name.startswith("qreg_boost") and off <= EXACT]
    if peers:
        best = min(peers, key=lambda name: seconds[name].median)
        fastest = min(peers, key=lambda name: seconds[name].least)
        wanted = WANTED.get(size, 1 / 1.5)
        print(
            f"  fastest exact peer: {best}, {seconds[best].median / own.median:.2f} times as long (wanted "
            f"{wanted:.2f}); by the least, {fastest}, {seconds[fastest].least / own.least:.2f}"
        )
    print(flush=True)


def _several(clock: Clock, count: int) -> None:
    import quantreg_contenders as contenders

    from qreg_boost.quantreg.solvers import SOLVERS, solve_several

    y, X = contenders.simulate(50_000, 20)
    taus = [i / (count + 1) for i in range(1, count + 1)]
    solve_several(X, y, taus[:2])
    start = clock()
    together = solve_several(X, y, taus)
    middle = clock()
    single = [SOLVERS["exact"](X, y, tau) for tau in taus]
    end = clock()
    worst = max(abs(a.objective / b.objective - 1) for a, b in zip(together, single, strict=True))
    print(f"{count} levels, n=50,000 p=20 (load {load()})")
    print(f"  {middle - start:.2f} s at once, {end - middle:.2f} s one by one; losses differ by {worst:.0e} at most")


if __name__ == "__main__":
    main()
