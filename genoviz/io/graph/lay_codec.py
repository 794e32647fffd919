"""The bit codec of ``.lay`` files: rising or falling integers as Elias delta codes of their steps.

Values are uint64 in blocks of 128. The first value of a block is kept as it is; each further one
is written as the difference to the value before it, modulo 2**64. A difference ``d`` of ``n`` bits
is written lowest bit first: the number of bits of ``n`` less one in unary (zeros, then a one),
``n`` without its highest bit, ``d`` without its highest bit. Difference 0 stands for 2**64
(``n`` = 65).

References
----------
Elias, Universal codeword sets and representations of the integers, IEEE Transactions on
Information Theory 21 (1975), doi:10.1109/TIT.1975.1055349; ``enc_vector`` of sdsl-lite,
https://github.com/simongog/sdsl-lite
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 128
_ONE = np.uint64(1)
_ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(nogil=True, cache=True)
def _read_bits(words, position, n_bits):
    """Return ``n_bits`` (0 to 64) from bit ``position``; one word beyond them must exist."""
    if n_bits == 0:
        return np.uint64(0)
    word = position >> 6
    shift = position & 63
    value = words[word] >> np.uint64(shift)
    if shift + n_bits > 64:
        value |= words[word + 1] << np.uint64(64 - shift)
    return value & (_ALL_ONES >> np.uint64(64 - n_bits))


@njit(nogil=True, cache=True)
def _write_bits(words, position, n_bits, value):
    """Write the low ``n_bits`` (1 to 64) of ``value``, which has no higher bits, over zeros."""
    word = position >> 6
    shift = position & 63
    words[word] |= value << np.uint64(shift)
    if shift + n_bits > 64:
        words[word + 1] |= value >> np.uint64(64 - shift)
    return position + n_bits


@njit(nogil=True, cache=True)
def _count_bits(value):
    """Return the position of the highest set bit plus one; 0 for 0."""
    n_bits = 0
    for half in (32, 16, 8, 4, 2, 1):
        if value >> np.uint64(half):
            value >>= np.uint64(half)
            n_bits += half
    return n_bits + np.int64(value)


@njit(nogil=True, cache=True)
def unpack_integers(words, width, values):
    """Fill ``values`` (uint64) with the integers of ``width`` bits that ``words`` hold."""
    for index in range(len(values)):
        values[index] = _read_bits(words, index * width, width)


@njit(nogil=True, cache=True)
def pack_integers(values, width, words):
    """Write ``values`` (uint64) with ``width`` bits each over zeroed ``words``."""
    for index in range(len(values)):
        _write_bits(words, index * width, width, values[index])


@njit(nogil=True, cache=True)
def decode_deltas(words, first_values, starts, values):
    """Decode all blocks into ``values``; return the first damaged block, or -1.

    Parameters
    ----------
    words
        uint64: the codes, with two words of zeros after them.
    first_values
        uint64, shape (n_blocks,).
    starts
        int64, shape (n_blocks + 1,): bit at which the codes of a block start, rising, with the
        number of code bits last.
    values
        uint64, shape (n_values,): is filled.
    """
    for block in range(len(first_values)):
        position = starts[block]
        stop = starts[block + 1]
        value = first_values[block]
        first = block * BLOCK
        values[first] = value
        for index in range(first + 1, min(first + BLOCK, len(values))):
            if position >= stop:
                return block
            ahead = _read_bits(words, position, 64)
            n_zeros = 0
            while n_zeros < 7 and not (ahead >> np.uint64(n_zeros)) & _ONE:
                n_zeros += 1
            position += n_zeros + 1
            n_bits = 1
            if n_zeros < 7:
                n_bits = (1 << n_zeros) + np.int64(_read_bits(words, position, n_zeros))
            position += n_zeros
            if n_zeros == 7 or n_bits > 65 or position + n_bits - 1 > stop:
                return block
            delta = _read_bits(words, position, n_bits - 1)
            if n_bits < 65:
                delta |= _ONE << np.uint64(n_bits - 1)
            position += n_bits - 1
            value += delta
            values[index] = value
        if position != stop:
            return block
    return -1


@njit(nogil=True, cache=True)
def measure_deltas(values, starts):
    """Fill ``starts`` (int64, shape (n_blocks + 1,)) with the bit at which each block starts."""
    position = 0
    for index in range(len(values)):
        if index % BLOCK == 0:
            starts[index // BLOCK] = position
            continue
        delta = values[index] - values[index - 1]
        n_bits = _count_bits(delta) if delta else 65
        position += n_bits - 1 + 2 * (_count_bits(np.uint64(n_bits)) - 1) + 1
    starts[len(starts) - 1] = position


@njit(nogil=True, cache=True)
def encode_deltas(values, words):
    """Write the codes of all blocks over zeroed ``words`` (uint64)."""
    position = 0
    for index in range(len(values)):
        if index % BLOCK == 0:
            continue
        delta = values[index] - values[index - 1]
        n_bits = _count_bits(delta) if delta else 65
        n_zeros = _count_bits(np.uint64(n_bits)) - 1
        position = _write_bits(words, position + n_zeros, 1, _ONE)
        if n_zeros:
            low = np.uint64(n_bits) & ((_ONE << np.uint64(n_zeros)) - _ONE)
            position = _write_bits(words, position, n_zeros, low)
        if n_bits > 1:
            keep = np.uint64(65 - n_bits)
            position = _write_bits(words, position, n_bits - 1, delta & (_ALL_ONES >> keep))
