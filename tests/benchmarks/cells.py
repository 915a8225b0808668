"""How good the cells of P(event) are: the truth of two simulated logits, event rates on German credit, coverage.

``python tests/benchmarks/cells.py [truth] [credit] [coverage]`` prints the tables named, or all. The credit table needs
QREG_BOOST_DATA.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import qreg_boost as qb
from qreg_boost.base.checks import OneClassWarning

TAUS = [round(0.1 * k, 1) for k in range(1, 10)]
SIZES = (500, 2000, 8000)
NEW = 5000
REPEATS = 5


@dataclass(frozen=True)
class Truth:
    """A logit: its log-odds, and the learner and stop it is fitted with."""

    name: str
    log_odds: Callable[[np.ndarray], np.ndarray]
    learner: str
    mstop: int


LINEAR = ("linear: x1 - x2 + x3/2", lambda X: X[:, 0] - X[:, 1] + 0.5 * X[:, 2])
ADDITIVE = ("additive: 2 sin(2 x1) + x2^2 - 1", lambda X: 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0)
TRUTHS = (Truth(*LINEAR, "linear", 100), Truth(*ADDITIVE, "spline", 100), Truth(*ADDITIVE, "stump", 300))


def draw(truth: Truth, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels (n,), X (n, 4) and the true P (n,)."""
    X = rng.normal(size=(n, 4))
    p = 1.0 / (1.0 + np.exp(-truth.log_odds(X)))
    return np.where(rng.random(n) < p, "yes", "no"), X, p


def fitted(truth: Truth, y: np.ndarray, X: np.ndarray) -> qb.QBCProcess:
    model = qb.QBC(y, X, TAUS, event="yes", learner=truth.learner, mstop=truth.mstop, progress=False)
    return model.fit()


def within(p: np.ndarray, low: pd.Series, high: pd.Series, slack: float = 0.0) -> float:
    """Return the share of P that lie between low - slack and high + slack."""
    return float(((p >= low.to_numpy() - slack) & (p <= high.to_numpy() + slack)).mean())


def table_of_truth() -> pd.DataFrame:
    """Return how often the true P of new rows is in its cell, how wide cells are, and how many needed correction."""
    rows = []
    for truth in TRUTHS:
        for n in SIZES:
            found = []
            for seed in range(REPEATS):
                rng = np.random.default_rng([seed, n])
                y, X, _ = draw(truth, n, rng)
                _, new, p = draw(truth, NEW, rng)
                started = time.perf_counter()
                fits = fitted(truth, y, X)
                seconds = time.perf_counter() - started
                cell = fits.prob_cell(new)
                width = (cell["upper"] - cell["lower"]).mean()
                corrected = cell.attrs["corrected"] / len(cell)
                inside, near = within(p, cell["lower"], cell["upper"]), within(p, cell["lower"], cell["upper"], 0.05)
                found.append((inside, near, width, corrected, seconds))
            rows.append((truth.name, truth.learner, n, *np.mean(found, axis=0)))
    columns = ["truth", "learner", "n", "P inside", "P within .05 of it", "mean width", "rows corrected", "seconds"]
    return pd.DataFrame(rows, columns=columns)


def wilson(events: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return the 95 % interval of Wilson (1927) for a share."""
    share = events / n
    centre, half = share + z * z / (2 * n), z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def credit_cells(folds: int = 10, **options: object) -> pd.DataFrame:
    """Return the cells (1000 rows) of German credit out of fold, and whether the loan was bad."""
    data = qb.datasets.load("german_credit")
    data["credit"] = np.where(data.pop("credit_class") == 2, "bad", "good")
    fold = np.random.default_rng(0).permutation(len(data)) % folds
    parts = []
    for k in range(folds):
        fits = qb.qbc("credit ~ .", data[fold != k], TAUS, event="bad", progress=False, **options)
        parts.append(fits.prob_cell(data[fold == k]))
    return pd.concat(parts).sort_index().assign(bad=(data["credit"] == "bad").to_numpy())


def table_of_credit(**options: object) -> pd.DataFrame:
    """Return the event rate in every cell, with its Wilson interval."""
    cells = credit_cells(**options).round({"lower": 3, "upper": 3})
    rows = []
    for (lower, upper), part in cells.groupby(["lower", "upper"]):
        n, events = len(part), int(part["bad"].sum())
        low, high = wilson(events, n)
        rows.append((lower, upper, n, events / n, low, high, "yes" if high >= lower and low <= upper else "NO"))
    return pd.DataFrame(rows, columns=["lower", "upper", "rows", "event rate", "low", "high", "meets the cell"])


def table_of_coverage(level: float = 0.9, reps: int = 50, repeats: int = 10) -> pd.DataFrame:
    """Return how often the bootstrap interval holds the true P of 200 new rows, over samples."""
    rows = []
    for truth in TRUTHS[:2]:
        for n in SIZES[:2]:
            found = []
            for seed in range(repeats):
                rng = np.random.default_rng([seed, n, 1])
                y, X, _ = draw(truth, n, rng)
                _, new, p = draw(truth, 200, rng)
                cell = fitted(truth, y, X).prob_cell(new, level=level, reps=reps, rng=seed, progress=False)
                width = (cell["conf_high"] - cell["conf_low"]).mean()
                covered = within(p, cell["conf_low"], cell["conf_high"])
                found.append((within(p, cell["lower"], cell["upper"]), covered, width))
            rows.append((truth.name, truth.learner, n, len(found), *np.mean(found, axis=0)))
    columns = ["truth", "learner", "n", "samples", "P inside cell", f"P inside level={level:g}", "mean width"]
    return pd.DataFrame(rows, columns=columns)


def show(title: str, table: pd.DataFrame) -> None:
    print(f"\n{title}")
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"), flush=True)


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore", OneClassWarning)
    wanted = names or ["truth", "credit", "coverage"]
    if "truth" in wanted:
        show(f"True P of {NEW} new rows and its cell, taus .1 to .9, mean of {REPEATS} samples", table_of_truth())
    if "credit" in wanted:
        if not qb.datasets.info("german_credit").available:
            print("\nGerman credit is not here: set QREG_BOOST_DATA to the folder that has it.")
        else:
            show("German credit, 10-fold out of fold, linear learner: bad loans per cell", table_of_credit())
            show("The same with stumps, 300 iterations", table_of_credit(learner="stump", mstop=300))
    if "coverage" in wanted:
        show("Bootstrap interval, 50 replicates", table_of_coverage())


if __name__ == "__main__":
    main(sys.argv[1:])
