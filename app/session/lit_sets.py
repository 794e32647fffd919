"""Highlighted sets: their content, their place on a graph, and their description."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from genoviz.analyses.graph.query.annotate import find_contig_paths
from genoviz.analyses.graph.query.path_groups import find_group_nodes, group_paths
from genoviz.analyses.graph.query.placed_intervals import (
    PlacedIntervals,
    count_groups_of,
    count_groups_with,
    place_intervals,
    stretches_on_path,
)
from genoviz.model import Intervals, PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz.model.intervals.intervals import aliases
from genoviz_app.parts.words import n_words, write_place
from genoviz_app.session.graph_places import on_graph

COLOURS = ("#ff3ea5", "#52f06a", "#ff9b1a", "#b794ff", "#ff5c52", "#2ee6d6")
NO_NODES = np.empty(0, np.int64)
NO_STRETCHES = np.empty((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Highlight:
    """Things to highlight together, as created by a page.

    Attributes
    ----------
    title
        Their title, such as the letters of a k-mer.
    noun
        Noun for one of them, such as "hit".
    intervals
        Locations on contigs, or on paths of a graph; None for nodes and samples.
    nodes, graph
        int64: nodes, and their graph.
    samples
        Names of samples or haplotypes, which stand for the nodes of their paths.
    n_found
        Total number, if not all were located; otherwise 0.
    is_everywhere
        Whether the intervals are all occurrences, as from a search on all paths. Otherwise, as for
        a gene, other paths that share their nodes are highlighted too.
    question
        What finds them again, for a link if they are too many for it: ``both:GATTACA`` for the hits
        of a k-mer on the strands of the K-mers page; otherwise "".
    """

    title: str
    noun: str
    intervals: Intervals | None = None
    nodes: np.ndarray | None = None
    graph: PangenomeGraph | None = None
    samples: tuple[str, ...] = ()
    n_found: int = 0
    is_everywhere: bool = False
    question: str = ""

    def __len__(self) -> int:
        if self.intervals is not None:
            return len(self.intervals)
        return len(self.samples) if self.nodes is None else len(self.nodes)

    @classmethod
    def of_region(cls, region: PathRegion, title: str = "", noun: str = "interval") -> Highlight:
        """Return one stretch of a contig or path."""
        intervals = Intervals(
            (region.path,),
            np.zeros(1, np.int32),
            np.array([region.start], np.int64),
            np.array([region.end], np.int64),
        )
        return cls(title or write_place(region), noun, intervals)


@dataclass(frozen=True, eq=False)
class LitSet:
    """A highlight, its appearance, and its place on the open graph.

    Attributes
    ----------
    highlight
        The highlight.
    key
        A number that is unique in the tab.
    colour
        ``#rrggbb``.
    is_hidden
        Whether it is temporarily hidden.
    graph
        The open graph, or None.
    nodes
        int64, ascending: its nodes on the graph.
    placed
        Its intervals placed on the graph's paths, or None.
    words
        Description with kind, number and place; one line.
    """

    highlight: Highlight
    key: int
    colour: str
    words: str
    is_hidden: bool = False
    graph: PangenomeGraph | None = None
    nodes: np.ndarray = field(default_factory=lambda: NO_NODES)
    placed: PlacedIntervals | None = None

    @classmethod
    def of_found(cls, region: PathRegion | None, nodes: np.ndarray) -> LitSet:
        """Return a navigation target without colour and name."""
        things = Highlight("", "") if region is None else Highlight.of_region(region)
        return cls(things, 0, "", "", nodes=nodes)

    @property
    def title(self) -> str:
        """What it is called."""
        return self.highlight.title

    def only_place(self, graph: PangenomeGraph) -> PathRegion | None:
        """Return its place on a path if that is unique and complete."""
        intervals = self.highlight.intervals
        if intervals is None or len(intervals) != 1:
            return None
        contig = intervals.contigs[int(intervals.contig_ids[0])]
        start, end = int(intervals.starts[0]), int(intervals.ends[0])
        region = on_graph(graph, PathRegion(contig, start, end))
        if region.path not in graph.path_names:
            return None
        is_there = region.end <= graph.path_lengths[graph.find_path(region.path)]
        return region if is_there else None

    def among(self, samples: np.ndarray) -> np.ndarray:
        """Return which samples, by name, it includes directly or through a haplotype; bool."""
        names = self.highlight.samples
        wanted = {*names, *(name.split("#")[0] for name in names)}
        return np.fromiter((name in wanted for name in samples.tolist()), bool, len(samples))

    def stretches(self, contig: str) -> np.ndarray:
        """Return its intervals on a contig or path; int64, shape (n, 2), sorted by start."""
        found = self._own_stretches(contig)
        if not len(found) and self.graph is not None:
            found = self._stretches_on_graph(contig)
        return found[np.argsort(found[:, 0], kind="stable")]

    def _own_stretches(self, contig: str) -> np.ndarray:
        intervals = self.highlight.intervals
        if intervals is None:
            return NO_STRETCHES
        name = next((n for n in (contig, *aliases(contig)) if n in intervals.contigs), None)
        if name is None:
            return NO_STRETCHES
        rows = np.flatnonzero(intervals.contig_ids == intervals.contigs.index(name))
        return np.stack([intervals.starts[rows], intervals.ends[rows]], axis=1)

    def _stretches_on_graph(self, contig: str) -> np.ndarray:
        contig_paths = find_contig_paths(self.graph, contig)
        found, ranges = [NO_STRETCHES], []
        for owner, paths in enumerate(contig_paths.owners):
            for path in paths:
                first = 0 if contig_paths.is_local else int(self.graph.path_starts[path])
                found.append(self._stretches_of_path(path) + first)
                ranges.append((owner, first, first + int(self.graph.path_lengths[path])))
        stretches = np.concatenate(found)
        numbers = np.array([owner for owner, _, _ in ranges], np.int64)
        owners = np.repeat(numbers, [len(each) for each in found[1:]])
        has = np.arange(len(contig_paths.owners))[:, None] == owners
        for owner, start, end in ranges if len(has) > 1 else ():
            has[owner] |= (stretches[:, 0] < end) & (stretches[:, 1] > start)
        _, chosen = contig_paths.choose(has)
        return stretches[chosen == owners]

    def _stretches_of_path(self, path: int) -> np.ndarray:
        if self.placed is not None:
            here = self.placed.paths == path
            if here.any() or self.highlight.is_everywhere:
                return np.stack([self.placed.starts[here], self.placed.ends[here]], axis=1)
        return stretches_on_path(self.graph, path, self.nodes)


@dataclass(frozen=True, eq=False)
class Place:
    """Where a highlight is on a graph."""

    nodes: np.ndarray
    placed: PlacedIntervals | None
    n_haplotypes: int


NOWHERE = Place(NO_NODES, None, 0)


def contigs_of(highlight: Highlight) -> list[str]:
    """Return the contigs of a highlight's intervals."""
    intervals = highlight.intervals
    if intervals is None:
        return []
    return [
        intervals.contigs[i] for i in np.flatnonzero(np.bincount(intervals.contig_ids)).tolist()
    ]


