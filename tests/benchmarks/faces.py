"""Repeat the face detection of Zheng (2012), Figs 6 and 7, on the CBCL faces of ``QREG_BOOST_DATA``.

    python tests/benchmarks/faces.py [--mstop 200] [--every 1] [--plot faces.png] [--peers] [--quick]

2429 faces and 2429 other images of 16 x 16 pixels, half of each to fit and half to test; the 6449 Haar features of
`qreg_boost.haar_features`. QBC with stumps at tau 0.5 and 0.25, discrete AdaBoost with stumps, and the median
classifier over 20 splits. Stumps compare all cuts; with `--binned` those of 255 bins, the default at this size.
The paper has 3000 + 3000 images of another source and "around 6000" features: its curves are not ours. The CBCL faces
are of few people, so a random half knows most of them: errors are lower than on strangers.

`--peers`, instead: CPU seconds and peak memory of 100 iterations, each contender in a new process with one thread, from
arrays, compiled code cached; scikit-learn's AdaBoostClassifier does `--peer-iterations` of them, scaled up to 100.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from machine import describe, limit_threads

CONTENDERS = ("QBC", "QBC, all cuts", "AdaBoost", "AdaBoost, all cuts", "scikit-learn AdaBoost")
SHOWN = (1, 5, 10, 20, 40, 60, 80, 100, 150, 200, 300, 400, 500)
PAPER_MEDIAN = "14.42 / 21.78 / 7.07"


@dataclass(frozen=True)
class Half:
    """Labels (n,), 1 for a face, and Haar features (n, p), of the half to fit and the half to test."""

    y: object
    X: object
    y_test: object
    X_test: object


def halves(every: int, seed: int) -> Half:
    """Return a random half of the faces and of the others to fit, the rest to test; each `every`-th feature."""
    import numpy as np

    import qreg_boost as qb

    images, label = images_and_labels()
    X = np.ascontiguousarray(qb.haar_features(images)[:, ::every])
    train = half_of_each(label, np.random.default_rng(seed))
    return Half(label[train], X[train], label[~train], X[~train])


def images_and_labels():
    """Return images (4858, 16, 16) and labels (4858,)."""
    import qreg_boost as qb

    faces = qb.datasets.load("faces")
    return faces.filter(regex="^p").to_numpy().reshape(-1, 16, 16), faces["label"].to_numpy()


def half_of_each(label, source):
    """Return which rows (n,) to fit: a random half of each class."""
    import numpy as np

    train = np.zeros(len(label), dtype=bool)
    for value in (0, 1):
        rows = np.flatnonzero(label == value)
        train[source.permutation(rows)[: (len(rows) + 1) // 2]] = True
    return train


def model_of(name: str, y, X, mstop: int, progress: bool = False):
    """Return a model by name, to be fitted."""
    import qreg_boost as qb
    from qreg_boost.boosting.learners import Stump

    shared = {"event": 1, "mstop": mstop, "progress": progress}
    shared["learner"] = Stump(bins=None if "all cuts" in name else "auto")
    if name.startswith("AdaBoost"):
        return qb.AdaBoost(y, X, **shared)
    return qb.QBC(y, X, tau=0.25 if "tau 0.25" in name else 0.5, **shared)


def curves(half: Half, mstop: int, bins: str) -> dict:
    """Return for each classifier a frame by iteration: training and test error, false positive and negative rates."""
    found = {}
    for name in ("QBC, tau 0.5", "QBC, tau 0.25", "AdaBoost"):
        begin = time.perf_counter()
        fit = model_of(f"{name}{bins}", half.y, half.X, mstop, progress=True).fit()
        print(f"{name}: {fit.mstop} iterations in {time.perf_counter() - begin:.2f} s", file=sys.stderr, flush=True)
        test = fit.evaluate_path(half.X_test, half.y_test)
        test.insert(0, "training", fit.error_path)
        found[name] = test
    return found


def print_curves(found: dict) -> None:
    """Print the curves at some iterations, in per cent."""
    print("error in per cent: training / test; of the others flagged as faces (FP) / of the faces missed (FN), test")
    print(f"{'iteration':>9}  " + "  ".join(f"{name:>29}" for name in found))
    last = max(len(curve) - 1 for curve in found.values())
    for m in (m for m in SHOWN if m <= last):
        cells = []
        for curve in found.values():
            at = 100.0 * curve.iloc[min(m, len(curve) - 1)]
            cells.append(f"{at['training']:6.2f} /{at['error_rate']:6.2f};{at['fp_rate']:6.2f} /{at['fn_rate']:6.2f}")
        print(f"{m:9}  " + "  ".join(f"{cell:>29}" for cell in cells))
    print(flush=True)


def plot_curves(found: dict, path: str) -> None:
    """Draw Figs 6 and 7: test error, false positive rate and false negative rate by iteration."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4))
    titles = {"error_rate": "test error", "fp_rate": "false positive rate", "fn_rate": "false negative rate"}
    for ax, (column, title) in zip(axes, titles.items(), strict=True):
        for name, curve in found.items():
            ax.plot(curve.index[1:], 100.0 * curve[column].iloc[1:], label=name, linewidth=1.2)
        ax.set(xlabel="iteration", ylabel="per cent", title=title, ylim=(0.0, None))
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"Figs 6 and 7: {path}\n")


