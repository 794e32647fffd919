"""The multiplicity of the k-mer at each base: along contigs, in bins, and as steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit, prange

from genoviz.analyses.sequences.kmer_spectrum import KmerStrand
from genoviz.errors import ParameterError
from genoviz.model.sequences.index_text import IndexText

_STRETCH = 1 << 24
BLOCK_BITS = 8


@dataclass(frozen=True, eq=False)
class MultiplicitySteps:
    """Stretches of a contig whose bases begin k-mers of the same multiplicity.

    Attributes
    ----------
    contig
        Number of the contig.
    starts, ends
        int64, shape (n,): 0-based half-open, bp.
    multiplicities
        int64, shape (n,): never 0; bases at which no k-mer begins are in no step.
    """

    contig: int
    starts: np.ndarray
    ends: np.ndarray
    multiplicities: np.ndarray


def iter_multiplicity_steps(
    track: MultiplicityTrack, contig: str | int | None = None
) -> Iterator[MultiplicitySteps]:
    """Yield the steps of a contig, or of all in order; about 16 million bases at a time.

    Raises
    ------
    ParameterError
        If there is no such contig.
    """
    text = track.text
    contigs = range(text.n_contigs) if contig is None else [find_contig(text, contig)]
    for rank in contigs:
        length = int(text.contig_lengths[rank])
        for first in range(0, length, _STRETCH):
            values = track.cut(rank, first, min(first + _STRETCH, length))
            yield find_steps(rank, first, values)


def find_steps(contig: int, first: int, values: np.ndarray) -> MultiplicitySteps:
    """Return the steps of multiplicities at bases of a contig from ``first`` on, at least one."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    starts = np.concatenate([[0], changes])
    ends = np.append(changes, len(values))
    kept = values[starts] > 0
    multiplicities = values[starts[kept]].astype(np.int64)
    return MultiplicitySteps(contig, first + starts[kept], first + ends[kept], multiplicities)


@dataclass(frozen=True, eq=False)
class MultiplicityBins:
    """Multiplicities of the k-mers that begin in each bin of a contig.

    Attributes
    ----------
    edges
        int64, shape (n + 1,): bin ``i`` is ``edges[i]`` to ``edges[i + 1]``, 0-based, bp.
    means
        float64, shape (n,): mean over the places at which a k-mer begins; 0 if there are none.
    maxima
        int64, shape (n,).
    n_kmers
        int64, shape (n,): number of places of a bin at which a k-mer begins.
    """

    edges: np.ndarray
    means: np.ndarray
    maxima: np.ndarray
    n_kmers: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class MultiplicityTrack:
    """The multiplicity, in the whole text, of the k-mer that begins at each base.

    Attributes
    ----------
    text
        The text.
    k, strand
        As in `KmerSpectrum`; ``"canonical"`` counts the reverse complement too.
    values
        int32 (int64 from 2^31 symbols on), shape (n_symbols,): by position in the text; 0 where
        no k-mer begins, because of a letter other than A C G T or the contig's end.
    """

    text: IndexText
    k: int
    strand: KmerStrand
    values: np.ndarray

    def __repr__(self) -> str:
        return f"MultiplicityTrack(k = {self.k:,}, {self.strand}, {len(self.values):,} symbols)"

    def cut(self, contig: str | int, start: int, stop: int) -> np.ndarray:
        """Return the multiplicity at each base of a stretch; as ``values``, shape (stop - start,).

        Raises
        ------
        ParameterError
            If there is no such contig, or the stretch is not on it.
        """
        rank = find_contig(self.text, contig)
        length = int(self.text.contig_lengths[rank])
        if not 0 <= start <= stop <= length:
            raise ParameterError(
                f"{self.text.contig_names[rank]}:{start:,}-{stop:,} is not within its {length:,} bp"
            )
        found = np.zeros(stop - start, self.values.dtype)
        for first, last, place in zip(*self._segments_of(rank), strict=True):
            low, high = max(place, start), min(place + last - first, stop)
            if low < high:
                shift = first - place
                found[low - start : high - start] = self.values[low + shift : high + shift]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The contigs."""
        return self.text.contig_names

    def find(self, name: str) -> int:
        """Return the number of a contig by name; raises ParameterError if there is none."""
        return find_contig(self.text, name)

    def iter_steps(self, contig: int | None = None) -> Iterator[MultiplicitySteps]:
        """Yield the steps of a contig, or of all; see `iter_multiplicity_steps`."""
        return iter_multiplicity_steps(self, contig)

    def bins(self, contig: str | int, edges: np.ndarray) -> MultiplicityBins:
        """Return mean and highest multiplicity of each bin of a contig.

        The time depends on the number of bins, not on their width.

        Parameters
        ----------
        contig
            Name or number.
        edges
            Integers, ascending, bp; beyond the contig there are no k-mers.
        """
        rank = find_contig(self.text, contig)
        edges = np.asarray(edges, np.int64)
        sums, counts, maxima = np.zeros((3, max(len(edges) - 1, 0)), np.int64)
        _fill_bins(
            self.values, *self._blocks, *self._segments_of(rank), edges, sums, counts, maxima
        )
        return MultiplicityBins(edges, sums / np.maximum(counts, 1), maxima, counts)

    @cached_property
    def _segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """First and last text position of each segment, its position on the contig, and cuts.

        Segments are the parts between exceptions; contig ``i`` has ``cuts[i]`` to ``cuts[i + 1]``.
        """
        text = self.text
        firsts = np.concatenate([[0], text.exceptions[:-1] + 1])[: len(text.exceptions)]
        stands_for = np.cumsum(text.run_lengths - 1) - (text.run_lengths - 1)
        contigs = np.searchsorted(text.contig_ends, text.exceptions)
        places = firsts + stands_for - text.contig_offsets[contigs]
        cuts = np.searchsorted(contigs, np.arange(text.n_contigs + 1))
        return firsts, text.exceptions, places, cuts

    def _segments_of(self, contig: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        *columns, cuts = self._segments
        first, last, place = (column[cuts[contig] : cuts[contig + 1]] for column in columns)
        return first, last, place

    @cached_property
    def _blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums and counts before each block of 256 text positions, and the maxima in it."""
        n = (len(self.values) >> BLOCK_BITS) + 1
        sums, counts, maxima = np.zeros((3, n), np.int64)
        _sum_blocks(self.values, sums, counts, maxima)
        return np.cumsum(sums) - sums, np.cumsum(counts) - counts, maxima


