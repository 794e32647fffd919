"""Pangenome graphs written as GBZ files of version 1: the GBWT of their paths, and sequences."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.errors import ParameterError
from genoviz.generators import finish
from genoviz.io.files.replace_file import replace_file
from genoviz.io.graph import gbz_loops
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
from genoviz.model.columns import distinct, iter_row_slices

PART_STEPS = 1 << 24
_MAX_DIGITS, _MAX_SPARSE = 9, 4
_SOURCE = "genoviz"
_ZERO, _END = ord("0"), 0xFFFFFFFF


class GbwtRecords(NamedTuple):
    """A GBWT: records of nodes in both orientations, as `genoviz.kernels.gbwt` takes them."""

    data: np.ndarray
    record_bytes: np.ndarray
    alphabet_offset: int


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


# The GBWT -------------------------------------------------------------------------------------


def build_gbwt(
    graph: PangenomeGraph, slots: np.ndarray, first: int, *, part_steps: int = PART_STEPS
) -> GbwtRecords:
    """Return the GBWT of all paths in both directions.

    Visits are sorted record by record. One round is enough if all paths run in one direction
    through the nodes; each place where a path turns back may require another round. Ranges of nodes
    that no path leaves, such as chromosomes, are sorted one after the other, which takes about 28
    bytes for each step of the largest.

    Parameters
    ----------
    graph
        The graph.
    slots
        int64, shape (n_nodes,), ascending: node ``i`` has the number ``first + slots[i]``.
    first
        The smallest number of a node.
    part_steps
        Neighbouring ranges are sorted together up to about this number of steps.
    """
    starts, stop = _encode_starts(graph, slots, 2 * first)
    data, record_bytes, n_bytes = [starts[:stop]], [np.zeros(1, np.int64)], stop
    for part in _iter_ranges(graph, slots, part_steps):
        encoded, bounds = _build_part(slots, *part, 2 * first - 1)
        data.append(encoded)
        record_bytes.append(bounds[:-1] + n_bytes)
        n_bytes += len(encoded)
    record_bytes.append(np.full(1, n_bytes))
    return GbwtRecords(np.concatenate(data), np.concatenate(record_bytes), 2 * first - 1)


def _iter_ranges(
    graph: PangenomeGraph, slots: np.ndarray, part_steps: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int, int]]:
    """Yield steps, offsets of paths, edges and bounds of slots of ranges that no path leaves."""
    offsets = graph.path_offsets
    lowest, highest = np.empty((2, graph.n_paths), np.int64)
    _find_spans(graph.steps, offsets, lowest, highest)
    n_steps = np.diff(offsets)
    order = np.flatnonzero(n_steps > 0)
    order = order[np.argsort(lowest[order], kind="stable")]
    reach = np.maximum.accumulate(highest[order])
    begins = np.append(True, lowest[order][1:] > reach[:-1])
    firsts = np.flatnonzero(begins)
    # Ranges are joined until they have enough steps.
    sums = np.append(0, np.cumsum(n_steps[order]))
    cuts = [0]
    for k in firsts.tolist():
        if sums[k] - sums[cuts[-1]] >= part_steps:
            cuts.append(k)
    bounds = np.append(lowest[order][cuts[1:]], graph.n_nodes)
    if len(cuts) == 1:
        yield graph.steps, offsets, graph.edges, 0, int(slots[-1]) + 1
        return
    edges = graph.edges
    owners = np.searchsorted(bounds, edges[:, 0] >> 1, side="right").astype(np.int32)
    by_part = np.argsort(owners, kind="stable")
    edge_cuts = np.searchsorted(owners[by_part], np.arange(len(cuts) + 1))
    node, slot = 0, 0
    for part, first in enumerate(cuts):
        last = cuts[part + 1] if part + 1 < len(cuts) else len(order)
        stop = int(bounds[part])
        slot_stop = int(slots[stop]) if stop < graph.n_nodes else int(slots[-1]) + 1
        paths = np.sort(order[first:last])
        own = edges[by_part[edge_cuts[part] : edge_cuts[part + 1]]]
        own = own[(own[:, 1] >> 1 >= node) & (own[:, 1] >> 1 < stop)]
        steps = np.concatenate([graph.steps[offsets[path] : offsets[path + 1]] for path in paths])
        yield steps, np.append(0, np.cumsum(n_steps[paths])), own, slot, slot_stop
        node, slot = stop, slot_stop


def _build_part(
    slots: np.ndarray,
    steps: np.ndarray,
    path_offsets: np.ndarray,
    edges: np.ndarray,
    first_slot: int,
    stop_slot: int,
    alphabet_offset: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the records of a range of slots, and the bounds of each."""
    n_slots = stop_slot - first_slot
    sizes = np.zeros(2 * n_slots, np.int64)
    walk, bounds = _double_paths(steps, path_offsets, slots, first_slot, sizes)
    froms, tos = _list_links(edges, slots - first_slot)
    edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
    taken, counts, n_missing = _find_edges(walk, bounds, edge_starts, tos)
    if n_missing:
        froms, tos = _list_taken(walk, bounds)
        edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
        taken, counts, _ = _find_edges(walk, bounds, edge_starts, tos)
    record_starts = np.append(0, np.cumsum(sizes))
    firsts = walk[bounds[:-1][np.diff(bounds) > 0]]
    n_starts = np.bincount(firsts, minlength=2 * n_slots)
    # Visits of a node come from the endmarker first, then from other nodes in order.
    order = np.lexsort((froms, tos))
    before = np.cumsum(counts[order]) - counts[order]
    base = before - before[np.searchsorted(tos[order], tos[order])]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = base + n_starts[tos[order]]
    visits = np.empty(len(walk), np.uint32 if len(walk) <= _END else np.int64)
    _place_by_number(walk, bounds, taken, ranks, tos, record_starts, visits)
    handles, stale = _in_passing_order(n_slots), np.ones(2 * n_slots, np.bool_)
    while stale.any():
        _order_visits(handles, stale, taken, ranks, tos, edge_starts, record_starts, visits)
    return gbz_loops.encode_records(
        visits,
        taken,
        ranks,
        tos,
        edge_starts,
        counts,
        record_starts,
        alphabet_offset + 2 * first_slot,
    )


