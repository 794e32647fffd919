"""The blocks of one call: sent, repeated where they are lost, and taken back at the end."""

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
"""How long there may be no worker: batch systems start them in their own time."""
MAX_LOST = 5
"""Times that a block is sent again before it is taken for what ends the workers."""
BLOCKS_PER_THREAD = 2
"""Blocks on their way for each thread of the workers: one that is computed, one that waits."""
AHEAD = 2
"""Where results are wanted in order: how many times as many blocks may be done or on their way."""
SMALL_BYTES = 1 << 20
_HEARING_SECONDS = 0.2
_ASKING_SECONDS = 2.0


class NotSharedError(GenovizError):
    """A file is not the same at a worker, or not there."""


@dataclass(frozen=True)
class FilePart:
    """An array that is mapped from a file: where it is, and what changes when the file does.

    Attributes
    ----------
    path, offset
        The file, and the byte at which the array begins.
    shape, dtype
        As of the array.
    size, changed
        Bytes of the file, and the time of its last change, ns.
    """

    path: str
    offset: int
    shape: tuple[int, ...]
    dtype: str
    size: int
    changed: int

    @classmethod
    def of(cls, array: np.ndarray) -> FilePart | None:
        """Return where an array is mapped from; None where it is not, or nobody can tell."""
        if not array.size or not array.flags.c_contiguous:
            return None
        address = array.ctypes.data
        with contextlib.suppress(OSError, ValueError):
            for line in Path("/proc/self/maps").read_text().splitlines():
                places, _, offset, _, inode, *name = line.split(maxsplit=5)
                first, stop = (int(place, 16) for place in places.split("-"))
                if first <= address and address + array.nbytes <= stop and int(inode) and name:
                    status = Path(name[0]).stat()  # one that was removed has another name there
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
            If the file is another one here, or none.
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
    """Return the version of genoviz, and a hash of its code: that of two checkouts may differ."""
    root, digest = Path(genoviz.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{genoviz.__version__} ({digest.hexdigest()[:8]})"


class Run:
    """The blocks of one call: which are still to be sent, and which are on their way."""

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
        """Send blocks, and yield what has ended, until all of it has."""
        while self._todo or self._sent:
            self._look_for_workers()
            most = BLOCKS_PER_THREAD * self._n_threads
            while self._todo and len(self._sent) < most and self._is_near(most):
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
        """Return whether the next block may be sent while ``n_taken`` were taken in their order."""
        return not self._in_order or self._todo[0] < self.n_taken + AHEAD * n_blocks

    def send(self, node: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a worker call a function; ``node`` names it."""
        future = self._client.submit(_call, code_version(), function, *arguments, pure=False)
        # What it is made of is kept until it has ended.
        self._sent[node] = future, arguments
        future.add_done_callback(lambda done, node=node: self._done.put((node, done)))

    def fetch(self, node: Any, future: Future) -> tuple[Any] | None:
        """Return the one result of a future, or None where it was lost and is sent again."""
        if future.status == "finished":
            with contextlib.suppress(CancelledError, asyncio.CancelledError):
                return (self._ask(future.result),)
        self.check(future, node)
        if isinstance(node, int):
            self.repeat([node])
        return None

    def check(self, future: Future, node: Any) -> None:
        """Raise what ended a future, unless it was lost with a worker."""
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
        """Send blocks again, with what all have in common."""
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
        """Take back what has not ended; what a worker has begun it ends."""
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
        """Return arguments as they go with a task."""
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
        """Find out how many threads the workers have; raise if there has been none for long."""
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
        """Return what a call returns that goes through the scheduler.

        It also fails if a worker dies meanwhile, and is made again then.
        """
        for tried in range(MAX_LOST):
            try:
                return call()
            except OSError as error:
                time.sleep(_HEARING_SECONDS * 2**tried)
                if self._client.status != "running":  # which it learns in a thread of its own
                    raise self._gone() from error
                last = error
        raise self._gone() from last


def _call(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, at a worker."""
    if version != code_version():
        raise ClusterError(
            f"a worker has genoviz {code_version()}, and this is {version}: install the same"
        )
    return function(*(each.open() if isinstance(each, FilePart) else each for each in arguments))


def _size(value: Any) -> int:
    """Return about how many bytes a value has, its arrays alone."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return sum(map(_size, vars(value).values())) if is_dataclass(value) else 0


def _name(node: Any) -> str:
    return f"{node + 1:,}" if isinstance(node, int) else f"{(node[1] << node[0]) + 1:,}"
