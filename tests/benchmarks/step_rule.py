"""The gap to the exact optimum under each step rule, by data set, quantile level and iteration.

Run as ``python tests/benchmarks/step_rule.py [--jitter]`` with QREG_BOOST_DATA set to the folder of the public tables.
Prints, in per cent of the least check loss, the gap after 100, 500 and 2000 iterations for the adaptive step (the
default), the fixed one, and the adaptive one with the learner "joint", all unit-free; then the worst over the sets.
With --jitter, the adaptive rule's worst gap at 2000 iterations over eight lengths of the step, .093 to .107: single runs are
chaotic, and one lucky run proves little.
"""

from __future__ import annotations

import argparse

import numpy as np

import qreg_boost as qb

STOPS = (100, 500, 2000)
TAUS = (0.1, 0.5, 0.9)
SETS = {
    "engel": "foodexp ~ income",
    "wine_red": "quality ~ .",
    "concrete_strength": "ConcreteCompressiveStrength ~ .",
    "california_housing": "median_house_value ~ .",
    "concrete_slump": "SLUMP_cm ~ . - No - FLOW_cm - Strength_28day_MPa",
    "bodyfat": "DEXfat ~ .",
    "barro": "`y.net` ~ . - country_period",
}


RULES = {"adaptive": {"step": "adaptive"}, "fixed": {"step": "fixed"}, "joint": {"learner": "joint"}}


def gaps(name: str, tau: float, rule: str, nu: float = 0.1) -> list[float]:
    """Return the gap in per cent at each stop."""
    fit = qb.qbr(SETS[name], qb.datasets.load(name), tau=tau, mstop=max(STOPS), nu=nu, **RULES[rule])
    return [100.0 * fit.at(m).optimality_gap for m in STOPS]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jitter", action="store_true", help="also runs with other lengths of the step")
    jitter = parser.parse_args().jitter
    print(f"{'':20s} tau   " + "".join(f"{step + ' @' + str(m):>15s}" for step in RULES for m in STOPS))
    worst = np.zeros(len(RULES) * len(STOPS))
    for name in SETS:
        for tau in TAUS:
            row = np.concatenate([gaps(name, tau, rule) for rule in RULES])
            worst = np.maximum(worst, row)
            print(f"{name:20s} {tau:.1f}   " + "".join(f"{gap:15.3f}" for gap in row), flush=True)
    print(f"{'worst':20s}       " + "".join(f"{gap:15.3f}" for gap in worst))
    if jitter:
        lengths = np.linspace(0.093, 0.107, 8)
        print("\nadaptive, worst over the taus after 2000 iterations, by length of the step")
        print(f"{'':20s}" + "".join(f"{nu:9.3f}" for nu in lengths))
        for name in SETS:
            row = [max(gaps(name, tau, "adaptive", nu)[-1] for tau in TAUS) for nu in lengths]
            print(f"{name:20s}" + "".join(f"{gap:9.2f}" for gap in row), flush=True)


if __name__ == "__main__":
    main()
