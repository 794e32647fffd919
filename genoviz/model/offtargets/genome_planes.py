"""A genome as bit planes, three bits per base, for bit-parallel search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.columns import check_arrays, freeze_arrays

BASES_PER_WORD = 64
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
PADDING_WORDS = 80
"""Zero words after the genome; enough for windows of up to 896 bases."""


@dataclass(frozen=True, eq=False, repr=False)
class GenomePlanes:
    """Concatenated contigs; bit ``i`` of word ``w`` is base ``64 w + i``.

    Parameters
    ----------
    low, high
        uint64, shape (n_bases // 64 + 1 + PADDING_WORDS,): the bits of A 00, C 01, G 10, T 11.
    other
        uint64, as ``low``: other letters (N, IUPAC); the other planes are 0 there.
    letter_positions
        int64, shape (n_letters,): positions of IUPAC letters other than N, ascending.
    letters
        uint8, shape (n_letters,): these letters; the rest of ``other`` is N.
    names
        First word of each header.
    descriptions
        Whole header of each contig.
    offsets
        int64, shape (n_contigs + 1,): start of each contig, bp.
    masked
        int64, shape (n_masked, 2): soft-masked stretches, as in `Sequences`.

    Raises
    ------
    ParameterError
        If the arrays do not match.
    """

    low: np.ndarray
    high: np.ndarray
    other: np.ndarray
    letter_positions: np.ndarray
    letters: np.ndarray
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    offsets: np.ndarray
    masked: np.ndarray

    def __post_init__(self) -> None:
        freeze_arrays(self)
        n_words = self.n_bases // BASES_PER_WORD + 1 + PADDING_WORDS
        expected = {
            "low": (np.uint64, (n_words,)),
            "high": (np.uint64, (n_words,)),
            "other": (np.uint64, (n_words,)),
            "letter_positions": (np.int64, (len(self.letters),)),
            "letters": (np.uint8, (len(self.letters),)),
            "offsets": (np.int64, (len(self.names) + 1,)),
            "masked": (np.int64, (len(self.masked), 2)),
        }
        check_arrays(self, expected)
        if len(self.descriptions) != len(self.names):
            raise ParameterError("there needs to be one description for each name")

    @property
    def n_contigs(self) -> int:
        """Number of contigs."""
        return len(self.names)

    @property
    def n_bases(self) -> int:
        """Length of all contigs, bp."""
        return int(self.offsets[-1])

    @property
    def n_words(self) -> int:
        """Words that hold bases."""
        return -(-self.n_bases // BASES_PER_WORD)

    def __repr__(self) -> str:
        return f"GenomePlanes({self.n_contigs:,} contigs, {self.n_bases:,} bp)"

    def valid_starts(self, length: int, first: int = 0, stop: int | None = None) -> np.ndarray:
        """Return the window starts whose window lies within one contig.

        Parameters
        ----------
        length
            Window length, bp.
        first, stop
            Range of words, half-open; all by default.

        Returns
        -------
        numpy.ndarray
            uint64, shape (n_words,) or (stop - first,).
        """
        stop = self.n_words if stop is None else stop
        valid = np.full(stop - first, _ALL, np.uint64)
        low, high = BASES_PER_WORD * first, BASES_PER_WORD * stop
        ends = self.offsets[1:]
        starts = np.maximum(self.offsets[:-1], ends - length + 1)
        _clear_bits(valid, np.clip(starts, low, high) - low, np.clip(ends, low, high) - low)
        n_over = self.n_bases % BASES_PER_WORD
        if n_over and first < stop == self.n_words:
            valid[-1] &= _low_bits(np.int64(n_over))
        return valid

    def letters_at(self, positions: np.ndarray) -> np.ndarray:
        """Return the letters at positions of the concatenated contigs; uint8, (n,)."""
        words, bits = positions >> 6, (positions & 63).astype(np.uint64)
        codes = np.zeros(len(positions), np.uint8)
        for place, plane in enumerate((self.low, self.high, self.other)):
            codes |= (plane[words] >> bits & np.uint64(1)).astype(np.uint8) << place
        letters = np.frombuffer(b"ACGTNNNN", np.uint8)[codes]
        if len(self.letters):
            found = np.searchsorted(self.letter_positions, positions)
            found = np.minimum(found, len(self.letters) - 1)
            is_letter = self.letter_positions[found] == positions
            letters[is_letter] = self.letters[found[is_letter]]
        return letters

    def cut(self, start: int, stop: int) -> np.ndarray:
        """Return the letters of a range of the concatenated contigs; uint8, (n,)."""
        return self.letters_at(np.arange(start, stop))

    def find_contigs(self, positions: np.ndarray) -> np.ndarray:
        """Return the contig that each position lies on; int32, shape (n,)."""
        # The last contig with this start; earlier ones are empty.
        found = np.searchsorted(self.offsets, positions, side="right") - 1
        return found.astype(np.int32)


def _low_bits(n: np.ndarray) -> np.ndarray:
    """Return words whose lowest ``n`` bits are set; ``n`` is 0 to 64."""
    n = n.astype(np.uint64)
    # Shifting a word by 64 bits at once is undefined.
    half = n >> np.uint64(1)
    return ~(_ALL << half << (n - half))


def _clear_bits(words: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> None:
    """Clear half-open ranges of bits, ascending and disjoint."""
    is_range = stops > starts
    starts, stops = starts[is_range], stops[is_range]
    if not len(starts):
        return
    firsts = starts >> 6
    for k in range(int(((stops - 1 >> 6) - firsts).max()) + 1):
        has_bits = stops > (firsts + k) * BASES_PER_WORD
        at = firsts[has_bits] + k
        begin = np.maximum(starts[has_bits] - at * BASES_PER_WORD, 0)
        end = np.minimum(stops[has_bits] - at * BASES_PER_WORD, BASES_PER_WORD)
        bits = _low_bits(end) & ~_low_bits(begin)
        is_new = np.append(True, at[1:] != at[:-1])
        words[at[is_new]] &= ~np.bitwise_or.reduceat(bits, np.flatnonzero(is_new))
