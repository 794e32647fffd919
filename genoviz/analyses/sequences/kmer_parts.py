"""K-mers of inputs counted part by part, within a given memory.

K-mers are sorted as integers, some millions at a time. Sorted runs of distinct k-mers and their
counts are merged with runs of similar size. If they exceed the memory, the k-mers with half of the
hash values are dropped, and counted in another pass over all inputs. So a k-mer is in the same part
for all inputs.
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
# Sorting takes 16 bytes for a letter's key and count, and their run as many again.
_BUFFER_SHARE, _MAX_BUFFERS, MIN_LETTERS = 256, 16, 128
# Merging takes 32 bytes for each k-mer of all runs: two thirds of the memory.
_RUNS_SHARE = 48
_LETTERS = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True, eq=False)
class KmerPart:
    """The k-mers of all inputs with some values of a hash.

    Attributes
    ----------
    k
        Length of the k-mers.
    keys
        uint64, shape (n,), ascending: canonical k-mers, 2 bits a base.
    counts
        int64, shape (n, n_inputs): occurrences in each input.
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
    """Yield the fraction done, 0 to 1, and parts of the k-mers; each k-mer is in one part.

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
    """Yield the fraction done, and parts: the k-mers and counts of each input, as of a kernel.

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
    """Raise if reads cannot be counted with this k or memory."""
    if not 1 <= k <= MAX_K:
        raise ParameterError(f"k is {k:,}, needs 1 to {MAX_K} for reads")
    if memory < MIN_MEMORY:
        raise ParameterError(
            f"memory is {memory / 1e6:,.0f} MB, needs {MIN_MEMORY // 10**6} MB or more for reads"
        )


def _join(k: int, sides: list[Counted]) -> KmerPart:
    """Return the k-mers of all inputs with their counts in each."""
    if len(sides) == 1:
        return KmerPart(k, sides[0][0], sides[0][1][:, None])
    bounds = np.cumsum([0, *(len(keys) for keys, _ in sides)])
    keys, counts = (np.concatenate(column) for column in zip(*sides, strict=True))
    n = _unite(keys, counts, bounds, np.empty(0, np.uint64), np.empty((0, 0), np.int64))
    united, table = np.empty(n, np.uint64), np.zeros((n, len(sides)), np.int64)
    _unite(keys, counts, bounds, united, table)
    return KmerPart(k, united, table)


class _Runs:
    """Distinct k-mers of a part, sorted, with their counts, in runs of descending sizes.

    A part has the k-mers whose hash is ``part`` modulo ``n_parts``, a power of two.
    """

    def __init__(
        self, kernel: ModuleType, k: int, memory: int, n_inputs: int, part: int, n_parts: int
    ) -> None:
        self.part, self.n_parts = part, n_parts
        self._kernel, self._k = kernel, k
        n_letters = max(memory // n_inputs // _BUFFER_SHARE, MIN_LETTERS)
        # A small part keeps only a share of the keys, and touches the same share of the memory.
        self._room = kernel.make_room(n_letters * min(n_parts, _MAX_BUFFERS))
        self._n = 0
        # A part of several inputs has a column of counts for each, and one for work.
        self._maximum = memory // n_inputs // max(_RUNS_SHARE, 24 + 16 * n_inputs)
        self._runs: list[Counted] = []

    def add(self, letters: np.ndarray) -> list[tuple[int, int]]:
        """Add letters; return the parts that were dropped: number, and of how many."""
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
        """Turn the pending letters into a run; return the parts that were dropped."""
        letters, n = self._room.letters, self._n
        self._runs.append(self._kernel.count_kmers(self._room, n, self._k, self.part, self.n_parts))
        # A k-mer may begin before the end of these letters and end in the next ones.
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
        """Keep only the k-mers of this part of ``n_parts``, a power of two."""
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
    """Merge the keys of inputs if there is room; return the number of distinct ones.

    The keys of an input are ascending and between two bounds; each input has a table column.
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
