"""What the benchmarks say about the machine, and how they hold every library to the same number of threads."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata

POOLS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")


def limit_threads(count: int) -> None:
    """Set the number of threads of all libraries; to be called before numpy is imported."""
    if "numpy" in sys.modules:
        raise RuntimeError("numpy is already imported; its number of threads cannot be set any more.")
    for pool in POOLS:
        os.environ[f"{pool}_NUM_THREADS"] = str(count)


def load() -> str:
    """Return the load averages over 1, 5 and 15 minutes."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return " ".join(f"{average:.2f}" for average in os.getloadavg())


def describe(*distributions: str) -> str:
    """Return a line or two on the machine, Python and the versions of some distributions."""
    versions = ", ".join(f"{name} {_version(name)}" for name in distributions)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_processor()}, {cores} cores, load average {load()}\n"
        f"{platform.system()}, Python {platform.python_version()}, {versions}"
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        named = []
    return (named and named[0]) or platform.processor() or platform.machine()
