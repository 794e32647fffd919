"""The text of a k-mer index: two bits per base, with other letters stored separately."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.columns import check_arrays, freeze_arrays

EXCEPTION = 4
"""Symbol of letters other than A C G T, which are 0 to 3."""
BASES_PER_WORD = 32

_LETTERS = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True, eq=False)
class ContigPositions:
    """Contig positions of symbols of a text.

    Parameters
    ----------
    contig_ids
        int32, shape (n,).
    starts
        int64, shape (n,): 0-based, bp of the contig.
    """

    contig_ids: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class IndexText:
    """Contigs as one text of A C G T and exceptions, which match nothing.

    A run of other letters (N, IUPAC) is a single exception, whatever its length. Each contig also
    ends with one, so that no k-mer crosses them.

    Parameters
    ----------
    packed
        uint64, shape (n_symbols // 32 + 2,): two bits per symbol, the first in the highest bits;
        exceptions and padding are 0.
    n_symbols
        Length of the text.
    exceptions
        int64, shape (n_exceptions,): their positions in the text, ascending. The last symbol is
        one, unless there are no contigs.
    run_lengths
        int64, shape (n_exceptions,): number of letters that an exception stands for; 0 at contig
        ends.
    contig_names
        Names of the contigs; may have duplicates.
    contig_lengths
        int64, shape (n_contigs,), bp.
    masked
        int64, shape (n_masked, 2): soft-masked stretches, in coordinates of the concatenated
        contigs; ascending; none crosses a contig end.
    run_offsets
        int64, shape (n_exceptions + 1,): run ``i`` has the pieces ``run_offsets[i]`` to
        ``run_offsets[i + 1]``, each a repeated letter.
    piece_letters
        uint8, shape (n_pieces,).
    piece_lengths
        int64, shape (n_pieces,).

    Raises
    ------
    ParameterError
        If the arrays do not match.
    """

    packed: np.ndarray
    n_symbols: int
    exceptions: np.ndarray
    run_lengths: np.ndarray
    contig_names: tuple[str, ...]
    contig_lengths: np.ndarray
    masked: np.ndarray
    run_offsets: np.ndarray
    piece_letters: np.ndarray
    piece_lengths: np.ndarray

    def __post_init__(self) -> None:
        freeze_arrays(self)
        n = len(self.exceptions)
        expected = {
            "packed": (np.uint64, (self.n_symbols // BASES_PER_WORD + 2,)),
            "exceptions": (np.int64, (n,)),
            "run_lengths": (np.int64, (n,)),
            "contig_lengths": (np.int64, (len(self.contig_names),)),
            "masked": (np.int64, (len(self.masked), 2)),
            "run_offsets": (np.int64, (n + 1,)),
            "piece_letters": (np.uint8, (len(self.piece_letters),)),
            "piece_lengths": (np.int64, (len(self.piece_letters),)),
        }
        check_arrays(self, expected)
        if int((self.run_lengths == 0).sum()) != len(self.contig_names):
            raise ParameterError("each contig needs one exception at its end")

    def __repr__(self) -> str:
        return (
            f"IndexText({n_words(self.n_bases, 'base')} and "
            f"{n_words(len(self.exceptions), 'exception')} "
            f"of {n_words(self.n_contigs, 'contig')})"
        )

    @property
    def n_contigs(self) -> int:
        """Number of contigs."""
        return len(self.contig_names)

    @property
    def n_bases(self) -> int:
        """Number of A C G T."""
        return self.n_symbols - len(self.exceptions)

    @property
    def total_length(self) -> int:
        """Length of all contigs, bp."""
        return int(self.contig_lengths.sum())

    @cached_property
    def contig_ends(self) -> np.ndarray:
        """Text position of the exception at the end of each contig; int64, (n_contigs,)."""
        return self.exceptions[self.run_lengths == 0]

    @cached_property
    def contig_offsets(self) -> np.ndarray:
        """Start of each contig in the concatenated contigs; int64, (n_contigs + 1,)."""
        return np.concatenate([[0], np.cumsum(self.contig_lengths)]).astype(np.int64)

    @cached_property
    def _shifts(self) -> np.ndarray:
        """Offset from text to contig coordinates after a number of exceptions."""
        return np.concatenate([[0], np.cumsum(self.run_lengths - 1)]).astype(np.int64)

    @cached_property
    def _run_stops(self) -> np.ndarray:
        """End of each exception's letters in the concatenated contigs."""
        return self.exceptions + self._shifts[:-1] + self.run_lengths

    def locate(self, text_positions: np.ndarray) -> ContigPositions:
        """Return contig and position of symbols of the text; the start for a run."""
        positions = np.asarray(text_positions).astype(np.int64)
        contigs = np.searchsorted(self.contig_ends, positions, side="left")
        joint = positions + self._shifts[np.searchsorted(self.exceptions, positions, side="left")]
        return ContigPositions(contigs.astype(np.int32), joint - self.contig_offsets[contigs])

    def find(self, contig: int, start: int) -> int:
        """Return the text position of a base of a contig, or -1 inside a run.

        Raises
        ------
        ParameterError
            If there is no such contig, or it has no such base.
        """
        self._check_stretch(contig, start, start + 1)
        joint = int(self.contig_offsets[contig]) + start
        n_before = int(np.searchsorted(self._run_stops, joint, side="right"))
        is_in_run = self._run_stops[n_before] - self.run_lengths[n_before] <= joint
        return -1 if is_in_run else joint - int(self._shifts[n_before])

    def _check_stretch(self, contig: int, start: int, end: int) -> None:
        if not 0 <= contig < self.n_contigs:
            raise ParameterError(f"there is no contig {contig:,}, only {self.n_contigs:,}")
        length = int(self.contig_lengths[contig])
        if not 0 <= start <= end <= length:
            raise ParameterError(
                f"{self.contig_names[contig]}:{start:,}-{end:,} is not within its {length:,} bp"
            )

    def symbols(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return symbols of the text, 0 to 3 for A C G T and 4 for an exception; uint8, (n,)."""
        start, stop, _ = slice(start, stop).indices(self.n_symbols)
        symbols = np.empty(max(stop - start, 0), np.uint8)
        # Importing Numba takes longer than a k-mer lookup, which unpacks nothing.
        from genoviz.model.packing_loops import unpack_bases

        unpack_bases(self.packed, start, symbols)
        first, last = np.searchsorted(self.exceptions, [start, stop])
        symbols[self.exceptions[first:last] - start] = EXCEPTION
        return symbols

    def cut(self, contig: int, start: int, end: int, *, soft_masked: bool = False) -> np.ndarray:
        """Return the original letters of a range of a contig; uint8, shape (n,).

        Parameters
        ----------
        contig
            Number of the contig.
        start, end
            0-based, half-open, bp.
        soft_masked
            Whether soft-masked letters are in lower case.

        Raises
        ------
        ParameterError
            If there is no such contig, or the range exceeds it.
        """
        self._check_stretch(contig, start, end)
        first = int(self.contig_offsets[contig]) + start
        letters = self._cut_joint(first, first + end - start)
        if soft_masked:
            rows = slice(*np.searchsorted(self.masked.ravel(), [first, first + len(letters)]))
            for low, high in self.masked[rows.start // 2 : rows.stop // 2 + 1].tolist():
                letters[max(low - first, 0) : max(high - first, 0)] |= 32
        return letters

    def cut_each(self, contigs: np.ndarray, starts: np.ndarray, width: int) -> np.ndarray:
        """Return the letters of many ranges of equal length; uint8, shape (n, ``width``).

        Soft-masked letters are in lower case; positions beyond contig ends are 0.

        Parameters
        ----------
        contigs
            int, shape (n,): numbers of the contigs.
        starts
            int64, shape (n,): 0-based, bp; may be negative.
        width
            bp.
        """
        first = self.contig_offsets[contigs] + starts
        low, high = self.contig_offsets[contigs], self.contig_offsets[1:][contigs]
        letters = np.zeros((len(first), width), np.uint8)
        is_whole, runs, is_masked = self._find_whole(first, first + width, low, high)
        begins = (first - self._shifts[runs])[is_whole]
        bases = self._bases_at(begins[:, None] + np.arange(width))
        letters[is_whole] = bases | (32 * is_masked[is_whole, None])
        rest = np.flatnonzero(~is_whole)
        places = first[rest, None] + np.arange(width)
        is_inside = (places >= low[rest, None]) & (places < high[rest, None])
        others = np.zeros(places.shape, np.uint8)
        others[is_inside] = self._letters_at(places[is_inside])
        letters[rest] = others
        return letters

    def _find_whole(
        self, first: np.ndarray, stop: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return whether stretches have only bases, the runs before them, and the soft-masked ones.

        Such a stretch lies in one contig, and is soft-masked as a whole or not at all. Most hits
        are so, and their runs and borders are looked up once, not for each letter.
        """
        runs = np.searchsorted(self._run_stops[:-1], first, side="right")
        run_starts = (self._run_stops - self.run_lengths)[runs]
        n_borders, n_at_end = (
            np.searchsorted(self.masked.ravel(), place, side="right") for place in (first, stop - 1)
        )
        is_whole = (first >= low) & (stop <= high) & (stop <= run_starts) & (n_borders == n_at_end)
        return is_whole, runs, (n_borders % 2).astype(np.uint8)

    def _bases_at(self, positions: np.ndarray) -> np.ndarray:
        """Return the bases at individual positions of the stored text."""
        words = self.packed[positions // BASES_PER_WORD]
        bits = 2 * (BASES_PER_WORD - 1 - (positions & (BASES_PER_WORD - 1)))
        return _LETTERS[(words >> bits.view(np.uint64)) & np.uint64(3)]

    def _letters_at(self, places: np.ndarray) -> np.ndarray:
        """Return letters at individual positions of the concatenated contigs."""
        runs = np.searchsorted(self._run_stops, places, side="right")
        letters = self._bases_at(places - self._shifts[runs])
        in_run = places - (self._run_stops - self.run_lengths)[runs]
        is_in_run = in_run >= 0
        if is_in_run.any():
            ends = np.cumsum(self.piece_lengths)
            pieces = self.run_offsets[runs[is_in_run]]
            joint = (ends - self.piece_lengths)[pieces] + in_run[is_in_run]
            letters[is_in_run] = self.piece_letters[np.searchsorted(ends, joint, side="right")]
        if len(self.masked):
            n_borders = np.searchsorted(self.masked.ravel(), places, side="right")
            letters[n_borders % 2 == 1] |= 32
        return letters

    def _cut_joint(self, first: int, stop: int) -> np.ndarray:
        """Return a range of letters of the concatenated contigs, within one contig."""
        letters = np.empty(stop - first, np.uint8)
        run = int(np.searchsorted(self._run_stops, first, side="right"))
        at = first
        while at < stop:
            run_stop = int(self._run_stops[run])
            run_start = run_stop - int(self.run_lengths[run])
            end = min(run_start, stop)
            if at < end:
                shift = int(self._shifts[run])
                letters[at - first : end - first] = _LETTERS[self.symbols(at - shift, end - shift)]
                at = end
            end = min(run_stop, stop)
            if at < end:
                letters[at - first : end - first] = self._run(run, at - run_start, end - run_start)
                at = end
            run += 1
        return letters

    def _run(self, run: int, start: int, stop: int) -> np.ndarray:
        pieces = slice(*self.run_offsets[run : run + 2].tolist())
        lengths = self.piece_lengths[pieces]
        ends = np.clip(np.cumsum(lengths), start, stop)
        starts = np.clip(np.cumsum(lengths) - lengths, start, stop)
        return np.repeat(self.piece_letters[pieces], ends - starts)
