"""The alleles of one variation site, and the paths with each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from genoviz.analyses.graph.query.spell import spell_handles
from genoviz.analyses.graph.sites.results import VariationSites
from genoviz.analyses.graph.sites.walks import code_nodes, code_walk
from genoviz.errors import ParameterError
from genoviz.kernels.splitmix import scramble
from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct


@dataclass(frozen=True, eq=False, repr=False)
class SiteAlleles:
    """The alleles of a site: the reference's first, then by falling number of traversals.

    Attributes
    ----------
    site
        Index of the site.
    walks
        The walks that read each allele, in order of first occurrence: the handles between source
        and sink, as the reference reads the site; uint32, empty for a walk straight from source
        to sink. Walks with equal bases are one allele.
    lengths, counts
        int64, shape (n_alleles,): bp, and number of traversals of the allele.
    sequences
        The bases of each allele, cut off after ``max_bases``; None if the graph has none.
    paths
        Indices of the paths that have each allele; int64, ascending, once each.
    traversal_alleles, traversal_paths
        int64, shape (n_traversals,): allele and path of each traversal.
    traversal_steps
        int64, shape (n_traversals, 2): its first and last step, on the boundary nodes, among the
        steps of all paths.
    is_reverse
        bool: whether it enters by the sink, on the other strand.
    """

    site: int
    walks: tuple[tuple[np.ndarray, ...], ...]
    lengths: np.ndarray
    counts: np.ndarray
    sequences: tuple[str, ...] | None
    paths: tuple[np.ndarray, ...]
    traversal_alleles: np.ndarray
    traversal_paths: np.ndarray
    traversal_steps: np.ndarray
    is_reverse: np.ndarray

    @property
    def handles(self) -> tuple[np.ndarray, ...]:
        """The first walk of each allele."""
        return tuple(walks[0] for walks in self.walks)

    def __len__(self) -> int:
        return len(self.walks)

    def __repr__(self) -> str:
        return f"SiteAlleles(site {self.site}: {len(self)} alleles, {self.counts.sum()} traversals)"


def site_alleles(
    graph: PangenomeGraph, sites: VariationSites, index: int, *, max_bases: int | None = None
) -> SiteAlleles:
    """Return the alleles of one site.

    Parameters
    ----------
    graph
        The graph in which the sites were found.
    sites, index
        The sites, and which of them.
    max_bases
        How much of each sequence to return; by default all.

    Raises
    ------
    ParameterError
        If there is no such site.
    """
    if not 0 <= index < len(sites):
        raise ParameterError(f"site {index} is not one of the {len(sites):,} sites")
    source, sink = sites.sources[index], sites.sinks[index]
    paths, steps, is_reverse = _find_traversals(graph, source, sink)
    is_other = paths != sites.reference
    order = np.argsort(is_other, kind="stable")
    paths, steps, is_reverse = paths[order], steps[order], is_reverse[order]
    hashes = _hash_traversals(graph.steps, steps, is_reverse)
    _, walk_firsts, walk_numbers = np.unique(hashes, return_index=True, return_inverse=True)
    inner = [_inner_handles(graph, steps[i], is_reverse[i]) for i in walk_firsts]
    texts = _code_walks(graph, inner)[walk_numbers]
    _, firsts, alleles, counts = np.unique(
        texts, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.lexsort((firsts, -counts, firsts > 0))
    alleles = np.argsort(rank)[alleles]
    of_alleles: list[list[np.ndarray]] = [[] for _ in rank]
    for walk in np.argsort(walk_firsts):
        of_alleles[alleles[walk_firsts[walk]]].append(inner[walk])
    walks = tuple(map(tuple, of_alleles))
    handles = [own[0] for own in walks]
    spelt = None
    if graph.node_sequences is not None:
        spelt = tuple(spell_handles(graph, own, max_bases=max_bases) for own in handles)
    return SiteAlleles(
        site=index,
        walks=walks,
        lengths=np.array([graph.node_lengths[own >> 1].sum() for own in handles], np.int64),
        counts=counts[rank],
        sequences=spelt,
        paths=tuple(distinct(paths[alleles == allele]) for allele in range(len(handles))),
        traversal_alleles=alleles,
        traversal_paths=paths,
        traversal_steps=steps,
        is_reverse=is_reverse,
    )


def _inner_handles(graph: PangenomeGraph, steps: np.ndarray, is_reverse: bool) -> np.ndarray:
    inner = graph.steps[steps[0] + 1 : steps[1]]
    return inner[::-1] ^ np.uint32(1) if is_reverse else inner.copy()


def _code_walks(graph: PangenomeGraph, walks: list[np.ndarray]) -> np.ndarray:
    """Return a number for the sequence of each walk; a walk without bases has a unique one."""
    nodes = distinct(np.concatenate([*walks, np.empty(0, np.uint32)]) >> 1).astype(np.int64)
    codes = code_nodes(graph, nodes)
    if len(codes) == 0 and len(nodes):
        return np.arange(len(walks))
    found = [code_walk(codes, np.searchsorted(nodes, own >> 1), own & 1) for own in walks]
    return np.array(found, np.int64)


def _find_traversals(
    graph: PangenomeGraph, source: np.uint32, sink: np.uint32
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return path, first and last step, and strand of each traversal, in the order of the paths."""
    none = np.zeros(graph.n_paths, np.int64)
    counts = _walk(graph.steps, graph.path_offsets, source, sink, np.empty((0, 2), np.int64), none)
    ends = np.cumsum(counts)
    found = np.empty((int(counts.sum()), 2), np.int64)
    _walk(graph.steps, graph.path_offsets, source, sink, found, ends - counts)
    return (
        np.repeat(np.arange(graph.n_paths), counts),
        found,
        graph.steps[found[:, 0]] != source,
    )


@njit(nogil=True, cache=True)
def _walk_path(steps, first, stop, source, sink, found, place):
    """Count the traversals of one path and write their ends to ``found``, unless it is empty."""
    n_found, entry, goal = 0, np.int64(-1), sink
    for step in range(first, stop):
        handle = steps[step]
        if entry >= 0 and handle == goal:
            if len(found):
                found[place + n_found, 0] = entry
                found[place + n_found, 1] = step
            n_found += 1
            entry = np.int64(-1)
        if handle == source:
            entry, goal = np.int64(step), sink
        elif handle == sink ^ np.uint32(1):
            entry, goal = np.int64(step), source ^ np.uint32(1)
    return n_found


@njit(nogil=True, cache=True, parallel=True)
def _walk(steps, path_offsets, source, sink, found, places):
    counts = np.zeros(len(path_offsets) - 1, np.int64)
    for path in prange(len(counts)):
        first, stop = path_offsets[path], path_offsets[path + 1]
        counts[path] = _walk_path(steps, first, stop, source, sink, found, places[path])
    return counts


@njit(nogil=True, cache=True)
def _hash_traversals(steps, traversals, is_reverse):
    """Return a hash of the handles of each traversal; see `site_walks`."""
    hashes = np.zeros(len(traversals), np.uint64)
    for index in range(len(traversals)):
        for step in range(traversals[index, 0] + 1, traversals[index, 1]):
            hashes[index] += scramble(steps[step] ^ np.uint32(is_reverse[index]))
    return hashes


# Compiled with genoviz/kernels/splitmix.py: 200f38ccc89f2b70
