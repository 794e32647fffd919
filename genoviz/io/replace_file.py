"""Write a file as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import uuid
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replace_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of ``path`` once it is complete.

    After an error ``path`` is as it was. What is no regular file (a pipe, ``/dev/stdout``) is
    written directly.

    Raises
    ------
    FileNotFoundError
        If the folder of ``path`` does not exist.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.parent))
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with unfinished.open("xb") as file:
            yield file
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
