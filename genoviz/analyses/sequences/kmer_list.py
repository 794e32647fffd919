"""Pages of k-mers with counts, such as those behind a bar of a spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.sequences.kmer_spectrum import KmerSpectrum, KmerStrand
from genoviz.model.sequences.bases import reverse_complement
from genoviz.model.sequences.index_text import IndexText

KmerOrder = Literal["count", "kmer"]
ORDERS = ("count", "kmer")
_LETTERS = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True, eq=False)
class KmerList:
    """A page of k-mers with their counts and first occurrences.

    Attributes
    ----------
    n_all
        Total number of k-mers on all pages.
    offset
        Number of k-mers before this page.
    kmers
        Their bases; for a canonical k-mer, the lexicographically smaller strand.
    counts
        int64, shape (n,).
    contig_ids, starts, strands
        int32, int64 (0-based, bp) and int8 (1 or -1), shape (n,): first occurrence.
    """

    n_all: int
    offset: int
    kmers: tuple[str, ...]
    counts: np.ndarray
    contig_ids: np.ndarray
    starts: np.ndarray
    strands: np.ndarray


def list_kmers(
    text: IndexText,
    k: int,
    strand: KmerStrand,
    n_all: int,
    offset: int,
    counts: np.ndarray,
    positions: np.ndarray,
) -> KmerList:
    """Return a page of the k-mers at given text positions, int64, shape (n,)."""
    kmers, strands = [], np.ones(len(positions), np.int8)
    for i, position in enumerate(positions.tolist()):
        letters = _LETTERS[text.symbols(position, position + k)]
        kmer, turned = letters.tobytes(), reverse_complement(letters).tobytes()
        if strand == "canonical" and turned < kmer:
            kmer, strands[i] = turned, -1
        kmers.append(kmer.decode())
    places = text.locate(positions)
    return KmerList(n_all, offset, tuple(kmers), counts, places.contig_ids, places.starts, strands)


def split_page(
    spectrum: KmerSpectrum, low: int, high: int, first: int, stop: int
) -> list[tuple[int, int, int, int]]:
    """Return ``(low, high, first, stop)`` of the selections of a page, most frequent first.

    Only the first and the last multiplicity of a page may be partial.
    """
    is_within = (spectrum.multiplicities >= low) & (spectrum.multiplicities <= high)
    times = spectrum.multiplicities[is_within][::-1]
    counts = spectrum.n_kmers[is_within][::-1]
    before = np.cumsum(counts) - counts
    touched = np.flatnonzero((before < stop) & (before + counts > first)).tolist()
    if not touched:
        return [(low, high, 0, 0)]
    whole = touched[1:-1]
    ends = [touched[0], touched[-1]] if len(touched) > 1 else touched
    pages = []
    for i in ends:
        bounds = max(first - int(before[i]), 0), min(stop - int(before[i]), int(counts[i]))
        pages.append((int(times[i]), int(times[i]), *bounds))
    if whole:
        n_whole = int(counts[whole].sum())
        pages.insert(1, (int(times[whole[-1]]), int(times[whole[0]]), 0, n_whole))
    return pages
