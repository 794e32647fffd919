"""A GBZ file that is open: all of it, or the nodes of some chromosomes with their paths.

References
----------
SERIALIZATION.md of jltsiren/gbwtgraph and of jltsiren/gbwt.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.generators import report
from genoviz.io.files.content import open_content
from genoviz.io.graph import gbz_loops
from genoviz.io.graph.gbz_graph import (
    GraphNodes,
    Progress,
    build_graph,
    check_name,
    find_starts,
    make_nodes,
    measure_visits,
)
from genoviz.io.graph.gbz_parts import (
    ZSTD_GRAPH,
    GbwtIndex,
    PathFields,
    Segments,
    find_slots,
    fit_segments,
    read_graph_header,
    read_index,
    read_path_fields,
    read_segments,
    read_start,
)
from genoviz.io.graph.packed_letters import PackedLetters
from genoviz.io.graph.simple_sds import ElementReader
from genoviz.kernels.gbwt import FAULTS
from genoviz.model import PangenomeGraph


@dataclass(frozen=True)
class OpenGbz:
    """A GBZ file, or a part of it, that was read and checked except for its paths.

    Attributes
    ----------
    reader, index, names, translation, kernel
        The file, its GBWT, the names of its paths, its segments, and where paths are decoded.
    numbers
        int64: the number of each path in the file.
    record_starts
        int64, shape (n_records,): the visits of each record, as the kernel takes them.
    slots, edges
        int64: the node IDs in use, counted from the first; uint32, shape (n_edges, 2): the links as
        handles of slots, each from its smaller slot, in rising order.
    bases, offsets
        uint8 or None: the sequences of all slots, which are decoded where a slice is taken; int64,
        shape (n_slots + 1,): where each begins.
    notes
        What the reader has left out.
    """

    reader: ElementReader
    index: GbwtIndex
    names: PathFields | None
    numbers: np.ndarray
    record_starts: np.ndarray
    slots: np.ndarray
    edges: np.ndarray
    bases: np.ndarray | PackedLetters | None
    offsets: np.ndarray
    translation: Segments | None
    notes: list[str]
    kernel: ModuleType

    @property
    def n_visits(self) -> int:
        """Number of visits: steps of paths and of their reverses, on stored nodes."""
        return int(self.record_starts[-1])

    def n_visits_before(self, slot: int) -> int:
        """Return the number of visits of the slots before one, in both directions."""
        return 2 * int(self.record_starts[slot])

    def find_ranges(self, min_visits: int) -> list[tuple[int, int]]:
        """Return consecutive ranges of slots that no link leaves, as ``(first, stop)``.

        Small ones with fewer than ``min_visits`` in all are one range.
        """
        bounds = gbz_loops.find_ranges(self.slots, self.edges)
        found: list[tuple[int, int]] = []
        n_before = min_visits
        for first, stop in bounds.tolist():
            n_visits = 2 * int(self.record_starts[stop] - self.record_starts[first])
            if n_before + n_visits < min_visits:
                found[-1] = found[-1][0], stop
                n_before += n_visits
            else:
                found.append((first, stop))
                n_before = n_visits
        return found

    def take(self, first: int, stop: int) -> OpenGbz:
        """Return the part of the slots of a range that no link leaves, and of their paths.

        It does not have paths without steps.

        Raises
        ------
        FileFormatError
            If a path and its reverse are not in the same part.
        """
        own, ends = self.record_starts, (first, stop)
        mirrored = len(own) - 1 - stop, len(own) - 1 - first
        n_forward = own[stop] - own[first]
        starts = self.index.starts
        is_forward = (starts >= own[first]) & (starts < own[stop])
        is_here = is_forward | ((starts >= own[mirrored[0]]) & (starts < own[mirrored[1]]))
        if (is_here[::2] != is_here[1::2]).any():
            raise self.reader.refuse(f"is damaged: {FAULTS[-1]}")
        starts = np.where(is_forward, starts - own[first], starts - own[mirrored[0]] + n_forward)
        forward, backward = own[first : stop + 1], own[mirrored[0] + 1 : mirrored[1] + 1]
        paths = np.flatnonzero(is_here[::2])
        nodes = slice(*np.searchsorted(self.slots, ends))
        links = slice(*np.searchsorted(self.edges[:, 0], np.multiply(ends, 2)))
        base = self.offsets[first]
        index = replace(
            self.index,
            n_sequences=2 * len(paths),
            offset=self.index.offset + 2 * first,
            record_bytes=self.index.record_bytes[2 * first : 2 * stop + 2],
            starts=starts[is_here],
        )
        return replace(
            self,
            index=index,
            names=self.names and replace(self.names, paths=self.names.paths[paths]),
            numbers=self.numbers[paths],
            record_starts=np.append(forward - own[first], backward - own[mirrored[0]] + n_forward),
            slots=self.slots[nodes] - first,
            edges=self.edges[links] - np.uint32(2 * first),
            bases=self.bases if self.bases is None else self.bases[base : self.offsets[stop]],
            offsets=self.offsets[first : stop + 1] - base,
            translation=self.translation and self.translation.take(first, stop),
        )

    def iter_nodes(self) -> Generator[Progress, None, GraphNodes]:
        """Return the nodes and links of its graph."""
        return make_nodes(
            self.reader,
            self.index,
            self.slots,
            self.edges,
            self.bases if self.bases is None else self.bases[:],
            self.offsets,
            self.translation,
        )

    def iter_graph(self) -> Generator[Progress, None, PangenomeGraph]:
        """Return its graph: decode its paths."""
        nodes = yield from self.iter_nodes()
        paths = self.reader, self.index, self.names, self.record_starts
        return (yield from build_graph(*paths, nodes, self.notes, self.kernel, self.numbers))


def iter_open(
    path: Path, kernel: ModuleType, *, sequences: bool, segments: bool
) -> Generator[Progress, None, OpenGbz]:
    """Read and check all of a GBZ file but its paths; see `genoviz.iter_read_gbz`."""
    content = yield from report(open_content(path), lambda step: ("Copying", *step))
    n_bytes = len(content)
    if n_bytes % 8:
        raise FileFormatError(
            path, f"has {n_bytes:,} bytes, needs a multiple of 8 (truncated or damaged file)"
        )
    reader = ElementReader(path, content)
    tags = read_start(reader)
    yield "Reading the index", 0, n_bytes
    index = read_index(reader)
    names = read_path_fields(reader, index)
    yield "Reading nodes", 8 * reader.at, n_bytes
    version, n_nodes, flags = read_graph_header(reader)
    bases, offsets = reader.letters(
        "the list of sequences", is_compressed=version >= ZSTD_GRAPH, wants=sequences
    )
    translation = read_segments(reader, flags, len(offsets) - 1)
    if reader.at != len(reader.words):
        raise reader.refuse(
            f"goes on after its end at byte {8 * reader.at:,} (damaged file), needs to end there"
        )
    yield "Reading the index", n_bytes, n_bytes
    record_starts = measure_visits(reader, index, kernel)
    slots = find_slots(reader, index, n_nodes, offsets)
    edges, ends = gbz_loops.list_edges(index.data, index.record_bytes, index.offset)
    if edges is None:
        raise reader.refuse("has a link in one direction alone in its GBWT (damaged file)")
    if sequences:
        yield from check_name(reader, tags, index, slots, edges, bases, offsets)
    notes = []
    if translation is not None:
        kept = fit_segments(index, translation, slots, edges, ends) if segments else None
        if segments and kept is None:
            notes.append(
                "Paths begin, end or branch within segments: nodes are shown as they are stored."
            )
        translation = kept
    starts = find_starts(reader, index, record_starts)
    return OpenGbz(
        reader,
        replace(index, starts=starts),
        names,
        np.arange(index.n_sequences // 2),
        record_starts,
        slots,
        edges,
        bases,
        offsets,
        translation,
        notes,
        kernel,
    )