@njit(nogil=True, cache=True)
def _find_spans(steps, path_offsets, lowest, highest):
    """Fill the first and the last node of each path that has steps."""
    for path in range(len(lowest)):
        low, high = np.uint32(_END), np.uint32(0)
        for k in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[k] >> np.uint32(1)
            low, high = min(low, node), max(high, node)
        lowest[path], highest[path] = low, high


def _in_passing_order(n_slots: int) -> np.ndarray:
    """Return forward handles in ascending order of nodes, then reverse ones in descending order."""
    forward = 2 * np.arange(n_slots)
    return np.append(forward, forward[::-1] + 1)


def _list_links(edges: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all links in both directions, sorted."""
    links = (slots[edges >> 1] << 1 | (edges & 1)).astype(np.uint64)
    pairs = np.concatenate([links, links[:, ::-1] ^ np.uint64(1)])
    return _split_keys(distinct(pairs[:, 0] << np.uint64(32) | pairs[:, 1]))


def _list_taken(walk: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all links on paths, sorted."""
    ends = np.unique(bounds[1:]) - 1
    found = np.empty(0, np.uint64)
    for part in iter_row_slices(max(len(walk) - 1, 0)):
        froms, tos = walk[:-1][part].astype(np.uint64), walk[1:][part]
        inner = np.ones(len(froms), np.bool_)
        low, high = np.searchsorted(ends, [part.start, part.stop])
        inner[ends[low:high] - part.start] = False
        found = distinct(np.append(found, (froms << np.uint64(32) | tos)[inner]))
    return _split_keys(found)


def _split_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(_END)).astype(np.int64)


