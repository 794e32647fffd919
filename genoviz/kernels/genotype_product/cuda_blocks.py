"""Packed genotypes of any size on a card: all at once, or block after block from the host."""

import cupy
import cupyx
import numpy as np

BLOCK_BYTES = 1 << 28
FREE_SHARE = 8


def iter_blocks(packed, block_bytes):
    """Yield slices of variants and the packed genotypes of each, on the card.

    What lies there is one block. Of what lies on the host, a block is copied while the one before
    it is multiplied: to pinned memory, and from there on a stream of its own. A block is valid
    until the next is asked for.
    """
    if isinstance(packed, cupy.ndarray):
        yield slice(0, len(packed)), cupy.ascontiguousarray(packed)
        return
    if block_bytes is None:
        block_bytes = min(BLOCK_BYTES, cupy.cuda.Device().mem_info[0] // FREE_SHARE)
    n_rows = max(block_bytes // max(packed.shape[1], 1), 1)
    if len(packed) <= n_rows:
        yield slice(0, len(packed)), cupy.asarray(packed)
    else:
        yield from _iter_sent(packed, n_rows)


class _Buffer:
    """Memory for a block on the host and on the card, and events that tell when it is free."""

    def __init__(self, shape):
        self.host = cupyx.empty_pinned(shape, np.uint8)
        self.card = cupy.empty(shape, np.uint8)
        self.is_sent = cupy.cuda.Event(disable_timing=True)
        self.is_used = cupy.cuda.Event(disable_timing=True)
        self.is_used.record()


def _iter_sent(packed, n_rows):
    copying = cupy.cuda.Stream(non_blocking=True)
    buffers = [_Buffer((n_rows, packed.shape[1])) for _ in range(2)]
    try:
        for number, start in enumerate(range(0, len(packed), n_rows)):
            variants = slice(start, min(start + n_rows, len(packed)))
            n = variants.stop - start
            buffer = buffers[number % 2]
            buffer.is_sent.synchronize()
            buffer.host[:n] = packed[variants]
            copying.wait_event(buffer.is_used)
            buffer.card[:n].set(buffer.host[:n], stream=copying)
            buffer.is_sent.record(copying)
            cupy.cuda.get_current_stream().wait_event(buffer.is_sent)
            yield variants, buffer.card[:n]
            buffer.is_used.record()
    finally:
        copying.synchronize()
