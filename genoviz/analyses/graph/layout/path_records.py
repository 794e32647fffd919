"""The inputs of a layout: paths as records for kernels, devices, and initial coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numba import njit, prange

from genoviz.backend import Backend, array_module, check_devices
from genoviz.errors import ParameterError
from genoviz.kernels.cuda_copies import copy_along
from genoviz.kernels.path_records import BLOCK_BITS, CLOSING
from genoviz.model import PangenomeGraph

PEER_ACCESS_ALREADY_ENABLED = 704  # of CUDA; CuPy does not name it
INITIALISATIONS = {
    "d": "x by graph order, y Gaussian",
    "u": "x by graph order, y uniform",
    "g": "x and y Gaussian",
    "r": "x and y uniform",
    "h": "along a Hilbert curve",
}


def initial_coordinates(graph: PangenomeGraph, initialisation: str, *, seed: int) -> np.ndarray:
    """Return coordinates to start from; float64, shape (n_nodes, 2, 2), bp.

    Parameters
    ----------
    initialisation
        ``"d"``: x by graph order, y normal with standard deviation sqrt(2 n_nodes);
        ``"u"``: y uniform up to sqrt(2 n_nodes) instead; ``"g"``: all four normal;
        ``"r"``: all four uniform up to the graph's length; ``"h"``: node ends along a Hilbert
        curve in graph order.

    Raises
    ------
    ParameterError
        If ``initialisation`` is none of these.
    """
    if initialisation not in INITIALISATIONS:
        known = ", ".join(f"{key!r} ({text})" for key, text in INITIALISATIONS.items())
        raise ParameterError(f"initialisation is {initialisation!r}, needs one of {known}")
    generator = np.random.default_rng(seed)
    shape = (graph.n_nodes, 2, 2)
    scale = np.sqrt(2.0 * graph.n_nodes)
    if initialisation == "g":
        return generator.normal(0.0, scale, shape)
    if initialisation == "r":
        return generator.uniform(0.0, graph.total_length, shape)
    if initialisation == "h":
        return _hilbert_points(2 * graph.n_nodes).reshape(shape)
    coordinates = linear_coordinates(graph)
    if initialisation == "d":
        coordinates[:, :, 1] = generator.normal(0.0, scale, shape[:2])
    else:
        coordinates[:, :, 1] = generator.uniform(0.0, scale, shape[:2])
    return coordinates


def linear_coordinates(graph: PangenomeGraph) -> np.ndarray:
    """Return all nodes one after the other on the x axis; float64, shape (n_nodes, 2, 2), bp."""
    ends = np.cumsum(graph.node_lengths)
    coordinates = np.zeros((graph.n_nodes, 2, 2))
    coordinates[:, 0, 0] = ends - graph.node_lengths
    coordinates[:, 1, 0] = ends
    return coordinates


def _hilbert_points(n: int) -> np.ndarray:
    """Return the first n points of the Hilbert curve on the smallest fitting square grid."""
    order = max(int(np.ceil(np.log2(max(n, 1)) / 2)), 1)
    index = np.arange(n, dtype=np.int64)
    x, y = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for bit in range(order):
        side = 1 << bit
        right = (index >> 1) & 1
        up = (index ^ right) & 1
        flip = (up == 0) & (right == 1)
        x[flip], y[flip] = side - 1 - x[flip], side - 1 - y[flip]
        swap = up == 0
        x[swap], y[swap] = y[swap], x[swap]
        x += side * right
        y += side * up
        index >>= 2
    return np.stack([x, y], axis=1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class PathRecords:
    """Steps with their positions; ``genoviz.kernels.path_sgd`` describes the arrays.

    Attributes
    ----------
    records, path_starts, block_paths
        The kernels' arguments.
    n_steps
        Steps of all paths used.
    longest_path
        Steps of the longest path; 0 without paths.
    is_visited
        bool, shape (n_nodes,): whether one of these paths visits a node.
    """

    records: np.ndarray
    path_starts: np.ndarray
    block_paths: np.ndarray
    n_steps: int
    longest_path: int
    is_visited: np.ndarray

    @property
    def paths(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The kernels' argument of this name."""
        return self.records, self.path_starts, self.block_paths


