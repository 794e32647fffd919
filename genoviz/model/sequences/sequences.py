"""Nucleotide sequences: a genome, the records of a FASTA or 2bit file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.columns import check_arrays, distinct, freeze_arrays

LETTERS = b"ACGTRYSWKMBDHVN"


def _letter_table() -> np.ndarray:
    table = np.zeros(256, np.uint8)
    for letter in LETTERS:
        table[letter] = table[letter | 32] = letter
    table[ord("U")] = table[ord("u")] = ord("T")
    table.flags.writeable = False
    return table


UPPER_CASE = _letter_table()
"""Upper-case letter of each byte (T for U), 0 for other characters; uint8, shape (256,)."""


@dataclass(frozen=True, eq=False, repr=False)
class Sequences:
    """Named sequences concatenated in one array; positions are 0-based, half-open, bp.

    Parameters
    ----------
    names
        First word of each header; may have duplicates.
    offsets
        int64, shape (n + 1,): sequence ``i`` is ``bases[offsets[i]:offsets[i + 1]]``.
    bases
        uint8, shape (total_length,): upper-case IUPAC letters; U is stored as T.
    masked
        int64, shape (n_masked, 2): soft-masked (lower-case) stretches, in coordinates of
        ``bases``; ascending, and separated unless a sequence ends between them.
    notes
        What a reader treated specially, one sentence each.
    descriptions
        The whole header of each sequence, or empty if equal to the names.

    Raises
    ------
    ParameterError
        If the arrays do not match.

    Examples
    --------
    >>> genome = Sequences.from_records([("chr1", "ACGTnnAC"), ("chr2", "GGC")])
    >>> genome, genome.lengths.tolist(), genome.masked.tolist()
    (Sequences(2 sequences, 11 bp), [8, 3], [[4, 6]])
    >>> genome.cut("chr1", 2, 6).tobytes()
    b'GTNN'
    """

    names: tuple[str, ...]
    offsets: np.ndarray
    bases: np.ndarray
    masked: np.ndarray
    notes: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_arrays(self)
        expected = {
            "offsets": (np.int64, (len(self.names) + 1,)),
            "bases": (np.uint8, (len(self.bases),)),
            "masked": (np.int64, (len(self.masked), 2)),
        }
        check_arrays(self, expected)
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.bases):
            raise ParameterError("offsets need to go from 0 to the number of bases")
        if len(self.names) and (np.diff(self.offsets) < 0).any():
            raise ParameterError("offsets need to ascend")
        if self.descriptions and len(self.descriptions) != len(self.names):
            raise ParameterError(
                f"there are {n_words(len(self.descriptions), 'description')} for "
                f"{n_words(len(self.names), 'name')}"
            )

    @classmethod
    def from_records(cls, records: Iterable[tuple[str, str | bytes | np.ndarray]]) -> Sequences:
        """Return sequences from names and letters; lower-case letters are soft-masked.

        Raises
        ------
        ParameterError
            If a letter is not a nucleotide code (IUPAC).
        """
        names, parts, offsets = [], [np.empty(0, np.uint8)], [0]
        for name, letters in records:
            names.append(str(name))
            parts.append(_as_letters(letters, names[-1]))
            offsets.append(offsets[-1] + len(parts[-1]))
        written = np.concatenate(parts)
        ends = np.array(offsets, np.int64)
        return cls(tuple(names), ends, UPPER_CASE[written], _find_masked(written, ends))

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.names)

    @property
    def total_length(self) -> int:
        """Length of all sequences, bp."""
        return len(self.bases)

    @property
    def lengths(self) -> np.ndarray:
        """Length of each sequence; int64, shape (n,), bp."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Sequences({n_words(len(self), 'sequence')}, {self.total_length:,} bp)"

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {name: rank for rank, name in reversed(tuple(enumerate(self.names)))}

    def find(self, name: str) -> int:
        """Return the index of the first sequence with this name.

        Raises
        ------
        ParameterError
            If there is no sequence of that name.
        """
        try:
            return self._ranks[name]
        except KeyError:
            examples = ", ".join(self.names[:3]) or "none at all"
            raise ParameterError(
                f"no sequence is named {name!r}; there are {len(self):,}: {examples}"
                + (", ..." if len(self) > 3 else "")
            ) from None

    def cut(self, name: str | int, start: int, end: int) -> np.ndarray:
        """Return the letters of a range of a sequence, by name or index; uint8, shape (n,).

        Raises
        ------
        ParameterError
            If there is no such sequence, or the range exceeds it.
        """
        rank = self.find(name) if isinstance(name, str) else name
        if not 0 <= rank < len(self):
            raise ParameterError(f"there is no sequence {rank:,}, only {len(self):,}")
        first, stop = self.offsets[rank : rank + 2].tolist()
        if not 0 <= start <= end <= stop - first:
            raise ParameterError(
                f"{self.names[rank]}:{start:,}-{end:,} is not within its {stop - first:,} bp"
            )
        return self.bases[first + start : first + end]


def _as_letters(letters: str | bytes | np.ndarray, name: str) -> np.ndarray:
    if isinstance(letters, str):
        letters = letters.encode()
    written = np.frombuffer(letters, np.uint8) if isinstance(letters, bytes) else letters
    is_wrong = UPPER_CASE[written] == 0
    if is_wrong.any():
        place = int(np.argmax(is_wrong))
        raise ParameterError(
            f"base {place + 1:,} of {name!r} is {chr(written[place])!r}, needs one of "
            f"{LETTERS.decode()}"
        )
    return written


def _find_masked(written: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the stretches of lower-case letters, split at sequence ends."""
    is_lower = np.zeros(len(written) + 2, bool)
    is_lower[1:-1] = written >= ord("a")
    bounds = np.flatnonzero(is_lower[1:] != is_lower[:-1])
    return cut_stretches(bounds.reshape(-1, 2), offsets)


def cut_stretches(stretches: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Split stretches at sequence ends; int64, shape (n_stretches, 2), ascending."""
    if len(stretches) == 0:
        return np.empty((0, 2), np.int64)
    rows = np.searchsorted(stretches[:, 0], offsets, side="left") - 1
    cuts = distinct(offsets[(rows >= 0) & (offsets < stretches[rows, 1])])
    starts = np.sort(np.concatenate([stretches[:, 0], cuts]))
    ends = np.sort(np.concatenate([stretches[:, 1], cuts]))
    return np.stack([starts, ends], axis=1).astype(np.int64)
