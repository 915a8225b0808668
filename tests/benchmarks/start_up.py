"""Seconds to import the package, and of the first fit in a new process, compiled kernels cached.

    python tests/benchmarks/start_up.py [--repeats 5]

Wanted: an import no slower than that of statsmodels.formula.api, and a first fit under 1 s above the second.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from statistics import median

from machine import describe

IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
FITS = """
import time
import numpy as np
import qreg_boost as qb
import pandas as pd

rng = np.random.default_rng(0)
x = rng.standard_normal((1000, 10))
y = x[:, 0] + rng.standard_t(3, 1000)
data = pd.DataFrame(x, columns=[f"x{{j}}" for j in range(10)]).assign(y=y)

def fit():
    start = time.perf_counter()
    {}
    return time.perf_counter() - start

print(fit(), fit())
"""
FIRST = {
    "QBR(y, X).fit()": "from qreg_boost.boosting.model import QBR; QBR(y, x, tau=0.5).fit()",
    'qbr("y ~ .", data)': 'qb.qbr("y ~ .", data, tau=0.5)',
    "... and its summary": 'str(qb.qbr("y ~ .", data, tau=0.5).summary())',
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5, help="fresh processes whose median counts")
    repeats = parser.parse_args(arguments).repeats
    print(describe("qreg_boost", "numba", "statsmodels", "pandas"))
    print(f"medians of {repeats} fresh processes\n")
    modules = ("statsmodels.formula.api", "qreg_boost", "numpy", "pandas", "numba")
    taken = _rounds({module: IMPORT.format(module) for module in modules}, repeats)
    wanted = median(taken["statsmodels.formula.api"])[0]
    print(f"{'import':<30}{'seconds':>10}{'ratio':>8}{'wanted':>8}")
    for module, values in taken.items():
        print(f"{module:<30}{median(value[0] for value in values):10.3f}", end="")
        print(f"{median(value[0] for value in values) / wanted:8.2f}{1.0:8.1f}" if module == "qreg_boost" else "")
    taken = _rounds({name: FITS.format(call) for name, call in FIRST.items()}, repeats)
    print(f"\n{'fit in a new process':<30}{'first':>10}{'second':>10}{'above':>10}{'wanted':>8}")
    for name, values in taken.items():
        first, second = median(value[0] for value in values), median(value[1] for value in values)
        above = median(value[0] - value[1] for value in values)
        print(f"{name:<30}{first:10.3f}{second:10.4f}{above:10.3f}{'< 1.0':>8}")


def _rounds(codes: dict[str, str], repeats: int) -> dict[str, list[tuple[float, ...]]]:
    """Return what each code prints in `repeats` new processes, taking turns after one round that fills the caches."""
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in codes}
    for turn in range(repeats + 1):
        for name, code in codes.items():
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            if turn > 0:
                taken[name].append(tuple(map(float, done.stdout.split())))
    return taken


if __name__ == "__main__":
    main()
