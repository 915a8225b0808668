"""Redraw the design of Table 5 of Zheng (2012) over many seeds: the exact L1 path beside quantile boosting.

    python tests/benchmarks/table5.py [--seeds 20]

takes about a minute at 20 seeds. A seed draws 500 rows to fit on and 10,000 to test on; closeness is the sum of
absolute differences between estimated and true slopes, test loss the mean check loss, "above truth" the test loss less
that of the true coefficients on the same rows. The paper prints one draw, and neither its seed nor its number of
iterations: nothing here is set to meet it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

import qreg_boost as qb

TRAIN, TEST, TAU = 500, 10_000, 0.5
LONGEST = 1000
"""Iterations among which cross-validation looks for a stop."""
PRINTED = {"L1-QReg": ("0.3813", "0.5142"), "QBR": ("0.3184", "0.5132")}
"""Closeness and test loss in the paper, of one sample."""
STEPS: dict[str, dict[str, str | None]] = {
    "QBR": {},
    "QBR, fixed step": {"step": "fixed"},
    "QBR, 0.1 in units of y": {"step": "fixed", "step_scale": None},
}
"""The default step rule, a fixed step that follows the scale of y, and the step of the paper as written."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the samples, fit, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="number of samples; the seeds are 0, 1, ...")
    seeds = parser.parse_args(arguments).seeds
    if seeds < 2:
        parser.error("a standard error needs --seeds of at least 2")
    print_table(pd.concat([measure(seed) for seed in range(seeds)]), seeds)


def measure(seed: int) -> pd.DataFrame:
    """Return one row per fit to the sample of a seed: closeness, losses, sum of |b|, slopes not 0, iterations."""
    source = np.random.default_rng(seed)
    train = qb.datasets.simulate_zheng2012(TRAIN, TAU, source)
    test = qb.datasets.simulate_zheng2012(TEST, TAU, source)
    truth = train.coefficients.drop("Intercept")
    least = loss(test.data["y"] - test.quantile)
    rows = {}
    for name, fit, stop in fits(train.data):
        slopes = fit.params.reindex(truth.index).fillna(0.0)
        found = loss(test.data["y"] - fit.predict(test.data))
        rows[name] = {
            "closeness": float((slopes - truth).abs().sum()),
            "test loss": found,
            "above truth": found - least,
            "sum |b|": float(slopes.abs().sum()),
            "slopes": int((slopes != 0).sum()),
            "iterations": stop,
        }
    return pd.DataFrame(rows).T.rename_axis("fit")


def loss(resid: pd.Series) -> float:
    """Return the mean check loss of residuals."""
    return float((resid * (TAU - (resid < 0))).mean())


def fits(data: pd.DataFrame) -> Iterator[tuple[str, qb.base.results.FitResults, float]]:
    """Return the fits, each with its name and its number of boosting iterations, NaN for the L1 path."""
    path = qb.l1qreg("y ~ .", data, TAU)
    chosen = {
        "L1 path, its end (qreg)": path.at(s=path.knots["s"].iloc[-1]),
        "L1 path, SIC": path.select("sic"),
        "L1 path, 10-fold CV": path.select("cv", progress=False),
    }
    for name, fit in chosen.items():
        yield name, fit, np.nan
    for label, step in STEPS.items():
        boosted = qb.qbr("y ~ .", data, TAU, mstop=LONGEST, progress=False, **step)
        stops = {"100 iterations": 100, "500 iterations": 500, "10-fold CV": boosted.cv(progress=False).mstop}
        for name, stop in stops.items():
            yield f"{label}, {name}", boosted.at(stop), stop


def print_table(found: pd.DataFrame, seeds: int) -> None:
    """Print means over the seeds with their standard errors, and beneath them what the paper prints."""
    print(f"qreg_boost {qb.__version__}: {TRAIN} rows to fit, {TEST} to test, tau = {TAU}, seeds 0 to {seeds - 1}")
    print("mean (standard error of the mean over seeds)\n")
    by_fit = found.groupby(level="fit", sort=False)
    mean, error = by_fit.mean(), by_fit.std(ddof=1) / np.sqrt(seeds)
    lines = [("", "closeness", "test loss", "above truth", "sum |b|", "slopes", "iterations")]
    for name in mean.index:
        cells = [
            f"{mean.at[name, column]:.{digits}f} ({error.at[name, column]:.{digits}f})"
            for column, digits in (
                ("closeness", 4),
                ("test loss", 4),
                ("above truth", 4),
                ("sum |b|", 3),
                ("slopes", 1),
                ("iterations", 0),
            )
        ]
        lines.append((str(name), *(cell if "nan" not in cell else "" for cell in cells)))
    lines += [(f"paper, one sample: {name}", *printed, "", "", "", "") for name, printed in PRINTED.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        print("  ".join(cells).rstrip())
    spread = by_fit[["closeness", "test loss"]].agg(["min", "max"])
    print("\nSmallest and largest over the seeds:")
    for name in ("L1 path, its end (qreg)", "QBR, 500 iterations"):
        low = spread.loc[name]
        print(
            f"{name}: closeness {low['closeness', 'min']:.4f} to {low['closeness', 'max']:.4f}, "
            f"test loss {low['test loss', 'min']:.4f} to {low['test loss', 'max']:.4f}"
        )


if __name__ == "__main__":
    main()
