"""Pangenome graphs written as GBZ files of version 1: the GBWT of their paths, and sequences."""

from __future__ import annotations

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

_MAX_DIGITS, _MAX_SPARSE = 9, 4
_SOURCE = "genoviz"
_END = 0xFFFFFFFF


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
    n_slots = int(slots[-1]) + 1
    records = build_gbwt(graph, slots, first)
    parts: list[bytes] = [sds_header(GBZ_TAG, 1), sds_element(0)]
    sequences = _spread(graph.node_sequences, slots, n_slots)
    links, _ = gbz_loops.list_edges(*records)
    naming = gbz_loops.iter_stable_name(sequences.data, sequences.offsets, slots, links, first)
    parts += _tags({NAME_TAG: finish(naming), "source": _SOURCE})
    parts += _gbwt_parts(graph, records, metadata)
    parts += [
        sds_header(GRAPH_TAG, 3),
        sds_element(graph.n_nodes),
        sds_element(3 if has_names else 2),
    ]
    parts += sds_strings(sequences)
    parts += sds_strings(graph.node_names if has_names else ByteStrings.from_texts(()))
    parts += sds_integer_set(np.arange(n_slots * has_names) + 1, (n_slots + 1) * has_names)
    with replace_file(path) as file:
        for part in parts:
            file.write(part)
    links_of_graph = slots[graph.edges >> 1] << 1 | (graph.edges & 1)
    return len(np.setdiff1d(_link_keys(links_of_graph), _link_keys(links)))


def _link_keys(links: np.ndarray) -> np.ndarray:
    """Return a number for each link, the same in both directions."""
    links = links.astype(np.uint64)
    keys = links[:, 0] << np.uint64(32) | links[:, 1]
    links = links[:, ::-1] ^ np.uint64(1)
    return np.minimum(keys, links[:, 0] << np.uint64(32) | links[:, 1])


def _find_ids(names: ByteStrings) -> tuple[int, np.ndarray, bool]:
    """Return the smallest node number, the offset of each node, and whether names are kept.

    Names that are ascending numbers become the numbers of the nodes.
    """
    digits = (names.data >= ord("0")) & (names.data <= ord("9"))
    lengths = names.lengths
    is_plain = digits.all() and lengths.min() > 0 and lengths.max() <= _MAX_DIGITS
    if is_plain and (names.data[names.offsets[:-1]] != ord("0")).all():
        ids = np.array([int(name) for name in names], np.int64)
        if (np.diff(ids) > 0).all() and ids[-1] - ids[0] < _MAX_SPARSE * len(ids):
            return int(ids[0]), ids - ids[0], False
    return 1, np.arange(len(names)), True


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
    parts += sds_bytes(records.data.tobytes())
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


def build_gbwt(graph: PangenomeGraph, slots: np.ndarray, first: int) -> GbwtRecords:
    """Return the GBWT of all paths in both directions.

    Visits are sorted record by record. One round is enough if all paths run in one direction
    through the nodes; each place where a path turns back may require another round.

    Parameters
    ----------
    graph
        The graph.
    slots
        int64, shape (n_nodes,), ascending: node ``i`` has the number ``first + slots[i]``.
    first
        The smallest number of a node.
    """
    n_slots = int(slots[-1]) + 1
    walk, bounds = _double_paths(graph.steps, graph.path_offsets, slots)
    froms, tos = _list_links(graph.edges, slots)
    edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
    taken, counts, n_missing = _find_edges(walk, bounds, edge_starts, tos)
    if n_missing:
        froms, tos = _list_taken(walk, bounds)
        edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
        taken, counts, _ = _find_edges(walk, bounds, edge_starts, tos)
    sizes = np.bincount(walk, minlength=2 * n_slots).astype(np.int64)
    record_starts = np.append(0, np.cumsum(sizes))
    firsts = walk[bounds[:-1][np.diff(bounds) > 0]]
    n_starts = np.bincount(firsts, minlength=2 * n_slots)
    # Visits of a node come from the endmarker first, then from other nodes in order.
    order = np.lexsort((froms, tos))
    before = np.cumsum(counts[order]) - counts[order]
    base = before - before[np.searchsorted(tos[order], tos[order])]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = base + n_starts[tos[order]]
    visits = np.empty(len(walk), np.int64)
    _place_by_number(walk, bounds, taken, ranks, tos, record_starts, visits)
    handles, stale = _in_passing_order(n_slots), np.ones(2 * n_slots, np.bool_)
    while stale.any():
        _order_visits(handles, stale, taken, ranks, tos, edge_starts, record_starts, visits)
    data, record_bytes = _encode(
        visits, taken, ranks, tos, edge_starts, counts, record_starts, 2 * first - 1
    )
    start, stop = _encode_starts(walk, bounds, 2 * first)
    data = np.concatenate([start[:stop], data])
    return GbwtRecords(data, np.append(0, record_bytes + stop), 2 * first - 1)


def _in_passing_order(n_slots: int) -> np.ndarray:
    """Return forward handles in ascending order of nodes, then reverse ones in descending order."""
    forward = 2 * np.arange(n_slots)
    return np.append(forward, forward[::-1] + 1)


