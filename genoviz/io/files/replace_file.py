"""Write a file as a whole or not at all, and never over a file that the program reads.

A command that reads a file in slices, or memory-mapped, and writes its result under the same name
would destroy what it reads; and what a person has is worth more than a result. So a program says
what it reads (`protect_inputs`), and `replace_file` refuses to replace that, by whatever name,
symbolic or hard link.
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

_PROTECTED: ContextVar[frozenset[tuple[int, int]]] = ContextVar("_PROTECTED", default=frozenset())


@contextlib.contextmanager
def protect_inputs(paths: Iterable[str | PathLike[str]]) -> Iterator[None]:
    """Let no file of these be written over until the block ends; those that do not exist count not.

    Parameters
    ----------
    paths
        The files that are read.
    """
    keys = {_file_key(path) for path in paths} - {None}
    token = _PROTECTED.set(_PROTECTED.get() | keys)
    try:
        yield
    finally:
        _PROTECTED.reset(token)


def protect_more(paths: Iterable[str | PathLike[str]]) -> None:
    """Protect files that turn out to be read, too, until the block of `protect_inputs` ends."""
    _PROTECTED.set(_PROTECTED.get() | ({_file_key(path) for path in paths} - {None}))


def refuse_input(path: str | PathLike[str]) -> None:
    """Refuse to write a file that is protected.

    Raises
    ------
    FileFormatError
        If it is.
    """
    if _PROTECTED.get() and _file_key(path) in _PROTECTED.get():
        raise FileFormatError(
            Path(path), "is read by this command, which must not write over it; give another name"
        )


def _file_key(path: str | PathLike[str]) -> tuple[int, int] | None:
    """Return what names a regular file by all of its links, or None for what is none."""
    try:
        path = Path(path)
        status = path.stat()
        return (status.st_dev, status.st_ino) if path.is_file() else None
    except (OSError, ValueError):
        return None


try:
    import fcntl
except ImportError:  # a system without locks: parts left behind are not found out
    fcntl = None

_ENDING = ".part"

_open_parts: set[Path] = set()

_USUAL_NAME_MAX = 255

_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d+)|(stdin|stdout|stderr))")

_STANDARD = {"stdin": 0, "stdout": 1, "stderr": 2}


@contextlib.contextmanager
def replace_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of ``path`` once it is complete.

    What is written is on the disk before it takes that place, so that a power cut leaves the old
    file or the new one. After an error ``path`` is as it was. A process that is killed leaves a
    part (``.name.….part``) behind, which the next one that writes the same file removes; parts on
    which a process still writes stay. What is not a regular file (a pipe) or is open already
    (``/dev/stdout``) is written directly.

    Raises
    ------
    FileFormatError
        If the file cannot be written, or the command that runs reads it.
    BrokenPipeError
        If it is a pipe and nobody reads on.
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


def is_open_stream(path: str | PathLike[str]) -> bool:
    """Return whether a path is a stream that is open already, such as ``/dev/stdout``."""
    return _DESCRIPTOR.fullmatch(str(path)) is not None


def _descriptor(path: Path) -> int:
    number, name = _DESCRIPTOR.fullmatch(str(path)).groups()
    return _STANDARD[name] if number is None else int(number)


@contextlib.contextmanager
def _open_part(target: Path) -> Iterator[BinaryIO]:
    """Open a part of a file, which becomes that file at the end of the block."""
    prefix = _part_prefix(target)
    _sweep(target.parent, prefix)
    part = target.parent / f"{prefix}{_unique()}{_ENDING}"
    # An interrupt may come between any two lines: what is noted before it is made, and until it is
    # gone, is found by `remove_open_parts`.
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
    """Remove all parts that this process writes, for it is about to end in the midst of that."""
    for part in list(_open_parts):
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
            _open_parts.discard(part)


def _part_prefix(target: Path) -> str:
    """Return how the names of the parts of a file begin, if this machine writes them.

    They show as much of the file's name as fits, and tell all of it and the machine by a digest.
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
    """Return a new file, which is locked until it is closed."""
    while True:
        file = part.open("xb")
        _lock(file, waits=True)
        if part.exists():  # else a sweep by another process came before the lock
            return file
        file.close()


def _lock(file: BinaryIO, *, waits: bool = False) -> bool:
    """Lock a file as long as it is open; return whether that went well."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except (AttributeError, OSError):  # locked by another, or no locks here
        return False
    return True


def _sweep(folder: Path, prefix: str) -> None:
    """Remove parts that no process writes on: the system unlocks those of a dead one."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if not (path.name.startswith(prefix) and path.name.endswith(_ENDING)):
                continue
            with contextlib.suppress(OSError), path.open("r+b") as file:
                if _lock(file):
                    path.unlink()


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where the system can be asked for that."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
