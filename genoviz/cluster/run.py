"""Execution of the blocks of one call: sending, repeating lost ones, cancelling."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import genoviz
from genoviz.errors import ClusterError, GenovizError

if TYPE_CHECKING:
    from distributed import Client, Future

NO_WORKER_SECONDS = 120
"""Maximum time without workers; batch systems may start them late."""
MAX_LOST = 5
"""Number of resends after which a block is blamed for the loss of workers."""
BLOCKS_PER_THREAD = 2
"""Blocks in flight per worker thread: one that is computed and one that waits."""
AHEAD = 2
"""For results in order: factor on the blocks that may be finished or in flight."""
SMALL_BYTES = 1 << 20
_HEARING_SECONDS = 0.2
_ASKING_SECONDS = 2.0


class NotSharedError(GenovizError):
    """A file is missing on a worker, or differs there."""


@dataclass(frozen=True)
class FilePart:
    """Location of a memory-mapped array, and the file's state to detect changes.

    Attributes
    ----------
    path, offset
        The file, and the byte at which the array starts.
    shape, dtype
        Those of the array.
    size, changed
        Size of the file in bytes, and its modification time, ns.
    """

    path: str
    offset: int
    shape: tuple[int, ...]
    dtype: str
    size: int
    changed: int

    @classmethod
    def of(cls, array: np.ndarray) -> FilePart | None:
        """Return the location of a mapped array; None if it is not mapped or cannot be located."""
        if not array.size or not array.flags.c_contiguous:
            return None
        address = array.ctypes.data
        with contextlib.suppress(OSError, ValueError):
            for line in Path("/proc/self/maps").read_text().splitlines():
                places, _, offset, _, inode, *name = line.split(maxsplit=5)
                first, stop = (int(place, 16) for place in places.split("-"))
                if first <= address and address + array.nbytes <= stop and int(inode) and name:
                    status = Path(name[0]).stat()  # a removed file is listed under another name
                    if status.st_ino != int(inode):
                        return None
                    at = int(offset, 16) + address - first
                    state = status.st_size, status.st_mtime_ns
                    return cls(name[0], at, array.shape, array.dtype.str, *state)
        return None

    def open(self) -> np.ndarray:
        """Return the array, mapped.

        Raises
        ------
        NotSharedError
            If the file differs here, or is missing.
        """
        try:
            status = Path(self.path).stat()
            if (status.st_size, status.st_mtime_ns) != (self.size, self.changed):
                raise NotSharedError(f"{self.path} is another file here")
            return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)
        except OSError as error:
            raise NotSharedError(f"{self.path} is not here: {error}") from error


@cache
def code_version() -> str:
    """Return the version of genoviz with a hash of its code, because checkouts may differ."""
    root, digest = Path(genoviz.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{genoviz.__version__} ({digest.hexdigest()[:8]})"


class Run:
    """The blocks of one call: those to be sent, and those in flight."""

    def __init__(
        self,
        client: Client,
        function: Callable[..., Any],
        blocks: Sequence[tuple],
        common: tuple,
        *,
        in_order: bool = False,
    ) -> None:
        self.n_blocks, self.n_taken, self._in_order = len(blocks), 0, in_order
        self._client, self._function = client, function
        self._blocks, self._common_values = blocks, common
        self._address = client.scheduler.address
        self._common: Any = None
        self._todo = deque(range(len(blocks)))
        self._lost = [0] * len(blocks)
        self._sent: dict[Any, tuple[Future, Any]] = {}
        self._done: queue.SimpleQueue = queue.SimpleQueue()
        self._is_shared = True
        self._n_done = 0
        self._n_threads, self._asked, self._last_worker = 0, -math.inf, time.monotonic()

    def iter_done(self) -> Iterator[tuple[Any, Future]]:
        """Send blocks, and yield finished ones until all are done."""
        while self._todo or self._sent:
            self._look_for_workers()
            maximum = BLOCKS_PER_THREAD * self._n_threads
            while self._todo and len(self._sent) < maximum and self._is_near(maximum):
                self._send_block(self._todo.popleft())
            try:
                node, future = self._done.get(timeout=_HEARING_SECONDS)
            except queue.Empty:
                continue
            if self._sent.get(node, (None, None))[0] is future:
                yield node, future
                self._sent.pop(node, None)
                self._n_done += future.status == "finished"

    def _is_near(self, n_blocks: int) -> bool:
        """Return whether the next block may be sent after ``n_taken`` were taken in order."""
        return not self._in_order or self._todo[0] < self.n_taken + AHEAD * n_blocks

    def send(self, node: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Submit a function call to a worker; ``node`` identifies it."""
        future = self._client.submit(_call, code_version(), function, *arguments, pure=False)
        # Keep references to the arguments until the call has ended.
        self._sent[node] = future, arguments
        future.add_done_callback(lambda done, node=node: self._done.put((node, done)))

    def fetch(self, node: Any, future: Future) -> tuple[Any] | None:
        """Return the result of a future in a tuple, or None if it was lost and is sent again."""
        if future.status == "finished":
            with contextlib.suppress(CancelledError, asyncio.CancelledError):
                return (self._ask(future.result),)
        self.check(future, node)
        if isinstance(node, int):
            self.repeat([node])
        return None

    def check(self, future: Future, node: Any) -> None:
        """Raise the error of a future, unless it was lost with a worker."""
        self._check_scheduler()
        if future.status != "error":
            return
        error = future.exception()
        if isinstance(error, NotSharedError):
            self._is_shared = False
            return
        kind = type(error).__name__
        if kind == "KilledWorker":
            raise ClusterError(
                f"block {_name(node)} of {self.n_blocks:,} has ended every worker that took it; "
                "they may have too little memory: see their logs"
            )
        if isinstance(error, ModuleNotFoundError):
            raise ClusterError(f"a worker has no package {error.name}: install genoviz there too")
        raise error

    def repeat(self, blocks: Sequence[int]) -> None:
        """Send blocks again, with the common arguments."""
        self._common = None
        for block in blocks[::-1]:
            self._lost[block] += 1
            if self._lost[block] > MAX_LOST:
                raise ClusterError(
                    f"block {block + 1:,} of {self.n_blocks:,} was lost with its worker "
                    f"{MAX_LOST + 1} times; see the logs of the workers"
                )
            if block not in self._todo:
                self._todo.appendleft(block)

    def cancel(self) -> None:
        """Cancel pending calls; workers finish those that they have started."""
        futures = [future for future, _ in self._sent.values()]
        self._sent.clear()
        if futures and self._client.status == "running":
            with contextlib.suppress(Exception):
                self._client.cancel(futures, force=True)

    def _send_block(self, block: int) -> None:
        if self._common is None:
            self._common = self._place(self._common_values)
        arguments = (*self._place(self._blocks[block]), *self._common)
        self.send(block, self._function, *arguments)

    def _place(self, values: tuple) -> tuple:
        """Return arguments in the form that is sent with a task."""
        placed = []
        for value in values:
            if isinstance(value, np.ndarray) and value.nbytes > SMALL_BYTES and self._is_shared:
                part = FilePart.of(value)
                if part is not None:
                    placed.append(part)
                    continue
            if _size(value) > SMALL_BYTES:
                value = np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
                value = self._ask(partial(self._client.scatter, value, hash=False))
            placed.append(value)
        return tuple(placed)

    def _look_for_workers(self) -> None:
        """Update the number of worker threads; raise if there have been none for too long."""
        self._check_scheduler()
        now = time.monotonic()
        if now - self._asked < _ASKING_SECONDS and self._n_threads:
            return
        self._n_threads = sum(self._ask(self._client.nthreads).values())
        self._asked = now
        if self._n_threads:
            self._last_worker = now
        elif now - self._last_worker > NO_WORKER_SECONDS:
            raise ClusterError(
                f"the scheduler at {self._address} has had no worker for {NO_WORKER_SECONDS} s; "
                f"start some, as by dask worker {self._address}"
            )

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the scheduler at {self._address} went away when {min(self._n_done, self.n_blocks):,} "
            f"of {self.n_blocks:,} blocks were done; start it again, and repeat this"
        )

    def _ask(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call that goes through the scheduler.

        Such a call also fails if a worker dies meanwhile, and is then repeated.
        """
        for tried in range(MAX_LOST):
            try:
                return call()
            except OSError as error:
                time.sleep(_HEARING_SECONDS * 2**tried)
                if self._client.status != "running":  # updated by a thread of the client
                    raise self._gone() from error
                last = error
        raise self._gone() from last


def _call(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; runs on a worker."""
    if version != code_version():
        raise ClusterError(
            f"a worker has genoviz {code_version()}, and this is {version}: install the same"
        )
    return function(*(each.open() if isinstance(each, FilePart) else each for each in arguments))


def _size(value: Any) -> int:
    """Return the approximate size of a value in bytes, counting arrays only."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return sum(map(_size, vars(value).values())) if is_dataclass(value) else 0


def _name(node: Any) -> str:
    return f"{node + 1:,}" if isinstance(node, int) else f"{(node[1] << node[0]) + 1:,}"
