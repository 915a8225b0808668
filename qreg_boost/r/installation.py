"""Which R, rpy2 and R packages are on this machine, found out without starting R in this process.

Everything here works by looking at files and asking R in a subprocess: an rpy2 that does not fit the R at hand, or an
``R_HOME`` that points nowhere, is met before it can take the Python process with it.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from qreg_boost.base.checks import MissingDependencyError

PACKAGES = ("quantreg", "kernlab", "gbm", "mboost")
_IN_DEBIAN = frozenset({"quantreg", "kernlab", "gbm"})
_TOO_NEW, _NEEDS_R = (3, 6), (4, 5)
_PARTS = ("rpy2-rinterface", "rpy2-robjects")  # distributions since rpy2 3.6
_MARK = "qreg_boost-package"
_GET_R = (
    "Install R 4.0 or later (Debian or Ubuntu: `apt install r-base-core`; conda: `conda install r-base`; others: "
    "https://cran.r-project.org)"
)


@dataclass(frozen=True)
class RInstallation:
    """An R that was found.

    Attributes
    ----------
    home : str
        R's home folder, what ``R RHOME`` prints.
    version : str
        For instance ``"4.2.2"``.
    """

    home: str
    version: str

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers."""
        return _release(self.version)


@dataclass(frozen=True)
class Availability:
    """What the R bridge finds on this machine; prints as a small table.

    Attributes
    ----------
    r_version, r_home : str or None
        Of the R that was found; None if there is none.
    rpy2 : str or None
        Version of rpy2; None if it is not installed.
    packages : dict of str to (str or None)
        Versions of the R packages this bridge can use; None for one that is not installed.
    problem : str or None
        What keeps R from being used, and the remedy; None if nothing does.
    """

    r_version: str | None
    r_home: str | None
    rpy2: str | None
    packages: dict[str, str | None] = field(default_factory=dict)
    problem: str | None = None

    @property
    def ready(self) -> bool:
        """Whether R can be used: R and a fitting rpy2 are there."""
        return self.problem is None

    def as_dict(self) -> dict[str, str | None]:
        """Return everything as one flat dictionary: r, home, rpy2, one entry per package, problem."""
        start = {"r": self.r_version, "home": self.r_home, "rpy2": self.rpy2}
        return {**start, **self.packages, "problem": self.problem}

    def __getitem__(self, name: str) -> str | None:
        return self.as_dict()[name]

    def __str__(self) -> str:
        home = f"  ({self.r_home})" if self.r_home else ""
        rows = [("R", (self.r_version or "not found") + home), ("rpy2", self.rpy2 or "not installed")]
        rows += [(name, version or "not installed") for name, version in self.packages.items()]
        lines = [f"{name:<10}{value}" for name, value in rows]
        return "\n".join([*lines, "", self.problem] if self.problem else lines)

    __repr__ = __str__


def find() -> RInstallation:
    """Return the R that rpy2 will load: ``R_HOME`` if set, else the `R` on the path.

    Raises
    ------
    MissingDependencyError
        No R, or an ``R_HOME`` that is no R, each with its remedy.
    """
    stated = os.environ.get("R_HOME")
    if stated:
        _check_home(stated)
        return RInstallation(stated, _version(_program(stated, "R")))
    program = shutil.which("R")
    if program is None:
        raise MissingDependencyError(
            f"R was not found: there is no `R` on the path and R_HOME is not set. {_GET_R}, "
            "or set R_HOME to what `R RHOME` prints where R is installed."
        )
    home = next((line for line in _ask([program, "RHOME"]).splitlines() if os.path.isdir(line.strip())), "").strip()
    if not home:
        raise MissingDependencyError(f"`{program} RHOME` names no folder, so that R looks damaged. {_GET_R}.")
    return RInstallation(home, _version(program))


def rpy2_version() -> str:
    """Return the version of rpy2, without importing it."""
    try:
        return importlib.metadata.version("rpy2")
    except importlib.metadata.PackageNotFoundError:
        raise MissingDependencyError(
            'rpy2, the bridge to R, is not installed. Install it: pip install "rpy2>=3.5.17"'
            ' (with an R older than 4.5: pip install "rpy2>=3.5.17,<3.6").'
        ) from None


def is_too_new(rpy2: str, found: RInstallation) -> bool:
    """Return whether this rpy2 calls functions that this R does not have (``R_getVar`` came with R 4.5)."""
    return _release(rpy2) >= _TOO_NEW and found.release < _NEEDS_R


def left_behind(rpy2: str) -> dict[str, str]:
    """Return the parts of rpy2 3.6, with their versions, that stayed when an older rpy2 was installed over it.

    Since 3.6 rpy2 is three distributions that share a folder. pip replaces only the one that is called rpy2, so what is
    loaded afterwards is a mixture of both.
    """
    if _release(rpy2) >= _TOO_NEW:
        return {}
    left = {}
    for part in _PARTS:
        try:
            left[part] = importlib.metadata.version(part)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {part: version for part, version in left.items() if _release(version) >= _TOO_NEW}


