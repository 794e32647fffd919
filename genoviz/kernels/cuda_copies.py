"""Copies of arrays from one GPU to others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

N_PIECES, MIN_PIECE_BYTES = 32, 1 << 26


def copy_along(copies: Sequence[Sequence[Any]], others: Sequence[int]) -> None:
    """Copy arrays of one GPU to others; return once all are there.

    Each GPU sends pieces on to the next one, so that all links are busy. Sent by the first GPU to
    each of the others, they would take as many times as long.

    Parameters
    ----------
    copies
        CuPy arrays of each GPU: the sources, which are complete, and for each other GPU arrays of
        the same shapes and dtypes, without pending work.
    others
        Numbers of the GPUs after the first one.
    """
    import cupy

    cuda, streams = cupy.cuda, []
    for number in others:
        with cuda.Device(number):
            streams.append(cuda.Stream(non_blocking=True))
    for row in zip(*copies, strict=True):
        n_bytes = row[0].nbytes
        step = max(n_bytes // (N_PIECES if others[1:] else 1), MIN_PIECE_BYTES)
        for first in range(0, n_bytes, step):
            arrived = None
            for number, stream, pair in zip(others, streams, pairwise(row), strict=True):
                source, target = (array.data + first for array in pair)
                with cuda.Device(number):
                    if arrived is not None:
                        stream.wait_event(arrived)
                    size = min(step, n_bytes - first)
                    target.copy_from_device_async(source, size, stream)
                    arrived = stream.record()
    for number, stream in zip(others, streams, strict=True):
        with cuda.Device(number):
            stream.synchronize()
