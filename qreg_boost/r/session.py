"""One R per process: started when first needed, one caller at a time, quiet.

Only rpy2's lower layer is used: vectors are made and read by the rules of `convert`, not by rpy2's conversion rules,
which live in a context variable that a new thread does not have. What R prints is dropped, R's warnings become Python
warnings, and R's errors come back as data, so that no traceback holds an R object.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import itertools
import locale
import logging
import os
import shutil
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from qreg_boost.base.checks import InputError, warn
from qreg_boost.r import installation
from qreg_boost.r.convert import RFrame, RVector, RWarning, as_double, encode, encode_frame
from qreg_boost.r.vectors import make, read

_OPTIONS = ("qreg_boost", "--quiet", "--no-save", "--no-restore")
_RUN = """
function(code, values) {
  room <- list2env(as.list(values), parent = globalenv())
  said <- character()
  note <- function(w) { said <<- c(said, conditionMessage(w)); invokeRestart("muffleWarning") }
  done <- tryCatch(
    withCallingHandlers(list(value = eval(parse(text = code, keep.source = FALSE), room)),
                        warning = note, message = function(m) invokeRestart("muffleMessage")),
    error = function(e) list(error = conditionMessage(e)))
  list(done$value, done$error, said)
}
"""
_PROFILE = """
local({
  file <- Sys.getenv("R_PROFILE_USER", if (file.exists(".Rprofile")) ".Rprofile" else "~/.Rprofile")
  if (nzchar(file) && file.exists(file)) try(sys.source(file, envir = globalenv()), silent = TRUE)
})
"""
_LOAD = """
list(nzchar(system.file(package = name)), tryCatch({loadNamespace(name); NULL}, error = conditionMessage))
"""


class RError(InputError):
    """R stopped with an error; the message is R's."""


@dataclass(frozen=True)
class Outcome:
    """What a piece of R code gave.

    Attributes
    ----------
    value : object
        By `vectors.read`: Series, DataFrame, dict or list of them, None for NULL, `RObject` for what is held.
    warnings : tuple of str
        R's warnings, in order.
    error : str or None
        R's error message; then `value` is None.
    """

    value: Any
    warnings: tuple[str, ...]
    error: str | None


@dataclass(frozen=True)
class Session:
    """The running R: rpy2's lower layer, its lock, R's runner of code, and R's version."""

    rinterface: Any
    lock: Any
    run: Any
    version: str


class RObject:
    """An R object that Python holds on to; `sexp` is rpy2's object for it.

    When the holder is dropped, R's object is let go at the next use of R, under its lock: rpy2 by itself would release
    it in whichever thread drops it, possibly while R runs in another.
    """

    __slots__ = ("__weakref__", "_key")
    _held: ClassVar[dict[int, Any]] = {}
    _dropped: ClassVar[deque[int]] = deque()
    _keys = itertools.count()

    def __init__(self, sexp: Any) -> None:
        self._key = next(self._keys)
        self._held[self._key] = sexp

    @property
    def sexp(self) -> Any:
        """rpy2's object (``rpy2.rinterface``); R functions taken from rpy2 accept it."""
        return self._held[self._key]

    def __del__(self) -> None:
        self._dropped.append(self._key)

    def __reduce__(self) -> Any:
        raise TypeError("An R object lives in the R of this process and cannot be pickled.")

    @classmethod
    def let_go(cls) -> None:
        """Release what was dropped; call with R's lock held."""
        while cls._dropped:
            cls._held.pop(cls._dropped.popleft(), None)


_session: Session | None = None
_starting = threading.Lock()


def start() -> Session:
    """Return the R of this process, started at the first call.

    Raises
    ------
    MissingDependencyError
        No R, no rpy2, an rpy2 that does not fit the R at hand, or a broken ``R_HOME``, each with its remedy.
    """
    global _session
    if _session is None:
        with _starting:
            if _session is None:
                _session = _open()
    return _session


def evaluate(code: str, hold: Sequence[str] = (), **values: Any) -> Any:
    """Return the value of R code, with `values` as its variables.

    Parameters
    ----------
    code : str
        R code; the value of its last expression is returned.
    hold : sequence of str
        Names of elements of a returned list that stay in R, as `RObject`.
    **values
        Data frames, Series, arrays (1-d or 2-d), numbers, strings, lists of them, None for NULL, or an `RObject`.

    Raises
    ------
    RError
        What R stopped with.

    Examples
    --------
    >>> evaluate("mean(x)", x=[1.0, 2.0, 6.0]).tolist()  # doctest: +SKIP
    [3.0]
    """
    outcome = run(code, hold, **values)
    for text in outcome.warnings:
        warn(f"R: {text}", RWarning)
    if outcome.error is not None:
        raise RError(f"R stopped: {outcome.error}")
    return outcome.value


def run(code: str, hold: Sequence[str] = (), **values: Any) -> Outcome:
    """Return what `evaluate` would, with warnings and errors of R as data."""
    session = start()
    prepared = {name: prepare(value, name) for name, value in values.items()}
    with session.lock:
        RObject.let_go()
        return _run(session, code, prepared, frozenset(hold))


def require(package: str) -> None:
    """Check that an R package loads.

    Raises
    ------
    MissingDependencyError
        Not installed, or R's reason why it does not load; with the command that installs it.
    """
    installed, reason = run(_LOAD, name=package).value
    if not bool(installed.iloc[0]):
        raise installation.missing_package(package, start().version)
    if reason is not None:
        raise installation.missing_package(package, start().version, str(reason.iloc[0]))


