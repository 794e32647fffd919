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
    nothing = np.empty(0, np.uint32)

    def follow(first, last):
        n = int(record_starts[last] - record_starts[first])
        heads, exits, ends = (scratch.take(name, n, np.int64) for name in ("h", "x", "e"))
        segments = scratch.take("s", n, np.int32)
        segments.fill(-1)
        n, fault = _pass_block(*source, first, last, segments, heads, exits, ends, nothing)
        if fault == 0 and (exits[:n] == _UNSET).any():
            fault = _SHARED
        return [heads[:n].copy(), ends[:n].astype(np.int32), exits[:n].copy(), fault]

    return follow


def _writer(source, lengths, sequences, places, path_offsets, steps, sums):
    """Return the function that writes the steps of a block."""
    record_starts, scratch = source[3], _Scratch()
    nothing = np.empty(0, np.int64)

    def write(first, last, start, stop):
        segments = scratch.take("s", int(record_starts[last] - record_starts[first]), np.int32)
        segments.fill(-1)
        ends = np.append(0, np.cumsum(lengths[start:stop], dtype=np.int64))
        staged = scratch.take("t", int(ends[-1]), np.uint32)
        _pass_block(*source, first, last, segments, nothing, nothing, ends, staged)
        own = lengths[start:stop], sequences[start:stop], places[start:stop]
        _place_steps(staged, *own, path_offsets, steps, sums[start:stop])

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


@njit(nogil=True, cache=True)
def _pass_block(
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
    ends,
    staged,
):
    """Scan a block once; return the number of segments and a fault.

    ``segments`` is -1 everywhere. ``ends`` is where the next step of each segment goes: it starts
    at 0 to count the steps, or at the segment's place in ``staged``. ``heads`` and ``exits`` are
    filled in the first scan only, when nothing is staged.
    """
    n_places = len(record_starts) - 1
    base, stop_visit = record_starts[first], record_starts[last]
    is_first = len(heads) > 0
    targets, limits = np.empty(64, np.int64), np.empty(64, np.int64)
    n_segments = 0
    for place in range(first, last):
        record = _record_at(place, n_places)
        at, stop = record_bytes[record], record_bytes[record + 1]
        sigma, at = _read_code(data, at, stop)
        if sigma == 0:
            continue
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
        inverse, threshold = _run_constants(sigma)
        handle = handles[place]
        writes = handle != NO_STEP
        visit, next_record = record_starts[place] - base, record_starts[place + 1]
        while at < stop:
            edge, length, at = _read_run(data, at, stop, sigma, inverse, threshold)
            target = targets[edge]
            if target != _END:
                if length > limits[edge] - target:
                    return n_segments, _BEYOND
                targets[edge] = target + length
            stays = next_record <= target < stop_visit
            shift = target - base - visit
            for k in range(visit, visit + length):
                segment = segments[k]
                if segment < 0:
                    segment = n_segments
                    n_segments += 1
                    if is_first:
                        heads[segment], exits[segment], ends[segment] = base + k, _UNSET, 0
                if writes:
                    if not is_first:
                        staged[ends[segment]] = handle
                    ends[segment] += 1
                if stays:
                    segments[k + shift] = segment
                elif is_first:
                    exits[segment] = _END if target == _END else base + k + shift
            visit += length
    return n_segments, 0


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


@njit(nogil=True, cache=True, inline="always")
def _hash(handle, place):
    """Return a 64-bit hash of a step at a place."""
    return mix(np.uint64(place) * GOLDEN ^ np.uint64(handle))


@njit(nogil=True, cache=True)
def _place_steps(staged, lengths, sequences, places, path_offsets, steps, sums):
    """Write the steps of even sequences to their places, and sum the hashes of each segment.

    Odd sequences hash their mirror images, so a sequence and its reverse have equal sums.
    """
    begin = 0
    for segment in range(len(lengths)):
        path = sequences[segment] >> 1
        n, place, total = np.int64(lengths[segment]), places[segment], np.uint64(0)
        if sequences[segment] & 1:
            place = path_offsets[path + 1] - path_offsets[path] - 1 - place
            for k in range(n):
                total += _hash(staged[begin + k] ^ np.uint32(1), place - k)
        else:
            to = path_offsets[path] + place
            for k in range(n):
                steps[to + k] = staged[begin + k]
                total += _hash(staged[begin + k], place + k)
        sums[segment] = total
        begin += n


# Compiled with genoviz/kernels/splitmix.py: 200f38ccc89f2b70
