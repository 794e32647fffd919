"""Nodes, links and paths of a graph from the sections of a GBZ file or GBZ-base database.

References
----------
SERIALIZATION.md of jltsiren/gbwtgraph and of jltsiren/gbwt.
"""

from __future__ import annotations

from collections.abc import Generator
from types import ModuleType
from typing import NamedTuple

import numpy as np

from genoviz.backend import to_host
from genoviz.generators import report
from genoviz.io.graph import gbz_loops
from genoviz.io.graph.gbz_parts import NAME_TAG, GbwtIndex, PathFields, Segments, name_paths
from genoviz.io.graph.gfa_names import RepeatedNameError, build_node_table
from genoviz.io.graph.packed_letters import PackedLetters
from genoviz.io.graph.simple_sds import ElementReader
from genoviz.kernels.gbwt import FAULTS, NO_STEP, DecodedPaths
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.columns import expand_counts
from genoviz.model.graph.pangenome import MAX_NODES

_LETTERS = ord("A"), ord("z")
_AT_ONCE = 1 << 27

Progress = tuple[str, int, int]


def measure_visits(reader: ElementReader, index: GbwtIndex, kernel: ModuleType) -> np.ndarray:
    """Return the start of the visits of each record."""
    sizes = np.zeros(2 * index.n_slots, np.int64)
    wrong = kernel.measure_records(index.data, index.record_bytes, index.offset, sizes)
    if wrong >= 0:
        raise reader.refuse(f"has a damaged record in its GBWT, that of its node {wrong:,}")
    # Damaged sizes may overflow 64 bits.
    about = float(sizes.sum(dtype=np.float64))
    n_visits = index.size - index.n_sequences if index.size else int(sizes.sum())
    is_close = abs(about - n_visits) <= 1e-6 * n_visits
    if not is_close or int(sizes.sum()) != n_visits or (sizes != sizes[::-1]).any():
        raise reader.refuse(
            f"has other than {n_visits:,} visits in the records of its GBWT, which its header "
            "counts, or not the same in both directions (damaged file)"
        )
    if int(sizes.max(initial=0)) > MAX_NODES:
        raise reader.refuse(f"has a node that paths visit more than {MAX_NODES:,} times")
    reader.check_ratio(2 * n_visits, len(reader.content))
    return np.append(0, np.cumsum(sizes))


def find_starts(reader: ElementReader, index: GbwtIndex, record_starts: np.ndarray) -> np.ndarray:
    """Return the first visit of each sequence; int64."""
    if index.starts is not None:
        return index.starts
    source = index.data, index.record_bytes, index.offset, record_starts
    starts = gbz_loops.read_starts(*source, index.n_sequences)
    if starts is None:
        raise reader.refuse("has damaged starts of paths in its GBWT")
    return starts


def check_name(
    reader: ElementReader,
    tags: dict[str, str],
    index: GbwtIndex,
    slots: np.ndarray,
    edges: np.ndarray,
    data: np.ndarray | PackedLetters,
    offsets: np.ndarray,
) -> Generator[Progress, None, None]:
    """Reject invalid letters, and a graph that does not match its stable name.

    The name is the SHA-256 of all nodes, sequences and links as GFA lines.
    """
    # Letters are decoded anyway where they are used; an alphabet of letters has nothing else.
    is_known = isinstance(data, PackedLetters) and _are_letters(data.alphabet)
    for first in range(0, 0 if is_known else len(data), _AT_ONCE):
        yield "Checking sequences", first, len(data)
        if not _are_letters(data[first : first + _AT_ONCE]):
            raise reader.refuse(
                "has a sequence with a character that is not a letter (damaged file)"
            )
    expected = tags.get(NAME_TAG)
    if expected is None:
        return
    naming = gbz_loops.iter_stable_name(data, offsets, slots, edges, index.first_node)
    name = yield from report(naming, lambda step: ("Checking nodes", *step))
    if name != expected.lower():
        raise reader.refuse(
            "has other nodes, sequences or links than its stable name (pggname) was made of "
            "(damaged file)"
        )


def _are_letters(data: np.ndarray) -> bool:
    return not len(data) or bool(_LETTERS[0] <= data.min() and data.max() <= _LETTERS[1])


class GraphNodes(NamedTuple):
    """The nodes of a graph, and the handle that each visit of a record writes, by place."""

    names: ByteStrings
    lengths: np.ndarray
    edges: np.ndarray
    bases: ByteStrings | None
    handles: np.ndarray


