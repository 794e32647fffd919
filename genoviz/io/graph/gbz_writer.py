"""Pangenome graphs written as GBZ files of version 1: the GBWT of their paths, and sequences."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

import numpy as np
from numba import njit

from genoviz.errors import ParameterError
from genoviz.generators import finish
from genoviz.io.files.replace_file import replace_file
from genoviz.io.graph import gbz_loops
from genoviz.io.graph.gbwt_builder import GbwtRecords, build_gbwt
from genoviz.io.graph.gbz_parts import (
    GBWT_TAG,
    GBZ_TAG,
    GENERIC_SAMPLE,
    GRAPH_TAG,
    METADATA_TAG,
    NAME_TAG,
    NO_PHASE,
)
from genoviz.io.graph.gfa_writer import WALK_NAME
from genoviz.io.graph.simple_sds import (
    sds_bytes,
    sds_element,
    sds_header,
    sds_integer_set,
    sds_integers,
    sds_strings,
)
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.columns import distinct

_MAX_DIGITS, _MAX_SPARSE = 9, 4
_SOURCE = "genoviz"
_ZERO = ord("0")


def write_gbz(graph: PangenomeGraph, path: str | PathLike[str]) -> int:
    """Write a graph as a GBZ file of version 1, which vg and related tools read.

    A GBZ has nodes, sequences, paths, and the links on paths. If the names of nodes are not
    ascending integers, they become names of segments. Paths that are walks are named by sample,
    haplotype, contig and start; all others are generic paths. The file appears only once it is
    complete.

    Returns
    -------
    int
        Number of links of the graph that the file lacks, because no path takes them.

    Raises
    ------
    ParameterError
        If there are no sequences, a node is on no path, or names of paths do not fit a GBZ.
    FileFormatError
        If the file cannot be written.
    """
    if graph.node_sequences is None or (graph.node_sequences.lengths == 0).any():
        raise ParameterError("a graph without sequences cannot be written as GBZ, needs them all")
    lonely = np.flatnonzero(graph.node_depths == 0)
    if len(lonely):
        name = graph.node_names[int(lonely[0])]
        raise ParameterError(f"node {name!r} is on no path; a GBZ has nodes of paths alone")
    metadata = b"".join(_metadata_parts(graph))
    first, slots, has_names = _find_ids(graph.node_names)
    records = build_gbwt(graph, slots, first)
    links, _ = gbz_loops.list_edges(*records)
    with replace_file(path) as file:
        for part in _iter_parts(graph, metadata, records, links, slots, first, has_names):
            file.write(part)
    links_of_graph = slots[graph.edges >> 1] << 1 | (graph.edges & 1)
    lost = np.setdiff1d(_link_keys(links_of_graph), _link_keys(links), assume_unique=True)
    return len(lost)


def _iter_parts(
    graph: PangenomeGraph,
    metadata: bytes,
    records: GbwtRecords,
    links: np.ndarray,
    slots: np.ndarray,
    first: int,
    has_names: bool,
) -> Iterator[bytes]:
    """Yield the file, piece by piece."""
    n_slots = int(slots[-1]) + 1
    sequences = _spread(graph.node_sequences, slots, n_slots)
    naming = gbz_loops.iter_stable_name(sequences.data, sequences.offsets, slots, links, first)
    yield from (sds_header(GBZ_TAG, 1), sds_element(0))
    yield from _tags({NAME_TAG: finish(naming), "source": _SOURCE})
    yield from _gbwt_parts(graph, records, metadata)
    yield from (sds_header(GRAPH_TAG, 3), sds_element(graph.n_nodes))
    yield sds_element(3 if has_names else 2)
    yield from sds_strings(sequences)
    yield from sds_strings(graph.node_names if has_names else ByteStrings.from_texts(()))
    yield from sds_integer_set(np.arange(n_slots * has_names) + 1, (n_slots + 1) * has_names)


def _link_keys(links: np.ndarray) -> np.ndarray:
    """Return a number for each link, the same in both directions; ascending."""
    links = links.astype(np.uint64)
    keys = links[:, 0] << np.uint64(32) | links[:, 1]
    links = links[:, ::-1] ^ np.uint64(1)
    return distinct(np.minimum(keys, links[:, 0] << np.uint64(32) | links[:, 1]))


def _find_ids(names: ByteStrings) -> tuple[int, np.ndarray, bool]:
    """Return the smallest node number, the offset of each node, and whether names are kept.

    Names that are ascending numbers become the numbers of the nodes.
    """
    digits = (names.data >= ord("0")) & (names.data <= ord("9"))
    lengths = names.lengths
    is_plain = digits.all() and lengths.min() > 0 and lengths.max() <= _MAX_DIGITS
    if is_plain and (names.data[names.offsets[:-1]] != ord("0")).all():
        ids = np.empty(len(names), np.int64)
        _read_numbers(names.data, names.offsets, ids)
        if (np.diff(ids) > 0).all() and ids[-1] - ids[0] < _MAX_SPARSE * len(ids):
            return int(ids[0]), ids - ids[0], False
    return 1, np.arange(len(names)), True


@njit(nogil=True, cache=True)
def _read_numbers(data, offsets, out):
    for i in range(len(out)):
        value = np.int64(0)
        for k in range(offsets[i], offsets[i + 1]):
            value = 10 * value + data[k] - _ZERO
        out[i] = value


def _spread(sequences: ByteStrings, slots: np.ndarray, n_slots: int) -> ByteStrings:
    lengths = np.zeros(n_slots, np.int64)
    lengths[slots] = sequences.lengths
    return ByteStrings(sequences.data, np.append(0, np.cumsum(lengths)))


def _gbwt_parts(graph: PangenomeGraph, records: GbwtRecords, metadata: bytes) -> list[bytes]:
    n_records = len(records.record_bytes) - 1
    size = 2 * (graph.n_steps + graph.n_paths)
    alphabet_size = n_records + records.alphabet_offset
    numbers = (2 * graph.n_paths, size, records.alphabet_offset, alphabet_size, 7)
    parts = [sds_header(GBWT_TAG, 5), *map(sds_element, numbers), *_tags({"source": _SOURCE})]
    parts += sds_integer_set(records.record_bytes[:-1], len(records.data))
    parts += sds_bytes(records.data)
    return [*parts, sds_element(0), sds_element(len(metadata) // 8), metadata]


def _metadata_parts(graph: PangenomeGraph) -> list[bytes]:
    samples: dict[str, int] = {}
    contigs: dict[str, int] = {}
    rows = np.zeros((graph.n_paths, 4), np.uint32)
    # A GBZ stores the start of a walk; its end follows from its length.
    taken: set[tuple[str, int, str, int, int]] = set()
    for path, name in enumerate(graph.path_names):
        is_walk = graph.walks is not None and graph.walks[path]
        found = WALK_NAME.match(name) if is_walk else None
        fields = (GENERIC_SAMPLE, NO_PHASE, name, 0, None) if found is None else found.groups()
        sample, contig, numbers = fields[0], fields[2], (int(fields[1]), int(fields[3] or 0))
        if found is not None and (sample == GENERIC_SAMPLE or max(numbers) >= NO_PHASE):
            raise ParameterError(
                f"walk {name!r} cannot be written as GBZ, needs a haplotype and a start below "
                f"{NO_PHASE:,}, and another sample than {GENERIC_SAMPLE}"
            )
        key = (sample, numbers[0], contig, numbers[1], int(graph.path_lengths[path]) * bool(found))
        if key in taken:
            raise ParameterError(f"two paths would be named {name!r} in a GBZ, needs a name each")
        taken.add(key)
        rows[path, 0] = samples.setdefault(sample, len(samples))
        rows[path, 1] = contigs.setdefault(contig, len(contigs))
        rows[path, 2:] = numbers
    counts = (len(samples), len({tuple(row) for row in rows[:, [0, 2]].tolist()}), len(contigs))
    parts = [sds_header(METADATA_TAG, 2), *map(sds_element, counts), sds_element(7)]
    parts += [sds_element(graph.n_paths), rows.tobytes()]
    for names in (samples, contigs):
        order = sorted(range(len(names)), key=lambda k: list(names)[k].encode())
        parts += sds_strings(ByteStrings.from_texts(names)) + sds_integers(
            np.array(order, np.uint64)
        )
    return parts


def _tags(tags: dict[str, str]) -> list[bytes]:
    return sds_strings(
        ByteStrings.from_texts(text for pair in sorted(tags.items()) for text in pair)
    )
