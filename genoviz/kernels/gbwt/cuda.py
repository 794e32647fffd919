"""Decode the paths of a GBWT on one GPU; the contract is in this folder's ``__init__``.

Arrays may be on the host or on the GPU; results are on the GPU. Memory in bytes, besides data and
records: 13 for each visit, of which each step has two, and 4 for each step.
"""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module, make_launcher
from genoviz.kernels.gbwt import DECODE_STAGES, FAULTS, DecodedPaths

THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 64
BLOCK_BITS = 16
COMPILE_OPTIONS = ((),)
_END = -1
_BEYOND, _SHARED, _LOOSE, _NOT_MIRRORED = range(1, len(FAULTS))


def measure_records(data, record_bytes, alphabet_offset, sizes):
    """Fill sizes; return the first record that violates the format, or -1."""
    n_records = len(record_bytes) - 1
    found, wrong = cupy.zeros(n_records - 1, np.int64), cupy.full(1, n_records, np.uint64)
    source = (cupy.asarray(data), cupy.asarray(record_bytes), np.int64(alphabet_offset))
    _launch("measure_records", n_records, (*source, np.int64(n_records), found, wrong))
    sizes[:] = found.get() if isinstance(sizes, np.ndarray) else found
    return int(wrong[0]) if int(wrong[0]) < n_records else -1


def iter_decode_paths(
    data,
    record_bytes,
    alphabet_offset,
    record_starts,
    handles,
    starts,
    *,
    block_bits=BLOCK_BITS,
):
    """Decode all paths at once."""
    total, n_places = int(record_starts[-1]), np.int64(len(record_starts) - 1)
    shift = np.int32(block_bits)
    data, record_bytes = cupy.asarray(data), cupy.asarray(record_bytes)
    firsts = cupy.array(starts, np.int64)
    counts = cupy.empty(int(n_places), np.int64)
    _launch("count_edges", n_places, (data, record_bytes, n_places, counts))
    edge_starts = cupy.zeros(int(n_places) + 1, np.int64)
    edge_starts[1:] = cupy.cumsum(counts)
    targets = cupy.empty(2 * int(edge_starts[-1]), np.int64)
    nexts, written = cupy.empty(total, np.int64), cupy.empty(total, np.uint32)
    is_head, fault = cupy.zeros(total, np.uint8), cupy.zeros(1, np.int32)
    source = (data, record_bytes, np.int64(alphabet_offset), cupy.asarray(record_starts))
    edges = (n_places, edge_starts, targets, shift)
    arguments = (*source, cupy.asarray(handles), *edges, nexts, written, is_head, fault)
    _launch("expand_records", n_places, arguments)
    del counts, edge_starts, targets, source, edges, arguments
    if int(fault[0]):
        return DecodedPaths(None, None, _BEYOND)
    is_head[firsts[firsts >= 0]] = 1
    heads = cupy.flatnonzero(is_head)
    del is_head
    n_heads = np.int64(len(heads))
    lengths, exits = cupy.empty(int(n_heads), np.int64), cupy.empty(int(n_heads), np.int64)
    n_walked = cupy.zeros(1, np.uint64)
    walk = (heads, n_heads, nexts, written)
    _launch("measure_segments", n_heads, (*walk, shift, lengths, exits, n_walked))
    yield DECODE_STAGES[0], total, total
    if int(n_walked[0]) != total:
        return DecodedPaths(None, None, _SHARED)
    for visits in (exits, firsts):
        _launch("find_segments", len(visits), (heads, n_heads, visits, np.int64(len(visits))))
    strung = _string(firsts, exits, lengths)
    if strung is None:
        return DecodedPaths(None, None, _LOOSE)
    sequences, places, totals = strung
    if bool((totals[::2] != totals[1::2]).any()):
        return DecodedPaths(None, None, _NOT_MIRRORED)
    path_offsets = cupy.zeros(len(totals) // 2 + 1, np.int64)
    path_offsets[1:] = cupy.cumsum(totals[::2])
    steps = cupy.empty(int(path_offsets[-1]), np.uint32)
    hashes = cupy.zeros(len(totals), np.uint64)
    arguments = (*walk, lengths, sequences, places, path_offsets, steps, hashes)
    _launch("write_steps", n_heads, arguments)
    yield DECODE_STAGES[1], total, total
    if bool((hashes[::2] != hashes[1::2]).any()):
        return DecodedPaths(None, None, _NOT_MIRRORED)
    return DecodedPaths(path_offsets, steps, 0)


def _launch(name, n_items, arguments):
    module = load_module(__package__, "gbwt.cu", options=COMPILE_OPTIONS[0])
    make_launcher(module, THREADS, BLOCKS_PER_MULTIPROCESSOR)(name, n_items, arguments)


def _string(firsts, following, lengths):
    """Return sequence and place of each segment, and steps of each sequence; None if one is loose.

    Pointer doubling: each segment links to its predecessor, then to the predecessor's predecessor,
    and so on, until all link to the first segment of their sequence.
    """
    n = len(lengths)
    is_taken = firsts >= 0
    if bool((firsts < _END).any()) or bool((following < _END).any()):
        return None
    owners = cupy.full(n, _END, np.int64)
    owners[firsts[is_taken]] = cupy.flatnonzero(is_taken)
    before = cupy.arange(n)
    has_next = following >= 0
    before[following[has_next]] = cupy.flatnonzero(has_next)
    places = cupy.where(before == cupy.arange(n), 0, lengths[before])
    for _ in range(max(n, 2).bit_length()):
        places = places + places[before]
        before = before[before]
    sequences = owners[before]
    totals = cupy.zeros(len(firsts), np.int64)
    is_last = following == _END
    is_loose = n > 0 and bool((sequences < 0).any())
    if is_loose or int(is_last.sum()) != int(is_taken.sum()):
        return None
    totals[sequences[is_last]] = places[is_last] + lengths[is_last]
    return sequences, places, totals
