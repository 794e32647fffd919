"""The nodes, edges, lengths and bases of a simulated variation graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from genoviz.kernels.pangenome_simulation import (
    BLOCK_END,
    DUPLICATION,
    INDEL,
    INSERTION,
    INVERSION,
    SNP,
)
from genoviz.model import ByteStrings

# Minimum and maximum number of sites within a block, by kind; sizes s have the density 1 / s**2.
MIN_BLOCK_SITES = {INSERTION: 1, INVERSION: 4, DUPLICATION: 3}
MAX_BLOCK_SITES = {INSERTION: 1500, INVERSION: 1000, DUPLICATION: 300}


@dataclass(frozen=True)
class Sites:
    """The sites of a graph, as in the contract of the kernel ``pangenome_simulation``.

    ``top`` (int32) lists the sites outside blocks, where a path can begin, end or recombine.
    """

    n_nodes: int
    kinds: np.ndarray
    nodes: np.ndarray
    extents: np.ndarray
    top: np.ndarray


def grow_sites(kernel: ModuleType, n_nodes: int, weights: np.ndarray, seed: np.uint64) -> Sites:
    """Return random sites with ``n_nodes`` nodes; ``weights`` are those of SNP to DUPLICATION."""
    limits = np.zeros(DUPLICATION + 1)
    limits[SNP:] = np.cumsum(weights / weights.sum())
    min_sizes, max_sizes = np.ones(DUPLICATION + 1), np.ones(DUPLICATION + 1)
    for kind, minimum in MIN_BLOCK_SITES.items():
        min_sizes[kind] = minimum
        max_sizes[kind] = max(minimum + 1, min(MAX_BLOCK_SITES[kind], n_nodes // 50))
    kinds = np.empty(n_nodes, np.uint8)
    nodes = np.empty(n_nodes, np.uint32)
    extents = np.empty(n_nodes, np.int32)
    top = np.empty(n_nodes, np.int32)
    n_sites, n_top = kernel.grow_sites(
        n_nodes, limits, min_sizes, max_sizes, seed, kinds, nodes, extents, top
    )
    kept = (array[:n_sites].copy() for array in (kinds, nodes, extents))
    return Sites(n_nodes, *kept, top[:n_top].copy())


def draw_lengths(rng: np.random.Generator, sites: Sites) -> np.ndarray:
    """Return node lengths; int64, shape (n_nodes,): mostly 1 bp, with a heavy tail."""
    lengths = np.ones(sites.n_nodes, np.int64)
    n_sites = len(sites.kinds)
    anchors = np.exp(rng.normal(math.log(32), 1.3, n_sites))
    # Unaligned repeats: truncated Pareto with exponent 1.2 from 1 kb to, in large graphs, 1 Mb.
    longest = min(max(sites.n_nodes, 2e3), 1e6)
    tail = 1e3 * (1 - rng.random(n_sites) * (1 - (1e3 / longest) ** 1.2)) ** (-1 / 1.2)
    kind = rng.random(n_sites)
    lengths[sites.nodes] = np.select([kind < 0.12, kind < 0.955], [1.0, anchors], tail) + 0.5

    inserted = sites.nodes[sites.kinds == INDEL] + 1
    n = len(inserted)
    kind = rng.random(n)
    short = rng.geometric(0.15, n)
    mobile_element = np.exp(rng.normal(math.log(310), 0.8, n))
    lengths[inserted] = np.select([kind < 0.45, kind < 0.96], [1, short], mobile_element)

    substituted = sites.nodes[(sites.kinds == SNP) & (rng.random(n_sites) < 0.04)]
    for allele in (1, 2):
        lengths[substituted + allele] = rng.geometric(0.2, len(substituted))
    return np.maximum(lengths, 1)


def list_edges(sites: Sites) -> np.ndarray:
    """Return the edges that the sites imply, sorted; uint32, shape (n_edges, 2)."""
    node = sites.nodes.astype(np.int64)
    pairs = []

    def link(origin: np.ndarray, target: np.ndarray, origin_flip: int = 0, target_flip: int = 0):
        pairs.append(((origin << 1 | origin_flip) << 32) | (target << 1 | target_flip))

    is_snp, is_indel, is_end = (sites.kinds == kind for kind in (SNP, INDEL, BLOCK_END))
    follows = ~is_snp & (node + 1 < sites.n_nodes)
    link(node[follows], node[follows] + 1)
    for allele in (1, 2):
        link(node[is_snp], node[is_snp] + allele)
        link(node[is_snp] + allele, node[is_snp] + 3)
    link(node[is_indel], node[is_indel] + 2)
    link(node[is_indel] + 1, node[is_indel] + 2)
    opener = sites.extents[is_end]
    for kind in (INSERTION, INVERSION, DUPLICATION):
        is_kind = sites.kinds[opener] == kind
        before, last = node[opener[is_kind]], node[is_end][is_kind]
        if kind == INSERTION:
            link(before, last + 1)
        elif kind == DUPLICATION:
            link(last, before + 1)
        else:
            link(before, last, target_flip=1)
            link(before + 1, last + 1, origin_flip=1)
    keys = np.sort(np.concatenate(pairs))
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.uint32)


def make_bases(
    kernel: ModuleType, sites: Sites, node_lengths: np.ndarray, seed: np.uint64
) -> ByteStrings:
    """Return random bases for the nodes; the alleles of a SNP differ."""
    offsets = np.zeros(len(node_lengths) + 1, np.int64)
    np.cumsum(node_lengths, out=offsets[1:])
    bases = np.empty(offsets[-1], np.uint8)
    kernel.write_bases(sites.kinds, sites.nodes, offsets, seed, bases)
    return ByteStrings(bases, offsets)
