"""What is counted of the k-mers of a text or of reads: spectra, and how many for each k."""

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
    """How many different k-mers occur how often; every multiplicity that there is.

    Attributes
    ----------
    k, strand
        ``"forward"`` counts k-mers as they stand; ``"canonical"`` takes a k-mer and its reverse
        complement for one, and a palindrome once at each place.
    multiplicities
        int64, shape (n,), ascending: how often a k-mer occurs.
    n_kmers
        int64, shape (n,): how many different k-mers do.
    """

    k: int
    strand: KmerStrand
    multiplicities: np.ndarray
    n_kmers: np.ndarray

    @property
    def n_distinct(self) -> int:
        """How many different k-mers there are."""
        return int(self.n_kmers.sum())

    @property
    def n_unique(self) -> int:
        """How many k-mers occur once."""
        return int(self.n_kmers[self.multiplicities == 1].sum())

    @property
    def n_total(self) -> int:
        """How many places a k-mer begins at."""
        return int((self.multiplicities * self.n_kmers).sum())

    @property
    def max_multiplicity(self) -> int:
        """How often the most frequent k-mer occurs; 0 where there is none."""
        return int(self.multiplicities[-1]) if len(self.multiplicities) else 0

    def count_between(self, low: int, high: int | None = None) -> int:
        """Return how many k-mers occur ``low`` to ``high`` times, both included."""
        is_within = self.multiplicities >= low
        if high is not None:
            is_within &= self.multiplicities <= high
        return int(self.n_kmers[is_within].sum())


@dataclass(frozen=True, eq=False)
class DistinctKmers:
    """How many k-mers there are for each k, as they stand (forward).

    Attributes
    ----------
    ks
        int64, shape (max_k,): 1, 2, ...
    n_distinct, n_unique
        int64, shape (max_k,): how many different k-mers there are, and how many occur once.
    n_total
        int64, shape (max_k,): how many places a k-mer begins at.
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
    """Return what `read_spectrum` does; yields the share that is done, 0 to 1."""
    found: dict[int, int] = {}
    kernel = load_kernel("kmer_count", backend)
    for share, sides in iter_counted([open_blocks], k, memory=memory, kernel=kernel):
        for _, counts in sides or ():
            values, numbers = kernel.tally_counts(counts)
            for multiplicity, n in zip(values.tolist(), numbers.tolist(), strict=True):
                found[multiplicity] = found.get(multiplicity, 0) + n
        yield share
    columns = np.array(sorted(found.items()), np.int64).reshape(-1, 2)
    return KmerSpectrum(k, "canonical", columns[:, 0].copy(), columns[:, 1].copy())


@in_one_go(iter_read_spectrum)
def read_spectrum(found: KmerSpectrum) -> KmerSpectrum:
    r"""Return how many canonical k-mers of reads occur how often; nothing is capped.

    Parameters
    ----------
    open_blocks
        Returns the reads anew each time it is called: shares and letters, as `iter_fastq_blocks`
        yields them. What is none of A C G T U parts k-mers.
    k
        1 to 32.
    memory
        Bytes for k-mers and their counts. 48 bytes for each different k-mer of the reads do with
        one pass; less takes two, four or more. On a GPU it is that of the GPU.
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
    """Return the different and the unique k-mers for each k up to ``max_k``, in one pass.

    Yields the share that is done.

    A row begins with a k-mer that was not in the row before where the common prefix is shorter
    than k; so of the places at which a k-mer begins, those with a common prefix of k or more are
    taken off. Unique ones have a shorter common prefix with both neighbours.

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
    """Return the number of places in segments at which a k-mer begins, for each k; int64.

    ``segment_lengths`` are the bases between one exception and the next.
    """
    lengths = np.sort(segment_lengths)
    firsts = np.searchsorted(lengths, ks, side="left")
    sums = np.append(np.cumsum(lengths[::-1])[::-1], 0)
    return sums[firsts] - (len(lengths) - firsts) * (ks - 1)
