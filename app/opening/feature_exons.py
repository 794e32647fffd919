"""Exons of genes: found by name, and merged."""

from __future__ import annotations

import numpy as np

from genoviz.model import Annotations, ByteStrings, Intervals

PRIME = np.uint64(0x9E3779B97F4A7C15)


def match_exons(
    annotations: Annotations, exons: np.ndarray, features: Intervals
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the exons of each feature's name cover inside it.

    Parameters
    ----------
    exons
        int64: rows of the annotations.
    features
        With names.

    Returns
    -------
    tuple
        Offsets, int64, shape (n + 1,), and blocks, int64, shape (n_blocks, 2): feature i has the
        blocks from offset i to offset i + 1.
    """
    contigs = np.asarray(annotations.contigs.codes, np.int64)[exons]
    keys = hash_names(annotations.names.take(exons), contigs)
    order = np.lexsort((annotations.starts[exons], keys))
    keys, exons = keys[order], exons[order]
    wanted = hash_names(features.names, features.contig_ids)
    firsts, stops = (np.searchsorted(keys, wanted, side) for side in ("left", "right"))
    counts = stops - firsts
    owners = np.repeat(np.arange(len(features)), counts)
    rows = exons[np.arange(len(owners)) + np.repeat(firsts - (np.cumsum(counts) - counts), counts)]
    starts, ends = annotations.starts[rows], annotations.ends[rows]
    is_inside = (starts >= features.starts[owners]) & (ends <= features.ends[owners])
    return _merged(owners[is_inside], starts[is_inside], ends[is_inside], len(features))


def hash_names(names: ByteStrings, contigs: np.ndarray) -> np.ndarray:
    """Return a number for each name on its contig, the same for equal ones; uint64.

    Of a million names, two that differ share a number with a probability below 1e-6.
    """
    lengths = names.lengths
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 2, PRIME), dtype=np.uint64)
    within = np.arange(len(names.data)) - np.repeat(names.offsets[:-1], lengths)
    sums = np.append(np.uint64(0), np.cumsum((names.data + np.uint64(1)) * powers[within]))
    hashes = sums[names.offsets[1:]] - sums[names.offsets[:-1]]
    return hashes * PRIME + contigs.astype(np.uint64)


def _merged(
    owners: np.ndarray, starts: np.ndarray, ends: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets for each owner, and what its blocks cover together; blocks are by start."""
    span = int(ends.max(initial=0)) + 1
    reach = np.maximum.accumulate(ends + owners * span) if len(ends) else ends
    is_first = np.ones(len(ends), bool)
    is_first[1:] = starts[1:] + owners[1:] * span > reach[:-1]
    begins = np.flatnonzero(is_first)
    lasts = np.append(begins[1:], len(ends))[: len(begins)] - 1
    offsets = np.searchsorted(owners[begins], np.arange(n + 1))
    blocks = np.stack([starts[begins], reach[lasts] - owners[lasts] * span], axis=1)
    return offsets.astype(np.int64), blocks.astype(np.int64)
