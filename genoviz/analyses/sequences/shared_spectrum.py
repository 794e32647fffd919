"""The k-mer spectrum of a text, computed by workers in parts of the k-mers.

Spectra of contigs cannot be added up, because contigs may share k-mers. So a part has the k-mers
with some values of a hash, from the whole text; the spectra of parts do add up.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numba import njit, prange

from genoviz.analyses.sequences.canonical_kmers import MAX_SORTED_K
from genoviz.analyses.sequences.kmer_groups import mark_short, n_chunks
from genoviz.analyses.sequences.kmer_spectrum import STRANDS, KmerSpectrum, KmerStrand
from genoviz.backend import Scheduler
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import finish
from genoviz.model.sequences.index_text import IndexText

TASK_PLACES = 1 << 27
"""Places of the text whose k-mers make a task: 17 bytes of a worker for each, some seconds."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)


def iter_shared_spectrum(
    text: IndexText, k: int, strand: KmerStrand = "forward", *, scheduler: Scheduler
) -> Generator[float, None, KmerSpectrum]:
    """Return the result of `KmerRepeats.spectrum`; yield the fraction done, 0 to 1.

    No index or common prefixes are needed: k-mers are sorted as integers.

    Parameters
    ----------
    text
        The result of `make_index_text`.
    k
        1 to 32.
    strand
        ``"forward"`` or ``"canonical"``.
    scheduler
        The address of a scheduler of Dask, or a client. The text is sent once, two bits a base.

    Raises
    ------
    ParameterError
        If ``k`` or ``strand`` is none of these.
    ClusterError
        If the scheduler does not answer or goes away.
    """
    from genoviz.cluster.blocks import iter_results

    check_choice("strand", strand, STRANDS)
    longest = int((np.diff(text.exceptions, prepend=-1) - 1).max(initial=0))
    if not 1 <= k <= min(longest, MAX_SORTED_K):
        raise ParameterError(
            f"k is {k:,}, needs 1 to {MAX_SORTED_K} where workers count, and no more than the "
            f"{longest:,} bases of the longest stretch of A C G T"
        )
    n_parts = max(1, -(-text.n_symbols // TASK_PLACES))
    common = (n_parts, text.packed, text.n_symbols, text.exceptions, k, strand == "canonical")
    found: dict[int, int] = {}
    blocks = [(part,) for part in range(n_parts)]
    results = iter_results(_count_part, blocks, scheduler=scheduler, common=common)
    for n_done, (_, (multiplicities, n_kmers)) in enumerate(results, start=1):
        for multiplicity, n in zip(multiplicities.tolist(), n_kmers.tolist(), strict=True):
            found[multiplicity] = found.get(multiplicity, 0) + n
        yield n_done / n_parts
    columns = np.array(sorted(found.items()), np.int64).reshape(-1, 2)
    return KmerSpectrum(k, strand, columns[:, 0].copy(), columns[:, 1].copy())


def shared_spectrum(
    text: IndexText, k: int, strand: KmerStrand = "forward", *, scheduler: Scheduler
) -> KmerSpectrum:
    """Return the k-mer spectrum, counted by workers; see `iter_shared_spectrum`."""
    return finish(iter_shared_spectrum(text, k, strand, scheduler=scheduler))


def _count_part(
    part: int,
    n_parts: int,
    packed: np.ndarray,
    n_symbols: int,
    exceptions: np.ndarray,
    k: int,
    is_canonical: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return multiplicities, ascending, and the number of a part's k-mers with each; int64 both."""
    short = mark_short(exceptions, n_symbols, k)
    offsets = np.zeros(n_chunks(n_symbols) + 1, np.int64)
    arguments = packed, short, n_symbols, k, is_canonical, np.uint64(part), np.uint64(n_parts)
    _take_keys(*arguments, offsets, np.empty(0, np.uint64))
    np.cumsum(offsets, out=offsets)
    keys = np.empty(offsets[-1], np.uint64)
    if not len(keys):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    _take_keys(*arguments, offsets, keys)
    keys.sort()
    ends = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    sizes = np.diff(ends, prepend=0, append=len(keys))
    return np.unique(sizes, return_counts=True)


@njit(nogil=True, cache=True, parallel=True)
def _take_keys(packed, short, n, k, is_canonical, part, n_parts, offsets, keys):
    """Write the k-mers of a part, each chunk of the text to its place; only count without keys.

    The counts are stored in ``offsets``, one item after the chunk's own.
    """
    top = np.uint64(2 * (k - 1))
    mask = _NONE >> np.uint64(64 - 2 * k)
    chunks = len(offsets) - 1
    for chunk in prange(chunks):
        first, last = n * chunk // chunks, n * (chunk + 1) // chunks
        forward, reverse = np.uint64(0), np.uint64(0)
        n_taken = 0
        for i in range(first, min(last + k - 1, n)):
            symbol = (packed[i >> 5] >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3)
            forward = (forward << np.uint64(2) | symbol) & mask
            reverse = reverse >> np.uint64(2) | (np.uint64(3) - symbol) << top
            place = i - k + 1
            if place < first or (short[place >> 6] >> np.uint64(place & 63)) & np.uint64(1):
                continue
            key = min(forward, reverse) if is_canonical else forward
            if (key * _GOLDEN >> np.uint64(32)) % n_parts == part:
                if len(keys):
                    keys[offsets[chunk] + n_taken] = key
                n_taken += 1
        if not len(keys):
            offsets[chunk + 1] = n_taken
