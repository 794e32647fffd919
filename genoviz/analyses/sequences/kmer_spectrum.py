"""K-mer spectra of a text or of reads, and numbers of distinct k-mers for each k."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.sequences.kmer_groups import iter_lengths
from genoviz.analyses.sequences.kmer_parts import DEFAULT_MEMORY, Blocks, iter_counted
from genoviz.backend import Backend, load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go

KmerStrand = Literal["forward", "canonical"]
STRANDS = ("forward", "canonical")


@dataclass(frozen=True, eq=False)
class KmerSpectrum:
    """Number of distinct k-mers at each multiplicity that occurs.

    Attributes
    ----------
    k, strand
        ``"forward"`` counts k-mers as written; ``"canonical"`` identifies a k-mer with its reverse
        complement and counts a palindrome once per occurrence.
    multiplicities
        int64, shape (n,), ascending: numbers of occurrences.
    n_kmers
        int64, shape (n,): number of distinct k-mers with each.
    """

    k: int
    strand: KmerStrand
    multiplicities: np.ndarray
    n_kmers: np.ndarray

    @property
    def n_distinct(self) -> int:
        """Number of distinct k-mers."""
        return int(self.n_kmers.sum())

    @property
    def n_unique(self) -> int:
        """Number of k-mers that occur once."""
        return int(self.n_kmers[self.multiplicities == 1].sum())

    @property
    def n_total(self) -> int:
        """Total number of k-mer occurrences."""
        return int((self.multiplicities * self.n_kmers).sum())

    @property
    def max_multiplicity(self) -> int:
        """Multiplicity of the most frequent k-mer; 0 if there is none."""
        return int(self.multiplicities[-1]) if len(self.multiplicities) else 0

    def count_between(self, low: int, high: int | None = None) -> int:
        """Return the number of k-mers with ``low`` to ``high`` occurrences, inclusive."""
        is_within = self.multiplicities >= low
        if high is not None:
            is_within &= self.multiplicities <= high
        return int(self.n_kmers[is_within].sum())


@dataclass(frozen=True, eq=False)
class DistinctKmers:
    """Numbers of k-mers for each k, on the forward strand.

    Attributes
    ----------
    ks
        int64, shape (max_k,): 1, 2, ...
    n_distinct, n_unique
        int64, shape (max_k,): numbers of distinct k-mers and of those that occur once.
    n_total
        int64, shape (max_k,): total number of k-mer occurrences.
    """

    ks: np.ndarray
    n_distinct: np.ndarray
    n_unique: np.ndarray
    n_total: np.ndarray


def iter_read_spectrum(
    open_blocks: Callable[[], Blocks],
    k: int,
    *,
    memory: int = DEFAULT_MEMORY,
    backend: Backend = "auto",
) -> Generator[float, None, KmerSpectrum]:
    """Return the result of `read_spectrum`; yields the share done, 0 to 1."""
    found: dict[int, int] = {}
    kernel = load_kernel("kmer_count", backend)
    for share, sides in iter_counted([open_blocks], k, memory=memory, kernel=kernel):
        for room in sides or ():
            values, numbers = kernel.tally_counts(kernel.list_counts(room))
            for multiplicity, n in zip(values.tolist(), numbers.tolist(), strict=True):
                found[multiplicity] = found.get(multiplicity, 0) + n
        yield share
    columns = np.array(sorted(found.items()), np.int64).reshape(-1, 2)
    return KmerSpectrum(k, "canonical", columns[:, 0].copy(), columns[:, 1].copy())


@in_one_go(iter_read_spectrum)
def read_spectrum(found: KmerSpectrum) -> KmerSpectrum:
    r"""Return the spectrum of canonical k-mers of reads, without a cap.

    Parameters
    ----------
    open_blocks
        Function that opens the reads; called once per pass. Yields shares and letters, as
        `iter_fastq_blocks` does. Letters other than A C G T U separate k-mers.
    k
        1 to 32.
    memory
        Bytes for k-mers and counts. One pass needs 48 bytes per distinct k-mer; with less memory,
        the reads are read two, four or more times. On a GPU, the limit is on GPU memory.
    backend
        Where to count.

    Raises
    ------
    ParameterError
        If ``k`` or ``memory`` is out of range.

    Examples
    --------
    >>> reads = [(1.0, np.frombuffer(b"GATTACA\nTGTAATC\nGANTT\n", np.uint8))]
    >>> spectrum = read_spectrum(lambda: reads, 5)
    >>> spectrum.multiplicities.tolist(), spectrum.n_kmers.tolist()
    ([2], [3])
    """
    return found


def iter_distinct(
    lcp: np.ndarray, segment_lengths: np.ndarray, max_k: int
) -> Generator[float, None, DistinctKmers]:
    """Return the distinct and unique k-mers for each k up to ``max_k``, in one pass.

    Yields the share done.

    A row starts with a new k-mer if its LCP with the previous row is shorter than k. The number of
    distinct k-mers is therefore the number of occurrences minus the rows with an LCP of k or more.
    Unique k-mers have an LCP shorter than k with both neighbours.

    Raises
    ------
    ParameterError
        If ``max_k`` is not positive.
    """
    if max_k < 1:
        raise ParameterError(f"max_k is {max_k:,}, needs to be 1 or more")
    ks = np.arange(1, max_k + 1, dtype=np.int64)
    n_total = count_places(segment_lengths, ks)
    lengths = yield from iter_lengths(lcp, int(max_k))
    before, longest = (np.cumsum(counts[::-1])[::-1][1:] for counts in lengths)
    return DistinctKmers(ks, n_total - before, n_total - longest, n_total)


def count_places(segment_lengths: np.ndarray, ks: np.ndarray) -> np.ndarray:
    """Return the number of k-mer start positions within segments, for each k; int64.

    ``segment_lengths`` are the numbers of bases between consecutive exceptions.
    """
    lengths = np.sort(segment_lengths)
    firsts = np.searchsorted(lengths, ks, side="left")
    sums = np.append(np.cumsum(lengths[::-1])[::-1], 0)
    return sums[firsts] - (len(lengths) - firsts) * (ks - 1)
