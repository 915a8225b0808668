"""What is missing, and the remedy: one test per message, none of which needs R or rpy2."""

from __future__ import annotations

import importlib
import importlib.metadata
import shutil
import subprocess
import sys

import pytest

import qreg_boost.r as r
from qreg_boost.base.checks import InputError, MissingDependencyError
from qreg_boost.r import installation, session


class Machine:
    """A machine with a chosen R and rpy2: every door to the real one is shut."""

    def __init__(self, monkeypatch, tmp_path):
        self.monkeypatch, self.home = monkeypatch, tmp_path / "R"
        self.printed = {"RHOME": str(self.home), "--version": 'R version 4.2.2 (2022-10-31) -- "Innocent"'}
        monkeypatch.delenv("R_HOME", raising=False)
        monkeypatch.setattr(session, "_session", None)
        monkeypatch.setattr(shutil, "which", lambda name: None)
        monkeypatch.setattr(subprocess, "run", self.answer)
        self.rpy2(None)

    def answer(self, command, **kwargs):
        text = next((text for word, text in self.printed.items() if word in command), "")
        return subprocess.CompletedProcess(command, 0, stdout=text.encode(), stderr=b"")

    def r(self, version="4.2.2"):
        (self.home / "bin").mkdir(parents=True)
        (self.home / "bin" / "R").touch()
        self.printed["--version"] = f'R version {version} (2022-10-31) -- "Name"'
        self.monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")

    def rpy2(self, version, failure=None, parts=None):
        def look_up(name):
            found = version if name == "rpy2" else parts
            if found is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return found

        def load(name, package=None):
            if name.startswith("rpy2"):
                raise failure or AssertionError("rpy2 must not be imported here")
            return real(name, package)

        real = importlib.import_module
        self.monkeypatch.setattr(importlib.metadata, "version", look_up)
        self.monkeypatch.setattr(importlib, "import_module", load)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    return Machine(monkeypatch, tmp_path)


def test_no_r_on_the_machine(machine):
    machine.rpy2("3.5.17")
    with pytest.raises(MissingDependencyError, match=r"R was not found.*R_HOME is not set.*apt install r-base-core"):
        session.start()


def test_no_rpy2(machine):
    machine.r()
    with pytest.raises(MissingDependencyError, match=r'rpy2.*is not installed.*pip install "rpy2>=3.5.17"'):
        session.start()


@pytest.mark.parametrize(
    "failure",
    [
        ImportError("/x/_rinterface_cffi_api.so: undefined symbol: R_getVar"),
        RuntimeError("symbol 'R_getVar' not found in library '/usr/lib/R/lib/libR.so'"),
    ],
)
def test_rpy2_too_new_for_this_r(machine, failure):
    machine.r("4.2.2")
    machine.rpy2("3.6.9", failure)
    with pytest.raises(
        MissingDependencyError, match=r"rpy2 3\.6\.9 is too new for R 4\.2\.2.*rpy2>=3\.5\.17,<3\.6"
    ) as caught:
        session.start()
    assert "update R to 4.5 or later" in str(caught.value)
    remedy = '`pip uninstall rpy2 rpy2-rinterface rpy2-robjects` and then `pip install "rpy2>=3.5.17,<3.6"`'
    assert remedy in str(caught.value)


@pytest.mark.parametrize(("version", "pin"), [("4.2.2", "rpy2>=3.5.17,<3.6"), ("4.5.1", "rpy2>=3.5.17")])
def test_rpy2_installed_over_a_newer_one(machine, version, pin):
    machine.r(version)
    machine.rpy2("3.5.17", ImportError("undefined symbol"), parts="3.6.3")
    found = r.available()
    assert not found.ready
    assert "rpy2-rinterface 3.6.3 and rpy2-robjects 3.6.3 stayed behind" in found.problem
    assert found.problem.endswith(f'`pip uninstall rpy2 rpy2-rinterface rpy2-robjects` and then `pip install "{pin}"`.')
    with pytest.raises(MissingDependencyError) as caught:
        session.start()
    assert str(caught.value) == found.problem


def test_new_rpy2_with_new_r_is_no_conflict(machine):
    machine.r("4.5.1")
    machine.rpy2("3.6.9")
    assert r.available().ready


