"""K-mers in groups that are searched together: packed, with as many words each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.kmers import LETTERS, Kmer, PackedKmers, read_kmer_sets
from genoviz.kernels.fm_index.kmer_words import (
    mark_ambiguous,
    pack_kmers,
    reverse_complement_words,
)

Kmers = Sequence[str | bytes | Kmer] | PackedKmers | str | bytes
BASES_PER_WORD = 32
_OTHER_STRAND = np.array([int(f"{bases:04b}"[::-1], 2) for bases in range(16)], np.uint8)
_WORD = 2**64 - 1
_BOTH = slice(0, 2)


def _digit_table(digits: str) -> bytes:
    """Return the digits of A C G T for ``bytes.translate``; of other letters what is none."""
    table = bytearray(b"?" * 256)
    for letter, digit in zip("ACGTU", digits + digits[-1], strict=True):
        table[ord(letter)] = table[ord(letter.lower())] = ord(digit)
    return bytes(table)


_DIGITS, _TURNED_DIGITS = _digit_table("0123"), _digit_table("3210")


@dataclass(frozen=True, eq=False)
class KmerGroup:
    """K-mers of A C G T.

    Attributes
    ----------
    numbers
        Which of all k-mers they are: int64, shape (n,), or a slice.
    words, lengths
        As in `PackedKmers`.
    """

    numbers: np.ndarray | slice
    words: np.ndarray
    lengths: np.ndarray

    def turned(self) -> np.ndarray:
        """Return the words of the reverse complements."""
        turned = np.empty_like(self.words)
        reverse_complement_words(self.words, self.lengths, turned)
        return turned


@dataclass(frozen=True, eq=False)
class KmerQuery:
    """One k-mer as sets of bases, A 1, C 2, G 4, T 8 in the sum; uint8, shape (k,)."""

    number: int
    sets: np.ndarray

    def turned(self) -> KmerQuery:
        """Return the reverse complement."""
        return KmerQuery(self.number, _OTHER_STRAND[self.sets[::-1]])

    @property
    def letters(self) -> str:
        """Return it in IUPAC codes."""
        return "".join(LETTERS[bases] for bases in self.sets.tolist())


@dataclass(frozen=True, eq=False)
class PackedQueries:
    """How many k-mers there are; those without IUPAC codes in groups, and the others."""

    n: int
    groups: tuple[KmerGroup, ...]
    ambiguous: tuple[KmerQuery, ...]
    lengths: np.ndarray


def pack_one(kmers: Kmers) -> KmerGroup | None:
    """Return a k-mer of A C G T and its reverse complement, in a few microseconds.

    None if it has other letters or is packed already: then `pack_queries` does it.
    """
    kmer = kmers
    if not isinstance(kmers, str | bytes):
        if isinstance(kmers, PackedKmers):
            return None
        kmer = kmers[0]
    if isinstance(kmer, Kmer):
        kmer = kmer.letters
    try:
        letters = kmer if isinstance(kmer, bytes) else kmer.encode("ascii")
        value = int(letters.translate(_DIGITS), 4)
        turned = int(letters[::-1].translate(_TURNED_DIGITS), 4)
    except ValueError:
        return None
    k, words = len(letters), []
    if k <= BASES_PER_WORD:
        words = [[value], [turned]]
    else:
        shifts = range(0, 2 * k, 2 * BASES_PER_WORD)
        words = [[v >> shift & _WORD for shift in shifts] for v in (value, turned)]
    return KmerGroup(_BOTH, np.array(words, np.uint64), np.array([k, k], np.int32))


def pack_queries(kmers: Kmers) -> PackedQueries:
    """Return k-mers packed by their number of words; a single string is one k-mer.

    Raises
    ------
    ParameterError
        If a k-mer is empty or a letter stands for no base.
    """
    if isinstance(kmers, PackedKmers):
        words = np.ascontiguousarray(kmers.words)
        group = KmerGroup(slice(None), words, np.ascontiguousarray(kmers.lengths))
        return PackedQueries(len(kmers), (group,), (), kmers.lengths.astype(np.int64))
    if isinstance(kmers, str | bytes):
        kmers = [kmers]
    read = read_kmer_sets(kmers)
    sets, offsets, lengths = read.sets, read.offsets, np.diff(read.offsets)
    is_ambiguous = np.empty(len(lengths), bool)
    mark_ambiguous(sets, offsets, is_ambiguous)
    n_words = np.where(is_ambiguous, 0, -(-lengths // BASES_PER_WORD))
    groups = []
    for n in sorted({*n_words.tolist()} - {0}):
        numbers = np.flatnonzero(n_words == n)
        words = np.empty((len(numbers), n), np.uint64)
        pack_kmers(sets, offsets, numbers, words)
        groups.append(KmerGroup(numbers, words, lengths[numbers].astype(np.int32)))
    ambiguous = tuple(
        KmerQuery(i, sets[offsets[i] : offsets[i + 1]])
        for i in np.flatnonzero(is_ambiguous).tolist()
    )
    return PackedQueries(len(lengths), tuple(groups), ambiguous, lengths)
