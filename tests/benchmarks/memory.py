"""Peak memory of a fit beyond the caller's own arrays, each in a new process.

    python tests/benchmarks/memory.py

Wanted: at most twice the caller's arrays, where these have a million numbers or more. Needs Linux or macOS.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from machine import describe, limit_threads

SHAPES = ((1_000_000, 1), (1_000_000, 10), (100_000, 50), (20_000, 500), (200, 5_000))
WANTED = 2.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--one", nargs=4, metavar=("N", "P", "ORDER", "MSTOP"), help="one case, in this process")
    one = parser.parse_args(arguments).one
    if one:
        print(*_measure(int(one[0]), int(one[1]), one[2], int(one[3])))
        return
    print(describe("qreg_boost", "numpy", "numba"), end="\n\n")
    head = f"{'n':>9}{'p':>7}{'order':>7}{'mstop':>7}{'arrays MB':>11}{'beyond MB':>11}{'times':>7}{'wanted':>8}"
    print(head)
    # large blocks go straight back to the system, so that a peak is one of this fit
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    for n, p in SHAPES:
        for order in "CF":
            command = [sys.executable, __file__, "--one", str(n), str(p), order, "200"]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            arrays, beyond = map(float, done.stdout.split())
            print(
                f"{n:9,}{p:7,}{order:>7}{200:7}{arrays / 1e6:11.1f}{beyond / 1e6:11.1f}{beyond / arrays:7.2f}"
                f"{WANTED:8.1f}{'   too much' if beyond > WANTED * arrays else ''}",
                flush=True,
            )


def _measure(n: int, p: int, order: str, mstop: int) -> tuple[int, int]:
    """Return the bytes of the caller's arrays, and the peak of a fit beyond what was in use before it."""
    limit_threads(1)
    import numpy as np

    from qreg_boost.boosting.model import QBR

    rng = np.random.default_rng(1)
    few = rng.standard_normal((2000, 3))
    QBR(few[:, 0] + rng.standard_t(3, 2000), few, mstop=mstop).fit()  # what is imported and compiled does not count
    X = rng.standard_normal((n, p)) if order == "C" else rng.standard_normal((p, n)).T
    y = rng.standard_t(3, n)
    for j in range(min(p, 5)):
        y += X[:, j]
    before = _in_use()
    QBR(y, X, tau=0.9, mstop=mstop).fit()
    return X.nbytes + y.nbytes, _peak() - before


def _peak() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _in_use() -> int:
    """Return the bytes in use now; where the system does not tell, the most there were so far."""
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return _peak()


if __name__ == "__main__":
    main()
