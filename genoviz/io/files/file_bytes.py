"""The bytes of a file, plain or gzipped, and its first bytes."""

from __future__ import annotations

import zlib
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.text.text_file import open_text

_GZIP_MAGIC = b"\x1f\x8b"
_MAX_START = 1 << 16


def read_bytes(path: str | PathLike[str], *, may_be_empty: bool = False) -> np.ndarray:
    """Return what a file holds, decompressed if it is gzipped; uint8, shape (n_bytes,), read-only.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is cut short or damaged; or if it is empty, unless it
        ``may_be_empty``.
    """
    reading = open_text(Path(path), may_be_empty=may_be_empty)
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            return stop.value


def read_start(path: str | PathLike[str], n_bytes: int) -> bytes:
    """Return the first bytes of what a file holds (fewer than ``n_bytes`` if it is shorter).

    Raises
    ------
    FileFormatError
        If the file cannot be read, or not decompressed.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(_MAX_START)
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error.strerror or error}") from error
    if not start.startswith(_GZIP_MAGIC):
        return start[:n_bytes]
    try:
        return zlib.decompressobj(wbits=31).decompress(start, n_bytes)
    except zlib.error as error:
        raise FileFormatError(path, f"the gzip data are damaged ({error})") from error
