"""Detection of text encodings: UTF-8, or what other programs save."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.content import is_utf16, refuse_zeros
from genoviz.io.text.text_file import is_gzip, read_bytes, read_start

_N_BYTES = 4096
_ASCII_END, _HIGH_BITS, _CONTINUES = 128, 0xC0, 0x80
_WORD = re.compile(r"[^ \t\r\n\v\f]+")
_COMMENT = re.compile(rb"#[^\n]*")


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


def read_utf8(path: str | PathLike[str], *, comments: bool = False) -> str:
    """Return a text, plain or gzipped; without ``comments`` of # to the end of a line, if so asked.

    Raises
    ------
    FileFormatError
        If it cannot be read, is empty, or is not text in UTF-8; a comment may be.
    """
    check_text(path)
    text = read_bytes(path).tobytes()
    text = _COMMENT.sub(b"", text) if comments else text
    check_utf8(Path(path), text)
    return text.decode()


def read_lines(path: str | PathLike[str]) -> list[str]:
    """Return the lines of a text as `read_utf8`, without their ends: LF or CR LF alone."""
    text = read_utf8(path).removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")]


def words_of(line: str) -> list[str]:
    r"""Return the words between blanks, tabs and the like of ASCII alone.

    ``str.split`` would part a name at a no-break space, which PLINK, GCTA and htslib do not.

    Examples
    --------
    >>> words_of(" F1\tBell\u00a0old 0")
    ['F1', 'Bell\xa0old', '0']
    """
    return _WORD.findall(line)


def check_utf8(path: Path, text: bytes, n_before: int = 0) -> None:
    """Reject text that is not UTF-8, in which different names could become the same.

    Raises
    ------
    FileFormatError
        If it is not; names the line, of which ``n_before`` are in the file before this text.
    """
    if text.isascii():
        return
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = n_before + 1 + text.count(b"\n", 0, error.start)
        raise FileFormatError(path, explain_utf8(error), line=line) from error


def check_lines(path: Path, text: np.ndarray, numbers: Sequence[int]) -> None:
    """Reject the first of some lines of a text, uint8, that is not UTF-8; numbers are from 1 on."""
    if not numbers:
        return
    lines = text.tobytes().split(b"\n")
    for number in numbers:
        check_utf8(path, lines[number - 1], number - 1)


def is_ascii(data: np.ndarray) -> bool:
    """Return whether bytes are all ASCII, which is a fast way to know that they are UTF-8."""
    return data.max(initial=0) < _ASCII_END


def find_not_utf8(data: np.ndarray, offsets: np.ndarray) -> int:
    """Return the first of many strings that is not UTF-8, or -1.

    Parameters
    ----------
    data
        uint8, shape (n_bytes,): the strings, one after the other.
    offsets
        int64, shape (n + 1,): string ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    """
    if is_ascii(data):
        return -1
    text = data.tobytes()
    starts = offsets[:-1][np.diff(offsets) > 0]
    with contextlib.suppress(UnicodeDecodeError):
        text.decode()
        if not (data[starts] & _HIGH_BITS == _CONTINUES).any():  # no letter is in two strings
            return -1
    others = np.flatnonzero(data >= _ASCII_END)
    for row in np.unique(np.searchsorted(offsets, others, "right") - 1).tolist():
        try:
            text[offsets[row] : offsets[row + 1]].decode()
        except UnicodeDecodeError:
            return row
    return -1


def explain_utf8(error: UnicodeDecodeError) -> str:
    """Return what is wrong with text that is not UTF-8."""
    letters = error.object[error.start : error.end].decode("cp1252", "replace")
    found = f"has a letter that is not UTF-8 (perhaps {letters})"
    return f"{found}, needs UTF-8: save it as text in UTF-8"


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
