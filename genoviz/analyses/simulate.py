"""Simulate variation graphs that look like those of the human pangenome, of any size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from types import MappingProxyType

import numba
import numpy as np

from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.kernels.pangenome_simulation import (
    BLOCK_END,
    DUPLICATION,
    INDEL,
    INSERTION,
    INVERSION,
    MAX_FOUNDERS,
    SNP,
)
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.graph import MAX_NODES

MAX_BINS = 4096
DEFAULT_COPY_SPAN = 3
MAX_COPY_SPAN = 200
# Fewest and most sites within a block, by kind; sizes s have the density 1 / s**2.
MIN_BLOCK_SITES = {INSERTION: 2, INVERSION: 4, DUPLICATION: 3}
MAX_BLOCK_SITES = {INSERTION: 1500, INVERSION: 1000, DUPLICATION: 300}


@dataclass(frozen=True)
class VariationRates:
    """How often each kind of variation begins, relative to each other, per site of the graph.

    Attributes
    ----------
    snp, indel, sv, inversion, duplication
        Weights of the kinds; ``sv`` are insertions (or deletions) with variation of their own.
    private
        Share of SNPs and indels that only one path has.
    reverse
        Share of contigs that run through the graph from its end to its start.
    recombination
        Changes of the copied founder along the whole graph, per haplotype.
    """

    snp: float = 0.74
    indel: float = 0.255
    sv: float = 0.004
    inversion: float = 0.0004
    duplication: float = 0.0004
    private: float = 0.25
    reverse: float = 0.05
    recombination: float = 30.0

    def __post_init__(self) -> None:
        weights = astuple(self)[:5]
        if min(astuple(self)) < 0 or max(self.private, self.reverse) > 1 or sum(weights) <= 0:
            raise ParameterError(f"{self} has a rate out of range, needs weights and shares >= 0")


DEFAULT_RATES = VariationRates()

SIMULATION_PRESETS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "small": {"n_nodes": 5_000, "n_paths": 12},
        "million": {"n_nodes": 1_000_000, "n_paths": 20},
        "mhc": {"n_nodes": 230_000, "n_paths": 99, "n_steps": 16_000_000},
        "chr20": {"n_nodes": 2_000_000, "n_paths": 1_500, "n_steps": 150_000_000},
        "chr1": {"n_nodes": 11_000_000, "n_paths": 2_262, "n_steps": 600_000_000},
    }
)
"""Arguments for graphs of the sizes that the literature measures: the MHC region and the
chromosomes 20 and 1 of the Human Pangenome Reference Consortium."""


@dataclass(frozen=True)
class _Sites:
    """The sites of the graph, as in the kernel's contract."""

    kinds: np.ndarray
    nodes: np.ndarray
    extents: np.ndarray
    top: np.ndarray


@dataclass(frozen=True)
class _Contigs:
    """Where each path begins and ends (bins), whose it is, and what it is called."""

    first_bins: np.ndarray
    last_bins: np.ndarray
    names: tuple[str, ...]


