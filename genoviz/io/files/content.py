"""The raw bytes of a file, memory-mapped, or copied if others may change the file.

If a mapped file is rewritten in place, the process crashes or reads a mixture of old and new bytes.
A process that serves several users therefore works on a copy. A small file is read into memory. A
large one is copied to an unnamed file in the cache folder, which is mapped; on file systems with
shared blocks (reflinks) this takes no space.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.generators import finish
from genoviz.io.files.file_source import cache_folder
from genoviz.io.files.reading_rules import RULES
from genoviz.model.temporary_file import TemporaryFile

MAX_BYTES_IN_MEMORY = 64 << 20
GROUP = "snapshots"

_SLICE = 16 << 20
_CACHED = 1 << 20
UTF16 = (b"\xff\xfe", b"\xfe\xff")
_N_LOOKED_AT = 400
_CANNOT_SHARE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF)

Progress = tuple[int, int]
State = tuple[int, int, int]


def open_content(
    path: Path, *, needs: str = "at least one line", may_be_empty: bool = False
) -> Generator[Progress, None, np.ndarray]:
    """Return the bytes of a file; uint8, read-only, shape (n_bytes,).

    A generator that yields bytes done and total bytes while it makes a copy.

    Parameters
    ----------
    path
        The file.
    needs
        What an error about an empty file says is needed.
    may_be_empty
        Whether to accept an empty file.

    Raises
    ------
    FileFormatError
        If the file is missing, empty, not a regular file, unreadable, or changes while it is read;
        or if there is no space for the copy.
    """
    with _told_of(path):
        _check_regular(path)
        with path.open("rb", buffering=0) as file:
            before = _state(os.fstat(file.fileno()))
            if before[0] == 0:
                if may_be_empty:
                    return np.empty(0, np.uint8)
                raise FileFormatError(path, f"the file is empty, needs {needs}")
            if not RULES.snapshots:
                return _map(file)
            content = yield from _copy(path, file, before[0])
            if _state(os.fstat(file.fileno())) != before:
                raise changed(path)
            return content


def forget(content: np.ndarray, first: int, last: int) -> None:
    """Let the system take back the memory of some bytes of `open_content`, which can be read again.

    Otherwise all pages of a large file count as memory of the process once they are read.
    """
    start = first // mmap.PAGESIZE * mmap.PAGESIZE
    content.base.obj.madvise(mmap.MADV_DONTNEED, start, last - start)


@contextlib.contextmanager
def open_for_library(path: Path) -> Iterator[Path]:
    """Provide a path for a library that maps files: this file, or a private copy.

    Raises
    ------
    FileFormatError
        As :func:`open_content`.
    """
    if not RULES.snapshots:
        yield path
        return
    with _told_of(path):
        _check_regular(path)
        with path.open("rb", buffering=0) as file:
            before = _state(os.fstat(file.fileno()))
            copy = finish(_copy_to_file(path, file, before[0]))
            if _state(os.fstat(file.fileno())) != before:
                copy.close()
                raise changed(path)
    with copy:
        yield Path(f"/dev/fd/{copy.fileno()}")


def file_state(path: Path) -> State:
    """Return values that change when a file does: size, modification time, and inode."""
    with _told_of(path):
        return _state(path.stat())


def changed(path: Path) -> FileFormatError:
    """Return the error for a file that has changed since it was opened."""
    return FileFormatError(path, "changed while it was read; open it again once it is complete")


def missing(path: Path, *, needed: str = "") -> FileFormatError:
    """Return the error for a missing file; ``needed`` continues the sentence."""
    return FileFormatError(path, f"there is no such file in {path.absolute().parent}{needed}")


def unreadable(path: Path, error: OSError | ValueError) -> FileFormatError:
    """Return the error for a file that the system or a library cannot read."""
    if isinstance(error, FileNotFoundError):
        return missing(path)
    reason = getattr(error, "strerror", None) or error
    return FileFormatError(path, f"cannot be read: {reason}")


def open_raw(path: Path, buffering: int = -1) -> BinaryIO:
    """Return a file opened for reading; raises `FileFormatError` if that cannot be."""
    try:
        return path.open("rb", buffering=buffering)
    except OSError as error:
        raise unreadable(path, error) from error


@contextlib.contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Convert errors of reading a file into a FileFormatError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _state(status: os.stat_result) -> State:
    return status.st_size, status.st_mtime_ns, status.st_ino


def _check_regular(path: Path) -> None:
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise FileFormatError(path, f"is {kind}, needs to be a file")


def _map(file: BinaryIO) -> np.ndarray:
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _copy(path: Path, file: BinaryIO, n: int) -> Generator[Progress, None, np.ndarray]:
    if n > MAX_BYTES_IN_MEMORY:
        copy = yield from _copy_to_file(path, file, n)
        with copy:
            return copy.map(np.uint8)
    content = np.frombuffer(mmap.mmap(-1, n), np.uint8)  # page-aligned, as a mapped file
    done = 0
    while done < n:
        n_read = file.readinto(content[done : done + _SLICE].data)
        if not n_read:
            raise changed(path)
        done += n_read
        yield done, n
    content.flags.writeable = False
    return content


def _copy_to_file(path: Path, file: BinaryIO, n: int) -> Generator[Progress, None, TemporaryFile]:
    """Return an unnamed file with the same bytes."""
    copy = TemporaryFile(cache=cache_folder(GROUP), path=path)
    try:
        done = 0
        with copy.explain_errors(n):
            while done < n:
                n_copied = _copy_slice(file.fileno(), copy.fileno(), done, min(_SLICE, n - done))
                if not n_copied:
                    raise changed(path)
                done += n_copied
                yield done, n
    except BaseException:
        copy.close()
        raise
    return copy


def _copy_slice(source: int, target: int, at: int, n: int) -> int:
    """Copy a range of bytes inside the kernel if possible; return the number copied."""
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, target, n, at, at)
        except OSError as error:
            if error.errno not in _CANNOT_SHARE:
                raise
    part = os.pread(source, n, at)
    os.lseek(target, at, os.SEEK_SET)
    with os.fdopen(os.dup(target), "wb") as sink:
        sink.write(part)
    return len(part)


def is_utf16(start: bytes) -> bool:
    """Return whether a file that starts with these bytes is text in UTF-16 with a byte-order mark.

    Binary files may start with the same two bytes, such as all layouts of odgi, but have other
    bytes that are no letters.
    """
    if start[:2] not in UTF16:
        return False
    text = start[: len(start) // 2 * 2].decode("utf-16", "replace")
    return all(letter.isprintable() or letter in "\t\r\n" for letter in text)


def refuse_zeros(path: Path, text: np.ndarray, n_lines_before: int = 0) -> None:
    """Reject a text that contains a zero byte.

    Zero bytes indicate an incomplete copy of a file. The lines that they replace could go unnoticed
    if the gap starts within one name and ends within another.

    Raises
    ------
    FileFormatError
        If it has one; the message names the line.
    """
    for first in range(0, len(text), _CACHED):
        part = text[first : first + _CACHED]
        if part.min():
            continue
        if is_utf16(text[:_N_LOOKED_AT].tobytes()):
            raise FileFormatError(path, "is text in UTF-16, needs UTF-8")
        before = text[: first + int(np.argmin(part))]
        line = n_lines_before + 1 + int(np.count_nonzero(before == ord("\n")))
        raise FileFormatError(
            path, "has a byte of zero (damaged, or no text), needs a whole text", line=line
        )
