"""The chromosomes of a GBZ file, decoded one after the other.

In memory, the paths of a genome take several times the size of its GBZ file. Nodes and links are
read at once, and then the paths of one chromosome at a time, so that memory for the largest
suffices.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from genoviz.analyses.graph.query.chromosomes import find_chromosomes, take_chromosome
from genoviz.backend import load_kernel
from genoviz.errors import FileFormatError
from genoviz.generators import report
from genoviz.io.files.file_source import find_source
from genoviz.io.graph.cache import (
    CachedPart,
    estimate_cached,
    load_graph,
    load_parts,
    store_graph,
    store_parts,
)
from genoviz.io.graph.gbz_open import OpenGbz, iter_open
from genoviz.io.graph.gbz_parts import TWO_OF_A_NAME, count_gbz, estimate_gbz
from genoviz.io.graph.gfa import GfaProgress
from genoviz.model import ByteStrings, PangenomeGraph

MIN_VISITS = 1 << 23
"""Smaller components are decoded together with their neighbours."""
MAX_PARTS = 1000
"""A file of more chromosomes, such as unplaced contigs, is read at once, not cached one by one."""

LARGEST_SHARE = 8
"""One chromosome has at most about an eighth of a genome's steps; chr1 of human has 8 %."""

Piece = tuple[str, PangenomeGraph, np.ndarray]


