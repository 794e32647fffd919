"""K-mers of reads by their copies in an assembly: copy number, completeness and quality.

Both are counted within a given memory, in the same parts by a hash (`iter_kmer_parts`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.sequences.genome_model import find_peak
from genoviz.analyses.sequences.kmer_parts import (
    DEFAULT_MEMORY,
    Blocks,
    iter_kmer_parts,
)
from genoviz.analyses.sequences.kmer_sets import blocks_of
from genoviz.analyses.sequences.kmer_spectrum import KmerSpectrum
from genoviz.backend import Backend
from genoviz.generators import in_one_go
from genoviz.kernels.kmer_count import CODES
from genoviz.model import Intervals, Sequences

MAX_COPIES = 4
"""Highest separate copy number; one more column counts all higher ones."""


@dataclass(frozen=True, eq=False)
class CopySpectrum:
    """Numbers of k-mers by multiplicity in reads and in an assembly; all are canonical.

    Attributes
    ----------
    k
        Length of the k-mers.
    multiplicities
        int64, shape (n,), ascending: occurrences of a k-mer in the reads; 0 is for k-mers of the
        assembly only.
    n_kmers
        int64, shape (n, 6): number of distinct k-mers with this multiplicity in the reads that
        occur 0, 1, 2, 3, 4 times, or more often, in the assembly.
    n_places, n_absent
        Number of places of the assembly at which a k-mer begins, and how many of these k-mers
        are in no read.
    absent
        uint64, ascending: the k-mers that are in no read, 2 bits a base.
    """

    k: int
    multiplicities: np.ndarray
    n_kmers: np.ndarray
    n_places: int
    n_absent: int
    absent: np.ndarray

    @property
    def of_reads(self) -> KmerSpectrum:
        """The spectrum of the reads."""
        has_some = self.multiplicities > 0
        sums = self.n_kmers[has_some].sum(axis=1)
        return KmerSpectrum(self.k, "canonical", self.multiplicities[has_some], sums)

    def find_solid(self) -> int:
        """Return the multiplicity from which on k-mers are of the genome and not errors.

        It is the minimum before the highest peak of the reads' spectrum.

        Raises
        ------
        ParameterError
            If there is no peak.
        """
        return find_peak(self.of_reads)[0]

    def completeness(self, solid: int) -> float:
        """Return the share of the reads' k-mers of at least this multiplicity in the assembly."""
        rows = self.n_kmers[self.multiplicities >= max(solid, 1)]
        n = int(rows.sum())
        return 1 - int(rows[:, 0].sum()) / n if n else float("nan")

    @property
    def error_rate(self) -> float:
        """Errors per base of the assembly, from k-mers that are in no read; NaN without k-mers."""
        if not self.n_places:
            return float("nan")
        return 1 - (1 - self.n_absent / self.n_places) ** (1 / self.k)

    @property
    def quality(self) -> float:
        """The error rate as a Phred-scaled QV; infinite if reads have all k-mers."""
        with np.errstate(divide="ignore"):
            return float(-10 * np.log10(np.float64(self.error_rate))) + 0.0


def iter_copy_spectrum(
    open_blocks: Callable[[], Blocks],
    assembly: Sequences,
    k: int,
    *,
    memory: int = DEFAULT_MEMORY,
    backend: Backend = "auto",
) -> Generator[float, None, CopySpectrum]:
    """Return the result of `copy_spectrum`; yield the fraction done, 0 to 1."""
    table: dict[int, np.ndarray] = {}
    absent, n_places, n_absent = [np.empty(0, np.uint64)], 0, 0
    openers = (lambda: blocks_of(assembly), open_blocks)
    for share, part in iter_kmer_parts(openers, k, memory=memory, backend=backend):
        if part is not None:
            copies, counts = part.counts.T
            is_absent = counts == 0
            _add(table, counts, np.minimum(copies, MAX_COPIES + 1))
            absent.append(part.keys[is_absent])
            n_places += int(copies.sum())
            n_absent += int(copies[is_absent].sum())
        yield share
    multiplicities = np.array(sorted(table), np.int64)
    rows = np.array([table[each] for each in multiplicities.tolist()], np.int64)
    return CopySpectrum(
        k,
        multiplicities,
        rows.reshape(-1, MAX_COPIES + 2),
        n_places,
        n_absent,
        np.sort(np.concatenate(absent)),
    )