def place_on_graph(graph: PangenomeGraph | None, highlight: Highlight) -> Place:
    """Return the nodes of a highlight, and the number of haplotypes with it."""
    if graph is None:
        return NOWHERE
    if highlight.intervals is not None:
        placed = place_intervals(graph, highlight.intervals)
        if highlight.is_everywhere:
            n_haplotypes = count_groups_of(graph, placed.paths)
        else:
            n_haplotypes = count_groups_with(graph, placed.nodes)
        return Place(placed.nodes, placed, n_haplotypes)
    if highlight.nodes is None:
        nodes, n_haplotypes = _nodes_of_samples(graph, highlight.samples)
        return Place(nodes, None, n_haplotypes)
    if highlight.graph is not graph:
        return NOWHERE
    nodes = distinct(np.asarray(highlight.nodes, np.int64))
    return Place(nodes, None, count_groups_with(graph, nodes))


def _nodes_of_samples(graph: PangenomeGraph, names: tuple[str, ...]) -> tuple[np.ndarray, int]:
    """Return the nodes of the paths of samples or haplotypes, and the number of haplotypes."""
    for by in ("sample", "haplotype"):
        groups = group_paths(graph, by)
        present = sorted(set(names) & set(groups.names))
        if present:
            paths = np.flatnonzero(groups.select(present).of_path >= 0)
            return find_group_nodes(graph, by, present), count_groups_of(graph, paths)
    return NO_NODES, 0


def with_place(lit: LitSet, graph: PangenomeGraph | None, place: Place) -> LitSet:
    """Return a set with its place on the open graph."""
    words = _words(lit.highlight, graph, place)
    return replace(lit, graph=graph, nodes=place.nodes, placed=place.placed, words=words)


def _words(highlight: Highlight, graph: PangenomeGraph | None, place: Place) -> str:
    """Describe a highlight with number and place: ``540 hits on 8 nodes, 90 haplotypes``."""
    n = len(highlight)
    words = n_words(n, highlight.noun)
    if highlight.n_found > n:
        words = f"{n:,} of {n_words(highlight.n_found, highlight.noun)}"
    if not len(place.nodes):
        contigs = contigs_of(highlight)
        if not contigs:
            return words
        on = contigs[0] if len(contigs) == 1 else n_words(len(contigs), "contig")
        return f"{words} on {on}" + ("; none on the graph" if graph is not None else "")
    n_haplotypes = n_words(place.n_haplotypes, "haplotype")
    if highlight.nodes is not None:
        return f"{words}, {n_haplotypes}"
    words += f" on {n_words(len(place.nodes), 'node')}, {n_haplotypes}"
    n_missing = 0 if place.placed is None else n - place.placed.n_placed
    return words + (f"; {n_missing:,} not on the graph" if n_missing else "")
