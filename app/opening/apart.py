"""Opening files in processes of their own: what a file does to its reader, it does to nobody else.

Each opening has a process, forked from one that has the readers loaded already, so it begins within
a tenth of a second. Its memory is limited. What it found comes back in an unnamed
file of the cache folder that is mapped here; arrays that it mapped from genoviz's cache are mapped
here too. Who gives an opening up ends its process at once.

What is opened is a function of a module and a path, so that another way to run it elsewhere needs
no more than `iter_apart`.
"""

from __future__ import annotations

import contextlib
import io
import logging
import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing import forkserver, reduction, util
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.errors import FileFormatError, GenovizError
from genoviz.io.files.content import GROUP
from genoviz.io.files.file_source import cache_folder
from genoviz.io.files.reading_rules import RULES, ReadingRules
from genoviz_app.opening.memory import limit_memory
from genoviz_app.server.jobs import describe_problem

log = logging.getLogger(__name__)

PRELOADED = "genoviz_app.opening.loaded_readers"

_PATIENCE = 0.005
_LAST_SECONDS = 0.1
_PAUSES = (0.05, 0.5, 2.0)
_ALIGNMENT = 64

Steps = Callable[[Path], Iterator[Any]]


class Readers:
    """The process that those of openings are forked from.

    Attributes
    ----------
    are_apart
        Whether files are opened in processes of their own; in this one otherwise.
    """

    def __init__(self) -> None:
        self.are_apart = False
        self._context: Any = None
        self._loading: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Open files apart from now on, where the system can; the readers load meanwhile."""
        if "forkserver" not in multiprocessing.get_all_start_methods():
            return
        with self._lock:
            is_first = self._context is None
            if is_first:
                self._context = multiprocessing.get_context("forkserver")
                self._context.set_forkserver_preload([PRELOADED])
            self.are_apart = True
        if is_first:
            self.reload()

    def reload(self) -> None:
        """Load the readers, unless that is under way."""
        with self._lock:
            if self._loading is None or not self._loading.is_alive():
                self._loading = threading.Thread(target=self._load, name="readers", daemon=True)
                self._loading.start()

    @property
    def are_loaded(self) -> bool:
        """Whether the first process can begin at once, or none is to."""
        return self._loading is None or not self._loading.is_alive()

    def begin(self, function: Callable[..., None], *arguments: Any) -> Any:
        """Return a process that runs a function."""
        process = self._context.Process(target=function, args=arguments, daemon=True)
        with _STARTING, _no_main_module():
            process.start()
        return process

    def pipe(self) -> tuple[Connection, Connection]:
        """Return where to receive from a process, and where it sends."""
        return self._context.Pipe(duplex=False)

    def _load(self) -> None:
        for seconds in _PAUSES:
            try:
                self.begin(_do_nothing).join()
            except (OSError, EOFError) as error:  # as while an earlier one is being ended
                found = error
                if isinstance(error, FileNotFoundError):
                    _end_unreachable()
                time.sleep(seconds)
            else:
                return
        log.error(
            "files are opened in the server's own process: no other can be started (%r)", found
        )
        self.are_apart = False


_STARTING = threading.Lock()

READERS = Readers()
"""Those of this server."""


def _end_unreachable() -> None:
    """End the process that openings are forked from, as its socket was removed with its folder."""
    Path(util.get_temp_dir()).mkdir(mode=0o700, parents=True, exist_ok=True)
    server = forkserver._forkserver  # there is no public name for it
    with contextlib.suppress(AttributeError, TypeError, OSError):
        os.kill(server._forkserver_pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Found:
    """What was opened: its pickle, and where each of its arrays lies in the file."""

    pickle: bytes
    places: tuple[tuple[int, int, bool], ...]


def iter_apart(steps: Steps, path: Path, *, max_bytes: int | None = None) -> Iterator[Any]:
    """Yield the progress of opening a file in a process of its own; None while there is none.

    Where files are not opened apart, it is that of opening it here.

    Parameters
    ----------
    steps
        A function of a module; yields progress, of which the last has what was opened.
    path
        What it is called with.
    max_bytes
        How much memory the process may take beyond what it begins with; None for any.

    Raises
    ------
    GenovizError
        As ``steps``; or if the process ends before it is done, or has not enough memory.
    """
    while not READERS.are_loaded:
        yield None
    if not READERS.are_apart:
        yield from steps(path)
        return
    with _unnamed_file(path) as file:
        receiver, sender = READERS.pipe()
        with receiver:
            with sender:
                target = _Descriptor(file.fileno())
                arguments = (_read, sender, target, steps, path, RULES, max_bytes)
                try:
                    process = READERS.begin(*arguments)
                except (OSError, EOFError):  # what it is forked from was ended
                    READERS.reload()
                    while not READERS.are_loaded:
                        yield None
                    process = _begin_again(path, arguments)
            try:
                yield from _follow(path, process, receiver, file)
                process.join(_LAST_SECONDS)
            finally:
                process.kill()
                process.join()


def _begin_again(path: Path, arguments: tuple) -> Any:
    try:
        return READERS.begin(*arguments)
    except (OSError, EOFError) as error:
        raise FileFormatError(
            path, f"cannot be read: the server cannot start a process for it ({error!r})"
        ) from error


def _follow(path: Path, process: Any, receiver: Connection, file: io.FileIO) -> Iterator[Any]:
    """Yield what a process sends until it is done."""
    while True:
        if not receiver.poll(_PATIENCE):
            yield None
            continue
        try:
            progress, found, problem = receiver.recv()
        except (EOFError, OSError):  # the latter in the midst of a message
            process.join()
            raise _ended(path, process.exitcode) from None
        if problem is not None:
            raise _error_of(*problem)
        if found is not None:
            yield replace(progress, opened=_take(path, found, file))
            return
        yield progress


def _ended(path: Path, code: int | None) -> GenovizError:
    """Return the error of a process that ended in the middle of its work."""
    why = f"with code {code}"
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            why = f"by {signal.Signals(-code).name}"
    return FileFormatError(
        path,
        f"the process that read it was ended {why}, as when memory runs out or the file is "
        "damaged; all else goes on",
    )


# What runs in the process.


def _do_nothing() -> None:
    """Let the readers be loaded."""


def _read(
    sender: Connection,
    target: int,
    steps: Steps,
    path: Path,
    rules: ReadingRules,
    max_bytes: int | None,
) -> None:
    """Open a file and send the progress, and at the end what was opened, or what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's
    # The locks that Numba makes have no name then, so a process that is killed leaves none behind.
    multiprocessing.set_start_method("fork", force=True)
    RULES.__dict__.update(vars(rules))
    try:
        limit_memory(max_bytes)
        for progress in steps(path):
            if progress.opened is None:
                sender.send((progress, None, None))
            else:
                found = _give(progress.opened, target)
                sender.send((replace(progress, opened=None), found, None))
                return
    except BrokenPipeError:  # nobody waits any more
        pass
    except MemoryError:
        found = "needs more memory than there is for it on this server"
        more = "" if max_bytes is None else f", {max_bytes / 1e9:.3g} GB"
        _send_error(sender, FileFormatError(path, found + more))
    except GenovizError as error:
        _send_error(sender, error)
    except OSError as error:  # a full disk
        found = f"cannot be opened: {error.strerror or error}"
        _send_error(sender, FileFormatError(path, found))
    except BaseException as error:  # a panic of compiled code is not an Exception
        log.exception("opening %s failed", path.name)
        _send_error(sender, GenovizError(describe_problem(error)))


