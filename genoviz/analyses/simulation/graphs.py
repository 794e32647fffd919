"""Simulation of variation graphs of any size that resemble those of the human pangenome."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from genoviz.analyses.simulation.contigs import N_REFERENCES, cut_contigs
from genoviz.analyses.simulation.haplotypes import (
    choose_copy_span,
    count_whole_steps,
    cut_bins,
    draw_haplotypes,
    paint_mosaic,
)
from genoviz.analyses.simulation.sites import draw_lengths, grow_sites, list_edges, make_bases
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import last_of
from genoviz.kernels.pangenome_simulation import MAX_FOUNDERS
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.graph.pangenome import MAX_NODES

MAX_PATHS = 2**24


@dataclass(frozen=True)
class VariationRates:
    """Rates of each kind of variation, and differences between haplotypes.

    Attributes
    ----------
    snp, indel, sv, inversion, duplication
        Weights of the kinds, per site of the graph; ``sv`` are insertions (or deletions) with
        sites of their own.
    private
        Share of SNPs and indels whose alternative allele is on one path only.
    reverse
        Share of contigs that traverse the graph from its end to its start.
    recombination
        Switches of the copied founder along the whole graph, per haplotype.
    """

    snp: float = 0.74
    indel: float = 0.255
    sv: float = 0.006
    inversion: float = 0.0004
    duplication: float = 0.0004
    private: float = 0.25
    reverse: float = 0.05
    recombination: float = 30.0

    def __post_init__(self) -> None:
        rates = np.array(astuple(self))
        is_valid = (rates >= 0) & (rates < np.inf)
        if not is_valid.all() or max(self.private, self.reverse) > 1 or rates[:5].sum() == 0:
            raise ParameterError(
                f"{self} has a rate out of range; needs weights of at least 0, one of them above 0,"
                " and shares of 0 to 1"
            )


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
"""Arguments by name; the last three have the sizes of the MHC region and of chromosomes 20 and 1
in the graphs of the Human Pangenome Reference Consortium."""


@dataclass(frozen=True)
class SimulationProgress:
    """Progress of a simulation.

    Attributes
    ----------
    stage
        Current stage.
    n_done, n_total
        Number of nodes or steps made, and their total.
    graph
        The graph, in the last report only.
    """

    stage: str
    n_done: int
    n_total: int
    graph: PangenomeGraph | None = None


def simulate_pangenome(n_nodes: int, n_paths: int, **options: Any) -> PangenomeGraph:
    """Return a random variation graph with the statistics of real pangenome graphs.

    The graph is a sequence of sites in topological order: SNPs, indels, insertions with nested
    sites, inversions and tandem duplications. Haplotypes are mosaics of a few founders, so that
    paths share haplotype blocks. The first two paths are references through the whole graph; the
    others are haplotypes, some in one contig, some in pieces with gaps between.

    Parameters
    ----------
    n_nodes, n_paths
        Exact size of the graph. With two paths or more every node is on a path; a single path
        skips the alleles that it lacks.
    n_steps
        Total number of steps, within 5 %; the default corresponds to three haplotypes per four
        paths. It determines the number of haplotypes that the paths make up. More steps than whole
        paths have are made by more copies of the tandem duplications.
    seed
        Random seed; the graph does not depend on the number of threads.
    sequences
        Whether to generate random bases for the nodes.
    n_founders
        Number of founder haplotypes, 2 to 64; by default twice the root of the haplotypes.
    rates
        Rates of each kind of variation.
    contig
        Name of the contig in the path names ``sample#haplotype#contig``.

    Raises
    ------
    ParameterError
        If a size is out of range or ``n_steps`` is infeasible.

    Examples
    --------
    >>> simulate_pangenome(5_000, 12, seed=1).n_paths
    12
    """
    return last_of(iter_simulate_pangenome(n_nodes, n_paths, **options)).graph


def iter_simulate_pangenome(
    n_nodes: int,
    n_paths: int,
    *,
    n_steps: int | None = None,
    seed: int = 0,
    sequences: bool = False,
    n_founders: int | None = None,
    rates: VariationRates = DEFAULT_RATES,
    contig: str = "chr1",
) -> Iterator[SimulationProgress]:
    """Yield the progress of `simulate_pangenome`; the last report has the graph."""
    _check_sizes(n_nodes, n_paths, n_founders)
    kernel = load_kernel("pangenome_simulation", "cpu")
    streams = np.random.SeedSequence(seed).spawn(6)
    rng = np.random.default_rng(streams[0])
    seeds = [stream.generate_state(1, np.uint64)[0] for stream in streams[1:]]

    yield SimulationProgress("Growing sites", 0, n_nodes)
    sites = grow_sites(kernel, n_nodes, np.array(astuple(rates)[:5]), seeds[0])
    yield SimulationProgress("Growing sites", n_nodes, n_nodes)
    bins = cut_bins(kernel, sites, n_paths)
    contigs = cut_contigs(
        rng,
        n_paths,
        bins.n_bins,
        n_steps=n_steps,
        whole_steps=count_whole_steps(bins, rates.private, seeds[1]),
        contig=contig,
    )
    if n_founders is None:
        n_founders = int(np.clip(round(2 * math.sqrt(contigs.n_haplotypes)), 2, MAX_FOUNDERS))
    n_founders = min(n_founders, max(n_paths, 1))
    mosaic = paint_mosaic(bins, contigs, n_founders, rates.recombination, seeds[2])
    haplotypes = draw_haplotypes(bins, mosaic, n_founders, rates.private, seeds[1])
    copy_span, n_path_steps = choose_copy_span(haplotypes, n_steps)
    is_reverse = rng.random(n_paths) < rates.reverse
    is_reverse[:N_REFERENCES] = False
    path_offsets = np.concatenate(([0], np.cumsum(n_path_steps)))
    written = np.empty(path_offsets[-1], np.uint32)
    for n_written in haplotypes.iter_write_steps(copy_span, is_reverse, path_offsets, written):
        yield SimulationProgress("Writing paths", n_written, len(written))
    node_lengths = draw_lengths(np.random.default_rng(seeds[3]), sites)
    graph = PangenomeGraph(
        node_names=ByteStrings.from_integers(1, n_nodes),
        node_lengths=node_lengths,
        edges=list_edges(sites),
        path_names=contigs.names,
        path_offsets=path_offsets,
        steps=written,
        node_sequences=make_bases(kernel, sites, node_lengths, seeds[4]) if sequences else None,
    )
    yield SimulationProgress("Done", n_nodes, n_nodes, graph)


def _check_sizes(n_nodes: int, n_paths: int, n_founders: int | None) -> None:
    if not 1 <= n_nodes <= MAX_NODES:
        raise ParameterError(f"n_nodes is {n_nodes:,}, needs 1 to {MAX_NODES:,}")
    if not 0 <= n_paths <= MAX_PATHS:
        raise ParameterError(f"n_paths is {n_paths:,}, needs 0 to {MAX_PATHS:,}")
    if n_founders is not None and not 2 <= n_founders <= MAX_FOUNDERS:
        raise ParameterError(f"n_founders is {n_founders}, needs 2 to {MAX_FOUNDERS}")
