"""What all tests share: the slow ones on request, R or the reason why not, hypothesis's profile, the public tables."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
for pool in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{pool}_NUM_THREADS", "1")  # the workers share the cores already

# No deadline: the first call compiles. In CI the examples are the same in every run.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="run the tests marked 'slow' too")


def pytest_report_header() -> str:
    folder = os.environ.get("QREG_BOOST_DATA") or "QREG_BOOST_DATA is not set: tests on public tables are skipped"
    return f"R: {why_no_r() or 'here'}\npublic tables: {folder}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--run-slow") or "slow" in (config.getoption("markexpr") or ""):
        return
    skip = pytest.mark.skip(reason="slow; run with --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@functools.cache
def why_no_r() -> str | None:
    """Return why R cannot be reached, without starting it; None if it seems to be there."""
    if shutil.which("R") is None and not os.environ.get("R_HOME"):
        return "R is not on PATH; `make test` says how to get it"
    if importlib.util.find_spec("rpy2") is None:
        return "rpy2 is not installed; `make test` installs the version that fits the R at hand"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("r") is None or why_no_r() is None:
        return
    if os.environ.get("QREG_BOOST_REQUIRE_R") == "1":
        pytest.fail(f"QREG_BOOST_REQUIRE_R=1, but {why_no_r()}", pytrace=False)
    pytest.skip(str(why_no_r()))


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close the figures that a test has opened."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def public_table():
    """Return a function that loads a public table, or skips the test where the table is not on this machine."""
    from qreg_boost import datasets

    def load(name: str):
        about = datasets.info(name)
        if not about.available:
            pytest.skip("public table not here: set QREG_BOOST_DATA to the folder that has it")
        return datasets.load(name)

    return load
