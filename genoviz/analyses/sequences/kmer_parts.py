"""K-mers of inputs counted part by part, within a given memory.

K-mers are sorted as integers, some millions at a time, and sorted runs of different k-mers with
their counts are merged, each only with one of its size. Where they would take more than the memory,
those of half of the values of a hash are let go, and counted by another pass over all inputs: so
what is in one part of one input is in the same part of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit

from genoviz.backend import Backend, load_kernel, to_host
from genoviz.errors import ParameterError
from genoviz.kernels.kmer_count import MAX_K

MAX_INPUTS = 8
DEFAULT_MEMORY, MIN_MEMORY = 4 * 10**9, 64 * 10**6
Blocks = Iterable[tuple[float, np.ndarray]]
Counted = tuple[Any, Any]
# A letter's key takes 16 bytes with its count while it is sorted, and in the run of them as many.
_BUFFER_SHARE, _MAX_BUFFERS, MIN_LETTERS = 256, 16, 128
# Merging takes 32 bytes for each k-mer of all runs: two thirds of the memory.
_RUNS_SHARE = 48
_LETTERS = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True, eq=False)
class KmerPart:
    """The k-mers of all inputs of which a hash has some values.

    Attributes
    ----------
    k
        Length of the k-mers.
    keys
        uint64, shape (n,), ascending: canonical k-mers, 2 bits a base.
    counts
        int64, shape (n, n_inputs): how often each input has them.
    """

    k: int
    keys: np.ndarray
    counts: np.ndarray

    def letters(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return k-mers as letters; uint8, shape (n_rows, k)."""
        shifts = np.arange(2 * (self.k - 1), -1, -2, dtype=np.uint64)
        return _LETTERS[(self.keys[rows][:, None] >> shifts) & np.uint64(3)]


def iter_kmer_parts(
    openers: Sequence[Callable[[], Blocks]],
    k: int,
    *,
    memory: int = DEFAULT_MEMORY,
    backend: Backend = "auto",
) -> Iterator[tuple[float, KmerPart | None]]:
    """Yield the share that is done, 0 to 1, and parts of the k-mers, each k-mer in one part.

    Parameters
    ----------
    openers, k, memory, backend
        As of `compare_kmers`.

    Raises
    ------
    ParameterError
        If one of them is out of range.
    """
    kernel = load_kernel("kmer_count", backend)
    for share, sides in iter_counted(openers, k, memory=memory, kernel=kernel):
        if sides is not None:
            yield share, _join(k, [(to_host(keys), to_host(counts)) for keys, counts in sides])
        else:
            yield share, None


