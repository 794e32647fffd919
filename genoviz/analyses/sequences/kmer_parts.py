"""K-mers of inputs counted part by part, within a given memory.

K-mers are counted in hash tables, or on a GPU by sorting. If they exceed the memory, the k-mers
with half of the hash values are dropped, and counted in another pass over all inputs. So a k-mer is
in the same part for all inputs.
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
_BUFFER_SHARE, _MAX_BUFFERS, MIN_LETTERS = 256, 16, 128
BYTES_PER_KMER = 48
"""Memory for each distinct k-mer of an input.

On the CPU, up to 19 for tables, and 16 more to sort the result, or 2 for k-mers that wait to be
counted; on a GPU, 32 to merge runs. The rest is for letters and their k-mers.
"""
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
            found = [kernel.sort_counts(room) for room in sides]
            yield share, _join(k, [(to_host(keys), to_host(counts)) for keys, counts in found])
        else:
            yield share, None


def iter_counted(
    openers: Sequence[Callable[[], Blocks]], k: int, *, memory: int, kernel: ModuleType
) -> Iterator[tuple[float, list[Any] | None]]:
    """Yield the fraction done, and parts: a kernel's room with the counts of each input.

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
        sides: list[_Counter] = []
        for number, open_blocks in enumerate(openers):
            counter = _Counter(kernel, k, memory, len(openers), part, n_parts)
            for share, letters in open_blocks():
                to_count += counter.add(letters)
                done = n_done + (number + share) / len(openers) / counter.n_parts
                shown = max(shown, min(done, 1.0))
                yield shown, None
            to_count += counter.finish()
            n_parts = counter.n_parts
            sides.append(counter)
        n_done += 1 / n_parts
        for counter in sides:
            counter.narrow(n_parts)
        yield shown, [counter.room for counter in sides]


def check_reads(k: int, memory: int) -> None:
    """Raise if reads cannot be counted with this k or memory."""
    if not 1 <= k <= MAX_K:
        raise ParameterError(f"k is {k:,}, needs 1 to {MAX_K} for reads")
    if memory < MIN_MEMORY:
        raise ParameterError(
            f"memory is {memory / 1e6:,.0f} MB, needs {MIN_MEMORY // 10**6} MB or more for reads"
        )


def _join(k: int, sides: list[tuple[np.ndarray, np.ndarray]]) -> KmerPart:
    """Return the k-mers of all inputs with their counts in each."""
    if len(sides) == 1:
        return KmerPart(k, sides[0][0], sides[0][1][:, None])
    bounds = np.cumsum([0, *(len(keys) for keys, _ in sides)])
    keys, counts = (np.concatenate(column) for column in zip(*sides, strict=True))
    n = _unite(keys, counts, bounds, np.empty(0, np.uint64), np.empty((0, 0), np.int64))
    united, table = np.empty(n, np.uint64), np.zeros((n, len(sides)), np.int64)
    _unite(keys, counts, bounds, united, table)
    return KmerPart(k, united, table)


class _Counter:
    """Distinct k-mers of a part of one input, and their counts.

    A part has the k-mers whose hash is ``part`` modulo ``n_parts``, a power of two.
    """

    def __init__(
        self, kernel: ModuleType, k: int, memory: int, n_inputs: int, part: int, n_parts: int
    ) -> None:
        self.part, self.n_parts = part, n_parts
        self._kernel, self._k = kernel, k
        n_letters = max(memory // n_inputs // _BUFFER_SHARE, MIN_LETTERS)
        # A part of several inputs has a column of counts for each, and one for work.
        max_keys = memory // n_inputs // max(BYTES_PER_KMER, 24 + 16 * n_inputs)
        # A small part keeps only a share of the keys.
        self.room = kernel.make_room(n_letters * min(n_parts, _MAX_BUFFERS), k, max_keys)
        self._n = 0

    def add(self, letters: np.ndarray) -> list[tuple[int, int]]:
        """Add letters; return the parts that were dropped: number, and of how many."""
        dropped, first = [], 0
        while first < len(letters):
            piece = letters[first : first + len(self.room.letters) - self._n]
            self.room.letters[self._n : self._n + len(piece)] = piece
            self._n += len(piece)
            first += len(piece)
            if self._n == len(self.room.letters):
                dropped += self._collect()
        return dropped

    def finish(self) -> list[tuple[int, int]]:
        """Count all letters; return the parts that were dropped."""
        dropped = self._collect()
        return dropped + self._drop(
            self._kernel.count_collected(self.room, self.part, self.n_parts)
        )

    def narrow(self, n_parts: int) -> None:
        """Keep only the k-mers of this part of ``n_parts``, a power of two."""
        if n_parts != self.n_parts:
            self.n_parts = n_parts
            self._kernel.keep_part(self.room, self.part, n_parts)

    def _collect(self) -> list[tuple[int, int]]:
        letters, n = self.room.letters, self._n
        dropped = self._drop(self._kernel.collect_kmers(self.room, n, self.part, self.n_parts))
        # A k-mer may begin before the end of these letters and end in the next ones.
        self._n = min(n, self._k - 1)
        letters[: self._n] = letters[n - self._n : n].copy()
        return dropped

    def _drop(self, n_parts: int) -> list[tuple[int, int]]:
        """Return the parts dropped by a kernel that went on with one of ``n_parts``."""
        dropped = []
        while self.n_parts < n_parts:
            dropped.append((self.part + self.n_parts, 2 * self.n_parts))
            self.n_parts *= 2
        return dropped


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