def mixed(rpy2: str, found: RInstallation, left: Mapping[str, str]) -> MissingDependencyError:
    """Return the error for an older rpy2 with parts of a newer one beside it."""
    parts = " and ".join(f"{part} {version}" for part, version in left.items())
    return MissingDependencyError(
        f"rpy2 {rpy2} was installed over rpy2 3.6, of which {parts} stayed behind; the two do not work together. "
        f"{_remedy(found)}."
    )


def _remedy(found: RInstallation) -> str:
    version = ">=3.5.17,<3.6" if found.release < _NEEDS_R else ">=3.5.17"
    return (
        "Install the rpy2 for this R: `pip uninstall rpy2 rpy2-rinterface rpy2-robjects` and then "
        f'`pip install "rpy2{version}"`'
    )


def too_new(rpy2: str, found: RInstallation) -> MissingDependencyError:
    """Return the error for an rpy2 that needs a later R."""
    return MissingDependencyError(
        f"rpy2 {rpy2} is too new for R {found.version} ({found.home}): rpy2 3.6 calls `R_getVar`, new in R 4.5. "
        f"{_remedy(found)}; or update R to 4.5 or later."
    )


def cannot_load(rpy2: str, found: RInstallation, reason: object) -> MissingDependencyError:
    """Return the error for an rpy2 that does not load for a reason of its own."""
    return MissingDependencyError(
        f"rpy2 {rpy2} cannot load R {found.version} from {found.home}: {reason}. It was probably built for another R: "
        "pip install --force-reinstall --no-cache-dir --no-binary :all: "
        f'"rpy2{"<3.6" if found.release < _NEEDS_R else ""}" (needs a C compiler).'
    )


def missing_package(name: str, version: str, reason: str = "") -> MissingDependencyError:
    """Return the error for an R package that is not installed, or does not load for the stated reason."""
    wrong = f"cannot be loaded: {reason.rstrip('.')}" if reason else "is not installed"
    apt = f"; on Debian or Ubuntu also `apt install r-cran-{name}`" if name in _IN_DEBIAN else ""
    return MissingDependencyError(
        f'The R package {name!r} {wrong} (R {version}). Install it: in R, install.packages("{name}"){apt}.'
    )


def available() -> Availability:
    """Return which R, rpy2 and R packages are there, and what is in the way; never raises and starts no R here.

    Returns
    -------
    Availability
        Prints as a table; ``.ready`` says whether R can be used, ``.problem`` why not and what to do.

    Examples
    --------
    >>> from qreg_boost.r import available
    >>> sorted(available().packages)
    ['gbm', 'kernlab', 'mboost', 'quantreg']
    """
    problem: str | None = None
    found: RInstallation | None = None
    rpy2: str | None = None
    try:
        rpy2 = rpy2_version()
    except MissingDependencyError as error:
        problem = str(error)
    try:
        found = find()
    except MissingDependencyError as error:
        problem = str(error)
    if rpy2 and found and is_too_new(rpy2, found):
        problem = str(too_new(rpy2, found))
    elif rpy2 and found and (left := left_behind(rpy2)):
        problem = str(mixed(rpy2, found, left))
    packages = _package_versions(found) if found else dict.fromkeys(PACKAGES)
    version, home = (found.version, found.home) if found else (None, None)
    return Availability(version, home, rpy2, packages, problem)


def _package_versions(found: RInstallation) -> dict[str, str | None]:
    names = ", ".join(f"'{name}'" for name in PACKAGES)
    code = (
        f"for (p in c({names})) cat('\\n{_MARK}', p, "
        "suppressWarnings(utils::packageDescription(p, fields = 'Version')), '\\n')"
    )
    try:
        printed = _ask([_program(found.home, "Rscript"), "--no-save", "--no-restore", "-e", code])
    except MissingDependencyError:
        printed = ""
    known = dict(re.findall(rf"^{_MARK} (\S+) (\S+)", printed, flags=re.MULTILINE))
    return {name: known[name] if known.get(name, "NA") != "NA" else None for name in PACKAGES}


def _check_home(home: str) -> None:
    remedy = "Unset R_HOME to use the `R` on the path, or set it to what `R RHOME` prints."
    if not os.path.isdir(home):
        raise MissingDependencyError(f"R_HOME is {home!r}, which is not a folder. {remedy}")
    if not os.path.exists(_program(home, "R")):
        raise MissingDependencyError(f"R_HOME is {home!r}, a folder that holds no R (no bin/R in it). {remedy}")


def _program(home: str, name: str) -> str:
    if sys.platform == "win32":
        return str(Path(home) / "bin" / f"{name}.exe")
    return str(Path(home) / "bin" / name)


def _version(program: str) -> str:
    printed = _ask([program, "--version"])
    match = re.search(r"R version (\d+\.\d+(?:\.\d+)?)", printed)
    if match is None:
        raise MissingDependencyError(f"`{program} --version` names no version of R. {_GET_R}.")
    return match.group(1)


def _ask(command: list[str]) -> str:
    """Return what a command of R prints."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingDependencyError(f"`{' '.join(command[:2])}` could not be run ({error}). {_GET_R}.") from None
    return done.stdout.decode("utf-8", "replace")


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