def prepare(value: Any, name: str) -> Any:
    """Return a Python value as records that `vectors.make` turns into R objects; no R is needed."""
    if value is None or isinstance(value, (RObject, RVector, RFrame)):
        return value
    if isinstance(value, pd.DataFrame):
        return encode_frame(value)
    if isinstance(value, pd.Series):
        return encode(value, name)
    if isinstance(value, dict):
        return {str(key): prepare(item, str(key)) for key, item in value.items()}
    array = np.asarray(value)
    if array.ndim == 2 and array.dtype.kind in "fiub":
        return RVector("double", as_double(array.ravel(order="F")), {"dim": array.shape})
    if array.ndim > 1:
        raise InputError(f"`{name}` cannot be passed to R: an array of {array.ndim} dimensions and type {array.dtype}.")
    return encode(pd.Series(np.atleast_1d(array)), name)


def _run(session: Session, code: str, values: dict[str, Any], hold: frozenset[str]) -> Outcome:
    rinterface = session.rinterface
    with _console():
        result = session.run(rinterface.StrSexpVector([code]), make(rinterface, values))
    error = read(rinterface, result[1], RObject)
    said = read(rinterface, result[2], RObject)
    value = read(rinterface, result[0], RObject, hold)
    return Outcome(value, tuple(said), None if error is None else str(error.iloc[0]))


@contextlib.contextmanager
def _console() -> Iterator[None]:
    """R's console, silent: what is printed is dropped, what would be asked is answered with an empty line."""
    callbacks = importlib.import_module("rpy2.rinterface_lib.callbacks")
    silent: dict[str, Callable[[str], Any]] = {
        "consolewrite_print": lambda text: None,
        "consolewrite_warnerror": lambda text: None,
        "showmessage": lambda text: None,
        "consoleread": lambda prompt: "\n",
    }
    usual = {name: getattr(callbacks, name) for name in silent}
    try:
        for name, function in silent.items():
            setattr(callbacks, name, function)
        yield
    finally:
        for name, function in usual.items():
            setattr(callbacks, name, function)


def _open() -> Session:
    rpy2 = installation.rpy2_version()
    found = installation.find()
    try:
        with undisturbed():
            rinterface = importlib.import_module("rpy2.rinterface")
            embedded = importlib.import_module("rpy2.rinterface_lib.embedded")
            lock = importlib.import_module("rpy2.rinterface_lib.openrlib").rlock
            ours = not embedded.isinitialized()
            if ours:
                embedded.set_initoptions(_OPTIONS)
            with _without_profile():
                rinterface.initr(interactive=False)
            if ours:
                with lock, _console():
                    rinterface.baseenv["eval"](rinterface.parse(_PROFILE))
    except Exception as error:  # whatever it is, rpy2 and R do not go together; cffi has an exception type of its own
        if left := installation.left_behind(rpy2):
            raise installation.mixed(rpy2, found, left) from None
        if "R_getVar" in str(error) or installation.is_too_new(rpy2, found):
            raise installation.too_new(rpy2, found) from None
        raise installation.cannot_load(rpy2, found, error) from None
    with lock, _console():
        runner = rinterface.baseenv["eval"](rinterface.parse(_RUN))
        folder = str(rinterface.baseenv["tempdir"]()[0])
    if ours:
        atexit.register(_remove, folder, os.getpid())
    return Session(rinterface, lock, runner, found.version)


def _remove(folder: str, pid: int) -> None:
    """Remove R's temporary folder; a forked child leaves its parent's alone."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Keep as they were: signal handlers, locale, working folder, environment (but for R's own), terminal, log.

    Starting R sets the locale from the environment, replaces the handler of Ctrl-C, exports PAGER, EDITOR and others.
    """
    handlers = _handlers()
    kept_locale, folder, environment = locale.setlocale(locale.LC_ALL), os.getcwd(), dict(os.environ)
    log = logging.getLogger("rpy2")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with _silent_terminal(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
        for number, handler in handlers.items():
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, kept_locale)
        os.chdir(folder)
        _restore(environment)


@contextlib.contextmanager
def _without_profile() -> Iterator[None]:
    """Start R without the user's profile, to run it when the console is ours: rpy2 trips over one that prints."""
    usual = os.environ.get("R_PROFILE_USER")
    os.environ["R_PROFILE_USER"] = os.devnull
    try:
        yield
    finally:
        del os.environ["R_PROFILE_USER"]
        if usual is not None:
            os.environ["R_PROFILE_USER"] = usual


def _handlers() -> dict[int, Any]:
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = signal.valid_signals()
    return {number: handler for number in numbers if (handler := signal.getsignal(number)) is not None}


def _restore(environment: dict[str, str]) -> None:
    for name in set(os.environ) - set(environment):
        if not name.startswith(("R_", "PYTHON_SESSION")):
            del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value and not name.startswith("R_"):
            os.environ[name] = value


@contextlib.contextmanager
def _silent_terminal() -> Iterator[None]:
    """Send what R writes while it starts, before its console is ours, nowhere."""
    saved: dict[int, int] = {}
    try:
        with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
            for number in (1, 2):
                saved[number] = os.dup(number)
                os.dup2(nowhere.fileno(), number)
        yield
    finally:
        for number, copy in saved.items():
            os.dup2(copy, number)
            os.close(copy)


__all__ = ["Outcome", "RError", "RObject", "RWarning", "evaluate", "require", "run", "start"]
