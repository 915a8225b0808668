"""Data frames with documented columns: what ships with the package, a simulated design with its truth, public tables.

`load("engel")` works everywhere. The larger public tables are not part of the package: put them into a folder and name
it in the environment variable ``QREG_BOOST_DATA``. What is known of each table (source, licence, checksum) is in the
registry, ``data/registry.json``, and comes back from `info`.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from qreg_boost.base.checks import InputError, check_count, check_tau, listed, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ENVIRONMENT_VARIABLE", "DataInfo", "Simulation", "info", "load", "names", "simulate_zheng2012"]

ENVIRONMENT_VARIABLE = "QREG_BOOST_DATA"

ZHENG2012_COEFFICIENTS = (3.0, -1.5, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, repr=False)
class DataInfo:
    """What the registry says of one table.

    Attributes
    ----------
    name : str
        The name that `load` takes; `aliases` are taken too.
    where : {"shipped", "folder", "simulated"}
        Part of the package, expected in the folder of ``QREG_BOOST_DATA``, or drawn when asked for.
    title, task, licence, citation : str
        In words.
    file, sha256 : str or None
        Name and checksum of the file as stored; None for a simulated table.
    rows, columns : int
        Size of the frame that `load` returns.
    response : tuple of str
        Columns meant as response; more than one where the table offers a choice.
    source : tuple of str
        Where the table was taken from.
    units : mapping of str to str
        Unit or meaning of a column, as far as documented.
    notes : tuple of str
        What was changed, what to leave out.
    aliases : tuple of str
        Other names that `load` takes.
    """

    name: str
    where: str
    title: str
    task: str
    licence: str
    citation: str
    file: str | None
    sha256: str | None
    rows: int
    columns: int
    response: tuple[str, ...]
    source: tuple[str, ...]
    units: Mapping[str, str]
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def path(self) -> Path | None:
        """Where the file is looked for; None if simulated, or if ``QREG_BOOST_DATA`` is not set."""
        if self.file is None:
            return None
        home = _shipped_folder() if self.where == "shipped" else _folder()
        return None if home is None else home / self.file

    @property
    def available(self) -> bool:
        """Whether `load` will find the table on this machine."""
        return self.where == "simulated" or (self.path is not None and self.path.is_file())

    def __str__(self) -> str:
        missing = f"no; set {ENVIRONMENT_VARIABLE} to the folder that holds {self.file}"
        facts = {
            "Name": self.name,
            "Title": self.title,
            "Size": f"{self.rows} rows, {self.columns} columns",
            "Task": self.task,
            "Response": ", ".join(self.response),
            "Licence": self.licence,
            "Citation": self.citation,
            "Source": "; ".join(self.source),
            "Here": "yes" if self.available else missing,
        }
        lines = [f"{label + ':':<10}{text}" for label, text in facts.items()]
        lines += [f"  {column}: {unit}" for column, unit in self.units.items()]
        return "\n".join([*lines, *(f"Note:     {note}" for note in self.notes)])

    __repr__ = __str__


@dataclass(frozen=True)
class Simulation:
    """A simulated table and the truth behind it.

    Attributes
    ----------
    data : DataFrame
        n rows; the response ``y`` and the predictors ``x1`` to ``x8``.
    tau : float
        The level that `coefficients` and `quantile` belong to.
    coefficients : Series
        The true coefficients of the tau-quantile of y given x: ``Intercept``, ``x1`` to ``x8``.
    quantile : Series
        (n,) the true conditional tau-quantile of y in each row, in units of y.
    """

    data: pd.DataFrame
    tau: float
    coefficients: pd.Series
    quantile: pd.Series


def names(available: bool = False) -> list[str]:
    """Return the names of all tables, or of those that can be loaded on this machine.

    Parameters
    ----------
    available : bool
        Leave out the tables whose file is not on this machine.

    Examples
    --------
    >>> "engel" in names(available=True)
    True
    """
    return [name for name, about in _registry().items() if about.available or not available]


def info(name: str) -> DataInfo:
    """Return what the registry says of a table: source, licence, citation, response, units.

    Parameters
    ----------
    name : str
        One of `names`, or the name of its file without ending.

    Raises
    ------
    InputError
        If no table has this name.

    Examples
    --------
    >>> info("engel").units["income"]
    'Belgian francs a year, income of the household'
    """
    registry = _registry()
    if name in registry:
        return registry[name]
    aliases = {alias: about for about in registry.values() for alias in about.aliases}
    if name in aliases:
        return aliases[name]
    hint = nearest(str(name), [*registry, *aliases])
    raise InputError(f"There is no data set {name!r}.{hint} Data sets: {listed(registry, most=len(registry))}.")


def load(name: str, verify: bool = True) -> pd.DataFrame:
    """Return a table as a new DataFrame; title, units, licence, citation and source are in its ``attrs``.

    - ``"engel"``: 235 Belgian working class households, 1857; ``income`` and ``foodexp`` (expenditure on food) in
      Belgian francs a year.
    - ``"stackloss"``: 21 days of a plant that oxidises ammonia (Brownlee 1965).
    - ``"zheng2012"``: 500 rows of the simulated design of Zheng (2012), ``y`` and ``x1`` to ``x8``; the true
      coefficients of the median are in ``attrs["coefficients"]``. `simulate_zheng2012` draws other sizes and levels.
    - all others in `names`: public tables, read from the folder that the environment variable ``QREG_BOOST_DATA`` names
      (CSV, gzipped CSV, NPZ). `info` gives source and units.

    Parameters
    ----------
    name : str
        One of `names`, or the name of its file without ending.
    verify : bool
        Compare the checksum of the file with the registry's. False takes the file as it is.

    Returns
    -------
    DataFrame
        Columns as in the file, a row for each observation, the index 0, 1, ...

    Raises
    ------
    InputError
        If no table has this name; if its file is not there (the message gives source and place); if the file is not the
        registered one.

    Examples
    --------
    >>> engel = load("engel")
    >>> engel.shape
    (235, 2)
    >>> engel.attrs["units"]["foodexp"]
    'Belgian francs a year, spent on food by the household'
    """
    about = info(name)
    if about.where == "simulated":
        return _load_zheng2012(about)
    content = _read(about)
    if verify:
        _verify(about, content)
    frame = _parse(about, content)
    frame.attrs.update(_attributes(about))
    return frame


def simulate_zheng2012(n: int = 500, tau: float = 0.5, rng: int | np.random.Generator | None = 0) -> Simulation:
    """Return the simulated design of Zheng (2012, Table 5 and Fig. 4) with its truth.

    y = 3 x1 - 1.5 x2 + 2 x5 + e; x1 to x8 independent standard normal, e standard double-exponential. The paper trains
    on 500 rows and tests on 10,000 at tau = 0.5.

    Parameters
    ----------
    n : int
        Number of rows, at least 1.
    tau : float
        Level of the true coefficients and quantiles. Does not change the data.
    rng : int, numpy Generator or None
        Seed or source of the draws; None draws anew each time.

    Returns
    -------
    Simulation
        The frame, the true coefficients at `tau`, and the true tau-quantile of each row.

    Raises
    ------
    InputError
        If `n` is not a whole number of at least 1, or `tau` is not between 0 and 1.

    References
    ----------
    Zheng S (2012). QBoost: Predicting quantiles with boosting for regression and binary classification. Expert Systems
    with Applications 39:1687-1697. doi:10.1016/j.eswa.2011.06.060

    Examples
    --------
    >>> drawn = simulate_zheng2012(n=4, tau=0.9)
    >>> drawn.data.shape
    (4, 9)
    >>> print(drawn.coefficients["Intercept"].round(4))
    1.6094
    """
    import pandas as pd

    n = check_count(n, "n", least=1)
    tau = check_tau(tau)
    source = np.random.default_rng(rng)
    slopes = np.array(ZHENG2012_COEFFICIENTS)
    x = source.standard_normal((n, len(slopes)))
    errors = source.laplace(size=n)
    # The tau-quantile of a standard double-exponential error.
    centre = float(np.log(2.0 * tau) if tau < 0.5 else -np.log(2.0 * (1.0 - tau)))
    columns = [f"x{j}" for j in range(1, len(slopes) + 1)]
    data = pd.DataFrame(x, columns=columns)
    data.insert(0, "y", x @ slopes + errors)
    return Simulation(
        data=data,
        tau=tau,
        coefficients=pd.Series([centre, *ZHENG2012_COEFFICIENTS], index=["Intercept", *columns], name="coefficient"),
        quantile=pd.Series(centre + x @ slopes, index=data.index, name="quantile"),
    )


def _folder() -> Path | None:
    named = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    return Path(named).expanduser() if named else None


def _shipped_folder() -> Path:
    # Inside an installed package, or data/ beside it in a checkout.
    installed = Path(__file__).with_name("_data")
    return installed if installed.is_dir() else Path(__file__).parent.parent / "data"


@functools.cache
def _registry() -> Mapping[str, DataInfo]:
    entries = json.loads((_shipped_folder() / "registry.json").read_text(encoding="utf-8"))["datasets"]
    return MappingProxyType({name: _data_info(name, entry) for name, entry in entries.items()})


def _data_info(name: str, entry: dict[str, Any]) -> DataInfo:
    lists = ("response", "source", "notes", "aliases")
    fields: dict[str, Any] = {key: value for key, value in entry.items() if key not in lists}
    fields |= {key: tuple(entry.get(key, ())) for key in lists}
    fields["units"] = MappingProxyType(entry["units"])
    return DataInfo(name=name, **fields)


def _read(about: DataInfo) -> bytes:
    path = about.path
    if path is not None and path.is_file():
        return path.read_bytes()
    if about.where == "shipped":
        raise InputError(f"{about.file} of the data set {about.name!r} is missing here; install qreg_boost again.")
    remedy = f"Put it as {about.file} into a folder and set {ENVIRONMENT_VARIABLE} to that folder."
    if path is None:
        found = f"{ENVIRONMENT_VARIABLE} is not set"
    elif not path.parent.is_dir():
        found = f"{ENVIRONMENT_VARIABLE} names {str(path.parent)!r}, which is not a folder"
    else:
        found = f"the folder of {ENVIRONMENT_VARIABLE}, {str(path.parent)!r}, has no {about.file}"
        remedy = f"Put it there as {about.file}."
    raise InputError(
        f"The data set {about.name!r} ({about.title}) is not part of the package, and {found}. "
        f"Public source: {'; '.join(about.source)}. {remedy} "
        f"Expected: {about.rows} rows, {about.columns} columns. Licence: {about.licence}. "
        f"Can be loaded here: {listed(names(available=True))}."
    )


def _verify(about: DataInfo, content: bytes) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != about.sha256:
        raise InputError(
            f"{about.file} is not the registered file of the data set {about.name!r}: its SHA-256 is {found}, "
            f"expected {about.sha256}. It is damaged or another version. Get it again ({'; '.join(about.source)}), "
            "or pass verify=False to use it as it is."
        )


def _parse(about: DataInfo, content: bytes) -> pd.DataFrame:
    import pandas as pd

    file = str(about.file)
    try:
        if file.endswith(".npz"):
            return _read_images(content)
        text = gzip.decompress(content) if file.endswith(".gz") else content
        return pd.read_csv(io.BytesIO(text))
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise InputError(f"{file} of the data set {about.name!r} cannot be read: {error}. Get it again.") from error


def _read_images(content: bytes) -> pd.DataFrame:
    """Return a row for each image: ``label``, ``source_index``, then the grey level of each pixel, row by row."""
    import pandas as pd

    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        images, label, source_index = arrays["images"], arrays["labels"], arrays["source_index"]
    n, height, width = images.shape
    pixels = [f"p{row:02d}_{column:02d}" for row in range(height) for column in range(width)]
    frame = pd.DataFrame(images.reshape(n, height * width), columns=pixels)
    return pd.concat([pd.DataFrame({"label": label, "source_index": source_index}), frame], axis=1)


def _load_zheng2012(about: DataInfo) -> pd.DataFrame:
    drawn = simulate_zheng2012()
    frame = drawn.data
    frame.attrs.update(_attributes(about), tau=drawn.tau, coefficients=drawn.coefficients.to_dict())
    return frame


def _attributes(about: DataInfo) -> dict[str, Any]:
    return {
        "name": about.name,
        "title": about.title,
        "response": list(about.response),
        "units": dict(about.units),
        "licence": about.licence,
        "citation": about.citation,
        "source": list(about.source),
    }
