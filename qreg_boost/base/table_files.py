"""Tables in files: CSV, gzipped CSV and Parquet, with messages for what cannot be read or written."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from pathlib import Path

import pandas as pd

from qreg_boost.base.checks import InputError, MissingDependencyError

_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"


def read_table(path: str | Path) -> pd.DataFrame:
    """Return the table in a file; its first bytes, not its name, tell the format.

    A first column without a heading, as R's ``write.csv`` makes it, becomes the index.

    Parameters
    ----------
    path : str or Path
        CSV in UTF-8 with a line of names, the same gzipped, or Parquet. "-" reads standard input.

    Raises
    ------
    InputError
        If there is no such file, or it is no table.
    MissingDependencyError
        If it is a Parquet file and pyarrow is not installed.

    Examples
    --------
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "cars.csv")
    ...     _ = write_table(pd.DataFrame({"speed": [4, 7], "dist": [2, 4]}), path)
    ...     list(read_table(path).columns)
    ['speed', 'dist']
    """
    if str(path) == "-":
        return _parse(sys.stdin.buffer.read(), "standard input")
    if Path(path).is_dir():
        raise InputError(f"{str(path)!r} is a folder; give a CSV or Parquet file.")
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {str(path)!r}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {str(path)!r}: {_reason(error)}.") from None
    return _parse(content, repr(str(path)))


def write_table(table: pd.DataFrame, path: str | Path) -> Path:
    """Write a table as CSV, without its index; return the path.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    try:
        table.to_csv(path, index=False)
    except OSError as error:
        raise InputError(f"Cannot write {str(path)!r}: {_reason(error)}.") from None
    return Path(path)


def _parse(content: bytes, name: str) -> pd.DataFrame:
    try:
        if content.startswith(_PARQUET):
            return pd.read_parquet(io.BytesIO(content))
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        if not content.strip():
            raise InputError(f"{name} is empty; expected a line of column names and a row for each observation.")
        if b"\0" in content[:4096]:
            raise InputError(f"{name} is no text; give CSV in UTF-8, gzipped or not, or Parquet.")
        frame = pd.read_csv(io.BytesIO(content), low_memory=False, encoding="utf-8-sig")
    except InputError:
        raise
    except ImportError:
        raise MissingDependencyError(f"{name} is a Parquet file; to read it: pip install pyarrow") from None
    except UnicodeDecodeError:
        raise InputError(f"{name} is not text in UTF-8; save it as CSV in UTF-8, or as Parquet.") from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read as a table: {_reason(error)}.") from None
    unnamed = len(frame.columns) > 1 and frame.columns[0] == "Unnamed: 0"
    return frame.set_index(frame.columns[0]).rename_axis(None) if unnamed else frame


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).strip().rstrip(".")
