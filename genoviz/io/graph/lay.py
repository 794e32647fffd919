"""Layouts in odgi's binary format (``.lay``).

The file is little-endian: a float64 ``offset``, then an ``sdsl::enc_vector`` of the ``4 n_nodes``
values ``x0, y0, x1, y1, ...``, each the bit pattern of the double ``coordinate - offset``. Point
``2 i`` is the start of node ``i``, point ``2 i + 1`` its end. The vector is its size (uint64), the
Elias delta codes and the samples, both as ``int_vector``: length in bits (uint64), width (uint8),
words. Sample ``2 b`` is the first value of block ``b``, sample ``2 b + 1`` the bit at which its
codes start; two more close the list.

Codes are Elias delta codes of differences, in blocks of 128 values. The first value of a block is
stored as it is. Each further value is stored as the difference ``d`` to the previous one, modulo
2**64; 0 stands for 2**64. A code of ``n`` bits is written lowest bit first, here 11 = 0b1011 (n = 4
= 0b100)::

    bits    0 0 1      0 0          1 1 0
            unary      n without    d without
            bits of    its highest  its highest
            n, less 1  bit          bit

References
----------
odgi, https://github.com/pangenome/odgi, ``src/algorithms/layout.cpp``; ``enc_vector`` of sdsl-lite,
https://github.com/simongog/sdsl-lite; Elias, Universal codeword sets and representations of the
integers, IEEE Transactions on Information Theory 21 (1975), doi:10.1109/TIT.1975.1055349
"""

from __future__ import annotations

import struct
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numba import njit

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.content import unreadable
from genoviz.io.files.replace_file import replace_file
from genoviz.model import GraphLayout

_HEADER = struct.Struct("<dQ")
_INT_VECTOR = struct.Struct("<QB")
BLOCK = 128
_ONE = np.uint64(1)
_ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def read_lay(path: str | PathLike[str]) -> GraphLayout:
    """Return the layout of a ``.lay`` file.

    Raises
    ------
    FileFormatError
        If the file is cut short, is no ``.lay``, or its codes are damaged.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            offset, n_values = _read_header(file, path)
            codes, n_code_bits, _ = _read_int_vector(file, path)
            words, n_sample_bits, width = _read_int_vector(file, path)
            is_at_end = not file.read(1)
    except OSError as error:
        raise unreadable(path, error) from error
    if not is_at_end:
        raise FileFormatError(path, "goes on after the end of its layout; it is not a .lay file")
    n_samples = 2 * -(-n_values // BLOCK) + 2 if n_values else 0
    fits = 1 <= width <= 64 and n_sample_bits == n_samples * width and n_values % 4 == 0
    if not fits or n_values > n_code_bits + n_samples:
        raise FileFormatError(
            path, f"says {n_values:,} values, which does not fit its parts; it is not a .lay file"
        )
    samples = np.empty(n_samples, np.uint64)
    unpack_integers(words, width, samples)
    values = _decode(path, codes, n_code_bits, samples, n_values)
    coordinates = values.view(np.float64)
    coordinates += offset
    if not np.isfinite(coordinates).all():
        node = int(np.argmin(np.isfinite(coordinates))) // 4
        raise FileFormatError(path, f"has a coordinate of node {node:,} that is not finite")
    return GraphLayout(coordinates.reshape(-1, 2, 2))


def write_lay(layout: GraphLayout, path: str | PathLike[str]) -> None:
    """Write a layout as ``.lay``.

    Nonnegative coordinates are stored exactly. If one is negative, the format requires a shift of
    all, which rounds them to one part in 10**16 of the layout's extent.

    Raises
    ------
    ParameterError
        If a coordinate, or the extent of the layout, is not finite.
    """
    coordinates = layout.coordinates.ravel()
    offset = min(0.0, float(coordinates.min(initial=0.0)))
    with np.errstate(over="ignore", invalid="ignore"):
        # Adding zero turns -0.0, which has the sign bit set, into 0.0.
        shifted = coordinates - offset + 0.0
    if not np.isfinite(shifted).all():
        node = int(np.argmin(np.isfinite(shifted))) // 4
        raise ParameterError(
            f"node {node:,} has a coordinate that is not finite, or too far from the others"
        )
    with replace_file(path) as file:
        file.write(_HEADER.pack(offset, len(shifted)))
        _write_enc_vector(file, shifted.view(np.uint64))


def _read_header(file: BinaryIO, path: Path) -> tuple[float, int]:
    """Return the offset and the number of values."""
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise FileFormatError(path, f"has {len(header)} bytes, needs at least 16 to be a .lay")
    return _HEADER.unpack(header)


def _read_int_vector(file: BinaryIO, path: Path) -> tuple[np.ndarray, int, int]:
    """Return the words and two words of zeros, the length in bits and the width."""
    header = file.read(_INT_VECTOR.size)
    n_left = path.stat().st_size - file.tell()
    if len(header) == _INT_VECTOR.size:
        n_bits, width = _INT_VECTOR.unpack(header)
        n_words = -(-n_bits // 64)
        if n_words * 8 <= n_left:
            words = np.zeros(n_words + 2, np.uint64)
            file.readinto(words[:n_words].view(np.uint8))
            return words, n_bits, width
    raise FileFormatError(
        path, "ends before its layout does; it was cut short or is not a .lay file"
    )


def _decode(
    path: Path, codes: np.ndarray, n_code_bits: int, samples: np.ndarray, n_values: int
) -> np.ndarray:
    """Return the values of an ``enc_vector``; uint64, shape (n_values,)."""
    values = np.empty(n_values, np.uint64)
    if n_values == 0:
        return values
    if samples[1::2].max() > n_code_bits + 1:
        raise FileFormatError(
            path, "has a block that starts beyond its codes; it is not a .lay file"
        )
    starts = samples[1::2].astype(np.int64)
    starts[-1] = n_code_bits
    damaged = decode_deltas(codes, samples[0:-2:2].copy(), starts, values)
    if damaged >= 0:
        raise FileFormatError(
            path,
            f"has damaged codes for nodes {damaged * 32:,} to {damaged * 32 + 31:,}, "
            "which cannot be read as coordinates",
        )
    return values


def _write_enc_vector(file: BinaryIO, values: np.ndarray) -> None:
    """Write uint64 values as sdsl does."""
    if len(values) == 0:
        file.write(_INT_VECTOR.pack(0, 64) * 2)
        return
    starts = np.empty(-(-len(values) // BLOCK) + 1, np.int64)
    measure_deltas(values, starts)
    n_code_bits = int(starts[-1])
    codes = np.zeros(-(-n_code_bits // 64), np.uint64)
    encode_deltas(values, codes)
    file.write(_INT_VECTOR.pack(n_code_bits, 1))
    file.write(codes.data)
    samples = np.zeros(2 * len(starts), np.uint64)
    samples[0:-2:2] = values[::BLOCK]
    samples[1::2] = starts
    samples[-1] = n_code_bits + 1
    width = int(samples.max()).bit_length()
    words = np.zeros(-(-len(samples) * width // 64), np.uint64)
    pack_integers(samples, width, words)
    file.write(_INT_VECTOR.pack(len(samples) * width, width))
    file.write(words.data)


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
    """Unpack integers of ``width`` bits from ``words`` to ``values`` (uint64)."""
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
