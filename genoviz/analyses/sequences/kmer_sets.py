"""K-mers shared by several inputs or specific to some, counted within a memory limit."""

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
    """Number of k-mers in each combination of inputs.

    Attributes
    ----------
    k, n_inputs
        Length of the k-mers, and number of inputs.
    n_kmers
        int64, shape (2^n_inputs,): entry ``i`` counts distinct k-mers that occur in exactly the
        inputs whose bits are set in ``i``.
    n_places
        int64, shape (2^n_inputs, n_inputs): number of occurrences of these k-mers in each input.
    """

    k: int
    n_inputs: int
    n_kmers: np.ndarray
    n_places: np.ndarray

    @property
    def n_shared(self) -> int:
        """Number of k-mers in all inputs."""
        return int(self.n_kmers[-1])

    def jaccard(self, one: int, other: int) -> float:
        """Return the Jaccard index of the k-mers of two inputs; NaN if neither has any."""
        has = np.arange(len(self.n_kmers))[:, None] >> np.array([one, other]) & 1
        either = int(self.n_kmers[has.any(axis=1)].sum())
        return int(self.n_kmers[has.all(axis=1)].sum()) / either if either else float("nan")


@dataclass(frozen=True, eq=False)
class GcSpectrum:
    """Joint spectrum of GC content and multiplicity of distinct k-mers.

    Attributes
    ----------
    k
        Length of the k-mers.
    multiplicities
        int64, shape (n,), ascending: numbers of occurrences.
    n_kmers
        int64, shape (n, k + 1): distinct k-mers of each multiplicity with 0, 1, ... k G or C.
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
    """Return the result of `compare_kmers`; yields the share done, 0 to 1."""
    n = len(openers)
    found = KmerSets(k, n, np.zeros(1 << n, np.int64), np.zeros((1 << n, n), np.int64))
    for share, part in iter_kmer_parts(openers, k, memory=memory, backend=backend):
        if part is not None:
            add_part(found, part)
        yield share
    return found


@in_one_go(iter_compare_kmers)
def compare_kmers(found: KmerSets) -> KmerSets:
    r"""Count the canonical k-mers in each combination of inputs.

    Parameters
    ----------
    openers
        For each of up to 8 inputs, a function that opens it, as for `read_spectrum`. `blocks_of`
        makes the blocks of sequences.
    k
        1 to 32.
    memory
        Bytes for k-mers and counts, divided equally among the inputs. If they need more, all
        inputs are read several times. On a GPU, the limit is on GPU memory.
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
    """Return the result of `gc_spectrum`; yields the share done, 0 to 1."""
    table: dict[int, np.ndarray] = {}
    for share, part in iter_kmer_parts([open_blocks], k, memory=memory, backend=backend):
        if part is not None:
            # A C G T are coded 0 to 3; the two bits differ for C and G.
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
    r"""Count canonical k-mers by GC content and number of occurrences.

    Contamination separates from the genome if its GC content or coverage differs.

    Parameters
    ----------
    open_blocks, k, memory, backend
        As for `read_spectrum`.

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
    """Yield sequences in the form of reads: share done, and letters, one line each."""
    n = max(sequences.total_length, 1)
    bounds = zip(sequences.offsets[:-1].tolist(), sequences.offsets[1:].tolist(), strict=True)
    for first, stop in bounds:
        for start in range(first, stop, _BLOCK_BASES):
            end = min(start + _BLOCK_BASES, stop)
            yield end / n, sequences.bases[start:end]
        yield stop / n, _NEWLINE
