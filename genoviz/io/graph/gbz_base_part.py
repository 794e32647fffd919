"""Partial reading of GBZ-base databases.

The database stores the first visit of each path, and a visit about every 1,000 bp of *indexed*
paths (generic ones and those of reference samples). Regions are therefore given on indexed paths.
Other paths through the region are recovered step by step. They have their names only if they start
within the part. The rest are called ``unknown_1``, ``unknown_2`` and so on, because finding their
names requires walking back to their starts.

References
----------
README.md and docs of jltsiren/gbz-base
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.graph import gbz_loops, gbz_pieces
from genoviz.io.graph.gbz_base import GbzBase
from genoviz.io.graph.gbz_parts import GENERIC_SAMPLE, StoredPath
from genoviz.io.graph.gbz_pieces import UNKNOWN, PathPieces, Visit
from genoviz.model import ByteStrings, PangenomeGraph, PathRegion

_MAX_NODES, _MAX_VISITS = 1 << 20, 1 << 25
_MAX_WALK = 1 << 20
_NAMES_PER_QUERY = 500
_NEAR = 1 << 20


class Reach(NamedTuple):
    """Extent of a part around its nodes: bp of detours, then steps, and bp."""

    detour_bp: int = 0
    steps: int = 0
    bp: int = 0


class _Node(NamedTuple):
    """A node orientation: links as (handle, first visit), record, packed bases, length."""

    edges: list[tuple[int, int]]
    record: bytes
    sequence: bytes
    length: int


class PartReader:
    """Reads parts of an open database.

    Regions refer to `indexed`, which has the names and lengths of the indexed paths.
    """

    def __init__(self, base: GbzBase) -> None:
        self._base = base
        self._nodes: dict[int, _Node] = {}

    @cached_property
    def _paths(self) -> list[StoredPath]:
        return self._base.paths()

    @cached_property
    def indexed(self) -> PangenomeGraph:
        """The indexed paths, each as a single node of the path's length, to resolve regions."""
        paths = self._indexed_paths
        lengths = np.array([self._length(path) for path in paths], np.int64)
        names = tuple(map(StoredPath.name, paths, lengths.tolist()))
        if len(set(names)) != len(names):
            raise self._base.refuse("has two paths of one name (damaged file)")
        return PangenomeGraph(
            node_names=ByteStrings.from_integers(1, len(paths)),
            node_lengths=lengths,
            edges=np.empty((0, 2), np.uint32),
            path_names=names,
            path_offsets=np.arange(len(paths) + 1),
            steps=np.arange(len(paths), dtype=np.uint32) << 1,
            walks=np.array([path.sample != GENERIC_SAMPLE for path in paths], np.bool_),
        )

    @cached_property
    def _indexed_paths(self) -> list[StoredPath]:
        return [path for path in self._paths if path.is_indexed]

    def place(self, path: int, position: int) -> PangenomeGraph:
        """Return the indexed paths, with the real node at a position of one of them."""
        (visit,) = self._walk(self._indexed_paths[path], position, position + 1)
        node = self._node(visit.handle)
        whole = self.indexed
        parts = [visit.bp, node.length, int(whole.path_lengths[path]) - visit.bp - node.length]
        lengths = np.insert(np.delete(whole.node_lengths, path), path, parts)
        names = [str(number) for number in range(len(lengths))]
        names[path : path + 3] = "before", str(visit.handle >> 1), "after"
        steps = np.arange(len(lengths), dtype=np.uint32) << 1
        steps[path + 1] |= visit.handle & 1
        offsets = whole.path_offsets.copy()
        offsets[path + 1 :] += 2
        return PangenomeGraph(
            ByteStrings.from_texts(names),
            lengths,
            whole.edges,
            whole.path_names,
            offsets,
            steps,
            walks=whole.walks,
        )

    def read(
        self, regions: Sequence[PathRegion], nodes: Iterable[str] = (), reach: Reach | None = None
    ) -> tuple[PangenomeGraph, list[PathRegion]]:
        """Return the graph of the given regions, nodes and their surroundings.

        It has at least the requested nodes, and the complete walks of all paths over its nodes.
        The regions are returned in coordinates of the part's paths.

        Raises
        ------
        ParameterError
            If a node is not in the database, or the part is too large.
        FileFormatError
            If the database is damaged.
        """
        anchors: dict[int, list[Visit]] = defaultdict(list)
        wanted = []
        for region in regions:
            (path,) = self.indexed.path_directory.exact(region.path)
            anchors[path] += self._walk(self._indexed_paths[path], region.start, region.end)
            wanted.append((path, region.start, region.end))
        seeds = {visit.handle >> 1 for visits in anchors.values() for visit in visits}
        seeds |= self._named(nodes)
        picked = self._surroundings(seeds, reach or Reach())
        self._add_near(anchors, wanted, picked)
        graph, starts = self._build(sorted(picked), anchors)
        moved = []
        for path, start, end in wanted:
            name, first = next(
                (name, first)
                for name, first, last in starts[self._indexed_paths[path].handle]
                if first <= start and end <= last
            )
            moved.append(PathRegion(name, start - first, end - first))
        return graph, moved

    # Nodes ------------------------------------------------------------------------------------

    def _node(self, handle: int) -> _Node:
        if handle not in self._nodes:
            self._fetch([handle >> 1])
        return self._nodes[handle]

    def _fetch(self, ids: Iterable[int]) -> None:
        """Read missing nodes, both orientations of each."""
        missing = [node for node in ids if node << 1 not in self._nodes]
        for first in range(0, len(missing), _NAMES_PER_QUERY):
            part = missing[first : first + _NAMES_PER_QUERY]
            handles = [handle for node in part for handle in (2 * node, 2 * node + 1)]
            places = ",".join("?" * len(handles))
            command = "SELECT handle, edges, bwt, sequence FROM Nodes WHERE handle IN"
            for rows in self._base.rows(f"{command} ({places})", handles):
                lengths = self._base.decode([row[3] for row in rows]).lengths.tolist()
                for (handle, edges, runs, text), length in zip(rows, lengths, strict=True):
                    self._nodes[handle] = self._take(handle, edges, runs, text, length)
            for handle in handles:
                if handle not in self._nodes:
                    raise self._base.refuse(f"has no node {handle >> 1} (damaged file)")

    def _take(self, handle: int, edges: object, runs: object, text: bytes, length: int) -> _Node:
        if not (isinstance(edges, bytes) and isinstance(runs, bytes)):
            raise self._base.refuse(f"has a damaged record of node {handle >> 1}")
        record = np.frombuffer(edges + runs, np.uint8)
        links, at = gbz_pieces.read_edges(record)
        if links is None or at != len(edges):
            raise self._base.refuse(f"has a damaged record of node {handle >> 1}")
        return _Node(list(map(tuple, links.tolist())), edges + runs, text, length)

    def _named(self, names: Iterable[str]) -> set[int]:
        """Return the IDs of named nodes; an unknown name raises an error."""
        found = set()
        for name in names:
            handle = 2 * int(name) if name.isascii() and name.isdigit() and len(name) < 18 else 0
            if not any(self._base.rows("SELECT handle FROM Nodes WHERE handle = ?", [handle])):
                raise ParameterError(f"the graph has no node {name!r}")
            found.add(handle >> 1)
        return found

    def _surroundings(self, seeds: Collection[int], reach: Reach) -> set[int]:
        """Return nodes and those within reach: detours first, then steps or bp from these."""
        inner = self._expand(seeds, reach.detour_bp, None)
        return self._expand(inner, reach.steps, 1) | self._expand(inner, reach.bp, None)

    def _expand(self, seeds: Collection[int], limit: int, cost: int | None) -> set[int]:
        """Return nodes at a distance below ``limit``; intermediate nodes add their costs."""
        distances = dict.fromkeys(seeds, 0)
        frontier = set(seeds) if limit else set()
        while frontier:
            self._fetch(frontier)
            reached: dict[int, int] = {}
            for node in frontier:
                own = self._nodes[2 * node].length if cost is None else cost
                onward = distances[node] + (0 if node in seeds else own)
                if onward >= limit:
                    continue
                for handle in (2 * node, 2 * node + 1):
                    for to, _ in self._nodes[handle].edges:
                        other = to >> 1
                        if to and onward < min(
                            distances.get(other, limit), reached.get(other, limit)
                        ):
                            reached[other] = onward
            distances |= reached
            frontier = set(reached)
            if len(distances) > _MAX_NODES:
                raise ParameterError(
                    f"the part has more than {_MAX_NODES:,} nodes, needs a smaller region or less "
                    "around it"
                )
        self._fetch(distances)
        return set(distances)

    # Paths ------------------------------------------------------------------------------------

    def _length(self, path: StoredPath) -> int:
        """Return the length of an indexed path, bp, by walking from its last index entry."""
        if path.starts[0][0] == 0:
            return 0
        *_, last = self._follow(self._nearest(path, 1 << 62))
        return last.bp + self._node(last.handle).length

    def _nearest(self, path: StoredPath, position: int) -> Visit:
        """Return the last indexed visit at or before a position."""
        command = (
            "SELECT node_handle, node_offset, path_offset FROM ReferenceIndex WHERE path_handle = ?"
            " AND path_offset <= ? ORDER BY path_offset DESC LIMIT 1"
        )
        for rows in self._base.rows(command, [path.handle, position]):
            return Visit(*rows[0])
        return Visit(*path.starts[0], 0)

    def _follow(self, visit: Visit) -> Iterator[Visit]:
        """Yield a visit and its successors, to the end of the path."""
        n_left = _MAX_WALK
        while visit.handle:
            yield visit
            node = self._node(visit.handle)
            record = np.frombuffer(node.record, np.uint8)
            to, offset = gbz_pieces.follow_visit(record, visit.offset)
            n_left -= 1
            if to < 0 or n_left == 0:
                raise self._base.refuse(
                    f"has a damaged record of node {visit.handle >> 1}, or too few in its index"
                )
            visit = Visit(int(to), int(offset), visit.bp + node.length)

    def _walk(self, path: StoredPath, start: int, end: int) -> list[Visit]:
        """Return the visits of an indexed path between two positions."""
        found = []
        for visit in self._follow(self._nearest(path, start)):
            if visit.bp >= end:
                break
            if visit.bp + self._node(visit.handle).length > start:
                found.append(visit)
        if not found:
            raise self._base.refuse("has a path that ends before its index says (damaged file)")
        return found

    def _add_near(
        self,
        anchors: dict[int, list[Visit]],
        wanted: list[tuple[int, int, int]],
        picked: Collection[int],
    ) -> None:
        """Add indexed visits inside the part, near the regions of each path."""
        command = (
            "SELECT node_handle, node_offset, path_offset FROM ReferenceIndex WHERE path_handle = ?"
            " AND path_offset BETWEEN ? AND ?"
        )
        for path, start, end in wanted:
            values = [self._indexed_paths[path].handle, start - _NEAR, end + _NEAR]
            for rows in self._base.rows(command, values):
                anchors[path] += [Visit(*row) for row in rows if row[0] >> 1 in picked]

    def _build(
        self, ids: list[int], anchors: dict[int, list[Visit]]
    ) -> tuple[PangenomeGraph, dict[int, list[tuple[str, int, int]]]]:
        """Return the graph of nodes, and the pieces of each named path: name, start and end."""
        handles = np.repeat(np.array(ids, np.int64), 2) << 1 | np.tile((0, 1), len(ids))
        nodes = [self._nodes[handle] for handle in handles.tolist()]
        bounds = np.append(0, np.cumsum([len(node.record) for node in nodes]))
        data = np.frombuffer(b"".join(node.record for node in nodes), np.uint8)
        visits, following = gbz_pieces.expand_visits(data, bounds, handles, _MAX_VISITS)
        if visits is None:
            raise self._base.refuse(
                f"has a damaged record, or more than {_MAX_VISITS:,} visits in the region"
            )
        runs = gbz_pieces.string_visits(visits, following)
        if runs is None:
            raise self._base.refuse("has visits that lead to the same place (damaged file)")
        sequences = self._base.decode([node.sequence for node in nodes[::2]])
        pieces = PathPieces(visits, handles, runs, sequences.lengths)
        for path, found in anchors.items():
            for visit in found:
                pieces.name(self._indexed_paths[path], visit)
        for path in self._paths:
            pieces.name(path, Visit(*path.starts[0], 0))
        rows, starts, n_unknown = pieces.list()
        if rows is None:
            raise self._base.refuse("has a path and its reverse that differ (damaged file)")
        ends = np.cumsum([len(row[2]) for row in rows], dtype=np.int64)
        notes = [f"Read {len(ids):,} of {self._base.count('nodes'):,} nodes of the database."]
        if n_unknown:
            notes.append(
                f"{n_unknown:,} paths begin beyond the part: the database does not say whose "
                f"they are, so they are named {UNKNOWN.format(1)} and so on."
            )
        graph = PangenomeGraph(
            ByteStrings.from_texts(map(str, ids)),
            sequences.lengths,
            _list_edges(handles, nodes),
            tuple(row[0] for row in rows),
            np.append(0, ends),
            np.concatenate([np.empty(0, np.uint32), *(row[2] for row in rows)]),
            sequences,
            tuple(notes),
            walks=np.array([row[1] for row in rows], np.bool_),
        )
        return graph, starts


def _list_edges(handles: np.ndarray, nodes: list[_Node]) -> np.ndarray:
    """Return the links between nodes of the part, each in the direction of a GBZ."""
    places = {handle: place for place, handle in enumerate(handles.tolist())}
    found = []
    for place, node in enumerate(nodes):
        for handle, _ in node.edges:
            to = places.get(handle, -1)
            if to >= 0 and gbz_loops.is_canonical(place, to):
                found.append((place, to))
    return np.array(found, np.uint32).reshape(-1, 2)
