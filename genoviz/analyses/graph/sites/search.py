"""Search for variation sites along a reference path, and counts of their alleles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.analyses.graph.sites.handle_graph import HandleGraph
from genoviz.analyses.graph.sites.kinds import classify_sites
from genoviz.analyses.graph.sites.results import SitesProgress, VariationSites, no_sites
from genoviz.analyses.graph.sites.superbubbles import (
    Superbubbles,
    count_levels,
    find_plain_steps,
    follow_reference,
    iter_find_superbubbles,
    nest_sites,
)
from genoviz.analyses.graph.sites.walks import (
    COUNT,
    FIRST_STEP,
    LENGTH,
    N_COLUMNS,
    N_PATHS,
    code_nodes,
    count_alleles,
    sort_alleles,
)
from genoviz.errors import ParameterError, n_words
from genoviz.model import PangenomeGraph

BLOCK_STEPS = 2_000_000


def find_sites(graph: PangenomeGraph, reference: str | int) -> VariationSites:
    """Return the variation sites along a path; see :func:`iter_find_sites`."""
    for progress in iter_find_sites(graph, reference):
        sites = progress.sites
    return sites


def iter_find_sites(graph: PangenomeGraph, reference: str | int) -> Iterator[SitesProgress]:
    """Yield the progress of the search for variation sites; the last report has them.

    A site is a superbubble (see `genoviz.analyses.graph.sites.superbubbles`) whose source and sink
    are joined by a traversal of the reference path, on either strand. It is listed once, where the
    path first traverses it. Edges of the graph and steps of the paths count alike. A cycle, such as
    a tandem repeat, is not a site. Neither is an inversion, where a walk can turn round and leave
    where it entered; both may contain sites. Where the graph branches outside all sites, the result
    has a gap. Superbubbles off the reference, for example within an insertion, belong to the
    enclosing site.

    Alleles are the sequences that paths read between the boundaries, in either direction. Paths
    that end within the site do not count. Walks over different nodes with the same bases (ignoring
    case) are one allele, as in the VCF of ``vg deconstruct``; if all walks are the same, the site
    is monomorphic. Without sequences each walk is an allele, and a node without bases (``*``)
    equals no other.

    Parameters
    ----------
    graph
        The graph.
    reference
        Name or index of the path that gives the coordinates. The range may be omitted from the name
        if that leaves one path.

    Raises
    ------
    ParameterError
        If the graph has no such path, or several match.

    Notes
    -----
    Time is linear in nodes, edges and steps: one depth-first search, one sweep, and one pass over
    the steps of all paths for the alleles of all sites, however they are nested.
    """
    index = _path_index(graph, reference)
    ref_steps = graph.path_steps(index)
    if len(ref_steps) == 0:
        yield SitesProgress("Nothing to search", sites=no_sites(index))
        return
    yield SitesProgress("Linking nodes", 0, None)
    handles = HandleGraph.of(graph)
    for found in iter_find_superbubbles(handles, int(ref_steps[0])):
        if isinstance(found, int):
            yield SitesProgress("Searching superbubbles", found, 2 * graph.n_nodes)
    table = _SiteTable(graph, handles, index, found)
    for n_done in table.iter_count():
        yield SitesProgress("Counting alleles", n_done, graph.n_steps)
    yield SitesProgress("Naming the sites", graph.n_steps, graph.n_steps)
    yield SitesProgress("Done", graph.n_steps, graph.n_steps, table.finish())


def _path_index(graph: PangenomeGraph, path: str | int) -> int:
    """Return a path by index, by name, or by the name of a contig with only this path."""
    if not isinstance(path, str):
        return int(graph.path_indices([path])[0])
    found = graph.path_directory.exact(path) or graph.path_directory.sub_paths(path)
    if not found:
        raise graph.path_directory.unknown(path)
    if len(found) > 1:
        examples = ", ".join(graph.path_names[index] for index in found[:3])
        raise ParameterError(
            f"{n_words(len(found), 'path is', 'paths are')} of {path!r}; name one of them: "
            f"{examples}"
        )
    return found[0]


def _gates(n_handles: int, enters: tuple, leaves: tuple) -> np.ndarray:
    """Return the sites that begin and end at each handle; the arrays are numbered from 0."""
    gates = np.full((n_handles, 2), -1, np.int32)
    for column, ends in enumerate((enters, leaves)):
        for handles in ends:
            gates[handles, column] = np.arange(len(handles), dtype=np.int32)
    return gates


class _SiteTable:
    """The sites during the search: first the superbubbles, then their alleles."""

    def __init__(
        self, graph: PangenomeGraph, handles: HandleGraph, reference: int, bubbles: Superbubbles
    ) -> None:
        self.graph, self.handles, self.reference = graph, handles, reference
        self.ref_steps = graph.path_steps(reference)
        self.chosen, self.visits = self._choose(bubbles)
        places = bubbles.last_places - bubbles.first_places.astype(np.int64)
        self.n_nodes = places[self.chosen] - 1
        self.sources = bubbles.sources[self.chosen]
        self.sinks = bubbles.sinks[self.chosen]
        self.gates = _gates(
            2 * graph.n_nodes, (self.sources, self.sinks ^ 1), (self.sinks, self.sources ^ 1)
        )

    def _choose(self, bubbles: Superbubbles) -> tuple[np.ndarray, np.ndarray]:
        """Return which superbubbles are sites, in order, and the reference's traversals of them."""
        sources, sinks = bubbles.sources, bubbles.sinks
        gates = _gates(2 * self.graph.n_nodes, (sources,), (sinks,))
        visits = follow_reference(self.ref_steps, gates, len(sources))
        mirrors = gates[sinks ^ 1, 0]
        is_mirrored = (mirrors >= 0) & (sinks[mirrors] == sources ^ 1)
        other = visits[mirrors]
        is_later = is_mirrored & (other[:, 2] > 0) & (other[:, 0] < visits[:, 0])
        chosen = np.flatnonzero((visits[:, 2] > 0) & ~is_later)
        chosen = chosen[np.lexsort((-visits[chosen, 1], visits[chosen, 0]))]
        n_both = visits[:, 2] + np.where(is_mirrored, other[:, 2], 0)
        return chosen, np.column_stack([visits[:, :2], n_both])[chosen]

    def iter_count(self) -> Iterator[int]:
        """Count alleles in batches of paths; yield the number of steps counted."""
        graph = self.graph
        codes = code_nodes(graph, np.arange(graph.n_nodes))
        n_rows = 2 ** (2 * len(self.sources) + 16).bit_length()
        n_texts = n_rows if len(codes) else 1
        table = (
            np.zeros((n_rows, N_COLUMNS), np.int64),
            np.full(2 * n_rows, -1, np.int64),
            np.zeros(n_texts, np.int64),
            np.full(2 * n_texts, -1, np.int64),
        )
        self.n_rows = 2 * len(self.sources)
        self.site_visits = np.full((len(self.sources), 2), -1, np.int64)
        self.site_visits[:, 0] = 0
        n_done = 0
        for paths in self._path_blocks():
            table, self.n_rows = count_alleles(
                paths,
                graph.steps,
                graph.path_offsets,
                self.gates,
                self.sources,
                graph.node_lengths,
                codes,
                table,
                self.n_rows,
                self.site_visits,
            )
            self.walks = table[0]
            n_done += int((graph.path_offsets[paths + 1] - graph.path_offsets[paths]).sum())
            yield n_done

    def _path_blocks(self) -> Iterator[np.ndarray]:
        """Yield the reference first, so that its alleles come first, then batches of paths."""
        reference = np.array([self.reference])
        yield reference
        others = np.delete(np.arange(self.graph.n_paths), reference)
        n_steps = np.cumsum(np.diff(self.graph.path_offsets)[others])
        yield from (
            block
            for block in np.split(others, np.flatnonzero(np.diff(n_steps // BLOCK_STEPS)) + 1)
            if len(block)
        )

    def finish(self) -> VariationSites:
        """Return the sites."""
        graph, visits = self.graph, self.visits
        lengths = graph.node_lengths[self.ref_steps >> 1]
        positions = np.cumsum(lengths) - lengths
        parents, covers = nest_sites(self.ref_steps, self.gates, len(self.sources))
        starts = positions[visits[:, 0]] + graph.node_lengths[self.sources >> 1]
        gap_starts, gap_ends = self._gaps(np.cumsum(covers), positions)
        walks = self.walks[: self.n_rows]
        alleles, n_walks, allele_offsets = sort_alleles(walks, len(self.sources))
        firsts, counts = allele_offsets[:-1], np.diff(allele_offsets)
        lengths = alleles[:, LENGTH]
        others = lengths.copy()
        others[firsts] = -1
        reduced = _reduce(firsts, lengths, others, alleles[:, COUNT])
        shape = (counts, lengths[firsts], *reduced[:3])
        return VariationSites(
            reference=self.reference,
            starts=starts,
            ends=positions[visits[:, 1]],
            sources=self.sources,
            sinks=self.sinks,
            n_nodes=self.n_nodes,
            levels=count_levels(parents),
            parents=parents,
            n_alleles=counts,
            n_paths=self.site_visits[:, 0].copy(),
            n_traversals=reduced[3],
            reference_lengths=lengths[firsts],
            min_lengths=reduced[0],
            max_lengths=reduced[1],
            kinds=classify_sites(*shape),
            n_reference_visits=visits[:, 2].copy(),
            allele_offsets=allele_offsets,
            allele_counts=alleles[:, COUNT].copy(),
            allele_n_paths=alleles[:, N_PATHS].copy(),
            allele_n_walks=n_walks,
            allele_lengths=lengths.copy(),
            allele_steps=alleles[:, FIRST_STEP].copy(),
            gap_starts=gap_starts,
            gap_ends=gap_ends,
            notes=self._notes(),
        )

    def _gaps(self, covers: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the stretches of the reference that branch outside all sites; bp."""
        is_plain = find_plain_steps(self.ref_steps, self.handles.offsets, self.handles.targets)
        is_gap = np.zeros(len(covers) + 1, np.int8)
        is_gap[1:] = (covers == 0) & ~is_plain
        changes = np.diff(is_gap)
        before, after = np.flatnonzero(changes == 1), np.flatnonzero(changes == -1)
        lengths = self.graph.node_lengths[self.ref_steps[before] >> 1]
        return positions[before] + lengths, positions[after].copy()

    def _notes(self) -> tuple[str, ...]:
        n_added = self.handles.n_added
        if not n_added:
            return ()
        return (
            f"{n_words(n_added, 'edge that paths take is', 'edges that paths take are')} not in "
            "the graph, and counted as well.",
        )


def _reduce(
    firsts: np.ndarray, lengths: np.ndarray, others: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return shortest, longest and longest non-reference allele, and traversals, by site."""
    if len(firsts) == 0:
        return (firsts,) * 4
    return (
        np.minimum.reduceat(lengths, firsts),
        np.maximum.reduceat(lengths, firsts),
        np.maximum.reduceat(others, firsts),
        np.add.reduceat(counts, firsts),
    )
