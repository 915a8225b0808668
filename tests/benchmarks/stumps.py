"""Stumps and trees with the check loss: this package beside LightGBM and scikit-learn, to the same training loss.

LightGBM fits 200 trees of 2 leaves (100 in the wide case) with a learning rate of 0.1; this package stops at the
first iteration whose training loss is not above LightGBM's. Whole fits from arrays, binning included on both sides, the
second call; all with the same number of threads. Then trees of depth 3, 200 on both sides.

Usage: python tests/benchmarks/stumps.py [--threads 1] [--repeat 3] [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from machine import describe, limit_threads

SIZES = ((1000, 10, 200), (5000, 11, 200), (100_000, 50, 200), (200, 5000, 100))
WANTED = {(1000, 10): 5.0, (5000, 11): 5.0, (100_000, 50): 4.0, (200, 5000): 1.0}
NU = 0.1


def seconds(call: Callable[[], object], repeat: int) -> float:
    """Return the least time of `repeat` calls after a first one that does not count."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="leave scikit-learn's slow boosting out")
    options = parser.parse_args()
    limit_threads(options.threads)
    print(describe("numpy", "numba", "lightgbm", "scikit-learn"))
    print(f"{options.threads} thread(s); least of {options.repeat} calls, seconds; ratios are theirs over ours\n")
    _stumps(options.threads, options.repeat, options.quick)
    _trees(options.threads, options.repeat)


def _stumps(threads: int, repeat: int, quick: bool) -> None:
    import numpy as np
    from contenders import simulate

    from qreg_boost.boosting.losses import CheckLoss
    from qreg_boost.boosting.model import QBR

    print(
        f"{'n':>7}{'p':>6}{'tau':>5}{'ours':>9}{'at':>5}{'LightGBM':>10}{'ratio':>8}{'wanted':>8}{'GBR':>9}{'HGB':>9}"
    )
    for n, p, count in SIZES:
        y, X = simulate(n, p)
        for tau in (0.5, 0.9):
            reach = _lightgbm(X, y, tau, count, threads, 2)
            loss = CheckLoss(tau).risk(y, reach().predict(X), np.ones(n))
            risks = QBR(y, X, tau, learner="stump", mstop=2000, nu=NU, progress=False).fit().path.risks
            below = np.flatnonzero(risks <= loss)
            if not len(below):
                print(f"{n:>7}{p:>6}{tau:>5}  never reached LightGBM's loss of {loss:.6g}; at 2000 {risks[-1]:.6g}")
                continue
            stop = int(below[0])
            model = QBR(y, X, tau, learner="stump", mstop=stop, nu=NU, progress=False)
            own = seconds(lambda model=model: model.changed().fit(), repeat)
            theirs = seconds(reach, repeat)
            slow = n * p * count <= 2e7 and not quick
            others = "".join(
                f"{seconds(fit, 1) / own:>9.1f}" if slow or name == "HGB" else f"{'-':>9}"
                for name, fit in _sklearn(X, y, tau, count)
            )
            ours = f"{n:>7}{p:>6}{tau:>5}{own:>9.4f}{stop:>5}{theirs:>10.4f}{theirs / own:>8.1f}"
            print(f"{ours}{WANTED[n, p]:>8.1f}{others}", flush=True)


def _trees(threads: int, repeat: int) -> None:
    import numpy as np
    from contenders import simulate

    from qreg_boost.boosting.learners import Tree
    from qreg_boost.boosting.losses import CheckLoss
    from qreg_boost.boosting.model import QBR

    n, p, count = 100_000, 50, 200
    y, X = simulate(n, p)
    print(f"\nTrees of depth 3, {count} of them, n = {n}, p = {p}")
    print(f"{'tau':>5}{'ours':>9}{'loss':>10}{'LightGBM':>10}{'loss':>10}{'ratio':>8}")
    for tau in (0.5, 0.9):
        model = QBR(y, X, tau, learner=Tree(3), mstop=count, nu=NU, progress=False)
        theirs = _lightgbm(X, y, tau, count, threads, 8, max_depth=3)
        own_loss = model.changed().fit().risk
        loss = CheckLoss(tau).risk(y, theirs().predict(X), np.ones(n))
        ours, lightgbm = seconds(lambda model=model: model.changed().fit(), repeat), seconds(theirs, repeat)
        print(f"{tau:>5}{ours:>9.3f}{own_loss:>10.0f}{lightgbm:>10.3f}{loss:>10.0f}{lightgbm / ours:>8.2f}", flush=True)


def _lightgbm(X, y, tau: float, count: int, threads: int, leaves: int, **more):  # type: ignore[no-untyped-def]
    import lightgbm

    settings = {
        "objective": "quantile", "alpha": tau, "num_leaves": leaves, "learning_rate": NU, "verbose": -1,
        "num_threads": threads, **more,
    }  # fmt: skip
    return lambda: lightgbm.train(settings, lightgbm.Dataset(X, y, params={"verbose": -1}), count)


def _sklearn(X, y, tau: float, count: int):  # type: ignore[no-untyped-def]
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor

    slow = GradientBoostingRegressor(loss="quantile", alpha=tau, n_estimators=count, learning_rate=NU, max_depth=1)
    fast = HistGradientBoostingRegressor(
        loss="quantile", quantile=tau, max_iter=count, learning_rate=NU, max_leaf_nodes=2, early_stopping=False
    )
    return ("GBR", lambda: slow.fit(X, y)), ("HGB", lambda: fast.fit(X, y))


if __name__ == "__main__":
    main()
