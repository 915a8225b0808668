"""Saved fits: a zip of one JSON page and plain arrays, read without executing code."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qreg_boost.base.checks import FileFormatError, InputError

FORMAT = "qreg_boost fit"
VERSION = 1
PAGE = "fit.json"


def write(path: Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write a fit of `kind` to `path`; return the path.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written to.
    """
    blobs = {name: _to_bytes(array) for name, array in arrays.items()}
    page = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "meta": meta,
        "arrays": {name: hashlib.sha256(blob).hexdigest() for name, blob in blobs.items()},
    }
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr(PAGE, json.dumps(page, allow_nan=True))
            for name, blob in blobs.items():
                archive.writestr(f"{name}.npy", blob)
    except OSError as error:
        raise InputError(f"Cannot write {str(path)!r}: {error.strerror or error}.") from None
    return path


def read(path: str | Path) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """Return kind, plain values and arrays of a saved fit.

    Raises
    ------
    FileFormatError
        If the file is no saved fit, is damaged, or was written by a newer version.
    InputError
        If there is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            if PAGE not in archive.namelist():
                raise FileFormatError(f"{str(path)!r} is not a fit saved by qreg_boost: it has no page {PAGE!r}.")
            page = json.loads(archive.read(PAGE))
            _check_page(page, path)
            arrays = {name: _from_bytes(archive.read(f"{name}.npy"), digest) for name, digest in page["arrays"].items()}
            return page["kind"], page["meta"], arrays
    except FileFormatError:
        raise
    except zipfile.BadZipFile:
        raise FileFormatError(
            f"{str(path)!r} is not a fit saved by qreg_boost, or was cut short: it is no zip archive. "
            "Save the fit again with fit.save(path)."
        ) from None
    except (ValueError, KeyError, TypeError, EOFError, OSError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise _damaged(path, str(error)) from None


def _check_page(page: Any, path: Path) -> None:
    if not isinstance(page, dict) or page.get("format") != FORMAT:
        raise FileFormatError(f"{str(path)!r} is not a fit saved by qreg_boost.")
    version = page.get("version")
    if not isinstance(version, int) or version < 1:
        raise _damaged(path, f"its version is {version!r}")
    if version > VERSION:
        raise FileFormatError(
            f"{str(path)!r} was written by a newer qreg_boost (file version {version}; this one reads up to "
            f"{VERSION}). Upgrade qreg_boost."
        )


def _damaged(path: Path, reason: str) -> FileFormatError:
    return FileFormatError(f"{str(path)!r} is damaged ({reason}). Save the fit again with fit.save(path).")


def _to_bytes(array: np.ndarray) -> bytes:
    if array.dtype.hasobject:
        raise InputError("A saved fit holds plain arrays only; found an array of Python objects.")
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _from_bytes(blob: bytes, digest: str) -> np.ndarray:
    if hashlib.sha256(blob).hexdigest() != digest:
        raise ValueError("a checksum does not match")
    return np.load(io.BytesIO(blob), allow_pickle=False)
