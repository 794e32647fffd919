"""Canonical k-mers counted on one GPU; the contract is in this folder's ``__init__``.

Keys are sorted with CuPy's radix sort. Two runs are merged by binary search of each key of the
shorter run in the longer one. Memory in bytes per letter: the letter, its key, as much again for
the sort, then up to 24 for runs.
"""

import cupy
import cupyx
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.kmer_count import CODES, HASH_FACTOR, HASH_SHIFT

THREADS_PER_BLOCK = 256
COMPILE_OPTIONS = ((),)
NO_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)


class Room:
    """Letters on the host, in pinned memory, and on the GPU; sorted runs of descending sizes."""

    def __init__(self, n_letters, k, max_keys):
        self.k, self.max_keys = k, max_keys
        self.letters = cupyx.empty_pinned(n_letters, np.uint8)
        self.on_gpu = cupy.empty(n_letters, np.uint8)
        self.codes = cupy.asarray(np.frombuffer(CODES, np.uint8))
        self.runs = []


def make_room(n_letters, k, max_keys):
    """Return room for so many letters at a time, and so many keys."""
    return Room(n_letters, k, max_keys)


def collect_kmers(room, n_letters, part, n_parts):
    """Count the canonical k-mers of the first letters; return the number of parts reached."""
    runs = room.runs
    runs.append(_count_kmers(room, n_letters, part, n_parts))
    while len(runs) > 1 and 2 * len(runs[-1][0]) >= len(runs[-2][0]):
        _merge_last(room)
    while sum(len(keys) for keys, _ in runs) > room.max_keys:
        n_parts *= 2
        keep_part(room, part, n_parts)
    return n_parts


def count_collected(room, part, n_parts):  # noqa: ARG001
    """Return the number of parts: all k-mers are counted when they are collected."""
    return n_parts


def keep_part(room, part, n_parts):
    """Keep only the keys of a part."""
    for i, (keys, counts) in enumerate(room.runs):
        is_kept = (keys * HASH_FACTOR >> HASH_SHIFT) & np.uint64(n_parts - 1) == np.uint64(part)
        room.runs[i] = keys[is_kept], counts[is_kept]


def list_counts(room):
    """Return the count of each key, in any order; empties the room."""
    return sort_counts(room)[1]


def sort_counts(room):
    """Return all keys, ascending, and their counts; empties the room."""
    while len(room.runs) > 1:
        _merge_last(room)
    if not room.runs:
        return cupy.empty(0, np.uint64), cupy.empty(0, np.int64)
    return room.runs.pop()


def _merge_last(room):
    one, other = room.runs.pop(), room.runs.pop()
    room.runs.append(_merge_counts(*one, *other))


def _count_kmers(room, n_letters, part, n_parts):
    """Return the canonical k-mers of the first letters, ascending, and the occurrences of each."""
    keys = cupy.empty(n_letters, np.uint64)
    if n_letters:
        letters = room.on_gpu[:n_letters]
        letters.set(room.letters[:n_letters])
        module = load_module(__package__, "kmer_count.cu", options=COMPILE_OPTIONS[0])
        module.get_function("take_keys")(
            (-(-n_letters // THREADS_PER_BLOCK),),
            (THREADS_PER_BLOCK,),
            (letters, np.int64(n_letters), room.codes, np.int32(room.k), np.uint64(n_parts - 1),
             np.uint64(part), keys),
        )  # fmt: skip
    keys = keys[keys != NO_KEY]
    if not len(keys):
        return keys, cupy.empty(0, np.int64)
    keys.sort()
    is_first = cupy.ones(len(keys), bool)
    is_first[1:] = keys[1:] != keys[:-1]
    firsts = cupy.flatnonzero(is_first)
    counts = cupy.diff(firsts, append=cupy.asarray([len(keys)]))
    return keys[firsts], counts


def _merge_counts(keys, counts, other_keys, other_counts):
    """Return the keys of two runs, and the sums of their counts."""
    if len(keys) < len(other_keys):
        keys, counts, other_keys, other_counts = other_keys, other_counts, keys, counts
    if not len(other_keys):
        return keys, counts
    places = cupy.searchsorted(keys, other_keys)
    is_known = keys[cupy.minimum(places, len(keys) - 1)] == other_keys
    sums = counts.copy()
    sums[places[is_known]] += other_counts[is_known]
    is_new = ~is_known
    places, new_keys, new_counts = places[is_new], other_keys[is_new], other_counts[is_new]
    del is_known, is_new
    merged = cupy.empty(len(keys) + len(new_keys), np.uint64)
    merged_counts = cupy.empty(len(merged), np.int64)
    at = cupy.arange(len(keys)) + cupy.searchsorted(new_keys, keys)
    merged[at], merged_counts[at] = keys, sums
    at = places + cupy.arange(len(new_keys))
    merged[at], merged_counts[at] = new_keys, new_counts
    return merged, merged_counts


def tally_counts(counts):
    """Return the distinct counts, ascending, and the number of keys with each."""
    if not len(counts):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    values, numbers = cupy.unique(counts, return_counts=True)
    return values.get(), numbers.get().astype(np.int64)