def make_nodes(
    reader: ElementReader,
    index: GbwtIndex,
    slots: np.ndarray,
    edges: np.ndarray,
    data: np.ndarray | None,
    offsets: np.ndarray,
    translation: Segments | None,
) -> Generator[Progress, None, GraphNodes]:
    """Return the nodes of the graph: stored nodes, or segments."""
    n_slots = index.n_slots
    ranks, handles = (np.full(n, NO_STEP, np.uint32) for n in (n_slots, 2 * n_slots))
    if translation is None:
        ranks[slots] = np.arange(len(slots), dtype=np.uint32)
        first, last = slots, slots
        names = ByteStrings.from_integers(index.first_node, n_slots)
        names = names if len(slots) == n_slots else names.take(slots)
    else:
        is_there = np.zeros(n_slots, np.bool_)
        is_there[slots] = True
        kept = np.flatnonzero(is_there[translation.bounds[:-1]])
        first, last = translation.bounds[:-1][kept], translation.bounds[1:][kept] - 1
        owners, within = expand_counts(last - first + 1)
        ranks[first[owners] + within] = owners
        names = translation.names.take(kept)
        yield from _check_segment_names(reader, names)
        is_inner = (ranks[edges[:, 0] >> 1] == ranks[edges[:, 1] >> 1]) & (
            edges[:, 1] == edges[:, 0] + 2
        )
        if is_inner.any():
            edges = edges[~is_inner]
    handles[first] = ranks[first] << 1
    handles[2 * n_slots - 1 - last] = ranks[last] << 1 | 1
    edges = (ranks[edges >> 1] << 1 | (edges & 1)).astype(np.uint32)
    lengths = offsets[last + 1] - offsets[first]
    bases = None if data is None else _take_bases(data, offsets, first, last, lengths)
    return GraphNodes(names, lengths, edges, bases, handles)


def build_graph(
    reader: ElementReader,
    index: GbwtIndex,
    names: PathFields | None,
    record_starts: np.ndarray,
    nodes: GraphNodes,
    notes: list[str],
    kernel: ModuleType,
    numbers: np.ndarray | None = None,
) -> Generator[Progress, None, PangenomeGraph]:
    """Return the graph: decode the paths. Without names, paths are named by ``numbers``."""
    source = index.data, index.record_bytes, index.offset, record_starts
    starts = find_starts(reader, index, record_starts)
    decoding = kernel.iter_decode_paths(*source, nodes.handles, starts)
    n_bytes = len(reader.content)
    decoded = yield from report(
        decoding, lambda step: (step[0], n_bytes * step[1] // max(step[2], 1), n_bytes)
    )
    if decoded.fault:
        raise reader.refuse(f"is damaged: {FAULTS[decoded.fault]}")
    decoded = DecodedPaths(*map(to_host, decoded))
    path_names, walks = name_paths(reader, names, decoded, nodes.lengths, numbers)
    references = index.tags.get("reference_samples", "").split()
    if references:
        notes = [*notes, f"Reference samples of the file: {', '.join(references)}."]
    return PangenomeGraph(
        nodes.names,
        nodes.lengths,
        nodes.edges,
        path_names,
        decoded.path_offsets,
        decoded.steps,
        nodes.bases,
        tuple(notes),
        walks=walks,
    )


def _check_segment_names(
    reader: ElementReader, names: ByteStrings
) -> Generator[Progress, None, None]:
    n_bytes = len(reader.content)
    try:
        indexing = build_node_table(names)
        yield from report(indexing, lambda share: ("Indexing names", int(share * n_bytes), n_bytes))
    except RepeatedNameError as error:
        raise reader.refuse(f"has two segments of the name {names[error.node]!r}") from None


def _take_bases(
    data: np.ndarray, offsets: np.ndarray, first: np.ndarray, last: np.ndarray, lengths: np.ndarray
) -> ByteStrings:
    """Return the sequences of runs of nodes, as a view if they are contiguous."""
    if int(lengths.sum()) == len(data):
        return ByteStrings(data, np.append(offsets[first], len(data)))
    starts = np.zeros(2 * len(first) + 1, np.int64)
    starts[:-1:2], starts[1::2] = offsets[first], offsets[last + 1]
    starts[-1] = len(data)
    return ByteStrings(data, starts).take(np.arange(0, 2 * len(first), 2))
