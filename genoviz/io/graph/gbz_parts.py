"""Sections of a GBZ file: tags, GBWT, path names, and segments if present.

References
----------
SERIALIZATION.md of jltsiren/gbwtgraph and of jltsiren/gbwt.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.graph.simple_sds import ElementReader
from genoviz.kernels.gbwt import DecodedPaths
from genoviz.model import ByteStrings
from genoviz.model.graph.indexes import PositionIndex
from genoviz.model.graph.pangenome import MAX_NODES

GBZ_MAGIC = b"GBZ "
GBZ_TAG = int.from_bytes(GBZ_MAGIC, "little")
GBWT_TAG, METADATA_TAG, GRAPH_TAG = 0x6B376B37, 0x6B375E7A, 0x6B3764AF
_GBZ_VERSIONS, _GBWT_VERSIONS, _GRAPH_VERSIONS, _METADATA_VERSIONS = (1, 2, 3), (5, 6), (3, 4), (2,)
_ZSTD_GBWT, ZSTD_GRAPH = 6, 4
_BIDIRECTIONAL, _HAS_METADATA, _IS_SIMPLE_SDS = 1, 2, 4
_HAS_TRANSLATION, _GRAPH_IS_SIMPLE_SDS = 1, 2
GENERIC_SAMPLE = "_gbwt_ref"
NO_PHASE = 0xFFFFFFFF
NAME_TAG = "pggname"
TWO_OF_A_NAME = "has two paths of one name (damaged file), needs a name for each"
_MAX_SIZE = 1 << 48
_START_BYTES = 1 << 16


@dataclass(frozen=True)
class GbwtIndex:
    """The GBWT: records and header.

    ``size`` is 0 if no header gives the number of visits. ``starts`` has the first visit of each
    sequence (-1 for an empty one; int64) unless the endmarker's record gives it.
    """

    n_sequences: int
    size: int
    offset: int
    record_bytes: np.ndarray
    data: np.ndarray
    tags: dict[str, str]
    starts: np.ndarray | None = None

    @property
    def n_slots(self) -> int:
        """Number of IDs from the first node to the last, used or not."""
        return (len(self.record_bytes) - 2) // 2

    @property
    def first_node(self) -> int:
        """ID of the first slot."""
        return self.offset // 2 + 1


@dataclass(frozen=True)
class PathFields:
    """Path names: four numbers per path, and the names of samples and contigs."""

    paths: np.ndarray
    samples: ByteStrings
    contigs: ByteStrings


@dataclass(frozen=True)
class Segments:
    """Segment names, the first slot of each segment, and the slot after the last."""

    names: ByteStrings
    bounds: np.ndarray

    def take(self, first: int, stop: int) -> Segments:
        """Return the whole segments from one slot to another, counted from the first one."""
        last = int(np.searchsorted(self.bounds, stop, side="right"))
        own = np.arange(np.searchsorted(self.bounds, first), last)
        return Segments(self.names.take(own[:-1]), self.bounds[own] - first)


class StoredPath(NamedTuple):
    """A row of the path table: start in both directions, and name."""

    handle: int
    starts: tuple[tuple[int, int], tuple[int, int]]
    sample: str
    contig: str
    haplotype: int
    fragment: int
    is_indexed: bool

    def name(self, length: int) -> str:
        """Return its name in a graph: a walk name with this length, or a generic path's name."""
        if self.sample == GENERIC_SAMPLE:
            return self.contig
        end = self.fragment + length
        haplotype = 0 if self.haplotype == NO_PHASE else self.haplotype
        return f"{self.sample}#{haplotype}#{self.contig}:{self.fragment}-{end}"


def estimate_gbz(path: Path, n_steps: int | None = None) -> int:
    """Return the approximate memory of a GBZ file's graph, from the counts in its header.

    With ``n_steps``, only paths of that many steps are read. It is 0 if the file is not a GBZ, or
    its header is damaged.
    """
    counts = count_gbz(path)
    if counts is None:
        return 0
    size = path.stat().st_size
    # The letters of other paths stay packed.
    content = 5 * counts[1] + 4 * size if n_steps is None else 5 * n_steps + 2 * size
    return content + 120 * counts[0]


def count_gbz(path: Path) -> tuple[int, int] | None:
    """Return the numbers of node IDs and of steps from the header of a GBZ file.

    None if the file is not a GBZ, or its header is damaged.
    """
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = np.frombuffer(file.read(_START_BYTES), np.uint8)
    reader = ElementReader(path, start)
    try:
        read_start(reader)
        _check_header(reader, "a GBWT", GBWT_TAG, _GBWT_VERSIONS)
        n_sequences, size, offset, alphabet = (reader.element() for _ in range(4))
    except FileFormatError:
        return None
    return max(alphabet - offset, 0) // 2, max(size - n_sequences, 0) // 2