def _send_error(sender: Connection, error: GenovizError) -> None:
    sender.send((None, None, (type(error), str(error), vars(error))))


def _error_of(kind: type[GenovizError], text: str, more: dict[str, Any]) -> GenovizError:
    error = kind.__new__(kind, text)
    error.__dict__.update(more)
    return error


# What was opened, and its arrays.


class _Descriptor:
    """The number of an open file, which another process gets along with the file."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple:
        return _detach, (reduction.DupFd(self.number),)


def _detach(number: Any) -> int:
    return number.detach()


class _Pickler(pickle.Pickler):
    """Leaves arrays out, and names the files of those that are mapped from genoviz's cache."""

    def reducer_override(self, value: Any) -> Any:
        place = _place_in_cache(value) if isinstance(value, np.ndarray) else None
        return NotImplemented if place is None else (_map_cached, place)


def _place_in_cache(array: np.ndarray) -> tuple | None:
    base = array
    while base is not None and not isinstance(base, np.memmap):
        base = base.base if isinstance(base, np.ndarray) else None
    if base is None or base.filename is None or not array.flags.c_contiguous:
        return None
    path = Path(base.filename).resolve()
    if not path.is_relative_to(cache_folder("").resolve()):
        return None
    offset = base.offset + array.ctypes.data - base.ctypes.data
    return str(path), path.stat().st_ino, offset, array.dtype, array.shape


def _map_cached(path: str, inode: int, offset: int, dtype: np.dtype, shape: tuple) -> np.ndarray:
    mapped = np.memmap(path, dtype, "r", offset, shape)
    if Path(path).stat().st_ino != inode:
        raise FileNotFoundError(path)
    return np.asarray(mapped)


def _give(opened: Any, target: int) -> _Found:
    """Write the arrays of what was opened into a file; return the rest."""
    stream, buffers = io.BytesIO(), []
    _Pickler(stream, 5, buffer_callback=buffers.append).dump(opened)
    places = []
    with os.fdopen(target, "wb") as file:
        for buffer in buffers:
            with buffer.raw() as content:
                file.write(bytes(-file.tell() % _ALIGNMENT))
                places.append((file.tell(), content.nbytes, content.readonly))
                file.write(content)
    return _Found(stream.getvalue(), tuple(places))


def _take(path: Path, found: _Found, file: io.FileIO) -> Any:
    """Return what was opened, its arrays mapped from a file."""
    room = memoryview(b"")
    if os.fstat(file.fileno()).st_size:
        room = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    parts = []
    for start, n_bytes, is_readonly in found.places:
        part = room[start : start + n_bytes]
        parts.append(part.toreadonly() if is_readonly else part)
    try:
        return pickle.loads(found.pickle, buffers=parts)
    except FileNotFoundError:
        raise FileFormatError(
            path, "what was kept of it was replaced meanwhile; open it again"
        ) from None


@contextlib.contextmanager
def _unnamed_file(path: Path) -> Iterator[io.FileIO]:
    folder = cache_folder(GROUP)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = tempfile.TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        reason = error.strerror or error
        raise FileFormatError(
            path, f"cannot be opened: {folder} cannot be written ({reason})"
        ) from error
    with file:
        yield file


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep new processes from running the program's main module, which is not what they need."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
