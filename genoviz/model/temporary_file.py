"""Arrays in files without a name, for what is too long for the memory; and folders of files.

A file has no name from the start. Its space is free again once it is closed and no array maps it,
also at the end of a process that was killed. A folder has a name, so that of a killed process stays
until the next folder of its kind is made.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.errors import FileFormatError, GenovizError, n_words

try:
    import fcntl
except ImportError:  # no file locks: folders of killed processes cannot be detected
    fcntl = None


class TemporaryFile:
    """A file without a name.

    Parameters
    ----------
    n_bytes
        Space that is taken at once.
    cache
        Part of genoviz's cache folder, made if missing; None for the temporary folder.
    path
        The file that is read, for errors.

    Raises
    ------
    GenovizError
        If there is no space for the bytes: names the folder, and the variable that names another.
        With a path, a `FileFormatError` of it.
    """

    def __init__(
        self, n_bytes: int = 0, *, cache: Path | None = None, path: Path | None = None
    ) -> None:
        self._folder, self._path = cache, path
        with self.explain_errors(n_bytes):
            if cache is not None:
                cache.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=cache, buffering=0)
            self.close = weakref.finalize(self, self._file.close)
            if n_bytes:
                # A write to a mapped page that has no room on disk would kill the process.
                os.posix_fallocate(self.fileno(), 0, n_bytes)

    def __enter__(self) -> TemporaryFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._file.fileno()

    def append(self, content: np.ndarray | bytes) -> None:
        """Write bytes at the end.

        Raises
        ------
        GenovizError
            As for the file.
        """
        if isinstance(content, np.ndarray):
            content = np.ascontiguousarray(content).reshape(-1).view(np.uint8).data
        left = memoryview(content)
        with self.explain_errors(self._file.tell() + len(left)):
            while len(left):
                left = left[self._file.write(left) :]

    def read(self, first: int, n: int, dtype: Any) -> np.ndarray:
        """Return items of a file of one type: n from ``first`` on."""
        found = np.empty(n, dtype)
        left, at = memoryview(found.view(np.uint8)), first * found.itemsize
        while len(left):
            n_read = os.preadv(self.fileno(), [left], at)
            left, at = left[n_read:], at + n_read
        return found

    def map(self, dtype: Any, access: int = mmap.ACCESS_READ) -> np.ndarray:
        """Return all items, which stay when the file is closed; shape (n,)."""
        n_bytes = os.fstat(self.fileno()).st_size
        if not n_bytes:
            return np.empty(0, dtype)
        with self.explain_errors(n_bytes):
            return np.frombuffer(mmap.mmap(self.fileno(), n_bytes, access=access), dtype)

    @contextlib.contextmanager
    def explain_errors(self, n_bytes: int) -> Iterator[None]:
        """Convert errors of writing so many bytes into those of the file."""
        try:
            yield
        except OSError as error:
            folder = tempfile.gettempdir() if self._folder is None else self._folder
            variable = "TMPDIR" if self._folder is None else "GENOVIZ_CACHE_DIR"
            why = f"{folder}: {error.strerror or error}; {variable} names another folder"
            if self._path is None:
                raise GenovizError(
                    f"{n_words(n_bytes, 'byte does', 'bytes do')} not fit in {why}"
                ) from error
            raise FileFormatError(
                self._path, f"needs {n_words(n_bytes, 'byte')}, which do not fit in {why}"
            ) from error


class TemporaryFolder:
    """A folder in the temporary folder; folders of the same kind that dead processes left go.

    The folder is locked as long as this process uses it, and the system ends the lock with the
    process. A process number in the name would not do: another container that shares the temporary
    folder has its own numbers.

    Parameters
    ----------
    kind
        What its name starts with.

    Attributes
    ----------
    path
        The folder.
    """

    def __init__(self, kind: str) -> None:
        prefix = f"{kind}-"
        for found in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            if _is_own(found):
                _remove_if_left(found)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            lock = _lock_folder(self.path, waits=True)
            if self.path.is_dir():  # else another process took it for left before it was locked
                break
            _unlock(lock)
        self.remove = weakref.finalize(self, _remove, self.path, lock)


def _is_own(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.lstat().st_uid == os.getuid()
    return False


def _lock_folder(path: Path, *, waits: bool = False) -> int | None:
    """Return a descriptor that locks a folder; None if it is locked, or cannot be."""
    if fcntl is None:
        return None
    lock = None
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        _unlock(lock)
        return None
    return lock


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _remove_if_left(path: Path) -> None:
    lock = _lock_folder(path)
    if lock is not None:
        _remove(path, lock)


def _remove(path: Path, lock: int | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    _unlock(lock)
