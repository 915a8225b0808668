"""Importing the package is cheap: nothing heavy comes along, and nothing is set up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Optional, compiling at import, or most of a second each.
HEAVY = ("cvxopt", "dask", "matplotlib", "numba", "pytest", "rpy2", "scipy.stats", "sklearn", "statsmodels.api")


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """Names of all modules after ``import qreg_boost`` in a new process."""
    code = "import json, sys, qreg_boost; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", HEAVY)
def test_import_leaves_out(module: str, imported: set[str]) -> None:
    assert module not in imported


def test_import_brings_the_package(imported: set[str]) -> None:
    assert {"qreg_boost", "qreg_boost.datasets", "numpy"} <= imported


def test_import_is_silent() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:qreg_boost", "-c", "import qreg_boost"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "" and done.stderr == ""


def test_public_names_exist() -> None:
    import qreg_boost

    assert [name for name in qreg_boost.__all__ if not hasattr(qreg_boost, name)] == []
    assert "sklearn" not in qreg_boost.__all__ and "r" not in qreg_boost.__all__


def test_results_of_every_kind_are_public() -> None:
    """Whatever a formula function or `load` returns has a name to test for."""
    import qreg_boost
    from qreg_boost.api_files import _PROCESSES, _RESTORERS

    assert [name for name in (*_RESTORERS, *_PROCESSES) if name not in qreg_boost.__all__] == []


def test_errors_and_warnings_have_a_public_name() -> None:
    import qreg_boost
    from qreg_boost.base import checks

    own = [
        name
        for name, kind in vars(checks).items()
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == checks.__name__
    ]
    assert own and [name for name in own if name not in qreg_boost.errors.__all__] == []
    assert all(hasattr(qreg_boost.errors, name) for name in qreg_boost.errors.__all__)


def test_version_is_that_of_the_installed_package() -> None:
    from importlib.metadata import version

    import qreg_boost

    assert qreg_boost.__version__ == version("qreg_boost")


def test_version_is_that_of_the_citation() -> None:
    import qreg_boost

    citation = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {qreg_boost.__version__}\n" in citation
