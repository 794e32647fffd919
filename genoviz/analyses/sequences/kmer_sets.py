"""K-mers that several inputs share, and those that only some have, within a given memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.sequences.kmer_parts import (
    DEFAULT_MEMORY,
    Blocks,
    KmerPart,
    iter_kmer_parts,
)
from genoviz.backend import Backend
from genoviz.generators import in_one_go
from genoviz.model import Sequences

_BLOCK_BASES = 4 << 20
_NEWLINE = np.array([10], np.uint8)
_LOW_BITS = np.uint64(0x5555555555555555)


@dataclass(frozen=True, eq=False)
class KmerSets:
    """How many k-mers each choice of inputs has, and no other.

    Attributes
    ----------
    k, n_inputs
        Length of the k-mers, and how many inputs there are.
    n_kmers
        int64, shape (2^n_inputs,): entry ``i`` counts different k-mers that exactly those inputs
        have whose bits are set in ``i``.
    n_places
        int64, shape (2^n_inputs, n_inputs): at how many places of each input one begins.
    """

    k: int
    n_inputs: int
    n_kmers: np.ndarray
    n_places: np.ndarray

    @property
    def n_shared(self) -> int:
        """How many k-mers all inputs have."""
        return int(self.n_kmers[-1])

    def jaccard(self, one: int, other: int) -> float:
        """Return how many k-mers two inputs share, of those that either has; NaN for none."""
        has = np.arange(len(self.n_kmers))[:, None] >> np.array([one, other]) & 1
        either = int(self.n_kmers[has.any(axis=1)].sum())
        return int(self.n_kmers[has.all(axis=1)].sum()) / either if either else float("nan")


@dataclass(frozen=True, eq=False)
class GcSpectrum:
    """How many different k-mers have so many G and C, and occur so often.

    Attributes
    ----------
    k
        Length of the k-mers.
    multiplicities
        int64, shape (n,), ascending: how often k-mers occur.
    n_kmers
        int64, shape (n, k + 1): how many with 0, 1, ... k of G and C do.
    """

    k: int
    multiplicities: np.ndarray
    n_kmers: np.ndarray


def iter_compare_kmers(
    openers: Sequence[Callable[[], Blocks]],
    k: int,
    *,
    memory: int = DEFAULT_MEMORY,
    backend: Backend = "auto",
) -> Generator[float, None, KmerSets]:
    """Return what `compare_kmers` does; yields the share that is done, 0 to 1."""
    n = len(openers)
    found = KmerSets(k, n, np.zeros(1 << n, np.int64), np.zeros((1 << n, n), np.int64))
    for share, part in iter_kmer_parts(openers, k, memory=memory, backend=backend):
        if part is not None:
            add_part(found, part)
        yield share
    return found


@in_one_go(iter_compare_kmers)
def compare_kmers(found: KmerSets) -> KmerSets:
    r"""Return how many canonical k-mers each choice of inputs has.

    Parameters
    ----------
    openers
        For each of up to 8 inputs what opens it anew, as `read_spectrum` takes it; `blocks_of`
        makes blocks of sequences.
    k
        1 to 32.
    memory
        Bytes for k-mers and their counts, the same share for each input; where they need more,
        all inputs are read several times. On a GPU it is that of the GPU.
    backend
        Where to count.

    Raises
    ------
    ParameterError
        If ``k``, ``memory`` or the number of inputs is out of range.

    Examples
    --------
    >>> one, other = (Sequences.from_records([("c", text)]) for text in ("GATTACA", "TGTAAC"))
    >>> sets = compare_kmers([lambda: blocks_of(one), lambda: blocks_of(other)], 5)
    >>> sets.n_kmers.tolist(), sets.n_shared, sets.jaccard(0, 1)
    ([0, 2, 1, 1], 1, 0.25)
    """
    return found


def iter_gc_spectrum(
    open_blocks: Callable[[], Blocks],
    k: int,
    *,
    memory: int = DEFAULT_MEMORY,
    backend: Backend = "auto",
) -> Generator[float, None, GcSpectrum]:
    """Return what `gc_spectrum` does; yields the share that is done, 0 to 1."""
    table: dict[int, np.ndarray] = {}
    for share, part in iter_kmer_parts([open_blocks], k, memory=memory, backend=backend):
        if part is not None:
            # Of A C G T, 0 to 3, the bits of C and G differ.
            differs = (part.keys ^ part.keys >> np.uint64(1)) & _LOW_BITS
            pairs = part.counts[:, 0] * (k + 1) + np.bitwise_count(differs)
            for pair, n in zip(*map(np.ndarray.tolist, np.unique(pairs, return_counts=True)),
                               strict=True):  # fmt: skip
                row = table.setdefault(pair // (k + 1), np.zeros(k + 1, np.int64))
                row[pair % (k + 1)] += n
        yield share
    multiplicities = np.array(sorted(table), np.int64)
    rows = np.array([table[each] for each in multiplicities.tolist()], np.int64)
    return GcSpectrum(k, multiplicities, rows.reshape(-1, k + 1))


@in_one_go(iter_gc_spectrum)
def gc_spectrum(found: GcSpectrum) -> GcSpectrum:
    r"""Return how many canonical k-mers of each GC content occur how often.

    Contamination stands apart from the genome where its GC content or its coverage is another.

    Parameters
    ----------
    open_blocks, k, memory, backend
        As of `read_spectrum`.

    Raises
    ------
    ParameterError
        If ``k`` or ``memory`` is out of range.

    References
    ----------
    Mapleson et al. 2017, KAT: a K-mer analysis toolkit to quality control NGS datasets and genome
    assemblies. *Bioinformatics* 33(4), 574–576. doi:10.1093/bioinformatics/btw663

    Examples
    --------
    >>> reads = [(1.0, np.frombuffer(b"GATTACA\nTGTAATC\nGGGGG\n", np.uint8))]
    >>> found = gc_spectrum(lambda: reads, 5)
    >>> found.multiplicities.tolist(), found.n_kmers.tolist()
    ([1, 2], [[0, 0, 0, 0, 0, 1], [0, 3, 0, 0, 0, 0]])
    """
    return found


def add_part(found: KmerSets, part: KmerPart) -> None:
    """Count the k-mers of a part."""
    bits = ((part.counts > 0) << np.arange(found.n_inputs)).sum(axis=1)
    found.n_kmers[:] += np.bincount(bits, minlength=len(found.n_kmers))
    np.add.at(found.n_places, bits, part.counts)


def blocks_of(sequences: Sequences) -> Iterator[tuple[float, np.ndarray]]:
    """Yield sequences as reads are: shares, and letters with a newline after each sequence."""
    n = max(sequences.total_length, 1)
    bounds = zip(sequences.offsets[:-1].tolist(), sequences.offsets[1:].tolist(), strict=True)
    for first, stop in bounds:
        for start in range(first, stop, _BLOCK_BASES):
            end = min(start + _BLOCK_BASES, stop)
            yield end / n, sequences.bases[start:end]
        yield stop / n, _NEWLINE
