"""Write a file as a whole or not at all."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from genoviz.errors import FileFormatError


@contextlib.contextmanager
def replace_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of ``path`` once it is complete.

    After an error ``path`` is as it was. What is no regular file (a pipe, ``/dev/stdout``) is
    written directly.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    path = Path(path)
    is_special = path.exists() and not path.is_file()
    target = path.resolve()
    part = path if is_special else target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with part.open("wb") as file:
            yield file
        if not is_special:
            part.replace(target)
    except BaseException as error:
        if not is_special:
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise FileFormatError(path, f"cannot be written: {reason}") from error
        raise
