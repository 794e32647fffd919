"""Off-target sites on one GPU; the contract is in this folder's ``__init__``.

Planes may be on the host or on the GPU; hits are on the host.
"""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import card_attribute, load_module
from genoviz.kernels.offtarget import ANY
from genoviz.kernels.offtarget.plan import (
    MAX_GROUPS,
    THREADS_PER_BLOCK,
    find_span,
    pack_masks,
    plan_rows,
    shared_bytes_of,
    threads_within,
)

LETTER_SHIFT = 16
SHARED_BYTES_UNASKED = 48 << 10
HITS = np.dtype(
    [
        ("positions", np.uint64),
        ("guide_ids", np.uint64),
        ("mismatches", np.uint64),
        ("n_found", np.uint64),
        ("counts", np.uint64),
        ("capacity", np.int64),
        ("n_guides", np.int32),
        ("n_levels", np.int32),
    ],
    align=True,
)
WORDS = np.dtype([(name, np.int64) for name in ("first", "stop", "per_block")], align=True)
ROWS = np.dtype(
    [(name, np.int32) for name in ("first_place", "n_places", "n_masks", "n_rows")], align=True
)
PATTERN = np.dtype(
    [("plain", np.uint64), ("out", np.uint64), ("n_plain", np.int32), ("length", np.int32)],
    align=True,
)
COMPILE_OPTIONS = tuple((f"-DGROUPS={n}",) for n in range(1, MAX_GROUPS + 1))