def find_contig(text: IndexText, contig: str | int) -> int:
    """Return the number of a contig, by name or number.

    Raises
    ------
    ParameterError
        If there is none.
    """
    names = text.contig_names
    if isinstance(contig, str):
        if contig in names:
            return names.index(contig)
        examples = ", ".join(names[:3]) or "none at all"
        raise ParameterError(f"no contig is named {contig!r}; there are {len(names):,}: {examples}")
    if not 0 <= contig < len(names):
        raise ParameterError(f"there is no contig {contig:,}, only {len(names):,}")
    return int(contig)


@njit(nogil=True, cache=True, parallel=True)
def _sum_blocks(values, sums, counts, maxima):
    for block in prange(len(sums)):
        for i in range(block << BLOCK_BITS, min((block + 1) << BLOCK_BITS, len(values))):
            value = np.int64(values[i])
            sums[block] += value
            counts[block] += value > 0
            maxima[block] = max(maxima[block], value)


@njit(nogil=True, cache=True)
def _sum_before(values, sums, counts, stop):
    block = stop >> BLOCK_BITS
    total, count = sums[block], counts[block]
    for i in range(block << BLOCK_BITS, stop):
        total += np.int64(values[i])
        count += values[i] > 0
    return total, count


@njit(nogil=True, cache=True)
def _find_highest(values, maxima, start, stop):
    highest = np.int64(0)
    i = start
    while i < stop:
        block = i >> BLOCK_BITS
        end = (block + 1) << BLOCK_BITS
        if i == block << BLOCK_BITS and end <= stop:
            highest = max(highest, maxima[block])
        else:
            end = min(end, stop)
            for place in range(i, end):
                highest = max(highest, np.int64(values[place]))
        i = end
    return highest


@njit(nogil=True, cache=True, parallel=True)
def _fill_bins(
    values, block_sums, block_counts, block_maxima, firsts, lasts, places, edges,
    sums, counts, maxima,
):  # fmt: skip
    for bin_ in prange(len(sums)):
        segment = max(np.searchsorted(places, edges[bin_], side="right") - 1, 0)
        while segment < len(firsts) and places[segment] < edges[bin_ + 1]:
            shift = firsts[segment] - places[segment]
            low = max(edges[bin_] + shift, firsts[segment])
            high = min(edges[bin_ + 1] + shift, lasts[segment])
            if low < high:
                total, count = _sum_before(values, block_sums, block_counts, high)
                less_total, less_count = _sum_before(values, block_sums, block_counts, low)
                sums[bin_] += total - less_total
                counts[bin_] += count - less_count
                highest = _find_highest(values, block_maxima, low, high)
                maxima[bin_] = max(maxima[bin_], highest)
            segment += 1