def _list_links(edges: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all links in both directions, sorted."""
    links = (slots[edges >> 1] << 1 | (edges & 1)).astype(np.uint64)
    pairs = np.concatenate([links, links[:, ::-1] ^ np.uint64(1)])
    return _split_keys(np.unique(pairs[:, 0] << np.uint64(32) | pairs[:, 1]))


def _list_taken(walk: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all links on paths, sorted."""
    steps = walk.astype(np.uint64)
    is_last = np.zeros(len(walk), np.bool_)
    is_last[bounds[1:][np.diff(bounds) > 0] - 1] = True
    return _split_keys(np.unique((steps[:-1] << np.uint64(32) | steps[1:])[~is_last[:-1]]))


def _split_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(_END)).astype(np.int64)


@njit(nogil=True, cache=True)
def _double_paths(steps, path_offsets, slots):
    """Return the handles of each path and of its reverse, and the start of each."""
    n_paths = len(path_offsets) - 1
    walk, bounds = np.empty(2 * len(steps), np.uint32), np.zeros(2 * n_paths + 1, np.int64)
    for path in range(n_paths):
        first, last = path_offsets[path], path_offsets[path + 1]
        start, middle = 2 * first, first + last
        bounds[2 * path + 1], bounds[2 * path + 2] = middle, 2 * last
        for k in range(last - first):
            step = steps[first + k]
            handle = np.uint32(slots[step >> 1] << 1 | (step & 1))
            walk[start + k] = handle
            walk[2 * last - 1 - k] = handle ^ np.uint32(1)
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


@njit(nogil=True, cache=True, inline="always")
def _put_code(value, out, n):
    while value >= 128:
        out[n] = (value & 127) | 128
        value >>= 7
        n += 1
    out[n] = value
    return n + 1


@njit(nogil=True, cache=True, inline="always")
def _put_run(edge, length, sigma, out, n):
    if sigma >= 255:
        return _put_code(length - 1, out, _put_code(edge, out, n))
    threshold = 256 // sigma
    if length < threshold:
        out[n] = edge + sigma * (length - 1)
        return n + 1
    out[n] = edge + sigma * (threshold - 1)
    return _put_code(length - threshold, out, n + 1)


@njit(nogil=True, cache=True)
def _grown(out, n, n_more):
    if n + n_more <= len(out):
        return out
    larger = np.empty(2 * len(out) + n_more, np.uint8)
    for k in range(n):
        larger[k] = out[k]
    return larger


@njit(nogil=True, cache=True)
def _encode(visits, taken, ranks, tos, edge_starts, counts, record_starts, alphabet_offset):
    """Return the records of all handles, and the bounds of each."""
    n_handles = len(record_starts) - 1
    out, n = np.empty(1 << 16, np.uint8), 0
    record_bytes = np.empty(n_handles + 1, np.int64)
    outranks = np.empty(len(tos), np.int64)
    for handle in range(n_handles):
        record_bytes[handle] = n
        first, last = record_starts[handle], record_starts[handle + 1]
        sigma = 0
        for place in range(first, last):
            if taken[visits[place]] < 0:
                sigma = 1
                break
        ends_here = sigma
        for edge in range(edge_starts[handle], edge_starts[handle + 1]):
            outranks[edge] = sigma
            sigma += counts[edge] > 0
        out = _grown(out, n, 20 * sigma + 20)
        n = _put_code(sigma, out, n)
        if ends_here:
            out[n] = out[n + 1] = 0
            n += 2
        node = 0
        for edge in range(edge_starts[handle], edge_starts[handle + 1]):
            if counts[edge] > 0:
                to = tos[edge] + 1 + alphabet_offset
                n = _put_code(ranks[edge], out, _put_code(to - node, out, n))
                node = to
        place = first
        while place < last:
            edge = taken[visits[place]]
            stop = place + 1
            while stop < last and taken[visits[stop]] == edge:
                stop += 1
            out = _grown(out, n, 20)
            n = _put_run(0 if edge < 0 else outranks[edge], stop - place, sigma, out, n)
            place = stop
    record_bytes[n_handles] = n
    return out[:n].copy(), record_bytes


def _encode_starts(walk: np.ndarray, bounds: np.ndarray, first: int) -> tuple[np.ndarray, int]:
    """Return the endmarker's record and its length."""
    is_empty = np.diff(bounds) == 0
    nodes = np.zeros(len(bounds) - 1, np.int64)
    nodes[~is_empty] = walk[bounds[:-1][~is_empty]].astype(np.int64) + first
    targets, edges = np.unique(nodes, return_inverse=True)
    out = np.empty(20 * (len(targets) + len(nodes) + 1), np.uint8)
    return out, _put_starts(targets, edges, out)


@njit(nogil=True, cache=True)
def _put_starts(targets, edges, out):
    n = _put_code(len(targets), out, 0)
    node = 0
    for target in targets:
        n = _put_code(target - node, out, n)
        n = _put_code(0, out, n)
        node = target
    k = 0
    while k < len(edges):
        stop = k + 1
        while stop < len(edges) and edges[stop] == edges[k]:
            stop += 1
        n = _put_run(edges[k], stop - k, len(targets), out, n)
        k = stop
    return n
