"""Compiled loops over the records and nodes of a GBZ file."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from numba import njit

LETTER_L, LETTER_S, TAB, NEWLINE, PLUS, MINUS, ZERO = 76, 83, 9, 10, 43, 45, 48
_MAX_DIGITS = 20
_RECORDS_PER_TASK = 1 << 18
_NODES_PER_HASH = 1 << 16


@njit(nogil=True, cache=True, inline="always")
def _read_code(data, at):
    """Return a varint (7 bits a byte) and the next position; the data must be valid."""
    value, shift = np.int64(0), np.int64(0)
    while True:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


@njit(nogil=True, cache=True, inline="always")
def is_canonical(a, b):
    """Return whether a link is in its listed direction: smaller node first, then forward."""
    if a & 1 == 0:
        return b >> 1 >= a >> 1
    return b >> 1 > a >> 1 or b == a - 1


@njit(nogil=True, cache=True)
def _list_edges(data, record_bytes, alphabet_offset, first, last, ends, edges, is_filling):
    """Count the canonical links of some records, or fill them in; -1 if a reverse is missing.

    The first pass also marks the handles at which paths end.
    """
    n = 0
    for record in range(first, last):
        sigma, at = _read_code(data, record_bytes[record])
        node, handle = np.int64(0), record - 1
        for _ in range(sigma):
            gap, at = _read_code(data, at)
            _, at = _read_code(data, at)
            node += gap
            to = node - alphabet_offset - 1
            if node == 0:
                ends[handle] = True
            elif is_canonical(handle, to):
                if is_filling:
                    edges[n, 0], edges[n, 1] = handle, to
                n += 1
            if node != 0 and not is_filling:
                if not _has_edge(data, record_bytes, alphabet_offset, to ^ 1, handle ^ 1):
                    return -1
    return n


@njit(nogil=True, cache=True)
def _has_edge(data, record_bytes, alphabet_offset, handle, to):
    sigma, at = _read_code(data, record_bytes[handle + 1])
    node = np.int64(0)
    for _ in range(sigma):
        gap, at = _read_code(data, at)
        _, at = _read_code(data, at)
        node += gap
        if node - alphabet_offset - 1 == to:
            return True
    return False


def list_edges(data, record_bytes, alphabet_offset):
    """Return the links as handles, and the handles at which paths end; None if one is one-way.

    uint32, shape (n_edges, 2), each in its canonical direction and in rising order; and int64.
    """
    n_records = len(record_bytes) - 1
    firsts = list(range(1, n_records, _RECORDS_PER_TASK))
    lasts = [*firsts[1:], n_records]
    ends, nothing = np.zeros(n_records - 1, np.bool_), np.empty((0, 2), np.uint32)
    source = data, record_bytes, alphabet_offset
    with ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS) as pool:
        counts = pool.map(
            lambda a, b: _list_edges(*source, a, b, ends, nothing, False), firsts, lasts
        )
        counts = list(counts)
        if min(counts) < 0:
            return None, None
        stops = np.cumsum(counts).tolist()
        edges = np.empty((stops[-1], 2), np.uint32)
        parts = [edges[stop - n : stop] for stop, n in zip(stops, counts, strict=True)]
        list(
            pool.map(
                lambda a, b, part: _list_edges(*source, a, b, ends, part, True),
                firsts,
                lasts,
                parts,
            )
        )
    return edges, np.flatnonzero(ends)


@njit(nogil=True, cache=True)
def find_ranges(slots, edges):
    """Return the smallest ranges of used slots that no (canonical) link leaves; int64, (n, 2)."""
    ranges = np.empty((len(slots), 2), np.int64)
    n, edge, reach = 0, 0, np.int64(-1)
    for slot in slots:
        if slot > reach:
            ranges[n, 0] = slot
            n += 1
        reach = max(reach, slot)
        while edge < len(edges) and edges[edge, 0] >> 1 == slot:
            reach = max(reach, np.int64(edges[edge, 1]) >> 1)
            edge += 1
        ranges[n - 1, 1] = reach + 1
    return ranges[:n].copy()


def read_starts(data, record_bytes, alphabet_offset, record_starts, n_sequences):
    """Return the first visit of each sequence, -1 for an empty one; None if damaged."""
    starts = np.empty(n_sequences, np.int64)
    return (
        starts if _read_starts(data, record_bytes, alphabet_offset, record_starts, starts) else None
    )


@njit(nogil=True, cache=True)
def _read_starts(data, record_bytes, alphabet_offset, record_starts, starts):
    stop = record_bytes[1]
    n_records, n = len(record_bytes) - 1, 0
    if data[stop - 1] >= 128:  # an unfinished integer would not end in this record
        return False
    sigma, at = _read_code(data, 0)
    if sigma < 1 or 2 * sigma > stop - at:
        return False
    targets, limits = np.empty(sigma, np.int64), np.empty(sigma, np.int64)
    node = np.int64(0)
    for edge in range(sigma):
        if at >= stop:
            return False
        gap, at = _read_code(data, at)
        if at >= stop or gap < 0 or (edge > 0 and gap == 0):
            return False
        rank, at = _read_code(data, at)
        node += gap
        targets[edge], limits[edge] = -1, -1
        if node != 0:
            record = node - alphabet_offset
            if not 1 <= record < n_records or rank < 0:
                return False
            slot = (record - 1) >> 1
            place = slot if record & 1 else n_records - 2 - slot
            targets[edge] = min(record_starts[place] + rank, record_starts[place + 1])
            limits[edge] = record_starts[place + 1]
    while at < stop:
        if sigma >= 255:
            edge, at = _read_code(data, at)
            if at >= stop:
                return False
            length, at = _read_code(data, at)
            length += 1
        else:
            byte = np.int64(data[at])
            edge, length, threshold = byte % sigma, byte // sigma + 1, 256 // sigma
            at += 1
            if length > threshold or (length == threshold and at >= stop):
                return False
            if length == threshold:
                more, at = _read_code(data, at)
                length += more
        if not 0 <= edge < sigma or not 1 <= length <= len(starts) - n:
            return False
        if limits[edge] >= 0 and length > limits[edge] - targets[edge]:
            return False
        for k in range(length):
            starts[n + k] = targets[edge] + k if limits[edge] >= 0 else -1
        if limits[edge] >= 0:
            targets[edge] += length
        n += length
    return n == len(starts)


@njit(nogil=True, cache=True, inline="always")
def _write_integer(value, out, n):
    n_digits, rest = 1, value // 10
    while rest:
        n_digits += 1
        rest //= 10
    for digit in range(n_digits):
        out[n + n_digits - 1 - digit] = ZERO + value % 10
        value //= 10
    return n + n_digits


def iter_stable_name(
    data: np.ndarray, offsets: np.ndarray, slots: np.ndarray, edges: np.ndarray, first_node: int
) -> Generator[tuple[int, int], None, str]:
    """Return the stable name of a graph: the SHA-256 of nodes and links as lines of a GFA.

    Yields nodes done and in all. ``slots`` are those with a node; ``edges`` are ascending.

    References
    ----------
    Stable names for pangenome graphs: README.md of jltsiren/pggname
    """
    digest = hashlib.sha256()
    edge_starts = np.searchsorted(edges[:, 0] >> 1, np.append(slots, len(offsets) - 1))
    for first in range(0, len(slots), _NODES_PER_HASH):
        last = min(first + _NODES_PER_HASH, len(slots))
        yield last, len(slots)
        part, starts = slots[first:last], edge_starts[first : last + 1]
        n_bytes = int((offsets[part + 1] - offsets[part]).sum()) + len(part) * (4 + _MAX_DIGITS)
        out = np.empty(n_bytes + int(starts[-1] - starts[0]) * (8 + 2 * _MAX_DIGITS), np.uint8)
        before, end = offsets[part[0]], offsets[part[-1] + 1]
        n = _render_nodes(data[before:end], before, offsets, part, starts, edges, first_node, out)
        digest.update(out[:n].data)
    return digest.hexdigest()


@njit(nogil=True, cache=True)
def _render_nodes(letters, before, offsets, slots, edge_starts, edges, first_node, out):
    n = 0
    for k in range(len(slots)):
        slot = slots[k]
        out[n], out[n + 1] = LETTER_S, TAB
        n = _write_integer(first_node + slot, out, n + 2)
        out[n] = TAB
        n += 1
        for i in range(offsets[slot], offsets[slot + 1]):
            out[n] = letters[i - before]
            n += 1
        out[n] = NEWLINE
        n += 1
        for edge in range(edge_starts[k], edge_starts[k + 1]):
            out[n], out[n + 1] = LETTER_L, TAB
            n += 2
            for side in range(2):
                handle = np.int64(edges[edge, side])
                n = _write_integer(first_node + (handle >> 1), out, n)
                out[n] = TAB
                out[n + 1] = MINUS if handle & 1 else PLUS
                out[n + 2] = NEWLINE if side else TAB
                n += 3
    return n


# Writing ----------------------------------------------------------------------------------------


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
def encode_records(visits, taken, ranks, tos, edge_starts, counts, record_starts, alphabet_offset):
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


@njit(nogil=True, cache=True)
def put_starts(targets, edges, out):
    """Write the record of the endmarker; return its length."""
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
