"""Detection of text encodings: UTF-8, or what other programs save."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.content import is_utf16, refuse_zeros
from genoviz.io.text.text_file import is_gzip, read_start

_N_BYTES = 4096


def check_text(path: str | PathLike[str]) -> None:
    """Reject a file that starts as UTF-16, or with bytes that text cannot contain.

    A missing file is not reported here, but by its reader.

    Raises
    ------
    FileFormatError
        If it does, has a compression other than gzip, or cannot be read.
    """
    if not Path(path).is_file():
        return
    start = read_start(path, _N_BYTES)
    is_gzip(Path(path), np.frombuffer(start, np.uint8))
    if is_utf16(start) or _is_every_other_zero(start):
        raise FileFormatError(path, "is text in UTF-16, needs UTF-8: save it as CSV in UTF-8")
    if b"\0" in start:
        line = start[: start.index(b"\0")].count(b"\n") + 1
        raise FileFormatError(
            path, "has a byte of zero, so it is not text; needs a text file", line=line
        )


def check_utf8(path: Path, text: bytes, n_before: int = 0) -> None:
    """Reject text that is not UTF-8, in which different names could become the same.

    Raises
    ------
    FileFormatError
        If it is not; names the line, of which ``n_before`` are in the file before this text.
    """
    if text.isascii():
        return
    for number, line in enumerate(text.split(b"\n"), start=n_before + 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            letters = line[error.start : error.end].decode("cp1252", "replace")
            found = f"has a letter that is not UTF-8 (perhaps {letters}), needs UTF-8"
            raise FileFormatError(path, f"{found}: save it as CSV in UTF-8", line=number) from error


def check_whole_text(path: Path, start: bytes) -> None:
    """Reject a plain text that starts with ``start`` and has a zero byte, as `refuse_zeros`.

    For readers that treat a zero byte as the end of a line, such as htslib.
    """
    if path.is_file() and path.stat().st_size:
        content = np.memmap(path, np.uint8, "r")
        if content[: len(start)].tobytes() == start:
            refuse_zeros(path, content)


def _is_every_other_zero(start: bytes) -> bool:
    n_half = len(start) // 2
    return n_half > 1 and max(start[::2].count(0), start[1::2].count(0)) > 0.4 * n_half
