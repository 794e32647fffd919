"""2bit files as sequences.

References
----------
UCSC Genome Browser, ".2bit format", https://genome.ucsc.edu/FAQ/FAQformat.html#format7
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
from numba import njit

from genoviz.errors import FileFormatError
from genoviz.io.sequences.fasta import join_stretches, name_sequences
from genoviz.io.text.line_errors import show
from genoviz.model.sequences.sequences import Sequences, cut_stretches

MAGIC = 0x1A412743
_BLOCK = 1 << 18
_BLOCKS_PER_THREAD = 8
_STAGE = "Reading sequences"
_FOUR_BASES = np.frombuffer(b"TCAG", np.uint8)[
    (np.arange(256)[:, None] >> np.array([6, 4, 2, 0])) & 3
]

Progress = tuple[str, int, int]


@dataclass(frozen=True)
class _Record:
    """Where a sequence is in the file."""

    name: str
    length: int
    unknown: np.ndarray
    masked: np.ndarray
    first_byte: int


def is_two_bit(start: bytes) -> bool:
    """Return whether these are the first bytes of a 2bit file, of either byte order."""
    return start[:4] in (struct.pack("<I", MAGIC), struct.pack(">I", MAGIC))


def read_two_bit(path: Path, content: np.ndarray) -> Generator[Progress, None, Sequences]:
    """Return the sequences of a 2bit file; yields stage, bytes done and bytes in all.

    Raises
    ------
    FileFormatError
        If the file is damaged, cut short or of another version.
    """
    source = _Source(path, content)
    records = [source.read_record(*entry) for entry in source.read_index()]
    offsets = np.zeros(len(records) + 1, np.int64)
    np.cumsum([record.length for record in records], out=offsets[1:])
    bases = np.empty(offsets[-1], np.uint8)
    yield from _unpack_records(content, records, offsets, bases)
    masked = [np.empty((0, 2), np.int64)]
    for record, offset in zip(records, offsets.tolist(), strict=False):
        for start, end in record.unknown.tolist():
            bases[offset + start : offset + end] = ord("N")
        masked.append(record.masked + offset)
    names, notes = name_sequences([record.name for record in records])
    stretches = cut_stretches(join_stretches(np.concatenate(masked)), offsets)
    return Sequences(names, offsets, bases, stretches, notes)


class _Source:
    """The integers of a 2bit file, checked."""

    def __init__(self, path: Path, content: np.ndarray) -> None:
        self.path = path
        self.content = content
        self.order = "<" if content[:4].tobytes() == struct.pack("<I", MAGIC) else ">"

    def numbers(self, at: int, n: int, what: str, *, size: int = 4) -> np.ndarray:
        """Return ``n`` unsigned numbers at a byte of the file; int64, shape (n,)."""
        self.need(at, n * size, what)
        found = np.frombuffer(self.content, f"{self.order}u{size}", n, at)
        return found.astype(np.int64)

    def need(self, at: int, n_bytes: int, what: str) -> None:
        """Raise if the file ends before ``n_bytes`` from ``at`` on."""
        if not 0 <= at <= at + n_bytes <= len(self.content):
            raise FileFormatError(
                self.path,
                f"{what} lies at bytes {at:,} to {at + n_bytes:,} of a file of "
                f"{len(self.content):,} (truncated or damaged file)",
            )

    def read_index(self) -> list[tuple[str, int]]:
        """Return name and place of each sequence."""
        version, n, _ = self.numbers(4, 3, "the head").tolist()
        if version not in (0, 1):
            raise FileFormatError(self.path, f"is 2bit of version {version:,}, needs 0 or 1")
        size = 8 if version else 4
        self.need(16, n * (1 + size), f"the index of {n:,} sequences")
        entries, at = [], 16
        for row in range(n):
            what = f"entry {row + 1:,} of the index"
            self.need(at, 1, what)
            n_letters = int(self.content[at])
            self.need(at + 1, n_letters + size, what)
            name = self.content[at + 1 : at + 1 + n_letters].tobytes()
            at += 1 + n_letters
            place = int(self.numbers(at, 1, what, size=size)[0])
            try:
                entries.append((name.decode(), place))
            except UnicodeDecodeError as error:
                found = f"{what} has the name {show(name)}, needs a name in UTF-8"
                raise FileFormatError(self.path, found) from error
            at += size
        return entries

    def read_record(self, name: str, at: int) -> _Record:
        """Return where the parts of a sequence are."""
        what = f"sequence {name!r}"
        length = int(self.numbers(at, 1, what)[0])
        unknown, at = self._read_stretches(at + 4, length, f"the N of {what}")
        masked, at = self._read_stretches(at, length, f"the soft masking of {what}")
        self.need(at, 4 + (length + 3) // 4, what)
        return _Record(name, length, unknown, masked, at + 4)

    def _read_stretches(self, at: int, length: int, what: str) -> tuple[np.ndarray, int]:
        n = int(self.numbers(at, 1, what)[0])
        starts, sizes = self.numbers(at + 4, 2 * n, what).reshape(2, n)
        if n and (starts + sizes).max() > length:
            raise FileFormatError(
                self.path, f"{what} ends at {(starts + sizes).max():,}, beyond its {length:,} bp"
            )
        order = np.argsort(starts, kind="stable")
        # If stretches are nested, the outer one ends last.
        ends = np.maximum.accumulate((starts + sizes)[order])
        stretches = np.stack([starts[order], ends], axis=1)
        return stretches[sizes[order] > 0], at + 4 + 8 * n


def _unpack_records(
    content: np.ndarray, records: list[_Record], offsets: np.ndarray, bases: np.ndarray
) -> Generator[Progress, None, None]:
    n_threads = numba.config.NUMBA_NUM_THREADS
    tasks = [
        (record.first_byte + first // 4, offset + first, offset + min(first + 4 * _BLOCK, n))
        for record, offset, n in zip(
            records, offsets.tolist(), np.diff(offsets).tolist(), strict=False
        )
        for first in range(0, n, 4 * _BLOCK)
    ]
    batch = n_threads * _BLOCKS_PER_THREAD
    with ThreadPoolExecutor(n_threads) as pool:
        for row in range(0, len(tasks), batch):
            some = tasks[row : row + batch]
            list(pool.map(lambda task: _unpack(content, task[0], bases[task[1] : task[2]]), some))
            yield _STAGE, some[-1][0], len(content)


@njit(nogil=True, cache=True)
def _unpack(content, at, bases):
    n = len(bases) // 4
    for byte in range(n):
        for k in range(4):
            bases[4 * byte + k] = _FOUR_BASES[content[at + byte], k]
    for k in range(len(bases) - 4 * n):
        bases[4 * n + k] = _FOUR_BASES[content[at + n], k]