def _check_header(reader: ElementReader, name: str, tag: int, versions: tuple[int, ...]) -> int:
    """Return the version of the structure that starts here."""
    found, version = reader.halves()
    if found != tag:
        raise reader.damaged(f"the header of {name}")
    if version not in versions:
        known = " or ".join(str(version) for version in versions)
        raise reader.refuse(f"holds {name} of version {version}, needs version {known}")
    return version


def read_start(reader: ElementReader) -> dict[str, str]:
    """Return the tags of the file."""
    if reader.content[:4].tobytes() != GBZ_MAGIC:
        raise reader.refuse("does not begin as a GBZ file does")
    version = reader.halves()[1]
    if version not in _GBZ_VERSIONS:
        raise reader.refuse(f"is GBZ version {version}, needs one from 1 to {_GBZ_VERSIONS[-1]}")
    reader.element()
    return _read_tags(reader)


def _read_tags(reader: ElementReader) -> dict[str, str]:
    texts = _texts(reader, reader.strings("the list of tags"), "a tag")
    if len(texts) % 2:
        raise reader.damaged("the list of tags")
    return {key.lower(): value for key, value in zip(texts[::2], texts[1::2], strict=True)}


def _texts(reader: ElementReader, strings: ByteStrings, what: str) -> list[str]:
    try:
        return list(strings)
    except UnicodeDecodeError as error:
        raise reader.refuse(f"has {what} that is not UTF-8") from error


def read_index(reader: ElementReader) -> GbwtIndex:
    """Return the GBWT, and stop before any metadata."""
    version = _check_header(reader, "a GBWT", GBWT_TAG, _GBWT_VERSIONS)
    n_sequences, size, offset, alphabet, flags = (reader.element() for _ in range(5))
    if not flags & _IS_SIMPLE_SDS:
        raise reader.refuse("holds a GBWT in the SDSL format, needs the simple-sds one")
    if not flags & _BIDIRECTIONAL or n_sequences % 2 or flags >> 3:
        raise reader.refuse(
            "holds a GBWT that is not bidirectional, needs paths in both directions"
        )
    tags = _read_tags(reader)
    starts, n_bytes = reader.integer_set("the index of records")
    if version >= _ZSTD_GBWT:
        data = reader.zstandard_bytes("the GBWT", n_bytes)
    else:
        data = reader.byte_vector()
    if len(data) != n_bytes or len(starts) < 3 or starts[0] != 0 or starts[-1] >= n_bytes:
        raise reader.damaged("the index of records")
    record_bytes = np.append(starts, n_bytes)
    if alphabet - offset != len(starts) or len(starts) % 2 == 0 or offset % 2 == 0:
        raise reader.damaged("the header of a GBWT")
    if (
        len(starts) // 2 > MAX_NODES
        or n_sequences > size
        or size > _MAX_SIZE
        or not (np.diff(record_bytes) > 0).all()
    ):
        raise reader.damaged("the index of records")
    reader.skip_option()
    has_metadata = reader.element() > 0
    if has_metadata != bool(flags & _HAS_METADATA):
        raise reader.damaged("the header of a GBWT")
    return GbwtIndex(n_sequences, size, offset, record_bytes, data, tags)


