"""Opening of files in separate processes, so that a bad file cannot harm the server.

Each opening runs in its own process, forked from one with the readers already loaded, so it starts
within a tenth of a second. Its memory is limited. The result is returned in an unnamed file in the
cache folder, which is mapped here. Arrays that it mapped from genoviz's cache are mapped here too.
Abandoning an opening kills its process at once.

An opening is defined by a module-level function and a path. Running it elsewhere requires changes
to `iter_apart` only.
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
from genoviz.model.temporary_file import TemporaryFile
from genoviz_app.opening.memory import limit_memory
from genoviz_app.server.jobs import describe_problem

log = logging.getLogger(__name__)

PRELOADED = "genoviz_app.opening.loaded_readers"

_PATIENCE = 0.005
"""Seconds that a step waits for a message of the process."""
_LAST_SECONDS = 0.1
"""Time for a process that has sent everything to end by itself; then it is killed."""
_PAUSES = (0.05, 0.5, 2.0)
"""Seconds between attempts to start the fork server."""
_ALIGNMENT = 64
"""Arrays begin at multiples of this many bytes of the file."""

Steps = Callable[[Path], Iterator[Any]]


class Readers:
    """The fork server of the opening processes.

    Attributes
    ----------
    are_apart
        Whether files are opened in separate processes rather than in this one.
    """

    def __init__(self) -> None:
        self.are_apart = False
        self._context: Any = None
        self._loading: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Use separate processes from now on, if supported; readers load in the background."""
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
        """Load the readers, unless this is in progress."""
        with self._lock:
            if self._loading is None or not self._loading.is_alive():
                self._loading = threading.Thread(target=self._load, name="readers", daemon=True)
                self._loading.start()

    @property
    def are_loaded(self) -> bool:
        """Whether an opening can start at once, or no separate processes are used."""
        return self._loading is None or not self._loading.is_alive()

    def begin(self, function: Callable[..., None], *arguments: Any) -> Any:
        """Start a process that runs a function."""
        process = self._context.Process(target=function, args=arguments, daemon=True)
        with _STARTING, _no_main_module():
            process.start()
        return process

    def pipe(self) -> tuple[Connection, Connection]:
        """Return the receiving and the sending end of a pipe."""
        return self._context.Pipe(duplex=False)

    def _load(self) -> None:
        for seconds in _PAUSES:
            try:
                self.begin(_do_nothing).join()
            except (OSError, EOFError) as error:  # e.g. while an earlier fork server is stopping
                found = error
                if isinstance(error, FileNotFoundError):
                    _end_unreachable()
                time.sleep(seconds)
            else:
                return
        log.error(
            "files are opened in the server's own process, because no other process "
            "can be started (%r)",
            found,
        )
        self.are_apart = False


_STARTING = threading.Lock()

READERS = Readers()
"""The fork server of this server."""


def _end_unreachable() -> None:
    """Stop the fork server whose socket was removed together with its folder."""
    Path(util.get_temp_dir()).mkdir(mode=0o700, parents=True, exist_ok=True)
    server = forkserver._forkserver  # no public name
    with contextlib.suppress(AttributeError, TypeError, OSError):
        os.kill(server._forkserver_pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Found:
    """A pickled result, and the location of each of its arrays in the file."""

    pickle: bytes
    places: tuple[tuple[int, int, bool], ...]


def iter_apart(steps: Steps, path: Path, *, max_bytes: int | None = None) -> Iterator[Any]:
    """Open a file in a separate process; yields its progress, or None if there is no news.

    If separate processes are not used, the file is opened here.

    Parameters
    ----------
    steps
        A module-level function that yields progress; the last value has the opened content.
    path
        Its argument.
    max_bytes
        Memory limit of the process beyond its initial use; None for no limit.

    Raises
    ------
    GenovizError
        As ``steps``; or if the process dies or runs out of memory.
    """
    while READERS.are_apart and not READERS.are_loaded:
        yield None
    if not READERS.are_apart:
        yield from steps(path)
        return
    with TemporaryFile(cache=cache_folder(GROUP), path=path) as file:
        receiver, sender = READERS.pipe()
        with receiver:
            with sender:
                target = _Descriptor(file.fileno())
                arguments = (_read, sender, target, steps, path, RULES, max_bytes)
                try:
                    process = READERS.begin(*arguments)
                except (OSError, EOFError):  # the fork server was stopped
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


def _follow(path: Path, process: Any, receiver: Connection, file: TemporaryFile) -> Iterator[Any]:
    """Yield the messages of a process until it is done."""
    while True:
        if not receiver.poll(_PATIENCE):
            yield None
            continue
        try:
            progress, found, problem = receiver.recv()
        except (EOFError, OSError):  # OSError in the middle of a message
            # A start also asks how other processes ended. What asks second is told nothing.
            with _STARTING:
                process.join()
            raise _ended(path, process.exitcode) from None
        if problem is not None:
            raise _error_of(*problem)
        if found is not None:
            yield replace(progress, opened=_take(path, found, file))
            return
        yield progress


def _ended(path: Path, code: int | None) -> GenovizError:
    """Return the error for a process that died."""
    why = f"with code {code}"
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            why = f"by {signal.Signals(-code).name}"
    return FileFormatError(
        path,
        f"the process that read it was ended {why}, as when memory runs out or the file is "
        "damaged; all else goes on",
    )


# Code that runs in the separate process.


def _do_nothing() -> None:
    """Do nothing; starting the process loads the readers."""


def _read(
    sender: Connection,
    target: int,
    steps: Steps,
    path: Path,
    rules: ReadingRules,
    max_bytes: int | None,
) -> None:
    """Open a file; send the progress, and finally the content or the error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the server
    # Numba's locks are then unnamed, so that a killed process leaves no semaphores behind.
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
    except BrokenPipeError:  # the receiver has given up
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
    except BaseException as error:  # panics of Rust extensions are not Exceptions
        log.exception("opening %s failed", path.name)
        _send_error(sender, GenovizError(describe_problem(error)))


def _send_error(sender: Connection, error: GenovizError) -> None:
    sender.send((None, None, (type(error), str(error), vars(error))))


def _error_of(kind: type[GenovizError], text: str, more: dict[str, Any]) -> GenovizError:
    error = kind.__new__(kind, text)
    error.__dict__.update(more)
    return error


# Transfer of the opened content and its arrays.


class _Descriptor:
    """A file descriptor that is passed to the other process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple:
        return _detach, (reduction.DupFd(self.number),)


def _detach(number: Any) -> int:
    return number.detach()


class _Pickler(pickle.Pickler):
    """Stores arrays separately; arrays mapped from genoviz's cache by file name."""

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
    """Write the arrays of opened content to a file; return the rest."""
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


def _take(path: Path, found: _Found, file: TemporaryFile) -> Any:
    """Return the opened content, with its arrays mapped from a file."""
    room = memoryview(file.map(np.uint8, mmap.ACCESS_COPY))
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
def _no_main_module() -> Iterator[None]:
    """Keep new processes from importing the program's main module, which they do not need."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
