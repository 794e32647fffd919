"""K-mers packed for search, in groups with the same number of words.

Packing and reverse complements are computed on the host for any backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.sequences.kmers import LETTERS, Kmer, PackedKmers, read_kmer_sets

Kmers = Sequence[str | bytes | Kmer] | PackedKmers | str | bytes
BASES_PER_WORD = 32
_OTHER_STRAND = np.array([int(f"{bases:04b}"[::-1], 2) for bases in range(16)], np.uint8)
_LETTER_OF_SET = np.frombuffer(LETTERS.encode(), np.uint8)
_SET_SIZES = np.array([max(bases.bit_count(), 1) for bases in range(16)])
_WORD = 2**64 - 1
_BOTH = slice(0, 2)
_PAIRS, _NIBBLES = np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)


def _digit_table(digits: str) -> bytes:
    """Return the digits of A C G T for ``bytes.translate``; an invalid digit for other letters."""
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
        Indices into all k-mers: int64, shape (n,), or a slice.
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
class AmbiguousKmers:
    """K-mers with IUPAC codes, concatenated.

    Attributes
    ----------
    numbers
        int64, shape (n,): indices into all k-mers.
    sets
        uint8, shape (total_length,): sets of bases, the sum of A 1, C 2, G 4, T 8.
    offsets
        int64, shape (n + 1,).
    """

    numbers: np.ndarray
    sets: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    def turned(self) -> AmbiguousKmers:
        """Return the reverse complements."""
        mirror = np.repeat(self.offsets[:-1] + self.offsets[1:] - 1, np.diff(self.offsets))
        places = mirror - np.arange(len(self.sets))
        return AmbiguousKmers(self.numbers, _OTHER_STRAND[self.sets[places]], self.offsets)

    def is_turned(self) -> np.ndarray:
        """Return which k-mers come after their reverse complement in the alphabet; bool, (n,)."""
        letters, others = _LETTER_OF_SET[self.sets], _LETTER_OF_SET[self.turned().sets]
        differences = np.append(np.flatnonzero(letters != others), len(letters))
        firsts = differences[np.searchsorted(differences, self.offsets[:-1])]
        differs = firsts < self.offsets[1:]
        is_turned = np.zeros(len(self), bool)
        is_turned[differs] = others[firsts[differs]] < letters[firsts[differs]]
        return is_turned

    def branch_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the suffix lengths at which k-mers branch, and offsets.

        Both are int64; k-mer ``i`` has ``lengths[offsets[i] : offsets[i + 1]]``, ascending.
        """
        places = np.flatnonzero(self.sets & (self.sets - 1))
        owners = np.searchsorted(self.offsets, places, side="right") - 1
        lengths = self.offsets[1:][owners] - places
        offsets = np.searchsorted(owners, np.arange(len(self) + 1))
        return lengths[np.lexsort([lengths, owners])], offsets

    def split(self, n_branches: int, max_branches: int) -> Iterator[AmbiguousKmers]:
        """Yield batches of k-mers with up to ``n_branches`` sequences in all, or single k-mers."""
        bits = np.log2(_SET_SIZES[self.sets])
        widths = np.exp2(np.minimum(np.add.reduceat(bits, self.offsets[:-1]), 40))
        parts = np.cumsum(np.minimum(widths, max_branches)) // n_branches
        cuts = np.flatnonzero(np.diff(parts, prepend=-1.0, append=np.inf))
        for first, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            begin, end = self.offsets[first], self.offsets[stop]
            offsets = self.offsets[first : stop + 1] - begin
            yield AmbiguousKmers(self.numbers[first:stop], self.sets[begin:end], offsets)


@dataclass(frozen=True, eq=False)
class PackedQueries:
    """The number of k-mers; those without IUPAC codes in groups, and the others."""

    n: int
    groups: tuple[KmerGroup, ...]
    ambiguous: AmbiguousKmers
    lengths: np.ndarray


def pack_one(kmers: Kmers) -> KmerGroup | None:
    """Return a k-mer of A C G T and its reverse complement, in a few microseconds.

    None if it has other letters or is already packed: use `pack_queries` then.
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
        none = _take(np.empty(0, np.uint8), np.zeros(1, np.int64), np.empty(0, np.int64))
        return PackedQueries(len(kmers), (group,), none, kmers.lengths.astype(np.int64))
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
    ambiguous = _take(sets, offsets, np.flatnonzero(is_ambiguous))
    return PackedQueries(len(lengths), tuple(groups), ambiguous, lengths)


def _take(sets: np.ndarray, offsets: np.ndarray, numbers: np.ndarray) -> AmbiguousKmers:
    """Return some k-mers of many."""
    lengths = offsets[numbers + 1] - offsets[numbers]
    kept = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.repeat(offsets[numbers] - kept[:-1], lengths) + np.arange(kept[-1])
    return AmbiguousKmers(numbers, sets[places], kept)


@njit(nogil=True, cache=True)
def mark_ambiguous(sets, offsets, is_ambiguous):
    """Return which k-mers have a set of several bases."""
    for i in range(len(is_ambiguous)):
        several = np.uint8(0)
        for at in range(offsets[i], offsets[i + 1]):
            several |= sets[at] & (sets[at] - np.uint8(1))
        is_ambiguous[i] = several != 0


@njit(nogil=True, cache=True)
def pack_kmers(sets, offsets, numbers, words):
    """Pack some k-mers of single bases."""
    words[:] = 0
    for i in range(len(numbers)):
        end = offsets[numbers[i] + 1]
        for j in range(end - offsets[numbers[i]]):
            base = sets[end - 1 - j]
            symbol = np.uint64((base >> 1) - (base >> 3))
            words[i, j >> 5] |= symbol << np.uint64(2 * (j & 31))


@njit(nogil=True, cache=True)
def reverse_complement_words(words, lengths, turned):
    """Turn k-mers to the other strand."""
    n_words = words.shape[1]
    for i in range(len(words)):
        n_empty = 64 * n_words - 2 * np.int64(lengths[i])
        skipped, shift = n_empty >> 6, np.uint64(n_empty & 63)
        for w in range(n_words):
            turned[i, w] = 0
        for w in range(skipped, n_words):
            word = ~words[i, n_words - 1 - w]
            word = (word >> np.uint64(2) & _PAIRS) | (word & _PAIRS) << np.uint64(2)
            word = (word >> np.uint64(4) & _NIBBLES) | (word & _NIBBLES) << np.uint64(4)
            swapped = np.uint64(0)
            for _ in range(8):
                swapped = swapped << np.uint64(8) | (word & np.uint64(255))
                word >>= np.uint64(8)
            to = w - skipped
            turned[i, to] |= swapped >> shift
            if to > 0 and shift > 0:
                turned[i, to - 1] |= swapped << (np.uint64(64) - shift)