def read_path_fields(reader: ElementReader, index: GbwtIndex) -> PathFields | None:
    """Return the names of paths, or None if there are none."""
    if int(reader.words[reader.at - 1]) == 0:
        return None
    stop = reader.at + int(reader.words[reader.at - 1])
    _check_header(reader, "metadata", METADATA_TAG, _METADATA_VERSIONS)
    n_samples, _, n_contigs, _ = (reader.element() for _ in range(4))
    n_paths = reader.element()
    paths = reader.elements(2 * n_paths).view("<u4").reshape(-1, 4)
    tables = []
    for what, n, column in (("samples", n_samples, 0), ("contigs", n_contigs, 1)):
        table = reader.strings(f"the list of {what}")
        order = reader.integers(f"the list of {what}")
        texts = _texts(reader, table, f"a name of {what}")
        in_order = sorted(range(len(texts)), key=lambda k: texts[k].encode())
        if order.tolist() != in_order or len(texts) not in (0, n):
            raise reader.damaged(f"the list of {what}")
        if n_paths and int(paths[:, column].max()) >= n:
            raise reader.damaged("the list of path names")
        tables.append(table)
    if reader.at != stop or n_paths not in (0, index.n_sequences // 2):
        raise reader.damaged("the list of path names")
    return PathFields(paths, *tables) if n_paths else None


def read_graph_header(reader: ElementReader) -> tuple[int, int, int]:
    """Return version, number of nodes and flags."""
    version = _check_header(reader, "a graph", GRAPH_TAG, _GRAPH_VERSIONS)
    n_nodes, flags = reader.element(), reader.element()
    if not flags & _GRAPH_IS_SIMPLE_SDS or flags >> 2:
        raise reader.damaged("the header of a graph")
    return version, n_nodes, flags


def read_segments(reader: ElementReader, flags: int, n_slots: int) -> Segments | None:
    """Return the segments that nodes belong to, or None if there are none."""
    names = reader.strings("the list of segments")
    firsts, length = reader.integer_set("the list of segments")
    if bool(flags & _HAS_TRANSLATION) != (len(names) > 0) or len(firsts) != len(names):
        raise reader.damaged("the list of segments")
    if not len(names):
        return None
    _texts(reader, names, "a name of a segment")
    if firsts[0] != 1 or length != n_slots + 1 or not (np.diff(firsts) > 0).all():
        raise reader.damaged("the list of segments")
    return Segments(names, np.append(firsts, length) - 1)


def find_slots(
    reader: ElementReader, index: GbwtIndex, n_nodes: int, offsets: np.ndarray
) -> np.ndarray:
    """Return the slots in use; int64."""
    if len(offsets) - 1 != index.n_slots:
        raise reader.refuse(
            f"has {len(offsets) - 1:,} sequences for {index.n_slots:,} nodes (damaged file)"
        )
    has_edges = index.data[index.record_bytes[1:-1]] != 0
    if (has_edges[::2] != has_edges[1::2]).any() or int(has_edges.sum()) != 2 * n_nodes:
        raise reader.refuse(f"does not have the {n_nodes:,} nodes that its header counts")
    slots = np.flatnonzero(has_edges[::2])
    if n_nodes == 0:
        raise reader.refuse("has no node, needs at least one")
    lengths = np.diff(offsets)
    empty = slots[lengths[slots] == 0]
    if len(empty):
        raise reader.refuse(f"has no sequence for node {index.first_node + int(empty[0]):,}")
    return slots


def fit_segments(
    index: GbwtIndex,
    translation: Segments,
    slots: np.ndarray,
    edges: np.ndarray,
    ends: np.ndarray,
) -> Segments | None:
    """Return the segments, or None if paths traverse only parts of some."""
    first, last = translation.bounds[:-1], translation.bounds[1:] - 1
    is_there = np.zeros(index.n_slots, np.bool_)
    is_there[slots] = True
    n_there = np.add.reduceat(is_there, first, dtype=np.int64)
    whole = n_there == last - first + 1
    if not (whole | (n_there == 0)).all() or (translation.names.lengths[whole] == 0).any():
        return None
    begins, stops = np.zeros(index.n_slots, np.bool_), np.zeros(index.n_slots, np.bool_)
    begins[first], stops[last] = True, True
    leaves, enters = _sides(edges[:, 0], begins, stops, 1), _sides(edges[:, 1], begins, stops, 0)
    forward = (edges[:, 0] & 1 == 0) & (edges[:, 1] == edges[:, 0] + 2)
    is_inner = forward & ~stops[edges[:, 0] >> 1]
    if not (is_inner | (leaves & enters)).all():
        return None
    if not _sides(ends, begins, stops, 1).all():
        return None
    return translation


def _sides(handles: np.ndarray, begins: np.ndarray, stops: np.ndarray, side: int) -> np.ndarray:
    """Return which node sides are segment sides: the side entered (0) or left (1)."""
    is_right = (handles & 1) != side
    slots = handles >> 1
    return np.where(is_right, stops[slots], begins[slots])


def name_paths(
    reader: ElementReader,
    names: PathFields | None,
    decoded: DecodedPaths,
    lengths: np.ndarray,
    numbers: np.ndarray | None = None,
) -> tuple[tuple[str, ...], np.ndarray | None]:
    """Return the names of paths, and which of them are walks; without names, their numbers."""
    n_paths = len(decoded.path_offsets) - 1
    if names is None:
        return tuple(map(str, range(n_paths) if numbers is None else numbers.tolist())), None
    samples, contigs = list(names.samples), list(names.contigs)
    spans = PositionIndex.build(decoded.steps, lengths, decoded.path_offsets).path_lengths
    found, walks = [], np.zeros(n_paths, np.bool_)
    rows = zip(names.paths.tolist(), spans.tolist(), strict=True)
    for path, ((sample, contig, phase, start), span) in enumerate(rows):
        sample = samples[sample] if samples else str(sample)
        contig = contigs[contig] if contigs else str(contig)
        if sample == GENERIC_SAMPLE:
            found.append(contig)
            continue
        walks[path] = True
        haplotype = 0 if phase == NO_PHASE else phase
        found.append(f"{sample}#{haplotype}#{contig}:{start}-{start + span}")
    if len(set(found)) != len(found):
        raise reader.refuse(TWO_OF_A_NAME)
    return tuple(found), walks if walks.any() else None
