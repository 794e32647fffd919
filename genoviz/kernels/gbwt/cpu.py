"""Decode the paths of a GBWT on all cores, one task per block; see the contract in ``__init__``."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from numba import njit

from genoviz.kernels.gbwt import DECODE_STAGES, FAULTS, NO_STEP, DecodedPaths
from genoviz.kernels.splitmix import GOLDEN, mix

BLOCK_VISITS = 1 << 16
BLOCKS_PER_THREAD = 16
RECORDS_PER_TASK = 1 << 18
SEGMENTS_PER_TASK = 1 << 16
MAX_VISITS = 1 << 48
_BAD, _END, _UNSET, _NOWHERE = -1, -1, -2, -3
_BEYOND, _SHARED, _LOOSE, _NOT_MIRRORED = range(1, len(FAULTS))
_BYTE_BITS = 16
# Segments and visits are unsigned: a signed index would be checked for a place from the end.
_NEW = np.uint64(0xFFFFFFFF)


def measure_records(data, record_bytes, alphabet_offset, sizes):
    """Fill sizes; return the first record that violates the format, or -1."""

    def measure(first, last):
        return _measure_records(data, record_bytes, alphabet_offset, first, last, sizes)

    with _threads() as pool:
        found = _map_ranges(pool, measure, 1, len(record_bytes) - 1, RECORDS_PER_TASK)
    return min((wrong for wrong in found if wrong >= 0), default=-1)


def iter_decode_paths(
    data,
    record_bytes,
    alphabet_offset,
    record_starts,
    handles,
    starts,
    *,
    block_visits=BLOCK_VISITS,
):
    """Decode all paths, one slice of blocks at a time."""
    total = int(record_starts[-1])
    blocks = _cut_blocks(record_starts, block_visits)
    source = (data, record_bytes, alphabet_offset, record_starts, handles)
    with _threads() as pool:
        parts, follower = [], _follower(source)
        for first, last in _slices(len(blocks) - 1):
            bounds = blocks[first : last + 1].tolist()
            parts += pool.map(follower, bounds[:-1], bounds[1:])
            if fault := max(part[3] for part in parts[first:last]):
                return DecodedPaths(None, None, fault)
            yield DECODE_STAGES[0], int(record_starts[bounds[-1]]), total
        block_segments = np.append(0, np.cumsum([len(part[0]) for part in parts], dtype=np.int64))
        heads, lengths, following = (_join(parts, k) for k in range(3))
        strung = (np.full(len(heads), _UNSET, np.int32), np.empty(len(heads), np.int64))
        totals = np.zeros(len(starts), np.int64)
        fault = _string(
            pool,
            heads,
            block_segments,
            record_starts[blocks],
            starts,
            lengths,
            following,
            strung,
            totals,
        )
        del following
        if fault == 0 and (totals[::2] != totals[1::2]).any():
            fault = _NOT_MIRRORED
        if fault:
            return DecodedPaths(None, None, fault)
        path_offsets = np.append(0, np.cumsum(totals[::2]))
        steps = np.empty(path_offsets[-1], np.uint32)
        sums = heads.view(np.uint64)
        writer = _writer(source, lengths, *strung, path_offsets, steps, sums)
        for first, last in _slices(len(blocks) - 1):
            bounds = blocks[first : last + 1].tolist()
            segments = block_segments[first : last + 1].tolist()
            list(pool.map(writer, bounds[:-1], bounds[1:], segments[:-1], segments[1:]))
            yield DECODE_STAGES[1], int(record_starts[bounds[-1]]), total
    hashes = np.zeros(len(starts), np.uint64)
    np.add.at(hashes, strung[0], sums)
    if (hashes[::2] != hashes[1::2]).any():
        return DecodedPaths(None, None, _NOT_MIRRORED)
    return DecodedPaths(path_offsets, steps, 0)


class _Scratch(threading.local):
    """Arrays that a thread reuses: allocating for each block would cost as much as the work."""

    def take(self, name, n, dtype):
        array = getattr(self, name, None)
        if array is None or len(array) < n:
            array = np.empty(n + n // 4, dtype)
            setattr(self, name, array)
        return array[:n]


def _threads():
    return ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS)


def _map_ranges(pool, call, first, last, size):
    """Return the results of ``call(first, last)`` for consecutive ranges of a size."""
    firsts = range(first, last, size)
    return list(pool.map(call, firsts, [min(start + size, last) for start in firsts]))


def _slices(n_blocks):
    """Yield the first and the last block of each slice."""
    size = BLOCKS_PER_THREAD * numba.config.NUMBA_NUM_THREADS
    for first in range(0, n_blocks, size):
        yield first, min(first + size, n_blocks)


def _cut_blocks(record_starts, block_visits):
    """Return the first record of each block, then the number of records; int64."""
    marks = np.arange(0, int(record_starts[-1]), block_visits)
    firsts = np.searchsorted(record_starts, marks, side="right") - 1
    return np.unique(np.append(firsts, (0, len(record_starts) - 1)))


def _follower(source):
    """Return the function that finds the segments of a block: heads, steps, exits, and a fault."""
    record_starts, scratch = source[3], _Scratch()

    def follow(first, last):
        n = int(record_starts[last] - record_starts[first])
        heads, exits, counts = (scratch.take(name, n, np.int64) for name in ("h", "x", "c"))
        segments = scratch.take("s", n, np.uint32)
        segments.fill(_NEW)
        n, fault = _scan_block(*source, first, last, segments, heads, exits, counts)
        if fault == 0 and (exits[:n] == _UNSET).any():
            fault = _SHARED
        return [heads[:n].copy(), counts[:n].astype(np.int32), exits[:n].copy(), fault]

    return follow


def _writer(source, lengths, sequences, places, path_offsets, steps, sums):
    """Return the function that writes the steps of a block."""
    record_starts, scratch = source[3], _Scratch()

    def write(first, last, start, stop):
        segments = scratch.take("s", int(record_starts[last] - record_starts[first]), np.uint32)
        segments.fill(_NEW)
        marks = scratch.take("m", stop - start, np.uint64)
        own = lengths[start:stop], sequences[start:stop], places[start:stop]
        _mark_steps(*own, path_offsets, marks, sums[start:stop])
        _write_block(*source, first, last, segments, marks, steps, sums[start:stop])

    return write


def _join(parts, k):
    """Concatenate the k-th arrays of all parts, and release them."""
    joined = np.concatenate([part[k] for part in parts]) if parts else np.empty(0, np.int64)
    for part in parts:
        part[k] = None
    return joined


def _string(pool, heads, block_segments, block_starts, starts, lengths, following, strung, totals):
    """Link segments along all sequences: fill sequences, places, totals; return a fault."""

    def find(visits):
        def find_range(first, last):
            _find_segments(heads, block_segments, block_starts, visits[first:last])

        _map_ranges(pool, find_range, 0, len(visits), SEGMENTS_PER_TASK)

    firsts = starts.copy()
    find(firsts)
    find(following)
    n = _string_segments(firsts, following, lengths, *strung, totals)
    return _LOOSE if n != len(heads) or (strung[0] == _UNSET).any() else 0


# Records --------------------------------------------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def _read_code(data, at, stop):
    """Return a varint (7 bits a byte) and the next position; -1 if it is cut short."""
    value, shift = np.int64(0), np.int64(0)
    while at < stop and shift < 63:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return np.int64(_BAD), at


@njit(nogil=True, cache=True, inline="always")
def _read_run(data, at, stop, sigma, inverse, threshold):
    """Return edge and length of a run, and the next position; length -1 if it is invalid."""
    if sigma >= 255:
        edge, at = _read_code(data, at, stop)
        length, at = _read_code(data, at, stop)
        if edge < 0 or length < 0:
            return edge, np.int64(_BAD), at
        return edge, length + 1, at
    byte = np.int64(data[at])
    rest = (byte * inverse) >> _BYTE_BITS
    length = rest + 1
    if length > threshold:
        return np.int64(0), np.int64(_BAD), at
    edge = byte - rest * sigma
    at += 1
    if length == threshold:
        more, at = _read_code(data, at, stop)
        length = np.int64(_BAD) if more < 0 else length + more
    return edge, length, at


@njit(nogil=True, cache=True, inline="always")
def _run_constants(sigma):
    """Return the fixed-point inverse of sigma, and the run length that needs more bytes."""
    if sigma >= 255:
        return np.int64(0), np.int64(0)
    return ((1 << _BYTE_BITS) + sigma - 1) // sigma, 256 // sigma


@njit(nogil=True, cache=True, inline="always")
def _record_at(place, n_places):
    """Return the record at a place in the row."""
    return 2 * place + 1 if 2 * place < n_places else 2 * (n_places - 1 - place) + 2


@njit(nogil=True, cache=True, inline="always")
def _place_of(record, n_places):
    """Return the place of a record in the row."""
    slot = (record - 1) >> 1
    return slot if record & 1 else n_places - 1 - slot


@njit(nogil=True, cache=True)
def _measure_record(data, at, stop, alphabet_offset, n_records):
    sigma, at = _read_code(data, at, stop)
    if sigma < 0 or 2 * sigma > stop - at:
        return _BAD
    node = np.int64(0)
    for edge in range(sigma):
        gap, at = _read_code(data, at, stop)
        rank, at = _read_code(data, at, stop)
        if gap < 0 or rank < 0 or (edge > 0 and gap == 0):
            return _BAD
        node += gap
        record = node - alphabet_offset
        if node != 0 and not 1 <= record < n_records:
            return _BAD
    if sigma == 0:
        return 0 if at == stop else _BAD
    inverse, threshold = _run_constants(sigma)
    n = np.int64(0)
    while at < stop:
        edge, length, at = _read_run(data, at, stop, sigma, inverse, threshold)
        if length < 0 or length > MAX_VISITS or edge >= sigma:
            return _BAD
        n += length
        if n > MAX_VISITS:
            return _BAD
    return n


@njit(nogil=True, cache=True)
def _measure_records(data, record_bytes, alphabet_offset, first, last, sizes):
    n_records = len(record_bytes) - 1
    for record in range(first, last):
        n = _measure_record(
            data, record_bytes[record], record_bytes[record + 1], alphabet_offset, n_records
        )
        if n < 0:
            return record
        sizes[_place_of(record, n_records - 1)] = n
    return -1


# Blocks ---------------------------------------------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def _read_edges(data, at, stop, alphabet_offset, record_starts, targets, limits):
    """Fill the next visit and the end of each edge; return both, sigma and the next position."""
    n_places = len(record_starts) - 1
    sigma, at = _read_code(data, at, stop)
    if sigma > len(targets):
        targets, limits = np.empty(2 * sigma, np.int64), np.empty(2 * sigma, np.int64)
    node = np.int64(0)
    for edge in range(sigma):
        gap, at = _read_code(data, at, stop)
        rank, at = _read_code(data, at, stop)
        node += gap
        targets[edge], limits[edge] = _END, _END
        if node != 0:
            to = _place_of(node - alphabet_offset, n_places)
            limits[edge] = record_starts[to + 1]
            targets[edge] = min(record_starts[to] + rank, limits[edge])
    return targets, limits, sigma, at


@njit(nogil=True, cache=True)
def _scan_block(
    data,
    record_bytes,
    alphabet_offset,
    record_starts,
    handles,
    first,
    last,
    segments,
    heads,
    exits,
    counts,
):
    """Find the segments of a block; return their number and a fault.

    ``segments`` is ``_NEW`` everywhere. ``heads``, ``exits`` and ``counts`` (of steps) are filled.
    """
    n_places = len(record_starts) - 1
    base, stop_visit = record_starts[first], record_starts[last]
    targets, limits = np.empty(64, np.int64), np.empty(64, np.int64)
    n_segments = 0
    for place in range(first, last):
        record = _record_at(place, n_places)
        stop = record_bytes[record + 1]
        targets, limits, sigma, at = _read_edges(
            data, record_bytes[record], stop, alphabet_offset, record_starts, targets, limits
        )
        inverse, threshold = _run_constants(max(sigma, 1))
        n_written = np.int64(handles[place] != NO_STEP)
        visit, next_record = record_starts[place] - base, record_starts[place + 1]
        while at < stop:
            edge, length, at = _read_run(data, at, stop, sigma, inverse, threshold)
            target = targets[edge]
            if target != _END:
                if length > limits[edge] - target:
                    return n_segments, _BEYOND
                targets[edge] = target + length
            stays = next_record <= target < stop_visit
            shift = np.uint64(target - base - visit)
            for k in range(np.uint64(visit), np.uint64(visit + length)):
                segment = np.uint64(segments[k])
                if segment == _NEW:
                    segment = np.uint64(n_segments)
                    n_segments += 1
                    heads[segment] = base + np.int64(k)
                    exits[segment], counts[segment] = _UNSET, 0
                counts[segment] += n_written
                if stays:
                    segments[k + shift] = np.uint32(segment)
                else:
                    exits[segment] = _END if target == _END else base + np.int64(k + shift)
            visit += length
    return n_segments, 0


@njit(nogil=True, cache=True)
def _mark_steps(lengths, sequences, places, path_offsets, marks, sums):
    """Fill the marks of the first steps of segments: place in all steps, and direction.

    A mark is twice the place of a step, plus 1 for an odd sequence: it is read backwards, so that
    its last step is at the place of the first step of the even one. Sums are set to 0.
    """
    for segment in range(len(lengths)):
        path, is_odd = sequences[segment] >> 1, np.int64(sequences[segment] & 1)
        place = path_offsets[path] + places[segment]
        if is_odd:
            place = path_offsets[path + 1] - 1 - places[segment]
        marks[segment] = 2 * place + is_odd
        sums[segment] = 0


@njit(nogil=True, cache=True)
def _write_block(
    data,
    record_bytes,
    alphabet_offset,
    record_starts,
    handles,
    first,
    last,
    segments,
    marks,
    steps,
    sums,
):
    """Write the steps of the even sequences of a block, and sum the hashes of each segment.

    Odd sequences hash their mirror images, so a sequence and its reverse have equal sums. A hash is
    a product of a hash of the handle, computed once for a record, and one of the place.
    """
    n_places = len(record_starts) - 1
    base, stop_visit = record_starts[first], record_starts[last]
    targets, limits = np.empty(64, np.int64), np.empty(64, np.int64)
    n_segments = 0
    for place in range(first, last):
        record = _record_at(place, n_places)
        stop = record_bytes[record + 1]
        targets, limits, sigma, at = _read_edges(
            data, record_bytes[record], stop, alphabet_offset, record_starts, targets, limits
        )
        inverse, threshold = _run_constants(max(sigma, 1))
        handle = handles[place]
        writes = handle != NO_STEP
        even_hash, odd_hash = _hash(handle), _hash(handle ^ np.uint32(1))
        visit, next_record = record_starts[place] - base, record_starts[place + 1]
        while at < stop:
            edge, length, at = _read_run(data, at, stop, sigma, inverse, threshold)
            target = targets[edge]
            if target != _END:
                targets[edge] = target + length
            stays = next_record <= target < stop_visit
            shift = np.uint64(target - base - visit)
            for k in range(np.uint64(visit), np.uint64(visit + length)):
                segment = np.uint64(segments[k])
                if segment == _NEW:
                    segment = np.uint64(n_segments)
                    n_segments += 1
                if writes:
                    mark = marks[segment]
                    at_step = mark >> np.uint64(1)
                    if mark & np.uint64(1):
                        marks[segment] = mark - np.uint64(2)
                        sums[segment] += odd_hash * _weight(at_step)
                    else:
                        marks[segment] = mark + np.uint64(2)
                        sums[segment] += even_hash * _weight(at_step)
                        steps[at_step] = handle
                if stays:
                    segments[k + shift] = np.uint32(segment)
            visit += length


@njit(nogil=True, cache=True, inline="always")
def _hash(handle):
    """Return a 64-bit hash of a handle; that of 0 is not 0."""
    return mix((np.uint64(handle) + np.uint64(1)) * GOLDEN)


@njit(nogil=True, cache=True, inline="always")
def _weight(place):
    """Return an odd 64-bit hash of a place."""
    bits = np.uint64(place) * GOLDEN
    return bits ^ (bits >> np.uint64(32)) | np.uint64(1)


@njit(nogil=True, cache=True)
def _find_segments(heads, block_segments, block_starts, visits):
    """Store the segment that begins at each visit; -3 where none does."""
    for i in range(len(visits)):
        visit = visits[i]
        if visit >= 0:
            low, high = 0, len(block_starts)
            while low < high:
                middle = (low + high) >> 1
                if block_starts[middle] <= visit:
                    low = middle + 1
                else:
                    high = middle
            high = block_segments[low]
            low = block_segments[low - 1]
            stop = high
            while low < high:
                middle = (low + high) >> 1
                if heads[middle] < visit:
                    low = middle + 1
                else:
                    high = middle
            visits[i] = low if low < stop and heads[low] == visit else _NOWHERE


@njit(nogil=True, cache=True)
def _string_segments(firsts, following, lengths, sequences, places, totals):
    """Fill sequence, place and total along all sequences; return their number of segments."""
    n_segments, n_strung = len(following), 0
    for sequence in range(len(firsts)):
        segment = firsts[sequence]
        while segment >= 0 and n_strung <= n_segments:
            sequences[segment] = sequence
            places[segment] = totals[sequence]
            totals[sequence] += lengths[segment]
            segment = following[segment]
            n_strung += 1
        if segment != _END:
            return _BAD
    return n_strung


# Compiled with genoviz/kernels/splitmix.py: 200f38ccc89f2b70