@in_one_go(iter_copy_spectrum)
def copy_spectrum(found: CopySpectrum) -> CopySpectrum:
    r"""Return how often k-mers occur in reads and in an assembly; canonical, without a cap.

    Parameters
    ----------
    open_blocks
        The reads, in the form that `read_spectrum` takes.
    assembly
        Its sequences. Letters other than A C G T U separate k-mers.
    k
        1 to 32.
    memory
        Bytes for k-mers and their counts, half for each side; if more are needed, both are read
        in several passes. K-mers that are in no read take another 8 bytes each.
    backend
        Where to count.

    Raises
    ------
    ParameterError
        If ``k`` or ``memory`` is out of range.

    References
    ----------
    Rhie et al. 2020, Merqury: reference-free quality, completeness, and phasing assessment for
    genome assemblies. *Genome Biology* 21, 245. doi:10.1186/s13059-020-02134-9

    Examples
    --------
    >>> reads = [(1.0, np.frombuffer(b"GATTACA\nTGTAATC\nGGG\n", np.uint8))]
    >>> found = copy_spectrum(lambda: reads, Sequences.from_records([("c", "GATTACAT")]), 5)
    >>> found.multiplicities.tolist(), found.n_kmers.tolist(), found.n_places
    ([0, 2], [[0, 1, 0, 0, 0, 0], [0, 3, 0, 0, 0, 0]], 4)
    """
    return found


def absent_stretches(assembly: Sequences, spectrum: CopySpectrum) -> Intervals:
    """Return the stretches of an assembly covered by k-mers that are in no read.

    Parameters
    ----------
    assembly, spectrum
        The arguments, and the result, of `copy_spectrum`.
    """
    columns: list[tuple[int, np.ndarray]] = []
    codes = np.frombuffer(CODES, np.uint8)
    for contig, (first, stop) in enumerate(
        zip(assembly.offsets[:-1], assembly.offsets[1:], strict=True)
    ):
        stretches = _find_stretches(assembly.bases[first:stop], codes, spectrum.k, spectrum.absent)
        columns.append((contig, stretches))
    names = [assembly.names[contig] for contig, found in columns for _ in range(len(found))]
    places = np.concatenate([np.empty((0, 2), np.int64), *(found for _, found in columns)])
    return Intervals.from_columns(names, places[:, 0], places[:, 1])


def _add(table: dict[int, np.ndarray], counts: np.ndarray, columns: np.ndarray) -> None:
    """Add k-mers to the rows of their multiplicities, in the columns of their copies."""
    width = MAX_COPIES + 2
    keys, sums = np.unique(counts * width + columns, return_counts=True)
    for key, n in zip(keys.tolist(), sums.tolist(), strict=True):
        row = table.setdefault(key // width, np.zeros(width, np.int64))
        row[key % width] += n


@njit(nogil=True, cache=True)
def _find_stretches(letters, codes, k, absent):
    """Return the stretches covered by k-mers of a sorted list; int64, shape (n, 2)."""
    found = []
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    top = np.uint64(2 * (k - 1))
    forward = reverse = np.uint64(0)
    n_bases = 0
    first = stop = -1
    for i in range(len(letters)):
        code = np.uint64(codes[letters[i]])
        if code > np.uint64(3):
            n_bases = 0
            continue
        forward = (forward << np.uint64(2) | code) & of_k
        reverse = reverse >> np.uint64(2) | (np.uint64(3) - code) << top
        n_bases += 1
        if n_bases < k:
            continue
        key = min(forward, reverse)
        low, high = 0, len(absent)
        while low < high:
            middle = (low + high) >> 1
            if absent[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low < len(absent) and absent[low] == key:
            if i - k + 1 > stop:
                if stop >= 0:
                    found.append((first, stop))
                first = i - k + 1
            stop = i + 1
    if stop >= 0:
        found.append((first, stop))
    stretches = np.empty((len(found), 2), np.int64)
    for row in range(len(found)):
        stretches[row, 0], stretches[row, 1] = found[row]
    return stretches