@njit(nogil=True, cache=True)
def _double_paths(steps, path_offsets, slots, first_slot, sizes):
    """Return the handles of each path and of its reverse, and the start of each; count visits."""
    n_paths = len(path_offsets) - 1
    walk, bounds = np.empty(2 * len(steps), np.uint32), np.zeros(2 * n_paths + 1, np.int64)
    for path in range(n_paths):
        first, last = path_offsets[path], path_offsets[path + 1]
        start, middle = 2 * first, first + last
        bounds[2 * path + 1], bounds[2 * path + 2] = middle, 2 * last
        for k in range(last - first):
            step = steps[first + k]
            handle = np.uint32((slots[step >> 1] - first_slot) << 1 | (step & 1))
            walk[start + k] = handle
            walk[2 * last - 1 - k] = handle ^ np.uint32(1)
            sizes[handle] += 1
            sizes[handle ^ np.uint32(1)] += 1
    return walk, bounds


@njit(nogil=True, cache=True)
def _find_edges(walk, bounds, edge_starts, tos):
    """Return the link of each visit (-1 at an end), the visits of each link, and misses."""
    taken, counts = np.full(len(walk), -1, np.int32), np.zeros(len(tos), np.int64)
    n_missing = 0
    for sequence in range(len(bounds) - 1):
        for i in range(bounds[sequence], bounds[sequence + 1] - 1):
            low, stop = edge_starts[walk[i]], edge_starts[walk[i] + 1]
            high, to = stop, walk[i + 1]
            while low < high:
                middle = (low + high) >> 1
                if tos[middle] < to:
                    low = middle + 1
                else:
                    high = middle
            if low < stop and tos[low] == to:
                taken[i] = low
                counts[low] += 1
            else:
                n_missing += 1
    return taken, counts, n_missing


@njit(nogil=True, cache=True)
def _place_by_number(walk, bounds, taken, ranks, tos, record_starts, visits):
    """Put the visits of each link, and the first visits, into their range, by number."""
    n_starts = np.zeros(len(record_starts) - 1, np.int64)
    n_taken = np.zeros(len(tos), np.int64)
    for sequence in range(len(bounds) - 1):
        for visit in range(bounds[sequence], bounds[sequence + 1]):
            handle = walk[visit]
            if visit == bounds[sequence]:
                rank = n_starts[handle]
                n_starts[handle] += 1
            else:
                edge = taken[visit - 1]
                rank = ranks[edge] + n_taken[edge]
                n_taken[edge] += 1
            visits[record_starts[handle] + rank] = visit


@njit(nogil=True, cache=True)
def _order_visits(handles, stale, taken, ranks, tos, edge_starts, record_starts, visits):
    """Put the visits that come from each stale record into that record's order.

    A record is stale if its own order has changed since.
    """
    nexts = np.empty(len(tos), np.int64)
    for handle in handles:
        if not stale[handle]:
            continue
        stale[handle] = False
        for edge in range(edge_starts[handle], edge_starts[handle + 1]):
            nexts[edge] = record_starts[tos[edge]] + ranks[edge]
        # A copy, because a node may have a link to itself.
        for visit in visits[record_starts[handle] : record_starts[handle + 1]].copy():
            edge = taken[visit]
            if edge >= 0:
                if visits[nexts[edge]] != visit + 1:
                    visits[nexts[edge]] = visit + 1
                    stale[tos[edge]] = True
                nexts[edge] += 1


def _encode_starts(graph: PangenomeGraph, slots: np.ndarray, first: int) -> tuple[np.ndarray, int]:
    """Return the endmarker's record and its length."""
    bounds = graph.path_offsets
    has_steps = np.diff(bounds) > 0
    ends = graph.steps[np.stack([bounds[:-1][has_steps], bounds[1:][has_steps] - 1])]
    ends[1] ^= 1
    nodes = np.zeros((graph.n_paths, 2), np.int64)
    nodes[has_steps] = (slots[ends >> 1] << 1 | (ends & 1)).T + first
    targets, edges = np.unique(nodes, return_inverse=True)
    edges = edges.ravel()
    out = np.empty(20 * (len(targets) + len(edges) + 1), np.uint8)
    return out, gbz_loops.put_starts(targets, edges, out)