class Devices:
    """GPUs of one host, each with copies of the same arrays; by default the current one alone.

    They work concurrently; on a CPU, in tests, one after the other. Index 0 is the first one.

    Raises
    ------
    ParameterError
        As for `check_devices`, or if one is named twice.
    """

    def __init__(self, numbers: Sequence[int] | None, backend: Backend) -> None:
        if numbers is not None:
            if len(set(numbers)) < len(numbers):
                raise ParameterError(f"devices is {list(numbers)}, needs each GPU once")
            check_devices(numbers, backend)
        self._numbers: list[int | None] = [None] if numbers is None else list(numbers)
        self.xp, self._backend = array_module(backend), backend
        is_parallel = len(self) > 1 and self.xp is not np
        self._pool = ThreadPoolExecutor(len(self)) if is_parallel else None
        self._background = ThreadPoolExecutor(len(self)) if is_parallel else None

    def __len__(self) -> int:
        return len(self._numbers)

    @cached_property
    def first(self) -> Devices:
        """Return the first device alone, if it is current."""
        return self if len(self) == 1 else Devices(None, self._backend)

    def run(self, work: Callable[[int], Any]) -> list[Any]:
        """Call ``work(k)`` with each device current; return the results once all work is done."""
        if self._pool is None:
            return [work(k) for k in range(len(self))]

        def run_on(k: int) -> Any:
            with self.xp.cuda.Device(self._numbers[k]):
                found = work(k)
                self.xp.cuda.get_current_stream().synchronize()
            return found

        self.xp.cuda.get_current_stream().synchronize()  # pending work of the caller
        return list(self._pool.map(run_on, range(len(self))))

    def iterate_on_first(self, items: Iterator[Any]) -> Iterator[Any]:
        """Yield the items of an iterator that runs with the first device current."""
        while True:
            with ExitStack() as stack:
                if self._numbers[0] is not None and self.xp is not np:
                    stack.enter_context(self.xp.cuda.Device(self._numbers[0]))
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item

    def split(self, n_items: int) -> list[int]:
        """Return the first item of each device's share, and the end of the last share."""
        return [n_items * k // len(self) for k in range(len(self) + 1)]

    def copy(self, array: Any) -> list[Any]:
        """Return an array of the first device, and its copies on the other devices."""
        return [copy for (copy,) in self.begin_copies([array])()]

    def begin_copies(self, arrays: Sequence[Any]) -> Callable[[], list[tuple[Any, ...]]]:
        """Start to copy arrays to each device in the background; return a function that waits.

        It returns the copies of each device. The arrays must not change before that.
        """
        return self.begin(0, lambda: arrays)

    def begin(
        self, k: int, make: Callable[[], Sequence[Any]]
    ) -> Callable[[], list[tuple[Any, ...]]]:
        """Start to make arrays in the background, with device k current, and to copy them.

        Returns a function that waits, and returns the arrays of each device.
        """
        if self._background is None:
            arrays = tuple(make())
            others = {j: tuple(map(self.xp.copy, arrays)) for j in range(len(self)) if j != k}
            return lambda: [others.get(j, arrays) for j in range(len(self))]
        self.xp.cuda.get_current_stream().synchronize()  # what is made from must be complete

        def make_and_copy() -> list[tuple[Any, ...]]:
            with self.xp.cuda.Device(self._numbers[k]):
                arrays = tuple(make())
                self.xp.cuda.get_current_stream().synchronize()
            return self._copy_along(k, arrays)

        return self._background.submit(make_and_copy).result

    def _copy_along(self, k: int, arrays: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return the arrays, which are on device k, and their copies on the other devices."""
        others, copies = [j for j in range(len(self)) if j != k], {k: arrays}
        for j in others:
            with self.xp.cuda.Device(self._numbers[j]):
                # On the stream of the later users: CuPy's pool ties memory to it.
                copies[j] = tuple(map(self.xp.empty_like, arrays))
        copy_along([copies[j] for j in (k, *others)], [self._numbers[j] for j in others])
        return [copies[j] for j in range(len(self))]

    def combine(self, copies: Sequence[Any], combine: Callable[[int, list[Any]], None]) -> None:
        """Merge copies of which each device may have changed any item.

        ``combine(k, parts)`` is called on each device with its share of the items of all copies,
        and makes the parts equal. Those of other devices are written over the links between GPUs;
        where there are none, they are copied there and back.
        """
        edges, are_linked = self.split(len(copies[0])), self._are_linked

        def combine_share(k: int) -> Any:
            parts = [copy[edges[k] : edges[k + 1]] for copy in copies]
            if are_linked:
                return combine(k, parts)
            near = [self._copy(part, self.xp.empty_like(part)) for part in parts]
            combine(k, near)
            return list(map(self._copy, near, parts))

        self.run(combine_share)

    @cached_property
    def _are_linked(self) -> bool:
        """Whether kernels of each device reach the memory of the others, which this switches on."""
        if self._pool is None:
            return True
        cuda, pairs = self.xp.cuda, list(permutations(self._numbers, 2))
        if not all(cuda.runtime.deviceCanAccessPeer(*pair) for pair in pairs):
            return False
        for number, other in pairs:
            with cuda.Device(number):
                try:
                    cuda.runtime.deviceEnablePeerAccess(other)
                except cuda.runtime.CUDARuntimeError as error:
                    if error.status != PEER_ACCESS_ALREADY_ENABLED:
                        raise
        return True

    def _copy(self, source: Any, target: Any) -> Any:
        """Copy a contiguous array, on GPUs directly between devices."""
        if self._pool is None:
            target[...] = source
        else:
            target.data.copy_from_device_async(source.data, source.nbytes)
        return target


@njit(nogil=True, cache=True, parallel=True)
def _sum_path_lengths(step_starts, counts, steps, node_lengths):
    lengths = np.zeros(len(counts), np.int64)
    for path in prange(len(counts)):
        for step in range(step_starts[path], step_starts[path] + counts[path]):
            lengths[path] += node_lengths[steps[step] >> 1]
    return lengths


@njit(nogil=True, cache=True, parallel=True)
def _fill_records(records, is_visited, path_starts, step_starts, steps, node_lengths):
    column = records.shape[1] // 2
    for path in prange(len(path_starts) - 1):
        position = 0
        offset = step_starts[path] - path_starts[path]
        for record in range(path_starts[path], path_starts[path + 1]):
            handle = np.int64(CLOSING)
            if record < path_starts[path + 1] - 1:
                handle = np.int64(steps[record + offset])
                is_visited[handle >> 1] = True
            records[record, 0] = handle
            records[record, column] = position & CLOSING
            if column == 2:
                records[record, 1] = 0
                records[record, 3] = position >> 32
            if handle != CLOSING:
                position += node_lengths[handle >> 1]


def find_block_paths(path_starts: Any, n_records: int, xp: Any = np) -> Any:
    """Return the path of each 1024th record, from which kernels find that of any record; int32."""
    block_starts = xp.arange(0, n_records, 1 << BLOCK_BITS)
    return (xp.searchsorted(path_starts, block_starts, side="right") - 1).astype(np.int32)


def build_path_records(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | np.ndarray | None = None,
    min_steps: int = 1,
) -> PathRecords:
    """Return the records of the paths that have at least ``min_steps`` steps.

    Positions take 32 bits, or 64 if the longest path exceeds 2^32 bp. Records then have two more
    words, so that kernels compiled for short paths read long ones too.

    Parameters
    ----------
    paths
        Names or indices of the paths to use; all when None.

    Raises
    ------
    ParameterError
        If a path is not in the graph.
    """
    used = np.arange(graph.n_paths) if paths is None else graph.path_indices(paths)
    counts = np.diff(graph.path_offsets)[used]
    used, counts = used[counts >= min_steps], counts[counts >= min_steps]
    step_starts = graph.path_offsets[used]
    path_starts = np.zeros(len(used) + 1, np.int64)
    np.cumsum(counts + 1, out=path_starts[1:])
    lengths = _sum_path_lengths(step_starts, counts, graph.steps, graph.node_lengths)
    n_words = 2 if lengths.max(initial=0) < 2**32 else 4
    records = np.empty((path_starts[-1], n_words), np.uint32)
    is_visited = np.zeros(graph.n_nodes, bool)
    _fill_records(records, is_visited, path_starts, step_starts, graph.steps, graph.node_lengths)
    return PathRecords(
        records=records,
        path_starts=path_starts,
        block_paths=find_block_paths(path_starts, len(records)),
        n_steps=int(counts.sum()),
        longest_path=int(counts.max(initial=0)),
        is_visited=is_visited,
    )