def simulate_pangenome(
    n_nodes: int,
    n_paths: int,
    *,
    n_steps: int | None = None,
    seed: int = 0,
    sequences: bool = False,
    n_founders: int | None = None,
    rates: VariationRates = DEFAULT_RATES,
    contig: str = "chr1",
) -> PangenomeGraph:
    """Return a random variation graph with the statistics of real pangenome graphs.

    The graph is a row of sites in topological order: SNPs, indels, insertions that carry sites of
    their own, inversions and tandem duplications. Haplotypes are mosaics of a few founders, so
    that paths share haplotype blocks. The first two paths are references that run through the
    whole graph; the others are haplotypes, some in one contig, some in pieces with gaps.

    Parameters
    ----------
    n_nodes, n_paths
        Size of the graph, kept exactly. With two paths or more every node is on a path; one path
        alone leaves the other alleles out.
    n_steps
        Steps of all paths together, kept within a few per cent: it decides into how many
        haplotypes the paths are put together. By default three quarters of ``n_paths``.
        More steps than whole paths have are made by more copies in the duplications.
    seed
        The same seed gives the same graph, whatever the number of threads.
    sequences
        Whether to make up bases for the nodes.
    n_founders
        Number of founder haplotypes, 2 to 64; by default grows with the root of the haplotypes.
    rates
        How much variation there is of each kind.
    contig
        Name of the contig in the path names ``sample#haplotype#contig``.

    Raises
    ------
    ParameterError
        If a size is out of range or ``n_steps`` cannot be reached.

    Examples
    --------
    >>> simulate_pangenome(5_000, 12, seed=1).n_paths
    12
    """
    _check_sizes(n_nodes, n_paths, n_founders)
    kernel = load_kernel("pangenome_simulation", "cpu")
    streams = np.random.SeedSequence(seed).spawn(8)
    rng = np.random.default_rng(streams[0])
    seeds = [stream.generate_state(1, np.uint64)[0] for stream in streams[1:]]

    sites = _grow_sites(kernel, n_nodes, rates, seeds[0])
    n_bins = max(1, min(MAX_BINS, len(sites.top), 2**28 // max(n_paths, 1)))
    cuts = np.linspace(0, len(sites.top), n_bins + 1).astype(np.int64)
    bin_sites = np.append(sites.top, len(sites.kinds))[cuts].astype(np.int64)

    whole = _typical_path_steps(kernel, sites, bin_sites, rates, seeds[1])
    n_haplotypes, coverage = _plan_haplotypes(n_paths, n_steps, whole, n_bins)
    contigs = _cut_contigs(rng, n_paths, n_haplotypes, coverage, n_bins, contig)
    if n_founders is None:
        n_founders = int(np.clip(round(2 * math.sqrt(n_haplotypes)), 2, MAX_FOUNDERS))
    n_founders = min(n_founders, max(n_paths, 1))
    mosaic = np.empty((n_bins, n_paths), np.uint8)
    fixed_founders = np.full(n_paths, -1, np.int64)
    fixed_founders[:2] = np.arange(n_paths)[:2]
    switch_rate = rates.recombination / n_bins
    kernel.paint_mosaic(
        contigs.first_bins, contigs.last_bins, fixed_founders, n_founders, switch_rate,
        seeds[2], mosaic,
    )  # fmt: skip
    alleles, carriers = _draw_alleles(
        kernel, sites, bin_sites, mosaic, n_founders, rates.private, seeds[1]
    )
    genotypes = (sites.kinds, sites.nodes, sites.extents, alleles, carriers)
    copy_span, counts = _count_steps(kernel, genotypes, bin_sites, mosaic, n_founders, n_steps)
    path_offsets = np.zeros(n_paths + 1, np.int64)
    np.cumsum(counts, out=path_offsets[1:])
    steps = np.empty(path_offsets[-1], np.uint32)
    is_reverse = rng.random(n_paths) < rates.reverse
    is_reverse[:2] = False
    with numba.parallel_chunksize(1):
        kernel.write_steps(
            *genotypes, copy_span, n_founders, bin_sites, mosaic, is_reverse, path_offsets, steps
        )
    node_lengths = _draw_lengths(np.random.default_rng(seeds[3]), sites, n_nodes)
    return PangenomeGraph(
        node_names=ByteStrings.from_integers(1, n_nodes),
        node_lengths=node_lengths,
        edges=_list_edges(sites, n_nodes),
        path_names=contigs.names,
        path_offsets=path_offsets,
        steps=steps,
        node_sequences=_make_bases(kernel, sites, node_lengths, seeds[4]) if sequences else None,
    )


def _check_sizes(n_nodes: int, n_paths: int, n_founders: int | None) -> None:
    if not 1 <= n_nodes <= MAX_NODES:
        raise ParameterError(f"n_nodes is {n_nodes:,}, needs 1 to {MAX_NODES:,}")
    if not 0 <= n_paths <= 2**24:
        raise ParameterError(f"n_paths is {n_paths:,}, needs 0 to {2**24:,}")
    if n_founders is not None and not 2 <= n_founders <= MAX_FOUNDERS:
        raise ParameterError(f"n_founders is {n_founders}, needs 2 to {MAX_FOUNDERS}")


def _grow_sites(kernel, n_nodes: int, rates: VariationRates, seed: int) -> _Sites:
    limits = np.zeros(8)
    weights = np.array(astuple(rates)[:5])
    limits[SNP : DUPLICATION + 1] = np.cumsum(weights / weights.sum())
    min_sizes, max_sizes = np.ones(8), np.ones(8)
    for kind, fewest in MIN_BLOCK_SITES.items():
        min_sizes[kind] = fewest
        max_sizes[kind] = max(fewest + 1, min(MAX_BLOCK_SITES[kind], n_nodes // 50))
    kinds = np.empty(n_nodes, np.uint8)
    nodes = np.empty(n_nodes, np.uint32)
    extents = np.empty(n_nodes, np.int32)
    top = np.empty(n_nodes, np.int32)
    n_sites, n_top = kernel.grow_sites(
        n_nodes, limits, min_sizes, max_sizes, seed, kinds, nodes, extents, top
    )
    return _Sites(
        kinds[:n_sites].copy(), nodes[:n_sites].copy(), extents[:n_sites].copy(), top[:n_top].copy()
    )


def _draw_alleles(kernel, sites, bin_sites, mosaic, n_founders, private_rate, seed):
    alleles = np.empty(len(sites.kinds), np.uint64)
    carriers = np.empty(len(sites.kinds), np.int32)
    kernel.draw_alleles(
        sites.kinds, bin_sites, mosaic, n_founders, private_rate, seed, alleles, carriers
    )
    return alleles, carriers


def _typical_path_steps(kernel, sites, bin_sites, rates, seed) -> float:
    """Return the mean steps of a path through the whole graph, from a trial with 8 founders."""
    n_founders = 8
    n_bins = len(bin_sites) - 1
    mosaic = np.tile(np.arange(1, n_founders + 1, dtype=np.uint8), (n_bins, 1))
    alleles, carriers = _draw_alleles(
        kernel, sites, bin_sites, mosaic, n_founders, rates.private, seed
    )
    counts = np.empty((n_founders, n_bins), np.int64)
    kernel.count_founder_steps(
        sites.kinds, sites.nodes, sites.extents, alleles, carriers, DEFAULT_COPY_SPAN, bin_sites,
        counts,
    )  # fmt: skip
    return counts.sum() / n_founders


def _plan_haplotypes(n_paths: int, n_steps: int | None, whole: float, n_bins: int):
    """Return the number of haplotypes and the share of the graph that each but two covers."""
    n_whole = min(n_paths, 2)
    most_pieces = max(1, n_bins // 4)
    if n_steps is None:
        n_haplotypes, coverage = max(n_whole, math.ceil(0.75 * n_paths)), 0.97
    else:
        if n_steps < 0.98 * n_whole * whole or (n_paths == 0 and n_steps > 0):
            raise ParameterError(
                f"n_steps is {n_steps:,}, needs about {n_whole * whole:,.0f} or more here: "
                f"{n_whole} path(s) run through the whole graph"
            )
        n_haplotypes = min(n_paths, max(n_whole, math.ceil(n_steps / whole)))
        coverage = (n_steps / whole - n_whole) / max(n_haplotypes - n_whole, 1)
    n_others = n_paths - n_whole
    fewest = n_whole + math.ceil(n_others / most_pieces)
    if n_haplotypes < fewest:
        coverage *= (n_haplotypes - n_whole) / max(fewest - n_whole, 1)
        n_haplotypes = fewest
    return n_haplotypes, min(max(coverage, 0.0), 1.0)


def _cut_contigs(rng, n_paths, n_haplotypes, coverage, n_bins, contig) -> _Contigs:
    """Deal the paths out to the haplotypes, as contigs with gaps between them."""
    n_whole = min(n_paths, 2)
    names = [f"REF{letter}#0#{contig}" for letter in "AB"[:n_whole]]
    first_bins, last_bins = [np.zeros(n_whole, np.int64)], [np.full(n_whole, n_bins, np.int64)]
    n_others = n_haplotypes - n_whole
    if n_others > 0:
        n_pieces = np.ones(n_others, np.int64)
        most_pieces = max(1, n_bins // 4)
        for _ in range(64):
            missing = n_paths - n_whole - int(n_pieces.sum())
            if missing == 0:
                break
            n_pieces += rng.multinomial(missing, np.full(n_others, 1 / n_others))
            n_pieces = np.minimum(n_pieces, most_pieces)
        for haplotype, n in enumerate(n_pieces.tolist()):
            n_covered = max(n, round(coverage * n_bins))
            lengths = _partition(rng, n_covered - n, n) + 1
            gaps = _partition(rng, n_bins - n_covered, n + 1)
            firsts = np.cumsum(gaps)[:-1] + np.cumsum(lengths) - lengths
            first_bins.append(firsts)
            last_bins.append(firsts + lengths)
            owner = f"S{haplotype // 2 + 1:04d}#{haplotype % 2 + 1}"
            names += [f"{owner}#{contig if n == 1 else f'ctg{k + 1:05d}'}" for k in range(n)]
    return _Contigs(np.concatenate(first_bins), np.concatenate(last_bins), tuple(names))


def _partition(rng, total: int, n: int) -> np.ndarray:
    """Return ``n`` random numbers >= 0 that sum to ``total``."""
    cuts = np.sort(rng.integers(0, total, n - 1, endpoint=True))
    return np.diff(np.concatenate(([0], cuts, [total])))


def _count_steps(kernel, genotypes, bin_sites, mosaic, n_founders, n_steps):
    """Return the copy span of the duplications that fits ``n_steps``, and the steps per path."""
    n_bins, n_paths = mosaic.shape
    founder_steps = np.empty((n_founders, n_bins), np.int64)
    kinds, carriers = genotypes[0], genotypes[4]

    def count(copy_span: int) -> np.ndarray:
        kernel.count_founder_steps(*genotypes, copy_span, bin_sites, founder_steps)
        counts = np.empty(n_paths, np.int64)
        kernel.count_path_steps(mosaic, founder_steps, kinds, carriers, counts)
        return counts

    copy_span = DEFAULT_COPY_SPAN
    counts = count(copy_span)
    if n_steps is not None and n_steps > 1.01 * counts.sum():
        low, high = copy_span, MAX_COPY_SPAN
        while low < high:
            copy_span = (low + high) // 2
            counts = count(copy_span)
            if counts.sum() < n_steps:
                low = copy_span + 1
            else:
                high = copy_span
        counts = count(low)
        copy_span = low
        if counts.sum() < 0.95 * n_steps:
            raise ParameterError(
                f"n_steps is {n_steps:,}, but {n_paths:,} paths through this graph have at most "
                f"{counts.sum():,}; needs more paths, more nodes or a higher duplication rate"
            )
    return copy_span, counts


def _draw_lengths(rng, sites: _Sites, n_nodes: int) -> np.ndarray:
    """Return node lengths: 1 bp for most, a log-normal body of anchors and a heavy tail."""
    lengths = np.ones(n_nodes, np.int64)
    n_sites = len(sites.kinds)
    anchors = np.exp(rng.normal(math.log(32), 1.3, n_sites))
    # Unaligned repeats: truncated Pareto with exponent 1.2 from 1 kb to 1 Mb.
    tail = 1e3 * (1 - rng.random(n_sites) * (1 - 1e-3**1.2)) ** (-1 / 1.2)
    kind = rng.random(n_sites)
    lengths[sites.nodes] = np.select([kind < 0.12, kind < 0.965], [1.0, anchors], tail) + 0.5
    is_indel = sites.kinds == INDEL
    inserted = sites.nodes[is_indel] + 1
    n = len(inserted)
    kind = rng.random(n)
    short = rng.geometric(0.15, n)
    mobile = np.exp(rng.normal(math.log(310), 0.8, n))
    lengths[inserted] = np.select([kind < 0.45, kind < 0.96], [1, short], mobile)
    is_substitution = (sites.kinds == SNP) & (rng.random(n_sites) < 0.04)
    for allele in (1, 2):
        lengths[sites.nodes[is_substitution] + allele] = rng.geometric(0.2, is_substitution.sum())
    return np.maximum(lengths, 1)


def _list_edges(sites: _Sites, n_nodes: int) -> np.ndarray:
    """Return the edges that the sites imply, sorted; uint32, shape (n_edges, 2)."""
    node = sites.nodes.astype(np.int64)
    pairs = []

    def link(origin: np.ndarray, target: np.ndarray, origin_flip: int = 0, target_flip: int = 0):
        pairs.append(((origin << 1 | origin_flip) << 32) | (target << 1 | target_flip))

    is_snp, is_indel, is_end = (sites.kinds == kind for kind in (SNP, INDEL, BLOCK_END))
    follows = ~is_snp & (node + 1 < n_nodes)
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
            link(before, last, 0, 1)
            link(before + 1, last + 1, 1, 0)
    keys = np.sort(np.concatenate(pairs))
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.uint32)


def _make_bases(kernel, sites: _Sites, node_lengths: np.ndarray, seed: int) -> ByteStrings:
    offsets = np.zeros(len(node_lengths) + 1, np.int64)
    np.cumsum(node_lengths, out=offsets[1:])
    bases = np.empty(offsets[-1], np.uint8)
    kernel.write_bases(sites.kinds, sites.nodes, offsets, seed, bases)
    return ByteStrings(bases, offsets)