def find_sites_popcount(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by AND and popcount, four bits a base."""
    low, high, other, valid = (cupy.asarray(plane) for plane in planes)
    stop_word = _stop_word(first_word, block_words, hits.n_found, valid)
    found = _DeviceHits(hits, len(guides))
    *bits, n_plain = pack_masks(pattern[None])
    bits = [cupy.asarray(each) for each in bits]
    plain, out, totals = pack_masks(guides)
    _launch(
        _module(1).get_function("find_by_popcount"),
        (stop_word - first_word) * 64,
        (
            low,
            high,
            other,
            valid,
            np.array((first_word, stop_word, block_words), WORDS),
            np.array((*(each.data.ptr for each in bits), n_plain[0], len(pattern)), PATTERN),
            cupy.asarray(plain),
            cupy.asarray(out),
            cupy.asarray(totals.astype(np.int32)),
            cupy.asarray(max_mismatches.astype(np.int32)),
            found.argument,
        ),
    )
    found.copy_out()


def find_sites_dense(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by adding planes of all positions."""
    plan = plan_rows(pattern, guides)
    n_threads = _threads_for(plan, 0)
    if n_threads == 0:
        find_sites_popcount(planes, first_word, block_words, pattern, guides, max_mismatches, hits)
        return
    low, high, other, valid = (cupy.asarray(plane) for plane in planes)
    stop_word = _stop_word(first_word, block_words, hits.n_found, valid)
    found = _DeviceHits(hits, len(guides))
    _launch(
        _module(plan.n_groups).get_function("find_densely"),
        stop_word - first_word,
        (
            low,
            high,
            other,
            valid,
            np.array((first_word, stop_word, block_words), WORDS),
            _letters(plan.masks, plan.row_keys, len(pattern)),
            np.int32(len(plan.row_keys)),
            _row_offsets(plan, n_threads),
            _letters(plan.masks, plan.pattern_keys, len(pattern)),
            np.int32(len(plan.pattern_keys)),
            cupy.asarray(max_mismatches.astype(np.int32)),
            found.argument,
        ),
        n_threads,
        shared_bytes_of(plan, n_threads, 0),
    )
    found.copy_out()


def find_sites_pam_first(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by adding planes of the windows that match the pattern."""
    span = find_span(guides)
    n_span = span.stop - span.start
    plan = plan_rows(np.full_like(pattern[span], ANY), guides[:, span])
    n_threads = _threads_for(plan, 1)
    if n_threads == 0:
        find_sites_dense(planes, first_word, block_words, pattern, guides, max_mismatches, hits)
        return
    pam = plan_rows(pattern, pattern[None])
    low, high, other, valid = (cupy.asarray(plane) for plane in planes)
    n_words = _stop_word(first_word, block_words, hits.n_found, valid) - first_word
    module = _module(plan.n_groups)
    found = _DeviceHits(hits, len(guides))
    fits, n_fits = cupy.empty(n_words, np.uint64), cupy.empty(n_words, np.int32)
    words = np.int64(first_word), np.int64(n_words)
    _launch(
        module.get_function("mark_fits"),
        n_words,
        (
            low,
            high,
            other,
            valid,
            *words,
            _letters(pam.masks, pam.pattern_keys, len(pattern)),
            np.int32(len(pam.pattern_keys)),
            fits,
            n_fits,
        ),
    )
    stops = cupy.cumsum(n_fits, dtype=np.int64)
    n_starts = int(stops[-1]) if n_words else 0
    starts = cupy.empty(n_starts, np.int64)
    _launch(module.get_function("list_starts"), n_words, (fits, *words, stops, starts))
    row_of = np.full(len(plan.masks) * n_span, -1, np.int32)
    row_of[plan.row_keys] = np.arange(len(plan.row_keys))
    _launch(
        module.get_function("find_listed"),
        -(-n_starts // 64),
        (
            low,
            high,
            other,
            starts,
            np.int64(n_starts),
            np.array((first_word, first_word + n_words, block_words), WORDS),
            cupy.asarray(plan.masks),
            cupy.asarray(row_of),
            np.array((span.start, n_span, len(plan.masks), len(plan.row_keys)), ROWS),
            _row_offsets(plan, n_threads + 1),
            cupy.asarray(max_mismatches.astype(np.int32)),
            found.argument,
        ),
        n_threads,
        shared_bytes_of(plan, n_threads, 1),
    )
    found.copy_out()


class _DeviceHits:
    """The arrays of hits on the GPU, and the struct passed to kernels."""

    def __init__(self, hits, n_guides):
        self._host = hits[:3]
        self._n_found, self._counts = hits.n_found, hits.counts
        self._device = tuple(cupy.empty(array.shape, array.dtype) for array in self._host)
        self._found = cupy.zeros(len(hits.n_found), np.int64)
        self._levels = cupy.zeros(hits.counts.shape, np.int64)
        self.argument = np.array(
            (
                *(array.data.ptr for array in (*self._device, self._found, self._levels)),
                hits.positions.shape[1],
                n_guides,
                hits.counts.shape[2],
            ),
            HITS,
        )

    def copy_out(self):
        self._n_found[:] = self._found.get()
        if self._counts.size:
            self._counts += self._levels.get()
        n_kept = min(int(self._n_found.max(initial=0)), self._host[0].shape[1])
        if n_kept:
            for host, device in zip(self._host, self._device, strict=True):
                host[:, :n_kept] = device[:, :n_kept].get()


def _module(n_groups):
    return load_module(__package__, "offtarget.cu", options=COMPILE_OPTIONS[n_groups - 1])


def _stop_word(first_word, block_words, n_found, valid):
    return min(first_word + len(n_found) * block_words, len(valid))


def _letters(masks, keys, length):
    """Return letters for kernels: the mask above ``LETTER_SHIFT`` bits, the place below."""
    slots, places = np.divmod(keys, length)
    return cupy.asarray((masks[slots].astype(np.int32) << LETTER_SHIFT) | places.astype(np.int32))


def _row_offsets(plan, stride):
    """Return the offsets in bytes of each guide's rows, padded to a multiple of four letters."""
    offsets = plan.guide_rows.astype(np.uint32) * np.uint32(stride * 8)
    return cupy.asarray(np.pad(offsets, ((0, 0), (0, -offsets.shape[1] % 4))))


def _threads_for(plan, n_more):
    """Return the threads of a block that fit in this card's shared memory; 0 if none do."""
    return threads_within(card_attribute("MaxSharedMemoryPerBlockOptin"), plan, n_more)


def _launch(kernel, n_items, arguments, n_threads=THREADS_PER_BLOCK, shared_bytes=0):
    if n_items <= 0:
        return
    if shared_bytes > SHARED_BYTES_UNASKED:
        kernel.max_dynamic_shared_size_bytes = shared_bytes
    kernel((-(-n_items // n_threads),), (n_threads,), arguments, shared_mem=shared_bytes)