def print_median_classifier(every: int, repeats: int = 20) -> None:
    """Print the mean error of the median classifier over random halves."""
    import numpy as np

    import qreg_boost as qb

    images, label = images_and_labels()
    X = np.ascontiguousarray(qb.haar_features(images)[:, ::every])
    rows = []
    for seed in range(repeats):
        train = half_of_each(label, np.random.default_rng(seed))
        fit = qb.MedianClassifier(label[train], X[train], event=1).fit()
        flagged, face = fit.predict(X[~train]).to_numpy() == 1, label[~train] == 1
        rows.append([np.mean(flagged != face), flagged[~face].mean(), (~flagged[face]).mean()])
    error, fp, fn = 100.0 * np.mean(rows, axis=0)
    print(f"median classifier, {repeats} splits, error / FP / FN: {error:.2f} / {fp:.2f} / {fn:.2f} [{PAPER_MEDIAN}]\n")


def print_peers(every: int, iterations: int) -> None:
    """Print CPU seconds and peak memory of 100 iterations, each contender in a new process."""
    print(describe("qreg_boost", "numpy", "numba", "scikit-learn"))
    print(f"{'100 iterations':24}{'CPU s':>9}{'MB beyond arrays':>18}")
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    for name in CONTENDERS:
        command = [sys.executable, __file__, "--one", name, "--every", str(every), "--peer-iterations", str(iterations)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        seconds, beyond = map(float, done.stdout.split())
        print(f"{name:24}{seconds:9.2f}{beyond / 1e6:18.0f}", flush=True)


def _measure(name: str, every: int, iterations: int) -> tuple[float, int]:
    """Return CPU seconds of 100 iterations from arrays, and peak bytes beyond what was in use."""
    from memory import _in_use, _peak

    half = halves(every, seed=0)
    few = half.X[::20, :50].copy()
    if name == "scikit-learn AdaBoost":
        from sklearn.ensemble import AdaBoostClassifier

        AdaBoostClassifier(n_estimators=2).fit(few, half.y[::20])
        before, begin = _in_use(), time.process_time()
        AdaBoostClassifier(n_estimators=iterations).fit(half.X, half.y)
        return (time.process_time() - begin) * 100 / iterations, _peak() - before
    model_of(name, half.y[::20], few, 2).fit()
    before, begin = _in_use(), time.process_time()
    model_of(name, half.y, half.X, 100).fit()
    return time.process_time() - begin, _peak() - before


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, and print the curves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mstop", type=int, default=200, help="iterations")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="use each K-th of the 6449 features")
    parser.add_argument("--binned", action="store_true", help="stumps with 255 bins, the default at this size")
    parser.add_argument("--plot", metavar="FILE", help="draw Figs 6 and 7 to a file")
    parser.add_argument("--seed", type=int, default=0, help="of the split")
    parser.add_argument("--peers", action="store_true", help="only CPU seconds and memory beside scikit-learn's")
    parser.add_argument("--peer-iterations", type=int, default=10, help="iterations of scikit-learn, scaled up to 100")
    parser.add_argument("--quick", action="store_true", help="each 8th feature, 100 iterations")
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    limit_threads(1)
    every, mstop = (8, 100) if options.quick else (options.every, options.mstop)
    if options.one:
        print(*_measure(options.one, every, options.peer_iterations))
        return
    import qreg_boost as qb

    if not qb.datasets.info("faces").available:
        parser.exit(1, "faces is not here: set QREG_BOOST_DATA to the folder of the public tables.\n")
    if options.peers:  # from a process that has not grown: its children inherit its peak
        print_peers(every, options.peer_iterations)
        return
    begin = time.perf_counter()
    half = halves(every, options.seed)
    print(
        f"qreg_boost {qb.__version__}: {len(half.y)} images to fit, {len(half.y_test)} to test, {half.X.shape[1]} "
        f"features (in {time.perf_counter() - begin:.1f} s with reading), seed {options.seed}\n"
    )
    found = curves(half, mstop, "" if options.binned else ", all cuts")
    print_curves(found)
    if options.plot:
        plot_curves(found, options.plot)
    print_median_classifier(every)


if __name__ == "__main__":
    main()
