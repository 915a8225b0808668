"""Measure the step rules on the regression tables of ``QREG_BOOST_DATA``; print the tables of the page step-rule.

``python tests/benchmarks/step_rule.py`` takes half a minute to some minutes. Each row is a table and a level; the
figures are the distances to the exact optimum in per cent after 100, 500 and 2000 iterations. Runs with slightly longer
and shorter steps say how far a single one can be trusted.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import qreg_boost as qb

FORMULAS = {
    "engel": "foodexp ~ income",
    "wine_quality_red": "quality ~ .",
    "concrete_strength": "ConcreteCompressiveStrength ~ .",
    "california_housing": "median_house_value ~ .",
    "concrete_slump": "SLUMP_cm ~ . - No - FLOW_cm - Strength_28day_MPa",
    "bodyfat": "DEXfat ~ .",
    "barro": "Q('y.net') ~ . - country_period",
}
HELD_OUT = {
    "diamonds": "price ~ .",
    "casp_protein": "RMSD ~ .",
    "wine_quality_white": "quality ~ .",
    "mammals": "speed ~ np.log(weight) + hoppers + specials",
    "uis": "Y ~ . - ID - TIME - CENSOR",
}
MOST_ROWS = 25_000  # of larger tables 4000 rows are drawn
TAUS = (0.1, 0.5, 0.9)
STOPS = (100, 500, 2000)
LENGTHS = (0.93, 0.95, 0.97, 1.0, 1.03, 1.05, 1.07)
RULES = {
    "fixed, half the range": {"step": "fixed", "step_scale": "range"},
    "fixed, unit-free": {"step": "fixed"},
    "default": {"step": "auto"},
    "default, componentwise": {"step": "auto", "learner": "componentwise"},
    "default, joint": {"step": "auto", "learner": "joint"},
}


def gaps(model: qb.QBR, tau: float, rule: dict[str, str], length: float) -> np.ndarray:
    """Return the distances to the optimum after `STOPS` iterations, in per cent."""
    fit = qb.QBR.from_design(model.design, tau, nu=0.1 * length, mstop=STOPS[-1], progress=False, **rule).fit()
    least = fit.optimum.objective
    # A run that ended early stays where it is.
    risks = [fit.risk_path.iloc[min(stop, fit.mstop)] for stop in STOPS]
    return 100.0 * (np.array(risks) / least - 1.0)


def measure(formulas: dict[str, str]) -> None:
    """Measure all rules on the tables that are here, and print them."""
    here = [name for name in formulas if qb.datasets.info(name).available]
    print(
        *(f"{name} is not here: set QREG_BOOST_DATA\n" for name in formulas if name not in here),
        sep="",
        file=sys.stderr,
    )
    found: dict[str, list[list[np.ndarray]]] = {rule: [] for rule in RULES}
    labels = []
    for name in here:
        data = qb.datasets.load(name)
        data = data.sample(4000, random_state=1) if len(data) > MOST_ROWS else data
        model = qb.QBR.from_formula(formulas[name], data)
        for tau in TAUS:
            labels.append(f"{name} | {tau}")
            for rule, options in RULES.items():
                found[rule].append([gaps(model, tau, options, length) for length in LENGTHS])
    if labels:
        print_table(labels, {rule: np.array(values) for rule, values in found.items()})


def print_table(labels: list[str], found: dict[str, np.ndarray]) -> None:
    """Print the nominal runs, and the worst table: of this run, as mean over lengths, and over all lengths."""
    nominal = LENGTHS.index(1.0)
    print("| table | tau | " + " | ".join(found) + " |")
    print("|---" * (len(found) + 2) + "|")
    for row, label in enumerate(labels):
        cells = [" / ".join(f"{gap:.2f}" for gap in values[row, nominal]) for values in found.values()]
        print(f"| {label} | " + " | ".join(cells) + " |")
    for title, reduce in (
        ("worst, this run", lambda values: values[:, nominal].max(axis=0)),
        ("worst, mean of 7 lengths", lambda values: values.max(axis=0).mean(axis=0)),
        ("worst, worst of 7 lengths", lambda values: values.max(axis=(0, 1))),
    ):
        cells = [" / ".join(f"{gap:.2f}" for gap in reduce(values)) for values in found.values()]
        print(f"| **{title}** | | " + " | ".join(cells) + " |")
    print()


if __name__ == "__main__":
    begin = time.perf_counter()
    measure(FORMULAS)
    measure(HELD_OUT)
    print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)
