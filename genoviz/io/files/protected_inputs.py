"""Files that a program reads, over which it must not write.

A command that reads a file in slices, or memory-mapped, and writes its result under the same name
would destroy what it reads; and what a person has is worth more than a result. So a program says
what it reads, and `replace_file` refuses to replace that, by whatever name, symbolic or hard link.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from os import PathLike
from pathlib import Path

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
