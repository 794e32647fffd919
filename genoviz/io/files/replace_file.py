"""Atomic writing of files, with protection of input files; and folders for them.

A command that reads a file in slices or memory-mapped would destroy it by writing its result under
the same name. Commands therefore declare their inputs (`protect_inputs`), and `replace_file`
refuses to replace these, under any name, symbolic or hard link.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from genoviz.errors import FileFormatError

_PROTECTED: ContextVar[frozenset[tuple[int, int]] | None] = ContextVar("_PROTECTED", default=None)
"""Files of the running command; None where none runs."""


@contextlib.contextmanager
def protect_inputs(paths: Iterable[str | PathLike[str]]) -> Iterator[None]:
    """Protect these files from being overwritten within the context; missing files are ignored.

    Parameters
    ----------
    paths
        The input files.
    """
    keys = {_file_key(path) for path in paths} - {None}
    token = _PROTECTED.set((_PROTECTED.get() or frozenset()) | keys)
    try:
        yield
    finally:
        _PROTECTED.reset(token)


def protect_more(paths: Iterable[str | PathLike[str]]) -> None:
    """Protect further input files, such as those that an input names, until its context ends.

    Without a context of `protect_inputs`, as in Python, nothing is protected.
    """
    known = _PROTECTED.get()
    if known is not None:
        _PROTECTED.set(known | ({_file_key(path) for path in paths} - {None}))


def refuse_input(path: str | PathLike[str]) -> None:
    """Raise if a file is a protected input.

    Raises
    ------
    FileFormatError
        If it is protected.
    """
    if _file_key(path) in (_PROTECTED.get() or ()):
        raise FileFormatError(
            Path(path), "is read by this command, which must not write over it; give another name"
        )


def _file_key(path: str | PathLike[str]) -> tuple[int, int] | None:
    """Return the device and inode of a regular file, which all its links share, or None."""
    path = Path(path)
    try:
        status = path.stat()
        return (status.st_dev, status.st_ino) if path.is_file() else None
    except NotADirectoryError:  # genome.gbz/chr6 is a chromosome of a file
        return _file_key(path.parent)
    except (OSError, ValueError):
        return None


try:
    import fcntl
except ImportError:  # no file locks: leftover parts cannot be detected
    fcntl = None

_ENDING = ".part"

_open_parts: set[Path] = set()

_USUAL_NAME_MAX = 255

_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d+)|(stdin|stdout|stderr))")

_STANDARD = {"stdin": 0, "stdout": 1, "stderr": 2}


@contextlib.contextmanager
def replace_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces ``path`` when it is complete.

    The data are flushed to disk before the replacement, so that a power failure leaves either the
    old or the new file. After an error ``path`` is unchanged. A killed process leaves a temporary
    part (``.name.….part``), which the next writer of the same file removes; parts in use are kept.
    Files that are not regular (pipes) or are already open (``/dev/stdout``) are written directly.

    Raises
    ------
    FileFormatError
        If the file cannot be written, or is an input of the running command.
    BrokenPipeError
        If it is a pipe whose reader has ended.
    """
    path = Path(path)
    refuse_input(path)
    try:
        if is_open_stream(path):
            sys.stdout.flush()
            with os.fdopen(os.dup(_descriptor(path)), "wb") as file:
                yield file
        elif path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
        else:
            with _open_part(path.resolve()) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise FileFormatError(path, f"cannot be written: {reason}") from error


def make_folder(path: str | PathLike[str]) -> None:
    """Make a folder for results, with those above it, unless it is there.

    Raises
    ------
    FileFormatError
        If it is a file, or cannot be made.
    """
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileFormatError(path, "is a file, needs to be a folder for the results") from None
    except OSError as error:
        raise FileFormatError(path, f"cannot be made: {error.strerror or error}") from error


def is_open_stream(path: str | PathLike[str]) -> bool:
    """Return whether a path is an already open stream, such as ``/dev/stdout``."""
    return _DESCRIPTOR.fullmatch(str(path)) is not None


def _descriptor(path: Path) -> int:
    number, name = _DESCRIPTOR.fullmatch(str(path)).groups()
    return _STANDARD[name] if number is None else int(number)


@contextlib.contextmanager
def _open_part(target: Path) -> Iterator[BinaryIO]:
    """Open a temporary part, which becomes the target at the end of the context."""
    prefix = _part_prefix(target)
    _sweep(target.parent, prefix)
    part = target.parent / f"{prefix}{_unique()}{_ENDING}"
    # Interrupts may arrive at any point, so a part is registered before it is created and until it
    # is gone; `remove_open_parts` then finds it.
    _open_parts.add(part)
    try:
        with _create(part) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(target)
        _sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)
        _open_parts.discard(part)


def remove_open_parts() -> None:
    """Remove all temporary parts of this process, before it is terminated."""
    for part in list(_open_parts):
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
            _open_parts.discard(part)


def _part_prefix(target: Path) -> str:
    """Return the name prefix of a file's temporary parts written by this machine.

    It has as much of the file name as fits, and a digest of the full name and the machine.
    """
    what = f"{platform.node()}\n{target.name}".encode("utf-8", "surrogateescape")
    digest = hashlib.sha256(what).hexdigest()[:12]
    n_left = _name_max(target.parent) - len(f"..{digest}.{_unique()}{_ENDING}")
    shown = os.fsencode(target.name)[: max(n_left, 0)].decode("utf-8", "ignore")
    return f".{shown}.{digest}."


def _name_max(folder: Path) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return _USUAL_NAME_MAX


def _unique() -> str:
    return uuid.uuid4().hex[:8]


def _create(part: Path) -> BinaryIO:
    """Return a new file, locked until it is closed."""
    while True:
        file = part.open("xb")
        _lock(file, waits=True)
        if part.exists():  # otherwise another process removed it before it was locked
            return file
        file.close()


def _lock(file: BinaryIO, *, waits: bool = False) -> bool:
    """Lock a file while it is open; return whether that succeeded."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except (AttributeError, OSError):  # locked by another process, or no locks available
        return False
    return True


def _sweep(folder: Path, prefix: str) -> None:
    """Remove parts that are not in use; the system releases the locks of dead processes."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if not (path.name.startswith(prefix) and path.name.endswith(_ENDING)):
                continue
            with contextlib.suppress(OSError), path.open("r+b") as file:
                if _lock(file):
                    path.unlink()


def _sync_folder(folder: Path) -> None:
    """Flush the new directory entry to disk, if the system supports that."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
