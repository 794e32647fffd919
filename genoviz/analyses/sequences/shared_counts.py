"""Distributed k-mer counting: each worker indexes some of the contigs.

K-mers do not cross contig ends, so the counts of contigs add up.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import get_args

import numpy as np

from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.analyses.sequences.kmer_packing import Kmers
from genoviz.analyses.sequences.kmer_queries import MAX_BRANCHES, KmerStrands, count_kmers
from genoviz.analyses.sequences.kmers import read_kmer_sets
from genoviz.backend import Backend, Scheduler
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import finish
from genoviz.model.sequences.sequences import Sequences

TASK_BASES = 1 << 26
"""Bases per task: some seconds for a worker, and about a gigabyte of its memory."""
_SAMPLE_RATE = 32


def iter_shared_counts(
    sequences: Sequences,
    kmers: Kmers,
    *,
    strand: KmerStrands = "both",
    max_branches: int = MAX_BRANCHES,
    scheduler: Scheduler,
    backend: Backend = "auto",
) -> Generator[float, None, np.ndarray]:
    """Count k-mers as `count_kmers` in an index of the sequences; yields the share done.

    Parameters
    ----------
    sequences
        Contigs are grouped up to `TASK_BASES` bases; a worker indexes each group.
    kmers, strand
        As for `count_kmers`.
    max_branches
        Maximum number of occurring sequences that an IUPAC k-mer may match in one group.
    scheduler
        Address of a Dask scheduler, or a client.
    backend
        Where the workers compute.

    Raises
    ------
    ParameterError
        If a letter is no IUPAC code, a k-mer is empty, or one matches too many sequences.
    ClusterError
        If the scheduler does not answer or disconnects.
    """
    from genoviz.cluster.sums import iter_sum

    check_choice("strand", strand, get_args(KmerStrands))
    if isinstance(kmers, str | bytes):
        kmers = [kmers]
    if isinstance(kmers, list | tuple):
        read_kmer_sets(kmers)  # report invalid k-mers before sending anything
    bounds = _cut(sequences.lengths)
    if not len(sequences.names):
        raise ParameterError("there are no sequences, needs one at least")
    blocks = [
        (sequences.offsets[a : b + 1], sequences.bases[sequences.offsets[a] : sequences.offsets[b]])
        for a, b in pairwise(bounds)
    ]
    common = kmers, strand, max_branches, backend
    return (yield from iter_sum(_count_part, blocks, scheduler=scheduler, common=common))


def shared_counts(
    sequences: Sequences,
    kmers: Kmers,
    *,
    strand: KmerStrands = "both",
    max_branches: int = MAX_BRANCHES,
    scheduler: Scheduler,
    backend: Backend = "auto",
) -> np.ndarray:
    """Return the count of each k-mer, computed by workers; see `iter_shared_counts`."""
    options = {"strand": strand, "max_branches": max_branches, "backend": backend}
    return finish(iter_shared_counts(sequences, kmers, scheduler=scheduler, **options))


def _cut(lengths: np.ndarray) -> list[int]:
    """Return the first contig of each task, and the number of contigs."""
    bounds, n_bases = [0], 0
    for contig, length in enumerate(lengths.tolist()):
        if n_bases and n_bases + length > TASK_BASES:
            bounds.append(contig)
            n_bases = 0
        n_bases += length
    return [*bounds, len(lengths)]


def _count_part(
    offsets: np.ndarray,
    bases: np.ndarray,
    kmers: Kmers,
    strand: KmerStrands,
    max_branches: int,
    backend: Backend,
) -> np.ndarray:
    """Return the count of each k-mer in some contigs; int64."""
    names = tuple(map(str, range(len(offsets) - 1)))
    part = Sequences(names, offsets - offsets[0], bases, np.empty((0, 2), np.int64))
    index = build_fm_index(part, sample_rate=_SAMPLE_RATE, backend=backend)
    options = {"strand": strand, "max_branches": max_branches, "backend": backend}
    return count_kmers(index, kmers, **options)