def iter_counted(
    openers: Sequence[Callable[[], Blocks]], k: int, *, memory: int, kernel: ModuleType
) -> Iterator[tuple[float, list[Counted] | None]]:
    """Yield the share that is done, and of parts each input's k-mers and counts, as a kernel does.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    check_reads(k, memory)
    if not 1 <= len(openers) <= MAX_INPUTS:
        raise ParameterError(f"needs 1 to {MAX_INPUTS} inputs, not {len(openers):,}")
    to_count, n_done, shown = [(0, 1)], 0.0, 0.0
    while to_count:
        part, n_parts = to_count.pop()
        sides: list[_Runs] = []
        for number, open_blocks in enumerate(openers):
            runs = _Runs(kernel, k, memory, len(openers), part, n_parts)
            for share, letters in open_blocks():
                to_count += runs.add(letters)
                done = n_done + (number + share) / len(openers) / runs.n_parts
                shown = max(shown, min(done, 1.0))
                yield shown, None
            to_count += runs.flush()
            n_parts = runs.n_parts
            sides.append(runs)
        n_done += 1 / n_parts
        for runs in sides:
            runs.narrow(n_parts)
        yield shown, [runs.merged() for runs in sides]


def check_reads(k: int, memory: int) -> None:
    """Refuse a length of k-mers, or a memory, with which reads cannot be counted."""
    if not 1 <= k <= MAX_K:
        raise ParameterError(f"k is {k:,}, needs 1 to {MAX_K} for reads")
    if memory < MIN_MEMORY:
        raise ParameterError(
            f"memory is {memory / 1e6:,.0f} MB, needs {MIN_MEMORY // 10**6} MB or more for reads"
        )


def _join(k: int, sides: list[Counted]) -> KmerPart:
    """Return the k-mers of all inputs with how often each has them."""
    if len(sides) == 1:
        return KmerPart(k, sides[0][0], sides[0][1][:, None])
    bounds = np.cumsum([0, *(len(keys) for keys, _ in sides)])
    keys, counts = (np.concatenate(column) for column in zip(*sides, strict=True))
    n = _unite(keys, counts, bounds, np.empty(0, np.uint64), np.empty((0, 0), np.int64))
    united, table = np.empty(n, np.uint64), np.zeros((n, len(sides)), np.int64)
    _unite(keys, counts, bounds, united, table)
    return KmerPart(k, united, table)


class _Runs:
    """Different k-mers of a part of all, sorted, with their counts, in runs of falling sizes.

    A part has the k-mers whose hash leaves ``part`` when divided by ``n_parts``, a power of two.
    """

    def __init__(
        self, kernel: ModuleType, k: int, memory: int, n_inputs: int, part: int, n_parts: int
    ) -> None:
        self.part, self.n_parts = part, n_parts
        self._kernel, self._k = kernel, k
        n_letters = max(memory // n_inputs // _BUFFER_SHARE, MIN_LETTERS)
        # Of a small part a share of the keys is kept, and so of the memory for them filled.
        self._room = kernel.make_room(n_letters * min(n_parts, _MAX_BUFFERS))
        self._n = 0
        # A part of several inputs has a column of counts for each, and one to work with.
        self._maximum = memory // n_inputs // max(_RUNS_SHARE, 24 + 16 * n_inputs)
        self._runs: list[Counted] = []

    def add(self, letters: np.ndarray) -> list[tuple[int, int]]:
        """Take letters in; return parts that were let go: number, and of how many."""
        let_go, first = [], 0
        while first < len(letters):
            piece = letters[first : first + len(self._room.letters) - self._n]
            self._room.letters[self._n : self._n + len(piece)] = piece
            self._n += len(piece)
            first += len(piece)
            if self._n == len(self._room.letters):
                let_go += self.flush()
        return let_go

    def flush(self) -> list[tuple[int, int]]:
        """Make a run of the letters that are there; return parts that were let go."""
        letters, n = self._room.letters, self._n
        self._runs.append(self._kernel.count_kmers(self._room, n, self._k, self.part, self.n_parts))
        # A k-mer may begin before the end of these letters, and end in the next ones.
        self._n = min(n, self._k - 1)
        letters[: self._n] = letters[n - self._n : n].copy()
        while len(self._runs) > 1 and 2 * len(self._runs[-1][0]) >= len(self._runs[-2][0]):
            self._merge_last()
        let_go = []
        while sum(len(run[0]) for run in self._runs) > self._maximum:
            let_go.append((self.part + self.n_parts, 2 * self.n_parts))
            self.narrow(2 * self.n_parts)
        return let_go

    def narrow(self, n_parts: int) -> None:
        """Leave to others what belongs to other parts of ``n_parts``, a power of two."""
        if n_parts != self.n_parts:
            self.n_parts = n_parts
            keep = self._kernel.keep_part
            self._runs = [keep(*run, self.part, n_parts) for run in self._runs]

    def merged(self) -> Counted:
        """Return the k-mers (uint64, ascending) and their counts (int64)."""
        while len(self._runs) > 1:
            self._merge_last()
        return self._runs[0]

    def _merge_last(self) -> None:
        one, other = self._runs.pop(), self._runs.pop()
        self._runs.append(self._kernel.merge_counts(*one, *other))


@njit(nogil=True, cache=True)
def _unite(keys, counts, bounds, united, table):
    """Merge the keys of inputs if there is room; return how many different ones there are.

    Those of an input, ascending, stand between two bounds; each has its column of the table.
    """
    has_room = len(united) > 0
    heads = bounds[:-1].copy()
    n = 0
    while True:
        is_any = False
        lowest = np.uint64(0)
        for number in range(len(heads)):
            if heads[number] < bounds[number + 1]:
                key = keys[heads[number]]
                if not is_any or key < lowest:
                    lowest = key
                is_any = True
        if not is_any:
            return n
        if has_room:
            united[n] = lowest
        for number in range(len(heads)):
            at = heads[number]
            if at < bounds[number + 1] and keys[at] == lowest:
                if has_room:
                    table[n, number] = counts[at]
                heads[number] = at + 1
        n += 1