def estimate_chromosome(path: Path, name: str) -> int:
    """Return the approximate memory of opening a chromosome of a GBZ file, or 0 if unknown.

    If it is no longer cached, nodes and links of the whole file are read for it. If the chromosomes
    of the file are not known yet, all of them are decoded, one at a time.
    """
    if estimated := estimate_cached(path, name):
        return estimated
    source = find_source(path)
    parts = source and load_parts(source)
    if source and parts is None and (counts := count_gbz(path)):
        return estimate_gbz(path, counts[1] // LARGEST_SHARE)
    n_steps = next((part.n_steps for part in parts or () if part.name == name), None)
    return estimate_gbz(path, n_steps)


class GbzFile:
    """A GBZ file whose chromosomes are read one by one; see `find_chromosomes` for their names.

    Parameters
    ----------
    path
        The file.
    sequences, cache
        As for `iter_read_graph`.
    """

    def __init__(self, path: Path, *, sequences: bool, cache: bool) -> None:
        self.path, self._sequences = path, sequences
        self._source = find_source(path) if cache else None
        self._opened: OpenGbz | None = None
        self._parts: list[CachedPart] | None = None

    def iter_list(self) -> Generator[GfaProgress, None, list[CachedPart]]:
        """Return the chromosomes, in order of their first nodes; none if the file is read at once.

        The first time, all are decoded, and cached if the cache is used.

        Raises
        ------
        FileFormatError
            If the file cannot be read.
        """
        if self._parts is None and self._source:
            self._parts = load_parts(self._source)
        if self._parts is None:
            self._parts = yield from self._decode_all()
            if self._source or not self._parts:
                self._opened = None
            if self._source:
                yield from report(store_parts(self._source, self._parts), _say_saving)
        return self._parts

    def iter_read(self, name: str) -> Iterator[GfaProgress]:
        """Yield the progress of reading a chromosome; the last report has its graph.

        Raises
        ------
        FileFormatError
            If the file cannot be read, or has no chromosome of this name.
        """
        parts = yield from self.iter_list()
        found = [part for part in parts if part.name == name]
        if not found:
            known = ", ".join(part.name for part in parts[:4])
            raise FileFormatError(
                self.path, f"no chromosome or component is named {name!r}; there are {known}"
            )
        graph = None
        if self._source:
            loading = load_graph(self._source, sequences=self._sequences, part=name)
            graph = yield from report(
                loading, lambda step: GfaProgress("Opening the saved graph", *step)
            )
        if graph is None:
            graph = yield from self._decode(found[0])
            yield from self._store(graph, name)
        yield GfaProgress("Done", 1, 1, graph)

    def _open(self) -> Generator[GfaProgress, None, OpenGbz]:
        if self._opened is None:
            opening = iter_open(
                self.path, load_kernel("gbwt", "cpu"), sequences=self._sequences, segments=True
            )
            self._opened = yield from report(opening, lambda step: GfaProgress(*step))
        return self._opened

    def _decode_all(self) -> Generator[GfaProgress, None, list[CachedPart]]:
        opened = yield from self._open()
        ranges = opened.find_ranges(MIN_VISITS)
        if len(ranges) == 1:
            return []
        parts: dict[str, CachedPart] = {}
        path_names: set[str] = set()
        for own in ranges:
            for name, graph, _ in (yield from self._decode_range(opened, own)):
                n_names = len(path_names) + graph.n_paths
                path_names.update(graph.path_names)
                if len(path_names) != n_names:
                    raise FileFormatError(self.path, TWO_OF_A_NAME)
                sizes = graph.n_nodes, graph.n_steps, graph.total_length
                before = parts.get(name)
                if before is None:
                    if len(parts) == MAX_PARTS:
                        return []
                    parts[name] = CachedPart(name, *sizes, [own])
                    yield from self._store(graph, name)
                else:
                    sums = map(sum, zip(before[1:4], sizes, strict=True))
                    parts[name] = CachedPart(name, *sums, [*before.ranges, own])
        for part in parts.values():
            if len(part.ranges) > 1 and self._source:
                yield from self._store((yield from self._decode(part)), part.name)
        return list(parts.values()) if len(parts) > 1 else []

    def _decode(self, part: CachedPart) -> Generator[GfaProgress, None, PangenomeGraph]:
        opened = yield from self._open()
        pieces = []
        for own in part.ranges:
            found = yield from self._decode_range(opened, own)
            pieces += [piece[1:] for piece in found if piece[0] == part.name]
        return pieces[0][0] if len(pieces) == 1 else _join(pieces)

    def _decode_range(
        self, opened: OpenGbz, own: tuple[int, int]
    ) -> Generator[GfaProgress, None, list[Piece]]:
        """Return name, graph and numbers of paths of the chromosomes within a range."""
        n_before, n_all = opened.n_visits_before(own[0]), opened.n_visits
        part = opened.take(*own)

        def say(step: tuple[str, int, int]) -> GfaProgress:
            done = n_before + part.n_visits * step[1] // max(step[2], 1)
            n_bytes = len(opened.reader.content)
            return GfaProgress("Reading chromosomes", n_bytes * done // max(n_all, 1), n_bytes)

        graph = yield from report(part.iter_graph(), say)
        graph = replace(graph, notes=())
        chromosomes = find_chromosomes(graph)
        if len(chromosomes.names) == 1:
            return [(chromosomes.names[0], graph, part.numbers)]
        return [
            (
                name,
                take_chromosome(graph, chromosomes, name),
                part.numbers[chromosomes.of_paths == k],
            )
            for k, name in enumerate(chromosomes.names)
        ]

    def _store(self, graph: PangenomeGraph, name: str) -> Generator[GfaProgress, None, None]:
        if self._source:
            yield from report(store_graph(self._source, graph, name), _say_saving)


def _say_saving(step: tuple[int, int]) -> GfaProgress:
    return GfaProgress("Saving the graph for next time", *step)


def _join(pieces: list[tuple[PangenomeGraph, np.ndarray]]) -> PangenomeGraph:
    """Return several graphs as one, with their nodes one after the other, and paths by number."""
    graphs = [graph for graph, _ in pieces]
    shifts = np.cumsum([0, *(2 * graph.n_nodes for graph in graphs)]).astype(np.uint32)
    order = np.argsort(np.concatenate([numbers for _, numbers in pieces]), kind="stable").tolist()
    walks = [
        np.zeros(graph.n_paths, np.bool_) if graph.walks is None else graph.walks
        for graph in graphs
    ]
    names = [name for graph in graphs for name in graph.path_names]
    steps = [
        graph.path_steps(path) + shift
        for graph, shift in zip(graphs, shifts, strict=False)
        for path in range(graph.n_paths)
    ]
    sequences = [graph.node_sequences for graph in graphs]
    return PangenomeGraph(
        node_names=ByteStrings.join([graph.node_names for graph in graphs]),
        node_lengths=np.concatenate([graph.node_lengths for graph in graphs]),
        edges=np.concatenate(
            [graph.edges + shift for graph, shift in zip(graphs, shifts, strict=False)]
        ),
        path_names=tuple(names[path] for path in order),
        path_offsets=np.cumsum([0, *(len(steps[path]) for path in order)]),
        steps=np.concatenate([steps[path] for path in order]),
        node_sequences=None if None in sequences else ByteStrings.join(sequences),
        walks=np.concatenate(walks)[order],
    )