def test_rpy2_that_does_not_load_for_another_reason(machine):
    machine.r()
    machine.rpy2("3.5.17", OSError("libRblas.so: cannot open shared object file"))
    with pytest.raises(
        MissingDependencyError, match=r"rpy2 3\.5\.17 cannot load R 4\.2\.2.*libRblas.*--no-binary"
    ) as caught:
        session.start()
    assert caught.value.__suppress_context__


def test_r_home_that_is_no_folder(machine, monkeypatch):
    machine.rpy2("3.5.17")
    monkeypatch.setenv("R_HOME", "/no/such/folder")
    with pytest.raises(
        MissingDependencyError, match=r"R_HOME is '/no/such/folder', which is not a folder\. Unset R_HOME"
    ):
        session.start()


def test_r_home_that_holds_no_r(machine, monkeypatch, tmp_path):
    machine.rpy2("3.5.17")
    monkeypatch.setenv("R_HOME", str(tmp_path))
    with pytest.raises(MissingDependencyError, match=r"holds no R.*RHOME"):
        session.start()


def test_r_home_wins_over_the_path(machine, monkeypatch):
    machine.r()
    monkeypatch.setenv("R_HOME", str(machine.home))
    machine.printed["RHOME"] = "/another/R"
    assert installation.find() == installation.RInstallation(str(machine.home), "4.2.2")


def test_warning_lines_of_r_are_not_taken_for_its_home(machine):
    machine.r()
    machine.printed["RHOME"] = f"WARNING: ignoring environment value of R_HOME\n{machine.home}\n"
    assert installation.find().home == str(machine.home)


def test_r_that_cannot_be_run(machine, monkeypatch):
    def fail(command, **kwargs):
        raise subprocess.TimeoutExpired(command, 60)

    machine.r()
    machine.rpy2("3.5.17")
    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(MissingDependencyError, match=r"could not be run.*timed out"):
        session.start()


def test_missing_package():
    error = installation.missing_package("quantreg", "4.2.2")
    assert str(error) == (
        "The R package 'quantreg' is not installed (R 4.2.2). Install it: in R, install.packages(\"quantreg\"); "
        "on Debian or Ubuntu also `apt install r-cran-quantreg`."
    )
    assert "apt" not in str(installation.missing_package("mboost", "4.2.2"))  # Debian has no such package
    assert "cannot be loaded: no SparseM" in str(installation.missing_package("quantreg", "4.2.2", "no SparseM."))
    assert isinstance(error, InputError) and isinstance(error, ImportError)


def test_available_says_what_is_missing_and_never_raises(machine):
    found = r.available()
    assert not found.ready
    assert (found["r"], found["rpy2"], found["quantreg"]) == (None, None, None)
    assert "R         not found" in str(found)
    assert "R was not found" in str(found)


def test_available_with_everything(machine):
    machine.r("4.2.2")
    machine.rpy2("3.5.17")
    machine.printed["-e"] = (
        "noise from a profile\nqreg_boost-package quantreg 5.94 \nqreg_boost-package kernlab 0.9-32 \n"
        "qreg_boost-package gbm NA \n"
    )
    found = r.available()
    assert found.ready and found.problem is None
    assert found.packages == {"quantreg": "5.94", "kernlab": "0.9-32", "gbm": None, "mboost": None}
    assert str(found).splitlines() == [
        f"R         4.2.2  ({machine.home})",
        "rpy2      3.5.17",
        "quantreg  5.94",
        "kernlab   0.9-32",
        "gbm       not installed",
        "mboost    not installed",
    ]


def test_available_reports_a_conflict_without_importing_rpy2(machine):
    machine.r("4.4.0")
    machine.rpy2("3.6.1")
    assert "too new for R 4.4.0" in r.available().problem


def test_a_kind_of_fit_without_counterpart():
    with pytest.raises(InputError, match=r"no comparison with R for int; pass a fit of qbr"):
        r.compare(3)


def test_importing_the_bridge_imports_no_rpy2():
    code = "import sys, qreg_boost.r; sys.exit(any(m.split('.')[0] == 'rpy2' for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
