"""An FM-index in the memory of a backend: row ranges of k-mers, and positions of rows."""

from __future__ import annotations

from types import ModuleType
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.sequences.kmer_packing import AmbiguousKmers
from genoviz.backend import Backend, array_module, load_kernel, resolve_backend, to_host
from genoviz.model.sequences.fm_index import FMIndex

GPU_FROM = 20_000
"""Below this many k-mers or rows, ``"auto"`` uses the CPU, because the transfer dominates."""


class Searcher:
    """The arrays of an index on a backend, and its kernel."""

    def __init__(self, index: FMIndex, kernel: ModuleType, arrays: ModuleType) -> None:
        self._kernel, self._arrays = kernel, arrays
        lines, super_counts = arrays.asarray(index.lines), arrays.asarray(index.super_counts)
        self._index = lines, super_counts, index.super_shift
        self.n_symbols = index.n_symbols
        self._start_table = arrays.asarray(index.start_table)
        self._packed = arrays.asarray(index.text.packed)
        self._exceptions = arrays.asarray(index.text.exceptions)
        self._exception_ids = arrays.asarray(index.exception_ids)
        self._samples = arrays.asarray(index.samples), index.sample_rate

    def find_row_ranges(self, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return first and last row of packed k-mers; dtype of the start table, shape (n, 2)."""
        ranges = self._arrays.empty((len(words), 2), self._start_table.dtype)
        self._kernel.find_row_ranges(
            self._index,
            self.n_symbols,
            self._start_table,
            self._arrays.asarray(words),
            self._arrays.asarray(lengths),
            ranges,
        )
        return to_host(ranges)

    def count(self, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the number of occurrences of packed k-mers; int64, shape (n,)."""
        counts = self._arrays.empty(len(words), np.int64)
        self._kernel.count_kmers(
            self._index,
            self.n_symbols,
            self._start_table,
            (self._packed, self._exceptions, *self._samples),
            self._arrays.asarray(words),
            self._arrays.asarray(lengths),
            counts,
        )
        return to_host(counts)

    def extend(self, ranges: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        """Return the row ranges after prepending a base; int64, shape (n, 2)."""
        extended = self._arrays.array(ranges, np.int64)
        self._kernel.extend_row_ranges(
            self._index,
            extended,
            self._arrays.asarray(symbols, np.uint8),
        )
        return to_host(extended)

    def extend_branches(
        self,
        kmers: AmbiguousKmers,
        n_taken: np.ndarray,
        n_wanted: np.ndarray,
        ids: np.ndarray,
        ranges: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return k-mers and row ranges of the branches that occur at full length."""
        xp = self._arrays
        branches = xp.empty((len(ids), 4, 2), self._start_table.dtype)
        self._kernel.extend_branches(
            self._index,
            self._start_table,
            tuple(map(xp.asarray, (kmers.sets, kmers.offsets[1:], n_taken, n_wanted))),
            xp.asarray(ids),
            xp.asarray(ranges, self._start_table.dtype),
            branches,
        )
        found = to_host(branches).reshape(-1, 2)
        occurs = found[:, 0] < found[:, 1]
        return np.repeat(ids, 4)[occurs], found[occurs]

    def locate(self, rows: np.ndarray) -> np.ndarray:
        """Return the text positions of rows; dtype of the samples, shape (n,)."""
        positions = self._arrays.empty(len(rows), self._samples[0].dtype)
        self._kernel.locate_rows(
            self._index,
            self._exceptions,
            self._exception_ids,
            *self._samples,
            self._arrays.asarray(rows, self._start_table.dtype),
            positions,
        )
        return to_host(positions)


_SEARCHERS: dict[str, WeakKeyDictionary[FMIndex, Searcher]] = {
    "cpu": WeakKeyDictionary(),
    "cuda": WeakKeyDictionary(),
}


def searcher_of(index: FMIndex, backend: Backend, n_items: int) -> Searcher:
    """Return the searcher of an index on a backend; arrays are transferred once."""
    if backend == "auto" and n_items < GPU_FROM:
        backend = "cpu"
    name = resolve_backend(backend)
    searcher = _SEARCHERS[name].get(index)
    if searcher is None:
        searcher = Searcher(index, load_kernel("fm_index", name), array_module(name))
        _SEARCHERS[name][index] = searcher
    return searcher
