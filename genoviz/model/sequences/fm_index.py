"""The FM-index of a text: BWT, occurrence counts and suffix array samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.columns import check_arrays, freeze_arrays
from genoviz.model.sequences.index_text import IndexText

LINE_ROWS = 128
LINE_WORDS = 8
LINE_BYTES = 64
LARGE_TEXT = 2**32 - 1


@dataclass(frozen=True, eq=False, repr=False)
class FMIndex:
    """Index of a text for k-mers of any length; made by `build_fm_index`.

    A row is a suffix in suffix array order. The arrays may be memory-mapped;
    ``genoviz.kernels.fm_index`` describes their content.

    Parameters
    ----------
    text
        The indexed text.
    lines
        uint64, shape (n_symbols // 128 + 1, 8), aligned to 64 bytes: the BWT of 128 rows per line,
        with the counts before it.
    super_counts
        int64, shape (n_super, 4): counts before each superblock of lines.
    super_shift
        A superblock has ``2**super_shift`` lines.
    exception_ids
        int64, shape (n_exceptions,): exceptions, sorted by the rows of the suffixes after them.
    start_table
        uint32 (int64 from 2^32 - 1 symbols on), shape (4**table_k, 2): row ranges of short k-mers.
    samples
        uint32 (int64 from 2^32 - 1 symbols on): text positions of every ``sample_rate``-th row;
        the whole suffix array if that is 1.
    sample_rate
        A power of two.

    Raises
    ------
    ParameterError
        If the arrays do not match.
    """

    text: IndexText
    lines: np.ndarray
    super_counts: np.ndarray
    super_shift: int
    exception_ids: np.ndarray
    start_table: np.ndarray
    samples: np.ndarray
    sample_rate: int = 1

    def __post_init__(self) -> None:
        # Read-only arrays, so that kernels are compiled for one signature.
        freeze_arrays(self)
        rate = self.sample_rate
        if rate < 1 or rate & (rate - 1):
            raise ParameterError(f"sample_rate is {rate}, needs a power of two")
        check_arrays(self, shapes_of_index(self.text, self.super_shift, self.table_k, rate))

    def __repr__(self) -> str:
        return (
            f"FMIndex({n_words(self.text.n_bases, 'base')} of "
            f"{n_words(self.text.n_contigs, 'contig')}, "
            f"every {self.sample_rate}. row located, {n_words(self.n_bytes, 'byte')})"
        ).replace("every 1. row", "every row")

    @property
    def n_symbols(self) -> int:
        """Length of the text, exceptions included."""
        return self.text.n_symbols

    @property
    def table_k(self) -> int:
        """Length of the k-mers in the table."""
        return (len(self.start_table).bit_length() - 1) // 2

    @cached_property
    def symbol_starts(self) -> np.ndarray:
        """First row that begins with A, C, G, T, and the number of rows; int64, shape (5,)."""
        return np.append(self.super_counts[0], self.n_symbols).astype(np.int64)

    @property
    def suffix_array(self) -> np.ndarray | None:
        """The suffix array, or None if it is sampled."""
        return self.samples if self.sample_rate == 1 else None

    @property
    def n_bytes(self) -> int:
        """Size of all arrays, in memory or in the mapped file."""
        return sum(self.bytes_of_parts.values())

    @property
    def bytes_of_parts(self) -> dict[str, int]:
        """Size of the text and of each array of the index."""
        arrays = [value for value in vars(self.text).values() if isinstance(value, np.ndarray)]
        parts = {"text": sum(array.nbytes for array in arrays)}
        for name in ("lines", "super_counts", "exception_ids", "start_table", "samples"):
            parts[name] = getattr(self, name).nbytes
        return parts

    @cached_property
    def n_runs(self) -> int:
        """Number of runs in the BWT; exceptions never extend a run."""
        low, high, exception = (self.lines[:, 2 * i + 2 : 2 * i + 4].ravel() for i in range(3))
        differs = (low ^ _previous(low)) | (high ^ _previous(high)) | exception
        differs |= _previous(exception)
        n_beyond = LINE_ROWS * len(self.lines) - self.n_symbols
        n_different = int(np.bitwise_count(differs).sum())
        return n_different - n_beyond if self.n_symbols else 0


def shapes_of_index(
    text: IndexText, super_shift: int, table_k: int, sample_rate: int
) -> dict[str, tuple[type, tuple[int, ...]]]:
    """Return dtype and shape of the arrays of an index of a text."""
    n_lines = text.n_symbols // LINE_ROWS + 1
    rows = np.int64 if text.n_symbols >= LARGE_TEXT else np.uint32
    return {
        "lines": (np.uint64, (n_lines, LINE_WORDS)),
        "super_counts": (np.int64, (((n_lines - 1) >> super_shift) + 1, 4)),
        "exception_ids": (np.int64, (len(text.exceptions),)),
        "start_table": (rows, (4**table_k, 2)),
        "samples": (rows, (-(-text.n_symbols // sample_rate),)),
    }


@dataclass(frozen=True, eq=False)
class IndexPart:
    """The next items of the arrays of an index.

    Attributes
    ----------
    stage
        Current stage.
    fraction
        Share of the whole that is done, 0 to 1.
    arrays
        Items by array name; they may be overwritten by the next part.
    """

    stage: str
    fraction: float
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class IndexInParts:
    """An index that is never in memory as a whole; made by `build_index_in_parts`.

    Attributes
    ----------
    text, super_shift, sample_rate, table_k
        As for `FMIndex`.
    n_blocks
        Minimum number of blocks of rows to sort.
    needed_bytes
        Maximum memory of the process.
    parts
        The parts; can be iterated once.
    """

    text: IndexText
    super_shift: int
    sample_rate: int
    table_k: int
    n_blocks: int
    needed_bytes: int
    parts: Iterator[IndexPart]


def _previous(plane: np.ndarray) -> np.ndarray:
    """Return each row's bit shifted to the next row, with a 1 for the first row."""
    one, top = np.uint64(1), np.uint64(63)
    carried = np.concatenate([[one], plane[:-1] >> top])
    return plane << one | carried
