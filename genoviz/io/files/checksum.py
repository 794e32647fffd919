"""A checksum of large arrays that is as fast as memory."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from typing import TypeVar

import numpy as np
from numba import njit

_SLICE = 64 << 20
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)

T = TypeVar("T")


def find_checksum(array: np.ndarray, progress: T) -> Generator[T, None, str]:
    """Return the checksum of an array; yields ``progress`` now and then."""
    content = array.reshape(-1).view(np.uint8)
    words = content[: len(content) & ~7].view(np.uint64)
    digest = hashlib.sha256(content[len(words) * 8 :].tobytes())
    for start in range(0, len(words), _SLICE // 8):
        digest.update(_mix(words[start : start + _SLICE // 8]).tobytes())
        yield progress
    return digest.hexdigest()


@njit(nogil=True, cache=True)
def _mix(words):
    """Return four sums of words, one of which any change of a word changes; uint64, shape (4,)."""
    sums = np.full(4, _FACTOR)
    n = len(words) & ~3
    for i in range(0, n, 4):
        for lane in range(4):
            mixed = (sums[lane] ^ words[i + lane]) * _FACTOR
            sums[lane] = mixed ^ (mixed >> _SHIFT)
    for i in range(n, len(words)):
        mixed = (sums[i - n] ^ words[i]) * _FACTOR
        sums[i - n] = mixed ^ (mixed >> _SHIFT)
    return sums
