"""The bytes of a file, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError

GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: str | PathLike[str]) -> np.ndarray:
    """Return what a file holds, unpacked if it is gzipped; uint8, shape (n_bytes,), read-only.

    A plain file is mapped into memory, not read.

    Raises
    ------
    FileFormatError
        If a gzipped file is cut short or damaged.
    """
    path = Path(path)
    if path.stat().st_size == 0:
        return np.empty(0, np.uint8)
    if read_start(path, 2, unpack=False) != GZIP_MAGIC:
        return np.memmap(path, np.uint8, "r")
    try:
        return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8)
    except (EOFError, OSError, zlib.error) as error:
        raise _gzip_error(path) from error


def read_start(path: str | PathLike[str], n_bytes: int, *, unpack: bool = True) -> bytes:
    """Return the first ``n_bytes`` of a file (fewer if it is shorter)."""
    path = Path(path)
    with path.open("rb") as file:
        start = file.read(n_bytes)
        if not unpack or not start.startswith(GZIP_MAGIC):
            return start
    try:
        with gzip.open(path) as file:
            return file.read(n_bytes)
    except (EOFError, OSError, zlib.error) as error:
        raise _gzip_error(path) from error


def _gzip_error(path: Path) -> FileFormatError:
    return FileFormatError(path, "is gzipped, but cut short or damaged, so it cannot be unpacked")
